//! The sections of specs: data, training and evaluation, each with defaults and bounds. Those with files
//! of their own are named here too; the specs that they are sections of are in [`crate::spec`].

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RolloutSetId;
use super::bounds;
pub use super::checkpoint::{CheckpointSpec, WeightDtype};
use super::curriculum::is_usual;
pub use super::curriculum::{Curriculum, RowOrder, RowSampling};
use super::field::{self, FieldError, Fields};
pub use super::optimizer::{Masters, MomentState, OptimizerKind, OptimizerSpec, Schedule};
pub use super::resources::ResourceSpec;
pub use super::sampling::{SampledCache, SampledWeights, SamplingSpec};

/// The most optimizer steps one job may take.
pub const MAX_STEPS: u64 = 1_000_000;
/// The most completions one sampling phase may produce; a rollout set is held in memory.
pub const MAX_ROLLOUTS: u64 = 1_000_000;

/// Which rows are used and how they become prompts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatasetSpec {
    /// Rows to train on: a data set (`ds_...`, its latest version), a version (`dsv_...`), or a built-in one, such as
    /// `builtin:arithmetic`, `builtin:arithmetic-slips` (the same with careless completions, for `sft`), or
    /// `builtin:countdown?difficulty=3&seed=7`. Of data that was split these are the rows that are not
    /// held out.
    pub train: String,
    /// Held-out rows for evaluation; of data that was split, those that are held out. By default those of `train`, where it
    /// was split, as built-ins are; otherwise nothing is evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eval: Option<String>,
    /// How a `prompt` column becomes text for the model.
    #[serde(default)]
    pub format: PromptFormat,
    /// A system message put before every prompt (chat format only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Text around a plain prompt; `{prompt}` stands for the row's prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65_536))]
    pub template: Option<String>,
    /// A chat template in Jinja to use in the place of the model's own; the finished model carries it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 65_536))]
    pub chat_template: Option<String>,
    /// Have the model reason before it answers, or not, where its chat template knows both (`enable_thinking`). With
    /// true, verifiers judge what follows the last `</think>` of a completion, and nothing where there is none. By
    /// default true for such a template, and nothing for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<bool>,
    /// The longest prompt in tokens; a longer one is an error. By default what leaves room in the model's context. With
    /// `sampling.max_new_tokens` it makes the longest sequence, at which completions of rows are cut, and from which
    /// rotary positions that depend on length (`dynamic`, `longrope`) are chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 16_777_216))]
    pub max_prompt_tokens: Option<u32>,
    /// What `sft` learns of a row's conversation.
    #[serde(default, skip_serializing_if = "is_last")]
    pub train_on: TrainOn,
    /// The order in which a job that trains goes through the rows.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub order: RowOrder,
    /// The column that `easy_first` goes by: a number in every row, the smaller the easier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub difficulty_column: Option<String>,
    /// How often each row comes in a job that samples what it trains on.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub sampling: RowSampling,
    /// Train on so many of the rows, which the seed chooses at random; by default on all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 134_217_728))]
    pub rows: Option<u64>,
}

/// Left out of the resolved spec, whose digests are older than the field.
fn is_last(train_on: &TrainOn) -> bool {
    *train_on == TrainOn::Last
}

/// What is learnt of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrainOn {
    /// The completion, which answers the last message.
    #[default]
    Last,
    /// Every message of the assistant, and the completion.
    AllAssistant,
}

/// How a row's prompt becomes text for the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptFormat {
    /// `chat` when the model has a chat template, otherwise `text`.
    #[default]
    Auto,
    /// Through the model's chat template, as one user message (or the row's `messages`).
    Chat,
    /// As it stands.
    Text,
}

/// How rows become prompts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PromptSpec {
    pub format: PromptFormat,
    /// A system message put before every prompt (chat format only).
    pub system: Option<String>,
    /// Text around a plain prompt; `{prompt}` stands for the row's prompt.
    pub template: Option<String>,
    /// In the place of the model's own chat template.
    pub chat_template: Option<String>,
    /// Whether the model is to reason before it answers, where that is said.
    pub thinking: Option<bool>,
    /// The longest prompt in tokens.
    pub max_prompt_tokens: Option<u32>,
    pub train_on: TrainOn,
}

/// What ends the reasoning in a completion.
pub const THOUGHT_END: &str = "</think>";

