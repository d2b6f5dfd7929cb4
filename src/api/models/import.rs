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
use crate::api::blocking::blocking;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, read};
use crate::api::imports::{self, Finder, Pull, Sources, allowed};
use crate::api::resolve::{self, Model as Found};
use crate::hub::{self, HubRef};
use crate::import::{self, ImportError, Source, Uploaded};
use crate::job::field::escaped;
use crate::job::{FieldError, FileId, ModelStatus};
use crate::spec::ModelRef;
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
    /// Of an adapter in the layout of peft (`adapter_config.json`, `adapter_model.safetensors`): the model that it was trained
    /// beside, as jobs name it, which must be here. What its configuration names on the hub by default.
    #[schema(example = "hf:HuggingFaceTB/SmolLM2-135M-Instruct")]
    base: Option<String>,
    /// A name for people.
    name: Option<String>,
}

/// Import a model
///
/// From the server's own disk (below a folder that the operator allows), from the hub, or from uploaded files; safetensors
/// and GGUF only. What the headers of its files tell is checked before the answer; then its weights come by themselves:
/// `status` says whether they have, `bytes_done` how far they are, and `failure` why they could not be had. Jobs can name
/// the model at once, and wait for it. A model of the hub that is here already, at the same commit, is not brought again.
/// An adapter becomes a model as well: `base` with the adapter.
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
    let finder = app.finder(Pull::Begin);
    let sources = finder.sources;
    let ImportModel { path, source, files, base, name } = request;
    let wanted = match (path, source, files) {
        (Some(path), None, None) => {
            Wanted::Here(Source::Disk { path: allowed(&path, &sources.roots)?, roots: Some(sources.roots.clone()) })
        }
        (None, Some(source), None) => {
            let wrong =
                |error: crate::hub::InvalidHubRef| FieldError::new("/source", "invalid_value", error.to_string());
            Wanted::Hub(source.parse().map_err(|error| Problem::invalid(vec![wrong(error)]))?)
        }
        (None, None, Some(files)) => Wanted::Here(Source::Uploads(uploaded(app, files).await?)),
        _ => {
            let detail = "give one of `path`, `source` and `files`";
            return Err(Problem::invalid(vec![FieldError::new("", "invalid_value", detail)]));
        }
    };
    bring(finder, wanted, base.as_deref(), name).await
}

/// What is to be imported.
pub enum Wanted {
    /// Files of this machine.
    Here(Source),
    Hub(HubRef),
}

/// Has a model, or an adapter beside its base, laid out, and gives it a row with which its import goes on by itself.
pub async fn bring(
    finder: Finder<'_>,
    wanted: Wanted,
    base: Option<&str>,
    name: Option<String>,
) -> Result<ModelRow, Problem> {
    let Finder { store, sources: Sources { hub, .. }, .. } = finder;
    let source = match wanted {
        Wanted::Here(source) => source,
        Wanted::Hub(reference) => {
            if base.is_none() {
                match imports::bring(store, hub, &reference, name.as_deref(), "/source").await {
                    Err(problem) if problem.code == "adapter_base_missing" => {}
                    other => return other,
                }
            }
            let (hub, of) = (hub.clone(), reference.clone());
            let snapshot = blocking(move || hub.snapshot(&of)).await?.map_err(ImportError::from)?;
            Source::Hub { reference, snapshot }
        }
    };
    let (of, asked) = (source.clone(), hub.clone());
    let Some(named) = blocking(move || of.adapts(&asked)).await?? else {
        if base.is_some() {
            let detail = "what is imported is no adapter (adapter_config.json beside adapter_model.safetensors); leave `base` out";
            return Err(Problem::invalid(vec![FieldError::new("/base", "invalid_value", detail)]));
        }
        return imports::begin(store, hub, source, name, ModelStatus::Importing).await;
    };
    let base = beside(finder, base, &named).await?;
    // The same commit again is the same adapter.
    if let Some(row) = store.model_from(&source.name()).await?
        && matches!(source, Source::Hub { .. })
        && row.status != ModelStatus::Failed
        && row.adapter.as_ref().is_some_and(|of| of.model == base.reference)
    {
        return Ok(row);
    }
    let (staged, asked) = (store.place().stage(), hub.clone());
    let laid = blocking(move || -> Result<_, ImportError> {
        source.lay_out_adapter(staged, &asked, base.reference, &base.files.inspect()?)
    });
    Ok(import::begin(store, laid.await??, name, ModelStatus::Importing).await?)
}

/// The model that an adapter is for, by the name that a client gives, or that its configuration names.
async fn beside(finder: Finder<'_>, given: Option<&str>, named: &str) -> Result<Found, Problem> {
    const POINTER: &str = "/base";
    let wrong = |code, detail: String| Err(Problem::invalid(vec![FieldError::new(POINTER, code, detail)]));
    let of_hub = format!("{}{named}", hub::PREFIX);
    let name = match given {
        Some(name) => name,
        None if of_hub.parse::<HubRef>().is_ok() => &of_hub,
        None => {
            let detail = format!("the adapter says that it was trained beside `{named}`, which names no model here");
            return wrong("missing_field", detail);
        }
    };
    let found = resolve::model(finder, name, 0, (POINTER, "unknown_model")).await?;
    let model = found.map_err(|error| Problem::invalid(vec![error]))?;
    match model.reference {
        _ if model.adapter.is_some() => {
            wrong("adapter_of_adapter", format!("`{name}` is an adapter itself; name the model that it is for"))
        }
        ModelRef::Builtin(builtin) if builtin.from_scratch => {
            wrong("invalid_value", format!("`{name}` has no weights of its own that an adapter could be for"))
        }
        ModelRef::Model(id) if finder.store.model(id).await?.status != ModelStatus::Ready => {
            let detail = format!("`{name}` is under way; import the adapter when it is here (GET /v1/models/{id})");
            wrong("model_not_ready", detail)
        }
        ModelRef::Builtin(_) | ModelRef::Model(_) | ModelRef::Checkpoint(_) => Ok(model),
    }
}

/// The files that a request names, on this machine.
async fn uploaded(app: &App, files: BTreeMap<String, String>) -> Result<Vec<Uploaded>, Problem> {
    if files.len() > MOST_FILES {
        let detail = format!("a model has at most {MOST_FILES} files");
        return Err(Problem::invalid(vec![FieldError::new("/files", "out_of_range", detail)]));
    }
    let mut found = Vec::new();
    for (name, id) in files {
        let pointer = format!("/files/{}", escaped(&name));
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
