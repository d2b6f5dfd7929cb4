//! `GET /v1/models/{id}`

use axum::Json;
use axum::http::StatusCode;

use super::Model;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::PathText;
use crate::job::id::InvalidId;
use crate::job::{ArtifactKind, CheckpointId, ModelId};
use crate::modelfile::builtin::Builtin;

/// Get a model
#[utoipa::path(
    get,
    path = "/v1/models/{id}",
    tag = "models",
    params(("id" = String, Path, description = "An imported model, a finished one (`ckpt_...`), or the name of a built-in one")),
    responses(
        (status = 200, body = Model),
        (status = 404, description = "No such model", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_model(Access(app): Access, PathText(id): PathText<String>) -> Result<Json<Model>, Problem> {
    if let Some(builtin) = Builtin::find(&id) {
        return Ok(Json(builtin.into()));
    }
    if let Ok(id) = id.parse::<CheckpointId>() {
        let row = app.store.checkpoint(id).await?;
        // A training checkpoint is the state of a job and no model.
        let model = Some(row).filter(|row| row.artifact.manifest.kind == ArtifactKind::Inference);
        let missing = || Problem::new(StatusCode::NOT_FOUND, "not_found", format!("no model `{id}`"));
        return Ok(Json(model.ok_or_else(missing)?.into()));
    }
    let id: ModelId =
        id.parse().map_err(|error: InvalidId| Problem::new(StatusCode::NOT_FOUND, "not_found", error.to_string()))?;
    Ok(Json(app.store.model(id).await?.into()))
}
