//! `GET /v1/files/{id}/content`

use axum::http::HeaderMap;
use axum::response::Response;

use crate::api::access::Access;
use crate::api::download;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::{FileId, ManifestFile};
use crate::store::Location;

/// Download a file
///
/// Supports ranges (one per request) and conditional requests; `ETag` and `Repr-Digest` carry the file's sha256.
#[utoipa::path(
    get,
    path = "/v1/files/{id}/content",
    tag = "files",
    params(
        ("id" = String, Path, description = "The file"),
        ("Range" = Option<String>, Header, description = "`bytes=first-last`"),
        ("If-None-Match" = Option<String>, Header, description = "An `ETag` that needs no second download"),
        ("If-Range" = Option<String>, Header, description = "Honour `Range` only for this `ETag`"),
    ),
    responses(
        (status = 200, description = "The file", content_type = "application/octet-stream", body = Vec<u8>),
        (status = 206, description = "A part of it", content_type = "application/octet-stream", body = Vec<u8>),
        (status = 304, description = "Not modified"),
        (status = 404, description = "No such file", body = ProblemBody, content_type = "application/problem+json"),
        (status = 416, description = "The range lies behind the end", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn download_file(Access(app): Access, Id(id): Id<FileId>, headers: HeaderMap) -> Result<Response, Problem> {
    let row = app.store.file(id).await?;
    // Headers hold ASCII; who needs the name as it was reads the file's description.
    let path = row.filename.chars().map(|c| if c.is_ascii() { c } else { '_' }).collect();
    let file = ManifestFile { path, size: row.bytes, sha256: row.sha256 };
    download::serve(app.store.place(), Location::file(id), &file, &headers).await
}
