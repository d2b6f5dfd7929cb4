//! Attempts: who may run which job, and what becomes of it. How a job comes to its devices is in `placement`.
//!
//! The right to run a job is its lease, the pair (job, attempt). Every write of a worker names it and changes nothing
//! once another attempt has begun. A lease that runs out, or whose worker is known to be dead, sends the job back to
//! the queue; after [`MAX_CRASHES`] such ends the job is taken for poison.

use serde_json::{Value, json};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::events::append;
use super::jobs::status_event;
use super::{Result, Store, StoreError, devices, read, read_json, write_json};
use crate::job::{
    EventKind, EventLevel, Failure, FailureKind, JobId, JobKind, JobStatus, NewEvent, Timestamp, WorkerId,
};

/// Workers that one job may end before it is given up.
pub const MAX_CRASHES: u32 = 3;

/// The right to run one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    pub job: JobId,
    pub attempt: u32,
}

/// A claimed job.
#[derive(Clone, Debug)]
pub struct Claim {
    pub lease: Lease,
    /// How to read `spec_resolved`: a `JobSpec`, or a `RolloutSetSpec`.
    pub kind: JobKind,
    pub spec_resolved: Value,
    pub spec_digest: String,
    /// Directories of the job's training checkpoints, newest first.
    pub resume: Vec<String>,
    /// The devices that it holds; the first is that of the worker. Empty for a process that only takes part.
    pub devices: Vec<String>,
}

/// What a worker learns when it renews its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heartbeat {
    GoOn,
    /// A client wants the job to end.
    Cancel,
    /// The job belongs to someone else, or is over.
    Lost,
}

/// How an attempt ended, as its worker reports it.
#[derive(Clone, Debug)]
pub enum Ended {
    Succeeded {
        result: Value,
    },
    Failed(Failure),
    Cancelled,
    /// The worker has to go; the job is not to blame.
    Drained,
    /// The device failed under it, hung, or had too little memory left. Another attempt may go well elsewhere or
    /// later; the device takes no jobs until it was checked.
    Lost(Loss),
}

/// Why an attempt was lost: what a client reads when it was the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// `poison` when nothing is known but that the worker is gone.
    pub kind: FailureKind,
    pub reason: String,
    /// The device to blame, when that is not the first of the attempt.
    pub device: Option<String>,
    /// Whether it does not count against the job.
    pub blameless: bool,
}

impl Loss {
    fn of_worker(reason: &str) -> Self {
        Self { kind: FailureKind::Poison, reason: reason.to_owned(), device: None, blameless: false }
    }
}

impl Store {
    /// The job of a lease as its worker claimed it, for the other processes that work on it.
    pub async fn claimed(&self, lease: Lease) -> Result<Claim> {
        let row = sqlx::query("select kind, spec_resolved, spec_digest from job where id = $1 and attempt = $2")
            .bind(lease.job.to_string())
            .bind(lease.attempt)
            .fetch_optional(&self.readers)
            .await?
            .ok_or(StoreError::LeaseLost)?;
        let mut connection = self.readers.acquire().await?;
        Ok(Claim {
            lease,
            kind: read("job kind", row.try_get("kind")?)?,
            spec_resolved: read_json("spec", row.try_get("spec_resolved")?)?,
            spec_digest: row.try_get("spec_digest")?,
            resume: super::checkpoints::training_directories(&mut connection, lease.job).await?,
            devices: Vec::new(),
        })
    }

    /// Renews a lease, and notes that its worker is alive.
    pub async fn heartbeat(&self, lease: Lease, lease_seconds: u64, now: Timestamp) -> Result<Heartbeat> {
        let mut tx = self.begin().await?;
        let row = sqlx::query(
            "update job set lease_until = $3
             where id = $1 and attempt = $2 and status in ('starting', 'running', 'cancelling') returning status",
        )
        .bind(lease.job.to_string())
        .bind(lease.attempt)
        .bind(now.plus_seconds(lease_seconds).0)
        .fetch_optional(tx.connection())
        .await?;
        sqlx::query("update worker set seen_at = $2 where id = (select worker from job where id = $1)")
            .bind(lease.job.to_string())
            .bind(now.0)
            .execute(tx.connection())
            .await?;
        tx.commit().await?;
        self.heartbeat_of(row.map(|row| row.try_get::<String, _>("status")).transpose()?)
    }

    /// What a renewal would say, without writing.
    pub async fn peek_lease(&self, lease: Lease) -> Result<Heartbeat> {
        let status = sqlx::query_scalar("select status from job where id = $1 and attempt = $2")
            .bind(lease.job.to_string())
            .bind(lease.attempt)
            .fetch_optional(&self.readers)
            .await?;
        self.heartbeat_of(status)
    }

