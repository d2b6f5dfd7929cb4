//! Rollout sets: stored completions with their scores and log-probabilities.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::field::{self, FieldError, Fields};
use super::inference::FinishReason;
use super::spec::{DatasetSpec, MAX_ROLLOUTS, Precision, ResourceSpec, SamplingSpec, check_labels, parse_object};
use super::status::names;

/// The file of a rollout set with one [`RolloutLine`] a line, group after group.
pub const ROLLOUTS_FILE: &str = "rollouts.jsonl";
/// The file of a rollout set with what its analysis needs: a JSON list of `objective::frontier::ScoredGroup`.
pub const GROUPS_FILE: &str = "groups.json";
/// The file of a rollout set with its [`RolloutSummary`].
pub const SUMMARY_FILE: &str = "summary.json";

/// Folder of what a job has kept of its completions so far, within the job's own; it outlives attempts.
pub const PARTS_FOLDER: &str = "parts";

names!(
    /// How a verification ended.
    ScoreStatus {
        /// The completion was judged; the reward says how.
        Ok = "ok",
        /// The completion holds nothing to judge; its reward counts.
        Unparsable = "unparsable",
        /// The verifier could not judge, for example because the expected answer is missing; there is no reward.
        Error = "error",
        /// The verifier did not end in time; there is no reward.
        Timeout = "timeout",
    }
);

/// One sampled and scored completion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rollout {
    /// Number of the completion among those sampled for its prompt.
    pub sample: u32,
    pub text: String,
    /// What the verifier compared; none where it compared nothing.
    #[serde(default)]
    pub answer: Option<String>,
    pub tokens: Vec<u32>,
    /// Log-probability of each token under the distribution it was drawn from.
    pub behavior_logprobs: Vec<f32>,
    /// The same under the model the job started from; empty while unknown.
    pub reference_logprobs: Vec<f32>,
    pub entropy_sum: f64,
    pub finish: FinishReason,
    /// How verification ended; none without a verifier.
    pub status: Option<ScoreStatus>,
    /// 0 without a verifier.
    pub reward: f64,
}

/// The scored completions of one prompt, as training checkpoints and the parts of a set in the making hold them, one
/// group a line. Completions without a verdict are not among them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RolloutGroup {
    /// Number of the row in the data set.
    pub row: usize,
    /// Optimizer steps that the sampling policy had taken.
    pub step: u64,
    pub prompt: Arc<[u32]>,
    /// The prompt as the verifier saw it.
    pub text: String,
    pub rollouts: Vec<Rollout>,
}

impl RolloutGroup {
    /// The lines that the group is in a complete set, of which it is group `number`.
    pub fn lines(&self, number: u64) -> impl Iterator<Item = RolloutLine> {
        self.rollouts.iter().map(move |rollout| RolloutLine {
            group: number,
            sample: rollout.sample,
            row: self.row,
            step: self.step,
            prompt: self.text.clone(),
            prompt_tokens: self.prompt.to_vec(),
            completion: rollout.text.clone(),
            answer: rollout.answer.clone(),
            tokens: rollout.tokens.clone(),
            logprobs: rollout.behavior_logprobs.clone(),
            entropy_sum: rollout.entropy_sum,
            finish: rollout.finish,
            status: rollout.status,
            reward: rollout.status.map(|_| rollout.reward),
        })
    }
}

