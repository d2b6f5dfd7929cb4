//! From what a request names as its training or validation file to a data set that jobs can use. A file becomes a data
//! set version once: the first job that uses it has its rows checked and put into our form, and the next ones share the
//! result. Where no row has to change, the data set is the file itself under a second name.

use std::collections::BTreeMap;

use crate::api::App;
use crate::api::datasets::import::import_conversations;
use crate::api::error::Problem;
use crate::api::resolve::found;
use crate::dataset::Split;
use crate::dataset::builtin::{self, BuiltinSet};
use crate::job::{DatasetId, DatasetVersionId, FieldError, FileId};
use crate::store::{DatasetVersionRow, UploadedFileRow};

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
    if reference.starts_with(builtin::PREFIX) {
        let set = reference.parse::<BuiltinSet>();
        let rows = set.map(|set| Rows { name: set.to_string(), count: set.open(split).len() as u64 });
        return Ok(rows.map_err(|error| FieldError::new(pointer, error.code(), error.to_string())));
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
    let version = match import_conversations(app, DatasetId::generate(), &file).await? {
        Ok(version) => version,
        Err(error) => return Ok(Err(FieldError::new(pointer, error.code(), error.to_string()))),
    };
    let metadata = BTreeMap::from([(String::from("file"), file.id.to_string())]);
    app.store.add_dataset(Some(&file.filename), &metadata, &version).await?;
    let stands = app.store.set_file_dataset(file.id, version.id).await?;
    if stands != version.id {
        // Another request was quicker.
        app.store.delete_dataset(version.dataset).await?;
    }
    Ok(Ok(app.store.dataset_version(stands).await?))
}
