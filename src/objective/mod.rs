//! Objectives: what a training step optimises, each in a file that reads like its paper and knows nothing of devices,
//! packing or optimizers. The training loop knows no objective by name.
//!
//! An objective sees completions in groups of one prompt. [`Objective::begin_step`] takes in what a whole step says,
//! [`Objective::credit`] turns a group's rewards into one number per completion, in plain numbers, and
//! [`Objective::loss`] turns log-probabilities and credit into a sum over tokens. The loop masks, packs, divides by
//! [`Objective::normalizer`] of the whole step, accumulates and steps. Adding an objective is one new file, one line
//! in the list of kinds and one `pub mod`.

pub mod advantage;
pub mod advice;
pub mod bolt;
pub mod fade;
pub mod frontier;
pub mod gaps;
pub mod grpo;
pub mod math;
pub mod p3o;
pub mod paired;
pub mod policy_gradient;
pub mod preflight;
pub mod presets;
pub mod schedule;
pub mod sft;
pub mod surrogate;
pub mod vopd;

use candle_core::{Result as TensorResult, Tensor};
use serde_json::Value;

use crate::job::field::FieldError;
use crate::job::kinds;
use crate::job::spec::{RolloutSpec, TrainSpec};

use advantage::Estimator;
pub use preflight::{Sections, check, warnings};
pub use surrogate::{Clip, Ratio};

/// What an objective asks the loop to provide.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Needs {
    /// Learns from the data set's `completion` column; nothing is sampled.
    pub completions: bool,
    /// Rewards from a verifier.
    pub verifier: bool,
    /// Compares the completions of a prompt with each other.
    pub groups: bool,
    /// Log-probabilities of the sampled tokens under the model the job started from.
    pub reference: bool,
    /// The same under the policy that the steps of a sampling phase begin with.
    pub proximal: bool,
    /// The log-ratios of a whole step before its first micro-batch, which cost a forward pass of their own unless the
    /// policy is the one that sampled.
    pub log_ratios: bool,
    /// A teacher's distributions beside the policy's.
    pub teacher: Option<TeacherView>,
    /// The policy's entropy at each position; not beside a teacher.
    pub entropy: bool,
}

/// How a teacher is compared with the policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TeacherView {
    /// Divides the logits of both.
    pub temperature: f64,
    /// Restrict the divergence to the policy's k most probable tokens, both renormalised on them.
    pub top_k: Option<u32>,
}

/// Which stored completions an objective can learn from instead of fresh ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredRollouts {
    /// None: it needs its own, fresh ones, or none at all.
    Refused,
    /// Those sampled from the model the job starts from, before any step.
    OfTheStart,
    /// Those of any policy that began as the model the job starts from; the recorded log-probabilities correct for it.
    Any,
}

/// How optimizer steps and sampling phases interleave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Optimizer steps in all.
    pub steps: u64,
    /// Sampling phases.
    pub rounds: u64,
    /// Completions per prompt.
    pub group_size: u32,
    /// Most steps of a round; none when the rounds share the steps evenly.
    steps_per_round: Option<u64>,
}

impl Plan {
    /// `rounds` sampling phases that share the steps evenly.
    pub fn rounds(rounds: u64, group_size: u32, train: &TrainSpec) -> Self {
        Self { steps: train.steps, rounds, group_size, steps_per_round: None }
    }

    /// A sampling phase as often as `updates_per_rollout`, `max_staleness` and `max_lag` ask for.
    pub fn online(group_size: u32, train: &TrainSpec) -> Self {
        let (reuse, phases) = (u64::from(train.updates_per_rollout), u64::from(train.max_lag) + 1);
        let length = train.max_staleness.map_or(reuse, |staleness| reuse.max((staleness + 1) / phases));
        Self { steps: train.steps, rounds: train.steps.div_ceil(length), group_size, steps_per_round: Some(length) }
    }

    /// The optimizer steps of round `round`, as a half-open range.
    pub fn steps_of(&self, round: u64) -> std::ops::Range<u64> {
        match self.steps_per_round {
            None => round * self.steps / self.rounds..(round + 1) * self.steps / self.rounds,
            Some(length) => (round * length).min(self.steps)..((round + 1) * length).min(self.steps),
        }
    }

    /// Whether completions are replaced by fresh ones after a share of the steps that the objective itself names.
    pub fn refreshes(&self) -> bool {
        self.steps_per_round.is_none() && self.rounds > 1
    }

    /// Whether sampling phases come as completions are used up.
    pub fn is_online(&self) -> bool {
        self.steps_per_round.is_some()
    }

