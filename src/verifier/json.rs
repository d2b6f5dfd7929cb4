//! JSON comparison: the value that a completion ends on is the expected one, however either is laid out.
//!
//! For extraction, structured output and calls of functions. The order of members and white space say nothing, `1` and
//! `1.0` are the same number, the order of lists counts. A part of the members can earn a part of the reward.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use ::regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Deserializer, Map, Value};

use super::{Case, Outside, Score, Settings, Verifier};

pub const SUMMARY: &str =
    "The JSON value that a completion ends on equals the expected one, wholly or member by member.";

/// 2^53: whole numbers below it are told apart by floats.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// Configuration of the `json` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Which part of the completion is read.
    extract: Extract,
    /// Members that are not expected, at any depth, make no difference.
    ignore_extra: bool,
    /// An object earns the share of its members that are right, instead of 1 for all of them and 0 otherwise. Unexpected
    /// members count as wrong ones unless `ignore_extra` is set.
    partial: bool,
    /// The column of the expected value, as JSON or as a text that holds JSON; by default the data set's answer column.
    #[schemars(length(min = 1))]
    answer_column: Option<String>,
    /// Seconds one verification may take.
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Extract {
    /// The last complete object or list; what stands around it, such as a code fence, is passed over. Where no list is
    /// expected, an object counts before a list of texts and numbers that follows it.
    Last,
    /// The whole completion, which must be JSON and nothing else.
    All,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            extract: Extract::Last,
            ignore_extra: false,
            partial: false,
            answer_column: None,
            time_limit_seconds: super::DEFAULT_TIME_LIMIT_SECONDS,
        }
    }
}

impl Settings for Config {
    fn build(&self, _outside: &Outside) -> Arc<dyn Verifier> {
        Arc::new(Json { config: self.clone() })
    }

