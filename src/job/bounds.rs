//! Bounds of fields, held against the JSON Schema that clients read. A bound is stated once, as an attribute of its
//! field from which the schema is made, so that what the document admits and what is accepted are the same.
//!
//! Only what a type that was read already cannot say is looked at: how large a number, how long a text or a list. Types,
//! required fields and unknown fields are serde's.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde_json::Value;

use super::field::FieldError;

/// What in `value` lies outside the bounds of `schema`, which may refer to its own definitions; errors point below
/// `pointer`.
pub fn check(schema: &Value, value: &Value, pointer: &str) -> Vec<FieldError> {
    Bounds { root: schema }.check(schema, value, pointer, None)
}

/// What in `value`, which was read as a `T`, lies outside the bounds that `T` states.
pub fn of<T: JsonSchema + 'static>(value: &Value, pointer: &str) -> Vec<FieldError> {
    check(schema_of::<T>(|| schemars::schema_for!(T).to_value()), value, pointer)
}

/// The schema that `make` gives for a type, made once.
pub fn schema_of<T: 'static>(make: impl FnOnce() -> Value) -> &'static Value {
    static MADE: Mutex<BTreeMap<TypeId, &'static Value>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.entry(TypeId::of::<T>()).or_insert_with(|| Box::leak(Box::new(make())))
}

#[derive(Clone, Copy)]
struct Bounds<'a> {
    /// Where references begin.
    root: &'a Value,
}

impl<'a> Bounds<'a> {
    /// `about` is the description of the field, which may stand beside a reference to its type.
    fn check(self, schema: &'a Value, value: &Value, pointer: &str, about: Option<&'a str>) -> Vec<FieldError> {
        let about = about.or_else(|| schema["description"].as_str());
        let mut errors = Vec::new();
        if let Some(target) = self.target(schema) {
            errors.extend(self.check(target, value, pointer, about));
        }
        for part in parts(schema, "allOf") {
            errors.extend(self.check(part, value, pointer, about));
        }
        for choice in ["anyOf", "oneOf"] {
            // Of several forms that a value may have, the one that it fits best is meant.
            let fitting = parts(schema, choice).filter(|form| self.fits(form, value));
            let best = fitting.map(|form| self.check(form, value, pointer, about)).min_by_key(Vec::len);
            errors.extend(best.unwrap_or_default());
        }
        let refusal = match value {
            Value::Number(number) => number.as_f64().and_then(|number| range(schema).refusal(number)),
            Value::String(text) => length(schema, "Length", "characters", text.chars().count()),
            Value::Array(items) => length(schema, "Items", "items", items.len()),
            Value::Object(members) => length(schema, "Properties", "members", members.len()),
            Value::Null | Value::Bool(_) => None,
        };
        errors.extend(refusal.map(|refusal| FieldError::new(pointer, "out_of_range", explained(refusal, about))));
        errors.extend(self.inside(schema, value, pointer));
        errors
    }

    /// What is wrong with the items or members of a value.
    fn inside(self, schema: &'a Value, value: &Value, pointer: &str) -> Vec<FieldError> {
        let at = |name: &str| format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
        match value {
            Value::Array(items) => {
                let check = |(i, item)| self.check(&schema["items"], item, &format!("{pointer}/{i}"), None);
                items.iter().enumerate().flat_map(check).collect()
            }
            Value::Object(members) => {
                let check = |(name, member): (&String, &Value)| {
                    let of = schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]);
                    let mut errors = self.check(&schema["propertyNames"], &Value::from(name.as_str()), &at(name), None);
                    errors.extend(self.check(of, member, &at(name), None));
                    errors
                };
                members.iter().flat_map(check).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
        }
    }

    /// Whether a value has this form, however large it is.
    fn fits(self, schema: &'a Value, value: &Value) -> bool {
        let named = match &schema["type"] {
            Value::String(one) => is(value, one),
            Value::Array(several) => several.iter().filter_map(Value::as_str).any(|one| is(value, one)),
            _ => true,
        };
        let equal = schema.get("const").is_none_or(|only| only == value)
            && schema["enum"].as_array().is_none_or(|known| known.contains(value));
        let members = value.as_object().is_none_or(|members| {
            let mut required = parts(schema, "required").filter_map(Value::as_str);
            let closed = schema["additionalProperties"] == false;
            required.all(|name| members.contains_key(name))
                && (!closed || members.keys().all(|name| schema["properties"].get(name).is_some()))
        });
        let forms: Vec<_> = ["anyOf", "oneOf"].into_iter().flat_map(|choice| parts(schema, choice)).collect();
        named
            && equal
            && members
            && (forms.is_empty() || forms.into_iter().any(|form| self.fits(form, value)))
            && self.target(schema).is_none_or(|target| self.fits(target, value))
    }

    /// What a schema refers to.
    fn target(self, schema: &'a Value) -> Option<&'a Value> {
        self.root.pointer(schema["$ref"].as_str()?.strip_prefix('#')?)
    }
}

