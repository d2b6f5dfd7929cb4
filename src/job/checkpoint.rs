//! Which checkpoints a job makes and keeps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spec::MAX_STEPS;

/// What is kept on the way and how the result is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CheckpointSpec {
    /// Save the training state every so many optimizer steps, so that a lost worker costs no more than these.
    #[schemars(range(min = 1, max = MAX_STEPS))]
    pub every_steps: u64,
    /// Training checkpoints to keep.
    #[schemars(range(min = 1, max = 1000))]
    pub keep_last: u32,
    /// Training checkpoints to keep besides these: the ones with the best evaluations at their steps.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(max = 100))]
    pub keep_best: u32,
    /// Number format of the weights in the finished model.
    pub dtype: WeightDtype,
}

/// Leaves a default out of resolved specs, whose digests are older than the field.
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Default for CheckpointSpec {
    fn default() -> Self {
        Self { every_steps: 50, keep_last: 2, keep_best: 0, dtype: WeightDtype::F32 }
    }
}

/// Number format of exported weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WeightDtype {
    F32,
    Bf16,
}
