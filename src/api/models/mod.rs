//! Models: imported from a folder that the operator allows, or built in.

pub mod get;
pub mod import;
pub mod list;

use serde::Serialize;
use utoipa::ToSchema;

use crate::modelfile::builtin::Builtin;
use crate::store::ModelRow;

/// A model that jobs can start from.
#[derive(Debug, Serialize, ToSchema)]
pub struct Model {
    #[schema(example = "mdl_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub id: String,
    /// Always `model`.
    pub object: &'static str,
    pub name: Option<String>,
    /// Where it came from.
    pub source: String,
    /// `safetensors` or `gguf`.
    pub format: Option<String>,
    pub architecture: Option<String>,
    pub parameters: Option<u64>,
    /// Tokens.
    pub context_length: Option<u64>,
    pub vocab_size: Option<u64>,
    pub weights_sha256: Option<String>,
    pub tokenizer_sha256: Option<String>,
    pub bytes: Option<u64>,
    /// Unix seconds; 0 for a built-in.
    pub created_at: i64,
}

impl From<ModelRow> for Model {
    fn from(row: ModelRow) -> Self {
        Self {
            id: row.id.to_string(),
            object: "model",
            name: row.name,
            source: row.source,
            format: Some(row.format),
            architecture: Some(row.architecture),
            parameters: Some(row.parameters),
            context_length: Some(row.context_length),
            vocab_size: Some(row.vocab_size),
            weights_sha256: Some(row.weights_sha256),
            tokenizer_sha256: Some(row.tokenizer_sha256),
            bytes: Some(row.bytes),
            created_at: row.created_at.unix_seconds(),
        }
    }
}

impl From<&Builtin> for Model {
    fn from(builtin: &Builtin) -> Self {
        Self {
            id: builtin.name.to_owned(),
            object: "model",
            name: Some(builtin.summary.to_owned()),
            source: String::from("builtin"),
            format: None,
            architecture: None,
            parameters: None,
            context_length: None,
            vocab_size: None,
            weights_sha256: None,
            tokenizer_sha256: None,
            bytes: None,
            created_at: 0,
        }
    }
}
