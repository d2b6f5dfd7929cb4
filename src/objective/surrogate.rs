//! Surrogate losses that several objectives share: per-token tensors in, one term per token out, 0 on padding;
//! [`Aggregation::sum`] adds the terms up.

use candle_core::{Result as TensorResult, Tensor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Needs, StepTotals, TokenBatch};

/// The range of the ratio policy / behavior within which its gradient counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clip {
    pub low: f64,
    pub high: f64,
}

/// Whose probabilities a ratio policy / behavior compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ratio {
    /// Each token's own.
    #[default]
    Token,
    /// The whole completion's: the product over its tokens. The sum of the logarithms is clipped to [-20, 20].
    Sequence,
    /// The geometric mean over the completion's tokens (GSPO, arXiv 2507.18071).
    SequenceMean,
}

/// Largest absolute value of a completion's log-ratio.
pub const MOST_LOG_RATIO: f64 = 20.0;

impl Ratio {
    /// The log-ratio that each token has.
    pub fn log(self, batch: &TokenBatch<'_>) -> TensorResult<Tensor> {
        let of_tokens = log_ratio(batch)?;
        match self {
            Self::Token => Ok(of_tokens),
            Self::Sequence => {
                per_sequence(batch, &of_tokens)?.clamp(-MOST_LOG_RATIO as f32, MOST_LOG_RATIO as f32)? * batch.mask
            }
            Self::SequenceMean => (per_sequence(batch, &of_tokens)? / lengths(batch)?)? * batch.mask,
        }
    }

    /// The same in plain numbers, for completions of the given lengths one behind the other.
    pub fn over(self, log_ratios: &[f64], lengths: impl Iterator<Item = usize>) -> Vec<f64> {
        let mut rest = log_ratios;
        let mut all = Vec::with_capacity(log_ratios.len());
        for length in lengths {
            let (own, behind) = rest.split_at(length.min(rest.len()));
            rest = behind;
            let sum: f64 = own.iter().sum();
            match self {
                Self::Token => all.extend(own),
                Self::Sequence => all.extend(own.iter().map(|_| sum.clamp(-MOST_LOG_RATIO, MOST_LOG_RATIO))),
                Self::SequenceMean => all.extend(own.iter().map(|_| sum / own.len() as f64)),
            }
        }
        all
    }
}

/// How the terms of a step's tokens become one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// The mean over all tokens of the step: long completions count more (DAPO, arXiv 2503.14476).
    #[default]
    TokenMean,
    /// The mean over completions of the mean over their tokens: all completions count alike, a token of a short one more
    /// (GRPO as it was published).
    SequenceMean,
    /// The mean over completions of the sum over their tokens divided by this number of tokens, such as
    /// `sampling.max_new_tokens` (Dr. GRPO, arXiv 2503.20783).
    Constant(#[schemars(range(min = 1, max = 1_000_000))] u32),
}

impl Aggregation {
    /// The sum of `terms`, before it is divided by [`Self::normalizer`].
    pub fn sum(self, batch: &TokenBatch<'_>, terms: &Tensor) -> TensorResult<Tensor> {
        match self {
            Self::TokenMean | Self::Constant(_) => terms.sum_all(),
            Self::SequenceMean => (terms / lengths(batch)?)?.sum_all(),
        }
    }

    pub fn normalizer(self, totals: &StepTotals) -> f64 {
        match self {
            Self::TokenMean => totals.tokens,
            Self::SequenceMean => totals.sequences,
            Self::Constant(tokens) => totals.sequences * f64::from(tokens),
        }
    }
}

/// What is added to a loss whatever the completions earn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Penalties {
    /// Weight of [`k3`] against the model the job started from.
    pub kl: f64,
    /// Weight of the policy's entropy, which is taken away.
    pub entropy: f64,
}

impl Penalties {
    pub fn any(&self) -> bool {
        self.kl > 0.0 || self.entropy > 0.0
    }

    /// `needs` with what they need.
    pub fn needs(&self, needs: Needs) -> Needs {
        Needs { reference: self.kl > 0.0, entropy: self.entropy > 0.0, ..needs }
    }

