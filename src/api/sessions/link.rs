//! `POST /v1/sessions/links`

use axum::http::{HeaderMap, StatusCode, header};
use axum::{Extension, Json};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::access::{Access, Caller};
use crate::api::error::Problem;
use crate::clock;

/// A link that opens the page, signed in.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionLink {
    /// Always `session_link`.
    object: &'static str,
    /// What stands behind the server's address. The code in it is behind `#`, so that browsers send it to nobody.
    #[schema(example = "/#link=as_Zk3xQ9...")]
    path: String,
    /// Unix seconds; null on a server without keys, where nobody has to sign in.
    expires_at: Option<i64>,
}

/// Make a link that signs a browser in
///
/// For whoever has a key at hand on a command line (`anneal ui`). The link is good for 60 seconds and for one use, and the
/// session may do what the key may that made it.
#[utoipa::path(
    post,
    path = "/v1/sessions/links",
    tag = "sessions",
    responses((status = 201, description = "Made", body = SessionLink))
)]
pub async fn create_session_link(
    Access(app): Access,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Result<(StatusCode, Json<SessionLink>), Problem> {
    // It would outlive its 12 hours.
    if caller.key.is_some() && !headers.contains_key(header::AUTHORIZATION) {
        let detail = "a session makes no links; use the key itself, as `anneal ui` does";
        return Err(Problem::new(StatusCode::FORBIDDEN, "insufficient_scope", detail));
    }
    let (path, expires_at) = match caller.key {
        Some(key) => {
            let link = app.store.add_session_link(key, clock::now()).await?;
            (format!("/#link={}", link.secret), Some(link.expires_at.unix_seconds()))
        }
        None => (String::from("/"), None),
    };
    Ok((StatusCode::CREATED, Json(SessionLink { object: "session_link", path, expires_at })))
}
