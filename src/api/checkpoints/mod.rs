//! Checkpoints: complete directories of files with digests.

pub mod archive;
pub mod delete;
pub mod file;
pub mod get;
pub mod list;
pub mod provenance;

use serde::Serialize;
use utoipa::ToSchema;

use crate::job::ManifestFile;
use crate::store::{Artifact, CheckpointRow};

/// A complete checkpoint.
#[derive(Debug, Serialize, ToSchema)]
pub struct Checkpoint {
    #[schema(example = "ckpt_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub id: String,
    /// Always `checkpoint`.
    pub object: &'static str,
    pub job: String,
    /// `training` (everything a resumed run needs) or `inference` (a Hugging Face directory).
    pub kind: &'static str,
    /// Optimizer steps taken.
    pub step: u64,
    pub attempt: u32,
    /// Of all files together.
    pub bytes: u64,
    pub files: Vec<CheckpointFile>,
    /// Mean pass@k, for the first k of `eval.pass_at`, of the evaluation at its step; null where there was none.
    pub score: Option<f64>,
    /// Unix seconds.
    pub created_at: i64,
}

/// One file of a checkpoint or of a rollout set; download it from `/v1/checkpoints/{id}/files/{path}` or
/// `/v1/rollout-sets/{id}/files/{path}`.
#[derive(Debug, Serialize, ToSchema)]
pub struct CheckpointFile {
    #[schema(example = "model.safetensors")]
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Hexadecimal.
    pub sha256: String,
}

impl From<&ManifestFile> for CheckpointFile {
    fn from(file: &ManifestFile) -> Self {
        Self { path: file.path.clone(), size: file.size, sha256: file.sha256.clone() }
    }
}

impl From<CheckpointRow> for Checkpoint {
    fn from(row: CheckpointRow) -> Self {
        let Artifact { manifest, completed_at, .. } = &row.artifact;
        Self {
            id: row.id.to_string(),
            object: "checkpoint",
            job: manifest.job.to_string(),
            kind: manifest.kind.as_str(),
            step: manifest.step,
            attempt: manifest.attempt,
            bytes: manifest.bytes(),
            files: manifest.files.iter().map(CheckpointFile::from).collect(),
            score: row.score,
            created_at: completed_at.unix_seconds(),
        }
    }
}
