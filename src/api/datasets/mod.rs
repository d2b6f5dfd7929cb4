//! Data sets: uploaded once, validated row by row, immutable from then on.

pub mod append;
pub mod builtins;
pub mod check;
pub mod content;
pub mod create;
pub mod delete;
pub mod filter;
pub mod get;
mod given;
pub mod import;
pub mod list;
pub mod list_versions;
pub mod preview;
pub mod prompts;
mod pull;
pub mod pulls;
pub mod rows;
pub mod splits;
mod stream;
pub mod token_lengths;
pub mod update;
pub mod upload;
pub mod version;
pub mod versions;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use self::splits::DatasetSplit;
use crate::store::{DatasetRow, DatasetVersionRow};

/// A data set with its newest version.
#[derive(Debug, Serialize, ToSchema)]
pub struct Dataset {
    #[schema(example = "ds_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub id: String,
    /// Always `dataset`.
    pub object: &'static str,
    pub name: Option<String>,
    /// Unix seconds.
    pub created_at: i64,
    pub metadata: BTreeMap<String, String>,
    pub latest: DatasetVersion,
}

/// One immutable version of a data set.
#[derive(Debug, Serialize, ToSchema)]
pub struct DatasetVersion {
    #[schema(example = "dsv_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub id: String,
    /// Always `dataset.version`.
    pub object: &'static str,
    pub dataset: String,
    /// 1, 2, 3, ...
    pub number: u32,
    /// Unix seconds.
    pub created_at: i64,
    pub rows: u64,
    pub bytes: u64,
    /// Of the file, hexadecimal.
    pub sha256: String,
    /// Rows with an answer.
    pub answers: u64,
    /// Rows with a completion.
    pub completions: u64,
    /// Rows whose prompt repeats an earlier one.
    pub duplicates: u64,
    /// Which column plays which part.
    #[schema(value_type = Object)]
    pub columns: Value,
    /// What the rows were made of: `form`, `packing`, `layout` and `map`, and of a data set of the hub `source` with its commit,
    /// `revision` as it was asked for, and `files` with their digests; after an append, of the rows that were added, and
    /// `appended_to`, the version before. Null for JSON Lines that came as they are.
    #[schema(value_type = Option<Object>)]
    pub origin: Option<Value>,
    /// How rows are held out; null where none are.
    pub split: Option<DatasetSplit>,
    /// The version that it was made of, by appending to it or by filtering it; null for one that was uploaded.
    #[schema(example = "dsv_0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    pub parent: Option<String>,
    /// How it was made of its parent: `append` or `filter`, with what was asked for.
    #[schema(value_type = Option<Object>)]
    pub made: Option<Value>,
}

impl From<DatasetRow> for Dataset {
    fn from(row: DatasetRow) -> Self {
        Self {
            id: row.id.to_string(),
            object: "dataset",
            name: row.name,
            created_at: row.created_at.unix_seconds(),
            metadata: row.metadata,
            latest: row.latest.into(),
        }
    }
}

impl From<DatasetVersionRow> for DatasetVersion {
    fn from(row: DatasetVersionRow) -> Self {
        let split = DatasetSplit::of(&row);
        Self {
            id: row.id.to_string(),
            object: "dataset.version",
            dataset: row.dataset.to_string(),
            number: row.number,
            created_at: row.created_at.unix_seconds(),
            rows: row.rows,
            bytes: row.bytes,
            sha256: row.sha256,
            answers: row.answers,
            completions: row.completions,
            duplicates: row.duplicates,
            columns: row.columns,
            origin: row.origin,
            split,
            parent: row.parent.map(|parent| parent.to_string()),
            made: row.made,
        }
    }
}
