//! The statistics of a step: what its tokens and its completions say, by metric name (see `job::metric`).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::batch::Sequence;
use super::ops::experts::Spread;
use super::rollout::{Rollout, RolloutGroup};
use super::sampler::FinishReason;
use crate::job::metric::PARTS;
use crate::job::spec::THOUGHT_END;
use crate::job::{RewardPart, ScoreStatus};
use crate::objective::math::{PASS_MARK, ess_of_log_ratios, is_zero_spread, mean, population_std};
use crate::objective::{Clip, Ratio, Statistics};
use crate::text::tokenizer::TextTokenizer;

/// What the forward passes of a step say of its tokens, sequence after sequence; all before the update.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    pub policy_logprobs: Vec<f32>,
    pub credit: Vec<f32>,
    /// Teacher - policy log-probability and KL(policy || teacher); empty without a teacher.
    pub teacher: Vec<[f32; 2]>,
    /// Of all tokens, those of prompts too.
    pub spread: Spread,
}

impl Measured {
    pub fn extend(&mut self, other: Self) {
        self.policy_logprobs.extend(other.policy_logprobs);
        self.credit.extend(other.credit);
        self.teacher.extend(other.teacher);
        self.spread.extend(other.spread);
    }
}

/// Prompts with different rewards of which a correlation says something. Right completions of one prompt are mostly of one
/// length, so that of two prompts both often differ in the same direction by chance.
const LEAST_WITH_SPREAD: usize = 8;
/// Prompts of which the answer that earns most says something.
const LEAST_PROMPTS: usize = 4;

const MASS_SUCCESS: [&str; 5] =
    ["mass/success_0_20", "mass/success_20_40", "mass/success_40_60", "mass/success_60_80", "mass/success_80_100"];
const MASS_FAILURE: [&str; 5] =
    ["mass/failure_0_20", "mass/failure_20_40", "mass/failure_40_60", "mass/failure_60_80", "mass/failure_80_100"];

/// The masses of positive and of negative credit, in all and by the solve rate of the completion's group. The credit of
/// a completion is the mean over its tokens.
pub fn masses(sequences: &[Sequence], solve_rates: &[f64], credit: &[f32]) -> Statistics {
    let mut bins = [[0.0_f64; 2]; 5];
    let mut rest = credit;
    for (sequence, solve_rate) in sequences.iter().zip(solve_rates) {
        let (own, behind) = rest.split_at(sequence.targets().min(rest.len()));
        rest = behind;
        if own.is_empty() {
            continue;
        }
        let bin = &mut bins[((solve_rate * 5.0) as usize).min(4)];
        let share = 1.0 / (own.len() as f64 * sequences.len() as f64);
        for credit in own.iter().map(|c| f64::from(*c) * share) {
            bin[usize::from(credit < 0.0)] += credit.abs();
        }
    }
    let sum = |sign: usize| bins.iter().map(|bin| bin[sign]).sum::<f64>();
    let by_bin = |names: [&'static str; 5], sign: usize| {
        names.into_iter().zip(bins).map(move |(name, bin)| (name, bin[sign])).collect::<Vec<_>>()
    };
    let mut metrics = vec![("mass/success", sum(0)), ("mass/failure", sum(1))];
    metrics.extend(by_bin(MASS_SUCCESS, 0));
    metrics.extend(by_bin(MASS_FAILURE, 1));
    metrics
}

