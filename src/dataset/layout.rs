//! Layouts: how the columns of well-known data sets are rows of ours.
//!
//! ```text
//! chat       messages [..., assistant]                      prompt, completion       (as OpenAI's fine-tuning takes them)
//! sharegpt   conversations [{from, value}, ...], system     prompt, completion
//! alpaca     instruction, input, output, system             prompt, completion
//! gsm8k      question, answer "... #### 72"                  prompt, completion, answer
//! ```
//!
//! Other columns stay. A layout that nobody named is recognised by the first row where that cannot be mistaken: it has neither
//! a prompt nor messages, and all columns of the layout. Every other row must then be of it as well.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{DatasetError, MESSAGES_COLUMN, chat};

/// What stands before the answer in GSM8K.
const MARK: &str = "####";

/// How the columns of a file make a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// The columns are what they are.
    Rows,
    /// `messages`, of which a last one of the assistant is learnt from.
    Chat,
    /// `conversations` of `{from, value}`.
    Sharegpt,
    /// `instruction`, `input` and `output`.
    Alpaca,
    /// `question`, and `answer` with its result behind `####`.
    Gsm8k,
}

/// A word that names no layout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no layout; there are rows, chat, sharegpt, alpaca and gsm8k")]
pub struct UnknownLayout(String);

impl Layout {
    const ALL: [Self; 5] = [Self::Rows, Self::Chat, Self::Sharegpt, Self::Alpaca, Self::Gsm8k];

