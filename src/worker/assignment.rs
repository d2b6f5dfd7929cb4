//! From a claimed row to everything the engine needs: files, data sets and checked configurations.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::dataset::split::SplitRule;
use crate::dataset::{Columns, Dataset, Split};
use crate::engine::actor::Trained;
use crate::engine::collective::{Alone, Collective};
use crate::engine::device::Device;
use crate::engine::loading::{Bases, ModelSource};
use crate::engine::model::adapter::Origin;
use crate::engine::{self, ActorSpec, EngineError, EvaluationJob, Job, Outcome, RegradingJob, Reporter, SamplingJob};
use crate::job::adapter::AdapterId;
use crate::job::rollout_set::{PARTS_FOLDER, SAMPLE_FOLDER};
use crate::job::spec::Precision;
use crate::job::{Failure, FailureKind, GateSpec, RolloutSetId};
use crate::modelfile::builtin::Builtin;
use crate::spec::{self, Common, EvaluationSplit, ModelRef, Resolved, RowsRef, TeacherRef, Training};
use crate::store::{Claim, Damaged, Keep, Location, Store, StoreError};
use crate::verifier::Outside;

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

/// Makes the engine's job, or says why it cannot run. `bases` are what jobs of this worker share.
pub async fn prepare(
    store: &Store,
    claim: &Claim,
    (device, bases): (&Device, &Bases),
    outside: &Outside,
) -> Result<Work, Failure> {
    // A process that only takes part holds no device and removes nothing.
    if !claim.devices.is_empty() {
        sweep(store, claim).await.map_err(failed)?;
    }
    let Resolved { common, work } = &*claim.spec;
    let training = match work {
        spec::Work::Train(training) => trained(store, training, common.seed).await?,
        spec::Work::Sample(_) | spec::Work::Regrade(_) | spec::Work::Evaluate(_) => Trained::Nothing,
    };
    let quantize = match work {
        spec::Work::Train(training) => training.adapter.as_ref().and_then(|adapter| adapter.quantize),
        spec::Work::Sample(_) | spec::Work::Regrade(_) | spec::Work::Evaluate(_) => None,
    };
    let bases = common.resources.share_base.then(|| bases.clone());
    let actor = actor(store, claim, device, common, work.precision()).await?;
    let actor = ActorSpec { training, quantize, bases, outside: outside.clone(), ..actor };
    Ok(match work {
        spec::Work::Train(training) => Work::Train(Box::new(training_job(store, claim, actor, training).await?)),
        spec::Work::Sample(sampling) => {
            let rows = dataset(store, sampling.rows, Split::Train).await?;
            Work::Sample(Box::new(SamplingJob { actor, spec: sampling.clone(), rows }))
        }
        spec::Work::Regrade(regrading) => {
            let rows = dataset(store, regrading.rows, Split::Train).await?;
            let source = rollout_set(store, regrading.source).await?;
            Work::Regrade(Box::new(RegradingJob { actor, source, rows }))
        }
        spec::Work::Evaluate(evaluating) => {
            let split = match evaluating.split {
                Some(EvaluationSplit::Train) => Split::Train,
                Some(EvaluationSplit::Eval) | None => Split::Eval,
            };
            let rows = dataset(store, evaluating.rows, split).await?;
            Work::Evaluate(Box::new(EvaluationJob { actor, spec: evaluating.clone(), rows }))
        }
    })
}

async fn training_job(store: &Store, claim: &Claim, actor: ActorSpec, training: &Training) -> Result<Job, Failure> {
    let teacher = match training.teacher() {
        None => None,
        Some(TeacherRef::Path(path)) => {
            Some(ModelSource { name: path.display().to_string(), path, seed: None, adapter: None })
        }
        Some(TeacherRef::Model(reference)) => Some(model(store, &reference, claim.spec.common.seed).await?.0),
    };
    let stored = match training.rollouts.stored() {
        Some(set) => Some(rollout_set(store, *set).await?),
        None => None,
    };
    let train = dataset(store, training.rows, Split::Train).await?;
    let eval = match training.held_out {
        None => None,
        Some(rows) => Some(dataset(store, rows, Split::Eval).await?),
    };
    let mut resume = Vec::new();
    for checkpoint in &claim.resume {
        resume.push(fetch(store, checkpoint).await?);
    }
    Ok(Job {
        actor,
        name: claim.attributes.name.clone(),
        description: claim.spec.to_value(&claim.attributes),
        spec: training.clone(),
        teacher,
        stored,
        train,
        eval,
        resume,
        must_resume: claim.verification.is_some(),
    })
}

async fn actor(
    store: &Store,
    claim: &Claim,
    device: &Device,
    common: &Common,
    precision: Precision,
) -> Result<ActorSpec, Failure> {
    let (model, _) = model(store, &common.model, common.seed).await?;
    Ok(ActorSpec {
        id: claim.lease.job,
        attempt: claim.lease.attempt,
        spec_digest: claim.spec_digest.clone(),
        seed: common.seed,
        prompt: common.prompt.clone(),
        sampling: common.sampling.clone(),
        verifier: common.verifier.clone(),
        outside: Outside::default(),
        model,
        training: Trained::Nothing,
        quantize: None,
        bases: None,
        directory: store.files().job(claim.lease.job),
        precision,
        device: device.clone(),
        collective: Arc::new(Alone),
    })
}

/// The directory of a complete rollout set.
async fn rollout_set(store: &Store, id: RolloutSetId) -> Result<PathBuf, Failure> {
    let row = store.rollout_set(id).await.map_err(failed)?;
    let content = row.content.ok_or_else(|| internal(format!("the rollout set {id} is not complete")))?;
    store.place().fetch_artifact(&content.artifact).await.map_err(unread)
}

