//! From a submitted spec to a job that can run: everything is checked that can be checked before a device is used.

use serde_json::Value;

use super::adapter::{self, Adapter};
use super::curriculum;
use super::stored_rollouts;
use crate::api::App;
use crate::api::error::Problem;
use crate::api::imports::Pull;
use crate::api::resolve::{self, FoundRows, Model, Scoring, collect};
use crate::api::resources::{self, Saving};
use crate::api::teacher::{self, Teacher};
use crate::dataset::Split;
use crate::job::adapter::AdapterInit;
use crate::job::digest;
use crate::job::memory::{self, Beside, Coded, Machine, MemoryNeed, PROMPT_TOKENS, Sampled, Shape};
use crate::job::savings::savings;
use crate::job::spec::{Masters, OptimizerKind, Recompute, SamplingSpec, TrainSpec};
use crate::job::{FieldError, RolloutSetId, VerifierId};
use crate::objective::{self, Sections};
use crate::spec::{Attributes, Common, JobSpec, ModelRef, Pinned, Resolved, RowsRef, TeacherRef, Training};
use crate::store::{NewJob, NewRolloutSet, Store};
use crate::telemetry;
use crate::verifier;

/// A spec that can run, and what was found on the way.
#[derive(Debug)]
pub struct Resolution {
    pub submitted: Value,
    pub attributes: Attributes,
    pub common: Common,
    pub training: Training,
    /// The stored verifier whose configuration the spec holds.
    pub verifier: Option<VerifierId>,
    pub model: Model,
    /// Of the model.
    pub parameters: u64,
    /// What decides about the memory that it needs.
    pub estimate: Estimate,
}

impl Resolution {
    /// Whether its model has experts.
    pub fn has_experts(&self) -> bool {
        self.estimate.shape.experts > 0
    }
}

/// What decides about a job's memory besides its spec.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    shape: Shape,
    beside: Beside,
    machine: Machine,
}

impl Estimate {
    /// What a job needs on each of its devices.
    fn need(&self, train: &TrainSpec, sampling: &SamplingSpec) -> MemoryNeed {
        memory::of_training(&self.shape, (train, sampling), self.beside, &self.machine)
    }

    fn savings(&self, train: &TrainSpec, sampling: &SamplingSpec) -> Vec<Saving> {
        savings(&self.shape, (train, sampling), self.beside, &self.machine)
    }
}