    pub fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Chat => "chat",
            Self::Sharegpt => "sharegpt",
            Self::Alpaca => "alpaca",
            Self::Gsm8k => "gsm8k",
        }
    }

    /// The columns that it makes rows of.
    pub fn reads(self) -> &'static [&'static str] {
        match self {
            Self::Rows => &[],
            Self::Chat => &[MESSAGES_COLUMN, "tools", "functions"],
            Self::Sharegpt => &["conversations", "system", "tools"],
            Self::Alpaca => &["instruction", "input", "output", "system"],
            Self::Gsm8k => &["question", "answer"],
        }
    }

    /// The layout that a row can only be of.
    pub fn recognise(fields: &Map<String, Value>) -> Self {
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        if fields.contains_key("prompt") || fields.contains_key(MESSAGES_COLUMN) {
            return Self::Rows;
        }
        let turns = fields.get("conversations").and_then(Value::as_array);
        let is_turn = |turn: &Value| turn["from"].is_string() && turn["value"].is_string();
        if turns.is_some_and(|turns| !turns.is_empty() && turns.iter().all(is_turn)) {
            return Self::Sharegpt;
        }
        if text("instruction").is_some() && text("output").is_some() {
            return Self::Alpaca;
        }
        if text("question").is_some() && text("answer").is_some_and(|answer| result(answer).is_some()) {
            return Self::Gsm8k;
        }
        Self::Rows
    }

    /// Makes a row of ours.
    pub fn apply(self, row: u64, fields: Map<String, Value>) -> Result<Map<String, Value>, DatasetError> {
        let wrong = |detail: String| DatasetError::OtherLayout { row, layout: self.name(), detail };
        match self {
            Self::Rows => Ok(fields),
            Self::Chat if !fields.contains_key(MESSAGES_COLUMN) => {
                Err(wrong(format!("there is no `{MESSAGES_COLUMN}`; {}", super::present_columns(&fields))))
            }
            Self::Chat => chat(row, fields),
            Self::Sharegpt => chat(row, sharegpt(fields).map_err(wrong)?),
            Self::Alpaca => alpaca(fields).map_err(wrong),
            Self::Gsm8k => gsm8k(fields).map_err(wrong),
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Layout {
    type Err = UnknownLayout;

    fn from_str(text: &str) -> Result<Self, UnknownLayout> {
        let found = Self::ALL.into_iter().find(|layout| layout.name() == text);
        found.ok_or_else(|| UnknownLayout(text.chars().take(40).collect()))
    }
}

/// A conversation as the row that it is, where it has to change.
fn chat(row: u64, fields: Map<String, Value>) -> Result<Map<String, Value>, DatasetError> {
    Ok(match chat::convert_fields(row, fields.clone())? {
        Some(converted) => converted,
        None => fields,
    })
}

/// Turns as messages.
fn sharegpt(mut fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let present = super::present_columns(&fields);
    let Some(Value::Array(turns)) = fields.shift_remove("conversations") else {
        return Err(format!("there is no list `conversations`; {present}"));
    };
    let mut messages = Vec::with_capacity(turns.len() + 1);
    if let Some(system) = system(&mut fields) {
        messages.push(system);
    }
    for (index, turn) in turns.iter().enumerate() {
        let (Some(from), Some(value)) = (turn["from"].as_str(), turn["value"].as_str()) else {
            return Err(format!("turn {index} has no texts `from` and `value`"));
        };
        let role = match from {
            "human" | "user" => "user",
            "gpt" | "assistant" | "chatgpt" | "model" => "assistant",
            "system" => "system",
            "tool" | "observation" => "tool",
            other => {
                let other: String = other.chars().take(40).collect();
                return Err(format!("turn {index} is from `{other}`; turns are from human, gpt, system or tool"));
            }
        };
        let mut message = json!({"role": role, "content": value});
        // 0 says that nothing is to be learnt from it.
        if let Some(weight) = turn.get("weight").filter(|weight| !weight.is_null()) {
            message["weight"] = weight.clone();
        }
        messages.push(message);
    }
    fields.insert(MESSAGES_COLUMN.to_owned(), Value::Array(messages));
    Ok(fields)
}

/// The instruction, and the input after a blank line.
fn alpaca(mut fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let present = super::present_columns(&fields);
    let mut text = |name: &str| match fields.shift_remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{name}` is no text")),
    };
    let (instruction, input, output) = (text("instruction")?, text("input")?, text("output")?);
    let instruction = instruction.ok_or_else(|| format!("there is no `instruction`; {present}"))?;
    let asked = input.map_or_else(|| instruction.clone(), |input| format!("{instruction}\n\n{input}"));
    let prompt = match system(&mut fields) {
        Some(system) => json!([system, {"role": "user", "content": asked}]),
        None => Value::String(asked),
    };
    let mut made = Map::from_iter([(String::from("prompt"), prompt)]);
    if let Some(output) = output {
        made.insert(String::from("completion"), Value::String(output));
    }
    made.extend(fields);
    Ok(made)
}

/// The question, the whole worked answer to learn from, and its result.
fn gsm8k(mut fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let present = super::present_columns(&fields);
    let (Some(Value::String(question)), Some(Value::String(worked))) =
        (fields.shift_remove("question"), fields.shift_remove("answer"))
    else {
        return Err(format!("there are no texts `question` and `answer`; {present}"));
    };
    let Some(answer) = result(&worked).map(str::to_owned) else {
        return Err(format!("`answer` has no result behind `{MARK}`"));
    };
    let named = [("prompt", question), ("completion", worked), ("answer", answer)];
    let mut made: Map<String, Value> =
        named.into_iter().map(|(name, text)| (name.to_owned(), Value::String(text))).collect();
    made.extend(fields);
    Ok(made)
}

/// What stands behind the last mark.
fn result(worked: &str) -> Option<&str> {
    worked.rsplit_once(MARK).map(|(_, result)| result.trim()).filter(|result| !result.is_empty())
}

/// The message of a column `system`, which is taken out.
fn system(fields: &mut Map<String, Value>) -> Option<Value> {
    let is_text = fields.get("system").is_some_and(|system| system.is_string() || system.is_null());
    let system = if is_text { fields.shift_remove("system")? } else { return None };
    system.as_str().filter(|text| !text.is_empty()).map(|text| json!({"role": "system", "content": text}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(row: Value) -> Map<String, Value> {
        let Value::Object(fields) = row else { panic!("{row}") };
        fields
    }

    fn made(layout: Layout, row: Value) -> Value {
        Value::Object(layout.apply(1, fields(row)).unwrap())
    }

    #[test]
    fn known_rows_are_recognised_and_made_into_ours() {
        let turns = json!([{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]);
        for (layout, row, expected) in [
            (
                Layout::Sharegpt,
                json!({"id": 3, "conversations": turns}),
                json!({"prompt": "q", "id": 3, "completion": "a"}),
            ),
            (
                Layout::Alpaca,
                json!({"instruction": "Add.", "input": "1 2", "output": "3", "text": "t"}),
                json!({"prompt": "Add.\n\n1 2", "completion": "3", "text": "t"}),
            ),
            (
                Layout::Alpaca,
                json!({"instruction": "Add.", "input": "", "output": "3", "system": "s"}),
                json!({"prompt": [{"role": "system", "content": "s"}, {"role": "user", "content": "Add."}], "completion": "3"}),
            ),
            (
                Layout::Gsm8k,
                json!({"question": "q", "answer": "1+1=2\n#### 1,002 "}),
                json!({"prompt": "q", "completion": "1+1=2\n#### 1,002 ", "answer": "1,002"}),
            ),
        ] {
            assert_eq!(Layout::recognise(&fields(row.clone())), layout, "{row}");
            assert_eq!(made(layout, row), expected);
        }
    }

    #[test]
    fn what_could_be_something_else_is_left_as_it_is() {
        for row in [
            json!({"prompt": "p", "instruction": "i", "output": "o"}),
            json!({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}),
            json!({"question": "q", "answer": "2"}),
            json!({"question": "q", "answer": "2 ####"}),
            json!({"instruction": "i"}),
            json!({"conversations": []}),
            json!({"conversations": [{"role": "user"}]}),
        ] {
            assert_eq!(Layout::recognise(&fields(row.clone())), Layout::Rows, "{row}");
        }
    }

    #[test]
    fn a_turn_of_no_weight_is_not_learnt_and_null_is_no_completion() {
        let turns = |weight: Value| json!([{"from": "human", "value": "q", "weight": null}, {"from": "gpt", "value": "a", "weight": weight}]);
        let error = Layout::Sharegpt.apply(3, fields(json!({"conversations": turns(json!(0))}))).unwrap_err();
        assert_eq!((error.code(), error.row()), ("row_wrong_type", Some(3)));
        assert!(error.to_string().contains("weight 0"), "{error}");
        let row = json!({"conversations": turns(json!(1)), "completion": null});
        assert_eq!(made(Layout::Sharegpt, row), json!({"prompt": "q", "completion": "a"}));
    }

    #[test]
    fn a_chat_is_what_fine_tuning_takes() {
        let messages = json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]);
        assert_eq!(made(Layout::Chat, json!({"messages": messages})), json!({"prompt": "q", "completion": "a"}));
    }

    #[test]
    fn a_row_of_another_layout_is_named() {
        for (layout, row) in [
            (Layout::Chat, json!({"prompt": "p"})),
            (Layout::Sharegpt, json!({"conversations": "q"})),
            (Layout::Sharegpt, json!({"conversations": [{"from": "crow", "value": "caw"}]})),
            (Layout::Sharegpt, json!({"conversations": [{"from": "human"}]})),
            (Layout::Alpaca, json!({"input": "i"})),
            (Layout::Alpaca, json!({"instruction": 1})),
            (Layout::Gsm8k, json!({"question": "q", "answer": "2"})),
        ] {
            let error = layout.apply(7, fields(row.clone())).unwrap_err();
            assert_eq!((error.code(), error.row()), ("row_other_layout", Some(7)), "{row}");
        }
    }
}