impl PromptSpec {
    /// What of a completion is judged: all of it, or behind the reasoning.
    pub fn answer<'a>(&self, completion: &'a str) -> &'a str {
        match (self.thinking, completion.rfind(THOUGHT_END)) {
            (Some(true), Some(at)) => &completion[at + THOUGHT_END.len()..],
            (Some(true), None) => "",
            (Some(false) | None, _) => completion,
        }
    }

    /// The longest sequence of prompt and completion for a model with a context of so many tokens.
    pub fn longest(&self, max_new_tokens: u32, context: usize) -> usize {
        self.max_prompt_tokens.map_or(context, |prompt| (prompt as usize + max_new_tokens as usize).min(context))
    }

    /// Whether a template has a place for the prompt.
    pub fn is_template(template: &str) -> bool {
        template.contains("{prompt}")
    }
}

/// How much is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TrainSpec {
    /// Optimizer steps in all.
    #[schemars(range(min = 1, max = MAX_STEPS))]
    pub steps: u64,
    /// Prompts (for `sft`: rows) in one optimizer step.
    #[schemars(range(min = 1, max = 65_536))]
    pub prompts_per_step: u32,
    /// How often each sampled completion is trained on; for `bolt` the epochs over a round's completions.
    #[schemars(range(min = 1, max = 1024))]
    pub updates_per_rollout: u32,
    /// Optimizer steps that the policy may be ahead of the one that sampled a completion. A sampling phase serves up
    /// to `(max_staleness + 1) / (max_lag + 1)` steps; by default as few as `updates_per_rollout` allows, and with `rounds` as many as
    /// a round has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = MAX_STEPS - 1))]
    pub max_staleness: Option<u64>,
    /// Sampling phases by which the policy that is trained is ahead of the one that samples for it, where completions are
    /// sampled as they are needed: each phase is sampled so many phases before it is trained on, and the first ones
    /// by the model itself. With 0 each phase is sampled by the policy that is trained on it.
    #[serde(skip_serializing_if = "is_none")]
    #[schemars(range(max = 8))]
    pub max_lag: u32,
    /// Compute `kl/reference`, the distance from the model the job started from, even when the objective does not
    /// need it: one more forward pass over each sampled completion, and a second copy of the weights unless an adapter is
    /// trained beside them. Turn it off to save both.
    pub track_reference: bool,
    /// Tokens in one forward and backward pass; a step is as many passes as it needs. Bounds the memory. `auto` takes
    /// what fits the memory that is free when the job first starts.
    pub micro_batch_tokens: MicroBatchTokens,
    /// What matrix products are computed in, when sampling and when training. Sums and updates are f32 always, and weights
    /// are what `optimizer.masters` says.
    pub precision: Precision,
    /// Compute each layer's intermediate results again in the backward pass instead of keeping them: about a third
    /// more time, a fraction of the memory, the same bits. `auto` does so where no device has the memory to keep them.
    pub recompute: Recompute,
    /// Weight of the load-balancing loss of a mixture of experts, which keeps the router from sending all tokens to
    /// few of them: of its mean over tokens and layers, taken within each sequence. 0 leaves it out; 0.001 is common.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub router_aux_loss_coef: f64,
}

/// A number of tokens, or `"auto"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum MicroBatchTokens {
    Auto(Auto),
    Tokens(#[schemars(range(min = 1, max = 1_048_576))] u32),
}

/// The word `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Auto {
    Auto,
}

/// Yes, no, or `"auto"`, which is decided when the job is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Recompute {
    Auto(Auto),
    Set(bool),
}

impl Recompute {
    pub fn is_on(self) -> bool {
        self == Self::Set(true)
    }
}

/// What the factors of matrix products are rounded to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    #[default]
    F32,
    /// bf16 with sums in f32; about twice as fast on processors with AVX512-BF16.
    Bf16,
}

impl Default for TrainSpec {
    fn default() -> Self {
        Self {
            steps: 100,
            prompts_per_step: 16,
            updates_per_rollout: 1,
            max_staleness: None,
            max_lag: 0,
            track_reference: true,
            micro_batch_tokens: MicroBatchTokens::Auto(Auto::Auto),
            precision: Precision::F32,
            recompute: Recompute::Auto(Auto::Auto),
            router_aux_loss_coef: 0.0,
        }
    }
}

/// What is usual is not written, as in [`RolloutSpec`].
fn is_none(count: &u32) -> bool {
    *count == 0
}

/// The same.
fn is_false(flag: &bool) -> bool {
    !flag
}

/// The same.
fn is_zero(coefficient: &f64) -> bool {
    *coefficient == 0.0
}

