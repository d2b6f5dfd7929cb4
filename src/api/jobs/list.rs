//! `GET /v1/jobs`

use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

use super::Job;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{List, PageParams, Params};
use crate::store::JobFilter;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListJobs {
    /// Only jobs with this status.
    status: Option<String>,
}

/// List jobs
#[utoipa::path(
    get,
    path = "/v1/jobs",
    tag = "jobs",
    params(PageParams, ListJobs),
    responses(
        (status = 200, body = List<Job>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_jobs(
    Access(app): Access,
    Params(page): Params<PageParams>,
    Params(filter): Params<ListJobs>,
) -> Result<Json<List<Job>>, Problem> {
    let status = filter.status.map(|status| status.parse()).transpose();
    let status = status.map_err(|error| Problem::bad_request("invalid_parameter", format!("`status`: {error}")))?;
    let rows = app.store.jobs(&JobFilter { status }, &page.page()?).await?;
    Ok(Json(List::new(rows.into_iter().map(Job::from), page.limit, |job| job.id.clone())))
}
