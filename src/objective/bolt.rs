//! BOLT: Boltzmann-targeted weighted SFT (arXiv 2605.02469).
//!
//! The target is the reward-tilted reference, `pi*(y|x) = pi_ref(y|x) exp(r/beta) / Z(x)`. Each of the G completions
//! of a prompt, sampled from the reference, is imitated with the weight
//!
//! ```text
//! w_i = exp(r_i/beta) / ((1/G) sum_j exp(r_j/beta))                     mean 1 in every group
//! L   = - (1/N_seq) sum_i w_i sum_t m l                                 ("token": divided by N_tok instead)
//! ```
//!
//! `weights` offers what the paper compares with: one partition function for all completions of a step, none at all,
//! `exp((r - mean r)/beta)`, or 1 from a reward on and 0 below.
//!
//! One round is plain weighted SFT on stored completions. With K rounds the last policy becomes the reference, which
//! is mirror descent in KL: `pi_K ~ pi_0 exp(K r/beta)`. `reference: "initial"` keeps the first one; then the
//! density ratio enters, `w_i ~ exp(r_i/beta) prod_t pi_ref/behavior`, normalised within the group.

use candle_core::{Result as TensorResult, Tensor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::frontier::MIN_BETA;
use super::math::{boltzmann_weights, is_zero_spread, log_mean_exp, mean};
use super::{
    Circumstances, Group, Needs, Objective, Plan, Settings, Statistics, StepStatistics, StepTotals, StoredRollouts,
    TokenBatch, Warning, frontier, surrogate,
};
use crate::job::field::{FieldError, Fields};
use crate::job::spec::{MAX_STEPS, TrainSpec};

pub const SUMMARY: &str = "Samples completions, weights them by exp(reward/beta) within their group and imitates them: reward \
     maximisation as plain weighted SFT, with a closed-form target and no ratio or clip.";
pub const SOURCE: &str = "arXiv 2605.02469";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Temperature of the target: smaller follows the reward more closely and needs more coverage.
    #[schemars(range(min = MIN_BETA))]
    pub beta: f64,
    /// The temperature of the last round's target, where rounds differ: from `beta` on it changes by one factor a round.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = MIN_BETA))]
    pub final_beta: Option<f64>,
    /// Completions per prompt.
    #[schemars(range(min = 1, max = 1024))]
    pub group_size: u32,
    /// Sampling phases; 1 is one-shot, more refresh the completions from the current policy.
    #[schemars(range(min = 1, max = MAX_STEPS))]
    pub rounds: u64,
    pub reference: Reference,
    pub normalization: Normalization,
    pub zero_spread: ZeroSpread,
    pub weights: Weights,
    /// Held-out prompts (`dataset.eval`) whose completions the policy that samples a round samples too, so that `gaps` say how
    /// far the trained one is from the target on what it was not trained on.
    #[schemars(range(max = MAX_HELD_OUT))]
    pub held_out_prompts: u32,
}

/// They are sampled and computed once more in every round.
const MAX_HELD_OUT: u32 = 512;

impl Default for Config {
    fn default() -> Self {
        Self {
            beta: 0.25,
            final_beta: None,
            group_size: 8,
            rounds: 1,
            reference: Reference::Previous,
            normalization: Normalization::Sequence,
            zero_spread: ZeroSpread::Keep,
            weights: Weights::Group,
            held_out_prompts: 0,
        }
    }
}

/// What the target tilts in later rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reference {
    /// The policy that sampled the round.
    Previous,
    /// The model the job started from.
    Initial,
}

/// What the summed loss is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Normalization {
    /// The number of completions; the theorem's form.
    Sequence,
    /// The number of tokens.
    Token,
}

/// What happens to groups in which all rewards are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ZeroSpread {
    /// The formula: every completion keeps weight 1.
    Keep,
    /// Leave such groups out (a departure from the paper).
    Skip,
}

