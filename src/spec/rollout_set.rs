//! Jobs that fill a rollout set: by sampling, or by scoring again what another one holds.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Attributes, Common, ModelRef, Resolved, RowsRef, Work, reference, scorer};
use crate::job::metadata::check_metadata;
use crate::job::spec::{Curriculum, DatasetSpec, MAX_ROLLOUTS, Precision, ResourceSpec, SamplingSpec, parse_object};
use crate::job::{FieldError, Fields, RolloutSetId, field};
use crate::verifier;

/// Sampling and scoring without training: what `POST /v1/rollout-sets` takes and, with every default filled in, what
/// a worker runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RolloutSetSpec {
    /// A name for people; need not be unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
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
    /// Of a project's jobs those with a higher priority are claimed first.
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
        let (spec, outside): (Self, _) = parse_object(value)?;
        let mut fields = Fields::below("");
        fields.require(
            spec.prompts.saturating_mul(u64::from(spec.group_size)) <= MAX_ROLLOUTS,
            "prompts",
            format!("must with `group_size` make at most {MAX_ROLLOUTS} completions in all"),
        );
        fields.require(
            spec.dataset.curriculum() == Curriculum::default(),
            "dataset",
            "has `order`, `sampling` and `rows` for jobs that train only; rows to sample for are drawn in random order",
        );
        field::all([
            Err(outside),
            fields.finish(),
            spec.dataset.check(),
            spec.resources.check(true),
            check_metadata(&spec.metadata),
        ])?;
        Ok(spec)
    }
}

/// What a job that samples does, resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    pub rows: RowsRef,
    /// Completions per prompt.
    pub group_size: u32,
    pub prompts: u64,
    pub precision: Precision,
}

/// What a job that scores a stored set again does, resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Regrading {
    /// The set whose completions are scored.
    pub source: RolloutSetId,
    /// The rows that it was sampled for.
    pub rows: RowsRef,
    /// Completions per prompt and prompts, as in the source.
    pub group_size: u32,
    pub prompts: u64,
    pub precision: Precision,
}

impl RolloutSetSpec {
    /// The spec of a job that samples, with everything that it names in the place of the names.
    pub fn pin(
        self,
        model: ModelRef,
        rows: RowsRef,
        verifier: Option<verifier::Config>,
    ) -> (Attributes, Common, Sampling) {
        let sampling = Sampling { rows, group_size: self.group_size, prompts: self.prompts, precision: self.precision };
        let attributes = Attributes { name: self.name, priority: self.priority, metadata: self.metadata, budget: None };
        let common = Common {
            model,
            prompt: self.dataset.prompt(),
            verifier,
            sampling: self.sampling,
            resources: self.resources,
            seed: self.seed,
        };
        (attributes, common, sampling)
    }

    /// Reads the references of a spec that was resolved before.
    pub(super) fn into_resolved(self) -> Result<(Attributes, Resolved), FieldError> {
        let model = reference(&self.model, "/model")?;
        let rows = reference(&self.dataset.train, "/dataset/train")?;
        let verifier = scorer(self.verifier.as_ref())?;
        let source = self.regrade_of.as_ref().map(|set| set.parse()).transpose();
        let source = source.map_err(|error: crate::job::id::InvalidId| {
            FieldError::new("/regrade_of", "invalid_value", error.to_string())
        })?;
        let (attributes, common, sampling) = self.pin(model, rows, verifier);
        let work = match source {
            None => Work::Sample(sampling),
            Some(source) => Work::Regrade(sampling.regrading(source)),
        };
        Ok((attributes, Resolved { common, work }))
    }
}

impl Sampling {
    /// Scoring again what such a job has sampled.
    pub fn regrading(&self, source: RolloutSetId) -> Regrading {
        let Self { rows, group_size, prompts, precision } = *self;
        Regrading { source, rows, group_size, prompts, precision }
    }

    /// The spec in the form in which it is submitted, without what may change of it.
    pub(super) fn to_spec(&self, common: &Common) -> RolloutSetSpec {
        let Common { model, prompt, verifier, sampling, resources, seed } = common.clone();
        RolloutSetSpec {
            name: None,
            model: model.to_string(),
            dataset: DatasetSpec::of(self.rows.to_string(), None, prompt),
            verifier: verifier.map(|verifier| verifier.resolved()),
            sampling,
            group_size: self.group_size,
            prompts: self.prompts,
            precision: self.precision,
            resources,
            priority: 0,
            seed,
            metadata: BTreeMap::new(),
            regrade_of: None,
        }
    }
}

impl Regrading {
    /// The spec in the form in which one that samples is submitted.
    pub(super) fn to_spec(&self, common: &Common) -> RolloutSetSpec {
        let Self { source, rows, group_size, prompts, precision } = *self;
        let spec = Sampling { rows, group_size, prompts, precision }.to_spec(common);
        RolloutSetSpec { regrade_of: Some(source.to_string()), ..spec }
    }
}
