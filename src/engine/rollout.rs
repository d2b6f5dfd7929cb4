//! Rollouts: sampled completions with their scores and credits, as they are trained on and stored in checkpoints.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::batch::Sequence;
use super::error::EngineError;
use super::sampler::FinishReason;
use crate::objective::frontier::{ScoredCompletion, ScoredGroup};
use crate::verifier::ScoreStatus;

/// One sampled and scored completion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rollout {
    pub tokens: Vec<u32>,
    pub behavior_logprobs: Vec<f32>,
    pub entropy_sum: f64,
    pub finish: FinishReason,
    pub status: ScoreStatus,
    /// Meaningful when `status` is a verdict.
    pub reward: f64,
}

/// The scored completions of one prompt. Completions without a verdict are not among them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RolloutGroup {
    /// Number of the row in the data set.
    pub row: usize,
    pub prompt: Arc<[u32]>,
    pub rollouts: Vec<Rollout>,
    /// The objective's credits; none when it leaves the group out.
    pub credits: Option<Vec<f64>>,
}

impl RolloutGroup {
    pub fn rewards(&self) -> Vec<f64> {
        self.rollouts.iter().map(|r| r.reward).collect()
    }

    /// What the group contributes to a training step.
    pub fn sequences(&self) -> Vec<Sequence> {
        let credits = self.credits.as_deref().unwrap_or_default();
        self.rollouts
            .iter()
            .zip(credits)
            .map(|(rollout, credit)| Sequence {
                prompt: Arc::clone(&self.prompt),
                completion: rollout.tokens.clone(),
                credit: *credit as f32,
                behavior_logprobs: rollout.behavior_logprobs.clone(),
            })
            .collect()
    }

    pub fn scored(&self) -> ScoredGroup {
        let first = |equal: &dyn Fn(&Rollout) -> bool| self.rollouts.iter().position(equal).unwrap_or(0) as u32;
        let completions = self
            .rollouts
            .iter()
            .map(|r| ScoredCompletion {
                sequence: first(&|other| other.tokens == r.tokens),
                answer: first(&|other| other.tokens == r.tokens),
                reward: r.reward,
                behavior_logprob: r.behavior_logprobs.iter().map(|l| f64::from(*l)).sum(),
            })
            .collect();
        ScoredGroup { completions }
    }
}

/// Writes groups as JSON lines.
pub fn write(path: &Path, groups: &[RolloutGroup]) -> Result<(), EngineError> {
    let run = || -> std::io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        for group in groups {
            serde_json::to_writer(&mut file, group)?;
            file.write_all(b"\n")?;
        }
        file.flush()
    };
    run().map_err(|e| EngineError::io("writing", path, e))
}

/// Reads what [`write()`] wrote.
pub fn read(path: &Path) -> Result<Vec<RolloutGroup>, EngineError> {
    let file = File::open(path).map_err(|e| EngineError::io("opening", path, e))?;
    BufReader::new(file)
        .lines()
        .map(|line| {
            let line = line.map_err(|e| EngineError::io("reading", path, e))?;
            serde_json::from_str(&line).map_err(|e| EngineError::InvalidData {
                code: "checkpoint_corrupt",
                detail: format!("{} holds a broken line: {e}", path.display()),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_rollouts_come_back_bit_for_bit() {
        let numbers = [0.1_f32, -1.0e-30, f32::MIN_POSITIVE, -12.345_678, 1.0 / 3.0];
        let rollout = Rollout {
            tokens: vec![1, 2, 3],
            behavior_logprobs: numbers.to_vec(),
            entropy_sum: std::f64::consts::PI,
            finish: FinishReason::Stop,
            status: ScoreStatus::Ok,
            reward: 1.0,
        };
        let group =
            RolloutGroup { row: 7, prompt: vec![4, 5].into(), rollouts: vec![rollout], credits: Some(vec![0.1 + 0.2]) };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("rollouts.jsonl");
        write(&path, &[group.clone(), group.clone()]).unwrap();
        assert_eq!(read(&path).unwrap(), [group.clone(), group]);
    }
}
