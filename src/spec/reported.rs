//! Which metrics a job's steps can report, as far as its spec says.

use super::{Common, Training};
use crate::job::curriculum::RowSampling;
use crate::job::metric::{Metric, PARTS, When};
use crate::{objective, verifier};

impl Training {
    /// Whether any step may report a metric, called `name`. What depends on the model or on what is sampled may.
    pub fn may_report(&self, common: &Common, metric: &Metric, name: &str) -> bool {
        let objective = self.objective.build(&self.train);
        let needs = objective.needs();
        let reports = |name| objective.step_report().iter().any(|(known, _)| *known == name);
        let is_on_completions = !needs.completions;
        let samples = is_on_completions && self.rollouts.from.is_none();
        let is_stored = is_on_completions && self.rollouts.stored().is_some();
        match metric.when {
            When::EveryStep | When::Experts | When::Geometry => true,
            When::Completions => is_on_completions,
            When::Judged | When::JudgedApart | When::Answers | When::AnswersRewarded => {
                is_stored || (is_on_completions && common.verifier.is_some())
            }
            When::Thinking => is_on_completions && common.prompt.thinking == Some(true),
            When::Environment => is_on_completions && common.sampling.environment.is_some(),
            When::Fresh | When::FirstOnFresh => samples && common.verifier.is_some(),
            When::Parts => {
                let part = name.strip_prefix(PARTS).unwrap_or(name);
                let is_part = |verifier: &verifier::Config| verifier.resolved()["graders"][part].is_object();
                is_stored || (is_on_completions && common.verifier.as_ref().is_some_and(is_part))
            }
            When::Reference => is_on_completions && (needs.reference || self.train.track_reference),
            When::Clip => is_on_completions && objective.clip().is_some(),
            When::DynamicSampling => samples && self.rollouts.dynamic_sampling > 0,
            When::Stored => is_stored,
            When::SamplingPhase => samples,
            When::Adaptive => samples && self.curriculum.sampling == RowSampling::Adaptive,
            When::Bolt => matches!(self.objective, objective::Config::Bolt(_)),
            When::StepEss => reports("p3o/ess"),
            When::Fade => reports("fade/alpha"),
            When::Vopd => needs.teacher.is_some(),
        }
    }
}
