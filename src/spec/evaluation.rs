//! Jobs that evaluate a model.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Attributes, Common, ModelRef, Resolved, RowsRef, Work, reference, scorer};
use crate::job::metadata::check_metadata;
use crate::job::spec::{MAX_ROLLOUTS, Precision, PromptFormat, PromptSpec, ResourceSpec, SamplingSpec, parse_object};
use crate::job::{FieldError, Fields, bounds, field};
use crate::verifier;

/// Measuring a model without training it: what `POST /v1/evaluations` takes and, with every default filled in, what a
/// worker runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvaluationSpec {
    /// A name for people; need not be unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub name: Option<String>,
    /// The model to measure, as in a job: `hf:owner/name`, `mdl_...`, an inference checkpoint `ckpt_...`, or a built-in.
    pub model: String,
    /// The held-out rows: a data set (`ds_...`, its latest version), a version (`dsv_...`) or a built-in.
    pub dataset: String,
    /// The part of a data set that is split, as built-ins are; `eval` by default. Others have no parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<EvaluationSplit>,
    /// How a `prompt` column becomes text for the model, as `dataset.format` of a job.
    #[serde(default)]
    pub format: PromptFormat,
    /// A system message put before every prompt (chat format only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Text around a plain prompt; `{prompt}` stands for the row's prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65_536))]
    pub template: Option<String>,
    /// A chat template in Jinja to use in the place of the model's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 65_536))]
    pub chat_template: Option<String>,
    /// Have the model reason before it answers, or not, where its chat template knows both (`enable_thinking`). With
    /// true, verifiers judge what follows the last `</think>` of a completion, and nothing where there is none. By
    /// default true for such a template, and nothing for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<bool>,
    /// The longest prompt in tokens; a longer one is an error. By default what leaves room in the model's context. With
    /// `sampling.max_new_tokens` it makes the longest sequence, from which rotary positions that depend on length
    /// (`dynamic`, `longrope`) are chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 16_777_216))]
    pub max_prompt_tokens: Option<u32>,
    /// How completions are scored, as in a job.
    pub verifier: Value,
    #[serde(default)]
    pub sampling: SamplingSpec,
    /// Completions per prompt.
    #[serde(default = "default_samples")]
    #[schemars(range(min = 1, max = 1024))]
    pub samples: u32,
    /// The k of pass@k; none may exceed `samples`. By default 1 and `samples`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32), inner(range(min = 1)))]
    pub pass_at: Option<Vec<u32>>,
    /// Rows to use, from the first on.
    #[serde(default = "default_prompts")]
    #[schemars(range(min = 1, max = 100_000))]
    pub prompts: u64,
    /// What matrix products are computed in, as `train.precision` of a job.
    #[serde(default)]
    pub precision: Precision,
    #[serde(default)]
    pub resources: ResourceSpec,
    /// Of a project's jobs those with a higher priority are claimed first.
    #[serde(default)]
    pub priority: i32,
    /// The root of every random choice. With the same seed, two models draw with the same random numbers.
    #[serde(default)]
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    pub seed: u64,
    /// Up to 16 pairs of your own.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}

/// Which part of a data set that is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvaluationSplit {
    Train,
    Eval,
}

fn default_samples() -> u32 {
    8
}

fn default_prompts() -> u64 {
    200
}

