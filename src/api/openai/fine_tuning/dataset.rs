//! From what a request names as its training or validation file to a data set that jobs can use. A file becomes a data
//! set version once: the first job that uses it has its rows checked and put into our form, and the next ones share the
//! result. Where no row has to change, the data set is the file itself under a second name.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use crate::api::App;
use crate::api::blocking::blocking;
use crate::api::datasets::upload::describe;
use crate::api::error::Problem;
use crate::api::resolve::found;
use crate::dataset::jsonl::{Limits, Summary, Validator};
use crate::dataset::{self, Columns, DatasetError, Split, chat};
use crate::job::{DatasetId, DatasetVersionId, FieldError, FileId};
use crate::store::{DatasetVersionRow, Location, Place, Staged, StoredFile, UploadedFileRow};

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
    let (place, source) = (app.store.place(), Location::file(file.id).holding(&file.sha256));
    let importing = blocking({
        let (place, source) = (place.clone(), source.clone());
        move || import(&place, &source)
    });
    let (rows, summary) = match importing.await? {
        Ok(imported) => imported,
        Err(ImportError::Rows(error @ (DatasetError::Io { .. } | DatasetError::IndexOutOfRange { .. }))) => {
            return Err(error.into());
        }
        Err(ImportError::Rows(error)) => {
            return Ok(Err(FieldError::new(pointer, error.code(), error.to_string())));
        }
        Err(ImportError::Io(error)) => return Err(error.into()),
    };
    let version = describe(DatasetId::generate(), summary);
    let location = Location::dataset(version.id);
    match rows {
        Some(rows) => rows.publish(&location).await?,
        None => place.copy(&Location::file(file.id), &location).await?,
    }
    let metadata = BTreeMap::from([(String::from("file"), file.id.to_string())]);
    app.store.add_dataset(Some(&file.filename), &metadata, &version).await?;
    let stands = app.store.set_file_dataset(file.id, version.id).await?;
    if stands != version.id {
        // Another request was quicker.
        app.store.delete_dataset(version.dataset).await?;
    }
    Ok(Ok(app.store.dataset_version(stands).await?))
}

#[derive(Debug, thiserror::Error)]
enum ImportError {
    #[error(transparent)]
    Rows(#[from] DatasetError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes the rows in our form and checks them on the way; there are none to keep where the source has that form
/// already. Blocks.
fn import(place: &Place, source: &StoredFile) -> Result<(Option<Staged>, Summary), ImportError> {
    let rows = place.stage();
    let limits = Limits::default();
    // A line that is longer is refused by the validator, which is given enough of it to see so.
    let longest = limits.max_row_bytes as u64 + 16;
    let mut reader = BufReader::with_capacity(1 << 18, place.read(source)?);
    let mut writer = BufWriter::with_capacity(1 << 18, rows.create()?);
    let mut validator = Validator::new(Columns::default(), limits);
    let (mut line, mut number, mut changed) = (Vec::new(), 0, false);
    loop {
        line.clear();
        if reader.by_ref().take(longest).read_until(b'\n', &mut line)? == 0 {
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
        writer.write_all(&line)?;
    }
    let summary = validator.finish()?;
    writer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok((changed.then_some(rows), summary))
}
