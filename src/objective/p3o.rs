//! P3O: policy-on policy-off policy optimization with the effective sample size as its only dial (arXiv 2605.12380;
//! the idea of capping by ESS in arXiv 1905.01756).
//!
//! ```text
//! A   = (r - mean r) / (std r + 1e-8)                                   or any other advantage
//! rho = exp(l - mu)
//! e   = (sum rho)^2 / (n sum rho^2)                                     over the n tokens of the step, detached
//! L   = [ - sum m sg(min(rho, e)) A l + c (1 - e) sum m k3(l, mu) ] / N_tok          kl_estimator "k3"
//! L   = [ - sum m sg(min(rho, e)) A l + c (1 - e) sum m (rho log rho - rho + 1) ] / N_tok          "importance"
//! ```
//!
//! where c is `behavior_coef`, 1 as published; with `kl_coef` sum m k3(l, reference) / N_tok added where `kl_coef` is not 0, and `entropy_coef` sum m H / N_tok taken
//! away. On fresh completions of the policy itself e = 1 and the loss is the plain score-function estimator. The further the policy has moved
//! from the one that sampled, the smaller is e: ratios are capped lower and the policy is held back more. As published there
//! is no clip range and no KL coefficient to tune.
//!
//! The penalty as it was published averages k3 over completions of the behavior policy, which estimates chi2(mu || pi) -
//! KL(mu || pi); what "importance" averages estimates KL(pi || mu) without bias, which is far smaller where the policy
//! has all but given up what was sampled.

use candle_core::{Result as TensorResult, Tensor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::advantage::{Advantage, Estimator};
use super::math::ess_of_log_ratios;
use super::surrogate::{Aggregation, Penalties, importance_kl, k3, log_ratio, score};
use super::{
    Circumstances, Group, Needs, Objective, Plan, Settings, Statistics, StepStatistics, StoredRollouts, TokenBatch,
    Warning,
};
use crate::job::spec::TrainSpec;

pub const SUMMARY: &str = "Policy gradient whose off-policy correction adapts by itself: the effective sample size of the step's \
     ratios caps them and weighs a KL term. Made for reused, stale, mixed or temperature-shifted completions.";
pub const SOURCE: &str = "arXiv 2605.12380";

/// What a sampler with more entropy than the policy does (docs/RESULTS.md, the regimes `temperature` and `mixed`).
const PULLED: Warning = (
    "/objective/behavior_coef",
    "p3o_pulled_to_sampler",
    "P3O's penalty pulls the policy toward the one that samples: where that one is noisier, hotter or another model, entropy \
     can run away and accuracy fall to nothing; use a smaller `behavior_coef` (0 leaves the cap of ratios alone), or for a hotter \
     sampler `kl_estimator`: \"importance\"",
);

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
    pub kl_estimator: KlEstimator,
    /// Weight of the penalty that holds the policy near the one that sampled; 1 as published.
    #[schemars(range(min = 0.0))]
    pub behavior_coef: f64,
    /// Weight of a KL penalty against the model the job started from, beside the one against the behavior policy.
    #[schemars(range(min = 0.0))]
    pub kl_coef: f64,
    /// Weight of the policy's mean entropy per token, which is added to what is aimed at.
    #[schemars(range(min = 0.0))]
    pub entropy_coef: f64,
}

impl Config {
    fn penalties(&self) -> Penalties {
        Penalties { kl: self.kl_coef, entropy: self.entropy_coef }
    }
}

impl Default for Config {
    fn default() -> Self {
        let (ess_scope, kl_estimator) = (EssScope::Step, KlEstimator::K3);
        let advantage = Advantage::GroupStd;
        Self { group_size: 8, advantage, ess_scope, kl_estimator, behavior_coef: 1.0, kl_coef: 0.0, entropy_coef: 0.0 }
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

/// What holds the policy back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KlEstimator {
    /// As published: k3 over completions of the behavior policy, an estimate of chi2(mu || pi) - KL(mu || pi).
    K3,
    /// `rho log rho - rho + 1`, an unbiased estimate of KL(pi || mu).
    Importance,
}

impl Settings for Config {
    fn build(&self, train: &TrainSpec) -> Box<dyn Objective> {
        Box::new(build(self.clone(), train))
    }

    fn stored_rollouts(&self) -> StoredRollouts {
        StoredRollouts::Any
    }

