//! `GET /v1/dataset-versions/{id}/rows`

use std::io;
use std::path::Path;

use axum::Json;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, List, Params};
use crate::dataset::jsonl::JsonlFile;
use crate::dataset::{Columns, DatasetError};
use crate::job::DatasetVersionId;
use crate::store::Location;

/// A page ends with the row with which it passes this many bytes, however many were asked for.
const PAGE_BYTES: usize = 4 << 20;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct RowParams {
    /// The first row to return, counted from 0. A page whose `has_more` is true goes on behind its `last_id`.
    #[serde(default)]
    offset: usize,
    /// Rows to return, 1 to 100.
    #[param(minimum = 1, maximum = 100)]
    #[serde(default = "default_limit")]
    limit: usize,
}

fn default_limit() -> usize {
    20
}

/// One row.
#[derive(Debug, Serialize, ToSchema)]
pub struct DatasetRow {
    /// Always `dataset.row`.
    object: &'static str,
    /// Its number, counted from 0: the `row` of completions and of evaluated prompts.
    row: usize,
    /// All its columns.
    #[schema(value_type = Object)]
    columns: Map<String, Value>,
}

/// Browse the rows of a data set's version
///
/// A page may be shorter than asked for when rows are long.
#[utoipa::path(
    get,
    path = "/v1/dataset-versions/{id}/rows",
    tag = "datasets",
    params(("id" = String, Path, description = "The version"), RowParams),
    responses(
        (status = 200, body = List<DatasetRow>),
        (status = 400, description = "A parameter is invalid", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such version", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn list_dataset_rows(
    Access(app): Access,
    Id(id): Id<DatasetVersionId>,
    Params(params): Params<RowParams>,
) -> Result<Json<List<DatasetRow>>, Problem> {
    if !(1..=100).contains(&params.limit) {
        return Err(Problem::bad_request("invalid_parameter", "`limit` must lie between 1 and 100"));
    }
    let version = app.store.dataset_version(id).await?;
    let columns: Columns = serde_json::from_value(version.columns).map_err(io::Error::other)?;
    let path = app.store.place().fetch(&Location::dataset(id)).await?;
    let read = tokio::task::spawn_blocking(move || read_page(&path, columns, &params));
    let (rows, has_more) = read.await.map_err(io::Error::other)??;
    Ok(Json(List::with_more(rows, has_more, |row| row.row.to_string())))
}

fn read_page(path: &Path, columns: Columns, params: &RowParams) -> Result<(Vec<DatasetRow>, bool), DatasetError> {
    let file = JsonlFile::open(path, columns)?;
    let end = params.offset.saturating_add(params.limit).min(file.len());
    let (mut rows, mut bytes) = (Vec::new(), 0);
    for row in params.offset..end {
        if bytes > PAGE_BYTES {
            return Ok((rows, true));
        }
        let columns = std::sync::Arc::unwrap_or_clone(file.row(row)?.fields);
        bytes += serde_json::to_vec(&columns).map_or(0, |text| text.len());
        rows.push(DatasetRow { object: "dataset.row", row, columns });
    }
    Ok((rows, end < file.len()))
}
