//! How long a completion is: at a target, within a limit, or punished beyond one.
//!
//! Completions have no tokens here, so that lengths are counted in words or characters. `soft_overlong` is the soft
//! over-long punishment of DAPO (arXiv 2503.14476, equation 13) with `length` as `L_max` and `buffer` as `L_cache`:
//!
//! ```text
//! R(y) = 0                                   where |y| <= L_max - L_cache
//!        ((L_max - L_cache) - |y|) / L_cache where L_max - L_cache < |y| <= L_max
//!        -1                                  where L_max < |y|
//! ```

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Case, Outside, Score, Settings, Verifier};
use crate::job::field::{FieldError, Fields};

pub const SUMMARY: &str = "The length of the completion in words or characters: at a target, within a limit, or \
                           punished beyond one as DAPO does.";

/// The greatest length that can be asked for.
const MAX_LENGTH: u64 = super::MAX_TEXT_BYTES as u64;

/// Configuration of the `length` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// What the reward is for.
    rule: Rule,
    /// What is counted.
    unit: Unit,
    /// The length that `rule` speaks of, in units; either this or `length_column`.
    #[schemars(range(min = 1, max = MAX_LENGTH))]
    length: Option<u64>,
    /// The column with the length for each row.
    #[schemars(length(min = 1))]
    length_column: Option<String>,
    /// Over how many units the reward falls; with 0 it falls at once.
    #[schemars(range(min = 0, max = MAX_LENGTH))]
    buffer: u64,
    /// Seconds one verification may take.
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Rule {
    /// 1 at `length`, falling to 0 where it is `buffer` units away.
    Target,
    /// 1 up to `length`, falling to 0 over the next `buffer` units.
    AtMost,
    /// 1 from `length` on, falling to 0 where `buffer` units are missing.
    AtLeast,
    /// 0 until `buffer` units before `length`, falling to -1 at `length`: the punishment of DAPO, to be added to a reward.
    SoftOverlong,
    /// The length divided by `length`, for formulas.
    Ratio,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Unit {
    /// What stands between white space.
    Words,
    /// Unicode code points.
    Characters,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            rule: Rule::AtMost,
            unit: Unit::Words,
            length: None,
            length_column: None,
            buffer: 0,
            time_limit_seconds: super::DEFAULT_TIME_LIMIT_SECONDS,
        }
    }
}

