//! Uploads: a file sent in parts, for files and networks that are too large or too bad for one request. An upload
//! lives an hour after its last part, and a day at most; parts may be sent at the same time and in any order, to the server or
//! to the bucket behind it.

pub mod cancel;
pub mod complete;
pub mod create;
pub mod direct;
pub mod part;

use serde::Serialize;
use utoipa::ToSchema;

use super::files::FileObject;
use crate::job::Timestamp;
use crate::store::{UploadRow, UploadedFileRow};

/// How long an upload waits for a part.
const LIFE_SECONDS: u64 = 3600;
/// How long it lives at most.
pub const MOST_SECONDS: u64 = 24 * 3600;
/// The largest part in bytes.
const MAX_PART_BYTES: u64 = 64 << 20;

/// An upload.
#[derive(Debug, Serialize, ToSchema)]
pub struct Upload {
    #[schema(example = "upload_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub id: String,
    /// Always `upload`.
    pub object: &'static str,
    /// Of the whole file.
    pub bytes: u64,
    /// Unix seconds.
    pub created_at: i64,
    /// Unix seconds.
    pub expires_at: i64,
    pub filename: String,
    pub purpose: String,
    /// `pending`, `completed`, `cancelled` or `expired`.
    pub status: &'static str,
    /// What a completed upload has become.
    pub file: Option<FileObject>,
}

/// When an upload ends that got a part now.
fn expiry(created_at: Timestamp, now: Timestamp) -> Timestamp {
    Timestamp(now.plus_seconds(LIFE_SECONDS).0.min(created_at.plus_seconds(MOST_SECONDS).0))
}

/// An answer as it is kept for a request that is repeated.
fn text(answer: &impl Serialize) -> std::io::Result<String> {
    serde_json::to_string(answer).map_err(std::io::Error::other)
}

impl Upload {
    fn new(row: UploadRow, file: Option<UploadedFileRow>, now: Timestamp) -> Self {
        Self {
            id: row.id.to_string(),
            object: "upload",
            bytes: row.bytes,
            created_at: row.created_at.unix_seconds(),
            expires_at: row.expires_at.unix_seconds(),
            status: row.status_at(now).as_str(),
            filename: row.filename,
            purpose: row.purpose,
            file: file.map(FileObject::from),
        }
    }
}
