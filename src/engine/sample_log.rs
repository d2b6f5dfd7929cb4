//! A bounded sample of what a training job samples, for people to look at: some completions of each round, in the job's
//! folder, for as long as the job is kept.
//!
//! There is a file a round, which is written again when steps have trained on what it holds. When there are too many, or
//! they are too large, every other one goes, so that the sample becomes sparse where it is old and stays dense where it is
//! new. Nothing depends on it: it is not synced, and a round that cannot be written is left out.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::rollout::{Rollout, RolloutGroup};
use crate::job::rollout_set::SAMPLE_FOLDER;
use crate::job::{Learned, SampledGroup};

/// Rounds and bytes of a job's sample.
const MOST_ROUNDS: usize = 1024;
const MOST_BYTES: u64 = 256 << 20;
/// Bytes of one round, as it was sampled; what steps say of it comes to about half as much again.
const MOST_ROUND_BYTES: usize = 16 << 20;
/// Groups that are kept for their completions without a verdict, of a round.
const MOST_FAILED: usize = 8;
/// How often a round is written again while its steps are taken.
const REWRITTEN: Duration = Duration::from_secs(5);

/// The sample of a job.
#[derive(Debug)]
pub struct SampleLog {
    folder: PathBuf,
    /// Completions of an optimizer step.
    per_step: u64,
    /// The rounds that are there, with their bytes, in order.
    rounds: Vec<(u64, u64)>,
    /// The round that was kept last, unless it was trained on.
    newest: Option<(u64, Vec<SampledGroup>)>,
    /// The round that is trained on.
    open: Option<Open>,
}

/// A round of which steps still say what they made.
#[derive(Debug)]
struct Open {
    round: u64,
    /// With each group of the sample the one that is trained on.
    groups: Vec<(Arc<RolloutGroup>, SampledGroup)>,
    written: Instant,
    /// Whether a step has said something since.
    stale: bool,
}

impl SampleLog {
    /// Goes on with what earlier attempts have kept in the job's folder; of each step so many completions.
    pub fn open(job: &Path, per_step: u32) -> Self {
        let folder = job.join(SAMPLE_FOLDER);
        let round = |entry: io::Result<fs::DirEntry>| {
            let entry = entry.ok()?;
            let number = entry.file_name().to_str()?.strip_suffix(".jsonl")?.parse().ok()?;
            Some((number, entry.metadata().ok()?.len()))
        };
        let mut rounds: Vec<(u64, u64)> = fs::read_dir(&folder).into_iter().flatten().filter_map(round).collect();
        rounds.sort_unstable();
        Self { folder, per_step: u64::from(per_step), rounds, newest: None, open: None }
    }

    /// Keeps some groups of a round of so many steps, evenly spread over it, and some of which completions could not be
    /// judged: these come beside the groups, each with its group's place. `piece` is the text of a token. Gives all groups
    /// back to train on, without what only people look at.
    pub fn keep(
        &mut self,
        round: u64,
        steps: u64,
        (groups, unscored): (Vec<RolloutGroup>, Vec<(usize, Rollout)>),
        piece: impl Fn(u32) -> String,
    ) -> Vec<Arc<RolloutGroup>> {
        let size = groups.iter().map(|group| group.rollouts.len()).max().unwrap_or_default().max(1) as u64;
        let most = groups.len() as u64;
        let wanted = self.per_step.saturating_mul(steps).div_ceil(size).min(most);
        let mut chosen: BTreeSet<usize> = (0..wanted).map(|number| (number * most / wanted) as usize).collect();
        let failed: BTreeSet<usize> = unscored.iter().map(|(group, _)| *group).filter(|_| wanted > 0).collect();
        chosen.extend(failed.into_iter().take(MOST_FAILED));
        let mut bytes = 0;
        let fits = |group: &SampledGroup| {
            bytes += serde_json::to_vec(group).map_or(0, |text| text.len());
            bytes <= MOST_ROUND_BYTES
        };
        let sampled = |index: usize| {
            let unscored = unscored.iter().filter(|(group, _)| *group == index).map(|(_, rollout)| rollout.clone());
            SampledGroup { unscored: unscored.collect(), ..sampled(&groups[index], &piece) }
        };
        let sampled: Vec<SampledGroup> = chosen.into_iter().map(sampled).take_while(fits).collect();
        if wanted > 0 {
            self.write(round, sampled.iter());
            self.newest = Some((round, sampled));
        }
        groups.into_iter().map(RolloutGroup::bare).map(Arc::new).collect()
    }

