//! What a set of scored completions can teach, before any step is taken on it: how concentrated the Boltzmann weights
//! are (effective sample size), what success they aim at, and how much of the target they cover.
//!
//! Source: the temperature-coverage-variance frontier of BOLT (arXiv 2605.02469).

use std::collections::HashMap;

use super::math::{boltzmann_weights, ess_share, is_zero_spread, mean};

/// One scored completion of a stored set.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredCompletion {
    pub tokens: Vec<u32>,
    pub reward: f64,
    /// Log-probability of the whole completion under the model that sampled it.
    pub behavior_logprob: f64,
}

/// The scored completions of one prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredGroup {
    pub completions: Vec<ScoredCompletion>,
}

/// The statistics of one inverse temperature, by metric name; all are means over the groups.
///
/// * `ess/ratio`: effective sample size of the weights as a share of the group, `(sum w)^2 / (G sum w^2)`.
/// * `target/success`: expected reward under the weighted completions, `sum w r / G`.
/// * `target/log_partition`: the estimate of `Z = E exp(r/beta)`, as its logarithm so that it stays finite.
/// * `coverage/distinct`: distinct completions as a share of the group.
/// * `coverage/pass_at_group`: share of groups with at least one rewarded completion.
/// * `coverage/unseen_mass`: Good-Turing estimate of the probability of completions not seen, singletons / G.
/// * `coverage/support_price`: `beta log(1/pi*(S|x))`, what no policy supported on the stored completions can regain.
/// * `reward/zero_spread`: share of groups whose rewards are all equal.
pub fn report(groups: &[ScoredGroup], beta: f64) -> Vec<(&'static str, f64)> {
    let rows: Vec<[f64; 8]> = groups.iter().filter(|g| !g.completions.is_empty()).map(|g| row(g, beta)).collect();
    const NAMES: [&str; 8] = [
        "ess/ratio",
        "target/success",
        "target/log_partition",
        "coverage/distinct",
        "coverage/pass_at_group",
        "coverage/unseen_mass",
        "coverage/support_price",
        "reward/zero_spread",
    ];
    NAMES
        .iter()
        .enumerate()
        .map(|(i, name)| (*name, mean(&rows.iter().map(|row| row[i]).collect::<Vec<_>>())))
        .collect()
}

fn row(group: &ScoredGroup, beta: f64) -> [f64; 8] {
    let size = group.completions.len() as f64;
    let rewards: Vec<f64> = group.completions.iter().map(|c| c.reward).collect();
    let weights = boltzmann_weights(&rewards.iter().map(|r| r / beta).collect::<Vec<_>>());
    let success = weights.iter().zip(&rewards).map(|(w, r)| w * r).sum::<f64>() / size;
    let log_partition = log_mean_exp(&rewards.iter().map(|r| r / beta).collect::<Vec<_>>());

    let mut seen: HashMap<&[u32], (u32, &ScoredCompletion)> = HashMap::new();
    for completion in &group.completions {
        seen.entry(&completion.tokens).or_insert((0, completion)).0 += 1;
    }
    let singletons = seen.values().filter(|(count, _)| *count == 1).count() as f64;
    // pi*(S|x) = sum over distinct completions of pi_ref(y|x) exp(r/beta) / Z, at most 1 by definition.
    let log_terms: Vec<f64> =
        seen.values().map(|(_, c)| c.behavior_logprob + c.reward / beta - log_partition).collect();
    let log_covered = (log_mean_exp(&log_terms) + (log_terms.len() as f64).ln()).min(0.0);
    [
        ess_share(&weights),
        success,
        log_partition,
        seen.len() as f64 / size,
        f64::from(u8::from(rewards.iter().any(|r| *r > 0.0))),
        singletons / size,
        -beta * log_covered,
        f64::from(u8::from(is_zero_spread(&rewards))),
    ]
}

fn log_mean_exp(values: &[f64]) -> f64 {
    let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top + mean(&values.iter().map(|v| (v - top).exp()).collect::<Vec<_>>()).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(rewards: &[f64]) -> ScoredGroup {
        let completions = rewards
            .iter()
            .enumerate()
            .map(|(i, reward)| ScoredCompletion { tokens: vec![i as u32], reward: *reward, behavior_logprob: -2.0 })
            .collect();
        ScoredGroup { completions }
    }

    fn value(groups: &[ScoredGroup], beta: f64, name: &str) -> f64 {
        report(groups, beta).into_iter().find(|(n, _)| *n == name).unwrap().1
    }

    #[test]
    fn binary_rewards_match_the_closed_forms() {
        // Z = 1 - p + p e^{1/beta} and C2 = (1 - p + p e^{2/beta}) / Z^2, the inverse of the ESS share.
        let (p, beta) = (0.25_f64, 0.7_f64);
        let groups = [group(&[1.0, 0.0, 0.0, 0.0])];
        let z = 1.0 - p + p * (1.0 / beta).exp();
        let c2 = (1.0 - p + p * (2.0 / beta).exp()) / (z * z);
        assert!((value(&groups, beta, "target/log_partition") - z.ln()).abs() < 1e-12);
        assert!((value(&groups, beta, "ess/ratio") - 1.0 / c2).abs() < 1e-12);
        assert!((value(&groups, beta, "target/success") - p * (1.0 / beta).exp() / z).abs() < 1e-12);
    }

    #[test]
    fn repeats_are_counted_once_for_coverage() {
        let mut repeated = group(&[1.0, 1.0, 0.0]);
        repeated.completions[1].tokens = vec![0];
        assert!((value(&[repeated.clone()], 1.0, "coverage/distinct") - 2.0 / 3.0).abs() < 1e-12);
        assert!((value(&[repeated], 1.0, "coverage/unseen_mass") - 1.0 / 3.0).abs() < 1e-12);
    }
}
