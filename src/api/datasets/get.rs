//! `GET /v1/datasets/{id}`

use axum::Json;

use super::Dataset;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::Id;
use crate::job::DatasetId;

/// Get a data set
#[utoipa::path(
    get,
    path = "/v1/datasets/{id}",
    tag = "datasets",
    params(("id" = String, Path, description = "The data set")),
    responses(
        (status = 200, body = Dataset),
        (status = 404, description = "No such data set", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn get_dataset(Access(app): Access, Id(id): Id<DatasetId>) -> Result<Json<Dataset>, Problem> {
    Ok(Json(app.store.dataset(id).await?.into()))
}
