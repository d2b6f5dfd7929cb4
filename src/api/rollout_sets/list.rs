//! `GET /v1/rollout-sets`

use axum::Json;

use super::RolloutSet;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{List, PageParams, Params};

/// List rollout sets
#[utoipa::path(
    get,
    path = "/v1/rollout-sets",
    tag = "rollouts",
    params(PageParams),
    responses(
        (status = 200, body = List<RolloutSet>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_rollout_sets(
    Access(app): Access,
    Params(page): Params<PageParams>,
) -> Result<Json<List<RolloutSet>>, Problem> {
    let rows = app.store.rollout_sets(&page.page()).await?;
    Ok(Json(List::new(rows.into_iter().map(RolloutSet::from), page.limit, |set| set.id.clone())))
}
