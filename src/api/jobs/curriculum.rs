//! Whether a job's rows can come in the order that its spec asks for.

use std::time::{Duration, Instant};

use crate::api::blocking::blocking;
use crate::api::error::Problem;
use crate::api::resolve::FoundRows;
use crate::api::row_source::RowSource;
use crate::dataset::{Dataset, DatasetError, Split, named};
use crate::job::FieldError;
use crate::job::spec::{RowOrder, RowSampling};
use crate::objective::Needs;
use crate::spec::JobSpec;
use crate::store::Store;

/// Rows that are not looked at by then are looked at when the job begins.
const MOST_TIME: Duration = Duration::from_secs(2);
const COLUMN: &str = "/dataset/difficulty_column";

/// What stands against it. `judged` says that the spec has a verifier.
pub async fn check(
    store: &Store,
    spec: &JobSpec,
    rows: &FoundRows,
    needs: Needs,
    judged: bool,
) -> Result<Vec<FieldError>, Problem> {
    let wrong = |field: &str, detail| FieldError::new(format!("/dataset/{field}"), "invalid_value", detail);
    let (samples, stored) = (!needs.completions && spec.rollouts.from.is_none(), spec.rollouts.from.is_some());
    let mut errors = Vec::new();
    if spec.dataset.sampling == RowSampling::Adaptive && !(samples && judged) {
        let detail = "rows are drawn by how often the policy solves them, which only a job knows that samples and has a \
                      `verifier`; leave it out";
        errors.push(wrong("sampling", detail));
    }
    if spec.dataset.order != RowOrder::Shuffled && stored {
        errors.push(wrong("order", "stored completions are trained on in random order; leave it out"));
    }
    if spec.dataset.rows.is_some() && stored {
        errors.push(wrong("rows", "stored completions are trained on, whatever their rows are; leave it out"));
    }
    let there_are = rows.count(Split::Train);
    if let (Some(wanted), Some(count)) = (spec.dataset.rows, there_are)
        && wanted > count
    {
        let detail = format!("there are {count} rows to train on; ask for no more, or leave it out for all of them");
        errors.push(FieldError::new("/dataset/rows", "out_of_range", detail));
    }
    if let (RowOrder::EasyFirst, Some(column), []) =
        (spec.dataset.order, &spec.dataset.difficulty_column, errors.as_slice())
    {
        errors.extend(unordered(store, rows, column).await?);
    }
    Ok(errors)
}

/// Why rows cannot be ordered by a column.
async fn unordered(store: &Store, rows: &FoundRows, column: &str) -> Result<Option<FieldError>, Problem> {
    if let FoundRows::Version(version) = rows
        && let Some(filled) = &version.filled
    {
        let found = filled.get(column).copied().unwrap_or(0);
        if found < version.rows {
            let detail = format!(
                "{found} of {} rows have a value in {}, by which they are ordered; there are {}",
                version.rows,
                named([column.to_owned()].iter()),
                named(filled.keys())
            );
            return Ok(Some(FieldError::new(COLUMN, "row_missing_column", detail)));
        }
    }
    let source = RowSource::of(store, rows.reference(), Split::Train).await?;
    let name = column.to_owned();
    let found = blocking(move || -> Result<Option<usize>, Problem> {
        let deadline = Instant::now() + MOST_TIME;
        Ok(without_number(&source.open()?, &name, || Instant::now() < deadline)?)
    });
    Ok(found.await??.map(|row| {
        let detail = format!("row {} has no number in `{column}`, by which rows are ordered", row + 1);
        FieldError::new(COLUMN, "row_wrong_type", detail)
    }))
}

/// The number of the first row without a number in a column, as long as `go_on` says so.
fn without_number(rows: &Dataset, column: &str, go_on: impl Fn() -> bool) -> Result<Option<usize>, DatasetError> {
    /// Rows after which it is asked whether to go on.
    const AT_ONCE: usize = 256;
    for place in 0..rows.len() {
        if place.is_multiple_of(AT_ONCE) && !go_on() {
            break;
        }
        let number = rows.number(place);
        if rows.row(number)?.number(column).is_none() {
            return Ok(Some(number));
        }
    }
    Ok(None)
}