/// Sampling and scoring without training: what `POST /v1/rollout-sets` takes and, with every default filled in, what
/// a worker runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RolloutSetSpec {
    /// A name for people; need not be unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The model to sample from, as in a job.
    pub model: String,
    /// The rows to sample for are those of `train`, as in a job.
    pub dataset: DatasetSpec,
    /// How completions are scored, as in a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verifier: Option<Value>,
    #[serde(default)]
    pub sampling: SamplingSpec,
    /// Completions per prompt.
    #[serde(default = "default_group_size")]
    #[schemars(range(min = 1, max = 1024))]
    pub group_size: u32,
    /// Prompts; rows are drawn in random order, each once before any comes again.
    #[serde(default = "default_prompts")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub prompts: u64,
    /// What matrix products are computed in, as `train.precision` of a job.
    #[serde(default)]
    pub precision: Precision,
    #[serde(default)]
    pub resources: ResourceSpec,
    /// Jobs with a higher priority are claimed first.
    #[serde(default)]
    pub priority: i32,
    /// The root of every random choice.
    #[serde(default)]
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    pub seed: u64,
    /// Up to 16 pairs of your own.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// The set whose completions are scored again, instead of sampling any; only `POST /v1/rollout-sets/{id}/regrade`
    /// sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regrade_of: Option<String>,
}

fn default_group_size() -> u32 {
    8
}

fn default_prompts() -> u64 {
    128
}

impl RolloutSetSpec {
    /// Reads and checks everything that needs neither the verifier nor the store.
    pub fn parse(value: &Value) -> Result<Self, Vec<FieldError>> {
        let spec: Self = parse_object(value)?;
        let mut fields = Fields::below("");
        fields.require((1..=1024).contains(&spec.group_size), "group_size", "must lie between 1 and 1024");
        fields.require(
            spec.prompts >= 1 && spec.prompts.saturating_mul(u64::from(spec.group_size)) <= MAX_ROLLOUTS,
            "prompts",
            format!("must be at least 1, with at most {MAX_ROLLOUTS} completions in all"),
        );
        field::all([
            fields.finish(),
            spec.sampling.check(),
            spec.dataset.check(),
            spec.resources.check(),
            check_labels(spec.name.as_deref(), spec.seed, &spec.metadata),
        ])?;
        Ok(spec)
    }
}

/// One completion of a rollout set, as it is stored, browsed and downloaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolloutLine {
    /// Number of the completion's group within the set.
    pub group: u64,
    /// Number of the completion within its group.
    pub sample: u32,
    /// Number of the row in its data set.
    pub row: usize,
    /// Optimizer steps that the sampling policy had taken.
    pub step: u64,
    pub prompt: String,
    pub prompt_tokens: Vec<u32>,
    pub completion: String,
    /// What the verifier compared with the expected answer; none where it took nothing out of the completion.
    #[serde(default)]
    pub answer: Option<String>,
    pub tokens: Vec<u32>,
    /// Log-probability of each token under the distribution it was drawn from.
    pub logprobs: Vec<f32>,
    /// Entropy of the model's distribution at temperature 1, in nats, summed over the tokens.
    pub entropy_sum: f64,
    pub finish: FinishReason,
    /// `ok` or `unparsable`; none without a verifier.
    pub status: Option<ScoreStatus>,
    /// None without a verifier.
    pub reward: Option<f64>,
}

/// What a rollout set holds, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RolloutSummary {
    pub groups: u64,
    pub rollouts: u64,
    /// Completion tokens.
    pub tokens: u64,
    /// Mean reward; none without a verifier.
    pub reward_mean: Option<f64>,
    /// Share of groups whose rewards are all equal; none without a verifier.
    pub zero_spread: Option<f64>,
    /// Whether every token was drawn from the model's own distribution: temperature 1, no top_p or top_k.
    pub whole_distribution: bool,
    /// Most optimizer steps that a sampling policy had taken: 0 when all completions come from the model itself.
    pub max_step: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bad_fields_are_named() {
        let base = json!({"model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"}});
        assert_eq!(RolloutSetSpec::parse(&base).unwrap().group_size, 8);
        for (name, value) in [("group_size", json!(0)), ("prompts", json!(1_000_000)), ("seed", json!(1_u64 << 60))] {
            let mut spec = base.clone();
            spec[name] = value;
            assert_eq!(RolloutSetSpec::parse(&spec).unwrap_err()[0].pointer, format!("/{name}"));
        }
    }
}
