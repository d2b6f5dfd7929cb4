//! `POST /v1/rollout-sets/{id}/regrade`

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::create::submit;
use super::resolve::filling_a_set;
use super::{RolloutSet, content};
use crate::api::App;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, read};
use crate::api::idempotency;
use crate::api::resolve::{self, collect};
use crate::job::metadata::check_metadata;
use crate::job::spec::ResourceSpec;
use crate::job::{RolloutSetId, RolloutSummary};
use crate::spec::{Attributes, Common, Regrading, Resolved, Work};
use crate::store::{NewJob, StoreError};
use crate::telemetry;

/// How to score a set again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Regrade {
    /// A verifier or the id of one, as in a job.
    #[schema(value_type = Object, example = json!({"type": "numeric"}))]
    verifier: Value,
    /// Of the new set.
    #[schema(max_length = 200)]
    name: Option<String>,
    /// Of the job that scores.
    #[serde(default)]
    #[schema(default = 0)]
    priority: i32,
    /// Of the new set.
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

/// Score a rollout set again
///
/// Makes a new set of the same completions with the rewards of another verifier, by a job that samples nothing; follow
/// that job to see how many rewards changed. Completions that the verifier cannot judge are left out. The old set stays
/// as it is. With an `Idempotency-Key` header the same request can be repeated for 24 hours without making a second set.
#[utoipa::path(
    post,
    path = "/v1/rollout-sets/{id}/regrade",
    tag = "rollouts",
    params(
        ("id" = String, Path, description = "The rollout set"),
        ("Idempotency-Key" = Option<String>, Header, description = "Makes the request safe to repeat"),
    ),
    request_body = Regrade,
    responses(
        (status = 201, description = "Queued", body = RolloutSet),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such rollout set", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The set is not ready", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid, `errors` names it; or the key was used with another body", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn regrade_rollout_set(
    Access(app): Access,
    Id(id): Id<RolloutSetId>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, Problem> {
    let key = idempotency::key(&app, &headers, &json!({"regrade": id, "body": body}))?;
    submit(&app.store, key, async || job(&app, id, body).await).await
}

/// The job that scores the set again.
async fn job(app: &App, id: RolloutSetId, body: Value) -> Result<NewJob, Problem> {
    let store = &app.store;
    let Regrade { verifier, name, priority, metadata } = read(&body)?;
    let set = store.rollout_set(id).await?;
    let sampled_by = store.job(set.job).await?.resolved;
    let (model_digest, tokenizer_digest) = (set.model_digest.clone(), set.tokenizer_digest.clone());
    let regrading = regrading(id, &sampled_by.work, &content(set)?.summary)?;
    let mut errors = check_metadata(&metadata).err().unwrap_or_default();
    let scoring = collect(resolve::verifier(app, Some(&verifier), true).await?, &mut errors).unwrap_or_default();
    errors.extend(resolve::environment(app, &sampled_by.common.sampling, &scoring));
    let rows = regrading.rows.to_string();
    collect(resolve::training_rows(store, &rows, scoring.config.as_ref(), false).await?, &mut errors);
    if !errors.is_empty() {
        return Err(Problem::invalid(errors));
    }
    let attributes = Attributes { name, priority, metadata, budget: None };
    let common = Common { verifier: scoring.config, resources: ResourceSpec::default(), ..sampled_by.common.clone() };
    let resolved = Resolved { common, work: Work::Regrade(regrading) };
    let job = NewJob::of(body, attributes, resolved, 0).traced(telemetry::current()).with_verifier(scoring.stored);
    Ok(filling_a_set(job, model_digest, tokenizer_digest))
}

/// Scoring again what a job has sampled.
fn regrading(source: RolloutSetId, work: &Work, summary: &RolloutSummary) -> Result<Regrading, Problem> {
    match work {
        Work::Sample(sampling) => Ok(sampling.regrading(source)),
        Work::Regrade(regrading) => Ok(Regrading { source, ..regrading.clone() }),
        Work::Train(training) => {
            let most = summary.rollouts.div_ceil(summary.groups.max(1)).clamp(1, 1024);
            Ok(Regrading {
                source,
                rows: training.rows,
                group_size: u32::try_from(most).unwrap_or(1),
                prompts: summary.groups.max(1),
                precision: training.train.precision,
            })
        }
        Work::Evaluate(_) => Err(StoreError::NotFound { what: "rollout set", id: source.to_string() }.into()),
    }
}
