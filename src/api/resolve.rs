//! From the references in a submitted spec to what they stand for: verifier, model and data sets. Jobs and rollout
//! sets name them in the same way.

use std::path::PathBuf;

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::blocking::blocking;
use super::error::Problem;
use super::imports::{self, Finder, Pull};
use super::templates;
use super::verifiable;
use crate::api::App;
use crate::dataset::Split;
use crate::dataset::builtin::{self, BuiltinSet};
use crate::environment;
use crate::hub::{self, HubRef};
use crate::job::artifact;
use crate::job::digest::sha256_hex;
use crate::job::spec::{PromptFormat, PromptSpec, SamplingSpec};
use crate::job::{ArtifactKind, DatasetId, DatasetVersionId, FieldError, ModelStatus, Scope, SuiteId, VerifierId};
use crate::modelfile::builtin::Builtin;
use crate::modelfile::rope::RopeConfig;
use crate::modelfile::{self, Inspection, ModelFileError, adapter};
use crate::spec::{ModelRef, RowsRef};
use crate::store::{AdapterOf, CheckpointRow, DatasetVersionRow, Identified, Location, ModelRow, Store, StoreError};
use crate::text::chat::knows_thinking;
use crate::verifier;

/// A missing row is the client's mistake at `pointer`; any other failure is not.
pub fn found<T>(result: Result<T, StoreError>, pointer: &str) -> Result<Result<T, FieldError>, Problem> {
    match result {
        Ok(row) => Ok(Ok(row)),
        Err(error @ StoreError::NotFound { .. }) => Ok(Err(FieldError::new(pointer, "not_found", error.to_string()))),
        Err(error) => Err(error.into()),
    }
}

/// What `name` stands for; `otherwise` is said where nothing is called so.
async fn called<T: Identified>(
    store: &Store,
    name: &str,
    otherwise: FieldError,
) -> Result<Result<T, FieldError>, Problem> {
    match store.called(name).await {
        Ok(id) => Ok(Ok(id)),
        Err(StoreError::NotFound { .. }) => Ok(Err(otherwise)),
        Err(StoreError::Refused { code, detail }) => Ok(Err(FieldError::new(otherwise.pointer, code, detail))),
        Err(error) => Err(error.into()),
    }
}

/// What was found; an error goes to the others.
pub fn collect<T, E: IntoIterator<Item = FieldError>>(result: Result<T, E>, errors: &mut Vec<FieldError>) -> Option<T> {
    result.map_err(|wrong| errors.extend(wrong)).ok()
}

/// How completions are scored.
#[derive(Clone, Debug, Default)]
pub struct Scoring {
    pub config: Option<verifier::Config>,
    /// The stored verifier whose configuration it is.
    pub stored: Option<VerifierId>,
}

/// The checked configuration of a verifier, which is inline or named by its id. `needed` says that there must be one.
pub async fn verifier(
    app: &App,
    submitted: Option<&Value>,
    needed: bool,
) -> Result<Result<Scoring, Vec<FieldError>>, Problem> {
    let one = |error| Ok(Err(vec![error]));
    let (config, stored) = match submitted {
        None if needed => {
            let detail = "the objective learns from rewards; add a verifier such as {\"type\": \"numeric\"}";
            return one(FieldError::new("/verifier", "missing_field", detail));
        }
        None => return Ok(Ok(Scoring::default())),
        Some(Value::String(name)) => {
            let detail =
                format!("`{name}` is no verifier, by its id (vf_...) or name; an inline verifier is an object");
            let otherwise = FieldError::new("/verifier", "not_found", detail);
            let id = match called::<VerifierId>(&app.store, name, otherwise).await? {
                Ok(id) => id,
                Err(error) => return one(error),
            };
            match found(app.store.verifier(id).await, "/verifier")? {
                Ok(row) => (row.config, Some(id)),
                Err(error) => return one(error),
            }
        }
        Some(inline) => (inline.clone(), None),
    };
    let config = runnable(app, &config, "/verifier")?;
    Ok(config.map(|config| Scoring { config: Some(config), stored }))
}

