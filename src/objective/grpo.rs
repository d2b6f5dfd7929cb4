//! GRPO: group relative policy optimization (arXiv 2402.03300), with separate clip bounds (arXiv 2503.14476) and the
//! mean-only advantage (arXiv 2503.20783) as choices.
//!
//! ```text
//! A = (r - mean r) / (std r + 1e-6)                                     scale "none": r - mean r
//! L = [ sum m max(-rho A, -clip(rho, 1 - clip_low, 1 + clip_high) A) + kl_coef sum m k3(l, reference)
//!       - entropy_coef sum m H ] / N_tok                                aggregation "token_mean"
//! rho = exp(l - mu)
//! ```
//!
//! `aggregation` "sequence_mean" divides a token's terms by the length of its completion and the sum by N_seq,
//! {"constant": n} divides the sum by n N_seq.

use candle_core::{Result as TensorResult, Tensor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::advantage::{Advantage, advantages};
use super::surrogate::{self, Aggregation, Clip, Penalties};
use super::{Circumstances, Group, Needs, Objective, Plan, Settings, StepTotals, StoredRollouts, TokenBatch, Warning};
use crate::job::spec::TrainSpec;

pub const SUMMARY: &str =
    "Group-relative advantages with PPO's clipped surrogate, the common baseline of verifiable-reward training.";
pub const SOURCE: &str = "arXiv 2402.03300";

/// Added to the standard deviation of a group.
const EPS: f64 = 1e-6;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Completions per prompt.
    #[schemars(range(min = 2, max = 1024))]
    pub group_size: u32,
    /// The ratio's gradient is cut off below `1 - clip_low`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub clip_low: f64,
    /// The ratio's gradient is cut off above `1 + clip_high`.
    #[schemars(range(min = 0.0))]
    pub clip_high: f64,
    pub scale: Scale,
    /// Weight of the KL penalty against the model the job started from.
    #[schemars(range(min = 0.0))]
    pub kl_coef: f64,
    /// Weight of the policy's mean entropy per token, which is added to what is aimed at.
    #[schemars(range(min = 0.0))]
    pub entropy_coef: f64,
    pub aggregation: Aggregation,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            group_size: 8,
            clip_low: 0.2,
            clip_high: 0.2,
            scale: Scale::Std,
            kl_coef: 0.0,
            entropy_coef: 0.0,
            aggregation: Aggregation::TokenMean,
        }
    }
}

impl Config {
    fn range(&self) -> Clip {
        Clip { low: self.clip_low, high: self.clip_high }
    }

    fn penalties(&self) -> Penalties {
        Penalties { kl: self.kl_coef, entropy: self.entropy_coef }
    }
}

/// The standard deviation that a group's advantages are divided by, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Of the population, of G.
    Std,
    /// Of a sample, of G - 1, as many libraries have it.
    SampleStd,
    None,
}

impl Settings for Config {
    fn build(&self, train: &TrainSpec) -> Box<dyn Objective> {
        Box::new(build(self.clone(), train))
    }

    fn stored_rollouts(&self) -> StoredRollouts {
        StoredRollouts::Any
    }

    fn warnings(&self, job: &Circumstances) -> Vec<Warning> {
        (job.samples && job.truncated).then_some(super::preflight::TRUNCATED).into_iter().collect()
    }
}

#[derive(Debug)]
pub struct Grpo {
    config: Config,
    plan: Plan,
}

fn build(config: Config, train: &TrainSpec) -> Grpo {
    Grpo { plan: Plan::online(config.group_size, train), config }
}

impl Objective for Grpo {
    fn needs(&self) -> Needs {
        let penalties = self.config.penalties();
        penalties.needs(Needs { verifier: true, groups: true, ..Needs::default() })
    }

    fn plan(&self) -> Plan {
        self.plan
    }

    fn credit(&self, group: &Group<'_>) -> Vec<Option<f64>> {
        let advantage = match self.config.scale {
            Scale::Std => Advantage::GroupStd,
            Scale::SampleStd => Advantage::GroupStdSample,
            Scale::None => Advantage::Mean,
        };
        advantages(&advantage, group.rewards, EPS).into_iter().map(Some).collect()
    }

    fn loss(&self, batch: &TokenBatch<'_>) -> TensorResult<Tensor> {
        let (ratio, aggregation) = (surrogate::log_ratio(batch)?, self.config.aggregation);
        let terms = surrogate::ppo(batch, &ratio, batch.credit, self.config.range())?;
        self.config.penalties().add(batch, aggregation.sum(batch, &terms)?, aggregation)
    }

    fn normalizer(&self, totals: &StepTotals) -> f64 {
        self.config.aggregation.normalizer(totals)
    }

    fn learns_without_credit(&self) -> bool {
        self.config.penalties().any()
    }

    fn clip(&self) -> Option<Clip> {
        Some(self.config.range())
    }
}
