//! `GET /v1/datasets`

use axum::Json;

use super::Dataset;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{List, PageParams, Params};

/// List data sets
#[utoipa::path(
    get,
    path = "/v1/datasets",
    tag = "datasets",
    params(PageParams),
    responses(
        (status = 200, body = List<Dataset>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_datasets(
    Access(app): Access,
    Params(page): Params<PageParams>,
) -> Result<Json<List<Dataset>>, Problem> {
    let rows = app.store.datasets(&page.page()).await?;
    Ok(Json(List::new(rows.into_iter().map(Dataset::from), page.limit, |d| d.id.clone())))
}