    fn heartbeat_of(&self, status: Option<String>) -> Result<Heartbeat> {
        let Some(status) = status else { return Ok(Heartbeat::Lost) };
        Ok(match read::<JobStatus>("job status", &status)? {
            JobStatus::Starting | JobStatus::Running => Heartbeat::GoOn,
            JobStatus::Cancelling => Heartbeat::Cancel,
            JobStatus::Queued
            | JobStatus::Pausing
            | JobStatus::Paused
            | JobStatus::Succeeded
            | JobStatus::Failed
            | JobStatus::Cancelled => Heartbeat::Lost,
        })
    }

    /// Ends an attempt.
    pub async fn end_attempt(&self, lease: Lease, ended: Ended, now: Timestamp) -> Result<()> {
        let mut tx = self.begin().await?;
        let cancelling = fence(tx.connection(), lease, now).await? == JobStatus::Cancelling;
        if let Ended::Lost(loss) = &ended {
            lose_with_device(tx.connection(), lease, loss, now).await?;
            return tx.commit().await;
        }
        let outcome = match &ended {
            Ended::Succeeded { .. } => "succeeded",
            Ended::Failed(_) => "failed",
            Ended::Cancelled => "cancelled",
            Ended::Drained => "drained",
            Ended::Lost(_) => "lost",
        };
        end_attempt_row(tx.connection(), lease, outcome, now).await?;
        let (status, reason, result, failure) = match ended {
            Ended::Succeeded { result } => (JobStatus::Succeeded, String::from("finished"), Some(result), None),
            Ended::Failed(failure) => (JobStatus::Failed, failure.message.clone(), None, Some(failure)),
            Ended::Cancelled => (JobStatus::Cancelled, String::from("cancelled by a client"), None, None),
            // A cancelled job does not go back to the queue, whoever was first.
            Ended::Drained if cancelling => (JobStatus::Cancelled, String::from("cancelled by a client"), None, None),
            Ended::Drained => (JobStatus::Queued, String::from("the worker had to stop"), None, None),
            Ended::Lost(loss) => (JobStatus::Queued, loss.reason, None, None),
        };
        settle(tx.connection(), lease.job, status, &reason, result, failure, now).await?;
        tx.commit().await
    }

    /// Requeues the jobs of a worker that is known to be dead; `blameless` where it was ended by its server, which is no
    /// crash of the job's. Returns how many.
    pub async fn release_worker(
        &self,
        worker: WorkerId,
        reason: &str,
        blameless: bool,
        now: Timestamp,
    ) -> Result<usize> {
        let mut tx = self.begin().await?;
        let rows = sqlx::query(
            "select id, attempt, status, crashes from job
             where worker = $1 and status in ('starting', 'running', 'cancelling')",
        )
        .bind(worker.to_string())
        .fetch_all(tx.connection())
        .await?;
        sqlx::query("update worker set ended_at = $2 where id = $1")
            .bind(worker.to_string())
            .bind(now.0)
            .execute(tx.connection())
            .await?;
        for row in &rows {
            lose(tx.connection(), row, &Loss { blameless, ..Loss::of_worker(reason) }, now).await?;
        }
        tx.commit().await?;
        Ok(rows.len())
    }

    /// Requeues jobs whose lease has run out. Returns how many.
    pub async fn reap_expired(&self, now: Timestamp) -> Result<usize> {
        let expired = "select id, attempt, status, crashes from job
                       where status in ('starting', 'running', 'cancelling') and lease_until < $1 limit 1000";
        if sqlx::query(expired).bind(now.0).fetch_optional(&self.readers).await?.is_none() {
            return Ok(0);
        }
        let mut tx = self.begin().await?;
        let rows = sqlx::query(expired).bind(now.0).fetch_all(tx.connection()).await?;
        for row in &rows {
            lose(tx.connection(), row, &Loss::of_worker("the worker stopped reporting"), now).await?;
        }
        tx.commit().await?;
        Ok(rows.len())
    }

    /// Jobs by status, for overviews.
    pub async fn count_jobs(&self) -> Result<Vec<(JobStatus, u64)>> {
        let rows =
            sqlx::query("select status, count(*) as number from job group by status").fetch_all(&self.readers).await?;
        rows.iter()
            .map(|row| {
                Ok((read("job status", row.try_get("status")?)?, row.try_get::<i64, _>("number")?.unsigned_abs()))
            })
            .collect()
    }
}

/// Checks within a transaction that `lease` is still good, and returns the job's status.
pub(super) async fn fence(connection: &mut SqliteConnection, lease: Lease, now: Timestamp) -> Result<JobStatus> {
    let row = sqlx::query(
        "update job set updated_at = $3
         where id = $1 and attempt = $2 and status in ('starting', 'running', 'cancelling') returning status",
    )
    .bind(lease.job.to_string())
    .bind(lease.attempt)
    .bind(now.0)
    .fetch_optional(connection)
    .await?
    .ok_or(StoreError::LeaseLost)?;
    read("job status", row.try_get("status")?)
}

