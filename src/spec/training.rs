//! Jobs that train.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Attributes, Common, ModelRef, Resolved, RowsRef, TeacherRef, Work, first, reference, scorer};
use crate::job::adapter::{AdapterSpec, Lora};
use crate::job::metadata::check_metadata;
use crate::job::spec::{
    CheckpointSpec, Curriculum, DatasetSpec, EvalSpec, OptimizerSpec, ResourceSpec, RolloutSpec, SamplingSpec,
    TrainSpec, parse_object,
};
use crate::job::{BudgetSpec, FieldError, GateSpec, RolloutSetId, field};
use crate::{objective, verifier};

/// A training job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobSpec {
    /// A name for people; need not be unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub name: Option<String>,
    /// The model to start from: one of the hub (`hf:owner/name`, also with `@revision` or `/file.gguf`), an imported one
    /// (`mdl_...` or its name), an inference checkpoint of an earlier job (`ckpt_...`, `ft:JOB`) or a built-in
    /// (`builtin:arith-tiny`, `builtin:arith-scratch`, `builtin:arith-small-scratch`).
    pub model: String,
    pub dataset: DatasetSpec,
    /// How completions are scored: a stored verifier (`vf_...`) or an inline one. Required unless the objective does
    /// without rewards (`sft` on a data set, `vopd`) or takes them from a stored rollout set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verifier: Option<Value>,
    /// Refuse the job unless the last audit of the verifier on the training rows has found it trusted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub require_audit: bool,
    /// What is optimised: `{"type": ..., ...}`; `GET /v1/objectives` lists the types and their fields.
    pub objective: Value,
    /// Train an adapter beside the frozen model, in the place of all its weights (`null`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<AdapterSpec>,
    #[serde(default)]
    pub sampling: SamplingSpec,
    #[serde(default)]
    pub optimizer: OptimizerSpec,
    #[serde(default)]
    pub train: TrainSpec,
    #[serde(default)]
    pub rollouts: RolloutSpec,
    #[serde(default)]
    pub eval: EvalSpec,
    #[serde(default)]
    pub checkpoints: CheckpointSpec,
    #[serde(default)]
    pub resources: ResourceSpec,
    /// What the job may use of the devices; without it there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetSpec>,
    /// What the finished model must reach; `result.gate` says whether it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateSpec>,
    /// Of a project's jobs those with a higher priority are claimed first; equal ones in the order of submission.
    #[serde(default)]
    pub priority: i32,
    /// The root of every random choice of the job.
    #[serde(default)]
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    pub seed: u64,
    /// Up to 16 pairs of your own.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}

/// What the names in a submitted spec were found to stand for.
#[derive(Clone, Debug)]
pub struct Pinned {
    pub model: ModelRef,
    pub rows: RowsRef,
    pub held_out: Option<RowsRef>,
    pub verifier: Option<verifier::Config>,
    /// Its teacher, if it has one, is the one that was found.
    pub objective: objective::Config,
    pub adapter: Option<Lora>,
    /// Of `rollouts`.
    pub stored: Option<RolloutSetId>,
}

/// What a job that trains does, resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Training {
    pub rows: RowsRef,
    /// Rows for evaluation.
    pub held_out: Option<RowsRef>,
    /// Which rows come when.
    pub curriculum: Curriculum,
    pub objective: objective::Config,
    /// What is trained in the place of all weights.
    pub adapter: Option<Lora>,
    pub optimizer: OptimizerSpec,
    pub train: TrainSpec,
    pub rollouts: RolloutSpec<RolloutSetId>,
    pub eval: EvalSpec,
    pub checkpoints: CheckpointSpec,
    pub gate: Option<GateSpec>,
    pub require_audit: bool,
}

impl JobSpec {
    /// Reads and checks everything that does not need the objective, the verifier or the store.
    pub fn parse(value: &Value) -> Result<Self, Vec<FieldError>> {
        let (spec, outside): (Self, _) = parse_object(value)?;
        field::all([
            Err(outside),
            spec.rollouts.check(&spec.train),
            spec.resources.check(spec.adapter.is_some()),
            spec.eval.check(),
            spec.optimizer.check(spec.adapter.is_some()),
            spec.gate.map_or(Ok(()), |gate| gate.check(&spec.eval)),
            spec.dataset.check(),
            check_metadata(&spec.metadata),
        ])?;
        Ok(spec)
    }

