//! From a submitted spec to a job that can run: everything is checked that can be checked before a device is used.

use serde_json::Value;

use crate::api::error::Problem;
use crate::api::resolve;
use crate::dataset::{self, Split};
use crate::job::{FieldError, JobId, JobKind, JobSpec};
use crate::objective::{self, Needs};
use crate::store::{NewJob, Store};

/// Checks a spec, fills in its defaults and pins its references to immutable things.
pub async fn resolve(store: &Store, submitted: Value) -> Result<NewJob, Problem> {
    let mut spec = JobSpec::parse(&submitted).map_err(Problem::invalid)?;
    let mut errors = Vec::new();
    let objective = match objective::Config::parse(&spec.objective, "/objective") {
        Ok(config) => {
            errors.extend(objective::check_plan(&config, &spec.train).err().unwrap_or_default());
            Some(config)
        }
        Err(wrong) => {
            errors.extend(wrong);
            None
        }
    };
    let needs = objective.as_ref().map(|config| config.build().needs()).unwrap_or_default();
    errors.extend(resolve::verifier(store, &mut spec.verifier, needs.verifier).await?);
    let model = resolve::model(store, &spec.model, spec.seed, ("/model", "unknown_model")).await?;
    let model = taken(model, &mut errors);
    errors.extend(resolve_datasets(store, &mut spec, needs).await?);
    let (Some(objective), Some(_), []) = (objective, &model, errors.as_slice()) else {
        return Err(Problem::invalid(errors));
    };
    spec.objective = objective.resolved();
    let resolved = serde_json::to_value(&spec).map_err(|e| Problem::bad_request("invalid_json", e.to_string()))?;
    Ok(NewJob {
        id: JobId::generate(),
        kind: JobKind::Train,
        name: spec.name,
        priority: spec.priority,
        objective: objective.name().to_owned(),
        spec: submitted,
        spec_digest: resolve::essential_digest(&resolved),
        spec_resolved: resolved,
        steps: spec.train.steps,
        rollout_set: None,
    })
}

/// What was found; an error goes to the others.
fn taken<T>(result: Result<T, FieldError>, errors: &mut Vec<FieldError>) -> Option<T> {
    result.map_err(|error| errors.push(error)).ok()
}

async fn resolve_datasets(store: &Store, spec: &mut JobSpec, needs: Needs) -> Result<Vec<FieldError>, Problem> {
    if dataset::builtin(&spec.dataset.train, Split::Train).is_some() {
        // A built-in brings its held-out split along.
        spec.dataset.eval.get_or_insert_with(|| spec.dataset.train.clone());
    }
    let verifier = spec.verifier.as_ref();
    let mut errors = resolve::training_rows(store, &mut spec.dataset, verifier, needs.completions).await?;
    errors.extend(resolve::held_out_rows(store, &mut spec.dataset).await?);
    Ok(errors)
}
