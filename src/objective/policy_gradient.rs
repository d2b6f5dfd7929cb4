//! Policy gradient with any advantage of the table in [`super::advantage`], any of the corrections below, and any way of
//! adding tokens up; with `correction: "none"` it is REINFORCE (Williams, 1992). Published baselines are settings of it
//! ([`super::presets`]).
//!
//! ```text
//! L = - sum m A l / N_tok                                               correction "none"
//! L = - sum m sg(w) A l / N_tok          w = rho                        "importance"
//!                                        w = min(rho, cap)              "truncated" (TIS)
//!                                        w = rho where rho <= cap, or 0 "masked" (MIS)
//!                                        w = clip(rho, 1 - clip_low, 1 + clip_high)      "clipped_weights" (CISPO)
//! L = sum m max(-rho A, -clip(rho, 1 - clip_low, 1 + clip_high) A) / N_tok        "clip" (PPO, GSPO)
//! L = sum m sg(min(exp(p - mu), cap)) max(-r A, -clip(r, 1 - clip_low, 1 + clip_high) A) / N_tok,
//!                                        r = exp(l - p)                 "decoupled"
//! log rho = l - mu                                                      ratio "token"
//!         = sum m (l - mu) over the completion                          "sequence"
//!         = the mean of l - mu over the completion                      "sequence_mean"
//! ```
//!
//! where p is the log-probability under the policy that the steps of the sampling phase began with. With `kl_coef` sum m k3(l, reference) / N_tok added and `entropy_coef` sum m H / N_tok taken away. `aggregation`
//! "sequence_mean" divides a token's terms by the length of its completion and the sum by N_seq, {"constant": n} divides
//! the sum by n N_seq.

use candle_core::{Result as TensorResult, Tensor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::advantage::{Advantage, Estimator};
use super::surrogate::{self, Aggregation, Clip, Penalties, Ratio};
use super::{Circumstances, Group, Needs, Objective, Plan, Settings, StepTotals, StoredRollouts, TokenBatch, Warning};
use crate::job::FieldError;
use crate::job::spec::TrainSpec;

pub const SUMMARY: &str = "The score-function estimator with a choice of advantages (reinforce, mean, rloo, maxrl, pass_at_k, ...), of \
     off-policy corrections (clip, truncated, masked, ...) by token or by completion, and of normalisations; for the \
     published baselines and for ablations.";
pub const SOURCE: &str = "Williams 1992; arXiv 2607.01490 for the table";

/// Added to standard deviations.
const EPS: f64 = 1e-6;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Completions per prompt.
    #[schemars(range(min = 2, max = 1024))]
    pub group_size: u32,
    pub advantage: Advantage,
    pub correction: Correction,
    /// Whose ratio is corrected with.
    pub ratio: Ratio,
    /// With `correction` "clip", "decoupled" and "clipped_weights": the ratio counts down to `1 - clip_low`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub clip_low: f64,
    /// With `correction` "clip", "decoupled" and "clipped_weights": the ratio counts up to `1 + clip_high`.
    #[schemars(range(min = 0.0))]
    pub clip_high: f64,
    /// With `correction` "truncated", "masked" and "decoupled": the importance weight counts up to it.
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub cap: f64,
    pub aggregation: Aggregation,
    /// Weight of the KL penalty against the model the job started from.
    #[schemars(range(min = 0.0))]
    pub kl_coef: f64,
    /// Weight of the policy's mean entropy per token, which is added to what is aimed at.
    #[schemars(range(min = 0.0))]
    pub entropy_coef: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            group_size: 8,
            advantage: Advantage::Rloo,
            correction: Correction::None,
            ratio: Ratio::Token,
            clip_low: 0.2,
            clip_high: 0.2,
            cap: 2.0,
            aggregation: Aggregation::TokenMean,
            kl_coef: 0.0,
            entropy_coef: 0.0,
        }
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
    /// Importance weights up to `cap`, detached (truncated importance sampling, Ionides 2008).
    Truncated,
    /// Importance weights; what has one above `cap` does not count (masked importance sampling).
    Masked,
    /// Importance weights within the clip range, detached, so that no token loses its gradient (CISPO, arXiv 2506.13585).
    ClippedWeights,
    /// PPO's clipped surrogate; with `ratio` "sequence_mean" that of GSPO (arXiv 2507.18071).
    Clip,
    /// The same with ratios to the policy that the steps of the sampling phase began with, and importance weights of that one
    /// up to `cap`, detached: the decoupled loss of arXiv 2110.00641 (eq. 5), for completions that were sampled ahead
    /// (`train.max_lag`, arXiv 2505.24298). It costs one more forward pass over each sampled completion.
    Decoupled,
}