/// How far the policy is from the distribution that sampled, from the reference and from the teacher.
pub fn distances(sequences: &[Sequence], measured: &Measured, clip: Option<(Clip, Ratio)>) -> Statistics {
    let behavior: Vec<f32> = sequences.iter().flat_map(|s| s.behavior_logprobs.iter().copied()).collect();
    let reference: Vec<f32> = sequences.iter().flat_map(|s| s.reference_logprobs.iter().copied()).collect();
    let policy = &measured.policy_logprobs;
    let mut metrics = Vec::new();
    if !policy.is_empty() && behavior.len() == policy.len() {
        let log_ratios = differences(policy, &behavior);
        metrics.push(("logprob/max_abs_diff", log_ratios.iter().fold(0.0, |m: f64, d| m.max(d.abs()))));
        let all: Vec<f64> = log_ratios.iter().map(|d| d.abs()).collect();
        metrics.push(("logprob/mean_abs_diff", mean(&all)));
        metrics.push(("ess/ratio", ess_of_log_ratios(&log_ratios)));
        metrics.push(("kl/behavior", mean_k3(&log_ratios)));
        metrics.push(("kl/importance", mean_importance(&log_ratios)));
        if let Some((clip, ratio)) = clip {
            let proximal: Vec<f32> = sequences.iter().flat_map(|s| s.proximal_logprobs.iter().copied()).collect();
            let moved = if proximal.len() == policy.len() { differences(policy, &proximal) } else { log_ratios };
            let seen = ratio.over(&moved, sequences.iter().map(Sequence::targets));
            let active = seen.iter().zip(&measured.credit).filter(|(d, credit)| is_clipped(**d, **credit, clip));
            metrics.push(("clip/fraction", active.count() as f64 / policy.len() as f64));
        }
    }
    if !policy.is_empty() && reference.len() == policy.len() {
        metrics.push(("kl/reference", mean_k3(&differences(policy, &reference))));
    }
    if !measured.teacher.is_empty() {
        let column = |i: usize| measured.teacher.iter().map(|row| f64::from(row[i])).collect::<Vec<_>>();
        let credit: Vec<f64> = measured.credit.iter().map(|c| f64::from(*c)).collect();
        metrics.push(("kl/teacher", mean(&column(1))));
        metrics.push(("vopd/log_ratio", mean(&column(0))));
        metrics.push(("vopd/advantage_std", population_std(&credit)));
    }
    metrics
}

/// How a mixture of experts spreads the step's tokens.
pub fn experts(spread: &Spread) -> Statistics {
    if spread.is_empty() {
        return Vec::new();
    }
    vec![("experts/balance", spread.balance()), ("experts/busiest", spread.busiest()), ("experts/idle", spread.idle())]
}

fn differences(policy: &[f32], other: &[f32]) -> Vec<f64> {
    policy.iter().zip(other).map(|(p, o)| f64::from(*p) - f64::from(*o)).collect()
}

/// Mean of `k3(l, o) = (l - o) + exp(clip(o - l, -10, 10)) - 1` over the differences `l - o`.
fn mean_k3(log_ratios: &[f64]) -> f64 {
    mean(&log_ratios.iter().map(|d| d + (-d).clamp(-10.0, 10.0).exp() - 1.0).collect::<Vec<_>>())
}

/// Mean of `rho log rho - rho + 1` with `log rho = clip(l - mu, -10, 10)` over the differences `l - mu`.
fn mean_importance(log_ratios: &[f64]) -> f64 {
    let clipped = log_ratios.iter().map(|d| d.clamp(-10.0, 10.0));
    mean(&clipped.map(|d| d.exp() * (d - 1.0) + 1.0).collect::<Vec<_>>())
}

/// Whether the clipped term of the PPO surrogate is the smaller one, so that the token has no gradient.
fn is_clipped(log_ratio: f64, credit: f32, clip: Clip) -> bool {
    let ratio = log_ratio.exp();
    (credit > 0.0 && ratio > 1.0 + clip.high) || (credit < 0.0 && ratio < 1.0 - clip.low)
}

/// How long completions reason, and how long they answer. A reasoning that does not end has no answer behind it.
pub fn thoughts(groups: &[&RolloutGroup], tokenizer: &TextTokenizer) -> Statistics {
    let (mut thought, mut answer, mut open, mut count) = (0.0, 0.0, 0.0, 0.0);
    for rollout in groups.iter().flat_map(|group| &group.rollouts) {
        let tokens: Vec<u32> = rollout.drawn_tokens().collect();
        count += 1.0;
        match thought_tokens(&tokens, tokenizer) {
            Some(own) => {
                thought += own as f64;
                answer += (tokens.len() - own) as f64;
            }
            None => {
                thought += tokens.len() as f64;
                open += 1.0;
            }
        }
    }
    if count == 0.0 {
        return Vec::new();
    }
    let means = [("completion/thinking_tokens_mean", thought), ("completion/answer_tokens_mean", answer)];
    let means = means.into_iter().chain([("completion/thinking_unfinished", open)]);
    means.map(|(name, sum)| (name, sum / count)).collect()
}

