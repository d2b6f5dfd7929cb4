//! `GET /v1/jobs`

use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::{Job, with_waiting};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::etag::Tagged;
use crate::api::extract::{List, PageParams, Params};
use crate::store::JobFilter;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListJobs {
    /// Only jobs with this status.
    status: Option<String>,
}

/// List jobs
///
/// The `ETag` is of this page.
#[utoipa::path(
    get,
    path = "/v1/jobs",
    tag = "jobs",
    params(
        PageParams,
        ListJobs,
        ("If-None-Match" = Option<String>, Header, description = "An `ETag` that needs no second answer"),
    ),
    responses(
        (status = 200, body = List<Job>, headers(("ETag" = String, description = "For `If-None-Match`"))),
        (status = 304, description = "As it was under that `ETag`"),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_jobs(
    Access(app): Access,
    Params(page): Params<PageParams>,
    Params(filter): Params<ListJobs>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let status = filter.status.map(|status| status.parse()).transpose();
    let status = status.map_err(|error| Problem::bad_request("invalid_parameter", format!("`status`: {error}")))?;
    let (filter, place) = (JobFilter { status }, page.page());
    let answer = app.answers.get(&app.store, uri.to_string(), async || {
        let jobs = with_waiting(&app.store, app.store.jobs(&filter, &place).await?).await?;
        Tagged::new(&List::new(jobs, page.limit, |job| job.id.clone()))
    });
    Ok(answer.await?.respond(&headers))
}
