//! Bounds of fields, held against the JSON Schema that clients read. A bound is stated once, as an attribute of its
//! field from which the schema is made, so that what the document admits and what is accepted are the same.
//!
//! Only what a type that was read already cannot say is looked at: how large a number, how long a text or a list. Types,
//! required fields and unknown fields are serde's.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::field::{FieldError, escaped};

/// What in `value`, which was read as a `T`, lies outside the bounds that `T` states; errors point below `pointer`.
pub fn of<T: JsonSchema + 'static>(value: &Value, pointer: &str) -> Vec<FieldError> {
    schema_of::<T>(|| schemars::schema_for!(T).to_value()).check(value, pointer)
}

/// The schema of a type, from the JSON that `make` gives, made once.
pub fn schema_of<T: 'static>(make: impl FnOnce() -> Value) -> &'static Schema {
    static MADE: Mutex<BTreeMap<TypeId, &'static Schema>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.entry(TypeId::of::<T>()).or_insert_with(|| Box::leak(Box::new(Schema::new(&make()))))
}

/// What of a JSON Schema is about bounds, and about which of several forms a value has.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Schema {
    #[serde(rename = "type")]
    types: Types,
    #[serde(rename = "const")]
    only: Option<Value>,
    #[serde(rename = "enum")]
    known: Option<Vec<Value>>,
    description: Option<String>,
    #[serde(flatten)]
    range: Range,
    min_length: Option<u64>,
    max_length: Option<u64>,
    min_items: Option<u64>,
    max_items: Option<u64>,
    min_properties: Option<u64>,
    max_properties: Option<u64>,
    items: Option<Part>,
    required: Vec<String>,
    properties: BTreeMap<String, Part>,
    additional_properties: Option<Part>,
    property_names: Option<Part>,
    all_of: Vec<Schema>,
    any_of: Vec<Schema>,
    one_of: Vec<Schema>,
    #[serde(rename = "$ref")]
    reference: Option<String>,
    /// What references name, with schemars and with utoipa.
    #[serde(rename = "$defs")]
    definitions: BTreeMap<String, Schema>,
    components: Components,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Components {
    schemas: BTreeMap<String, Schema>,
}

/// A schema within one.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Part {
    /// Whether there may be anything.
    Any(bool),
    Schema(Box<Schema>),
}

