//! What a set of scored completions can teach, before any step is taken on it: how concentrated the Boltzmann weights
//! are (effective sample size), what success they aim at, and how much of the target they cover.
//!
//! What the stored completions cover of the target is not known, because nobody has scored the others; but what the policy
//! gives these is, so that it can be bounded. With S the distinct stored completions, `a = sum_S pi(y) e^(r/beta)` and `rest =
//! 1 - pi(S)`, the target's normalisation is `Z = a + (what the rest weighs)`, and the rest weighs at least `rest
//! e^(r_min/beta)` and at most `rest e^(r_max/beta)`.
//!
//! Source: the temperature-coverage-variance frontier of BOLT (arXiv 2605.02469).

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::math::{PASS_MARK, boltzmann_weights, ess_share, is_zero_spread, log_mean_exp, mean};

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
    /// Its tokens, of which each has a log-probability that is rounded to f32; 0 in sets of before they were counted.
    #[serde(default)]
    pub tokens: u32,
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
    /// In completions, over the groups whose rewards differ: between 1 and the group's size.
    pub ess_completions: f64,
    /// Mean square of the weights (of mean 1), the inverse of the ESS share in every group: what weighting costs in
    /// variance.
    pub second_moment: f64,
    /// Expected reward under the weighted completions, `sum w r / G`.
    pub target_success: f64,
    /// The same over the groups whose rewards differ.
    pub target_success_informative: f64,
    /// Logarithm of the estimate of `Z = E exp(r/beta)` from the same completions, by which the weights are normalised.
    pub log_partition: f64,
    /// The least and the most that `log Z` can be.
    pub log_partition_low: f64,
    pub log_partition_high: f64,
    /// The partition error: the least and the most that `|log_partition - log Z|` can be in a group, in nats.
    pub partition_error_low: f64,
    pub partition_error_high: f64,
    /// The least and the most that `beta log(1/pi*(S|x))` can be, in units of reward: what no policy supported on the stored
    /// completions can regain. It grows with the length of the completions; read it beside the coverage of answers.
    pub support_price_low: f64,
    pub support_price_high: f64,
    /// The same with what the rest weighs estimated by the completions that were drawn once (Good-Turing).
    pub support_price_good_turing: f64,
}

/// Which temperature to take, and why.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Recommendation {
    /// None when no listed one helps.
    pub beta: Option<f64>,
    pub code: RecommendationCode,
    /// One sentence.
    pub message: String,
}

/// What decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecommendationCode {
    /// It is the largest that reaches the success which is asked for.
    Reached,
    /// It is the smallest that keeps enough completions, and reaches less.
    EssFloor,
    /// It is the smallest listed, and a smaller one would reach more.
    SmallestListed,
    /// It is the largest listed, and a larger one would rest on more completions.
    LargestListed,
    /// No listed temperature keeps enough completions.
    TooFewCompletions,
    /// No group tells its completions apart.
    NoSpread,
}

/// The table for a list of temperatures.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Frontier {
    pub groups: usize,
    pub completions: usize,
    pub coverage: Coverage,
    /// The one of `recommendation`.
    pub recommended_beta: Option<f64>,
    pub recommendation: Recommendation,
    /// Completions that the weights of a group whose rewards differ have to rest on, on average.
    pub ess_floor: f64,
    pub rows: Vec<FrontierRow>,
}

/// Completions that weights have to rest on unless something else is said; no more than [`FLOOR_SHARE`] of a group.
const USUAL_FLOOR: f64 = 2.0;
const FLOOR_SHARE: f64 = 0.75;
/// The share of what weights can add to the mean reward that a recommended temperature reaches.
const REACHED: f64 = 0.95;
/// What rewards lie between, unless stored ones lie beyond.
const REWARDS: [f64; 2] = [0.0, 1.0];

/// The smallest temperature that is computed with; below it `r/beta` may overflow.
pub const MIN_BETA: f64 = 1e-6;

/// Betas from 0.02 to 5, evenly spaced in logarithm.
pub fn default_betas() -> Vec<f64> {
    (0..25).map(|i| 0.02 * 250_f64.powf(f64::from(i) / 24.0)).collect()
}

