//! Data sets of files that were uploaded before (`/v1/files`, `/v1/uploads`): their rows are checked as those of a direct
//! upload are. Where no row has to change, the data set is the file itself under a second name.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use super::upload::describe;
use crate::api::App;
use crate::api::blocking::blocking;
use crate::api::error::Problem;
use crate::dataset::jsonl::{Limits, Summary, Validator};
use crate::dataset::{Columns, DatasetError, chat};
use crate::job::DatasetId;
use crate::store::{DatasetVersionRow, Location, Place, Staged, StoredFile, UploadedFileRow};

/// Makes a version of a file's rows, for a data set that is the caller's business; an error within is one of the rows.
/// `converts` says that conversations as OpenAI's fine-tuning takes them become rows.
pub async fn import(
    app: &App,
    dataset: DatasetId,
    columns: Columns,
    converts: bool,
    file: &UploadedFileRow,
) -> Result<Result<DatasetVersionRow, DatasetError>, Problem> {
    let (place, source) = (app.store.place(), Location::file(file.id).holding(&file.sha256));
    let writing = blocking({
        let (place, source) = (place.clone(), source.clone());
        move || write(&place, &source, columns, converts)
    });
    let (rows, summary) = match writing.await? {
        Ok(written) => written,
        Err(ImportError::Rows(error @ (DatasetError::Io { .. } | DatasetError::IndexOutOfRange { .. }))) => {
            return Err(error.into());
        }
        Err(ImportError::Rows(error)) => return Ok(Err(error)),
        Err(ImportError::Io(error)) => return Err(error.into()),
    };
    let version = describe(dataset, summary);
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
fn write(
    place: &Place,
    source: &StoredFile,
    columns: Columns,
    converts: bool,
) -> Result<(Option<Staged>, Summary), ImportError> {
    let mut kept = None;
    if converts {
        let rows = place.stage();
        let writer = BufWriter::with_capacity(1 << 18, rows.create()?);
        kept = Some((rows, writer));
    }
    let limits = Limits::default();
    // A line that is longer is refused by the validator, which is given enough of it to see so.
    let longest = limits.max_row_bytes as u64 + 16;
    let mut reader = BufReader::with_capacity(1 << 18, place.read(source)?);
    let mut validator = Validator::new(columns, limits);
    let (mut line, mut number, mut changed) = (Vec::new(), 0, false);
    loop {
        line.clear();
        if reader.by_ref().take(longest).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        number += 1;
        let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
        if let Some(row) = if converts { chat::convert(number, text)? } else { None } {
            changed = true;
            line.clear();
            line.extend_from_slice(row.as_bytes());
            line.push(b'\n');
        }
        validator.feed(&line)?;
        if let Some((_, writer)) = &mut kept {
            writer.write_all(&line)?;
        }
    }
    let summary = validator.finish()?;
    let Some((rows, writer)) = kept.filter(|_| changed) else { return Ok((None, summary)) };
    writer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok((Some(rows), summary))
}
