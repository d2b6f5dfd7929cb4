//! One optimizer step: which completions it takes, what they are credited with, forward, backward, update.

use std::sync::Arc;
use std::time::Instant;

use super::backend::Backend;
use super::batch::{MicroBatch, Sequence, pack};
use super::error::EngineError;
use super::learn::Learner;
use super::measure::{self, Measured};
use super::model::decoder::Decoder;
use super::random::{Purpose, Stream};
use super::report::Reporter;
use super::rollout::{RolloutGroup, sequences};
use super::schedule::learning_rate;
use super::shares::Shares;
use super::trainer::{Metrics, Trainer};
use super::visits::Visits;
use crate::job::event::LogDetail;
use crate::job::{Learned, NewEvent};
use crate::objective::math::mean;
use crate::objective::{Group, Objective, StepStatistics, StepTotals};

/// Steps in a row that may have nothing to learn from.
const MAX_IDLE_STEPS: u64 = 50;

/// What one prompt contributes to a step.
#[derive(Clone, Debug)]
pub(super) enum StepGroup {
    /// Sampled by this job.
    Fresh(Arc<RolloutGroup>),
    /// From a stored rollout set.
    Stored(Arc<RolloutGroup>),
    /// The data set's own completion.
    Given(Sequence),
}

impl StepGroup {
    pub fn sampled(&self) -> Option<&RolloutGroup> {
        match self {
            Self::Fresh(group) | Self::Stored(group) => Some(group),
            Self::Given(_) => None,
        }
    }
}

/// The credited sequences of a step, and the solve rate of the group that each belongs to.
#[derive(Debug, Default)]
pub(super) struct StepBatch {
    pub sequences: Vec<Sequence>,
    solve_rates: Vec<f64>,
    /// Of each sequence the number of its group in the step and its own in the group.
    origins: Vec<(usize, usize)>,
}

