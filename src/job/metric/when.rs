//! When metrics are reported.

/// The jobs and steps that report a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    EveryStep,
    Experts,
    Completions,
    Judged,
    JudgedApart,
    AnswersRewarded,
    Thinking,
    Environment,
    Fresh,
    FirstOnFresh,
    Answers,
    Parts,
    Reference,
    Clip,
    DynamicSampling,
    Stored,
    SamplingPhase,
    Adaptive,
    Bolt,
    StepEss,
    Geometry,
    Fade,
    Vopd,
}

impl When {
    /// In the words of `docs/metrics.md`.
    pub const fn text(self) -> &'static str {
        match self {
            Self::EveryStep => "every step",
            Self::Experts => "models with experts",
            Self::Completions => "sampled completions",
            Self::Judged => "sampled completions with a verifier",
            Self::JudgedApart => "sampled completions with a verifier, at least 8 prompts with different rewards",
            Self::AnswersRewarded => {
                "sampled completions with a verifier that takes answers out of them, of at least 4 prompts with reward"
            }
            Self::Thinking => "sampled completions with `dataset.thinking`",
            Self::Environment => "sampled completions with `sampling.environment`",
            Self::Fresh => "completions that the job sampled, with a verifier",
            Self::FirstOnFresh => "the first step on completions that the job sampled, with a verifier",
            Self::Answers => "sampled completions with a verifier that takes answers out of them",
            Self::Parts => "sampled completions with a `multi` verifier, for each of its parts",
            Self::Reference => {
                "sampled completions, with `train.track_reference` or where the objective needs the reference"
            }
            Self::Clip => "sampled completions and an objective with a clip",
            Self::DynamicSampling => "`rollouts.dynamic_sampling`",
            Self::Stored => "sampled completions with `rollouts.mix` or `rollouts.from`",
            Self::SamplingPhase => "the first step after a sampling phase",
            Self::Adaptive => "the first step after a sampling phase, with `dataset.sampling` \"adaptive\"",
            Self::Bolt => "bolt",
            Self::StepEss => "p3o with `ess_scope: \"step\"`",
            Self::Geometry => {
                "steps before an evaluation and the last one, where all weights are trained in f32 and the reference is kept"
            }
            Self::Fade => "fade, and any objective with the `fade` advantage",
            Self::Vopd => "vopd",
        }
    }
}
