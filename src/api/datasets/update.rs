//! `PATCH /v1/datasets/{id}`

use axum::Json;

use super::Dataset;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody};
use crate::api::labels::{self, UpdateLabels};
use crate::job::DatasetId;

/// Change a data set's name or metadata
#[utoipa::path(
    patch,
    path = "/v1/datasets/{id}",
    tag = "datasets",
    params(("id" = String, Path, description = "The data set")),
    request_body = UpdateLabels,
    responses(
        (status = 200, body = Dataset),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such data set", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn update_dataset(
    Access(app): Access,
    Id(id): Id<DatasetId>,
    JsonBody(body): JsonBody,
) -> Result<Json<Dataset>, Problem> {
    let labels = labels::parse(&body)?;
    Ok(Json(app.store.label_dataset(id, &labels).await?.into()))
}
