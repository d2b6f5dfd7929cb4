//! The training loop, readable as the algorithm:
//!
//! ```text
//! load; evaluate
//! for each round:
//!     sample completions; score them                      (sft: take the data set's completions)
//!     for each optimizer step of the round: train on its share; now and then evaluate, save
//! evaluate; export the model
//! ```
//!
//! A run can be interrupted anywhere and goes on from its last training checkpoint to bit-identical weights on the
//! same machine: every random choice is a function of the seed and of counters that the checkpoint holds.

use std::sync::Arc;
use std::thread;

use serde_json::{Map, Value};

use super::artifact::{Saved, Saving};
use super::backend::Backend;
use super::beside::Beside;
use super::device::on_device;
use super::error::{EngineError, Stop};
use super::evaluate::sentence;
use super::measure;
use super::report::{Later, Reporter};
use super::rollout_set;
use super::step::StepGroup;
use super::trainer::{Metrics, Trainer};
use super::training_job::Job;
use crate::dataset::Dataset;
use crate::dataset::leakage::leakage;
use crate::job::event::{EvaluationFound, LogDetail, StepMetrics};
use crate::job::metric::metric;
use crate::job::{EventBody, NewEvent, Phase, PolicyEvaluation};
use crate::objective;

/// Training rows among which held-out prompts are looked for before the first step: less than a second's work.
const LEAKAGE_ROWS: usize = 200_000;

/// What a finished job has to show.
#[derive(Debug)]
pub struct Outcome {
    /// Before the first step, if it was asked for, and after the last one.
    pub before: Option<PolicyEvaluation>,
    pub after: Option<PolicyEvaluation>,
    /// What else the result says: `frontier` of the first completions, `gaps` after the last round.
    pub report: Map<String, Value>,
    /// The finished model.
    pub model: Saved,
}

/// Runs a job to its end; only the first of several ranks has something to show. When it is told to drain, the training
/// state is saved first.
pub fn run(job: &Job, reporter: &mut dyn Reporter) -> Result<Option<Outcome>, EngineError> {
    on_device!(&job.actor.device, job.actor.precision, |backend| run_on(&backend, job, reporter))
}

fn run_on<B: Backend>(
    backend: &Arc<B>,
    job: &Job,
    reporter: &mut dyn Reporter,
) -> Result<Option<Outcome>, EngineError> {
    backend.forget_peak();
    reporter.phase(Phase::Loading, 0)?;
    let mut trainer = Trainer::load(job, backend, reporter)?;
    for dataset in [Some(&job.train), job.eval.as_ref()].into_iter().flatten() {
        trainer.actor.check_prompts(dataset, reporter)?;
    }
    trainer.resume(reporter)?;
    trainer.check_ranks()?;
    if job.resume.is_empty() {
        for warning in objective::warnings(&job.spec.objective, &job.sections(), None) {
            let detail = LogDetail::Spec { pointer: warning.pointer.clone() };
            reporter.event(NewEvent::warning(warning.to_string(), warning.code, detail))?;
        }
        warn_of_leakage(job, reporter)?;
    }
    // What samples beside ends with the trainer, and is waited for.
    thread::scope(move |scope| {
        let mut trainer = trainer;
        if Trainer::<B>::samples_beside(job) {
            trainer.beside = Some(Beside::start(scope, trainer.actor.another()?)?);
        }
        run_through(&mut trainer, reporter)
    })
}

/// Runs a loaded job to its end, or to where it can go on from.
fn run_through<B: Backend>(
    trainer: &mut Trainer<'_, B>,
    reporter: &mut dyn Reporter,
) -> Result<Option<Outcome>, EngineError> {
    let mut publishing = Publishing { reporter, saving: trainer.saving.clone() };
    let result = if trainer.optimizer.is_sharded() {
        // They have the state only together: it is not amid a step that they stop to save it.
        trainer.run(&mut Later(&mut publishing))
    } else {
        trainer.run(&mut publishing)
    };
    trainer.sample.flush();
    match &result {
        Err(EngineError::Stopped(Stop::Drain)) => trainer.save_for_later(reporter)?,
        Err(EngineError::Stopped(Stop::LeaseLost)) => trainer.saving.give_up(),
        // However the job ends, it can go on from what it has saved.
        Err(_) => {
            if let Err(error) = trainer.report_saved(reporter) {
                tracing::warn!(%error, "the last checkpoint is lost");
            }
        }
        Ok(_) => {}
    }
    result
}

