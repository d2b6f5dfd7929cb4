//! OpenAI's fine-tuning rows as rows of ours: `{"messages": [...]}`, where a last message of the assistant is what is
//! learnt.
//!
//! ```text
//! messages [..., assistant]   prompt = the messages before it, completion = its text, and no messages any more
//! messages [...]              prompt = the messages; the column stays, for graders
//! ```
//!
//! A conversation of one user message becomes a plain text, which means the same to a model with a chat template and
//! can be read by one without. All other columns stay, `tools` among them. What cannot be said in a row of ours is refused:
//! parts of a message that are no text, a last message with weight 0, and one that calls tools. Earlier messages of the assistant are part of the
//! prompt, from which nothing is learnt.

use serde_json::{Map, Value};

use super::{DatasetError, MESSAGES_COLUMN, numbers};

const PROMPT_COLUMN: &str = "prompt";
const COMPLETION_COLUMN: &str = "completion";
/// OpenAI's older form of `tools`.
const FUNCTIONS_COLUMN: &str = "functions";

/// The row in our form when it has to change, and nothing when it can stay or is broken in a way that the check of rows
/// will name. `row` is the line, counted from 1.
pub fn convert(row: u64, line: &[u8]) -> Result<Option<String>, DatasetError> {
    let Ok(Value::Object(fields)) = serde_json::from_slice(line) else { return Ok(None) };
    let exact = numbers::check_exact(row, str::from_utf8(line).unwrap_or_default(), &fields, |_| true);
    let Some(converted) = convert_fields(row, fields)? else { return Ok(None) };
    exact?;
    Ok(Some(Value::Object(converted).to_string()))
}

/// The same for a row that was read.
pub fn convert_fields(row: u64, mut fields: Map<String, Value>) -> Result<Option<Map<String, Value>>, DatasetError> {
    // Null says that there is nothing, as a column of Parquet does in most of its rows.
    if fields.get(PROMPT_COLUMN).is_some_and(|prompt| !prompt.is_null()) || !fields.contains_key(MESSAGES_COLUMN) {
        return Ok(None);
    }
    let wrong = |column: &str, detail: String| DatasetError::WrongType { row, column: column.to_owned(), detail };
    if fields.get(FUNCTIONS_COLUMN).is_some_and(is_given) {
        return Err(wrong(FUNCTIONS_COLUMN, String::from("is not supported; name them as `tools`")));
    }
    let Some(Value::Array(messages)) = fields.get(MESSAGES_COLUMN) else { return Ok(None) };
    let mut messages = plain(messages).map_err(|detail| wrong(MESSAGES_COLUMN, detail))?;
    let completes = fields.get(COMPLETION_COLUMN).is_none_or(Value::is_null);
    let ends_with_answer = messages.last().is_some_and(|message| message["role"] == "assistant");
    if let Some(last) = messages.pop_if(|_| completes && ends_with_answer) {
        if last["weight"] == 0 {
            let detail = "ends with a message of weight 0, from which nothing would be learnt; leave the row out";
            return Err(wrong(MESSAGES_COLUMN, detail.to_owned()));
        }
        fields.shift_remove(MESSAGES_COLUMN);
        fields.insert(COMPLETION_COLUMN.to_owned(), last["content"].clone());
    } else if messages.len() > 1 {
        return Ok(None);
    }
    if messages.is_empty() {
        return Err(wrong(MESSAGES_COLUMN, String::from("has no message before the assistant's")));
    }
    fields.shift_remove(PROMPT_COLUMN);
    let mut converted = Map::from_iter([(PROMPT_COLUMN.to_owned(), prompt(messages))]);
    converted.extend(fields);
    Ok(Some(converted))
}

/// Clients write null, or an empty list, for what a message does not have.
fn is_given(value: &Value) -> bool {
    !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty())
}

fn prompt(mut messages: Vec<Value>) -> Value {
    match messages.as_mut_slice() {
        [one] if one["role"] == "user" => one["content"].take(),
        _ => Value::Array(messages),
    }
}

