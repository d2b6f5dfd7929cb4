//! Rollout sets: stored completions with their scores and log-probabilities.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::inference::FinishReason;
use super::status::names;

/// The file of a rollout set with one [`RolloutLine`] a line, group after group.
pub const ROLLOUTS_FILE: &str = "rollouts.jsonl";
/// The file of a rollout set with what its analysis needs: a JSON list of `objective::frontier::ScoredGroup`.
pub const GROUPS_FILE: &str = "groups.json";
/// The file of a rollout set with how long each verdict took, a JSON list in the order of the completions; there with a
/// verifier. It is apart because it differs from run to run, and the completions do not.
pub const TIMES_FILE: &str = "verify_seconds.json";
/// The file of a rollout set with its [`RolloutSummary`].
pub const SUMMARY_FILE: &str = "summary.json";

/// Folder of what a job has kept of its completions so far, within the job's own; it outlives attempts.
pub const PARTS_FOLDER: &str = "parts";
/// Folder of a sample of what a training job samples, within the job's own; it is there as long as the job.
pub const SAMPLE_FOLDER: &str = "sample";
/// The extension of the file beside a part that holds the SHA-256 of its bytes, in hexadecimal.
pub const PART_DIGEST: &str = "sha256";

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
    /// The same under the policy that the steps of the phase began with; empty where nobody asks for it. It is written all the
    /// same, since ranks send each other fields by their places.
    #[serde(default)]
    pub proximal_logprobs: Vec<f32>,
    pub entropy_sum: f64,
    pub finish: FinishReason,
    /// How verification ended; none without a verifier.
    pub status: Option<ScoreStatus>,
    /// 0 without a verifier.
    pub reward: f64,
    /// Entropy at each token, in nats; empty in what is kept to learn from.
    #[serde(default)]
    pub entropies: Vec<f32>,
    /// One sentence of the verifier: the reason of its verdict.
    #[serde(default)]
    pub detail: Option<String>,
    /// The verdicts that this one is made of.
    #[serde(default)]
    pub parts: Vec<RewardPart>,
    /// How long the verdict took; none in what is kept to learn from, and without a verifier.
    #[serde(default)]
    pub verify_seconds: Option<f64>,
    /// What an environment answered, in order; empty without one.
    #[serde(default)]
    pub answers: Vec<TurnAnswer>,
}

/// What an environment answered when a turn of the model had ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnAnswer {
    /// The places of its tokens among those of the completion, from the first to behind the last; none where it said nothing.
    /// They were not drawn, so that their log-probabilities and entropies are 0, and nothing is learnt of them.
    pub tokens: [usize; 2],
    /// The places of its bytes in the text of the completion.
    pub text: [usize; 2],
    /// What the turn earned, where the environment gives rewards.
    pub reward: Option<f64>,
}

impl Rollout {
    /// Whether the policy has drawn the token at a place.
    fn is_drawn(&self, place: usize) -> bool {
        !self.answers.iter().any(|answer| (answer.tokens[0]..answer.tokens[1]).contains(&place))
    }

    /// For each token whether the policy has drawn it; empty where it has drawn all.
    pub fn drawn_mask(&self) -> Vec<bool> {
        if self.drawn() == self.tokens.len() {
            return Vec::new();
        }
        (0..self.tokens.len()).map(|place| self.is_drawn(place)).collect()
    }

    /// How many of its tokens the policy has drawn.
    pub fn drawn(&self) -> usize {
        self.tokens.len() - self.answers.iter().map(|answer| answer.tokens[1] - answer.tokens[0]).sum::<usize>()
    }

    /// The tokens that the policy has drawn.
    pub fn drawn_tokens(&self) -> impl Iterator<Item = u32> {
        let mask = self.drawn_mask();
        let is_drawn = move |place: usize| mask.get(place).copied().unwrap_or(true);
        self.tokens.iter().enumerate().filter_map(move |(place, token)| is_drawn(place).then_some(*token))
    }

    /// Of values of all its tokens those of tokens that the policy has drawn; none of none.
    pub fn of_drawn(&self, values: &[f32]) -> Vec<f32> {
        let mask = self.drawn_mask();
        let drawn = |(place, value): (usize, &f32)| mask.get(place).copied().unwrap_or(true).then_some(*value);
        values.iter().enumerate().filter_map(drawn).collect()
    }

    /// The opposite: a value for each token from those of the tokens that the policy has drawn, 0 elsewhere; none from none.
    pub fn over_all(&self, values: Vec<f32>) -> Vec<f32> {
        let mask = self.drawn_mask();
        if values.is_empty() || mask.is_empty() {
            return values;
        }
        let mut values = values.into_iter();
        mask.into_iter().map(|is_drawn| if is_drawn { values.next().unwrap_or_default() } else { 0.0 }).collect()
    }
}