/// Stored completions: kept for later, or used instead of sampling. `R` is how the set is named: by a text that may be
/// wrong, or by the id that it was found to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, bound(deserialize = "R: Deserialize<'de>"))]
#[schemars(rename = "RolloutSpec", description = "Stored completions: kept for later, or used instead of sampling.")]
pub struct RolloutSpec<R = String> {
    /// Keep every completion that the job samples for training as a rollout set.
    pub keep: bool,
    /// Completions of each step that are kept to be looked at where not all are, as far as 256 MiB go; 0 keeps none.
    #[serde(skip_serializing_if = "is_usual_sample")]
    #[schemars(range(max = 1024))]
    pub sample: u32,
    /// Replace prompts whose completions all earn the same, from which comparisons learn nothing, by other prompts, and
    /// these in turn, at most so many times a sampling phase (dynamic sampling, arXiv 2503.14476); what still teaches
    /// nothing then stays.
    #[serde(skip_serializing_if = "is_none")]
    #[schemars(range(max = 16))]
    pub dynamic_sampling: u32,
    /// Train on a stored rollout set (`rs_...`) and sample nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<R>,
    /// The stored set may be of another model with the same tokenizer, for objectives that correct for whoever sampled:
    /// the log-probabilities in it are that model's.
    #[serde(skip_serializing_if = "is_false")]
    pub from_another_model: bool,
    /// Fill a share of every step from a stored rollout set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mix: Option<MixSpec<R>>,
    /// Train on rewards that say nothing of the completions, as a control run of a job does. Evaluations have the
    /// verifier's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<RewardControl>,
}

/// What stands in the place of the rewards of a control run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RewardControl {
    /// The completions of a prompt have exchanged their rewards at random.
    ShuffledRewards,
    /// 0 or 1, each with a chance of one half.
    RandomRewards,
}

const USUAL_SAMPLE: u32 = 64;

/// What is usual is not written, so that specs of before there was a sample keep their digests.
fn is_usual_sample(sample: &u32) -> bool {
    *sample == USUAL_SAMPLE
}

impl<R> Default for RolloutSpec<R> {
    fn default() -> Self {
        Self {
            keep: false,
            sample: USUAL_SAMPLE,
            dynamic_sampling: 0,
            from: None,
            from_another_model: false,
            mix: None,
            control: None,
        }
    }
}

impl<R> RolloutSpec<R> {
    /// The stored set that is used instead of sampling or beside it.
    pub fn stored(&self) -> Option<&R> {
        self.from.as_ref().or(self.mix.as_ref().map(|mix| &mix.rollout_set))
    }

    /// Prompts of a step that come from a stored set rather than from sampling; with a mix at least one of each kind,
    /// where there is more than one.
    pub fn stored_per_step(&self, prompts_per_step: u32) -> u64 {
        let per_step = u64::from(prompts_per_step);
        match (&self.from, &self.mix) {
            (Some(_), _) => per_step,
            (None, Some(mix)) => ((per_step as f64 * mix.share).round() as u64).clamp(1, (per_step - 1).max(1)),
            (None, None) => 0,
        }
    }
}

impl RolloutSpec {
    /// The same with the set that its name was found to be.
    pub fn pin(self, set: Option<RolloutSetId>) -> RolloutSpec<RolloutSetId> {
        RolloutSpec {
            keep: self.keep,
            sample: self.sample,
            dynamic_sampling: self.dynamic_sampling,
            from: self.from.and(set),
            from_another_model: self.from_another_model,
            mix: self.mix.zip(set).map(|(mix, rollout_set)| MixSpec { rollout_set, share: mix.share }),
            control: self.control,
        }
    }
}

impl RolloutSpec<RolloutSetId> {
    /// The same with the set's name.
    pub fn named(&self) -> RolloutSpec {
        RolloutSpec {
            keep: self.keep,
            sample: self.sample,
            dynamic_sampling: self.dynamic_sampling,
            from: self.from.map(|id| id.to_string()),
            from_another_model: self.from_another_model,
            mix: self.mix.as_ref().map(|mix| MixSpec { rollout_set: mix.rollout_set.to_string(), share: mix.share }),
            control: self.control,
        }
    }
}

/// Stored completions among fresh ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MixSpec")]
pub struct MixSpec<R = String> {
    /// The rollout set (`rs_...`).
    pub rollout_set: R,
    /// Share of a step's prompts that comes from it, above 0 and below 1.
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub share: f64,
}

