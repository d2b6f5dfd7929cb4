//! `POST /v1/jobs`

use axum::Json;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;

use super::Job;
use super::preflight::{DryRun, Preflight, preflight};
use super::resolve::resolve;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, Params};
use crate::api::idempotency;
use crate::api::imports::Pull;
use crate::clock;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CreateJob {
    /// Make nothing, and answer with what would be made: `validate` checks all that a submission checks, `preflight`
    /// also makes prompts of the first 1000 rows of each data set and says what the job will need.
    #[param(inline)]
    dry_run: Option<DryRun>,
    /// Where a job of this project has succeeded whose resolved spec is the same (model, data, verifier, objective, every
    /// default and the seed) and that this version of the program has done, answer with that one, and make none.
    reuse: Option<bool>,
}

/// Submit a job
///
/// Checks the spec, fills in defaults and puts the job into the queue. With an `Idempotency-Key` header the same
/// request can be repeated for 24 hours without making a second job. With `dry_run` nothing is made. An answer that a job of
/// before gives has the header `Idempotent-Replayed`.
#[utoipa::path(
    post,
    path = "/v1/jobs",
    tag = "jobs",
    params(
        CreateJob,
        ("Idempotency-Key" = Option<String>, Header, description = "Makes the request safe to repeat"),
    ),
    request_body(content = Object, description = "The job spec", content_type = "application/json"),
    responses(
        (status = 200, description = "The answer to a dry run", body = Preflight),
        (status = 201, description = "Queued", body = Job),
        (status = 400, description = "Not JSON, or a parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The spec is invalid; `errors` names the fields; or the key was used with another body", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_job(
    Access(app): Access,
    Params(params): Params<CreateJob>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, Problem> {
    let key = idempotency::key(&app, &headers, &body)?;
    if params.dry_run.is_none()
        && let Some(job) = app.store.submitted_before(key.as_ref(), clock::now()).await?
    {
        return Ok(idempotency::created(Job::from(job), true));
    }
    let pull = if params.dry_run.is_some() { Pull::Describe } else { Pull::Begin };
    let resolved = resolve(&app, pull, body).await?;
    if let Some(dry_run) = params.dry_run {
        return Ok(Json(preflight(&app.store, resolved, dry_run).await?).into_response());
    }
    let job = resolved.into_job();
    if params.reuse == Some(true)
        && let Some(done) = app.store.done_before(&job.spec_digest, env!("ANNEAL_BUILD")).await?
    {
        return Ok(idempotency::created(Job::from(app.store.job(done).await?), true));
    }
    let submitted = app.store.submit_job(job, key, clock::now()).await?;
    Ok(idempotency::created(Job::from(submitted.job), submitted.replayed))
}
