//! What training on a set of scored completions left undone, on them and on those of prompts that it did not train on.

use super::frontier::{Cover, ScoredGroup, reward_range};
use super::math::{log_mean_exp, mean, mean_error};
use crate::job::event::{Gaps, HeldOut};

/// Groups with the log-probability of every whole completion under the trained policy.
#[derive(Clone, Copy)]
pub struct Trained<'a> {
    pub groups: &'a [ScoredGroup],
    pub policy: &'a [Vec<f64>],
}

/// What training on some completions left undone on them and, where there are some, on those of prompts that it did not train
/// on. A group without completions does not count.
pub fn measure(trained: Trained<'_>, held_out: Option<Trained<'_>>, beta: f64) -> Gaps {
    let own = Undone::of(trained, beta);
    let (kl, [low, high]) = (mean(&own.kl), own.price());
    let gaps = Gaps {
        beta,
        support_price_low: Some(low),
        support_price_high: Some(high),
        support_price_good_turing: Some(own.average(|cover| cover.good_turing)),
        coverage_gap: None,
        support_kl: kl,
        beta_support_kl: beta * kl,
        support_kl_before: Some(mean(&own.kl_before)),
        held_out: None,
    };
    let Some(other) = held_out.map(|held_out| Undone::of(held_out, beta)).filter(|other| !other.kl.is_empty()) else {
        return gaps;
    };
    let (other_kl, [low, high]) = (mean(&other.kl), other.price());
    let (gains, other_gains) = (own.gains(), other.gains());
    let held_out = HeldOut {
        groups: other.kl.len() as u64,
        support_price_low: low,
        support_price_high: high,
        support_price_good_turing: other.average(|cover| cover.good_turing),
        support_kl: other_kl,
        beta_support_kl: beta * other_kl,
        support_kl_before: mean(&other.kl_before),
        generalisation_kl: mean(&gains) - mean(&other_gains),
        generalisation_kl_error: mean_error(&gains).zip(mean_error(&other_gains)).map(|(own, other)| own.hypot(other)),
    };
    Gaps { held_out: Some(held_out), ..gaps }
}

/// Per group that has completions: how far the policy is from the target on them, `KL(pi*_S || pi)` in nats, how far the one that
/// sampled them was, and what they cover.
struct Undone {
    kl: Vec<f64>,
    kl_before: Vec<f64>,
    covers: Vec<Cover>,
}

impl Undone {
    fn of(trained: Trained<'_>, beta: f64) -> Self {
        let pairs = || trained.groups.iter().zip(trained.policy).filter(|(group, _)| !group.completions.is_empty());
        let range = reward_range(trained.groups.iter());
        Self {
            kl: pairs().map(|(group, policy)| group.support_kl(beta, |i| policy[i])).collect(),
            kl_before: pairs()
                .map(|(group, _)| group.support_kl(beta, |i| group.completions[i].behavior_logprob))
                .collect(),
            covers: pairs().map(|(group, _)| group.cover(beta, range)).collect(),
        }
    }

    /// How much nearer training has come.
    fn gains(&self) -> Vec<f64> {
        self.kl_before.iter().zip(&self.kl).map(|(before, after)| before - after).collect()
    }

    fn average(&self, of: impl Fn(&Cover) -> f64) -> f64 {
        mean(&self.covers.iter().map(of).collect::<Vec<_>>())
    }

    fn price(&self) -> [f64; 2] {
        [0, 1].map(|end| self.average(|cover| cover.price[end]))
    }
}

