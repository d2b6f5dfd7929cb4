//! `GET /v1/jobs/{id}/attempts`

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, List, PageParams, Params};
use crate::job::{JobId, Timestamp};
use crate::store::AttemptRow;

/// One run of a worker at a job.
#[derive(Debug, Serialize, ToSchema)]
pub struct Attempt {
    /// The job and the number; for `after`.
    #[schema(example = "job_0198f6c2a7d47e0c8f6f0d9f0e6b5a31/1")]
    id: String,
    /// Always `attempt`.
    object: &'static str,
    job: String,
    /// 1, 2, 3, ... within the job.
    number: u32,
    /// The worker process that led it.
    worker: String,
    /// The devices that it held, the leading one first.
    #[schema(example = json!(["cuda:0"]))]
    devices: Vec<String>,
    /// Unix seconds.
    started_at: i64,
    /// Unix seconds; null while it runs.
    ended_at: Option<i64>,
    /// `succeeded`, `failed`, `cancelled`, `paused`, `drained` (its worker had to go) or `lost` (its worker or device
    /// died); null while it runs.
    outcome: Option<String>,
    /// Optimizer steps that had been taken when it began.
    first_step: u64,
    /// Seconds times devices; while it runs, as far as its worker has told.
    device_seconds: f64,
}

impl Attempt {
    fn new(job: JobId, row: AttemptRow) -> Self {
        Self {
            id: format!("{job}/{}", row.number),
            object: "attempt",
            job: job.to_string(),
            number: row.number,
            worker: row.worker.to_string(),
            device_seconds: (row.held_milliseconds * row.devices.len().max(1) as i64) as f64 / 1000.0,
            devices: row.devices,
            started_at: row.started_at.unix_seconds(),
            ended_at: row.ended_at.map(Timestamp::unix_seconds),
            outcome: row.outcome,
            first_step: row.first_step,
        }
    }
}

/// List a job's attempts
///
/// A worker begins another attempt when the one before was lost, drained or paused; it goes on from the last checkpoint.
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}/attempts",
    tag = "jobs",
    params(("id" = String, Path, description = "The job"), PageParams),
    responses(
        (status = 200, body = List<Attempt>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn job_attempts(
    Access(app): Access,
    Id(id): Id<JobId>,
    Params(page): Params<PageParams>,
) -> Result<Json<List<Attempt>>, Problem> {
    app.store.job(id).await?;
    let after = page.after.as_deref().map(|after| after.rsplit('/').next().unwrap_or(after).parse()).transpose();
    let after = after.map_err(|_| Problem::bad_request("invalid_parameter", "`after` is the id of an attempt"))?;
    let rows = app.store.attempts(id, after, &page.page()).await?;
    let attempts = rows.into_iter().map(|row| Attempt::new(id, row));
    Ok(Json(List::new(attempts, page.limit, |attempt| attempt.id.clone())))
}
