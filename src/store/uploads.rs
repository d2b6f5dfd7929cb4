//! Uploads of files in parts. An upload takes parts until it is completed, cancelled or expired.

use std::time::Duration;

use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::uploaded_files::insert as insert_file;
use super::{Location, Result, Store, StoreError, UploadedFileRow, read};
use crate::job::{FileId, PartId, Timestamp, UploadId, UploadStatus};

/// The most parts of an upload.
pub const MAX_PARTS: i64 = 1000;
/// The most uploads of a project that are under way at a time.
const MAX_PENDING: i64 = 1000;

/// An upload.
#[derive(Clone, Debug)]
pub struct UploadRow {
    pub id: UploadId,
    pub filename: String,
    pub purpose: String,
    pub mime_type: String,
    /// Of the whole file, as announced.
    pub bytes: u64,
    pub status: UploadStatus,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// How long the finished file lives; for ever when there is none.
    pub file_seconds: Option<u64>,
    pub file: Option<FileId>,
}

/// A part of an upload; its bytes are at [`Location::part`].
#[derive(Clone, Debug)]
pub struct PartRow {
    pub id: PartId,
    pub upload: UploadId,
    pub bytes: u64,
    pub created_at: Timestamp,
}

impl UploadRow {
    /// As it stands at a time: one whose time is over takes no more, whether it was swept already or not.
    pub fn status_at(&self, now: Timestamp) -> UploadStatus {
        let over = self.status == UploadStatus::Pending && self.expires_at <= now;
        if over { UploadStatus::Expired } else { self.status }
    }

    /// Refuses an upload that has ended.
    pub fn require_pending(&self, now: Timestamp) -> Result<()> {
        match self.status_at(now) {
            UploadStatus::Pending => Ok(()),
            status @ (UploadStatus::Completed | UploadStatus::Cancelled | UploadStatus::Expired) => {
                Err(StoreError::Conflict(format!("the upload is {status}; begin another")))
            }
        }
    }
}

