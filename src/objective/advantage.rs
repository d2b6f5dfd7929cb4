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
//! | maxrl | q/p | -1 | q | q |
//! | pass_at_k {k} | k q^k | -k p q^(k-1) | k p q^k | same |
//! | power {alpha} | q^alpha | -p q^(alpha-1) | p q^alpha | same |
//! | asym {delta} | q | -p/delta | pq | pq/delta |
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
    /// The reward minus the group's mean, divided by that mean.
    Maxrl,
    /// The gradient of pass@k.
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
    /// Power and asymmetry on FADE's schedule (arXiv 2607.01490).
    Fade(Schedule),
}

/// The advantages of one group; all 0 where the rewards are equal, but for `reinforce`, `nsr` and `weighted`, which
/// compare with nothing. `eps` is added to the standard deviation of `group_std`. [`Advantage::Fade`] gives its first
/// step's values here; its schedule is followed by [`Estimator`].
pub fn advantages(advantage: &Advantage, rewards: &[f64], eps: f64) -> Vec<f64> {
    let compares = !matches!(advantage, Advantage::Reinforce | Advantage::Nsr | Advantage::Weighted { .. });
    if rewards.is_empty() || (compares && is_zero_spread(rewards)) {
        return vec![0.0; rewards.len()];
    }
    let (size, p) = (rewards.len() as f64, mean(rewards));
    // Rewards outside [0, 1] must not take a power of a negative number.
    let q = (1.0 - p).max(0.0);
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
        Advantage::Maxrl if p > 0.0 => each(&|r| (r - p) / p),
        Advantage::Maxrl => vec![0.0; rewards.len()],
        Advantage::PassAtK { k } => each(&|r| f64::from(*k) * q.powi(*k as i32 - 1) * (r - p)),
        Advantage::Power { alpha } => focal(rewards, *alpha, 1.0),
        Advantage::Asym { delta } => focal(rewards, 1.0, *delta),
        Advantage::Fade(_) => focal(rewards, 1.0, 1.0),
    }
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

/// An advantage at work: most have no state, FADE's schedule has.
#[derive(Debug)]
pub enum Estimator {
    Fixed(Advantage),
    Scheduled(Averages),
}

impl Estimator {
    pub fn new(advantage: &Advantage) -> Self {
        match advantage {
            Advantage::Fade(schedule) => Self::scheduled(schedule),
            fixed => Self::Fixed(fixed.clone()),
        }
    }

    pub fn scheduled(schedule: &Schedule) -> Self {
        Self::Scheduled(Averages::new(schedule.clone()))
    }

    /// Takes in the statistics of the step about to be taken.
    pub fn begin_step(&mut self, step: &StepStatistics<'_>) {
        if let Self::Scheduled(averages) = self {
            averages.update(step);
        }
    }

    pub fn of(&self, rewards: &[f64], eps: f64) -> Vec<f64> {
        match self {
            Self::Fixed(advantage) => advantages(advantage, rewards, eps),
            Self::Scheduled(averages) => focal(rewards, averages.alpha(), averages.delta()),
        }
    }

    pub fn report(&self) -> Statistics {
        match self {
            Self::Fixed(_) => Vec::new(),
            Self::Scheduled(averages) => averages.report(),
        }
    }

    pub fn notes(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Fixed(_) => Vec::new(),
            Self::Scheduled(averages) => averages.notes(),
        }
    }

    pub fn state(&self) -> Value {
        match self {
            Self::Fixed(_) => Value::Null,
            Self::Scheduled(averages) => averages.state(),
        }
    }

    pub fn restore(&mut self, state: &Value) -> Result<(), FieldError> {
        match self {
            Self::Fixed(_) => Ok(()),
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
            Advantage::Maxrl => (q / p, -1.0),
            Advantage::PassAtK { k } => {
                let k = f64::from(*k);
                (k * q.powf(k), -k * p * q.powf(k - 1.0))
            }
            Advantage::Power { alpha } => (q.powf(*alpha), -p * q.powf(alpha - 1.0)),
            Advantage::Asym { delta } => (q, -p / delta),
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
            Advantage::Maxrl,
            Advantage::PassAtK { k: 4 },
            Advantage::Power { alpha: 2.5 },
            Advantage::Asym { delta: 0.4 },
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

    /// pass@k of a group with success rate p is 1 - (1 - p)^k; with a policy that is a coin of logit x, the expected
    /// score-function gradient with this advantage is its derivative.
    #[test]
    fn the_pass_at_k_advantage_is_the_gradient_of_pass_at_k() {
        let (p, k) = (0.3_f64, 4.0_f64);
        let (success, failure) = closed_form(&Advantage::PassAtK { k: 4 }, p, 8.0);
        let gradient = p * success * (1.0 - p) + (1.0 - p) * failure * -p;
        let expected = k * (1.0 - p).powf(k - 1.0) * p * (1.0 - p);
        assert!((gradient - expected).abs() < 1e-12);
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