    /// Goes on with a round, of which this attempt or an earlier one has kept some: `groups` is all that is trained on. One that
    /// cannot be read stays as it is.
    pub fn begin(&mut self, round: u64, groups: &[Arc<RolloutGroup>]) {
        let known = self.newest.take_if(|(newest, _)| *newest == round).map(|(_, kept)| kept);
        let Some(kept) = known.or_else(|| read(&path(&self.folder, round)).ok()) else { return };
        let tokens = |group: &RolloutGroup| group.rollouts.iter().map(|one| one.tokens.clone()).collect::<Vec<_>>();
        // Both are in the order in which they were sampled.
        let mut rest = groups.iter();
        let found = kept.into_iter().filter_map(|kept| {
            let trained = rest.find(|one| one.row == kept.group.row && tokens(one) == tokens(&kept.group))?;
            Some((Arc::clone(trained), kept))
        });
        let groups = found.collect();
        self.open = Some(Open { round, groups, written: Instant::now(), stale: false });
    }

    /// Notes what a step made of a completion, if that is in the sample; `reference` is its log-probability under the
    /// reference, for groups that came without.
    pub fn learned(&mut self, group: &Arc<RolloutGroup>, rollout: usize, learned: Learned, reference: &[f32]) {
        let Some(open) = &mut self.open else { return };
        let Some((_, kept)) = open.groups.iter_mut().find(|(trained, _)| Arc::ptr_eq(trained, group)) else { return };
        kept.learned.resize(kept.group.rollouts.len(), None);
        if let (Some(place), Some(rollout)) = (kept.learned.get_mut(rollout), kept.group.rollouts.get_mut(rollout)) {
            let Learned { step, credit, policy_logprobs } = learned;
            let (credit, policy_logprobs) = (rollout.over_all(credit), rollout.over_all(policy_logprobs));
            *place = Some(Learned { step, credit, policy_logprobs });
            rollout.reference_logprobs = rollout.over_all(reference.to_vec());
            open.stale = true;
        }
    }

    /// Writes what a step has said, if that was not done just before.
    pub fn end_step(&mut self) {
        if self.open.as_ref().is_some_and(|open| open.written.elapsed() >= REWRITTEN) {
            self.write_open();
        }
    }

    /// Writes what was said last, as training ends here for now.
    pub fn flush(&mut self) {
        self.write_open();
    }

    /// Lets go of the round that was trained on.
    pub fn end_round(&mut self) {
        self.write_open();
        self.open = None;
    }

    fn write_open(&mut self) {
        let Some(mut open) = self.open.take_if(|open| open.stale) else { return };
        (open.stale, open.written) = (false, Instant::now());
        self.write(open.round, open.groups.iter().map(|(_, kept)| kept));
        self.open = Some(open);
    }

    fn write<'a>(&mut self, round: u64, groups: impl Iterator<Item = &'a SampledGroup>) {
        let written = write(&self.folder, &path(&self.folder, round), groups);
        if let Err(error) = written.and_then(|bytes| self.add(round, bytes)) {
            tracing::warn!(%error, folder = %self.folder.display(), "a sample of the completions cannot be kept");
        }
    }

    /// Remembers a round that was written, and makes room.
    fn add(&mut self, round: u64, bytes: u64) -> io::Result<()> {
        self.rounds.retain(|(other, _)| *other != round);
        let at = self.rounds.partition_point(|(other, _)| *other < round);
        self.rounds.insert(at, (round, bytes));
        let total = |rounds: &[(u64, u64)]| rounds.iter().map(|(_, bytes)| bytes).sum::<u64>();
        while self.rounds.len() > 2 && (self.rounds.len() > MOST_ROUNDS || total(&self.rounds) > MOST_BYTES) {
            let last = self.rounds.len() - 1;
            let (kept, dropped): (Vec<_>, Vec<_>) =
                self.rounds.iter().enumerate().partition(|(number, _)| number % 2 == 0 || *number == last);
            let dropped: Vec<u64> = dropped.into_iter().map(|(_, (round, _))| *round).collect();
            self.rounds = kept.into_iter().map(|(_, round)| *round).collect();
            for round in dropped {
                fs::remove_file(path(&self.folder, round))?;
            }
        }
        Ok(())
    }
}

/// The file of a round.
fn path(folder: &Path, round: u64) -> PathBuf {
    folder.join(format!("{round:09}.jsonl"))
}

fn sampled(group: &RolloutGroup, piece: impl Fn(u32) -> String) -> SampledGroup {
    let pieces = |rollout: &super::rollout::Rollout| rollout.tokens.iter().map(|token| piece(*token)).collect();
    let pieces = group.rollouts.iter().map(pieces).collect();
    SampledGroup { group: group.clone(), pieces, learned: Vec::new(), unscored: Vec::new() }
}