fn parts<'a>(schema: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    schema[name].as_array().into_iter().flatten()
}

fn is(value: &Value, kind: &str) -> bool {
    match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(number) => kind == "number" || (kind == "integer" && !number.is_f64()),
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    }
}

/// The bounds of a number.
#[derive(Clone, Copy)]
struct Range {
    minimum: Option<f64>,
    maximum: Option<f64>,
    /// The same, themselves outside.
    above: Option<f64>,
    below: Option<f64>,
}

fn range(schema: &Value) -> Range {
    let bound = |name: &str| schema[name].as_f64();
    Range {
        minimum: bound("minimum"),
        maximum: bound("maximum"),
        above: bound("exclusiveMinimum"),
        below: bound("exclusiveMaximum"),
    }
}

impl Range {
    fn refusal(self, number: f64) -> Option<String> {
        let Self { minimum, maximum, above, below } = self;
        let holds = minimum.is_none_or(|bound| number >= bound)
            && maximum.is_none_or(|bound| number <= bound)
            && above.is_none_or(|bound| number > bound)
            && below.is_none_or(|bound| number < bound);
        if holds {
            return None;
        }
        if let (Some(minimum), Some(maximum), None, None) = (minimum, maximum, above, below) {
            return Some(format!("must lie between {} and {}", written(minimum), written(maximum)));
        }
        let end = |words: &str, bound: Option<f64>| bound.map(|bound| format!("{words} {}", written(bound)));
        let lower = end("above", above).or(end("at least", minimum));
        let upper = end("below", below).or(end("at most", maximum));
        let both: Vec<String> = lower.into_iter().chain(upper).collect();
        Some(format!("must be {}", both.join(" and ")))
    }
}

/// What is wrong with how many of something there are; `minLength` and `maxLength` are the bounds of `Length`.
fn length(schema: &Value, bound: &str, what: &str, count: usize) -> Option<String> {
    let bound = |end: &str| schema[format!("{end}{bound}")].as_u64();
    let (least, most) = (bound("min"), bound("max"));
    let count = count as u64;
    if least.is_none_or(|least| count >= least) && most.is_none_or(|most| count <= most) {
        return None;
    }
    Some(match (least, most) {
        (Some(1), None) => String::from("must not be empty"),
        (Some(least), Some(most)) => format!("must have between {least} and {most} {what}"),
        (Some(least), None) => format!("must have at least {least} {what}"),
        (None, Some(most)) => format!("must have at most {most} {what}"),
        (None, None) => return None,
    })
}

/// A refusal with the first sentence of what is refused.
fn explained(refusal: String, about: Option<&str>) -> String {
    let paragraph = about.unwrap_or_default().split("\n\n").next().unwrap_or_default().replace('\n', " ");
    let sentence = paragraph.split(". ").next().unwrap_or_default().trim_end_matches('.');
    let mut letters = sentence.chars();
    match (letters.next(), letters.clone().next()) {
        (None, _) => refusal,
        (Some(first), Some(second)) if second.is_lowercase() => {
            format!("{refusal} ({}{})", first.to_lowercase(), letters.as_str())
        }
        (Some(_), _) => format!("{refusal} ({sentence})"),
    }
}