/// The frontier of a stored set; `betas` are sorted and must be positive and finite. Empty groups are left out. Without
/// `ess_floor` it is 2 completions, or three quarters of a smaller group.
pub fn frontier(groups: &[ScoredGroup], betas: &[f64], ess_floor: Option<f64>) -> Frontier {
    let groups: Vec<&ScoredGroup> = groups.iter().filter(|g| !g.completions.is_empty()).collect();
    let mut betas = betas.to_vec();
    betas.sort_by(f64::total_cmp);
    betas.dedup();
    let rows: Vec<FrontierRow> = betas.iter().map(|beta| row(&groups, *beta)).collect();
    let informative: Vec<Vec<f64>> = groups.iter().map(|g| g.rewards()).filter(|r| !is_zero_spread(r)).collect();
    let size = mean(&informative.iter().map(|rewards| rewards.len() as f64).collect::<Vec<_>>());
    let ess_floor =
        ess_floor.unwrap_or(if informative.is_empty() { USUAL_FLOOR } else { USUAL_FLOOR.min(FLOOR_SHARE * size) });
    let recommendation = recommend(&informative, &rows, ess_floor);
    Frontier {
        groups: groups.len(),
        completions: groups.iter().map(|g| g.completions.len()).sum(),
        coverage: coverage(&groups),
        recommended_beta: recommendation.beta,
        recommendation,
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
        ("target/partition_error_low", row.partition_error_low),
        ("target/partition_error_high", row.partition_error_high),
        ("coverage/distinct_answers", coverage.distinct_answers),
        ("coverage/distinct_completions", coverage.distinct_completions),
        ("coverage/pass_at_group", coverage.pass_at_group),
        ("coverage/unseen_answers", coverage.unseen_answers),
        ("coverage/support_price_low", row.support_price_low),
        ("coverage/support_price_high", row.support_price_high),
        ("coverage/support_price_good_turing", row.support_price_good_turing),
    ]
}

impl ScoredGroup {
    fn rewards(&self) -> Vec<f64> {
        self.completions.iter().map(|c| c.reward).collect()
    }

    /// The first of each run of equal completions.
    pub(super) fn distinct(&self) -> impl Iterator<Item = usize> {
        let mut seen = BTreeSet::new();
        (0..self.completions.len()).filter(move |i| seen.insert(self.completions[*i].sequence))
    }

    /// `log pi_ref(y) + r/beta`, the unnormalised target.
    pub(super) fn log_target(&self, completion: usize, beta: f64) -> f64 {
        let completion = &self.completions[completion];
        completion.behavior_logprob + completion.reward / beta
    }

    fn log_partition(&self, beta: f64) -> f64 {
        log_mean_exp(&self.completions.iter().map(|c| c.reward / beta).collect::<Vec<_>>())
    }

    /// `range` is what the rewards of completions lie between that are not stored.
    pub(super) fn cover(&self, beta: f64, range: [f64; 2]) -> Cover {
        let distinct: Vec<usize> = self.distinct().collect();
        let log_sum = |terms: Vec<f64>| log_mean_exp(&terms) + (terms.len() as f64).ln();
        let stored = log_sum(distinct.iter().map(|i| self.log_target(*i, beta)).collect());
        // Each token's log-probability is off by a rounding at most, so that what seems certain may leave something.
        let known = |direction: f64| -> f64 {
            let logprob = |completion: &ScoredCompletion| {
                completion.behavior_logprob + direction * f64::from(completion.tokens) * f64::from(f32::EPSILON)
            };
            distinct.iter().map(|i| logprob(&self.completions[*i]).exp()).sum()
        };
        let whole = [(1.0, range[0]), (-1.0, range[1])].map(|(direction, reward)| {
            let rest = (1.0 - known(direction)).max(0.0).ln();
            log_add(stored, rest + reward / beta)
        });
        let once = counts(self, |completion| completion.sequence);
        let singles = self.completions.iter().filter(|completion| once[&completion.sequence] == 1);
        let singles: Vec<f64> = singles.map(|completion| completion.reward / beta).collect();
        // What was drawn once weighs as much as what was not drawn.
        let unseen = if singles.is_empty() {
            f64::NEG_INFINITY
        } else {
            log_sum(singles) - (self.completions.len() as f64).ln()
        };
        let price = whole.map(|whole| beta * (whole - stored));
        // It cannot be beyond what is certain.
        let good_turing = (beta * (log_add(stored, unseen) - stored)).clamp(price[0], price[1]);
        Cover { log_partition: whole, price, good_turing }
    }
}

