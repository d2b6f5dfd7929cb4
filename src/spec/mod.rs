//! What a job is to do, as a client submits it and as it is resolved. A submitted spec names things by texts that may be
//! wrong and leaves out what has a default; a [`Resolved`] one says it all, in types: what is named in it exists, never
//! changes, and is checked. Between the two stands whoever can look names up (the API); from then on the resolved spec
//! is what is stored, claimed and run.
//!
//! Both have one form in JSON, that of [`JobSpec`], [`RolloutSetSpec`] and [`EvaluationSpec`], and only this module
//! reads or writes it.

mod evaluation;
mod reference;
mod reported;
mod rollout_set;
mod training;

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

pub use evaluation::{Evaluating, EvaluationSpec, EvaluationSplit};
pub use reference::{Input, InputKind, ModelRef, Role, RowsRef, TeacherRef, UnknownReference};
pub use rollout_set::{Regrading, RolloutSetSpec, Sampling};
pub use training::{JobSpec, Pinned, Training};

use crate::job::spec::{Precision, PromptSpec, ResourceSpec, SampledWeights, SamplingSpec};
use crate::job::{BudgetSpec, FieldError, JobKind, digest, field};
use crate::verifier;

/// What may be said and changed of a job without a change of its result; the rest of a spec never changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes {
    /// A name for people; need not be unique.
    pub name: Option<String>,
    /// Of a project's jobs those with a higher priority are claimed first.
    pub priority: i32,
    /// The client's own pairs.
    pub metadata: BTreeMap<String, String>,
    /// What the job may use of the devices; only jobs that train have one.
    pub budget: Option<BudgetSpec>,
}

/// A spec that can run: every default is filled in and every reference pinned to something that never changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    pub common: Common,
    pub work: Work,
}

/// What all kinds of jobs have.
#[derive(Clone, Debug, PartialEq)]
pub struct Common {
    pub model: ModelRef,
    /// How rows become prompts.
    pub prompt: PromptSpec,
    pub verifier: Option<verifier::Config>,
    pub sampling: SamplingSpec,
    pub resources: ResourceSpec,
    /// The root of every random choice.
    pub seed: u64,
}

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    Train(Box<Training>),
    Sample(Sampling),
    Regrade(Regrading),
    Evaluate(Evaluating),
}

impl Work {
    pub fn kind(&self) -> JobKind {
        match self {
            Self::Train(_) => JobKind::Train,
            Self::Sample(_) | Self::Regrade(_) => JobKind::Rollouts,
            Self::Evaluate(_) => JobKind::Evaluation,
        }
    }

    /// The objective's type, when something is trained.
    pub fn objective(&self) -> Option<&'static str> {
        match self {
            Self::Train(training) => Some(training.objective.name()),
            Self::Sample(_) | Self::Regrade(_) | Self::Evaluate(_) => None,
        }
    }

    /// Optimizer steps in all; 0 when nothing is trained.
    pub fn steps(&self) -> u64 {
        match self {
            Self::Train(training) => training.train.steps,
            Self::Sample(_) | Self::Regrade(_) | Self::Evaluate(_) => 0,
        }
    }

    /// What matrix products are computed in.
    pub fn precision(&self) -> Precision {
        match self {
            Self::Train(training) => training.train.precision,
            Self::Sample(Sampling { precision, .. })
            | Self::Regrade(Regrading { precision, .. })
            | Self::Evaluate(Evaluating { precision, .. }) => *precision,
        }
    }

    /// The rows that are trained on, sampled for or evaluated.
    pub fn rows(&self) -> RowsRef {
        match self {
            Self::Train(training) => training.rows,
            Self::Sample(Sampling { rows, .. })
            | Self::Regrade(Regrading { rows, .. })
            | Self::Evaluate(Evaluating { rows, .. }) => *rows,
        }
    }
}

impl Resolved {
    /// Reads a resolved spec from its JSON, with what may change of it. Its bounds were checked when it was submitted.
    pub fn parse(kind: JobKind, value: &Value) -> Result<(Attributes, Self), FieldError> {
        match kind {
            JobKind::Train => read::<JobSpec>(value)?.into_resolved(),
            JobKind::Rollouts => read::<RolloutSetSpec>(value)?.into_resolved(),
            JobKind::Evaluation => read::<EvaluationSpec>(value)?.into_resolved(),
        }
    }

    /// Its JSON, with what may change of it at the places that it has in a submitted spec.
    pub fn to_value(&self, attributes: &Attributes) -> Value {
        with_attributes(self.essence(), attributes)
    }

    /// Its JSON without what may change of it: what is stored, and what its digest is of.
    pub fn essence(&self) -> Value {
        let Self { common, work } = self;
        let value = match work {
            Work::Train(training) => serde_json::to_value(training.to_spec(common)),
            Work::Sample(sampling) => serde_json::to_value(sampling.to_spec(common)),
            Work::Regrade(regrading) => serde_json::to_value(regrading.to_spec(common)),
            Work::Evaluate(evaluating) => serde_json::to_value(evaluating.to_spec(common)),
        };
        let mut value = value.expect("specs are structures of texts and numbers, which JSON can hold");
        if let Some(fields) = value.as_object_mut() {
            for free in ["priority", "metadata"] {
                fields.shift_remove(free);
            }
        }
        value
    }

