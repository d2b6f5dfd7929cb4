//! Advantages: one table for `policy_gradient`, `p3o` and `fade`.
//!
//! With p the success rate of a group, q = 1 - p and rewards in {0, 1}; `m_S` and `m_F` are the masses that successes
//! and failures carry.
//!
//! | name | success | failure | m_S | m_F |
//! |---|---|---|---|---|
//! | reinforce | 1 | 0 | p | 0 |
//! | nsr | 0 | -1 | 0 | q |
//! | weighted {lambda} | lambda | -1 | lambda p | q |
//! | mean | q | -p | pq | pq |
//! | rloo | qG/(G-1) | -pG/(G-1) | pqG/(G-1) | same |
//! | group_std | sqrt(q/p) | -sqrt(p/q) | sqrt(pq) | same |
//! | batch_std | (1-P)/S | -P/S | p(1-P)/S | qP/S (P, S: mean and standard deviation over the step) |
//! | mean_batch_std | q/S | -p/S | pq/S | same (S: standard deviation of r - p over the step) |
//! | maxrl | q/p | -1 | q | q |
//! | log_mean_exp {tau} | q(E-1)/(tau M) | -p(E-1)/(tau M) | pq(E-1)/(tau M) | same (E = e^tau, M = pE + q) |
//! | pass_at_k {k} | k q^k | -k p q^(k-1) | k p q^k | same (expected values, at the policy's own p) |
//! | power {alpha} | q^alpha | -p q^(alpha-1) | p q^alpha | same |
//! | asym {delta} | q | -p/delta | pq | pq/delta |
//! | focal {alpha, delta} | q^alpha | -p q^(alpha-1)/delta | p q^alpha | p q^alpha/delta |
//! | fade | q^alpha | -p q^(alpha-1)/delta | p q^alpha | p q^alpha/delta |
//!
//! Rewards between 0 and 1 count in proportion; p is then their mean.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::math::{is_zero_spread, mean, population_std};
use super::schedule::{Averages, Schedule};
use super::{Statistics, StepStatistics};
use crate::job::field::FieldError;

/// How the rewards of a group become advantages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Advantage {
    /// The reward itself: successes are imitated, failures ignored.
    Reinforce,
    /// The reward minus one: failures are pushed away, successes ignored (negative sample reinforcement, arXiv
    /// 2506.01347).
    Nsr,
    /// `lambda` for successes, -1 for failures.
    Weighted {
        #[schemars(range(min = 0.0))]
        lambda: f64,
    },
    /// The reward minus the group's mean (Dr. GRPO, arXiv 2503.20783).
    Mean,
    /// The reward minus the mean of the others (leave-one-out, arXiv 2402.14740).
    Rloo,
    /// Standardised within the group (GRPO, arXiv 2402.03300).
    GroupStd,
    /// The same with the sample standard deviation, of G - 1, as many libraries have it.
    GroupStdSample,
    /// Standardised over all completions of the step (REINFORCE++, arXiv 2501.03262).
    BatchStd,
    /// The reward minus the group's mean, divided by the standard deviation of that over the step (REINFORCE++ with a
    /// baseline, arXiv 2501.03262).
    MeanBatchStd,
    /// The reward minus the group's mean, divided by that mean.
    Maxrl,
    /// `(exp(tau r) / mean exp(tau r) - 1) / tau`, the gradient of log mean exp of tau times the rewards, divided by tau: the
    /// mean advantage for small `tau`, and nearer to `maxrl` the larger it is.
    LogMeanExp {
        #[schemars(range(min = 0.001, max = 100.0))]
        tau: f64,
    },
    /// The gradient of pass@k, or of the largest of k rewards where they are graded, without bias: each completion is
    /// compared with subsets of the others (combinatorial leave-one-out, arXiv 2505.15201). `k` is at most the group's
    /// size; above it, it is taken for that.
    PassAtK {
        #[schemars(range(min = 1, max = 1024))]
        k: u32,
    },
    /// The mean advantage times `q^(alpha - 1)`: hard prompts count more for alpha > 1.
    Power {
        #[schemars(range(min = 1.0))]
        alpha: f64,
    },
    /// The mean advantage with failures divided by `delta`.
    Asym {
        #[schemars(extend("exclusiveMinimum" = 0.0))]
        delta: f64,
    },
    /// Power and asymmetry together, as FADE has them at one moment of its schedule.
    Focal {
        #[schemars(range(min = 1.0))]
        alpha: f64,
        #[schemars(extend("exclusiveMinimum" = 0.0))]
        delta: f64,
    },
    /// Power and asymmetry on FADE's schedule (arXiv 2607.01490).
    Fade(Schedule),
}

