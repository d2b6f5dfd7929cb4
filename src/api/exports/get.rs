//! `GET /v1/exports/{id}` and `GET /v1/exports/{id}/manifest`

use std::time::Duration;

use axum::Json;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use utoipa::IntoParams;

use super::{Export, ready};
use crate::api::access::Access;
use crate::api::checkpoints::provenance::signed;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, Params};
use crate::job::{ExportId, ExportStatus, PushStatus};
use crate::store::PushRow;

/// How often a row is looked at that somebody waits for.
const LOOK: Duration = Duration::from_millis(200);

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct GetExport {
    /// Seconds to wait until it is ready or failed and no push of it is under way, 0 to 300.
    #[serde(default)]
    #[param(minimum = 0, maximum = 300)]
    wait: u64,
}

/// Get an export
#[utoipa::path(
    get,
    path = "/v1/exports/{id}",
    tag = "checkpoints",
    params(("id" = String, Path, description = "The export"), GetExport),
    responses(
        (status = 200, body = Export),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such export", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_export(
    Access(app): Access,
    Params(GetExport { wait }): Params<GetExport>,
    Id(id): Id<ExportId>,
) -> Result<Json<Export>, Problem> {
    let deadline = Instant::now() + Duration::from_secs(wait);
    let mut shutdown = app.shutdown.clone();
    loop {
        let row = app.store.export(id).await?;
        let is_pushed = |push: &PushRow| matches!(push.status, PushStatus::Succeeded | PushStatus::Failed);
        let is_over =
            matches!(row.status, ExportStatus::Ready | ExportStatus::Failed) && row.push.as_ref().is_none_or(is_pushed);
        if is_over || Instant::now() >= deadline || *shutdown.borrow() {
            return Ok(Json(row.into()));
        }
        tokio::select! {
            () = sleep(LOOK) => {}
            _ = shutdown.changed() => {}
        }
    }
}

/// Get an export's manifest
///
/// The content of `manifest.json` as it lies beside the files: format, job, and every file with size and sha256.
#[utoipa::path(
    get,
    path = "/v1/exports/{id}/manifest",
    tag = "checkpoints",
    params(("id" = String, Path, description = "The export")),
    responses(
        (status = 200, body = Object),
        (status = 404, description = "No such export", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The export is not ready", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_export_manifest(Access(app): Access, Id(id): Id<ExportId>) -> Result<Json<Value>, Problem> {
    let artifact = ready(app.store.export(id).await?)?;
    Ok(Json(serde_json::json!(artifact.manifest)))
}

/// Get what an export was made from, signed
///
/// As that of a checkpoint (`GET /v1/checkpoints/{id}/provenance`), with the digests of the export's files.
#[utoipa::path(
    get,
    path = "/v1/exports/{id}/provenance",
    tag = "checkpoints",
    params(("id" = String, Path, description = "The export")),
    responses(
        (status = 200, body = Object),
        (status = 404, description = "No such export", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The export is not ready", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_export_provenance(Access(app): Access, Id(id): Id<ExportId>) -> Result<Json<Value>, Problem> {
    ready(app.store.export(id).await?)?;
    signed(&app, &id.to_string()).await.map(Json)
}
