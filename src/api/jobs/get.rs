//! `GET /v1/jobs/{id}`

use axum::Json;

use super::Job;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::api::queue::Waiting;
use crate::clock;
use crate::job::JobId;

/// Get a job
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}",
    tag = "jobs",
    params(("id" = String, Path, description = "The job")),
    responses(
        (status = 200, body = Job),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_job(Access(app): Access, Id(id): Id<JobId>) -> Result<Json<Job>, Problem> {
    let mut job = Job::from(app.store.job(id).await?);
    job.waiting = app.store.waiting(id, clock::now()).await?.map(Waiting::from);
    Ok(Json(job))
}
