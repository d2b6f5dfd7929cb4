//! `/v1/sweeps`: one spec in several configurations and with several seeds, some of them at a time, and what they say together.

pub mod cancel;
pub mod create;
pub mod get;
pub mod list;
pub mod report;
pub mod update;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::job::budget::MAX_DEVICE_SECONDS;
use crate::job::sweep::halving::Halving;
use crate::job::{FieldError, Timestamp};
use crate::store::{SweepRow, SweepState, TrialRow};

/// A sweep.
#[derive(Debug, Serialize, ToSchema)]
pub struct Sweep {
    #[schema(example = "swp_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    id: String,
    /// Always `sweep`.
    object: &'static str,
    name: Option<String>,
    /// `running`; `paused`, and no more trials begin, by hand or since the budget is spent; `cancelled`; `finished`, all its jobs are over.
    #[schema(example = "running")]
    status: &'static str,
    /// How many of its jobs are queued or on a device at once, at most.
    at_once: u32,
    /// When and by what configurations are given up; null where none is.
    #[schema(value_type = Option<SweepHalving>)]
    halving: Option<Halving>,
    /// What all its jobs together may use; null where there is no limit.
    budget: Option<SweepBudget>,
    /// Seconds of devices that its jobs have used, without those that it reused and those that were deleted.
    device_seconds: f64,
    counts: SweepCounts,
    /// In which ways the spec is changed, in the order of the request: variants, then the grid, then draws.
    configurations: Vec<SweepConfiguration>,
    /// All trials; in lists there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    trials: Option<Vec<SweepTrial>>,
    /// Unix seconds.
    created_at: i64,
    /// Unix seconds.
    finished_at: Option<i64>,
}

/// Trials by what their jobs are.
#[derive(Debug, Serialize, ToSchema)]
struct SweepCounts {
    trials: u64,
    /// Their turn has not come, or has to come again: they wait at a step of `halving` for the others, until there is more budget, or
    /// for the trial whose job answers them.
    waiting: u64,
    /// Queued or on a device.
    active: u64,
    /// Paused after their turn, by hand or by a budget: the sweep is over when they are resumed and end, or are cancelled.
    paused: u64,
    succeeded: u64,
    /// Cancelled, as their configurations were given up.
    dropped: u64,
    /// Failed, or cancelled otherwise, or deleted since.
    lost: u64,
}

/// What all jobs of a sweep together may use. When it is spent they are saved and paused, and the sweep with them.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepBudget {
    /// Seconds of attempts times the devices that they held.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    device_seconds: u64,
}

/// Successive halving: after some steps only the better configurations go on.
#[derive(ToSchema)]
#[allow(dead_code)]
struct SweepHalving {
    /// `pass@K` of the evaluation at such a step, or a metric of `GET /v1/metrics-catalog` there; the mean over seeds counts.
    #[schema(default = "pass@1")]
    metric: String,
    /// After which optimizer steps, ascending. Trials that are there wait, paused, for the others.
    #[schema(min_items = 1, max_items = 16, example = json!([8, 16]))]
    steps: Vec<u64>,
    /// One configuration in so many goes on, rounded up.
    #[schema(minimum = 2, maximum = 1000, default = 2)]
    factor: u32,
    /// `maximize`: higher values are better; or `minimize`.
    #[schema(default = "maximize")]
    goal: String,
}

/// One way in which the spec is changed.
#[derive(Debug, Serialize, ToSchema)]
struct SweepConfiguration {
    #[schema(example = "p3o, learning_rate 0.0003")]
    name: String,
    /// A JSON Patch (RFC 6902) on the spec, in which objects that are missing on the way to a value of the grid or a draw are made; in
    /// lists there is none.
    #[schema(value_type = Option<Vec<Object>>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<Value>,
}

/// A configuration with one seed.
#[derive(Debug, Serialize, ToSchema)]
struct SweepTrial {
    number: u32,
    /// By its place in `configurations`.
    configuration: u32,
    seed: u64,
    #[schema(example = "job_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    job: String,
    /// The job's; `deleted` where there is none any more. A trial whose turn has not come is `paused`.
    #[schema(example = "succeeded")]
    status: &'static str,
    /// Optimizer steps taken.
    step: u64,
    /// The job was there before the sweep, or is that of a trial before, with the same resolved spec.
    reused: bool,
    /// The last step of `halving` that it has reached, and its value there.
    rung_step: Option<u64>,
    rung_value: Option<f64>,
    /// Its configuration was given up there.
    dropped: bool,
}

impl SweepBudget {
    fn check(self) -> Result<(), FieldError> {
        let detail = format!("is 1 to {MAX_DEVICE_SECONDS}");
        let is_sound = (1..=MAX_DEVICE_SECONDS).contains(&self.device_seconds);
        is_sound.then_some(()).ok_or_else(|| FieldError::new("/budget/device_seconds", "out_of_range", detail))
    }
}

impl Sweep {
    fn of(row: SweepRow, trials: Option<Vec<TrialRow>>) -> Self {
        let SweepState { id, status, at_once, halving, budget_seconds, spent, counts, .. } = row.state;
        Self {
            id: id.to_string(),
            object: "sweep",
            name: row.name,
            status: status.as_str(),
            at_once,
            halving,
            budget: budget_seconds.map(|device_seconds| SweepBudget { device_seconds }),
            device_seconds: spent as f64 / 1e3,
            counts: SweepCounts {
                trials: counts.all,
                waiting: counts.waiting,
                active: counts.active,
                paused: counts.paused,
                succeeded: counts.succeeded,
                dropped: counts.dropped,
                lost: counts.lost,
            },
            configurations: configurations(&row.configurations, trials.is_some()),
            trials: trials.map(|trials| trials.into_iter().map(SweepTrial::from).collect()),
            created_at: row.created_at.unix_seconds(),
            finished_at: row.finished_at.map(Timestamp::unix_seconds),
        }
    }
}

fn configurations(stored: &Value, whole: bool) -> Vec<SweepConfiguration> {
    let each = stored.as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    each.map(|one| SweepConfiguration { name: text(&one["label"]), patch: whole.then(|| one["patch"].clone()) })
        .collect()
}

impl From<TrialRow> for SweepTrial {
    fn from(row: TrialRow) -> Self {
        Self {
            number: row.number,
            configuration: row.configuration,
            seed: row.seed,
            job: row.job.to_string(),
            status: row.status.map_or("deleted", |status| status.as_str()),
            step: row.step,
            reused: row.reused,
            rung_step: row.held_at,
            rung_value: row.held_value,
            dropped: row.dropped,
        }
    }
}
