//! Answers with an `ETag`, and the conditions that clients put on it (RFC 9110, section 13).
//!
//! The tag is the digest of the body, so that it changes with everything that the answer shows and with nothing else,
//! and no column has to be kept in step with it.

use std::borrow::Cow;
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
    pub async fn get(
        &self,
        store: &Store,
        path: String,
        make: impl AsyncFnOnce() -> Result<Tagged, Problem>,
    ) -> Result<Tagged, Problem> {
        let length = path.len();
        let key = (store.own_project().to_owned(), path);
        let small = |answer: &Tagged| length + answer.body.len() <= SMALL;
        self.known.get(store, key, small, make).await
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
        Self::with_part(body, body)
    }

    /// As [`new`](Self::new), where `If-Match` is about `part` alone: about what a change of the thing depends on, and
    /// not about how far it has come. The tag has a half for each.
    pub fn with_part(body: &impl Serialize, part: &impl Serialize) -> Result<Self, Problem> {
        let body = serde_json::to_vec(body).map_err(std::io::Error::other)?;
        let part = serde_json::to_vec(part).map_err(std::io::Error::other)?;
        let tag = format!("\"{}-{}\"", &sha256_hex(&part)[..16], &sha256_hex(&body)[..32]);
        let tag = HeaderValue::try_from(tag).map_err(std::io::Error::other)?;
        Ok(Self { tag, body: body.into() })
    }

    pub fn tag(&self) -> &HeaderValue {
        &self.tag
    }

    /// The body.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// Refuses a change of something that is not as the client saw it, where the client says what it saw.
    pub fn check_if_match(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let Some(tags) = listed(headers, header::IF_MATCH) else { return Ok(()) };
        let own = self.tag.to_str().unwrap_or_default();
        // Only strong tags match here.
        if tags.iter().any(|tag| tag == "*" || part(tag).is_some_and(|part| own.starts_with(part))) {
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

/// The half of a tag that `If-Match` is about, with what stands around it.
fn part(tag: &str) -> Option<&str> {
    tag.starts_with('"').then(|| tag.find('-')).flatten().map(|end| &tag[..=end])
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
    fn a_change_is_refused_only_when_what_it_depends_on_has_changed() {
        let tagged = |step: u64, name: &str| Tagged::with_part(&json!([step, name]), &json!(name)).unwrap();
        let met =
            |seen: Tagged, is: Tagged| is.check_if_match(&HeaderMap::from_iter([(header::IF_MATCH, seen.tag)])).is_ok();
        assert_ne!(tagged(1, "a").tag, tagged(2, "a").tag);
        assert!(met(tagged(1, "a"), tagged(2, "a")));
        assert!(!met(tagged(1, "a"), tagged(1, "b")));
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
