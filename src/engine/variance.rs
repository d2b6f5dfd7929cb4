//! How much a gradient estimate varies: the same prompts are sampled several times, and the gradients of several
//! estimators are compared on the same completions.

use std::sync::Arc;

use super::actor::RolloutRequest;
use super::backend::Backend;
use super::error::EngineError;
use super::fresh::numbered;
use super::gradients::GradientMoments;
use super::random::{Purpose, Stream};
use super::report::Reporter;
use super::step::{StepGroup, totals};
use super::trainer::Trainer;
use crate::job::event::{GradientVariance, LogDetail};
use crate::job::{NewEvent, Phase};
use crate::objective::VarianceProbe;

impl<B: Backend> Trainer<'_, B> {
    /// Where it is due, compares the estimators that the objective proposes on the prompts of the first step, and tells the
    /// log.
    pub(super) fn probe_variance(&mut self, reporter: &mut dyn Reporter) -> Result<(), EngineError> {
        let job = self.job;
        let probe = job.spec.objective.variance_probe(&job.spec.train);
        let Some(VarianceProbe { repeats, every, variants }) = probe else { return Ok(()) };
        if self.step > 0 && (every == 0 || !self.step.is_multiple_of(every)) {
            return Ok(());
        }
        let of_round = self.plan.prompts_before(1, &job.spec.train, &job.spec.rollouts);
        let rows = &numbered(&job.train, self.rows.first(of_round.min(job.spec.train.prompts_per_step.into())));
        let mut moments: Vec<GradientMoments> = variants.iter().map(|_| GradientMoments::default()).collect();
        for repeat in 0..repeats {
            reporter.phase(Phase::Sampling, self.step)?;
            let request = RolloutRequest {
                dataset: &job.train,
                rows,
                samples: self.plan.group_size,
                sampling: &job.actor.sampling,
                stream: Stream::new(job.actor.seed, Purpose::Probe, self.step << 8 | u64::from(repeat)),
                step: self.step,
                phase: Phase::Sampling,
            };
            let (mut groups, _) = self.actor.roll_out(&request, reporter)?;
            job.replace_rewards(groups.iter_mut(), u64::from(repeat));
            let groups: Vec<_> = groups.into_iter().map(|group| StepGroup::Fresh(Arc::new(group))).collect();
            for ((_, objective), moments) in variants.iter().zip(&mut moments) {
                let all = self.credited(objective.as_ref(), &groups).sequences;
                let mut gradient = B::Gradients::default();
                self.gradient(objective.as_ref(), &all, 0.0, &mut gradient, reporter)?;
                self.sum_over_ranks(&mut gradient, None)?;
                let numbers = self.actor.weights.backend().gradient_numbers(&gradient)?;
                moments.add(&numbers, 1.0 / objective.normalizer(&totals(&all)));
            }
        }
        let gradient_variance = variants
            .iter()
            .zip(&moments)
            .map(|((name, _), m)| (*name, GradientVariance { variance: m.variance(), mean_norm: m.mean_norm() }))
            .collect();
        let message = variants
            .iter()
            .zip(&moments)
            .map(|((name, _), m)| format!("{name} {:.4}", m.variance()))
            .collect::<Vec<_>>()
            .join(", ");
        let (step, prompts) = (self.step, rows.len() as u64);
        let message = format!("after {step} steps, gradient variance over {repeats} repeats by baseline: {message}");
        let detail = LogDetail::GradientVariance { step, repeats, prompts, gradient_variance };
        Ok(reporter.event(NewEvent::log(message, detail))?)
    }
}
