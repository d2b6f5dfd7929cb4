//! `GET /v1/sessions/current`

use axum::http::HeaderMap;
use axum::{Extension, Json};

use super::Session;
use crate::api::access::{Access, Caller};
use crate::api::credential;
use crate::api::error::Problem;
use crate::clock;
use crate::job::Scope;

/// Tell who asks
///
/// Whose key, or whose session, the request shows, and what it may do.
#[utoipa::path(get, path = "/v1/sessions/current", tag = "sessions", responses((status = 200, body = Session)))]
pub async fn get_session(
    Access(app): Access,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Result<Json<Session>, Problem> {
    let Some(key) = caller.key else {
        return Ok(Json(Session {
            object: "session",
            project: caller.project,
            key: None,
            name: None,
            scopes: Scope::ALL.iter().map(|scope| scope.as_str()).collect(),
            expires_at: None,
            version: env!("ANNEAL_BUILD"),
        }));
    };
    let key = app.store.api_key(key).await?;
    let session = match credential::session(&headers) {
        Some(secret) => app.store.session(&secret, clock::now()).await?.filter(|session| session.key.id == key.id),
        None => None,
    };
    Ok(Json(Session::of(&key, session.map(|session| session.expires_at))))
}
