//! Several verifiers and a formula over their rewards, as OpenAI's grader of this name.
//!
//! Its members may be any other verifier. A member that cannot judge leaves nothing to calculate with, so that the
//! whole is an error; one that finds nothing to judge counts with its reward, 0.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::formula::{self, Formula};
use super::{Case, Outside, Part, Score, Settings, Verifier};
use crate::job::field::{FieldError, Fields};

const MAX_NAME_BYTES: usize = 64;

pub const SUMMARY: &str = "A formula over the rewards of several verifiers (OpenAI's grader).";

/// Configuration of the `multi` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// A name for people.
    #[serde(default)]
    name: Option<String>,
    /// The members by the names that the formula gives them: any verifier besides `multi`.
    #[schemars(with = "BTreeMap<String, serde_json::Map<String, Value>>")]
    #[schemars(extend("minProperties" = 1, "maxProperties" = 16))]
    graders: BTreeMap<String, Member>,
    /// The reward, for example `0.8 * right + 0.2 * max(brief, 0.5)`; operators are `+ - * / ^`, functions are `min`,
    /// `max`, `abs`, `floor`, `ceil`, `exp`, `sqrt` and `log`.
    calculate_output: String,
    /// Seconds one verification may take.
    #[serde(default = "super::default_time_limit_seconds")]
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

/// A member as it was sent and as it was read. Reading it needs the pointer, which [`Settings::check`] has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Member(Value);

impl Member {
    fn read(&self, pointer: &str) -> Result<super::Config, Vec<FieldError>> {
        match super::Config::parse_named(&self.0, pointer)? {
            super::Config::Multi(_) => {
                let detail = "a multi grader holds other verifiers and no multi graders";
                Err(vec![FieldError::new(format!("{pointer}/type"), "unknown_value", detail)])
            }
            other => Ok(other),
        }
    }

    fn checked(&self) -> super::Config {
        self.read("").expect("the configuration was checked, and the check reads every member")
    }
}

impl Config {
    fn names(&self) -> Vec<&str> {
        self.graders.keys().map(String::as_str).collect()
    }

    fn check_members(&self, pointer: &str) -> Vec<FieldError> {
        let mut fields = Fields::below(pointer);
        for name in self.graders.keys() {
            fields.require(is_name(name), "graders", format!("{} cannot be a name in a formula", super::quote(name)));
        }
        let mut errors = fields.finish().err().unwrap_or_default();
        for (name, member) in &self.graders {
            errors.extend(member.read(&format!("{pointer}/graders/{name}")).err().unwrap_or_default());
        }
        errors
    }
}

/// Names begin with a letter, so that formulas can hold them, and are no functions.
fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !formula::is_function(name)
}

