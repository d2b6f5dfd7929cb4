//! Structured output: the JSON value that a completion ends on is valid by a JSON Schema.
//!
//! Drafts 4 to 2020-12, as `$schema` says, 2020-12 where it says nothing. A schema stands for itself: references lead to
//! its own parts, by pointers, and to no file or address. Patterns are those of the crate `regex`, which takes linear time, so that
//! look-around and back-references do not exist.

use std::sync::Arc;

use jsonschema::{PatternOptions, ValidationError, Validator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Case, Outside, Part, Score, Settings, Verifier, json};
use crate::job::field::{FieldError, Fields};

pub const SUMMARY: &str =
    "The JSON value that a completion ends on is valid by a JSON Schema, wholly or by its share of required members.";

/// The longest schema, written as JSON.
const MAX_SCHEMA_BYTES: usize = 1 << 18;
/// The most work that references may multiply a schema to, in subschemas.
const MAX_UNFOLDED: u64 = 100_000;
/// The largest compiled pattern in a schema, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// Metrics and columns are made for this many required members.
const MAX_PARTS: usize = 16;

/// Configuration of the `json_schema` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The JSON Schema of all rows; either this or `schema_column`.
    schema: Option<Map<String, Value>>,
    /// The column with the schema of each row, as JSON or as a text that holds JSON.
    #[schemars(length(min = 1))]
    schema_column: Option<String>,
    /// Which part of the completion is read.
    extract: Extract,
    /// A value that is not valid earns the share of the schema's `required` members that are there and valid, and always
    /// less than 1.
    partial: bool,
    /// `format`, such as `date` and `email`, is checked.
    formats: bool,
    /// Seconds one verification may take.
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Extract {
    /// The completion if it is JSON, otherwise its last complete object or list, whatever stands around it. Where the schema
    /// is not of type `array`, an object counts before a list of texts and numbers that follows it.
    Last,
    /// The whole completion, which must be JSON and nothing else, alone or in one code fence.
    All,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            schema: None,
            schema_column: None,
            extract: Extract::Last,
            partial: false,
            formats: true,
            time_limit_seconds: super::DEFAULT_TIME_LIMIT_SECONDS,
        }
    }
}

impl Config {
    fn compile(&self, schema: &Value) -> Result<Validator, (String, String)> {
        let whole = |detail: String| (String::new(), detail);
        let bytes = schema.to_string().len();
        if bytes > MAX_SCHEMA_BYTES {
            return Err(whole(format!("has {bytes} bytes; a schema may have {MAX_SCHEMA_BYTES}")));
        }
        if has_inner_address(schema) {
            return Err(whole(String::from(
                "a part of it has an `$id`; leave that out, and refer to the part by a pointer",
            )));
        }
        if References::count(schema).map_err(whole)? > MAX_UNFOLDED {
            let detail = "its references lead to each other in more ways than can be followed; make it simpler";
            return Err(whole(detail.to_owned()));
        }
        jsonschema::options()
            .should_validate_formats(self.formats)
            .with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN_BYTES))
            .offline()
            .build(schema)
            .map_err(|error| (error.instance_path().to_string(), super::shortened(&error.to_string())))
    }

    fn own_schema(&self) -> Option<Value> {
        self.schema.clone().map(Value::Object)
    }
}

/// What of a schema may lead elsewhere within it.
struct References<'s> {
    root: &'s Value,
    /// Pointers of the references that are being followed.
    open: Vec<String>,
    /// How many subschemas may still be counted.
    left: u64,
}

