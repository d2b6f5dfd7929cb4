//! From a claimed row to everything the engine needs: files, data sets and checked configurations.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::dataset::jsonl::JsonlFile;
use crate::dataset::{self, Columns, Dataset, Split};
use crate::engine::collective::{Alone, Collective};
use crate::engine::device::Device;
use crate::engine::{self, ActorSpec, EngineError, EvaluationJob, Job, Outcome, RegradingJob, Reporter, SamplingJob};
use crate::job::evaluation::EvaluationSplit;
use crate::job::rollout_set::PARTS_FOLDER;
use crate::job::spec::{DatasetSpec, Precision, SamplingSpec};
use crate::job::{
    CheckpointId, DatasetVersionId, EvaluationSpec, Failure, FailureKind, FieldError, GateSpec, JobKind, JobSpec,
    ModelId, RolloutSetId, RolloutSetSpec,
};
use crate::modelfile::builtin::Builtin;
use crate::objective;
use crate::store::{Claim, Keep, Location, Store, StoreError};
use crate::verifier;

use super::{chain, internal};

/// What a claimed job wants done.
pub enum Work {
    Train(Box<Job>),
    Sample(Box<SamplingJob>),
    Regrade(Box<RegradingJob>),
    Evaluate(Box<EvaluationJob>),
}

impl Work {
    /// Training checkpoints to keep.
    pub fn keep(&self) -> Keep {
        match self {
            Self::Train(job) => Keep { last: job.spec.checkpoints.keep_last, best: job.spec.checkpoints.keep_best },
            Self::Sample(_) | Self::Regrade(_) | Self::Evaluate(_) => Keep { last: 1, best: 0 },
        }
    }

    /// What the finished model must reach.
    pub fn gate(&self) -> Option<GateSpec> {
        match self {
            Self::Train(job) => job.spec.gate,
            Self::Sample(_) | Self::Regrade(_) | Self::Evaluate(_) => None,
        }
    }

    /// Makes it the work of several processes.
    pub fn spread(&mut self, collective: Arc<dyn Collective>) {
        match self {
            Self::Train(job) => job.actor.collective = collective,
            Self::Sample(job) => job.actor.collective = collective,
            Self::Regrade(job) => job.actor.collective = collective,
            Self::Evaluate(job) => job.actor.collective = collective,
        }
    }

    /// Does it; the outcome is there when there was training.
    pub fn run(&self, reporter: &mut dyn Reporter) -> Result<Option<Outcome>, EngineError> {
        match self {
            Self::Train(job) => engine::run(job, reporter),
            Self::Sample(job) => engine::sample(job, reporter).map(|_saved| None),
            Self::Regrade(job) => engine::regrade(job, reporter).map(|_saved| None),
            Self::Evaluate(job) => engine::evaluate(job, reporter).map(|_saved| None),
        }
    }
}

/// Makes the engine's job, or says why it cannot run.
pub async fn prepare(store: &Store, claim: &Claim, device: &Device) -> Result<Work, Failure> {
    // A process that only takes part holds no device and removes nothing.
    if !claim.devices.is_empty() {
        sweep(store, claim).await.map_err(|error| internal(chain(&error)))?;
    }
    match claim.kind {
        JobKind::Train => Ok(Work::Train(Box::new(training(store, claim, device).await?))),
        JobKind::Rollouts => rollouts(store, claim, device).await,
        JobKind::Evaluation => Ok(Work::Evaluate(Box::new(evaluation(store, claim, device).await?))),
    }
}

async fn training(store: &Store, claim: &Claim, device: &Device) -> Result<Job, Failure> {
    let spec = JobSpec::parse(&claim.spec_resolved).map_err(invalid)?;
    let objective = objective::Config::parse(&spec.objective, "/objective").map_err(invalid)?;
    let teacher = match objective.teacher() {
        None => None,
        Some(path) if path.starts_with('/') => Some(PathBuf::from(path)),
        Some(name) => Some(model(store, name).await?.0),
    };
    let stored = match (&spec.rollouts.from, &spec.rollouts.mix) {
        (Some(set), _) => Some(rollout_set(store, set).await?),
        (None, Some(mix)) => Some(rollout_set(store, &mix.rollout_set).await?),
        (None, None) => None,
    };
    let train = dataset(store, &spec.dataset.train, Split::Train).await?;
    let eval = match &spec.dataset.eval {
        None => None,
        Some(name) => Some(dataset(store, name, Split::Eval).await?),
    };
    let parts = Parts {
        model: &spec.model,
        dataset: &spec.dataset,
        sampling: &spec.sampling,
        verifier: &spec.verifier,
        precision: spec.train.precision,
        seed: spec.seed,
    };
    let actor = actor(store, claim, device, parts).await?;
    let mut resume = Vec::new();
    for checkpoint in &claim.resume {
        resume.push(fetch(store, checkpoint).await?);
    }
    let must_resume = claim.verification.is_some();
    Ok(Job { actor, spec, objective, teacher, stored, train, eval, resume, must_resume })
}

