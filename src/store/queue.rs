//! Attempts: who may run which job, and what becomes of it. How a job comes to its devices is in `placement`.
//!
//! A worker that shows no sign of life, or is known to be dead, sends its job back to the queue; after [`MAX_CRASHES`]
//! such ends the job is taken for poison.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sqlx::AnyConnection;
use sqlx::Row;

use super::derived::{Verification, verification};
use super::events::append;
use super::jobs::{CANCELLED_BY_CLIENT, stored_budget, stored_spec};
use super::lease::{Lease, fence};
use super::space::wait_for_space;
use super::statuses::held;
use super::transitions::{Transition, move_job};
use super::{Location, Result, Store, StoreError, devices, number, read, read_json};
use crate::job::event::LogDetail;
use crate::job::{Failure, FailureKind, JobId, JobStatus, NewEvent, Timestamp, WorkerId};
use crate::spec::{Attributes, Resolved};

/// Workers that one job may end before it is given up.
pub const MAX_CRASHES: u32 = 3;

/// A claimed job.
#[derive(Clone, Debug)]
pub struct Claim {
    pub lease: Lease,
    pub attributes: Attributes,
    pub spec: Arc<Resolved>,
    pub spec_digest: String,
    /// The job's training checkpoints, newest first.
    pub resume: Vec<Location>,
    /// The devices that it holds; the first is that of the worker. Empty for a process that only takes part.
    pub devices: Vec<String>,
    /// What the job is to prove; its last `resume` is then another job's checkpoint, from which it must begin.
    pub verification: Option<Verification>,
    /// What the trace of its submission is known by.
    pub trace: Option<String>,
}

/// What a worker learns when it checks its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heartbeat {
    GoOn,
    /// A client wants the job to rest, its budget is spent, or its machine is to be free.
    Pause,
    /// A client wants the job to end, or its budget is spent.
    Cancel,
    /// The job belongs to someone else, or is over.
    Lost,
}