/// A stored file or folder on this worker's disk.
async fn fetch(store: &Store, what: &Location) -> Result<PathBuf, Failure> {
    store.place().fetch(what).await.map_err(failed)
}

/// A stored file that cannot be read.
pub(super) fn unread(error: io::Error) -> Failure {
    if Damaged::is(&error) {
        let code = String::from("data_damaged");
        return Failure { kind: FailureKind::InvalidData, code, message: error.to_string() };
    }
    EngineError::Io { action: "reading", path: String::from("a stored file"), source: error }.failure()
}

/// What the job fails with when something that it needs cannot be had.
pub(super) fn failed(error: StoreError) -> Failure {
    match error {
        StoreError::NotFound { .. } => {
            Failure { kind: FailureKind::InvalidData, code: String::from("not_found"), message: error.to_string() }
        }
        StoreError::Io { action, path, source } => EngineError::Io { action, path, source }.failure(),
        StoreError::Full(_) => EngineError::full("writing to").failure(),
        other => internal(chain(&other)),
    }
}

/// Where a model is, and the chat template that belongs to it if it is an adapter with one of its own. `seed` is what a
/// built-in without weights draws them from.
pub(super) async fn model(
    store: &Store,
    reference: &ModelRef,
    seed: u64,
) -> Result<(ModelSource, Option<String>), Failure> {
    let name = reference.to_string();
    let source = |path: PathBuf, name: String| ModelSource { path, seed: None, adapter: None, name };
    Ok(match *reference {
        ModelRef::Builtin(builtin) => {
            let path = unpack(store, builtin).map_err(failed)?;
            (ModelSource { seed: builtin.from_scratch.then_some(seed), ..source(path, name) }, None)
        }
        ModelRef::Model(id) => {
            let row = store.model(id).await.map_err(failed)?;
            let path = fetch(store, &Location::model(id)).await?;
            match &row.adapter {
                None => (source(path, row.public_name()), None),
                Some(of) => {
                    let (base, _) = Box::pin(model(store, &of.model, of.seed)).await?;
                    (ModelSource { adapter: Some(path), ..base }, None)
                }
            }
        }
        ModelRef::Checkpoint(id) => {
            let row = store.checkpoint(id).await.map_err(failed)?;
            let path = store.place().fetch_artifact(&row.artifact).await.map_err(unread)?;
            match store.adapter_of(&row).await.map_err(failed)? {
                None => (source(path, name), None),
                Some(of) => {
                    let (base, _) = Box::pin(model(store, &of.model, of.seed)).await?;
                    (ModelSource { adapter: Some(path), ..base }, of.chat_template)
                }
            }
        }
    })
}

/// What a job changes of its model.
async fn trained(store: &Store, training: &Training, seed: u64) -> Result<Trained, Failure> {
    let (adapter, masters) = (training.adapter.as_ref(), training.optimizer.masters);
    let Some(lora) = adapter else { return Ok(Trained::Weights(masters)) };
    let Some(start) = lora.start else { return Ok(Trained::Adapter(Origin::New { lora: lora.clone(), seed })) };
    let directory = match start {
        AdapterId::Model(id) => fetch(store, &Location::model(id)).await?,
        AdapterId::Checkpoint(id) => {
            let row = store.checkpoint(id).await.map_err(failed)?;
            store.place().fetch_artifact(&row.artifact).await.map_err(unread)?
        }
    };
    Ok(Trained::Adapter(Origin::Stored { directory, lora: Some(lora.clone()) }))
}

async fn dataset(store: &Store, rows: RowsRef, split: Split) -> Result<Dataset, Failure> {
    let id = match rows {
        RowsRef::Version(id) => id,
        RowsRef::Builtin(set) => return Ok(set.open(split)),
    };
    let row = store.dataset_version(id).await.map_err(failed)?;
    let columns: Columns = serde_json::from_value(row.columns).map_err(|error| internal(error.to_string()))?;
    let path = store.place().fetch_file(&Location::dataset(id).holding(&row.sha256)).await.map_err(unread)?;
    let rule: Option<SplitRule> =
        row.split.map(serde_json::from_value).transpose().map_err(|error| internal(error.to_string()))?;
    let side = move || Dataset::open(&path, columns, rule.as_ref().map(|rule| (rule, split)));
    let open = tokio::task::spawn_blocking(side);
    match open.await {
        Ok(Ok(rows)) => Ok(rows),
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
    // What another machine has kept of it.
    for kept in [PARTS_FOLDER, SAMPLE_FOLDER] {
        store.place().fetch(&Location::job(claim.lease.job).within(kept)).await?;
    }
    let folder = store.files().job(claim.lease.job);
    std::fs::create_dir_all(&folder).map_err(|e| StoreError::io("creating", &folder, e))?;
    let entries = std::fs::read_dir(&folder).map_err(|e| StoreError::io("listing", &folder, e))?;
    for entry in entries {
        let path = entry.map_err(|e| StoreError::io("listing", &folder, e))?.path();
        // What was sampled is kept; the next attempt goes on from it.
        if path.file_name().is_some_and(|name| name == PARTS_FOLDER || name == SAMPLE_FOLDER) {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !store.is_artifact(&Location::job(claim.lease.job).within(&name)).await? {
            tracing::info!(path = %path.display(), "removing an unfinished artifact");
            std::fs::remove_dir_all(&path).map_err(|e| StoreError::io("removing", &path, e))?;
        }
    }
    Ok(())
}
