//! Objectives: what a training step optimises. Each file reads like its paper and knows nothing of devices,
//! packing or optimizers; the training loop knows no objective by name.
//!
//! An objective sees completions in groups of one prompt. [`Objective::credit`] turns a group's rewards into one
//! number per completion, in plain numbers; [`Objective::loss`] turns log-probabilities and credit into a sum over
//! tokens. The loop masks, packs, divides by [`Objective::normalizer`] of the whole step, accumulates and steps.
//! Adding an objective is one new file, one line in `objectives!` and nothing elsewhere.

pub mod bolt;
pub mod frontier;
pub mod math;
pub mod sft;

use candle_core::{Result as TensorResult, Tensor};
use serde_json::Value;

use crate::job::JobSpec;
use crate::job::field::{self, FieldError};
use crate::job::spec::{MAX_ROLLOUTS, TrainSpec};

/// What an objective asks the loop to provide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Learns from the data set's `completion` column; nothing is sampled.
    pub completions: bool,
    /// Rewards from a verifier.
    pub verifier: bool,
    /// Log-probabilities of the sampled tokens under the model the job started from.
    pub reference: bool,
}

/// Which stored completions an objective can learn from instead of fresh ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredRollouts {
    /// None: it needs its own, fresh ones, or none at all.
    Refused,
    /// Those sampled from the model the job starts from, before any step.
    OfTheStart,
    /// Those of any policy that began as the model the job starts from; the recorded log-probabilities correct for it.
    Any,
}

/// How optimizer steps and sampling phases interleave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Sampling phases.
    pub rounds: u64,
    /// Completions per prompt.
    pub group_size: u32,
}

impl Plan {
    /// The optimizer steps of round `round`, as a half-open range; the rounds share `steps` evenly.
    pub fn steps_of(&self, round: u64, steps: u64) -> std::ops::Range<u64> {
        round * steps / self.rounds..(round + 1) * steps / self.rounds
    }

    /// Prompts sampled for a round of `steps` optimizer steps.
    pub fn prompts_for(&self, steps: u64, train: &TrainSpec) -> u64 {
        (steps * u64::from(train.prompts_per_step)).div_ceil(u64::from(train.updates_per_rollout)).max(1)
    }
}

/// The scored completions of one prompt.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    pub rewards: &'a [f64],
    /// Per completion the sum over its tokens of reference - behavior log-probability; empty unless
    /// [`Needs::reference`] is set.
    pub reference_log_ratios: &'a [f64],
}

/// What a step's loss is divided by, counted over all its micro-batches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepTotals {
    /// Target tokens.
    pub tokens: f64,
    /// Completions.
    pub sequences: f64,
}

/// Per-token tensors of one shape (packed `[N]` or padded `[B, T]`), all f32.
#[derive(Clone, Copy, Debug)]
pub struct TokenBatch<'a> {
    /// Log-probability of each target token under the policy; carries the gradient.
    pub policy_logprobs: &'a Tensor,
    /// The completion's credit on each of its tokens.
    pub credit: &'a Tensor,
    /// 1 where the policy chose the token, 0 on padding.
    pub mask: &'a Tensor,
}

/// A training objective.
pub trait Objective: Send {
    fn needs(&self) -> Needs;

    fn plan(&self, train: &TrainSpec) -> Plan;