impl Store {
    /// Begins an upload. A keyed request for it that is repeated gets `answer`.
    pub async fn add_upload(&self, upload: &UploadRow, answer: &str) -> Result<()> {
        let mut tx = self.begin().await?;
        let pending: i64 = sqlx::query_scalar(
            "select count(*) from upload where status = 'pending' and expires_at > $1 and project = $2",
        )
        .bind(upload.created_at.0)
        .bind(self.own_project())
        .fetch_one(tx.connection())
        .await?;
        if pending >= MAX_PENDING {
            let detail = format!("{pending} uploads are under way; complete or cancel some before you begin another");
            return Err(StoreError::Conflict(detail));
        }
        sqlx::query(
            "insert into upload (id, project, filename, purpose, mime_type, bytes, status, created_at, expires_at,
                                 file_seconds)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        )
        .bind(upload.id.to_string())
        .bind(self.own_project())
        .bind(&upload.filename)
        .bind(&upload.purpose)
        .bind(&upload.mime_type)
        .bind(upload.bytes as i64)
        .bind(upload.status.as_str())
        .bind(upload.created_at.0)
        .bind(upload.expires_at.0)
        .bind(upload.file_seconds.map(|seconds| seconds as i64))
        .execute(tx.connection())
        .await?;
        tx.commit_answered(&self.vault, 201, answer).await
    }

    pub async fn upload(&self, id: UploadId) -> Result<UploadRow> {
        let row = sqlx::query("select * from upload where id = $1 and project = coalesce($2, project)")
            .bind(id.to_string())
            .bind(self.project())
            .fetch_optional(&self.readers)
            .await?;
        row.map_or_else(|| Err(missing(id)), |row| upload(&row))
    }

    /// Adds a part whose bytes are in place already, unless the upload has too many or too much by then; the upload lives on
    /// until `expires_at`. A keyed request for it that is repeated gets `answer`.
    pub async fn add_part(&self, part: &PartRow, expires_at: Timestamp, answer: &str) -> Result<()> {
        let mut tx = self.begin().await?;
        let row = self.pending(tx.connection(), part.upload, part.created_at).await?;
        let (count, bytes): (i64, i64) = sqlx::query_as(
            "select count(*), cast(coalesce(sum(bytes), 0) as bigint) from upload_part where upload_id = $1",
        )
        .bind(part.upload.to_string())
        .fetch_one(tx.connection())
        .await?;
        if count >= MAX_PARTS {
            return Err(StoreError::Conflict(format!("an upload takes at most {MAX_PARTS} parts; use larger ones")));
        }
        // Parts may be sent again and left out in the end, but not without an end.
        if bytes as u64 + part.bytes > row.bytes.saturating_mul(2) {
            let detail = format!("the parts together have twice the {} bytes that were announced", row.bytes);
            return Err(StoreError::Conflict(detail));
        }
        sqlx::query("insert into upload_part (id, upload_id, bytes, created_at) values ($1, $2, $3, $4)")
            .bind(part.id.to_string())
            .bind(part.upload.to_string())
            .bind(part.bytes as i64)
            .bind(part.created_at.0)
            .execute(tx.connection())
            .await?;
        sqlx::query("update upload set expires_at = max(expires_at, $2) where id = $1")
            .bind(part.upload.to_string())
            .bind(expires_at.0)
            .execute(tx.connection())
            .await?;
        tx.commit_answered(&self.vault, 201, answer).await
    }

    /// The parts of an upload.
    pub async fn parts(&self, id: UploadId) -> Result<Vec<PartRow>> {
        let rows = sqlx::query(
            "select * from upload_part where upload_id =
               (select id from upload where id = $1 and project = coalesce($2, project)) order by id",
        )
        .bind(id.to_string())
        .bind(self.project())
        .fetch_all(&self.readers)
        .await?;
        rows.iter().map(part).collect()
    }

    /// Makes the file of a pending upload visible and ends the upload; its parts, which nobody needs any more, go. A keyed
    /// request for it that is repeated gets `answer`.
    pub async fn complete_upload(
        &self,
        id: UploadId,
        file: &UploadedFileRow,
        answer: &str,
        now: Timestamp,
    ) -> Result<()> {
        let mut tx = self.begin().await?;
        self.pending(tx.connection(), id, now).await?;
        insert_file(tx.connection(), file, self.own_project()).await?;
        sqlx::query("update upload set status = 'completed', file_id = $2 where id = $1 and status = 'pending'")
            .bind(id.to_string())
            .bind(file.id.to_string())
            .execute(tx.connection())
            .await?;
        let parts = drop_parts(tx.connection(), id).await?;
        tx.commit_answered(&self.vault, 200, answer).await?;
        self.remove_parts(&parts).await;
        Ok(())
    }

    /// Ends a pending upload; its parts go, and are returned.
    pub async fn cancel_upload(&self, id: UploadId, now: Timestamp) -> Result<Vec<PartId>> {
        let mut tx = self.begin().await?;
        self.pending(tx.connection(), id, now).await?;
        sqlx::query("update upload set status = 'cancelled' where id = $1 and status = 'pending'")
            .bind(id.to_string())
            .execute(tx.connection())
            .await?;
        let parts = drop_parts(tx.connection(), id).await?;
        tx.commit().await?;
        self.remove_parts(&parts).await;
        Ok(parts)
    }

    /// Ends the uploads whose time is over; their parts go, and are returned.
    pub async fn expire_uploads(&self, now: Timestamp) -> Result<Vec<PartId>> {
        let expired = "select id from upload where status = 'pending' and expires_at <= $1 limit 1000";
        if sqlx::query(expired).bind(now.0).fetch_optional(&self.readers).await?.is_none() {
            return Ok(Vec::new());
        }
        let mut tx = self.begin().await?;
        let ids: Vec<String> = sqlx::query_scalar(expired).bind(now.0).fetch_all(tx.connection()).await?;
        let mut parts = Vec::new();
        for id in &ids {
            sqlx::query("update upload set status = 'expired' where id = $1 and status = 'pending'")
                .bind(id)
                .execute(tx.connection())
                .await?;
            parts.extend(drop_parts(tx.connection(), read("upload id", id)?).await?);
        }
        tx.commit().await?;
        self.remove_parts(&parts).await;
        Ok(parts)
    }

    /// Removes parts that are too old for any upload: a crash may leave one that no row names.
    pub async fn sweep_parts(&self, age: Duration) -> Result<()> {
        for part in self.place().list(&Location::folder("parts")).await? {
            if part.age.is_some_and(|old| old > age) {
                self.place().remove(&part.location).await;
            }
        }
        Ok(())
    }

    async fn remove_parts(&self, parts: &[PartId]) {
        for part in parts {
            self.place().remove(&Location::part(*part)).await;
        }
    }

    /// The upload, when it can still change.
    async fn pending(&self, connection: &mut AnyConnection, id: UploadId, now: Timestamp) -> Result<UploadRow> {
        let row = sqlx::query("select * from upload where id = $1 and project = coalesce($2, project)")
            .bind(id.to_string())
            .bind(self.project())
            .fetch_optional(connection)
            .await?;
        let row = row.map_or_else(|| Err(missing(id)), |row| upload(&row))?;
        row.require_pending(now)?;
        Ok(row)
    }
}

