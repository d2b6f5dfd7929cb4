//! Jobs: they train a model, fill a rollout set, or evaluate a model.

mod adapter;
pub mod attempts;
pub mod cancel;
pub mod checkpoints;
mod control;
pub mod create;
mod curriculum;
pub mod delete;
pub mod diagnoses;
pub mod events;
pub mod fork;
pub mod get;
mod leakage;
pub mod list;
pub mod metric_tables;
pub mod metrics;
pub mod pause;
pub mod preflight;
pub mod report;
pub(super) mod resolve;
pub mod resume;
pub mod rollouts;
mod stored_rollouts;
mod tensorboard;
pub mod update;
pub mod verify_resume;
pub mod wait;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::error::Problem;
use super::etag::Tagged;
use super::queue::Waiting;
use crate::clock;
use crate::job::progress::Progress;
use crate::job::{BudgetSpec, EvaluationId, JobKind, JobStatus, Timestamp};
use crate::spec::with_attributes;
use crate::store::{JobRow, Store};

/// A job.
#[derive(Debug, Serialize, ToSchema)]
pub struct Job {
    #[schema(example = "job_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub id: String,
    /// Always `job`.
    pub object: &'static str,
    /// `train`; or `rollouts` for a job that fills a rollout set, and `evaluation` for one that measures a model, which
    /// train nothing.
    pub kind: &'static str,
    pub name: Option<String>,
    /// `queued`, `starting`, `running`, `pausing`, `paused`, `cancelling`, `succeeded`, `failed` or `cancelled`.
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
    pub objective: Option<&'static str>,
    pub priority: i32,
    /// Bytes that it needs on each of its devices, by an estimate.
    pub memory_bytes: u64,
    /// The devices that its newest attempt holds or held, the leading one first; empty while it waits.
    #[schema(example = json!(["cuda:0"]))]
    pub devices: Vec<String>,
    /// Seconds of attempts times the devices that they held; of an attempt under way only whole seconds count.
    pub device_seconds: f64,
    /// How far a running job is.
    pub progress: Option<JobProgress>,
    /// Why a queued job waits, and for what; null in the answer to a submission.
    pub waiting: Option<Waiting>,
    /// The number of the newest event.
    pub last_seq: i64,
    /// What the finished job has to show: `checkpoint`, `weights_sha256`, evaluations `before` and `after`, `gate` where
    /// the spec has one, `verify_resume` of a job that was made for it, and `report`, which lists leave out.
    #[schema(value_type = Option<Object>)]
    pub result: Option<Value>,
    /// Why the job failed.
    #[schema(value_type = Option<Object>)]
    pub failure: Option<Value>,
    /// The rollout set that the job fills, by itself or because of `rollouts.keep`.
    #[schema(example = "rs_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub rollout_set: Option<String>,
    /// The job whose spec this one was made from.
    pub forked_from: Option<String>,
    /// The job that this one repeats to prove that it resumes bit for bit.
    pub verifies: Option<String>,
    /// The evaluation that the job makes.
    #[schema(example = "ev_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub evaluation: Option<String>,
    /// The spec as submitted.
    #[schema(value_type = Object)]
    pub spec: Value,
    /// The spec with every default filled in and every reference resolved.
    #[schema(value_type = Object)]
    pub spec_resolved: Value,
    /// Shown within the spec.
    #[serde(skip)]
    #[schema(ignore)]
    budget: Option<BudgetSpec>,
    /// `sha256:` and the digest of the resolved spec without name, priority, metadata and budget, with those of the
    /// built-ins that it names.
    pub spec_digest: String,
    pub metadata: BTreeMap<String, String>,
}

/// How far a job is.
#[derive(Debug, Serialize, ToSchema)]
pub struct JobProgress {
    /// Of its steps, or of its present phase where nothing is trained; 0 to 1.
    #[schema(example = 0.4)]
    fraction: f64,
    /// When the last step will be taken if steps go on as they did; null before the first one.
    expected_end: Option<JobExpectedEnd>,
}

