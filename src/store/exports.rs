//! Exports. A row is there from the request for it; its files lie where its id says once it is ready. An export belongs to
//! the job whose checkpoint it is made of, and goes with that.

use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::pushes::{PushRow, push, push_columns};
use super::{Artifact, CheckpointRow, Location, Page, Result, Store, StoreError, read, read_json, write_json};
use crate::job::{CheckpointId, Export, ExportId, ExportStatus, Failure, JobId, Manifest, Timestamp};

/// Exports of a project that are not made yet.
const MOST_WAITING: i64 = 100;

/// An export.
#[derive(Clone, Debug)]
pub struct ExportRow {
    pub id: ExportId,
    pub job: JobId,
    pub checkpoint: CheckpointId,
    pub export: Export,
    pub status: ExportStatus,
    /// What it takes; before it is ready, what it is expected to.
    pub bytes: u64,
    /// Of these, those that are written.
    pub bytes_done: u64,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// Its files when it is ready.
    pub artifact: Option<Artifact>,
    /// The last time that it was pushed to the hub.
    pub push: Option<PushRow>,
    pub created_at: Timestamp,
}

/// All columns of an export, and those of its push.
macro_rules! exports {
    ($($rest:expr),+) => {
        concat!("select export.*, ", push_columns!(), " from export left join push on export_id = export.id ", $($rest),+)
    };
}

impl Store {
    /// Adds an export of a checkpoint, if there is none like it, and says whether it did. One that failed is no such.
    pub async fn add_export(
        &self,
        checkpoint: &CheckpointRow,
        export: Export,
        bytes: u64,
        now: Timestamp,
    ) -> Result<(ExportRow, bool)> {
        let id = ExportId::generate();
        let dtype = export.dtype.map(|dtype| dtype.as_str());
        let mut tx = self.begin().await?;
        let like = exports!(
            "where checkpoint_id = $1 and format = $2 and coalesce(dtype, '') = $3 and export.status <> 'failed'"
        );
        let like = sqlx::query(like).bind(checkpoint.id.to_string()).bind(export.format.as_str());
        let like = like.bind(dtype.unwrap_or_default());
        if let Some(known) = like.fetch_optional(tx.connection()).await? {
            return Ok((row(&known)?, false));
        }
        let waiting: i64 = sqlx::query_scalar(
            "select count(*) from export join job on job.id = job_id
             where export.status in ('pending', 'running') and project = $1",
        )
        .bind(self.own_project())
        .fetch_one(tx.connection())
        .await?;
        if waiting >= MOST_WAITING {
            let detail = format!("{waiting} exports are not made yet; wait for some of them, or delete some");
            return Err(StoreError::Refused { code: "too_many_exports", detail });
        }
        let inserted = sqlx::query(
            "insert into export (id, job_id, checkpoint_id, format, dtype, status, bytes, created_at)
             select $1, job_id, id, $3, $4, 'pending', $5, $6 from artifact where id = $2",
        )
        .bind(id.to_string())
        .bind(checkpoint.id.to_string())
        .bind(export.format.as_str())
        .bind(dtype)
        .bind(bytes as i64)
        .bind(now.0)
        .execute(tx.connection())
        .await?;
        if inserted.rows_affected() == 0 {
            return Err(StoreError::NotFound { what: "checkpoint", id: checkpoint.id.to_string() });
        }
        tx.commit_made(id).await?;
        Ok((self.export(id).await?, true))
    }

    pub async fn export(&self, id: ExportId) -> Result<ExportRow> {
        let found = sqlx::query(exports!(
            "join job on job.id = job_id where export.id = $1 and project = coalesce($2, project)"
        ));
        let found = found.bind(id.to_string()).bind(self.project()).fetch_optional(&self.readers).await?;
        found.map_or_else(|| Err(missing(id)), |found| row(&found))
    }

    /// Exports of one checkpoint, or of all.
    pub async fn exports(&self, checkpoint: Option<CheckpointId>, page: &Page) -> Result<Vec<ExportRow>> {
        let (low, high) = page.bounds();
        macro_rules! listing {
            ($order:literal) => {
                exports!(
                    "join job on job.id = job_id
                     where export.id > $1 and export.id < $2 and project = coalesce($4, project)
                           and checkpoint_id = coalesce($5, checkpoint_id)
                     order by export.id ",
                    $order,
                    " limit $3"
                )
            };
        }
        let statement = if page.newest_first { listing!("desc") } else { listing!("asc") };
        let rows = sqlx::query(statement)
            .bind(low)
            .bind(high)
            .bind(i64::from(page.limit))
            .bind(self.project())
            .bind(checkpoint.map(|id| id.to_string()))
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(row).collect()
    }

    /// The export that is to be made next: one that a server before this one was at, or else the oldest. It is being made
    /// from now on.
    pub async fn next_export(&self) -> Result<Option<ExportRow>> {
        let next = exports!(
            "where export.status in ('pending', 'running') order by export.status = 'pending', export.id limit 1"
        );
        let Some(next) = sqlx::query(next).fetch_optional(&self.readers).await? else { return Ok(None) };
        let next = row(&next)?;
        if next.status == ExportStatus::Pending {
            let mut tx = self.begin().await?;
            sqlx::query("update export set status = 'running' where id = $1 and status = 'pending'")
                .bind(next.id.to_string())
                .execute(tx.connection())
                .await?;
            tx.commit().await?;
        }
        Ok(Some(next))
    }