impl References<'_> {
    /// Counts the subschemas that there are when every reference is replaced by what it leads to, up to [`MAX_UNFOLDED`]; a
    /// reference back to where it stands counts once, for it goes on only where the value does. An error names a reference
    /// that cannot be followed here.
    fn count(schema: &Value) -> Result<u64, String> {
        let mut references = References { root: schema, open: Vec::new(), left: MAX_UNFOLDED + 1 };
        references.enter(schema, true)?;
        Ok(MAX_UNFOLDED + 1 - references.left)
    }

    /// Counts a value, which is a schema, or else holds some by names that are no keywords.
    fn enter(&mut self, value: &Value, is_schema: bool) -> Result<(), String> {
        /// Keywords whose members are names.
        const NAMING: [&str; 4] = ["properties", "patternProperties", "dependentSchemas", "dependencies"];
        if self.left == 0 {
            return Ok(());
        }
        self.left -= 1;
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    match (name.as_str(), member) {
                        // What is defined costs where it is used.
                        ("$defs" | "definitions", _) if is_schema => {}
                        ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(to)) if is_schema => {
                            self.follow(to)?
                        }
                        (name, member) => self.enter(member, !(is_schema && NAMING.contains(&name)))?,
                    }
                }
                Ok(())
            }
            Value::Array(items) => items.iter().try_for_each(|item| self.enter(item, true)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    fn follow(&mut self, reference: &str) -> Result<(), String> {
        let pointer = pointer(reference).ok_or_else(|| {
            let shown = super::quote(reference);
            format!("the reference {shown} is no pointer into the schema, such as `#` and `#/$defs/name`; write it so")
        })?;
        // The compiler says which lead nowhere.
        let Some(target) = self.root.pointer(&pointer) else { return Ok(()) };
        if self.open.contains(&pointer) {
            return Ok(());
        }
        self.open.push(pointer);
        self.enter(target, true)?;
        self.open.pop();
        Ok(())
    }
}

/// The pointer in a reference to a place of the schema itself; none where it is another reference.
fn pointer(reference: &str) -> Option<String> {
    let fragment = reference.strip_prefix('#')?;
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            other => other,
        });
    }
    let pointer = String::from_utf8(bytes).ok()?;
    (pointer.is_empty() || pointer.starts_with('/')).then_some(pointer)
}

