//! Evaluations: how often a model's completions pass on held-out rows, prompt by prompt, so that two models can be
//! compared on the same prompts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inference::FinishReason;
use super::rollout_set::ScoreStatus;

/// The file of an evaluation with one [`PromptResult`] a line, in the order of the prompts.
pub const RESULTS_FILE: &str = "results.jsonl";
/// The file of an evaluation with the [`EvaluatedCompletion`]s of a prompt a line, as a list, in the same order.
pub const COMPLETIONS_FILE: &str = "completions.jsonl";
/// The file of an evaluation with its [`EvaluationSummary`].
pub const EVALUATION_FILE: &str = "evaluation.json";
/// Characters of a prompt that its result repeats.
pub const PROMPT_CHARACTERS: usize = 1000;

/// Completions of a prompt that are kept, the first ones.
pub const COMPLETIONS_KEPT: usize = 16;
/// Bytes of completions that an evaluation keeps; prompts behind them have none.
pub const COMPLETIONS_BYTES: usize = 256 << 20;
/// Characters of a completion that are kept.
pub const COMPLETION_CHARACTERS: usize = 8000;

/// A completion as an evaluation keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvaluatedCompletion {
    /// Its number among those of its prompt.
    pub sample: u32,
    /// The beginning of its text.
    pub completion: String,
    /// What the verifier compared; none where it took nothing out of the completion.
    pub answer: Option<String>,
    pub tokens: u64,
    pub finish: FinishReason,
    pub status: Option<ScoreStatus>,
    pub reward: f64,
    /// The reason of the verdict in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// What became of one prompt's completions. Those that the verifier could not judge are not counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptResult {
    /// Number of the row in its data set.
    pub row: usize,
    /// Of the row's columns, hexadecimal: equal rows have equal digests, whichever data set they are in.
    pub row_sha256: String,
    /// The beginning of the prompt as the verifier saw it.
    pub prompt: String,
    /// Completions with a verdict.
    pub samples: u32,
    /// Completions that pass: with a reward of at least 0.5.
    pub passed: u32,
    /// Completions that held nothing to judge; their reward counts.
    pub unparsable: u32,
    /// The chance that the answer which most of its completions give passes, a tie being decided by lot; none where no
    /// completion has an answer, or of versions before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub majority: Option<f64>,
    /// The same for so many of its completions, drawn at random, for each k of `pass_at`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub majority_at: BTreeMap<u32, f64>,
    /// How many answers they give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct_answers: Option<u32>,
    pub reward_sum: f64,
    /// Tokens of the completions.
    pub tokens: u64,
    /// Completions cut at the length limit.
    pub truncated: u32,
    /// In the making only: a complete evaluation has them in a file of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completions: Vec<EvaluatedCompletion>,
}

impl PromptResult {
    /// Whether at least half of its completions pass; none where no completion has a verdict.
    pub fn is_solved(&self) -> Option<bool> {
        (self.samples > 0).then_some(2 * self.passed >= self.samples)
    }
}

/// The probability that at least one of k completions passes, with its 95 % interval over prompts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PassRate")]
pub struct PassAtK {
    pub k: u32,
    pub mean: f64,
    /// None of what was found before intervals had bounds of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// From the mean to the bound that is further away.
    pub half_width: f64,
}

impl PassAtK {
    pub fn new(k: u32, mean: f64, low: f64, high: f64) -> Self {
        Self { k, mean, low: Some(low), high: Some(high), half_width: (mean - low).max(high - mean) }
    }
}

/// What an evaluation in the course of training found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyEvaluation {
    /// Optimizer steps that the evaluated policy has taken.
    pub step: u64,
    pub prompts: u64,
    /// Completions per prompt.
    pub samples: u32,
    pub pass_at: Vec<PassAtK>,
    /// maj@k for k = `samples`: the share of prompts whose most frequent answer passes, with its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub majority: Option<PassAtK>,
    /// Distinct answers as a share of the completions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct_answers: Option<f64>,
    /// Mean reward of all completions.
    pub reward_mean: f64,
    /// Mean completion length in tokens.
    pub tokens_mean: f64,
    /// Share of completions cut at the length limit.
    pub truncated: f64,
    /// How many completions of each prompt passed, for comparing jobs prompt by prompt: of the last evaluation of at most 1,024
    /// prompts, where all completions were judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<u32>,
}

/// Prompts of which it is kept what passed.
pub const PASSED_KEPT: usize = 1024;

/// What an evaluation found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvaluationSummary {
    pub prompts: u64,
    /// Completions per prompt.
    pub samples: u32,
    /// Completions with a verdict.
    pub completions: u64,
    /// Completions that the verifier could not judge; they are in no other number.
    pub unscored: u64,
    /// Completions that pass: with a reward of at least 0.5.
    pub passed: u64,
    /// Completions that held nothing to judge; their reward counts.
    pub unparsable: u64,
    pub pass_at: Vec<PassAtK>,
    /// maj@k for k = `samples`: the share of prompts whose most frequent answer passes, with its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub majority: Option<PassAtK>,
    /// maj@k for each k of `pass_at`, each prompt's over k of its completions that are drawn at random, 1000 times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub majority_at: Vec<PassAtK>,
    /// Distinct answers as a share of the completions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct_answers: Option<f64>,
    /// Mean reward of all completions.
    pub reward_mean: f64,
    /// Mean completion length in tokens.
    pub tokens_mean: f64,
    /// Share of completions cut at the length limit.
    pub truncated: f64,
    /// `sha256:` and the digest of the digests of all rows: evaluations of the same rows have the same.
    pub rows_digest: String,
}