    /// `loss` with them.
    pub fn add(&self, batch: &TokenBatch<'_>, mut loss: Tensor, aggregation: Aggregation) -> TensorResult<Tensor> {
        if let Some(reference) = batch.reference_logprobs.filter(|_| self.kl > 0.0) {
            loss = (loss + (aggregation.sum(batch, &k3(batch, reference)?)? * self.kl)?)?;
        }
        if let Some(entropy) = batch.entropy.filter(|_| self.entropy > 0.0) {
            loss = (loss - (aggregation.sum(batch, &(entropy * batch.mask)?)? * self.entropy)?)?;
        }
        Ok(loss)
    }
}

/// For each token the sum of `values` over the tokens of its completion.
pub fn per_sequence(batch: &TokenBatch<'_>, values: &Tensor) -> TensorResult<Tensor> {
    let numbers = batch.sequences.flatten_all()?;
    let count = numbers.to_vec1::<u32>()?.iter().max().map_or(1, |last| *last as usize + 1);
    let zeros = Tensor::zeros(count, values.dtype(), values.device())?;
    let sums = zeros.index_add(&numbers, &values.flatten_all()?, 0)?;
    sums.index_select(&numbers, 0)?.reshape(values.shape())
}

/// For each token how many its completion has; at least 1, so that padding can be divided by it.
fn lengths(batch: &TokenBatch<'_>) -> TensorResult<Tensor> {
    per_sequence(batch, batch.mask)?.maximum(1_f32)
}

/// `m (policy - behavior)`; masked before anything is exponentiated, so that padding cannot overflow.
pub fn log_ratio(batch: &TokenBatch<'_>) -> TensorResult<Tensor> {
    difference(batch, batch.policy_logprobs, batch.behavior_logprobs)
}

/// `m (of - from)`.
pub fn difference(batch: &TokenBatch<'_>, of: &Tensor, from: &Tensor) -> TensorResult<Tensor> {
    (of - from)? * batch.mask
}

/// `m max(-rho A, -clip(rho, 1 - low, 1 + high) A)` with `rho = exp(log_ratio)`, the clipped surrogate of PPO (arXiv
/// 1707.06347, eq. 7).
pub fn ppo(batch: &TokenBatch<'_>, log_ratio: &Tensor, advantage: &Tensor, clip: Clip) -> TensorResult<Tensor> {
    let ratio = log_ratio.exp()?;
    let clipped = ratio.clamp((1.0 - clip.low) as f32, (1.0 + clip.high) as f32)?;
    let gain = (&ratio * advantage)?.minimum(&(clipped * advantage)?)?;
    (gain * batch.mask)?.neg()
}

/// `m A l`, whose gradient is the score-function estimator.
pub fn score(batch: &TokenBatch<'_>, advantage: &Tensor) -> TensorResult<Tensor> {
    (batch.mask * advantage)? * batch.policy_logprobs
}

/// `m k3(l, o)` with `k3(l, o) = (l - o) + exp(o - l) - 1`, an estimate of KL(policy || other) from samples of the policy
/// that is never negative (Schulman, "Approximating KL divergence", 2020); from samples of the other one it estimates the
/// chi-squared divergence less the KL divergence of that one from the policy. The exponent is clipped to [-10, 10].
pub fn k3(batch: &TokenBatch<'_>, other_logprobs: &Tensor) -> TensorResult<Tensor> {
    let difference = ((batch.policy_logprobs - other_logprobs)? * batch.mask)?;
    let terms = ((&difference + difference.neg()?.clamp(-10_f32, 10_f32)?.exp()?)? - 1.0)?;
    terms * batch.mask
}

/// `m (rho log rho - rho + 1)` with `rho = exp(l - mu)`: from samples of `mu` an unbiased estimate of KL(policy ||
/// behavior), which is never negative. The exponent is clipped to [-10, 10].
pub fn importance_kl(batch: &TokenBatch<'_>) -> TensorResult<Tensor> {
    let difference = log_ratio(batch)?.clamp(-10_f32, 10_f32)?;
    let ratio = difference.exp()?;
    let terms = (((&ratio * difference)? - ratio)? + 1.0)?;
    terms * batch.mask
}
