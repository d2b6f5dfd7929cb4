//! SFT: maximum likelihood, of the data set's completions or of the model's own successes.
//!
//! ```text
//! L = - sum m l / N_tok
//! ```
//!
//! With `source: "successes"` completions are sampled and scored, and those that pass are imitated (rejection sampling
//! fine-tuning, arXiv 2308.01825): the plainest way to learn from a verifier.

use candle_core::{Result as TensorResult, Tensor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::math::PASS_MARK;
use super::{Group, Needs, Objective, Plan, Settings, StoredRollouts, TokenBatch, surrogate};
use crate::job::spec::{MAX_STEPS, TrainSpec};

pub const SUMMARY: &str =
    "Supervised fine-tuning on the data set's `completion` column, or on the model's own completions that pass.";
pub const SOURCE: &str = "maximum likelihood; arXiv 2308.01825 for successes";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub source: Source,
    /// With `source: "successes"`: completions per prompt.
    #[schemars(range(min = 1, max = 1024))]
    pub group_size: u32,
    /// With `source: "successes"`: sampling phases.
    #[schemars(range(min = 1, max = MAX_STEPS))]
    pub rounds: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { source: Source::Dataset, group_size: 8, rounds: 1 }
    }
}

/// Where the completions come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The data set's `completion` column.
    Dataset,
    /// The model itself: sampled, scored, and kept when the reward is at least 0.5.
    Successes,
}

impl Settings for Config {
    fn build(&self, train: &TrainSpec) -> Box<dyn Objective> {
        Box::new(build(self.clone(), train))
    }

    fn stored_rollouts(&self) -> StoredRollouts {
        match self.source {
            Source::Dataset => StoredRollouts::Refused,
            Source::Successes => StoredRollouts::Any,
        }
    }
}

#[derive(Debug)]
pub struct Sft {
    config: Config,
    plan: Plan,
}

fn build(config: Config, train: &TrainSpec) -> Sft {
    let plan = match config.source {
        Source::Dataset => Plan::rounds(1, 1, train),
        Source::Successes => Plan::rounds(config.rounds, config.group_size, train),
    };
    Sft { config, plan }
}

impl Objective for Sft {
    fn needs(&self) -> Needs {
        let completions = self.config.source == Source::Dataset;
        Needs { completions, verifier: !completions, ..Needs::default() }
    }

    fn plan(&self) -> Plan {
        self.plan
    }

    fn credit(&self, group: &Group<'_>) -> Vec<Option<f64>> {
        let imitated = |r: &f64| self.config.source == Source::Dataset || *r >= PASS_MARK;
        group.rewards.iter().map(|r| imitated(r).then_some(1.0)).collect()
    }

    fn loss(&self, batch: &TokenBatch<'_>) -> TensorResult<Tensor> {
        surrogate::score(batch, batch.credit)?.sum_all()?.neg()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_successes_are_imitated() {
        let config = Config { source: Source::Successes, ..Config::default() };
        let group = Group { rewards: &[1.0, 0.0, 0.6], reference_log_ratios: &[] };
        let credit = build(config, &TrainSpec::default()).credit(&group);
        assert_eq!(credit, [Some(1.0), None, Some(1.0)]);
    }
}
