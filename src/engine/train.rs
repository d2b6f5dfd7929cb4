//! The training loop, as the algorithm box has it:
//!
//! ```text
//! load; evaluate
//! for each round:
//!     sample completions; score them; weigh them          (sft: take the data set's completions)
//!     for each optimizer step of the round: train on its share; now and then evaluate, save
//! evaluate; export the model
//! ```
//!
//! A run can be interrupted anywhere and goes on from its last training checkpoint to bit-identical weights on the
//! same machine: every random choice is a function of the seed and of counters that the checkpoint holds.

use serde_json::json;

use super::batch::Sequence;
use super::checkpoint::Saved;
use super::error::{EngineError, Stop};
use super::evaluate::Evaluation;
use super::random::{Purpose, Stream};
use super::report::Reporter;
use super::rollout::RolloutGroup;
use super::sampler::FinishReason;
use super::trainer::{Job, Metrics, Trainer};
use crate::job::{EventKind, NewEvent, Phase};
use crate::objective::Group;
use crate::objective::math::{mean, population_std};

/// What a finished job has to show.
#[derive(Debug)]
pub struct Outcome {
    /// Before the first step, if it was asked for, and after the last one.
    pub before: Option<Evaluation>,
    pub after: Option<Evaluation>,
    /// The finished model.
    pub model: Saved,
}

/// Runs a job to its end. When it is told to drain, the training state is saved first.
pub fn run(job: &Job, reporter: &mut dyn Reporter) -> Result<Outcome, EngineError> {
    reporter.phase(Phase::Loading, 0)?;
    let mut trainer = Trainer::load(job)?;
    trainer.check_prompts(reporter)?;
    trainer.resume(reporter)?;
    let result = trainer.run(reporter);
    if matches!(result, Err(EngineError::Stopped(Stop::Drain))) {
        let saved = trainer.save()?;
        reporter.checkpoint(&saved)?;
    }
    result
}

