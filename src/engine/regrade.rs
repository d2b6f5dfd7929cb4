//! Jobs that score the completions of a rollout set again, with another verifier: a new set, without sampling.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::actor::ActorSpec;
use super::artifact::Saved;
use super::error::EngineError;
use super::report::{Progress, Reporter};
use super::rollout::{self, Rollout, RolloutGroup};
use super::rollout_set;
use super::verification::Failures;
use super::verify::{Judging, OwnedCase, VerifyPool};
use crate::dataset::Dataset;
use crate::job::event::LogDetail;
use crate::job::{Flip, Flips, NewEvent, PairedPass, Phase};
use crate::objective::math::{PASS_MARK, mean};
use crate::objective::paired::Comparison;

/// Groups scored at a time; a lost worker costs no more.
const PART: usize = 512;
/// Completions whose verdict flipped that are shown, and characters of each text.
const MOST_EXAMPLES: usize = 10;
const MOST_CHARACTERS: usize = 500;
/// Of the interval of what that is worth.
const CONFIDENCE: f64 = 0.95;

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
    let groups = rollout_set::read(&job.source)?;
    reporter.phase(Phase::Verifying, 0)?;
    let mut progress = Progress::new(Phase::Verifying, "prompts", groups.len());
    let mut changes = Changes::default();
    let mut part = 0;
    for groups in groups.chunks(PART) {
        let scored = if rollout_set::has_part(&job.actor.directory, part) {
            rollout::read(&rollout_set::kept_part(&job.actor.directory, part)?)?
        } else {
            let (scored, new) = score(groups, (&job.rows, job.actor.judging()), &mut pool, reporter)?;
            failures.count(new)?;
            rollout_set::keep_part(&job.actor.directory, part, &scored)?;
            scored
        };
        groups.iter().zip(&scored).for_each(|(before, after)| changes.note(before, after));
        part += 1;
        progress.update(reporter, changes.prompts as usize)?;
    }
    let (message, detail) = changes.told();
    reporter.event(NewEvent::log(message, detail))?;
    reporter.phase(Phase::Exporting, 0)?;
    let saved = rollout_set::publish(&job.actor, part, 0)?;
    reporter.artifact(&saved)?;
    Ok(saved)
}

