//! `GET /v1/dataset-versions/{id}/rows`

use std::collections::HashMap;
use std::io::{self, Read, Seek};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, List, Params};
use crate::api::scan::scan;
use crate::dataset::index::RowIndex;
use crate::dataset::{Columns, DatasetError};
use crate::job::DatasetVersionId;
use crate::store::Location;

/// A page ends with the row with which it passes this many bytes, however many were asked for.
const PAGE_BYTES: usize = 4 << 20;
/// Indexes that are held at a time; an index takes about 24 bytes for each 1024 rows.
const MOST_INDEXES: usize = 256;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
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
    let version = app.store.dataset_version(id).await?;
    let columns: Columns = serde_json::from_value(version.columns).map_err(io::Error::other)?;
    let (place, file) = (app.store.place().clone(), Location::dataset(id).holding(&version.sha256));
    let indexes = app.row_indexes.clone();
    let read = scan(&app, move || -> Result<_, Problem> {
        let index = indexes.of(id, || Ok(RowIndex::of(place.read(&file)?)?))?;
        Ok(read_page(place.read(&file)?, &index, &columns, &params)?)
    });
    let (rows, has_more) = read.await?;
    Ok(Json(List::with_more(rows, has_more, |row| row.row.to_string())))
}

fn read_page(
    file: impl Read + Seek,
    index: &RowIndex,
    columns: &Columns,
    params: &RowParams,
) -> Result<(Vec<DatasetRow>, bool), DatasetError> {
    let (mut rows, mut bytes) = (Vec::new(), 0);
    index.read(file, columns, params.offset, |row, content| {
        let columns = Arc::unwrap_or_clone(content.fields);
        bytes += serde_json::to_vec(&columns).map_or(0, |text| text.len());
        rows.push(DatasetRow { object: "dataset.row", row, columns });
        if rows.len() == params.limit || bytes > PAGE_BYTES {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    let has_more = rows.last().is_some_and(|last| last.row + 1 < index.len());
    Ok((rows, has_more))
}

/// The indexes of versions that were browsed, each made when it is first needed; clones share them.
#[derive(Clone, Debug, Default)]
pub struct RowIndexes {
    held: Arc<Mutex<HashMap<DatasetVersionId, Slot>>>,
}

/// An index that is known or being made.
type Slot = Arc<Mutex<Option<Arc<RowIndex>>>>;

impl RowIndexes {
    /// The index of a version, which never changes; `make` reads its file. Blocks.
    fn of(
        &self,
        version: DatasetVersionId,
        make: impl FnOnce() -> Result<RowIndex, Problem>,
    ) -> Result<Arc<RowIndex>, Problem> {
        let slot = {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            if held.len() >= MOST_INDEXES && !held.contains_key(&version) {
                held.clear();
            }
            Arc::clone(held.entry(version).or_default())
        };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = slot.as_ref() {
            return Ok(Arc::clone(index));
        }
        let index = Arc::new(make()?);
        *slot = Some(Arc::clone(&index));
        Ok(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_made_once_and_few_are_held() {
        let indexes = RowIndexes::default();
        let version = DatasetVersionId::generate();
        let make = || Ok(RowIndex::of(b"{}\n".as_slice())?);
        let first = indexes.of(version, make).unwrap();
        let second = indexes.of(version, || panic!("it is known")).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        for _ in 0..2 * MOST_INDEXES {
            indexes.of(DatasetVersionId::generate(), make).unwrap();
            assert!(indexes.held.lock().unwrap().len() <= MOST_INDEXES);
        }
    }
}
