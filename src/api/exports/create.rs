//! `POST /v1/checkpoints/{id}/exports`

use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

use super::Export;
use crate::api::App;
use crate::api::access::Access;
use crate::api::blocking::blocking;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, JsonBody, read};
use crate::api::imports::Pull;
use crate::api::resolve;
use crate::clock;
use crate::job::{self, ArtifactKind, CheckpointId, ExportDtype, ExportFormat, FieldError};
use crate::modelfile::gguf::{mixture, write};
use crate::modelfile::{ModelConfig, ModelFileError};
use crate::store::CheckpointRow;

/// What to make of a checkpoint.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateExport {
    /// `adapter`: the adapter alone, as peft, vLLM and others read it. `merged`: the whole model as a Hugging Face
    /// directory, in files of at most 5 GB. `gguf`: one file for llama.cpp and what is made with it.
    #[schema(example = "gguf")]
    format: ExportForm,
    /// What weights are written as: `bf16` (the default) or `f32` for `merged`; `q8_0` (the default), `f16`, `bf16`, `f32` or
    /// `q4_k_m` for `gguf`.
    #[schema(example = "q8_0")]
    dtype: Option<ExportNumbers>,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExportForm {
    Adapter,
    Merged,
    Gguf,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
pub enum ExportNumbers {
    #[serde(rename = "f32")]
    F32,
    #[serde(rename = "f16")]
    F16,
    #[serde(rename = "bf16")]
    Bf16,
    #[serde(rename = "q8_0")]
    Q8_0,
    #[serde(rename = "q4_k_m")]
    Q4KM,
}

impl CreateExport {
    fn resolve(&self) -> Result<job::Export, FieldError> {
        let format = match self.format {
            ExportForm::Adapter => ExportFormat::Adapter,
            ExportForm::Merged => ExportFormat::Merged,
            ExportForm::Gguf => ExportFormat::Gguf,
        };
        let dtype = self.dtype.map(|dtype| match dtype {
            ExportNumbers::F32 => ExportDtype::F32,
            ExportNumbers::F16 => ExportDtype::F16,
            ExportNumbers::Bf16 => ExportDtype::Bf16,
            ExportNumbers::Q8_0 => ExportDtype::Q8_0,
            ExportNumbers::Q4KM => ExportDtype::Q4KM,
        });
        job::Export::resolve(format, dtype)
    }
}

/// Export a checkpoint
///
/// Makes a form of a finished model that other programs read: `bytes_done` tells how far it is, and its files can be
/// downloaded when it is `ready`. An export like it that is there already is the answer (200), unless it failed.
#[utoipa::path(
    post,
    path = "/v1/checkpoints/{id}/exports",
    tag = "checkpoints",
    params(("id" = String, Path, description = "An inference checkpoint")),
    request_body = CreateExport,
    responses(
        (status = 200, description = "There is one like it", body = Export),
        (status = 201, body = Export),
        (status = 404, description = "No such checkpoint", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "Too many exports wait (`too_many_exports`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The checkpoint cannot be exported so", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_export(
    Access(app): Access,
    Id(id): Id<CheckpointId>,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<Export>), Problem> {
    let invalid = |error: FieldError| Problem::invalid(vec![error]);
    let export = read::<CreateExport>(&body)?.resolve().map_err(invalid)?;
    let checkpoint = app.store.checkpoint(id).await?;
    let bytes = expected(&app, &checkpoint, export).await?.map_err(invalid)?;
    let _room = app.store.storage_room(bytes).await?;
    let (row, made) = app.store.add_export(&checkpoint, export, bytes, clock::now()).await?;
    Ok((if made { StatusCode::CREATED } else { StatusCode::OK }, Json(row.into())))
}

/// About how many bytes an export takes; an error when it cannot be made.
async fn expected(app: &App, row: &CheckpointRow, export: job::Export) -> Result<Result<u64, FieldError>, Problem> {
    let wrong = |code: &'static str, detail: String| Ok(Err(FieldError::new("/format", code, detail)));
    let manifest = &row.artifact.manifest;
    if manifest.kind != ArtifactKind::Inference {
        let detail = format!("`{}` is a training checkpoint; only the finished model of a job is exported", row.id);
        return wrong("not_finished", detail);
    }
    if export.format == ExportFormat::Adapter {
        return match row.is_adapter() {
            true => Ok(Ok(manifest.bytes())),
            false => wrong("no_adapter", format!("`{}` is a whole model; export it as `merged` or `gguf`", row.id)),
        };
    }
    let name = row.id.to_string();
    // What a built-in without weights draws them from changes nothing of its shapes.
    let model = resolve::model(app.finder(Pull::Never), &name, 0, ("/format", "unknown_model")).await?;
    let files = match model {
        Ok(model) => model.files,
        Err(error) => return Ok(Err(error)),
    };
    let counted = blocking(move || weight_bytes(&files.inspect_weights()?.config, export)).await?;
    Ok(counted.map_err(|error| FieldError::new("/dtype", error.code(), error.to_string())))
}

fn weight_bytes(config: &ModelConfig, export: job::Export) -> Result<u64, ModelFileError> {
    let Some(dtype) = export.dtype.filter(|_| export.format == ExportFormat::Gguf) else {
        let width = if export.dtype == Some(ExportDtype::F32) { 4 } else { 2 };
        return Ok(config.parameter_count() * width);
    };
    let types = mixture::types(config, dtype)?.into_iter();
    types.map(|(spec, kind)| write::size_bytes(&spec.gguf_name, &spec.shape, kind)).sum()
}
