//! `POST /v1/sessions`

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse};
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::ToSchema;

use super::Session;
use crate::api::App;
use crate::api::access::Caller;
use crate::api::credential::{self, cookie};
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, read};
use crate::clock;
use crate::job::FieldError;
use crate::job::digest::sha256_hex;

/// What a session begins with: a key, or the code of a link.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSession {
    /// An API key, `ak_...`.
    #[schema(example = "ak_Zk3xQ9...", max_length = 200)]
    key: Option<String>,
    /// The code of a link that `POST /v1/sessions/links` made, which is used up.
    #[schema(max_length = 200)]
    link: Option<String>,
}

/// Sign in with a browser
///
/// The answer sets a cookie that is good for 12 hours, for pages of this server only, and that ends with its key. It is
/// `HttpOnly`: scripts cannot read it. Send one of `key` and `link`. Programs need no session: they send their key with
/// each request.
#[utoipa::path(
    post,
    path = "/v1/sessions",
    tag = "sessions",
    request_body(content = CreateSession),
    responses(
        (status = 200, description = "Signed in", body = Session),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 401, description = "The key or the link is not good", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_session(
    State(app): State<App>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<impl IntoResponse, Problem> {
    let new: CreateSession = read(&body)?;
    let now = clock::now();
    let key = match (new.key, new.link) {
        (Some(key), None) => app.store.api_key_with_digest(&sha256_hex(key.trim().as_bytes())).await?,
        (None, Some(link)) => app.store.use_session_link(&link, now).await?,
        _ => return Err(Problem::invalid(vec![FieldError::new("", "required", "send `key` or `link`, and not both")])),
    };
    let refuse = |detail| Problem::new(StatusCode::UNAUTHORIZED, "invalid_api_key", detail);
    let key = key.ok_or_else(|| refuse("this key or link is not known here, or the link was used or is too old"))?;
    if !key.is_usable(now) {
        return Err(refuse("the key is revoked or has expired; make another with `anneal keys create`"));
    }
    // The browser has one session; streams that go by the one before end with it.
    if let Some(before) = credential::session(&headers) {
        app.store.end_session(&before).await?;
    }
    let session = app.store.add_session(key.id, now).await?;
    let cookie = cookie(Some((&session, now)), &headers)
        .ok_or_else(|| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "something went wrong"))?;
    // For the audit log, which knows by it whose session this is.
    let caller = Caller { project: key.project.clone(), key: Some(key.id), operates: false, runs_code: false };
    let cookie = AppendHeaders([(header::SET_COOKIE, cookie)]);
    Ok((Extension(caller), cookie, Json(Session::of(&key, Some(session.expires_at)))))
}
