//! `GET /v1/exports/{id}/files/{path}`

use axum::http::HeaderMap;
use axum::response::Response;

use super::ready;
use crate::api::access::Access;
use crate::api::download;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{FileName, Id};
use crate::job::ExportId;

/// Download an export's file
///
/// Supports ranges (one per request) and conditional requests, so that an interrupted download can be resumed; `ETag` and
/// `Repr-Digest` carry the file's sha256.
#[utoipa::path(
    get,
    path = "/v1/exports/{id}/files/{path}",
    tag = "checkpoints",
    params(
        ("id" = String, Path, description = "The export"),
        ("path" = String, Path, description = "The file's name in the manifest"),
        ("Range" = Option<String>, Header, description = "`bytes=first-last`"),
        ("If-None-Match" = Option<String>, Header, description = "An `ETag` that needs no second download"),
        ("If-Range" = Option<String>, Header, description = "Honour `Range` only for this `ETag`"),
    ),
    responses(
        (status = 200, description = "The file", content_type = "application/octet-stream", body = Vec<u8>),
        (status = 206, description = "A part of it", content_type = "application/octet-stream", body = Vec<u8>),
        (status = 304, description = "Not modified"),
        (status = 404, description = "No such file", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The export is not ready", body = ProblemBody, content_type = "application/problem+json"),
        (status = 416, description = "The range lies behind the end", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn download_export_file(
    Access(app): Access,
    Id(id): Id<ExportId>,
    FileName(name): FileName,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let artifact = ready(app.store.export(id).await?)?;
    download::artifact_file(app.store.place(), "export", &artifact, &name, &headers).await
}
