//! Rollouts: sampled completions with their scores, as they are trained on and stored in checkpoints.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::hash::Hash;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::batch::Sequence;
use super::error::EngineError;
use super::random::Stream;
pub use crate::job::{Rollout, RolloutGroup};
use crate::objective::frontier::{ScoredCompletion, ScoredGroup};
use crate::objective::math::{PASS_MARK, mean};

impl RolloutGroup {
    pub fn rewards(&self) -> Vec<f64> {
        self.rollouts.iter().map(|r| r.reward).collect()
    }

    /// Completions that pass.
    pub fn passed(&self) -> u32 {
        self.rollouts.iter().filter(|r| r.reward >= PASS_MARK).count() as u32
    }

    /// The chance that the answer which most completions give passes, a tie being decided by lot, and how many answers there
    /// are; none where no completion has one.
    pub fn votes(&self) -> Option<(f64, u32)> {
        let mut votes: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
        for rollout in &self.rollouts {
            let Some(answer) = &rollout.answer else { continue };
            let (count, passed) = votes.entry(answer).or_default();
            *count += 1;
            *passed += u32::from(rollout.reward >= PASS_MARK);
        }
        let most = votes.values().map(|(count, _)| *count).max()?;
        let winners = votes.values().filter(|(count, _)| *count == most);
        let chances: Vec<f64> = winners.map(|(count, passed)| f64::from(*passed) / f64::from(*count)).collect();
        Some((mean(&chances), votes.len() as u32))
    }

    /// For each k the chance that the answer which most of k of the completions give passes, if these are drawn at random: the mean
    /// over 1000 draws, or what [`Self::votes`] says where k are all. None where no completion has an answer, and for more than
    /// there are.
    pub fn majorities(&self, ks: &[u32], stream: &Stream) -> BTreeMap<u32, f64> {
        let Some((all, _)) = self.votes() else { return BTreeMap::new() };
        let answers: BTreeSet<&str> = self.rollouts.iter().filter_map(|rollout| rollout.answer.as_deref()).collect();
        let number = |answer: &str| answers.iter().position(|other| *other == answer).unwrap_or_default();
        let mut ballots: Vec<(Option<usize>, bool)> = self
            .rollouts
            .iter()
            .map(|rollout| (rollout.answer.as_deref().map(number), rollout.reward >= PASS_MARK))
            .collect();
        let (count, mut tally) = (ballots.len(), vec![(0, 0); answers.len()]);
        let known = ks.iter().copied().filter(|k| *k as usize <= count);
        let chances = known.map(|k| {
            if k as usize == count {
                return (k, all);
            }
            let drawn = (0..DRAWS).map(|draw| {
                for i in 0..k as usize {
                    let j = i + (stream.uniform(self.row as u64, draw, i as u32) * (count - i) as f64) as usize;
                    ballots.swap(i, j.min(count - 1));
                }
                winner(&ballots[..k as usize], &mut tally)
            });
            (k, drawn.sum::<f64>() / f64::from(DRAWS))
        });
        chances.collect()
    }

    /// Share of completions that pass; 0 for none.
    pub fn solve_rate(&self) -> f64 {
        f64::from(self.passed()) / self.rollouts.len().max(1) as f64
    }

    /// Per completion the sum over its tokens of reference - behavior log-probability; empty while that is unknown.
    pub fn reference_log_ratios(&self) -> Vec<f64> {
        if self.rollouts.iter().any(|r| r.reference_logprobs.len() != r.tokens.len()) {
            return Vec::new();
        }
        let difference = |(reference, behavior): (&f32, &f32)| f64::from(*reference) - f64::from(*behavior);
        self.rollouts
            .iter()
            .map(|r| r.reference_logprobs.iter().zip(&r.behavior_logprobs).map(difference).sum())
            .collect()
    }

