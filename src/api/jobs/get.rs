//! `GET /v1/jobs/{id}`

use axum::http::HeaderMap;
use axum::response::Response;

use super::{Job, one_as_read};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::JobId;

/// Get a job
///
/// The `ETag` changes with everything that the answer shows, so with every step of a running job.
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}",
    tag = "jobs",
    params(
        ("id" = String, Path, description = "The job"),
        ("If-None-Match" = Option<String>, Header, description = "An `ETag` that needs no second answer"),
    ),
    responses(
        (status = 200, body = Job, headers(("ETag" = String, description = "For `If-None-Match` and `If-Match`"))),
        (status = 304, description = "As it was under that `ETag`"),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_job(Access(app): Access, Id(id): Id<JobId>, headers: HeaderMap) -> Result<Response, Problem> {
    let path = format!("/v1/jobs/{id}");
    let answer =
        app.answers.get(&app.store, path, async || one_as_read(&app.store, app.store.job(id).await?).await?.tagged());
    Ok(answer.await?.respond(&headers))
}