    fn warnings(&self, job: &Circumstances) -> Vec<Warning> {
        let departs = self.ess_scope == EssScope::MicroBatch;
        let detail = "per micro-batch the effective sample size depends on `train.micro_batch_tokens`";
        let departs = departs.then_some(("/objective/ess_scope", "departure", detail));
        let is_far = job.from_another_model || (job.hotter && self.kl_estimator == KlEstimator::K3);
        let is_pulled = self.behavior_coef > 0.0 && is_far;
        departs.into_iter().chain(is_pulled.then_some(PULLED)).collect()
    }
}

#[derive(Debug)]
pub struct P3o {
    config: Config,
    plan: Plan,
    advantage: Estimator,
    /// Effective sample size of the step under way, as a share of its tokens.
    ess: f64,
    /// Whether the policy may differ from the one that sampled the step's completions.
    may_differ: bool,
}

fn build(config: Config, train: &TrainSpec) -> P3o {
    let advantage = Estimator::new(&config.advantage);
    P3o { plan: Plan::online(config.group_size, train), advantage, config, ess: 1.0, may_differ: true }
}

impl Objective for P3o {
    fn needs(&self) -> Needs {
        let log_ratios = self.config.ess_scope == EssScope::Step;
        self.config.penalties().needs(Needs { verifier: true, groups: true, log_ratios, ..Needs::default() })
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
        self.may_differ = !step.on_policy;
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
        let gain = score(batch, &(capped * batch.credit)?)?.sum_all()?;
        let distance = match self.config.kl_estimator {
            KlEstimator::K3 => k3(batch, batch.behavior_logprobs)?,
            KlEstimator::Importance => importance_kl(batch)?,
        };
        let loss = ((distance.sum_all()? * (self.config.behavior_coef * (1.0 - ess)))? - gain)?;
        self.config.penalties().add(batch, loss, Aggregation::TokenMean)
    }

    fn learns_without_credit(&self) -> bool {
        if self.config.penalties().any() {
            return true;
        }
        match self.config.ess_scope {
            _ if self.config.behavior_coef == 0.0 => false,
            EssScope::Step => self.ess < 1.0,
            // What it is in each micro-batch is known only there.
            EssScope::MicroBatch => self.may_differ,
        }
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

    /// Over all tokens of two, each counted as often as the behavior policy draws it.
    #[test]
    fn the_importance_estimator_is_the_kl_divergence_and_k3_is_another() {
        let (mu, pi) = ([0.9_f64, 0.1], [0.999_f64, 0.001]);
        let tensor = |values: &[f64]| {
            let values: Vec<f32> = values.iter().map(|x| *x as f32).collect();
            Tensor::new(values, &candle_core::Device::Cpu).unwrap()
        };
        let logs = |p: [f64; 2]| tensor(&p.map(f64::ln));
        let (policy, behavior, credit, mask) = (logs(pi), logs(mu), tensor(&[0.0; 2]), tensor(&mu));
        let batch = TokenBatch {
            policy_logprobs: &policy,
            behavior_logprobs: &behavior,
            reference_logprobs: None,
            proximal_logprobs: None,
            teacher: None,
            entropy: None,
            credit: &credit,
            sequences: &tensor(&[0.0; 2]).to_dtype(candle_core::DType::U32).unwrap(),
            mask: &mask,
        };
        // The mask weighs the tokens; ratios are taken where it is not zero.
        let whole = TokenBatch { mask: &tensor(&[1.0; 2]), ..batch };
        let weighted = |of: &dyn Fn(&TokenBatch<'_>) -> Tensor| -> f64 {
            (0..2)
                .map(|token| {
                    let only = tensor(&[0, 1].map(|i| f64::from(u8::from(i == token))));
                    mu[token]
                        * f64::from(
                            of(&TokenBatch { mask: &only, ..whole }).sum_all().unwrap().to_scalar::<f32>().unwrap(),
                        )
                })
                .sum()
        };
        let kl = |p: [f64; 2], q: [f64; 2]| (0..2).map(|i| p[i] * (p[i] / q[i]).ln()).sum::<f64>();
        let chi2 = (0..2).map(|i| mu[i] * mu[i] / pi[i]).sum::<f64>() - 1.0;
        let importance = weighted(&|batch| importance_kl(batch).unwrap());
        assert!((importance - kl(pi, mu)).abs() < 1e-5 && (importance - 0.0997).abs() < 1e-4, "{importance}");
        let published = weighted(&|batch| k3(batch, batch.behavior_logprobs).unwrap());
        assert!((published - (chi2 - kl(mu, pi))).abs() < 1e-4 && (published - 9.44).abs() < 0.01, "{published}");
    }

    #[test]
    fn without_its_penalty_a_step_without_credit_teaches_nothing() {
        for (behavior_coef, learns) in [(1.0, true), (0.0, false)] {
            let mut p3o = build(Config { behavior_coef, ..Config::default() }, &TrainSpec::default());
            p3o.begin_step(&StepStatistics { log_ratios: &[1.0, -1.0], ..StepStatistics::default() });
            assert_eq!(p3o.learns_without_credit(), learns);
        }
    }

    #[test]
    fn with_an_ess_of_each_micro_batch_only_steps_on_the_policys_own_completions_are_skipped() {
        let mut p3o = build(Config { ess_scope: EssScope::MicroBatch, ..Config::default() }, &TrainSpec::default());
        for on_policy in [true, false] {
            p3o.begin_step(&StepStatistics { on_policy, ..StepStatistics::default() });
            assert_eq!(p3o.learns_without_credit(), !on_policy);
        }
    }

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
