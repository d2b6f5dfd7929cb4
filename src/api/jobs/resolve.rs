//! From a submitted spec to a job that can run: everything is checked that can be checked before a device is used.

use serde_json::Value;

use crate::api::error::Problem;
use crate::dataset::{self, Split};
use crate::job::{
    CheckpointId, CheckpointKind, DatasetId, DatasetVersionId, FieldError, JobId, JobKind, JobSpec, ModelId,
    VerifierId, digest,
};
use crate::modelfile::builtin::Builtin;
use crate::objective::{self, Needs};
use crate::store::{DatasetVersionRow, NewJob, Store, StoreError};
use crate::verifier;

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
    errors.extend(resolve_verifier(store, &mut spec, needs).await?);
    errors.extend(check_model(store, &spec.model).await?);
    errors.extend(resolve_datasets(store, &mut spec, needs).await?);
    let (Some(objective), []) = (objective, errors.as_slice()) else {
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
        spec_digest: essential_digest(&resolved),
        spec_resolved: resolved,
        steps: spec.train.steps,
        rollout_set: None,
    })
}

/// What two jobs with the same digest have in common is everything that decides their result.
fn essential_digest(resolved: &Value) -> String {
    let mut essential = resolved.clone();
    if let Some(object) = essential.as_object_mut() {
        for free in ["name", "priority", "metadata"] {
            object.shift_remove(free);
        }
    }
    digest::of_json(&essential)
}

/// A missing row is the client's mistake at `pointer`; any other failure is not.
fn found<T>(result: Result<T, StoreError>, pointer: &str) -> Result<Result<T, FieldError>, Problem> {
    match result {
        Ok(row) => Ok(Ok(row)),
        Err(error @ StoreError::NotFound { .. }) => Ok(Err(FieldError::new(pointer, "not_found", error.to_string()))),
        Err(error) => Err(error.into()),
    }
}

async fn resolve_verifier(store: &Store, spec: &mut JobSpec, needs: Needs) -> Result<Vec<FieldError>, Problem> {
    let config = match &spec.verifier {
        None if needs.verifier => {
            let detail = "the objective learns from rewards; add a verifier such as {\"type\": \"numeric\"}";
            return Ok(vec![FieldError::new("/verifier", "missing_field", detail)]);
        }
        None => return Ok(Vec::new()),
        Some(Value::String(id)) => {
            let Ok(id) = id.parse::<VerifierId>() else {
                let detail = format!("`{id}` is no verifier id (vf_...); an inline verifier is an object");
                return Ok(vec![FieldError::new("/verifier", "not_found", detail)]);
            };
            match found(store.verifier(id).await, "/verifier")? {
                Ok(row) => row.config,
                Err(error) => return Ok(vec![error]),
            }
        }
        Some(inline) => inline.clone(),
    };
    match verifier::Config::parse(&config, "/verifier") {
        Ok(config) => {
            spec.verifier = Some(config.resolved());
            Ok(Vec::new())
        }
        Err(errors) => Ok(errors),
    }
}

async fn check_model(store: &Store, name: &str) -> Result<Vec<FieldError>, Problem> {
    let wrong = |detail: String| Ok(vec![FieldError::new("/model", "unknown_model", detail)]);
    if Builtin::find(name).is_some() {
        return Ok(Vec::new());
    }
    if let Ok(id) = name.parse::<ModelId>() {
        return match found(store.model(id).await, "/model")? {
            Ok(_) => Ok(Vec::new()),
            Err(error) => wrong(error.detail),
        };
    }
    if let Ok(id) = name.parse::<CheckpointId>() {
        return match found(store.checkpoint(id).await, "/model")? {
            Ok(row) if row.kind == CheckpointKind::Inference => Ok(Vec::new()),
            Ok(_) => wrong(format!("`{name}` is a training checkpoint; only inference checkpoints are models")),
            Err(error) => wrong(error.detail),
        };
    }
    wrong(format!(
        "`{name}` is no model; use `mdl_...` (see GET /v1/models; POST /v1/models imports one), an inference \
         checkpoint `ckpt_...`, or `builtin:arith-tiny`"
    ))
}

async fn resolve_datasets(store: &Store, spec: &mut JobSpec, needs: Needs) -> Result<Vec<FieldError>, Problem> {
    let mut errors = Vec::new();
    let train = find_dataset(store, &spec.dataset.train, Split::Train, "/dataset/train").await?;
    match train {
        Ok(Found::Builtin) => {
            // A built-in brings its held-out split along.
            spec.dataset.eval.get_or_insert_with(|| spec.dataset.train.clone());
        }
        Ok(Found::Version(version)) => {
            if needs_answer(spec) && version.answers < version.rows {
                let detail = format!(
                    "only {} of {} rows have an answer, which the verifier compares with; name the column with \
                     `answer_column` when uploading, or in the verifier",
                    version.answers, version.rows
                );
                errors.push(FieldError::new("/dataset/train", "row_missing_column", detail));
            }
            if needs.completions && version.completions < version.rows {
                let detail = format!(
                    "only {} of {} rows have a completion, which this objective learns from",
                    version.completions, version.rows
                );
                errors.push(FieldError::new("/dataset/train", "row_missing_column", detail));
            }
            spec.dataset.train = version.id.to_string();
        }
        Err(error) => errors.push(error),
    }
    if let Some(name) = spec.dataset.eval.clone() {
        match find_dataset(store, &name, Split::Eval, "/dataset/eval").await? {
            Ok(Found::Builtin) => {}
            Ok(Found::Version(version)) => spec.dataset.eval = Some(version.id.to_string()),
            Err(error) => errors.push(error),
        }
    }
    Ok(errors)
}

/// Whether the (resolved) verifier compares completions with the data set's answer column.
fn needs_answer(spec: &JobSpec) -> bool {
    let config = spec.verifier.as_ref().and_then(|config| verifier::Config::parse(config, "/verifier").ok());
    config.is_some_and(|config| config.needs_answer())
}

enum Found {
    Builtin,
    Version(Box<DatasetVersionRow>),
}

async fn find_dataset(
    store: &Store,
    name: &str,
    split: Split,
    pointer: &str,
) -> Result<Result<Found, FieldError>, Problem> {
    if dataset::builtin(name, split).is_some() {
        return Ok(Ok(Found::Builtin));
    }
    if let Ok(id) = name.parse::<DatasetId>() {
        let row = found(store.dataset(id).await, pointer)?;
        return Ok(row.map(|dataset| Found::Version(Box::new(dataset.latest))));
    }
    if let Ok(id) = name.parse::<DatasetVersionId>() {
        let row = found(store.dataset_version(id).await, pointer)?;
        return Ok(row.map(|version| Found::Version(Box::new(version))));
    }
    Ok(Err(FieldError::new(
        pointer,
        "unknown_dataset",
        format!(
            "`{name}` is no data set; use `ds_...` or `dsv_...` (POST /v1/datasets uploads one), or `builtin:arithmetic`"
        ),
    )))
}
