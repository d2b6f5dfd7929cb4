//! vOPD: on-policy distillation with a control variate (arXiv 2605.07865).
//!
//! On completions that the student samples itself, each token is credited with how much more the teacher likes it, and
//! the divergence at its position is the baseline, because it is minus the expectation of that log-ratio:
//!
//! ```text
//! r_t = log pi_T(y_t) - log pi_theta(y_t)          b_t = KL(pi_theta || pi_T)          a_t = sg(r_t + b_t)
//! L   = - sum m a_t l / N_tok
//! ```
//!
//! There is no return to go: a token answers for its own position only. `baseline: {"top_k": k}` takes b over the
//! student's k most probable tokens, both distributions renormalised on them; `"none"` is plain on-policy distillation.
//! With `reward_floor` r_t counts as max(r_t, reward_floor), which is unbounded below otherwise.
//! When completions are reused or sampled ahead (`train.updates_per_rollout`, `train.max_lag`), `a_t` enters the PPO surrogate.

use candle_core::{Result as TensorResult, Tensor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::advantage::{Advantage, advantages};
use super::surrogate::{self, Clip};
use super::{
    Circumstances, Group, Needs, Objective, Plan, Settings, StoredRollouts, TeacherBatch, TeacherView, TokenBatch,
    VarianceProbe, Warning,
};
use crate::job::field::{FieldError, Fields};
use crate::job::spec::TrainSpec;

pub const SUMMARY: &str = "Learns from a teacher on its own completions, token by token, with a baseline that lowers the variance \
     without moving the expectation. Needs a teacher with the same tokenizer; a verifier is optional.";
pub const SOURCE: &str = "arXiv 2605.07865";

/// Added to the standard deviation of a group.
const EPS: f64 = 1e-8;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The model to learn from: `mdl_...`, an inference checkpoint `ckpt_...`, a built-in, or the path of a model on
    /// the server below one of its import roots. Required; its tokenizer must be the model's own.
    pub teacher: Option<String>,
    /// The SHA-256 that the teacher's weights must have, all files in order, in lower-case hexadecimal digits. Where the
    /// teacher is a path, the resolved spec has the one of the submission, and the job fails when it finds other weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 64, max = 64))]
    pub teacher_sha256: Option<String>,
    /// Completions per prompt.
    #[schemars(range(min = 1, max = 1024))]
    pub group_size: u32,
    pub baseline: Baseline,
    pub estimator: Estimator,
    /// Divides the logits of student and teacher in r_t and b_t.
    #[schemars(range(min = 0.01, max = 100.0))]
    pub kd_temperature: f64,
    /// Adds this much of the group-standardised reward to every token's credit; needs a verifier and groups.
    #[schemars(range(min = 0.0))]
    pub reward_weight: f64,
    /// With reused completions: the ratio's gradient is cut off below `1 - clip_low`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub clip_low: f64,
    /// With reused completions: the ratio's gradient is cut off above `1 + clip_high`.
    #[schemars(range(min = 0.0))]
    pub clip_high: f64,
    /// Before the first step, sample the first step's prompts this many times and report how much the gradient varies
    /// with each baseline; 0 does not.
    #[schemars(range(min = 0, max = 256))]
    pub gradient_variance_repeats: u32,
    /// With `gradient_variance_repeats`: do so again after every so many steps; 0 only before the first one.
    #[schemars(range(max = crate::job::spec::MAX_STEPS))]
    pub gradient_variance_every: u64,
    /// The least that r_t counts, in nats: a token that the teacher all but rules out then pushes no harder than this. The
    /// expectation moves where it cuts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 0.0))]
    pub reward_floor: Option<f64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            teacher: None,
            teacher_sha256: None,
            group_size: 4,
            baseline: Baseline::Full,
            estimator: Estimator::Score,
            kd_temperature: 1.0,
            reward_weight: 0.0,
            clip_low: 0.2,
            clip_high: 0.2,
            gradient_variance_repeats: 0,
            gradient_variance_every: 0,
            reward_floor: None,
        }
    }
}

/// The control variate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// The divergence over the whole vocabulary.
    Full,
    /// The divergence over the student's k most probable tokens.
    TopK(#[schemars(range(min = 1, max = 1_000_000))] u32),
    /// None.
    None,
}

/// What is differentiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Estimator {
    /// The log-probability of the sampled token, credited with a_t.
    Score,
    /// The divergence over the whole vocabulary itself.
    FullKl,
    /// The divergence over the student's k most probable tokens (`baseline: {"top_k": k}`, or 100): biased.
    TopKKl,
}

impl Config {
    fn range(&self) -> Clip {
        Clip { low: self.clip_low, high: self.clip_high }
    }

    fn top_k(&self) -> Option<u32> {
        match (self.estimator, self.baseline) {
            (Estimator::FullKl, _) => None,
            (Estimator::Score | Estimator::TopKKl, Baseline::TopK(k)) => Some(k),
            (Estimator::TopKKl, Baseline::Full | Baseline::None) => Some(100),
            (Estimator::Score, Baseline::Full | Baseline::None) => None,
        }
    }
}

