//! `POST /v1/models`

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
use crate::api::extract::{JsonBody, read};
use crate::clock;
use crate::job::ModelId;
use crate::job::digest::{hex, sha256_hex};
use crate::modelfile::{self, Format, Inspection};
use crate::store::{Location, ModelRow, Place, Staged};

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
    let request: ImportModel = read(&body)?;
    let path = allowed(&request.path, &app.settings.import_roots)?;
    let model = import(app.store.place(), path, request.name).await?;
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
pub async fn import(place: &Place, path: PathBuf, name: Option<String>) -> Result<ModelRow, Problem> {
    let staged = place.stage();
    let source = path.display().to_string();
    let copied = tokio::task::spawn_blocking(move || copy(&path, staged)).await;
    let Copied { staged, inspection, bytes, weights_sha256 } = copied.map_err(io::Error::other)??;
    let id = ModelId::generate();
    staged.publish(&Location::model(id)).await?;
    Ok(ModelRow {
        id,
        name,
        source,
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

/// A checked model whose files are copied.
struct Copied {
    staged: Staged,
    inspection: Inspection,
    /// Of all files.
    bytes: u64,
    /// Of all weight files in order.
    weights_sha256: String,
}

/// Checks a model and copies its files. Blocks.
fn copy(path: &Path, staged: Staged) -> Result<Copied, Problem> {
    let inspection = modelfile::inspect(path)?;
    let (mut bytes, mut weights) = (0, Sha256::new());
    for source in &inspection.files {
        let is_weights = inspection.weights.contains(source);
        bytes += staged.add(source, |chunk| {
            if is_weights {
                weights.update(chunk);
            }
        })?;
    }
    Ok(Copied { staged, inspection, bytes, weights_sha256: hex(&weights.finalize()) })
}
