//! `GET /v1/suites/{id}/runs`

use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

use super::SuiteRun;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, List, PageParams, Params};
use crate::job::id::InvalidId;
use crate::job::{JobId, SuiteId};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RunParams {
    /// Only the run that this job asked for with `eval.suite`: none, until it has succeeded.
    #[param(example = "job_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    job: Option<String>,
}

/// List runs of a suite
///
/// With what each of them found on each set: how models compare, and how they have become.
#[utoipa::path(
    get,
    path = "/v1/suites/{id}/runs",
    tag = "evaluations",
    params(("id" = String, Path, description = "The suite, by id or name"), RunParams, PageParams),
    responses(
        (status = 200, body = List<SuiteRun>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such suite", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_suite_runs(
    Access(app): Access,
    Id(id): Id<SuiteId>,
    Params(RunParams { job }): Params<RunParams>,
    Params(page): Params<PageParams>,
) -> Result<Json<List<SuiteRun>>, Problem> {
    let wrong = |error: InvalidId| Problem::bad_request("invalid_parameter", format!("`job`: {error}"));
    let job = job.map(|job| job.parse::<JobId>()).transpose().map_err(wrong)?;
    let suite = app.store.suite(id).await?.id;
    let rows = app.store.suite_runs(suite, job, &page.page()).await?.into_iter().map(SuiteRun::from);
    Ok(Json(List::new(rows, page.limit, |run| run.id.clone())))
}
