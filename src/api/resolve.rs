//! From the references in a submitted spec to what they stand for: verifier, model and data sets. Jobs and rollout
//! sets name them in the same way.

use std::path::PathBuf;

use serde_json::Value;

use super::error::Problem;
use crate::dataset::{self, Split};
use crate::job::spec::DatasetSpec;
use crate::job::{ArtifactKind, CheckpointId, DatasetId, DatasetVersionId, FieldError, ModelId, VerifierId, digest};
use crate::modelfile::builtin::Builtin;
use crate::modelfile::{self, Inspection, ModelFileError};
use crate::store::{CheckpointRow, DatasetVersionRow, Location, Store, StoreError};
use crate::verifier;

/// What two specs with the same digest have in common is everything that decides their result.
pub fn essential_digest(resolved: &Value) -> String {
    let mut essential = resolved.clone();
    if let Some(object) = essential.as_object_mut() {
        for free in ["name", "priority", "metadata", "budget"] {
            object.shift_remove(free);
        }
    }
    digest::of_json(&essential)
}

/// A missing row is the client's mistake at `pointer`; any other failure is not.
pub fn found<T>(result: Result<T, StoreError>, pointer: &str) -> Result<Result<T, FieldError>, Problem> {
    match result {
        Ok(row) => Ok(Ok(row)),
        Err(error @ StoreError::NotFound { .. }) => Ok(Err(FieldError::new(pointer, "not_found", error.to_string()))),
        Err(error) => Err(error.into()),
    }
}

/// Puts the checked configuration with all defaults in the place of a verifier or of its id. `needed` says that there
/// must be one.
pub async fn verifier(store: &Store, slot: &mut Option<Value>, needed: bool) -> Result<Vec<FieldError>, Problem> {
    let config = match slot {
        None if needed => {
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
            *slot = Some(config.resolved());
            Ok(Vec::new())
        }
        Err(errors) => Ok(errors),
    }
}

/// A model as specs refer to it.
#[derive(Clone, Debug)]
pub struct Model {
    /// Of the weights, `sha256:...`; equal digests are equal models.
    pub digest: String,
    /// Of `tokenizer.json`, `sha256:...`.
    pub tokenizer_digest: String,
    pub files: ModelFiles,
}

/// Where a model's files are.
#[derive(Clone, Debug)]
pub enum ModelFiles {
    Builtin(&'static Builtin),
    /// A directory or a GGUF file.
    Path(PathBuf),
}

impl ModelFiles {
    /// Reads configuration and tokenizer, and no tensors. Blocks.
    pub fn inspect(&self) -> Result<Inspection, ModelFileError> {
        match self {
            Self::Builtin(builtin) => builtin.inspect(),
            Self::Path(path) => modelfile::inspect(path),
        }
    }

