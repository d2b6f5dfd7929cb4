//! Exports: finished checkpoints in forms that other programs read.

pub mod archive;
pub mod create;
pub mod delete;
pub mod file;
pub mod get;
pub mod list;
pub mod push;

use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::checkpoints::CheckpointFile;
use crate::api::error::Problem;
use crate::job::{ExportStatus, Failure, Timestamp};
use crate::store::{Artifact, ExportRow, PushRow};

/// A finished checkpoint in a form that other programs read.
#[derive(Debug, Serialize, ToSchema)]
pub struct Export {
    #[schema(example = "exp_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub id: String,
    /// Always `export`.
    pub object: &'static str,
    /// What it is made of.
    pub checkpoint: String,
    /// The job that made the checkpoint; the export goes with it.
    pub job: String,
    #[schema(example = "gguf")]
    pub format: &'static str,
    /// What weights are written as; null where they are as in the checkpoint.
    #[schema(example = "q8_0")]
    pub dtype: Option<&'static str>,
    #[schema(example = "ready")]
    pub status: &'static str,
    /// Of all files together; before it is ready, what they are expected to take.
    pub bytes: u64,
    /// Bytes of weights that are written.
    pub bytes_done: u64,
    /// Empty until the export is ready. Download them from `/v1/exports/{id}/files/{path}`.
    pub files: Vec<CheckpointFile>,
    /// Why it failed; null for any other.
    pub failure: Option<ExportFailure>,
    /// The last push to the hub; null when it was never pushed.
    pub push: Option<ExportPush>,
    /// Unix seconds.
    pub created_at: i64,
    /// Unix seconds.
    pub completed_at: Option<i64>,
}

/// A push of an export to the hub.
#[derive(Debug, Serialize, ToSchema)]
pub struct ExportPush {
    #[schema(example = "succeeded")]
    pub status: &'static str,
    /// The repository and its branch.
    #[schema(example = "hf:acme/arith@main")]
    pub to: String,
    /// Whether a repository that was not there was to be made private, and a public one refused.
    pub private: bool,
    /// Of all files.
    pub bytes: u64,
    /// Of these, those that are on the hub.
    pub bytes_done: u64,
    /// The commit that has all files; null before the push has succeeded.
    pub commit: Option<String>,
    /// The page of that commit.
    pub url: Option<String>,
    /// Why it failed; null for any other.
    pub failure: Option<ExportFailure>,
    /// Unix seconds.
    pub created_at: i64,
    /// Unix seconds.
    pub completed_at: Option<i64>,
}

/// Why an export could not be made, or not be pushed.
#[derive(Debug, Serialize, ToSchema)]
pub struct ExportFailure {
    /// Stable, machine-readable reason.
    pub code: String,
    /// What happened and what to do about it.
    pub message: String,
}

impl From<Failure> for ExportFailure {
    fn from(Failure { code, message, .. }: Failure) -> Self {
        Self { code, message }
    }
}

impl From<PushRow> for ExportPush {
    fn from(row: PushRow) -> Self {
        Self {
            status: row.status.as_str(),
            to: row.destination,
            private: row.private,
            bytes: row.bytes,
            bytes_done: row.bytes_done,
            commit: row.commit,
            url: row.url,
            failure: row.failure.map(ExportFailure::from),
            created_at: row.created_at.unix_seconds(),
            completed_at: row.completed_at.map(Timestamp::unix_seconds),
        }
    }
}

impl From<ExportRow> for Export {
    fn from(row: ExportRow) -> Self {
        let artifact = row.artifact.as_ref();
        let files = artifact.map(|artifact| artifact.manifest.files.as_slice()).unwrap_or_default();
        Self {
            id: row.id.to_string(),
            object: "export",
            checkpoint: row.checkpoint.to_string(),
            job: row.job.to_string(),
            format: row.export.format.as_str(),
            dtype: row.export.dtype.map(|dtype| dtype.as_str()),
            status: row.status.as_str(),
            bytes: row.bytes,
            bytes_done: row.bytes_done,
            files: files.iter().map(CheckpointFile::from).collect(),
            failure: row.failure.map(ExportFailure::from),
            push: row.push.map(ExportPush::from),
            created_at: row.created_at.unix_seconds(),
            completed_at: artifact.map(|artifact| artifact.completed_at.unix_seconds()),
        }
    }
}

/// The files of a ready export; for any other the conflict that says why there is nothing to read.
fn ready(row: ExportRow) -> Result<Artifact, Problem> {
    let ExportRow { id, status, failure, artifact, .. } = row;
    artifact.ok_or_else(|| {
        let detail = match (status, failure) {
            (ExportStatus::Failed, Some(failure)) => format!("the export {id} failed: {}", failure.message),
            _ => format!("the export {id} is {status}; wait until it is ready (GET /v1/exports/{id}?wait=60)"),
        };
        Problem::new(StatusCode::CONFLICT, "export_not_ready", detail)
    })
}
