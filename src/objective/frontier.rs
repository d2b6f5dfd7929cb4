//! What a set of scored completions can teach, before any step is taken on it: how concentrated the Boltzmann weights
//! are (effective sample size), what success they aim at, and how much of the target they cover.
//!
//! Source: the temperature-coverage-variance frontier of BOLT (arXiv 2605.02469).

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::math::{PASS_MARK, boltzmann_weights, ess_share, is_zero_spread, log_mean_exp, mean};
use crate::job::event::Gaps;

/// One scored completion of a stored set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoredCompletion {
    /// Number within the group of the first completion with the same tokens.
    pub sequence: u32,
    /// Number within the group of the first completion with the same answer.
    pub answer: u32,
    pub reward: f64,
    /// Log-probability of the whole completion under the model that sampled it.
    pub behavior_logprob: f64,
}

/// The scored completions of one prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoredGroup {
    pub completions: Vec<ScoredCompletion>,
}

/// What a set covers, whatever the temperature; shares of a group, averaged over the groups.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Coverage {
    /// Completions with a reward of at least 0.5.
    pub solve_rate: f64,
    /// Groups with at least one such completion.
    pub pass_at_group: f64,
    /// Distinct answers.
    pub distinct_answers: f64,
    /// Distinct completions, token by token.
    pub distinct_completions: f64,
    /// Good-Turing estimate of the probability of answers that were not seen: those seen once.
    pub unseen_answers: f64,
    /// Groups whose rewards are all equal, which teach nothing about better and worse.
    pub zero_spread: f64,
    /// Groups whose rewards are all below 0.5, and all at least 0.5.
    pub all_fail: f64,
    pub all_pass: f64,
}

/// One temperature of the target `pi* ~ pi_ref exp(r/beta)`; means over the groups.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FrontierRow {
    pub beta: f64,
    /// Effective sample size of the weights as a share of the group, `(sum w)^2 / (G sum w^2)`.
    pub ess_share: f64,
    /// The same over the groups whose rewards differ; the others have 1 at every temperature.
    pub ess_share_informative: f64,
    /// Mean square of the weights (of mean 1), the inverse of the ESS share in every group: what weighting costs in
    /// variance.
    pub second_moment: f64,
    /// Expected reward under the weighted completions, `sum w r / G`.
    pub target_success: f64,
    /// Logarithm of the estimate of `Z = E exp(r/beta)`.
    pub log_partition: f64,
    /// `beta log(1/pi*(S|x))`, in units of reward: what no policy supported on the stored completions can regain. It
    /// grows with the length of the completions; read it beside the coverage of answers.
    pub support_price: f64,
}

/// The table for a list of temperatures.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Frontier {
    pub groups: usize,
    pub completions: usize,
    pub coverage: Coverage,
    /// The smallest listed beta whose informative ESS share reaches `ess_floor`; none when none does, or when no group
    /// tells its completions apart.
    pub recommended_beta: Option<f64>,
    pub ess_floor: f64,
    pub rows: Vec<FrontierRow>,
}

/// The smallest effective sample size, as a share of the group, that is recommended.
pub const DEFAULT_ESS_FLOOR: f64 = 0.25;

/// The smallest temperature that is computed with; below it `r/beta` may overflow.
pub const MIN_BETA: f64 = 1e-6;

/// Betas from 0.02 to 5, evenly spaced in logarithm.
pub fn default_betas() -> Vec<f64> {
    (0..25).map(|i| 0.02 * 250_f64.powf(f64::from(i) / 24.0)).collect()
}

/// The frontier of a stored set; `betas` are sorted and must be positive and finite. Empty groups are left out.
pub fn frontier(groups: &[ScoredGroup], betas: &[f64], ess_floor: f64) -> Frontier {
    let groups: Vec<&ScoredGroup> = groups.iter().filter(|g| !g.completions.is_empty()).collect();
    let mut betas = betas.to_vec();
    betas.sort_by(f64::total_cmp);
    betas.dedup();
    let rows: Vec<FrontierRow> = betas.iter().map(|beta| row(&groups, *beta)).collect();
    let informs = groups.iter().any(|group| !is_zero_spread(&group.rewards()));
    Frontier {
        groups: groups.len(),
        completions: groups.iter().map(|g| g.completions.len()).sum(),
        coverage: coverage(&groups),
        recommended_beta: rows.iter().find(|row| informs && row.ess_share_informative >= ess_floor).map(|row| row.beta),
        ess_floor,
        rows,
    }
}

