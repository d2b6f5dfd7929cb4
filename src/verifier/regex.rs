//! Regular expressions: the completion matches a pattern, or a captured part of it is the expected answer.
//!
//! The `regex` crate matches in time linear in the completion and has no backtracking, so neither a pattern nor a
//! completion can make a verification hang; look-around and back-references do not exist for the same reason.

use std::sync::Arc;

use ::regex::{Captures, Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Case, Outside, Score, Settings, Verifier};
use crate::job::field::{FieldError, Fields};

/// The largest compiled pattern in bytes; larger ones are refused.
const MAX_COMPILED_BYTES: usize = 1 << 20;

pub const SUMMARY: &str = "The completion matches a pattern, or a captured group equals the expected answer.";

/// Configuration of the `regex` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The pattern, in the syntax of the Rust crate `regex`. White space around the completion is not looked at.
    pattern: String,
    /// Whether the pattern may match anywhere or must cover the whole completion.
    #[serde(default)]
    must: Must,
    /// Upper and lower case are the same, in the pattern and in the comparison of a group.
    #[serde(default)]
    ignore_case: bool,
    /// A group of the pattern, by number or name: what it captured in the first match must be the expected answer.
    #[serde(default)]
    group: Option<Group>,
    /// The column of the expected answer, with `group` only; by default the data set's answer column.
    #[serde(default)]
    #[schemars(length(min = 1))]
    answer_column: Option<String>,
    /// Seconds one verification may take.
    #[serde(default = "super::default_time_limit_seconds")]
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Must {
    /// The pattern matches somewhere.
    #[default]
    Match,
    /// The pattern matches from the beginning to the end.
    FullMatch,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Group {
    Number(usize),
    Name(String),
}

impl Config {
    fn compile(&self) -> Result<Regex, ::regex::Error> {
        let compile = |pattern: &str| {
            RegexBuilder::new(pattern).case_insensitive(self.ignore_case).size_limit(MAX_COMPILED_BYTES).build()
        };
        // The bare pattern goes first, so that one that only parses inside the anchors, such as `a)|(?:b`, is refused.
        let bare = compile(&self.pattern)?;
        match self.must {
            Must::Match => Ok(bare),
            Must::FullMatch => compile(&format!(r"\A(?:{})\z", self.pattern)),
        }
    }
}

impl Settings for Config {
    fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        let mut fields = Fields::below(pointer);
        fields.require(
            self.answer_column.is_none() || self.group.is_some(),
            "answer_column",
            "is used only with `group`; leave it out or name a group",
        );
        let refusal = match self.compile() {
            Ok(regex) => {
                let exists = match &self.group {
                    None => true,
                    Some(Group::Number(number)) => *number < regex.captures_len(),
                    Some(Group::Name(name)) => regex.capture_names().flatten().any(|known| known == name),
                };
                fields.require(exists, "group", "is not a group of the pattern");
                None
            }
            Err(error) => Some(FieldError::new(format!("{pointer}/pattern"), "invalid_pattern", error.to_string())),
        };
        let errors: Vec<_> = refusal.into_iter().chain(fields.finish().err().into_iter().flatten()).collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn build(&self, _outside: &Outside) -> Arc<dyn Verifier> {
        let regex = self.compile().expect("the configuration was checked, and the check compiles the pattern");
        Arc::new(Pattern { config: self.clone(), regex })
    }

    fn compares_answer(&self) -> bool {
        self.group.is_some()
    }

    fn answer_column(&self) -> Option<&str> {
        self.answer_column.as_deref()
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

struct Pattern {
    config: Config,
    regex: Regex,
}

impl Verifier for Pattern {
    fn verify(&self, case: &Case<'_>) -> Score {
        if let Err(detail) = super::check_length("the completion", case.completion) {
            return Score::error(detail);
        }
        let completion = case.completion.trim();
        match &self.config.group {
            None if self.regex.is_match(completion) => Score::ok(1.0).because("it matches the pattern"),
            None => Score::ok(0.0).because("it does not match the pattern"),
            Some(group) => self.compare(case, group, completion),
        }
    }
}

impl Pattern {
    /// Compares what `group` captured with the expected answer.
    fn compare(&self, case: &Case<'_>, group: &Group, completion: &str) -> Score {
        let expected = match super::expected_answer(case, self.config.answer_column.as_deref()) {
            Ok(expected) => expected,
            Err(detail) => return Score::error(detail),
        };
        let expected = expected.trim();
        if expected.is_empty() {
            return Score::error("the expected answer is empty");
        }
        let captured = |captures: Captures<'_>| match group {
            Group::Number(number) => captures.get(*number).map(|found| found.range()),
            Group::Name(name) => captures.name(name).map(|found| found.range()),
        };
        let Some(range) = self.regex.captures(completion).and_then(captured) else {
            return Score::unparsable("the group of the pattern captured nothing");
        };
        let actual = completion[range].trim();
        let folded = |text: &str| if self.config.ignore_case { text.to_lowercase() } else { text.to_owned() };
        super::same_or_not(folded(actual), &folded(expected))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::verifier::{self, ScoreStatus};

    fn score(mut config: Value, completion: &str, answer: Option<&str>) -> Score {
        config["type"] = json!("regex");
        let verifier = verifier::Config::parse(&config, "").unwrap().build(&Outside::default());
        let score = verifier.verify(&Case { prompt: "", completion, answer, row: &Map::new() });
        Score { answer: None, detail: score.detail.filter(|_| score.status != ScoreStatus::Ok), ..score }
    }

    fn refusals(mut config: Value) -> Vec<(String, &'static str)> {
        config["type"] = json!("regex");
        let errors = verifier::Config::parse(&config, "/v").unwrap_err();
        errors.into_iter().map(|error| (error.pointer, error.code)).collect()
    }

    #[test]
    fn a_full_match_covers_the_whole_completion() {
        let any = || json!({"pattern": "a|ab"});
        let full = || json!({"pattern": "a|ab", "must": "full_match"});
        assert_eq!(score(any(), "xab", None), Score::ok(1.0));
        assert_eq!(score(any(), "xb", None), Score::ok(0.0));
        assert_eq!(score(full(), " ab\n", None), Score::ok(1.0));
        for wrong in ["xab", "abx", "ab\nab", ""] {
            assert_eq!(score(full(), wrong, None), Score::ok(0.0), "{wrong:?}");
        }
    }

    #[test]
    fn case_counts_unless_it_is_ignored() {
        assert_eq!(score(json!({"pattern": "yes"}), "YES", None), Score::ok(0.0));
        assert_eq!(score(json!({"pattern": "yes", "ignore_case": true}), "YES", None), Score::ok(1.0));
        let group = |ignore| json!({"pattern": "is (.+)", "group": 1, "ignore_case": ignore});
        assert_eq!(score(group(false), "is paris", Some("Paris")), Score::ok(0.0));
        assert_eq!(score(group(true), "is paris", Some("Paris")), Score::ok(1.0));
    }

    #[test]
    fn a_group_is_compared_with_the_expected_answer() {
        let named = || json!({"pattern": r"answer: (?<word>\w+)", "group": "word"});
        assert_eq!(score(named(), "the answer: blue.", Some(" blue ")), Score::ok(1.0));
        assert_eq!(score(named(), "the answer: red.", Some("blue")), Score::ok(0.0));
        assert_eq!(score(named(), "blue", Some("blue")).status, ScoreStatus::Unparsable);
        assert_eq!(score(named(), "answer: blue", None).status, ScoreStatus::Error);
        assert_eq!(score(json!({"pattern": "(b?)", "group": 1}), "", Some("")).status, ScoreStatus::Error);
        let optional = json!({"pattern": "a(b)?", "group": 1});
        assert_eq!(score(optional, "a", Some("b")).status, ScoreStatus::Unparsable);
        let full = json!({"pattern": "(a)(b)", "group": 2, "must": "full_match"});
        assert_eq!(score(full, "ab", Some("b")), Score::ok(1.0));
    }

    #[test]
    fn a_bad_pattern_is_refused_where_it_stands() {
        let refused = [("/v/pattern".to_owned(), "invalid_pattern")];
        for pattern in ["(", "a)|(?:b", r"(?=a)", r"(\w{1000}){1000}"] {
            assert_eq!(refusals(json!({"pattern": pattern, "must": "full_match"})), refused, "{pattern}");
        }
    }

    #[test]
    fn a_group_must_exist_and_an_answer_column_needs_one() {
        assert_eq!(refusals(json!({"pattern": "(a)", "group": 2})), [("/v/group".to_owned(), "out_of_range")]);
        assert_eq!(refusals(json!({"pattern": "(a)", "group": "x"})), [("/v/group".to_owned(), "out_of_range")]);
        let column = json!({"pattern": "(a)", "answer_column": "label"});
        assert_eq!(refusals(column), [("/v/answer_column".to_owned(), "out_of_range")]);
    }
}
