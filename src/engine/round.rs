//! A round: when its completions are sampled, how they are told, and what is left of them at its end.
//!
//! With `train.max_lag` rounds are sampled ahead: where round r begins round r + lag is, by the policy of then; on the CPU
//! beside the steps of round r ([`super::beside`]). The lag is the schedule's, not the clock's, so that every run has the same one.

use std::ops::Range;
use std::sync::Arc;

use serde_json::json;

use super::backend::Backend;
use super::batch::Sequence;
use super::error::EngineError;
use super::fresh::{Fresh, Sampled, numbered};
use super::measure;
use super::report::{Later, Reporter};
use super::rollout::{RolloutGroup, sequences};
use super::rollout_set;
use super::trainer::Trainer;
use crate::job::NewEvent;
use crate::job::diagnosis;
use crate::job::event::{Gaps, LogDetail, Named};
use crate::objective::math::mean;
use crate::objective::{frontier, gaps};

/// Rounds of fewer steps are not worth a checkpoint after sampling.
const CHECKPOINTED_ROUND: u64 = 8;
/// With more rounds than this, steps alone are told, not rounds.
const ANNOUNCED_ROUNDS: u64 = 100;
/// Groups on which the gaps at the end of a round are measured.
const GAP_GROUPS: usize = 512;