    /// `sha256:` and a digest of all that decides the result: of its [`essence`](Self::essence), and of the contents of
    /// the built-ins that it names, for their names stay when a later version of the program changes them.
    pub fn digest(&self) -> String {
        digest_of(&self.essence().to_string(), &self.inputs())
    }

    /// What the weights that the job leaves as they are are known by to jobs that could share them, if it shares its own.
    /// `adapted` is what its model is an adapter of, if it is one, with the seed of that.
    pub fn base_key(&self, adapted: Option<(ModelRef, u64)>) -> Option<i64> {
        let Common { prompt, sampling, .. } = &self.common;
        let (precision, is_coded) = match (&self.work, sampling.weights) {
            (Work::Regrade(_), _) => return None,
            (Work::Train(training), _) => (training.train.precision, training.adapter.as_ref()?.quantize.is_some()),
            (Work::Sample(_) | Work::Evaluate(_), None) => (self.work.precision(), false),
            (Work::Sample(_) | Work::Evaluate(_), Some(weights)) => (Precision::Bf16, weights == SampledWeights::Int8),
        };
        let (model, seed) = adapted.unwrap_or((self.common.model, self.common.seed));
        let seed = matches!(model, ModelRef::Builtin(builtin) if builtin.from_scratch).then_some(seed);
        // A chat template decides what ends a completion, which is kept with the weights.
        let text =
            json!([model.to_string(), seed, precision, is_coded, prompt.format, prompt.chat_template]).to_string();
        let digits = &digest::sha256_hex(text.as_bytes())[..16];
        self.common.resources.share_base.then(|| u64::from_str_radix(digits, 16).unwrap_or_default().cast_signed())
    }

    /// Everything that it refers to.
    pub fn inputs(&self) -> Vec<Input> {
        let mut inputs = vec![Input::model(Role::Model, &self.common.model, self.common.seed)];
        inputs.push(Input::rows(Role::Rows, self.work.rows()));
        match &self.work {
            Work::Train(training) => {
                inputs.extend(training.held_out.map(|rows| Input::rows(Role::HeldOut, rows)));
                inputs.extend(training.teacher().map(|teacher| match teacher {
                    TeacherRef::Model(model) => Input::model(Role::Teacher, &model, self.common.seed),
                    TeacherRef::Path(path) => Input::path(Role::Teacher, &path),
                }));
                inputs.extend(training.adapter.as_ref().and_then(|adapter| adapter.start).map(Input::adapter));
                inputs.extend(training.rollouts.stored().map(|set| Input::rollout_set(Role::Rollouts, *set)));
            }
            Work::Regrade(regrading) => inputs.push(Input::rollout_set(Role::Rollouts, regrading.source)),
            Work::Sample(_) | Work::Evaluate(_) => {}
        }
        inputs
    }
}

/// The digest of a resolved spec, from the text of its essence and what it refers to: that of the same object with a
/// last member `built_in`, where there is something to say in it.
pub fn digest_of(essence: &str, inputs: &[Input]) -> String {
    let built_in = inputs.iter().filter_map(|input| input.digest.as_ref().map(|digest| (&input.id, digest)));
    let built_in: BTreeMap<&String, &String> = built_in.collect();
    let text = match essence.strip_suffix('}') {
        Some(members) if !built_in.is_empty() => format!("{members},\"built_in\":{}}}", json!(built_in)),
        Some(_) | None => essence.to_owned(),
    };
    format!("sha256:{}", digest::sha256_hex(text.as_bytes()))
}

/// The essence of a resolved spec with what may change of it, at the places that it has in a submitted spec.
pub fn with_attributes(essence: Value, attributes: &Attributes) -> Value {
    let Attributes { name, priority, metadata, budget } = attributes;
    let Value::Object(essence) = essence else { return essence };
    let mut fields = Map::with_capacity(essence.len() + 4);
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    if let Some(name) = name {
        put("name", json!(name));
    }
    for (key, value) in essence {
        if key == "seed" {
            put("priority", json!(priority));
        }
        put(&key, value);
        if key == "seed" {
            put("metadata", json!(metadata));
        }
        if let ("resources", Some(budget)) = (key.as_str(), budget) {
            put("budget", json!(budget));
        }
    }
    Value::Object(fields)
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, FieldError> {
    field::parse(value, "")
}

/// Reads a reference that was resolved before.
fn reference<T: std::str::FromStr<Err = UnknownReference>>(text: &str, pointer: &str) -> Result<T, FieldError> {
    text.parse().map_err(|error: UnknownReference| FieldError::new(pointer, "invalid_value", error.to_string()))
}

/// Reads an inline verifier's configuration.
fn scorer(config: Option<&Value>) -> Result<Option<verifier::Config>, FieldError> {
    config.map(|config| verifier::Config::read(config, "/verifier")).transpose().map_err(first)
}

/// The first of several errors; what was checked before has none.
fn first(errors: Vec<FieldError>) -> FieldError {
    errors.into_iter().next().unwrap_or_else(|| FieldError::new("", "invalid_value", "is refused without a reason"))
}

#[cfg(test)]
mod tests;
