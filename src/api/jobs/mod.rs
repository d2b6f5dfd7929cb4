//! Jobs: they train a model, or fill a rollout set.

pub mod cancel;
pub mod checkpoints;
pub mod create;
pub mod events;
pub mod get;
pub mod list;
pub mod metrics;
mod preflight;
pub(super) mod resolve;
mod stored_rollouts;
mod teacher;
pub mod wait;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::queue::Waiting;
use crate::job::{JobStatus, Timestamp};
use crate::store::JobRow;

/// A job.
#[derive(Debug, Serialize, ToSchema)]
pub struct Job {
    #[schema(example = "job_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub id: String,
    /// Always `job`.
    pub object: &'static str,
    /// `train`, or `rollouts` for a job that fills a rollout set and trains nothing.
    pub kind: &'static str,
    pub name: Option<String>,
    /// `queued`, `starting`, `running`, `cancelling`, `succeeded`, `failed` or `cancelled`.
    #[schema(example = "running")]
    pub status: &'static str,
    /// What a running job does: `loading`, `sampling`, `verifying`, `training`, `evaluating`, `checkpointing` or
    /// `exporting`.
    pub phase: Option<&'static str>,
    /// Unix seconds.
    pub created_at: i64,
    /// Unix seconds of the first attempt's begin.
    pub started_at: Option<i64>,
    /// Unix seconds.
    pub finished_at: Option<i64>,
    /// How often a worker has begun with the job.
    pub attempt: u32,
    /// Optimizer steps taken.
    pub step: u64,
    /// Optimizer steps in all; 0 when nothing is trained.
    pub steps: u64,
    /// The objective's type; null when nothing is trained.
    pub objective: Option<String>,
    pub priority: i32,
    /// Bytes that it needs on each of its devices, by an estimate.
    pub memory_bytes: u64,
    /// The devices that its newest attempt holds or held, the leading one first; empty while it waits.
    #[schema(example = json!(["cuda:0"]))]
    pub devices: Vec<String>,
    /// Why a queued job waits, and for what; only here and not in listings.
    pub waiting: Option<Waiting>,
    /// The number of the newest event.
    pub last_seq: i64,
    /// What the finished job has to show: `checkpoint`, `weights_sha256`, and evaluations `before` and `after`.
    #[schema(value_type = Option<Object>)]
    pub result: Option<Value>,
    /// Why the job failed.
    #[schema(value_type = Option<Object>)]
    pub failure: Option<Value>,
    /// The rollout set that the job fills, by itself or because of `rollouts.keep`.
    #[schema(example = "rs_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub rollout_set: Option<String>,
    /// The spec as submitted.
    #[schema(value_type = Object)]
    pub spec: Value,
    /// The spec with every default filled in and every reference resolved.
    #[schema(value_type = Object)]
    pub spec_resolved: Value,
    /// `sha256:` and the digest of the resolved spec without name, priority and metadata.
    pub spec_digest: String,
    pub metadata: BTreeMap<String, String>,
}

impl From<JobRow> for Job {
    fn from(row: JobRow) -> Self {
        Self {
            id: row.id.to_string(),
            object: "job",
            kind: row.kind.as_str(),
            status: row.status.as_str(),
            phase: row.phase.map(|phase| phase.as_str()),
            created_at: row.created_at.unix_seconds(),
            started_at: row.started_at.map(Timestamp::unix_seconds),
            finished_at: row.finished_at.map(Timestamp::unix_seconds),
            attempt: row.attempt,
            step: row.step,
            steps: row.steps,
            priority: row.priority,
            memory_bytes: row.memory_bytes,
            devices: if row.status == JobStatus::Queued { Vec::new() } else { row.devices.clone() },
            waiting: None,
            last_seq: row.last_seq,
            failure: row.failure.as_ref().and_then(|failure| serde_json::to_value(failure).ok()),
            metadata: row.metadata(),
            name: row.name,
            objective: Some(row.objective).filter(|name| !name.is_empty()),
            result: row.result,
            rollout_set: row.rollout_set.map(|id| id.to_string()),
            spec: row.spec,
            spec_resolved: row.spec_resolved,
            spec_digest: row.spec_digest,
        }
    }
}
