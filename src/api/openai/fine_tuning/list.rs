//! `GET /v1/fine_tuning/jobs`

use std::collections::BTreeMap;

use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use super::{FineTuningJob, view};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{List, PageParams, Params};
use crate::store::MetadataFilter;

/// As many pairs as a job can have.
const MAX_PAIRS: usize = 16;

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
    Params(Pairs(query)): Params<Pairs>,
) -> Result<Json<List<FineTuningJob>>, Problem> {
    let rows = app.store.training_jobs(&metadata_filter(query)?, &page.page()).await?;
    let mut jobs = Vec::with_capacity(rows.len());
    for row in rows {
        jobs.push(view(&app, row).await?);
    }
    Ok(Json(List::new(jobs, page.limit, |job| job.id.clone())))
}

/// All parameters as they stand, for those whose names hold a key.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Pairs(Vec<(String, String)>);

impl IntoParams for Pairs {
    fn into_params(_place: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        Vec::new()
    }
}

fn metadata_filter(query: Vec<(String, String)>) -> Result<MetadataFilter, Problem> {
    let mut pairs = BTreeMap::new();
    for (name, value) in query {
        if name == "metadata" && value == "null" {
            return Ok(MetadataFilter::None);
        }
        if let Some(key) = name.strip_prefix("metadata[").and_then(|rest| rest.strip_suffix(']')) {
            pairs.insert(key.to_owned(), value);
        }
    }
    if pairs.len() > MAX_PAIRS {
        let detail = format!("`metadata` takes at most {MAX_PAIRS} pairs");
        return Err(Problem::bad_request("invalid_parameter", detail));
    }
    Ok(MetadataFilter::Pairs(pairs))
}