impl EvaluationSpec {
    /// Reads and checks everything that needs neither the verifier nor the store, and fills in `pass_at`.
    pub fn parse(value: &Value) -> Result<Self, Vec<FieldError>> {
        // The one part that is a list is read by itself.
        let mut parts = value.clone();
        let pass_at = parts.as_object_mut().and_then(|parts| parts.shift_remove("pass_at"));
        let (mut spec, _): (Self, _) = parse_object(&parts)?;
        if let Some(pass_at) = pass_at {
            spec.pass_at = field::parse(&pass_at, "/pass_at").map_err(|error| vec![error])?;
        }
        let samples = spec.samples;
        let pass_at = spec.pass_at.get_or_insert_with(|| if samples > 1 { vec![1, samples] } else { vec![1] });
        let mut fields = Fields::below("");
        let known = pass_at.iter().all(|k| *k <= samples);
        let different = (1..pass_at.len()).all(|i| !pass_at[..i].contains(&pass_at[i]));
        fields.require(known && different, "pass_at", "takes different k up to `samples`");
        fields.require(
            spec.prompts.saturating_mul(u64::from(samples)) <= MAX_ROLLOUTS,
            "prompts",
            format!("must with `samples` make at most {MAX_ROLLOUTS} completions in all"),
        );
        let template = spec.template.as_deref().is_none_or(PromptSpec::is_template);
        fields.require(template, "template", "must contain `{prompt}`");
        let outside = bounds::of::<Self>(value, "");
        field::all([Err(outside), fields.finish(), spec.resources.check(true), check_metadata(&spec.metadata)])?;
        Ok(spec)
    }
}

/// What a job that evaluates does, resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluating {
    pub rows: RowsRef,
    /// The part of a data set that is split; others have no parts.
    pub split: Option<EvaluationSplit>,
    /// Completions per prompt.
    pub samples: u32,
    /// The k of pass@k.
    pub pass_at: Vec<u32>,
    pub prompts: u64,
    pub precision: Precision,
}

impl EvaluationSpec {
    /// The spec with everything that it names in the place of the names.
    pub fn pin(self, model: ModelRef, rows: RowsRef, verifier: verifier::Config) -> (Attributes, Common, Evaluating) {
        let split = match rows {
            RowsRef::Builtin(_) => Some(self.split.unwrap_or(EvaluationSplit::Eval)),
            // Whoever looked the version up has said which part of it.
            RowsRef::Version(_) => self.split,
        };
        let evaluating = Evaluating {
            rows,
            split,
            samples: self.samples,
            pass_at: self.pass_at.unwrap_or_default(),
            prompts: self.prompts,
            precision: self.precision,
        };
        let attributes = Attributes { name: self.name, priority: self.priority, metadata: self.metadata, budget: None };
        let common = Common {
            model,
            prompt: PromptSpec {
                format: self.format,
                system: self.system,
                template: self.template,
                chat_template: self.chat_template,
                thinking: self.thinking,
                max_prompt_tokens: self.max_prompt_tokens,
                ..PromptSpec::default()
            },
            verifier: Some(verifier),
            sampling: self.sampling,
            resources: self.resources,
            seed: self.seed,
        };
        (attributes, common, evaluating)
    }

    /// Reads the references of a spec that was resolved before.
    pub(super) fn into_resolved(self) -> Result<(Attributes, Resolved), FieldError> {
        let model = reference(&self.model, "/model")?;
        let rows = reference(&self.dataset, "/dataset")?;
        let missing = || FieldError::new("/verifier", "missing_field", "an evaluation has a verifier");
        let verifier = scorer(Some(&self.verifier))?.ok_or_else(missing)?;
        let (attributes, common, evaluating) = self.pin(model, rows, verifier);
        Ok((attributes, Resolved { common, work: Work::Evaluate(evaluating) }))
    }
}

impl Evaluating {
    /// The spec in the form in which it is submitted, without what may change of it.
    pub(super) fn to_spec(&self, common: &Common) -> EvaluationSpec {
        let Common { model, prompt, verifier, sampling, resources, seed } = common.clone();
        EvaluationSpec {
            name: None,
            model: model.to_string(),
            dataset: self.rows.to_string(),
            split: self.split,
            format: prompt.format,
            system: prompt.system,
            template: prompt.template,
            chat_template: prompt.chat_template,
            thinking: prompt.thinking,
            max_prompt_tokens: prompt.max_prompt_tokens,
            verifier: verifier.map(|verifier| verifier.resolved()).unwrap_or_default(),
            sampling,
            samples: self.samples,
            pass_at: Some(self.pass_at.clone()),
            prompts: self.prompts,
            precision: self.precision,
            resources,
            priority: 0,
            seed,
            metadata: BTreeMap::new(),
        }
    }
}
