//! One stored file as a client downloads it: whole or in parts, with its digest.

use std::path::Path;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt, SeekFrom};
use tokio_util::io::ReaderStream;

use super::error::Problem;
use crate::job::ManifestFile;

const CHUNK: usize = 1 << 18;

/// Answers with the file at `location`, which a manifest lists as `file`. Serves one range per request and honours
/// `If-None-Match` and `If-Range`; `ETag` and `Repr-Digest` carry the file's sha256.
pub async fn serve(location: &Path, file: &ManifestFile, headers: &HeaderMap) -> Result<Response, Problem> {
    let etag = format!("\"{}\"", file.sha256);
    if text(headers, header::IF_NONE_MATCH).is_some_and(|tags| tags == "*" || tags.contains(&etag)) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, etag)]).into_response());
    }
    let fresh = text(headers, header::IF_RANGE).is_none_or(|tag| tag == etag);
    let range = match text(headers, header::RANGE).filter(|_| fresh) {
        Some(range) => parse_range(range, file.size),
        None => Range::Whole,
    };
    match range {
        Range::Whole => respond(location, file, &etag, 0, file.size, StatusCode::OK).await,
        Range::Part { first, length } => {
            respond(location, file, &etag, first, length, StatusCode::PARTIAL_CONTENT).await
        }
        Range::Unsatisfiable => {
            let detail = format!("the range lies behind the end of the file, which has {} bytes", file.size);
            let mut response =
                Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "range_not_satisfiable", detail).into_response();
            response.headers_mut().insert(header::CONTENT_RANGE, header_value(&format!("bytes */{}", file.size)));
            Ok(response)
        }
    }
}

async fn respond(
    location: &Path,
    file: &ManifestFile,
    etag: &str,
    first: u64,
    length: u64,
    status: StatusCode,
) -> Result<Response, Problem> {
    let mut reader = File::open(location).await?;
    reader.seek(SeekFrom::Start(first)).await?;
    let body = Body::from_stream(ReaderStream::with_capacity(reader.take(length), CHUNK));
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    let name = file.path.replace(['"', '\\'], "_");
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    headers.insert(header::ETAG, header_value(etag));
    headers.insert(header::CONTENT_DISPOSITION, header_value(&format!("attachment; filename=\"{name}\"")));
    headers.insert("repr-digest", header_value(&format!("sha-256=:{}:", base64_of_hex(&file.sha256))));
    if status == StatusCode::PARTIAL_CONTENT {
        let range = format!("bytes {first}-{}/{}", first + length - 1, file.size);
        headers.insert(header::CONTENT_RANGE, header_value(&range));
    }
    Ok(response)
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