/// A reporter that makes a checkpoint visible with the first event after it has reached the disk.
struct Publishing<'a> {
    reporter: &'a mut dyn Reporter,
    saving: Saving,
}

impl Reporter for Publishing<'_> {
    fn event(&mut self, event: NewEvent) -> Result<(), Stop> {
        self.reporter.event(event)?;
        self.saving.arrived().map_or(Ok(()), |saved| self.reporter.artifact(&saved))
    }

    fn artifact(&mut self, saved: &Saved) -> Result<(), Stop> {
        self.reporter.artifact(saved)
    }

    fn should_stop(&self) -> Option<Stop> {
        self.reporter.should_stop()
    }

    fn is_to_rest(&self) -> bool {
        self.reporter.is_to_rest()
    }
}

/// Says so when held-out prompts are trained on.
fn warn_of_leakage(job: &Job, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
    // Built-ins are split so that they do not leak.
    let Some(eval) = job.eval.as_ref().filter(|eval| !matches!(eval, Dataset::Arithmetic(_) | Dataset::Task(_))) else {
        return Ok(());
    };
    let most = (LEAKAGE_ROWS, job.spec.eval.prompts as usize);
    let found = leakage(&job.train, eval, most, || reporter.check().is_ok())?;
    reporter.check()?;
    if let Some(warning) = found.warning() {
        let detail = LogDetail::Spec { pointer: String::from("/dataset/eval") };
        reporter.event(NewEvent::warning(warning, "eval_prompts_in_train", detail))?;
    }
    Ok(())
}

