//! The events of a job: one durable, gap-free log from which streams, polls and views are fed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::status::names;
use super::{EventId, JobId, Timestamp};

names!(
    /// What an event tells.
    EventKind {
        /// The job moved to another status; `data.status` names it.
        Status = "status",
        /// The job entered another phase; `data.phase` names it.
        Phase = "phase",
        /// Work inside a phase advanced: `data.done` of `data.total` `data.unit`.
        Progress = "progress",
        /// All metrics of one optimizer step: `data.step`, `data.values`.
        Metrics = "metrics",
        /// Held-out accuracy: `data.step`, `data.pass_at`.
        Evaluation = "evaluation",
        /// A checkpoint became complete and visible: `data.checkpoint`.
        Checkpoint = "checkpoint",
        /// The job's rollout set became complete and visible: `data.rollout_set`, `rollouts`, `groups`, `bytes`.
        RolloutSet = "rollout_set",
        /// A sentence for people.
        Log = "log",
    }
);

names!(
    EventLevel { Info = "info", Warning = "warning", Error = "error" }
);

/// An event on its way into the log; the log gives it its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewEvent {
    pub kind: EventKind,
    pub level: EventLevel,
    pub message: String,
    pub data: Value,
}

impl NewEvent {
    pub fn info(kind: EventKind, message: impl Into<String>, data: Value) -> Self {
        Self { kind, level: EventLevel::Info, message: message.into(), data }
    }

    pub fn warning(message: impl Into<String>, data: Value) -> Self {
        Self { kind: EventKind::Log, level: EventLevel::Warning, message: message.into(), data }
    }
}

/// An event of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub id: EventId,
    pub job: JobId,
    /// 1, 2, 3, ... within the job, without gaps.
    pub seq: i64,
    pub created_at: Timestamp,
    pub body: NewEvent,
}
