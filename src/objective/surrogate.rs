//! Surrogate losses that several objectives share: per-token tensors in, one number per token out.

use candle_core::{Result as TensorResult, Tensor};

use super::TokenBatch;

/// The range of the ratio policy / behavior within which its gradient counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clip {
    pub low: f64,
    pub high: f64,
}

/// `m (policy - behavior)`; masked before anything is exponentiated, so that padding cannot overflow.
pub fn log_ratio(batch: &TokenBatch<'_>) -> TensorResult<Tensor> {
    (batch.policy_logprobs - batch.behavior_logprobs)? * batch.mask
}

/// `sum m max(-rho A, -clip(rho, 1 - low, 1 + high) A)`, the clipped surrogate of PPO (arXiv 1707.06347, eq. 7).
pub fn ppo(batch: &TokenBatch<'_>, advantage: &Tensor, clip: Clip) -> TensorResult<Tensor> {
    let ratio = log_ratio(batch)?.exp()?;
    let clipped = ratio.clamp((1.0 - clip.low) as f32, (1.0 + clip.high) as f32)?;
    let gain = (&ratio * advantage)?.minimum(&(clipped * advantage)?)?;
    (gain * batch.mask)?.sum_all()?.neg()
}

/// `sum m A l`, whose gradient is the score-function estimator.
pub fn score(batch: &TokenBatch<'_>, advantage: &Tensor) -> TensorResult<Tensor> {
    ((batch.mask * advantage)? * batch.policy_logprobs)?.sum_all()
}

/// `sum m k3(l, o)` with `k3(l, o) = (l - o) + exp(o - l) - 1`, an estimate of KL(policy || other) from samples of the policy
/// that is never negative (Schulman, "Approximating KL divergence", 2020); from samples of the other one it estimates the
/// chi-squared divergence less the KL divergence of that one from the policy. The exponent is clipped to [-10, 10].
pub fn k3(batch: &TokenBatch<'_>, other_logprobs: &Tensor) -> TensorResult<Tensor> {
    let difference = ((batch.policy_logprobs - other_logprobs)? * batch.mask)?;
    let terms = ((&difference + difference.neg()?.clamp(-10_f32, 10_f32)?.exp()?)? - 1.0)?;
    (terms * batch.mask)?.sum_all()
}

/// `sum m (rho log rho - rho + 1)` with `rho = exp(l - mu)`: from samples of `mu` an unbiased estimate of KL(policy ||
/// behavior), which is never negative. The exponent is clipped to [-10, 10].
pub fn importance_kl(batch: &TokenBatch<'_>) -> TensorResult<Tensor> {
    let difference = log_ratio(batch)?.clamp(-10_f32, 10_f32)?;
    let ratio = difference.exp()?;
    let terms = (((&ratio * difference)? - ratio)? + 1.0)?;
    (terms * batch.mask)?.sum_all()
}