impl Part {
    fn schema(&self) -> Option<&Schema> {
        match self {
            Self::Any(_) => None,
            Self::Schema(schema) => Some(schema),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Types {
    One(String),
    Several(Vec<String>),
}

impl Default for Types {
    /// All.
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl Types {
    fn admit(&self, admits: impl Fn(&str) -> bool) -> bool {
        match self {
            Self::One(name) => admits(name),
            Self::Several(names) => names.is_empty() || names.iter().any(|name| admits(name)),
        }
    }
}

/// The place of a value that is looked at, written as a JSON pointer when it is needed.
#[derive(Clone, Copy)]
enum Place<'a> {
    Root(&'a str),
    Item(&'a Place<'a>, usize),
    Member(&'a Place<'a>, &'a str),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(pointer) => f.write_str(pointer),
            Self::Item(parent, index) => write!(f, "{parent}/{index}"),
            Self::Member(parent, name) => write!(f, "{parent}/{}", escaped(name)),
        }
    }
}

impl Schema {
    /// Reads what is needed of a schema.
    ///
    /// # Panics
    ///
    /// If it is none; schemas are made by this program.
    pub fn new(schema: &Value) -> Self {
        Self::deserialize(schema).expect("what schemars and utoipa make is a JSON Schema")
    }

    /// What in `value` lies outside the bounds; errors point below `pointer`.
    pub fn check(&self, value: &Value, pointer: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        Bounds { root: self }.check(self, value, Place::Root(pointer), None, &mut errors);
        errors
    }

    /// Whether the member `name` may be a text.
    pub fn admits_text(&self, name: &str) -> bool {
        let schema = self.properties.get(name).and_then(Part::schema);
        schema.is_some_and(|schema| match &schema.types {
            Types::One(name) => name == "string",
            Types::Several(names) => names.iter().any(|name| name == "string"),
        })
    }
}

#[derive(Clone, Copy)]
struct Bounds<'a> {
    /// Where references begin.
    root: &'a Schema,
}

impl<'a> Bounds<'a> {
    /// `about` is the description of the field, which may stand beside a reference to its type.
    fn check(
        self,
        schema: &'a Schema,
        value: &Value,
        place: Place<'_>,
        about: Option<&'a str>,
        errors: &mut Vec<FieldError>,
    ) {
        let about = about.or(schema.description.as_deref());
        for part in self.target(schema).into_iter().chain(&schema.all_of) {
            self.check(part, value, place, about, errors);
        }
        for choice in [&schema.any_of, &schema.one_of] {
            // Of several forms that a value may have, the one that it fits best is meant.
            let fitting = choice.iter().filter(|form| self.fits(form, value)).map(|form| {
                let mut errors = Vec::new();
                self.check(form, value, place, about, &mut errors);
                errors
            });
            errors.extend(fitting.min_by_key(Vec::len).unwrap_or_default());
        }
        let Schema { min_length, max_length, min_items, max_items, min_properties, max_properties, .. } = schema;
        let refusal = match value {
            Value::Number(number) => number.as_f64().and_then(|number| schema.range.refusal(number)),
            Value::String(text) => length(*min_length, *max_length, "characters", || text.chars().count()),
            Value::Array(items) => length(*min_items, *max_items, "items", || items.len()),
            Value::Object(members) => length(*min_properties, *max_properties, "members", || members.len()),
            Value::Null | Value::Bool(_) => None,
        };
        errors.extend(
            refusal.map(|refusal| FieldError::new(place.to_string(), "out_of_range", explained(refusal, about))),
        );
        self.check_inside(schema, value, place, errors);
    }

    /// What is wrong with the items or members of a value.
    fn check_inside(self, schema: &'a Schema, value: &Value, place: Place<'_>, errors: &mut Vec<FieldError>) {
        match value {
            Value::Array(items) => {
                let Some(schema) = schema.items.as_ref().and_then(Part::schema) else { return };
                for (i, item) in items.iter().enumerate() {
                    self.check(schema, item, Place::Item(&place, i), None, errors);
                }
            }
            Value::Object(members) => {
                let names = schema.property_names.as_ref().and_then(Part::schema);
                for (name, member) in members {
                    let place = Place::Member(&place, name);
                    if let Some(names) = names {
                        self.check(names, &Value::from(name.as_str()), place, None, errors);
                    }
                    let own = schema.properties.get(name).or(schema.additional_properties.as_ref());
                    if let Some(own) = own.and_then(Part::schema) {
                        self.check(own, member, place, None, errors);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Whether a value has this form, however large it is.
    fn fits(self, schema: &'a Schema, value: &Value) -> bool {
        let members = || {
            value.as_object().is_none_or(|members| {
                let closed = matches!(schema.additional_properties, Some(Part::Any(false)));
                schema.required.iter().all(|name| members.contains_key(name))
                    && (!closed || members.keys().all(|name| schema.properties.contains_key(name)))
            })
        };
        let mut forms = schema.any_of.iter().chain(&schema.one_of).peekable();
        schema.types.admit(|name| is(value, name))
            && schema.only.as_ref().is_none_or(|only| only == value)
            && schema.known.as_ref().is_none_or(|known| known.contains(value))
            && members()
            && (forms.peek().is_none() || forms.any(|form| self.fits(form, value)))
            && self.target(schema).is_none_or(|target| self.fits(target, value))
    }

    /// What a schema refers to.
    fn target(self, schema: &Schema) -> Option<&'a Schema> {
        let name = schema.reference.as_ref()?.rsplit('/').next()?;
        self.root.definitions.get(name).or_else(|| self.root.components.schemas.get(name))
    }
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
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct Range {
    minimum: Option<f64>,
    maximum: Option<f64>,
    /// The same, themselves outside.
    #[serde(rename = "exclusiveMinimum")]
    above: Option<f64>,
    #[serde(rename = "exclusiveMaximum")]
    below: Option<f64>,
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

/// What is wrong with how many of something there are.
fn length(least: Option<u64>, most: Option<u64>, what: &str, count: impl FnOnce() -> usize) -> Option<String> {
    if least.is_none() && most.is_none() {
        return None;
    }
    let count = count() as u64;
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