    /// The spec with everything that it names in the place of the names.
    pub fn pin(self, pinned: Pinned) -> (Attributes, Common, Training) {
        let attributes =
            Attributes { name: self.name, priority: self.priority, metadata: self.metadata, budget: self.budget };
        let common = Common {
            model: pinned.model,
            prompt: self.dataset.prompt(),
            verifier: pinned.verifier,
            sampling: self.sampling,
            resources: self.resources,
            seed: self.seed,
        };
        let training = Training {
            rows: pinned.rows,
            held_out: pinned.held_out,
            curriculum: self.dataset.curriculum(),
            objective: pinned.objective,
            adapter: pinned.adapter,
            optimizer: self.optimizer,
            train: self.train,
            rollouts: self.rollouts.pin(pinned.stored),
            eval: self.eval,
            checkpoints: self.checkpoints,
            gate: self.gate,
            require_audit: self.require_audit,
        };
        (attributes, common, training)
    }

    /// Reads the references of a spec that was resolved before.
    pub(super) fn into_resolved(self) -> Result<(Attributes, Resolved), FieldError> {
        let stored = self.rollouts.stored().map(|set| {
            set.parse().map_err(|error: crate::job::id::InvalidId| {
                FieldError::new("/rollouts", "invalid_value", error.to_string())
            })
        });
        let objective = objective::Config::read(&self.objective, "/objective").map_err(first)?;
        if let Some(teacher) = objective.teacher() {
            reference::<TeacherRef>(teacher, "/objective/teacher")?;
        }
        let pinned = Pinned {
            model: reference(&self.model, "/model")?,
            rows: reference(&self.dataset.train, "/dataset/train")?,
            held_out: self.dataset.eval.as_deref().map(|rows| reference(rows, "/dataset/eval")).transpose()?,
            verifier: scorer(self.verifier.as_ref())?,
            objective,
            adapter: self.adapter.as_ref().map(|adapter| adapter.resolve(None).map_err(first)).transpose()?,
            stored: stored.transpose()?,
        };
        let (attributes, common, training) = self.pin(pinned);
        Ok((attributes, training.of(common)))
    }
}

impl Training {
    /// The whole spec.
    pub fn of(self, common: Common) -> Resolved {
        Resolved { common, work: Work::Train(Box::new(self)) }
    }

    /// The model that the objective distils from.
    pub fn teacher(&self) -> Option<TeacherRef> {
        let teacher = self.objective.teacher()?.parse();
        Some(teacher.expect("a resolved objective names a teacher that was found"))
    }

    /// The SHA-256 that the weights of that model must have.
    pub fn teacher_sha256(&self) -> Option<&str> {
        self.objective.teacher_sha256()
    }

    /// The spec in the form in which it is submitted, without what may change of it.
    pub(super) fn to_spec(&self, common: &Common) -> JobSpec {
        let Common { model, prompt, verifier, sampling, resources, seed } = common.clone();
        JobSpec {
            name: None,
            model: model.to_string(),
            dataset: DatasetSpec::of(self.rows.to_string(), self.held_out.map(|rows| rows.to_string()), prompt)
                .in_order(self.curriculum.clone()),
            verifier: verifier.map(|verifier| verifier.resolved()),
            require_audit: self.require_audit,
            objective: self.objective.resolved(),
            adapter: self.adapter.as_ref().map(Lora::to_spec),
            sampling,
            optimizer: self.optimizer.clone(),
            train: self.train.clone(),
            rollouts: self.rollouts.named(),
            eval: self.eval.clone(),
            checkpoints: self.checkpoints.clone(),
            resources,
            budget: None,
            gate: self.gate,
            priority: 0,
            seed,
            metadata: BTreeMap::new(),
        }
    }
}
