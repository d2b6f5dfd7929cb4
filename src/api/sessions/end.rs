//! `DELETE /v1/sessions/current`

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::api::access::Access;
use crate::api::credential;
use crate::api::error::Problem;
use crate::api::extract::drain_little;

/// Sign out
///
/// Ends the session that the request shows, and has the browser forget it. Without one it does nothing.
#[utoipa::path(
    delete,
    path = "/v1/sessions/current",
    tag = "sessions",
    responses((status = 204, description = "Signed out"))
)]
pub async fn end_session(Access(app): Access, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    // It may answer before a body that nobody wants is here, which would end the connection.
    drain_little(body).await;
    if let Some(secret) = credential::session(&headers) {
        app.store.end_session(&secret).await?;
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    response.headers_mut().extend(credential::cookie(None, &headers).map(|cookie| (header::SET_COOKIE, cookie)));
    Ok(response)
}
