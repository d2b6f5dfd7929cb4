//! Leases: the right to run a job is the pair (job, attempt). Every write of a worker names it, and changes nothing once
//! another attempt has begun.

use sqlx::AnyConnection;
use sqlx::Row;

use super::statuses::held;
use super::{Result, StoreError, number, read};
use crate::job::{JobId, JobStatus, Timestamp};

/// The right to run one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lease {
    pub job: JobId,
    pub attempt: u32,
}

/// A job whose lease is good.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fenced {
    pub status: JobStatus,
    /// Events that the attempt's worker has reported.
    pub reported: u64,
}

/// Checks within a transaction that `lease` is still good.
pub(super) async fn fence(connection: &mut AnyConnection, lease: Lease, now: Timestamp) -> Result<Fenced> {
    let row = sqlx::query(concat!(
        "update job set updated_at = $3 where id = $1 and attempt = $2 and status in ",
        held!(),
        " returning status, reported"
    ))
    .bind(lease.job.to_string())
    .bind(i64::from(lease.attempt))
    .bind(now.0)
    .fetch_optional(connection)
    .await?
    .ok_or(StoreError::LeaseLost)?;
    Ok(Fenced { status: read("job status", row.try_get("status")?)?, reported: number(&row, "reported")? })
}
