//! `GET /v1/checkpoints/{id}` and `GET /v1/checkpoints/{id}/manifest`

use axum::Json;
use serde_json::Value;

use super::Checkpoint;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::CheckpointId;

/// Get a checkpoint
#[utoipa::path(
    get,
    path = "/v1/checkpoints/{id}",
    tag = "checkpoints",
    params(("id" = String, Path, description = "The checkpoint")),
    responses(
        (status = 200, body = Checkpoint),
        (status = 404, description = "No such checkpoint", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_checkpoint(Access(app): Access, Id(id): Id<CheckpointId>) -> Result<Json<Checkpoint>, Problem> {
    Ok(Json(app.store.checkpoint(id).await?.into()))
}

/// Get a checkpoint's manifest
///
/// The content of `manifest.json` as it lies in the checkpoint: format, job, step, and every file with size and
/// sha256.
#[utoipa::path(
    get,
    path = "/v1/checkpoints/{id}/manifest",
    tag = "checkpoints",
    params(("id" = String, Path, description = "The checkpoint")),
    responses(
        (status = 200, body = Object),
        (status = 404, description = "No such checkpoint", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_checkpoint_manifest(Access(app): Access, Id(id): Id<CheckpointId>) -> Result<Json<Value>, Problem> {
    let row = app.store.checkpoint(id).await?;
    Ok(Json(serde_json::json!(row.artifact.manifest)))
}
