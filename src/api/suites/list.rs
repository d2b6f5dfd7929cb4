//! `GET /v1/suites`

use axum::Json;

use super::Suite;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{List, PageParams, Params};

/// List suites
#[utoipa::path(
    get,
    path = "/v1/suites",
    tag = "evaluations",
    params(PageParams),
    responses(
        (status = 200, body = List<Suite>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_suites(Access(app): Access, Params(page): Params<PageParams>) -> Result<Json<List<Suite>>, Problem> {
    let rows = app.store.suites(&page.page()).await?.into_iter().map(Suite::from);
    Ok(Json(List::new(rows, page.limit, |suite| suite.id.clone())))
}
