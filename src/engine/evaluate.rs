//! Held-out accuracy: pass@k with 95 % intervals over prompts.

use serde::{Deserialize, Serialize};

use super::actor::Wanted;
use super::error::EngineError;
use super::random::{Purpose, Stream};
use super::report::Reporter;
use super::rollout::RolloutGroup;
use super::sampler::FinishReason;
use super::trainer::Trainer;
use crate::job::Phase;
use crate::objective::math::{PASS_MARK, mean, mean_with_interval, pass_at_k};

/// The result of one evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Optimizer steps the evaluated policy has taken.
    pub step: u64,
    pub prompts: usize,
    /// Completions per prompt.
    pub samples: u32,
    pub pass_at: Vec<PassAtK>,
    /// Mean reward of all completions.
    pub reward_mean: f64,
    /// Mean completion length in tokens.
    pub tokens_mean: f64,
    /// Share of completions cut at the length limit.
    pub truncated: f64,
}

/// The probability that at least one of k completions passes; `mean - half_width..mean + half_width` is its 95 %
/// interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassAtK {
    pub k: u32,
    pub mean: f64,
    pub half_width: f64,
}

impl Evaluation {
    /// A completion passes when its reward is at least 0.5.
    fn of(step: u64, samples: u32, ks: &[u32], groups: &[RolloutGroup]) -> Self {
        let rollouts: Vec<_> = groups.iter().flat_map(|g| &g.rollouts).collect();
        let pass_at = ks
            .iter()
            .map(|k| {
                let estimates: Vec<f64> = groups
                    .iter()
                    .filter(|g| g.rollouts.len() >= *k as usize)
                    .map(|g| {
                        let passed = g.rollouts.iter().filter(|r| r.reward >= PASS_MARK).count();
                        pass_at_k(g.rollouts.len() as u32, passed as u32, *k)
                    })
                    .collect();
                let (mean, half_width) = mean_with_interval(&estimates);
                PassAtK { k: *k, mean, half_width }
            })
            .collect();
        let average =
            |f: &dyn Fn(&super::rollout::Rollout) -> f64| mean(&rollouts.iter().map(|r| f(r)).collect::<Vec<_>>());
        Self {
            step,
            prompts: groups.len(),
            samples,
            pass_at,
            reward_mean: average(&|r| r.reward),
            tokens_mean: average(&|r| r.tokens.len() as f64),
            truncated: average(&|r| f64::from(u8::from(r.finish == FinishReason::Length))),
        }
    }

    /// One sentence for people, for example `pass@1 0.412 ± 0.031, pass@8 0.870 ± 0.040`.
    pub fn summary(&self) -> String {
        let parts: Vec<String> =
            self.pass_at.iter().map(|p| format!("pass@{} {:.3} ± {:.3}", p.k, p.mean, p.half_width)).collect();
        parts.join(", ")
    }
}

impl Trainer<'_> {
    /// Evaluates the current policy on the held-out prompts; `None` without an evaluation set or a verifier.
    pub(super) fn evaluate(&mut self, reporter: &mut dyn Reporter) -> Result<Option<Evaluation>, EngineError> {
        let job = self.job;
        let spec = &job.spec.eval;
        let Some(dataset) = job.eval.as_ref().filter(|_| job.actor.verifier.is_some()) else {
            return Ok(None);
        };
        reporter.phase(Phase::Evaluating, self.step)?;
        let rows: Vec<(u64, usize)> = (0..dataset.len().min(spec.prompts as usize)).map(|i| (i as u64, i)).collect();
        let mut sampling = job.spec.sampling.clone();
        sampling.temperature = spec.temperature.unwrap_or(sampling.temperature);
        let wanted = Wanted {
            dataset,
            rows: &rows,
            samples: spec.samples,
            sampling: &sampling,
            stream: Stream::new(job.spec.seed, Purpose::Evaluation, self.step),
            step: self.step,
            phase: Phase::Evaluating,
        };
        let groups = self.actor.roll_out(&wanted, reporter)?;
        Ok(Some(Evaluation::of(self.step, spec.samples, &spec.pass_at, &groups)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::rollout::tests::group;

    #[test]
    fn pass_at_one_is_the_mean_reward_of_binary_rewards() {
        let groups = [group(&[1.0, 0.0, 0.0, 0.0]), group(&[1.0, 1.0, 1.0, 0.0])];
        let evaluation = Evaluation::of(3, 4, &[1, 4], &groups);
        assert!((evaluation.pass_at[0].mean - 0.5).abs() < 1e-12);
        assert!((evaluation.reward_mean - 0.5).abs() < 1e-12);
        assert_eq!(evaluation.pass_at[1].mean, 1.0);
    }
}
