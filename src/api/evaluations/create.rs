//! `POST /v1/evaluations`

use axum::http::HeaderMap;
use axum::response::Response;

use super::Evaluation;
use super::resolve::resolve;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::JsonBody;
use crate::api::idempotency;
use crate::clock;
use crate::job::EvaluationId;
use crate::store::Submitted;

/// Evaluate a model
///
/// Puts a job into the queue that samples completions for held-out rows, scores them and trains nothing. It ends with
/// pass@k and its intervals, and keeps what became of every prompt, so that two evaluations of the same rows can be
/// compared. With an `Idempotency-Key` header the same request can be repeated for 24 hours without making a second
/// evaluation.
#[utoipa::path(
    post,
    path = "/v1/evaluations",
    tag = "evaluations",
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes the request safe to repeat")),
    request_body(content = Object, description = "What to measure", content_type = "application/json"),
    responses(
        (status = 201, description = "Queued", body = Evaluation),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The spec is invalid; `errors` names the fields; or the key was used with another body", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_evaluation(
    Access(app): Access,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, Problem> {
    let key = idempotency::key(&app, &headers, &body)?;
    let submitted = match app.store.submitted_before(key.as_ref(), clock::now()).await? {
        Some(job) => Submitted { job, replayed: true },
        None => app.store.submit_job(resolve(&app, body).await?, key, clock::now()).await?,
    };
    // An older job of this key is of the same kind, because no body is valid as a spec of both.
    let row = app.store.evaluation(EvaluationId::of_job(submitted.job.id)).await?;
    Ok(idempotency::created(Evaluation::from(row), submitted.replayed))
}