/// The messages with their content as one text each.
fn plain(messages: &[Value]) -> Result<Vec<Value>, String> {
    let plain_message = |(index, message): (usize, &Value)| {
        let mut message = message.clone();
        if let Some(Value::Array(parts)) = message.get("content") {
            let text = parts.iter().map(|part| part.get("text").and_then(Value::as_str)).collect::<Option<String>>();
            let text = text.ok_or_else(|| format!("message {index}: `content` has a part that is no text"))?;
            message["content"] = Value::String(text);
        }
        let calls = message.get("tool_calls").is_some_and(is_given);
        let is_last = index + 1 == messages.len();
        if calls && is_last {
            return Err(format!("message {index}: ends the row with a call of a tool, which cannot be learnt from"));
        }
        if !calls && !message.get("content").is_some_and(Value::is_string) {
            return Err(format!("message {index}: no text in `content`"));
        }
        Ok(message)
    };
    messages.iter().enumerate().map(plain_message).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn converted(row: Value) -> Option<Value> {
        let text = convert(1, row.to_string().as_bytes()).unwrap()?;
        Some(serde_json::from_str(&text).unwrap())
    }

    fn message(role: &str, content: &str) -> Value {
        json!({"role": role, "content": content})
    }

    #[test]
    fn a_last_message_of_the_assistant_becomes_the_completion() {
        let row = json!({"messages": [message("user", "1+1="), message("assistant", "2")], "tag": 3});
        assert_eq!(converted(row).unwrap(), json!({"prompt": "1+1=", "tag": 3, "completion": "2"}));
        let row = json!({"messages": [message("system", "s"), message("user", "q"), message("assistant", "a")]});
        let prompt = json!([message("system", "s"), message("user", "q")]);
        assert_eq!(converted(row).unwrap(), json!({"prompt": prompt, "completion": "a"}));
    }

    #[test]
    fn rows_without_an_answer_keep_every_column() {
        let messages = json!([message("user", "1+1=")]);
        let row = json!({"messages": messages, "answer": "2"});
        assert_eq!(converted(row).unwrap(), json!({"prompt": "1+1=", "messages": messages, "answer": "2"}));
        assert_eq!(converted(json!({"messages": [message("system", "s"), message("user", "q")]})), None);
        assert_eq!(converted(json!({"prompt": "1+1=", "answer": "2"})), None);
        assert_eq!(converted(json!({"prompt": "p", "messages": messages})), None);
    }

    #[test]
    fn null_and_empty_say_that_there_is_nothing() {
        let answer = json!({"role": "assistant", "content": "2", "tool_calls": null});
        let row = json!({"messages": [message("user", "1+1="), answer], "tools": null, "functions": []});
        assert_eq!(converted(row).unwrap()["completion"], "2");
        let messages = json!([message("user", "1+1="), message("assistant", "2")]);
        let row = json!({"prompt": null, "completion": null, "messages": messages});
        assert_eq!(converted(row).unwrap(), json!({"prompt": "1+1=", "completion": "2"}));
    }

    #[test]
    fn parts_of_text_become_one_text() {
        let parts = json!([{"type": "text", "text": "1+"}, {"type": "text", "text": "1="}]);
        let row = json!({"messages": [{"role": "user", "content": parts}, message("assistant", "2")]});
        assert_eq!(converted(row).unwrap()["prompt"], "1+1=");
    }

    #[test]
    fn what_rows_cannot_say_is_refused_with_the_row() {
        let weightless = json!({"role": "assistant", "content": "2", "weight": 0});
        let image = json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]});
        let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c"}]});
        let called = json!({"role": "assistant", "content": "2", "tool_calls": [{"id": "c"}]});
        for row in [
            json!({"messages": [message("user", "q"), weightless]}),
            json!({"messages": [image, message("assistant", "a")]}),
            json!({"messages": [message("user", "q"), call]}),
            json!({"messages": [message("user", "q"), called]}),
            json!({"messages": [message("assistant", "a")]}),
            json!({"messages": [message("user", "q")], "functions": [{"name": "f"}]}),
        ] {
            assert_eq!(convert(7, row.to_string().as_bytes()).unwrap_err().row(), Some(7), "{row}");
        }
    }

    #[test]
    fn what_is_broken_is_left_to_the_check_of_rows() {
        for line in ["", "{", "[]", "{\"messages\": 3}", "{}"] {
            assert_eq!(convert(1, line.as_bytes()).unwrap(), None, "{line}");
        }
    }
}
