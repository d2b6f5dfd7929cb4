//! Rows of a data set for handlers that look at some of them.

use std::io;
use std::path::PathBuf;

use super::error::Problem;
use super::resolve;
use crate::dataset::jsonl::JsonlFile;
use crate::dataset::{self, Columns, Dataset, DatasetError, Split};
use crate::job::FieldError;
use crate::store::{Location, Store};

/// Where the rows are.
#[derive(Debug)]
pub enum RowSource {
    Builtin(Dataset),
    File(PathBuf, Columns),
}

impl RowSource {
    /// The rows that `name` stands for: a built-in, a data set's newest version, or a version.
    pub async fn of(
        store: &Store,
        name: &str,
        split: Split,
        pointer: &str,
    ) -> Result<Result<Self, FieldError>, Problem> {
        if let Some(builtin) = dataset::builtin(name, split) {
            return Ok(Ok(Self::Builtin(builtin)));
        }
        let version = match resolve::scored_rows(store, name, None, pointer).await? {
            Ok(version) => version,
            Err(error) => return Ok(Err(error)),
        };
        let columns = store.dataset_version(version).await?.columns;
        let columns = serde_json::from_value(columns).map_err(io::Error::other)?;
        Ok(Ok(Self::File(store.place().fetch(&Location::dataset(version)).await?, columns)))
    }

    /// Finds the rows within the file. Blocks.
    pub fn open(self) -> Result<Dataset, DatasetError> {
        match self {
            Self::Builtin(dataset) => Ok(dataset),
            Self::File(path, columns) => Ok(Dataset::Jsonl(JsonlFile::open(path, columns)?)),
        }
    }
}
