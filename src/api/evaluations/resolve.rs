//! From a submitted spec to a job that evaluates.

use serde_json::Value;

use crate::api::error::Problem;
use crate::api::{resolve, resources};
use crate::dataset::{self, Split};
use crate::job::evaluation::EvaluationSplit;
use crate::job::memory;
use crate::job::{EvaluationSpec, FieldError, JobId, JobKind};
use crate::store::{NewJob, Store};

/// Checks a spec, fills in its defaults and pins its references to immutable things.
pub async fn resolve(store: &Store, submitted: Value) -> Result<NewJob, Problem> {
    let mut spec = EvaluationSpec::parse(&submitted).map_err(Problem::invalid)?;
    let mut errors = Vec::new();
    let mut verifier = Some(spec.verifier.take());
    errors.extend(resolve::verifier(store, &mut verifier, true).await?);
    let model = resolve::model(store, &spec.model, spec.seed, ("/model", "unknown_model")).await?;
    let model = model.map_err(|error| errors.push(error)).ok();
    errors.extend(pin_rows(store, &mut spec, verifier.as_ref()).await?);
    let (Some(model), Some(verifier), []) = (model, verifier, errors.as_slice()) else {
        return Err(Problem::invalid(errors));
    };
    spec.verifier = verifier;
    let shape = resources::shape(&model.files).await?.map_err(|error| Problem::invalid(vec![error]))?;
    let need = memory::of_sampling(&shape, &spec.sampling);
    errors.extend(resources::check(store, spec.resources.devices, &need).await?);
    if !errors.is_empty() {
        return Err(Problem::invalid(errors));
    }
    let resolved = serde_json::to_value(&spec).map_err(|e| Problem::bad_request("invalid_json", e.to_string()))?;
    Ok(NewJob {
        id: JobId::generate(),
        kind: JobKind::Evaluation,
        name: spec.name,
        priority: spec.priority,
        objective: String::new(),
        spec: submitted,
        spec_digest: resolve::essential_digest(&resolved),
        spec_resolved: resolved,
        steps: 0,
        devices: spec.resources.devices,
        memory_bytes: need.total(),
        rollout_set: None,
    })
}

/// Pins the rows, which need an answer each where the verifier compares with it, and the part of a built-in.
async fn pin_rows(
    store: &Store,
    spec: &mut EvaluationSpec,
    verifier: Option<&Value>,
) -> Result<Vec<FieldError>, Problem> {
    if dataset::builtin(&spec.dataset, Split::Eval).is_some() {
        spec.split.get_or_insert(EvaluationSplit::Eval);
        return Ok(Vec::new());
    }
    let mut errors = Vec::new();
    if spec.split.is_some() {
        let detail = "only built-in data sets have parts; name the held-out data set as `dataset`, and leave this out";
        errors.push(FieldError::new("/split", "unknown_field", detail));
    }
    match resolve::scored_rows(store, &spec.dataset, verifier, "/dataset").await? {
        Ok(version) => spec.dataset = version.to_string(),
        Err(error) => errors.push(error),
    }
    Ok(errors)
}
