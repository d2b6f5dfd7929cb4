//! `GET /v1/dataset-versions/{id}/content`

use axum::http::HeaderMap;
use axum::response::Response;

use crate::api::access::Access;
use crate::api::download::Representation;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::DatasetVersionId;
use crate::store::Location;

/// Download a version of a data set
///
/// The JSON Lines as they were uploaded. Supports ranges (one per request) and conditional requests, so that an
/// interrupted download can be resumed; `ETag` and `Repr-Digest` carry the file's sha256.
#[utoipa::path(
    get,
    path = "/v1/dataset-versions/{id}/content",
    tag = "datasets",
    params(
        ("id" = String, Path, description = "The version"),
        ("Range" = Option<String>, Header, description = "`bytes=first-last`"),
        ("If-None-Match" = Option<String>, Header, description = "An `ETag` that needs no second download"),
        ("If-Range" = Option<String>, Header, description = "Honour `Range` only for this `ETag`"),
    ),
    responses(
        (status = 200, description = "The rows", content_type = "application/jsonl", body = Vec<u8>),
        (status = 206, description = "A part of them", content_type = "application/jsonl", body = Vec<u8>),
        (status = 304, description = "Not modified"),
        (status = 404, description = "No such version", body = ProblemBody, content_type = "application/problem+json"),
        (status = 416, description = "The range lies behind the end", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn download_dataset_version(
    Access(app): Access,
    Id(id): Id<DatasetVersionId>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let version = app.store.dataset_version(id).await?;
    let file = Location::dataset(id).holding(&version.sha256);
    let what = Representation {
        name: format!("{id}.jsonl"),
        size: version.bytes,
        etag: version.sha256.clone(),
        content_type: "application/jsonl",
        sha256: Some(version.sha256),
    };
    what.serve(app.store.place(), &file, &headers).await
}