    /// Removes what is left of exports that were deleted while no server ran. Only the one server of a data directory may call
    /// it, before it makes any.
    pub async fn sweep_exports(&self) -> Result<()> {
        for entry in self.place().list(&Location::folder("exports")).await? {
            if entry.name.ends_with(".tmp") {
                self.place().remove(&entry.location).await;
            }
        }
        Ok(())
    }

    /// Writes down how far an export is; an error when there is none any more.
    pub async fn note_export(&self, id: ExportId, done: u64, total: u64) -> Result<()> {
        let mut tx = self.begin().await?;
        let noted = sqlx::query("update export set bytes_done = $2, bytes = $3 where id = $1 and status = 'running'")
            .bind(id.to_string())
            .bind(done as i64)
            .bind(total as i64)
            .execute(tx.connection())
            .await?;
        tx.commit().await?;
        if noted.rows_affected() == 0 { Err(missing(id)) } else { Ok(()) }
    }

    /// An export is ready, and its files are where they belong; an error when it was deleted meanwhile.
    pub async fn finish_export(&self, id: ExportId, manifest: &Manifest, now: Timestamp) -> Result<()> {
        let (bytes, text) = (manifest.bytes() as i64, &write_json(manifest)?);
        self.despite_full(|| async move {
            let mut tx = self.begin().await?;
            let provenance = self.signed(tx.connection(), manifest, now).await?;
            let finished = sqlx::query(
                "update export set status = 'ready', bytes = $2, bytes_done = $2, manifest = $3, completed_at = $4,
                                   provenance = $5
                 where id = $1 and status = 'running'",
            )
            .bind(id.to_string())
            .bind(bytes)
            .bind(text)
            .bind(now.0)
            .bind(provenance)
            .execute(tx.connection())
            .await?;
            tx.commit().await?;
            if finished.rows_affected() == 0 { Err(missing(id)) } else { Ok(()) }
        })
        .await
    }

    /// An export cannot be made.
    pub async fn fail_export(&self, id: ExportId, failure: &Failure, now: Timestamp) -> Result<()> {
        let failure = &write_json(failure)?;
        self.despite_full(|| async move {
            let mut tx = self.begin().await?;
            sqlx::query(
                "update export set status = 'failed', failure = $2, bytes = 0, bytes_done = 0, completed_at = $3
                 where id = $1 and status = 'running'",
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

    /// Deletes an export, whether it is made or not.
    pub async fn delete_export(&self, id: ExportId) -> Result<()> {
        self.despite_full(|| async move {
            let mut tx = self.begin().await?;
            let deleted = sqlx::query(
                "delete from export where id = $1
                 and job_id in (select id from job where project = coalesce($2, project))",
            );
            let deleted = deleted.bind(id.to_string()).bind(self.project()).execute(tx.connection()).await?;
            if deleted.rows_affected() == 0 {
                return Err(missing(id));
            }
            tx.commit().await
        })
        .await?;
        self.place().remove(&Location::export(id)).await;
        Ok(())
    }
}

/// Refuses while an export of this checkpoint is to be made.
pub(super) async fn unexported(connection: &mut AnyConnection, checkpoint: &str) -> Result<()> {
    let export: Option<String> = sqlx::query_scalar(
        "select id from export where checkpoint_id = $1 and status in ('pending', 'running') limit 1",
    )
    .bind(checkpoint)
    .fetch_optional(connection)
    .await?;
    let Some(export) = export else { return Ok(()) };
    let detail = format!("the export {export} of it is not made yet; wait for it, or delete it");
    Err(StoreError::Refused { code: "in_use", detail })
}

/// Where the exports of a job lie.
pub(super) async fn of_job(connection: &mut AnyConnection, job: JobId) -> Result<Vec<Location>> {
    let ids: Vec<String> = sqlx::query_scalar("select id from export where job_id = $1")
        .bind(job.to_string())
        .fetch_all(connection)
        .await?;
    ids.iter().map(|id| Ok(Location::export(read("export id", id)?))).collect()
}

fn missing(id: ExportId) -> StoreError {
    StoreError::NotFound { what: "export", id: id.to_string() }
}

fn row(row: &AnyRow) -> Result<ExportRow> {
    let id: ExportId = read("export id", row.try_get("id")?)?;
    let text = |column| -> Result<Option<String>> { Ok(row.try_get(column)?) };
    let manifest: Option<Manifest> = text("manifest")?.map(|text| read_json("manifest", &text)).transpose()?;
    let completed_at: Option<i64> = row.try_get("completed_at")?;
    let artifact = manifest.zip(completed_at);
    let dtype = text("dtype")?.map(|dtype| read("dtype", &dtype)).transpose()?;
    Ok(ExportRow {
        id,
        job: read("job id", row.try_get("job_id")?)?,
        checkpoint: read("checkpoint id", row.try_get("checkpoint_id")?)?,
        export: Export { format: read("export format", row.try_get("format")?)?, dtype },
        status: read("export status", row.try_get("status")?)?,
        bytes: row.try_get::<i64, _>("bytes")?.unsigned_abs(),
        bytes_done: row.try_get::<i64, _>("bytes_done")?.unsigned_abs(),
        failure: text("failure")?.map(|text| read_json("failure", &text)).transpose()?,
        artifact: artifact.map(|(manifest, at)| Artifact::at(Location::export(id), manifest, Timestamp(at))),
        push: push(row)?,
        created_at: Timestamp(row.try_get("created_at")?),
    })
}
