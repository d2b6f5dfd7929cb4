//! Jobs that sample and score completions and take no step: the way to a rollout set without training.

use std::sync::Arc;

use super::actor::{Actor, ActorSpec, RolloutRequest};
use super::artifact::Saved;
use super::backend::Backend;
use super::device::on_device;
use super::error::EngineError;
use super::random::{Purpose, Stream};
use super::report::Reporter;
use super::rollout::RolloutGroup;
use super::rollout_set;
use super::visits::Visits;
use crate::dataset::Dataset;
use crate::job::event::LogDetail;
use crate::job::{NewEvent, Phase};
use crate::objective::math::mean;
use crate::spec::Sampling;

/// Completions sampled at a time; a lost worker costs no more.
const PART: u64 = 4096;

/// A job that samples.
pub struct SamplingJob {
    pub actor: ActorSpec,
    pub spec: Sampling,
    pub rows: Dataset,
}

/// Samples, scores and publishes the set; only the first of several ranks has one to show. Parts that an earlier attempt
/// has finished are not sampled again.
pub fn sample(job: &SamplingJob, reporter: &mut dyn Reporter) -> Result<Option<Saved>, EngineError> {
    on_device!(&job.actor.device, job.actor.precision, |backend| sample_on(&backend, job, reporter))
}

fn sample_on<B: Backend>(
    backend: &Arc<B>,
    job: &SamplingJob,
    reporter: &mut dyn Reporter,
) -> Result<Option<Saved>, EngineError> {
    reporter.phase(Phase::Loading, 0)?;
    let mut actor = Actor::load(&job.actor, backend)?;
    actor.check_prompts(&job.rows, reporter)?;
    let per_part = (PART / u64::from(job.spec.group_size)).max(1);
    let parts = job.spec.prompts.div_ceil(per_part);
    for part in 0..parts {
        // Others may be on machines that have no parts.
        if job.actor.collective.first_says(rollout_set::has_part(&job.actor.directory, part))? {
            continue;
        }
        let range = part * per_part..job.spec.prompts.min((part + 1) * per_part);
        let places = Visits::new(job.actor.seed, Purpose::PromptOrder, job.rows.len()).rows(range);
        let rows: Vec<_> = places.into_iter().map(|(visit, place)| (visit, job.rows.number(place))).collect();
        let request = RolloutRequest {
            dataset: &job.rows,
            rows: &rows,
            samples: job.spec.group_size,
            sampling: &job.actor.sampling,
            stream: Stream::new(job.actor.seed, Purpose::RolloutSet, 0),
            step: 0,
            phase: Phase::Sampling,
        };
        reporter.phase(Phase::Sampling, 0)?;
        let groups: Vec<_> =
            actor.roll_out(&request, reporter)?.0.into_iter().map(RolloutGroup::without_entropies).collect();
        if job.actor.collective.is_first() {
            rollout_set::keep_part(&job.actor.directory, part, &groups)?;
        }
        let rewards: Vec<f64> = groups.iter().flat_map(|group| group.rewards()).collect();
        let reward_mean = job.actor.verifier.as_ref().map(|_| mean(&rewards));
        let mut message =
            format!("part {} of {parts}: {} completions for {} prompts", part + 1, rewards.len(), groups.len());
        if let Some(mean) = reward_mean {
            message.push_str(&format!(", mean reward {mean:.3}"));
        }
        reporter.event(NewEvent::log(message, LogDetail::Part { part: part + 1, parts, reward_mean }))?;
    }
    if !job.actor.collective.is_first() {
        return Ok(None);
    }
    reporter.phase(Phase::Exporting, 0)?;
    let saved = rollout_set::publish(&job.actor, parts, 0)?;
    reporter.artifact(&saved)?;
    Ok(Some(saved))
}
