//! Small formulas that several objectives and reports share.

use crate::job::PassAtK;

/// A completion passes with at least this reward.
pub const PASS_MARK: f64 = 0.5;

/// Arithmetic mean; 0 for nothing.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Population standard deviation; 0 for nothing.
pub fn population_std(values: &[f64]) -> f64 {
    let center = mean(values);
    mean(&values.iter().map(|v| (v - center) * (v - center)).collect::<Vec<_>>()).sqrt()
}

/// The standard error of the mean of independent values; none for fewer than two.
pub fn mean_error(values: &[f64]) -> Option<f64> {
    let others = (values.len() > 1).then(|| (values.len() - 1) as f64)?;
    Some(population_std(values) / others.sqrt())
}

/// Whether all rewards of a group are the same, so that the group says nothing about better and worse.
pub fn is_zero_spread(rewards: &[f64]) -> bool {
    rewards.iter().all(|r| *r == rewards[0])
}

/// `exp(score_i) / mean_j exp(score_j)`: weights of mean 1, shifted by the maximum so that nothing overflows.
pub fn boltzmann_weights(scores: &[f64]) -> Vec<f64> {
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let unnormalised: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
    let center = mean(&unnormalised);
    unnormalised.into_iter().map(|w| w / center).collect()
}

/// `log((1/n) sum exp(v))`, shifted by the maximum.
pub fn log_mean_exp(values: &[f64]) -> f64 {
    let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top + mean(&values.iter().map(|v| (v - top).exp()).collect::<Vec<_>>()).ln()
}

/// Effective sample size as a share of the sample, `(sum w)^2 / (n sum w^2)`, in `(0, 1]`; 0 if all weights are 0.
pub fn ess_share(weights: &[f64]) -> f64 {
    let (sum, squares) = weights.iter().fold((0.0, 0.0), |(s, q), w| (s + w, q + w * w));
    if squares == 0.0 { 0.0 } else { sum * sum / (weights.len() as f64 * squares) }
}

/// The effective sample size of the ratios `exp(d)`, as a share of their number: `(sum rho)^2 / (n sum rho^2)`, in
/// `[1/n, 1]`; 1 for none. Shifted by the largest, so that nothing overflows.
pub fn ess_of_log_ratios(log_ratios: &[f64]) -> f64 {
    if log_ratios.is_empty() {
        return 1.0;
    }
    let top = log_ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (sum, squares) = log_ratios.iter().fold((0.0, 0.0), |(sum, squares), d| {
        let ratio = (d - top).exp();
        (sum + ratio, squares + ratio * ratio)
    });
    sum * sum / (log_ratios.len() as f64 * squares)
}

/// The unbiased estimate of pass@k from `n` samples of which `correct` pass (Chen et al., arXiv 2107.03374, eq. 1):
/// `1 - C(n - correct, k) / C(n, k)`.
pub fn pass_at_k(n: u32, correct: u32, k: u32) -> f64 {
    if n - correct < k {
        return 1.0;
    }
    1.0 - (n - correct + 1..=n).map(|i| 1.0 - f64::from(k) / f64::from(i)).product::<f64>()
}

/// pass@k with its interval for each k, from how many of a prompt's completions passed: `(completions, passed)` for
/// each prompt. Prompts with fewer than k completions say nothing about k.
pub fn pass_at(ks: &[u32], counts: &[(u32, u32)]) -> Vec<PassAtK> {
    let of = |k: u32| {
        let told = counts.iter().filter(|(completions, _)| *completions >= k);
        let estimates: Vec<f64> = told.map(|(completions, passed)| pass_at_k(*completions, *passed, k)).collect();
        let RateInterval { mean, low, high } = rate_interval(&estimates);
        PassAtK::new(k, mean, low, high)
    };
    ks.iter().map(|k| of(*k)).collect()
}

/// A mean of rates with its 95 % interval, `0 <= low <= mean <= high <= 1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateInterval {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

