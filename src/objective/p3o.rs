//! P3O: policy-on policy-off policy optimization with the effective sample size as its only dial (arXiv 2605.12380;
//! the idea of capping by ESS in arXiv 1905.01756).
//!
//! ```text
//! A   = (r - mean r) / (std r + 1e-8)                                   or any other advantage
//! rho = exp(l - mu)
//! e   = (sum rho)^2 / (n sum rho^2)                                     over the n tokens of the step, detached
//! L   = [ - sum m sg(min(rho, e)) A l + (1 - e) sum m k3(l, mu) ] / N_tok
//! ```
//!
//! On fresh completions e = 1 and the loss is the plain score-function estimator. The further the policy has moved from
//! the one that sampled, the smaller is e: ratios are capped lower and the policy is held back more. There is no clip
//! range and no KL coefficient to tune.

use candle_core::{Result as TensorResult, Tensor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::advantage::{Advantage, Estimator};
use super::math::ess_of_log_ratios;
use super::surrogate::{k3, log_ratio, score};
use super::{
    Circumstances, Group, Needs, Objective, Plan, Settings, Statistics, StepStatistics, StoredRollouts, TokenBatch,
    Warning,
};
use crate::job::spec::TrainSpec;

pub const SUMMARY: &str = "Policy gradient whose off-policy correction adapts by itself: the effective sample size of the step's \
     ratios caps them and weighs a KL term. Made for reused, stale, mixed or temperature-shifted completions.";
pub const SOURCE: &str = "arXiv 2605.12380";

/// Added to the standard deviation of a group.
const EPS: f64 = 1e-8;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Completions per prompt.
    #[schemars(range(min = 2, max = 1024))]
    pub group_size: u32,
    pub advantage: Advantage,
    pub ess_scope: EssScope,
}

impl Default for Config {
    fn default() -> Self {
        Self { group_size: 8, advantage: Advantage::GroupStd, ess_scope: EssScope::Step }
    }
}

/// The tokens over which the effective sample size is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EssScope {
    /// All tokens of the optimizer step; how it is cut into micro-batches changes nothing.
    Step,
    /// Those of each micro-batch, as in the authors' code; the result depends on `train.micro_batch_tokens`.
    MicroBatch,
}

impl Settings for Config {
    fn build(&self, train: &TrainSpec) -> Box<dyn Objective> {
        Box::new(build(self.clone(), train))
    }

    fn stored_rollouts(&self) -> StoredRollouts {
        StoredRollouts::Any
    }

    fn warnings(&self, _job: &Circumstances) -> Vec<Warning> {
        let departs = self.ess_scope == EssScope::MicroBatch;
        let detail = "per micro-batch the effective sample size depends on `train.micro_batch_tokens`";
        departs.then_some(("/objective/ess_scope", "departure", detail)).into_iter().collect()
    }
}

#[derive(Debug)]
pub struct P3o {
    config: Config,
    plan: Plan,
    advantage: Estimator,
    /// Effective sample size of the step under way, as a share of its tokens.
    ess: f64,
}

fn build(config: Config, train: &TrainSpec) -> P3o {
    let advantage = Estimator::new(&config.advantage);
    P3o { plan: Plan::online(config.group_size, train), advantage, config, ess: 1.0 }
}

impl Objective for P3o {
    fn needs(&self) -> Needs {
        Needs { verifier: true, groups: true, log_ratios: self.config.ess_scope == EssScope::Step, ..Needs::default() }
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

    fn begin_step(&mut self, step: &StepStatistics<'_>) {
        self.advantage.begin_step(step);
        self.ess = ess_of_log_ratios(step.log_ratios);
    }

    fn credit(&self, group: &Group<'_>) -> Vec<Option<f64>> {
        self.advantage.of(group.rewards, EPS).into_iter().map(Some).collect()
    }

    fn loss(&self, batch: &TokenBatch<'_>) -> TensorResult<Tensor> {
        let ess = match self.config.ess_scope {
            EssScope::Step => self.ess,
            EssScope::MicroBatch => micro_batch_ess(batch)?,
        };
        let capped = log_ratio(batch)?.detach().exp()?.minimum(ess as f32)?;
        let gain = score(batch, &(capped * batch.credit)?)?;
        (k3(batch, batch.behavior_logprobs)? * (1.0 - ess))? - gain
    }

    fn learns_without_credit(&self) -> bool {
        self.config.ess_scope == EssScope::Step && self.ess < 1.0
    }

    fn step_report(&self) -> Statistics {
        let mut report = self.advantage.report();
        if self.config.ess_scope == EssScope::Step {
            report.push(("p3o/ess", self.ess));
        }
        report
    }
}

/// The effective sample size over the unmasked tokens of one batch.
fn micro_batch_ess(batch: &TokenBatch<'_>) -> TensorResult<f64> {
    let ratios = log_ratio(batch)?.flatten_all()?.to_vec1::<f32>()?;
    let mask = batch.mask.flatten_all()?.to_vec1::<f32>()?;
    let valid: Vec<f64> = ratios.iter().zip(&mask).filter(|(_, m)| **m > 0.0).map(|(r, _)| f64::from(*r)).collect();
    Ok(ess_of_log_ratios(&valid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_sample_size_falls_as_the_policy_moves_away() {
        let mut p3o = build(Config::default(), &TrainSpec::default());
        let mut last = 1.0 + 1e-12;
        for spread in [0.0, 0.1, 0.5, 2.0] {
            p3o.begin_step(&StepStatistics { log_ratios: &[spread, -spread, 0.0], ..StepStatistics::default() });
            assert!(p3o.ess < last && p3o.ess >= 1.0 / 3.0);
            last = p3o.ess;
        }
        // A fresh step has no log-ratios to give and is exactly on-policy.
        p3o.begin_step(&StepStatistics::default());
        assert_eq!(p3o.ess, 1.0);
    }
}
