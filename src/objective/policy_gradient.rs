//! Policy gradient with any advantage of the table in [`super::advantage`]; with `correction: "none"` it is REINFORCE
//! (Williams, 1992).
//!
//! ```text
//! L = - sum m A l / N_tok                                               correction "none"
//! L = - sum m sg(rho) A l / N_tok                                       "importance", rho = exp(l - mu)
//! L = sum m max(-rho A, -clip(rho, 1 - clip_low, 1 + clip_high) A) / N_tok        "clip"
//! ```

use candle_core::{Result as TensorResult, Tensor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::advantage::{Advantage, Estimator};
use super::surrogate::{self, Clip};
use super::{Circumstances, Group, Needs, Objective, Plan, Settings, StoredRollouts, TokenBatch, Warning};
use crate::job::spec::TrainSpec;

pub const SUMMARY: &str = "The score-function estimator with a choice of advantages (reinforce, mean, rloo, maxrl, pass_at_k, ...) and of \
     off-policy corrections; for comparisons and ablations.";
pub const SOURCE: &str = "Williams 1992; arXiv 2607.01490 for the table";

/// Added to the standard deviation of a group.
const EPS: f64 = 1e-6;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Completions per prompt.
    #[schemars(range(min = 2, max = 1024))]
    pub group_size: u32,
    pub advantage: Advantage,
    pub correction: Correction,
    /// With `correction: "clip"`: the ratio's gradient is cut off below `1 - clip_low`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub clip_low: f64,
    /// With `correction: "clip"`: the ratio's gradient is cut off above `1 + clip_high`.
    #[schemars(range(min = 0.0))]
    pub clip_high: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { group_size: 8, advantage: Advantage::Rloo, correction: Correction::None, clip_low: 0.2, clip_high: 0.2 }
    }
}

/// What is done about completions that another policy sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Correction {
    /// Nothing.
    None,
    /// Importance weights, detached.
    Importance,
    /// PPO's clipped surrogate.
    Clip,
}

impl Config {
    fn range(&self) -> Clip {
        Clip { low: self.clip_low, high: self.clip_high }
    }
}

impl Settings for Config {
    fn build(&self, train: &TrainSpec) -> Box<dyn Objective> {
        Box::new(build(self.clone(), train))
    }

    fn stored_rollouts(&self) -> StoredRollouts {
        match self.correction {
            Correction::None => StoredRollouts::OfTheStart,
            Correction::Importance | Correction::Clip => StoredRollouts::Any,
        }
    }

    fn warnings(&self, job: &Circumstances) -> Vec<Warning> {
        let moved = job.reused || !job.samples || job.shifted || job.truncated;
        let detail = "completions come from another distribution than the policy's; with `correction` \"none\" nothing \
                      corrects for it";
        let warns = moved && self.correction == Correction::None;
        warns.then_some(("/objective/correction", "off_policy", detail)).into_iter().collect()
    }
}

#[derive(Debug)]
pub struct PolicyGradient {
    config: Config,
    plan: Plan,
    advantage: Estimator,
}

fn build(config: Config, train: &TrainSpec) -> PolicyGradient {
    let advantage = Estimator::new(&config.advantage);
    PolicyGradient { plan: Plan::online(config.group_size, train), advantage, config }
}

impl Objective for PolicyGradient {
    fn needs(&self) -> Needs {
        Needs { verifier: true, groups: true, ..Needs::default() }
    }

    fn estimator(&self) -> Option<&Estimator> {
        Some(&self.advantage)
    }

    fn estimator_mut(&mut self) -> Option<&mut Estimator> {
        Some(&mut self.advantage)
    }

    fn plan(&self) -> Plan {
        self.plan
    }

    fn credit(&self, group: &Group<'_>) -> Vec<Option<f64>> {
        self.advantage.of(group.rewards, EPS).into_iter().map(Some).collect()
    }

    fn loss(&self, batch: &TokenBatch<'_>) -> TensorResult<Tensor> {
        match self.config.correction {
            Correction::None => surrogate::score(batch, batch.credit)?.neg(),
            Correction::Importance => {
                let ratio = surrogate::log_ratio(batch)?.detach().exp()?;
                surrogate::score(batch, &(ratio * batch.credit)?)?.neg()
            }
            Correction::Clip => surrogate::ppo(batch, batch.credit, self.config.range()),
        }
    }

    fn clip(&self) -> Option<Clip> {
        (self.config.correction == Correction::Clip).then(|| self.config.range())
    }
}