/// Checks a spec, fills in its defaults and pins its references to immutable things.
pub async fn resolve(app: &App, pull: Pull, submitted: Value) -> Result<Resolution, Problem> {
    let (store, finder) = (&app.store, app.finder(pull));
    let mut spec = JobSpec::parse(&submitted).map_err(Problem::invalid)?;
    let mut errors = Vec::new();
    let objective = collect(objective::Config::parse(&spec.objective, "/objective"), &mut errors);
    let sections = Sections { train: &spec.train, sampling: &spec.sampling, rollouts: &spec.rollouts };
    errors
        .extend(objective.as_ref().and_then(|config| objective::check(config, &sections).err()).into_iter().flatten());
    let needs = objective.as_ref().map(|config| config.build(&spec.train).needs()).unwrap_or_default();
    // Stored completions have their rewards.
    let scores = needs.verifier && spec.rollouts.from.is_none();
    let scoring = collect(resolve::verifier(app, spec.verifier.as_ref(), scores).await?, &mut errors);
    let scoring = scoring.unwrap_or_default();
    errors.extend(turns_and_suite(app, &mut spec, &scoring).await?);
    let model = resolve::model(finder, &spec.model, spec.seed, ("/model", "unknown_model")).await?;
    let model = collect(model.map_err(Some), &mut errors);
    let train = resolve::training_rows(store, &spec.dataset.train, scoring.config.as_ref(), needs.completions).await?;
    let found = collect(train, &mut errors);
    if let Some(found) = &found {
        errors.extend(curriculum::check(store, &spec, found, needs, scoring.config.is_some()).await?);
    }
    let rows = found.as_ref().map(FoundRows::reference);
    let held_out = held_out_rows(store, &spec, found.as_ref(), scoring.config.as_ref(), &mut errors).await?;
    errors.extend(lacking(&spec, objective.as_ref(), held_out, scoring.config.is_some()));
    if spec.require_audit {
        errors.extend(unaudited(store, scoring.config.as_ref(), rows).await?);
    }
    let (mut teacher, mut stored, mut adapter) = (None, None, None);
    if let (Some(wanted), Some(model)) = (&spec.adapter, &model) {
        adapter = collect(adapter::check(finder, wanted, spec.seed, model).await?, &mut errors);
    }
    if let (Some(objective), Some(model)) = (&objective, &model) {
        let set = stored_rollouts::check(store, &spec, objective, model).await?;
        stored = collect(set, &mut errors).flatten();
        if let Some(name) = objective.teacher() {
            let named = (name, objective.teacher_sha256());
            let check = teacher::check(finder, named, spec.seed, model).await?;
            teacher = collect(check.map_err(Some), &mut errors);
        }
    }
    let (Some(objective), Some(model), Some(rows), []) = (objective, model, rows, errors.as_slice()) else {
        return Err(Problem::invalid(errors));
    };
    let objective = match &teacher {
        None => objective,
        Some(teacher) => objective.with_teacher(teacher.reference.to_string(), teacher.sha256.clone()),
    };
    let shape = resources::shape(&model.files).await?.map_err(|error| Problem::invalid(vec![error]))?;
    let kept = Kept { adapter: adapter.as_ref(), teacher: teacher.as_ref(), model: &model.reference };
    let beside = beside(&spec, &objective, held_out.is_some(), kept);
    let estimate = Estimate { shape, beside, machine: resources::machine(store).await? };
    errors.extend(without_experts(&spec, &estimate.shape));
    errors.extend(on_cpu_only(&spec, &estimate.machine));
    let (recompute, refused) = recompute(store, &estimate, &spec).await?;
    spec.train.recompute = recompute;
    errors.extend(refused);
    if !errors.is_empty() {
        return Err(Problem::invalid(errors));
    }
    let prompt = resolve::prompts(store, &model, spec.dataset.prompt(), "/dataset").await?;
    let prompt = prompt.map_err(|error| Problem::invalid(vec![error]))?;
    let verifier = scoring.stored;
    let adapter = adapter.map(|adapter| adapter.lora);
    let pinned =
        Pinned { model: model.reference, rows, held_out, verifier: scoring.config, objective, adapter, stored };
    let (attributes, common, training) = spec.pin(pinned);
    let common = Common { prompt, ..common };
    Ok(Resolution { submitted, attributes, common, training, verifier, model, parameters: shape.parameters, estimate })
}

/// Checks what answers the model's turns, and pins the suite that the finished model is evaluated on.
async fn turns_and_suite(app: &App, spec: &mut JobSpec, scoring: &Scoring) -> Result<Vec<FieldError>, Problem> {
    let mut errors = resolve::environment(app, &spec.sampling, scoring);
    if let Some(name) = &spec.eval.suite {
        let suite = collect(resolve::suite(app, name, "/eval/suite").await?, &mut errors);
        spec.eval.suite = suite.map(|id| id.to_string());
    }
    Ok(errors)
}

/// Whether intermediate results are computed again, and why no device will do. Left open, they are where it takes that.
async fn recompute(
    store: &Store,
    estimate: &Estimate,
    spec: &JobSpec,
) -> Result<(Recompute, Vec<FieldError>), Problem> {
    let choices = match spec.train.recompute {
        Recompute::Auto(_) => &[false, true][..],
        Recompute::Set(set) => &[set][..],
    };
    let mut decided = (spec.train.recompute, Vec::new());
    for choice in choices {
        let train = TrainSpec { recompute: Recompute::Set(*choice), ..spec.train.clone() };
        let (need, savings) = (estimate.need(&train, &spec.sampling), || estimate.savings(&train, &spec.sampling));
        decided = (train.recompute, resources::check(store, &spec.resources, &need, savings).await?);
        if decided.1.is_empty() {
            break;
        }
    }
    Ok(decided)
}

/// The rows for evaluation; what is split brings its own along, if there are any.
async fn held_out_rows(
    store: &Store,
    spec: &JobSpec,
    train: Option<&FoundRows>,
    verifier: Option<&verifier::Config>,
    errors: &mut Vec<FieldError>,
) -> Result<Option<RowsRef>, Problem> {
    match (&spec.dataset.eval, train) {
        (Some(name), _) => {
            let rows = resolve::scored_rows(store, name, verifier, "/dataset/eval").await?;
            let rows = rows.and_then(|rows| rows.check_side(Split::Eval, "/dataset/eval").map(|()| rows.reference()));
            Ok(collect(rows.map_err(Some), errors))
        }
        (None, Some(rows)) => {
            let holds_out = rows.is_split() && rows.check_side(Split::Eval, "/dataset/eval").is_ok();
            Ok(holds_out.then(|| rows.reference()))
        }
        (None, None) => Ok(None),
    }
}