/// The statistics of one beta, by metric name.
pub fn report(groups: &[ScoredGroup], beta: f64) -> Vec<(&'static str, f64)> {
    let groups: Vec<&ScoredGroup> = groups.iter().filter(|g| !g.completions.is_empty()).collect();
    let (row, coverage) = (row(&groups, beta), coverage(&groups));
    vec![
        ("target/ess_share", row.ess_share),
        ("target/success", row.target_success),
        ("target/log_partition", row.log_partition),
        ("coverage/distinct_answers", coverage.distinct_answers),
        ("coverage/distinct_completions", coverage.distinct_completions),
        ("coverage/pass_at_group", coverage.pass_at_group),
        ("coverage/unseen_answers", coverage.unseen_answers),
        ("coverage/support_price", row.support_price),
    ]
}

/// `policy_logprobs` holds for every group and completion the log-probability of the whole completion under the
/// trained policy.
pub fn gaps(groups: &[ScoredGroup], policy_logprobs: &[Vec<f64>], beta: f64) -> Gaps {
    let pairs = || groups.iter().zip(policy_logprobs).filter(|(group, _)| !group.completions.is_empty());
    let kls: Vec<f64> = pairs()
        .map(|(group, policy)| {
            let distinct: Vec<usize> = group.distinct().collect();
            let scores: Vec<f64> = distinct.iter().map(|i| group.log_target(*i, beta)).collect();
            let log_total = log_mean_exp(&scores) + (scores.len() as f64).ln();
            let terms = distinct.iter().zip(&scores).map(|(i, score)| {
                let log_p = score - log_total;
                log_p.exp() * (log_p - policy[*i])
            });
            terms.sum()
        })
        .collect();
    let prices: Vec<f64> = pairs().map(|(group, _)| group.support_price(beta)).collect();
    let kl = mean(&kls);
    Gaps { beta, coverage_gap: mean(&prices), optimisation_kl: kl, optimisation_gap: beta * kl }
}

impl ScoredGroup {
    fn rewards(&self) -> Vec<f64> {
        self.completions.iter().map(|c| c.reward).collect()
    }

    /// The first of each run of equal completions.
    fn distinct(&self) -> impl Iterator<Item = usize> {
        let mut seen = BTreeSet::new();
        (0..self.completions.len()).filter(move |i| seen.insert(self.completions[*i].sequence))
    }

    /// `log pi_ref(y) + r/beta`, the unnormalised target.
    fn log_target(&self, completion: usize, beta: f64) -> f64 {
        let completion = &self.completions[completion];
        completion.behavior_logprob + completion.reward / beta
    }

    fn log_partition(&self, beta: f64) -> f64 {
        log_mean_exp(&self.completions.iter().map(|c| c.reward / beta).collect::<Vec<_>>())
    }

    /// `beta log(1/pi*(S))`, where `pi*(S)`, the sum over distinct completions of `pi_ref(y) exp(r/beta) / Z`, is at
    /// most 1.
    fn support_price(&self, beta: f64) -> f64 {
        let log_partition = self.log_partition(beta);
        let log_terms: Vec<f64> = self.distinct().map(|i| self.log_target(i, beta) - log_partition).collect();
        -beta * (log_mean_exp(&log_terms) + (log_terms.len() as f64).ln()).min(0.0)
    }
}

fn row(groups: &[&ScoredGroup], beta: f64) -> FrontierRow {
    let (mut ess, mut informative, mut moments, mut success) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for group in groups {
        let rewards = group.rewards();
        let weights = boltzmann_weights(&rewards.iter().map(|r| r / beta).collect::<Vec<_>>());
        let share = ess_share(&weights);
        ess.push(share);
        moments.push(1.0 / share);
        if !is_zero_spread(&rewards) {
            informative.push(share);
        }
        success.push(weights.iter().zip(&rewards).map(|(w, r)| w * r).sum::<f64>() / rewards.len() as f64);
    }
    FrontierRow {
        beta,
        ess_share: mean(&ess),
        ess_share_informative: if informative.is_empty() { 1.0 } else { mean(&informative) },
        second_moment: mean(&moments),
        target_success: mean(&success),
        log_partition: mean(&groups.iter().map(|g| g.log_partition(beta)).collect::<Vec<_>>()),
        support_price: mean(&groups.iter().map(|g| g.support_price(beta)).collect::<Vec<_>>()),
    }
}

