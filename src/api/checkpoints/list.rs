//! `GET /v1/checkpoints`

use axum::Json;

use super::Checkpoint;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{List, PageParams, Params};

/// List checkpoints of all jobs
#[utoipa::path(
    get,
    path = "/v1/checkpoints",
    tag = "checkpoints",
    params(PageParams),
    responses(
        (status = 200, body = List<Checkpoint>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_checkpoints(
    Access(app): Access,
    Params(page): Params<PageParams>,
) -> Result<Json<List<Checkpoint>>, Problem> {
    let rows = app.store.checkpoints(None, &page.page()).await?;
    Ok(Json(List::new(rows.into_iter().map(Checkpoint::from), page.limit, |c| c.id.clone())))
}