/// What is kept beside a model.
struct Kept<'a> {
    adapter: Option<&'a Adapter>,
    teacher: Option<&'a Teacher>,
    model: &'a ModelRef,
}

fn beside(spec: &JobSpec, objective: &objective::Config, evaluates: bool, kept: Kept<'_>) -> Beside {
    let Kept { adapter, teacher, model } = kept;
    let built = objective.build(&spec.train);
    let (needs, group) = (built.needs(), built.plan().group_size);
    let trains_on_fresh = !needs.completions && spec.rollouts.from.is_none();
    let samples_groups = trains_on_fresh || objective.held_out_prompts() > 0;
    // Small groups have more prompts.
    let groups = [samples_groups.then_some(group), evaluates.then_some(spec.eval.samples)];
    let group = groups.into_iter().flatten().min();
    let prompt_tokens = spec.dataset.max_prompt_tokens.map_or(PROMPT_TOKENS, |most| PROMPT_TOKENS.min(most.into()));
    // An adapter's teacher may be the model that it is beside.
    let of_teacher = |teacher: &Teacher| match &teacher.reference {
        TeacherRef::Model(other) if adapter.is_some() && other == model => {
            Shape { parameters: 0, matrices: 0, coded: Coded::default(), ..teacher.shape }
        }
        TeacherRef::Model(_) | TeacherRef::Path(_) => teacher.shape,
    };
    Beside {
        adapter: adapter.map(|adapter| adapter.parameters),
        taken: adapter
            .filter(|adapter| adapter.lora.init == AdapterInit::Pissa)
            .map_or(0, |adapter| adapter.parameters),
        magnitudes: adapter.is_some_and(|adapter| adapter.lora.dora),
        int8: adapter.is_some_and(|adapter| adapter.lora.quantize.is_some()),
        moments: spec.optimizer.state,
        muon: spec.optimizer.kind == OptimizerKind::Muon,
        masters: spec.optimizer.masters,
        devices: spec.resources.least().devices(),
        shards: if spec.optimizer.sharded { spec.resources.least().devices() } else { 1 },
        // An adapter's reference is the model without it.
        reference: adapter.is_none() && (needs.reference || (spec.train.track_reference && !needs.completions)),
        teacher: teacher.map(of_teacher),
        entropy: needs.entropy,
        sampled: group.map(|group| Sampled { group, prompt_tokens }),
    }
}

impl Resolution {
    /// The resolved spec.
    pub fn resolved(&self) -> Resolved {
        self.training.clone().of(self.common.clone())
    }

    /// What of the spec the objective has to fit.
    pub fn sections(&self) -> Sections<'_, RolloutSetId> {
        let Training { train, rollouts, .. } = &self.training;
        Sections { train, sampling: &self.common.sampling, rollouts }
    }

    /// What it needs on each of its devices; with the tokens of the longest of its prompts, where they are known.
    pub fn memory(&self, prompt_tokens: Option<u64>) -> MemoryNeed {
        let mut estimate = self.estimate;
        if let (Some(sampled), Some(tokens)) = (&mut estimate.beside.sampled, prompt_tokens) {
            sampled.prompt_tokens = tokens;
        }
        estimate.need(&self.training.train, &self.common.sampling)
    }

    /// The job to submit, with the rollout set that it fills if it keeps what it samples.
    pub fn into_job(self) -> NewJob {
        let rollout_set = self.training.rollouts.keep.then(|| NewRolloutSet {
            id: RolloutSetId::generate(),
            name: self.attributes.name.clone(),
            model: self.model.reference.to_string(),
            model_digest: self.model.digest.clone().unwrap_or_default(),
            tokenizer_digest: self.model.tokenizer_digest.clone(),
            spec: None,
            metadata: self.attributes.metadata.clone(),
        });
        let need = self.memory(None);
        let resolved = self.training.of(self.common);
        let base = resources::base(&resolved, &self.model, &need);
        let job = NewJob::of(self.submitted, self.attributes, resolved, need.total())
            .traced(telemetry::current())
            .with_base(base);
        NewJob { rollout_set, ..job.with_verifier(self.verifier) }
    }
}

/// What is asked of experts, where there are none.
fn without_experts(spec: &JobSpec, shape: &Shape) -> Option<FieldError> {
    let asked = spec.train.router_aux_loss_coef > 0.0 && shape.experts == 0;
    let detail = "is the weight of a loss over experts, and the model has none; leave it out";
    asked.then(|| FieldError::new("/train/router_aux_loss_coef", "invalid_value", detail))
}

