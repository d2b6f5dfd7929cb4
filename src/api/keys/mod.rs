//! API keys: who may reach the server, and what they may do.

pub mod create;
pub mod get;
pub mod list;
pub mod revoke;

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::access::Caller;
use crate::api::error::Problem;
use crate::job::Timestamp;
use crate::store::ApiKeyRow;

/// A key, without its secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApiKey {
    #[schema(example = "key_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub id: String,
    /// Always `api_key`.
    object: &'static str,
    name: String,
    /// What the key gives access to.
    #[schema(example = "default")]
    project: String,
    /// `read`, `write`, `admin`, `operator`, `code`, `agent`.
    #[schema(example = json!(["read", "write"]))]
    scopes: Vec<&'static str>,
    /// The first characters of the secret, to recognise it by.
    #[schema(example = "ak_Zk3xQ9")]
    prefix: String,
    /// Unix seconds.
    created_at: i64,
    /// Unix seconds; null: it does not expire.
    expires_at: Option<i64>,
    /// Unix seconds; null: it is not revoked.
    revoked_at: Option<i64>,
    /// Unix seconds, to the minute.
    last_used_at: Option<i64>,
    metadata: BTreeMap<String, String>,
    /// The secret itself. It is shown when the key is made, and never again.
    #[schema(example = "ak_Zk3xQ9...")]
    pub key: Option<String>,
}

impl From<ApiKeyRow> for ApiKey {
    fn from(row: ApiKeyRow) -> Self {
        Self {
            id: row.id.to_string(),
            object: "api_key",
            name: row.name,
            project: row.project,
            scopes: row.scopes.iter().map(|scope| scope.as_str()).collect(),
            prefix: row.prefix,
            created_at: row.created_at.unix_seconds(),
            expires_at: row.expires_at.map(Timestamp::unix_seconds),
            revoked_at: row.revoked_at.map(Timestamp::unix_seconds),
            last_used_at: row.last_used_at.map(Timestamp::unix_seconds),
            metadata: row.metadata,
            key: None,
        }
    }
}

/// The caller's own key, which bounds what the caller may do with others; none for operators.
async fn given(app: &App, caller: &Caller) -> Result<Option<ApiKeyRow>, Problem> {
    match caller.key.filter(|_| !caller.operates) {
        Some(own) => Ok(Some(app.store.api_key(own).await?)),
        None => Ok(None),
    }
}
