//! What a worker reports while it runs a job: events, and what follows from them.

use sqlx::AnyConnection;

use super::events::insert;
use super::lease::{Lease, fence};
use super::metric_blocks::{pack_if_many, signed};
use super::transitions::{Transition, move_job};
use super::{Result, Store, StoreError};
use crate::job::{EventBody, JobId, JobStatus, NewEvent, Timestamp};

impl Store {
    /// Adds events of a running attempt and what follows from them: phase, step and metrics. All or none.
    pub async fn record(&self, lease: Lease, events: &[NewEvent], now: Timestamp) -> Result<()> {
        self.write_report(lease, None, events, now).await
    }

    /// The same, where `first` events of the attempt came before these. Those that were written already are not written
    /// again: whoever heard no answer reports once more.
    pub async fn record_from(&self, lease: Lease, first: u64, events: &[NewEvent], now: Timestamp) -> Result<()> {
        self.write_report(lease, Some(first), events, now).await
    }

    async fn write_report(&self, lease: Lease, first: Option<u64>, events: &[NewEvent], now: Timestamp) -> Result<()> {
        let mut tx = self.begin_on_row().await?;
        let mut held = fence(tx.connection(), lease, now).await?;
        if held.status == JobStatus::Starting {
            // The status of a job concerns others too.
            drop(tx);
            tx = self.begin().await?;
            held = fence(tx.connection(), lease, now).await?;
            if held.status == JobStatus::Starting {
                let begun = Transition::to(JobStatus::Running, format!("attempt {}", lease.attempt));
                move_job(tx.connection(), lease.job, &begun, now).await?;
            }
        }
        let first = first.unwrap_or(held.reported);
        let known = held.reported.checked_sub(first).ok_or_else(|| StoreError::Refused {
            code: "events_missing",
            detail: format!("the events from {} to {first} of this attempt were not reported", held.reported),
        })?;
        let new = events.get(usize::try_from(known).unwrap_or(usize::MAX)..).unwrap_or_default();
        append_reported(tx.connection(), lease.job, new, now).await?;
        tx.commit().await
    }

    /// Packs the values of a job that has many that are not.
    pub(super) async fn pack_metrics(&self, job: JobId) -> Result<()> {
        let mut tx = self.begin_on_row().await?;
        append_reported(tx.connection(), job, &[], Timestamp(0)).await?;
        tx.commit().await
    }
}

/// Adds events, and to the job's row what they say of it, in few statements however many there are.
pub(super) async fn append_reported(
    connection: &mut AnyConnection,
    job: JobId,
    events: &[NewEvent],
    now: Timestamp,
) -> Result<()> {
    let mut newest = events.iter().rev();
    let phase = newest.clone().find_map(|event| match &event.body {
        EventBody::Phase(change) => Some(change.phase.as_str()),
        _ => None,
    });
    let step = newest.find_map(|event| match &event.body {
        EventBody::Metrics(metrics) => Some(signed(metrics.step)),
        _ => None,
    });
    let (last, packed): (i64, i64) = sqlx::query_as(
        "update job set last_seq = last_seq + $2, reported = reported + $2, phase = case when $3 = '' then phase else $3 end,
                        step = case when $4 < 0 then step else $4 end
         where id = $1 returning last_seq, packed_seq",
    )
    .bind(job.to_string())
    .bind(events.len() as i64)
    .bind(phase.unwrap_or_default())
    .bind(step.unwrap_or(-1))
    .fetch_one(&mut *connection)
    .await?;
    insert(connection, job, last, events, now).await?;
    pack_if_many(connection, job, last, packed).await
}
