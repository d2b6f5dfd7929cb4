//! `GET /v1/sweeps`

use axum::Json;

use super::Sweep;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{List, PageParams, Params};

/// List sweeps
#[utoipa::path(
    get,
    path = "/v1/sweeps",
    tag = "sweeps",
    params(PageParams),
    responses(
        (status = 200, body = List<Sweep>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_sweeps(Access(app): Access, Params(page): Params<PageParams>) -> Result<Json<List<Sweep>>, Problem> {
    let rows = app.store.sweeps(&page.page()).await?.into_iter().map(|row| Sweep::of(row, None));
    Ok(Json(List::new(rows, page.limit, |sweep| sweep.id.clone())))
}