impl<B: Backend> Trainer<'_, B> {
    /// Takes over the newest intact checkpoint; a broken one is reported and passed over.
    fn resume(&mut self, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        for directory in &self.job.resume {
            match self.stored(directory) {
                Ok(stored) => {
                    self.restore(stored)?;
                    let message = format!("goes on from step {} of {}", self.step, self.plan.steps);
                    return Ok(reporter.event(NewEvent::log(message, LogDetail::Resumed { step: self.step }))?);
                }
                // Not the checkpoint's fault.
                Err(error @ EngineError::Device(_)) => return Err(error),
                Err(error) => {
                    let message = format!(
                        "a checkpoint cannot be used: {error}; the one before it is tried, or else the job starts anew"
                    );
                    reporter.event(NewEvent::warning(message, error.failure().code, LogDetail::None {}))?;
                }
            }
        }
        if self.job.must_resume {
            let detail = String::from("no intact checkpoint is left that the job could begin from");
            return Err(EngineError::InvalidData { code: "checkpoint_corrupt", detail });
        }
        Ok(())
    }

    /// All ranks must have begun from the same checkpoint.
    fn check_ranks(&self) -> Result<(), EngineError> {
        let ahead: Vec<usize> = self.ahead.iter().map(Vec::len).collect();
        let all = self.ranks().gather_values((self.step, self.rollouts.len(), ahead))?;
        if all.iter().all(|other| *other == all[0]) {
            return Ok(());
        }
        Err(EngineError::Internal(format!("the ranks began from other checkpoints: {all:?}")))
    }

    fn run(&mut self, reporter: &mut dyn Reporter) -> Result<Option<Outcome>, EngineError> {
        if self.job.eval.is_some() && self.job.actor.verifier.is_none() {
            let message = "there is an evaluation set but no verifier, so nothing is evaluated; add a `verifier`";
            reporter.event(NewEvent::warning(message, "not_evaluated", LogDetail::None {}))?;
        }
        let begins = self.step == 0 && self.rollouts.is_empty();
        if begins && self.evaluations.is_empty() && self.job.spec.eval.before {
            self.evaluate_and_report(reporter)?;
        }
        if begins {
            self.probe_variance(reporter)?;
            if self.job.spec.rollouts.from.is_some() {
                let stored = self.stored.clone();
                self.report_round(0, &stored, reporter)?;
                self.held_out = self.fresh(0).sample_held_out(&mut self.actor, reporter)?;
            }
        }
        for round in 0..self.plan.rounds {
            let range = self.plan.steps_of(round);
            if self.step >= range.end {
                if self.step == range.end && self.is_unfinished(round) {
                    self.end_round(round, reporter)?;
                }
                continue;
            }
            self.make_up_evaluation(reporter)?;
            if self.rollouts.is_empty() && self.samples() {
                self.begin_round(round, reporter)?;
            } else if self.ranks().is_first() {
                self.sample.begin(round, &self.rollouts);
            }
            if self.step == range.start && self.samples() {
                self.sample_ahead(round, reporter)?;
            }
            reporter.phase(Phase::Training, self.step)?;
            while self.step < range.end {
                self.agree_to_go_on(reporter)?;
                let groups = self.groups_of_step(round)?;
                let mut metrics = self.train_step(&groups, reporter)?;
                if self.step == range.end || self.is_due(self.job.spec.checkpoints.every_steps) {
                    self.settle(reporter)?;
                }
                metrics.extend(std::mem::take(&mut self.sampled));
                metrics.extend(self.head_geometry()?.map(|share| ("geometry/head_first_share", share)));
                let parts = measure::parts(groups.iter().filter_map(StepGroup::sampled), &self.parts);
                self.report_step(metrics, &parts, reporter)?;
                if self.step == range.end {
                    self.end_round(round, reporter)?;
                }
                if self.saving.has_failed() {
                    self.report_saved(reporter)?;
                }
                self.between_steps(reporter)?;
                if self.step < self.plan.steps {
                    self.probe_variance(reporter)?;
                }
            }
        }
        self.finish(reporter)
    }

    /// Evaluates, exports and publishes what is left when all steps are taken.
    fn finish(&mut self, reporter: &mut dyn Reporter) -> Result<Option<Outcome>, EngineError> {
        let steps = self.plan.steps;
        let asked_before = self.job.spec.eval.before;
        if self.evaluations.last().is_none_or(|e| e.step != steps) {
            self.evaluate_and_report(reporter)?;
        }
        let model = self.actor.weights.wholly(self.ranks(), || self.publish(reporter))?;
        Ok(model.map(|model| Outcome {
            before: self.evaluations.first().filter(|e| asked_before && e.step == 0).cloned(),
            after: self.evaluations.last().filter(|e| e.step == steps).cloned(),
            report: self.report.clone(),
            model,
        }))
    }

    /// Writes and publishes what the job leaves, if this rank does that, and says which model it is.
    fn publish(&self, reporter: &mut dyn Reporter) -> Result<Option<Saved>, EngineError> {
        if !self.ranks().is_first() {
            return Ok(None);
        }
        reporter.phase(Phase::Exporting, self.step)?;
        self.report_saved(reporter)?;
        if self.keeps() {
            let set = rollout_set::publish(&self.job.actor, self.plan.rounds, self.step)?;
            reporter.artifact(&set)?;
        }
        let model = self.export()?;
        reporter.artifact(&model)?;
        Ok(Some(model))
    }

    /// Whether the last step of a round was taken, but its end was interrupted.
    fn is_unfinished(&self, round: u64) -> bool {
        let left = match self.round {
            Some(own) => own == round && !self.rollouts.is_empty(),
            // Of before checkpoints said so; rounds were not sampled ahead.
            None => self.rollouts.first().is_some_and(|group| group.step < self.step),
        };
        let last = round + 1 == self.plan.rounds;
        left || (last && self.job.spec.objective.target_beta(round).is_some() && !self.report.contains_key("gaps"))
    }

    /// Whether the job samples what it trains on.
    fn samples(&self) -> bool {
        !self.objective.needs().completions && self.job.spec.rollouts.from.is_none()
    }

    /// Whether what is sampled for training becomes a rollout set.
    pub(super) fn keeps(&self) -> bool {
        self.samples() && self.job.spec.rollouts.keep
    }

    /// The evaluation after the last step, if the job was to rest within it: its checkpoint is that of the step without it.
    fn make_up_evaluation(&mut self, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        let was_due = self.step > 0 && self.is_due(self.job.spec.eval.every_steps);
        if was_due && self.evaluations.last().is_none_or(|last| last.step != self.step) {
            self.evaluate_and_report(reporter)?;
        }
        Ok(())
    }

    /// Evaluation and checkpoint after a step, where they are due.
    fn between_steps(&mut self, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        let last = self.step == self.plan.steps;
        let (evaluate, save) =
            (self.is_due(self.job.spec.eval.every_steps), self.is_due(self.job.spec.checkpoints.every_steps));
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

    /// Reports a step; `parts` are the metrics of the verifier's parts.
    fn report_step(
        &self,
        metrics: Metrics,
        parts: &[(String, f64)],
        reporter: &mut dyn Reporter,
    ) -> Result<(), EngineError> {
        debug_assert!(metrics.iter().all(|(name, _)| metric(name).is_some()), "a metric is not in the catalogue");
        let value = |name: &str| metrics.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
        let mut message = format!("step {} of {}", self.step, self.job.spec.train.steps);
        for (name, label) in [("loss", "loss"), ("reward/mean", "reward"), ("pass/at_group", "pass@group")] {
            if let Some(value) = value(name) {
                message.push_str(&format!(", {label} {value:.4}"));
            }
        }
        let all = metrics.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(parts.iter().cloned());
        let body = EventBody::Metrics(StepMetrics { step: self.step, values: all.collect() });
        Ok(reporter.event(NewEvent::info(message, body))?)
    }

    fn evaluate_and_report(&mut self, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        if let Some(evaluation) = self.evaluate(reporter)? {
            let message = format!("after {} steps: {}", self.step, sentence(&evaluation.pass_at));
            let body = EventBody::Evaluation(EvaluationFound::Policy(evaluation.clone()));
            reporter.event(NewEvent::info(message, body))?;
            self.evaluations.push(evaluation);
        }
        Ok(())
    }

    pub(super) fn save_and_report(&mut self, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        if !self.ranks().is_first() {
            return if self.optimizer.is_sharded() { self.send_state() } else { Ok(()) };
        }
        reporter.phase(Phase::Checkpointing, self.step)?;
        // One is on its way at a time.
        self.report_saved(reporter)?;
        self.saving.begin(self.draft()?)
    }

    /// Waits for the checkpoint that is on its way to the disk, if one is, and makes it visible.
    fn report_saved(&self, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        if let Some(saved) = self.saving.end()? {
            reporter.artifact(&saved)?;
        }
        Ok(())
    }

    /// Saves a job that is to go on elsewhere or later, with what is on its way.
    fn save_for_later(&mut self, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        let is_saved = self.saving.directory() == Some(self.checkpoint_directory());
        // The ranks that have the state only together must know whether the first one wants their parts.
        let is_saved = if self.optimizer.is_sharded() { self.ranks().first_says(is_saved)? } else { is_saved };
        if !self.ranks().is_first() {
            return if self.optimizer.is_sharded() && !is_saved { self.send_state() } else { Ok(()) };
        }
        if !is_saved && self.beside.as_ref().is_some_and(Beside::is_at_work) {
            // There may be too little time to wait for it.
            self.report_saved(reporter)?;
            self.settle(reporter)?;
        }
        reporter.phase(Phase::Checkpointing, self.step)?;
        let draft = if is_saved { None } else { Some(self.draft()?) };
        self.report_saved(reporter)?;
        match draft {
            Some(draft) => Ok(reporter.artifact(&draft.seal()?)?),
            None => Ok(()),
        }
    }

    /// Of ranks that have the state only together: whether they are to save it and to stop here, as rank 0 was told.
    pub(super) fn agree_to_go_on(&self, reporter: &dyn Reporter) -> Result<(), EngineError> {
        if !self.optimizer.is_sharded() {
            return Ok(());
        }
        if self.ranks().first_says(reporter.is_to_rest())? { Err(EngineError::Stopped(Stop::Drain)) } else { Ok(()) }
    }
}