/// The suite that a name stands for, all of whose verifiers the caller may have run.
pub async fn suite(app: &App, name: &str, pointer: &str) -> Result<Result<SuiteId, Vec<FieldError>>, Problem> {
    let detail = format!("`{name}` is no suite, by its id (suite_...) or name; POST /v1/suites makes one");
    let id = match called::<SuiteId>(&app.store, name, FieldError::new(pointer, "not_found", detail)).await? {
        Ok(id) => id,
        Err(error) => return Ok(Err(vec![error])),
    };
    let row = match found(app.store.suite(id).await, pointer)? {
        Ok(row) => row,
        Err(error) => return Ok(Err(vec![error])),
    };
    for set in &row.sets {
        if let Ok(config) = verifier::Config::read(&set["verifier"], pointer) {
            permit(app, &config)?;
        }
    }
    Ok(Ok(id))
}

/// What is wrong with the environment that a spec's completions have, or with a verifier that would ask for one.
pub fn environment(app: &App, sampling: &SamplingSpec, scoring: &Scoring) -> Vec<FieldError> {
    let config = scoring.config.as_ref();
    let Some(spec) = &sampling.environment else {
        let asks = config.is_some_and(verifier::Config::needs_environment);
        let detail = "takes the rewards of an environment; name one in `sampling.environment`";
        return asks.then(|| FieldError::new("/verifier", "missing_field", detail)).into_iter().collect();
    };
    let outside = &app.settings.verifiers;
    environment::check(spec, config.is_some(), outside, "/sampling/environment").err().unwrap_or_default()
}

/// A verifier as it was sent, if it is one and this server can run it. A caller who may not have it run is refused.
pub fn runnable(
    app: &App,
    submitted: &Value,
    pointer: &str,
) -> Result<Result<verifier::Config, Vec<FieldError>>, Problem> {
    let config = match verifier::Config::parse(submitted, pointer) {
        Ok(config) => config,
        Err(errors) => return Ok(Err(errors)),
    };
    permit(app, &config)?;
    Ok(config.refused(&app.settings.verifiers, pointer).map(|()| config))
}

/// Refuses a verifier that runs programs to a caller whose key is not for that.
pub fn permit(app: &App, config: &verifier::Config) -> Result<(), Problem> {
    if app.runs_code || !config.runs_code() {
        return Ok(());
    }
    let detail = format!(
        "the verifier runs programs, for which a key needs the scope `{0}`: make one with `anneal keys create NAME --scopes \
         read,write,{0}`",
        Scope::Code
    );
    Err(Problem::new(StatusCode::FORBIDDEN, "insufficient_scope", detail))
}

/// Fills in what of a spec's prompts follows from its model: whether it reasons, and, where its rotary positions depend
/// on the longest sequence, what that is. Its own chat template must be one.
pub async fn prompts(
    store: &Store,
    model: &Model,
    mut spec: PromptSpec,
    pointer: &str,
) -> Result<Result<PromptSpec, FieldError>, Problem> {
    if let (None, Some(adapter)) = (&spec.chat_template, &model.adapter) {
        spec.chat_template.clone_from(&adapter.chat_template);
    }
    if let Some(source) = &spec.chat_template
        && let Err(error) = templates::check(store, source, &format!("{pointer}/chat_template")).await?
    {
        return Ok(Err(error));
    }
    let files = model.files.clone();
    let filled = blocking(move || -> Result<PromptSpec, ModelFileError> {
        let inspection = files.inspect_weights()?;
        let thinks = spec.format != PromptFormat::Text
            && knows_thinking(&inspection, spec.chat_template.as_deref()).unwrap_or(false);
        let thinking = spec.thinking.or(thinks.then_some(true));
        let depends = inspection.config.architecture.rope.iter().any(RopeConfig::depends_on_length);
        // What leaves room for a token.
        let fits = (inspection.config.max_position_embeddings - 1).max(1);
        let fitting = depends.then(|| u32::try_from(fits).unwrap_or(u32::MAX));
        Ok(PromptSpec { thinking, max_prompt_tokens: spec.max_prompt_tokens.or(fitting), ..spec })
    });
    Ok(filled.await?.map_err(|error| FieldError::new("/model", error.code(), error.to_string())))
}

