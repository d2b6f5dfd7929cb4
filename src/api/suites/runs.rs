//! `GET /v1/suites/{id}/runs`

use axum::Json;

use super::SuiteRun;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, List, PageParams, Params};
use crate::job::SuiteId;

/// List runs of a suite
///
/// With what each of them found on each set: how models compare, and how they have become.
#[utoipa::path(
    get,
    path = "/v1/suites/{id}/runs",
    tag = "evaluations",
    params(("id" = String, Path, description = "The suite, by id or name"), PageParams),
    responses(
        (status = 200, body = List<SuiteRun>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such suite", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_suite_runs(
    Access(app): Access,
    Id(id): Id<SuiteId>,
    Params(page): Params<PageParams>,
) -> Result<Json<List<SuiteRun>>, Problem> {
    let suite = app.store.suite(id).await?.id;
    let rows = app.store.suite_runs(suite, &page.page()).await?.into_iter().map(SuiteRun::from);
    Ok(Json(List::new(rows, page.limit, |run| run.id.clone())))
}
