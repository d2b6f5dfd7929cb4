//! `GET /v1/checkpoints/{id}/archive`

use axum::http::HeaderMap;
use axum::response::Response;

use crate::api::access::Access;
use crate::api::archive;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::CheckpointId;

/// Download a checkpoint as one archive
///
/// A tar archive with a folder that is named after the checkpoint and holds its manifest and its files. The same
/// checkpoint is always the same bytes; supports ranges (one per request) and conditional requests, so that an
/// interrupted download can be resumed.
#[utoipa::path(
    get,
    path = "/v1/checkpoints/{id}/archive",
    tag = "checkpoints",
    params(
        ("id" = String, Path, description = "The checkpoint"),
        ("Range" = Option<String>, Header, description = "`bytes=first-last`"),
        ("If-None-Match" = Option<String>, Header, description = "An `ETag` that needs no second download"),
        ("If-Range" = Option<String>, Header, description = "Honour `Range` only for this `ETag`"),
    ),
    responses(
        (status = 200, description = "The archive", content_type = "application/x-tar", body = Vec<u8>),
        (status = 206, description = "A part of it", content_type = "application/x-tar", body = Vec<u8>),
        (status = 304, description = "Not modified"),
        (status = 404, description = "No such checkpoint", body = ProblemBody, content_type = "application/problem+json"),
        (status = 416, description = "The range lies behind the end", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn download_checkpoint_archive(
    Access(app): Access,
    Id(id): Id<CheckpointId>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let row = app.store.checkpoint(id).await?;
    archive::serve(&app.store, &id.to_string(), &row.artifact, &headers).await
}