/// A model as specs refer to it.
#[derive(Clone, Debug)]
pub struct Model {
    pub reference: ModelRef,
    /// Of the weights, `sha256:...`; equal digests are equal models. None while they are under way.
    pub digest: Option<String>,
    /// Of `tokenizer.json`, `sha256:...`.
    pub tokenizer_digest: String,
    /// Of an adapter, those of the model that it belongs to.
    pub files: ModelFiles,
    /// What it is an adapter of, if it is one.
    pub adapter: Option<AdapterOf>,
}

/// Where a model's files are.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFiles {
    #[serde(with = "builtin_name")]
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

/// A built-in model by its name.
mod builtin_name {
    use serde::{Deserialize, Deserializer, Serializer, de};

    use super::Builtin;

    pub fn serialize<S: Serializer>(builtin: &&'static Builtin, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(builtin.name)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static Builtin, D::Error> {
        let name = String::deserialize(deserializer)?;
        Builtin::find(&name).ok_or_else(|| de::Error::custom("no such built-in model"))
    }
}

/// Finds a model by the name that a spec gives it. `seed` is what a built-in without weights draws them from. An error
/// has the given pointer and code.
pub async fn model(
    Finder { store, sources, pull }: Finder<'_>,
    name: &str,
    seed: u64,
    (pointer, code): (&str, &'static str),
) -> Result<Result<Model, FieldError>, Problem> {
    let wrong = |detail: String| Ok(Err(FieldError::new(pointer, code, detail)));
    let reference = match name.parse::<ModelRef>() {
        Ok(reference) => reference,
        Err(_) if name.starts_with(hub::PREFIX) => {
            let reference = match name.parse::<HubRef>() {
                Ok(reference) => reference,
                Err(error) => return wrong(error.to_string()),
            };
            match imports::pull(store, &sources.hub, &reference, pull, pointer).await? {
                Ok(row) => ModelRef::Model(row.id),
                Err(error) => return Ok(Err(error)),
            }
        }
        Err(_) => {
            let detail = format!(
                "`{name}` is no model; use `hf:owner/name`, `mdl_...` or its name (see GET /v1/models; POST /v1/models imports \
                 one), an inference checkpoint `ckpt_...` or the model of a job `ft:JOB`, or `builtin:arith-tiny`"
            );
            let otherwise = FieldError::new(pointer, code, detail);
            let found = if name.starts_with("ft:") {
                called(store, name, otherwise).await?.map(ModelRef::Checkpoint)
            } else {
                called(store, name, otherwise).await?.map(ModelRef::Model)
            };
            match found {
                Ok(reference) => reference,
                Err(error) => return Ok(Err(error)),
            }
        }
    };
    Finder { store, sources, pull }.model(reference, seed, (pointer, code)).await
}

impl Finder<'_> {
    /// The model that a reference stands for.
    async fn model(
        &self,
        reference: ModelRef,
        seed: u64,
        (pointer, code): (&str, &'static str),
    ) -> Result<Result<Model, FieldError>, Problem> {
        let Finder { store, pull, .. } = *self;
        let wrong = |detail: String| Ok(Err(FieldError::new(pointer, code, detail)));
        let model = |weights: Option<&str>, tokenizer: &str, files| Model {
            reference,
            digest: weights.map(|weights| format!("sha256:{weights}")),
            tokenizer_digest: format!("sha256:{tokenizer}"),
            files,
            adapter: None,
        };
        Ok(Ok(match reference {
            ModelRef::Builtin(builtin) => {
                model(Some(&builtin.weights_sha256(seed)), builtin.tokenizer_sha256(), ModelFiles::Builtin(builtin))
            }
            ModelRef::Model(id) => match found(store.model(id).await, pointer)? {
                Ok(row) => {
                    if let Some(error) = unusable(&row, pull, pointer) {
                        return Ok(Err(error));
                    }
                    let row = imports::wanted(store, row, pull).await?;
                    if let Some(of) = row.adapter {
                        let own = row.weights_sha256.as_deref();
                        return self.adapter(reference, of, (own, &row.tokenizer_sha256), (pointer, code)).await;
                    }
                    let files = ModelFiles::Path(store.place().fetch(&Location::model(id)).await?);
                    model(row.weights_sha256.as_deref(), &row.tokenizer_sha256, files)
                }
                Err(error) => return wrong(error.detail),
            },
            ModelRef::Checkpoint(id) => match found(store.checkpoint(id).await, pointer)? {
                Ok(row) if row.is_adapter() && row.artifact.manifest.kind == ArtifactKind::Inference => {
                    let Some(of) = store.adapter_of(&row).await? else {
                        return wrong(format!("{id} is no model"));
                    };
                    let (own, tokenizer) = (sha256_of(&row, adapter::WEIGHTS)?, sha256_of(&row, "tokenizer.json")?);
                    return self.adapter(reference, of, (Some(&own), &tokenizer), (pointer, code)).await;
                }
                Ok(row) if row.artifact.manifest.kind == ArtifactKind::Inference => {
                    let files = ModelFiles::Path(store.place().fetch(row.artifact.location()).await?);
                    model(Some(&sha256_of(&row, artifact::WEIGHTS)?), &sha256_of(&row, "tokenizer.json")?, files)
                }
                Ok(_) => {
                    return wrong(format!("`{id}` is a training checkpoint; only inference checkpoints are models"));
                }
                Err(error) => return wrong(error.detail),
            },
        }))
    }

    /// The model that an adapter belongs to, with the adapter, of which the digests of weights and tokenizer are given.
    async fn adapter(
        &self,
        reference: ModelRef,
        of: AdapterOf,
        (own, tokenizer): (Option<&str>, &str),
        at: (&str, &'static str),
    ) -> Result<Result<Model, FieldError>, Problem> {
        let base = match Box::pin(self.model(of.model, of.seed, at)).await? {
            Ok(base) => base,
            Err(error) => {
                let detail = format!("{reference} is an adapter of `{}`, and {}", of.model, error.detail);
                return Ok(Err(FieldError { detail, ..error }));
            }
        };
        let both = base.digest.as_ref().zip(own).map(|(base, own)| sha256_hex(format!("{base} {own}").as_bytes()));
        Ok(Ok(Model {
            reference,
            digest: both.map(|digest| format!("sha256:{digest}")),
            tokenizer_digest: format!("sha256:{tokenizer}"),
            files: base.files,
            adapter: Some(of),
        }))
    }
}

/// Why a model cannot be named by a job, or where `pull` brings nothing cannot be used at once.
fn unusable(row: &ModelRow, pull: Pull, pointer: &str) -> Option<FieldError> {
    let id = row.id;
    match row.status {
        ModelStatus::Failed => {
            let why = row.failure.as_ref().map_or("", |failure| &failure.message);
            let detail = format!("{id} ({}) could not be imported: {why}", row.source);
            Some(FieldError::new(pointer, "model_import_failed", detail))
        }
        ModelStatus::Importing | ModelStatus::Pending if pull == Pull::Never => {
            let (done, all) = (row.bytes_done / 1_000_000, row.bytes / 1_000_000);
            let detail = format!("{id} ({}) is under way: {done} of {all} MB are here; try again later", row.source);
            Some(FieldError::new(pointer, "model_not_ready", detail))
        }
        ModelStatus::Importing | ModelStatus::Pending | ModelStatus::Ready => None,
    }
}

/// The digest of a file that every inference checkpoint has.
fn sha256_of(row: &CheckpointRow, file: &str) -> Result<String, Problem> {
    let found = row.artifact.manifest.file(file).map(|file| file.sha256.clone());
    found.ok_or_else(|| {
        let detail = format!("the inference checkpoint {} lists no {file}", row.id);
        Problem::from(StoreError::Corrupt { what: "manifest", detail })
    })
}

/// The rows to train on or to sample for. They need what the verifier reads, and a completion each where `completions`
/// says that one is learnt from.
pub async fn training_rows(
    store: &Store,
    name: &str,
    verifier: Option<&verifier::Config>,
    completions: bool,
) -> Result<Result<FoundRows, Vec<FieldError>>, Problem> {
    const POINTER: &str = "/dataset/train";
    let found = match find_dataset(store, name, POINTER).await? {
        Ok(found) => found,
        Err(error) => return Ok(Err(vec![error])),
    };
    let checks = [found.check(verifier, POINTER), found.check_side(Split::Train, POINTER)];
    let mut errors: Vec<FieldError> = checks.into_iter().filter_map(Result::err).collect();
    if let FoundRows::Version(version) = &found
        && completions
        && version.completions < version.rows
    {
        let detail = format!(
            "only {} of {} rows have a completion, which this objective learns from",
            version.completions, version.rows
        );
        errors.push(FieldError::new(POINTER, "row_missing_column", detail));
    }
    Ok(if errors.is_empty() { Ok(found) } else { Err(errors) })
}

/// The rows that `name` stands for; they need what the verifier reads.
pub async fn scored_rows(
    store: &Store,
    name: &str,
    verifier: Option<&verifier::Config>,
    pointer: &str,
) -> Result<Result<FoundRows, FieldError>, Problem> {
    let found = find_dataset(store, name, pointer).await?;
    Ok(found.and_then(|found| found.check(verifier, pointer).map(|()| found)))
}

/// Rows that a name stands for.
#[derive(Clone, Debug)]
pub enum FoundRows {
    Builtin(BuiltinSet),
    Version(Box<DatasetVersionRow>),
}

impl FoundRows {
    pub fn reference(&self) -> RowsRef {
        match self {
            Self::Builtin(set) => RowsRef::Builtin(*set),
            Self::Version(version) => RowsRef::Version(version.id),
        }
    }

    /// Whether some of the rows are held out.
    pub fn is_split(&self) -> bool {
        match self {
            Self::Builtin(_) => true,
            Self::Version(version) => version.split.is_some(),
        }
    }

    /// Whether there are rows on a side, where rows are split.
    pub fn check_side(&self, side: Split, pointer: &str) -> Result<(), FieldError> {
        let what = match side {
            Split::Train => "all rows are held out, and none is left to train on",
            Split::Eval => "no row is held out; hold out a larger share, or add rows",
        };
        let lacks = self.is_split() && self.count(side) == Some(0);
        if lacks { Err(FieldError::new(pointer, "dataset_empty", what)) } else { Ok(()) }
    }

    /// How many rows there are, on one side of what is split; of built-ins that is not asked.
    pub fn count(&self, side: Split) -> Option<u64> {
        let Self::Version(version) = self else { return None };
        Some(match side {
            _ if version.split.is_none() => version.rows,
            Split::Train => version.rows - version.held_out,
            Split::Eval => version.held_out,
        })
    }

    /// Whether each row has what a verifier reads, if there is one.
    fn check(&self, verifier: Option<&verifier::Config>, pointer: &str) -> Result<(), FieldError> {
        match (self, verifier) {
            (_, None) => Ok(()),
            (Self::Builtin(set), Some(verifier)) => verifiable::builtin(*set, verifier, pointer),
            (Self::Version(version), Some(verifier)) => verifiable::version(version, verifier, pointer),
        }
    }
}

async fn find_dataset(store: &Store, name: &str, pointer: &str) -> Result<Result<FoundRows, FieldError>, Problem> {
    if name.starts_with(builtin::PREFIX) {
        let set = name.parse::<BuiltinSet>().map(FoundRows::Builtin);
        return Ok(set.map_err(|error| FieldError::new(pointer, error.code(), error.to_string())));
    }
    if let Ok(id) = name.parse::<DatasetVersionId>() {
        let row = found(store.dataset_version(id).await, pointer)?;
        return Ok(row.map(|version| FoundRows::Version(Box::new(version))));
    }
    let detail = format!(
        "`{name}` is no data set; use `ds_...` or its name, or `dsv_...` (POST /v1/datasets uploads one), or \
         a built-in such as `builtin:arithmetic` (GET /v1/datasets/builtins lists them)"
    );
    match called::<DatasetId>(store, name, FieldError::new(pointer, "unknown_dataset", detail)).await? {
        Ok(id) => {
            let row = found(store.dataset(id).await, pointer)?;
            Ok(row.map(|dataset| FoundRows::Version(Box::new(dataset.latest))))
        }
        Err(error) => Ok(Err(error)),
    }
}