async fn drop_parts(connection: &mut AnyConnection, id: UploadId) -> Result<Vec<PartId>> {
    let ids: Vec<String> = sqlx::query_scalar("delete from upload_part where upload_id = $1 returning id")
        .bind(id.to_string())
        .fetch_all(connection)
        .await?;
    ids.iter().map(|id| read("part id", id)).collect()
}

fn missing(id: UploadId) -> StoreError {
    StoreError::NotFound { what: "upload", id: id.to_string() }
}

fn upload(row: &AnyRow) -> Result<UploadRow> {
    let file: Option<String> = row.try_get("file_id")?;
    Ok(UploadRow {
        id: read("upload id", row.try_get("id")?)?,
        filename: row.try_get("filename")?,
        purpose: row.try_get("purpose")?,
        mime_type: row.try_get("mime_type")?,
        bytes: row.try_get::<i64, _>("bytes")?.unsigned_abs(),
        status: read("upload status", row.try_get("status")?)?,
        created_at: Timestamp(row.try_get("created_at")?),
        expires_at: Timestamp(row.try_get("expires_at")?),
        file_seconds: row.try_get::<Option<i64>, _>("file_seconds")?.map(i64::unsigned_abs),
        file: file.map(|text| read("file id", &text)).transpose()?,
    })
}