impl Settings for Config {
    fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        if self.teacher.as_ref().is_none_or(String::is_empty) {
            let detail = "name the model to learn from: a model, an inference checkpoint or a path";
            return Err(vec![FieldError::new(format!("{pointer}/teacher"), "missing_field", detail)]);
        }
        let mut fields = Fields::below(pointer);
        fields.require(
            self.reward_weight == 0.0 || self.group_size >= 2,
            "group_size",
            "must be at least 2 with `reward_weight`, which compares completions of one prompt",
        );
        fields.require(
            self.gradient_variance_repeats != 1,
            "gradient_variance_repeats",
            "must be 0, which measures nothing, or between 2 and 256",
        );
        fields.require(
            self.gradient_variance_every == 0 || self.gradient_variance_repeats > 0,
            "gradient_variance_every",
            "needs `gradient_variance_repeats`, which says how often the prompts are sampled",
        );
        fields.require(
            self.reward_floor.is_none() || self.estimator == Estimator::Score,
            "reward_floor",
            "is of the log-ratios that `estimator` \"score\" credits tokens with",
        );
        fields.finish()
    }

    fn build(&self, train: &TrainSpec) -> Box<dyn Objective> {
        Box::new(build(self.clone(), train))
    }

    fn stored_rollouts(&self) -> StoredRollouts {
        StoredRollouts::Refused
    }

    fn teacher(&self) -> Option<&str> {
        self.teacher.as_deref()
    }

    fn teacher_sha256(&self) -> Option<&str> {
        self.teacher_sha256.as_deref()
    }

    fn with_teacher(&self, name: String, sha256: Option<String>) -> Option<super::Config> {
        Some(super::Config::Vopd(Self { teacher: Some(name), teacher_sha256: sha256, ..self.clone() }))
    }

    fn warnings(&self, job: &Circumstances) -> Vec<Warning> {
        let detail = "the gradient is that of the policy's own distribution; completions sampled with another \
                      temperature, top_p, top_k or with `weights` or a `cache` of fewer bits bias it";
        (job.shifted || job.truncated).then_some(("/sampling", "off_policy", detail)).into_iter().collect()
    }

    fn variance_probe(&self, train: &TrainSpec) -> Option<VarianceProbe> {
        let plan = Plan::online(self.group_size, train);
        let variant = |name, baseline| -> (&'static str, Box<dyn Objective>) {
            let config = Self { baseline, estimator: Estimator::Score, ..self.clone() };
            (name, Box::new(Vopd { config, plan, reused: false }))
        };
        let k = self.top_k().unwrap_or(100);
        let variants =
            vec![variant("full", Baseline::Full), variant("top_k", Baseline::TopK(k)), variant("none", Baseline::None)];
        let repeats = self.gradient_variance_repeats;
        (repeats > 0).then_some(VarianceProbe { repeats, every: self.gradient_variance_every, variants })
    }
}

#[derive(Debug)]
pub struct Vopd {
    config: Config,
    plan: Plan,
    /// Completions are trained on more than once, or by a later policy.
    reused: bool,
}

fn build(config: Config, train: &TrainSpec) -> Vopd {
    let plan = Plan::online(config.group_size, train);
    Vopd { reused: plan.longest_round() > 1 || train.max_lag > 0, plan, config }
}

impl Vopd {
    fn teacher<'a>(&self, batch: &TokenBatch<'a>) -> TensorResult<TeacherBatch<'a>> {
        batch.teacher.ok_or_else(|| candle_core::Error::Msg(String::from("vopd was given no teacher")))
    }
}

impl Objective for Vopd {
    fn needs(&self) -> Needs {
        let teacher = TeacherView { temperature: self.config.kd_temperature, top_k: self.config.top_k() };
        Needs { verifier: self.config.reward_weight > 0.0, teacher: Some(teacher), ..Needs::default() }
    }

    fn plan(&self) -> Plan {
        self.plan
    }

    /// The part of the credit that comes from rewards.
    fn credit(&self, group: &Group<'_>) -> Vec<Option<f64>> {
        let weight = self.config.reward_weight;
        advantages(&Advantage::GroupStd, group.rewards, EPS).into_iter().map(|a| Some(weight * a)).collect()
    }

    /// `a_t`, with the reward's part; that alone where a divergence is differentiated itself.
    fn token_credit(&self, batch: &TokenBatch<'_>) -> TensorResult<Tensor> {
        if self.config.estimator != Estimator::Score {
            return batch.credit * batch.mask;
        }
        let teacher = self.teacher(batch)?;
        let reward = match self.config.reward_floor {
            Some(floor) => teacher.log_ratio.maximum(floor as f32)?,
            None => teacher.log_ratio.clone(),
        };
        let credit = match self.config.baseline {
            Baseline::None => reward,
            Baseline::Full | Baseline::TopK(_) => (reward + teacher.divergence.detach())?,
        };
        (credit + batch.credit)?.detach() * batch.mask
    }

    fn loss(&self, batch: &TokenBatch<'_>) -> TensorResult<Tensor> {
        match self.config.estimator {
            Estimator::Score if self.reused => {
                let (ratio, credit) = (surrogate::log_ratio(batch)?, self.token_credit(batch)?);
                surrogate::ppo(batch, &ratio, &credit, self.config.range())?.sum_all()
            }
            Estimator::Score => surrogate::score(batch, &self.token_credit(batch)?)?.sum_all()?.neg(),
            Estimator::FullKl | Estimator::TopKKl => {
                let divergence = (self.teacher(batch)?.divergence * batch.mask)?.sum_all()?;
                divergence - surrogate::score(batch, batch.credit)?.sum_all()?
            }
        }
    }

    fn clip(&self) -> Option<Clip> {
        (self.reused && self.config.estimator == Estimator::Score).then(|| self.config.range())
    }
}
