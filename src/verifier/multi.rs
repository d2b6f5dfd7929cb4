//! Several verifiers and one reward: a formula over theirs, as OpenAI's grader of this name, or a rule with weights.
//!
//! Its members may be any other verifier. A member that cannot judge leaves nothing to calculate with, so that the
//! whole is an error; one that finds nothing to judge counts with its reward, 0. Gates are members that come first: where
//! one gives less than it has to, the others are not even asked, so that nothing is earned for a right answer in a wrong
//! form, and nothing is spent on it.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::formula::{self, Formula};
use super::{Case, Outside, Part, Score, Settings, Verifier};
use crate::job::field::{FieldError, Fields, escaped};

const MAX_NAME_BYTES: usize = 64;
/// The greatest weight and the greatest threshold.
const MOST: f64 = 1e6;

pub const SUMMARY: &str =
    "One reward of several verifiers: a formula (OpenAI's grader) or a rule with weights, behind gates.";

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
    /// `max`, `abs`, `floor`, `ceil`, `exp`, `sqrt` and `log`. Either this or `combine`.
    #[serde(default)]
    calculate_output: Option<String>,
    /// How the reward is made of those of the members where there is no formula.
    #[serde(default)]
    combine: Option<Combine>,
    /// The weights of members in `weighted_mean` and `sum`; 1 for those that are not named.
    #[serde(default)]
    #[schemars(extend("maxProperties" = 16))]
    weights: BTreeMap<String, f64>,
    /// The reward from which on a member counts as passed in `all` and `any`.
    #[serde(default = "default_pass")]
    #[schemars(range(min = -MOST, max = MOST))]
    pass: f64,
    /// Members that must give at least this reward before the others are asked.
    #[serde(default)]
    #[schemars(extend("maxProperties" = 16))]
    gates: BTreeMap<String, f64>,
    /// The reward where a gate is closed.
    #[serde(default)]
    #[schemars(range(min = -MOST, max = MOST))]
    closed_reward: f64,
    /// Seconds one verification may take.
    #[serde(default = "super::default_time_limit_seconds")]
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Combine {
    /// The mean by `weights`.
    WeightedMean,
    /// The sum by `weights`.
    Sum,
    Product,
    Min,
    Max,
    /// 1 where every member passes, else 0.
    All,
    /// 1 where some member passes, else 0.
    Any,
}