fn part(row: &AnyRow) -> Result<PartRow> {
    Ok(PartRow {
        id: read("part id", row.try_get("id")?)?,
        upload: read("upload id", row.try_get("upload_id")?)?,
        bytes: row.try_get::<i64, _>("bytes")?.unsigned_abs(),
        created_at: Timestamp(row.try_get("created_at")?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn an_upload(bytes: u64) -> UploadRow {
        UploadRow {
            id: UploadId::generate(),
            filename: String::from("f"),
            purpose: String::from("fine-tune"),
            mime_type: String::from("text/plain"),
            bytes,
            status: UploadStatus::Pending,
            created_at: NOW,
            expires_at: NOW.plus_seconds(3600),
            file_seconds: None,
            file: None,
        }
    }

    fn a_part(upload: UploadId, bytes: u64, created_at: Timestamp) -> PartRow {
        PartRow { id: PartId::generate(), upload, bytes, created_at }
    }

    fn a_file(expires_at: Option<Timestamp>) -> UploadedFileRow {
        UploadedFileRow {
            id: FileId::generate(),
            filename: String::from("f"),
            purpose: String::from("fine-tune"),
            bytes: 3,
            sha256: String::new(),
            created_at: NOW,
            expires_at,
            dataset_version: None,
        }
    }

    /// What is there without the handler's end is what a server leaves that is killed behind it.
    #[tokio::test]
    async fn a_keyed_request_that_is_repeated_has_its_answer_from_the_moment_of_the_change() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let upload = an_upload(4);
        let part = a_part(upload.id, 4, NOW);
        let kept = async |key: &str| store.recorded(key, NOW).await.unwrap().unwrap().answer;
        store.serve_keyed("u", "sha256:00", NOW, store.add_upload(&upload, "{1}")).await.unwrap();
        assert_eq!(kept("u").await, Some((201, String::from("{1}"))));
        store.serve_keyed("p", "sha256:01", NOW, store.add_part(&part, NOW, "{2}")).await.unwrap();
        assert_eq!(kept("p").await, Some((201, String::from("{2}"))));
        let file = a_file(None);
        let completed = store.complete_upload(upload.id, &file, "{3}", NOW);
        store.serve_keyed("c", "sha256:02", NOW, completed).await.unwrap();
        assert_eq!(kept("c").await, Some((200, String::from("{3}"))));
    }

    #[tokio::test]
    async fn an_upload_whose_time_is_over_takes_nothing_and_gives_its_parts_up() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let upload = an_upload(10);
        store.add_upload(&upload, "{}").await.unwrap();
        let part = a_part(upload.id, 4, NOW);
        store.add_part(&part, NOW, "{}").await.unwrap();
        let late = NOW.plus_seconds(3600);
        assert!(store.expire_uploads(Timestamp(late.0 - 1)).await.unwrap().is_empty());
        assert_eq!(upload.status_at(late), UploadStatus::Expired);
        let refused = store.add_part(&a_part(upload.id, 4, late), NOW, "{}").await;
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
        let refused = store.complete_upload(upload.id, &a_file(None), "{}", late).await;
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
        assert_eq!(store.expire_uploads(late).await.unwrap(), [part.id]);
        assert_eq!(store.upload(upload.id).await.unwrap().status, UploadStatus::Expired);
        assert!(store.parts(upload.id).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn an_upload_lives_on_with_each_part() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let upload = an_upload(10);
        store.add_upload(&upload, "{}").await.unwrap();
        let (before, after) = (Timestamp(upload.expires_at.0 - 1), Timestamp(upload.expires_at.0 + 1));
        store.add_part(&a_part(upload.id, 4, before), before.plus_seconds(3600), "{}").await.unwrap();
        store.add_part(&a_part(upload.id, 6, after), after, "{}").await.unwrap();
        assert_eq!(store.upload(upload.id).await.unwrap().expires_at, before.plus_seconds(3600));
    }

    #[tokio::test]
    async fn parts_are_bounded_together() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let upload = an_upload(10);
        store.add_upload(&upload, "{}").await.unwrap();
        store.add_part(&a_part(upload.id, 10, NOW), NOW, "{}").await.unwrap();
        store.add_part(&a_part(upload.id, 10, NOW), NOW, "{}").await.unwrap();
        let refused = store.add_part(&a_part(upload.id, 1, NOW), NOW, "{}").await;
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    }

    #[tokio::test]
    async fn another_projects_files_and_uploads_are_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let (ours, theirs) = (store.within("ours"), store.within("theirs"));
        let (file, upload) = (a_file(None), an_upload(10));
        ours.add_file(&file).await.unwrap();
        ours.add_upload(&upload, "{}").await.unwrap();
        let part = a_part(upload.id, 4, NOW);
        ours.add_part(&part, NOW, "{}").await.unwrap();
        let page = super::super::Page { after: None, limit: 10, newest_first: true };
        assert!(theirs.uploaded_files(None, &page).await.unwrap().is_empty());
        assert!(theirs.parts(upload.id).await.unwrap().is_empty());
        let missing = |error: StoreError| matches!(error, StoreError::NotFound { .. });
        assert!(missing(theirs.file(file.id).await.unwrap_err()));
        assert!(missing(theirs.delete_file(file.id).await.unwrap_err()));
        assert!(missing(theirs.upload(upload.id).await.unwrap_err()));
        assert!(missing(theirs.add_part(&a_part(upload.id, 1, NOW), NOW, "{}").await.unwrap_err()));
        assert!(missing(theirs.cancel_upload(upload.id, NOW).await.unwrap_err()));
        assert_eq!(ours.uploaded_files(None, &page).await.unwrap().len(), 1);
        assert_eq!(ours.cancel_upload(upload.id, NOW).await.unwrap(), [part.id]);
    }

    #[tokio::test]
    async fn a_file_whose_time_is_over_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let (kept, expiring) = (a_file(None), a_file(Some(NOW.plus_seconds(3600))));
        store.add_file(&kept).await.unwrap();
        store.add_file(&expiring).await.unwrap();
        assert!(store.expire_files(NOW).await.unwrap().is_empty());
        assert_eq!(store.expire_files(NOW.plus_seconds(3600)).await.unwrap(), [expiring.id]);
        assert!(store.file(kept.id).await.is_ok());
    }
}
