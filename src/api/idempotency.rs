//! Requests that can be repeated without making a thing twice.

use axum::Json;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;

use super::error::Problem;
use crate::job::digest;
use crate::store::IdempotencyKey;

/// The request's `Idempotency-Key` with the digest of its body, if it has one.
pub fn key(headers: &HeaderMap, body: &Value) -> Result<Option<IdempotencyKey>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = value.to_str().ok().filter(|key| (1..=255).contains(&key.len())).ok_or_else(|| {
        Problem::bad_request("invalid_idempotency_key", "an Idempotency-Key has 1 to 255 printable ASCII characters")
    })?;
    Ok(Some(IdempotencyKey { key: key.to_owned(), digest: digest::of_json(body) }))
}

/// The answer with what was made, now or by an earlier request with the same key.
pub fn created(body: impl Serialize, replayed: bool) -> Response {
    let mut response = (StatusCode::CREATED, Json(body)).into_response();
    if replayed {
        response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
    }
    response
}
