//! `GET /v1/evaluations`

use axum::Json;

use super::Evaluation;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{List, PageParams, Params};

/// List evaluations
#[utoipa::path(
    get,
    path = "/v1/evaluations",
    tag = "evaluations",
    params(PageParams),
    responses(
        (status = 200, body = List<Evaluation>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_evaluations(
    Access(app): Access,
    Params(page): Params<PageParams>,
) -> Result<Json<List<Evaluation>>, Problem> {
    let rows = app.store.evaluations(&page.page()).await?;
    Ok(Json(List::new(rows.into_iter().map(Evaluation::from), page.limit, |e| e.id.clone())))
}
