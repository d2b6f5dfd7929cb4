//! Tries a verifier on completions that a client sends, outside of any job.

use std::io;
use std::time::Instant;

use serde_json::{Map, Value};

use crate::api::error::Problem;
use crate::verifier::{Case, Config, Score};

/// A completion to judge, with the row it answers.
#[derive(Debug)]
pub struct Sample {
    pub completion: String,
    pub row: Map<String, Value>,
}

/// A verdict, with those of the members where the verifier has some.
#[derive(Debug)]
pub struct Judged {
    pub score: Score,
    pub members: Vec<(String, Score)>,
}

/// Judges the samples in their order. Each verification is bounded by what verifiers take in; once their time limit has
/// passed, the rest are not begun.
pub async fn judge(config: Config, samples: Vec<Sample>) -> Result<Vec<Judged>, Problem> {
    let judging = move || {
        let (verifier, began, limit) = (config.build(), Instant::now(), config.time_limit());
        let judge_one = |sample: &Sample| {
            if began.elapsed() > limit {
                return Judged { score: Score::timeout(limit), members: Vec::new() };
            }
            let text = |column: &str| match sample.row.get(column) {
                Some(Value::String(text)) => Some(text.clone()),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => Some(value.to_string()),
                Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => None,
            };
            let (prompt, answer) = (text("prompt").unwrap_or_default(), text("answer"));
            let case =
                Case { prompt: &prompt, completion: &sample.completion, answer: answer.as_deref(), row: &sample.row };
            Judged { score: verifier.verify(&case), members: config.members(&case) }
        };
        samples.iter().map(judge_one).collect()
    };
    tokio::task::spawn_blocking(judging).await.map_err(|error| Problem::from(io::Error::other(error)))
}