impl Config {
    fn range(&self) -> Clip {
        Clip { low: self.clip_low, high: self.clip_high }
    }

    fn penalties(&self) -> Penalties {
        Penalties { kl: self.kl_coef, entropy: self.entropy_coef }
    }
}

impl Settings for Config {
    fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        if self.correction == Correction::Decoupled && self.ratio != Ratio::Token {
            let detail = "with `correction` \"decoupled\" ratios are those of tokens; leave it out";
            return Err(vec![FieldError::new(format!("{pointer}/ratio"), "invalid_value", detail)]);
        }
        Ok(())
    }

    fn build(&self, train: &TrainSpec) -> Box<dyn Objective> {
        Box::new(build(self.clone(), train))
    }

    fn stored_rollouts(&self) -> StoredRollouts {
        match self.correction {
            Correction::None => StoredRollouts::OfTheStart,
            // They belong to no phase.
            Correction::Decoupled => StoredRollouts::Refused,
            _ => StoredRollouts::Any,
        }
    }

    fn warnings(&self, job: &Circumstances) -> Vec<Warning> {
        let moved = job.reused || !job.samples || job.shifted || job.truncated;
        let detail = "completions come from another distribution than the policy's; with `correction` \"none\" nothing \
                      corrects for it";
        let uncorrected = moved && self.correction == Correction::None;
        let multiplied = self.correction == Correction::Clip
            && self.ratio == Ratio::Sequence
            && self.aggregation != Aggregation::SequenceMean;
        let of_sequences = "each token has the ratio of its whole completion, whose gradient counts as often as it has tokens; \
                            use \"sequence_mean\"";
        let warnings = [
            uncorrected.then_some(("/objective/correction", "off_policy", detail)),
            multiplied.then_some(("/objective/aggregation", "departure", of_sequences)),
        ];
        warnings.into_iter().flatten().collect()
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

impl PolicyGradient {
    /// What a completion's credit is multiplied with on each of its tokens; carries no gradient.
    fn weights(&self, batch: &TokenBatch<'_>) -> TensorResult<Tensor> {
        // Bounded, for infinity times 0 is no number.
        let most = surrogate::MOST_LOG_RATIO as f32;
        let ratio = || self.config.ratio.log(batch)?.detach().clamp(-most, most)?.exp();
        match self.config.correction {
            Correction::None | Correction::Clip => batch.credit.ones_like(),
            Correction::Decoupled => {
                let shift = surrogate::difference(batch, proximal(batch), batch.behavior_logprobs)?;
                shift.clamp(-most, most)?.exp()?.minimum(self.config.cap as f32)
            }
            Correction::Importance => ratio(),
            Correction::Truncated => ratio()?.minimum(self.config.cap as f32),
            Correction::Masked => {
                let ratio = ratio()?;
                let counts = ratio.le(self.config.cap as f32)?.to_dtype(ratio.dtype())?;
                ratio * counts
            }
            Correction::ClippedWeights => {
                ratio()?.clamp((1.0 - self.config.clip_low) as f32, (1.0 + self.config.clip_high) as f32)
            }
        }
    }
}

/// Log-probabilities under the policy that the steps of the phase began with; where that is the one that sampled, nobody tells.
fn proximal<'a>(batch: &TokenBatch<'a>) -> &'a Tensor {
    batch.proximal_logprobs.unwrap_or(batch.behavior_logprobs)
}

impl Objective for PolicyGradient {
    fn needs(&self) -> Needs {
        let proximal = self.config.correction == Correction::Decoupled;
        self.config.penalties().needs(Needs { verifier: true, groups: true, proximal, ..Needs::default() })
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
        let terms = match self.config.correction {
            Correction::Clip => {
                surrogate::ppo(batch, &self.config.ratio.log(batch)?, batch.credit, self.config.range())?
            }
            Correction::Decoupled => {
                let moved = surrogate::difference(batch, batch.policy_logprobs, proximal(batch))?;
                surrogate::ppo(batch, &moved, &(self.weights(batch)? * batch.credit)?, self.config.range())?
            }
            _ => surrogate::score(batch, &(self.weights(batch)? * batch.credit)?)?.neg()?,
        };
        let aggregation = self.config.aggregation;
        self.config.penalties().add(batch, aggregation.sum(batch, &terms)?, aggregation)
    }

    fn normalizer(&self, totals: &StepTotals) -> f64 {
        self.config.aggregation.normalizer(totals)
    }

    fn learns_without_credit(&self) -> bool {
        self.config.penalties().any()
    }

    fn clip(&self) -> Option<Clip> {
        matches!(self.config.correction, Correction::Clip | Correction::Decoupled).then(|| self.config.range())
    }

    fn ratio(&self) -> Ratio {
        self.config.ratio
    }
}
