//! Checkpoint rows. A checkpoint exists for readers once its row does.

use serde_json::json;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{QueryBuilder, Row};

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
    /// Mean pass@k, for the first k, of the evaluation at its step.
    pub score: Option<f64>,
}

/// How many training checkpoints a job keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// The newest ones.
    pub last: u32,
    /// The ones with the best scores besides.
    pub best: u32,
}

/// Directories of training checkpoints that a job can go on from, best first: its own, newest first, and then the one
/// of another job that it begins from to verify it.
pub(super) async fn training_directories(connection: &mut SqliteConnection, job: JobId) -> Result<Vec<String>> {
    let directories = sqlx::query_scalar(
        "select directory from
            (select directory, step, id from checkpoint where job_id = $1 and kind = 'training'
             union all select directory, -1, '' from verification where job_id = $1)
         order by step desc, id desc",
    );
    Ok(directories.bind(job.to_string()).fetch_all(connection).await?)
}

impl Store {
    /// Makes a checkpoint visible under the fence and drops the rows of the job's training checkpoints that need not be
    /// kept. `score` is what an evaluation at its step found. Returns the new id and the directories that may be removed
    /// now.
    pub async fn add_checkpoint(
        &self,
        lease: Lease,
        directory: &str,
        manifest: &Manifest,
        score: Option<f64>,
        keep: Keep,
        now: Timestamp,
    ) -> Result<(CheckpointId, Vec<String>)> {
        let id = CheckpointId::generate();
        let mut tx = self.begin().await?;
        fence(tx.connection(), lease, now).await?;
        sqlx::query(
            "insert into checkpoint (id, job_id, kind, attempt, step, directory, bytes, manifest, created_at, score)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
             on conflict (directory) do update
                set id = excluded.id, bytes = excluded.bytes, manifest = excluded.manifest,
                    created_at = excluded.created_at, score = coalesce(excluded.score, score)",
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
        .bind(score)
        .execute(tx.connection())
        .await?;
        let dropped: Vec<String> = sqlx::query_scalar(
            "delete from checkpoint where job_id = $1 and kind = 'training' and id not in
               (select id from checkpoint where job_id = $1 and kind = 'training'
                order by step desc, id desc limit $2)
               and id not in
               (select id from checkpoint where job_id = $1 and kind = 'training' and score is not null
                order by score desc, step desc, id desc limit $3)
             returning directory",
        )
        .bind(lease.job.to_string())
        .bind(keep.last)
        .bind(keep.best)
        .fetch_all(tx.connection())
        .await?;
        let message = format!("{} checkpoint of step {}", manifest.kind, manifest.step);
        let data = json!({"checkpoint": id, "kind": manifest.kind, "step": manifest.step, "bytes": manifest.bytes()});
        append(tx.connection(), lease.job, &NewEvent::info(EventKind::Checkpoint, message, data), now).await?;
        tx.commit().await?;
        Ok((id, dropped))
    }

    pub async fn checkpoint(&self, id: CheckpointId) -> Result<CheckpointRow> {
        sqlx::query(
            "select checkpoint.* from checkpoint join job on job.id = job_id
             where checkpoint.id = $1 and project = coalesce($2, project)",
        )
        .bind(id.to_string())
        .bind(self.project())
        .fetch_optional(&self.readers)
        .await?
        .map_or_else(|| Err(StoreError::NotFound { what: "checkpoint", id: id.to_string() }), |row| checkpoint(&row))
    }

    /// Checkpoints of one job, or of all, by id.
    pub async fn checkpoints(&self, job: Option<JobId>, page: &Page) -> Result<Vec<CheckpointRow>> {
        let (low, high) = page.bounds();
        let mut select =
            QueryBuilder::new("select checkpoint.* from checkpoint join job on job.id = job_id where project = ");
        select.push_bind(self.own_project());
        if let Some(job) = job {
            select.push(" and job_id = ").push_bind(job.to_string());
        }
        select.push(" and checkpoint.id > ").push_bind(low).push(" and checkpoint.id < ").push_bind(high);
        select.push(if page.newest_first {
            " order by checkpoint.id desc limit "
        } else {
            " order by checkpoint.id limit "
        });
        let rows = select.push_bind(page.limit).build().fetch_all(&self.readers).await?;
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

pub(super) fn checkpoint(row: &SqliteRow) -> Result<CheckpointRow> {
    Ok(CheckpointRow {
        id: read("checkpoint id", row.try_get("id")?)?,
        job: read("job id", row.try_get("job_id")?)?,
        kind: read("checkpoint kind", row.try_get("kind")?)?,
        step: row.try_get::<i64, _>("step")?.unsigned_abs(),
        directory: row.try_get("directory")?,
        manifest: read_json("manifest", row.try_get("manifest")?)?,
        created_at: Timestamp(row.try_get("created_at")?),
        score: row.try_get("score")?,
    })
}
