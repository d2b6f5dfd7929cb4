//! Stored files as a client downloads them: whole or in parts, with their digest.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tokio_util::io::ReaderStream;

use super::error::Problem;
use crate::job::ManifestFile;
use crate::store::{Artifact, Location, Place, StoredFile};

/// Bytes that are read from a file at a time.
pub const CHUNK: usize = 1 << 18;

/// How long an address of the object storage lets in.
const SIGNED: Duration = Duration::from_secs(15 * 60);

/// Answers with the file `name` of an artifact that people call `what`.
pub async fn artifact_file(
    place: &Place,
    what: &str,
    artifact: &Artifact,
    name: &str,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let file = artifact.manifest.file(name).ok_or_else(|| {
        let detail = format!("the {what} has no file `{name}`; see its manifest");
        Problem::new(StatusCode::NOT_FOUND, "not_found", detail)
    })?;
    serve(place, artifact.location().within(&file.path), file, headers).await
}

/// Answers with the file at `location`, which a manifest lists as `file`. Serves one range per request and honours
/// `If-None-Match` and `If-Range`; `ETag` and `Repr-Digest` carry the file's sha256.
pub async fn serve(
    place: &Place,
    location: Location,
    file: &ManifestFile,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let what = Representation {
        name: file.path.clone(),
        size: file.size,
        etag: file.sha256.clone(),
        content_type: "application/octet-stream",
        sha256: Some(file.sha256.clone()),
    };
    what.serve(place, &location.holding(&file.sha256), headers).await
}

/// What is downloaded, before any of it is read.
pub struct Representation {
    /// The file's name for the client.
    pub name: String,
    pub size: u64,
    /// Two with the same one have the same bytes.
    pub etag: String,
    pub content_type: &'static str,
    /// Of all bytes, hexadecimal, where it is known.
    pub sha256: Option<String>,
}

/// The bytes that a request gets.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub first: u64,
    pub length: u64,
    status: StatusCode,
}

impl Representation {
    /// Answers with a stored file.
    pub async fn serve(&self, place: &Place, file: &StoredFile, headers: &HeaderMap) -> Result<Response, Problem> {
        let part = match self.select(headers) {
            Ok(part) => part,
            Err(answer) => return Ok(*answer),
        };
        if let Some(address) = place.signed_address(file, self.size, SIGNED).await? {
            return Ok(self.redirect(&address));
        }
        let reader = place.open(file, part.first, part.length).await?;
        let body = Body::from_stream(ReaderStream::with_capacity(reader, CHUNK));
        Ok(self.answer(part, body))
    }

    /// Which bytes a request gets, or the answer to one that gets none.
    pub fn select(&self, headers: &HeaderMap) -> Result<Part, Box<Response>> {
        let etag = format!("\"{}\"", self.etag);
        if text(headers, header::IF_NONE_MATCH).is_some_and(|tags| tags == "*" || tags.contains(&etag)) {
            return Err(Box::new((StatusCode::NOT_MODIFIED, [(header::ETAG, etag)]).into_response()));
        }
        let fresh = text(headers, header::IF_RANGE).is_none_or(|tag| tag == etag);
        let range = match text(headers, header::RANGE).filter(|_| fresh) {
            Some(range) => parse_range(range, self.size),
            None => Range::Whole,
        };
        match range {
            Range::Whole => Ok(Part { first: 0, length: self.size, status: StatusCode::OK }),
            Range::Part { first, length } => Ok(Part { first, length, status: StatusCode::PARTIAL_CONTENT }),
            Range::Unsatisfiable => {
                let detail = format!("the range lies behind the end of the file, which has {} bytes", self.size);
                let mut response =
                    Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "range_not_satisfiable", detail).into_response();
                response.headers_mut().insert(header::CONTENT_RANGE, header_value(&format!("bytes */{}", self.size)));
                Err(Box::new(response))
            }
        }
    }

    /// Sends the client to the object storage, where it asks for the same part.
    fn redirect(&self, address: &str) -> Response {
        let mut response = StatusCode::TEMPORARY_REDIRECT.into_response();
        let headers = response.headers_mut();
        headers.insert(header::LOCATION, header_value(address));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(header::ETAG, header_value(&format!("\"{}\"", self.etag)));
        if let Some(sha256) = &self.sha256 {
            headers.insert("repr-digest", header_value(&format!("sha-256=:{}:", base64_of_hex(sha256))));
        }
        response
    }

    /// The answer with those bytes.
    pub fn answer(&self, part: Part, body: Body) -> Response {
        let Part { first, length, status } = part;
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        let name = self.name.replace(['"', '\\'], "_");
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        headers.insert(header::ETAG, header_value(&format!("\"{}\"", self.etag)));
        headers.insert(header::CONTENT_DISPOSITION, header_value(&format!("attachment; filename=\"{name}\"")));
        if let Some(sha256) = &self.sha256 {
            headers.insert("repr-digest", header_value(&format!("sha-256=:{}:", base64_of_hex(sha256))));
        }
        if status == StatusCode::PARTIAL_CONTENT {
            let range = format!("bytes {first}-{}/{}", first + length - 1, self.size);
            headers.insert(header::CONTENT_RANGE, header_value(&range));
        }
        response
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn header_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// RFC 9530 writes digests in base64.
fn base64_of_hex(hex: &str) -> String {
    let bytes: Vec<u8> =
        (0..hex.len() / 2).filter_map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).ok()).collect();
    BASE64_STANDARD.encode(bytes)
}

#[derive(Debug, PartialEq, Eq)]
enum Range {
    /// None was asked for, or it is malformed or has several parts: all of those get the whole (RFC 9110, 14.2).
    Whole,
    Part {
        first: u64,
        length: u64,
    },
    Unsatisfiable,
}

fn parse_range(header: &str, size: u64) -> Range {
    let Some((first, last)) = header.strip_prefix("bytes=").and_then(|spec| spec.trim().split_once('-')) else {
        return Range::Whole;
    };
    match (first.trim().parse::<u64>(), last.trim()) {
        (Ok(first), _) if first >= size => Range::Unsatisfiable,
        (Ok(first), "") => Range::Part { first, length: size - first },
        (Ok(first), last) => match last.parse::<u64>() {
            Ok(last) if last >= first => Range::Part { first, length: last.min(size - 1) - first + 1 },
            _ => Range::Whole,
        },
        (Err(_), last) if first.trim().is_empty() => match last.parse::<u64>() {
            Ok(0) => Range::Unsatisfiable,
            Ok(_) if size == 0 => Range::Unsatisfiable,
            Ok(suffix) => Range::Part { first: size.saturating_sub(suffix), length: suffix.min(size) },
            Err(_) => Range::Whole,
        },
        (Err(_), _) => Range::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_rfc_9110() {
        let part = |first, length| Range::Part { first, length };
        let table = [
            ("bytes=0-0", part(0, 1)),
            ("bytes=10-", part(10, 90)),
            ("bytes=90-1000", part(90, 10)),
            ("bytes=-5", part(95, 5)),
            ("bytes=-500", part(0, 100)),
            ("bytes=100-", Range::Unsatisfiable),
            ("bytes=-0", Range::Unsatisfiable),
            ("bytes=5-2", Range::Whole),
            ("bytes=0-1,5-6", Range::Whole),
            ("lines=0-1", Range::Whole),
        ];
        for (header, expected) in table {
            assert_eq!(parse_range(header, 100), expected, "{header}");
        }
        assert_eq!(parse_range("bytes=0-", 0), Range::Unsatisfiable);
    }
}
