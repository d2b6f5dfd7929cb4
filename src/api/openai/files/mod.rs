//! Files: what OpenAI clients upload, to train on or for purposes of their own.

pub mod content;
pub mod create;
pub mod delete;
pub mod get;
pub mod list;

use serde::Serialize;
use utoipa::ToSchema;

use crate::job::Timestamp;
use crate::store::UploadedFileRow;

/// A file.
#[derive(Debug, Serialize, ToSchema)]
pub struct FileObject {
    #[schema(example = "file-0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub id: String,
    /// Always `file`.
    pub object: &'static str,
    pub bytes: u64,
    /// Unix seconds.
    pub created_at: i64,
    /// Unix seconds; null for a file that stays.
    pub expires_at: Option<i64>,
    pub filename: String,
    /// `assistants`, `batch`, `evals`, `fine-tune`, `user_data` or `vision`.
    #[schema(example = "fine-tune")]
    pub purpose: String,
    /// Always `processed`: rows are checked when a job uses the file.
    pub status: &'static str,
    /// Always null.
    pub status_details: Option<String>,
    /// Of the file, hexadecimal.
    pub sha256: String,
}

impl From<UploadedFileRow> for FileObject {
    fn from(row: UploadedFileRow) -> Self {
        Self {
            id: row.id.to_string(),
            object: "file",
            bytes: row.bytes,
            created_at: row.created_at.unix_seconds(),
            expires_at: row.expires_at.map(Timestamp::unix_seconds),
            filename: row.filename,
            purpose: row.purpose,
            status: "processed",
            status_details: None,
            sha256: row.sha256,
        }
    }
}