async fn rollouts(store: &Store, claim: &Claim, device: &Device) -> Result<Work, Failure> {
    let spec = RolloutSetSpec::parse(&claim.spec_resolved).map_err(invalid)?;
    let rows = dataset(store, &spec.dataset.train, Split::Train).await?;
    let parts = Parts {
        model: &spec.model,
        dataset: &spec.dataset,
        sampling: &spec.sampling,
        verifier: &spec.verifier,
        precision: spec.precision,
        seed: spec.seed,
    };
    let actor = actor(store, claim, device, parts).await?;
    Ok(match &spec.regrade_of {
        None => Work::Sample(Box::new(SamplingJob { actor, spec, rows })),
        Some(set) => Work::Regrade(Box::new(RegradingJob { actor, source: rollout_set(store, set).await?, rows })),
    })
}

async fn evaluation(store: &Store, claim: &Claim, device: &Device) -> Result<EvaluationJob, Failure> {
    let spec = EvaluationSpec::parse(&claim.spec_resolved).map_err(invalid)?;
    let split = match spec.split {
        Some(EvaluationSplit::Train) => Split::Train,
        Some(EvaluationSplit::Eval) | None => Split::Eval,
    };
    let rows = dataset(store, &spec.dataset, split).await?;
    let parts = Parts {
        model: &spec.model,
        dataset: &spec.rows(),
        sampling: &spec.sampling,
        verifier: &Some(spec.verifier.clone()),
        precision: spec.precision,
        seed: spec.seed,
    };
    let actor = actor(store, claim, device, parts).await?;
    Ok(EvaluationJob { actor, spec, rows })
}

/// What all kinds of jobs have in their specs.
struct Parts<'a> {
    model: &'a str,
    dataset: &'a DatasetSpec,
    sampling: &'a SamplingSpec,
    verifier: &'a Option<Value>,
    precision: Precision,
    seed: u64,
}

async fn actor(store: &Store, claim: &Claim, device: &Device, parts: Parts<'_>) -> Result<ActorSpec, Failure> {
    let Parts { model: model_name, dataset, sampling, verifier, precision, seed } = parts;
    let verifier = match verifier {
        None => None,
        Some(config) => Some(verifier::Config::parse(config, "/verifier").map_err(invalid)?),
    };
    let (model, from_scratch) = model(store, model_name).await?;
    Ok(ActorSpec {
        id: claim.lease.job,
        attempt: claim.lease.attempt,
        spec_digest: claim.spec_digest.clone(),
        seed,
        dataset: dataset.clone(),
        sampling: sampling.clone(),
        verifier,
        model,
        from_scratch,
        directory: store.files().job(claim.lease.job),
        precision,
        device: device.clone(),
        collective: Arc::new(Alone),
    })
}

/// The directory of a complete rollout set.
async fn rollout_set(store: &Store, name: &str) -> Result<PathBuf, Failure> {
    let Ok(id) = name.parse::<RolloutSetId>() else {
        return Err(internal(format!("`{name}` in a resolved spec is no rollout set")));
    };
    let row = store.rollout_set(id).await.map_err(|error| missing(&error))?;
    let content = row.content.ok_or_else(|| internal(format!("the rollout set {id} is not complete")))?;
    fetch(store, content.artifact.location()).await
}

/// A stored file or folder on this worker's disk.
async fn fetch(store: &Store, what: &Location) -> Result<PathBuf, Failure> {
    store.place().fetch(what).await.map_err(|error| internal(chain(&error)))
}