/// The mean of one rate between 0 and 1 for each of n prompts, with its 95 % interval over prompts.
///
/// Wilson's score interval of a proportion (Wilson 1927) among as many yes-or-no answers as the rates are worth: n / d,
/// where d is the rates' variance as a share of the most that it could be, `s^2 / (m (1 - m))`. So that d cannot vanish
/// with the luck of few prompts, its m and s^2 are those of the rates together with one 0 and one 1. When all rates are
/// 0 or 1, d is 1. Rates that are all the same still have an interval, because of the prompts that were not asked.
pub fn rate_interval(rates: &[f64]) -> RateInterval {
    // The quantile of the normal distribution at 0.975.
    const Z: f64 = 1.959_963_984_540_054;
    if rates.is_empty() {
        return RateInterval { mean: 0.0, low: 0.0, high: 1.0 };
    }
    let (n, mean_rate) = (rates.len() as f64, mean(rates));
    let smoothed = [rates, &[0.0, 1.0]].concat();
    let (m, s) = (mean(&smoothed), population_std(&smoothed));
    let worth = n * m * (1.0 - m) / (s * s);
    let z2 = Z * Z / worth;
    let center = (mean_rate + z2 / 2.0) / (1.0 + z2);
    let spread = (mean_rate * (1.0 - mean_rate) * z2 + z2 * z2 / 4.0).sqrt() / (1.0 + z2);
    RateInterval {
        mean: mean_rate,
        low: (center - spread).clamp(0.0, mean_rate),
        high: (center + spread).clamp(mean_rate, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pass_at_k_agrees_with_counting_subsets() {
        for n in 1..=8_u32 {
            for correct in 0..=n {
                for k in 1..=n {
                    let subsets = (0_u32..1 << n).filter(|s| s.count_ones() == k);
                    let (mut hits, mut all) = (0.0, 0.0);
                    for subset in subsets {
                        all += 1.0;
                        hits += f64::from(u8::from(subset & ((1 << correct) - 1) != 0));
                    }
                    assert!((pass_at_k(n, correct, k) - hits / all).abs() < 1e-12, "{n} {correct} {k}");
                }
            }
        }
    }

    #[test]
    fn boltzmann_weights_have_mean_one_and_survive_extremes() {
        for scores in [vec![0.0, 1.0, 2.0], vec![1e4, 0.0, -1e4], vec![-1e300, -1e300]] {
            assert!((mean(&boltzmann_weights(&scores)) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn ess_of_log_ratios_is_that_of_the_ratios_and_survives_extremes() {
        let log_ratios: [f64; 3] = [0.3, -1.2, 0.0];
        let ratios: Vec<f64> = log_ratios.iter().map(|d| d.exp()).collect();
        assert!((ess_of_log_ratios(&log_ratios) - ess_share(&ratios)).abs() < 1e-12);
        assert!((ess_of_log_ratios(&[1e4, 0.0, -1e4]) - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(ess_of_log_ratios(&[]), 1.0);
    }

    #[test]
    fn ess_share_is_one_for_equal_and_one_nth_for_single_weights() {
        assert!((ess_share(&[2.0, 2.0, 2.0]) - 1.0).abs() < 1e-12);
        assert!((ess_share(&[0.0, 5.0, 0.0, 0.0]) - 0.25).abs() < 1e-12);
    }

    /// import numpy as np; from scipy.stats import norm
    /// x = np.array(rates); y = np.append(x, [0, 1]); m = y.mean(); z2n = norm.ppf(.975)**2 * y.var() / (m * (1 - m)) / len(x)
    /// np.roots([1 + z2n, -(2 * x.mean() + z2n), x.mean()**2]), where the quadratic is (mean - rate)^2 = z2n rate (1 - rate);
    /// of rates that are 0 or 1 also scipy.stats.binomtest(9, 10).proportion_ci(.95, "wilson")
    #[test]
    fn the_interval_of_rates_agrees_with_an_independent_one() {
        let nine_of_ten = [[1.0; 9].as_slice(), &[0.0]].concat();
        let all_but_one = [[1.0; 31].as_slice(), &[0.875]].concat();
        let mixed = [0.0, 0.25, 0.5, 1.0, 0.75, 0.0, 0.5, 0.25, 1.0, 0.125];
        let table: [(&[f64], [f64; 3]); 7] = [
            (&[1.0; 100], [1.0, 0.9630065017930145, 1.0]),
            (&[0.0; 8], [0.0, 0.0, 0.32440756488388023]),
            (&nine_of_ten, [0.9, 0.5958499732047615, 0.9821237869049271]),
            (&[0.5; 4], [0.5, 0.2537815976337061, 0.7462184023662939]),
            (&mixed, [0.4375, 0.23352615028038556, 0.6650492654247901]),
            (&[1.0], [1.0, 0.20654931437723742, 1.0]),
            (&all_but_one, [0.99609375, 0.8956281581877279, 0.999868050811886]),
        ];
        for (rates, expected) in table {
            let RateInterval { mean, low, high } = rate_interval(rates);
            for (found, expected) in [mean, low, high].into_iter().zip(expected) {
                assert!((found - expected).abs() < 1e-12, "{rates:?}: {found} {expected}");
            }
        }
        assert_eq!(rate_interval(&[]), RateInterval { mean: 0.0, low: 0.0, high: 1.0 });
    }

    /// The normal approximation holds it in 63 to 94 of a hundred.
    #[test]
    fn ninety_five_of_a_hundred_intervals_hold_the_true_rate() {
        let mut state = 1_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        // The share of prompts of a hard kind, and the rates with which prompts of both kinds pass.
        for (prompts, samples, hard, rates) in [
            (100, 4, 0.03, (0.0, 0.99)),
            (32, 8, 0.3, (0.1, 0.9)),
            (100, 4, 0.01, (0.0, 1.0)),
            (32, 4, 0.5, (0.0, 0.1)),
        ] {
            let truth = hard * rates.0 + (1.0 - hard) * rates.1;
            let held = (0..2000).filter(|_| {
                let of_prompt = |_| {
                    let rate = if uniform() < hard { rates.0 } else { rates.1 };
                    let passed = (0..samples).filter(|_| uniform() < rate).count() as u32;
                    pass_at_k(samples, passed, 1)
                };
                let interval = rate_interval(&(0..prompts).map(of_prompt).collect::<Vec<_>>());
                interval.low <= truth && truth <= interval.high
            });
            let held = held.count();
            assert!((1800..=1995).contains(&held), "{prompts} prompts, {samples} samples: {held} of 2000");
        }
    }
}