/// What is asked for and only the CPU computes, where jobs run on GPUs.
fn on_cpu_only(spec: &JobSpec, machine: &Machine) -> Vec<FieldError> {
    const THERE: &str = "on the CPU only, and the jobs of this server run on GPUs; leave it out";
    let asked = [
        (spec.optimizer.masters == Masters::Bf16, "/optimizer/masters", "weights are trained in bf16"),
        (spec.sampling.weights.is_some(), "/sampling/weights", "other weights than those that are trained sample"),
    ];
    let on_gpus = asked.into_iter().filter(|(is_asked, ..)| *is_asked && *machine == Machine::CUDA);
    on_gpus.map(|(_, pointer, what)| FieldError::new(pointer, "cpu_only", format!("{what} {THERE}"))).collect()
}

/// Why the verifier is not to be trusted on these rows, by its last audit.
async fn unaudited(
    store: &Store,
    verifier: Option<&verifier::Config>,
    rows: Option<RowsRef>,
) -> Result<Option<FieldError>, Problem> {
    const POINTER: &str = "/require_audit";
    let Some(verifier) = verifier else {
        let detail = "there is no verifier to audit; add one, or leave it out";
        return Ok(Some(FieldError::new(POINTER, "invalid_value", detail)));
    };
    // What is wrong with the rows is said already.
    let Some(rows) = rows else { return Ok(None) };
    let audit = store.audit_of(&digest::of_json(&verifier.resolved()), &rows.to_string()).await?;
    let detail = match audit {
        Some(audit) if audit.trusted => return Ok(None),
        Some(audit) => format!(
            "the last audit of this verifier on {rows} finds it suspicious: {}; mend the verifier or the rows, and audit it \
             again",
            audit.reasons.join("; ")
        ),
        None => format!(
            "this verifier was not audited on {rows}; store it, and POST /v1/verifiers/{{id}}/audit with that data set, or \
             `anneal verifiers audit`"
        ),
    };
    Ok(Some(FieldError::new(POINTER, "not_audited", detail)))
}

/// What a spec asks for that needs what it has not.
fn lacking(
    spec: &JobSpec,
    objective: Option<&objective::Config>,
    held_out: Option<RowsRef>,
    judges: bool,
) -> Vec<FieldError> {
    let of_objective = objective
        .map(|objective| [without_held_out(spec, objective, held_out, judges), without_rewards(spec, objective)]);
    let all = [unmeasured_gate(spec, held_out)].into_iter().chain(of_objective.into_iter().flatten());
    all.flatten().collect()
}

/// Other rewards in the place of those that are learnt from need some.
fn without_rewards(spec: &JobSpec, objective: &objective::Config) -> Option<FieldError> {
    let detail =
        "the objective learns from no rewards, so that there are none to put others in the place of; leave it out";
    let lacks = spec.rollouts.control.is_some() && !objective.build(&spec.train).needs().verifier;
    lacks.then(|| FieldError::new("/rollouts/control", "invalid_value", detail))
}

/// What is to be measured on completions of held-out prompts needs prompts, verdicts, and the policy that sampled the others.
fn without_held_out(
    spec: &JobSpec,
    objective: &objective::Config,
    held_out: Option<RowsRef>,
    judges: bool,
) -> Option<FieldError> {
    let detail = if held_out.is_none() && spec.dataset.eval.is_none() {
        "there are no held-out prompts; add `dataset.eval`"
    } else if !judges {
        "nothing judges their completions; add a `verifier`"
    } else if spec.rollouts.from.is_some() && !spec.sampling.is_whole() {
        "their completions are to be of the policy that sampled the set, whose distribution other settings of `sampling` change"
    } else {
        return None;
    };
    let wants = objective.held_out_prompts() > 0;
    wants.then(|| FieldError::new("/objective/held_out_prompts", "not_evaluated", detail))
}

/// A gate judges evaluations, so that there must be some.
fn unmeasured_gate(spec: &JobSpec, held_out: Option<RowsRef>) -> Option<FieldError> {
    let evaluated = (held_out.is_some() || spec.dataset.eval.is_some()) && spec.verifier.is_some();
    let detail = "there is nothing to judge, for nothing is evaluated; add `dataset.eval` and a `verifier`";
    (spec.gate.is_some() && !evaluated).then(|| FieldError::new("/gate", "not_evaluated", detail))
}
