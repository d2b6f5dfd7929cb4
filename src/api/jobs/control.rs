//! Control runs: what of a job's spec is another in one, so that what the job reached can be held against it.

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::api::error::Problem;
use crate::api::resolve::FoundRows;
use crate::dataset::Split;
use crate::job::metadata::MOST_PAIRS;
use crate::job::spec::RewardControl;
use crate::spec::{RowsRef, Training, Work, with_attributes};
use crate::store::{JobRow, Store};

/// The pair of metadata, and the field of `rollouts`, that say what a control run is one of.
const KEY: &str = "control";
/// Versions that one was filtered from, one after the other.
const MOST_FILTERS: usize = 1000;
/// Of the job's name, in that of its control run.
const NAME_CHARACTERS: usize = 100;

/// What a control run leaves as it is but for one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ForkControl)]
pub enum Control {
    /// The completions of a prompt exchange their rewards at random: what is reached then is not the verifier's doing.
    ShuffledRewards,
    /// Rewards are 0 or 1, each with a chance of one half.
    RandomRewards,
    /// As many rows, at random, of those that the job's were filtered from: what is reached then is not the filter's doing.
    UnfilteredPrompts,
}

impl Control {
    pub fn words(self) -> &'static str {
        match self {
            Self::ShuffledRewards => "shuffled rewards",
            Self::RandomRewards => "random rewards",
            Self::UnfilteredPrompts => "unfiltered prompts",
        }
    }
}

/// The spec of a control run of a job: what the job's came to when it was submitted, so that nothing else is another. What trains
/// nothing is left as it is.
pub async fn controlled(store: &Store, control: Control, row: &JobRow) -> Result<Value, Problem> {
    let Work::Train(training) = row.work() else { return Ok(row.spec.clone()) };
    let mut spec = with_attributes(row.essence.clone(), &row.attributes);
    match control {
        Control::ShuffledRewards | Control::RandomRewards => {
            spec["rollouts"][KEY] = json!(control);
            spec["rollouts"]["keep"] = json!(false);
        }
        Control::UnfilteredPrompts => {
            let (rows, count) = unfiltered(store, training).await?;
            spec["dataset"]["train"] = json!(rows.to_string());
            spec["dataset"]["rows"] = json!(count);
        }
    }
    if let Some(fields) = spec.as_object_mut() {
        // It is not there to be good.
        fields.shift_remove("gate");
    }
    let name = row.attributes.name.clone().unwrap_or_else(|| row.id.to_string());
    let name: String = name.chars().take(NAME_CHARACTERS).collect();
    spec["name"] = json!(format!("{name}, {}", control.words()));
    if row.attributes.metadata.len() < MOST_PAIRS {
        spec["metadata"][KEY] = json!(control);
    }
    Ok(spec)
}

/// What a job is a control run of; of prompts its metadata tell.
pub fn control_of(row: &JobRow) -> Option<Control> {
    let Work::Train(training) = row.work() else { return None };
    let is_said = || row.attributes.metadata.get(KEY).is_some_and(|said| said == "unfiltered_prompts");
    match training.rollouts.control {
        Some(RewardControl::ShuffledRewards) => Some(Control::ShuffledRewards),
        Some(RewardControl::RandomRewards) => Some(Control::RandomRewards),
        None => is_said().then_some(Control::UnfilteredPrompts),
    }
}

/// What the rows of a job were filtered from, and how many of them the job trains on.
async fn unfiltered(store: &Store, training: &Training) -> Result<(RowsRef, u64), Problem> {
    let none = || {
        let detail = format!(
            "nothing was filtered out of {}, so that there are no other prompts to compare with",
            training.rows
        );
        Problem::new(StatusCode::CONFLICT, "not_filtered", detail)
    };
    let RowsRef::Version(own) = training.rows else { return Err(none()) };
    if training.rollouts.stored().is_some() {
        let detail = "the job trains on stored completions, whatever rows its data set has";
        return Err(Problem::new(StatusCode::CONFLICT, "not_filtered", detail));
    }
    let mut version = store.dataset_version(own).await?;
    let all = FoundRows::Version(Box::new(version.clone())).count(Split::Train);
    for _ in 0..MOST_FILTERS {
        let is_filtered = version.made.as_ref().is_some_and(|made| made.get("filter").is_some());
        let Some(parent) = version.parent.filter(|_| is_filtered) else { break };
        version = store.dataset_version(parent).await?;
    }
    match training.curriculum.rows.or(all) {
        Some(count) if version.id != own => Ok((RowsRef::Version(version.id), count)),
        _ => Err(none()),
    }
}
