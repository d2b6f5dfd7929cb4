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
use crate::job::rollout_set::{PARTS_FOLDER, SAMPLE_FOLDER};
use crate::job::spec::Precision;
use crate::job::{Failure, FailureKind, GateSpec, RolloutSetId};
use crate::modelfile::builtin::Builtin;
use crate::spec::{self, Common, EvaluationSplit, ModelRef, Resolved, RowsRef, TeacherRef, Training};
use crate::store::{Claim, Damaged, Keep, Location, Materials, StoreError, StoredFolder, StoredModel, Weights};
use crate::verifier::Outside;

use super::ledger::Ledger;
use super::patience::patiently;
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

    /// Whether its ranks divide the optimizer's moments among them.
    pub fn is_sharded(&self) -> bool {
        matches!(self, Self::Train(job) if job.spec.optimizer.sharded)
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
    ledger: &dyn Ledger,
    claim: &Claim,
    (device, bases): (&Device, &Bases),
    outside: &Outside,
) -> Result<Work, Failure> {
    let materials = patiently(|| ledger.materials(claim)).await.map_err(failed)?;
    let stock = Stock { ledger, materials: &materials };
    // A process that only takes part holds no device and removes nothing.
    if !claim.devices.is_empty() {
        stock.sweep(claim).await.map_err(failed)?;
    }
    let Resolved { common, work } = &*claim.spec;
    let training = match work {
        spec::Work::Train(training) => stock.trained(training, common.seed).await?,
        spec::Work::Sample(_) | spec::Work::Regrade(_) | spec::Work::Evaluate(_) => Trained::Nothing,
    };
    let quantize = match work {
        spec::Work::Train(training) => training.adapter.as_ref().and_then(|adapter| adapter.quantize),
        spec::Work::Sample(_) | spec::Work::Regrade(_) | spec::Work::Evaluate(_) => None,
    };
    let bases = common.resources.share_base.then(|| bases.clone());
    let actor = stock.actor(claim, device, common, work.precision()).await?;
    let actor = ActorSpec { training, quantize, bases, outside: outside.clone(), ..actor };
    Ok(match work {
        spec::Work::Train(training) => Work::Train(Box::new(stock.training_job(claim, actor, training).await?)),
        spec::Work::Sample(sampling) => {
            let rows = stock.dataset(sampling.rows, Split::Train).await?;
            Work::Sample(Box::new(SamplingJob { actor, spec: sampling.clone(), rows }))
        }
        spec::Work::Regrade(regrading) => {
            let rows = stock.dataset(regrading.rows, Split::Train).await?;
            let source = stock.rollout_set(regrading.source).await?;
            Work::Regrade(Box::new(RegradingJob { actor, source, rows }))
        }
        spec::Work::Evaluate(evaluating) => {
            let split = match evaluating.split {
                Some(EvaluationSplit::Train) => Split::Train,
                Some(EvaluationSplit::Eval) | None => Split::Eval,
            };
            let rows = stock.dataset(evaluating.rows, split).await?;
            Work::Evaluate(Box::new(EvaluationJob { actor, spec: evaluating.clone(), rows }))
        }
    })
}

/// What a job reads, and where it is brought from.
struct Stock<'a> {
    ledger: &'a dyn Ledger,
    materials: &'a Materials,
}

