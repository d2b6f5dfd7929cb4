//! From what a request names as its training or validation file to a data set that jobs can use. A file becomes a data
//! set version once: the first job that uses it has its rows checked and put into our form, and the next ones share the
//! result. Where no row has to change, the data set is the file itself under a second name.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use crate::api::App;
use crate::api::error::Problem;
use crate::api::openai::receive::TemporaryFile;
use crate::api::resolve::found;
use crate::clock;
use crate::dataset::jsonl::{Limits, Summary, Validator};
use crate::dataset::{self, Columns, DatasetError, Split, chat};
use crate::job::{DatasetId, DatasetVersionId, FieldError, FileId};
use crate::store::{DatasetVersionRow, StoreError, UploadedFileRow, files};

/// A data set as the spec of a job names it.
#[derive(Debug)]
pub struct Rows {
    pub name: String,
    pub count: u64,
}

/// Finds the rows that `reference` names: a file, a data set, one of its versions, or a built-in.
pub async fn rows(
    app: &App,
    reference: &str,
    split: Split,
    pointer: &str,
) -> Result<Result<Rows, FieldError>, Problem> {
    let of_version = |row: DatasetVersionRow| Rows { name: row.id.to_string(), count: row.rows };
    if let Some(builtin) = dataset::builtin(reference, split) {
        return Ok(Ok(Rows { name: reference.to_owned(), count: builtin.len() as u64 }));
    }
    if let Ok(id) = reference.parse::<FileId>() {
        return match found(app.store.file(id).await, pointer)? {
            Ok(file) => Ok(of_file(app, file, pointer).await?.map(of_version)),
            Err(error) => Ok(Err(error)),
        };
    }
    if let Ok(id) = reference.parse::<DatasetId>() {
        return Ok(found(app.store.dataset(id).await, pointer)?.map(|row| of_version(row.latest)));
    }
    if let Ok(id) = reference.parse::<DatasetVersionId>() {
        return Ok(found(app.store.dataset_version(id).await, pointer)?.map(of_version));
    }
    let reference: String = reference.chars().take(80).collect();
    let detail = format!("`{reference}` is no file; upload one with POST /v1/files and purpose `fine-tune`");
    Ok(Err(FieldError::new(pointer, "not_found", detail)))
}

async fn of_file(
    app: &App,
    file: UploadedFileRow,
    pointer: &str,
) -> Result<Result<DatasetVersionRow, FieldError>, Problem> {
    if let Some(version) = file.dataset_version {
        return Ok(Ok(app.store.dataset_version(version).await?));
    }
    if file.purpose != "fine-tune" {
        let detail = format!("the file's purpose is `{}`; upload it with purpose `fine-tune`", file.purpose);
        return Ok(Err(FieldError::new(pointer, "wrong_purpose", detail)));
    }
    let id = DatasetVersionId::generate();
    let files = app.store.files();
    let (source, target, temporary) = (files.file(file.id), files.dataset(id), TemporaryFile::new(files.upload()));
    let importing = tokio::task::spawn_blocking(move || import(&source, temporary, &target));
    let summary = match importing.await.map_err(std::io::Error::other)? {
        Ok(summary) => summary,
        Err(ImportError::Rows(error @ (DatasetError::Io { .. } | DatasetError::IndexOutOfRange { .. }))) => {
            return Err(error.into());
        }
        Err(ImportError::Rows(error)) => {
            return Ok(Err(FieldError::new(pointer, error.code(), error.to_string())));
        }
        Err(ImportError::Store(error)) => return Err(error.into()),
    };
    let version = describe(id, summary);
    let metadata = BTreeMap::from([(String::from("file"), file.id.to_string())]);
    app.store.add_dataset(Some(&file.filename), &metadata, &version).await?;
    let stands = app.store.set_file_dataset(file.id, id).await?;
    if stands != id {
        // Another request was quicker.
        for unused in app.store.delete_dataset(version.dataset).await? {
            files::remove(&app.store.files().dataset(unused))?;
        }
    }
    Ok(Ok(app.store.dataset_version(stands).await?))
}

fn describe(id: DatasetVersionId, summary: Summary) -> DatasetVersionRow {
    DatasetVersionRow {
        id,
        dataset: DatasetId::generate(),
        number: 1,
        sha256: summary.sha256,
        rows: summary.rows,
        bytes: summary.bytes,
        answers: summary.has_answer,
        completions: summary.has_completion,
        duplicates: summary.duplicates,
        columns: serde_json::json!(summary.columns),
        created_at: clock::now(),
    }
}

#[derive(Debug, thiserror::Error)]
enum ImportError {
    #[error(transparent)]
    Rows(#[from] DatasetError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Writes the rows in our form to `temporary` and checks them on the way; puts that file, or the source where they are
/// the same, to `target`. Blocks.
fn import(source: &Path, temporary: TemporaryFile, target: &Path) -> Result<Summary, ImportError> {
    let reading = |error| StoreError::io("reading", source, error);
    let writing = |error| StoreError::io("writing", temporary.path(), error);
    let limits = Limits::default();
    // A line that is longer is refused by the validator, which is given enough of it to see so.
    let longest = limits.max_row_bytes as u64 + 16;
    let mut reader = BufReader::with_capacity(1 << 18, File::open(source).map_err(reading)?);
    let mut writer = BufWriter::with_capacity(1 << 18, File::create(temporary.path()).map_err(writing)?);
    let mut validator = Validator::new(Columns::default(), limits);
    let (mut line, mut number, mut changed) = (Vec::new(), 0, false);
    loop {
        line.clear();
        if reader.by_ref().take(longest).read_until(b'\n', &mut line).map_err(reading)? == 0 {
            break;
        }
        number += 1;
        if let Some(row) = chat::convert(number, line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line))? {
            changed = true;
            line.clear();
            line.extend_from_slice(row.as_bytes());
            line.push(b'\n');
        }
        validator.feed(&line)?;
        writer.write_all(&line).map_err(writing)?;
    }
    let summary = validator.finish()?;
    let written = writer.into_inner().map_err(|error| writing(error.into_error()))?;
    written.sync_all().map_err(writing)?;
    if !changed {
        fs::remove_file(temporary.path()).map_err(writing)?;
        fs::hard_link(source, temporary.path()).map_err(|e| StoreError::io("linking", source, e))?;
    }
    temporary.publish(target)?;
    Ok(summary)
}
