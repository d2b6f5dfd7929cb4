//! A round: the rows that its prompts are, their completions, how these are told, and what is left of them at its end.
//!
//! With `train.max_lag` rounds are sampled ahead: before the steps of round r those of round r + lag are, by the policy of
//! then. The lag is the schedule's, not the clock's, so that every run has the same one.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;

use super::actor::RolloutRequest;
use super::backend::Backend;
use super::batch::Sequence;
use super::error::EngineError;
use super::measure;
use super::random::{Purpose, Stream};
use super::report::Reporter;
use super::rollout::{Rollout, RolloutGroup, sequences};
use super::rollout_set;
use super::trainer::Trainer;
use super::verification::Verification;
use crate::job::diagnosis;
use crate::job::event::{LogDetail, Named};
use crate::job::{NewEvent, Phase};
use crate::objective::frontier;
use crate::objective::math::{is_zero_spread, mean};

/// Rounds of fewer steps are not worth a checkpoint after sampling.
const CHECKPOINTED_ROUND: u64 = 8;
/// With more rounds than this, steps alone are told, not rounds.
const ANNOUNCED_ROUNDS: u64 = 100;
/// Groups on which the gaps at the end of a round are measured.
const GAP_GROUPS: usize = 512;

/// The completions of a round.
struct Sampled {
    groups: Vec<RolloutGroup>,
    /// Some that could not be judged, with the places of their groups.
    unscored: Vec<(usize, Rollout)>,
    verification: Verification,
    /// Groups in whose place others came, or that might have come in another's place, and taught nothing either; with their
    /// rewards alone, for there may be many times as many of them as of the others.
    replaced: Vec<RolloutGroup>,
    /// Tokens of all completions, also of those.
    tokens: usize,
}

impl Sampled {
    /// The places of the groups that teach nothing: all completions earn the same.
    fn idle(&self) -> Vec<usize> {
        (0..self.groups.len()).filter(|place| is_idle(&self.groups[*place])).collect()
    }

    /// Puts groups in the places of idle ones, as far as they are not idle themselves; `unscored` are the places among them.
    fn replace(&mut self, fresh: Vec<RolloutGroup>, unscored: Vec<(usize, Rollout)>) {
        let mut idle = self.idle().into_iter();
        for (number, group) in fresh.into_iter().enumerate() {
            let place = if is_idle(&group) { None } else { idle.next() };
            let Some(place) = place else {
                self.replaced.push(rewards_alone(group));
                continue;
            };
            self.replaced.push(rewards_alone(std::mem::replace(&mut self.groups[place], group)));
            self.unscored.retain(|(of, _)| *of != place);
            let own = unscored.iter().filter(|(of, _)| *of == number).map(|(_, rollout)| (place, rollout.clone()));
            self.unscored.extend(own);
        }
    }

    /// The share of the groups that were sampled which others replaced.
    fn share_replaced(&self) -> f64 {
        self.replaced.len() as f64 / (self.groups.len() + self.replaced.len()).max(1) as f64
    }
}

/// What is known of a group's row by it.
fn rewards_alone(mut group: RolloutGroup) -> RolloutGroup {
    for rollout in &mut group.rollouts {
        rollout.text = String::new();
        rollout.tokens = Vec::new();
        rollout.behavior_logprobs = Vec::new();
        rollout.entropies = Vec::new();
        rollout.parts = Vec::new();
        rollout.answers = Vec::new();
        rollout.detail = None;
    }
    RolloutGroup { text: String::new(), prompt: Vec::new().into(), ..group }
}

fn is_idle(group: &RolloutGroup) -> bool {
    is_zero_spread(&group.rewards())
}

