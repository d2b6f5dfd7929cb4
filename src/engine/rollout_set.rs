//! Rollout sets on disk: parts, publishing, reading. While a job samples, its completions are kept in parts, each
//! written whole; at the end the parts become one set, in the form in which it is browsed, downloaded, analysed and
//! trained on.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::actor::ActorSpec;
use super::artifact::{self, Saved};
use super::error::EngineError;
use super::rollout::{self, Rollout, RolloutGroup, read_lines};
use crate::job::inference::FinishReason;
use crate::job::rollout_set::{GROUPS_FILE, PART_DIGEST, PARTS_FOLDER, ROLLOUTS_FILE, SUMMARY_FILE, TIMES_FILE};
use crate::job::{ArtifactKind, ArtifactSummary, RolloutLine, RolloutSummary, TurnAnswer};
use crate::objective::frontier::ScoredGroup;
use crate::objective::math::is_zero_spread;

/// Where a job keeps a part.
fn part_path(job: &Path, number: u64) -> PathBuf {
    job.join(PARTS_FOLDER).join(format!("{number:06}.jsonl"))
}

/// Whether a part was kept by this or an earlier attempt, and is as it was.
pub fn has_part(job: &Path, number: u64) -> bool {
    part_path(job, number).exists() && kept_part(job, number).is_ok()
}

/// Keeps the completions of one sampling phase; the same phase again replaces them by themselves.
pub fn keep_part<T: Serialize>(job: &Path, number: u64, lines: &[T]) -> Result<(), EngineError> {
    let path = part_path(job, number);
    let folder = job.join(PARTS_FOLDER);
    fs::create_dir_all(&folder).map_err(|e| EngineError::io("creating", &folder, e))?;
    let temporary = path.with_extension("tmp");
    rollout::write(&temporary, lines)?;
    artifact::sync(&temporary)?;
    // The digest first: a crash in between leaves a part that does not count as kept, and its phase is made again.
    let (digest, temporary_digest) = (path.with_extension(PART_DIGEST), path.with_extension("tmp-digest"));
    artifact::write_synced(&temporary_digest, artifact::digest(&temporary)?.1.as_bytes())?;
    for (from, to) in [(&temporary_digest, &digest), (&temporary, &path)] {
        fs::rename(from, to).map_err(|e| EngineError::io("renaming", from, e))?;
    }
    artifact::sync(&folder)
}

/// The file of a part, which holds what was kept.
pub(super) fn kept_part(job: &Path, number: u64) -> Result<PathBuf, EngineError> {
    let path = part_path(job, number);
    if let Ok(kept) = fs::read_to_string(path.with_extension(PART_DIGEST))
        && kept != artifact::digest(&path)?.1
    {
        let detail = format!("{} does not hold what was kept; submit the job again", path.display());
        return Err(EngineError::InvalidData { code: "data_damaged", detail });
    }
    Ok(path)
}

/// Makes one set of the first `parts` parts; doing so again gives the same. `step` is the number of optimizer steps that the job has
/// taken.
pub fn publish(spec: &ActorSpec, parts: u64, step: u64) -> Result<Saved, EngineError> {
    let directory = spec.directory.join(format!("rollouts-{}", spec.attempt));
    artifact::save(&directory, spec.manifest(ArtifactKind::Rollouts, step), |folder| {
        let mut set = Writer::create(folder.path(), spec)?;
        for number in 0..parts {
            for group in rollout::read(&kept_part(&spec.directory, number)?)? {
                set.push(&group)?;
            }
        }
        Ok(ArtifactSummary::Rollouts(set.finish(folder.path())?))
    })
}

/// A set in the making; holds numbers of every group, but one group's tokens at a time.
struct Writer {
    path: PathBuf,
    lines: BufWriter<File>,
    scored: Vec<ScoredGroup>,
    summary: RolloutSummary,
    /// How long each verdict took.
    seconds: Vec<Option<f64>>,
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
            summary: RolloutSummary {
                entropy_sum: Some(0.0),
                cut: Some(0),
                whole_distribution: spec.sampling.is_whole() && spec.begins_at_model(),
                ..RolloutSummary::default()
            },
            seconds: Vec::new(),
            rewarded: spec.verifier.is_some(),
            reward_sum: 0.0,
            zero_spread: 0,
        })
    }

    fn push(&mut self, group: &RolloutGroup) -> Result<(), EngineError> {
        for line in group.lines(self.summary.groups) {
            serde_json::to_writer(&mut self.lines, &line)
                .map_err(std::io::Error::from)
                .and_then(|()| self.lines.write_all(b"\n"))
                .map_err(|e| EngineError::io("writing", &self.path, e))?;
            self.reward_sum += line.reward.unwrap_or_default();
            self.summary.entropy_sum = self.summary.entropy_sum.map(|sum| sum + line.entropy_sum);
            self.summary.cut = self.summary.cut.map(|count| count + u64::from(line.finish == FinishReason::Length));
        }
        self.summary.tokens += group.rollouts.iter().map(|rollout| rollout.drawn() as u64).sum::<u64>();
        self.seconds.extend(group.rollouts.iter().map(|rollout| rollout.verify_seconds));
        self.summary.groups += 1;
        self.summary.rollouts += group.rollouts.len() as u64;
        self.summary.max_step = self.summary.max_step.max(group.step);
        let rewards = group.rewards();
        self.zero_spread += u64::from(!rewards.is_empty() && is_zero_spread(&rewards));
        self.scored.push(group.scored());
        Ok(())
    }

    fn finish(mut self, directory: &Path) -> Result<RolloutSummary, EngineError> {
        self.lines.flush().map_err(|e| EngineError::io("writing", &self.path, e))?;
        if self.rewarded && self.summary.rollouts > 0 {
            self.summary.reward_mean = Some(self.reward_sum / self.summary.rollouts as f64);
            self.summary.zero_spread = Some(self.zero_spread as f64 / self.summary.groups as f64);
        }
        let scored = serde_json::to_vec(&self.scored).map_err(|e| EngineError::Internal(e.to_string()))?;
        artifact::write_file(&directory.join(GROUPS_FILE), &scored)?;
        if self.rewarded {
            artifact::write_json(&directory.join(TIMES_FILE), &self.seconds)?;
        }
        artifact::write_json(&directory.join(SUMMARY_FILE), &self.summary)?;
        Ok(self.summary)
    }
}

/// Reads a set to train on. Where its tokens were drawn from the unchanged start model's own distribution, their
/// log-probabilities are also the reference's.
pub fn read(directory: &Path) -> Result<Vec<RolloutGroup>, EngineError> {
    const CODE: &str = "rollout_set_invalid";
    artifact::verify(directory).map_err(|error| EngineError::InvalidData {
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
        if !are_within(&line) {
            return Err(broken(format!("group {} of the rollout set has answers outside its completions", line.group)));
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
            proximal_logprobs: Vec::new(),
            behavior_logprobs: line.logprobs,
            tokens: line.tokens,
            entropy_sum: line.entropy_sum,
            finish: line.finish,
            status: line.status,
            reward: line.reward.unwrap_or_default(),
            entropies: Vec::new(),
            detail: line.detail,
            parts: line.parts,
            verify_seconds: None,
            answers: line.answers,
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

/// Whether what was answered between turns stands in order within the completion.
fn are_within(line: &RolloutLine) -> bool {
    let mut until = 0;
    line.answers.iter().all(|TurnAnswer { tokens: [first, end], text, .. }| {
        let follows = until <= *first && first <= end && *end <= line.tokens.len();
        until = *end;
        follows && text[0] <= text[1] && line.completion.get(text[0]..text[1]).is_some()
    })
}
