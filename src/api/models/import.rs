//! `POST /v1/models`

use std::collections::BTreeMap;
use std::path::PathBuf;

use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

use super::Model;
use crate::api::App;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, read};
use crate::api::imports::{self, allowed};
use crate::hub::HubRef;
use crate::import::{Source, Uploaded};
use crate::job::{FieldError, FileId, ModelStatus};
use crate::store::{Location, ModelRow};

/// Files of one model.
const MOST_FILES: usize = 1100;

/// A model to import: one of `path`, `source` and `files`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportModel {
    /// A Hugging Face directory, or a GGUF file, on the server's disk below one of its import roots.
    #[schema(value_type = Option<String>)]
    path: Option<PathBuf>,
    /// A model of the hub: `hf:owner/name`, `hf:owner/name@revision`, or `hf:owner/name/file.gguf`.
    #[schema(max_length = 700, example = "hf:Qwen/Qwen3-0.6B")]
    source: Option<String>,
    /// Files that were uploaded (`POST /v1/uploads`, `POST /v1/files`), by their names in the model's directory.
    #[schema(example = json!({"config.json": "file_0198f6c2a7d47e0c8f6f0d9f0e6b5a31"}))]
    files: Option<BTreeMap<String, String>>,
    /// A name for people.
    name: Option<String>,
}

/// Import a model
///
/// From the server's own disk (below a folder that the operator allows), from the hub, or from uploaded files; safetensors
/// and GGUF only. What the headers of its files tell is checked before the answer; then its weights come by themselves:
/// `status` says whether they have, `bytes_done` how far they are, and `failure` why they could not be had. Jobs can name
/// the model at once, and wait for it. A model of the hub that is here already, at the same commit, is not brought again.
#[utoipa::path(
    post,
    path = "/v1/models",
    tag = "models",
    request_body = ImportModel,
    responses(
        (status = 201, body = Model),
        (status = 400, description = "Not JSON", body = ProblemBody, content_type = "application/problem+json"),
        (status = 403, description = "The path is not below an import root", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The model is incomplete or of an unsupported kind, or the hub does not give it", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "The hub cannot be reached, or asks for fewer requests", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn import_model(Access(app): Access, JsonBody(body): JsonBody) -> Result<(StatusCode, Json<Model>), Problem> {
    let request: ImportModel = read(&body)?;
    Ok((StatusCode::CREATED, Json(import(&app, request).await?.into())))
}

async fn import(app: &App, request: ImportModel) -> Result<ModelRow, Problem> {
    let sources = &app.settings.sources;
    let source = match request {
        ImportModel { path: Some(path), source: None, files: None, .. } => {
            Source::Disk { path: allowed(&path, &sources.roots)?, roots: Some(sources.roots.clone()) }
        }
        ImportModel { path: None, source: Some(source), files: None, .. } => {
            let wrong =
                |error: crate::hub::InvalidHubRef| FieldError::new("/source", "invalid_value", error.to_string());
            let reference: HubRef = source.parse().map_err(|error| Problem::invalid(vec![wrong(error)]))?;
            return imports::bring(&app.store, &sources.hub, &reference, request.name.as_deref(), "/source").await;
        }
        ImportModel { path: None, source: None, files: Some(files), .. } => {
            Source::Uploads(uploaded(app, files).await?)
        }
        ImportModel { .. } => {
            let detail = "give one of `path`, `source` and `files`";
            return Err(Problem::invalid(vec![FieldError::new("", "invalid_value", detail)]));
        }
    };
    imports::begin(&app.store, &sources.hub, source, request.name, ModelStatus::Importing).await
}

/// The files that a request names, on this machine.
async fn uploaded(app: &App, files: BTreeMap<String, String>) -> Result<Vec<Uploaded>, Problem> {
    if files.len() > MOST_FILES {
        let detail = format!("a model has at most {MOST_FILES} files");
        return Err(Problem::invalid(vec![FieldError::new("/files", "out_of_range", detail)]));
    }
    let mut found = Vec::new();
    for (name, id) in files {
        let pointer = format!("/files/{}", name.replace('~', "~0").replace('/', "~1"));
        let missing = || FieldError::new(pointer.clone(), "not_found", format!("no file `{id}`"));
        let id: FileId = id.parse().map_err(|_| Problem::invalid(vec![missing()]))?;
        let row = app.store.file(id).await.map_err(|error| match error {
            crate::store::StoreError::NotFound { .. } => Problem::invalid(vec![missing()]),
            other => other.into(),
        })?;
        let path = app.store.place().fetch(&Location::file(id)).await?;
        found.push(Uploaded { name, path, sha256: row.sha256 });
    }
    Ok(found)
}