impl Trainer<'_> {
    /// Takes over the newest intact checkpoint; a broken one is reported and passed over.
    fn resume(&mut self, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        for directory in &self.job.resume {
            match self.restore(directory) {
                Ok(()) => {
                    let message = format!("goes on from step {} of {}", self.step, self.job.spec.train.steps);
                    return Ok(reporter.event(NewEvent::info(EventKind::Log, message, json!({"step": self.step})))?);
                }
                Err(error) => {
                    let message = format!(
                        "a checkpoint cannot be used: {error}; the one before it is tried, or else the job starts anew"
                    );
                    reporter.event(NewEvent::warning(message, json!({"code": error.failure().code})))?;
                }
            }
        }
        Ok(())
    }

    fn run(&mut self, reporter: &mut dyn Reporter) -> Result<Outcome, EngineError> {
        let steps = self.job.spec.train.steps;
        if self.job.eval.is_some() && self.job.verifier.is_none() {
            let message = "there is an evaluation set but no verifier, so nothing is evaluated; add a `verifier`";
            reporter.event(NewEvent::warning(message, json!({"code": "not_evaluated"})))?;
        }
        if self.step == 0 && self.evaluations.is_empty() && self.job.spec.eval.before {
            self.evaluate_and_report(reporter)?;
        }
        for round in 0..self.plan.rounds {
            let range = self.plan.steps_of(round, steps);
            if self.step >= range.end {
                continue;
            }
            if self.rollouts.is_empty() && !self.objective.needs().completions {
                self.begin_round(round, reporter)?;
            }
            reporter.phase(Phase::Training, self.step)?;
            while self.step < range.end {
                let groups = self.groups_of_step(round, self.step)?;
                let sequences: Vec<Sequence> = groups.iter().flat_map(StepGroup::sequences).collect();
                let of_groups = self.group_metrics(&groups);
                let mut metrics = self.train_step(&sequences, reporter)?;
                metrics.extend(of_groups);
                if self.step == range.end {
                    self.rollouts.clear();
                }
                self.report_step(metrics, reporter)?;
                self.between_steps(reporter)?;
            }
        }
        let asked_before = self.job.spec.eval.before;
        if self.evaluations.last().is_none_or(|e| e.step != steps) {
            self.evaluate_and_report(reporter)?;
        }
        reporter.phase(Phase::Exporting, self.step)?;
        let model = self.export()?;
        reporter.checkpoint(&model)?;
        Ok(Outcome {
            before: self.evaluations.first().filter(|e| asked_before && e.step == 0).cloned(),
            after: self.evaluations.last().filter(|e| e.step == steps).cloned(),
            model,
        })
    }

    /// Evaluation and checkpoint after a step, where they are due.
    fn between_steps(&mut self, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        let due = |every: u64| every > 0 && self.step.is_multiple_of(every);
        let last = self.step == self.job.spec.train.steps;
        let (evaluate, save) = (due(self.job.spec.eval.every_steps), due(self.job.spec.checkpoints.every_steps));
        if evaluate && !last {
            self.evaluate_and_report(reporter)?;
        }
        if save || last {
            self.save_and_report(reporter)?;
        }
        if (evaluate || save) && !last {
            reporter.phase(Phase::Training, self.step)?;
        }
        Ok(())
    }

    /// Samples, scores and weighs the completions of a round.
    fn begin_round(&mut self, round: u64, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        let job = self.job;
        let (steps, train) = (job.spec.train.steps, &job.spec.train);
        let prompts_of = |round| {
            let range = self.plan.steps_of(round, steps);
            self.plan.prompts_for(range.end - range.start, train)
        };
        let first: u64 = (0..round).map(prompts_of).sum();
        let visits: Vec<u64> = (first..first + prompts_of(round)).collect();
        let rows = self.rows_of_visits(&visits);
        reporter.phase(Phase::Sampling, self.step)?;
        let mut groups = self.roll_out(&job.train, &rows, self.plan.group_size, Purpose::Rollout, reporter)?;
        let ratios = if self.objective.needs().reference && round > 0 {
            self.reference_log_ratios(&groups, reporter)?
        } else {
            vec![Vec::new(); groups.len()]
        };
        groups.iter_mut().zip(&ratios).for_each(|(group, ratios)| {
            let rewards = group.rewards();
            if !rewards.is_empty() {
                group.credits = self.objective.credit(&Group { rewards: &rewards, reference_log_ratios: ratios });
            }
        });
        self.report_round(round, &groups, reporter)?;
        self.rollouts = groups;
        if self.plan.steps_of(round, steps).count() > 1 {
            // Sampling is the dear part of a round; a lost worker shall not cost it twice.
            self.save_and_report(reporter)?;
        }
        Ok(())
    }

    fn report_round(
        &self,
        round: u64,
        groups: &[RolloutGroup],
        reporter: &mut dyn Reporter,
    ) -> Result<(), EngineError> {
        let scored: Vec<_> = groups.iter().map(RolloutGroup::scored).collect();
        let rewards: Vec<f64> = groups.iter().flat_map(RolloutGroup::rewards).collect();
        let report: serde_json::Map<_, _> = self
            .objective
            .round_report(&scored)
            .into_iter()
            .chain([("reward/mean", mean(&rewards))])
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        let message = format!(
            "round {} of {}: {} completions for {} prompts, mean reward {:.3}",
            round + 1,
            self.plan.rounds,
            rewards.len(),
            groups.len(),
            mean(&rewards)
        );
        let data = json!({"round": round + 1, "report": report});
        Ok(reporter.event(NewEvent::info(EventKind::Log, message, data))?)
    }

    /// What step `step` trains on. Rollouts of a round are gone through in a new random order on every pass; rows of
    /// a data set likewise.
    fn groups_of_step(&self, round: u64, step: u64) -> Result<Vec<StepGroup<'_>>, EngineError> {
        let per_step = u64::from(self.job.spec.train.prompts_per_step);
        if self.objective.needs().completions {
            let visits: Vec<u64> = (step * per_step..(step + 1) * per_step).collect();
            let rows = self.rows_of_visits(&visits);
            return rows.iter().map(|(_, row)| Ok(StepGroup::Given(self.given_sequence(*row)?))).collect();
        }
        let count = self.rollouts.len() as u64;
        let begin = (step - self.plan.steps_of(round, self.job.spec.train.steps).start) * per_step;
        let passes = u64::from(self.job.spec.train.updates_per_rollout);
        let mut groups = Vec::new();
        let mut order = (u64::MAX, Vec::new());
        for visit in (begin..begin + per_step).take_while(|visit| *visit < count * passes) {
            let pass = visit / count;
            if order.0 != pass {
                let stream = Stream::new(self.job.spec.seed, Purpose::BatchOrder, round << 16 | pass);
                order = (pass, stream.permutation(self.rollouts.len()));
            }
            groups.push(StepGroup::Sampled(&self.rollouts[order.1[(visit % count) as usize]]));
        }
        Ok(groups)
    }

    /// The rows of the given visits, counted over the whole job; every epoch has an order of its own.
    fn rows_of_visits(&self, visits: &[u64]) -> Vec<(u64, usize)> {
        let count = self.job.train.len() as u64;
        let mut order = (u64::MAX, Vec::new());
        visits
            .iter()
            .map(|visit| {
                let epoch = visit / count;
                if order.0 != epoch {
                    let stream = Stream::new(self.job.spec.seed, Purpose::PromptOrder, epoch);
                    order = (epoch, stream.permutation(count as usize));
                }
                (*visit, order.1[(visit % count) as usize])
            })
            .collect()
    }

    /// A row's own completion, ended as the model ends its completions.
    fn given_sequence(&self, index: usize) -> Result<Sequence, EngineError> {
        let row = self.job.train.row(index)?;
        let Some(text) = &row.completion else {
            return Err(EngineError::InvalidData {
                code: "row_missing_column",
                detail: format!("row {} has no completion, which `sft` learns from", index + 1),
            });
        };
        let prompt = self.prompt(index, &row)?;
        let mut completion = self.tokenizer.encode(text)?;
        completion.extend(self.weights.config().eos_token_ids.first());
        completion.truncate(self.weights.config().max_position_embeddings - prompt.tokens.len());
        Ok(Sequence { prompt: prompt.tokens, completion, credit: 1.0, behavior_logprobs: Vec::new() })
    }

    /// Renders a first sample of the prompts before anything is spent on them.
    fn check_prompts(&self, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        const CHECKED: usize = 10_000;
        for dataset in [Some(&self.job.train), self.job.eval.as_ref()].into_iter().flatten() {
            for index in 0..dataset.len().min(CHECKED) {
                reporter.check()?;
                self.prompt(index, &dataset.row(index)?)?;
            }
        }
        Ok(())
    }

    fn group_metrics(&self, groups: &[StepGroup<'_>]) -> Metrics {
        let sampled: Vec<&RolloutGroup> = groups
            .iter()
            .filter_map(|group| match group {
                StepGroup::Sampled(group) => Some(*group),
                StepGroup::Given(_) => None,
            })
            .collect();
        let rollouts: Vec<_> = sampled.iter().flat_map(|g| &g.rollouts).collect();
        if rollouts.is_empty() {
            return Vec::new();
        }
        let scored: Vec<_> = sampled.iter().map(|g| g.scored()).collect();
        let rewards: Vec<f64> = rollouts.iter().map(|r| r.reward).collect();
        let lengths: Vec<f64> = rollouts.iter().map(|r| r.tokens.len() as f64).collect();
        let cut = rollouts.iter().filter(|r| r.finish == FinishReason::Length).count();
        let passed = rewards.iter().filter(|r| **r >= 0.5).count();
        let mut metrics = vec![
            ("reward/mean", mean(&rewards)),
            ("reward/std", population_std(&rewards)),
            ("reward/solve_rate", passed as f64 / rewards.len() as f64),
            ("completion/tokens_mean", mean(&lengths)),
            ("completion/truncated", cut as f64 / rollouts.len() as f64),
            ("entropy/mean", rollouts.iter().map(|r| r.entropy_sum).sum::<f64>() / lengths.iter().sum::<f64>()),
        ];
        metrics.extend(self.objective.round_report(&scored));
        metrics
    }

    fn report_step(&self, metrics: Metrics, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        let value = |name: &str| metrics.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
        let mut message = format!("step {} of {}", self.step, self.job.spec.train.steps);
        for (name, label) in [("loss", "loss"), ("reward/mean", "reward"), ("ess/ratio", "ess")] {
            if let Some(value) = value(name) {
                message.push_str(&format!(", {label} {value:.4}"));
            }
        }
        let values: serde_json::Map<_, _> =
            metrics.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let data = json!({"step": self.step, "values": values});
        Ok(reporter.event(NewEvent::info(EventKind::Metrics, message, data))?)
    }

    fn evaluate_and_report(&mut self, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        if let Some(evaluation) = self.evaluate(reporter)? {
            let message = format!("after {} steps: {}", self.step, evaluation.summary());
            let data = json!(evaluation);
            reporter.event(NewEvent::info(EventKind::Evaluation, message, data))?;
            self.evaluations.push(evaluation);
        }
        Ok(())
    }

    fn save_and_report(&mut self, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        reporter.phase(Phase::Checkpointing, self.step)?;
        let saved = self.save()?;
        Ok(reporter.checkpoint(&saved)?)
    }
}

/// What one prompt contributes to a step.
enum StepGroup<'a> {
    Sampled(&'a RolloutGroup),
    Given(Sequence),
}

impl StepGroup<'_> {
    fn sequences(&self) -> Vec<Sequence> {
        match self {
            Self::Sampled(group) => group.sequences(),
            Self::Given(sequence) => vec![sequence.clone()],
        }
    }
}