async fn end_attempt_row(connection: &mut SqliteConnection, lease: Lease, outcome: &str, now: Timestamp) -> Result<()> {
    sqlx::query("update attempt set ended_at = $3, outcome = $4 where job_id = $1 and number = $2")
        .bind(lease.job.to_string())
        .bind(lease.attempt)
        .bind(now.0)
        .bind(outcome)
        .execute(connection)
        .await?;
    Ok(())
}

/// The device of a job's worker failed, as the worker itself says.
async fn lose_with_device(connection: &mut SqliteConnection, lease: Lease, loss: &Loss, now: Timestamp) -> Result<()> {
    let row = sqlx::query("select id, attempt, status, crashes from job where id = $1")
        .bind(lease.job.to_string())
        .fetch_one(&mut *connection)
        .await?;
    let device: String = sqlx::query_scalar("select device from attempt where job_id = $1 and number = $2")
        .bind(lease.job.to_string())
        .bind(lease.attempt)
        .fetch_one(&mut *connection)
        .await?;
    let blamed = loss.device.as_ref().unwrap_or(&device);
    devices::mark_faulted(connection, blamed, &loss.reason, now).await?;
    lose(connection, &row, loss, now).await
}

/// A worker or a device died with a job.
pub(super) async fn lose(
    connection: &mut SqliteConnection,
    row: &sqlx::sqlite::SqliteRow,
    loss: &Loss,
    now: Timestamp,
) -> Result<()> {
    let lease = Lease { job: read("job id", row.try_get("id")?)?, attempt: row.try_get("attempt")? };
    let status: JobStatus = read("job status", row.try_get("status")?)?;
    let crashes: u32 = row.try_get::<u32, _>("crashes")? + u32::from(!loss.blameless);
    let Loss { kind, reason, .. } = loss;
    end_attempt_row(connection, lease, "lost", now).await?;
    if *kind != FailureKind::Poison {
        append(connection, lease.job, &devices::lost_event(*kind, reason), now).await?;
    }
    sqlx::query("update job set crashes = $2 where id = $1")
        .bind(lease.job.to_string())
        .bind(crashes)
        .execute(&mut *connection)
        .await?;
    if status == JobStatus::Cancelling {
        return settle(connection, lease.job, JobStatus::Cancelled, "cancelled by a client", None, None, now).await;
    }
    if crashes < MAX_CRASHES {
        let reason = format!("{reason}; trying again from the last checkpoint");
        return settle(connection, lease.job, JobStatus::Queued, &reason, None, None, now).await;
    }
    let advice = match kind {
        FailureKind::DeviceLost => "look at the devices (GET /v1/devices) and submit the job again",
        FailureKind::OutOfMemory => {
            "lower `train.micro_batch_tokens` or `sampling.batch_size`, or turn `train.recompute` on"
        }
        FailureKind::Poison
        | FailureKind::InvalidData
        | FailureKind::Diverged
        | FailureKind::VerifierErrorRate
        | FailureKind::StorageFull
        | FailureKind::Internal => {
            "it probably needs more memory than there is: lower `train.micro_batch_tokens` or `sampling.batch_size`"
        }
    };
    let failure = Failure {
        kind: *kind,
        code: kind.as_str().to_owned(),
        message: format!("the job lost its worker or device {crashes} times (last: {reason}); {advice}"),
    };
    settle(connection, lease.job, JobStatus::Failed, &failure.message.clone(), None, Some(failure), now).await
}

/// Moves a job out of its worker's hands.
async fn settle(
    connection: &mut SqliteConnection,
    job: JobId,
    status: JobStatus,
    reason: &str,
    result: Option<Value>,
    failure: Option<Failure>,
    now: Timestamp,
) -> Result<()> {
    sqlx::query(
        "update job set status = $2, phase = null, worker = null, lease_until = null, updated_at = $3,
                        finished_at = case when $4 then $3 end, result = $5, failure = $6
         where id = $1",
    )
    .bind(job.to_string())
    .bind(status.as_str())
    .bind(now.0)
    .bind(status.is_final())
    .bind(result.as_ref().map(write_json).transpose()?)
    .bind(failure.as_ref().map(write_json).transpose()?)
    .execute(&mut *connection)
    .await?;
    devices::free(connection, job, now).await?;
    let mut event = status_event(status, reason);
    if let Some(failure) = &failure {
        event = NewEvent {
            kind: EventKind::Status,
            level: EventLevel::Error,
            message: format!("{status}: {reason}"),
            data: json!({"status": status, "reason": reason, "failure": failure}),
        };
    }
    append(connection, job, &event, now).await
}