/// What a completion is weighted by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// `exp(r/beta)` by its mean in the group.
    Group,
    /// `exp(r/beta)` by its mean over all completions of the step, so that prompts count by what they earn.
    Step,
    /// `exp(r/beta)`, with an exponent of at most 80.
    Raw,
    /// `exp((r - mean r)/beta)`, with an exponent of at most 80.
    Advantage,
    /// 1 for a reward of at least so much, otherwise 0.
    Threshold(f64),
}

impl Config {
    /// The temperature of a round's target.
    fn beta_of(&self, round: u64) -> f64 {
        let Some(last) = self.final_beta.filter(|_| self.rounds > 1) else { return self.beta };
        let share = round.min(self.rounds - 1) as f64 / (self.rounds - 1) as f64;
        self.beta * (last / self.beta).powf(share)
    }
}

/// `exp` of it is a number in f32 that leaves room for sums.
const LARGEST_EXPONENT: f64 = 80.0;

impl Settings for Config {
    fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        let mut fields = Fields::below(pointer);
        fields.require(
            self.weights == Weights::Group || self.reference == Reference::Previous,
            "weights",
            "must be \"group\" with `reference` \"initial\": ratios to it are normalised within a group alone",
        );
        fields.require(
            self.final_beta.is_none() || self.rounds > 1,
            "final_beta",
            "is the last round's, and there is one round, whose temperature `beta` is; ask for more `rounds`",
        );
        fields.require(
            self.held_out_prompts == 0 || self.target_beta(0).is_some(),
            "held_out_prompts",
            "must be 0 with `reference` \"initial\" and several rounds, whose completions are not samples of what their target \
             tilts",
        );
        fields.finish()
    }

    fn build(&self, train: &TrainSpec) -> Box<dyn Objective> {
        Box::new(build(self.clone(), train))
    }

    fn stored_rollouts(&self) -> StoredRollouts {
        StoredRollouts::OfTheStart
    }

    fn warnings(&self, job: &Circumstances) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if job.samples && (job.shifted || job.truncated) {
            warnings.push((
                "/sampling",
                "reference_changed",
                "temperature, top_p, top_k, `weights` and `cache` change the distribution that is sampled, and with it the \
                 reference that the target tilts; use temperature 1, top_p 1, top_k 0 and neither of the two for the model \
                 itself",
            ));
        }
        if self.weights != Weights::Group {
            warnings.push((
                "/objective/weights",
                "departure",
                "weights that are not normalised within each group have another target than the reward-tilted reference",
            ));
        }
        if self.zero_spread == ZeroSpread::Skip {
            warnings.push((
                "/objective/zero_spread",
                "departure",
                "leaving out groups with equal rewards departs from the published weights, which imitate them",
            ));
        }
        warnings
    }

    fn target_beta(&self, round: u64) -> Option<f64> {
        // Later completions are not samples of an initial reference, so that they do not measure its target.
        (self.reference == Reference::Previous || self.rounds == 1).then(|| self.beta_of(round))
    }

    fn held_out_prompts(&self) -> u32 {
        self.held_out_prompts
    }
}

#[derive(Debug)]
pub struct Bolt {
    config: Config,
    plan: Plan,
    /// The temperature of the step's round.
    beta: f64,
    /// Logarithm of the mean of `exp(r/beta)` over the step's completions.
    log_partition: f64,
}

fn build(config: Config, train: &TrainSpec) -> Bolt {
    let plan = Plan::rounds(config.rounds, config.group_size, train);
    Bolt { plan, beta: config.beta, config, log_partition: 0.0 }
}

impl Objective for Bolt {
    fn needs(&self) -> Needs {
        let reference = self.config.reference == Reference::Initial;
        Needs { verifier: true, groups: true, reference, ..Needs::default() }
    }

    fn plan(&self) -> Plan {
        self.plan
    }

    fn begin_step(&mut self, step: &StepStatistics<'_>) {
        self.beta = self.config.beta_of(step.round);
        let scores: Vec<f64> = step.rewards.iter().flatten().map(|reward| reward / self.beta).collect();
        self.log_partition = if scores.is_empty() { 0.0 } else { log_mean_exp(&scores) };
    }

