//! Rows of a data set for handlers that look at some of them.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::error::Problem;
use crate::dataset::builtin::BuiltinSet;
use crate::dataset::split::SplitRule;
use crate::dataset::{Columns, Dataset, Split};
use crate::spec::RowsRef;
use crate::store::{Location, Store};

/// Where the rows are.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowSource {
    Builtin(BuiltinSet, Split),
    File(PathBuf, Columns),
    /// The rows of a file that are on one side.
    Part(PathBuf, Columns, SplitRule, Split),
}

impl RowSource {
    /// Rows; of what is split those that are on one side.
    pub async fn of(store: &Store, rows: RowsRef, split: Split) -> Result<Self, Problem> {
        let whole = Self::whole(store, rows, split).await?;
        let (RowsRef::Version(version), Self::File(path, columns)) = (rows, &whole) else { return Ok(whole) };
        let Some(rule) = store.dataset_version(version).await?.split else { return Ok(whole) };
        let rule = serde_json::from_value(rule).map_err(io::Error::other)?;
        Ok(Self::Part(path.clone(), columns.clone(), rule, split))
    }

    /// All rows of a version; of a built-in those that are on one side.
    pub async fn whole(store: &Store, rows: RowsRef, split: Split) -> Result<Self, Problem> {
        let version = match rows {
            RowsRef::Version(version) => version,
            RowsRef::Builtin(set) => return Ok(Self::Builtin(set, split)),
        };
        let row = store.dataset_version(version).await?;
        let columns = serde_json::from_value(row.columns).map_err(io::Error::other)?;
        let file = Location::dataset(version).holding(&row.sha256);
        Ok(Self::File(store.place().fetch_file(&file).await?, columns))
    }

    /// Finds the rows within the file. Blocks.
    pub fn open(&self) -> io::Result<Dataset> {
        match self {
            Self::Builtin(set, split) => Ok(set.open(*split)),
            Self::File(path, columns) => Dataset::open(path, columns.clone(), None).map_err(io::Error::other),
            Self::Part(path, columns, rule, side) => {
                Dataset::open(path, columns.clone(), Some((rule, *side))).map_err(io::Error::other)
            }
        }
    }
}
