//! `GET /v1/exports/{id}/archive`

use axum::http::HeaderMap;
use axum::response::Response;

use super::ready;
use crate::api::access::Access;
use crate::api::archive;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::ExportId;

/// Download a export as one archive
///
/// A tar archive with a folder that is named after the set and holds its manifest and its files. The same set is always
/// the same bytes; supports ranges (one per request) and conditional requests.
#[utoipa::path(
    get,
    path = "/v1/exports/{id}/archive",
    tag = "checkpoints",
    params(
        ("id" = String, Path, description = "The export"),
        ("Range" = Option<String>, Header, description = "`bytes=first-last`"),
        ("If-None-Match" = Option<String>, Header, description = "An `ETag` that needs no second download"),
        ("If-Range" = Option<String>, Header, description = "Honour `Range` only for this `ETag`"),
    ),
    responses(
        (status = 200, description = "The archive", content_type = "application/x-tar", body = Vec<u8>),
        (status = 206, description = "A part of it", content_type = "application/x-tar", body = Vec<u8>),
        (status = 304, description = "Not modified"),
        (status = 404, description = "No such export", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The export is not ready", body = ProblemBody, content_type = "application/problem+json"),
        (status = 416, description = "The range lies behind the end", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn download_export_archive(
    Access(app): Access,
    Id(id): Id<ExportId>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let artifact = ready(app.store.export(id).await?)?;
    archive::serve(&app.store, &id.to_string(), &artifact, &headers).await
}
