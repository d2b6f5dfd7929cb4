//! What weights are changed with from step to step: AdamW or Muon, its learning-rate schedule, and what it keeps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::field::FieldError;

/// How weights follow their gradients, and the learning-rate schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OptimizerSpec {
    /// What the update of a weight is.
    #[serde(rename = "type", skip_serializing_if = "is_adamw")]
    pub kind: OptimizerKind,
    /// The peak learning rate.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub learning_rate: f64,
    pub schedule: Schedule,
    /// Share of the steps over which the learning rate rises linearly from zero.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub warmup: f64,
    /// Decoupled weight decay on matrices (never on norms).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub weight_decay: f64,
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub beta1: f64,
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub beta2: f64,
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub eps: f64,
    /// What `muon` keeps of a matrix's earlier gradients from one step to the next.
    #[serde(skip_serializing_if = "is_usual_momentum")]
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub momentum: f64,
    /// Gradients are scaled down to this global norm; 0 turns clipping off.
    #[schemars(range(min = 0.0))]
    pub max_grad_norm: f64,
    /// What moments are kept in between steps.
    #[serde(skip_serializing_if = "is_f32")]
    pub state: MomentState,
    /// What the weights themselves are kept in while all of them are trained.
    #[serde(skip_serializing_if = "are_f32")]
    pub masters: Masters,
    /// Whether each of a job's devices keeps the moments of a part of the weights only, and of their gradients' sums
    /// (stages 1 and 2 of ZeRO, arXiv 1910.02054), and on GPUs with `train.precision: "bf16"` of the f32 weights. The job
    /// is then saved at the end of a step when it is to rest.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sharded: bool,
}

const USUAL_MOMENTUM: f64 = 0.95;

/// Left out of the resolved spec, whose digests are older than the field.
fn is_adamw(kind: &OptimizerKind) -> bool {
    *kind == OptimizerKind::Adamw
}

/// The same.
fn is_usual_momentum(momentum: &f64) -> bool {
    *momentum == USUAL_MOMENTUM
}

/// The same.
fn is_f32(state: &MomentState) -> bool {
    *state == MomentState::F32
}

/// The same.
fn are_f32(masters: &Masters) -> bool {
    *masters == Masters::F32
}

/// What the update of a weight is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OptimizerKind {
    /// AdamW (Loshchilov and Hutter, arXiv 1711.05101), with two moments of each number.
    #[default]
    Adamw,
    /// Muon (Keller Jordan 2024) for the matrices of layers and the factors of an adapter: one moment of each number, whose
    /// matrix is made orthogonal before it is taken as the update, as large as those of AdamW are (arXiv 2502.16982), so
    /// that learning rate and weight decay carry over. Embeddings, the head, norms, biases and other vectors take AdamW.
    Muon,
}

/// What moments are kept in. Updates are computed in f32 always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MomentState {
    /// 4 bytes each, 8 a parameter with AdamW.
    #[default]
    F32,
    /// Half of that, rounded at random, so that small changes are not lost.
    Bf16,
    /// A quarter of that: codes of 8 bits with a scale for each 256 of them (arXiv 2110.02861).
    Int8,
}

/// What weights that are trained are kept in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Masters {
    /// 4 bytes a parameter.
    #[default]
    F32,
    /// 2 bytes a number of a matrix, and no other copy of it: each update is rounded up or down at random, so that small
    /// changes are not lost. Vectors are f32. Not beside an adapter, whose factors are f32; on the CPU only.
    Bf16,
}

impl Masters {
    /// Bytes of so many parameters, for those of a model, of which next to none are in vectors.
    pub fn bytes(self, parameters: u64) -> u64 {
        match self {
            Self::F32 => parameters.saturating_mul(4),
            Self::Bf16 => parameters.saturating_mul(2),
        }
    }
}

impl MomentState {
    /// Bytes of the moments of so many parameters, of which some have one and all others two.
    pub fn bytes(self, parameters: u64, with_one: u64) -> u64 {
        let (with_one, moments) = (with_one.min(parameters), parameters.saturating_mul(2));
        let moments = moments.saturating_sub(with_one);
        match self {
            Self::F32 => moments.saturating_mul(4),
            Self::Bf16 => moments.saturating_mul(2),
            Self::Int8 => moments.saturating_add(moments / 64),
        }
    }
}

impl Default for OptimizerSpec {
    fn default() -> Self {
        Self {
            kind: OptimizerKind::Adamw,
            learning_rate: 1e-5,
            schedule: Schedule::Cosine,
            warmup: 0.03,
            weight_decay: 0.0,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            momentum: USUAL_MOMENTUM,
            max_grad_norm: 1.0,
            state: MomentState::F32,
            masters: Masters::F32,
            sharded: false,
        }
    }
}

impl OptimizerSpec {
    /// Refuses fields that would do nothing, beside an adapter or without one.
    pub fn check(&self, has_adapter: bool) -> Result<(), Vec<FieldError>> {
        if self.masters == Masters::Bf16 && has_adapter {
            let detail = "is for all weights of a model, and with an `adapter` these are frozen; leave one of them out";
            return Err(vec![FieldError::new("/optimizer/masters", "conflict", detail)]);
        }
        if self.kind == OptimizerKind::Adamw && !is_usual_momentum(&self.momentum) {
            let detail = "is of `muon`, and AdamW has `beta1`; leave it out, or set `optimizer.type` to `muon`";
            return Err(vec![FieldError::new("/optimizer/momentum", "conflict", detail)]);
        }
        Ok(())
    }
}

/// How the learning rate moves after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// Down to zero along half a cosine.
    Cosine,
    /// Down to zero along a line.
    Linear,
    Constant,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_usual_is_not_written_and_what_does_nothing_is_refused() {
        let read = |value| serde_json::from_value::<OptimizerSpec>(value).unwrap();
        let written = serde_json::to_value(OptimizerSpec::default()).unwrap();
        assert!(
            ["type", "momentum", "state", "masters", "sharded"].into_iter().all(|field| written.get(field).is_none()),
            "{written}"
        );
        let muon = json!({"type": "muon", "momentum": 0.9});
        let again = serde_json::to_value(read(muon.clone())).unwrap();
        assert_eq!((&again["type"], &again["momentum"]), (&muon["type"], &muon["momentum"]));
        assert!(read(muon).check(true).is_ok() && OptimizerSpec::default().check(false).is_ok());
        let refused = |value, has_adapter| read(value).check(has_adapter).unwrap_err()[0].clone();
        let error = refused(json!({"momentum": 0.9}), false);
        assert_eq!((error.pointer.as_str(), error.code), ("/optimizer/momentum", "conflict"));
        let bf16 = json!({"masters": "bf16"});
        assert!(read(bf16.clone()).check(false).is_ok());
        let error = refused(bf16, true);
        assert_eq!((error.pointer.as_str(), error.code), ("/optimizer/masters", "conflict"));
    }

    #[test]
    fn what_muon_takes_has_one_moment() {
        for (state, both, one) in [(MomentState::F32, 8, 4), (MomentState::Bf16, 4, 2), (MomentState::Int8, 2, 1)] {
            let scales = |moments: u64| if state == MomentState::Int8 { moments / 64 } else { 0 };
            assert_eq!(state.bytes(6400, 0), 6400 * both + scales(12_800));
            assert_eq!(state.bytes(6400, 6400), 6400 * one + scales(6400));
            assert_eq!(state.bytes(6400, u64::MAX), state.bytes(6400, 6400));
        }
    }
}