/// How many turns completions have, and how much of them an environment wrote.
pub fn turns(groups: &[&RolloutGroup]) -> Statistics {
    let rollouts = || groups.iter().flat_map(|group| &group.rollouts);
    let average = |of: &dyn Fn(&Rollout) -> usize| mean(&rollouts().map(|one| of(one) as f64).collect::<Vec<_>>());
    let heard = |rollout: &Rollout| rollout.answers.iter().filter(|one| one.tokens[0] < one.tokens[1]).count();
    vec![
        ("completion/turns_mean", average(&|rollout| 1 + heard(rollout))),
        ("completion/environment_tokens_mean", average(&|rollout| rollout.tokens.len() - rollout.drawn())),
    ]
}

/// How many tokens there are until the reasoning has ended for the last time.
fn thought_tokens(tokens: &[u32], tokenizer: &TextTokenizer) -> Option<usize> {
    if let Some(end) = tokenizer.token_to_id(THOUGHT_END) {
        return tokens.iter().rposition(|token| *token == end).map(|place| place + 1);
    }
    let ends = |count: usize| {
        let text = tokenizer.decode(&tokens[..count], false).unwrap_or_default();
        text.matches(THOUGHT_END).count()
    };
    // Ends only become more with more tokens.
    let all = ends(tokens.len());
    let places: Vec<usize> = (0..=tokens.len()).collect();
    (all > 0).then(|| places.partition_point(|count| ends(*count) < all))
}

/// The answer that the row with a number expects, where it has one.
pub type Expected<'e> = dyn Fn(usize) -> Option<String> + 'e;

/// The completions that a step is taken on; with what rows expect where there is a verifier. `special` are the tokens that
/// are no text, in order.
pub fn completions(all: &[&RolloutGroup], expected: Option<&Expected<'_>>, special: &[u32]) -> Statistics {
    let rollouts: Vec<_> = all.iter().flat_map(|g| &g.rollouts).collect();
    if rollouts.is_empty() {
        return Vec::new();
    }
    let count = rollouts.len() as f64;
    let tokens: f64 = rollouts.iter().map(|r| r.drawn() as f64).sum();
    let cut = rollouts.iter().filter(|r| r.finish == FinishReason::Length).count();
    let marked =
        rollouts.iter().filter(|r| r.drawn_tokens().any(|token| special.binary_search(&token).is_ok())).count();
    let mut metrics = vec![
        ("completion/tokens_mean", tokens / count),
        ("completion/truncated", cut as f64 / count),
        ("completion/special_tokens", marked as f64 / count),
        ("entropy/mean", token_entropy(all)),
    ];
    if let Some(expected) = expected {
        let given: Vec<f64> = rollouts.iter().map(|r| r.reward).collect();
        let groups: Vec<_> = all.iter().filter(|g| !g.rollouts.is_empty()).collect();
        let share = |holds: &dyn Fn(&RolloutGroup) -> bool| {
            groups.iter().filter(|g| holds(g)).count() as f64 / groups.len() as f64
        };
        metrics.extend([
            ("reward/mean", mean(&given)),
            ("reward/std", population_std(&given)),
            ("reward/solve_rate", groups.iter().map(|g| g.solve_rate() * g.rollouts.len() as f64).sum::<f64>() / count),
            ("pass/at_1", mean(&groups.iter().map(|g| g.solve_rate()).collect::<Vec<_>>())),
            ("pass/at_group", share(&|g| g.solve_rate() > 0.0)),
        ]);
        let unparsable = rollouts.iter().filter(|r| r.status == Some(ScoreStatus::Unparsable)).count();
        metrics.push(("verifier/unparsable", unparsable as f64 / count));
        metrics.extend(rewards(all, expected));
    }
    metrics
}

/// What rewards show that are given for something else than they are meant for.
pub fn rewards(groups: &[&RolloutGroup], expected: &Expected<'_>) -> Statistics {
    let rollouts = || groups.iter().flat_map(|group| &group.rollouts);
    let count = rollouts().count();
    let judged: Vec<_> = groups.iter().filter(|group| !group.rollouts.is_empty()).collect();
    if judged.is_empty() {
        return Vec::new();
    }
    let spreadless = judged.iter().filter(|group| is_zero_spread(&group.rewards())).count();
    let mut metrics = vec![("reward/zero_spread", spreadless as f64 / judged.len() as f64)];
    metrics.extend(length_correlation(groups).map(|value| ("reward/length_correlation", value)));
    metrics.extend(top_answer_share(groups, expected).map(|value| ("reward/top_answer_share", value)));
    if rollouts().any(|rollout| rollout.answer.is_some()) {
        let passes_without = |rollout: &&Rollout| rollout.reward >= PASS_MARK && rollout.answer.is_none();
        metrics
            .push(("verifier/passed_without_answer", rollouts().filter(passes_without).count() as f64 / count as f64));
    }
    metrics
}

