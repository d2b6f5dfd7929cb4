//! Files as OpenAI clients upload them. A file exists for readers once its row does.

use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::{Location, Page, Result, Store, StoreError, read};
use crate::job::{DatasetVersionId, FileId, Timestamp};

/// An uploaded file; its bytes are at [`Location::file`].
#[derive(Clone, Debug)]
pub struct UploadedFileRow {
    pub id: FileId,
    pub filename: String,
    pub purpose: String,
    pub bytes: u64,
    pub sha256: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    /// What a job made of it.
    pub dataset_version: Option<DatasetVersionId>,
}

impl Store {
    /// Adds a file whose bytes are in place already.
    pub async fn add_file(&self, file: &UploadedFileRow) -> Result<()> {
        let mut tx = self.begin().await?;
        insert(tx.connection(), file, self.own_project()).await?;
        tx.commit_made(file.id).await
    }

    pub async fn file(&self, id: FileId) -> Result<UploadedFileRow> {
        let row = sqlx::query("select * from file where id = $1 and project = coalesce($2, project)")
            .bind(id.to_string())
            .bind(self.project())
            .fetch_optional(&self.readers)
            .await?;
        row.map_or_else(|| Err(missing(id)), |row| file(&row))
    }

    /// Files by id, only those with one purpose if it is named.
    pub async fn uploaded_files(&self, purpose: Option<&str>, page: &Page) -> Result<Vec<UploadedFileRow>> {
        let (low, high) = page.bounds();
        let statement = if page.newest_first {
            "select * from file where id > $1 and id < $2 and project = coalesce($3, project)
                and purpose = coalesce($4, purpose) order by id desc limit $5"
        } else {
            "select * from file where id > $1 and id < $2 and project = coalesce($3, project)
                and purpose = coalesce($4, purpose) order by id limit $5"
        };
        let rows = sqlx::query(statement)
            .bind(low)
            .bind(high)
            .bind(self.project())
            .bind(purpose)
            .bind(i64::from(page.limit))
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(file).collect()
    }

    /// Deletes a file. Data sets made of it stay.
    pub async fn delete_file(&self, id: FileId) -> Result<()> {
        self.despite_full(|| async move {
            let mut tx = self.begin().await?;
            let deleted = sqlx::query("delete from file where id = $1 and project = coalesce($2, project)")
                .bind(id.to_string())
                .bind(self.project())
                .execute(tx.connection())
                .await?;
            tx.commit().await?;
            if deleted.rows_affected() == 0 {
                return Err(missing(id));
            }
            self.place().remove(&Location::file(id)).await;
            Ok(())
        })
        .await
    }

    /// Says what data set version a file became, unless another request said so before; returns the one that stands.
    pub async fn set_file_dataset(&self, id: FileId, version: DatasetVersionId) -> Result<DatasetVersionId> {
        let mut tx = self.begin().await?;
        let stands: Option<String> = sqlx::query_scalar(
            "update file set dataset_version = coalesce(dataset_version, $3)
             where id = $1 and project = coalesce($2, project) returning dataset_version",
        )
        .bind(id.to_string())
        .bind(self.project())
        .bind(version.to_string())
        .fetch_optional(tx.connection())
        .await?;
        tx.commit().await?;
        // Deleted in between: the data set is there all the same.
        stands.map_or(Ok(version), |text| read("data set version id", &text))
    }

    /// Deletes files whose time is over; returns which.
    pub async fn expire_files(&self, now: Timestamp) -> Result<Vec<FileId>> {
        let expired = "select 1 from file where expires_at <= $1 limit 1";
        if sqlx::query(expired).bind(now.0).fetch_optional(&self.readers).await?.is_none() {
            return Ok(Vec::new());
        }
        let mut tx = self.begin().await?;
        let ids: Vec<String> = sqlx::query_scalar("delete from file where expires_at <= $1 returning id")
            .bind(now.0)
            .fetch_all(tx.connection())
            .await?;
        tx.commit().await?;
        let ids = ids.iter().map(|id| read("file id", id)).collect::<Result<Vec<_>>>()?;
        for id in &ids {
            self.place().remove(&Location::file(*id)).await;
        }
        Ok(ids)
    }
}

pub(super) async fn insert(connection: &mut AnyConnection, file: &UploadedFileRow, project: &str) -> Result<()> {
    sqlx::query(
        "insert into file (id, project, filename, purpose, bytes, sha256, created_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(file.id.to_string())
    .bind(project)
    .bind(&file.filename)
    .bind(&file.purpose)
    .bind(file.bytes as i64)
    .bind(&file.sha256)
    .bind(file.created_at.0)
    .bind(file.expires_at.map(|time| time.0))
    .execute(connection)
    .await?;
    Ok(())
}

fn missing(id: FileId) -> StoreError {
    StoreError::NotFound { what: "file", id: id.to_string() }
}

fn file(row: &AnyRow) -> Result<UploadedFileRow> {
    let version: Option<String> = row.try_get("dataset_version")?;
    Ok(UploadedFileRow {
        id: read("file id", row.try_get("id")?)?,
        filename: row.try_get("filename")?,
        purpose: row.try_get("purpose")?,
        bytes: row.try_get::<i64, _>("bytes")?.unsigned_abs(),
        sha256: row.try_get("sha256")?,
        created_at: Timestamp(row.try_get("created_at")?),
        expires_at: row.try_get::<Option<i64>, _>("expires_at")?.map(Timestamp),
        dataset_version: version.map(|text| read("data set version id", &text)).transpose()?,
    })
}
