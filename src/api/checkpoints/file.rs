//! `GET /v1/checkpoints/{id}/files/{path}`

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use crate::api::access::Access;
use crate::api::download;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::PathText;
use crate::job::CheckpointId;
use crate::job::id::InvalidId;

/// Download a checkpoint's file
///
/// Supports ranges (one per request) and conditional requests, so that an interrupted download can be resumed;
/// `ETag` and `Repr-Digest` carry the file's sha256.
#[utoipa::path(
    get,
    path = "/v1/checkpoints/{id}/files/{path}",
    tag = "checkpoints",
    params(
        ("id" = String, Path, description = "The checkpoint"),
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
        (status = 416, description = "The range lies behind the end", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn download_checkpoint_file(
    Access(app): Access,
    PathText((id, path)): PathText<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let not_found = |detail: String| Problem::new(StatusCode::NOT_FOUND, "not_found", detail);
    let id: CheckpointId = id.parse().map_err(|error: InvalidId| not_found(error.to_string()))?;
    let row = app.store.checkpoint(id).await?;
    // Only names that the manifest lists become paths.
    let file = row.manifest.file(&path);
    let file = file.ok_or_else(|| not_found(format!("the checkpoint has no file `{path}`; see its manifest")))?;
    download::serve(&app.store.files().checkpoint(&row.directory).join(&file.path), file, &headers).await
}