/// Pearson's correlation of reward and number of tokens, both less their means over the prompt's completions, of prompts
/// whose rewards differ; none for fewer than [`LEAST_WITH_SPREAD`] of these, or where lengths never differ.
fn length_correlation(groups: &[&RolloutGroup]) -> Option<f64> {
    let (mut products, mut rewards, mut lengths) = (0.0, 0.0, 0.0);
    let groups: Vec<_> = groups.iter().filter(|group| !is_zero_spread(&group.rewards())).collect();
    for group in &groups {
        let length = |rollout: &Rollout| rollout.drawn() as f64;
        let mean_reward = mean(&group.rewards());
        let mean_length = mean(&group.rollouts.iter().map(length).collect::<Vec<_>>());
        for rollout in &group.rollouts {
            let (reward, length) = (rollout.reward - mean_reward, length(rollout) - mean_length);
            products += reward * length;
            rewards += reward * reward;
            lengths += length * length;
        }
    }
    // Rounding alone leaves something of equal rewards.
    let differs = |squares: f64| squares > 1e-12;
    (groups.len() >= LEAST_WITH_SPREAD && differs(rewards) && differs(lengths))
        .then(|| products / (rewards * lengths).sqrt())
}

/// Of all reward that is above 0, how far the share of the answer with the most lies above the share of the rows that all
/// expect one answer, which it may have rightly: 0 where it does not, 1 where nothing goes elsewhere. None where fewer than
/// [`LEAST_PROMPTS`] prompts have any for an answer, or all of them expect the same one.
fn top_answer_share(groups: &[&RolloutGroup], expected: &Expected<'_>) -> Option<f64> {
    let mut of_answers: BTreeMap<&str, f64> = BTreeMap::new();
    let mut of_rows: BTreeMap<usize, f64> = BTreeMap::new();
    let (mut all, mut prompts) = (0.0, BTreeSet::new());
    for group in groups {
        for rollout in group.rollouts.iter().filter(|rollout| rollout.reward > 0.0) {
            all += rollout.reward;
            *of_rows.entry(group.row).or_default() += rollout.reward;
            if let Some(answer) = &rollout.answer {
                *of_answers.entry(answer).or_default() += rollout.reward;
                prompts.insert(group.row);
            }
        }
    }
    let most = of_answers.into_values().max_by(f64::total_cmp)?;
    if prompts.len() < LEAST_PROMPTS {
        return None;
    }
    let mut of_expected: BTreeMap<String, f64> = BTreeMap::new();
    for (row, reward) in of_rows {
        if let Some(answer) = expected(row) {
            *of_expected.entry(answer.trim().to_lowercase()).or_default() += reward;
        }
    }
    let rightly = of_expected.into_values().max_by(f64::total_cmp).unwrap_or(0.0);
    // Rounding alone leaves something of sums in another order.
    (rightly < (1.0 - 1e-9) * all).then(|| ((most - rightly) / (all - rightly)).max(0.0))
}

/// The mean rewards of those parts of a step's verdicts that have metrics, by the names of these.
pub fn parts<'a>(groups: impl Iterator<Item = &'a RolloutGroup>, names: &[String]) -> Vec<(String, f64)> {
    let mut sums: Vec<(f64, f64)> = vec![(0.0, 0.0); names.len()];
    let rollouts = groups.flat_map(|group| &group.rollouts);
    for RewardPart { name, reward, .. } in rollouts.flat_map(|rollout| &rollout.parts) {
        if let (Some(reward), Some(place)) = (reward, names.iter().position(|known| known == name)) {
            sums[place] = (sums[place].0 + reward, sums[place].1 + 1.0);
        }
    }
    let all = names.iter().zip(sums).filter(|(_, (_, count))| *count > 0.0);
    all.map(|(name, (sum, count))| (format!("{PARTS}{name}"), sum / count)).collect()
}

