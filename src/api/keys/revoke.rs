//! `POST /v1/api-keys/{id}/revoke`

use axum::Json;

use super::ApiKey;
use crate::api::access::Everything;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::clock;
use crate::job::ApiKeyId;

/// Revoke an API key
///
/// The next request with it is refused. Its row stays, for the audit log names it.
#[utoipa::path(
    post,
    path = "/v1/api-keys/{id}/revoke",
    tag = "api-keys",
    params(("id" = String, Path, description = "The key's id")),
    responses(
        (status = 200, body = ApiKey),
        (status = 404, description = "No such key", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn revoke_api_key(Everything(app): Everything, Id(id): Id<ApiKeyId>) -> Result<Json<ApiKey>, Problem> {
    Ok(Json(app.store.revoke_api_key(id, clock::now()).await?.into()))
}