/// The advantages of one group; all 0 where the rewards are equal, but for `reinforce`, `nsr` and `weighted`, which
/// compare with nothing. `eps` is added to standard deviations. [`Advantage::Fade`] gives its first step's values here, and
/// what is standardised over a step takes the group for it; the step is known to [`Estimator`].
pub fn advantages(advantage: &Advantage, rewards: &[f64], eps: f64) -> Vec<f64> {
    let compares = !matches!(advantage, Advantage::Reinforce | Advantage::Nsr | Advantage::Weighted { .. });
    if rewards.is_empty() || (compares && is_zero_spread(rewards)) {
        return vec![0.0; rewards.len()];
    }
    let (size, p) = (rewards.len() as f64, mean(rewards));
    let each = |of: &dyn Fn(f64) -> f64| rewards.iter().map(|r| of(*r)).collect();
    match advantage {
        Advantage::Reinforce => each(&|r| r),
        Advantage::Nsr => each(&|r| r - 1.0),
        Advantage::Weighted { lambda } => each(&|r| lambda * r - (1.0 - r)),
        Advantage::Mean => each(&|r| r - p),
        Advantage::Rloo => each(&|r| (r - p) * size / (size - 1.0)),
        Advantage::GroupStd => {
            let std = population_std(rewards);
            each(&|r| (r - p) / (std + eps))
        }
        Advantage::GroupStdSample => {
            let std = population_std(rewards) * (size / (size - 1.0)).sqrt();
            each(&|r| (r - p) / (std + eps))
        }
        Advantage::BatchStd | Advantage::MeanBatchStd => {
            let statistics = BatchStatistics::of(advantage, &[rewards.to_vec()]);
            statistics.advantages(rewards, eps)
        }
        Advantage::Maxrl if p > 0.0 => each(&|r| (r - p) / p),
        Advantage::Maxrl => vec![0.0; rewards.len()],
        Advantage::LogMeanExp { tau } => {
            // Shifted by the largest, so that nothing overflows.
            let largest = rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let exponentials: Vec<f64> = rewards.iter().map(|r| (tau * (r - largest)).exp()).collect();
            let center = mean(&exponentials);
            exponentials.iter().map(|e| (e / center - 1.0) / tau).collect()
        }
        Advantage::PassAtK { k } => best_of_k(rewards, (*k as usize).min(rewards.len())),
        Advantage::Power { alpha } => focal(rewards, *alpha, 1.0),
        Advantage::Asym { delta } => focal(rewards, 1.0, *delta),
        Advantage::Focal { alpha, delta } => focal(rewards, *alpha, *delta),
        Advantage::Fade(_) => focal(rewards, 1.0, 1.0),
    }
}

/// For each of G completions, with S the subsets of the others of size k - 1 and T those of size k:
/// `k E_S[max(r, S) - max S] - E_T[max T - second max T]`, where the maximum of nothing is 0. The first term is the unbiased
/// estimate of the gradient of E max of k; the second one, in which the completion has no part, is its expected value and
/// takes away variance. With k = G there is no T, and nothing is taken away.
fn best_of_k(rewards: &[f64], k: usize) -> Vec<f64> {
    let mut order: Vec<usize> = (0..rewards.len()).collect();
    order.sort_by(|a, b| rewards[*a].total_cmp(&rewards[*b]));
    let others = rewards.len() - 1;
    let largest = k - 1;
    // The chances that the largest of a subset, and its second largest, are the j-th smallest of the others.
    let (first, baseline) = (order_chances(others, largest, 1), [1, 2].map(|rank| order_chances(others, k, rank)));
    let mut advantages = vec![0.0; rewards.len()];
    for (place, i) in order.iter().enumerate() {
        let sorted = |j: usize| rewards[order[if j < place { j } else { j + 1 }]];
        let expected = |chances: &[f64]| (0..others).map(|j| chances[j] * sorted(j)).sum::<f64>();
        let own = rewards[*i];
        let gain =
            if largest == 0 { own } else { (0..others).map(|j| first[j] * (own - sorted(j)).max(0.0)).sum::<f64>() };
        advantages[*i] = k as f64 * gain - (expected(&baseline[0]) - expected(&baseline[1]));
    }
    advantages
}