fn default_pass() -> f64 {
    1.0
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
    /// The names of the members, gates first.
    fn names(&self) -> Vec<&str> {
        let (gates, others): (Vec<&str>, Vec<&str>) =
            self.graders.keys().map(String::as_str).partition(|name| self.gates.contains_key(*name));
        [gates, others].concat()
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

    /// Checks the formula, or the rule in its place.
    fn check_output(&self, pointer: &str) -> Option<FieldError> {
        let error =
            |field: &str, code, detail: String| Some(FieldError::new(format!("{pointer}/{field}"), code, detail));
        match (&self.calculate_output, self.combine) {
            (None, None) => {
                let detail = "give a formula over the graders, or name a rule in `combine`";
                error("calculate_output", "missing_field", detail.to_owned())
            }
            (Some(_), Some(_)) => error("combine", "conflict", String::from("leave it out, or `calculate_output`")),
            (Some(formula), None) => {
                let detail = Formula::parse(formula, &self.names()).err()?;
                error("calculate_output", "invalid_formula", detail)
            }
            (None, Some(_)) => None,
        }
    }

    /// Checks what names members: weights and gates.
    fn check_named(&self, pointer: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for (field, named) in [("weights", &self.weights), ("gates", &self.gates)] {
            for (name, number) in named {
                let at = format!("{pointer}/{field}/{}", escaped(name));
                if !self.graders.contains_key(name) {
                    let detail = format!("is the name of no grader; there are: {}", self.names().join(", "));
                    errors.push(FieldError::new(at, "unknown_value", detail));
                } else if number.abs() > MOST {
                    errors.push(FieldError::new(at, "out_of_range", format!("must lie between -{MOST} and {MOST}")));
                }
            }
        }
        let mut fields = Fields::below(pointer);
        let weighs = matches!(self.combine, Some(Combine::WeightedMean | Combine::Sum));
        let unused = "are used only where `combine` is `weighted_mean` or `sum`";
        fields.require(weighs || self.weights.is_empty(), "weights", unused);
        if self.combine == Some(Combine::WeightedMean) {
            let of = |name: &&str| self.weight(name);
            let mean =
                self.names().iter().all(|name| of(name) >= 0.0) && self.names().iter().any(|name| of(name) > 0.0);
            fields.require(mean, "weights", "of a mean are not negative, and one at least is positive");
        }
        errors.extend(fields.finish().err().unwrap_or_default());
        errors
    }

    fn weight(&self, name: &str) -> f64 {
        self.weights.get(name).copied().unwrap_or(1.0)
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
        errors.extend(self.check_output(pointer));
        errors.extend(self.check_named(pointer));
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn build(&self, outside: &Outside) -> Arc<dyn Verifier> {
        let names = self.names();
        let formula = self.calculate_output.as_ref().map(|formula| {
            let formula = Formula::parse(formula, &names);
            Output::Formula(formula.expect("the configuration was checked, and the check reads the formula"))
        });
        let rule = self.combine.map(|combine| Output::Rule {
            combine,
            weights: names.iter().map(|name| self.weight(name)).collect(),
            pass: self.pass,
        });
        let member = |name: &&str| Asked {
            name: (*name).to_owned(),
            verifier: self.graders[*name].checked().build(outside),
            gate: self.gates.get(*name).copied(),
        };
        Arc::new(Multi {
            members: names.iter().map(member).collect(),
            output: formula.or(rule).expect("the configuration was checked: it has a formula or a rule"),
            closed_reward: self.closed_reward,
        })
    }

    fn refused(&self, outside: &Outside, pointer: &str) -> Result<(), Vec<FieldError>> {
        let of = |(name, member): (&String, &Member)| {
            member.checked().refused(outside, &format!("{pointer}/graders/{name}")).err().unwrap_or_default()
        };
        let errors: Vec<FieldError> = self.graders.iter().flat_map(of).collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn runs_code(&self) -> bool {
        self.graders.values().any(|member| member.checked().runs_code())
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
    /// Gates first.
    members: Vec<Asked>,
    output: Output,
    closed_reward: f64,
}

struct Asked {
    name: String,
    verifier: Arc<dyn Verifier>,
    /// The least reward before others are asked.
    gate: Option<f64>,
}

/// How one reward is made of those of the members, in their order.
enum Output {
    Formula(Formula),
    Rule { combine: Combine, weights: Vec<f64>, pass: f64 },
}

impl Output {
    fn reward(&self, rewards: &[f64]) -> f64 {
        let (combine, weights, pass) = match self {
            Self::Formula(formula) => return formula.evaluate(rewards),
            Self::Rule { combine, weights, pass } => (combine, weights, *pass),
        };
        let weighted = || rewards.iter().zip(weights).map(|(reward, weight)| reward * weight).sum::<f64>();
        match combine {
            Combine::WeightedMean => weighted() / weights.iter().sum::<f64>(),
            Combine::Sum => weighted(),
            Combine::Product => rewards.iter().product(),
            Combine::Min => rewards.iter().copied().fold(f64::INFINITY, f64::min),
            Combine::Max => rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Combine::All => f64::from(u8::from(rewards.iter().all(|reward| *reward >= pass))),
            Combine::Any => f64::from(u8::from(rewards.iter().any(|reward| *reward >= pass))),
        }
    }
}

impl Asked {
    /// The verdicts on some cases, as many at a time as it takes.
    fn verify_all(&self, cases: &[Case<'_>]) -> Vec<Score> {
        cases.chunks(self.verifier.batch().max(1)).flat_map(|cases| self.verifier.verify_many(cases)).collect()
    }
}

impl Multi {
    /// The verdict on a case whose gates are open.
    fn score(&self, parts: &[Part]) -> Score {
        let rewards: Result<Vec<f64>, Score> = parts.iter().map(reward_of).collect();
        let reward = match rewards {
            Ok(rewards) => self.output.reward(&rewards),
            Err(score) => return score,
        };
        if !reward.is_finite() {
            return Score::error(format!("the formula gives {reward}"));
        }
        let each: Vec<String> =
            parts.iter().map(|part| format!("`{}` gives {}", part.name, part.score.reward)).collect();
        Score::ok(reward).because(each.join(", "))
    }

    /// The verdict where a gate is closed by what its member says, or leaves open whether it is.
    fn closed(&self, part: &Part, least: f64) -> Option<Score> {
        match reward_of(part) {
            Ok(reward) if reward >= least => None,
            Ok(reward) => {
                let reason =
                    format!("the gate `{}` gives {reward} and asks for {least}; no other was asked", part.name);
                Some(Score::ok(self.closed_reward).because(reason))
            }
            Err(score) => Some(score),
        }
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
        let score = self.verify_many(std::slice::from_ref(case)).pop();
        score.unwrap_or_else(|| Score::error("a grader gave no verdict"))
    }

    fn verify_many(&self, cases: &[Case<'_>]) -> Vec<Score> {
        let mut parts: Vec<Vec<Part>> = vec![Vec::new(); cases.len()];
        let mut closed: Vec<Option<Score>> = vec![None; cases.len()];
        for member in &self.members {
            let open: Vec<usize> = (0..cases.len()).filter(|at| closed[*at].is_none()).collect();
            let asked: Vec<Case<'_>> = open.iter().map(|at| cases[*at]).collect();
            for (at, score) in open.into_iter().zip(member.verify_all(&asked)) {
                let part = Part { name: member.name.clone(), score };
                closed[at] = member.gate.and_then(|least| self.closed(&part, least));
                parts[at].push(part);
            }
        }
        let whole = |(closed, parts): (Option<Score>, Vec<Part>)| {
            closed.unwrap_or_else(|| self.score(&parts)).with_parts(parts)
        };
        closed.into_iter().zip(parts).map(whole).collect()
    }

    fn batch(&self) -> usize {
        self.members.iter().map(|member| member.verifier.batch()).max().unwrap_or(1)
    }

    fn concurrency(&self) -> usize {
        self.members.iter().map(|member| member.verifier.concurrency()).max().unwrap_or(1)
    }

    fn part_names(&self) -> Vec<String> {
        self.members.iter().map(|member| member.name.clone()).collect()
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
        let reward = |formula: &str, completion: &str| score(formula, completion, Some("42")).reward;
        assert_eq!(reward("0.5 * right + 2 * close", "42"), 2.5);
        assert_eq!(reward("0.5 * right + 2 * close", "43"), 2.0);
        assert_eq!(reward("right + close", "none"), 0.0);
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

    /// A verdict by rules on a text; `brief` gives 1 for a word, `words` what the text says of two.
    fn ruled(fields: Value, completion: &str) -> Score {
        let check = |reference: &str| json!({"type": "string_check", "input": "{{ sample.output_text }}", "reference": reference, "operation": "like"});
        let graders = json!({"a": check("a"), "b": check("b"), "form": check("["), "number": {"type": "numeric"}});
        let mut config = json!({"type": "multi", "graders": graders});
        config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let names: Vec<String> = fields["of"].as_array().map_or(vec!["a".into(), "b".into()], |of| {
            of.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
        });
        config["graders"].as_object_mut().unwrap().retain(|name, _| names.contains(name));
        config.as_object_mut().unwrap().remove("of");
        let case = Case { prompt: "", completion, answer: None, row: &serde_json::Map::new() };
        verifier::Config::parse(&config, "").unwrap().build(&Outside::default()).verify(&case)
    }

    #[test]
    fn rules_combine_as_they_say() {
        for (rule, weights, rewards) in [
            ("weighted_mean", json!({}), [0.0, 0.5, 0.5, 1.0]),
            ("weighted_mean", json!({"a": 3.0}), [0.0, 0.75, 0.25, 1.0]),
            ("sum", json!({"b": -0.5}), [0.0, 1.0, -0.5, 0.5]),
            ("product", json!({}), [0.0, 0.0, 0.0, 1.0]),
            ("min", json!({}), [0.0, 0.0, 0.0, 1.0]),
            ("max", json!({}), [0.0, 1.0, 1.0, 1.0]),
            ("all", json!({}), [0.0, 0.0, 0.0, 1.0]),
            ("any", json!({}), [0.0, 1.0, 1.0, 1.0]),
        ] {
            for (text, reward) in ["x", "a", "b", "ab"].into_iter().zip(rewards) {
                let score = ruled(json!({"combine": rule, "weights": weights}), text);
                assert_eq!(score.reward, reward, "{rule} {weights} {text}");
                assert_eq!(score.parts.len(), 2);
            }
        }
        assert_eq!(ruled(json!({"combine": "all", "pass": 0.0}), "x").reward, 1.0);
    }

    #[test]
    fn behind_a_closed_gate_nobody_is_asked() {
        let config = || {
            json!({"of": ["a", "form"], "combine": "sum", "weights": {"form": 0.0}, "gates": {"form": 1.0},
                               "closed_reward": -1.0})
        };
        let (open, closed) = (ruled(config(), "[a"), ruled(config(), "a"));
        assert_eq!((open.reward, open.parts.len()), (1.0, 2));
        assert_eq!((closed.reward, closed.parts.len()), (-1.0, 1));
        assert!(closed.detail.unwrap().contains("`form`"));
        // What is behind the gate cannot judge without an answer, and is asked only where the gate is open.
        let number = || json!({"of": ["form", "number"], "calculate_output": "number", "gates": {"form": 1.0}});
        assert_eq!(ruled(number(), "1").status, ScoreStatus::Ok);
        assert_eq!(ruled(number(), "[1").status, ScoreStatus::Error);
        let broken = json!({"of": ["form", "number"], "calculate_output": "form", "gates": {"number": 1.0}});
        assert_eq!(ruled(broken, "[").status, ScoreStatus::Error);
    }

    #[test]
    fn many_cases_are_judged_as_one_by_one() {
        let config =
            json!({"type": "multi", "graders": members(), "combine": "weighted_mean", "gates": {"close": 1.0}});
        let multi = verifier::Config::parse(&config, "").unwrap().build(&Outside::default());
        let row = json!({"want": "42"});
        let case = |completion| Case { prompt: "", completion, answer: Some("42"), row: row.as_object().unwrap() };
        let cases = ["42", "none", "43", "7"].map(case);
        let alone: Vec<Score> = cases.iter().map(|case| multi.verify(case)).collect();
        assert_eq!(multi.verify_many(&cases), alone);
        assert_eq!(alone.iter().map(|score| score.reward).collect::<Vec<_>>(), [1.0, 0.0, 0.5, 0.0]);
        assert_eq!(multi.part_names(), ["close", "right"]);
    }

    #[test]
    fn what_rules_cannot_mean_is_refused_where_it_stands() {
        for (fields, pointer, code) in [
            (json!({}), "/v/calculate_output", "missing_field"),
            (json!({"combine": "min", "calculate_output": "right"}), "/v/combine", "conflict"),
            (json!({"combine": "average"}), "/v/combine", "unknown_value"),
            (json!({"combine": "sum", "weights": {"wrong": 1}}), "/v/weights/wrong", "unknown_value"),
            (json!({"combine": "sum", "weights": {"right": 1e9}}), "/v/weights/right", "out_of_range"),
            (json!({"combine": "min", "weights": {"right": 1}}), "/v/weights", "out_of_range"),
            (json!({"combine": "weighted_mean", "weights": {"right": -1}}), "/v/weights", "out_of_range"),
            (json!({"combine": "weighted_mean", "weights": {"right": 0, "close": 0}}), "/v/weights", "out_of_range"),
            (json!({"calculate_output": "right", "gates": {"a/b": 1}}), "/v/gates/a~1b", "unknown_value"),
        ] {
            let mut config = json!({"type": "multi", "graders": members()});
            config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            let errors = verifier::Config::parse(&config, "/v").unwrap_err();
            assert_eq!((errors[0].pointer.as_str(), errors[0].code), (pointer, code), "{fields}");
        }
    }
}