impl Stock<'_> {
    async fn training_job(&self, claim: &Claim, actor: ActorSpec, training: &Training) -> Result<Job, Failure> {
        let teacher = match training.teacher() {
            None => None,
            Some(TeacherRef::Path(path)) => {
                Some(ModelSource { name: path.display().to_string(), path, seed: None, adapter: None })
            }
            Some(TeacherRef::Model(reference)) => Some(self.model(&reference, claim.spec.common.seed).await?),
        };
        let stored = match training.rollouts.stored() {
            Some(set) => Some(self.rollout_set(*set).await?),
            None => None,
        };
        let mut train = self.dataset(training.rows, Split::Train).await?;
        if let Some(count) = training.curriculum.rows {
            train = engine::chosen_rows(train, count, claim.spec.common.seed);
        }
        let eval = match training.held_out {
            None => None,
            Some(rows) => Some(self.dataset(rows, Split::Eval).await?),
        };
        let mut resume = Vec::new();
        for checkpoint in &claim.resume {
            resume.push(patiently(|| self.ledger.place().fetch(checkpoint)).await.map_err(failed)?);
        }
        // Ranks may have processors of several kinds, whose sums must be the same.
        let products = match &actor.device {
            Device::Cpu if claim.spec.common.resources.devices == 1 => {
                crate::engine::products(actor.precision, &resume)
            }
            _ => actor.products,
        };
        Ok(Job {
            actor: ActorSpec { products, ..actor },
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
        &self,
        claim: &Claim,
        device: &Device,
        common: &Common,
        precision: Precision,
    ) -> Result<ActorSpec, Failure> {
        Ok(ActorSpec {
            id: claim.lease.job,
            attempt: claim.lease.attempt,
            spec_digest: claim.spec_digest.clone(),
            seed: common.seed,
            prompt: common.prompt.clone(),
            sampling: common.sampling.clone(),
            verifier: common.verifier.clone(),
            outside: Outside::default(),
            model: self.model(&common.model, common.seed).await?,
            training: Trained::Nothing,
            quantize: None,
            bases: None,
            directory: self.ledger.files().job(claim.lease.job),
            precision,
            products: precision.into(),
            device: device.clone(),
            collective: Arc::new(Alone),
        })
    }

    /// The directory of a complete rollout set.
    async fn rollout_set(&self, id: RolloutSetId) -> Result<PathBuf, Failure> {
        let folder = self.materials.rollout_sets.get(&id).ok_or_else(|| missing(id))?;
        bring(self.ledger, folder).await
    }

    async fn model(&self, reference: &ModelRef, seed: u64) -> Result<ModelSource, Failure> {
        if let ModelRef::Builtin(builtin) = reference {
            return self::builtin(self.ledger, builtin, seed).map_err(failed);
        }
        let model = self.materials.models.get(&reference.to_string()).ok_or_else(|| missing(reference))?;
        source(self.ledger, model).await
    }

    /// What a job changes of its model.
    async fn trained(&self, training: &Training, seed: u64) -> Result<Trained, Failure> {
        let (adapter, masters) = (training.adapter.as_ref(), training.optimizer.masters);
        let Some(lora) = adapter else { return Ok(Trained::Weights(masters)) };
        let Some(start) = lora.start else { return Ok(Trained::Adapter(Origin::New { lora: lora.clone(), seed })) };
        let stored = self.materials.models.get(&start.to_string()).and_then(|model| model.adapter.as_ref());
        let directory = bring(self.ledger, stored.ok_or_else(|| missing(start))?).await?;
        Ok(Trained::Adapter(Origin::Stored { directory, lora: Some(lora.clone()) }))
    }

    async fn dataset(&self, rows: RowsRef, split: Split) -> Result<Dataset, Failure> {
        let id = match rows {
            RowsRef::Version(id) => id,
            RowsRef::Builtin(set) => return Ok(set.open(split)),
        };
        let row = self.materials.rows.get(&id).ok_or_else(|| missing(id))?;
        let columns: Columns =
            serde_json::from_value(row.columns.clone()).map_err(|error| internal(error.to_string()))?;
        let file = row.location.clone().holding(&row.sha256);
        let path = self.ledger.place().fetch_file(&file).await.map_err(unread)?;
        let rule = row.split.clone().map(serde_json::from_value).transpose();
        let rule: Option<SplitRule> = rule.map_err(|error: serde_json::Error| internal(error.to_string()))?;
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

    /// Removes what crashed attempts of the job left behind: directories that no row knows.
    async fn sweep(&self, claim: &Claim) -> Result<(), StoreError> {
        let place = self.ledger.place();
        // What another machine has kept of it.
        for kept in [PARTS_FOLDER, SAMPLE_FOLDER] {
            let kept = Location::job(claim.lease.job).within(kept);
            patiently(|| place.fetch(&kept)).await?;
        }
        let folder = self.ledger.files().job(claim.lease.job);
        std::fs::create_dir_all(&folder).map_err(|e| StoreError::io("creating", &folder, e))?;
        let entries = std::fs::read_dir(&folder).map_err(|e| StoreError::io("listing", &folder, e))?;
        for entry in entries {
            let path = entry.map_err(|e| StoreError::io("listing", &folder, e))?.path();
            // What was sampled is kept; the next attempt goes on from it.
            if path.file_name().is_some_and(|name| name == PARTS_FOLDER || name == SAMPLE_FOLDER) {
                continue;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !self.materials.made.contains(&Location::job(claim.lease.job).within(&name)) {
                tracing::info!(path = %path.display(), "removing an unfinished artifact");
                let removed = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
                removed.map_err(|e| StoreError::io("removing", &path, e))?;
            }
        }
        Ok(())
    }
}

/// Something that the spec refers to and whoever claimed the job was not told of.
fn missing(id: impl std::fmt::Display) -> Failure {
    internal(format!("where {id} lies was not said"))
}

/// A stored folder on this worker's disk.
async fn bring(ledger: &dyn Ledger, folder: &StoredFolder) -> Result<PathBuf, Failure> {
    ledger.place().fetch_folder(folder).await.map_err(unread)
}

/// A stored model on this worker's disk.
pub(super) async fn source(ledger: &dyn Ledger, model: &StoredModel) -> Result<ModelSource, Failure> {
    let whole = match &model.weights {
        Weights::Builtin { name, seed } => {
            let builtin = Builtin::find(name).ok_or_else(|| internal(format!("this program has no {name}")))?;
            self::builtin(ledger, builtin, *seed).map_err(failed)?
        }
        Weights::Folder(folder) => {
            let path = bring(ledger, folder).await?;
            ModelSource { path, seed: None, adapter: None, name: model.name.clone() }
        }
    };
    let adapter = match &model.adapter {
        None => None,
        Some(folder) => Some(bring(ledger, folder).await?),
    };
    Ok(ModelSource { adapter, ..whole })
}

/// Puts a built-in model's files where the engine can read them. `seed` is what weights are drawn from that are not among
/// them.
fn builtin(ledger: &dyn Ledger, builtin: &Builtin, seed: u64) -> Result<ModelSource, StoreError> {
    let files = ledger.files();
    let target = files.builtin_model(builtin.name, &builtin.digest());
    let source = ModelSource {
        path: target.clone(),
        seed: builtin.from_scratch.then_some(seed),
        adapter: None,
        name: builtin.name.to_owned(),
    };
    if target.exists() {
        return Ok(source);
    }
    let temporary = files.upload();
    std::fs::create_dir_all(&temporary).map_err(|e| StoreError::io("creating", &temporary, e))?;
    for (name, bytes) in builtin.files {
        let path = temporary.join(name);
        crate::engine::artifact::write_synced(&path, bytes)
            .map_err(|e| StoreError::io("writing", &path, std::io::Error::other(e)))?;
    }
    match crate::store::files::publish(&temporary, &target) {
        // Another worker was faster; its files are the same.
        Err(_) if target.exists() => {
            std::fs::remove_dir_all(&temporary).map_err(|e| StoreError::io("removing", &temporary, e))?;
        }
        result => result?,
    }
    Ok(source)
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
        StoreError::NotFound { .. } | StoreError::Server { status: 404, .. } => {
            Failure { kind: FailureKind::InvalidData, code: String::from("not_found"), message: error.to_string() }
        }
        StoreError::Io { action, path, source } => EngineError::Io { action, path, source }.failure(),
        StoreError::Full(source) if source.is::<io::Error>() => EngineError::full_disk("writing to").failure(),
        StoreError::Full(_) => EngineError::full("writing to").failure(),
        other => internal(chain(&other)),
    }
}
