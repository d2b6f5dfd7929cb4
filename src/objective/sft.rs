//! SFT: maximum likelihood of the data set's completions.
//!
//! ```text
//! L = - sum m l / N_tok
//! ```

use candle_core::{Result as TensorResult, Tensor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Group, Needs, Objective, Plan, StepTotals, StoredRollouts, TokenBatch, frontier::ScoredGroup};
use crate::job::field::FieldError;
use crate::job::spec::TrainSpec;

pub const SUMMARY: &str = "Supervised fine-tuning on the data set's `completion` column.";
pub const FORMULA: &str = "L = - sum m l / N_tok";
pub const SOURCE: &str = "maximum likelihood";

/// SFT has no fields of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Config {
    pub fn stored_rollouts(&self) -> StoredRollouts {
        StoredRollouts::Refused
    }

    pub fn check(&self, _pointer: &str) -> Result<(), Vec<FieldError>> {
        Ok(())
    }
}

#[derive(Debug)]
pub struct Sft;

pub fn build(_config: Config) -> Sft {
    Sft
}

impl Objective for Sft {
    fn needs(&self) -> Needs {
        Needs { completions: true, ..Needs::default() }
    }

    fn plan(&self, _train: &TrainSpec) -> Plan {
        Plan { rounds: 1, group_size: 1 }
    }

    fn credit(&self, group: &Group<'_>) -> Option<Vec<f64>> {
        Some(vec![1.0; group.rewards.len()])
    }

    fn loss(&self, batch: &TokenBatch<'_>) -> TensorResult<Tensor> {
        (batch.mask * batch.policy_logprobs)?.sum_all()?.neg()
    }

    fn normalizer(&self, totals: &StepTotals) -> f64 {
        totals.tokens
    }

    fn round_report(&self, _groups: &[ScoredGroup]) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
