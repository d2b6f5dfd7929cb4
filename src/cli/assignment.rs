//! `--set /train/steps=50`: members of a spec by JSON pointer (RFC 6901), set from the command line.

use std::convert::Infallible;
use std::str::FromStr;

use anyhow::{Context, bail};
use serde_json::{Map, Value, json};

/// A pointer with what is to stand there.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    pointer: String,
    value: Value,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (pointer, value) = text.split_once('=').ok_or("write it as /pointer=value, such as /train/steps=50")?;
        if !pointer.starts_with('/') {
            return Err(format!("a pointer begins with a slash: /{}=...", pointer.replace('.', "/")));
        }
        // What is not JSON is a text, so that texts need no quotes within quotes.
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        Ok(Self { pointer: pointer.to_owned(), value })
    }
}

impl Assignment {
    pub fn new(pointer: &str, value: Value) -> Self {
        Self { pointer: pointer.to_owned(), value }
    }

    /// The same as an operation of a JSON Patch (RFC 6902).
    pub fn operation(&self) -> Value {
        json!({"op": "add", "path": self.pointer, "value": self.value})
    }

    /// Puts the value where the pointer says; objects on the way are made when they are missing.
    pub fn apply(&self, spec: &mut Value) -> anyhow::Result<()> {
        let mut place = spec;
        for token in self.pointer[1..].split('/') {
            let token = token.replace("~1", "/").replace("~0", "~");
            if place.is_null() {
                *place = Value::Object(Map::new());
            }
            place = match place {
                Value::Object(members) => members.entry(token).or_insert(Value::Null),
                Value::Array(items) => {
                    let length = items.len();
                    let index = if token == "-" { Some(length) } else { token.parse().ok() };
                    let index = index.filter(|index| *index <= length);
                    let index = index
                        .with_context(|| format!("{}: `{token}` is no place in a list of {length}", self.pointer))?;
                    if index == length {
                        items.push(Value::Null);
                    }
                    &mut items[index]
                }
                other => bail!("{}: there is {other} on the way, which has no members", self.pointer),
            };
        }
        *place = self.value.clone();
        Ok(())
    }
}

/// The value of an argument that is JSON.
pub fn json_argument(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))
}

/// An argument as it is, for parsers that cannot fail.
pub fn source(text: &str) -> Result<super::client::Source, Infallible> {
    Ok(if text == "-" { super::client::Source::Stdin } else { super::client::Source::File(text.into()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(spec: Value, text: &str) -> anyhow::Result<Value> {
        let mut spec = spec;
        Assignment::from_str(text).map_err(anyhow::Error::msg)?.apply(&mut spec)?;
        Ok(spec)
    }

    #[test]
    fn a_value_lands_where_its_pointer_says() {
        let table = [
            (json!({}), "/train/steps=5", json!({"train": {"steps": 5}})),
            (json!({"name": "a"}), "/name=b c", json!({"name": "b c"})),
            (json!({"name": "a"}), "/name=\"7\"", json!({"name": "7"})),
            (json!({"k": [1, 8]}), "/k/1=4", json!({"k": [1, 4]})),
            (json!({"k": [1]}), "/k/-=4", json!({"k": [1, 4]})),
            (json!({}), "/metadata/a~1b=x=y", json!({"metadata": {"a/b": "x=y"}})),
            (json!({"a": 1}), "/a=null", json!({"a": null})),
        ];
        for (spec, text, expected) in table {
            assert_eq!(set(spec, text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn a_pointer_to_nowhere_is_refused() {
        for (spec, text) in
            [(json!({"a": 1}), "/a/b=2"), (json!({"k": []}), "/k/3=1"), (json!({}), "a.b=1"), (json!({}), "/a")]
        {
            assert!(set(spec, text).is_err(), "{text}");
        }
        assert!(Assignment::from_str("train.steps=1").unwrap_err().contains("/train/steps="));
    }
}
