//! Rollout sets on disk: parts, publishing, reading. While a job samples, its completions are kept in parts, each
//! written whole; at the end the parts become one set, in the form in which it is browsed, downloaded, analysed and
//! trained on.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::actor::ActorSpec;
use super::checkpoint::{self, Saved};
use super::error::EngineError;
use super::rollout::{self, Rollout, RolloutGroup, read_lines};
use crate::job::rollout_set::{GROUPS_FILE, PARTS_FOLDER, ROLLOUTS_FILE, SUMMARY_FILE};
use crate::job::{CheckpointKind, RolloutLine, RolloutSummary};
use crate::objective::frontier::ScoredGroup;
use crate::objective::math::is_zero_spread;

/// Where a job keeps a part.
pub(super) fn part_path(job: &Path, number: u64) -> PathBuf {
    job.join(PARTS_FOLDER).join(format!("{number:06}.jsonl"))
}

/// Whether a part was kept by this or an earlier attempt.
pub fn has_part(job: &Path, number: u64) -> bool {
    part_path(job, number).exists()
}

/// Keeps the completions of one sampling phase; the same phase again replaces them by themselves.
pub fn keep_part<T: Serialize>(job: &Path, number: u64, lines: &[T]) -> Result<(), EngineError> {
    let path = part_path(job, number);
    let folder = job.join(PARTS_FOLDER);
    fs::create_dir_all(&folder).map_err(|e| EngineError::io("creating", &folder, e))?;
    let temporary = path.with_extension("tmp");
    rollout::write(&temporary, lines)?;
    checkpoint::sync(&temporary)?;
    fs::rename(&temporary, &path).map_err(|e| EngineError::io("renaming", &temporary, e))?;
    checkpoint::sync(&folder)
}

/// Makes one set of the first `parts` parts; doing so again gives the same. `step` is the number of optimizer steps that the job has
/// taken.
pub fn publish(spec: &ActorSpec, parts: u64, step: u64) -> Result<Saved, EngineError> {
    let directory = spec.directory.join(format!("rollouts-{}", spec.attempt));
    let saved = checkpoint::save(&directory, spec.manifest(CheckpointKind::Rollouts, step), |dir| {
        let mut set = Writer::create(dir, spec)?;
        for number in 0..parts {
            for group in rollout::read(&part_path(&spec.directory, number))? {
                set.push(&group)?;
            }
        }
        set.finish(dir)
    })?;
    Ok(saved)
}

/// Removes the parts, once the job has ended and nobody needs to make their set again.
pub fn remove_parts(job: &Path) -> Result<(), EngineError> {
    let folder = job.join(PARTS_FOLDER);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(EngineError::io("removing", &folder, error)),
        _ => Ok(()),
    }
}

/// A set in the making; holds numbers of every group, but one group's tokens at a time.
struct Writer {
    path: PathBuf,
    lines: BufWriter<File>,
    scored: Vec<ScoredGroup>,
    summary: RolloutSummary,
    rewarded: bool,
    reward_sum: f64,
    zero_spread: u64,
}

impl Writer {
    fn create(directory: &Path, spec: &ActorSpec) -> Result<Self, EngineError> {
        let path = directory.join(ROLLOUTS_FILE);
        let file = File::create(&path).map_err(|e| EngineError::io("creating", &path, e))?;
        Ok(Self {
            path,
            lines: BufWriter::new(file),
            scored: Vec::new(),
            summary: RolloutSummary { whole_distribution: spec.sampling.is_whole(), ..RolloutSummary::default() },
            rewarded: spec.verifier.is_some(),
            reward_sum: 0.0,
            zero_spread: 0,
        })
    }

    fn push(&mut self, group: &RolloutGroup) -> Result<(), EngineError> {
        for rollout in &group.rollouts {
            let line = line(self.summary.groups, group, rollout);
            serde_json::to_writer(&mut self.lines, &line)
                .map_err(std::io::Error::from)
                .and_then(|()| self.lines.write_all(b"\n"))
                .map_err(|e| EngineError::io("writing", &self.path, e))?;
            self.summary.tokens += rollout.tokens.len() as u64;
            self.reward_sum += rollout.reward;
        }
        self.summary.groups += 1;
        self.summary.rollouts += group.rollouts.len() as u64;
        self.summary.max_step = self.summary.max_step.max(group.step);
        let rewards = group.rewards();
        self.zero_spread += u64::from(!rewards.is_empty() && is_zero_spread(&rewards));
        self.scored.push(group.scored());
        Ok(())
    }

