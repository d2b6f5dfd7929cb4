//! Attempts as clients see them: who ran a job when, on what, and how it ended.

use std::time::Duration;

use sqlx::Row;
use sqlx::any::AnyRow;

use super::{Page, Result, Store, number, read, read_json};
use crate::job::{JobId, Timestamp, WorkerId};

/// What counts as lately.
const LATELY_MILLISECONDS: i64 = 3_600_000;

/// One run of a worker at a job.
#[derive(Clone, Debug)]
pub struct AttemptRow {
    /// 1, 2, 3, ... within the job.
    pub number: u32,
    pub worker: WorkerId,
    /// The leading one first.
    pub devices: Vec<String>,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub outcome: Option<String>,
    /// How long it had its devices, as far as its worker has told.
    pub held_milliseconds: i64,
    /// Optimizer steps that had been taken when it began.
    pub first_step: u64,
}

/// How long jobs wait for their first attempt.
#[derive(Clone, Debug)]
pub struct QueueWaits {
    /// Those that began in the last hour, the shortest wait first.
    pub sorted: Vec<Duration>,
    /// The one that has waited for longest, if one waits.
    pub oldest: Option<Duration>,
}

impl Store {
    /// How long the last jobs waited, and how long the oldest one waits.
    pub async fn queue_waits(&self, now: Timestamp) -> Result<QueueWaits> {
        let waits: Vec<i64> = sqlx::query_scalar(
            "select attempt.started_at - job.created_at from attempt join job on job.id = job_id
             where number = 1 and attempt.started_at > $1 and project = coalesce($2, project)
             order by attempt.started_at desc limit 10000",
        )
        .bind(now.0 - LATELY_MILLISECONDS)
        .bind(self.project())
        .fetch_all(&self.readers)
        .await?;
        let oldest: Option<i64> = sqlx::query_scalar(
            "select min(created_at) from job where status = 'queued' and attempt = 0 and project = coalesce($1, project)",
        )
        .bind(self.project())
        .fetch_one(&self.readers)
        .await?;
        // A clock may have been set back.
        let duration = |milliseconds: i64| Duration::from_millis(milliseconds.max(0).unsigned_abs());
        let mut sorted: Vec<Duration> = waits.into_iter().map(duration).collect();
        sorted.sort_unstable();
        Ok(QueueWaits { sorted, oldest: oldest.map(|created_at| duration(now.0 - created_at)) })
    }

    /// Attempts of a job, in the order of a page whose `after` is a number.
    pub async fn attempts(&self, job: JobId, after: Option<u32>, page: &Page) -> Result<Vec<AttemptRow>> {
        let statement = if page.newest_first {
            "select attempt.* from attempt join job on job.id = job_id
             where job_id = $1 and project = coalesce($2, project) and number < coalesce($3, 4294967296)
             order by number desc limit $4"
        } else {
            "select attempt.* from attempt join job on job.id = job_id
             where job_id = $1 and project = coalesce($2, project) and number > coalesce($3, 0)
             order by number limit $4"
        };
        let rows = sqlx::query(statement)
            .bind(job.to_string())
            .bind(self.project())
            .bind(after.map(i64::from))
            .bind(i64::from(page.limit))
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(attempt).collect()
    }
}

fn attempt(row: &AnyRow) -> Result<AttemptRow> {
    Ok(AttemptRow {
        number: number(row, "number")?,
        worker: read("worker id", row.try_get("worker")?)?,
        devices: read_json("devices", row.try_get("devices")?)?,
        started_at: Timestamp(row.try_get("started_at")?),
        ended_at: row.try_get::<Option<i64>, _>("ended_at")?.map(Timestamp),
        outcome: row.try_get("outcome")?,
        held_milliseconds: row.try_get("held_milliseconds")?,
        first_step: row.try_get::<i64, _>("first_step")?.unsigned_abs(),
    })
}