impl<B: Backend> Trainer<'_, B> {
    /// The rows of a round's prompts, with the visits that key their random numbers.
    pub(super) fn rows_of_round(&self, round: u64) -> Vec<(u64, usize)> {
        let spec = &self.job.spec;
        let before = |round| self.plan.prompts_before(round, &spec.train, &spec.rollouts);
        self.rows_of(round, before(round)..before(round + 1))
    }

    /// The rows of some visits, which belong to a round.
    pub(super) fn rows_of(&self, round: u64, visits: Range<u64>) -> Vec<(u64, usize)> {
        let places = self.rows.places(round, visits).into_iter();
        places.map(|(visit, place)| (visit, self.job.train.number(place))).collect()
    }

    /// Rows for prompts in the place of `count` of a round's, others at each attempt: their visits lie behind those of all
    /// rounds. A row of the round may be among them.
    fn spare_rows(&self, round: u64, attempt: u64, count: usize) -> Vec<(u64, usize)> {
        let spec = &self.job.spec;
        let (rounds, attempts) = (self.plan.rounds, u64::from(spec.rollouts.dynamic_sampling));
        let all = self.plan.prompts_before(rounds, &spec.train, &spec.rollouts);
        let most = self.plan.most_prompts(&spec.train, &spec.rollouts);
        let first = all + (round * attempts + attempt - 1) * most;
        let drawn = self.plan.prompts_before(round + 1, &spec.train, &spec.rollouts);
        let places = self.rows.spares(round + attempt * rounds, drawn, first..first + count as u64).into_iter();
        places.map(|(visit, place)| (visit, self.job.train.number(place))).collect()
    }

    /// Has the completions of a round, and samples those of rounds that are to be sampled by the policy of now.
    pub(super) fn begin_round(&mut self, round: u64, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        let lag = u64::from(self.job.spec.train.max_lag);
        let last = (round + lag).min(self.plan.rounds - 1);
        for next in round + self.ahead.len() as u64..=last {
            self.agree_to_go_on(reporter)?;
            let groups = self.sample(next, reporter)?;
            self.ahead.push_back(groups);
        }
        let proximal = self.proximal_logprobs(reporter)?;
        // From here on nothing may stop the job before it has the round.
        self.rollouts = self.ahead.pop_front().unwrap_or_default();
        self.round = Some(round);
        let is_filled = !proximal.is_empty();
        self.fill_proximal(proximal);
        if (lag > 0 || is_filled) && self.ranks().is_first() {
            self.sample.reopen(round, &self.rollouts);
        }
        if self.plan.steps_of(round).count() as u64 >= CHECKPOINTED_ROUND {
            // Sampling is the dear part of a round; a lost worker shall not cost it twice.
            self.save_and_report(reporter)?;
        }
        Ok(())
    }

    /// Samples and scores the completions of a round.
    fn sample(&mut self, round: u64, reporter: &mut dyn Reporter) -> Result<Vec<Arc<RolloutGroup>>, EngineError> {
        let job = self.job;
        let rows = self.rows_of_round(round);
        let began = Instant::now();
        let mut sampled = self.roll_out(&rows, reporter)?;
        for attempt in 1..=u64::from(job.spec.rollouts.dynamic_sampling) {
            let idle = sampled.idle().len();
            if idle == 0 {
                break;
            }
            let more = self.roll_out(&self.spare_rows(round, attempt, idle), reporter)?;
            sampled.verification.go_on(more.verification);
            sampled.tokens += more.tokens;
            sampled.replace(more.groups, more.unscored);
        }
        let (seconds, replaced) = (began.elapsed().as_secs_f64(), sampled.share_replaced());
        let Sampled { mut groups, unscored, verification, replaced: others, tokens } = sampled;
        self.sampled = verification.metrics();
        self.sampled.extend([
            ("time/rollout_seconds", seconds),
            ("throughput/rollout_tokens_per_second", tokens as f64 / seconds.max(1e-9)),
        ]);
        if job.spec.rollouts.dynamic_sampling > 0 {
            self.sampled.push(("rollout/replaced", replaced));
        }
        self.fill_reference(&mut groups, reporter)?;
        if self.ranks().is_first() && self.keeps() {
            let kept: Vec<_> = groups.iter().map(|group| group.clone().without_entropies()).collect();
            rollout_set::keep_part(&job.actor.directory, round, &kept)?;
        }
        let groups: Vec<_> = if self.ranks().is_first() && !self.keeps() {
            let steps = self.plan.steps_of(round).count() as u64;
            let piece = |token| self.actor.tokenizer.decode(&[token], false).unwrap_or_default();
            self.sample.keep(round, steps, (groups, unscored), piece)
        } else {
            groups.into_iter().map(RolloutGroup::bare).map(Arc::new).collect()
        };
        self.report_round(round, &groups, reporter)?;
        // What is known of the rows changes together with the completions that say it, or a checkpoint would have one
        // without the other.
        let drawn = rows.last().map_or(0, |(visit, _)| visit + 1);
        let others: Vec<_> = others.into_iter().map(Arc::new).collect();
        self.rows.learn(&job.train, &others, drawn);
        self.rows.learn(&job.train, &groups, drawn);
        self.sampled.extend(self.rows.rates().into_iter().flat_map(|rates| rates.metrics(drawn)));
        Ok(groups)
    }

    /// Samples and scores completions for some rows with the policy of now.
    fn roll_out(&mut self, rows: &[(u64, usize)], reporter: &mut dyn Reporter) -> Result<Sampled, EngineError> {
        reporter.phase(Phase::Sampling, self.step)?;
        let job = self.job;
        let request = RolloutRequest {
            dataset: &job.train,
            rows,
            samples: self.plan.group_size,
            sampling: &job.actor.sampling,
            stream: Stream::new(job.actor.seed, Purpose::Rollout, self.step),
            step: self.step,
            phase: Phase::Sampling,
        };
        let (groups, verification) = self.actor.roll_out(&request, reporter)?;
        let tokens = groups.iter().flat_map(|group| &group.rollouts).map(Rollout::drawn).sum();
        Ok(Sampled { groups, unscored: self.actor.take_unscored(), verification, replaced: Vec::new(), tokens })
    }

    /// Compares what a round's completions could not cover with what training on them left undone, and lets go of
    /// them.
    pub(super) fn end_round(&mut self, round: u64, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        if let Some(beta) = self.job.spec.objective.target_beta(round) {
            let of_set = if self.rollouts.is_empty() { &self.stored } else { &self.rollouts };
            let groups: Vec<Arc<RolloutGroup>> = of_set.iter().take(GAP_GROUPS).map(Arc::clone).collect();
            let all: Vec<Sequence> = groups.iter().flat_map(|group| sequences(group)).collect();
            let mut sums = self
                .logprobs(&self.actor.decoder, &all, reporter)?
                .into_iter()
                .map(|logprobs| logprobs.into_iter().map(f64::from).sum::<f64>());
            let policy: Vec<Vec<f64>> =
                groups.iter().map(|group| sums.by_ref().take(group.rollouts.len()).collect()).collect();
            let scored: Vec<_> = groups.iter().map(|group| group.scored()).collect();
            let gaps = frontier::gaps(&scored, &policy, beta);
            let price = |price: Option<f64>| price.unwrap_or_default();
            let message = format!(
                "round {} of {}: between {:.3} and {:.3} of reward are out of reach of its completions, and on these the \
                 policy is {:.3} nats from the target",
                round + 1,
                self.plan.rounds,
                price(gaps.support_price_low),
                price(gaps.support_price_high),
                gaps.support_kl
            );
            self.report.insert(String::from("gaps"), json!(gaps));
            let detail = LogDetail::Gaps { round: round + 1, groups: groups.len() as u64, gaps };
            reporter.event(NewEvent::log(message, detail))?;
        }
        self.sample.end_round();
        self.rollouts.clear();
        Ok(())
    }

    pub(super) fn report_round(
        &mut self,
        round: u64,
        groups: &[Arc<RolloutGroup>],
        reporter: &mut dyn Reporter,
    ) -> Result<(), EngineError> {
        let scored: Vec<_> = groups.iter().map(|group| group.scored()).collect();
        let rewards: Vec<f64> = groups.iter().flat_map(|group| group.rewards()).collect();
        let judged = self.is_judged();
        if judged {
            self.warn_of_rewards(groups, reporter)?;
        }
        if round == 0 && judged && self.plan.group_size > 1 {
            let table = frontier::frontier(&scored, &frontier::default_betas(), None);
            self.report.insert(String::from("frontier"), json!(table));
        }
        if self.plan.rounds > ANNOUNCED_ROUNDS {
            return Ok(());
        }
        let report = self.objective.round_report(round, &scored).into_iter();
        let report: Named<_> = report.chain(judged.then(|| ("reward/mean", mean(&rewards)))).collect();
        let mut message = format!(
            "round {} of {}: {} completions for {} prompts",
            round + 1,
            self.plan.rounds,
            rewards.len(),
            groups.len()
        );
        if judged {
            message.push_str(&format!(", mean reward {:.3}", mean(&rewards)));
        }
        Ok(reporter.event(NewEvent::log(message, LogDetail::Round { round: round + 1, report }))?)
    }

    /// What the rows of the job's data set expect as answers.
    pub(super) fn expected(&self) -> impl Fn(usize) -> Option<String> {
        let rows = &self.job.train;
        move |row| rows.row(row).ok()?.answer
    }

    /// Says, each thing once, what of a round's rewards looks as if the verifier were wrong.
    fn warn_of_rewards(
        &mut self,
        groups: &[Arc<RolloutGroup>],
        reporter: &mut dyn Reporter,
    ) -> Result<(), EngineError> {
        let groups: Vec<&RolloutGroup> = groups.iter().map(Arc::as_ref).collect();
        if self.plan.group_size < 2 {
            return Ok(());
        }
        let statistics = measure::rewards(&groups, &self.expected());
        for (code, message) in diagnosis::suspicions(&statistics) {
            if self.said.insert(code.as_str()) {
                reporter.event(NewEvent::warning(message, code.as_str(), LogDetail::None {}))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::rollout::tests::group;

    #[test]
    fn groups_that_teach_take_the_places_of_those_that_do_not() {
        let numbered = |row: usize, rewards: &[f64]| RolloutGroup { row, ..group(rewards) };
        let lost = |place: usize, row: f64| (place, group(&[row]).rollouts.remove(0));
        let groups = vec![numbered(0, &[1.0, 1.0]), numbered(1, &[1.0, 0.0]), numbered(2, &[0.0, 0.0])];
        let (unscored, verification) = (vec![lost(0, 0.25), lost(1, 0.5)], Verification::default());
        let mut sampled = Sampled { groups, unscored, verification, replaced: Vec::new(), tokens: 0 };
        assert_eq!(sampled.idle(), [0, 2]);
        sampled.replace(vec![numbered(3, &[0.0, 0.0]), numbered(4, &[0.0, 1.0])], vec![lost(1, 0.75)]);
        let rows = |groups: &[RolloutGroup]| groups.iter().map(|group| group.row).collect::<Vec<_>>();
        assert_eq!((rows(&sampled.groups), rows(&sampled.replaced)), (vec![4, 1, 2], vec![3, 0]));
        let unscored: Vec<_> = sampled.unscored.iter().map(|(place, rollout)| (*place, rollout.reward)).collect();
        assert_eq!(unscored, [(1, 0.5), (0, 0.75)], "those of a group go with it");
        // What comes beyond need is not taken, and a group without two verdicts teaches nothing.
        sampled.replace(vec![numbered(5, &[1.0]), numbered(6, &[0.0, 1.0]), numbered(7, &[0.0, 1.0])], Vec::new());
        assert_eq!((rows(&sampled.groups), rows(&sampled.replaced)), (vec![4, 1, 6], vec![3, 0, 5, 2, 7]));
        assert!((sampled.share_replaced() - 5.0 / 8.0).abs() < 1e-12);
        assert!(sampled.replaced.iter().all(|group| group.rollouts[0].tokens.is_empty()));
        assert_eq!((sampled.replaced[1].passed(), sampled.groups[0].rollouts[1].tokens.len()), (2, 1));
    }
}
