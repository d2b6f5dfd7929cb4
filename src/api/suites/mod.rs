//! Suites: named sets, each with its verifier and its way of sampling, that models are evaluated on together.

pub mod after;
pub mod create;
pub mod delete;
pub mod get;
pub mod list;
pub mod run;
pub mod runs;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::evaluations::EvaluationResult;
use crate::job::JobStatus;
use crate::store::{SuiteRow, SuiteRunRow, SuiteRunSet};

/// Sets that models are evaluated on.
#[derive(Debug, Serialize, ToSchema)]
pub struct Suite {
    #[schema(example = "suite_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub id: String,
    /// Always `suite`.
    pub object: &'static str,
    pub name: Option<String>,
    /// Each is the spec of an evaluation without its model, with every default filled in and every reference resolved.
    #[schema(value_type = Vec<Object>)]
    pub sets: Vec<Value>,
    pub metadata: BTreeMap<String, String>,
    /// Unix seconds.
    pub created_at: i64,
}

impl From<SuiteRow> for Suite {
    fn from(row: SuiteRow) -> Self {
        Self {
            id: row.id.to_string(),
            object: "suite",
            name: row.name,
            sets: row.sets,
            metadata: row.metadata,
            created_at: row.created_at.unix_seconds(),
        }
    }
}

/// A model on the sets of a suite.
#[derive(Debug, Serialize, ToSchema)]
pub struct SuiteRun {
    #[schema(example = "srun_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub id: String,
    /// Always `suite_run`.
    pub object: &'static str,
    #[schema(example = "suite_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub suite: String,
    pub model: String,
    /// The job that asked for it with `eval.suite`; null of one that was made by a request.
    #[schema(example = "job_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub after_job: Option<String>,
    /// `running` until all evaluations are over, and then `succeeded`, or `failed` or `cancelled` if one of them is. Those that
    /// were deleted do not count; `deleted` when all are.
    #[schema(example = "succeeded")]
    pub status: &'static str,
    /// In the suite's order.
    pub sets: Vec<SuiteRunOfSet>,
    /// Why it could not be begun, with a `code` and a `message`; null otherwise.
    #[schema(value_type = Option<Object>)]
    pub failure: Option<Value>,
    /// Unix seconds.
    pub created_at: i64,
}

/// A model on one set.
#[derive(Debug, Serialize, ToSchema)]
pub struct SuiteRunOfSet {
    pub name: String,
    /// Read its results, compare it and break it down there.
    #[schema(example = "ev_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub evaluation: String,
    /// That of the evaluation; `deleted` where there is none any more.
    #[schema(example = "succeeded")]
    pub status: &'static str,
    /// What was found; null until the evaluation is complete.
    pub result: Option<EvaluationResult>,
    /// Why its job failed.
    #[schema(value_type = Option<Object>)]
    pub failure: Option<Value>,
}

impl From<SuiteRunRow> for SuiteRun {
    fn from(row: SuiteRunRow) -> Self {
        let left: Vec<JobStatus> =
            row.sets.iter().filter_map(|set| set.evaluation.as_ref().map(|evaluation| evaluation.job.status)).collect();
        let status = match &left[..] {
            _ if row.failure.is_some() => "failed",
            [] => "deleted",
            left if left.iter().any(|status| !status.is_final()) => "running",
            left if left.contains(&JobStatus::Failed) => "failed",
            left if left.contains(&JobStatus::Cancelled) => "cancelled",
            _ => "succeeded",
        };
        Self {
            id: row.id.to_string(),
            object: "suite_run",
            suite: row.suite.to_string(),
            model: row.model,
            after_job: row.after_job.map(|job| job.to_string()),
            status,
            failure: row.failure,
            sets: row.sets.into_iter().map(SuiteRunOfSet::from).collect(),
            created_at: row.created_at.unix_seconds(),
        }
    }
}

impl From<SuiteRunSet> for SuiteRunOfSet {
    fn from(SuiteRunSet { name, id, evaluation }: SuiteRunSet) -> Self {
        let evaluation = evaluation.map(super::evaluations::Evaluation::from);
        Self {
            name,
            evaluation: id.to_string(),
            status: evaluation.as_ref().map_or("deleted", |evaluation| evaluation.status),
            failure: evaluation.as_ref().and_then(|evaluation| evaluation.failure.clone()),
            result: evaluation.and_then(|evaluation| evaluation.result),
        }
    }
}