    /// The most prompts that are sampled for any round.
    pub fn most_prompts<R>(&self, train: &TrainSpec, rollouts: &RolloutSpec<R>) -> u64 {
        // Round 0 is among the longest: the last rounds are the ones that may be shorter or, sharing evenly, longer by
        // one.
        self.prompts_of(0, train, rollouts).max(self.prompts_of(self.rounds - 1, train, rollouts))
    }

    /// The most steps that any round has.
    pub fn longest_round(&self) -> u64 {
        self.steps_per_round.unwrap_or_else(|| self.steps.div_ceil(self.rounds.max(1))).min(self.steps)
    }

    /// Prompts sampled for round `round`.
    pub fn prompts_of<R>(&self, round: u64, train: &TrainSpec, rollouts: &RolloutSpec<R>) -> u64 {
        let steps = self.steps_of(round);
        Self::prompts_for(steps.end - steps.start, train, rollouts)
    }

    /// Prompts sampled in the rounds before `round`; with [`Self::rounds`] for `round`, in all.
    pub fn prompts_before<R>(&self, round: u64, train: &TrainSpec, rollouts: &RolloutSpec<R>) -> u64 {
        let of = |round| self.prompts_of(round, train, rollouts);
        match (self.steps_per_round, round.checked_sub(1)) {
            (_, None) => 0,
            // All rounds but the last are of one length.
            (Some(_), Some(last)) => last * of(0) + of(last),
            // Rounds that share the steps have one of two lengths.
            (None, Some(last)) => {
                let short = self.steps / self.rounds;
                let longer = self.steps_of(last).end - round * short;
                let of = |steps| Self::prompts_for(steps, train, rollouts);
                longer * of(short + 1) + (round - longer) * of(short)
            }
        }
    }

    /// Prompts sampled for a round of `steps` optimizer steps; at least as many as one step takes.
    fn prompts_for<R>(steps: u64, train: &TrainSpec, rollouts: &RolloutSpec<R>) -> u64 {
        let per_step = u64::from(train.prompts_per_step) - rollouts.stored_per_step(train.prompts_per_step);
        (steps * per_step).div_ceil(u64::from(train.updates_per_rollout)).max(per_step)
    }
}

/// The scored completions of one prompt.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// Zeros without a verifier.
    pub rewards: &'a [f64],
    /// Per completion the sum over its tokens of reference - behavior log-probability; empty unless
    /// [`Needs::reference`] is set.
    pub reference_log_ratios: &'a [f64],
}

/// What the completions of a whole step say, before its first micro-batch.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepStatistics<'a> {
    /// The sampling phase that the step belongs to, from 0.
    pub round: u64,
    /// The rewards of all completions, by prompt.
    pub rewards: &'a [Vec<f64>],
    /// Mean entropy of the sampling policy per token, over the whole vocabulary at temperature 1, in nats.
    pub token_entropy: f64,
    /// Per token policy - behavior log-probability; empty when the policy is the one that sampled, so that all are 0,
    /// or when [`Needs::log_ratios`] is not set.
    pub log_ratios: &'a [f64],
    /// The policy is the one that sampled.
    pub on_policy: bool,
}

/// What a step's loss is divided by, counted over all its micro-batches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepTotals {
    /// Target tokens.
    pub tokens: f64,
    /// Completions.
    pub sequences: f64,
}

/// Per-token tensors of one shape (packed `[N]` or padded `[B, T]`), all f32.
#[derive(Clone, Copy, Debug)]
pub struct TokenBatch<'a> {
    /// Log-probability of each target token under the policy; carries the gradient.
    pub policy_logprobs: &'a Tensor,
    /// The same under the distribution it was sampled from; the policy's own, detached, where nothing was sampled.
    pub behavior_logprobs: &'a Tensor,
    /// The same under the model the job started from, if asked for.
    pub reference_logprobs: Option<&'a Tensor>,
    /// The same under the policy that the steps of the sampling phase began with, if asked for.
    pub proximal_logprobs: Option<&'a Tensor>,
    /// The teacher beside the policy, if asked for.
    pub teacher: Option<TeacherBatch<'a>>,
    /// Entropy of the policy at each position, in nats, if asked for; carries a gradient.
    pub entropy: Option<&'a Tensor>,
    /// The completion's credit on each of its tokens.
    pub credit: &'a Tensor,
    /// The number of the completion that each token belongs to (u32). All tokens of a completion are in one batch.
    pub sequences: &'a Tensor,
    /// 1 where the policy chose the token, 0 on padding.
    pub mask: &'a Tensor,
}

