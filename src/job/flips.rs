//! What scoring a rollout set again changed: how many verdicts flipped, some of them to look at, and what that is worth.

use serde::{Deserialize, Serialize};

/// How the verdicts of a new verifier differ from those before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Flips {
    /// Completions that pass and did not before.
    pub to_pass: u64,
    /// Completions that passed before and do not any more.
    pub to_fail: u64,
    /// Completions that could not be judged, which the new set leaves out.
    pub left_out: u64,
    /// None where the set had no rewards, or fewer than two rows.
    pub pass_at_1: Option<PairedPass>,
    /// The first flips, at most 10.
    pub examples: Vec<Flip>,
}

/// pass@1 of the same completions under both verifiers, compared row by row at a confidence of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedPass {
    /// Rows with completions that have both verdicts, however often each was sampled.
    pub prompts: u64,
    pub before: f64,
    pub after: f64,
    /// Mean of after - before, and its interval.
    pub difference: f64,
    pub low: f64,
    pub high: f64,
    /// Whether enough rows differ for a verdict.
    pub enough: bool,
}

/// A completion that passes under one of two verifiers alone. Its texts are cut off behind their beginnings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flip {
    /// Number of the row in its data set, counted from 0.
    pub row: usize,
    /// Number of the completion among those for its prompt.
    pub sample: u32,
    pub prompt: String,
    pub completion: String,
    pub reward_before: f64,
    pub reward_after: f64,
    /// What the new verifier compared, and why it says so.
    pub answer: Option<String>,
    pub detail: Option<String>,
}
