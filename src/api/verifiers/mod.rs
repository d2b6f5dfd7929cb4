//! Stored verifiers, for specs that name one instead of spelling it out.

pub mod audit;
pub mod create;
pub mod delete;
pub mod get;
pub mod judge;
pub mod list;
mod panel;
pub mod probes;
mod trust;
pub mod update;

use std::collections::BTreeMap;
pub mod test;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::store::VerifierRow;

/// A stored verifier.
#[derive(Debug, Serialize, ToSchema)]
pub struct Verifier {
    #[schema(example = "vf_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub id: String,
    /// Always `verifier`.
    pub object: &'static str,
    pub name: Option<String>,
    /// The configuration with every default filled in.
    #[schema(value_type = Object)]
    pub config: Value,
    /// `sha256:` and the digest of the configuration.
    pub digest: String,
    pub metadata: BTreeMap<String, String>,
    /// Unix seconds.
    pub created_at: i64,
}

impl From<VerifierRow> for Verifier {
    fn from(row: VerifierRow) -> Self {
        Self {
            id: row.id.to_string(),
            object: "verifier",
            name: row.name,
            config: row.config,
            digest: row.digest,
            metadata: row.metadata,
            created_at: row.created_at.unix_seconds(),
        }
    }
}
