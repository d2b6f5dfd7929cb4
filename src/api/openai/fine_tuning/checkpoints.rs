//! `GET /v1/fine_tuning/jobs/{id}/checkpoints`

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

use super::training_job;
use crate::api::App;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, List, PageParams, Params};
use crate::job::{CheckpointId, JobId};
use crate::store::{Artifact, MetricQuery};

/// A model that a job made.
#[derive(Debug, Serialize, ToSchema)]
pub struct FineTuningCheckpoint {
    #[schema(example = "ckpt_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    id: String,
    /// Always `fine_tuning.job.checkpoint`.
    object: &'static str,
    /// Unix seconds.
    created_at: i64,
    /// The same as `id`: a model for jobs and for completions.
    fine_tuned_model_checkpoint: String,
    fine_tuning_job_id: String,
    /// Optimizer steps taken.
    step_number: u64,
    metrics: CheckpointMetrics,
}

/// What is known of a checkpoint; `GET /v1/jobs/{id}/metrics` has everything.
#[derive(Debug, Serialize, ToSchema)]
pub struct CheckpointMetrics {
    step: u64,
    /// Of the last step.
    train_loss: Option<f64>,
}

/// List a fine-tuning job's models
///
/// Those that can be used. What a job keeps to resume from is at `GET /v1/jobs/{id}/checkpoints`.
#[utoipa::path(
    get,
    path = "/v1/fine_tuning/jobs/{id}/checkpoints",
    tag = "fine-tuning",
    params(("id" = String, Path, description = "The job"), PageParams),
    responses(
        (status = 200, body = List<FineTuningCheckpoint>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such job, or one that does not train", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_fine_tuning_checkpoints(
    Access(app): Access,
    Id(id): Id<JobId>,
    Params(page): Params<PageParams>,
) -> Result<Json<List<FineTuningCheckpoint>>, Problem> {
    training_job(&app, id).await?;
    let mut checkpoints = Vec::new();
    for checkpoint in app.store.finished_models(Some(id), &page.page()).await? {
        checkpoints.push(describe(&app, checkpoint).await?);
    }
    Ok(Json(List::new(checkpoints, page.limit, |checkpoint| checkpoint.id.clone())))
}

async fn describe(app: &App, id: CheckpointId) -> Result<FineTuningCheckpoint, Problem> {
    let Artifact { manifest, completed_at, .. } = app.store.checkpoint(id).await?.artifact;
    let (job, step) = (manifest.job, manifest.step);
    let names = [String::from("loss")];
    let query = MetricQuery { names: &names, steps: step..=step, points: 2 };
    let loss = app.store.metrics(job, &query).await?;
    Ok(FineTuningCheckpoint {
        id: id.to_string(),
        object: "fine_tuning.job.checkpoint",
        created_at: completed_at.unix_seconds(),
        fine_tuned_model_checkpoint: id.to_string(),
        fine_tuning_job_id: job.to_string(),
        step_number: step,
        metrics: CheckpointMetrics { step, train_loss: loss.first().and_then(|series| series.values.first().copied()) },
    })
}
