//! Fine-tuning jobs: every job that trains, in OpenAI's words, whichever way it was submitted.

pub mod cancel;
pub mod checkpoints;
pub mod create;
mod dataset;
pub mod events;
pub mod get;
mod hyperparameters;
pub mod list;
mod method;
pub mod pause;
pub mod resume;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::Problem;
use crate::clock;
use crate::job::{JobId, JobKind, JobStatus, Timestamp};
use crate::spec::{Training, Work};
use crate::store::{JobRow, StoreError};
use hyperparameters::ChosenHyperparameters;

/// A training job as OpenAI clients read it; `GET /v1/jobs/{id}` shows the same one with all that it is.
#[derive(Debug, Serialize, ToSchema)]
pub struct FineTuningJob {
    #[schema(example = "job_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub id: String,
    /// Always `fine_tuning.job`.
    pub object: &'static str,
    /// Unix seconds.
    pub created_at: i64,
    /// Unix seconds.
    pub finished_at: Option<i64>,
    /// `queued`, `running` (also while it pauses or is being cancelled), `paused`, `succeeded`, `failed` or
    /// `cancelled`. Files are validated before a job exists, so that `validating_files` never occurs.
    #[schema(example = "running")]
    pub status: &'static str,
    /// What it started from.
    pub model: String,
    /// The finished model, `ckpt_...`: a model for further jobs and for completions.
    pub fine_tuned_model: Option<String>,
    /// The file, or the data set of a job that was submitted as such.
    pub training_file: String,
    pub validation_file: Option<String>,
    pub hyperparameters: ChosenHyperparameters,
    /// `{"type": "supervised" | "reinforcement" | "bolt" | ..., "<type>": {...}}`.
    #[schema(value_type = Object)]
    pub method: Value,
    pub seed: u64,
    pub suffix: Option<String>,
    /// Tokens that were trained on, once the job is over.
    pub trained_tokens: Option<u64>,
    /// Unix seconds; a guess from the steps taken so far.
    pub estimated_finish: Option<i64>,
    /// Why the job failed.
    pub error: Option<FineTuningError>,
    /// Always empty; metrics are at `/v1/jobs/{id}/metrics`.
    pub result_files: Vec<String>,
    /// Always empty.
    pub integrations: Vec<String>,
    /// Always `anneal`.
    pub organization_id: &'static str,
    pub metadata: BTreeMap<String, String>,
}

/// Why a job failed.
#[derive(Debug, Serialize, ToSchema)]
pub struct FineTuningError {
    pub code: String,
    pub message: String,
    /// Always null.
    pub param: Option<String>,
}

/// The job, when it is one that trains.
async fn training_job(app: &App, id: JobId) -> Result<JobRow, Problem> {
    let row = app.store.job(id).await?;
    if row.work().kind() == JobKind::Train {
        return Ok(row);
    }
    Err(not_training(id))
}

fn not_training(id: JobId) -> Problem {
    StoreError::NotFound { what: "fine-tuning job", id: id.to_string() }.into()
}

/// The job in OpenAI's words.
async fn view(app: &App, row: JobRow) -> Result<FineTuningJob, Problem> {
    let resolved = Arc::clone(&row.resolved);
    let Work::Train(training) = &resolved.work else { return Err(not_training(row.id)) };
    let request = app.store.fine_tuning(row.id).await?.unwrap_or_else(|| described(&row, training));
    let trained_tokens = if row.status.is_final() { Some(app.store.trained_tokens(row.id).await?) } else { None };
    let running = row.status == JobStatus::Running;
    let progress = if running { Some(app.store.progress(&row, clock::now()).await?) } else { None };
    let expected_end = progress.and_then(|progress| progress.expected_end);
    let text = |name: &str| request[name].as_str().map(str::to_owned);
    let succeeded = row.status == JobStatus::Succeeded;
    Ok(FineTuningJob {
        id: row.id.to_string(),
        object: "fine_tuning.job",
        created_at: row.created_at.unix_seconds(),
        finished_at: row.finished_at.map(Timestamp::unix_seconds),
        status: status(row.status),
        model: resolved.common.model.to_string(),
        fine_tuned_model: row
            .result
            .as_ref()
            .filter(|_| succeeded)
            .and_then(|result| result["checkpoint"].as_str().map(str::to_owned)),
        training_file: text("training_file").unwrap_or_default(),
        validation_file: text("validation_file"),
        hyperparameters: ChosenHyperparameters::of(training, request["n_epochs"].clone()),
        method: request["method"].clone(),
        seed: resolved.common.seed,
        suffix: text("suffix"),
        trained_tokens,
        estimated_finish: expected_end.map(|end| end.p50.unix_seconds()),
        error: row.failure.as_ref().map(|failure| FineTuningError {
            code: failure.code.clone(),
            message: failure.message.clone(),
            param: None,
        }),
        result_files: Vec::new(),
        integrations: Vec::new(),
        organization_id: "anneal",
        metadata: row.attributes.metadata,
    })
}

fn status(status: JobStatus) -> &'static str {
    match status {
        JobStatus::Queued => "queued",
        // A worker holds the job until it has let go of it, whatever was asked of it meanwhile.
        JobStatus::Starting | JobStatus::Running | JobStatus::Pausing | JobStatus::Cancelling => "running",
        JobStatus::Paused => "paused",
        JobStatus::Succeeded => "succeeded",
        JobStatus::Failed => "failed",
        JobStatus::Cancelled => "cancelled",
    }
}

/// What a client would have asked for to get a job that was submitted in another way.
fn described(row: &JobRow, training: &Training) -> Value {
    let grader = row.resolved.common.verifier.as_ref().map(|verifier| verifier.resolved());
    let method = match training.objective.name() {
        "sft" => json!({"type": "supervised", "supervised": {}}),
        "grpo" => json!({"type": "reinforcement", "reinforcement": {"grader": grader}}),
        name => json!({"type": name, name: training.objective.resolved()}),
    };
    json!({
        "training_file": training.rows.to_string(),
        "validation_file": training.held_out.map(|rows| rows.to_string()),
        "suffix": row.attributes.name,
        "n_epochs": "auto",
        "method": method,
    })
}