/// Reads a round.
fn read(path: &Path) -> io::Result<Vec<SampledGroup>> {
    fs::read_to_string(path)?.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// Writes a round, and says how many bytes that are.
fn write<'a>(folder: &Path, path: &Path, groups: impl Iterator<Item = &'a SampledGroup>) -> io::Result<u64> {
    let mut lines = Vec::new();
    for group in groups {
        serde_json::to_writer(&mut lines, group)?;
        lines.push(b'\n');
    }
    fs::create_dir_all(folder)?;
    let temporary = folder.join("tmp");
    fs::File::create(&temporary)?.write_all(&lines)?;
    fs::rename(&temporary, path)?;
    Ok(lines.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::rollout::tests::group;

    fn rounds(job: &Path) -> Vec<u64> {
        SampleLog::open(job, 64).rounds.iter().map(|(round, _)| *round).collect()
    }

    fn lines(job: &Path, round: u64) -> Vec<SampledGroup> {
        let text = fs::read_to_string(path(&job.join(SAMPLE_FOLDER), round)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn of_each_step_some_completions_are_kept_evenly_spread_and_read_back() {
        let job = tempfile::tempdir().unwrap();
        let groups: Vec<RolloutGroup> =
            (0..100).map(|row| RolloutGroup { row, ..group(&[1.0, 0.0, 0.0, 1.0]) }).collect();
        let mut log = SampleLog::open(job.path(), 64);
        let trained = log.keep(0, 1, (groups.clone(), Vec::new()), |token| format!("<{token}>"));
        assert!(trained.iter().zip(&groups).all(|(trained, group)| **trained == *group));
        let kept = lines(job.path(), 0);
        assert_eq!(
            kept.iter().map(|kept| kept.group.row).collect::<Vec<_>>(),
            (0..16).map(|n| n * 100 / 16).collect::<Vec<_>>()
        );
        assert_eq!(kept[0].group, groups[0]);
        let texts: Vec<String> = groups[0].rollouts[1].tokens.iter().map(|token| format!("<{token}>")).collect();
        assert_eq!(kept[0].pieces[1], texts);
        log.keep(1, 30, (groups.clone(), Vec::new()), |_| String::new());
        assert_eq!(lines(job.path(), 1).len(), 100, "no more than there are");
        let trained = SampleLog::open(job.path(), 0).keep(2, 1, (groups, Vec::new()), |_| String::new());
        assert_eq!(trained.len(), 100, "all are trained on, though none is in the sample");
        log.keep(2, 1, (Vec::new(), Vec::new()), |_| String::new());
        assert_eq!(rounds(job.path()), [0, 1]);
    }

    #[test]
    fn completions_that_could_not_be_judged_are_kept_with_why_and_not_trained_on() {
        let job = tempfile::tempdir().unwrap();
        let groups: Vec<RolloutGroup> = (0..100).map(|row| RolloutGroup { row, ..group(&[1.0, 0.0]) }).collect();
        let mut lost = group(&[0.0]).rollouts.remove(0);
        (lost.status, lost.detail) = (Some(crate::job::ScoreStatus::Timeout), Some(String::from("too slow")));
        let unscored = [(37, lost.clone()), (50, lost.clone()), (37, lost.clone())];
        let mut log = SampleLog::open(job.path(), 4);
        let trained = log.keep(0, 1, (groups.clone(), unscored.to_vec()), |_| String::new());
        assert!(trained.iter().zip(&groups).all(|(trained, group)| **trained == *group));
        let kept = lines(job.path(), 0);
        let found: Vec<(usize, usize)> = kept.iter().map(|kept| (kept.group.row, kept.unscored.len())).collect();
        assert_eq!(found, [(0, 0), (37, 2), (50, 1)]);
        assert_eq!(kept[1].unscored[1], lost);
        let many: Vec<_> = (0..100).map(|group| (group, lost.clone())).collect();
        log.keep(1, 1, (groups.clone(), many.clone()), |_| String::new());
        assert_eq!(lines(job.path(), 1).len(), MOST_FAILED + 1, "and no more than some");
        SampleLog::open(job.path(), 0).keep(2, 1, (groups, many), |_| String::new());
        assert_eq!(rounds(job.path()), [0, 1], "nothing where nothing is wanted");
    }

    #[test]
    fn a_long_job_keeps_its_first_and_its_newest_rounds_and_a_bounded_number() {
        let job = tempfile::tempdir().unwrap();
        let groups = [group(&[1.0])];
        let mut log = SampleLog::open(job.path(), 1);
        for round in 0..3000 {
            log.keep(round, 1, (groups.to_vec(), Vec::new()), |_| String::new());
        }
        // A resumed attempt repeats a few, and goes on with what is there.
        let mut log = SampleLog::open(job.path(), 1);
        for round in 2990..3010 {
            log.keep(round, 1, (groups.to_vec(), Vec::new()), |_| String::new());
        }
        let kept = rounds(job.path());
        assert!(kept.len() <= MOST_ROUNDS && kept.len() > MOST_ROUNDS / 4, "{}", kept.len());
        assert_eq!((kept[0], kept[kept.len() - 1]), (0, 3009));
        assert_eq!(kept, log.rounds.iter().map(|(round, _)| *round).collect::<Vec<_>>());
        assert_eq!(fs::read_dir(job.path().join(SAMPLE_FOLDER)).unwrap().count(), kept.len());
    }

    #[test]
    fn a_round_that_is_too_long_is_kept_in_part_and_one_that_cannot_be_written_is_left_out() {
        let job = tempfile::tempdir().unwrap();
        let long = |row| RolloutGroup { row, text: "x".repeat(1 << 20), ..group(&[1.0]) };
        let groups: Vec<RolloutGroup> = (0..40).map(long).collect();
        SampleLog::open(job.path(), 64).keep(0, 1, (groups.clone(), Vec::new()), |_| String::new());
        assert_eq!(lines(job.path(), 0).len(), 15);
        let file = job.path().join("file");
        fs::write(&file, "").unwrap();
        SampleLog::open(&file, 64).keep(0, 1, (groups, Vec::new()), |_| String::new());
    }

    #[test]
    fn what_steps_make_of_completions_is_written_beside_them_and_entropies_stay_in_the_sample() {
        let job = tempfile::tempdir().unwrap();
        let mut groups = vec![group(&[1.0, 0.0]), group(&[0.0, 1.0])];
        for rollout in groups.iter_mut().flat_map(|group| &mut group.rollouts) {
            rollout.entropies = vec![0.5];
        }
        let mut log = SampleLog::open(job.path(), 2);
        let trained = log.keep(4, 1, (groups, Vec::new()), |_| String::new());
        log.begin(4, &trained);
        assert!(trained.iter().flat_map(|group| &group.rollouts).all(|rollout| rollout.entropies.is_empty()));
        assert_eq!(lines(job.path(), 4)[0].group.rollouts[1].entropies, [0.5]);
        let learned = |step, credit| Learned { step, credit: vec![credit], policy_logprobs: vec![-0.25] };
        log.learned(&trained[0], 1, learned(9, 0.5), &[-2.0]);
        log.learned(&trained[0], 1, learned(10, -0.5), &[-2.0]);
        log.learned(&trained[1], 0, learned(10, 3.0), &[]);
        log.learned(&Arc::new(group(&[1.0])), 0, learned(10, 4.0), &[]);
        assert_eq!(lines(job.path(), 4)[0].learned, [], "not with every step");
        log.end_round();
        let kept = lines(job.path(), 4);
        assert_eq!(kept.len(), 1, "two completions of a step are one group");
        assert_eq!(kept[0].learned, [None, Some(learned(10, -0.5))]);
        assert_eq!(kept[0].group.rollouts[1].reference_logprobs, [-2.0]);
        log.learned(&trained[0], 0, learned(11, 1.0), &[]);
        log.end_round();
        assert_eq!(lines(job.path(), 4), kept, "the round is over");
    }

    #[test]
    fn an_attempt_that_goes_on_within_a_round_tells_what_its_steps_make_of_it() {
        let job = tempfile::tempdir().unwrap();
        let learned = |step| Learned { step, credit: vec![0.5], policy_logprobs: vec![-0.25] };
        let groups: Vec<RolloutGroup> = (0..4).map(|row| RolloutGroup { row, ..group(&[1.0, 0.0]) }).collect();
        let mut log = SampleLog::open(job.path(), 4);
        let trained = log.keep(2, 1, (groups.clone(), Vec::new()), |_| String::new());
        log.begin(2, &trained);
        log.keep(3, 1, (groups, Vec::new()), |_| String::new());
        log.learned(&trained[2], 0, learned(5), &[-2.0]);
        log.end_step();
        assert_eq!(lines(job.path(), 2)[1].learned, [], "not with every step");
        log.flush();
        assert_eq!(lines(job.path(), 2)[1].learned[0], Some(learned(5)), "training ends here for now");

        // The next attempt has the completions from a checkpoint.
        let restored: Vec<_> = trained.iter().map(|group| Arc::new(RolloutGroup::clone(group))).collect();
        let mut log = SampleLog::open(job.path(), 4);
        log.begin(2, &restored);
        log.learned(&restored[0], 1, learned(6), &[-2.0]);
        log.end_round();
        let kept = lines(job.path(), 2);
        assert_eq!(kept.iter().map(|kept| kept.group.row).collect::<Vec<_>>(), [0, 2]);
        assert_eq!([&kept[0].learned[1], &kept[1].learned[0]], [&Some(learned(6)), &Some(learned(5))]);
        log.begin(4, &restored);
        log.learned(&restored[0], 0, learned(7), &[]);
        log.flush();
        assert_eq!(lines(job.path(), 2), kept, "of a round that is not kept nothing is told");
    }
}
