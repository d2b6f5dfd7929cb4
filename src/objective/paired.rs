//! Two models on the same prompts: the mean of the prompt-wise differences with its interval.
//!
//! Prompts differ far more from each other than models do, so that comparing two pass rates with an interval each wastes
//! most of what was measured. The difference is taken prompt by prompt instead (Miller, "Adding Error Bars to Evals",
//! arXiv 2411.00640, section 4): with `d_i` the difference on prompt i of n, the interval of the mean difference is
//! `mean(d) ± t(n - 1) * s(d) / sqrt(n)`, Student's interval for paired samples.
//!
//! Where few prompts differ, that interval is too narrow (at no difference at all it has no width), so that a verdict
//! also needs as many differing prompts as a sign test needs to reach the confidence: m with `2 * 0.5^m <= 1 - confidence`.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// How the second of two models does against the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Pairs.
    pub pairs: usize,
    /// Pairs whose two values are not the same.
    pub differing: usize,
    /// Mean of second - first.
    pub difference: f64,
    /// Of that mean.
    pub standard_error: f64,
    /// The interval of the mean.
    pub low: f64,
    pub high: f64,
    /// Whether enough pairs differ for a verdict.
    pub enough: bool,
}

impl Comparison {
    /// Compares pairs `(first, second)` at a confidence between 0 and 1; none for fewer than two.
    pub fn of(pairs: &[(f64, f64)], confidence: f64) -> Option<Self> {
        if pairs.len() < 2 {
            return None;
        }
        let n = pairs.len() as f64;
        let difference = pairs.iter().map(|(first, second)| second - first).sum::<f64>() / n;
        let squares: f64 = pairs.iter().map(|(first, second)| (second - first - difference).powi(2)).sum();
        let standard_error = (squares / (n - 1.0) / n).sqrt();
        let half_width = t_quantile(pairs.len() as u32 - 1, confidence) * standard_error;
        let differing = pairs.iter().filter(|(first, second)| first != second).count();
        Some(Self {
            pairs: pairs.len(),
            differing,
            difference,
            standard_error,
            low: difference - half_width,
            high: difference + half_width,
            enough: 2.0 * 0.5_f64.powi(differing.min(1000) as i32) <= 1.0 - confidence,
        })
    }

    /// Whether the second is better by more than `margin`, with the comparison's confidence.
    pub fn is_better_by(&self, margin: f64) -> bool {
        self.enough && self.low > margin
    }

    pub fn is_worse(&self) -> bool {
        self.enough && self.high < 0.0
    }
}

/// The t for which a Student variable with `freedom` degrees of freedom lies within `-t..t` with probability
/// `confidence`.
fn t_quantile(freedom: u32, confidence: f64) -> f64 {
    // With t = sqrt(freedom) * tan(angle) all of them lie within one bounded range.
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    for _ in 0..80 {
        let angle = f64::midpoint(low, high);
        if within(freedom, angle) < confidence { low = angle } else { high = angle }
    }
    f64::from(freedom).sqrt() * f64::midpoint(low, high).tan()
}

/// The probability of `-t..t` at `angle = atan(t / sqrt(freedom))`: finite sums for whole degrees of freedom
/// (Abramowitz and Stegun, 26.7.3 and 26.7.4).
fn within(freedom: u32, angle: f64) -> f64 {
    let (sine, cosine) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    // The terms of even degrees begin with 1 and go on with 1/2 cos^2; those of odd ones with cos and 2/3 cos^3.
    let (mut term, mut sum) = if odd { (cosine, 0.0) } else { (1.0, 0.0) };
    let mut order = if odd { 1 } else { 0 };
    while order + 2 <= freedom {
        sum += term;
        term *= cosine * cosine * f64::from(order + 1) / f64::from(order + 2);
        order += 2;
    }
    if odd { FRAC_2_PI * (angle + sine * sum) } else { sine * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// python -c "from scipy.stats import t; print([t.ppf(0.5 + c / 2, n) for n, c in [...]])"
    #[test]
    fn quantiles_agree_with_scipy() {
        let table = [
            (1, 0.95, 12.706204736174694),
            (2, 0.95, 4.302652729749462),
            (3, 0.9, 2.3533634348018233),
            (7, 0.99, 3.4994832973504924),
            (30, 0.95, 2.0422724563012378),
            (199, 0.95, 1.9719565442517533),
            (1000, 0.5, 0.6747351646070093),
            (99999, 0.999, 3.290624032384949),
        ];
        for (freedom, confidence, expected) in table {
            let found = t_quantile(freedom, confidence);
            assert!((found / expected - 1.0).abs() < 1e-9, "{freedom} {confidence}: {found} {expected}");
        }
    }

    /// import numpy as np; from scipy import stats
    /// a = np.array([0, .25, .5, 1, .75, 0, .5, .25, 1, .125]); b = np.array([.25, .5, .5, 1, 1, .125, .25, .5, 1, .5])
    /// r = stats.ttest_rel(b, a); r.confidence_interval(0.95); (b - a).mean(); stats.sem(b - a)
    #[test]
    fn the_interval_agrees_with_scipy() {
        let first = [0.0, 0.25, 0.5, 1.0, 0.75, 0.0, 0.5, 0.25, 1.0, 0.125];
        let second = [0.25, 0.5, 0.5, 1.0, 1.0, 0.125, 0.25, 0.5, 1.0, 0.5];
        let pairs: Vec<(f64, f64)> = first.into_iter().zip(second).collect();
        let found = Comparison::of(&pairs, 0.95).unwrap();
        let expected = [0.125, 0.05892556509887896, -0.00829888916036095, 0.2582988891603609];
        for (found, expected) in
            [found.difference, found.standard_error, found.low, found.high].into_iter().zip(expected)
        {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert_eq!((found.pairs, found.differing), (10, 7));
    }

    #[test]
    fn a_verdict_needs_as_many_differing_prompts_as_a_sign_test() {
        let pairs =
            |better: usize| -> Vec<(f64, f64)> { (0..40).map(|i| (0.0, if i < better { 1.0 } else { 0.0 })).collect() };
        let verdict = |better| Comparison::of(&pairs(better), 0.95).unwrap().is_better_by(0.0);
        assert!(!verdict(5), "five heads in a row have a two-sided p of 0.0625");
        assert!(verdict(6), "six have 0.03125");
        let none = Comparison::of(&pairs(0), 0.95).unwrap();
        assert_eq!((none.low, none.high, none.is_better_by(0.0), none.is_worse()), (0.0, 0.0, false, false));
        assert!(Comparison::of(&pairs(1)[..1], 0.95).is_none());
    }

    #[test]
    fn exchanging_the_two_models_turns_the_verdict_around() {
        let pairs: Vec<(f64, f64)> = (0..30).map(|i| (f64::from(i % 2), f64::from(u8::from(i % 8 != 0)))).collect();
        let turned: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
        let (one, other) = (Comparison::of(&pairs, 0.9).unwrap(), Comparison::of(&turned, 0.9).unwrap());
        assert_eq!((one.low, one.high), (-other.high, -other.low));
        assert!(one.is_better_by(0.0) && other.is_worse());
    }
}
