//! What a preview answers.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::dataset::DatasetError;
use crate::dataset::forms::{Form, Packing};
use crate::dataset::intake::{Preview, PreviewRow};
use crate::dataset::layout::Layout;

/// How the first rows of a file would be read; nothing was stored.
#[derive(Debug, Serialize, ToSchema)]
pub struct DatasetPreview {
    /// Always `dataset.preview`.
    object: &'static str,
    /// `jsonl`, `json`, `csv`, `tsv` or `parquet`.
    #[schema(value_type = Option<String>)]
    form: Option<Form>,
    /// `plain`, `gzip` or `zstd`.
    #[schema(value_type = Option<String>)]
    packing: Option<Packing>,
    /// The layout that was named, or that the first row has.
    #[schema(value_type = Option<String>)]
    layout: Option<Layout>,
    /// The first rows, up to 10.
    rows: Vec<PreviewedRow>,
    /// What ended the preview before that.
    error: Option<RowError>,
}

/// A row as it came and as it would be stored.
#[derive(Debug, Serialize, ToSchema)]
pub struct PreviewedRow {
    /// Its number in the file, counted from 1.
    row: u64,
    /// As it came.
    source: Value,
    /// As it would be stored; null where it cannot be made.
    mapped: Option<Value>,
    /// Why it would be refused.
    error: Option<RowError>,
}

/// What is wrong with a row or a file.
#[derive(Debug, Serialize, ToSchema)]
pub struct RowError {
    /// Stable, machine-readable reason.
    code: &'static str,
    /// What happened and what to do about it.
    detail: String,
}

impl From<Preview> for DatasetPreview {
    fn from(preview: Preview) -> Self {
        let Preview { form, packing, layout, rows, error } = preview;
        let rows = rows.into_iter().map(PreviewedRow::from).collect();
        Self { object: "dataset.preview", form, packing, layout, rows, error: error.as_ref().map(RowError::of) }
    }
}

impl From<PreviewRow> for PreviewedRow {
    fn from(row: PreviewRow) -> Self {
        let PreviewRow { row, source, mapped, error } = row;
        Self { row, source, mapped, error: error.as_ref().map(RowError::of) }
    }
}

impl RowError {
    fn of(error: &DatasetError) -> Self {
        Self { code: error.code(), detail: error.to_string() }
    }
}
