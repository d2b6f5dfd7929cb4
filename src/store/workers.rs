//! Worker processes: which devices there are and whether someone tends them.

use super::{Result, Store};
use crate::job::{Timestamp, WorkerId};

/// A worker process and its device.
#[derive(Clone, Debug)]
pub struct WorkerRow {
    pub id: WorkerId,
    pub device: String,
    pub description: String,
    pub pid: u32,
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
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
}
