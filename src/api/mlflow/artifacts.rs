//! What a run has made: the files of its model.

use std::convert::Infallible;

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::run_id;
use crate::api::App;
use crate::api::access::Access;
use crate::api::download;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{FileName, Id, Params};
use crate::job::{CheckpointId, JobId};
use crate::store::CheckpointRow;

/// The address under which the client has reached the server.
pub struct Base(pub String);

impl FromRequestParts<App> for Base {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Infallible> {
        let text = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        // It was looked at before: it is one of our names.
        let host = text(header::HOST.as_str()).or_else(|| parts.uri.authority().map(|authority| authority.as_str()));
        let scheme = if text("x-forwarded-proto") == Some("https") { "https" } else { "http" };
        Ok(Self(format!("{scheme}://{}", host.unwrap_or("localhost"))))
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MlflowArtifactParams {
    /// The run.
    #[param(example = "job_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    path: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct MlflowArtifacts {
    files: Vec<MlflowFile>,
}

#[derive(Debug, Serialize, ToSchema)]
struct MlflowFile {
    path: String,
    is_dir: bool,
    /// Bytes.
    file_size: u64,
}

/// List a run's files, as MLflow does
///
/// Those of the checkpoint that is the job's result; none of a job that has none.
#[utoipa::path(
    get,
    path = "/api/2.0/mlflow-artifacts/artifacts",
    tag = "mlflow",
    params(MlflowArtifactParams),
    responses(
        (status = 200, body = MlflowArtifacts),
        (status = 400, description = "A parameter is missing", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_mlflow_artifacts(
    Access(app): Access,
    Params(params): Params<MlflowArtifactParams>,
) -> Result<Json<MlflowArtifacts>, Problem> {
    // Of a file there is nothing behind it.
    let (run, below) = params.path.trim_matches('/').split_once('/').unwrap_or((params.path.trim_matches('/'), ""));
    let found = model(&app, run_id(run)?).await?.filter(|_| below.is_empty());
    let manifest = found.iter().flat_map(|row| &row.artifact.manifest.files);
    let files = manifest.map(|file| MlflowFile { path: file.path.clone(), is_dir: false, file_size: file.size });
    Ok(Json(MlflowArtifacts { files: files.collect() }))
}

/// Download a run's file, as MLflow does
#[utoipa::path(
    get,
    path = "/api/2.0/mlflow-artifacts/artifacts/{id}/{path}",
    tag = "mlflow",
    params(
        ("id" = String, Path, description = "The job"),
        ("path" = String, Path, description = "The file's name"),
        ("Range" = Option<String>, Header, description = "`bytes=first-last`"),
    ),
    responses(
        (status = 200, description = "The file", content_type = "application/octet-stream", body = Vec<u8>),
        (status = 206, description = "A part of it", content_type = "application/octet-stream", body = Vec<u8>),
        (status = 304, description = "Not modified"),
        (status = 404, description = "No such file", body = ProblemBody, content_type = "application/problem+json"),
        (status = 416, description = "The range lies behind the end", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn download_mlflow_artifact(
    Access(app): Access,
    Id(id): Id<JobId>,
    FileName(name): FileName,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Some(row) = model(&app, id).await? else {
        return Err(Problem::not_found("the job has no model yet"));
    };
    download::artifact_file(app.store.place(), "checkpoint", &row.artifact, &name, &headers).await
}

/// The checkpoint that is a job's result.
async fn model(app: &App, id: JobId) -> Result<Option<CheckpointRow>, Problem> {
    let result = app.store.job(id).await?.result;
    let checkpoint = result.as_ref().and_then(|result| result["checkpoint"].as_str());
    let Some(checkpoint) = checkpoint.and_then(|id| id.parse::<CheckpointId>().ok()) else { return Ok(None) };
    Ok(Some(app.store.checkpoint(checkpoint).await?))
}