    fn answer_column(&self) -> Option<&str> {
        self.answer_column.as_deref()
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

struct Json {
    config: Config,
}

impl Verifier for Json {
    fn verify(&self, case: &Case<'_>) -> Score {
        let expected = match self.expected(case) {
            Ok(expected) => expected,
            Err(detail) => return Score::error(detail),
        };
        if let Err(detail) = super::check_length("the completion", case.completion) {
            return Score::error(detail);
        }
        let found = match self.config.extract {
            Extract::Last => {
                let wanted = if expected.is_array() { Wanted::Any } else { Wanted::Object };
                last_value(super::behind_thought(case.completion), wanted)
            }
            Extract::All => serde_json::from_str(case.completion).ok(),
        };
        let Some(actual) = found else {
            return Score::unparsable(match self.config.extract {
                Extract::Last => "the completion holds no JSON object or list",
                Extract::All => "the completion is not JSON",
            });
        };
        let reward = self.reward(&actual, &expected);
        let reason = match reward {
            1.0 => String::from("it is the expected value"),
            _ => format!("{reward:.2} of it is as expected: {}", super::quote(&expected.to_string())),
        };
        Score::of_answer(canonical(&actual).to_string(), reward).because(reason)
    }
}

impl Json {
    fn expected(&self, case: &Case<'_>) -> Result<Value, String> {
        let column = self.config.answer_column.as_deref();
        if let Some(value @ (Value::Object(_) | Value::Array(_))) = column.and_then(|column| case.row.get(column)) {
            return Ok(value.clone());
        }
        let text = super::expected_answer(case, column)?;
        serde_json::from_str(&text)
            .map_err(|error| format!("the expected answer {} is not JSON: {error}", super::quote(&text)))
    }

    fn reward(&self, actual: &Value, expected: &Value) -> f64 {
        match (actual, expected) {
            (Value::Object(actual), Value::Object(expected)) if self.config.partial => self.share(actual, expected),
            _ => f64::from(u8::from(self.same(actual, expected))),
        }
    }

    /// The share of members that are right among those that are expected or there.
    fn share(&self, actual: &Map<String, Value>, expected: &Map<String, Value>) -> f64 {
        let right = expected.iter().filter(|(name, value)| actual.get(*name).is_some_and(|a| self.same(a, value)));
        let extra = actual.keys().filter(|name| !self.config.ignore_extra && !expected.contains_key(*name));
        let (right, all) = (right.count(), expected.len() + extra.count());
        if all == 0 { 1.0 } else { right as f64 / all as f64 }
    }

    fn same(&self, actual: &Value, expected: &Value) -> bool {
        match (actual, expected) {
            (Value::Object(a), Value::Object(e)) => {
                (self.config.ignore_extra || a.len() == e.len())
                    && e.iter().all(|(name, value)| a.get(name).is_some_and(|a| self.same(a, value)))
            }
            (Value::Array(a), Value::Array(e)) => a.len() == e.len() && a.iter().zip(e).all(|(a, e)| self.same(a, e)),
            // Whole numbers beyond 2^53 are compared as they are written.
            (Value::Number(a), Value::Number(e)) => a == e || (a.is_f64() != e.is_f64() && a.as_f64() == e.as_f64()),
            (a, e) => a == e,
        }
    }
}

/// Which of a text's values is looked for where a list of nothing but texts and numbers, such as a list of sources, stands
/// behind an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The object.
    Object,
    /// The list.
    Any,
}

/// The last complete object or list that stands in no other, also in none that is broken: a part of something broken is not
/// what a completion ends on. Beginnings that lead nowhere are given up once they have cost as much as reading the text
/// some times over, so that a text of nothing but brackets costs no more.
pub(super) fn last_value(text: &str, wanted: Wanted) -> Option<Value> {
    const READINGS: usize = 8;
    let mut left = READINGS * text.len().max(1 << 16);
    let (mut last, mut at) = (None, 0);
    while let Some(begin) = text[at..].find(['{', '[']).map(|offset| at + offset) {
        let rest = &text[begin..];
        let mut values = Deserializer::from_str(rest).into_iter::<Value>();
        let error = match values.next() {
            Some(Ok(value)) => {
                at = begin + values.byte_offset();
                if wanted == Wanted::Any || !is_aside(&value) || !last.as_ref().is_some_and(Value::is_object) {
                    last = Some(value);
                }
                continue;
            }
            Some(Err(error)) => error,
            None => break,
        };
        // Beginnings are read twice at most.
        let Some(less) = left.checked_sub(2 * bytes_before(rest, &error)) else { break };
        left = less;
        at = begin + if is_begun(rest) { broken(rest) } else { 1 };
    }
    last
}

/// Whether a value may be a remark behind the one that counts, such as `[1]` or `["a source"]`.
fn is_aside(value: &Value) -> bool {
    value.as_array().is_some_and(|items| !items.iter().any(|item| item.is_object() || item.is_array()))
}

/// Whether a broken text that begins with a bracket was to be JSON: it has a first key, or a first element and a comma.
/// Others are brackets of another kind, such as those of formulas, and may have a value in them.
fn is_begun(text: &str) -> bool {
    static KEY: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r#"^\{\s*(?:"[^"\n]*"|'[^'\n]*'|\w+)\s*:"#;
        Regex::new(pattern).expect("the constant pattern is well-formed")
    });
    if text.starts_with('{') {
        return KEY.is_match(text);
    }
    let mut elements = Deserializer::from_str(&text[1..]).into_iter::<Value>();
    let first = elements.next().is_some_and(|first| first.is_ok());
    first && text[1 + elements.byte_offset()..].trim_start().starts_with(',')
}

/// Where a broken text that begins with a bracket ends: behind the bracket that closes it, whatever the kinds of brackets
/// within, or nowhere. Texts in quotation marks end with their line, which they may not do.
fn broken(text: &str) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\n' => quoted = false,
            b'"' if !escaped => quoted = !quoted,
            b'{' | b'[' | b'(' if !quoted => depth += 1,
            b'}' | b']' | b')' if !quoted => depth -= 1,
            _ => {}
        }
        escaped = byte == b'\\' && quoted && !escaped;
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

/// How far a reader came before it failed.
fn bytes_before(text: &str, error: &serde_json::Error) -> usize {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    lines.map(str::len).sum::<usize>() + error.column()
}

