//! From a submitted spec to a job that fills a rollout set.

use serde_json::Value;

use crate::api::error::Problem;
use crate::api::{resolve, resources};
use crate::job::memory;
use crate::job::{FieldError, JobId, JobKind, RolloutSetId, RolloutSetSpec};
use crate::store::{NewJob, NewRolloutSet, Store};

/// Checks a spec, fills in its defaults and pins its references to immutable things.
pub async fn resolve(store: &Store, submitted: Value) -> Result<NewJob, Problem> {
    let mut spec = RolloutSetSpec::parse(&submitted).map_err(Problem::invalid)?;
    let mut errors = Vec::new();
    if spec.dataset.eval.is_some() {
        let detail = "a rollout set evaluates nothing; leave it out, or name these rows as `train` to sample for them";
        errors.push(FieldError::new("/dataset/eval", "unknown_field", detail));
    }
    if spec.regrade_of.is_some() {
        let detail = "POST /v1/rollout-sets/{id}/regrade scores a set again; leave it out to sample a new one";
        errors.push(FieldError::new("/regrade_of", "unknown_field", detail));
    }
    errors.extend(resolve::verifier(store, &mut spec.verifier, false).await?);
    let model = match resolve::model(store, &spec.model, spec.seed, ("/model", "unknown_model")).await? {
        Ok(model) => Some(model),
        Err(error) => {
            errors.push(error);
            None
        }
    };
    errors.extend(resolve::training_rows(store, &mut spec.dataset, spec.verifier.as_ref(), false).await?);
    let (Some(model), []) = (model, errors.as_slice()) else {
        return Err(Problem::invalid(errors));
    };
    let shape = resources::shape(&model.files).await?.map_err(|error| Problem::invalid(vec![error]))?;
    let need = memory::of_sampling(&shape, &spec.sampling);
    errors.extend(resources::check(store, spec.resources.devices, &need).await?);
    if !errors.is_empty() {
        return Err(Problem::invalid(errors));
    }
    let model = (model.digest, model.tokenizer_digest);
    into_job(spec, submitted, model, need.total())
}

/// The job that fills the set. `model` are the digests of weights and tokenizer.
pub(super) fn into_job(
    spec: RolloutSetSpec,
    submitted: Value,
    model: (String, String),
    memory_bytes: u64,
) -> Result<NewJob, Problem> {
    let resolved = serde_json::to_value(&spec).map_err(|e| Problem::bad_request("invalid_json", e.to_string()))?;
    Ok(NewJob {
        id: JobId::generate(),
        kind: JobKind::Rollouts,
        name: spec.name.clone(),
        priority: spec.priority,
        objective: String::new(),
        spec: submitted,
        spec_digest: resolve::essential_digest(&resolved),
        steps: 0,
        devices: spec.resources.devices,
        memory_bytes,
        rollout_set: Some(NewRolloutSet {
            id: RolloutSetId::generate(),
            name: spec.name,
            model: spec.model,
            model_digest: model.0,
            tokenizer_digest: model.1,
            spec: Some(resolved.clone()),
            metadata: spec.metadata,
        }),
        spec_resolved: resolved,
    })
}
