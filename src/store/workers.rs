//! Worker processes: which devices there are and whether someone tends them.

use sqlx::Row;

use super::{Result, Store, read};
use crate::job::{JobId, Timestamp, WorkerId};

/// A worker process and its device.
#[derive(Clone, Debug)]
pub struct WorkerRow {
    pub id: WorkerId,
    pub device: String,
    pub description: String,
    pub pid: u32,
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
    /// The job it runs.
    pub job: Option<JobId>,
}

impl Store {
    pub async fn add_worker(&self, worker: &WorkerRow) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "insert into worker (id, device, description, pid, started_at, seen_at) values ($1, $2, $3, $4, $5, $6)",
        )
        .bind(worker.id.to_string())
        .bind(&worker.device)
        .bind(&worker.description)
        .bind(worker.pid)
        .bind(worker.started_at.0)
        .bind(worker.seen_at.0)
        .execute(tx.connection())
        .await?;
        tx.commit().await
    }

    /// Notes that a worker is alive.
    pub async fn touch_worker(&self, id: WorkerId, now: Timestamp) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query("update worker set seen_at = $2 where id = $1")
            .bind(id.to_string())
            .bind(now.0)
            .execute(tx.connection())
            .await?;
        tx.commit().await
    }

    /// Workers that have not ended and were seen since `since`.
    pub async fn live_workers(&self, since: Timestamp) -> Result<Vec<WorkerRow>> {
        let rows = sqlx::query(
            "select w.*, (select id from job where worker = w.id and status in ('starting', 'running', 'cancelling')
                          limit 1) as job_id
             from worker w where ended_at is null and seen_at >= $1 order by device, id",
        )
        .bind(since.0)
        .fetch_all(&self.readers)
        .await?;
        rows.iter()
            .map(|row| {
                let job: Option<String> = row.try_get("job_id")?;
                Ok(WorkerRow {
                    id: read("worker id", row.try_get("id")?)?,
                    device: row.try_get("device")?,
                    description: row.try_get("description")?,
                    pid: row.try_get("pid")?,
                    started_at: Timestamp(row.try_get("started_at")?),
                    seen_at: Timestamp(row.try_get("seen_at")?),
                    job: job.map(|id| read("job id", &id)).transpose()?,
                })
            })
            .collect()
    }
}