impl<'a, B: Backend> Trainer<'a, B> {
    /// A round as it would be sampled now.
    pub(super) fn fresh(&self, round: u64) -> Fresh<'a> {
        Fresh { job: self.job, plan: self.plan, rows: Arc::clone(&self.rows), round, step: self.step }
    }

    /// The rows of some visits, which belong to a round.
    pub(super) fn rows_of(&self, round: u64, visits: Range<u64>) -> Vec<(u64, usize)> {
        numbered(&self.job.train, self.rows.places(round, visits))
    }

    /// Has the completions of a round, and samples those of rounds that are to be sampled by the policy of now.
    pub(super) fn begin_round(&mut self, round: u64, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        if self.ahead.is_empty() {
            let own = vec![self.fresh(round)];
            self.sample(own, reporter)?;
        }
        if self.beside.is_none() {
            self.sample_ahead(round, reporter)?;
        }
        let proximal = self.proximal_logprobs(reporter)?;
        // From here on nothing may stop the job before it has the round.
        self.rollouts = self.ahead.pop_front().unwrap_or_default();
        self.round = Some(round);
        self.fill_proximal(proximal);
        if self.ranks().is_first() {
            self.sample.begin(round, &self.rollouts);
        }
        if self.plan.steps_of(round).count() as u64 >= CHECKPOINTED_ROUND {
            // Sampling is the dear part of a round; a lost worker shall not cost it twice.
            self.save_and_report(reporter)?;
        }
        Ok(())
    }

    /// Where a round begins: has those sampled that are to be sampled by the policy of now, beside its steps where that is
    /// possible.
    pub(super) fn sample_ahead(&mut self, round: u64, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        let last = (round + u64::from(self.job.spec.train.max_lag)).min(self.plan.rounds - 1);
        let known = self.ahead.len() as u64 + u64::from(!self.rollouts.is_empty());
        let rounds: Vec<Fresh<'a>> = (round + known..=last).map(|next| self.fresh(next)).collect();
        match &mut self.beside {
            _ if rounds.is_empty() => Ok(()),
            Some(beside) => {
                self.actor.rest();
                beside.begin(rounds, &self.actor.weights)
            }
            None => self.sample(rounds, reporter),
        }
    }

    /// Waits for what is sampled beside training, if something is.
    pub(super) fn settle(&mut self, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        let step = self.step;
        let sampled = self.beside.as_mut().map_or(Ok(Vec::new()), |beside| beside.end(step, reporter))?;
        for sampled in &sampled {
            self.actor.count(&sampled.verification)?;
        }
        self.take_all(sampled, reporter)
    }

    /// Samples and scores the completions of rounds.
    fn sample(&mut self, rounds: Vec<Fresh<'a>>, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        // What the first of them teaches about rows would be known to the others if they had to be sampled again.
        let is_learnt_from = self.rows.rates().is_some() && rounds.len() > 1;
        let mut all = Vec::new();
        for fresh in rounds {
            self.agree_to_go_on(reporter)?;
            let sampled = fresh.sample(&mut self.actor, reporter)?;
            if is_learnt_from {
                all.push(sampled);
            } else {
                self.take(sampled, reporter)?;
            }
        }
        self.take_all(all, reporter)
    }

    /// Takes over what was sampled together, all of it though the job is to rest.
    fn take_all(&mut self, all: Vec<Sampled>, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        all.into_iter().try_for_each(|sampled| self.take(sampled, &mut Later(reporter)))
    }

    /// Takes over the completions of a round, the next of those that are not trained on yet.
    fn take(&mut self, sampled: Sampled, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        let job = self.job;
        self.sampled = sampled.metrics();
        if job.spec.rollouts.dynamic_sampling > 0 {
            self.sampled.push(("rollout/replaced", sampled.share_replaced()));
        }
        let Sampled { round, mut groups, unscored, replaced: others, drawn, held_out, .. } = sampled;
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
        let others: Vec<_> = others.into_iter().map(Arc::new).collect();
        let rows = Arc::make_mut(&mut self.rows);
        rows.learn(&job.train, &others, drawn);
        rows.learn(&job.train, &groups, drawn);
        self.sampled.extend(self.rows.rates().into_iter().flat_map(|rates| rates.metrics(drawn)));
        self.ahead.push_back(groups);
        self.held_out = held_out;
        Ok(())
    }

    /// Sums of log-probabilities of the completions of groups under the policy of now.
    fn policy_logprobs(
        &self,
        groups: &[Arc<RolloutGroup>],
        reporter: &dyn Reporter,
    ) -> Result<Vec<Vec<f64>>, EngineError> {
        let all: Vec<Sequence> = groups.iter().flat_map(|group| sequences(group)).collect();
        let mut sums = self
            .logprobs(&self.actor.decoder, &all, reporter)?
            .into_iter()
            .map(|logprobs| logprobs.into_iter().map(f64::from).sum::<f64>());
        Ok(groups.iter().map(|group| sums.by_ref().take(group.rollouts.len()).collect()).collect())
    }

    /// Compares what a round's completions could not cover with what training on them left undone, and lets go of
    /// them.
    pub(super) fn end_round(&mut self, round: u64, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        if let Some(beta) = self.job.spec.objective.target_beta(round) {
            let of_set = if self.rollouts.is_empty() { &self.stored } else { &self.rollouts };
            let groups: Vec<Arc<RolloutGroup>> = of_set.iter().take(GAP_GROUPS).map(Arc::clone).collect();
            let policy = self.policy_logprobs(&groups, reporter)?;
            let scored: Vec<_> = groups.iter().map(|group| group.scored()).collect();
            let policy_of_others = self.policy_logprobs(&self.held_out, reporter)?;
            let scored_others: Vec<_> = self.held_out.iter().map(|group| group.scored()).collect();
            let held_out = gaps::Trained { groups: &scored_others, policy: &policy_of_others };
            let trained = gaps::Trained { groups: &scored, policy: &policy };
            let gaps = gaps::measure(trained, Some(held_out), beta);
            let message = self.gaps_in_words(round, &gaps);
            self.report.insert(String::from("gaps"), json!(gaps));
            let detail = LogDetail::Gaps { round: round + 1, groups: groups.len() as u64, gaps };
            reporter.event(NewEvent::log(message, detail))?;
        }
        self.sample.end_round();
        self.rollouts.clear();
        self.held_out.clear();
        Ok(())
    }

    fn gaps_in_words(&self, round: u64, gaps: &Gaps) -> String {
        let price = |price: Option<f64>| price.unwrap_or_default();
        let mut message = format!(
            "round {} of {}: between {:.3} and {:.3} of reward are out of reach of its completions, and on these the policy is \
             {:.3} nats from the target",
            round + 1,
            self.plan.rounds,
            price(gaps.support_price_low),
            price(gaps.support_price_high),
            gaps.support_kl
        );
        if let Some(held_out) = &gaps.held_out {
            message.push_str(&format!(
                ", on those of {} held-out prompts {:.3} (before training {:.3})",
                held_out.groups, held_out.support_kl, held_out.support_kl_before
            ));
        }
        message
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
        // Of a control run they are not the verifier's.
        if self.plan.group_size < 2 || self.job.spec.rollouts.control.is_some() {
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
