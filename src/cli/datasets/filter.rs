//! `anneal datasets filter`

use std::process::ExitCode;

use anyhow::Context;
use serde_json::{Value, json};

use super::super::client::{Client, escape};
use super::super::output::Output;
use super::check::version_of;
use super::upload::made_text;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The data set, ds_..., of which the newest version is filtered, or a version, dsv_...
    dataset: String,
    /// What a column must hold: COLUMN=VALUE, COLUMN>=NUMBER, COLUMN<=NUMBER, or COLUMN for any value; may be repeated
    #[arg(long = "where", value_name = "CONDITION", value_parser = condition)]
    conditions: Vec<Value>,
    /// Keep rows by how often they were solved in this rollout set
    #[arg(long, value_name = "ROLLOUT_SET")]
    pass_rate: Option<String>,
    /// The least pass rate
    #[arg(long, requires = "pass_rate", value_name = "RATE")]
    min: Option<f64>,
    /// The highest pass rate
    #[arg(long, requires = "pass_rate", value_name = "RATE")]
    max: Option<f64>,
    /// Also keep rows that the set has no completions for
    #[arg(long, requires = "pass_rate")]
    keep_unsampled: bool,
    /// Write 1 minus the pass rate into this column
    #[arg(long, requires = "pass_rate", value_name = "COLUMN")]
    difficulty_column: Option<String>,
    /// Keep one of the rows with the same prompt, to the letter or by its words
    #[arg(long, value_parser = ["exact", "normalised"])]
    unique: Option<String>,
}

pub fn run(client: &Client, output: Output, args: &Args) -> anyhow::Result<ExitCode> {
    let version = version_of(client, &args.dataset)?;
    let mut body = json!({});
    if !args.conditions.is_empty() {
        body["where"] = json!(args.conditions);
    }
    if let Some(set) = &args.pass_rate {
        let mut range = json!({"rollout_set": set, "keep_unsampled": args.keep_unsampled});
        for (name, bound) in [("min", args.min), ("max", args.max)] {
            if let Some(bound) = bound {
                range[name] = json!(bound);
            }
        }
        if let Some(column) = &args.difficulty_column {
            range["difficulty_column"] = json!(column);
        }
        body["pass_rate"] = range;
    }
    if let Some(unique) = &args.unique {
        body["unique"] = json!(unique);
    }
    let made = client.post(&format!("/v1/dataset-versions/{}/filter", escape(&version)), &body)?;
    output.answer(&made, || made_text(&made));
    Ok(ExitCode::SUCCESS)
}

/// A condition as the API takes it. A value that is no JSON is text.
fn condition(text: &str) -> anyhow::Result<Value> {
    for (sign, name) in [(">=", "at_least"), ("<=", "at_most")] {
        if let Some((column, number)) = text.split_once(sign) {
            let number: f64 = number.trim().parse().with_context(|| format!("`{number}` is no number"))?;
            return Ok(json!({"column": column.trim(), name: number}));
        }
    }
    Ok(match text.split_once('=') {
        Some((column, value)) => {
            let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
            json!({"column": column.trim(), "is": value})
        }
        None => json!({"column": text.trim(), "present": true}),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_read_as_they_are_written() {
        let is = |text: &str, expected: Value| assert_eq!(condition(text).unwrap(), expected, "{text}");
        is("level>=3", json!({"column": "level", "at_least": 3.0}));
        is("level <= 0.5", json!({"column": "level", "at_most": 0.5}));
        is("topic=sums", json!({"column": "topic", "is": "sums"}));
        is("level=3", json!({"column": "level", "is": 3}));
        is("answer", json!({"column": "answer", "present": true}));
        assert!(condition("level>=hard").is_err());
    }
}