/// The one form of equal values: members in order, and a number without a fraction as a whole one.
pub(super) fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<&String, Value> =
                members.iter().map(|(name, value)| (name, canonical(value))).collect();
            members.into_iter().map(|(name, value)| (name.clone(), value)).collect()
        }
        Value::Array(items) => items.iter().map(canonical).collect(),
        Value::Number(number) => match number.as_f64().filter(|value| number.is_f64() && value.fract() == 0.0) {
            Some(whole) if whole.abs() < WHOLE => Value::from(whole as i64),
            Some(_) | None => value.clone(),
        },
        Value::String(_) | Value::Bool(_) | Value::Null => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::verifier::{self, ScoreStatus};

    fn score(config: Value, completion: &str, answer: Option<&str>) -> Score {
        let mut config = config;
        config["type"] = json!("json");
        let row = json!({"call": {"name": "add", "arguments": [1, 2]}, "text": "{\"a\": 1}", "word": "sum"});
        let case = Case { prompt: "", completion, answer, row: row.as_object().unwrap() };
        verifier::Config::parse(&config, "").unwrap().build(&Outside::default()).verify(&case)
    }

    fn reward(config: Value, completion: &str, answer: &str) -> f64 {
        let score = score(config, completion, Some(answer));
        assert_eq!(score.status, ScoreStatus::Ok, "{score:?}");
        score.reward
    }

    #[test]
    fn layout_order_of_members_and_the_form_of_a_number_say_nothing() {
        let expected = r#"{"name": "add", "arguments": {"a": 1, "b": [1, 2.5]}}"#;
        for right in [
            expected,
            "{\"arguments\":{\"b\":[1.0,2.5],\"a\":1.0},\"name\":\"add\"}",
            "I call it so:\n```json\n{\"arguments\": {\"b\": [1, 25e-1], \"a\": 1},\n \"name\": \"\\u0061dd\"}\n```\nDone.",
        ] {
            assert_eq!(reward(json!({}), right, expected), 1.0, "{right}");
        }
        for wrong in [
            r#"{"name": "add", "arguments": {"a": 1, "b": [2.5, 1]}}"#,
            r#"{"name": "add", "arguments": {"a": "1", "b": [1, 2.5]}}"#,
            r#"{"name": "add", "arguments": {"a": 1}}"#,
            r#"{"name": "add", "arguments": {"a": 1, "b": [1, 2.5]}, "why": null}"#,
        ] {
            assert_eq!(reward(json!({}), wrong, expected), 0.0, "{wrong}");
        }
    }

    #[test]
    fn the_last_complete_value_is_read_and_what_is_broken_is_passed_over() {
        for (completion, value) in [
            ("[1] then {\"a\": 2}", Some(json!({"a": 2}))),
            ("{\"a\": [1, 2]} {\"a\": ", Some(json!({"a": [1, 2]}))),
            ("the set {x} and {\"a\": {\"b\": 1}}!", Some(json!({"a": {"b": 1}}))),
            ("{'a': 1}", None),
            ("{{{{[[[[", None),
            ("42", None),
        ] {
            assert_eq!(last_value(completion, Wanted::Any), value, "{completion}");
        }
        assert_eq!(score(json!({}), "none", Some("{}")).status, ScoreStatus::Unparsable);
        assert_eq!(score(json!({"extract": "all"}), "so: {}", Some("{}")).status, ScoreStatus::Unparsable);
        assert_eq!(reward(json!({"extract": "all"}), " 42\n", "42.0"), 1.0);
    }

    #[test]
    fn a_part_of_a_broken_value_is_none() {
        let inner = r#"{"name": "b", "age": 2}"#;
        for broken in [
            format!(r#"{{"people": [{inner}, {{"name": "c", "ag"#),
            format!(r#"{{"name": Bob, "age": 1, "friend": {inner}}}"#),
            format!("{{name: 'Bob', friend: {inner}}}"),
            format!("{{'name': 'Bob', 'friend': {inner}}}"),
            format!(r#"{{"items": [{inner}, {{"b"#),
            format!(r#"[{inner}, {{"b": 1"#),
            format!(r#"[{inner}, oops, {inner}]"#),
            format!(r#"{{"a": "x, "friends": [{inner}]}}"#),
        ] {
            assert_eq!(last_value(&broken, Wanted::Object), None, "{broken}");
        }
        let value = last_value(inner, Wanted::Object);
        for around in [
            format!(r"\boxed{{{inner}}}"),
            format!("{{x}} and [see {inner}]"),
            format!("on [0, 1) it is {inner}"),
            format!(r#"like {{"name": ..., "age": ...}}, so {inner}"#),
            format!("{{\"name\": \"broken\n}} {inner}"),
            format!("<think>[1, {{\"a\": </think>{inner}"),
        ] {
            assert_eq!(last_value(crate::verifier::behind_thought(&around), Wanted::Object), value, "{around}");
        }
    }

    #[test]
    fn a_list_of_remarks_behind_an_object_counts_where_a_list_is_expected() {
        let completion = "{\"a\": 1}\nSources: [1, \"b\"]";
        assert_eq!(reward(json!({}), completion, r#"{"a": 1}"#), 1.0);
        assert_eq!(reward(json!({}), completion, r#"[1, "b"]"#), 1.0);
        assert_eq!(reward(json!({}), "{\"a\": 1} no: [{\"b\": 1}]", r#"{"a": 1}"#), 0.0);
    }

    #[test]
    fn deep_nesting_ends() {
        let deep = "[".repeat(100_000);
        assert_eq!(score(json!({}), &deep, Some("[]")).status, ScoreStatus::Unparsable);
    }

    #[test]
    fn members_earn_their_share_and_unexpected_ones_count_unless_ignored() {
        let expected = r#"{"a": 1, "b": {"c": 2}}"#;
        let extra = r#"{"a": 1, "b": {"c": 2, "d": 3}, "e": 4}"#;
        assert_eq!(reward(json!({"partial": true}), r#"{"a": 1, "b": 0}"#, expected), 0.5);
        assert_eq!(reward(json!({"partial": true}), extra, expected), 1.0 / 3.0);
        assert_eq!(reward(json!({"partial": true, "ignore_extra": true}), extra, expected), 1.0);
        assert_eq!(reward(json!({"ignore_extra": true}), extra, expected), 1.0);
        assert_eq!(reward(json!({}), extra, expected), 0.0);
        assert_eq!(reward(json!({"partial": true}), "{}", "{}"), 1.0);
        assert_eq!(reward(json!({"partial": true}), "[1]", "[1, 2]"), 0.0);
    }

    #[test]
    fn whole_numbers_that_no_float_tells_apart_differ() {
        assert_eq!(reward(json!({}), "[9007199254740993]", "[9007199254740992]"), 0.0);
        assert_eq!(reward(json!({}), "[9007199254740993]", "[9007199254740993]"), 1.0);
    }

    #[test]
    fn the_expected_value_may_be_json_or_a_text_that_holds_it() {
        let of = |column: &str| json!({"answer_column": column});
        assert_eq!(score(of("call"), r#"{"arguments": [1, 2], "name": "add"}"#, None).reward, 1.0);
        assert_eq!(score(of("text"), r#"{"a": 1}"#, None).reward, 1.0);
        for broken in [score(of("word"), "{}", None), score(of("absent"), "{}", None), score(json!({}), "{}", None)] {
            assert_eq!(broken.status, ScoreStatus::Error);
        }
    }

    #[test]
    fn equal_answers_have_one_form() {
        let forms = [r#"{"b": 1, "a": [2.0]}"#, r#"{"a":[2],"b":1e0}"#];
        let answers: Vec<_> = forms.iter().map(|text| score(json!({}), text, Some("{}")).answer).collect();
        assert_eq!(answers[0], answers[1]);
        assert_eq!(answers[0].as_deref(), Some(r#"{"a":[2],"b":1}"#));
    }

    #[test]
    fn a_megabyte_of_beginnings_ends_and_hides_no_value_behind_a_page_of_them() {
        for piece in ["[\"", "{\"a\":", "[", "[1,\n", "{\"", "[[]", "{\"a\": x}", "{'", "[1, x] ", "[[1],", "{a"] {
            let text = piece.repeat(verifier::MAX_TEXT_BYTES / piece.len());
            assert_ne!(score(json!({}), &text, Some("1")).status, ScoreStatus::Error, "{piece}");
        }
        let formulas = r"\frac{a}{b} and x_{[1} ".repeat(1000) + "{\"a\": 1}";
        assert_eq!(reward(json!({}), &formulas, r#"{"a": 1}"#), 1.0);
    }
}