/// Per-token comparison with a teacher, as [`TeacherView`] asks for it.
#[derive(Clone, Copy, Debug)]
pub struct TeacherBatch<'a> {
    /// Teacher - policy log-probability of each target token; without gradient.
    pub log_ratio: &'a Tensor,
    /// `KL(policy || teacher)` at each position; carries a gradient.
    pub divergence: &'a Tensor,
}

/// A comparison of estimators of the same gradient on fixed prompts.
pub struct VarianceProbe {
    /// How often the prompts are sampled.
    pub repeats: u32,
    /// Once more after every so many steps; 0 only before the first one.
    pub every: u64,
    pub variants: Vec<(&'static str, Box<dyn Objective>)>,
}

/// Statistics by metric name.
pub type Statistics = Vec<(&'static str, f64)>;

/// A training objective.
pub trait Objective: Send {
    fn needs(&self) -> Needs;

    fn plan(&self) -> Plan;

    /// What makes the advantages, for objectives with a choice of them; it follows the steps and is saved by default.
    fn estimator(&self) -> Option<&Estimator> {
        None
    }

    fn estimator_mut(&mut self) -> Option<&mut Estimator> {
        None
    }

    /// Takes in the statistics of the step about to be taken.
    fn begin_step(&mut self, step: &StepStatistics<'_>) {
        if let Some(estimator) = self.estimator_mut() {
            estimator.begin_step(step);
        }
    }

    /// One credit per completion; `None` leaves the completion out of the step altogether.
    fn credit(&self, group: &Group<'_>) -> Vec<Option<f64>>;

    /// The credit of each token, for objectives that tell the tokens of a completion apart.
    fn token_credit(&self, batch: &TokenBatch<'_>) -> TensorResult<Tensor> {
        Ok(batch.credit.clone())
    }

    /// The loss as a sum over the batch's tokens (not divided by anything).
    fn loss(&self, batch: &TokenBatch<'_>) -> TensorResult<Tensor>;

    /// What the summed loss of a step is divided by.
    fn normalizer(&self, totals: &StepTotals) -> f64 {
        totals.tokens
    }

    /// Whether a step in which no completion has any credit has a gradient nevertheless.
    fn learns_without_credit(&self) -> bool {
        !self.needs().verifier || self.needs().teacher.is_some()
    }

    /// The range outside of which the ratio's gradient is cut off.
    fn clip(&self) -> Option<Clip> {
        None
    }

    /// Whose ratio that is.
    fn ratio(&self) -> Ratio {
        Ratio::Token
    }

    /// Statistics of sampled and scored groups of a sampling phase.
    fn round_report(&self, _round: u64, _groups: &[frontier::ScoredGroup]) -> Statistics {
        Vec::new()
    }

    /// Statistics of the step begun last.
    fn step_report(&self) -> Statistics {
        self.estimator().map(Estimator::report).unwrap_or_default()
    }

    /// What should be said once in the job's log: a stable code and a sentence.
    fn notes(&self) -> Vec<(&'static str, String)> {
        self.estimator().map(Estimator::notes).unwrap_or_default()
    }

    /// What a resumed run must know, for the checkpoint.
    fn state(&self) -> Value {
        self.estimator().map(Estimator::state).unwrap_or_default()
    }

    /// Takes over what [`Objective::state`] gave.
    fn restore(&mut self, state: &Value) -> Result<(), FieldError> {
        self.estimator_mut().map_or(Ok(()), |estimator| estimator.restore(state))
    }
}

/// What every objective's configuration can say of itself.
pub trait Settings {
    /// Checks what neither the types nor the bounds of single fields say, such as fields that only make sense together.
    fn check(&self, _pointer: &str) -> Result<(), Vec<FieldError>> {
        Ok(())
    }

    fn build(&self, train: &TrainSpec) -> Box<dyn Objective>;

    fn stored_rollouts(&self) -> StoredRollouts;

    /// The model that the objective distils from, as the spec names it.
    fn teacher(&self) -> Option<&str> {
        None
    }

    /// The SHA-256 that the teacher's weights must have, in hexadecimal digits.
    fn teacher_sha256(&self) -> Option<&str> {
        None
    }

    /// The same with the teacher under another name of the same model, and with the SHA-256 of its weights; none where
    /// there is no teacher.
    fn with_teacher(&self, _name: String, _sha256: Option<String>) -> Option<Config> {
        None
    }

    /// What a client should know of a job that is possible but probably not what they want.
    fn warnings(&self, _job: &Circumstances) -> Vec<Warning> {
        Vec::new()
    }

    /// The temperature of the target that a round's completions are weighted towards, for the report of gaps.
    fn target_beta(&self, _round: u64) -> Option<f64> {
        None
    }

    /// Held-out prompts on whose completions gaps are measured too.
    fn held_out_prompts(&self) -> u32 {
        0
    }

    /// Variants whose gradient should be compared before the first step, and maybe later again.
    fn variance_probe(&self, _train: &TrainSpec) -> Option<VarianceProbe> {
        None
    }
}

/// What a spec says of the completions that an objective will learn from.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    /// The job samples them itself.
    pub samples: bool,
    /// At another temperature than 1, or with weights or keys and values of fewer bits.
    pub shifted: bool,
    /// With top_p or top_k.
    pub truncated: bool,
    /// The policy moves on while they are used.
    pub reused: bool,
    /// At a temperature above 1, now or when they were stored.
    pub hotter: bool,
    /// Some are another model's.
    pub from_another_model: bool,
}

/// A pointer into the spec, a stable code, and what to know.
pub type Warning = (&'static str, &'static str, &'static str);

/// One objective as `GET /v1/objectives` describes it.
#[derive(Clone, Debug)]
pub struct Description {
    pub name: &'static str,
    /// One or two sentences for someone who has to choose.
    pub summary: &'static str,
    /// As it stands at the head of the objective's file.
    pub formula: String,
    pub source: &'static str,
    pub needs: Needs,
    /// JSON Schema of the fields, with defaults and bounds.
    pub schema: Value,
}

/// The formula of an objective: the text block in the documentation at the head of its file, where it stands once.
fn formula_of(source: &str) -> String {
    let documentation = source.lines().map_while(|line| line.strip_prefix("//!"));
    let line = |line: &'_ str| line.strip_prefix(' ').unwrap_or(line).to_owned();
    let block = documentation.map(line).skip_while(|line| line != "```text").skip(1).take_while(|line| line != "```");
    block.collect::<Vec<_>>().join("\n")
}

macro_rules! describe {
    ($module:ident, $name:literal) => {
        Description {
            name: $name,
            summary: $module::SUMMARY,
            formula: formula_of(include_str!(concat!(stringify!($module), ".rs"))),
            source: $module::SOURCE,
            needs: $module::Config::default().build(&TrainSpec::default()).needs(),
            schema: schemars::schema_for!($module::Config).to_value(),
        }
    };
}

kinds! {
    /// The configuration of an objective.
    "objective", describe:
    Sft(sft) = "sft",
    Bolt(bolt) = "bolt",
    P3o(p3o) = "p3o",
    Vopd(vopd) = "vopd",
    Fade(fade) = "fade",
    Grpo(grpo) = "grpo",
    PolicyGradient(policy_gradient) = "policy_gradient",
}

impl Config {
    /// The objective itself.
    pub fn build(&self, train: &TrainSpec) -> Box<dyn Objective> {
        self.settings().build(train)
    }

    /// See [`Settings::teacher`].
    pub fn teacher(&self) -> Option<&str> {
        self.settings().teacher()
    }

    /// See [`Settings::teacher_sha256`].
    pub fn teacher_sha256(&self) -> Option<&str> {
        self.settings().teacher_sha256()
    }

    /// See [`Settings::with_teacher`].
    pub fn with_teacher(self, name: String, sha256: Option<String>) -> Self {
        self.settings().with_teacher(name, sha256).unwrap_or(self)
    }

    /// See [`Settings::stored_rollouts`].
    pub fn stored_rollouts(&self) -> StoredRollouts {
        self.settings().stored_rollouts()
    }

    /// See [`Settings::warnings`].
    pub fn warnings(&self, job: &Circumstances) -> Vec<Warning> {
        self.settings().warnings(job)
    }

    /// See [`Settings::target_beta`].
    pub fn target_beta(&self, round: u64) -> Option<f64> {
        self.settings().target_beta(round)
    }

    /// See [`Settings::held_out_prompts`].
    pub fn held_out_prompts(&self) -> u32 {
        self.settings().held_out_prompts()
    }

    /// See [`Settings::variance_probe`].
    pub fn variance_probe(&self, train: &TrainSpec) -> Option<VarianceProbe> {
        self.settings().variance_probe(train)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::job::spec::MAX_STEPS;

    #[test]
    fn resolved_configurations_read_back() {
        for description in catalog() {
            let mut minimal = json!({"type": description.name});
            if description.needs.teacher.is_some() {
                minimal["teacher"] = json!("builtin:arith-tiny");
            }
            let config = Config::parse(&minimal, "/objective").unwrap();
            assert_eq!(Config::parse(&config.resolved(), "/objective").unwrap(), config);
        }
    }

    #[test]
    fn every_formula_is_the_one_at_the_head_of_its_file() {
        assert!(catalog().iter().all(|objective| objective.formula.contains("L ")), "{:?}", catalog());
        assert_eq!(formula_of("//! A.\n//!\n//! ```text\n//! a = b\n//!   c\n//! ```\n//! d\n"), "a = b\n  c");
    }

    #[test]
    fn bad_fields_are_named() {
        let pointer = |value: Value| Config::parse(&value, "/objective").unwrap_err()[0].pointer.clone();
        assert_eq!(pointer(json!({"type": "bolt", "beta": 0.0})), "/objective/beta");
        assert_eq!(pointer(json!({"type": "bolt", "group_size": 0})), "/objective/group_size");
        assert_eq!(pointer(json!({"type": "bolt", "bta": 1.0})), "/objective/bta");
        assert_eq!(pointer(json!({"type": "ppo"})), "/objective/type");
        assert_eq!(pointer(json!({"beta": 1.0})), "/objective/type");
        assert_eq!(pointer(json!("bolt")), "/objective");
        assert_eq!(pointer(json!({"type": "vopd"})), "/objective/teacher");
        assert_eq!(
            pointer(json!({"type": "vopd", "teacher": "ckpt_0", "baseline": {"top_k": 0}})),
            "/objective/baseline/top_k"
        );
        assert_eq!(pointer(json!({"type": "fade", "entropy_target": "low"})), "/objective/entropy_target");
        let ratios = json!({"type": "bolt", "weights": "raw", "reference": "initial"});
        assert_eq!(pointer(ratios), "/objective/weights");
        for group_method in ["grpo", "fade", "p3o", "policy_gradient"] {
            assert_eq!(pointer(json!({"type": group_method, "group_size": 1})), "/objective/group_size");
        }
    }

    #[test]
    fn rounds_share_the_steps_without_gap_or_overlap() {
        let train = TrainSpec { steps: 10, updates_per_rollout: 4, ..TrainSpec::default() };
        for plan in [Plan::rounds(3, 4, &train), Plan::online(4, &train)] {
            let steps: Vec<u64> = (0..plan.rounds).flat_map(|round| plan.steps_of(round)).collect();
            assert_eq!(steps, (0..10).collect::<Vec<_>>());
        }
    }

    #[test]
    fn online_sampling_is_as_frequent_as_reuse_and_staleness_ask_for() {
        let train = |updates_per_rollout, max_staleness| TrainSpec {
            steps: 100,
            updates_per_rollout,
            max_staleness,
            ..TrainSpec::default()
        };
        let length = |train: &TrainSpec| Plan::online(8, train).longest_round();
        assert_eq!(length(&train(1, None)), 1);
        assert_eq!(length(&train(4, None)), 4);
        assert_eq!(length(&train(1, Some(7))), 8);
        let (ten, rollouts) =
            (TrainSpec { steps: 10, updates_per_rollout: 4, ..TrainSpec::default() }, RolloutSpec::<String>::default());
        for plan in [Plan::online(8, &ten), Plan::rounds(3, 8, &ten), Plan::rounds(10, 8, &ten)] {
            for round in 0..=plan.rounds {
                let one_by_one: u64 = (0..round).map(|r| plan.prompts_of(r, &ten, &rollouts)).sum();
                assert_eq!(plan.prompts_before(round, &ten, &rollouts), one_by_one);
            }
        }
        for (steps, updates_per_rollout, prompts) in [(8, 1, 128), (4, 4, 16), (2, 4, 16)] {
            let train = TrainSpec { prompts_per_step: 16, updates_per_rollout, ..TrainSpec::default() };
            assert_eq!(Plan::prompts_for(steps, &train, &rollouts), prompts);
        }
        // As many as there may be take no time to count.
        let most = TrainSpec { steps: MAX_STEPS, ..TrainSpec::default() };
        let plan = Plan::rounds(MAX_STEPS, 1, &most);
        let prompts = MAX_STEPS * u64::from(most.prompts_per_step);
        assert_eq!(plan.prompts_before(plan.rounds, &most, &rollouts), prompts);
    }
}
