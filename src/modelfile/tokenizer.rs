//! Whether two models read text in the same way, so that the tokens of one mean the same to the other.

use serde_json::{Map, Value};

/// Longest part of a value that an error shows, in characters.
const SHOWN: usize = 60;

/// Compares what decides which text becomes which tokens in two files `tokenizer.json`: vocabulary, merges, added
/// tokens, normalizer and pre-tokenizer. The error says what the first difference is; `a` is called the first.
pub fn same_tokenizer(a: &[u8], b: &[u8]) -> Result<(), String> {
    let read = |bytes, which| -> Result<Value, String> {
        serde_json::from_slice(bytes).map_err(|error| format!("the {which} tokenizer is not JSON: {error}"))
    };
    let (a, b) = (read(a, "first")?, read(b, "second")?);
    let part = |tokenizer: &Value, pointer: &str| tokenizer.pointer(pointer).cloned().unwrap_or_default();
    same_vocabulary(&part(&a, "/model/vocab"), &part(&b, "/model/vocab"))?;
    same_entries("merges", &merges(&part(&a, "/model/merges")), &merges(&part(&b, "/model/merges")))?;
    same_entries("added tokens", &by_id(&part(&a, "/added_tokens")), &by_id(&part(&b, "/added_tokens")))?;
    for (what, pointer) in [("normalizers", "/normalizer"), ("pre-tokenizers", "/pre_tokenizer")] {
        let (a, b) = (part(&a, pointer), part(&b, pointer));
        if a != b {
            return Err(format!("the {what} differ: {} and {}", shown(&a), shown(&b)));
        }
    }
    Ok(())
}

/// A vocabulary is an object of tokens and ids, or a list of tokens and scores in the order of their ids.
fn same_vocabulary(a: &Value, b: &Value) -> Result<(), String> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => same_ids(a, b),
        (Value::Array(a), Value::Array(b)) => same_entries("vocabularies", a, b),
        (a, b) if a == b => Ok(()),
        _ => Err(String::from("the vocabularies are of different kinds")),
    }
}

fn same_ids(a: &Map<String, Value>, b: &Map<String, Value>) -> Result<(), String> {
    for (token, id) in a {
        match b.get(token) {
            Some(other) if other == id => {}
            Some(other) => {
                return Err(format!("the token {} is {id} in the first and {other} in the second", quoted(token)));
            }
            None => return Err(format!("the second has no token {}, which is {id} in the first", quoted(token))),
        }
    }
    match b.iter().find(|(token, _)| !a.contains_key(*token)) {
        Some((token, id)) => Err(format!("the first has no token {}, which is {id} in the second", quoted(token))),
        None => Ok(()),
    }
}

fn same_entries(what: &str, a: &[Value], b: &[Value]) -> Result<(), String> {
    if let Some((index, (a, b))) = a.iter().zip(b).enumerate().find(|(_, (a, b))| a != b) {
        return Err(format!("the {what} differ at number {index}: {} and {}", shown(a), shown(b)));
    }
    if a.len() != b.len() {
        return Err(format!("the first has {} {what}, the second {}", a.len(), b.len()));
    }
    Ok(())
}

/// Merges as pairs; older files write them as two words in one text.
fn merges(value: &Value) -> Vec<Value> {
    let pair = |merge: &Value| match merge.as_str().and_then(|text| text.split_once(' ')) {
        Some((left, right)) => Value::from(vec![left, right]),
        None => merge.clone(),
    };
    value.as_array().map(|merges| merges.iter().map(pair).collect()).unwrap_or_default()
}

fn by_id(value: &Value) -> Vec<Value> {
    let mut tokens = value.as_array().cloned().unwrap_or_default();
    tokens.sort_by_key(|token| token.get("id").and_then(Value::as_u64));
    tokens
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    let cut: String = text.chars().take(SHOWN).collect();
    if cut.len() < text.len() { format!("{cut}...") } else { cut }
}

fn quoted(token: &str) -> String {
    shown(&Value::from(token))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tokenizer() -> Value {
        json!({
            "added_tokens": [
                {"id": 3, "content": "<s>", "special": true},
                {"id": 4, "content": "</s>", "special": true},
            ],
            "normalizer": {"type": "NFC"},
            "pre_tokenizer": null,
            "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
        })
    }

    fn compare(change: impl Fn(&mut Value)) -> Result<(), String> {
        let mut other = tokenizer();
        change(&mut other);
        same_tokenizer(tokenizer().to_string().as_bytes(), other.to_string().as_bytes())
    }

    #[test]
    fn the_way_a_file_is_written_makes_no_difference() {
        compare(|t| t["model"]["vocab"] = json!({"ab": 2, "b": 1, "a": 0})).unwrap();
        compare(|t| t["model"]["merges"] = json!([["a", "b"]])).unwrap();
        compare(|t| t["added_tokens"].as_array_mut().unwrap().reverse()).unwrap();
        compare(|t| drop(t.as_object_mut().unwrap().shift_remove("pre_tokenizer"))).unwrap();
        compare(|t| t["truncation"] = json!({"max_length": 512})).unwrap();
    }

    #[test]
    fn the_first_difference_is_named() {
        let check = |change: &dyn Fn(&mut Value), expected: &str| {
            let error = compare(change).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        };
        check(&|t| t["model"]["vocab"]["ab"] = json!(9), "the token \"ab\" is 2 in the first and 9 in the second");
        check(&|t| t["model"]["vocab"]["c"] = json!(9), "the first has no token \"c\"");
        check(&|t| t["model"]["vocab"] = json!({"a": 0, "b": 1}), "the second has no token \"ab\"");
        check(&|t| t["model"]["vocab"] = json!([["a", 0.0]]), "the vocabularies are of different kinds");
        check(&|t| t["model"]["merges"] = json!(["b a"]), "the merges differ at number 0");
        check(&|t| t["model"]["merges"] = json!([]), "the first has 1 merges, the second 0");
        check(&|t| t["added_tokens"][1]["content"] = json!("<eos>"), "the added tokens differ at number 1");
        check(&|t| t["normalizer"] = json!({"type": "NFKC"}), "the normalizers differ");
        assert!(same_tokenizer(b"{}", b"no").unwrap_err().starts_with("the second tokenizer is not JSON"));
    }
}