/// What is known of a group's target beyond the stored completions: bounds, the lower one first, and an estimate.
pub(super) struct Cover {
    log_partition: [f64; 2],
    pub price: [f64; 2],
    pub good_turing: f64,
}

impl Cover {
    /// The least and the most by which an estimate of `log Z` can be wrong.
    fn partition_error(&self, estimate: f64) -> [f64; 2] {
        let [low, high] = self.log_partition;
        [(low - estimate).max(estimate - high).max(0.0), (estimate - low).max(high - estimate)]
    }
}

/// What the rewards of completions lie between that are not stored: those of all groups, or at least 0 and 1.
pub(super) fn reward_range<'g>(groups: impl Iterator<Item = &'g ScoredGroup>) -> [f64; 2] {
    let rewards = groups.flat_map(|group| &group.completions).map(|completion| completion.reward);
    rewards.fold(REWARDS, |[least, most], reward| [least.min(reward), most.max(reward)])
}

/// `log(e^a + e^b)`.
fn log_add(a: f64, b: f64) -> f64 {
    let (high, low) = (a.max(b), a.min(b));
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// The largest temperature that reaches most of the success that is attainable on groups whose rewards differ, or the smallest
/// one that keeps enough completions, whichever is larger.
fn recommend(informative: &[Vec<f64>], rows: &[FrontierRow], floor: f64) -> Recommendation {
    let (Some(first), Some(last), false) = (rows.first(), rows.last(), informative.is_empty()) else {
        let message = String::from(
            "no group has rewards that differ, so that no temperature tells its completions apart: take larger groups, easier \
             prompts where all fail, or harder ones where all pass",
        );
        return Recommendation { beta: None, code: RecommendationCode::NoSpread, message };
    };
    let average = |of: &dyn Fn(&Vec<f64>) -> f64| mean(&informative.iter().map(of).collect::<Vec<_>>());
    let untilted = average(&|rewards| mean(rewards));
    let attainable = average(&|rewards| rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    let share = |row: &FrontierRow| (row.target_success_informative - untilted) / (attainable - untilted);
    let reaching = rows.iter().rfind(|row| share(row) >= REACHED);
    let Some(kept) = rows.iter().find(|row| row.ess_completions >= floor) else {
        let message = format!(
            "no listed temperature rests on {floor:.3} completions of a group whose rewards differ, the largest on {:.2}: list \
             larger ones, or take larger groups",
            last.ess_completions
        );
        return Recommendation { beta: None, code: RecommendationCode::TooFewCompletions, message };
    };
    let row = reaching.filter(|row| row.beta >= kept.beta).unwrap_or(kept);
    let told = format!(
        "at beta {:.3} weights rest on {:.2} completions of a group whose rewards differ, and the target reaches {:.0} % of \
         what they can add to the mean reward",
        row.beta,
        row.ess_completions,
        100.0 * share(row)
    );
    let (code, why) = if share(row) >= REACHED && row.beta == last.beta {
        (
            RecommendationCode::LargestListed,
            "it is the largest listed; a larger one may reach as much with more of them",
        )
    } else if share(row) >= REACHED {
        (RecommendationCode::Reached, "no larger one listed reaches 95 %")
    } else if row.beta == first.beta {
        (RecommendationCode::SmallestListed, "it is the smallest listed; a smaller one would reach more")
    } else if row.beta == last.beta {
        (
            RecommendationCode::EssFloor,
            "it is the largest listed, and a smaller one would reach more and rest on too few; larger groups would allow it",
        )
    } else {
        (
            RecommendationCode::EssFloor,
            "a smaller one would reach more and rest on too few; larger groups would allow it",
        )
    };
    Recommendation { beta: Some(row.beta), code, message: format!("{told}; {why}") }
}

fn row(groups: &[&ScoredGroup], beta: f64) -> FrontierRow {
    let [mut ess, mut moments, mut success, mut informative, mut kept, mut reached] = [const { Vec::new() }; 6];
    for group in groups {
        let rewards = group.rewards();
        let weights = boltzmann_weights(&rewards.iter().map(|r| r / beta).collect::<Vec<_>>());
        let share = ess_share(&weights);
        ess.push(share);
        moments.push(1.0 / share);
        let expected = weights.iter().zip(&rewards).map(|(w, r)| w * r).sum::<f64>() / rewards.len() as f64;
        success.push(expected);
        if !is_zero_spread(&rewards) {
            informative.push(share);
            kept.push(share * rewards.len() as f64);
            reached.push(expected);
        }
    }
    let range = reward_range(groups.iter().copied());
    let covers: Vec<Cover> = groups.iter().map(|group| group.cover(beta, range)).collect();
    let average = |of: &dyn Fn(&Cover) -> f64| mean(&covers.iter().map(of).collect::<Vec<_>>());
    let estimates: Vec<f64> = groups.iter().map(|group| group.log_partition(beta)).collect();
    let errors: Vec<[f64; 2]> =
        covers.iter().zip(&estimates).map(|(cover, estimate)| cover.partition_error(*estimate)).collect();
    let error = |end: usize| mean(&errors.iter().map(|ends| ends[end]).collect::<Vec<_>>());
    let sizes: Vec<f64> = groups.iter().map(|group| group.completions.len() as f64).collect();
    let or = |values: &[f64], otherwise: f64| if values.is_empty() { otherwise } else { mean(values) };
    FrontierRow {
        beta,
        ess_share: mean(&ess),
        ess_share_informative: or(&informative, 1.0),
        ess_completions: or(&kept, mean(&sizes)),
        second_moment: mean(&moments),
        target_success: mean(&success),
        target_success_informative: or(&reached, mean(&success)),
        log_partition: mean(&estimates),
        log_partition_low: average(&|cover| cover.log_partition[0]),
        log_partition_high: average(&|cover| cover.log_partition[1]),
        partition_error_low: error(0),
        partition_error_high: error(1),
        support_price_low: average(&|cover| cover.price[0]),
        support_price_high: average(&|cover| cover.price[1]),
        support_price_good_turing: average(&|cover| cover.good_turing),
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
pub(super) mod tests {
    use super::*;

    pub fn group(rewards: &[f64]) -> ScoredGroup {
        let completions = rewards
            .iter()
            .enumerate()
            .map(|(i, reward)| ScoredCompletion {
                sequence: i as u32,
                answer: i as u32,
                reward: *reward,
                behavior_logprob: -2.0,
                tokens: 0,
            })
            .collect();
        ScoredGroup { completions }
    }

    #[test]
    fn binary_rewards_match_the_closed_forms() {
        // Z = 1 - p + p e^{1/beta} and C2 = (1 - p + p e^{2/beta}) / Z^2, the inverse of the ESS share.
        let (p, beta) = (0.25_f64, 0.7_f64);
        let row = frontier(&[group(&[1.0, 0.0, 0.0, 0.0])], &[beta], None).rows[0];
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
        let coverage = frontier(&[repeated.clone()], &[1.0], None).coverage;
        assert!((coverage.distinct_completions - 2.0 / 3.0).abs() < 1e-12);
        assert!((coverage.unseen_answers - 1.0 / 3.0).abs() < 1e-12);
        // Two of three stored completions are the same, so that S has less mass than with three different ones.
        let least = |group: &ScoredGroup| group.cover(1.0, REWARDS).price[0];
        assert!(least(&repeated) > least(&group(&[1.0, 1.0, 0.0])));
    }

    #[test]
    fn betas_that_overflow_the_exponential_stay_finite() {
        let groups = [group(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), group(&[0.0, 0.0])];
        let table = frontier(&groups, &[1e-5, 0.1, 0.5, 1.0, 1e5], None);
        for row in &table.rows {
            let prices = [row.support_price_low, row.support_price_good_turing, row.support_price_high];
            let others = [row.ess_share, row.target_success, row.second_moment, row.log_partition];
            let bounds = [row.log_partition_low, row.log_partition_high];
            assert!(prices.iter().chain(&others).chain(&bounds).all(|value| value.is_finite()), "{row:?}");
            assert!(prices[0] >= 0.0 && prices[0] <= prices[2] && bounds[0] <= bounds[1], "{row:?}");
        }
        assert_eq!(table.coverage.zero_spread, 0.5);
    }

    /// What is recommended, with the share of the attainable that it reaches and the completions that it rests on.
    #[test]
    fn the_recommended_temperature_is_the_largest_that_reaches_enough_on_enough_completions() {
        use RecommendationCode::{EssFloor, LargestListed, NoSpread, Reached, SmallestListed, TooFewCompletions};
        let of =
            |solved: usize, size: usize| group(&(0..size).map(|i| f64::from(u8::from(i < solved))).collect::<Vec<_>>());
        let grid = default_betas();
        type Case<'c> = (&'c str, Vec<ScoredGroup>, &'c [f64], Option<f64>, RecommendationCode);
        let cases: [Case<'_>; 10] = [
            ("half of two", vec![of(1, 2)], &grid, None, EssFloor),
            ("half of four", vec![of(2, 4)], &grid, None, Reached),
            ("one of four", vec![of(1, 4)], &grid, None, EssFloor),
            ("one of eight", vec![of(1, 8)], &grid, None, EssFloor),
            ("three of eight", vec![of(3, 8)], &grid, None, Reached),
            ("most of eight", vec![of(6, 8), of(8, 8)], &grid, None, Reached),
            ("too warm a grid", vec![of(4, 8)], &[2.0, 5.0], None, SmallestListed),
            ("too cold a grid", vec![of(4, 8)], &[0.01, 0.02], None, LargestListed),
            ("more than there are", vec![of(4, 8)], &grid, Some(9.0), TooFewCompletions),
            ("nothing to tell apart", vec![of(0, 8), of(8, 8)], &grid, None, NoSpread),
        ];
        for (what, groups, betas, floor, code) in cases {
            let table = frontier(&groups, betas, floor);
            assert_eq!((table.recommendation.code, what), (code, what), "{}", table.recommendation.message);
            let Some(beta) = table.recommended_beta else {
                assert!(matches!(code, NoSpread | TooFewCompletions));
                continue;
            };
            let row = table.rows.iter().find(|row| row.beta == beta).unwrap();
            assert!(row.ess_completions >= table.ess_floor, "{what}: {row:?}");
            let untilted = mean(
                &groups
                    .iter()
                    .map(ScoredGroup::rewards)
                    .filter(|r| !is_zero_spread(r))
                    .map(|r| mean(&r))
                    .collect::<Vec<_>>(),
            );
            let reaches = |row: &FrontierRow| row.target_success_informative >= untilted + REACHED * (1.0 - untilted);
            assert_eq!(reaches(row), matches!(code, Reached | LargestListed), "{what}");
            // A larger one reaches less than enough, a smaller one rests on too few or is not needed.
            assert!(table.rows.iter().filter(|row| row.beta > beta).all(|row| !reaches(row) || code == EssFloor));
            let below = table.rows.iter().rfind(|row| row.beta < beta);
            assert!(code != EssFloor || below.is_none_or(|row| row.ess_completions < table.ess_floor), "{what}");
        }
    }

    /// A policy of two completions in f32: the wrong one has all but 1e-8, and its log-probability is rounded to 0.
    #[test]
    fn the_support_price_is_bounded_where_rounding_hides_what_is_left() {
        let beta = 0.02;
        let mut certain = group(&[0.0; 8]);
        for completion in &mut certain.completions {
            (completion.sequence, completion.behavior_logprob, completion.tokens) = (0, 0.0, 6);
        }
        let exact = beta * ((1.0 - 1e-8) + 1e-8 * (1.0_f64 / beta).exp()).ln() - beta * (1.0_f64 - 1e-8).ln();
        let price = certain.cover(beta, REWARDS).price;
        assert!(exact > 0.6 && price[0] <= exact && exact <= price[1], "{exact} {price:?}");
    }

    /// Every group that a policy of four completions can draw, with its chance: the bounds hold for each of them, and the
    /// exact price is the least loss of a policy on what was drawn (J = expected reward - beta KL to pi_ref).
    #[test]
    fn the_support_price_lies_within_its_bounds_for_every_group_that_can_be_drawn() {
        let (reference, rewards) = ([0.4_f64, 0.3, 0.2, 0.1], [0.0_f64, 0.0, 0.5, 1.0]);
        for beta in [0.1, 0.25, 2.0] {
            let tilted: Vec<f64> = (0..4).map(|y| reference[y] * (rewards[y] / beta).exp()).collect();
            let z: f64 = tilted.iter().sum();
            let mut missed = 0;
            for number in 0..4_usize.pow(3) {
                let drawn: Vec<usize> = (0..3).map(|place| number / 4_usize.pow(place) % 4).collect();
                let support: BTreeSet<usize> = drawn.iter().copied().collect();
                let exact = -beta * (support.iter().map(|y| tilted[*y]).sum::<f64>() / z).ln();
                let completion = |y: &usize| ScoredCompletion {
                    sequence: *y as u32,
                    answer: *y as u32,
                    reward: rewards[*y],
                    behavior_logprob: reference[*y].ln(),
                    tokens: 0,
                };
                let group = ScoredGroup { completions: drawn.iter().map(completion).collect() };
                let cover = group.cover(beta, REWARDS);
                assert!(cover.price[0] <= cover.good_turing && cover.good_turing <= cover.price[1]);
                assert!(
                    cover.price[0] <= exact + 1e-12 && exact <= cover.price[1] + 1e-12,
                    "{drawn:?} {exact} {:?}",
                    cover.price
                );
                let bounds = cover.log_partition;
                assert!(bounds[0] <= z.ln() + 1e-12 && z.ln() <= bounds[1] + 1e-12);
                // An estimate of Z from the same completions says that nothing is missing where all of them fail.
                let estimated = group.log_partition(beta);
                let (error, [least, most]) = ((estimated - z.ln()).abs(), cover.partition_error(estimated));
                assert!(least <= error + 1e-12 && error <= most + 1e-12, "{drawn:?} {error} {least} {most}");
                let told = (-beta * (support.iter().map(|y| tilted[*y]).sum::<f64>().ln() - estimated)).max(0.0);
                missed += usize::from(support.iter().all(|y| rewards[*y] == 0.0) && told < 0.5 * exact);
                let objective = |policy: &dyn Fn(usize) -> f64| -> f64 {
                    let term = |y: &usize| {
                        let p = policy(*y);
                        if p == 0.0 { 0.0 } else { p * (rewards[*y] - beta * (p / reference[*y]).ln()) }
                    };
                    support.iter().map(term).sum()
                };
                let mass: f64 = support.iter().map(|y| tilted[*y]).sum();
                let optimum = beta * z.ln();
                assert!((optimum - objective(&|y| tilted[y] / mass) - exact).abs() < 1e-12);
                let even = 1.0 / support.len() as f64;
                assert!(optimum - objective(&|_| even) >= exact - 1e-12);
            }
            assert!(beta > 0.25 || missed > 0, "groups that all fail are those that the estimate gets wrong");
        }
    }

    /// Over many draws the Good-Turing estimate weighs what was not drawn right, on average.
    #[test]
    fn what_was_drawn_once_weighs_as_much_as_what_was_not_drawn() {
        let (reference, rewards, beta) = ([0.4_f64, 0.3, 0.2, 0.1], [0.0_f64, 0.0, 0.5, 1.0], 0.5);
        let (mut unseen, mut estimated) = (0.0, 0.0);
        for number in 0..4_usize.pow(6) {
            let drawn: Vec<usize> = (0..6).map(|place| number / 4_usize.pow(place) % 4).collect();
            let chance: f64 = drawn.iter().map(|y| reference[*y]).product();
            let weigh = |y: usize| (rewards[y] / beta).exp();
            unseen += chance * (0..4).filter(|y| !drawn.contains(y)).map(|y| reference[y] * weigh(y)).sum::<f64>();
            let once = drawn.iter().filter(|y| drawn.iter().filter(|other| other == y).count() == 1);
            estimated += chance * once.map(|y| weigh(*y)).sum::<f64>() / 6.0;
        }
        // The estimate is that of one draw fewer, which is a little more.
        assert!(estimated > unseen && estimated < 1.3 * unseen, "{estimated} for {unseen}");
    }
}
