//! Compression of what is read: JSON, CSV and pages, for clients that say that they take it. Not of streams, which must
//! arrive as they are written, and not of files and rows, whose ranges and digests are of the bytes as they are stored.
//!
//! An `ETag` stays the same: it is of the answer before it is compressed, so that whoever read it in any form can send
//! it back.

use axum::extract::Request;
use axum::http::{Extensions, HeaderMap, Method, StatusCode, Version, header};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{And, Predicate, SizeAbove};

/// Shorter answers fit into one packet as they are.
const LEAST_BYTES: u64 = 1400;

/// What is compressed, by its type.
const TYPES: [&str; 8] = [
    "application/json",
    "application/problem+json",
    "text/csv",
    "text/html",
    "text/css",
    "text/javascript",
    "text/markdown",
    "image/svg+xml",
];

type Chosen = fn(StatusCode, Version, &HeaderMap, &Extensions) -> bool;

/// Compresses answers: lightly, because a client waits and others use the same processor.
pub fn layer() -> CompressionLayer<And<SizeAbove, Chosen>> {
    let predicate = SizeAbove::new(LEAST_BYTES).and(is_chosen as Chosen);
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(predicate)
}

/// Leaves the wish for compression to requests that read and name a way that there is: what a request has done must not
/// be answered with 406 because of the form of the answer.
pub async fn only_what_is_read(mut request: Request) -> Request {
    let read = request.method() == Method::GET;
    let wishes = request.headers().get_all(header::ACCEPT_ENCODING).iter();
    let known = wishes.filter_map(|wish| wish.to_str().ok()).any(|wish| wish.contains("gzip") || wish.contains("br"));
    if !(read && known) {
        request.headers_mut().remove(header::ACCEPT_ENCODING);
    }
    request
}

fn is_chosen(_: StatusCode, _: Version, headers: &HeaderMap, _: &Extensions) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    TYPES.contains(&kind) && !headers.contains_key("repr-digest")
}
