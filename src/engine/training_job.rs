//! What a training job is to do.

use std::path::PathBuf;

use serde_json::Value;

use super::actor::ActorSpec;
use super::control;
use super::loading::ModelSource;
use super::random::{Purpose, Stream};
use super::rollout::RolloutGroup;
use crate::dataset::Dataset;
use crate::job::RolloutSetId;
use crate::objective::Sections;
use crate::spec::Training;

/// Everything a training job needs to know; nothing in it changes while it runs.
pub struct Job {
    pub actor: ActorSpec,
    pub spec: Training,
    /// The job's name.
    pub name: Option<String>,
    /// The whole spec, for those who read the finished model.
    pub description: Value,
    /// The model to distil from, if the objective names one.
    pub teacher: Option<ModelSource>,
    /// Directory of the rollout set to train on or to mix in, if the spec names one.
    pub stored: Option<PathBuf>,
    pub train: Dataset,
    pub eval: Option<Dataset>,
    /// Training checkpoints to go on from, best first; the first one that is intact is used.
    pub resume: Vec<PathBuf>,
    /// Whether the job makes no sense from its first step on.
    pub must_resume: bool,
}

impl Job {
    /// In a control run, puts rewards that say nothing in the place of those of completions that were sampled for a round.
    pub(super) fn replace_rewards<'g>(&self, groups: impl Iterator<Item = &'g mut RolloutGroup>, round: u64) {
        if let Some(control) = self.spec.rollouts.control {
            control::replace_rewards(control, groups, &Stream::new(self.actor.seed, Purpose::Control, round));
        }
    }

    /// What of the spec the objective has to fit.
    pub fn sections(&self) -> Sections<'_, RolloutSetId> {
        Sections { train: &self.spec.train, sampling: &self.actor.sampling, rollouts: &self.spec.rollouts }
    }
}