impl Settings for Config {
    fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        let mut fields = Fields::below(pointer);
        fields.require(
            self.length.is_some() != self.length_column.is_some(),
            "length",
            "give either `length` or `length_column`",
        );
        let fits = self.rule != Rule::SoftOverlong || self.length.is_none_or(|length| self.buffer <= length);
        fields.require(fits, "buffer", "may not be more than `length`, before which it begins");
        fields.finish()
    }

    fn build(&self, _outside: &Outside) -> Arc<dyn Verifier> {
        Arc::new(Length { config: self.clone() })
    }

    fn compares_answer(&self) -> bool {
        false
    }

    fn columns(&self) -> Vec<(String, String)> {
        self.length_column.iter().map(|column| (String::from("length_column"), column.clone())).collect()
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

impl Rule {
    /// The reward for `count` units.
    fn reward(self, count: f64, length: f64, buffer: f64) -> f64 {
        match self {
            Self::Target => falling((count - length).abs(), buffer),
            Self::AtMost => falling(count - length, buffer),
            Self::AtLeast => falling(length - count, buffer),
            Self::SoftOverlong => falling(count - (length - buffer), buffer) - 1.0,
            Self::Ratio => count / length,
        }
    }
}

/// 1 where nothing is over, 0 where as much as `buffer` is.
fn falling(over: f64, buffer: f64) -> f64 {
    if over <= 0.0 {
        1.0
    } else if over >= buffer {
        0.0
    } else {
        1.0 - over / buffer
    }
}

impl Unit {
    pub(super) fn count(self, text: &str) -> usize {
        match self {
            Self::Words => text.split_whitespace().count(),
            Self::Characters => text.chars().count(),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Characters => "characters",
        }
    }
}

struct Length {
    config: Config,
}

impl Length {
    /// The length for this row.
    fn wanted(&self, case: &Case<'_>) -> Result<u64, String> {
        let Some(column) = self.config.length_column.as_deref() else {
            return Ok(self.config.length.expect("the configuration was checked: without a column there is a length"));
        };
        let wanted = match case.row.get(column) {
            Some(Value::Number(number)) => number.as_u64(),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => None,
        };
        wanted
            .filter(|length| (1..=MAX_LENGTH).contains(length))
            .ok_or_else(|| format!("column {} holds no whole number from 1 to {MAX_LENGTH}", super::quote(column)))
    }
}

impl Verifier for Length {
    fn verify(&self, case: &Case<'_>) -> Score {
        if let Err(detail) = super::check_length("the completion", case.completion) {
            return Score::error(detail);
        }
        let length = match self.wanted(case) {
            Ok(length) => length,
            Err(detail) => return Score::error(detail),
        };
        let Config { rule, unit, buffer, .. } = self.config;
        let count = unit.count(case.completion);
        // A length of a row may be shorter than the buffer before it.
        let buffer = if rule == Rule::SoftOverlong { buffer.min(length) } else { buffer };
        let reward = rule.reward(count as f64, length as f64, buffer as f64);
        Score::ok(reward).because(format!("it has {count} {}; the length asked for is {length}", unit.name()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::verifier::{self, ScoreStatus};

    fn score(mut config: Value, completion: &str) -> Score {
        config["type"] = json!("length");
        let row = json!({"n": 4, "text": " 4 ", "none": null, "half": 0.5});
        let case = Case { prompt: "", completion, answer: None, row: row.as_object().unwrap() };
        verifier::Config::parse(&config, "").unwrap().build(&Outside::default()).verify(&case)
    }

    fn refusal(mut config: Value) -> (String, &'static str) {
        config["type"] = json!("length");
        let errors = verifier::Config::parse(&config, "/v").unwrap_err();
        (errors[0].pointer.clone(), errors[0].code)
    }

    #[test]
    fn each_rule_falls_as_it_says() {
        for (rule, buffer, rewards) in [
            ("target", 2, [0.0, 0.0, 0.5, 1.0, 0.5, 0.0]),
            ("target", 0, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]),
            ("at_most", 2, [1.0, 1.0, 1.0, 1.0, 0.5, 0.0]),
            ("at_least", 2, [0.0, 0.0, 0.5, 1.0, 1.0, 1.0]),
            ("at_least", 0, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]),
            ("soft_overlong", 2, [0.0, 0.0, -0.5, -1.0, -1.0, -1.0]),
            ("soft_overlong", 0, [0.0, 0.0, 0.0, 0.0, -1.0, -1.0]),
            ("ratio", 0, [0.25, 0.5, 0.75, 1.0, 1.25, 1.5]),
        ] {
            for (count, reward) in (1..).zip(rewards) {
                let scored = score(json!({"rule": rule, "length": 4, "buffer": buffer}), &"w ".repeat(count));
                assert_eq!(scored.reward, reward, "{rule} {buffer} {count}");
            }
        }
    }

    #[test]
    fn words_and_characters_are_counted_in_every_script() {
        let of = |unit: &str, text: &str| score(json!({"rule": "ratio", "unit": unit, "length": 1}), text).reward;
        for (text, words, characters) in
            [("", 0.0, 0.0), (" a\u{a0}b\n", 2.0, 5.0), ("日本", 1.0, 2.0), ("é-ö 1", 2.0, 5.0)]
        {
            assert_eq!((of("words", text), of("characters", text)), (words, characters), "{text:?}");
        }
    }

    #[test]
    fn a_row_may_say_its_length_and_one_that_does_not_is_an_error() {
        let with = |column: &str| score(json!({"rule": "target", "length_column": column}), "a b c d");
        assert_eq!((with("n").reward, with("text").reward), (1.0, 1.0));
        for column in ["none", "half", "absent"] {
            assert_eq!(with(column).status, ScoreStatus::Error, "{column}");
        }
        let short = score(json!({"rule": "soft_overlong", "length_column": "n", "buffer": 100}), "a b");
        assert_eq!(short.reward, -0.5);
    }

    #[test]
    fn a_length_is_given_once_and_the_buffer_fits_before_it() {
        let out = |field: &str| (format!("/v/{field}"), "out_of_range");
        assert_eq!(refusal(json!({})), out("length"));
        assert_eq!(refusal(json!({"length": 1, "length_column": "n"})), out("length"));
        assert_eq!(refusal(json!({"length": 0})), out("length"));
        assert_eq!(refusal(json!({"rule": "soft_overlong", "length": 4, "buffer": 5})), out("buffer"));
    }
}