/// Scores the completions of some groups, and leaves out those without a verdict. Returns how many verifications failed.
fn score(
    groups: &[RolloutGroup],
    (rows, judging): (&Dataset, Judging<'_>),
    pool: &mut VerifyPool,
    reporter: &dyn Reporter,
) -> Result<(Vec<RolloutGroup>, Failures), EngineError> {
    let mut cases = Vec::new();
    for group in groups {
        let row = rows.row(group.row)?;
        let case = |rollout: &Rollout| OwnedCase::of(judging, &row, &group.text, (&rollout.text, &rollout.answers));
        cases.extend(group.rollouts.iter().map(case));
    }
    let verdicts = pool.score_all(cases, || reporter.check().is_err());
    reporter.check()?;
    let lost = || EngineError::Internal(String::from("verification stopped without a reason"));
    let verdicts = verdicts.ok_or_else(lost)?;
    let failures = Failures::of(verdicts.iter());
    let mut verdicts = verdicts.into_iter();
    let mut scored = groups.to_vec();
    for group in &mut scored {
        group.rollouts.retain_mut(|rollout| {
            let verdict = verdicts.next().filter(|verdict| verdict.score.is_scored());
            if let Some(verdict) = &verdict {
                verdict.judge(rollout);
            }
            verdict.is_some()
        });
    }
    Ok((scored, failures))
}

/// What is otherwise than before.
#[derive(Default)]
struct Changes {
    prompts: u64,
    changed: u64,
    flips: Flips,
    /// Of each row the passes before and after, and of how many completions they are.
    passes: BTreeMap<usize, [f64; 3]>,
}

impl Changes {
    /// Compares the completions of a prompt that have a verdict with what they were before.
    fn note(&mut self, before: &RolloutGroup, after: &RolloutGroup) {
        self.prompts += 1;
        self.flips.left_out += (before.rollouts.len() - after.rollouts.len()) as u64;
        for new in &after.rollouts {
            let Some(old) = before.rollouts.iter().find(|old| old.sample == new.sample) else { continue };
            self.changed += u64::from(old.status.is_none() || old.reward.to_bits() != new.reward.to_bits());
            if old.status.is_none() {
                continue;
            }
            let passes = [old, new].map(|rollout| rollout.reward >= PASS_MARK);
            // A row that comes again and again says no more of other rows than one that comes once.
            let sums = self.passes.entry(before.row).or_default();
            let one = [passes[0], passes[1], true].map(|holds| f64::from(u8::from(holds)));
            sums.iter_mut().zip(one).for_each(|(sum, one)| *sum += one);
            self.flips.to_pass += u64::from(passes == [false, true]);
            self.flips.to_fail += u64::from(passes == [true, false]);
            if passes[0] != passes[1] && self.flips.examples.len() < MOST_EXAMPLES {
                self.flips.examples.push(flip(before, old, new));
            }
        }
    }

    fn told(mut self) -> (String, LogDetail) {
        let passes = self.passes.values().map(|[before, after, count]| (before / count, after / count));
        let passes: Vec<(f64, f64)> = passes.collect();
        let mean = |of: fn(&(f64, f64)) -> f64| mean(&passes.iter().map(of).collect::<Vec<_>>());
        self.flips.pass_at_1 = Comparison::of(&passes, CONFIDENCE).map(|found| PairedPass {
            prompts: found.pairs as u64,
            before: mean(|pair| pair.0),
            after: mean(|pair| pair.1),
            difference: found.difference,
            low: found.low,
            high: found.high,
            enough: found.enough,
        });
        let Self { prompts, changed, flips, .. } = self;
        let mut message = format!("{prompts} prompts scored again, {changed} completions otherwise than before");
        if let Some(pass) = &flips.pass_at_1 {
            message.push_str(&format!(
                "; {} pass now, {} no more; pass@1 from {:.3} to {:.3} (difference {:+.3}, 95 % interval {:+.3} to {:+.3})",
                flips.to_pass, flips.to_fail, pass.before, pass.after, pass.difference, pass.low, pass.high
            ));
        }
        (message, LogDetail::Regraded { prompts, changed, flips: Some(flips) })
    }
}

fn flip(group: &RolloutGroup, old: &Rollout, new: &Rollout) -> Flip {
    let beginning = |text: &str| text.chars().take(MOST_CHARACTERS).collect();
    Flip {
        row: group.row,
        sample: new.sample,
        prompt: beginning(&group.text),
        completion: beginning(&new.text),
        reward_before: old.reward,
        reward_after: new.reward,
        answer: new.answer.as_deref().map(beginning),
        detail: new.detail.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::rollout::tests::group;

    /// A group of a row.
    fn of_row(row: usize, rewards: &[f64]) -> RolloutGroup {
        RolloutGroup { row, ..group(rewards) }
    }

    #[test]
    fn flips_are_counted_shown_and_weighed_row_by_row() {
        let mut changes = Changes::default();
        for row in 0..8 {
            changes.note(&of_row(row, &[0.0, 1.0, 0.0, 1.0]), &of_row(row, &[1.0, 1.0, 0.0, 1.0]));
        }
        let mut shorter = of_row(8, &[0.0, 1.0]);
        shorter.rollouts.remove(1);
        changes.note(&of_row(8, &[1.0, 1.0]), &shorter);
        let (message, LogDetail::Regraded { prompts, changed, flips: Some(flips) }) = changes.told() else {
            panic!("another event")
        };
        assert_eq!((prompts, changed), (9, 9));
        assert_eq!((flips.to_pass, flips.to_fail, flips.left_out, flips.examples.len()), (8, 1, 1, 9));
        let pass = flips.pass_at_1.unwrap();
        assert_eq!((pass.prompts, pass.before, pass.after), (9, 5.0 / 9.0, 6.0 / 9.0));
        assert!(pass.low < pass.difference && pass.difference < pass.high && pass.enough, "{pass:?}");
        assert!(message.contains("8 pass now, 1 no more"), "{message}");
        assert_eq!((flips.examples[0].sample, flips.examples[8].reward_after), (0, 0.0));
    }

    #[test]
    fn a_row_that_comes_at_every_step_is_one_row() {
        // Forty steps on four rows, of which one alone gets worse.
        let mut changes = Changes::default();
        for row in (0..160).map(|number| number % 4) {
            let after = if row == 0 { [0.0, 0.0] } else { [1.0, 0.0] };
            changes.note(&of_row(row, &[1.0, 0.0]), &of_row(row, &after));
        }
        let (_, LogDetail::Regraded { prompts, flips: Some(flips), .. }) = changes.told() else { panic!() };
        let pass = flips.pass_at_1.unwrap();
        assert_eq!((prompts, pass.prompts, pass.enough), (160, 4, false), "{pass:?}");
        assert_eq!((pass.before, pass.after), (0.5, 0.375));
        assert!(pass.low < 0.0 && pass.high > 0.0, "{pass:?}");
    }

    #[test]
    fn a_set_without_rewards_has_nothing_that_flips() {
        let mut before = group(&[0.0, 0.0]);
        before.rollouts.iter_mut().for_each(|rollout| rollout.status = None);
        let mut changes = Changes::default();
        changes.note(&before, &group(&[1.0, 0.0]));
        let (_, LogDetail::Regraded { changed, flips: Some(flips), .. }) = changes.told() else { panic!() };
        assert_eq!((changed, flips), (2, Flips::default()));
    }
}