    /// As [`inspect`](Self::inspect), without the tokenizer where it is a file of its own. Blocks.
    pub fn inspect_weights(&self) -> Result<Inspection, ModelFileError> {
        match self {
            Self::Builtin(builtin) => builtin.inspect(),
            Self::Path(path) => modelfile::inspect_weights(path),
        }
    }
}

/// Finds a model by the name that a spec gives it. `seed` is what a built-in without weights draws them from. An error
/// has the given pointer and code.
pub async fn model(
    store: &Store,
    name: &str,
    seed: u64,
    (pointer, code): (&str, &'static str),
) -> Result<Result<Model, FieldError>, Problem> {
    let wrong = |detail: String| Ok(Err(FieldError::new(pointer, code, detail)));
    let model = |weights: &str, tokenizer: &str, files| Model {
        digest: format!("sha256:{weights}"),
        tokenizer_digest: format!("sha256:{tokenizer}"),
        files,
    };
    if let Some(builtin) = Builtin::find(name) {
        let files = ModelFiles::Builtin(builtin);
        return Ok(Ok(model(&builtin.weights_sha256(seed), builtin.tokenizer_sha256(), files)));
    }
    if let Ok(id) = name.parse::<ModelId>() {
        return match found(store.model(id).await, pointer)? {
            Ok(row) => {
                let files = ModelFiles::Path(store.place().fetch(&Location::model(id)).await?);
                Ok(Ok(model(&row.weights_sha256, &row.tokenizer_sha256, files)))
            }
            Err(error) => wrong(error.detail),
        };
    }
    if let Ok(id) = name.parse::<CheckpointId>() {
        return match found(store.checkpoint(id).await, pointer)? {
            Ok(row) if row.artifact.manifest.kind == ArtifactKind::Inference => {
                let files = ModelFiles::Path(store.place().fetch(row.artifact.location()).await?);
                Ok(Ok(model(&sha256_of(&row, "model.safetensors")?, &sha256_of(&row, "tokenizer.json")?, files)))
            }
            Ok(_) => wrong(format!("`{name}` is a training checkpoint; only inference checkpoints are models")),
            Err(error) => wrong(error.detail),
        };
    }
    wrong(format!(
        "`{name}` is no model; use `mdl_...` (see GET /v1/models; POST /v1/models imports one), an inference \
         checkpoint `ckpt_...`, or `builtin:arith-tiny`"
    ))
}

/// The digest of a file that every inference checkpoint has.
fn sha256_of(row: &CheckpointRow, file: &str) -> Result<String, Problem> {
    let found = row.artifact.manifest.file(file).map(|file| file.sha256.clone());
    found.ok_or_else(|| {
        let detail = format!("the inference checkpoint {} lists no {file}", row.id);
        Problem::from(StoreError::Corrupt { what: "manifest", detail })
    })
}

/// Pins the rows to train on or to sample for. They need an answer each where the (resolved) verifier compares with
/// it, and a completion each where `completions` says that one is learnt from.
pub async fn training_rows(
    store: &Store,
    dataset: &mut DatasetSpec,
    verifier: Option<&Value>,
    completions: bool,
) -> Result<Vec<FieldError>, Problem> {
    let version = match find_dataset(store, &dataset.train, Split::Train, "/dataset/train").await? {
        Ok(Found::Builtin) => return Ok(Vec::new()),
        Ok(Found::Version(version)) => version,
        Err(error) => return Ok(vec![error]),
    };
    let mut errors = Vec::new();
    let mut missing = |detail| errors.push(FieldError::new("/dataset/train", "row_missing_column", detail));
    if needs_answer(verifier) && version.answers < version.rows {
        missing(format!(
            "only {} of {} rows have an answer, which the verifier compares with; name the column with \
             `answer_column` when uploading, or in the verifier",
            version.answers, version.rows
        ));
    }
    if completions && version.completions < version.rows {
        missing(format!(
            "only {} of {} rows have a completion, which this objective learns from",
            version.completions, version.rows
        ));
    }
    dataset.train = version.id.to_string();
    Ok(errors)
}

/// Pins the rows to evaluate on, if there are any.
pub async fn held_out_rows(store: &Store, dataset: &mut DatasetSpec) -> Result<Vec<FieldError>, Problem> {
    let Some(name) = &dataset.eval else { return Ok(Vec::new()) };
    match find_dataset(store, name, Split::Eval, "/dataset/eval").await? {
        Ok(Found::Builtin) => {}
        Ok(Found::Version(version)) => dataset.eval = Some(version.id.to_string()),
        Err(error) => return Ok(vec![error]),
    }
    Ok(Vec::new())
}

/// The version that `name` stands for; its rows need an answer each where the (resolved) verifier compares with it.
/// Built-ins have no versions and are not found here.
pub async fn scored_rows(
    store: &Store,
    name: &str,
    verifier: Option<&Value>,
    pointer: &str,
) -> Result<Result<DatasetVersionId, FieldError>, Problem> {
    let version = match find_dataset(store, name, Split::Eval, pointer).await? {
        Ok(Found::Version(version)) => version,
        Ok(Found::Builtin) => {
            return Ok(Err(FieldError::new(pointer, "unknown_dataset", format!("`{name}` has no versions"))));
        }
        Err(error) => return Ok(Err(error)),
    };
    if needs_answer(verifier) && version.answers < version.rows {
        let detail = format!(
            "only {} of {} rows have an answer, which the verifier compares with; name the column with \
             `answer_column` when uploading, or in the verifier",
            version.answers, version.rows
        );
        return Ok(Err(FieldError::new(pointer, "row_missing_column", detail)));
    }
    Ok(Ok(version.id))
}

fn needs_answer(verifier: Option<&Value>) -> bool {
    let config = verifier.and_then(|config| verifier::Config::parse(config, "/verifier").ok());
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
