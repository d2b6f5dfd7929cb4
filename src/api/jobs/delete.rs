//! `DELETE /v1/jobs/{id}`

use axum::Json;

use crate::api::access::Access;
use crate::api::deleted::Deleted;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::JobId;

/// Delete a job
///
/// Removes a finished or paused job with its events, metrics, attempts, checkpoints and rollout set, and their files.
#[utoipa::path(
    delete,
    path = "/v1/jobs/{id}",
    tag = "jobs",
    params(("id" = String, Path, description = "The job")),
    responses(
        (status = 200, body = Deleted),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The job is not finished (`job_not_finished`), or another one needs what it made (`in_use`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn delete_job(Access(app): Access, Id(id): Id<JobId>) -> Result<Json<Deleted>, Problem> {
    app.store.delete_job(id).await?;
    Ok(Json(Deleted::new(id, "job.deleted")))
}
