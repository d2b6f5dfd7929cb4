//! Answers with an `ETag`, and the conditions that clients put on it (RFC 9110, section 13).
//!
//! The tag is the digest of the body, so that it changes with everything that the answer shows and with nothing else,
//! and no column has to be kept in step with it.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::error::Problem;
use crate::job::digest::sha256_hex;
use crate::store::{Memo, Store};

/// Answers up to this length are remembered.
const SMALL: usize = 1 << 16;
/// How long an answer stands without a write: it can hold how long something takes.
const LASTS: Duration = Duration::from_secs(1);

/// Answers to questions that are asked again and again, as by whoever waits for a job. They stand until something is
/// written.
#[derive(Clone, Debug)]
pub struct Answers {
    /// By project and path.
    known: Memo<(String, String), Tagged>,
}

impl Default for Answers {
    fn default() -> Self {
        Self { known: Memo::new(LASTS) }
    }
}

impl Answers {
    /// The answer to the caller's question for `path`, by `make` unless it is known.
    pub async fn get<T: Serialize>(
        &self,
        store: &Store,
        path: String,
        make: impl AsyncFnOnce() -> Result<T, Problem>,
    ) -> Result<Tagged, Problem> {
        let length = path.len();
        let key = (store.own_project().to_owned(), path);
        let small = |answer: &Tagged| length + answer.body.len() <= SMALL;
        self.known.get(store, key, small, async || Tagged::new(&make().await?)).await
    }
}

/// A JSON body with its tag.
#[derive(Clone, Debug)]
pub struct Tagged {
    tag: HeaderValue,
    body: Bytes,
}

impl Tagged {
    pub fn new(body: &impl Serialize) -> Result<Self, Problem> {
        let body = serde_json::to_vec(body).map_err(std::io::Error::other)?;
        let tag = format!("\"{}\"", &sha256_hex(&body)[..32]);
        let tag = HeaderValue::try_from(tag).map_err(std::io::Error::other)?;
        Ok(Self { tag, body: body.into() })
    }

    /// Refuses a change of something that is not as the client saw it, where the client says what it saw.
    pub fn check_if_match(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let Some(tags) = listed(headers, header::IF_MATCH) else { return Ok(()) };
        // Only strong tags match here.
        if tags.iter().any(|tag| tag == "*" || self.tag == *tag) {
            return Ok(());
        }
        let detail = "this has changed since its ETag was read; read it again, and send the change with the new tag, or \
                      without If-Match";
        Err(Problem::new(StatusCode::PRECONDITION_FAILED, "precondition_failed", detail))
    }

    /// The body, or 304 when the client has it.
    pub fn respond(self, headers: &HeaderMap) -> Response {
        let known = listed(headers, header::IF_NONE_MATCH).unwrap_or_default();
        if known.iter().any(|tag| tag == "*" || self.tag == tag.trim_start_matches("W/")) {
            return (StatusCode::NOT_MODIFIED, [(header::ETAG, self.tag)]).into_response();
        }
        self.into_response()
    }
}

impl IntoResponse for Tagged {
    fn into_response(self) -> Response {
        let mut response = Body::from(self.body).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response.headers_mut().insert(header::ETAG, self.tag);
        response
    }
}

/// The tags of a header that lists some; none when there is no such header.
fn listed(headers: &HeaderMap, name: HeaderName) -> Option<Vec<String>> {
    let mut values = headers.get_all(name).iter().peekable();
    values.peek()?;
    // A tag with a comma in it is none of ours.
    let tags = values.flat_map(|value| value.to_str().unwrap_or_default().split(','));
    Some(tags.map(|tag| tag.trim().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn equal_bodies_have_equal_tags_and_others_have_not() {
        let tag = |value| Tagged::new(&value).unwrap().tag;
        assert_eq!(tag(json!({"a": 1})), tag(json!({"a": 1})));
        assert_ne!(tag(json!({"a": 1})), tag(json!({"a": 2})));
    }

    #[test]
    fn conditions_compare_as_rfc_9110_says() {
        let tagged = || Tagged::new(&json!({"a": 1})).unwrap();
        let tag = tagged().tag.to_str().unwrap().to_owned();
        let met = |value: &str| tagged().check_if_match(&with(header::IF_MATCH, value)).is_ok();
        assert!(tagged().check_if_match(&HeaderMap::new()).is_ok());
        assert!(met("*") && met(&tag) && met(&format!("\"x\", {tag}")));
        assert!(!met("\"x\"") && !met(&format!("W/{tag}")) && !met(""));
        let status = |value: &str| tagged().respond(&with(header::IF_NONE_MATCH, value)).status();
        for known in ["*", &tag, &format!("W/{tag}"), &format!("\"x\",{tag}")] {
            assert_eq!(status(known), StatusCode::NOT_MODIFIED, "{known}");
        }
        assert_eq!(status("\"x\""), StatusCode::OK);
    }
}
