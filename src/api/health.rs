//! `GET /healthz` and `GET /readyz`

use axum::Json;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::access::Access;
use super::error::{Problem, ProblemBody};
use crate::store::StoreError;

#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    /// Always `ok`.
    status: &'static str,
    version: &'static str,
}

fn healthy() -> Json<Health> {
    Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") })
}

/// Whether the process lives
#[utoipa::path(get, path = "/healthz", tag = "health", responses((status = 200, body = Health)))]
pub async fn healthz() -> Json<Health> {
    healthy()
}

/// Whether requests can be served
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "health",
    responses(
        (status = 200, body = Health),
        (status = 503, description = "Not ready", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn readyz(Access(app): Access) -> Result<Json<Health>, Problem> {
    if *app.shutdown.borrow() || *app.settings.leaving.borrow() {
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", "the server is about to end"));
    }
    app.store.ping().await.map_err(|error| {
        tracing::error!(%error, "not ready");
        let (code, detail) = match error {
            StoreError::DatabaseDamaged(_) => return Problem::database_damaged(),
            StoreError::Full(_) => {
                ("storage_full", "the disk is full: what is stored can be read and deleted, and nothing can be added")
            }
            _ => ("database_unavailable", "the database does not answer, or is locked"),
        };
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, code, detail)
    })?;
    Ok(healthy())
}