impl Heartbeat {
    /// What the status of a job says to the worker that holds its lease.
    pub(super) fn of(status: JobStatus) -> Self {
        match status {
            JobStatus::Starting | JobStatus::Running => Self::GoOn,
            JobStatus::Pausing => Self::Pause,
            JobStatus::Cancelling => Self::Cancel,
            JobStatus::Queued | JobStatus::Paused | JobStatus::Succeeded | JobStatus::Failed | JobStatus::Cancelled => {
                Self::Lost
            }
        }
    }
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
        let row = sqlx::query("select * from job where id = $1 and attempt = $2")
            .bind(lease.job.to_string())
            .bind(i64::from(lease.attempt))
            .fetch_optional(&self.readers)
            .await?
            .ok_or(StoreError::LeaseLost)?;
        let (attributes, spec, _) = stored_spec(&row)?;
        let mut connection = self.readers.acquire().await?;
        Ok(Claim {
            lease,
            attributes,
            spec,
            spec_digest: row.try_get("spec_digest")?,
            resume: super::artifacts::training_locations(&mut connection, lease.job).await?,
            devices: Vec::new(),
            verification: verification(&mut connection, lease.job).await?,
            trace: row.try_get("trace")?,
        })
    }

    /// Whether a lease is good, and what is asked of its worker, which has `held` the job's devices for so long. Writes
    /// nothing, unless the job's budget is spent: then the job is asked to stop.
    pub async fn check_lease(&self, lease: Lease, held: Duration, now: Timestamp) -> Result<Heartbeat> {
        let row = sqlx::query(
            "select status, budget, (select count(*) from holding join device on device.name = holding.device
                                     join host on host.name = device.host
                                     where holding.job_id = job.id and host.drained_at is not null) as drained
             from job where id = $1 and attempt = $2",
        )
        .bind(lease.job.to_string())
        .bind(i64::from(lease.attempt))
        .fetch_optional(&self.readers)
        .await?;
        let Some(row) = row else { return Ok(Heartbeat::Lost) };
        let answer = Heartbeat::of(read("job status", row.try_get("status")?)?);
        if answer == Heartbeat::GoOn && row.try_get::<i64, _>("drained")? > 0 {
            return Ok(Heartbeat::Pause);
        }
        match stored_budget(&row)? {
            Some(budget) if answer == Heartbeat::GoOn => self.spend(lease, budget, held, now).await,
            Some(_) | None => Ok(answer),
        }
    }

    /// Ends an attempt, and removes what the job needs no more.
    pub async fn conclude(&self, lease: Lease, ended: &Ended, now: Timestamp) -> Result<()> {
        // While the job is still its worker's: it may be resumed as soon as it has ended. One that waits for space keeps
        // what it has.
        let is_over = match ended {
            Ended::Cancelled => true,
            Ended::Failed(failure) => failure.kind != FailureKind::StorageFull,
            Ended::Lost(_) | Ended::Succeeded { .. } | Ended::Drained => false,
        };
        if is_over && Heartbeat::Lost != self.check_lease(lease, Duration::ZERO, now).await? {
            self.tidy(lease.job, false).await;
        }
        self.end_attempt(lease, ended.clone(), now).await?;
        self.written.notify_one();
        if let Ended::Succeeded { .. } = ended {
            self.tidy(lease.job, true).await;
        }
        Ok(())
    }

    /// What cannot be removed now is removed when a server starts.
    async fn tidy(&self, job: JobId, succeeded: bool) {
        if let Err(error) = self.sweep_job(job, succeeded).await {
            tracing::warn!(%job, %error, "what the job needs no more could not be removed");
        }
    }

    /// Ends an attempt, on a full disk as well.
    pub async fn end_attempt(&self, lease: Lease, ended: Ended, now: Timestamp) -> Result<()> {
        self.despite_full(|| self.write_end(lease, ended.clone(), now)).await
    }

    async fn write_end(&self, lease: Lease, ended: Ended, now: Timestamp) -> Result<()> {
        let mut tx = self.begin().await?;
        let status = fence(tx.connection(), lease, now).await?.status;
        let stopped = stopped(tx.connection(), lease.job, status).await?;
        let transition = match ended {
            Ended::Succeeded { result } => {
                Transition { result: Some(result), ..Transition::to(JobStatus::Succeeded, "finished") }
            }
            Ended::Failed(failure) if failure.kind == FailureKind::StorageFull && stopped.is_none() => {
                end_attempt_row(tx.connection(), lease, failure.kind.as_str(), now).await?;
                wait_for_space(tx.connection(), lease.job, failure, now).await?;
                return tx.commit().await;
            }
            Ended::Failed(failure) => Transition::failed(failure),
            // A job that was to stop does not go back to the queue, whoever was first.
            Ended::Cancelled => stopped.unwrap_or_else(|| Transition::to(JobStatus::Cancelled, CANCELLED_BY_CLIENT)),
            Ended::Drained => stopped.unwrap_or_else(|| Transition::to(JobStatus::Queued, "the worker had to stop")),
            Ended::Lost(loss) => {
                lose_with_device(tx.connection(), lease, &loss, now).await?;
                return tx.commit().await;
            }
        };
        let outcome = if transition.to == JobStatus::Queued { "drained" } else { transition.to.as_str() };
        end_attempt_row(tx.connection(), lease, outcome, now).await?;
        move_job(tx.connection(), lease.job, &transition, now).await?;
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
        // A worker that could not write any more is not its job's fault.
        let blameless = blameless || self.is_full();
        let released = self.despite_full(|| self.write_release(worker, reason, blameless, now)).await?;
        self.forget_life(worker);
        Ok(released)
    }

    async fn write_release(&self, worker: WorkerId, reason: &str, blameless: bool, now: Timestamp) -> Result<usize> {
        let mut tx = self.begin().await?;
        let rows = sqlx::query(concat!(
            "select id, attempt, status, crashes from job where worker = $1 and status in ",
            held!()
        ))
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

    /// A device has failed: it takes no jobs, and those that it ran are lost. Failing twice is the same as once.
    pub async fn fault_device(&self, name: &str, reason: &str, now: Timestamp) -> Result<()> {
        let mut tx = self.begin().await?;
        let jobs = devices::mark_faulted(tx.connection(), name, reason, now).await?;
        let reason = format!("{name} failed: {reason}");
        let loss = Loss { kind: FailureKind::DeviceLost, reason, device: None, blameless: false };
        lose_held(tx.connection(), &jobs, &loss, now).await?;
        tx.commit().await
    }

    /// Tells the jobs under way that the wall clock has moved by so much without time having passed.
    pub async fn note_clock(&self, milliseconds: i64, now: Timestamp) -> Result<()> {
        let way = if milliseconds < 0 { "back" } else { "forward" };
        let seconds = (milliseconds.unsigned_abs() + 500) / 1000;
        let message =
            format!("the clock went {way} by {seconds} s: it was set, or the machine slept; nothing is counted for it");
        let event = NewEvent::warning(message, "clock_moved", LogDetail::None {});
        let mut tx = self.begin().await?;
        let jobs: Vec<String> =
            sqlx::query_scalar(concat!("select id from job where worker is not null and status in ", held!()))
                .fetch_all(tx.connection())
                .await?;
        for job in &jobs {
            append(tx.connection(), read("job id", job)?, &event, now).await?;
        }
        tx.commit().await
    }

    /// Jobs by status, for overviews.
    pub async fn count_jobs(&self) -> Result<Vec<(JobStatus, u64)>> {
        // In the order of an index, for which a project is named or none.
        let rows = match self.project() {
            Some(project) => {
                let counts = "select status, count(*) as number from job where project = $1 group by status";
                sqlx::query(counts).bind(project).fetch_all(&self.readers).await?
            }
            None => {
                let counts = "select status, cast(sum(number) as bigint) as number from
                                  (select project, status, count(*) as number from job group by project, status) as counts
                              group by status";
                sqlx::query(counts).fetch_all(&self.readers).await?
            }
        };
        rows.iter()
            .map(|row| {
                Ok((read("job status", row.try_get("status")?)?, row.try_get::<i64, _>("number")?.unsigned_abs()))
            })
            .collect()
    }
}

