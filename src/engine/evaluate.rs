//! Held-out accuracy: pass@k with 95 % intervals over prompts ([`rate_interval`]).

use super::actor::RolloutRequest;
use super::backend::Backend;
use super::error::EngineError;
use super::random::{Purpose, Stream};
use super::report::Reporter;
use super::rollout::RolloutGroup;
use super::sampler::FinishReason;
use super::trainer::Trainer;
use crate::job::evaluation::PASSED_KEPT;
use crate::job::{PassAtK, Phase, PolicyEvaluation};
use crate::objective::math::{RateInterval, mean, pass_at, rate_interval};

/// maj@k, with its interval over prompts, and the distinct answers as a share of completions, from each prompt's votes and
/// completions; none where no prompt has an answer. A prompt without one has no majority that passes.
pub(super) fn votes(samples: u32, prompts: &[(Option<(f64, u32)>, u32)]) -> (Option<PassAtK>, Option<f64>) {
    if prompts.iter().all(|(votes, _)| votes.is_none()) {
        return (None, None);
    }
    let chances: Vec<f64> = prompts.iter().map(|(votes, _)| votes.map_or(0.0, |(majority, _)| majority)).collect();
    let RateInterval { mean, low, high } = rate_interval(&chances);
    let answers: u32 = prompts.iter().map(|(votes, _)| votes.map_or(0, |(_, distinct)| distinct)).sum();
    let completions: u32 = prompts.iter().map(|(_, completions)| completions).sum();
    let distinct = f64::from(answers) / f64::from(completions.max(1));
    (Some(PassAtK::new(samples, mean, low, high)), Some(distinct))
}

/// One sentence for people, for example `pass@1 0.412 ± 0.031, pass@8 0.870 ± 0.040`.
pub(super) fn sentence(pass_at: &[PassAtK]) -> String {
    let parts: Vec<String> =
        pass_at.iter().map(|p| format!("pass@{} {:.3} ± {:.3}", p.k, p.mean, p.half_width)).collect();
    parts.join(", ")
}

/// What a policy's completions say of it. A completion passes when its reward is at least 0.5.
fn measure(step: u64, samples: u32, ks: &[u32], groups: &[RolloutGroup]) -> PolicyEvaluation {
    let rollouts: Vec<_> = groups.iter().flat_map(|g| &g.rollouts).collect();
    let counts: Vec<(u32, u32)> = groups.iter().map(|g| (g.rollouts.len() as u32, g.passed())).collect();
    let average =
        |f: &dyn Fn(&super::rollout::Rollout) -> f64| mean(&rollouts.iter().map(|r| f(r)).collect::<Vec<_>>());
    let votes_of: Vec<_> = groups.iter().map(|group| (group.votes(), group.rollouts.len() as u32)).collect();
    let (majority, distinct_answers) = votes(samples, &votes_of);
    PolicyEvaluation {
        step,
        prompts: groups.len() as u64,
        samples,
        pass_at: pass_at(ks, &counts),
        majority,
        distinct_answers,
        reward_mean: average(&|r| r.reward),
        tokens_mean: average(&|r| r.drawn() as f64),
        truncated: average(&|r| f64::from(u8::from(r.finish == FinishReason::Length))),
        passed: Vec::new(),
    }
}

impl<B: Backend> Trainer<'_, B> {
    /// Evaluates the current policy on the held-out prompts; `None` without an evaluation set or a verifier.
    pub(super) fn evaluate(&mut self, reporter: &mut dyn Reporter) -> Result<Option<PolicyEvaluation>, EngineError> {
        let job = self.job;
        let spec = &job.spec.eval;
        let Some(dataset) = job.eval.as_ref().filter(|_| job.actor.verifier.is_some()) else {
            return Ok(None);
        };
        reporter.phase(Phase::Evaluating, self.step)?;
        let rows: Vec<(u64, usize)> =
            (0..dataset.len().min(spec.prompts as usize)).map(|i| (i as u64, dataset.number(i))).collect();
        let mut sampling = job.actor.sampling.widened();
        sampling.temperature = spec.temperature.unwrap_or(sampling.temperature);
        let request = RolloutRequest {
            dataset,
            rows: &rows,
            samples: spec.samples,
            sampling: &sampling,
            stream: Stream::new(job.actor.seed, Purpose::Evaluation, self.step),
            step: self.step,
            phase: Phase::Evaluating,
        };
        let (groups, _) = self.actor.roll_out(&request, reporter)?;
        let mut found = measure(self.step, spec.samples, &spec.pass_at, &groups);
        let is_whole = groups.iter().all(|group| group.rollouts.len() == spec.samples as usize);
        if self.step == self.plan.steps && is_whole && groups.len() <= PASSED_KEPT {
            found.passed = groups.iter().map(RolloutGroup::passed).collect();
        }
        Ok(Some(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::rollout::tests::group;

    #[test]
    fn the_majority_decides_and_ties_are_decided_by_lot() {
        let answered = |rewards: &[f64], answers: &[&str]| {
            let mut group = group(rewards);
            for (rollout, answer) in group.rollouts.iter_mut().zip(answers) {
                rollout.answer = (!answer.is_empty()).then(|| (*answer).to_owned());
            }
            group
        };
        let right = answered(&[1.0, 0.0, 1.0, 0.0], &["7", "3", "7", "4"]);
        let wrong = answered(&[1.0, 0.0, 0.0, 0.0], &["7", "3", "3", ""]);
        let tied = answered(&[1.0, 0.0, 0.0, 1.0], &["7", "3", "3", "7"]);
        let mute = answered(&[0.0; 4], &[""; 4]);
        assert_eq!(
            [&right, &wrong, &tied, &mute].map(RolloutGroup::votes),
            [Some((1.0, 3)), Some((0.0, 2)), Some((0.5, 2)), None]
        );
        let evaluation = measure(3, 4, &[1], &[right, wrong, tied, mute.clone()]);
        let majority = evaluation.majority.unwrap();
        assert_eq!((majority.k, majority.mean, evaluation.distinct_answers), (4, 1.5 / 4.0, Some(7.0 / 16.0)));
        let evaluation = measure(3, 4, &[1], &[mute]);
        assert_eq!((evaluation.majority, evaluation.distinct_answers), (None, None));
    }

    #[test]
    fn pass_at_one_is_the_mean_reward_of_binary_rewards() {
        let groups = [group(&[1.0, 0.0, 0.0, 0.0]), group(&[1.0, 1.0, 1.0, 0.0])];
        let evaluation = measure(3, 4, &[1, 4], &groups);
        assert!((evaluation.pass_at[0].mean - 0.5).abs() < 1e-12);
        assert!((evaluation.reward_mean - 0.5).abs() < 1e-12);
        assert_eq!(evaluation.pass_at[1].mean, 1.0);
    }
}
