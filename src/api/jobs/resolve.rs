//! From a submitted spec to a job that can run: everything is checked that can be checked before a device is used.

use std::path::PathBuf;

use serde_json::Value;

use super::stored_rollouts;
use super::teacher::{self, Teacher};
use crate::api::error::Problem;
use crate::api::resolve::{self, Model};
use crate::api::resources;
use crate::dataset::{self, Split};
use crate::job::memory::{self, Beside, MemoryNeed, Shape};
use crate::job::{FieldError, JobId, JobKind, JobSpec, RolloutSetId};
use crate::objective::{self, Needs};
use crate::store::{NewJob, NewRolloutSet, Store};

/// A spec that can run, with every default filled in and every reference pinned, and what was found on the way.
#[derive(Debug)]
pub struct Resolved {
    pub submitted: Value,
    pub spec: JobSpec,
    pub objective: objective::Config,
    pub model: Model,
    /// Of the model.
    pub parameters: u64,
    /// What it needs on each of its devices.
    pub memory: MemoryNeed,
}

/// Checks a spec, fills in its defaults and pins its references to immutable things. `import_roots` are the folders
/// below which a teacher may lie.
pub async fn resolve(store: &Store, import_roots: &[PathBuf], submitted: Value) -> Result<Resolved, Problem> {
    let mut spec = JobSpec::parse(&submitted).map_err(Problem::invalid)?;
    let mut errors = Vec::new();
    let objective = match objective::Config::parse(&spec.objective, "/objective") {
        Ok(config) => {
            errors.extend(objective::check(&config, &spec).err().unwrap_or_default());
            Some(config)
        }
        Err(wrong) => {
            errors.extend(wrong);
            None
        }
    };
    let needs = objective.as_ref().map(|config| config.build(&spec.train).needs()).unwrap_or_default();
    // Stored completions have their rewards.
    let scores = needs.verifier && spec.rollouts.from.is_none();
    errors.extend(resolve::verifier(store, &mut spec.verifier, scores).await?);
    let model = resolve::model(store, &spec.model, spec.seed, ("/model", "unknown_model")).await?;
    let model = taken(model, &mut errors);
    errors.extend(resolve_datasets(store, &mut spec, needs).await?);
    errors.extend(unmeasured_gate(&spec));
    let mut teacher = None;
    if let (Some(objective), Some(model)) = (&objective, &model) {
        errors.extend(stored_rollouts::check(store, &spec, objective, model).await?);
        if let Some(name) = objective.teacher() {
            teacher = taken(teacher::check(store, import_roots, name, spec.seed, model).await?, &mut errors);
        }
    }
    let (Some(objective), Some(model), []) = (objective, model, errors.as_slice()) else {
        return Err(Problem::invalid(errors));
    };
    spec.objective = objective.resolved();
    if let Some(teacher) = &teacher {
        spec.objective["teacher"] = Value::from(teacher.name.as_str());
    }
    let shape = resources::shape(&model.files).await?.map_err(|error| Problem::invalid(vec![error]))?;
    let memory = memory_need(&shape, &spec, needs, teacher.as_ref());
    errors.extend(resources::check(store, spec.resources.devices, &memory).await?);
    if !errors.is_empty() {
        return Err(Problem::invalid(errors));
    }
    Ok(Resolved { submitted, spec, objective, model, parameters: shape.parameters, memory })
}

fn memory_need(shape: &Shape, spec: &JobSpec, needs: Needs, teacher: Option<&Teacher>) -> MemoryNeed {
    let reference = needs.reference || (spec.train.track_reference && !needs.completions);
    let copy = if reference { shape.parameters } else { 0 };
    let trains_on_fresh = !needs.completions && spec.rollouts.from.is_none();
    let beside = Beside {
        parameters: copy.saturating_add(teacher.map_or(0, |teacher| teacher.parameters)),
        teacher: teacher.is_some(),
        samples: trains_on_fresh || spec.dataset.eval.is_some(),
    };
    memory::of_training(shape, spec, beside)
}

impl Resolved {
    /// The resolved spec as JSON, with its digest.
    pub fn spec_resolved(&self) -> Result<(Value, String), Problem> {
        let resolved = serde_json::to_value(&self.spec);
        let resolved = resolved.map_err(|error| Problem::bad_request("invalid_json", error.to_string()))?;
        let digest = resolve::essential_digest(&resolved);
        Ok((resolved, digest))
    }

    /// The job to submit, with the rollout set that it fills if it keeps what it samples.
    pub fn into_job(self) -> Result<NewJob, Problem> {
        let (spec_resolved, spec_digest) = self.spec_resolved()?;
        let rollout_set = self.spec.rollouts.keep.then(|| NewRolloutSet {
            id: RolloutSetId::generate(),
            name: self.spec.name.clone(),
            model: self.spec.model.clone(),
            model_digest: self.model.digest.clone(),
            tokenizer_digest: self.model.tokenizer_digest.clone(),
            spec: None,
            metadata: self.spec.metadata.clone(),
        });
        Ok(NewJob {
            id: JobId::generate(),
            kind: JobKind::Train,
            name: self.spec.name,
            priority: self.spec.priority,
            objective: self.objective.name().to_owned(),
            spec: self.submitted,
            spec_resolved,
            spec_digest,
            steps: self.spec.train.steps,
            devices: self.spec.resources.devices,
            memory_bytes: self.memory.total(),
            rollout_set,
        })
    }
}

/// What was found; an error goes to the others.
fn taken<T>(result: Result<T, FieldError>, errors: &mut Vec<FieldError>) -> Option<T> {
    result.map_err(|error| errors.push(error)).ok()
}

/// A gate judges evaluations, so that there must be some.
fn unmeasured_gate(spec: &JobSpec) -> Option<FieldError> {
    let evaluated = spec.dataset.eval.is_some() && spec.verifier.is_some();
    let detail = "there is nothing to judge, for nothing is evaluated; add `dataset.eval` and a `verifier`";
    (spec.gate.is_some() && !evaluated).then(|| FieldError::new("/gate", "not_evaluated", detail))
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
