//! `POST /v1/jobs/{id}/cancel`

use axum::Json;

use super::Job;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::clock;
use crate::job::JobId;

/// Cancel a job
///
/// A queued job is cancelled at once. A running one becomes `cancelling` and ends within one micro-batch or sampled
/// token; its checkpoints stay.
#[utoipa::path(
    post,
    path = "/v1/jobs/{id}/cancel",
    tag = "jobs",
    params(("id" = String, Path, description = "The job")),
    responses(
        (status = 200, body = Job),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The job is finished", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn cancel_job(Access(app): Access, Id(id): Id<JobId>) -> Result<Json<Job>, Problem> {
    Ok(Json(app.store.cancel_job(id, clock::now()).await?.into()))
}
