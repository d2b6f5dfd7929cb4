//! Instructions that a program can check: how long a text is, which words it holds, how it is laid out.
//!
//! The families are the 25 of IFEval (arXiv 2311.07911), with its names and arguments, so that its rows can be used as they
//! are. Sentences are told apart by a rule of our own and languages by whatlang, where IFEval asks two Python packages;
//! a language that cannot be told makes the row an error.

mod instruction;
mod layout;
mod words;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Case, Outside, Part, Score, Settings, Verifier};
use crate::job::bounds;
use crate::job::field::{self, FieldError, Fields};
use instruction::Instruction;

pub const SUMMARY: &str =
    "The completion follows instructions on length, words, layout, case and language (the families of IFEval).";

/// The most instructions for one completion.
const MAX_INSTRUCTIONS: usize = 32;

/// Configuration of the `constraints` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Instructions for all rows, each with its `id` and arguments.
    #[schemars(length(max = MAX_INSTRUCTIONS))]
    instructions: Vec<Instruction>,
    /// The column with the list of a row's instruction ids, in IFEval's rows `instruction_id_list`.
    #[schemars(length(min = 1))]
    ids_column: Option<String>,
    /// The column with the list of their arguments, in IFEval's rows `kwargs`; arguments that are null are left out.
    #[schemars(length(min = 1))]
    kwargs_column: Option<String>,
    /// The reward: the share of instructions that are followed, or 1 only if all are.
    reward: Reward,
    /// An instruction also counts as followed where it is without the first line, the last line or both, or without
    /// asterisks: what chat models put around their answers.
    loose: bool,
    /// Seconds one verification may take.
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Reward {
    /// The share of instructions that are followed.
    Share,
    /// 1 if all are followed, else 0.
    All,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            instructions: Vec::new(),
            ids_column: None,
            kwargs_column: None,
            reward: Reward::Share,
            loose: false,
            time_limit_seconds: super::DEFAULT_TIME_LIMIT_SECONDS,
        }
    }
}

impl Settings for Config {
    fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        let mut fields = Fields::below(pointer);
        fields.require(
            !self.instructions.is_empty() || self.ids_column.is_some(),
            "instructions",
            "give at least one instruction, or a column of rows in `ids_column`",
        );
        let both = self.kwargs_column.is_some() == self.ids_column.is_some();
        fields.require(both, "kwargs_column", "goes with `ids_column`; give both or neither");
        let of = |(at, instruction): (usize, &Instruction)| instruction.check(&format!("{pointer}/instructions/{at}"));
        let wrong = self.instructions.iter().enumerate().map(of);
        field::all(wrong.chain([fields.finish()]))
    }

    fn build(&self, _outside: &Outside) -> Arc<dyn Verifier> {
        Arc::new(Constraints { config: self.clone() })
    }

    fn compares_answer(&self) -> bool {
        false
    }

    fn columns(&self) -> Vec<(String, String)> {
        let named = [("ids_column", &self.ids_column), ("kwargs_column", &self.kwargs_column)];
        named.into_iter().filter_map(|(field, column)| Some((field.to_owned(), column.clone()?))).collect()
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

struct Constraints {
    config: Config,
}

impl Verifier for Constraints {
    fn verify(&self, case: &Case<'_>) -> Score {
        if let Err(detail) = super::check_length("the completion", case.completion) {
            return Score::error(detail);
        }
        let of_row = match self.of_row(case.row) {
            Ok(instructions) => instructions,
            Err(detail) => return Score::error(detail),
        };
        let all: Vec<&Instruction> = self.config.instructions.iter().chain(&of_row).collect();
        if all.is_empty() {
            return Score::error("the row has no instruction to follow");
        }
        let texts = if self.config.loose { loose(case.completion) } else { vec![case.completion.to_owned()] };
        let follows = |instruction: &&Instruction| {
            texts.iter().any(|text| !text.trim().is_empty() && instruction.is_followed(text))
        };
        let followed: Vec<bool> = all.iter().map(follows).collect();
        let count = followed.iter().filter(|followed| **followed).count();
        let reward = match self.config.reward {
            Reward::Share => count as f64 / all.len() as f64,
            Reward::All => f64::from(u8::from(count == all.len())),
        };
        let missed = all.iter().zip(&followed).find(|(_, followed)| !**followed);
        let reason = match missed {
            None => format!("all {} instructions are followed", all.len()),
            Some((first, _)) => format!("{count} of {} instructions are followed, `{}` is not", all.len(), first.id()),
        };
        let score = |followed: bool| Score::ok(f64::from(u8::from(followed)));
        let named = names(&all).into_iter().zip(followed);
        let parts = named.map(|(name, followed)| Part { name, score: score(followed) }).collect();
        Score::ok(reward).because(reason).with_parts(parts)
    }

    fn part_names(&self) -> Vec<String> {
        names(&self.config.instructions.iter().collect::<Vec<_>>())
    }
}

impl Constraints {
    /// The instructions of a row in IFEval's two columns.
    fn of_row(&self, row: &Map<String, Value>) -> Result<Vec<Instruction>, String> {
        let (Some(ids), Some(kwargs)) = (&self.config.ids_column, &self.config.kwargs_column) else {
            return Ok(Vec::new());
        };
        let (ids, kwargs) = (list(row, ids)?, list(row, kwargs)?);
        if ids.len() != kwargs.len() || ids.len() > MAX_INSTRUCTIONS {
            let (ids, kwargs) = (ids.len(), kwargs.len());
            return Err(format!(
                "the row has {ids} instructions and {kwargs} arguments; there may be {MAX_INSTRUCTIONS}"
            ));
        }
        ids.iter().zip(kwargs).map(|(id, kwargs)| read(id, kwargs)).collect()
    }
}

fn list<'a>(row: &'a Map<String, Value>, column: &str) -> Result<&'a Vec<Value>, String> {
    row.get(column).and_then(Value::as_array).ok_or_else(|| format!("column {} holds no list", super::quote(column)))
}

/// One instruction of a row.
fn read(id: &Value, kwargs: &Value) -> Result<Instruction, String> {
    let given = kwargs.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let mut fields: Map<String, Value> = given.map(|(name, value)| (name.clone(), value.clone())).collect();
    fields.insert(String::from("id"), id.clone());
    let value = Value::Object(fields);
    let read = field::parse::<Instruction>(&value, "").map_err(|error| vec![error]).and_then(|instruction| {
        field::all([Err(bounds::of::<Instruction>(&value, "")), instruction.check("")])?;
        Ok(instruction)
    });
    read.map_err(|errors| {
        let first = errors.first().map(ToString::to_string).unwrap_or_default();
        format!(
            "an instruction of the row, {}, cannot be checked: {}",
            super::quote(&id.to_string()),
            super::shortened(&first)
        )
    })
}

/// The names of instructions as parts of a verdict.
fn names(instructions: &[&Instruction]) -> Vec<String> {
    super::part_names(instructions.iter().map(|instruction| instruction.id()))
}

/// The texts that `loose` looks at.
fn loose(completion: &str) -> Vec<String> {
    let lines: Vec<&str> = completion.split('\n').collect();
    let between = |from: usize, less: usize| {
        let to = lines.len().saturating_sub(less).max(from.min(lines.len()));
        lines[from.min(lines.len())..to].join("\n").trim().to_owned()
    };
    let cut = [completion.to_owned(), between(1, 0), between(0, 1), between(1, 1)];
    let plain: Vec<String> = cut.iter().map(|text| text.replace('*', "")).collect();
    cut.into_iter().chain(plain).collect()
}

#[cfg(test)]
mod tests;
