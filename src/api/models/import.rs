//! `POST /v1/models`

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::Model;
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::JsonBody;
use crate::clock;
use crate::job::digest::{hex, sha256_hex};
use crate::job::{ModelId, field};
use crate::modelfile::{self, Format, Inspection};
use crate::store::{Files, ModelRow, StoreError, files};

/// A model to import.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportModel {
    /// A Hugging Face directory, or a GGUF file, on the server's disk below one of its import roots.
    #[schema(value_type = String)]
    path: PathBuf,
    /// A name for people.
    name: Option<String>,
}

/// Import a model
///
/// Checks a model on the server's own disk (below a folder that the operator allows) and copies it into the data
/// directory. Safetensors and GGUF only.
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
        (status = 422, description = "The model is incomplete or of an unsupported kind", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn import_model(Access(app): Access, JsonBody(body): JsonBody) -> Result<(StatusCode, Json<Model>), Problem> {
    let request: ImportModel = field::parse(&body, "").map_err(|error| Problem::invalid(vec![error]))?;
    let path = allowed(&request.path, &app.settings.import_roots)?;
    let files = app.store.files().clone();
    let copied = tokio::task::spawn_blocking(move || import(&files, &path, request.name)).await;
    let model = copied.map_err(|error| Problem::from(io::Error::other(error)))??;
    app.store.add_model(&model).await?;
    Ok((StatusCode::CREATED, Json(model.into())))
}

/// The real path, when it is below an import root. The message is the same whether the path exists or not.
pub fn allowed(path: &Path, roots: &[PathBuf]) -> Result<PathBuf, Problem> {
    let real = path.canonicalize().ok();
    let inside = |real: &PathBuf| roots.iter().any(|root| root.canonicalize().is_ok_and(|root| real.starts_with(root)));
    real.filter(inside).ok_or_else(|| {
        let detail = format!(
            "{} is not below a folder from which models may be imported; the operator sets them with --import-roots",
            path.display()
        );
        Problem::new(StatusCode::FORBIDDEN, "path_not_allowed", detail)
    })
}

/// Checks a model and copies it into the data directory; the row is the caller's business.
pub fn import(files: &Files, path: &Path, name: Option<String>) -> Result<ModelRow, Problem> {
    let inspection = modelfile::inspect(path)?;
    let temporary = files.upload();
    let result = copy(&inspection, &temporary);
    let (bytes, weights_sha256) = match result {
        Ok(copied) => copied,
        Err(error) => {
            if let Err(error) = fs::remove_dir_all(&temporary) {
                tracing::warn!(%error, path = %temporary.display(), "the remains of an import could not be removed");
            }
            return Err(error.into());
        }
    };
    let id = ModelId::generate();
    files::publish(&temporary, &files.model(id))?;
    Ok(ModelRow {
        id,
        name,
        source: path.display().to_string(),
        format: match inspection.format {
            Format::HuggingFace => String::from("safetensors"),
            Format::Gguf => String::from("gguf"),
        },
        architecture: inspection.config.architecture.clone(),
        parameters: inspection.parameters,
        context_length: inspection.config.max_position_embeddings as u64,
        vocab_size: inspection.config.vocab_size as u64,
        weights_sha256,
        tokenizer_sha256: sha256_hex(&inspection.tokenizer_bytes),
        bytes,
        created_at: clock::now(),
    })
}

/// Copies the model's files, synced; returns their size and the digest of all weight files in order.
fn copy(inspection: &Inspection, target: &Path) -> Result<(u64, String), StoreError> {
    fs::create_dir_all(target).map_err(|e| StoreError::io("creating", target, e))?;
    let (mut bytes, mut weights) = (0, Sha256::new());
    for source in &inspection.files {
        let path = target.join(source.file_name().unwrap_or_default());
        let mut from = File::open(source).map_err(|e| StoreError::io("opening", source, e))?;
        let mut to = File::create(&path).map_err(|e| StoreError::io("creating", &path, e))?;
        bytes += io::copy(&mut from, &mut to).map_err(|e| StoreError::io("copying", &path, e))?;
        to.sync_all().map_err(|e| StoreError::io("syncing", &path, e))?;
        if inspection.weights.contains(source) {
            let mut copied = File::open(&path).map_err(|e| StoreError::io("opening", &path, e))?;
            io::copy(&mut copied, &mut HashWriter(&mut weights)).map_err(|e| StoreError::io("reading", &path, e))?;
        }
    }
    File::open(target).and_then(|folder| folder.sync_all()).map_err(|e| StoreError::io("syncing", target, e))?;
    Ok((bytes, hex(&weights.finalize())))
}

struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
