//! Sessions of browsers: who signs in with a key gets a cookie that JavaScript cannot read, and the page never holds the
//! key.

pub mod create;
pub mod current;
pub mod end;
pub mod link;

use serde::Serialize;
use utoipa::ToSchema;

use crate::job::Timestamp;
use crate::store::ApiKeyRow;

/// Who makes a request, and what they may do.
#[derive(Debug, Serialize, ToSchema)]
pub struct Session {
    /// Always `session`.
    object: &'static str,
    /// The project whose things the caller sees.
    #[schema(example = "default")]
    project: String,
    /// The key that the caller has shown; null on a server without keys.
    key: Option<String>,
    /// The key's name; null on a server without keys.
    #[schema(example = "nightly retraining")]
    name: Option<String>,
    /// `read`, `write`, `admin`, `operator`, `code`, `agent`; all of them on a server without keys.
    #[schema(example = json!(["read", "write"]))]
    scopes: Vec<&'static str>,
    /// Unix seconds at which the session ends by itself; null: the caller has none, and shows a key or needs none.
    expires_at: Option<i64>,
    /// The server's version, so that a page notices when it is another's.
    version: &'static str,
}

impl Session {
    fn of(key: &ApiKeyRow, expires_at: Option<Timestamp>) -> Self {
        let ends = [expires_at, expires_at.and(key.expires_at)].into_iter().flatten().min();
        Self {
            object: "session",
            project: key.project.clone(),
            key: Some(key.id.to_string()),
            name: Some(key.name.clone()),
            scopes: key.scopes.iter().map(|scope| scope.as_str()).collect(),
            expires_at: ends.map(Timestamp::unix_seconds),
            version: env!("ANNEAL_BUILD"),
        }
    }
}