    pub fn scored(&self) -> ScoredGroup {
        let sequences = first_equal(self.rollouts.iter().map(|r| &r.tokens));
        let answers = first_equal(self.rollouts.iter().map(|r| r.answer.as_deref().unwrap_or(r.text.trim())));
        let numbers = sequences.into_iter().zip(answers);
        let completions = self
            .rollouts
            .iter()
            .zip(numbers)
            .map(|(r, (sequence, answer))| ScoredCompletion {
                sequence,
                answer,
                reward: r.reward,
                behavior_logprob: r.behavior_logprobs.iter().map(|l| f64::from(*l)).sum(),
                tokens: r.tokens.len() as u32,
            })
            .collect();
        ScoredGroup { completions }
    }
}

/// Draws of some of a prompt's completions, whose mean is off by 0.02 (a standard error) at most.
const DRAWS: u32 = 1000;

/// The chance that the answer with most of some votes passes, a tie being decided by lot; 0 where nobody has voted. `tally` has room for
/// every answer, and is empty again afterwards.
fn winner(ballots: &[(Option<usize>, bool)], tally: &mut [(u32, u32)]) -> f64 {
    let votes = || ballots.iter().filter_map(|(answer, passes)| Some(((*answer)?, *passes)));
    for (answer, passes) in votes() {
        tally[answer].0 += 1;
        tally[answer].1 += u32::from(passes);
    }
    let most = votes().map(|(answer, _)| tally[answer].0).max().unwrap_or(0);
    let (mut winners, mut chances) = (0, 0.0);
    for (answer, _) in votes() {
        let (count, passed) = std::mem::take(&mut tally[answer]);
        if count == most && count > 0 {
            (winners, chances) = (winners + 1, chances + f64::from(passed) / f64::from(count));
        }
    }
    chances / f64::from(winners.max(1))
}

/// For each item the number of the first one that equals it.
fn first_equal<T: Eq + Hash>(items: impl Iterator<Item = T>) -> Vec<u32> {
    let mut first = HashMap::new();
    items.enumerate().map(|(i, item)| *first.entry(item).or_insert(i as u32)).collect()
}

/// Writes groups, or whatever else a job keeps, as JSON lines.
pub fn write<T: Serialize>(path: &Path, lines: &[T]) -> Result<(), EngineError> {
    let run = || -> std::io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        for line in lines {
            serde_json::to_writer(&mut file, line)?;
            file.write_all(b"\n")?;
        }
        file.flush()
    };
    run().map_err(|e| EngineError::io("writing", path, e))
}

/// Reads what [`write()`] wrote.
pub fn read(path: &Path) -> Result<Vec<RolloutGroup>, EngineError> {
    read_lines(path, "checkpoint_corrupt")?.collect()
}

/// The lines of a JSON-lines file, one after the other; a broken one is an error with `code`.
pub(super) fn read_lines<'a, T: serde::de::DeserializeOwned>(
    path: &'a Path,
    code: &'static str,
) -> Result<impl Iterator<Item = Result<T, EngineError>> + use<'a, T>, EngineError> {
    let file = File::open(path).map_err(|e| EngineError::io("opening", path, e))?;
    Ok(BufReader::new(file).lines().map(move |line| {
        let line = line.map_err(|e| EngineError::io("reading", path, e))?;
        serde_json::from_str(&line).map_err(|e| EngineError::InvalidData {
            code,
            detail: format!("{} holds a broken line: {e}", path.display()),
        })
    }))
}