/// As people write it.
fn written(bound: f64) -> String {
    if bound.fract() == 0.0 { format!("{bound}") } else { format!("{bound:?}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code)]
    struct Outer {
        /// How far. And more.
        #[schemars(range(min = 1, max = 8))]
        near: u32,
        #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
        share: Option<f64>,
        #[schemars(length(min = 1, max = 3))]
        name: String,
        #[schemars(length(max = 2), inner(length(min = 1)))]
        texts: Vec<String>,
        choice: Choice,
        free: Free,
        named: BTreeMap<String, Free>,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[expect(dead_code)]
    enum Choice {
        None,
        Power { alpha: Alpha },
        TopK(#[schemars(range(min = 1))] u32),
    }

    #[derive(JsonSchema)]
    #[expect(dead_code)]
    struct Alpha {
        #[schemars(range(min = -0.5), extend("exclusiveMaximum" = 2.5))]
        value: f64,
    }

    #[derive(JsonSchema)]
    #[serde(untagged)]
    #[expect(dead_code)]
    enum Free {
        Word(String),
        Count(#[schemars(range(min = 1, max = 5))] u32),
    }

    fn refused(value: Value) -> Vec<(String, String)> {
        of::<Outer>(&value, "/a").into_iter().map(|error| (error.pointer, error.detail)).collect()
    }

    #[test]
    fn what_lies_on_a_bound_is_inside_and_an_exclusive_one_is_outside() {
        for inside in [
            json!({"near": 1}),
            json!({"near": 8, "share": 1.0}),
            json!({"share": 1e-300}),
            json!({"share": null}),
            json!({"name": "äöü", "texts": ["a", "b"]}),
            json!({"choice": "none", "free": "long words are free"}),
            json!({"choice": {"power": {"alpha": {"value": -0.5}}}, "free": 5}),
            json!({"choice": {"top_k": 1}, "named": {"a": 1, "b": "c"}}),
        ] {
            assert_eq!(refused(inside.clone()), [], "{inside}");
        }
        for (outside, pointer) in [
            (json!({"near": 0}), "/a/near"),
            (json!({"near": 9}), "/a/near"),
            (json!({"share": 0.0}), "/a/share"),
            (json!({"share": 1.0000001}), "/a/share"),
            (json!({"name": ""}), "/a/name"),
            (json!({"name": "abcd"}), "/a/name"),
            (json!({"texts": ["a", "b", "c"]}), "/a/texts"),
            (json!({"texts": ["a", ""]}), "/a/texts/1"),
            (json!({"choice": {"power": {"alpha": {"value": 2.5}}}}), "/a/choice/power/alpha/value"),
            (json!({"choice": {"top_k": 0}}), "/a/choice/top_k"),
            (json!({"free": 6}), "/a/free"),
            (json!({"named": {"a/b": 6}}), "/a/named/a~1b"),
        ] {
            let pointers: Vec<String> = refused(outside).into_iter().map(|(pointer, _)| pointer).collect();
            assert_eq!(pointers, [pointer]);
        }
    }

    #[test]
    fn a_refusal_says_the_bounds_and_what_the_field_is() {
        let detail = |value: Value| refused(value).remove(0).1;
        assert_eq!(detail(json!({"near": 0})), "must lie between 1 and 8 (how far)");
        assert_eq!(detail(json!({"share": 2})), "must be above 0 and at most 1");
        assert_eq!(
            detail(json!({"choice": {"power": {"alpha": {"value": -1}}}})),
            "must be at least -0.5 and below 2.5"
        );
        assert_eq!(detail(json!({"choice": {"top_k": 0}})), "must be at least 1");
        assert_eq!(detail(json!({"name": ""})), "must have between 1 and 3 characters");
        assert_eq!(detail(json!({"texts": [""]})), "must not be empty");
        assert_eq!(detail(json!({"texts": ["a", "b", "c"]})), "must have at most 2 items");
    }
}
