//! `POST /v1/rollout-sets`

use axum::http::HeaderMap;
use axum::response::Response;

use super::RolloutSet;
use super::resolve::resolve;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::JsonBody;
use crate::api::idempotency;
use crate::clock;
use crate::store::{IdempotencyKey, NewJob, Store, StoreError, Submitted};

/// Make a rollout set
///
/// Puts a job into the queue that samples completions, scores them and trains nothing. The set is `pending` until that
/// job has filled it; follow the job to see how far it is. With an `Idempotency-Key` header the same request can be
/// repeated for 24 hours without making a second set.
#[utoipa::path(
    post,
    path = "/v1/rollout-sets",
    tag = "rollouts",
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes the request safe to repeat")),
    request_body(content = Object, description = "What to sample", content_type = "application/json"),
    responses(
        (status = 201, description = "Queued", body = RolloutSet),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The spec is invalid; `errors` names the fields; or the key was used with another body", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_rollout_set(
    Access(app): Access,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, Problem> {
    let key = idempotency::key(&app, &headers, &body)?;
    submit(&app.store, key, async || resolve(&app, body).await).await
}

/// Puts the job of a new set into the queue and answers with the set. The job is only made when no request with the same
/// key has made one.
pub(super) async fn submit(
    store: &Store,
    key: Option<IdempotencyKey>,
    make: impl AsyncFnOnce() -> Result<NewJob, Problem>,
) -> Result<Response, Problem> {
    let submitted = match store.submitted_before(key.as_ref(), clock::now()).await? {
        Some(job) => Submitted { job, replayed: true },
        None => store.submit_job(make().await?, key, clock::now()).await?,
    };
    // An older job of this key is of the same kind, because no body is valid as a spec of both.
    let job = submitted.job.id;
    let id =
        submitted.job.rollout_set.ok_or(StoreError::NotFound { what: "rollout set of job", id: job.to_string() })?;
    let row = store.rollout_set(id).await?;
    Ok(idempotency::created(RolloutSet::from(row), submitted.replayed))
}