fn invalid(errors: Vec<FieldError>) -> Failure {
    let message = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let code = errors.first().map_or("invalid_spec", |error| error.code);
    Failure { kind: FailureKind::InvalidData, code: code.to_owned(), message }
}

fn missing(error: &StoreError) -> Failure {
    match error {
        StoreError::NotFound { .. } => {
            Failure { kind: FailureKind::InvalidData, code: String::from("not_found"), message: error.to_string() }
        }
        other => internal(chain(other)),
    }
}

/// The model's directory, and whether its weights are drawn at random.
pub(super) async fn model(store: &Store, name: &str) -> Result<(PathBuf, bool), Failure> {
    if let Some(builtin) = Builtin::find(name) {
        let path = unpack(store, builtin).map_err(|error| internal(chain(&error)))?;
        return Ok((path, builtin.from_scratch));
    }
    if let Ok(id) = name.parse::<ModelId>() {
        store.model(id).await.map_err(|error| missing(&error))?;
        return Ok((fetch(store, &Location::model(id)).await?, false));
    }
    if let Ok(id) = name.parse::<CheckpointId>() {
        let row = store.checkpoint(id).await.map_err(|error| missing(&error))?;
        return Ok((fetch(store, row.artifact.location()).await?, false));
    }
    Err(internal(format!("`{name}` in a resolved spec is no model")))
}

async fn dataset(store: &Store, name: &str, split: Split) -> Result<Dataset, Failure> {
    if let Some(builtin) = dataset::builtin(name, split) {
        return Ok(builtin);
    }
    let Ok(id) = name.parse::<DatasetVersionId>() else {
        return Err(internal(format!("`{name}` in a resolved spec is no data set version")));
    };
    let row = store.dataset_version(id).await.map_err(|error| missing(&error))?;
    let columns: Columns = serde_json::from_value(row.columns).map_err(|error| internal(error.to_string()))?;
    let path = fetch(store, &Location::dataset(id)).await?;
    let open = tokio::task::spawn_blocking(move || JsonlFile::open(&path, columns));
    match open.await {
        Ok(Ok(file)) => Ok(Dataset::Jsonl(file)),
        Ok(Err(error)) => {
            Err(Failure { kind: FailureKind::InvalidData, code: error.code().to_owned(), message: chain(&error) })
        }
        Err(error) => Err(internal(error.to_string())),
    }
}

/// Puts a built-in model's files where the engine can read them.
fn unpack(store: &Store, builtin: &Builtin) -> Result<PathBuf, StoreError> {
    let target = store.files().builtin_model(builtin.name, &builtin.digest());
    if target.exists() {
        return Ok(target);
    }
    let temporary = store.files().upload();
    std::fs::create_dir_all(&temporary).map_err(|e| StoreError::io("creating", &temporary, e))?;
    for (name, bytes) in builtin.files {
        let path = temporary.join(name);
        crate::engine::artifact::write_file(&path, bytes)
            .map_err(|e| StoreError::io("writing", &path, std::io::Error::other(e)))?;
    }
    match crate::store::files::publish(&temporary, &target) {
        // Another worker was faster; its files are the same.
        Err(_) if target.exists() => {
            std::fs::remove_dir_all(&temporary).map_err(|e| StoreError::io("removing", &temporary, e))?;
        }
        result => result?,
    }
    Ok(target)
}

/// Removes what crashed attempts of the job left behind: directories that no row knows.
async fn sweep(store: &Store, claim: &Claim) -> Result<(), StoreError> {
    let folder = store.files().job(claim.lease.job);
    std::fs::create_dir_all(&folder).map_err(|e| StoreError::io("creating", &folder, e))?;
    let entries = std::fs::read_dir(&folder).map_err(|e| StoreError::io("listing", &folder, e))?;
    for entry in entries {
        let path = entry.map_err(|e| StoreError::io("listing", &folder, e))?.path();
        // What was sampled is kept; the next attempt goes on from it.
        if path.file_name().is_some_and(|name| name == PARTS_FOLDER) {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !store.is_artifact(&Location::job(claim.lease.job).within(&name)).await? {
            tracing::info!(path = %path.display(), "removing an unfinished checkpoint");
            std::fs::remove_dir_all(&path).map_err(|e| StoreError::io("removing", &path, e))?;
        }
    }
    Ok(())
}
