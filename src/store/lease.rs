//! Leases: the right to run a job is the pair (job, attempt). Every write of a worker names it, and changes nothing once
//! another attempt has begun.

use sqlx::AnyConnection;
use sqlx::Row;

use super::statuses::held;
use super::{Result, StoreError, read};
use crate::job::{JobId, JobStatus, Timestamp};

/// The right to run one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    pub job: JobId,
    pub attempt: u32,
}

/// Checks within a transaction that `lease` is still good, and returns the job's status.
pub(super) async fn fence(connection: &mut AnyConnection, lease: Lease, now: Timestamp) -> Result<JobStatus> {
    let row = sqlx::query(concat!(
        "update job set updated_at = $3 where id = $1 and attempt = $2 and status in ",
        held!(),
        " returning status"
    ))
    .bind(lease.job.to_string())
    .bind(i64::from(lease.attempt))
    .bind(now.0)
    .fetch_optional(connection)
    .await?
    .ok_or(StoreError::LeaseLost)?;
    read("job status", row.try_get("status")?)
}
