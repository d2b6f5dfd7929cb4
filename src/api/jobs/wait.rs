//! `GET /v1/jobs/{id}/wait`

use std::time::Duration;

use axum::Json;
use serde::Deserialize;
use tokio::time::Instant;
use utoipa::IntoParams;

use super::{Job, one_as_read};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, Params};
use crate::job::JobId;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct WaitParams {
    /// Seconds to wait at most, 0 to 300.
    #[serde(default = "default_timeout")]
    #[param(minimum = 0, maximum = 300)]
    timeout: u64,
}

fn default_timeout() -> u64 {
    60
}

/// Wait for a job to finish
///
/// Returns the job as soon as it is finished or paused, or as it stands when the time is up; look at `status`.
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}/wait",
    tag = "jobs",
    params(("id" = String, Path, description = "The job"), WaitParams),
    responses(
        (status = 200, body = Job),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn wait_for_job(
    Access(app): Access,
    Id(id): Id<JobId>,
    Params(params): Params<WaitParams>,
) -> Result<Json<Job>, Problem> {
    let deadline = Instant::now() + Duration::from_secs(params.timeout);
    let mut shutdown = app.shutdown.clone();
    let mut follower = app.feed.follow(Some(id));
    loop {
        let job = app.store.job(id).await?;
        if job.status.is_at_rest() || Instant::now() >= deadline || *shutdown.borrow() {
            return Ok(Json(one_as_read(&app.store, job).await?));
        }
        tokio::select! {
            () = follower.wait_until(deadline) => {}
            _ = shutdown.changed() => {}
        }
    }
}
