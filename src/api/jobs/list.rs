//! `GET /v1/jobs`

use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::{Job, as_read};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::etag::Tagged;
use crate::api::extract::{List, MetadataParams, PageParams, Params, word};
use crate::job::Timestamp;
use crate::objective;
use crate::store::{JobFilter, MetadataFilter};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListJobs {
    /// Only jobs with this status.
    status: Option<String>,
    /// Only jobs of this kind.
    kind: Option<String>,
    /// Only jobs with an objective of this type.
    #[param(example = "bolt")]
    objective: Option<String>,
    /// Only jobs that start from this model or checkpoint, or measure it.
    #[param(max_length = 200, example = "builtin:arith-tiny")]
    model: Option<String>,
    /// Only forks of this job.
    #[param(max_length = 80)]
    forked_from: Option<String>,
    /// Only jobs with this text in their names, in upper or lower case, or at the begin of their ids.
    #[param(max_length = 200)]
    q: Option<String>,
    /// Only jobs that were made in this second or later; Unix seconds.
    #[param(minimum = 0, maximum = 253402300799_i64)]
    created_after: Option<i64>,
    /// Only jobs that were made before this second; Unix seconds.
    #[param(minimum = 0, maximum = 253402300799_i64)]
    created_before: Option<i64>,
}

impl ListJobs {
    fn filter(self, metadata: MetadataFilter) -> Result<JobFilter, Problem> {
        let objective = self.objective.filter(|name| !name.is_empty());
        if let Some(name) = objective.as_ref().filter(|name| !objective::KNOWN.contains(&name.as_str())) {
            let detail = format!("`objective`: `{name}` is none of {}", objective::KNOWN.join(", "));
            return Err(Problem::bad_request("invalid_parameter", detail));
        }
        Ok(JobFilter {
            status: word("status", self.status)?,
            kind: word("kind", self.kind)?,
            objective,
            model: self.model,
            forked_from: self.forked_from,
            text: self.q.filter(|text| !text.is_empty()),
            created_after: self.created_after.map(Timestamp::of_unix_seconds),
            created_before: self.created_before.map(Timestamp::of_unix_seconds),
            metadata,
        })
    }
}

/// List jobs
///
/// Jobs that meet all that is asked for. A job in a list comes without `result.report`, which may be long. The `ETag` is
/// of this page.
#[utoipa::path(
    get,
    path = "/v1/jobs",
    tag = "jobs",
    params(
        PageParams,
        ListJobs,
        ("metadata[key]" = Option<String>, Query, description = "Only jobs with this pair; may be repeated with other keys. `metadata=null` finds jobs without any"),
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
    Params(asked): Params<ListJobs>,
    MetadataParams(metadata): MetadataParams,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (filter, place) = (asked.filter(metadata)?, page.page());
    let answer = app.answers.get(&app.store, uri.to_string(), async || {
        let jobs = as_read(&app.store, app.store.jobs(&filter, &place).await?).await?;
        Tagged::new(&List::new(jobs.into_iter().map(Job::in_short), page.limit, |job| job.id.clone()))
    });
    Ok(answer.await?.respond(&headers))
}
