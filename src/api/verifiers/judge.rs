//! Tries a verifier on completions that a client sends, outside of any job.

use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::App;
use crate::api::error::Problem;
use crate::api::resolve::permit;
use crate::api::sandbox::{self, End, Task};
use crate::verifier::{Case, Config, Outside, Score};

/// The longest that a request judges.
const MOST_TIME: Duration = Duration::from_secs(60);

/// What completions answer, as a verifier reads it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Asked {
    pub prompt: String,
    pub answer: Option<String>,
    pub row: Map<String, Value>,
}

impl Asked {
    /// Of a row that comes alone: its columns `prompt` and `answer` are the prompt and the answer.
    pub fn by(row: Map<String, Value>) -> Self {
        let text = |column: &str| match row.get(column) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => Some(value.to_string()),
            Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => None,
        };
        Self { prompt: text("prompt").unwrap_or_default(), answer: text("answer"), row }
    }
}

/// Completions of one prompt.
#[derive(Debug, Serialize, Deserialize)]
pub struct Sample {
    pub asked: Asked,
    pub completions: Vec<String>,
}

/// What is to be judged.
#[derive(Debug, Serialize, Deserialize)]
pub struct Judging {
    verifier: Value,
    outside: Outside,
    samples: Vec<Sample>,
}

impl Task for Judging {
    const NAME: &'static str = "judge";
    type Answer = Score;

    fn perform(&self, mut tell: impl FnMut(&Score) -> io::Result<()>) -> io::Result<()> {
        let verifier = checked(&self.verifier)?.build(&self.outside);
        self.samples.iter().try_for_each(|Sample { asked: Asked { prompt, answer, row }, completions }| {
            completions.iter().try_for_each(|completion| {
                tell(&verifier.verify(&Case { prompt, completion, answer: answer.as_deref(), row }))
            })
        })
    }
}

/// A configuration that was checked before it became part of a task.
pub fn checked(verifier: &Value) -> io::Result<Config> {
    Config::read(verifier, "").map_err(|errors| io::Error::other(format!("{errors:?}")))
}

/// Judges the completions in their order. Together they have as much time as the verifier gives each, a minute at most;
/// those that are not judged by then time out.
pub async fn judge(app: &App, config: &Config, samples: Vec<Sample>) -> Result<Vec<Score>, Problem> {
    permit(app, config)?;
    let count = samples.iter().map(|sample| sample.completions.len()).sum();
    let limit = config.time_limit().saturating_mul(u32::try_from(count).unwrap_or(u32::MAX)).min(MOST_TIME);
    let task = Judging { verifier: config.resolved(), outside: app.settings.verifiers.clone(), samples };
    let (mut judged, end) = sandbox::ask(app.store.own_project(), &task, limit).await?;
    let score = match end {
        End::Done | End::TimedOut => Score::timeout(limit),
        End::Died(how) => Score::error(how),
    };
    judged.resize(count, score);
    Ok(judged)
}
