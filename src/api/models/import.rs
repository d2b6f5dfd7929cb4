//! `POST /v1/models`

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::Model;
use crate::api::App;
use crate::api::access::Access;
use crate::api::blocking::blocking;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{JsonBody, read};
use crate::api::sandbox::{self, End, Task};
use crate::clock;
use crate::dataset::{Prompt, Row};
use crate::job::ModelId;
use crate::job::digest::{hex, sha256_hex};
use crate::job::spec::PromptSpec;
use crate::modelfile::{self, Format, Inspection};
use crate::store::{Location, ModelRow, Place, Staged};
use crate::text::ModelText;

/// How long a model's tokenizer and chat template may take to be read and tried.
const TRIAL_TIME: Duration = Duration::from_secs(60);

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
    try_out(&app, &path).await?;
    // Links may lead elsewhere below the roots, as in a cache that keeps a file once, and not out of them.
    let model = import(app.store.place(), path, request.name, Some(app.settings.import_roots.clone())).await?;
    app.store.add_model(&model).await?;
    Ok((StatusCode::CREATED, Json(model.into())))
}

/// A model whose tokenizer and chat template are to be tried.
#[derive(Debug, Serialize, Deserialize)]
pub struct ModelTrial {
    path: PathBuf,
}

impl Task for ModelTrial {
    const NAME: &'static str = "model";
    /// The number of tokens that a short conversation has.
    type Answer = usize;

    /// What is merely wrong is said by the import itself, or to those who make prompts; here it is only seen that nothing
    /// worse comes of it.
    fn perform(&self, mut tell: impl FnMut(&usize) -> io::Result<()>) -> io::Result<()> {
        let spec = PromptSpec::default();
        let prompt = Prompt::Text(String::from("What is 1 + 1?\n\n  Answer: \u{1f600} 2."));
        let row = Row { prompt, answer: None, completion: None, fields: Arc::default() };
        let tokens = modelfile::inspect(&self.path).ok().and_then(|inspection| {
            let texts = ModelText::of(&inspection, &spec).ok()?;
            let prompter = texts.prompter(&spec, inspection.config.max_position_embeddings).ok()?;
            Some(prompter.render(0, &row).ok()?.tokens.len())
        });
        tell(&tokens.unwrap_or_default())
    }
}

/// Refuses a model whose tokenizer or chat template ends the process that tries them, or takes too long.
async fn try_out(app: &App, path: &Path) -> Result<(), Problem> {
    let (_, end) = sandbox::ask(app.store.own_project(), &ModelTrial { path: path.to_owned() }, TRIAL_TIME).await?;
    let detail = match end {
        End::Done => return Ok(()),
        End::TimedOut => format!("its tokenizer or chat template takes longer than {} s", TRIAL_TIME.as_secs()),
        End::Died(how) => how,
    };
    Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "model_text_failed", detail))
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

/// Checks a model and copies it into the data directory; the row is the caller's business. With `roots`, every file of it
/// must lie below one of them.
pub async fn import(
    place: &Place,
    path: PathBuf,
    name: Option<String>,
    roots: Option<Vec<PathBuf>>,
) -> Result<ModelRow, Problem> {
    let staged = place.stage();
    let source = path.display().to_string();
    let copied = blocking(move || copy(&path, staged, roots.as_deref())).await?;
    let Copied { staged, inspection, bytes, weights_sha256 } = copied?;
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
        architecture: inspection.config.family.name.to_owned(),
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
fn copy(path: &Path, staged: Staged, roots: Option<&[PathBuf]>) -> Result<Copied, Problem> {
    let inspection = modelfile::inspect(path)?;
    let (mut bytes, mut weights) = (0, Sha256::new());
    for source in &inspection.files {
        roots.map(|roots| allowed(source, roots)).transpose()?;
        let is_weights = inspection.weights.contains(source);
        bytes += staged.add(source, |chunk| {
            if is_weights {
                weights.update(chunk);
            }
        })?;
    }
    Ok(Copied { staged, inspection, bytes, weights_sha256: hex(&weights.finalize()) })
}
