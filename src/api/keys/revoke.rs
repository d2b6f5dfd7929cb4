//! `POST /v1/api-keys/{id}/revoke`

use axum::http::StatusCode;
use axum::{Extension, Json};

use super::{ApiKey, given};
use crate::api::access::{Administered, Caller};
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::clock;
use crate::job::ApiKeyId;

/// Revoke an API key
///
/// The next request with it is refused. Its row stays, for the audit log names it. Operators revoke every key; others those
/// of their own project that have no scopes which they lack themselves.
#[utoipa::path(
    post,
    path = "/v1/api-keys/{id}/revoke",
    tag = "api-keys",
    params(("id" = String, Path, description = "The key's id")),
    responses(
        (status = 200, body = ApiKey),
        (status = 403, description = "The key may do more than yours", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such key", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn revoke_api_key(
    Administered(app): Administered,
    Extension(caller): Extension<Caller>,
    Id(id): Id<ApiKeyId>,
) -> Result<Json<ApiKey>, Problem> {
    if let Some(given) = given(&app, &caller).await? {
        let key = app.store.api_key(id).await?;
        if let Some(lacking) = key.scopes.iter().find(|scope| !given.scopes.contains(scope)) {
            let detail =
                format!("the key {id} has the scope `{lacking}`, which yours lacks; the operator can revoke it");
            return Err(Problem::new(StatusCode::FORBIDDEN, "insufficient_scope", detail));
        }
    }
    Ok(Json(app.store.revoke_api_key(id, clock::now()).await?.into()))
}
