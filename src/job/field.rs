//! Errors that name the field they are about, and the one way every configuration is read from JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;

/// What is wrong with one field of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{pointer}: {detail}")]
pub struct FieldError {
    /// JSON pointer (RFC 6901) into the request body, for example `/objective/beta`.
    pub pointer: String,
    /// Stable, machine-readable reason, for example `unknown_field`.
    pub code: &'static str,
    /// One sentence: what is wrong and what to do.
    pub detail: String,
}

impl FieldError {
    pub fn new(pointer: impl Into<String>, code: &'static str, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), code, detail: detail.into() }
    }

    /// The same of a part of a body.
    pub fn below(self, part: &str) -> Self {
        Self { pointer: format!("{part}{}", self.pointer), ..self }
    }
}

/// A name as it stands in a JSON pointer (RFC 6901).
pub fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Reads `value` as `T`; an error carries the pointer of the offending field below `pointer`.
pub fn parse<T: DeserializeOwned>(value: &Value, pointer: &str) -> Result<T, FieldError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let mut at = pointer.to_owned();
        for segment in error.path().iter() {
            match segment {
                Segment::Seq { index } => at.push_str(&format!("/{index}")),
                Segment::Map { key } => {
                    at.push('/');
                    at.push_str(&escaped(key));
                }
                Segment::Enum { variant } => at.push_str(&format!("/{variant}")),
                Segment::Unknown => {}
            }
        }
        let detail = error.inner().to_string();
        let code = if detail.starts_with("unknown field") {
            "unknown_field"
        } else if detail.starts_with("missing field") {
            if let Some(name) = detail.split('`').nth(1) {
                at.push_str(&format!("/{name}"));
            }
            "missing_field"
        } else if detail.starts_with("unknown variant") {
            "unknown_value"
        } else if detail.starts_with("invalid type") {
            "wrong_type"
        } else {
            "invalid_value"
        };
        FieldError { pointer: at, code, detail }
    })
}

/// The errors of several checks together.
pub fn all(checks: impl IntoIterator<Item = Result<(), Vec<FieldError>>>) -> Result<(), Vec<FieldError>> {
    let errors: Vec<FieldError> = checks.into_iter().filter_map(Result::err).flatten().collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Takes `type` out of a tagged object `{"type": ..., ...}` and checks that it is one of `known`. `what` names the kind
/// of thing in messages.
pub fn split_type<'a>(
    value: &Value,
    pointer: &str,
    what: &str,
    known: &[&'a str],
) -> Result<(&'a str, Value), Vec<FieldError>> {
    let one = |pointer: String, code, detail: String| Err(vec![FieldError::new(pointer, code, detail)]);
    let Some(object) = value.as_object() else {
        return one(pointer.to_owned(), "wrong_type", format!("the {what} is an object with a `type`"));
    };
    let (at, names) = (format!("{pointer}/type"), known.join(", "));
    match object.get("type") {
        None => one(at, "missing_field", format!("name the {what}'s type, one of: {names}")),
        Some(Value::String(name)) => match known.iter().find(|known| *known == name) {
            Some(name) => {
                let mut fields = object.clone();
                fields.shift_remove("type");
                Ok((name, Value::Object(fields)))
            }
            None => {
                let name: String = name.chars().take(80).collect();
                one(at, "unknown_value", format!("`{name}` is no {what}; there are: {names}"))
            }
        },
        Some(_) => one(at, "wrong_type", format!("must be a text, one of: {names}")),
    }
}

/// The opposite of [`split_type`].
pub fn with_type(name: &str, fields: &impl Serialize) -> Value {
    let mut object = serde_json::Map::new();
    object.insert(String::from("type"), Value::from(name));
    if let Ok(Value::Object(fields)) = serde_json::to_value(fields) {
        object.extend(fields);
    }
    Value::Object(object)
}

/// Collects range errors while a configuration is checked, so that a client sees all of them at once.
#[derive(Debug, Default)]
pub struct Fields {
    pointer: String,
    errors: Vec<FieldError>,
}

impl Fields {
    /// Checks fields below `pointer`, for example `/objective`.
    pub fn below(pointer: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), errors: Vec::new() }
    }

    /// Records `detail` against `field` unless `holds`.
    pub fn require(&mut self, holds: bool, field: &str, detail: impl Into<String>) {
        if !holds {
            self.errors.push(FieldError::new(format!("{}/{field}", self.pointer), "out_of_range", detail));
        }
    }

    pub fn finish(self) -> Result<(), Vec<FieldError>> {
        if self.errors.is_empty() { Ok(()) } else { Err(self.errors) }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        #[expect(dead_code)]
        inner: Inner,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        #[expect(dead_code)]
        beta: f64,
    }

    #[test]
    fn errors_point_at_the_field() {
        let wrong = parse::<Outer>(&json!({"inner": {"beta": "hot"}}), "").unwrap_err();
        assert_eq!((wrong.pointer.as_str(), wrong.code), ("/inner/beta", "wrong_type"));
        let unknown = parse::<Outer>(&json!({"inner": {"beta": 1.0, "gamma": 1}}), "/spec").unwrap_err();
        assert_eq!((unknown.pointer.as_str(), unknown.code), ("/spec/inner/gamma", "unknown_field"));
        let missing = parse::<Outer>(&json!({"inner": {}}), "").unwrap_err();
        assert_eq!((missing.pointer.as_str(), missing.code), ("/inner/beta", "missing_field"));
    }
}
