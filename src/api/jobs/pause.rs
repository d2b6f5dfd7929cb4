//! `POST /v1/jobs/{id}/pause`

use axum::Json;

use super::Job;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::clock;
use crate::job::JobId;

/// Pause a job
///
/// A queued job is `paused` at once. A running one becomes `pausing`: it is saved, gives its devices back and is
/// `paused` then, until it is resumed or cancelled. Pausing twice is the same as once.
#[utoipa::path(
    post,
    path = "/v1/jobs/{id}/pause",
    tag = "jobs",
    params(("id" = String, Path, description = "The job")),
    responses(
        (status = 200, body = Job),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The job is finished or about to be cancelled (`job_not_running`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn pause_job(Access(app): Access, Id(id): Id<JobId>) -> Result<Json<Job>, Problem> {
    Ok(Json(app.store.pause_job(id, clock::now()).await?.into()))
}
