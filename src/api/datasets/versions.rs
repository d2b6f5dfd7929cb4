//! `POST /v1/datasets/{id}/versions`

use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;

use super::DatasetVersion;
use super::given::Given;
use super::preview::DatasetPreview;
use super::splits;
use super::upload::{DatasetDryRun, IntakeParams};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, Params, StreamedBody};
use crate::job::DatasetId;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CreateVersion {
    /// A data set of the hub, whose rows they are; there is no body then.
    #[param(max_length = 700, example = "hf:datasets/openai/gsm8k:main/train")]
    source: Option<String>,
}

/// Upload a new version of a data set
///
/// Jobs that named the data set keep the version they were submitted with; later ones get this one. Forms, layouts and maps are
/// those of a new data set.
#[utoipa::path(
    post,
    path = "/v1/datasets/{id}/versions",
    tag = "datasets",
    params(("id" = String, Path, description = "The data set"), CreateVersion, IntakeParams),
    request_body(content = Option<String>, description = "The file; none with `source`", content_type = "application/jsonl"),
    responses(
        (status = 200, description = "What `dry_run` shows", body = DatasetPreview),
        (status = 201, body = DatasetVersion),
        (status = 400, description = "A parameter is unknown, or the upload was cut off", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such data set, or no such repository of the hub", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A row is broken, or there is none", body = ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "The hub asks for fewer requests, or the project stores as much as it may", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "The hub cannot be reached", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_dataset_version(
    Access(app): Access,
    Id(id): Id<DatasetId>,
    Params(CreateVersion { source }): Params<CreateVersion>,
    Params(how): Params<IntakeParams>,
    headers: HeaderMap,
    body: StreamedBody,
) -> Result<Response, Problem> {
    let latest = app.store.dataset(id).await?.latest;
    let intake = how.intake(&app)?;
    let rule = match splits::asked(how.split.as_deref())? {
        Some(rule) => Some(rule),
        None => splits::kept(&latest)?,
    };
    let given = Given::of(&app, (None, source), &how, &headers, body).await?;
    if how.dry_run == Some(DatasetDryRun::Preview) {
        return given.preview(&app, intake).await;
    }
    let (mut version, _room) = given.version(&app, id, intake).await?;
    splits::split(&app, &mut version, rule).await?;
    app.store.add_dataset_version(&version).await?;
    Ok((StatusCode::CREATED, Json(DatasetVersion::from(app.store.dataset_version(version.id).await?))).into_response())
}
