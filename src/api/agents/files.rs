//! `GET /v1/agent/workers/{id}/files` and `GET /v1/agent/workers/{id}/file`

use axum::Json;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::counts::Counted;
use super::{location, not_for, worker};
use crate::api::access::Agent;
use crate::api::download::Representation;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, Params};
use crate::job::WorkerId;
use crate::job::agent::{FileList, ListedFile};
use crate::job::digest::sha256_hex;
use crate::store::StoredFile;

/// Which folder is listed.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FolderParams {
    /// A folder that an assignment names, or one of the job.
    #[param(example = "models/mdl_0198f6c2a7d47e0c8f6f0d9f0e6b5a31", max_length = 1024)]
    folder: String,
}

/// Which file is read.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FileParams {
    /// A folder that an assignment names, or one of the job, and a name in it.
    #[param(example = "models/mdl_0198f6c2a7d47e0c8f6f0d9f0e6b5a31/config.json", max_length = 1024)]
    path: String,
}

/// List files that a worker may read
///
/// All files below a folder that a job refers to which the worker holds; none of one that is not there.
#[utoipa::path(
    get,
    path = "/v1/agent/workers/{id}/files",
    tag = "agents",
    params(("id" = String, Path, description = "The worker"), FolderParams),
    responses(
        (status = 200, body = FileList),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No job of the worker refers to it", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The worker is another agent's (`not_your_host`)", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_worker_files(
    Agent(app): Agent,
    Id(id): Id<WorkerId>,
    Params(params): Params<FolderParams>,
) -> Result<Json<FileList>, Problem> {
    let folder = location(&params.folder)?;
    let worker = worker(&app, id).await?;
    if !app.may_read(&worker, &folder).await? {
        return Err(not_for(id, &folder));
    }
    let files = app.store.place().list_below(&folder).await?;
    let files = files.into_iter().map(|(name, size)| ListedFile { name, size }).collect();
    Ok(Json(FileList { files }))
}

/// Read a file that a job refers to
///
/// Supports ranges (one per request), so that parts can be asked for at once and an interrupted download can be resumed.
#[utoipa::path(
    get,
    path = "/v1/agent/workers/{id}/file",
    tag = "agents",
    params(
        ("id" = String, Path, description = "The worker"),
        FileParams,
        ("Range" = Option<String>, Header, description = "`bytes=first-last`"),
        ("If-None-Match" = Option<String>, Header, description = "An `ETag` that needs no second download"),
        ("If-Range" = Option<String>, Header, description = "Honour `Range` only for this `ETag`"),
    ),
    responses(
        (status = 200, description = "The file", content_type = "application/octet-stream", body = Vec<u8>),
        (status = 206, description = "A part of it", content_type = "application/octet-stream", body = Vec<u8>),
        (status = 304, description = "Not modified"),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No job of the worker refers to it", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "The worker is another agent's (`not_your_host`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 416, description = "The range lies behind the end", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn read_worker_file(
    Agent(app): Agent,
    Id(id): Id<WorkerId>,
    Params(FileParams { path }): Params<FileParams>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let what = location(&path)?;
    let worker = worker(&app, id).await?;
    if !app.may_read(&worker, &what).await? {
        return Err(not_for(id, &what));
    }
    let file = StoredFile::from(what.clone());
    let size = match app.store.place().size(&file).await {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(not_for(id, &what)),
        size => size?,
    };
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    let etag = sha256_hex(format!("{size} {path}").as_bytes());
    let content_type = "application/octet-stream";
    let representation = Representation { name, size, etag, content_type, sha256: None };
    let response = representation.serve(app.store.place(), &file, &headers).await?;
    let length = response.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    app.agent_counts.add(Counted::Sent(length.unwrap_or(0)));
    Ok(response)
}
