//! `GET /v1/datasets/{id}/versions`

use axum::Json;

use super::DatasetVersion;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, List, PageParams, Params};
use crate::job::DatasetId;

/// List the versions of a data set
#[utoipa::path(
    get,
    path = "/v1/datasets/{id}/versions",
    tag = "datasets",
    params(("id" = String, Path, description = "The data set"), PageParams),
    responses(
        (status = 200, body = List<DatasetVersion>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such data set", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_dataset_versions(
    Access(app): Access,
    Id(id): Id<DatasetId>,
    Params(page): Params<PageParams>,
) -> Result<Json<List<DatasetVersion>>, Problem> {
    app.store.dataset(id).await?;
    let rows = app.store.dataset_versions(id, &page.page()).await?;
    Ok(Json(List::new(rows.into_iter().map(DatasetVersion::from), page.limit, |v| v.id.clone())))
}
