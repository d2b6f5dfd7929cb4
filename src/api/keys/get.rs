//! `GET /v1/api-keys/{id}`

use axum::Json;

use super::ApiKey;
use crate::api::access::Administered;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::ApiKeyId;

/// Get an API key
#[utoipa::path(
    get,
    path = "/v1/api-keys/{id}",
    tag = "api-keys",
    params(("id" = String, Path, description = "The key's id")),
    responses(
        (status = 200, body = ApiKey),
        (status = 404, description = "No such key", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_api_key(Administered(app): Administered, Id(id): Id<ApiKeyId>) -> Result<Json<ApiKey>, Problem> {
    Ok(Json(app.store.api_key(id).await?.into()))
}
