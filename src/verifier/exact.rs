//! Exact comparison: the completion, or the part of it between two tags, is the expected answer.
//!
//! For answers out of a closed set (labels, choices, single words). Numbers belong to [`super::numeric`], which knows
//! that `1,000` and `1000.0` are the same.

use std::sync::Arc;

use ::regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Case, MAX_MARKER_CHARACTERS, Outside, Score, Settings, Verifier};

pub const SUMMARY: &str = "The completion, or its part between two tags, equals the expected answer.";

/// Configuration of the `exact` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// What is compared: the whole completion or what stands between the last pair of tags.
    extract: Extract,
    /// Begins the compared part when `extract` is `tag`.
    #[schemars(length(min = 1, max = MAX_MARKER_CHARACTERS))]
    open_tag: String,
    /// Ends the compared part when `extract` is `tag`.
    #[schemars(length(min = 1, max = MAX_MARKER_CHARACTERS))]
    close_tag: String,
    /// Upper and lower case are the same.
    ignore_case: bool,
    /// A run of white space is the same as one space; white space at the ends never counts.
    ignore_whitespace: bool,
    /// Punctuation (the Unicode category P, to which the hyphen-minus belongs) is left out.
    ignore_punctuation: bool,
    /// The column of the expected answer; by default the data set's answer column.
    #[schemars(length(min = 1))]
    answer_column: Option<String>,
    /// Seconds one verification may take.
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Extract {
    /// The whole completion.
    All,
    /// Between the last pair of tags.
    Tag,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            extract: Extract::All,
            open_tag: String::from("<answer>"),
            close_tag: String::from("</answer>"),
            ignore_case: false,
            ignore_whitespace: false,
            ignore_punctuation: false,
            answer_column: None,
            time_limit_seconds: super::DEFAULT_TIME_LIMIT_SECONDS,
        }
    }
}

impl Settings for Config {
    fn build(&self, _outside: &Outside) -> Arc<dyn Verifier> {
        let punctuation =
            self.ignore_punctuation.then(|| Regex::new(r"\p{P}").expect("the constant pattern is well-formed"));
        Arc::new(Exact { config: self.clone(), punctuation })
    }

    fn answer_column(&self) -> Option<&str> {
        self.answer_column.as_deref()
    }

    fn written(&self, answer: &str, _row: &Map<String, Value>) -> String {
        match self.extract {
            Extract::All => answer.to_owned(),
            Extract::Tag => format!("{}{answer}{}", self.open_tag, self.close_tag),
        }
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

struct Exact {
    config: Config,
    /// Matches what is left out before the comparison.
    punctuation: Option<Regex>,
}

impl Verifier for Exact {
    fn verify(&self, case: &Case<'_>) -> Score {
        let expected = match super::expected_answer(case, self.config.answer_column.as_deref()) {
            Ok(expected) => self.normalize(&expected),
            Err(detail) => return Score::error(detail),
        };
        if expected.is_empty() {
            return Score::error("nothing is left of the expected answer to compare with");
        }
        if let Err(detail) = super::check_length("the completion", case.completion) {
            return Score::error(detail);
        }
        let compared = match self.config.extract {
            Extract::All => Some(case.completion),
            Extract::Tag => super::last_tagged(case.completion, &self.config.open_tag, &self.config.close_tag),
        };
        let Some(compared) = compared else {
            let (open, close) = (&self.config.open_tag, &self.config.close_tag);
            return Score::unparsable(format!("the completion has no part between {open} and {close}"));
        };
        let actual = self.normalize(compared);
        if actual.is_empty() {
            return Score::unparsable("nothing is left of the completion to compare");
        }
        super::same_or_not(actual, &expected)
    }
}

impl Exact {
    /// The text with everything that is to be ignored taken out.
    fn normalize(&self, text: &str) -> String {
        let mut text = match &self.punctuation {
            Some(punctuation) => punctuation.replace_all(text, "").into_owned(),
            None => text.to_owned(),
        };
        if self.config.ignore_case {
            text = text.to_lowercase();
        }
        if self.config.ignore_whitespace {
            text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        text.trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::verifier::ScoreStatus;

    fn score(config: Value, completion: &str, answer: Option<&str>) -> Score {
        let config: Config = serde_json::from_value(config).unwrap();
        let case = Case { prompt: "", completion, answer, row: &Map::new() };
        let score = config.build(&Outside::default()).verify(&case);
        Score { answer: None, detail: score.detail.filter(|_| score.status != ScoreStatus::Ok), ..score }
    }

    #[test]
    fn only_white_space_at_the_ends_is_ignored_by_default() {
        assert_eq!(score(json!({}), "  Paris\n", Some("Paris")), Score::ok(1.0));
        for wrong in ["paris", "Paris.", "Pa ris", "Paris Paris", "London"] {
            assert_eq!(score(json!({}), wrong, Some("Paris")), Score::ok(0.0), "{wrong}");
        }
    }

    #[test]
    fn each_option_ignores_what_it_names_and_nothing_else() {
        for (option, same, different) in [
            ("ignore_case", "NEW york", "New  York"),
            ("ignore_whitespace", "New \n\t York", "new York"),
            ("ignore_punctuation", "“New York”!", "New  York"),
        ] {
            assert_eq!(score(json!({option: true}), same, Some("New York")), Score::ok(1.0), "{option}");
            assert_eq!(score(json!({option: true}), different, Some("New York")), Score::ok(0.0), "{option}");
        }
    }

    #[test]
    fn options_apply_to_the_expected_answer_as_well() {
        let config = json!({"ignore_case": true, "ignore_punctuation": true, "ignore_whitespace": true});
        assert_eq!(score(config, "yes it is", Some("Yes,  it is!")), Score::ok(1.0));
    }

    #[test]
    fn with_tags_only_the_last_tagged_part_counts() {
        let config = || json!({"extract": "tag"});
        assert_eq!(score(config(), "<answer>B</answer> no, <answer> A </answer>.", Some("A")), Score::ok(1.0));
        assert_eq!(score(config(), "A <answer>B</answer>", Some("A")), Score::ok(0.0));
        assert_eq!(score(config(), "A", Some("A")).status, ScoreStatus::Unparsable);
        assert_eq!(score(config(), "<answer> </answer>", Some("A")).status, ScoreStatus::Unparsable);
    }

    #[test]
    fn without_an_expected_answer_there_is_no_reward() {
        assert_eq!(score(json!({}), "A", None).status, ScoreStatus::Error);
        assert_eq!(score(json!({}), "", Some(" ")).status, ScoreStatus::Error);
        assert_eq!(score(json!({"ignore_punctuation": true}), "", Some("?!")).status, ScoreStatus::Error);
    }
}
