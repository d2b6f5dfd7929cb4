//! A bounded sample of what a training job samples, for people to look at: some completions of each round, in the job's
//! folder, for as long as the job is kept.
//!
//! There is a file a round. When there are too many, or they are too large, every other one goes, so that the sample
//! becomes sparse where it is old and stays dense where it is new. Nothing depends on it: it is not synced, and a round
//! that cannot be written is left out.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::rollout::RolloutGroup;
use crate::job::SampledGroup;
use crate::job::rollout_set::SAMPLE_FOLDER;

/// Rounds and bytes of a job's sample.
const MOST_ROUNDS: usize = 1024;
const MOST_BYTES: u64 = 256 << 20;
/// Bytes of one round.
const MOST_ROUND_BYTES: usize = 16 << 20;

/// The sample of a job.
#[derive(Debug)]
pub struct SampleLog {
    folder: PathBuf,
    /// Completions of an optimizer step.
    per_step: u64,
    /// The rounds that are there, with their bytes, in order.
    rounds: Vec<(u64, u64)>,
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
        Self { folder, per_step: u64::from(per_step), rounds }
    }

    /// Keeps some groups of a round of so many steps, evenly spread over it; `piece` is the text of a token.
    pub fn keep(&mut self, round: u64, steps: u64, groups: &[RolloutGroup], piece: impl Fn(u32) -> String) {
        if self.per_step == 0 || groups.is_empty() {
            return;
        }
        let size = groups.iter().map(|group| group.rollouts.len()).max().unwrap_or_default().max(1) as u64;
        let most = groups.len() as u64;
        let wanted = self.per_step.saturating_mul(steps).div_ceil(size).clamp(1, most);
        let chosen = (0..wanted).map(|number| &groups[(number * most / wanted) as usize]);
        if let Err(error) = self.write(round, chosen, piece).and_then(|bytes| self.add(round, bytes)) {
            tracing::warn!(%error, folder = %self.folder.display(), "a sample of the completions cannot be kept");
        }
    }

    fn path(&self, round: u64) -> PathBuf {
        self.folder.join(format!("{round:09}.jsonl"))
    }

    fn write<'a>(
        &self,
        round: u64,
        groups: impl Iterator<Item = &'a RolloutGroup>,
        piece: impl Fn(u32) -> String,
    ) -> io::Result<u64> {
        let mut lines = Vec::new();
        for group in groups {
            let before = lines.len();
            let pieces = |rollout: &super::rollout::Rollout| rollout.tokens.iter().map(|token| piece(*token)).collect();
            let pieces = group.rollouts.iter().map(pieces).collect();
            serde_json::to_writer(&mut lines, &SampledGroup { group: group.clone(), pieces })?;
            lines.push(b'\n');
            if lines.len() > MOST_ROUND_BYTES {
                lines.truncate(before);
                break;
            }
        }
        fs::create_dir_all(&self.folder)?;
        let (path, temporary) = (self.path(round), self.folder.join("tmp"));
        fs::File::create(&temporary)?.write_all(&lines)?;
        fs::rename(&temporary, &path)?;
        Ok(lines.len() as u64)
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
                fs::remove_file(self.path(round))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::rollout::tests::group;

    fn rounds(job: &Path) -> Vec<u64> {
        SampleLog::open(job, 64).rounds.iter().map(|(round, _)| *round).collect()
    }

    fn lines(job: &Path, round: u64) -> Vec<SampledGroup> {
        let text = fs::read_to_string(SampleLog::open(job, 64).path(round)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn of_each_step_some_completions_are_kept_evenly_spread_and_read_back() {
        let job = tempfile::tempdir().unwrap();
        let groups: Vec<RolloutGroup> =
            (0..100).map(|row| RolloutGroup { row, ..group(&[1.0, 0.0, 0.0, 1.0]) }).collect();
        let mut log = SampleLog::open(job.path(), 64);
        log.keep(0, 1, &groups, |token| format!("<{token}>"));
        let kept = lines(job.path(), 0);
        assert_eq!(
            kept.iter().map(|kept| kept.group.row).collect::<Vec<_>>(),
            (0..16).map(|n| n * 100 / 16).collect::<Vec<_>>()
        );
        assert_eq!(kept[0].group, groups[0]);
        let texts: Vec<String> = groups[0].rollouts[1].tokens.iter().map(|token| format!("<{token}>")).collect();
        assert_eq!(kept[0].pieces[1], texts);
        log.keep(1, 30, &groups, |_| String::new());
        assert_eq!(lines(job.path(), 1).len(), 100, "no more than there are");
        SampleLog::open(job.path(), 0).keep(2, 1, &groups, |_| String::new());
        log.keep(2, 1, &[], |_| String::new());
        assert_eq!(rounds(job.path()), [0, 1]);
    }

    #[test]
    fn a_long_job_keeps_its_first_and_its_newest_rounds_and_a_bounded_number() {
        let job = tempfile::tempdir().unwrap();
        let groups = [group(&[1.0])];
        let mut log = SampleLog::open(job.path(), 1);
        for round in 0..3000 {
            log.keep(round, 1, &groups, |_| String::new());
        }
        // A resumed attempt repeats a few, and goes on with what is there.
        let mut log = SampleLog::open(job.path(), 1);
        for round in 2990..3010 {
            log.keep(round, 1, &groups, |_| String::new());
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
        SampleLog::open(job.path(), 64).keep(0, 1, &groups, |_| String::new());
        assert_eq!(lines(job.path(), 0).len(), 15);
        let file = job.path().join("file");
        fs::write(&file, "").unwrap();
        SampleLog::open(&file, 64).keep(0, 1, &groups, |_| String::new());
    }
}