/// A group's completions as sequences without credit.
pub(super) fn sequences(group: &RolloutGroup) -> impl Iterator<Item = Sequence> {
    group.rollouts.iter().map(|rollout| Sequence {
        prompt: Arc::clone(&group.prompt),
        completion: rollout.tokens.clone(),
        loss_mask: rollout.drawn_mask(),
        credit: 0.0,
        behavior_logprobs: rollout.of_drawn(&rollout.behavior_logprobs),
        reference_logprobs: rollout.of_drawn(&rollout.reference_logprobs),
        proximal_logprobs: rollout.of_drawn(&rollout.proximal_logprobs),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::engine::random::Purpose;
    use crate::engine::sampler::FinishReason;
    use crate::verifier::ScoreStatus;

    /// A group of one-token completions with the given rewards.
    pub fn group(rewards: &[f64]) -> RolloutGroup {
        let rollout = |(i, reward): (usize, &f64)| Rollout {
            sample: i as u32,
            text: i.to_string(),
            answer: None,
            tokens: vec![i as u32],
            behavior_logprobs: vec![-1.0],
            reference_logprobs: Vec::new(),
            proximal_logprobs: Vec::new(),
            entropy_sum: 0.5,
            finish: FinishReason::Stop,
            status: Some(ScoreStatus::Ok),
            reward: *reward,
            entropies: Vec::new(),
            detail: None,
            parts: Vec::new(),
            verify_seconds: None,
            answers: Vec::new(),
        };
        RolloutGroup {
            row: 0,
            step: 0,
            prompt: vec![0].into(),
            text: String::from("p"),
            rollouts: rewards.iter().enumerate().map(rollout).collect(),
        }
    }

    /// Every k of the completions, one by one, beside what is drawn.
    #[test]
    fn the_majority_of_some_completions_is_the_mean_over_those_that_can_be_drawn() {
        let mut group = group(&[1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        let answers = [Some("7"), Some("7"), Some("3"), Some("3"), Some("5"), None];
        for (rollout, answer) in group.rollouts.iter_mut().zip(answers) {
            rollout.answer = answer.map(str::to_owned);
        }
        let stream = Stream::new(1, Purpose::Votes, 0);
        let drawn = group.majorities(&[1, 2, 3, 4, 5, 6, 7], &stream);
        for k in 1..=5_u32 {
            let subsets = (0_u32..1 << 6).filter(|set| set.count_ones() == k);
            let chances: Vec<f64> = subsets
                .map(|set| {
                    let some = group.rollouts.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
                    let rollouts = some.map(|(_, rollout)| rollout.clone()).collect();
                    RolloutGroup { rollouts, ..group.clone() }.votes().map_or(0.0, |(chance, _)| chance)
                })
                .collect();
            let exact = mean(&chances);
            assert!((exact - drawn[&k]).abs() < 0.05, "{k}: {} for {exact}", drawn[&k]);
        }
        assert_eq!(drawn.get(&6), Some(&0.5), "two answers have as many votes");
        assert_eq!(drawn.get(&7), None);
        group.rollouts.iter_mut().for_each(|rollout| rollout.answer = None);
        assert!(group.majorities(&[2], &stream).is_empty());
    }

    #[test]
    fn stored_rollouts_come_back_bit_for_bit() {
        let mut group = group(&[1.0, 0.1 + 0.2]);
        let numbers = [0.1_f32, -1.0e-30, f32::MIN_POSITIVE, -12.345_678, 1.0 / 3.0];
        group.rollouts[0].behavior_logprobs = numbers.to_vec();
        group.rollouts[1].entropy_sum = std::f64::consts::PI;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("rollouts.jsonl");
        write(&path, &[group.clone(), group.clone()]).unwrap();
        assert_eq!(read(&path).unwrap(), [group.clone(), group]);
    }

    /// A number read back one unit off would make a resumed run another run.
    #[test]
    fn every_number_survives_json() {
        for i in 0..10_000_u64 {
            let number = f64::from_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 2);
            let text = serde_json::to_string(&number).unwrap();
            assert_eq!(serde_json::from_str::<f64>(&text).unwrap().to_bits(), number.to_bits(), "{text}");
        }
    }

    #[test]
    fn equal_completions_and_answers_are_recognised() {
        let mut group = group(&[1.0, 1.0, 0.0, 1.0]);
        group.rollouts[2].tokens = vec![0];
        group.rollouts[3].text = String::from(" 1");
        let scored = group.scored();
        assert_eq!(scored.completions.iter().map(|c| c.sequence).collect::<Vec<_>>(), [0, 1, 0, 3]);
        assert_eq!(scored.completions.iter().map(|c| c.answer).collect::<Vec<_>>(), [0, 1, 2, 1]);
    }
}