    fn finish(mut self, directory: &Path) -> Result<(), EngineError> {
        self.lines.flush().map_err(|e| EngineError::io("writing", &self.path, e))?;
        if self.rewarded && self.summary.rollouts > 0 {
            self.summary.reward_mean = Some(self.reward_sum / self.summary.rollouts as f64);
            self.summary.zero_spread = Some(self.zero_spread as f64 / self.summary.groups as f64);
        }
        let scored = serde_json::to_vec(&self.scored).map_err(|e| EngineError::Internal(e.to_string()))?;
        checkpoint::write_file(&directory.join(GROUPS_FILE), &scored)?;
        checkpoint::write_json(&directory.join(SUMMARY_FILE), &self.summary)
    }
}

fn line(number: u64, group: &RolloutGroup, rollout: &Rollout) -> RolloutLine {
    RolloutLine {
        group: number,
        sample: rollout.sample,
        row: group.row,
        step: group.step,
        prompt: group.text.clone(),
        prompt_tokens: group.prompt.to_vec(),
        completion: rollout.text.clone(),
        answer: rollout.answer.clone(),
        tokens: rollout.tokens.clone(),
        logprobs: rollout.behavior_logprobs.clone(),
        entropy_sum: rollout.entropy_sum,
        finish: rollout.finish.as_str().to_owned(),
        status: rollout.status.map(|status| status.as_str().to_owned()),
        reward: rollout.status.map(|_| rollout.reward),
    }
}

/// Reads a set to train on. Where its tokens were drawn from the unchanged start model's own distribution, their
/// log-probabilities are also the reference's.
pub fn read(directory: &Path) -> Result<Vec<RolloutGroup>, EngineError> {
    const CODE: &str = "rollout_set_invalid";
    checkpoint::verify(directory).map_err(|error| EngineError::InvalidData {
        code: CODE,
        detail: format!("the rollout set is damaged: {error}; make it again"),
    })?;
    let path = directory.join(SUMMARY_FILE);
    let text = fs::read(&path).map_err(|e| EngineError::io("reading", &path, e))?;
    let broken = |detail: String| EngineError::InvalidData { code: CODE, detail };
    let summary: RolloutSummary =
        serde_json::from_slice(&text).map_err(|e| broken(format!("{} cannot be read: {e}", path.display())))?;
    let mut groups: Vec<RolloutGroup> = Vec::new();
    let mut last = None;
    for line in read_lines::<RolloutLine>(&directory.join(ROLLOUTS_FILE), CODE)? {
        let line = line?;
        if line.logprobs.len() != line.tokens.len() || line.logprobs.iter().any(|l| !l.is_finite()) {
            let place = format!("group {}, sample {}", line.group, line.sample);
            return Err(broken(format!("{place} of the rollout set lacks finite log-probabilities; sample it again")));
        }
        if line.reward.is_some_and(|reward| !reward.is_finite()) || line.prompt_tokens.is_empty() {
            return Err(broken(format!("group {} of the rollout set holds no usable rollout", line.group)));
        }
        if last != Some(line.group) {
            last = Some(line.group);
            groups.push(RolloutGroup {
                row: line.row,
                step: line.step,
                prompt: line.prompt_tokens.clone().into(),
                text: line.prompt.clone(),
                rollouts: Vec::new(),
            });
        }
        let of_reference = summary.whole_distribution && line.step == 0;
        let rollout = Rollout {
            sample: line.sample,
            text: line.completion,
            answer: line.answer,
            reference_logprobs: if of_reference { line.logprobs.clone() } else { Vec::new() },
            behavior_logprobs: line.logprobs,
            tokens: line.tokens,
            entropy_sum: line.entropy_sum,
            finish: line.finish.parse().map_err(|e| broken(format!("a rollout's `finish`: {e}")))?,
            status: line
                .status
                .map(|status| status.parse())
                .transpose()
                .map_err(|e| broken(format!("a rollout's `status`: {e}")))?,
            reward: line.reward.unwrap_or_default(),
        };
        if let Some(group) = groups.last_mut() {
            group.rollouts.push(rollout);
        }
    }
    if groups.is_empty() {
        return Err(broken(String::from("the rollout set is empty")));
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::rollout::tests::group;
    use crate::job::rollout_set::KeptGroup;

    /// Those who browse a running job's completions know parts by a type of their own.
    #[test]
    fn a_kept_part_shows_the_lines_that_the_set_will_have() {
        let directory = tempfile::tempdir().unwrap();
        let group = RolloutGroup { row: 7, step: 3, ..group(&[1.0, 0.25]) };
        keep_part(directory.path(), 0, std::slice::from_ref(&group)).unwrap();
        let text = fs::read_to_string(part_path(directory.path(), 0)).unwrap();
        let kept: KeptGroup = serde_json::from_str(text.trim_end()).unwrap();
        let lines: Vec<RolloutLine> = group.rollouts.iter().map(|rollout| line(0, &group, rollout)).collect();
        assert_eq!(kept.into_lines(), lines);
    }
}
