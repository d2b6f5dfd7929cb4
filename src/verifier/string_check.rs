//! String comparison as OpenAI's grader of this name does it: two templates and how they compare.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::template::Template;
use super::{Case, Outside, Score, Settings, Verifier};
use crate::job::field::FieldError;

pub const SUMMARY: &str = "A text made of the completion and columns equals or contains another (OpenAI's grader).";

/// Configuration of the `string_check` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// A name for people.
    #[serde(default)]
    name: Option<String>,
    /// What is compared, with places such as `{{ sample.output_text }}` and `{{ item.answer }}`.
    input: String,
    /// What it is compared with; a template as well.
    reference: String,
    /// How they are compared; the reward is 1 or 0.
    operation: Operation,
    /// Seconds one verification may take.
    #[serde(default = "super::default_time_limit_seconds")]
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

/// When the reward is 1; it is 0 otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Operation {
    /// Both are the same.
    Eq,
    /// They differ.
    Ne,
    /// The input contains the reference.
    Like,
    /// As `like`, upper and lower case being the same.
    Ilike,
}

impl Settings for Config {
    fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        super::template::check_templates(pointer, &self.input, &self.reference)
    }

    fn build(&self, _outside: &Outside) -> Arc<dyn Verifier> {
        Arc::new(StringCheck {
            input: super::template::checked_template(&self.input),
            reference: super::template::checked_template(&self.reference),
            operation: self.operation,
        })
    }

    fn compares_answer(&self) -> bool {
        false
    }

    fn columns(&self) -> Vec<(String, String)> {
        super::template::template_columns(&self.input, &self.reference)
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

struct StringCheck {
    input: Template,
    reference: Template,
    operation: Operation,
}

impl Verifier for StringCheck {
    fn verify(&self, case: &Case<'_>) -> Score {
        let (input, reference) = match (self.input.fill(case), self.reference.fill(case)) {
            (Ok(input), Ok(reference)) => (input, reference),
            (Err(detail), _) | (_, Err(detail)) => return Score::error(detail),
        };
        if reference.is_empty() && matches!(self.operation, Operation::Like | Operation::Ilike) {
            return Score::error("the reference is empty, which every text contains");
        }
        let holds = match self.operation {
            Operation::Eq => input == reference,
            Operation::Ne => input != reference,
            Operation::Like => input.contains(&reference),
            Operation::Ilike => input.to_lowercase().contains(&reference.to_lowercase()),
        };
        let relation = match (self.operation, holds) {
            (Operation::Eq, true) | (Operation::Ne, false) => "is",
            (Operation::Eq, false) | (Operation::Ne, true) => "is not",
            (Operation::Like | Operation::Ilike, true) => "contains",
            (Operation::Like | Operation::Ilike, false) => "does not contain",
        };
        let reason = format!("{} {relation} {}", super::quote(&input), super::quote(&reference));
        let reward = if holds { 1.0 } else { 0.0 };
        let score = match self.operation {
            Operation::Eq => Score::of_answer(input, reward),
            Operation::Ne | Operation::Like | Operation::Ilike => Score::ok(reward),
        };
        score.because(reason)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::verifier::{self, ScoreStatus};

    #[test]
    fn every_verdict_on_a_wrong_completion_says_why() {
        let templates = json!({"input": "{{ sample.output_text }}", "reference": "{{ item.answer }}"});
        for (name, more, reason) in [
            ("numeric", json!({}), "5 is not 4"),
            ("exact", json!({}), r#""5" is not the expected "4""#),
            ("regex", json!({"pattern": "4"}), "it does not match the pattern"),
            ("regex", json!({"pattern": "(.)", "group": 1}), r#""5" is not the expected "4""#),
            ("string_check", json!({"operation": "eq"}), r#""5" is not "4""#),
            ("string_check", json!({"operation": "like"}), r#""5" does not contain "4""#),
            ("text_similarity", json!({"evaluation_metric": "fuzzy_match"}), r#""5" is alike "4" to 0.000"#),
        ] {
            let mut config = json!({"type": name});
            let fields = config.as_object_mut().unwrap();
            fields.extend(more.as_object().unwrap().clone());
            if ["string_check", "text_similarity"].contains(&name) {
                fields.extend(templates.as_object().unwrap().clone());
            }
            let row = json!({"answer": "4"});
            let case = Case { prompt: "", completion: "5", answer: Some("4"), row: row.as_object().unwrap() };
            let score = verifier::Config::parse(&config, "").unwrap().build(&Outside::default()).verify(&case);
            assert_eq!((score.reward, score.detail.as_deref()), (0.0, Some(reason)), "{name}");
        }
    }

    fn score(operation: &str, completion: &str) -> Score {
        let config = json!({"type": "string_check", "name": "n", "input": "{{ sample.output_text }}",
                            "reference": "{{ item.want }}", "operation": operation});
        let row = json!({"want": "Par is"});
        let case = Case { prompt: "", completion, answer: None, row: row.as_object().unwrap() };
        verifier::Config::parse(&config, "").unwrap().build(&Outside::default()).verify(&case)
    }

    #[test]
    fn each_operation_compares_as_it_says() {
        for (operation, right, wrong) in [
            ("eq", &["Par is"][..], &["par is", "Par is ", ""][..]),
            ("ne", &["par is", ""][..], &["Par is"][..]),
            ("like", &["in Par is!"][..], &["in par is!", "Par"][..]),
            ("ilike", &["in PAR IS!", "Par is"][..], &["Paris"][..]),
        ] {
            for completion in right {
                assert_eq!(score(operation, completion).reward, 1.0, "{operation} {completion:?}");
            }
            for completion in wrong {
                assert_eq!(score(operation, completion).reward, 0.0, "{operation} {completion:?}");
            }
        }
    }

    #[test]
    fn a_missing_column_is_an_error_and_a_broken_template_is_refused_where_it_stands() {
        let config = |reference: &str| {
            let value = json!({"type": "string_check", "input": "a", "reference": reference, "operation": "eq"});
            verifier::Config::parse(&value, "/verifier")
        };
        let row = serde_json::Map::new();
        let case = Case { prompt: "", completion: "a", answer: None, row: &row };
        assert_eq!(
            config("{{ item.absent }}").unwrap().build(&Outside::default()).verify(&case).status,
            ScoreStatus::Error
        );
        let refused = config("{{ nothing }}").unwrap_err();
        assert_eq!((refused[0].pointer.as_str(), refused[0].code), ("/verifier/reference", "invalid_template"));
    }
}
