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
use serde_json::{Map, Value};

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
    /// Seconds one verification may take; by default as many as its members together, which are asked one after the other.
    /// It may not be less than that of a member.
    #[serde(default)]
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: Option<f64>,
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

    /// What the members may take together for as many cases as come at a time. One that takes fewer is asked several times.
    fn limit_of_members(&self) -> f64 {
        let members = self.graders.values().map(|member| {
            let config = member.checked();
            // How many it takes does not depend on what it may use.
            (config.build(&Outside::default()).batch().max(1), config.time_limit().as_secs_f64())
        });
        let members: Vec<(usize, f64)> = members.collect();
        let batch = members.iter().map(|(batch, _)| *batch).max().unwrap_or(1);
        members.iter().map(|(own, limit)| batch.div_ceil(*own) as f64 * limit).sum()
    }

    /// A limit that cuts a member's own short would do so without a word.
    fn check_time_limit(&self, pointer: &str) -> Option<FieldError> {
        let own = self.time_limit_seconds?;
        let limit = |member: &Member| member.checked().time_limit().as_secs_f64();
        let (name, most) = self.graders.iter().map(|(name, member)| (name, limit(member))).find(|(_, l)| *l > own)?;
        let detail =
            format!("is below the {most} s of `{name}`: leave it out, or lower `graders.{name}.time_limit_seconds`");
        Some(FieldError::new(format!("{pointer}/time_limit_seconds"), "out_of_range", detail))
    }

    /// The members by how much of the reward they decide, the most first: by their weights, or by what the formula loses
    /// where one of them gives nothing and the others 1.
    fn by_weight(&self, names: &[&str], output: &Output) -> Vec<usize> {
        let full = vec![1.0; names.len()];
        let without = |at: usize| {
            let mut rewards = full.clone();
            rewards[at] = 0.0;
            output.reward(&rewards)
        };
        let weight = |at: usize| match self.combine {
            Some(Combine::WeightedMean | Combine::Sum) => self.weight(names[at]).abs(),
            Some(_) => 1.0,
            None => Some((output.reward(&full) - without(at)).abs()).filter(|lost| lost.is_finite()).unwrap_or(0.0),
        };
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by(|one, other| weight(*other).total_cmp(&weight(*one)));
        order
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
        let output = formula.or(rule).expect("the configuration was checked: it has a formula or a rule");
        Arc::new(Multi {
            members: names.iter().map(member).collect(),
            heaviest: self.by_weight(&names, &output),
            output,
            closed_reward: self.closed_reward,
        })
    }

    fn refused(&self, outside: &Outside, pointer: &str) -> Result<(), Vec<FieldError>> {
        let of = |(name, member): (&String, &Member)| {
            member.checked().refused(outside, &format!("{pointer}/graders/{name}")).err().unwrap_or_default()
        };
        let mut errors: Vec<FieldError> = self.graders.iter().flat_map(of).collect();
        // Not a mistake in what is stored: earlier such configurations are still read.
        errors.extend(self.check_time_limit(pointer));
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn needs_environment(&self) -> bool {
        self.graders.values().any(|member| member.checked().needs_environment())
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

    fn reads_row(&self) -> bool {
        self.graders.values().any(|member| member.checked().reads_row())
    }

    fn reference(&self, row: &Map<String, Value>) -> Option<String> {
        self.graders.values().find_map(|member| member.checked().reference(row))
    }

    /// As the first member wants it that wants it otherwise than it stands in the row.
    fn written(&self, answer: &str, row: &Map<String, Value>) -> String {
        let of = |member: &Member| member.checked().written(answer, row);
        self.graders.values().map(of).find(|written| written != answer).unwrap_or_else(|| answer.to_owned())
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds.unwrap_or_else(|| self.limit_of_members())
    }
}

struct Multi {
    /// Gates first.
    members: Vec<Asked>,
    /// The places of the members, from the one that decides most of the reward on.
    heaviest: Vec<usize>,
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
        Score { answer: self.answer(parts), ..Score::ok(reward).because(each.join(", ")) }
    }

    /// What the heaviest member that takes answers out of completions has found.
    fn answer(&self, parts: &[Part]) -> Option<String> {
        self.heaviest.iter().find_map(|at| parts.get(*at)?.score.answer.clone())
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
mod tests;
