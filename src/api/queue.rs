//! `GET /v1/queue`, and why a job waits.

use std::collections::BTreeMap;

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::access::Access;
use super::error::Problem;
use crate::clock;
use crate::job::Timestamp;
use crate::job::waiting;
use crate::store::QueueEntry;

/// Waiting jobs that are listed one by one.
const LISTED: u32 = 100;

/// What waits and what runs.
#[derive(Debug, Serialize, ToSchema)]
pub struct Queue {
    /// Always `queue`.
    object: &'static str,
    /// Jobs by status.
    counts: BTreeMap<String, u64>,
    /// The first 100 waiting jobs by priority, then in the order of submission.
    waiting: Vec<Queued>,
}

/// A waiting job.
#[derive(Debug, Serialize, ToSchema)]
struct Queued {
    /// 1 is next.
    position: u64,
    job: String,
    name: Option<String>,
    priority: i32,
    /// Unix seconds.
    created_at: i64,
    /// Why it waits, and for what.
    waiting: Waiting,
}

/// Why a job waits, and for what.
#[derive(Debug, Serialize, ToSchema)]
pub struct Waiting {
    /// `starting`, `devices_busy`, `devices_reserved`, `behind`, `memory`, `device_faulted`, `device_taken`,
    /// `no_device`, `project_limit`, `storage_full`, `model_importing` or `launching`.
    #[schema(example = "devices_busy")]
    code: &'static str,
    /// The same as a sentence.
    message: String,
    /// Place in the queue; 1 is next.
    position: u64,
    /// The job ahead that it waits for to start; null where that is another project's.
    behind: Option<String>,
    /// Devices that it needs.
    devices_needed: u32,
    /// Devices that it could use now if it were first.
    devices_idle: u32,
    /// Bytes that it needs on each of its devices, by an estimate.
    memory_needed: u64,
    /// Every device of the server, with what makes it fit or not.
    candidates: Vec<Candidate>,
    /// Unix seconds, from the progress of the jobs that run; null when it cannot be told, as behind another job.
    expected_start: Option<i64>,
}

/// A device as a waiting job sees it.
#[derive(Debug, Serialize, ToSchema)]
struct Candidate {
    #[schema(example = "cuda:0")]
    device: String,
    /// As in `GET /v1/devices`.
    status: &'static str,
    /// The jobs that hold it, but those of other projects.
    jobs: Vec<String>,
    /// The first of them; null where there is none.
    job: Option<String>,
    memory_total: u64,
    memory_free: u64,
    /// Unix seconds at which its jobs will probably have ended.
    free_at: Option<i64>,
}

impl From<waiting::Waiting> for Waiting {
    fn from(waiting: waiting::Waiting) -> Self {
        let candidates = waiting.candidates.into_iter().map(|slot| Candidate {
            status: slot.status.as_str(),
            jobs: slot.holders.iter().map(|holder| holder.job.to_string()).collect(),
            job: slot.holders.first().map(|holder| holder.job.to_string()),
            memory_total: slot.memory_total,
            memory_free: slot.memory_free,
            free_at: slot.free_at().map(Timestamp::unix_seconds),
            device: slot.name,
        });
        Self {
            code: waiting.code.as_str(),
            message: waiting.message,
            position: waiting.position,
            behind: waiting.behind.map(|job| job.to_string()),
            devices_needed: waiting.request.least().devices(),
            devices_idle: waiting.devices_idle,
            memory_needed: waiting.request.memory,
            candidates: candidates.collect(),
            expected_start: waiting.expected_start.map(Timestamp::unix_seconds),
        }
    }
}

impl From<QueueEntry> for Queued {
    fn from(entry: QueueEntry) -> Self {
        Self {
            position: entry.waiting.position,
            job: entry.waiting.request.job.to_string(),
            name: entry.name,
            priority: entry.waiting.request.priority,
            created_at: entry.created_at.unix_seconds(),
            waiting: entry.waiting.into(),
        }
    }
}

/// Show the queue
///
/// A job starts when as many devices as it needs are free, healthy and have enough memory. A project's
/// jobs are offered devices by priority and then in the order of submission, and projects take turns; free devices are kept
/// for a job that waits for more of them, and `waiting` says why each job waits.
#[utoipa::path(get, path = "/v1/queue", tag = "devices", responses((status = 200, body = Queue)))]
pub async fn get_queue(Access(app): Access) -> Result<Json<Queue>, Problem> {
    Ok(Json(queue(&app).await?))
}

/// What waits and what runs, as the caller sees it.
pub async fn queue(app: &App) -> Result<Queue, Problem> {
    let counts = app.store.count_jobs().await?;
    let entries = app.store.queue(LISTED, clock::now()).await?;
    let waiting = entries.into_iter().map(Queued::from).collect();
    let counts = counts.into_iter().map(|(status, count)| (status.to_string(), count)).collect();
    Ok(Queue { object: "queue", counts, waiting })
}
