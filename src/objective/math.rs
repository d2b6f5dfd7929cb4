//! Small formulas that several objectives and reports share.

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

/// Mean of per-prompt estimates with the half width of its 95 % interval (normal approximation over prompts).
pub fn mean_with_interval(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    if n < 2.0 {
        return (mean(values), 1.0);
    }
    let sample_variance = population_std(values).powi(2) * n / (n - 1.0);
    (mean(values), 1.96 * (sample_variance / n).sqrt())
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
}
