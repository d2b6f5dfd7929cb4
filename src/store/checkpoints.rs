//! Checkpoint rows. A checkpoint exists for readers once its row does.

use serde_json::json;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::events::append;
use super::queue::fence;
use super::{Lease, Page, Result, Store, StoreError, read, read_json, write_json};
use crate::job::{CheckpointId, CheckpointKind, EventKind, JobId, Manifest, NewEvent, Timestamp};

/// A complete checkpoint.
#[derive(Clone, Debug)]
pub struct CheckpointRow {
    pub id: CheckpointId,
    pub job: JobId,
    pub kind: CheckpointKind,
    pub step: u64,
    /// Below the folder of all jobs; see [`super::Files::checkpoint`].
    pub directory: String,
    pub manifest: Manifest,
    pub created_at: Timestamp,
}

/// Directories of a job's training checkpoints, newest first.
pub(super) async fn training_directories(connection: &mut SqliteConnection, job: JobId) -> Result<Vec<String>> {
    let directories = sqlx::query_scalar(
        "select directory from checkpoint where job_id = $1 and kind = 'training' order by step desc, id desc",
    );
    Ok(directories.bind(job.to_string()).fetch_all(connection).await?)
}

impl Store {
    /// Makes a checkpoint visible under the fence and drops the rows of all but the newest `keep` training
    /// checkpoints of the job. Returns the new id and the directories that may be removed now.
    pub async fn add_checkpoint(
        &self,
        lease: Lease,
        directory: &str,
        manifest: &Manifest,
        keep: u32,
        now: Timestamp,
    ) -> Result<(CheckpointId, Vec<String>)> {
        let id = CheckpointId::generate();
        let mut tx = self.begin().await?;
        fence(tx.connection(), lease, now).await?;
        sqlx::query(
            "insert into checkpoint (id, job_id, kind, attempt, step, directory, bytes, manifest, created_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             on conflict (directory) do update
                set id = excluded.id, bytes = excluded.bytes, manifest = excluded.manifest,
                    created_at = excluded.created_at",
        )
        .bind(id.to_string())
        .bind(lease.job.to_string())
        .bind(manifest.kind.as_str())
        .bind(lease.attempt)
        .bind(manifest.step as i64)
        .bind(directory)
        .bind(manifest.bytes() as i64)
        .bind(write_json(manifest)?)
        .bind(now.0)
        .execute(tx.connection())
        .await?;
        let dropped: Vec<String> = sqlx::query_scalar(
            "delete from checkpoint where job_id = $1 and kind = 'training' and id not in
               (select id from checkpoint where job_id = $1 and kind = 'training'
                order by step desc, id desc limit $2)
             returning directory",
        )
        .bind(lease.job.to_string())
        .bind(keep)
        .fetch_all(tx.connection())
        .await?;
        let message = format!("{} checkpoint of step {}", manifest.kind, manifest.step);
        let data = json!({"checkpoint": id, "kind": manifest.kind, "step": manifest.step, "bytes": manifest.bytes()});
        append(tx.connection(), lease.job, &NewEvent::info(EventKind::Checkpoint, message, data), now).await?;
        tx.commit().await?;
        Ok((id, dropped))
    }

    pub async fn checkpoint(&self, id: CheckpointId) -> Result<CheckpointRow> {
        sqlx::query("select * from checkpoint where id = $1")
            .bind(id.to_string())
            .fetch_optional(&self.readers)
            .await?
            .map_or_else(
                || Err(StoreError::NotFound { what: "checkpoint", id: id.to_string() }),
                |row| checkpoint(&row),
            )
    }

    /// Checkpoints of one job, or of all, by id.
    pub async fn checkpoints(&self, job: Option<JobId>, page: &Page) -> Result<Vec<CheckpointRow>> {
        let (low, high) = page.bounds();
        let statement = if page.newest_first {
            "select * from checkpoint where id > $1 and id < $2 and job_id = coalesce($3, job_id)
             order by id desc limit $4"
        } else {
            "select * from checkpoint where id > $1 and id < $2 and job_id = coalesce($3, job_id)
             order by id limit $4"
        };
        let rows = sqlx::query(statement)
            .bind(low)
            .bind(high)
            .bind(job.map(|id| id.to_string()))
            .bind(page.limit)
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(checkpoint).collect()
    }

    /// Whether a directory below the folder of all jobs is a checkpoint's, a rollout set's or an evaluation's; used to sweep what
    /// crashed attempts left behind.
    pub async fn is_checkpoint_directory(&self, directory: &str) -> Result<bool> {
        let found = sqlx::query(
            "select 1 from checkpoint where directory = $1
             union all select 1 from rollout_set where directory = $1
             union all select 1 from evaluation where directory = $1",
        )
        .bind(directory);
        Ok(found.fetch_optional(&self.readers).await?.is_some())
    }
}

fn checkpoint(row: &SqliteRow) -> Result<CheckpointRow> {
    Ok(CheckpointRow {
        id: read("checkpoint id", row.try_get("id")?)?,
        job: read("job id", row.try_get("job_id")?)?,
        kind: read("checkpoint kind", row.try_get("kind")?)?,
        step: row.try_get::<i64, _>("step")?.unsigned_abs(),
        directory: row.try_get("directory")?,
        manifest: read_json("manifest", row.try_get("manifest")?)?,
        created_at: Timestamp(row.try_get("created_at")?),
    })
}
