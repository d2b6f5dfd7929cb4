//! `GET /v1/models/{id}`

use axum::Json;
use axum::http::StatusCode;

use super::Model;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::PathText;
use crate::job::ModelId;
use crate::job::id::InvalidId;
use crate::modelfile::builtin::Builtin;

/// Get a model
#[utoipa::path(
    get,
    path = "/v1/models/{id}",
    tag = "models",
    params(("id" = String, Path, description = "The model, or the name of a built-in one")),
    responses(
        (status = 200, body = Model),
        (status = 404, description = "No such model", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_model(Access(app): Access, PathText(id): PathText<String>) -> Result<Json<Model>, Problem> {
    if let Some(builtin) = Builtin::find(&id) {
        return Ok(Json(builtin.into()));
    }
    let id: ModelId =
        id.parse().map_err(|error: InvalidId| Problem::new(StatusCode::NOT_FOUND, "not_found", error.to_string()))?;
    Ok(Json(app.store.model(id).await?.into()))
}