async fn end_attempt_row(connection: &mut AnyConnection, lease: Lease, outcome: &str, now: Timestamp) -> Result<()> {
    // A clock may have been set back.
    let end = "update attempt set ended_at = case when $3 < started_at then started_at else $3 end, outcome = $4,
                                  rendezvous = null
               where job_id = $1 and number = $2";
    sqlx::query(end)
        .bind(lease.job.to_string())
        .bind(i64::from(lease.attempt))
        .bind(now.0)
        .bind(outcome)
        .execute(connection)
        .await?;
    Ok(())
}

/// What becomes of a job that was told to stop, when its worker lets go of it; none of one that was not.
async fn stopped(connection: &mut AnyConnection, job: JobId, status: JobStatus) -> Result<Option<Transition>> {
    let to = match status {
        JobStatus::Pausing => JobStatus::Paused,
        JobStatus::Cancelling => JobStatus::Cancelled,
        JobStatus::Queued
        | JobStatus::Starting
        | JobStatus::Running
        | JobStatus::Paused
        | JobStatus::Succeeded
        | JobStatus::Failed
        | JobStatus::Cancelled => return Ok(None),
    };
    let row = sqlx::query("select stop_reason, stop_failure from job where id = $1")
        .bind(job.to_string())
        .fetch_one(connection)
        .await?;
    let failure: Option<String> = row.try_get("stop_failure")?;
    if let Some(failure) = failure {
        return Ok(Some(Transition::failed(read_json("failure", &failure)?)));
    }
    let reason: Option<String> = row.try_get("stop_reason")?;
    Ok(Some(Transition::to(to, reason.as_deref().unwrap_or(CANCELLED_BY_CLIENT))))
}

/// The device of a job's worker failed, as the worker itself says.
async fn lose_with_device(connection: &mut AnyConnection, lease: Lease, loss: &Loss, now: Timestamp) -> Result<()> {
    let row = sqlx::query("select id, attempt, status, crashes from job where id = $1")
        .bind(lease.job.to_string())
        .fetch_one(&mut *connection)
        .await?;
    let device: String = sqlx::query_scalar("select device from attempt where job_id = $1 and number = $2")
        .bind(lease.job.to_string())
        .bind(i64::from(lease.attempt))
        .fetch_one(&mut *connection)
        .await?;
    let blamed = loss.device.as_ref().unwrap_or(&device);
    let mut others = devices::mark_faulted(connection, blamed, &loss.reason, now).await?;
    others.retain(|job| *job != lease.job);
    lose(connection, &row, loss, now).await?;
    let reason = format!("a job that ran beside it lost {blamed}");
    let beside = Loss { reason, device: None, blameless: true, ..loss.clone() };
    lose_held(connection, &others, &beside, now).await
}

/// Several jobs lost what they ran on together.
async fn lose_held(connection: &mut AnyConnection, jobs: &[JobId], loss: &Loss, now: Timestamp) -> Result<()> {
    for job in jobs {
        let held =
            sqlx::query(concat!("select id, attempt, status, crashes from job where id = $1 and status in ", held!()))
                .bind(job.to_string())
                .fetch_optional(&mut *connection)
                .await?;
        if let Some(row) = held {
            lose(connection, &row, loss, now).await?;
        }
    }
    Ok(())
}

/// A worker or a device died with a job.
pub(super) async fn lose(
    connection: &mut AnyConnection,
    row: &sqlx::any::AnyRow,
    loss: &Loss,
    now: Timestamp,
) -> Result<()> {
    let lease = Lease { job: read("job id", row.try_get("id")?)?, attempt: number(row, "attempt")? };
    let status: JobStatus = read("job status", row.try_get("status")?)?;
    let crashes: u32 = number::<u32>(row, "crashes")? + u32::from(!loss.blameless);
    let Loss { kind, reason, .. } = loss;
    end_attempt_row(connection, lease, "lost", now).await?;
    if *kind != FailureKind::Poison {
        append(connection, lease.job, &devices::lost_event(*kind, reason), now).await?;
    }
    sqlx::query("update job set crashes = $2 where id = $1")
        .bind(lease.job.to_string())
        .bind(i64::from(crashes))
        .execute(&mut *connection)
        .await?;
    if let Some(transition) = stopped(connection, lease.job, status).await? {
        return move_job(connection, lease.job, &transition, now).await;
    }
    if crashes < MAX_CRASHES {
        let reason = format!("{reason}; trying again from the last checkpoint");
        return move_job(connection, lease.job, &Transition::to(JobStatus::Queued, reason), now).await;
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
        | FailureKind::BudgetExhausted
        | FailureKind::Internal => {
            "it probably needs more memory than there is: lower `train.micro_batch_tokens` or `sampling.batch_size`"
        }
    };
    let failure = Failure {
        kind: *kind,
        code: kind.as_str().to_owned(),
        message: format!("the job lost its worker or device {crashes} times (last: {reason}); {advice}"),
    };
    move_job(connection, lease.job, &Transition::failed(failure), now).await
}
