//! `POST /v1/datasets/{id}/versions`

use axum::Json;
use axum::http::StatusCode;

use super::DatasetVersion;
use super::upload::{ColumnParams, receive};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, Params, StreamedBody};
use crate::job::DatasetId;

/// Upload a new version of a data set
///
/// Jobs that named the data set keep the version they were submitted with; later ones get this one.
#[utoipa::path(
    post,
    path = "/v1/datasets/{id}/versions",
    tag = "datasets",
    params(("id" = String, Path, description = "The data set"), ColumnParams),
    request_body(content = String, description = "JSON Lines", content_type = "application/jsonl"),
    responses(
        (status = 201, body = DatasetVersion),
        (status = 400, description = "The upload was cut off", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such data set", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A row is broken, or there is none", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_dataset_version(
    Access(app): Access,
    Id(id): Id<DatasetId>,
    Params(columns): Params<ColumnParams>,
    body: StreamedBody,
) -> Result<(StatusCode, Json<DatasetVersion>), Problem> {
    app.store.dataset(id).await?;
    let (version, _room) = receive(&app, id, columns, body).await?;
    app.store.add_dataset_version(&version).await?;
    Ok((StatusCode::CREATED, Json(app.store.dataset_version(version.id).await?.into())))
}