/// Whether a part of a schema has an address of its own, from which pointers in it would count.
fn has_inner_address(schema: &Value) -> bool {
    fn within(value: &Value, names: &[&str]) -> bool {
        match value {
            Value::Object(members) => members.iter().any(|(name, member)| {
                let address = member.as_str().is_some_and(|to| !to.starts_with('#'));
                (names.contains(&name.as_str()) && address) || within(member, names)
            }),
            Value::Array(items) => items.iter().any(|item| within(item, names)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }
    let is_old = schema["$schema"].as_str().is_some_and(|draft| draft.contains("draft-04"));
    let names: &[&str] = if is_old { &["$id", "id"] } else { &["$id"] };
    schema.as_object().into_iter().flatten().any(|(_, member)| within(member, names))
}

/// The part of a schema that it refers to as a whole, or itself.
fn referred(schema: &Value) -> &Value {
    const STEPS: usize = 8;
    let mut at = schema;
    for _ in 0..STEPS {
        let Some(target) = at["$ref"].as_str().and_then(|to| schema.pointer(&pointer(to)?)) else { break };
        at = target;
    }
    at
}

/// The members that an object must have by a schema.
fn required(schema: &Value) -> Vec<String> {
    let names = schema["required"].as_array().into_iter().flatten();
    names.filter_map(|name| Some(name.as_str()?.to_owned())).collect()
}

impl Settings for Config {
    fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        let mut fields = Fields::below(pointer);
        let one = self.schema.is_some() != self.schema_column.is_some();
        fields.require(one, "schema", "give either `schema` or `schema_column`");
        let mut errors = fields.finish().err().unwrap_or_default();
        if let Some(Err((place, detail))) = self.own_schema().map(|schema| self.compile(&schema)) {
            let detail = format!("is no JSON Schema that can be used here: {detail}");
            errors.push(FieldError::new(format!("{pointer}/schema{place}"), "invalid_schema", detail));
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn build(&self, _outside: &Outside) -> Arc<dyn Verifier> {
        let of_all = self.own_schema().map(|schema| {
            let validator = self.compile(&schema);
            let validator = validator.expect("the configuration was checked, and the check compiles the schema");
            Compiled::new(validator, &schema)
        });
        Arc::new(Schema { config: self.clone(), of_all })
    }

    fn compares_answer(&self) -> bool {
        false
    }

    fn columns(&self) -> Vec<(String, String)> {
        self.schema_column.iter().map(|column| (String::from("schema_column"), column.clone())).collect()
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

struct Schema {
    config: Config,
    /// The schema that all rows share.
    of_all: Option<Compiled>,
}

struct Compiled {
    validator: Validator,
    required: Vec<String>,
    wanted: json::Wanted,
    /// The names of the first required members as parts of a verdict.
    parts: Vec<String>,
}

impl Compiled {
    fn new(validator: Validator, schema: &Value) -> Self {
        let schema = referred(schema);
        let wanted = if schema["type"] == "array" { json::Wanted::Any } else { json::Wanted::Object };
        let required = required(schema);
        let parts = super::part_names(required.iter().take(MAX_PARTS).map(String::as_str));
        Self { validator, required, wanted, parts }
    }
}

impl Verifier for Schema {
    fn verify(&self, case: &Case<'_>) -> Score {
        let of_row = match &self.config.schema_column {
            None => None,
            Some(column) => match self.of_row(case, column) {
                Ok(compiled) => Some(compiled),
                Err(detail) => return Score::error(detail),
            },
        };
        let compiled = of_row.as_ref().or(self.of_all.as_ref());
        let compiled = compiled.expect("the configuration was checked: a schema is in it or in a column");
        if let Err(detail) = super::check_length("the completion", case.completion) {
            return Score::error(detail);
        }
        match self.found(case.completion, compiled) {
            Some(value) => self.judge(&value, compiled),
            None => Score::unparsable(match self.config.extract {
                Extract::Last => "the completion holds no JSON object or list",
                Extract::All => "the completion is not JSON",
            }),
        }
    }

    fn part_names(&self) -> Vec<String> {
        let parts = self.of_all.iter().flat_map(|compiled| &compiled.parts);
        parts.filter(|_| self.config.partial).cloned().collect()
    }
}

impl Schema {
    fn of_row(&self, case: &Case<'_>, column: &str) -> Result<Compiled, String> {
        let shown = super::quote(column);
        let schema = match case.row.get(column) {
            Some(schema @ Value::Object(_)) => schema.clone(),
            Some(Value::String(text)) => {
                super::check_length("the schema", text)?;
                let read: Result<Value, _> = serde_json::from_str(text);
                read.map_err(|error| format!("column {shown} holds no JSON: {error}"))?
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) | None => {
                return Err(format!("column {shown} holds no JSON Schema"));
            }
        };
        let wrong = |(place, detail): (String, String)| format!("the schema in column {shown} {place}: {detail}");
        Ok(Compiled::new(self.config.compile(&schema).map_err(wrong)?, &schema))
    }

    fn found(&self, completion: &str, compiled: &Compiled) -> Option<Value> {
        let completion = match self.config.extract {
            Extract::Last => super::behind_thought(completion),
            Extract::All => completion,
        };
        let whole = serde_json::from_str(completion.trim()).ok();
        match self.config.extract {
            Extract::Last => whole.or_else(|| json::last_value(completion, compiled.wanted)),
            Extract::All => whole.or_else(|| serde_json::from_str(super::fenced_alone(completion)?).ok()),
        }
    }

    fn judge(&self, value: &Value, compiled: &Compiled) -> Score {
        let mut mistakes = compiled.validator.iter_errors(value);
        let first = mistakes.next();
        let mut right: Vec<bool> = compiled.required.iter().map(|name| value.get(name).is_some()).collect();
        if self.config.partial {
            first.iter().for_each(|mistake| mark(mistake, &compiled.required, &mut right));
            // Nothing more can be wrong where no member is right.
            while right.contains(&true)
                && let Some(mistake) = mistakes.next()
            {
                mark(&mistake, &compiled.required, &mut right);
            }
        }
        let answer = json::canonical(value).to_string();
        let score = match &first {
            None => Score::of_answer(answer, 1.0).because("it is valid"),
            Some(first) => {
                let reward = if self.config.partial { share(&right) } else { 0.0 };
                let place = first.instance_path().to_string();
                let at = if place.is_empty() { String::new() } else { format!("at {}: ", super::quote(&place)) };
                let reason = format!("{at}{}", super::shortened(&first.masked().to_string()));
                Score::of_answer(answer, reward).because(reason)
            }
        };
        if !self.config.partial {
            return score;
        }
        let part =
            |(name, right): (&String, bool)| Part { name: name.clone(), score: Score::ok(f64::from(u8::from(right))) };
        score.with_parts(compiled.parts.iter().zip(right).map(part).collect())
    }
}

/// Marks the member that a mistake lies in as wrong.
fn mark(mistake: &ValidationError<'_>, required: &[String], right: &mut [bool]) {
    let place = mistake.instance_path().to_string();
    let member = place.split('/').nth(1);
    for (name, right) in required.iter().zip(right) {
        *right &= member != Some(&*crate::job::field::escaped(name));
    }
}

/// The share of required members that are right. Where all are and the value is still not valid, what is wrong counts as
/// one more.
fn share(members: &[bool]) -> f64 {
    let right = members.iter().filter(|right| **right).count();
    let all = if right == members.len() { right + 1 } else { members.len() };
    right as f64 / all as f64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::verifier::{self, ScoreStatus};

    fn person() -> Value {
        json!({"type": "object", "required": ["name", "age", "mail"], "additionalProperties": false,
               "properties": {"name": {"type": "string", "pattern": "^[A-Z]"}, "age": {"$ref": "#/$defs/age"},
                              "mail": {"type": "string", "format": "email"}, "tags": {"type": "array"}},
               "$defs": {"age": {"type": "integer", "minimum": 0}}})
    }

    fn score(mut config: Value, completion: &str) -> Score {
        config["type"] = json!("json_schema");
        if config.get("schema_column").is_none() && config.get("schema").is_none() {
            config["schema"] = person();
        }
        let row = json!({"object": {"type": "integer"}, "text": "{\"type\": \"integer\"}", "number": 3,
                         "broken": "{", "none": {"type": "whole"}});
        let case = Case { prompt: "", completion, answer: None, row: row.as_object().unwrap() };
        verifier::Config::parse(&config, "").unwrap().build(&Outside::default()).verify(&case)
    }

    fn refusal(schema: Value) -> (String, &'static str, String) {
        let errors = verifier::Config::parse(&json!({"type": "json_schema", "schema": schema}), "/v").unwrap_err();
        (errors[0].pointer.clone(), errors[0].code, errors[0].detail.clone())
    }

    const RIGHT: &str = r#"{"name": "Ada", "age": 36, "mail": "ada@example.org"}"#;

    #[test]
    fn a_valid_value_earns_1_wherever_it_stands() {
        for completion in [
            RIGHT.to_owned(),
            format!("Here it is:\n```json\n{RIGHT}\n```\nAnything else?"),
            format!("{{\"name\": 1}} no, rather {RIGHT}"),
        ] {
            assert_eq!(score(json!({}), &completion).reward, 1.0, "{completion}");
        }
        assert_eq!(score(json!({"extract": "all"}), &format!("```json\n{RIGHT}\n```")).reward, 1.0);
        let sourced = format!("{RIGHT}\nSources: [1]");
        assert_eq!(score(json!({}), &sourced).reward, 1.0);
        assert_eq!(score(json!({"schema": {"type": "array"}}), &sourced).reward, 1.0);
        let broken = format!(r#"{{"name": Bob, "friend": {RIGHT}}}"#);
        assert_eq!(score(json!({}), &broken).status, ScoreStatus::Unparsable);
        assert_eq!(score(json!({"extract": "all"}), &format!("It is {RIGHT}")).status, ScoreStatus::Unparsable);
        assert_eq!(score(json!({}), "no JSON at all").status, ScoreStatus::Unparsable);
        assert_eq!(score(json!({"schema": {"type": "string"}}), "\"text\"").reward, 1.0);
        let (one, other) = (score(json!({}), RIGHT).answer, score(json!({}), &RIGHT.replace("36", "36.0")).answer);
        assert_eq!(one, other);
    }

    #[test]
    fn part_of_the_required_members_earns_part_of_the_reward() {
        for (completion, reward) in [
            (RIGHT, 1.0),
            (r#"{"name": "Ada", "age": 36}"#, 2.0 / 3.0),
            (r#"{"name": "ada", "age": -1, "mail": "ada@example.org"}"#, 1.0 / 3.0),
            (r#"{"name": "Ada", "age": 36, "mail": "nowhere"}"#, 2.0 / 3.0),
            (r#"{"name": "Ada", "age": 36, "mail": "ada@example.org", "more": 1}"#, 0.75),
            (r#"{"name": "Ada", "age": 36, "mail": "ada@example.org", "tags": 1}"#, 0.75),
            ("[]", 0.0),
        ] {
            assert_eq!(score(json!({"partial": true}), completion).reward, reward, "{completion}");
            assert_eq!(score(json!({}), completion).reward, reward.floor(), "{completion}");
        }
        let without = json!({"partial": true, "schema": {"type": "integer"}});
        assert_eq!(score(without, "{}").reward, 0.0);
        let apart = json!({"partial": true, "schema": {"$ref": "#/$defs/p", "$defs": {"p": {"required": ["a", "b"]}}}});
        assert_eq!(score(apart, "{\"a\": 1}").reward, 0.5);
        assert_eq!(score(json!({"formats": false}), &RIGHT.replace("ada@example.org", "nowhere")).reward, 1.0);
    }

    #[test]
    fn no_number_of_mistakes_hides_others() {
        let schema = json!({"required": ["tags", "name"],
                            "properties": {"tags": {"items": {"type": "string"}}, "name": {"type": "string"}}});
        let tags = vec!["1"; 100_000].join(",");
        let judged = score(json!({"partial": true, "schema": schema}), &format!("{{\"tags\": [{tags}], \"name\": 5}}"));
        assert_eq!(judged.reward, 0.0);
    }

    #[test]
    fn the_reason_names_the_place_and_each_required_member_is_a_part() {
        let wrong = score(json!({"partial": true}), r#"{"name": "Ada", "age": "old", "mail": "ada@example.org"}"#);
        assert!(wrong.detail.unwrap().contains("/age"));
        let parts: Vec<_> = wrong.parts.iter().map(|part| (part.name.as_str(), part.score.reward)).collect();
        assert_eq!(parts, [("name", 1.0), ("age", 0.0), ("mail", 1.0)]);
    }

    #[test]
    fn a_row_may_bring_its_schema_and_one_that_is_none_is_an_error() {
        for column in ["object", "text"] {
            assert_eq!(score(json!({"schema_column": column}), "3").reward, 1.0);
            assert_eq!(score(json!({"schema_column": column}), "[3]").reward, 0.0);
        }
        for column in ["number", "broken", "none", "absent"] {
            assert_eq!(score(json!({"schema_column": column}), "3").status, ScoreStatus::Error, "{column}");
        }
    }

    #[test]
    fn a_schema_that_is_none_is_refused_where_it_is_wrong() {
        for (schema, pointer) in [
            (json!({"type": "whole"}), "/v/schema/type"),
            (json!({"properties": {"a": {"minimum": "1"}}}), "/v/schema/properties/a/minimum"),
            (json!({"required": "a"}), "/v/schema/required"),
            (json!({"$ref": "#/$defs/absent"}), "/v/schema"),
            (json!({"$ref": "https://example.org/schema.json"}), "/v/schema"),
            (json!({"$ref": "file:///etc/passwd"}), "/v/schema"),
            (json!({"$ref": "#name", "$defs": {"a": {"$anchor": "name"}}}), "/v/schema"),
            (json!({"$dynamicRef": "#name", "$defs": {"a": {"$dynamicAnchor": "name"}}}), "/v/schema"),
            (json!({"$ref": "part", "$defs": {"a": {"$id": "part"}}}), "/v/schema"),
            (json!({"$ref": "#/$defs/a", "$defs": {"a": {"$id": "part"}}}), "/v/schema"),
            (json!({"$ref": "#/%zz"}), "/v/schema"),
            (json!({"pattern": "(a"}), "/v/schema"),
            (json!({"pattern": "(?=a)"}), "/v/schema"),
            (json!({"pattern": "((a{1,1000}){1,1000}){1,1000}"}), "/v/schema"),
            (json!({"$schema": "https://example.org/own"}), "/v/schema"),
            (json!({"const": "x".repeat(MAX_SCHEMA_BYTES)}), "/v/schema"),
        ] {
            let (at, code, detail) = refusal(schema.clone());
            assert!(at.starts_with(pointer) && code == "invalid_schema", "{schema}: {at} {code} {detail}");
        }
        let both = json!({"type": "json_schema", "schema": {}, "schema_column": "a"});
        assert_eq!(verifier::Config::parse(&both, "/v").unwrap_err()[0].pointer, "/v/schema");
        assert_eq!(verifier::Config::parse(&json!({"type": "json_schema"}), "/v").unwrap_err()[0].pointer, "/v/schema");
    }

    #[test]
    fn schemas_that_multiply_themselves_are_refused_and_those_that_recur_with_the_value_are_not() {
        let mut definitions = json!({"d40": {"type": "integer"}});
        for n in 0..40 {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            definitions[format!("d{n}")] = json!({"anyOf": [next.clone(), {"not": next}]});
        }
        assert_eq!(refusal(json!({"$ref": "#/$defs/d0", "$defs": definitions})).1, "invalid_schema");
        // 2^20 ways in other writings of a pointer, and below a member whose name is that of a keyword.
        let levels = |reference: &str, below: bool| {
            let level = |n: usize| {
                let next = json!({"$ref": format!("{reference}{}", n + 1)});
                let both = json!({"allOf": [next.clone(), next]});
                (format!("a{n}"), if below { json!({"properties": {"definitions": both}}) } else { both })
            };
            let mut definitions: Map<String, Value> = (0..20).map(level).collect();
            definitions.insert(String::from("a20"), json!({"type": "integer"}));
            json!({"$ref": format!("{reference}0"), "$defs": definitions})
        };
        for (reference, below) in
            [("#/$defs/a", false), ("#/%24defs/a", false), ("#/%24%64efs/a", false), ("#/$defs/a", true)]
        {
            assert_eq!(refusal(levels(reference, below)).1, "invalid_schema", "{reference} {below}");
        }
        let encoded = json!({"schema": {"$ref": "#/%24defs/a~1b", "$defs": {"a/b": {"required": ["$id"], "properties":
                             {"$id": {"type": "string"}, "$ref": {"type": "string"}}}}, "$id": "https://example.org/a"}});
        assert_eq!(score(encoded.clone(), r#"{"$id": "x"}"#).reward, 1.0);
        assert_eq!(score(encoded, r#"{"$id": "x", "$ref": 1}"#).reward, 0.0);
        let tree =
            json!({"schema": {"required": ["v"], "properties": {"v": {}, "l": {"$ref": "#"}, "r": {"$ref": "#"}}}});
        assert_eq!(score(tree.clone(), r#"{"v": 1, "l": {"v": 2, "r": {"v": 3}}}"#).reward, 1.0);
        assert_eq!(score(tree, r#"{"v": 1, "l": {"v": 2, "r": {"w": 3}}}"#).reward, 0.0);
        for endless in [json!({"$ref": "#"}), json!({"allOf": [{"$ref": "#"}, {"type": "integer"}]})] {
            assert_eq!(score(json!({"schema": endless}), "1").status, ScoreStatus::Ok, "{endless}");
        }
    }

    #[test]
    fn hostile_values_are_judged_in_time() {
        let config = || json!({"schema": {"pattern": "^(a+)+$", "items": {"pattern": "^(a+)+$"}}});
        let text = format!("\"{}b\"", "a".repeat(500_000));
        assert_eq!(score(config(), &text).reward, 0.0);
        let unique = json!({"schema": {"uniqueItems": true}});
        let list: Vec<String> = (0..60_000).map(|n| format!("{{\"a\": {n}}}")).collect();
        assert_eq!(score(unique, &format!("[{}]", list.join(","))).reward, 1.0);
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(score(config(), &deep).status, ScoreStatus::Unparsable);
    }
}
