//! Models: imported (from a folder that the operator allows, from the hub, from uploaded files), made by a job, or built in.

pub mod delete;
pub mod get;
pub mod import;
pub mod list;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::job::{ModelStatus, Timestamp};
use crate::modelfile::builtin::Builtin;
use crate::store::{Artifact, CheckpointRow, ModelRow};

/// A model that jobs can start from.
#[derive(Debug, Serialize, ToSchema)]
pub struct Model {
    #[schema(example = "mdl_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub id: String,
    /// Always `model`.
    pub object: &'static str,
    /// The model that it is an adapter of.
    pub base: Option<String>,
    pub name: Option<String>,
    /// Where it came from: a path, `hf:owner/name@commit`, `upload`, a job (`job_...`) or `builtin`.
    pub source: String,
    /// `ready`; `importing` while its weights are under way, for which jobs that name it wait; `pending` when they come
    /// with the first job that names it; or `failed`.
    pub status: &'static str,
    /// `safetensors` or `gguf`.
    pub format: Option<String>,
    pub architecture: Option<String>,
    pub parameters: Option<u64>,
    /// Tokens.
    pub context_length: Option<u64>,
    pub vocab_size: Option<u64>,
    pub weights_sha256: Option<String>,
    pub tokenizer_sha256: Option<String>,
    /// Of all files.
    pub bytes: Option<u64>,
    /// Of all files, as far as they are here.
    pub bytes_done: Option<u64>,
    /// Why it is `failed`.
    pub failure: Option<ModelFailure>,
    /// What of it is not as its authors trained it.
    pub warnings: Vec<ModelWarning>,
    /// When a job that refers to it was submitted last; Unix seconds.
    pub last_used_at: Option<i64>,
    /// Unix seconds; 0 for a built-in.
    pub created_at: i64,
    /// The same, as OpenAI clients read it.
    pub created: i64,
    /// `import`, `anneal` for a built-in, or the job that made it.
    pub owned_by: String,
}

/// Why a model could not be imported.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelFailure {
    /// Stable, machine-readable reason.
    code: String,
    /// What happened and what to do about it.
    message: String,
}

/// What of a model is not as its authors trained it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ModelWarning {
    code: String,
    detail: String,
}

impl From<ModelRow> for Model {
    fn from(row: ModelRow) -> Self {
        Self {
            id: row.id.to_string(),
            object: "model",
            base: row.adapter.map(|of| of.model.to_string()),
            name: row.name,
            source: row.source,
            format: Some(row.format),
            architecture: Some(row.architecture),
            parameters: Some(row.parameters),
            context_length: Some(row.context_length),
            vocab_size: Some(row.vocab_size),
            status: row.status.as_str(),
            weights_sha256: row.weights_sha256,
            tokenizer_sha256: Some(row.tokenizer_sha256),
            bytes: Some(row.bytes),
            bytes_done: Some(row.bytes_done),
            failure: row.failure.map(|failure| ModelFailure { code: failure.code, message: failure.message }),
            // Written by the import, which writes a list.
            warnings: serde_json::from_value(row.warnings).unwrap_or_default(),
            last_used_at: row.last_used_at.map(Timestamp::unix_seconds),
            created_at: row.created_at.unix_seconds(),
            created: row.created_at.unix_seconds(),
            owned_by: String::from("import"),
        }
    }
}

impl From<&Builtin> for Model {
    fn from(builtin: &Builtin) -> Self {
        Self {
            id: builtin.name.to_owned(),
            object: "model",
            base: None,
            name: Some(builtin.summary.to_owned()),
            source: String::from("builtin"),
            format: None,
            architecture: None,
            parameters: None,
            context_length: None,
            vocab_size: None,
            status: ModelStatus::Ready.as_str(),
            weights_sha256: None,
            tokenizer_sha256: None,
            bytes: None,
            bytes_done: None,
            failure: None,
            warnings: Vec::new(),
            last_used_at: None,
            created_at: 0,
            created: 0,
            owned_by: String::from("anneal"),
        }
    }
}

impl From<CheckpointRow> for Model {
    /// A finished model; what its files say is in its manifest.
    fn from(row: CheckpointRow) -> Self {
        let Artifact { manifest, completed_at, .. } = &row.artifact;
        Self {
            id: row.id.to_string(),
            object: "model",
            base: None,
            name: None,
            source: manifest.job.to_string(),
            format: Some(String::from("safetensors")),
            architecture: None,
            parameters: None,
            context_length: None,
            vocab_size: None,
            status: ModelStatus::Ready.as_str(),
            weights_sha256: manifest.weights_sha256().map(str::to_owned),
            tokenizer_sha256: manifest.file("tokenizer.json").map(|file| file.sha256.clone()),
            bytes: Some(manifest.bytes()),
            bytes_done: Some(manifest.bytes()),
            failure: None,
            warnings: Vec::new(),
            last_used_at: None,
            created_at: completed_at.unix_seconds(),
            created: completed_at.unix_seconds(),
            owned_by: manifest.job.to_string(),
        }
    }
}