fn coverage(groups: &[&ScoredGroup]) -> Coverage {
    let average = |value: &dyn Fn(&ScoredGroup) -> f64| mean(&groups.iter().map(|g| value(g)).collect::<Vec<_>>());
    let share = |holds: bool| f64::from(u8::from(holds));
    let solved = |g: &ScoredGroup| g.completions.iter().filter(|c| c.reward >= PASS_MARK).count();
    let size = |g: &ScoredGroup| g.completions.len() as f64;
    Coverage {
        solve_rate: average(&|g| solved(g) as f64 / size(g)),
        pass_at_group: average(&|g| share(solved(g) > 0)),
        distinct_answers: average(&|g| counts(g, |c| c.answer).len() as f64 / size(g)),
        distinct_completions: average(&|g| counts(g, |c| c.sequence).len() as f64 / size(g)),
        unseen_answers: average(&|g| {
            counts(g, |c| c.answer).values().filter(|count| **count == 1).count() as f64 / size(g)
        }),
        zero_spread: average(&|g| share(is_zero_spread(&g.rewards()))),
        all_fail: average(&|g| share(solved(g) == 0)),
        all_pass: average(&|g| share(solved(g) == g.completions.len())),
    }
}

fn counts(group: &ScoredGroup, key: impl Fn(&ScoredCompletion) -> u32) -> BTreeMap<u32, u32> {
    let mut counts = BTreeMap::new();
    for completion in &group.completions {
        *counts.entry(key(completion)).or_insert(0) += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(rewards: &[f64]) -> ScoredGroup {
        let completions = rewards
            .iter()
            .enumerate()
            .map(|(i, reward)| ScoredCompletion {
                sequence: i as u32,
                answer: i as u32,
                reward: *reward,
                behavior_logprob: -2.0,
            })
            .collect();
        ScoredGroup { completions }
    }

    #[test]
    fn binary_rewards_match_the_closed_forms() {
        // Z = 1 - p + p e^{1/beta} and C2 = (1 - p + p e^{2/beta}) / Z^2, the inverse of the ESS share.
        let (p, beta) = (0.25_f64, 0.7_f64);
        let row = frontier(&[group(&[1.0, 0.0, 0.0, 0.0])], &[beta], 0.25).rows[0];
        let z = 1.0 - p + p * (1.0 / beta).exp();
        let c2 = (1.0 - p + p * (2.0 / beta).exp()) / (z * z);
        assert!((row.log_partition - z.ln()).abs() < 1e-12);
        assert!((row.second_moment - c2).abs() < 1e-12);
        assert!((row.ess_share - 1.0 / c2).abs() < 1e-12);
        assert!((row.target_success - p * (1.0 / beta).exp() / z).abs() < 1e-12);
    }

    #[test]
    fn repeats_are_counted_once_for_coverage() {
        let mut repeated = group(&[1.0, 1.0, 0.0]);
        repeated.completions[1].sequence = 0;
        repeated.completions[1].answer = 0;
        let coverage = frontier(&[repeated.clone()], &[1.0], 0.25).coverage;
        assert!((coverage.distinct_completions - 2.0 / 3.0).abs() < 1e-12);
        assert!((coverage.unseen_answers - 1.0 / 3.0).abs() < 1e-12);
        // Two of three stored completions are the same, so that S has less mass than with three different ones.
        assert!(repeated.support_price(1.0) > group(&[1.0, 1.0, 0.0]).support_price(1.0));
    }

    #[test]
    fn betas_that_overflow_the_exponential_stay_finite_and_the_smallest_good_one_is_recommended() {
        let groups = [group(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), group(&[0.0, 0.0])];
        let table = frontier(&groups, &[1e-5, 0.1, 0.5, 1.0, 1e5], 0.25);
        for row in &table.rows {
            for value in [row.ess_share, row.target_success, row.log_partition, row.support_price, row.second_moment] {
                assert!(value.is_finite(), "{row:?}");
            }
        }
        assert_eq!(table.coverage.zero_spread, 0.5);
        let best = table.recommended_beta.unwrap();
        for row in &table.rows {
            assert_eq!(row.ess_share_informative >= 0.25, row.beta >= best, "{row:?}");
        }
        assert_eq!(frontier(&groups, &[1e-5], 0.25).recommended_beta, None);
        assert_eq!(frontier(&groups[1..], &[1.0], 0.25).recommended_beta, None);
    }

    /// On a policy small enough to enumerate: no policy on the stored support S is closer to J(pi*) than
    /// beta log(1/pi*(S)), and pi* restricted to S is exactly so close (J = expected reward - beta KL to pi_ref).
    #[test]
    fn the_support_price_is_the_least_loss_of_a_policy_on_the_support() {
        let (reference, rewards) = ([0.4_f64, 0.3, 0.2, 0.1], [0.2_f64, 1.0, 0.5, 0.9]);
        for beta in [0.1, 0.5, 2.0] {
            let objective = |policy: &[f64]| -> f64 {
                let term = |y: usize| {
                    if policy[y] == 0.0 {
                        0.0
                    } else {
                        policy[y] * (rewards[y] - beta * (policy[y] / reference[y]).ln())
                    }
                };
                (0..4).map(term).sum()
            };
            let tilted: Vec<f64> = (0..4).map(|y| reference[y] * (rewards[y] / beta).exp()).collect();
            let z: f64 = tilted.iter().sum();
            let optimum = objective(&tilted.iter().map(|t| t / z).collect::<Vec<_>>());
            let support = [0_usize, 2];
            let mass: f64 = support.iter().map(|y| tilted[*y]).sum::<f64>() / z;
            let price = beta * (1.0 / mass).ln();
            for i in 0..=1000 {
                let share = f64::from(i) / 1000.0;
                let loss = optimum - objective(&[share, 0.0, 1.0 - share, 0.0]);
                assert!(loss >= price - 1e-12, "{beta} {share}: {loss} < {price}");
            }
            let restricted = tilted[0] / (tilted[0] + tilted[2]);
            let loss = optimum - objective(&[restricted, 0.0, 1.0 - restricted, 0.0]);
            assert!((loss - price).abs() < 1e-12);
            // The stored group's own price, with the exact partition function, is the same number.
            let stored = ScoredGroup {
                completions: support
                    .iter()
                    .map(|y| ScoredCompletion {
                        sequence: *y as u32,
                        answer: *y as u32,
                        reward: rewards[*y],
                        behavior_logprob: reference[*y].ln() + (stored_z(&rewards, &support, beta) / z).ln(),
                    })
                    .collect(),
            };
            assert!((stored.support_price(beta) - price).abs() < 1e-12);
        }
    }

    /// The partition function as a group of these completions estimates it.
    fn stored_z(rewards: &[f64; 4], support: &[usize], beta: f64) -> f64 {
        support.iter().map(|y| (rewards[*y] / beta).exp()).sum::<f64>() / support.len() as f64
    }

    #[test]
    fn the_optimisation_gap_is_zero_exactly_at_the_restricted_target() {
        let mut stored = group(&[1.0, 0.0, 1.0]);
        stored.completions[1].behavior_logprob = -1.0;
        let beta = 0.5;
        let scores: Vec<f64> = (0..3).map(|i| stored.log_target(i, beta)).collect();
        let log_total = log_mean_exp(&scores) + 3.0_f64.ln();
        let at_target: Vec<f64> = scores.iter().map(|s| s - log_total).collect();
        let moved: Vec<f64> = at_target.iter().map(|l| l - 0.1).collect();
        assert!(gaps(&[stored.clone()], &[at_target], beta).optimisation_kl.abs() < 1e-12);
        assert!((gaps(&[stored], &[moved], beta).optimisation_gap - 0.1 * beta).abs() < 1e-12);
    }
}
