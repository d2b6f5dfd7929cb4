//! `POST /v1/rollout-sets/{id}/regrade`

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::create::submit;
use super::resolve::into_job;
use super::{RolloutSet, content};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody};
use crate::api::{idempotency, resolve};
use crate::job::spec::{DatasetSpec, ResourceSpec};
use crate::job::{JobSpec, RolloutSetId, RolloutSetSpec, RolloutSummary, field};
use crate::store::{NewJob, RolloutSetRow, Store};

/// How to score a set again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Regrade {
    /// A verifier or the id of one, as in a job.
    #[schema(value_type = Object, example = json!({"type": "numeric"}))]
    verifier: Value,
    /// Of the new set.
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
    let key = idempotency::key(&headers, &json!({"regrade": id, "body": body}))?;
    submit(&app.store, key, async || job(&app.store, id, body).await).await
}

/// The job that scores the set again.
async fn job(store: &Store, id: RolloutSetId, body: Value) -> Result<NewJob, Problem> {
    let Regrade { verifier, name, priority, metadata } =
        field::parse(&body, "").map_err(|error| Problem::invalid(vec![error]))?;
    let set = store.rollout_set(id).await?;
    let model = (set.model_digest.clone(), set.tokenizer_digest.clone());
    let spec = sampled_by(store, &set).await?;
    content(set)?;
    let verifier = Some(verifier);
    let regrade_of = Some(id.to_string());
    let resources = ResourceSpec::default();
    let mut spec = RolloutSetSpec { name, verifier, resources, priority, metadata, regrade_of, ..spec };
    let mut errors = resolve::verifier(store, &mut spec.verifier, true).await?;
    errors.extend(resolve::training_rows(store, &mut spec.dataset, spec.verifier.as_ref(), false).await?);
    let resolved = serde_json::to_value(&spec).map_err(|e| Problem::bad_request("invalid_json", e.to_string()))?;
    errors.extend(RolloutSetSpec::parse(&resolved).err().unwrap_or_default());
    if !errors.is_empty() {
        return Err(Problem::invalid(errors));
    }
    into_job(spec, body, model, 0)
}

/// How the set's completions were sampled.
async fn sampled_by(store: &Store, set: &RolloutSetRow) -> Result<RolloutSetSpec, Problem> {
    if let Some(spec) = &set.spec {
        return RolloutSetSpec::parse(spec).map_err(Problem::invalid);
    }
    let job = store.job(set.job).await?;
    let spec = JobSpec::parse(&job.spec_resolved).map_err(Problem::invalid)?;
    let summary = set.content.as_ref().map(|content| content.summary.clone()).unwrap_or_default();
    Ok(kept_by(spec, &summary))
}

/// The same for a set that a training job has kept.
fn kept_by(spec: JobSpec, summary: &RolloutSummary) -> RolloutSetSpec {
    let most = summary.rollouts.div_ceil(summary.groups.max(1)).clamp(1, 1024);
    RolloutSetSpec {
        name: None,
        model: spec.model,
        dataset: DatasetSpec { eval: None, ..spec.dataset },
        verifier: None,
        sampling: spec.sampling,
        group_size: u32::try_from(most).unwrap_or(1),
        prompts: summary.groups.max(1),
        precision: spec.train.precision,
        resources: ResourceSpec::default(),
        priority: 0,
        seed: spec.seed,
        metadata: BTreeMap::new(),
        regrade_of: None,
    }
}
