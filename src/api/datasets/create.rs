//! `POST /v1/datasets`

use std::collections::BTreeMap;

use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;

use super::Dataset;
use super::given::Given;
use super::preview::DatasetPreview;
use super::splits;
use super::upload::{DatasetDryRun, IntakeParams};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Params, StreamedBody};
use crate::job::DatasetId;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CreateDataset {
    /// A name for people.
    #[param(max_length = 200)]
    name: Option<String>,
    /// A file that was uploaded before, whose rows they are; there is no body then.
    #[param(max_length = 80, example = "file-0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    file: Option<String>,
    /// A data set of the hub, whose rows they are; there is no body then.
    #[param(max_length = 700, example = "hf:datasets/openai/gsm8k:main/train")]
    source: Option<String>,
}

/// Upload a data set
///
/// The body is JSON Lines, a JSON array, CSV, TSV or Parquet, also packed with gzip or zstd. It is checked on the way to the
/// disk and stored as JSON Lines; an error names the row, and nothing is kept of a file with a broken one. A large file is
/// better sent in parts (`/v1/uploads`), which can be sent again one by one, and named here when it is complete; it can be
/// deleted then. With `source`, the server brings the rows from the hub, and answers when it has them. With
/// `dry_run=preview` nothing is stored.
#[utoipa::path(
    post,
    path = "/v1/datasets",
    tag = "datasets",
    params(CreateDataset, IntakeParams),
    request_body(content = Option<String>, description = "The file; none with `file` or `source`", content_type = "application/jsonl"),
    responses(
        (status = 200, description = "What `dry_run` shows", body = DatasetPreview),
        (status = 201, body = Dataset),
        (status = 400, description = "A parameter is unknown, or the upload was cut off", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such file, or no such repository of the hub", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A row is broken, or there is none", body = ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "The hub asks for fewer requests, or the project stores as much as it may", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "The hub cannot be reached", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_dataset(
    Access(app): Access,
    Params(CreateDataset { name, file, source }): Params<CreateDataset>,
    Params(how): Params<IntakeParams>,
    headers: HeaderMap,
    body: StreamedBody,
) -> Result<Response, Problem> {
    let (intake, rule) = (how.intake(&app)?, splits::asked(how.split.as_deref())?);
    let given = Given::of(&app, (file, source), &how, &headers, body).await?;
    if how.dry_run == Some(DatasetDryRun::Preview) {
        return given.preview(&app, intake).await;
    }
    let id = DatasetId::generate();
    let (mut version, _room) = given.version(&app, id, intake).await?;
    splits::split(&app, &mut version, rule).await?;
    app.store.add_dataset(name.as_deref(), &BTreeMap::new(), &version).await?;
    Ok((StatusCode::CREATED, Json(Dataset::from(app.store.dataset(id).await?))).into_response())
}
