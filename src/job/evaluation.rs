//! Evaluations: how often a model's completions pass on held-out rows, prompt by prompt, so that two models can be
//! compared on the same prompts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::field::{self, FieldError, Fields};
use super::spec::{
    DatasetSpec, MAX_ROLLOUTS, Precision, PromptFormat, ResourceSpec, SamplingSpec, check_labels, parse_object,
};

/// The file of an evaluation with one [`PromptResult`] a line, in the order of the prompts.
pub const RESULTS_FILE: &str = "results.jsonl";
/// The file of an evaluation with its [`EvaluationSummary`].
pub const EVALUATION_FILE: &str = "evaluation.json";
/// Characters of a prompt that its result repeats.
pub const PROMPT_CHARACTERS: usize = 1000;

/// Measuring a model without training it: what `POST /v1/evaluations` takes and, with every default filled in, what a
/// worker runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvaluationSpec {
    /// A name for people; need not be unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The model to measure, as in a job: `mdl_...`, an inference checkpoint `ckpt_...`, or a built-in.
    pub model: String,
    /// The held-out rows: a data set (`ds_...`, its latest version), a version (`dsv_...`) or a built-in.
    pub dataset: String,
    /// The part of a built-in data set; `eval` by default. Uploaded data sets have no parts.
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
    pub template: Option<String>,
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
    /// Jobs with a higher priority are claimed first.
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

/// Which part of a built-in data set.
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
    /// Most values of `pass_at`.
    const MOST_KS: usize = 32;

    /// Reads and checks everything that needs neither the verifier nor the store, and fills in `pass_at`.
    pub fn parse(value: &Value) -> Result<Self, Vec<FieldError>> {
        // The one part that is a list is read by itself.
        let mut parts = value.clone();
        let pass_at = parts.as_object_mut().and_then(|parts| parts.shift_remove("pass_at"));
        let mut spec: Self = parse_object(&parts)?;
        if let Some(pass_at) = pass_at {
            spec.pass_at = field::parse(&pass_at, "/pass_at").map_err(|error| vec![error])?;
        }
        let samples = spec.samples;
        let pass_at = spec.pass_at.get_or_insert_with(|| if samples > 1 { vec![1, samples] } else { vec![1] });
        let mut fields = Fields::below("");
        fields.require((1..=1024).contains(&samples), "samples", "must lie between 1 and 1024");
        let known = (1..=Self::MOST_KS).contains(&pass_at.len()) && pass_at.iter().all(|k| (1..=samples).contains(k));
        let detail = format!("takes 1 to {} different k between 1 and `samples`", Self::MOST_KS);
        fields.require(known && (1..pass_at.len()).all(|i| !pass_at[..i].contains(&pass_at[i])), "pass_at", detail);
        fields.require(
            (1..=100_000).contains(&spec.prompts) && spec.prompts * u64::from(samples) <= MAX_ROLLOUTS,
            "prompts",
            format!("must lie between 1 and 100000, with at most {MAX_ROLLOUTS} completions in all"),
        );
        let template = spec.template.as_ref().is_none_or(|t| t.contains("{prompt}") && t.len() <= 65_536);
        fields.require(template, "template", "must contain `{prompt}` and have at most 65536 bytes");
        field::all([
            fields.finish(),
            spec.sampling.check(),
            spec.resources.check(),
            check_labels(spec.name.as_deref(), spec.seed, &spec.metadata),
        ])?;
        Ok(spec)
    }

    /// How rows become prompts, in the form in which jobs have it.
    pub fn rows(&self) -> DatasetSpec {
        DatasetSpec {
            train: self.dataset.clone(),
            eval: None,
            format: self.format,
            system: self.system.clone(),
            template: self.template.clone(),
        }
    }
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
    pub reward_sum: f64,
    /// Tokens of the completions.
    pub tokens: u64,
    /// Completions cut at the length limit.
    pub truncated: u32,
}

/// The probability that at least one of k completions passes; `mean - half_width..mean + half_width` is its 95 %
/// interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassAtK {
    pub k: u32,
    pub mean: f64,
    pub half_width: f64,
}

/// What an evaluation found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EvaluationSummary {
    pub prompts: u64,
    /// Completions per prompt.
    pub samples: u32,
    /// Completions with a verdict.
    pub completions: u64,
    /// Completions that the verifier could not judge; they are in no other number.
    pub unscored: u64,
    pub passed: u64,
    pub unparsable: u64,
    pub pass_at: Vec<PassAtK>,
    /// Mean reward of all completions.
    pub reward_mean: f64,
    /// Mean completion length in tokens.
    pub tokens_mean: f64,
    /// Share of completions cut at the length limit.
    pub truncated: f64,
    /// `sha256:` and the digest of the digests of all rows: evaluations of the same rows have the same.
    pub rows_digest: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn minimal() -> Value {
        json!({"model": "builtin:arith-tiny", "dataset": "builtin:arithmetic", "verifier": {"type": "numeric"}})
    }

    #[test]
    fn defaults_are_filled_in_and_survive_a_round_trip() {
        let spec = EvaluationSpec::parse(&minimal()).unwrap();
        assert_eq!((spec.samples, spec.prompts, spec.pass_at.as_deref()), (8, 200, Some(&[1, 8][..])));
        assert_eq!(EvaluationSpec::parse(&serde_json::to_value(&spec).unwrap()).unwrap(), spec);
    }

    #[test]
    fn bad_fields_are_named() {
        let table = [
            ("samples", json!(0)),
            ("samples", json!(1025)),
            ("pass_at", json!([])),
            ("pass_at", json!([9])),
            ("pass_at", json!([1, 1])),
            ("prompts", json!(0)),
            ("prompts", json!(100_001)),
            ("template", json!("no place")),
            ("seed", json!(1_u64 << 60)),
            ("dataset", json!({"train": "x"})),
            ("split", json!("test")),
            ("verifiers", json!({})),
        ];
        for (name, value) in table {
            let mut spec = minimal();
            spec[name] = value.clone();
            let errors = EvaluationSpec::parse(&spec).unwrap_err();
            assert!(errors.iter().any(|error| error.pointer == format!("/{name}")), "{name} {value}: {errors:?}");
        }
        for missing in ["model", "dataset", "verifier"] {
            let mut spec = minimal();
            spec.as_object_mut().unwrap().shift_remove(missing);
            assert_eq!(EvaluationSpec::parse(&spec).unwrap_err()[0].pointer, format!("/{missing}"));
        }
    }
}
