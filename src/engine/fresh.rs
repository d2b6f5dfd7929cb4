//! Fresh completions of a round: the rows that its prompts are, their completions, and those of other rows in the place of
//! groups that teach nothing.

use std::sync::Arc;
use std::time::Instant;

use super::actor::{Actor, RolloutRequest};
use super::backend::Backend;
use super::curriculum::Rows;
use super::error::EngineError;
use super::random::{Purpose, Stream};
use super::report::Reporter;
use super::rollout::{Rollout, RolloutGroup};
use super::training_job::Job;
use super::verification::Verification;
use crate::dataset::Dataset;
use crate::job::Phase;
use crate::objective::math::is_zero_spread;
use crate::objective::{Plan, Statistics};

/// A round that is to be sampled.
pub(super) struct Fresh<'a> {
    pub job: &'a Job,
    pub plan: Plan,
    /// What is known of the rows when it is sampled.
    pub rows: Arc<Rows>,
    pub round: u64,
    /// Optimizer steps that the policy which samples it has taken.
    pub step: u64,
}

impl Fresh<'_> {
    /// The rows of its prompts, with the visits that key their random numbers.
    pub fn prompts(&self) -> Vec<(u64, usize)> {
        let spec = &self.job.spec;
        let before = |round| self.plan.prompts_before(round, &spec.train, &spec.rollouts);
        numbered(&self.job.train, self.rows.places(self.round, before(self.round)..before(self.round + 1)))
    }

    /// Rows for prompts in the place of `count` of the round's, others at each attempt: their visits lie behind those of all
    /// rounds. A row of the round may be among them.
    fn spares(&self, attempt: u64, count: usize) -> Vec<(u64, usize)> {
        let (spec, round) = (&self.job.spec, self.round);
        let (rounds, attempts) = (self.plan.rounds, u64::from(spec.rollouts.dynamic_sampling));
        let all = self.plan.prompts_before(rounds, &spec.train, &spec.rollouts);
        let most = self.plan.most_prompts(&spec.train, &spec.rollouts);
        let first = all + (round * attempts + attempt - 1) * most;
        let drawn = self.plan.prompts_before(round + 1, &spec.train, &spec.rollouts);
        let places = self.rows.spares(round + attempt * rounds, drawn, first..first + count as u64);
        numbered(&self.job.train, places)
    }

    /// Samples and scores its completions with the policy of an actor.
    pub fn sample<B: Backend>(
        &self,
        actor: &mut Actor<'_, B>,
        reporter: &mut dyn Reporter,
    ) -> Result<Sampled, EngineError> {
        let prompts = self.prompts();
        let began = Instant::now();
        let mut sampled = self.roll_out(actor, &prompts, reporter)?;
        for attempt in 1..=u64::from(self.job.spec.rollouts.dynamic_sampling) {
            let idle = sampled.idle().len();
            if idle == 0 {
                break;
            }
            let more = self.roll_out(actor, &self.spares(attempt, idle), reporter)?;
            sampled.verification.go_on(more.verification);
            sampled.tokens += more.tokens;
            sampled.replace(more.groups, more.unscored);
        }
        sampled.drawn = prompts.last().map_or(0, |(visit, _)| visit + 1);
        sampled.seconds = began.elapsed().as_secs_f64();
        sampled.held_out = self.sample_held_out(actor, reporter)?;
        Ok(sampled)
    }

    /// Completions of held-out prompts, as many as the objective asks for, by the same policy; on them it is measured what
    /// training on the others makes of these.
    pub fn sample_held_out<B: Backend>(
        &self,
        actor: &mut Actor<'_, B>,
        reporter: &mut dyn Reporter,
    ) -> Result<Vec<Arc<RolloutGroup>>, EngineError> {
        let Some(dataset) = self.job.eval.as_ref().filter(|_| self.job.actor.verifier.is_some()) else {
            return Ok(Vec::new());
        };
        let count = dataset.len().min(self.job.spec.objective.held_out_prompts() as usize);
        if count == 0 {
            return Ok(Vec::new());
        }
        let places = (0..count).map(|place| (place as u64, place)).collect();
        let rows = numbered(dataset, places);
        let request = self.request(dataset, &rows, Purpose::HeldOut);
        let (mut groups, _) = actor.roll_out(&request, reporter)?;
        self.job.replace_rewards(groups.iter_mut(), self.round);
        Ok(groups.into_iter().map(RolloutGroup::bare).map(Arc::new).collect())
    }

    fn request<'r>(&'r self, dataset: &'r Dataset, rows: &'r [(u64, usize)], purpose: Purpose) -> RolloutRequest<'r> {
        RolloutRequest {
            dataset,
            rows,
            samples: self.plan.group_size,
            sampling: &self.job.actor.sampling,
            stream: Stream::new(self.job.actor.seed, purpose, self.step),
            step: self.step,
            phase: Phase::Sampling,
        }
    }

    /// Samples and scores completions for some rows.
    fn roll_out<B: Backend>(
        &self,
        actor: &mut Actor<'_, B>,
        rows: &[(u64, usize)],
        reporter: &mut dyn Reporter,
    ) -> Result<Sampled, EngineError> {
        reporter.phase(Phase::Sampling, self.step)?;
        let request = self.request(&self.job.train, rows, Purpose::Rollout);
        let (mut groups, verification) = actor.roll_out(&request, reporter)?;
        self.job.replace_rewards(groups.iter_mut(), self.round);
        let tokens = groups.iter().flat_map(|group| &group.rollouts).map(Rollout::drawn).sum();
        let unscored = actor.take_unscored();
        Ok(Sampled { round: self.round, groups, unscored, verification, tokens, ..Sampled::default() })
    }
}