    fn credit(&self, group: &Group<'_>) -> Vec<Option<f64>> {
        if self.config.zero_spread == ZeroSpread::Skip && is_zero_spread(group.rewards) {
            return vec![None; group.rewards.len()];
        }
        let beta = self.beta;
        let exponential = |score: f64| score.min(LARGEST_EXPONENT).exp();
        let scores: Vec<f64> = match self.config.reference {
            Reference::Initial if !group.reference_log_ratios.is_empty() => {
                group.rewards.iter().zip(group.reference_log_ratios).map(|(r, ratio)| r / beta + ratio).collect()
            }
            Reference::Initial | Reference::Previous => group.rewards.iter().map(|r| r / beta).collect(),
        };
        let weights: Vec<f64> = match self.config.weights {
            Weights::Group => boltzmann_weights(&scores),
            Weights::Step => scores.iter().map(|score| exponential(score - self.log_partition)).collect(),
            Weights::Raw => scores.into_iter().map(exponential).collect(),
            Weights::Advantage => {
                let center = mean(group.rewards) / beta;
                scores.iter().map(|score| exponential(score - center)).collect()
            }
            Weights::Threshold(least) => {
                group.rewards.iter().map(|reward| f64::from(u8::from(*reward >= least))).collect()
            }
        };
        weights.into_iter().map(Some).collect()
    }

    fn loss(&self, batch: &TokenBatch<'_>) -> TensorResult<Tensor> {
        surrogate::score(batch, batch.credit)?.sum_all()?.neg()
    }

    fn normalizer(&self, totals: &StepTotals) -> f64 {
        match self.config.normalization {
            Normalization::Sequence => totals.sequences,
            Normalization::Token => totals.tokens,
        }
    }

