//! Pushes of exports to the hub: of each export the last one, which is told how far it is and how it ended.

use sqlx::Row;
use sqlx::any::AnyRow;

use super::{Result, Store, StoreError, flag, read, read_json, write_json};
use crate::job::{ExportId, Failure, PushStatus, Timestamp};

/// Pushes of a project that have not ended.
const MOST_WAITING: i64 = 100;

/// A push of an export.
#[derive(Clone, Debug)]
pub struct PushRow {
    pub export: ExportId,
    /// `hf:owner/name@branch`.
    pub destination: String,
    /// Whether a repository that is not there yet is made private, and one that is public is refused.
    pub private: bool,
    pub status: PushStatus,
    /// Of all files.
    pub bytes: u64,
    /// Of these, those that are on the hub.
    pub bytes_done: u64,
    /// What it ended with.
    pub commit: Option<String>,
    /// The page of that commit.
    pub url: Option<String>,
    /// Why it failed.
    pub failure: Option<Failure>,
    pub created_at: Timestamp,
    pub completed_at: Option<Timestamp>,
}

/// The columns of a push beside those of its export, where it is joined to that.
macro_rules! push_columns {
    () => {
        "push.export_id, push.destination, push.private, push.status as push_status, push.bytes as push_bytes,
         push.bytes_done as push_bytes_done, push.commit_id, push.url, push.failure as push_failure,
         push.created_at as push_created_at, push.completed_at as push_completed_at"
    };
}
pub(super) use push_columns;

impl Store {
    /// Begins a push of a ready export, unless one of it is under way, and forgets the one before.
    pub async fn add_push(
        &self,
        id: ExportId,
        destination: &str,
        private: bool,
        bytes: u64,
        now: Timestamp,
    ) -> Result<()> {
        let mut tx = self.begin().await?;
        let waiting: i64 = sqlx::query_scalar(
            "select count(*) from push join export on export.id = export_id join job on job.id = job_id
             where push.status in ('pending', 'running') and project = $1",
        )
        .bind(self.own_project())
        .fetch_one(tx.connection())
        .await?;
        if waiting >= MOST_WAITING {
            let detail = format!("{waiting} pushes have not ended yet; wait for some of them");
            return Err(StoreError::Refused { code: "too_many_pushes", detail });
        }
        let begun = sqlx::query(
            "insert into push (export_id, destination, private, status, bytes, created_at)
             select export.id, $3, $4, 'pending', $5, $6 from export join job on job.id = job_id
             where export.id = $1 and export.status = 'ready' and project = coalesce($2, project)
             on conflict (export_id) do update
             set destination = excluded.destination, private = excluded.private, status = 'pending',
                 bytes = excluded.bytes, bytes_done = 0, commit_id = null, url = null, failure = null,
                 created_at = excluded.created_at, completed_at = null
             where push.status in ('succeeded', 'failed')",
        )
        .bind(id.to_string())
        .bind(self.project())
        .bind(destination)
        .bind(i64::from(private))
        .bind(bytes as i64)
        .bind(now.0)
        .execute(tx.connection())
        .await?;
        if begun.rows_affected() == 0 {
            let under_way: Option<String> = sqlx::query_scalar("select destination from push where export_id = $1")
                .bind(id.to_string())
                .fetch_optional(tx.connection())
                .await?;
            let Some(to) = under_way else { return Err(missing(id)) };
            let detail = format!("the export {id} is being pushed to {to}; wait for the end of that");
            return Err(StoreError::Refused { code: "push_under_way", detail });
        }
        tx.commit().await
    }

    /// Pushes that have not ended, those that a server before this one was at first, then the oldest.
    pub async fn unfinished_pushes(&self) -> Result<Vec<PushRow>> {
        let unfinished = concat!(
            "select ",
            push_columns!(),
            " from push where status in ('pending', 'running') order by status = 'pending', created_at limit 100"
        );
        let rows = sqlx::query(unfinished).fetch_all(&self.readers).await?;
        rows.iter().filter_map(|found| push(found).transpose()).collect()
    }

    /// Writes down how far a push is; an error when its export is gone.
    pub async fn note_push(&self, id: ExportId, done: u64, total: u64) -> Result<()> {
        let mut tx = self.begin().await?;
        let noted = sqlx::query(
            "update push set status = 'running', bytes_done = $2, bytes = $3
             where export_id = $1 and status in ('pending', 'running')",
        );
        let noted = noted.bind(id.to_string()).bind(done as i64).bind(total as i64).execute(tx.connection()).await?;
        tx.commit().await?;
        if noted.rows_affected() == 0 { Err(missing(id)) } else { Ok(()) }
    }

    /// All files of an export are on the hub, at a commit.
    pub async fn finish_push(&self, id: ExportId, commit: &str, url: &str, now: Timestamp) -> Result<()> {
        self.despite_full(|| async move {
            let mut tx = self.begin().await?;
            sqlx::query(
                "update push set status = 'succeeded', bytes_done = bytes, commit_id = $2, url = $3, completed_at = $4
                 where export_id = $1 and status in ('pending', 'running')",
            )
            .bind(id.to_string())
            .bind(commit)
            .bind(url)
            .bind(now.0)
            .execute(tx.connection())
            .await?;
            tx.commit().await
        })
        .await
    }

    /// An export could not be pushed.
    pub async fn fail_push(&self, id: ExportId, failure: &Failure, now: Timestamp) -> Result<()> {
        let failure = &write_json(failure)?;
        self.despite_full(|| async move {
            let mut tx = self.begin().await?;
            sqlx::query(
                "update push set status = 'failed', failure = $2, completed_at = $3
                 where export_id = $1 and status in ('pending', 'running')",
            )
            .bind(id.to_string())
            .bind(failure)
            .bind(now.0)
            .execute(tx.connection())
            .await?;
            tx.commit().await
        })
        .await
    }
}

fn missing(id: ExportId) -> StoreError {
    StoreError::NotFound { what: "export", id: id.to_string() }
}

/// The push of a row with [`push_columns`], if there is one.
pub(super) fn push(row: &AnyRow) -> Result<Option<PushRow>> {
    let Some(export) = row.try_get::<Option<String>, _>("export_id")? else { return Ok(None) };
    let failure: Option<String> = row.try_get("push_failure")?;
    Ok(Some(PushRow {
        export: read("export id", &export)?,
        destination: row.try_get("destination")?,
        private: flag(row, "private")?,
        status: read("push status", row.try_get("push_status")?)?,
        bytes: row.try_get::<i64, _>("push_bytes")?.unsigned_abs(),
        bytes_done: row.try_get::<i64, _>("push_bytes_done")?.unsigned_abs(),
        commit: row.try_get("commit_id")?,
        url: row.try_get("url")?,
        failure: failure.map(|text| read_json("failure", &text)).transpose()?,
        created_at: Timestamp(row.try_get("push_created_at")?),
        completed_at: row.try_get::<Option<i64>, _>("push_completed_at")?.map(Timestamp),
    }))
}