/// Rows by their numbers in their file in the place of those among the rows that are trained on.
pub(super) fn numbered(rows: &Dataset, places: Vec<(u64, usize)>) -> Vec<(u64, usize)> {
    places.into_iter().map(|(visit, place)| (visit, rows.number(place))).collect()
}

/// The completions of a round.
#[derive(Default)]
pub(super) struct Sampled {
    pub round: u64,
    pub groups: Vec<RolloutGroup>,
    /// Some that could not be judged, with the places of their groups.
    pub unscored: Vec<(usize, Rollout)>,
    pub verification: Verification,
    /// Groups in whose place others came, or that might have come in another's place, and taught nothing either; with their
    /// rewards alone, for there may be many times as many of them as of the others.
    pub replaced: Vec<RolloutGroup>,
    /// Completions of held-out prompts.
    pub held_out: Vec<Arc<RolloutGroup>>,
    /// Tokens of all completions, also of those.
    tokens: usize,
    /// How many prompts had been drawn in all, with the round's own.
    pub drawn: u64,
    seconds: f64,
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
    pub fn share_replaced(&self) -> f64 {
        self.replaced.len() as f64 / (self.groups.len() + self.replaced.len()).max(1) as f64
    }

    /// What is reported of how it was sampled.
    pub fn metrics(&self) -> Statistics {
        let mut metrics = self.verification.clone().metrics();
        metrics.extend([
            ("time/rollout_seconds", self.seconds),
            ("throughput/rollout_tokens_per_second", self.tokens as f64 / self.seconds.max(1e-9)),
        ]);
        metrics
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::rollout::tests::group;

    #[test]
    fn groups_that_teach_take_the_places_of_those_that_do_not() {
        let numbered = |row: usize, rewards: &[f64]| RolloutGroup { row, ..group(rewards) };
        let lost = |place: usize, row: f64| (place, group(&[row]).rollouts.remove(0));
        let groups = vec![numbered(0, &[1.0, 1.0]), numbered(1, &[1.0, 0.0]), numbered(2, &[0.0, 0.0])];
        let unscored = vec![lost(0, 0.25), lost(1, 0.5)];
        let mut sampled = Sampled { groups, unscored, ..Sampled::default() };
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