    fn round_report(&self, round: u64, groups: &[frontier::ScoredGroup]) -> Statistics {
        frontier::report(groups, self.config.beta_of(round))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::math::ess_share;

    fn credit(config: Config, group: Group<'_>) -> Vec<Option<f64>> {
        build(config, &TrainSpec::default()).credit(&group)
    }

    fn weights(config: Config, rewards: &[f64]) -> Vec<f64> {
        credit(config, Group { rewards, reference_log_ratios: &[] }).into_iter().flatten().collect()
    }

    #[test]
    fn equal_rewards_keep_weight_one_or_leave_the_group_out() {
        assert_eq!(weights(Config::default(), &[1.0, 1.0, 1.0]), [1.0; 3]);
        let skip = Config { zero_spread: ZeroSpread::Skip, ..Config::default() };
        assert_eq!(credit(skip, Group { rewards: &[0.0, 0.0], reference_log_ratios: &[] }), [None, None]);
    }

    #[test]
    fn the_temperature_goes_from_one_end_to_the_other_by_rounds() {
        let config = Config { beta: 1.0, final_beta: Some(0.01), rounds: 3, ..Config::default() };
        let betas = [0, 1, 2].map(|round| config.target_beta(round).unwrap());
        assert!(betas.iter().zip([1.0, 0.1, 0.01]).all(|(got, want)| (got - want).abs() < 1e-12), "{betas:?}");
        let mut bolt = build(config, &TrainSpec::default());
        bolt.begin_step(&StepStatistics { round: 1, ..StepStatistics::default() });
        let weights = bolt.credit(&Group { rewards: &[1.0, 0.0], reference_log_ratios: &[] });
        let ratio = weights[0].unwrap() / weights[1].unwrap();
        assert!((ratio.ln() - 10.0).abs() < 1e-9, "{weights:?}");
        assert!(Config { final_beta: Some(0.1), ..Config::default() }.check("/objective").is_err());
    }

    #[test]
    fn the_weights_that_the_paper_compares_with_are_what_they_say() {
        let (beta, rewards) = (0.5_f64, [0.0, 1.0, 0.4]);
        let of = |weights| {
            let mut bolt = build(Config { beta, weights, ..Config::default() }, &TrainSpec::default());
            let all = vec![0.0, 1.0, 0.4, 1.0, 1.0, 1.0];
            bolt.begin_step(&StepStatistics { rewards: &[all], ..StepStatistics::default() });
            let credit = bolt.credit(&Group { rewards: &rewards, reference_log_ratios: &[] });
            credit.into_iter().flatten().collect::<Vec<f64>>()
        };
        let exp = |r: f64| (r / beta).exp();
        let (own, step) = ((exp(0.0) + exp(1.0) + exp(0.4)) / 3.0, (exp(0.0) + 4.0 * exp(1.0) + exp(0.4)) / 6.0);
        let cases = [
            (Weights::Group, rewards.map(|r| exp(r) / own)),
            (Weights::Step, rewards.map(|r| exp(r) / step)),
            (Weights::Raw, rewards.map(exp)),
            (Weights::Advantage, rewards.map(|r| exp(r - 1.4 / 3.0))),
            (Weights::Threshold(0.4), [0.0, 1.0, 1.0]),
        ];
        for (weights, expected) in cases {
            let got = of(weights);
            assert!(got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{weights:?}: {got:?}");
        }
        let cold = Config { beta: 1e-3, weights: Weights::Raw, ..Config::default() };
        assert!(weights(cold, &[1.0, 0.0]).iter().all(|weight| (*weight as f32).is_finite()));
    }

    #[test]
    fn a_cold_target_imitates_only_the_best_and_a_hot_one_everything() {
        let rewards = [0.0, 1.0, 0.0, 0.0];
        let cold = weights(Config { beta: 1e-3, ..Config::default() }, &rewards);
        assert!((ess_share(&cold) - 0.25).abs() < 1e-9);
        let hot = weights(Config { beta: 1e6, ..Config::default() }, &rewards);
        assert!((ess_share(&hot) - 1.0).abs() < 1e-9);
    }

    /// On a policy small enough to enumerate, weighted SFT with exact expectations reaches the tilted reference, and
    /// K refreshed rounds reach `pi_0 exp(K r/beta)`.
    #[test]
    fn the_fixed_point_is_the_tilted_reference_and_rounds_multiply_the_tilt() {
        let start = [0.5_f64, 0.3, 0.15, 0.05];
        let rewards = [0.0_f64, 1.0, 0.2, 0.7];
        let beta = 0.5;
        let mut policy = start;
        for _ in 0..3 {
            // The maximiser of sum_y pi(y) w(y) log q(y) over distributions q is pi w, normalised.
            let weights = boltzmann_weights(&rewards.map(|r| r / beta));
            let tilted: Vec<f64> = policy.iter().zip(&weights).map(|(p, w)| p * w).collect();
            let total: f64 = tilted.iter().sum();
            policy = std::array::from_fn(|y| tilted[y] / total);
        }
        let unnormalised = std::array::from_fn::<f64, 4, _>(|y| start[y] * (3.0 * rewards[y] / beta).exp());
        let kl: f64 =
            policy.iter().zip(&unnormalised).map(|(p, u)| p * (p / (u / unnormalised.iter().sum::<f64>())).ln()).sum();
        assert!(kl.abs() < 1e-12, "{kl}");
    }

    #[test]
    fn the_density_ratio_enters_with_an_initial_reference() {
        let config = Config { reference: Reference::Initial, rounds: 2, beta: 1.0, ..Config::default() };
        let group = Group { rewards: &[0.0, 0.0], reference_log_ratios: &[0.0, 3.0_f64.ln()] };
        let weights: Vec<f64> = credit(config, group).into_iter().flatten().collect();
        assert!((weights[1] / weights[0] - 3.0).abs() < 1e-12);
        assert!((mean(&weights) - 1.0).abs() < 1e-12);
    }
}
