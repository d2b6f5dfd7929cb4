//! `POST /v1/datasets`

use std::collections::BTreeMap;

use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use super::Dataset;
use super::import::import;
use super::upload::{ColumnParams, receive};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Params, StreamedBody};
use crate::job::DatasetId;
use crate::job::id::InvalidId;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CreateDataset {
    /// A name for people.
    #[param(max_length = 200)]
    name: Option<String>,
    /// A file that was uploaded before, whose rows they are; there is no body then.
    #[param(max_length = 80, example = "file-0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    file: Option<String>,
    /// Column with the prompt: text, or an array of `{role, content}`. Default `prompt`, or else `messages`.
    prompt_column: Option<String>,
    /// Column with the expected answer. Default `answer`.
    answer_column: Option<String>,
    /// Column with a completion to learn from (`sft`). Default `completion`.
    completion_column: Option<String>,
}

/// Upload a data set
///
/// The body is JSON Lines: one JSON object per line. It is streamed to disk and checked on the way; an error names
/// the row, and nothing is kept of a file with a broken one. A large file is better sent in parts (`/v1/uploads`), which can
/// be sent again one by one, and named here when it is complete; it can be deleted then.
#[utoipa::path(
    post,
    path = "/v1/datasets",
    tag = "datasets",
    params(CreateDataset),
    request_body(content = Option<String>, description = "JSON Lines; none with `file`", content_type = "application/jsonl"),
    responses(
        (status = 201, body = Dataset),
        (status = 400, description = "A parameter is unknown, or the upload was cut off", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such file", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A row is broken, or there is none", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_dataset(
    Access(app): Access,
    Params(params): Params<CreateDataset>,
    body: StreamedBody,
) -> Result<(StatusCode, Json<Dataset>), Problem> {
    let id = DatasetId::generate();
    let CreateDataset { name, file, prompt_column, answer_column, completion_column } = params;
    let columns = ColumnParams { prompt_column, answer_column, completion_column };
    let add = async |version| app.store.add_dataset(name.as_deref(), &BTreeMap::new(), version).await;
    match file {
        Some(_) if body.length > 0 => {
            return Err(Problem::bad_request("invalid_parameter", "`file` and rows in the body exclude each other"));
        }
        Some(file) => {
            let wrong = |error: InvalidId| Problem::bad_request("invalid_parameter", format!("`file`: {error}"));
            let file = app.store.file(file.parse().map_err(wrong)?).await?;
            let _room = app.store.storage_room(file.bytes).await?;
            add(&import(&app, id, columns.columns(), false, &file).await??).await?;
        }
        None => {
            let (version, _room) = receive(&app, id, columns, body).await?;
            add(&version).await?;
        }
    }
    Ok((StatusCode::CREATED, Json(app.store.dataset(id).await?.into())))
}
