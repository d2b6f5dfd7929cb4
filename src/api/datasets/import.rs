//! Data sets of files that were uploaded before (`/v1/files`, `/v1/uploads`): their rows are checked as those of a direct
//! upload are. Where no row has to change, the data set is the file itself under a second name.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use tokio::runtime::Handle;

use super::upload::{Origin, PREVIEW_ROWS, ReceivedRows, describe, publish, store_rows};
use crate::api::App;
use crate::api::blocking::blocking;
use crate::api::error::Problem;
use crate::dataset::forms::Form;
use crate::dataset::intake::{Incoming, Intake, Preview, Source};
use crate::dataset::jsonl::{Limits, Summary, Validator};
use crate::dataset::{Columns, DatasetError, chat};
use crate::job::DatasetId;
use crate::store::{DatasetVersionRow, Location, Place, Staged, StorageRoom, StoredFile, UploadedFileRow};

/// Makes a version of a file's rows, for a data set that is the caller's business.
pub async fn import(
    app: &App,
    dataset: DatasetId,
    intake: Intake,
    file: &UploadedFileRow,
) -> Result<(DatasetVersionRow, StorageRoom), Problem> {
    let origin = Origin::of(&intake);
    let (place, room) = (app.store.place().clone(), app.store.storage_room(file.bytes).await?);
    let (file, handle) = (file.clone(), Handle::current());
    let received = blocking({
        let file = file.clone();
        move || {
            let incoming = [Ok(incoming(&place, &file)?)];
            store_rows(&place, &intake, incoming.into_iter(), room, &handle)
        }
    });
    let ReceivedRows { rows, taken, room } = received.await??;
    let version = match origin.told(&taken) {
        origin @ Some(_) => publish(rows, dataset, taken.summary, origin).await?,
        None => {
            let version = describe(dataset, taken.summary, None);
            app.store.place().copy(&Location::file(file.id), &Location::dataset(version.id)).await?;
            version
        }
    };
    Ok((version, room))
}

/// How the first rows of a file would be read.
pub async fn preview_import(app: &App, intake: Intake, file: &UploadedFileRow) -> Result<Preview, Problem> {
    let (place, file) = (app.store.place().clone(), file.clone());
    let shown = blocking(move || -> io::Result<Preview> {
        let incoming = [Ok(incoming(&place, &file)?)];
        Ok(intake.preview(incoming.into_iter(), &|| place.scratch(), PREVIEW_ROWS))
    });
    Ok(shown.await??)
}

fn incoming(place: &Place, file: &UploadedFileRow) -> io::Result<Incoming> {
    let stream = place.read(&Location::file(file.id).holding(&file.sha256))?;
    let form = Form::of_name(&file.filename);
    Ok(Incoming { name: file.filename.clone(), form, source: Source::Stream(Box::new(stream)) })
}

/// Makes a version of the rows of a file of conversations as OpenAI's fine-tuning takes them, for a data set that is the
/// caller's business; an error within is one of the rows.
pub async fn import_conversations(
    app: &App,
    dataset: DatasetId,
    file: &UploadedFileRow,
) -> Result<Result<DatasetVersionRow, DatasetError>, Problem> {
    let (place, source) = (app.store.place(), Location::file(file.id).holding(&file.sha256));
    let writing = blocking({
        let (place, source) = (place.clone(), source.clone());
        move || write(&place, &source)
    });
    let (rows, summary) = match writing.await? {
        Ok(written) => written,
        Err(ImportError::Rows(error @ (DatasetError::Io { .. } | DatasetError::IndexOutOfRange { .. }))) => {
            return Err(error.into());
        }
        Err(ImportError::Rows(error)) => return Ok(Err(error)),
        Err(ImportError::Io(error)) => return Err(error.into()),
    };
    let version = describe(dataset, summary, None);
    let location = Location::dataset(version.id);
    match rows {
        Some(rows) => rows.publish(&location).await?,
        None => place.copy(&Location::file(file.id), &location).await?,
    }
    Ok(Ok(version))
}

#[derive(Debug, thiserror::Error)]
enum ImportError {
    #[error(transparent)]
    Rows(#[from] DatasetError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Checks the rows, and writes those that are converted in our form; there are none to keep where the source has that
/// form already. Blocks.
fn write(place: &Place, source: &StoredFile) -> Result<(Option<Staged>, Summary), ImportError> {
    let rows = place.stage();
    let mut writer = BufWriter::with_capacity(1 << 18, rows.create()?);
    let limits = Limits::default();
    // A line that is longer is refused by the validator, which is given enough of it to see so.
    let longest = limits.max_row_bytes as u64 + 16;
    let mut reader = BufReader::with_capacity(1 << 18, place.read(source)?);
    let mut validator = Validator::new(Columns::default(), limits);
    let (mut line, mut number, mut changed) = (Vec::new(), 0, false);
    loop {
        line.clear();
        if reader.by_ref().take(longest).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        number += 1;
        let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
        if let Some(row) = chat::convert(number, text)? {
            changed = true;
            line.clear();
            line.extend_from_slice(row.as_bytes());
            line.push(b'\n');
        }
        validator.feed(&line)?;
        writer.write_all(&line)?;
    }
    let summary = validator.finish()?;
    if !changed {
        return Ok((None, summary));
    }
    writer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok((Some(rows), summary))
}
