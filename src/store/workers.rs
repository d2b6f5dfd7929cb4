//! Worker processes: which devices they tend, and their signs of life. A worker counts its signs of life; whoever judges
//! it looks whether the number moves, so that no clock of one process is compared with that of another.

use std::time::Duration;

use sqlx::Row;

use super::{Lease, Result, Store, number, read};
use crate::job::device::split_name;
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

/// A worker that has not been said to have ended.
#[derive(Clone, Copy, Debug)]
pub struct SignOfLife {
    pub worker: WorkerId,
    pub pid: u32,
    /// It runs on this machine.
    pub own: bool,
    /// How many it has given.
    pub beats: i64,
}

impl Store {
    /// Another worker begins in the place of one that has ended, for tests under the same id.
    #[cfg(test)]
    pub(super) async fn revive_worker(&self, id: WorkerId) {
        let mut tx = self.begin().await.expect("the store of a test works");
        let revived = sqlx::query("update worker set ended_at = null where id = $1").bind(id.to_string());
        revived.execute(tx.connection()).await.expect("the store of a test works");
        tx.commit().await.expect("the store of a test works");
    }

    pub async fn add_worker(&self, worker: &WorkerRow) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "insert into worker (id, device, description, pid, started_at, seen_at) values ($1, $2, $3, $4, $5, $6)",
        )
        .bind(worker.id.to_string())
        .bind(&worker.device)
        .bind(&worker.description)
        .bind(i64::from(worker.pid))
        .bind(worker.started_at.0)
        .bind(worker.seen_at.0)
        .execute(tx.connection())
        .await?;
        tx.commit().await
    }

    /// A sign of life of a worker, with how long it has had the devices of each of the jobs that it runs.
    pub async fn beat(&self, worker: WorkerId, held: &[(Lease, Duration)], now: Timestamp) -> Result<()> {
        let mut tx = self.begin_on_row().await?;
        sqlx::query("update worker set beats = beats + 1, seen_at = $2 where id = $1")
            .bind(worker.to_string())
            .bind(now.0)
            .execute(tx.connection())
            .await?;
        tx.commit().await?;
        // Row by row: nobody waits for two.
        for (lease, held) in held {
            let mut tx = self.begin_on_row().await?;
            sqlx::query(
                "update attempt set held_milliseconds = max(held_milliseconds, $3)
                 where job_id = $1 and number = $2 and ended_at is null",
            )
            .bind(lease.job.to_string())
            .bind(i64::from(lease.attempt))
            .bind(held.as_millis() as i64)
            .execute(tx.connection())
            .await?;
            tx.commit().await?;
        }
        Ok(())
    }

    /// The workers that have not been said to have ended.
    pub async fn signs_of_life(&self) -> Result<Vec<SignOfLife>> {
        let rows = sqlx::query("select id, pid, device, beats from worker where ended_at is null order by id")
            .fetch_all(&self.readers)
            .await?;
        let sign = |row: &sqlx::any::AnyRow| {
            let worker = read("worker id", row.try_get("id")?)?;
            let own = split_name(row.try_get("device")?).0 == self.host();
            Ok(SignOfLife { worker, pid: number(row, "pid")?, own, beats: row.try_get("beats")? })
        };
        rows.iter().map(sign).collect()
    }
}