/// When a job's last step will probably be taken.
#[derive(Debug, Serialize, ToSchema)]
struct JobExpectedEnd {
    /// Unix seconds; as likely earlier as later.
    p50: i64,
    /// Unix seconds; earlier with a probability of 90 %, judged by how much the steps so far differ. Null until
    /// two whole blocks of 16 steps are known.
    p90: Option<i64>,
}

impl From<Progress> for JobProgress {
    fn from(progress: Progress) -> Self {
        let expected_end = progress
            .expected_end
            .map(|end| JobExpectedEnd { p50: end.p50.unix_seconds(), p90: end.p90.map(Timestamp::unix_seconds) });
        Self { fraction: progress.fraction, expected_end }
    }
}

impl From<JobRow> for Job {
    fn from(row: JobRow) -> Self {
        Self {
            id: row.id.to_string(),
            object: "job",
            kind: row.work().kind().as_str(),
            evaluation: (row.work().kind() == JobKind::Evaluation).then(|| EvaluationId::of_job(row.id).to_string()),
            status: row.status.as_str(),
            phase: row.phase.map(|phase| phase.as_str()),
            created_at: row.created_at.unix_seconds(),
            started_at: row.started_at.map(Timestamp::unix_seconds),
            finished_at: row.finished_at.map(Timestamp::unix_seconds),
            attempt: row.attempt,
            step: row.step,
            steps: row.work().steps(),
            objective: row.work().objective(),
            priority: row.attributes.priority,
            memory_bytes: row.memory_bytes,
            device_seconds: row.device_seconds(clock::now()),
            devices: match row.status {
                JobStatus::Queued | JobStatus::Paused => Vec::new(),
                JobStatus::Starting
                | JobStatus::Running
                | JobStatus::Pausing
                | JobStatus::Cancelling
                | JobStatus::Succeeded
                | JobStatus::Failed
                | JobStatus::Cancelled => row.devices.clone(),
            },
            progress: None,
            waiting: None,
            last_seq: row.last_seq,
            failure: row.failure.as_ref().and_then(|failure| serde_json::to_value(failure).ok()),
            spec_resolved: with_attributes(row.essence, &row.attributes),
            budget: row.attributes.budget,
            metadata: row.attributes.metadata,
            name: row.attributes.name,
            result: row.result,
            rollout_set: row.rollout_set.map(|id| id.to_string()),
            forked_from: row.forked_from.map(|id| id.to_string()),
            verifies: row.verifies.map(|id| id.to_string()),
            spec: row.spec,
            spec_digest: row.spec_digest,
        }
    }
}

impl Job {
    /// As lists show it: without what may be long and is looked at one by one.
    fn in_short(mut self) -> Self {
        if let Some(result) = self.result.as_mut().and_then(Value::as_object_mut) {
            result.shift_remove("report");
            if let Some(after) = result.get_mut("after").and_then(Value::as_object_mut) {
                after.shift_remove("passed");
            }
        }
        self
    }

    /// The answer that shows it. A change of a job depends on what can be changed and on its status.
    fn tagged(&self) -> Result<Tagged, Problem> {
        let part = (&self.name, &self.metadata, self.priority, self.budget, self.status);
        Tagged::with_part(self, &part)
    }
}

/// Jobs as clients read them: those that are queued with the reason why, those that run with how far they are.
async fn as_read(store: &Store, rows: Vec<JobRow>) -> Result<Vec<Job>, Problem> {
    let now = clock::now();
    let queued = rows.iter().filter(|row| row.status == JobStatus::Queued).map(JobRow::request);
    let mut waiting = store.waiting(queued.collect(), now).await?;
    let mut jobs = Vec::with_capacity(rows.len());
    for row in rows {
        let progress =
            if row.status == JobStatus::Running { Some(store.progress(&row, now).await?.into()) } else { None };
        jobs.push(Job { waiting: waiting.remove(&row.id).map(Waiting::from), progress, ..Job::from(row) });
    }
    Ok(jobs)
}

/// One job in the same way.
async fn one_as_read(store: &Store, row: JobRow) -> Result<Job, Problem> {
    let jobs = as_read(store, vec![row]).await?;
    Ok(jobs.into_iter().next().expect("there is a job for every row"))
}
