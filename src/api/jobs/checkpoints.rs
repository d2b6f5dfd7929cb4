//! `GET /v1/jobs/{id}/checkpoints`

use axum::Json;

use crate::api::access::Access;
use crate::api::checkpoints::Checkpoint;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, List, PageParams, Params};
use crate::job::JobId;

/// List a job's checkpoints
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}/checkpoints",
    tag = "jobs",
    params(("id" = String, Path, description = "The job"), PageParams),
    responses(
        (status = 200, body = List<Checkpoint>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn job_checkpoints(
    Access(app): Access,
    Id(id): Id<JobId>,
    Params(page): Params<PageParams>,
) -> Result<Json<List<Checkpoint>>, Problem> {
    app.store.job(id).await?;
    let rows = app.store.checkpoints(Some(id), &page.page()).await?;
    Ok(Json(List::new(rows.into_iter().map(Checkpoint::from), page.limit, |c| c.id.clone())))
}
