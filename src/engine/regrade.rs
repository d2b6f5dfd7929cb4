//! Jobs that score the completions of a rollout set again, with another verifier: a new set, without sampling.

use std::path::PathBuf;
use std::sync::Arc;

use super::actor::ActorSpec;
use super::artifact::Saved;
use super::error::EngineError;
use super::report::{Progress, Reporter};
use super::rollout::RolloutGroup;
use super::rollout_set;
use super::verify::{Failures, OwnedCase, VerifyPool};
use crate::dataset::Dataset;
use crate::job::event::LogDetail;
use crate::job::spec::PromptSpec;
use crate::job::{NewEvent, Phase};
use crate::verifier::Score;

/// Groups scored at a time; a lost worker costs no more.
const PART: usize = 512;

/// A job that scores again. Its actor's model is not loaded.
pub struct RegradingJob {
    pub actor: ActorSpec,
    /// The directory of the set.
    pub source: PathBuf,
    /// The rows that its prompts are of.
    pub rows: Dataset,
}

/// Scores and publishes the set. Completions without a verdict are left out; parts that an earlier attempt has finished
/// are not scored again.
pub fn regrade(job: &RegradingJob, reporter: &mut dyn Reporter) -> Result<Saved, EngineError> {
    reporter.phase(Phase::Loading, 0)?;
    let config = job.actor.verifier.as_ref();
    let config = config.ok_or_else(|| EngineError::Internal(String::from("nothing to score with")))?;
    let (mut pool, mut failures) = (VerifyPool::of(config, &job.actor.outside), Failures::default());
    let mut groups = rollout_set::read(&job.source)?;
    reporter.phase(Phase::Verifying, 0)?;
    let mut progress = Progress::new(Phase::Verifying, "prompts", groups.len());
    let (mut done, mut changed) = (0, 0);
    let parts = groups.chunks_mut(PART).zip(0..).collect::<Vec<_>>();
    let count = parts.len() as u64;
    for (groups, part) in parts {
        done += groups.len();
        if !rollout_set::has_part(&job.actor.directory, part) {
            let (new, other) = score(groups, (&job.rows, &job.actor.prompt), &mut pool, reporter)?;
            failures.count(new)?;
            changed += other;
            rollout_set::keep_part(&job.actor.directory, part, groups)?;
        }
        progress.update(reporter, done)?;
    }
    let message = format!("{done} prompts scored again, {changed} completions otherwise than before");
    reporter.event(NewEvent::log(message, LogDetail::Regraded { prompts: done as u64, changed: changed as u64 }))?;
    reporter.phase(Phase::Exporting, 0)?;
    let saved = rollout_set::publish(&job.actor, count, 0)?;
    reporter.artifact(&saved)?;
    Ok(saved)
}

/// Scores the completions of some groups, and leaves out those without a verdict. Returns how many verifications failed
/// and how many rewards are new.
fn score(
    groups: &mut [RolloutGroup],
    (rows, spec): (&Dataset, &PromptSpec),
    pool: &mut VerifyPool,
    reporter: &dyn Reporter,
) -> Result<(Failures, usize), EngineError> {
    let mut cases = Vec::new();
    for group in groups.iter() {
        let row = rows.row(group.row)?;
        cases.extend(group.rollouts.iter().map(|rollout| OwnedCase {
            prompt: group.text.clone(),
            completion: spec.answer(&rollout.text).to_owned(),
            answer: row.answer.clone(),
            row: Arc::clone(&row.fields),
        }));
    }
    let scores = pool.score_all(cases, || reporter.check().is_err());
    reporter.check()?;
    let scores = scores.ok_or_else(|| EngineError::Internal(String::from("verification stopped without a reason")))?;
    let failures = Failures::of(scores.iter());
    let (mut scores, mut changed) = (scores.into_iter(), 0);
    for group in groups {
        group.rollouts.retain_mut(|rollout| {
            let score = scores.next().filter(Score::is_scored);
            let Some(score) = score else { return false };
            changed += usize::from(rollout.status.is_none() || rollout.reward.to_bits() != score.reward.to_bits());
            (rollout.status, rollout.reward, rollout.answer) = (Some(score.status), score.reward, score.answer);
            true
        });
    }
    Ok((failures, changed))
}
