//! `GET /v1/fine_tuning/jobs`

use axum::Json;

use super::{FineTuningJob, view};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{List, MetadataParams, PageParams, Params};
use crate::job::JobKind;
use crate::store::JobFilter;

/// List fine-tuning jobs
///
/// Every job that trains, however it was submitted.
#[utoipa::path(
    get,
    path = "/v1/fine_tuning/jobs",
    tag = "fine-tuning",
    params(
        PageParams,
        ("metadata[key]" = Option<String>, Query, description = "Only jobs with this pair; may be repeated with other keys. `metadata=null` finds jobs without any"),
    ),
    responses(
        (status = 200, body = List<FineTuningJob>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_fine_tuning_jobs(
    Access(app): Access,
    Params(page): Params<PageParams>,
    MetadataParams(metadata): MetadataParams,
) -> Result<Json<List<FineTuningJob>>, Problem> {
    let filter = JobFilter { kind: Some(JobKind::Train), metadata, ..JobFilter::default() };
    let rows = app.store.jobs(&filter, &page.page()).await?;
    let mut jobs = Vec::with_capacity(rows.len());
    for row in rows {
        jobs.push(view(&app, row).await?);
    }
    Ok(Json(List::new(jobs, page.limit, |job| job.id.clone())))
}