impl Settings for Config {
    fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        let mut errors = self.check_members(pointer);
        if let Err(detail) = Formula::parse(&self.calculate_output, &self.names()) {
            errors.push(FieldError::new(format!("{pointer}/calculate_output"), "invalid_formula", detail));
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn build(&self, outside: &Outside) -> Arc<dyn Verifier> {
        let formula = Formula::parse(&self.calculate_output, &self.names());
        let member = |(name, member): (&String, &Member)| (name.clone(), member.checked().build(outside));
        Arc::new(Multi {
            members: self.graders.iter().map(member).collect(),
            formula: formula.expect("the configuration was checked, and the check reads the formula"),
        })
    }

    fn refused(&self, outside: &Outside, pointer: &str) -> Result<(), Vec<FieldError>> {
        let of = |(name, member): (&String, &Member)| {
            member.checked().refused(outside, &format!("{pointer}/graders/{name}")).err().unwrap_or_default()
        };
        let errors: Vec<FieldError> = self.graders.iter().flat_map(of).collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn columns(&self) -> Vec<(String, String)> {
        let of = |(name, member): (&String, &Member)| -> Vec<(String, String)> {
            let columns = member.checked().required_columns().into_iter();
            columns.map(|(field, column)| (format!("graders.{name}.{field}"), column)).collect()
        };
        self.graders.iter().flat_map(of).collect()
    }

    fn needs_answer(&self) -> bool {
        self.graders.values().any(|member| member.checked().needs_answer())
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

struct Multi {
    members: Vec<(String, Arc<dyn Verifier>)>,
    formula: Formula,
}

impl Multi {
    fn score(&self, rewards: &[f64]) -> Score {
        let reward = self.formula.evaluate(rewards);
        if reward.is_finite() { Score::ok(reward) } else { Score::error(format!("the formula gives {reward}")) }
    }
}

/// What a member contributes; the verdict on the whole where it could not judge.
fn reward_of(Part { name, score }: &Part) -> Result<f64, Score> {
    if score.is_scored() {
        return Ok(score.reward);
    }
    Err(Score::error(format!("`{name}`: {}", score.detail.as_deref().unwrap_or_default())))
}

impl Verifier for Multi {
    fn verify(&self, case: &Case<'_>) -> Score {
        let of = |(name, member): &(String, Arc<dyn Verifier>)| Part { name: name.clone(), score: member.verify(case) };
        let parts: Vec<Part> = self.members.iter().map(of).collect();
        let rewards: Result<Vec<f64>, Score> = parts.iter().map(reward_of).collect();
        rewards.map_or_else(|score| score, |rewards| self.score(&rewards)).with_parts(parts)
    }

    fn part_names(&self) -> Vec<String> {
        self.members.iter().map(|(name, _)| name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::verifier::{self, ScoreStatus};

    fn config(members: Value, formula: &str) -> Value {
        json!({"type": "multi", "name": "both", "graders": members, "calculate_output": formula})
    }

    fn members() -> Value {
        json!({
            "right": {"type": "string_check", "name": "right", "input": "{{ sample.output_text }}",
                      "reference": "{{ item.want }}", "operation": "eq"},
            "close": {"type": "numeric", "name": "close", "tolerance": 1.0},
        })
    }

    fn score(formula: &str, completion: &str, answer: Option<&str>) -> Score {
        let row = json!({"want": "42"});
        let case = Case { prompt: "", completion, answer, row: row.as_object().unwrap() };
        verifier::Config::parse(&config(members(), formula), "").unwrap().build(&Outside::default()).verify(&case)
    }

    #[test]
    fn the_reward_is_the_formula_over_the_members() {
        let whole = |formula, completion, answer| score(formula, completion, answer).with_parts(Vec::new());
        assert_eq!(whole("0.5 * right + 2 * close", "42", Some("42")), Score::ok(2.5));
        assert_eq!(whole("0.5 * right + 2 * close", "43", Some("42")), Score::ok(2.0));
        assert_eq!(whole("right + close", "none", Some("42")), Score::ok(0.0));
    }

    #[test]
    fn a_member_that_cannot_judge_and_a_reward_that_is_no_number_are_errors() {
        let failed = score("right", "42", None);
        assert_eq!(failed.status, ScoreStatus::Error);
        assert!(failed.detail.unwrap().contains("close"));
        assert_eq!(score("right / (close - 1)", "42", Some("42")).status, ScoreStatus::Error);
    }

    #[test]
    fn mistakes_are_refused_where_they_stand() {
        let refusal = |value: Value| {
            let errors = verifier::Config::parse(&value, "/v").unwrap_err();
            (errors[0].pointer.clone(), errors[0].code)
        };
        let one = |name: &str, member: Value| config(json!({name: member}), "1");
        let exact = || json!({"type": "exact"});
        assert_eq!(refusal(config(members(), "right * wrong")), ("/v/calculate_output".to_owned(), "invalid_formula"));
        assert_eq!(refusal(config(json!({}), "1")), ("/v/graders".to_owned(), "out_of_range"));
        for name in ["", "two words", "max", "1st"] {
            assert_eq!(refusal(one(name, exact())), ("/v/graders".to_owned(), "out_of_range"), "{name}");
        }
        let python = one("a", json!({"type": "python", "source": "", "name": "a"}));
        assert_eq!(refusal(python), ("/v/graders/a/type".to_owned(), "unknown_value"));
        let nested = one("a", config(members(), "right"));
        assert_eq!(refusal(nested), ("/v/graders/a/type".to_owned(), "unknown_value"));
        let field = one("a", json!({"type": "numeric", "tolerence": 1}));
        assert_eq!(refusal(field), ("/v/graders/a/tolerence".to_owned(), "unknown_field"));
    }

    #[test]
    fn an_answer_is_needed_when_a_member_needs_one() {
        let needs =
            |members: Value| verifier::Config::parse(&config(json!({"a": members}), "a"), "").unwrap().needs_answer();
        assert!(needs(json!({"type": "numeric"})));
        assert!(!needs(members()["right"].clone()));
    }
}
