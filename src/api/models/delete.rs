//! `DELETE /v1/models/{id}`

use axum::Json;
use axum::http::StatusCode;

use crate::api::access::Access;
use crate::api::deleted::Deleted;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::PathText;
use crate::job::{CheckpointId, ModelId};
use crate::modelfile::builtin::Builtin;
use crate::store::StoreError;

/// Delete an imported model
///
/// Its files go with it. Jobs that are finished and what they made stay.
#[utoipa::path(
    delete,
    path = "/v1/models/{id}",
    tag = "models",
    params(("id" = String, Path, description = "The model")),
    responses(
        (status = 200, body = Deleted),
        (status = 404, description = "No such model", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "A job that is not finished uses the model, or it was not imported", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn delete_model(Access(app): Access, PathText(id): PathText<String>) -> Result<Json<Deleted>, Problem> {
    if Builtin::find(&id).is_some() || id.parse::<CheckpointId>().is_ok() {
        let detail = "only imported models (mdl_...) are deleted here; a finished model is a checkpoint of its job";
        return Err(StoreError::Conflict(detail.to_owned()).into());
    }
    let model: ModelId =
        id.parse().map_err(|_| Problem::new(StatusCode::NOT_FOUND, "not_found", format!("no model `{id}`")))?;
    app.store.delete_model(model).await?;
    Ok(Json(Deleted::new(id, "model")))
}