impl<B: Backend> Trainer<'_, B> {
    /// What the next step trains on. Rollouts of a round are gone through in a new random order on every pass; rows of
    /// a data set and stored rollouts likewise.
    pub(super) fn groups_of_step(&self, round: u64) -> Result<Vec<StepGroup>, EngineError> {
        let (seed, train) = (self.job.actor.seed, &self.job.spec.train);
        let per_step = u64::from(train.prompts_per_step);
        if self.objective.needs().completions {
            let visits = self.step * per_step..(self.step + 1) * per_step;
            let rows = self.rows_of(round, visits);
            return Ok(self.actor.given(&self.job.train, &rows)?.into_iter().map(StepGroup::Given).collect());
        }
        let mut groups = Vec::with_capacity(per_step as usize);
        let stored = self.stored_per_step();
        if !self.stored.is_empty() {
            let mut visits = Visits::new(seed, Purpose::StoredOrder, self.stored.len());
            let own = self.step * stored..(self.step + 1) * stored;
            groups.extend(own.map(|visit| StepGroup::Stored(Arc::clone(&self.stored[visits.item(visit)]))));
        }
        if !self.rollouts.is_empty() {
            let fresh = per_step - stored;
            let begin = (self.step - self.plan.steps_of(round).start) * fresh;
            let end = self.rollouts.len() as u64 * u64::from(train.updates_per_rollout);
            let mut visits = Visits::series(seed, Purpose::BatchOrder, self.rollouts.len(), round);
            let own = begin..end.min(begin + fresh);
            groups.extend(own.map(|visit| StepGroup::Fresh(Arc::clone(&self.rollouts[visits.item(visit)]))));
        }
        Ok(groups)
    }

    /// Takes the next step. When it ends with an error, be it that the job shall stop, nothing has changed that a
    /// checkpoint holds.
    pub(super) fn train_step(
        &mut self,
        groups: &[StepGroup],
        reporter: &mut dyn Reporter,
    ) -> Result<Metrics, EngineError> {
        let before = (self.objective.state(), self.idle_steps);
        let result = self.try_step(groups, reporter);
        if result.is_err() {
            self.objective.restore(&before.0).map_err(|error| EngineError::Internal(error.to_string()))?;
            self.idle_steps = before.1;
        }
        result
    }

    fn try_step(&mut self, groups: &[StepGroup], reporter: &mut dyn Reporter) -> Result<Metrics, EngineError> {
        let began = Instant::now();
        self.begin_step(groups, reporter)?;
        let mut batch = self.credited(self.objective.as_ref(), groups);
        let empty = batch.sequences.iter().all(|s| s.targets() == 0);
        let uncredited = empty || (self.learns_from_credit() && batch.sequences.iter().all(|s| s.credit == 0.0));
        let idle = empty || (uncredited && !self.objective.learns_without_credit());
        if uncredited {
            self.count_idle_step(groups, idle, reporter)?;
        } else {
            self.idle_steps = 0;
        }
        let mut metrics = if idle {
            let mut metrics = vec![("loss", 0.0), ("grad/norm", 0.0), ("step/tokens", 0.0), ("step/sequences", 0.0)];
            metrics.extend(measure::masses(&[], &[], &[]));
            metrics
        } else {
            self.add_reference(&mut batch.sequences, reporter)?;
            let (metrics, measured) = self.learn(&batch, reporter)?;
            self.show(groups, &batch, &measured);
            metrics
        };
        self.say_notes(reporter)?;
        let seconds = began.elapsed().as_secs_f64();
        let rows: f64 = batch.sequences.iter().map(|s| (s.prompt.len() + s.completion.len()) as f64).sum();
        let rate = learning_rate(&self.job.spec.optimizer, self.step, self.plan.steps);
        self.step += 1;
        metrics.extend([
            ("learning_rate", rate),
            ("time/step_seconds", seconds),
            ("throughput/train_tokens_per_second", if idle { 0.0 } else { rows / seconds }),
        ]);
        metrics.extend(self.actor.decoder.backend().peak().map(|bytes| ("memory/peak_bytes", bytes as f64)));
        metrics.extend(self.group_metrics(groups));
        metrics.extend(self.objective.step_report());
        Ok(metrics)
    }

    /// Tells the objective what the step's completions say.
    fn begin_step(&mut self, groups: &[StepGroup], reporter: &dyn Reporter) -> Result<(), EngineError> {
        let sampled: Vec<&RolloutGroup> = groups.iter().filter_map(StepGroup::sampled).collect();
        if sampled.is_empty() {
            return Ok(());
        }
        let on_policy = self.samples_the_policy()
            && groups.iter().all(|group| matches!(group, StepGroup::Fresh(group) if group.step == self.step));
        let log_ratios = if self.objective.needs().log_ratios && !on_policy {
            self.log_ratios(&sampled, reporter)?
        } else {
            Vec::new()
        };
        let rewards: Vec<Vec<f64>> = sampled.iter().map(|group| group.rewards()).collect();
        self.objective.begin_step(&StepStatistics {
            round: self.round.unwrap_or(0),
            rewards: &rewards,
            token_entropy: measure::token_entropy(&sampled),
            log_ratios: &log_ratios,
            on_policy,
        });
        Ok(())
    }

    /// Policy - behavior log-probability of every token, from a forward pass without gradients.
    fn log_ratios(&self, groups: &[&RolloutGroup], reporter: &dyn Reporter) -> Result<Vec<f64>, EngineError> {
        let sequences: Vec<Sequence> = groups.iter().flat_map(|group| sequences(group)).collect();
        let policy = self.logprobs(&self.actor.decoder, &sequences, reporter)?;
        let behavior = sequences.iter().flat_map(|s| &s.behavior_logprobs);
        Ok(policy.iter().flatten().zip(behavior).map(|(p, b)| f64::from(*p) - f64::from(*b)).collect())
    }

    /// The step's sequences with their credit; those that the objective leaves out are not among them.
    pub(super) fn credited(&self, objective: &dyn Objective, groups: &[StepGroup]) -> StepBatch {
        let mut batch = StepBatch::default();
        for (number, group) in groups.iter().enumerate() {
            match group {
                StepGroup::Given(sequence) => {
                    batch.sequences.push(sequence.clone());
                    batch.solve_rates.push(0.0);
                    batch.origins.push((number, 0));
                }
                StepGroup::Fresh(group) | StepGroup::Stored(group) if !group.rollouts.is_empty() => {
                    let rewards = group.rewards();
                    let ratios = if objective.needs().reference { group.reference_log_ratios() } else { Vec::new() };
                    let credits = objective.credit(&Group { rewards: &rewards, reference_log_ratios: &ratios });
                    let solve_rate = group.solve_rate();
                    for (own, (mut sequence, credit)) in sequences(group).zip(credits).enumerate() {
                        let Some(credit) = credit else { continue };
                        sequence.credit = credit as f32;
                        batch.sequences.push(sequence);
                        batch.solve_rates.push(solve_rate);
                        batch.origins.push((number, own));
                    }
                }
                StepGroup::Fresh(_) | StepGroup::Stored(_) => {}
            }
        }
        batch
    }

    /// Whether rewards are all that tells the objective's completions apart.
    fn learns_from_credit(&self) -> bool {
        let needs = self.objective.needs();
        needs.verifier && needs.teacher.is_none()
    }

    /// Says that no completion of a step earned any credit, and gives up after too many such steps.
    fn count_idle_step(
        &mut self,
        groups: &[StepGroup],
        skipped: bool,
        reporter: &mut dyn Reporter,
    ) -> Result<(), EngineError> {
        self.idle_steps += 1;
        let sampled: Vec<&RolloutGroup> = groups.iter().filter_map(StepGroup::sampled).collect();
        let solve_rates: Vec<f64> = sampled.iter().map(|group| group.solve_rate()).collect();
        let solved = mean(&solve_rates);
        let limit = MAX_IDLE_STEPS.min(self.plan.steps);
        if self.idle_steps >= limit {
            let advice = if solved < 0.5 {
                "easier prompts, a stronger start model, a larger `group_size` or a look at the verifier"
            } else {
                "harder prompts"
            };
            return Err(EngineError::InvalidData {
                code: "no_learning_signal",
                detail: format!(
                    "in the last {limit} steps no completion earned any credit, mostly because all completions of a \
                     prompt got the same reward (solve rate {solved:.2}); try {advice}"
                ),
            });
        }
        let step = self.step + 1;
        let consequence = if skipped { "is skipped" } else { "only follows its penalty" };
        let message = format!("step {step} {consequence}: no completion earned any credit (solve rate {solved:.2})");
        Ok(reporter.event(NewEvent::warning(
            message,
            "step_skipped",
            LogDetail::Idle { step, skipped, solve_rate: solved },
        ))?)
    }

    /// Adds the reference's log-probabilities to sequences that lack them, if they are wanted.
    fn add_reference(&mut self, sequences: &mut [Sequence], reporter: &dyn Reporter) -> Result<(), EngineError> {
        let lacking = |s: &Sequence| !s.behavior_logprobs.is_empty() && s.reference_logprobs.is_empty();
        if !self.wants_reference() || !sequences.iter().any(lacking) {
            return Ok(());
        }
        self.load_reference()?;
        let missing: Vec<Sequence> = sequences.iter().filter(|s| lacking(s)).cloned().collect();
        let logprobs = self.reference_logprobs(&missing, reporter)?;
        for (sequence, logprobs) in sequences.iter_mut().filter(|s| lacking(s)).zip(logprobs) {
            sequence.reference_logprobs = logprobs;
        }
        Ok(())
    }

    /// Forward, backward and update.
    fn learn(&mut self, batch: &StepBatch, reporter: &dyn Reporter) -> Result<(Metrics, Measured), EngineError> {
        let totals = totals(&batch.sequences);
        let normalizer = self.objective.normalizer(&totals);
        let mut gradients = B::Gradients::default();
        let balance = self.balance(&batch.sequences, normalizer);
        let objective = self.objective.as_ref();
        let (loss, measured) = self.gradient(objective, &batch.sequences, balance, &mut gradients, reporter)?;
        let loss = loss / normalizer;
        let rate = learning_rate(&self.job.spec.optimizer, self.step, self.plan.steps);
        self.sum_over_ranks(&mut gradients, self.optimizer.shares())?;
        let norm = self.optimizer.norm(&self.actor.weights, &gradients, 1.0 / normalizer, self.ranks())?;
        self.check_finite(loss, norm)?;
        self.optimizer.step(&self.actor.weights, &gradients, 1.0 / normalizer, norm, rate)?;
        self.optimizer.spread(&self.actor.weights, self.ranks())?;
        self.actor.decoder.measure()?;
        let mut metrics = vec![
            ("loss", loss),
            ("grad/norm", norm),
            ("step/tokens", totals.tokens),
            ("step/sequences", totals.sequences),
        ];
        metrics.extend(measure::masses(&batch.sequences, &batch.solve_rates, &measured.credit));
        let clip = self.objective.clip().map(|clip| (clip, self.objective.ratio()));
        metrics.extend(measure::distances(&batch.sequences, &measured, clip));
        metrics.extend(measure::experts(&measured.spread));
        Ok((metrics, measured))
    }

    /// The factor for a token's balance in one layer, such that the step's loss has `router_aux_loss_coef` times the mean
    /// over its tokens and sparse layers.
    fn balance(&self, sequences: &[Sequence], normalizer: f64) -> f32 {
        let layers = &self.actor.weights.config().architecture.layers;
        let sparse = layers.iter().filter(|layer| layer.is_sparse).count();
        let tokens: usize = sequences.iter().map(Sequence::rows).sum();
        if sparse == 0 || tokens == 0 {
            return 0.0;
        }
        (self.job.spec.train.router_aux_loss_coef * normalizer / (tokens * sparse) as f64) as f32
    }

    /// Shows in the sample of completions what the step that was just taken made of them.
    fn show(&mut self, groups: &[StepGroup], batch: &StepBatch, measured: &Measured) {
        let mut end = 0;
        for (sequence, (group, own)) in batch.sequences.iter().zip(&batch.origins) {
            let tokens = end..end + sequence.targets();
            end = tokens.end;
            let part = |values: &[f32]| values.get(tokens.clone()).unwrap_or_default().to_vec();
            let (credit, policy_logprobs) = (part(&measured.credit), part(&measured.policy_logprobs));
            if let StepGroup::Fresh(group) = &groups[*group] {
                let learned = Learned { step: self.step + 1, credit, policy_logprobs };
                self.sample.learned(group, *own, learned, &sequence.reference_logprobs);
            }
        }
        self.sample.end_step();
    }

    /// Adds up gradients over the ranks: all of them, or for each rank those of its share.
    pub(super) fn sum_over_ranks(
        &self,
        gradients: &mut B::Gradients,
        shares: Option<&Shares>,
    ) -> Result<(), EngineError> {
        if self.ranks().size() == 1 {
            return Ok(());
        }
        let weights = &self.actor.weights;
        weights.backend().sum_over_ranks(weights.parameters(), gradients, shares, self.ranks())
    }

    /// The summed loss of the sequences under `objective`, not divided by anything; the gradient of this rank's part of them
    /// is added to `gradients`, with `balance` times the sum of what tokens have of the balance of their experts in each layer.
    pub(super) fn gradient(
        &self,
        objective: &dyn Objective,
        sequences: &[Sequence],
        balance: f32,
        gradients: &mut B::Gradients,
        reporter: &dyn Reporter,
    ) -> Result<(f64, Measured), EngineError> {
        let learner = Learner {
            decoder: &self.actor.decoder,
            teacher: self.teacher.as_ref(),
            recompute: self.job.spec.train.recompute.is_on(),
            balance,
            dropout: self.dropout(),
        };
        let ranks = self.ranks();
        let mut own = Vec::new();
        for batch in self.own_batches(sequences) {
            reporter.check()?;
            own.push(learner.micro_batch(objective, &batch, gradients)?);
        }
        let (mut sum, mut measured) = (0.0, Measured::default());
        for (loss, part) in ranks.collect(own)? {
            sum += loss;
            measured.extend(part);
        }
        Ok((sum, measured))
    }

    /// What the dropout of the step under way is drawn from.
    fn dropout(&self) -> Option<Stream> {
        let drops = self.job.spec.adapter.as_ref().is_some_and(|adapter| adapter.dropout > 0.0);
        drops.then(|| Stream::new(self.job.actor.seed, Purpose::Dropout, self.step))
    }

    /// The micro-batches of some sequences that are this rank's.
    fn own_batches(&self, sequences: &[Sequence]) -> impl Iterator<Item = MicroBatch> {
        let ranks = self.ranks();
        let rows: usize = sequences.iter().map(|s| s.prompt.len() + s.completion.len()).sum();
        // Enough of them that every rank has one.
        let most = if ranks.size() > 1 { rows.div_ceil(ranks.size()) } else { usize::MAX };
        let all = pack(sequences, self.micro_batch_tokens.min(most)).into_iter().enumerate();
        all.filter(move |(index, _)| ranks.owns(*index)).map(|(_, batch)| batch)
    }

    /// Log-probabilities of every sequence's completion under `decoder`, without gradients.
    pub(super) fn logprobs(
        &self,
        decoder: &Decoder<B>,
        sequences: &[Sequence],
        reporter: &dyn Reporter,
    ) -> Result<Vec<Vec<f32>>, EngineError> {
        let mut own = Vec::new();
        for batch in self.own_batches(sequences) {
            reporter.check()?;
            let hidden = decoder.hidden(batch.packed())?;
            own.push(decoder.logprobs(&hidden, &batch.target_rows, &batch.targets)?.logprobs);
        }
        let mut rest = self.ranks().collect(own)?.into_iter().flatten();
        Ok(sequences.iter().map(|s| rest.by_ref().take(s.targets()).collect()).collect())
    }

    fn check_finite(&self, loss: f64, norm: f64) -> Result<(), EngineError> {
        for (what, value) in [("the loss", loss), ("the gradient", norm)] {
            if !value.is_finite() {
                return Err(EngineError::Diverged { step: self.step + 1, what });
            }
        }
        Ok(())
    }

    /// Statistics of the sampled completions of a step, of which `self.step` counts it already.
    fn group_metrics(&self, groups: &[StepGroup]) -> Metrics {
        let sampled: Vec<&RolloutGroup> = groups.iter().filter_map(StepGroup::sampled).collect();
        if sampled.is_empty() {
            return Vec::new();
        }
        let expected = self.expected();
        let expected: Option<&measure::Expected<'_>> = if self.is_judged() { Some(&expected) } else { None };
        let mut metrics = measure::completions(&sampled, expected, &self.special_tokens);
        if self.job.actor.prompt.thinking == Some(true) {
            metrics.extend(measure::thoughts(&sampled, &self.actor.tokenizer));
        }
        if self.job.actor.sampling.environment.is_some() {
            metrics.extend(measure::turns(&sampled));
        }
        let scored: Vec<_> = sampled.iter().map(|group| group.scored()).collect();
        metrics.extend(self.objective.round_report(self.round.unwrap_or(0), &scored));
        let count = |groups: &mut dyn Iterator<Item = &RolloutGroup>| groups.map(|g| g.rollouts.len()).sum::<usize>();
        let stored = |group: &StepGroup| matches!(group, StepGroup::Stored(_));
        if self.job.stored.is_some() {
            let of_set = count(&mut groups.iter().filter(|g| stored(g)).filter_map(StepGroup::sampled));
            let all = count(&mut sampled.iter().copied()).max(1);
            metrics.push(("rollout/stored_share", of_set as f64 / all as f64));
        }
        let fresh: Vec<&RolloutGroup> = groups.iter().filter(|g| !stored(g)).filter_map(StepGroup::sampled).collect();
        if !fresh.is_empty() {
            if self.is_judged() {
                let asked = fresh.len() * self.plan.group_size as usize;
                let kept = count(&mut fresh.iter().copied());
                metrics.push(("verifier/errors", 1.0 - kept as f64 / asked.max(1) as f64));
            }
            let age: u64 = fresh.iter().map(|group| self.step - 1 - group.step).sum();
            metrics.push(("rollout/staleness", age as f64 / fresh.len() as f64));
        }
        metrics
    }

    /// Adds what the objective has to say to the job's log, each thing once.
    fn say_notes(&mut self, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        for (code, message) in self.objective.notes() {
            if self.said.insert(code) {
                reporter.event(NewEvent::warning(message, code, LogDetail::None {}))?;
            }
        }
        Ok(())
    }
}

/// What a step's loss is divided by.
pub(super) fn totals(sequences: &[Sequence]) -> StepTotals {
    StepTotals { tokens: sequences.iter().map(|s| s.targets() as f64).sum(), sequences: sequences.len() as f64 }
}