impl ScoredGroup {
    /// `KL(pi*_S || pi)` in nats on the distinct completions, from what a policy gives each of all.
    fn support_kl(&self, beta: f64, policy: impl Fn(usize) -> f64) -> f64 {
        let distinct: Vec<usize> = self.distinct().collect();
        let scores: Vec<f64> = distinct.iter().map(|i| self.log_target(*i, beta)).collect();
        let log_total = log_mean_exp(&scores) + (scores.len() as f64).ln();
        let terms = distinct.iter().zip(&scores).map(|(i, score)| {
            let log_p = score - log_total;
            log_p.exp() * (log_p - policy(*i))
        });
        terms.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::frontier::tests::group;

    #[test]
    fn the_kl_on_the_support_is_zero_exactly_at_the_restricted_target() {
        let mut stored = group(&[1.0, 0.0, 1.0]);
        stored.completions[1].behavior_logprob = -1.0;
        let beta = 0.5;
        let scores: Vec<f64> = (0..3).map(|i| stored.log_target(i, beta)).collect();
        let log_total = log_mean_exp(&scores) + 3.0_f64.ln();
        let at_target: Vec<f64> = scores.iter().map(|s| s - log_total).collect();
        let moved: Vec<f64> = at_target.iter().map(|l| l - 0.1).collect();
        let of = |policy: Vec<f64>| measure(Trained { groups: &[stored.clone()], policy: &[policy] }, None, beta);
        assert!(of(at_target).support_kl.abs() < 1e-12);
        assert!((of(moved).beta_support_kl - 0.1 * beta).abs() < 1e-12);
    }

    /// A policy that is at the target where it was trained and as before elsewhere has generalised nothing.
    #[test]
    fn what_did_not_generalise_is_how_much_farther_the_target_is_on_other_prompts() {
        let beta = 0.5;
        let at_target = |group: &ScoredGroup, by: f64| -> Vec<f64> {
            let scores: Vec<f64> = (0..group.completions.len()).map(|i| group.log_target(i, beta)).collect();
            let log_total = log_mean_exp(&scores) + (scores.len() as f64).ln();
            scores.iter().map(|score| score - log_total - by).collect()
        };
        let own = [group(&[1.0, 0.0, 1.0]), group(&[0.0, 0.0, 1.0])];
        let others = [group(&[0.0, 1.0, 0.0]), group(&[]), group(&[1.0, 1.0, 0.0])];
        let policy = [at_target(&own[0], 0.0), at_target(&own[1], 0.2)];
        let before = |group: &ScoredGroup| group.completions.iter().map(|c| c.behavior_logprob).collect::<Vec<_>>();
        let untouched: Vec<Vec<f64>> = others.iter().map(before).collect();
        let trained = Trained { groups: &own, policy: &policy };
        let found = measure(trained, Some(Trained { groups: &others, policy: &untouched }), beta);
        let held_out = found.held_out.unwrap();
        assert_eq!((held_out.groups, held_out.support_kl), (2, held_out.support_kl_before));
        assert!((found.support_kl - 0.1).abs() < 1e-12 && found.support_kl_before.unwrap() > 0.1);
        // Nothing was gained there, and here all but 0 and 0.2 nats of what there was.
        let gains = [0, 1].map(|i| own[i].support_kl(beta, |j| own[i].completions[j].behavior_logprob) - [0.0, 0.2][i]);
        assert!((held_out.generalisation_kl - (gains[0] + gains[1]) / 2.0).abs() < 1e-12, "{held_out:?}");
        // Of two groups half the difference is the error of their mean, and the others do not differ in theirs.
        let error = (gains[0] - gains[1]).abs() / 2.0;
        assert!((held_out.generalisation_kl_error.unwrap() - error).abs() < 1e-12, "{held_out:?}");
        // Where the same was gained on both, all of it has generalised.
        let gained = |group: &ScoredGroup| -> Vec<f64> {
            group.completions.iter().map(|completion| completion.behavior_logprob + 0.5).collect()
        };
        let policy: Vec<_> = own.iter().map(gained).collect();
        let alike: Vec<_> = others.iter().map(gained).collect();
        let trained = Trained { groups: &own, policy: &policy };
        let found = measure(trained, Some(Trained { groups: &others, policy: &alike }), beta).held_out.unwrap();
        assert!(found.generalisation_kl.abs() < 1e-12 && found.support_kl < found.support_kl_before, "{found:?}");
        assert!(measure(trained, Some(Trained { groups: &[], policy: &[] }), beta).held_out.is_none());
    }
}
