//! FADE: focal advantage with dynamic entropy (arXiv 2607.01490).
//!
//! Two running averages steer how much hard prompts and failures count. Before each step, with its solve rate p and
//! mean token entropy H:
//!
//! ```text
//! p_hat <- (1 - ema) p_hat + ema p          H_hat <- (1 - ema) H_hat + ema H
//! alpha  = clip(3 (1 - p_hat) / (2 p_hat), 1, alpha_max)
//! delta  = clip(1 + H_hat - H*, delta_min, 1)                                   H* = H_0 / 2 by default
//! A      = (1 - r_mean)^(alpha - 1) (r - r_mean), divided by delta where negative
//! L      = sum m max(-rho A, -clip(rho, 1 - clip_low, 1 + clip_high) A) / N_tok
//! ```
//!
//! `alpha_follows` has alpha follow entropy or the logarithm of the steps instead ([`super::schedule::AlphaFollows`]), for
//! comparisons; the formulas of these two are this program's own.
//!
//! With alpha = delta = 1 this is GRPO with the mean-only advantage.

use candle_core::{Result as TensorResult, Tensor};

use super::advantage::Estimator;
use super::schedule::scheduled;
use super::surrogate::{self, Clip};
use super::{Circumstances, Group, Needs, Objective, Plan, Settings, StoredRollouts, TokenBatch, Warning};
use crate::job::spec::TrainSpec;

pub const SUMMARY: &str = "GRPO with two automatic dials: hard prompts count more while the solve rate is low, failures count more \
     while entropy is low. Made to keep exploration alive.";
pub const SOURCE: &str = "arXiv 2607.01490";

scheduled! {
    Config {
        /// Completions per prompt.
        #[schemars(range(min = 2, max = 1024))]
        group_size: u32 = 8,
        ..
        /// The ratio's gradient is cut off below `1 - clip_low`.
        #[schemars(range(min = 0.0, max = 1.0))]
        clip_low: f64 = 0.2,
        /// The ratio's gradient is cut off above `1 + clip_high`.
        #[schemars(range(min = 0.0))]
        clip_high: f64 = 0.2,
    }
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
        StoredRollouts::Any
    }

    fn warnings(&self, job: &Circumstances) -> Vec<Warning> {
        (job.samples && job.truncated).then_some(super::preflight::TRUNCATED).into_iter().collect()
    }
}

#[derive(Debug)]
pub struct Fade {
    config: Config,
    plan: Plan,
    advantage: Estimator,
}

fn build(config: Config, train: &TrainSpec) -> Fade {
    let advantage = Estimator::scheduled(&config.schedule());
    Fade { plan: Plan::online(config.group_size, train), advantage, config }
}

impl Objective for Fade {
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
        self.advantage.of(group.rewards, 0.0).into_iter().map(Some).collect()
    }

    fn loss(&self, batch: &TokenBatch<'_>) -> TensorResult<Tensor> {
        surrogate::ppo(batch, &surrogate::log_ratio(batch)?, batch.credit, self.config.range())?.sum_all()
    }

    fn clip(&self) -> Option<Clip> {
        Some(self.config.range())
    }
}
