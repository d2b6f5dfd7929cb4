//! `POST /v1/jobs`

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::Job;
use super::resolve::resolve;
use crate::api::App;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::JsonBody;
use crate::api::idempotency;
use crate::clock;

/// Submit a job
///
/// Checks the spec, fills in defaults and puts the job into the queue. With an `Idempotency-Key` header the same
/// request can be repeated for 24 hours without making a second job.
#[utoipa::path(
    post,
    path = "/v1/jobs",
    tag = "jobs",
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes the request safe to repeat")),
    request_body(content = Object, description = "The job spec", content_type = "application/json"),
    responses(
        (status = 201, description = "Queued", body = Job),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The spec is invalid; `errors` names the fields; or the key was used with another body", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_job(
    State(app): State<App>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, Problem> {
    let key = idempotency::key(&headers, &body)?;
    let new = resolve(&app.store, body).await?;
    let submitted = app.store.submit_job(new, key, clock::now()).await?;
    Ok(idempotency::created(Job::from(submitted.job), submitted.replayed))
}