/// One of the verdicts that the verdict on a completion is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RewardPart {
    pub name: String,
    pub status: ScoreStatus,
    /// None where it could not be judged.
    pub reward: Option<f64>,
    #[serde(default)]
    pub detail: Option<String>,
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
    /// The group without what only people look at; the same however often it is sampled.
    pub fn bare(self) -> Self {
        let mut bare = self.without_entropies();
        for rollout in &mut bare.rollouts {
            (rollout.detail, rollout.verify_seconds) = (None, None);
            rollout.parts.iter_mut().for_each(|part| part.detail = None);
        }
        bare
    }

    /// The group as a set holds it.
    pub fn without_entropies(mut self) -> Self {
        self.rollouts.iter_mut().for_each(|rollout| rollout.entropies.clear());
        self
    }

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
            detail: rollout.detail.clone(),
            parts: rollout.parts.clone(),
            answers: rollout.answers.clone(),
        })
    }
}

/// A group with what people want to see of its tokens, as the sample of a job's completions holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampledGroup {
    #[serde(flatten)]
    pub group: RolloutGroup,
    /// Of each completion the text of each token; empty in what is kept for other ends.
    #[serde(default)]
    pub pieces: Vec<Vec<String>>,
    /// Of each completion what the last step that trained on it made of it; empty before there is one.
    #[serde(default)]
    pub learned: Vec<Option<Learned>>,
    /// Completions of the same prompt that could not be judged, with why; nothing is trained on them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unscored: Vec<Rollout>,
}

/// What a step made of a completion, token by token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    /// The step, counted from 1.
    pub step: u64,
    /// What each token was credited with.
    pub credit: Vec<f32>,
    /// Log-probability of each token under the policy before the step.
    pub policy_logprobs: Vec<f32>,
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
    /// The reason of the verdict in a sentence, where the verifier gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The verdicts that this one is made of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<RewardPart>,
    /// What an environment answered between the turns of the completion.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<TurnAnswer>,
}

/// What a rollout set holds, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RolloutSummary {
    pub groups: u64,
    pub rollouts: u64,
    /// Completion tokens that were drawn.
    pub tokens: u64,
    /// Mean reward; none without a verifier.
    pub reward_mean: Option<f64>,
    /// Share of groups whose rewards are all equal; none without a verifier.
    pub zero_spread: Option<f64>,
    /// Whether every token was drawn from the model's own distribution: temperature 1, no top_p or top_k, and no weights or cache
    /// of fewer bits, nor an adapter that it started from.
    pub whole_distribution: bool,
    /// Most optimizer steps that a sampling policy had taken: 0 when all completions come from the model itself.
    pub max_step: u64,
    /// Sum over all tokens of the entropy of the model's distribution at temperature 1, in nats; none in sets of before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entropy_sum: Option<f64>,
    /// Completions that ended at the most tokens or the end of the context; none in the same sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<u64>,
}

impl RolloutSummary {
    /// Mean entropy of a token, in nats.
    pub fn entropy(&self) -> Option<f64> {
        self.entropy_sum.map(|sum| sum / self.tokens.max(1) as f64)
    }

    /// The share of completions that were cut off.
    pub fn cut_off(&self) -> Option<f64> {
        self.cut.map(|count| count as f64 / self.rollouts.max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Five tokens, of which an environment wrote the third and the fourth.
    fn rollout() -> Rollout {
        let text = json!({"sample": 0, "text": "ab", "tokens": [1, 2, 3, 4, 5], "behavior_logprobs": [], "finish": "stop",
                          "reference_logprobs": [], "entropy_sum": 0.0, "status": null, "reward": 0.0,
                          "answers": [{"tokens": [2, 4], "text": [1, 1], "reward": null}]});
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn values_of_drawn_tokens_come_back_to_their_places() {
        let rollout = rollout();
        assert_eq!((rollout.drawn(), rollout.drawn_mask()), (3, vec![true, true, false, false, true]));
        let all = rollout.over_all(vec![1.0, 2.0, 3.0]);
        assert_eq!(all, [1.0, 2.0, 0.0, 0.0, 3.0]);
        assert_eq!(rollout.of_drawn(&all), [1.0, 2.0, 3.0]);
        assert!(rollout.of_drawn(&[]).is_empty() && rollout.over_all(Vec::new()).is_empty());
    }

    #[test]
    fn a_completion_of_one_turn_is_all_drawn() {
        let rollout = Rollout { answers: Vec::new(), ..rollout() };
        assert_eq!((rollout.drawn(), rollout.drawn_mask()), (5, Vec::new()));
        assert_eq!(rollout.over_all(vec![1.0; 5]), rollout.of_drawn(&[1.0; 5]));
    }
}