    /// One credit per completion; `None` leaves the group out of the step altogether.
    fn credit(&self, group: &Group<'_>) -> Option<Vec<f64>>;

    /// The loss as a sum over the batch's tokens (not divided by anything).
    fn loss(&self, batch: &TokenBatch<'_>) -> TensorResult<Tensor>;

    /// What the summed loss of a step is divided by.
    fn normalizer(&self, totals: &StepTotals) -> f64;

    /// Statistics of a freshly sampled and scored round, by metric name.
    fn round_report(&self, groups: &[frontier::ScoredGroup]) -> Vec<(&'static str, f64)>;
}

/// One objective as `GET /v1/objectives` describes it.
#[derive(Clone, Debug)]
pub struct Description {
    pub name: &'static str,
    /// One or two sentences for someone who has to choose.
    pub summary: &'static str,
    pub formula: &'static str,
    pub source: &'static str,
    pub needs: Needs,
    /// JSON Schema of the fields, with defaults and bounds.
    pub schema: Value,
}

/// The list of objectives: the configuration enum and everything that must know all of them.
macro_rules! objectives {
    ($($variant:ident($module:ident) = $name:literal),+ $(,)?) => {
        /// The configuration of an objective.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Config { $($variant($module::Config)),+ }

        impl Config {
            /// Reads `{"type": ..., ...}` at `pointer`.
            pub fn parse(value: &Value, pointer: &str) -> Result<Self, Vec<FieldError>> {
                let (name, fields) = field::split_type(value, pointer, "objective", &[$($name),+])?;
                match name {
                    $($name => {
                        let config: $module::Config =
                            field::parse(&fields, pointer).map_err(|error| vec![error])?;
                        config.check(pointer)?;
                        Ok(Self::$variant(config))
                    })+
                    _ => unreachable!("split_type returns listed names only"),
                }
            }

            /// The configuration with every default filled in.
            pub fn resolved(&self) -> Value {
                match self { $(Self::$variant(config) => field::with_type($name, config)),+ }
            }

            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name),+ }
            }

            /// The model that the objective distils from, as the spec names it.
            pub fn teacher(&self) -> Option<&str> {
                None
            }

            pub fn stored_rollouts(&self) -> StoredRollouts {
                match self { $(Self::$variant(config) => config.stored_rollouts()),+ }
            }

            pub fn build(&self) -> Box<dyn Objective> {
                match self { $(Self::$variant(config) => Box::new($module::build(config.clone()))),+ }
            }
        }

        /// Every objective, described.
        pub fn catalog() -> Vec<Description> {
            vec![$(Description {
                name: $name,
                summary: $module::SUMMARY,
                formula: $module::FORMULA,
                source: $module::SOURCE,
                needs: $module::build($module::Config::default()).needs(),
                schema: schemars::schema_for!($module::Config).to_value(),
            }),+]
        }
    };
}

objectives! {
    Sft(sft) = "sft",
    Bolt(bolt) = "bolt",
}

/// Refuses plans that cannot be held in memory or make no sense, before a device is used.
pub fn check_plan(config: &Config, train: &TrainSpec) -> Result<(), Vec<FieldError>> {
    let objective = config.build();
    let plan = objective.plan(train);
    let mut errors = Vec::new();
    if plan.rounds > train.steps {
        errors.push(FieldError::new(
            "/objective/rounds",
            "out_of_range",
            format!("{} rounds need at least as many `train.steps`, got {}", plan.rounds, train.steps),
        ));
    }
    let rollouts = plan.prompts_for(train.steps.div_ceil(plan.rounds.max(1)), train) * u64::from(plan.group_size);
    if !objective.needs().completions && rollouts > MAX_ROLLOUTS {
        errors.push(FieldError::new(
            "/train/steps",
            "out_of_range",
            format!("a round would sample {rollouts} completions, more than {MAX_ROLLOUTS}; use more rounds"),
        ));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// What a client should know of a job that is possible but probably not what they want.
pub fn warnings(_config: &Config, _spec: &JobSpec) -> Vec<FieldError> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn resolved_configurations_read_back() {
        for description in catalog() {
            let config = Config::parse(&json!({"type": description.name}), "/objective").unwrap();
            assert_eq!(Config::parse(&config.resolved(), "/objective").unwrap(), config);
        }
    }

    #[test]
    fn bad_fields_are_named() {
        let pointer = |value: Value| Config::parse(&value, "/objective").unwrap_err()[0].pointer.clone();
        assert_eq!(pointer(json!({"type": "bolt", "beta": 0.0})), "/objective/beta");
        assert_eq!(pointer(json!({"type": "bolt", "group_size": 0})), "/objective/group_size");
        assert_eq!(pointer(json!({"type": "bolt", "bta": 1.0})), "/objective/bta");
        assert_eq!(pointer(json!({"type": "ppo"})), "/objective/type");
        assert_eq!(pointer(json!({"beta": 1.0})), "/objective/type");
        assert_eq!(pointer(json!("bolt")), "/objective");
    }

    #[test]
    fn rounds_share_the_steps_without_gap_or_overlap() {
        let plan = Plan { rounds: 3, group_size: 4 };
        let steps: Vec<u64> = (0..3).flat_map(|round| plan.steps_of(round, 10)).collect();
        assert_eq!(steps, (0..10).collect::<Vec<_>>());
    }
}
