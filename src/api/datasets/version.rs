//! `GET /v1/dataset-versions/{id}`

use axum::Json;

use super::DatasetVersion;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::DatasetVersionId;

/// Get a version of a data set
#[utoipa::path(
    get,
    path = "/v1/dataset-versions/{id}",
    tag = "datasets",
    params(("id" = String, Path, description = "The version")),
    responses(
        (status = 200, body = DatasetVersion),
        (status = 404, description = "No such version", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_dataset_version(
    Access(app): Access,
    Id(id): Id<DatasetVersionId>,
) -> Result<Json<DatasetVersion>, Problem> {
    Ok(Json(app.store.dataset_version(id).await?.into()))
}