/// How held-out accuracy is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EvalSpec {
    /// Evaluate every so many optimizer steps besides the end; 0 only at the end.
    pub every_steps: u64,
    /// Completions per prompt.
    #[schemars(range(min = 1, max = 1024))]
    pub samples: u32,
    /// The k of pass@k; none may exceed `samples`.
    #[schemars(length(min = 1), inner(range(min = 1)))]
    pub pass_at: Vec<u32>,
    /// Also evaluate before the first step.
    pub before: bool,
    /// Temperature of evaluation; that of `sampling` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 10.0))]
    pub temperature: Option<f64>,
    /// Held-out prompts to use, from the first on.
    #[schemars(range(min = 1, max = 100_000))]
    pub prompts: u32,
    /// A suite (`suite_...` or its name) on which the server evaluates the finished model when the job has succeeded: an
    /// evaluation of its own for each set. `GET /v1/suites/{id}/runs?job=JOB` has what they find.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub suite: Option<String>,
}

impl Default for EvalSpec {
    fn default() -> Self {
        Self {
            every_steps: 0,
            samples: 8,
            pass_at: vec![1, 8],
            before: true,
            temperature: None,
            prompts: 200,
            suite: None,
        }
    }
}

impl RolloutSpec {
    pub fn check(&self, train: &TrainSpec) -> Result<(), Vec<FieldError>> {
        let r = self;
        let mut fields = Fields::below("/rollouts");
        fields.require(
            r.from.is_none() || (r.mix.is_none() && !r.keep),
            "from",
            "samples nothing, so that there is nothing to `keep` or to `mix` with",
        );
        fields.require(
            !r.from_another_model || r.stored().is_some(),
            "from_another_model",
            "says of a stored set whose it may be; name one in `from` or in `mix`",
        );
        fields.require(
            r.mix.is_none() || train.prompts_per_step >= 2,
            "mix",
            "needs at least 2 `train.prompts_per_step`, one of each kind",
        );
        fields.require(
            r.control.is_none() || !r.keep,
            "keep",
            "would store completions with rewards that are not the verifier's; a control run keeps none",
        );
        fields.finish()
    }
}

/// Reads a spec whose parts are all objects, and says what of it lies outside the bounds of its type; serde would read a
/// list as the fields in their order.
pub fn parse_object<T>(value: &Value) -> Result<(T, Vec<FieldError>), Vec<FieldError>>
where
    T: DeserializeOwned + JsonSchema + 'static,
{
    let parts = value.as_object().into_iter().flatten().map(|(key, part)| (part, format!("/{key}")));
    for (part, pointer) in std::iter::once((value, String::new())).chain(parts) {
        if part.is_array() {
            return Err(vec![FieldError::new(pointer, "wrong_type", "must be an object, not a list")]);
        }
    }
    let spec = field::parse(value, "").map_err(|error| vec![error])?;
    Ok((spec, bounds::of::<T>(value, "")))
}

impl DatasetSpec {
    /// Rows by their names, and how they become prompts.
    pub fn of(train: String, eval: Option<String>, prompt: PromptSpec) -> Self {
        let PromptSpec { format, system, template, chat_template, thinking, max_prompt_tokens, train_on } = prompt;
        let Curriculum { order, difficulty_column, sampling, rows } = Curriculum::default();
        Self {
            train,
            eval,
            format,
            system,
            template,
            chat_template,
            thinking,
            max_prompt_tokens,
            train_on,
            order,
            difficulty_column,
            sampling,
            rows,
        }
    }

    /// The same rows in another order.
    pub fn in_order(self, curriculum: Curriculum) -> Self {
        let Curriculum { order, difficulty_column, sampling, rows } = curriculum;
        Self { order, difficulty_column, sampling, rows, ..self }
    }

    pub fn curriculum(&self) -> Curriculum {
        Curriculum {
            order: self.order,
            difficulty_column: self.difficulty_column.clone(),
            sampling: self.sampling,
            rows: self.rows,
        }
    }

    pub fn prompt(&self) -> PromptSpec {
        PromptSpec {
            format: self.format,
            system: self.system.clone(),
            template: self.template.clone(),
            chat_template: self.chat_template.clone(),
            thinking: self.thinking,
            max_prompt_tokens: self.max_prompt_tokens,
            train_on: self.train_on,
        }
    }

    pub fn check(&self) -> Result<(), Vec<FieldError>> {
        let mut fields = Fields::below("/dataset");
        fields.require(
            self.template.as_deref().is_none_or(PromptSpec::is_template),
            "template",
            "must contain `{prompt}`",
        );
        self.curriculum().check(&mut fields);
        fields.finish()
    }
}

impl EvalSpec {
    pub fn check(&self) -> Result<(), Vec<FieldError>> {
        let mut fields = Fields::below("/eval");
        let known = self.pass_at.iter().all(|k| *k <= self.samples);
        fields.require(known, "pass_at", "takes k up to `samples`");
        fields.finish()
    }
}