/// For each j below `count` the chance that the number of rank `rank` (1 is the largest) of `size` numbers out of `count` is the
/// j-th smallest: `C(j, size - rank) C(count - 1 - j, rank - 1) / C(count, size)`; zeros where there is none.
fn order_chances(count: usize, size: usize, rank: usize) -> Vec<f64> {
    let mut chances = vec![0.0; count];
    if size < rank || size > count {
        return chances;
    }
    // From the largest j on which it can fall, whose chance is a product of shares, downwards by quotients.
    let top = count - rank;
    let shares = (0..rank).map(|i| (size - i) as f64 / (count - i) as f64);
    chances[top] = shares.product();
    for j in (size - rank..top).rev() {
        let (below, above) = ((j + 1 - (size - rank)) as f64 / (j + 1) as f64, (count - 1 - j) as f64);
        chances[j] = chances[j + 1] * below * above / (above - (rank - 1) as f64);
    }
    chances
}

/// `(1 - r_mean)^(alpha - 1)` times `r - r_mean`, the latter divided by `delta` where it is negative.
pub fn focal(rewards: &[f64], alpha: f64, delta: f64) -> Vec<f64> {
    if rewards.is_empty() || is_zero_spread(rewards) {
        return vec![0.0; rewards.len()];
    }
    let center = mean(rewards);
    let focus = (1.0 - center).max(0.0).powf(alpha - 1.0);
    let signed = |difference: f64| if difference >= 0.0 { difference } else { difference / delta };
    rewards.iter().map(|r| focus * signed(r - center)).collect()
}

/// What the rewards of a step are standardised with.
#[derive(Debug)]
pub struct BatchStatistics {
    /// Completions are compared with those of their prompt first.
    by_group: bool,
    mean: f64,
    std: f64,
}

impl BatchStatistics {
    /// The statistics of the rewards of a step, by prompt.
    fn of(advantage: &Advantage, rewards: &[Vec<f64>]) -> Self {
        let by_group = *advantage == Advantage::MeanBatchStd;
        let centered = |group: &Vec<f64>| {
            let center = if by_group { mean(group) } else { 0.0 };
            group.iter().map(|r| r - center).collect::<Vec<_>>()
        };
        let all: Vec<f64> = rewards.iter().flat_map(centered).collect();
        // Rounding alone leaves something of equal rewards.
        let std = if is_zero_spread(&all) { 0.0 } else { population_std(&all) };
        Self { by_group, mean: mean(&all), std }
    }

    fn advantages(&self, rewards: &[f64], eps: f64) -> Vec<f64> {
        if self.std == 0.0 || (self.by_group && is_zero_spread(rewards)) {
            return vec![0.0; rewards.len()];
        }
        let center = if self.by_group { mean(rewards) } else { self.mean };
        rewards.iter().map(|r| (r - center) / (self.std + eps)).collect()
    }
}

/// An advantage at work: most have no state, FADE's schedule has, and others look at a whole step.
#[derive(Debug)]
pub enum Estimator {
    Fixed(Advantage),
    Batch(Advantage, BatchStatistics),
    Scheduled(Averages),
}

impl Estimator {
    pub fn new(advantage: &Advantage) -> Self {
        match advantage {
            Advantage::Fade(schedule) => Self::scheduled(schedule),
            Advantage::BatchStd | Advantage::MeanBatchStd => {
                Self::Batch(advantage.clone(), BatchStatistics::of(advantage, &[]))
            }
            fixed => Self::Fixed(fixed.clone()),
        }
    }

    pub fn scheduled(schedule: &Schedule) -> Self {
        Self::Scheduled(Averages::new(schedule.clone()))
    }

