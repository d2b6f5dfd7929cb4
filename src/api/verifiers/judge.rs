//! Tries a verifier on completions that a client sends, outside of any job.

use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::App;
use crate::api::error::Problem;
use crate::api::sandbox::{self, End, Task};
use crate::verifier::{Case, Config, Score};

/// The longest that a request judges.
const MOST_TIME: Duration = Duration::from_secs(60);

/// A completion to judge, with the row it answers.
#[derive(Debug, Serialize, Deserialize)]
pub struct Sample {
    pub completion: String,
    pub row: Map<String, Value>,
}

/// A verdict, with those of the members where the verifier has some.
#[derive(Debug, Serialize, Deserialize)]
pub struct Judged {
    pub score: Score,
    pub members: Vec<(String, Score)>,
}

/// What is to be judged.
#[derive(Debug, Serialize, Deserialize)]
pub struct Judging {
    verifier: Value,
    samples: Vec<Sample>,
}

impl Task for Judging {
    const NAME: &'static str = "judge";
    type Answer = Judged;

    fn perform(&self, mut tell: impl FnMut(&Judged) -> io::Result<()>) -> io::Result<()> {
        let verifier = checked(&self.verifier)?.build();
        self.samples.iter().try_for_each(|sample| {
            let text = |column: &str| match sample.row.get(column) {
                Some(Value::String(text)) => Some(text.clone()),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => Some(value.to_string()),
                Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => None,
            };
            let (prompt, answer) = (text("prompt").unwrap_or_default(), text("answer"));
            let case =
                Case { prompt: &prompt, completion: &sample.completion, answer: answer.as_deref(), row: &sample.row };
            let (score, members) = verifier.verify_with_members(&case);
            tell(&Judged { score, members })
        })
    }
}

/// A configuration that was checked before it became part of a task.
pub fn checked(verifier: &Value) -> io::Result<Config> {
    Config::read(verifier, "").map_err(|errors| io::Error::other(format!("{errors:?}")))
}

/// Judges the samples in their order. Those that are not judged within the verifier's time limit, all together, time out.
pub async fn judge(app: &App, config: &Config, samples: Vec<Sample>) -> Result<Vec<Judged>, Problem> {
    let (limit, count) = (config.time_limit().min(MOST_TIME), samples.len());
    let task = Judging { verifier: config.resolved(), samples };
    let (mut judged, end) = sandbox::ask(app.store.own_project(), &task, limit).await?;
    let score = match end {
        End::Done | End::TimedOut => Score::timeout(limit),
        End::Died(how) => Score::error(how),
    };
    judged.resize_with(count, || Judged { score: score.clone(), members: Vec::new() });
    Ok(judged)
}
