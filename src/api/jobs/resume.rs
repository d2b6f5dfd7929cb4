//! `POST /v1/jobs/{id}/resume`

use axum::Json;

use super::{Job, one_as_read};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::clock;
use crate::job::JobId;

/// Resume a job
///
/// One that is paused, has failed or was cancelled is `queued` again and goes on from its newest training checkpoint, or
/// from its begin when it has none, to the same bits as if it had never stopped. One that waits for space on the disk is
/// tried at once.
#[utoipa::path(
    post,
    path = "/v1/jobs/{id}/resume",
    tag = "jobs",
    params(("id" = String, Path, description = "The job")),
    responses(
        (status = 200, body = Job),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The job is still being saved (`job_pausing`), is under way or has succeeded (`job_not_paused`), has no budget left (`budget_exhausted`), or needs what was deleted after its end (`input_deleted`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn resume_job(Access(app): Access, Id(id): Id<JobId>) -> Result<Json<Job>, Problem> {
    let row = app.store.resume_job(id, clock::now()).await?;
    Ok(Json(one_as_read(&app.store, row).await?))
}
