//! `DELETE /v1/sessions/current`

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::api::access::Access;
use crate::api::credential;
use crate::api::error::Problem;

/// Sign out
///
/// Ends the session that the request shows, and has the browser forget it. Without one it does nothing.
#[utoipa::path(
    delete,
    path = "/v1/sessions/current",
    tag = "sessions",
    responses((status = 204, description = "Signed out"))
)]
pub async fn end_session(Access(app): Access, headers: HeaderMap) -> Result<Response, Problem> {
    if let Some(secret) = credential::session(&headers) {
        app.store.end_session(&secret).await?;
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    response.headers_mut().extend(credential::cookie(None, &headers).map(|cookie| (header::SET_COOKIE, cookie)));
    Ok(response)
}