/// Mean entropy per token of the model's distribution, in nats; 0 for no tokens.
pub fn token_entropy(groups: &[&RolloutGroup]) -> f64 {
    let rollouts = || groups.iter().flat_map(|g| &g.rollouts);
    let tokens: usize = rollouts().map(Rollout::drawn).sum();
    rollouts().map(|r| r.entropy_sum).sum::<f64>() / tokens.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::rollout::tests::group;

    fn sequence(length: usize, behavior: f32) -> Sequence {
        Sequence {
            prompt: vec![0].into(),
            completion: vec![1; length],
            loss_mask: Vec::new(),
            credit: 0.0,
            behavior_logprobs: vec![behavior; length],
            reference_logprobs: Vec::new(),
            proximal_logprobs: Vec::new(),
        }
    }

    fn value(metrics: &Statistics, name: &str) -> f64 {
        metrics.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("no {name}")).1
    }

    #[test]
    fn masses_are_per_completion_and_split_by_difficulty() {
        // Credit 3 on one token and -1 on each of two, in groups of solve rate 0.1 and 1.
        let sequences = [sequence(1, 0.0), sequence(2, 0.0)];
        let metrics = masses(&sequences, &[0.1, 1.0], &[3.0, -1.0, -1.0]);
        assert!((value(&metrics, "mass/success") - 1.5).abs() < 1e-12);
        assert!((value(&metrics, "mass/failure") - 0.5).abs() < 1e-12);
        assert!((value(&metrics, "mass/success_0_20") - 1.5).abs() < 1e-12);
        assert!((value(&metrics, "mass/failure_80_100") - 0.5).abs() < 1e-12);
        assert_eq!(value(&metrics, "mass/failure_0_20"), 0.0);
    }

    #[test]
    fn distances_are_those_of_the_definitions() {
        let sequences = [sequence(1, -1.0), sequence(1, -2.0)];
        let measured = Measured { policy_logprobs: vec![-0.5, -2.0], credit: vec![1.0, -1.0], ..Measured::default() };
        let metrics = distances(&sequences, &measured, Some((Clip { low: 0.2, high: 0.2 }, Ratio::Token)));
        let d = 0.5_f64;
        assert!((value(&metrics, "logprob/max_abs_diff") - d).abs() < 1e-12);
        assert!((value(&metrics, "kl/behavior") - (d + (-d).exp() - 1.0) / 2.0).abs() < 1e-12);
        let ratio = d.exp();
        let ess = (1.0 + ratio).powi(2) / (2.0 * (1.0 + ratio * ratio));
        assert!((value(&metrics, "ess/ratio") - ess).abs() < 1e-12);
        assert_eq!(value(&metrics, "clip/fraction"), 0.5);
        // A ratio above the range is not clipped where the credit is negative: its gradient pulls it back.
        assert!(!is_clipped(d, -1.0, Clip { low: 0.2, high: 0.2 }));
    }

    #[test]
    fn groups_are_counted_by_what_their_rewards_say() {
        let groups = [group(&[1.0, 0.0]), group(&[0.0, 0.0])];
        let metrics = completions(&groups.iter().collect::<Vec<_>>(), Some(&|_| None), &[0, 7]);
        assert_eq!(value(&metrics, "completion/special_tokens"), 0.5, "the first of each group is token 0");
        assert_eq!(value(&metrics, "reward/zero_spread"), 0.5);
        assert_eq!(value(&metrics, "verifier/unparsable"), 0.0);
        assert_eq!(value(&metrics, "pass/at_1"), 0.25);
        assert_eq!(value(&metrics, "pass/at_group"), 0.5);
        assert_eq!(value(&metrics, "entropy/mean"), 0.5);
        assert!(metrics.iter().all(|(name, _)| *name != "verifier/passed_without_answer"), "nothing takes answers out");
        let unjudged = completions(&groups.iter().collect::<Vec<_>>(), None, &[]);
        assert!(unjudged.iter().all(|(name, _)| !name.starts_with("reward")));
    }

    /// A group of another row with the given rewards, lengths and answers.
    fn judged(row: usize, all: &[(f64, usize, Option<&str>)]) -> RolloutGroup {
        let mut group = group(&all.iter().map(|(reward, ..)| *reward).collect::<Vec<_>>());
        group.row = row;
        for (rollout, (_, length, answer)) in group.rollouts.iter_mut().zip(all) {
            (rollout.tokens, rollout.answer) = (vec![1; *length], answer.map(str::to_owned));
        }
        group
    }

    fn of_rewards(groups: &[RolloutGroup]) -> Statistics {
        rewards(&groups.iter().collect::<Vec<_>>(), &|_| None)
    }

    #[test]
    fn reward_that_follows_length_is_seen_within_prompts() {
        // Each prompt's longer completions earn more, though the prompts with the longer ones earn less.
        let of = |row: usize| match row % 2 {
            0 => judged(row, &[(0.8, 10, None), (0.9, 11, None), (1.0, 12, None), (0.7, 9, None)]),
            _ => judged(row, &[(0.1, 100, None), (0.2, 101, None), (0.3, 102, None), (0.0, 99, None)]),
        };
        let groups: Vec<_> = (0..LEAST_WITH_SPREAD).map(of).collect();
        assert!((value(&of_rewards(&groups), "reward/length_correlation") - 1.0).abs() < 1e-12);
        let same = [judged(0, &[(0.5, 1, None); 8]), judged(1, &[(1.0, 2, None); 8])];
        assert!(of_rewards(&same).iter().all(|(name, _)| *name != "reward/length_correlation"));
        // Two prompts whose right completions are the longer ones by chance, among many that say nothing.
        let mut few: Vec<_> = (0..40).map(|row| judged(row, &[(1.0, 1, None), (1.0, 3, None)])).collect();
        few[..2].iter_mut().for_each(|group| group.rollouts[0].reward = 0.0);
        assert_eq!(length_correlation(&few.iter().collect::<Vec<_>>()), None, "too few to say");
    }

    #[test]
    fn one_answer_that_earns_most_and_passing_without_any_are_seen() {
        let mut groups: Vec<_> = (0..4).map(|row| judged(row, &[(1.0, 1, Some("7")), (0.0, 1, Some("8"))])).collect();
        groups[0] = judged(0, &[(1.0, 1, Some("9")), (0.0, 1, Some("7"))]);
        assert_eq!(value(&of_rewards(&groups), "reward/top_answer_share"), 0.75);
        let few: Vec<_> = groups.iter().take(3).collect();
        assert!(top_answer_share(&few, &|_| None).is_none(), "too few prompts");
        assert_eq!(value(&of_rewards(&groups), "verifier/passed_without_answer"), 0.0);
        groups[1].rollouts[0].answer = None;
        assert_eq!(value(&of_rewards(&groups), "verifier/passed_without_answer"), 0.125);
    }

    #[test]
    fn an_answer_that_rows_expect_is_held_against_how_many_do() {
        let share = |groups: &[RolloutGroup], expected: &Expected<'_>| {
            top_answer_share(&groups.iter().collect::<Vec<_>>(), expected)
        };
        // Half of the rows expect 59 and half 60, and the policy knows the first ones better.
        let gold = |row: usize| if row.is_multiple_of(2) { "59" } else { "60" };
        let right = |row: usize| {
            let rest = if row.is_multiple_of(2) { 1.0 } else { 0.0 };
            judged(row, &[(1.0, 1, Some(gold(row))), (rest, 1, Some(gold(row))), (0.0, 1, Some("7"))])
        };
        let groups: Vec<_> = (0..8).map(right).collect();
        assert_eq!(share(&groups, &|row| Some(gold(row).to_owned())), Some(0.0));
        assert!(share(&groups, &|_| None).unwrap() > 0.6, "without what rows expect it looks like one answer");
        assert_eq!(share(&groups, &|_| Some(String::from("59"))), None, "all expect the same");
        // A verifier that gives everything to one of two answers.
        let wrong: Vec<_> = (0..8).map(|row| judged(row, &[(1.0, 1, Some("59")), (0.0, 1, Some("60"))])).collect();
        assert_eq!(share(&wrong, &|row| Some(gold(row).to_owned())), Some(1.0));
    }

    #[test]
    fn parts_are_means_over_the_completions_that_have_them() {
        let mut groups = [group(&[1.0, 0.0]), group(&[1.0])];
        let part =
            |name: &str, reward| RewardPart { name: name.to_owned(), status: ScoreStatus::Ok, reward, detail: None };
        groups[0].rollouts[0].parts = vec![part("style", Some(0.5)), part("right", Some(1.0))];
        groups[0].rollouts[1].parts = vec![part("style", Some(1.0)), part("right", None), part("test_1", Some(1.0))];
        let names = ["right", "style", "absent"].map(str::to_owned);
        let found = parts(groups.iter(), &names);
        assert_eq!(found, [(String::from("part/right"), 1.0), (String::from("part/style"), 0.75)]);
    }
}