    /// Takes in the statistics of the step about to be taken.
    pub fn begin_step(&mut self, step: &StepStatistics<'_>) {
        match self {
            Self::Fixed(_) => {}
            Self::Batch(advantage, statistics) => *statistics = BatchStatistics::of(advantage, step.rewards),
            Self::Scheduled(averages) => averages.update(step),
        }
    }

    pub fn of(&self, rewards: &[f64], eps: f64) -> Vec<f64> {
        match self {
            Self::Fixed(advantage) => advantages(advantage, rewards, eps),
            Self::Batch(_, statistics) => statistics.advantages(rewards, eps),
            Self::Scheduled(averages) => focal(rewards, averages.alpha(), averages.delta()),
        }
    }

    pub fn report(&self) -> Statistics {
        match self {
            Self::Fixed(_) | Self::Batch(..) => Vec::new(),
            Self::Scheduled(averages) => averages.report(),
        }
    }

    pub fn notes(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Fixed(_) | Self::Batch(..) => Vec::new(),
            Self::Scheduled(averages) => averages.notes(),
        }
    }

    pub fn state(&self) -> Value {
        match self {
            Self::Fixed(_) | Self::Batch(..) => Value::Null,
            Self::Scheduled(averages) => averages.state(),
        }
    }

    pub fn restore(&mut self, state: &Value) -> Result<(), FieldError> {
        match self {
            Self::Fixed(_) | Self::Batch(..) => Ok(()),
            Self::Scheduled(averages) => averages.restore(state),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The table, for rewards in {0, 1}: advantage of a success and of a failure.
    fn closed_form(advantage: &Advantage, p: f64, size: f64) -> (f64, f64) {
        let q = 1.0 - p;
        match advantage {
            Advantage::Reinforce => (1.0, 0.0),
            Advantage::Nsr => (0.0, -1.0),
            Advantage::Weighted { lambda } => (*lambda, -1.0),
            Advantage::Mean => (q, -p),
            Advantage::Rloo => (q * size / (size - 1.0), -p * size / (size - 1.0)),
            Advantage::GroupStd => ((q / p).sqrt(), -(p / q).sqrt()),
            Advantage::GroupStdSample => {
                let less = ((size - 1.0) / size).sqrt();
                ((q / p).sqrt() * less, -(p / q).sqrt() * less)
            }
            // Here the group is the step.
            Advantage::BatchStd | Advantage::MeanBatchStd => ((q / p).sqrt(), -(p / q).sqrt()),
            Advantage::Maxrl => (q / p, -1.0),
            Advantage::LogMeanExp { tau } => {
                let gain = (tau.exp() - 1.0) / (tau * (p * tau.exp() + q));
                (q * gain, -p * gain)
            }
            Advantage::PassAtK { k } => {
                // The chance that so many of the others, of whom some fail, all fail.
                let none = |failures: usize, of: usize| {
                    (0..of).map(|i| failures.saturating_sub(i) as f64 / (size - 1.0 - i as f64)).product::<f64>()
                };
                let (k, failures) = ((*k as usize).min(size as usize), (q * size).round() as usize);
                let has_rest = k < size as usize;
                let success = if has_rest { none(failures, k) } else { none(failures, k - 1) };
                let failure = if has_rest { none(failures - 1, k) - none(failures - 1, k - 1) } else { 0.0 };
                (k as f64 * success, k as f64 * failure)
            }
            Advantage::Power { alpha } => (q.powf(*alpha), -p * q.powf(alpha - 1.0)),
            Advantage::Asym { delta } => (q, -p / delta),
            Advantage::Focal { alpha, delta } => (q.powf(*alpha), -p * q.powf(alpha - 1.0) / delta),
            Advantage::Fade(_) => (q, -p),
        }
    }

    fn table() -> Vec<Advantage> {
        vec![
            Advantage::Reinforce,
            Advantage::Nsr,
            Advantage::Weighted { lambda: 0.3 },
            Advantage::Mean,
            Advantage::Rloo,
            Advantage::GroupStd,
            Advantage::GroupStdSample,
            Advantage::BatchStd,
            Advantage::MeanBatchStd,
            Advantage::Maxrl,
            Advantage::LogMeanExp { tau: 3.0 },
            Advantage::PassAtK { k: 4 },
            Advantage::Power { alpha: 2.5 },
            Advantage::Asym { delta: 0.4 },
            Advantage::Focal { alpha: 1.7, delta: 0.6 },
            Advantage::Fade(Schedule::default()),
        ]
    }

    #[test]
    fn binary_rewards_match_the_table_and_its_masses() {
        for size in 2..=9_usize {
            for solved in 1..size {
                let rewards: Vec<f64> = (0..size).map(|i| f64::from(u8::from(i < solved))).collect();
                let p = solved as f64 / size as f64;
                for advantage in table() {
                    let got = advantages(&advantage, &rewards, 0.0);
                    let (success, failure) = closed_form(&advantage, p, size as f64);
                    for (r, a) in rewards.iter().zip(&got) {
                        let want = if *r == 1.0 { success } else { failure };
                        assert!((a - want).abs() < 1e-12, "{advantage:?} p={p}: {a} against {want}");
                    }
                    let mass = |sign: f64| got.iter().map(|a| (a * sign).max(0.0)).sum::<f64>() / size as f64;
                    assert!((mass(1.0) - p * success).abs() < 1e-12);
                    assert!((mass(-1.0) + (1.0 - p) * failure).abs() < 1e-12);
                }
            }
        }
    }

    /// Over all groups that a policy can draw, with their chances: the expected advantage of a completion with reward
    /// `own` beside others that are drawn, and the expected score-function gradient for the logits of the rewards.
    fn enumerated(chances: &[(f64, f64)], size: u32, of: &dyn Fn(&[f64]) -> Vec<f64>) -> (Vec<f64>, Vec<f64>) {
        let kinds = chances.len();
        let (mut expected, mut gradient) = (vec![0.0; kinds], vec![0.0; kinds]);
        for number in 0..kinds.pow(size) {
            let drawn: Vec<usize> = (0..size).map(|place| number / kinds.pow(place) % kinds).collect();
            let chance: f64 = drawn.iter().map(|kind| chances[*kind].1).product();
            let got = of(&drawn.iter().map(|kind| chances[*kind].0).collect::<Vec<_>>());
            expected[drawn[0]] += chance / chances[drawn[0]].1 * got[0];
            for (kind, a) in drawn.iter().zip(&got) {
                for (logit, slope) in gradient.iter_mut().enumerate() {
                    let score = f64::from(u8::from(logit == *kind)) - chances[logit].1;
                    *slope += chance * a * score / f64::from(size);
                }
            }
        }
        (expected, gradient)
    }

    /// pass@k of a policy with success rate p is 1 - (1 - p)^k, of which the expected gradient is the derivative, and the
    /// expected advantages are the row of the table; with q^(k - 1) of the group itself neither is so.
    #[test]
    fn the_pass_at_k_advantage_is_the_gradient_of_pass_at_k_without_bias() {
        for (p, size) in [(0.3_f64, 5_u32), (0.1, 4), (0.7, 8)] {
            let q = 1.0 - p;
            for k in 1..=size {
                let of = |rewards: &[f64]| advantages(&Advantage::PassAtK { k }, rewards, 0.0);
                let (expected, gradient) = enumerated(&[(0.0, q), (1.0, p)], size, &of);
                let slope = f64::from(k) * q.powi(k as i32 - 1) * p * q;
                assert!((gradient[1] - slope).abs() < 1e-12, "{p} {size} {k}: {gradient:?} against {slope}");
                if k < size {
                    let row = [-f64::from(k) * p * q.powi(k as i32 - 1), f64::from(k) * q.powi(k as i32)];
                    assert!((0..2).all(|i| (expected[i] - row[i]).abs() < 1e-12), "{expected:?} against {row:?}");
                }
                let plugged = |rewards: &[f64]| {
                    let p = mean(rewards);
                    rewards.iter().map(|r| f64::from(k) * (1.0 - p).powi(k as i32 - 1) * (r - p)).collect()
                };
                let (_, biased) = enumerated(&[(0.0, q), (1.0, p)], size, &plugged);
                assert!((biased[1] - slope).abs() > 1e-3, "{p} {size} {k}: {biased:?} against {slope}");
            }
        }
    }

    /// With graded rewards it is the gradient of the expected largest of k.
    #[test]
    fn graded_rewards_give_the_gradient_of_the_largest_of_k() {
        let chances = [(-0.5, 0.2), (0.1, 0.5), (0.8, 0.3)];
        let best = |weights: &[f64; 3], k: i32| {
            let total: f64 = weights.iter().sum();
            let below = |kind: usize| weights[..kind].iter().sum::<f64>() / total;
            (0..3).map(|kind| chances[kind].0 * (below(kind + 1).powi(k) - below(kind).powi(k))).sum::<f64>()
        };
        for k in 1..=4_u32 {
            let of = |rewards: &[f64]| advantages(&Advantage::PassAtK { k }, rewards, 0.0);
            let (_, gradient) = enumerated(&chances, 4, &of);
            for logit in 0..3 {
                let moved = |by: f64| {
                    let mut weights = chances.map(|(_, chance)| chance);
                    weights[logit] *= by.exp();
                    best(&weights, k as i32)
                };
                let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((gradient[logit] - slope).abs() < 1e-8, "{k} {logit}: {gradient:?} against {slope}");
            }
        }
    }

    #[test]
    fn large_groups_stay_finite() {
        let rewards: Vec<f64> = (0..1024).map(|i| f64::from(u8::from(i % 100 == 0))).collect();
        for k in [1, 2, 64, 1023, 1024] {
            let got = advantages(&Advantage::PassAtK { k }, &rewards, 0.0);
            assert!(got.iter().all(|a| a.is_finite() && a.abs() <= 2.0 * f64::from(k)), "{k}");
        }
    }

    #[test]
    fn standardised_over_a_step_advantages_have_its_mean_and_spread() {
        let step = [vec![1.0, 0.0, 0.0, 0.0], vec![1.0, 1.0, 1.0, 1.0]];
        let of = |advantage: Advantage| {
            let mut estimator = Estimator::new(&advantage);
            estimator.begin_step(&StepStatistics { rewards: &step, ..StepStatistics::default() });
            step.each_ref().map(|group| estimator.of(group, 0.0))
        };
        let whole = of(Advantage::BatchStd).concat();
        assert!(mean(&whole).abs() < 1e-12 && (population_std(&whole) - 1.0).abs() < 1e-12, "{whole:?}");
        // Five of eight pass: a group in which all do is above the step's mean.
        assert!((whole[4] - (0.6_f64).sqrt()).abs() < 1e-12);
        let [hard, easy] = of(Advantage::MeanBatchStd);
        assert_eq!(easy, [0.0; 4]);
        // Half of the step's deviations are 0, so that the variance is half of 3/16.
        assert!((hard[0] - 0.75 / (0.75_f64 / 8.0).sqrt()).abs() < 1e-12, "{hard:?}");
    }

    #[test]
    fn neutral_dials_are_mean_only_grpo() {
        let rewards = [1.0, 0.0, 0.0, 0.5];
        assert_eq!(focal(&rewards, 1.0, 1.0), advantages(&Advantage::Mean, &rewards, 0.0));
    }

    proptest! {
        #[test]
        fn equal_rewards_give_constant_credit_and_order_does_not_matter(
            rewards in prop::collection::vec(0.0..1.0_f64, 2..10),
            constant in -1.0..2.0_f64,
        ) {
            for advantage in table() {
                let equal = advantages(&advantage, &vec![constant; rewards.len()], 1e-8);
                prop_assert!(equal.iter().all(|a| *a == equal[0]));
                let compares = !matches!(advantage, Advantage::Reinforce | Advantage::Nsr | Advantage::Weighted { .. });
                prop_assert!(!compares || equal[0] == 0.0);
                let forward = advantages(&advantage, &rewards, 1e-8);
                let reversed: Vec<f64> = rewards.iter().rev().copied().collect();
                for (a, b) in forward.iter().zip(advantages(&advantage, &reversed, 1e-8).iter().rev()) {
                    prop_assert!((a - b).abs() < 1e-9);
                    prop_assert!(a.is_finite());
                }
            }
        }
    }
}
