//! `GET /v1/audit-log`

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::access::Administered;
use super::error::{Problem, ProblemBody};
use super::extract::{List, PageParams, Params};
use crate::store;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AuditFilter {
    /// Only requests with this key (`key_...`).
    key: Option<String>,
}

/// A request that wanted to change something, or that was refused for its key.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditEntry {
    #[schema(example = "aud_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    id: String,
    /// Always `audit_entry`.
    object: &'static str,
    /// Unix seconds.
    created_at: i64,
    /// Empty for a request with an unknown key.
    project: String,
    /// Null for a request without a key, or with an unknown one.
    key: Option<String>,
    #[schema(example = "POST")]
    method: String,
    #[schema(example = "/v1/jobs")]
    path: String,
    /// HTTP status of the answer.
    status: u16,
    /// `code` of the problem, if it was refused.
    code: Option<String>,
    request_id: String,
    /// How many requests the entry stands for. Of refusals without a known key, and of what a key asks that changes
    /// nothing, a hundred are noted and then thirty a minute, each with the number of those since the one before; the rest
    /// are 1.
    requests: u64,
}

impl From<store::AuditEntry> for AuditEntry {
    fn from(entry: store::AuditEntry) -> Self {
        Self {
            id: entry.id.to_string(),
            object: "audit_entry",
            created_at: entry.created_at.unix_seconds(),
            project: entry.project,
            key: entry.key,
            method: entry.method,
            path: entry.path,
            status: entry.status,
            code: entry.code,
            request_id: entry.request_id,
            requests: entry.requests,
        }
    }
}

/// Read the audit log
///
/// Every request that wanted to change something, with what came of it, those that computed or took out rows, completions
/// or weights, and those that were refused for their key. Operators see all, others what is of their own project. Entries
/// cannot be changed, and not be removed before they are a year old.
#[utoipa::path(
    get,
    path = "/v1/audit-log",
    tag = "api-keys",
    params(PageParams, AuditFilter),
    responses(
        (status = 200, body = List<AuditEntry>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_audit_log(
    Administered(app): Administered,
    Params(page): Params<PageParams>,
    Params(filter): Params<AuditFilter>,
) -> Result<Json<List<AuditEntry>>, Problem> {
    let rows = app.store.audit_entries(filter.key.as_deref(), &page.page()).await?;
    Ok(Json(List::new(rows.into_iter().map(AuditEntry::from), page.limit, |entry| entry.id.clone())))
}
