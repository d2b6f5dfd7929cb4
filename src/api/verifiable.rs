//! Whether a verifier finds in the rows of a data set what it reads, before a job is spent on finding out.

use std::collections::BTreeMap;

use crate::dataset::builtin::BuiltinSet;
use crate::dataset::{Split, named};
use crate::job::FieldError;
use crate::store::DatasetVersionRow;
use crate::verifier::{self, ENVIRONMENT};

/// An error at `pointer`, where the data set is named, unless each row of the version has what the verifier reads. Where
/// its columns were not counted only the answers are known.
pub fn version(version: &DatasetVersionRow, verifier: &verifier::Config, pointer: &str) -> Result<(), FieldError> {
    check(version.rows, version.answers, version.filled.as_ref(), verifier, pointer)
}

/// The same for a built-in data set, all of whose rows have the columns of the first.
pub fn builtin(set: BuiltinSet, verifier: &verifier::Config, pointer: &str) -> Result<(), FieldError> {
    let dataset = set.open(Split::Eval);
    let row = dataset.row(0).map_err(|error| FieldError::new(pointer, error.code(), error.to_string()))?;
    let rows = dataset.len() as u64;
    let filled = row.fields.keys().map(|column| (column.clone(), rows)).collect();
    check(rows, if row.answer.is_some() { rows } else { 0 }, Some(&filled), verifier, pointer)
}

fn check(
    rows: u64,
    answers: u64,
    filled: Option<&BTreeMap<String, u64>>,
    verifier: &verifier::Config,
    pointer: &str,
) -> Result<(), FieldError> {
    let missing = |detail| Err(FieldError::new(pointer, "row_missing_column", detail));
    if verifier.needs_answer() && answers < rows {
        return missing(format!(
            "only {answers} of {rows} rows have an answer, which the verifier compares with; name the column with \
             `answer_column` when uploading, or in the verifier"
        ));
    }
    let Some(filled) = filled else { return Ok(()) };
    // What an environment said stands beside the row's own columns.
    for (field, column) in verifier.required_columns().into_iter().filter(|(_, column)| column != ENVIRONMENT) {
        let found = filled.get(&column).copied().unwrap_or(0);
        if found < rows {
            return missing(format!(
                "{found} of {rows} rows have a value in {}, which `{field}` of the verifier names; there are {}; name \
                 another column, or upload rows that have this one",
                named([column].iter()),
                named(filled.keys())
            ));
        }
    }
    Ok(())
}
