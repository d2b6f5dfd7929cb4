//! `POST /v1/datasets/{id}/append`

use std::io::{self, Read, Write};
use std::sync::Arc;

use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::DatasetVersion;
use super::given::Given;
use super::preview::DatasetPreview;
use super::splits;
use super::stream::too_large;
use super::upload::{DatasetDryRun, IntakeParams, Origin, ReceivedRows, publish, receive_rows};
use crate::api::App;
use crate::api::access::Access;
use crate::api::blocking::blocking;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::{Id, Params, StreamedBody};
use crate::dataset::Columns;
use crate::dataset::jsonl::{Limits, Summary, Validator};
use crate::job::DatasetId;
use crate::store::{Location, Place, Staged, StorageRoom, StoredFile};

/// How often rows are put behind a version that turns out not to be the newest any more.
const ATTEMPTS: usize = 10;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const CHUNK: usize = 1 << 18;

/// Append rows to a data set
///
/// Makes a version with the rows of the newest one and those of the body behind them, read with the same columns and split
/// in the same way. An error names the row of the body, and nothing is kept of a body with a broken one. Form, layout and map
/// are those of a new data set; the columns cannot be named anew. Of several appends at the same
/// time none loses its rows. The whole may not become larger than an upload.
#[utoipa::path(
    post,
    path = "/v1/datasets/{id}/append",
    tag = "datasets",
    params(("id" = String, Path, description = "The data set"), IntakeParams),
    request_body(content = String, description = "The file with the rows", content_type = "application/jsonl"),
    responses(
        (status = 200, description = "What `dry_run` shows", body = DatasetPreview),
        (status = 201, body = DatasetVersion),
        (status = 400, description = "A parameter is unknown, or the upload was cut off", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such data set", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "Too many others append at the same time", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A row is broken, or there is none", body = ProblemBody, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn append_to_dataset(
    Access(app): Access,
    Id(id): Id<DatasetId>,
    Params(how): Params<IntakeParams>,
    headers: HeaderMap,
    body: StreamedBody,
) -> Result<Response, Problem> {
    let columns = app.store.dataset(id).await?.latest.columns;
    let mut intake = how.intake(&app)?;
    if intake.columns != Columns::default() {
        let detail = "an append reads the columns of the data set; leave `prompt_column` and its like out";
        return Err(Problem::bad_request("invalid_parameter", detail));
    }
    if how.split.is_some() {
        let detail = "an append is split as the data set is; leave `split` out";
        return Err(Problem::bad_request("invalid_parameter", detail));
    }
    intake.columns = serde_json::from_value(columns).map_err(io::Error::other)?;
    if how.dry_run == Some(DatasetDryRun::Preview) {
        return Given::Body(body, how.hint(&headers)).preview(&app, intake).await;
    }
    let origin = Origin::of(&intake);
    let ReceivedRows { rows, taken, mut room } = receive_rows(&app, intake, how.hint(&headers), body).await?;
    let version = append(&app, id, rows.into(), origin.always(&taken), &mut room).await?;
    Ok((StatusCode::CREATED, Json(version)).into_response())
}

/// Puts received rows behind the newest version, whichever that is by the time they are.
async fn append(
    app: &App,
    id: DatasetId,
    rows: Arc<Staged>,
    mut origin: Value,
    room: &mut StorageRoom,
) -> Result<DatasetVersion, Problem> {
    let mut before = 0;
    for _ in 0..ATTEMPTS {
        let latest = app.store.dataset(id).await?.latest;
        // What was there is stored once more.
        room.take(latest.bytes.saturating_sub(before)).await?;
        before = before.max(latest.bytes);
        let (rule, parent, parent_rows) = (splits::kept(&latest)?, latest.id, latest.rows);
        let columns: Columns = serde_json::from_value(latest.columns).map_err(io::Error::other)?;
        let place = app.store.place().clone();
        let (first, second) = (Location::dataset(latest.id).holding(&latest.sha256), Arc::clone(&rows));
        let whole = Concatenation { place, first, second, limit: app.settings.max_upload_bytes };
        let written = blocking(move || whole.write(columns)).await?;
        let (whole, summary) = written?;
        origin["appended_to"] = json!(parent.to_string());
        let mut version = publish(whole, id, summary, Some(origin.clone())).await?;
        splits::split(app, &mut version, rule).await?;
        version.parent = Some(parent);
        version.made = Some(json!({"append": {"rows": version.rows - parent_rows}}));
        let added = app.store.add_dataset_version_after(&version, latest.number).await;
        if !matches!(added, Ok(true)) {
            app.store.place().remove(&Location::dataset(version.id)).await;
        }
        if added? {
            return Ok(app.store.dataset_version(version.id).await?.into());
        }
    }
    let detail = "others keep appending to the data set; try again in a moment";
    Err(Problem::new(StatusCode::CONFLICT, "dataset_busy", detail))
}

/// Two files of rows that become one.
struct Concatenation {
    place: Place,
    first: StoredFile,
    second: Arc<Staged>,
    /// Most bytes of the whole.
    limit: u64,
}

impl Concatenation {
    /// Writes the whole, checking it on the way. Blocks.
    fn write(&self, columns: Columns) -> Result<(Staged, Summary), Problem> {
        let whole = self.place.stage();
        let mut target = whole.create()?;
        let mut validator = Validator::new(columns, Limits::default());
        let mut bytes = 0;
        let mut add = |chunk: &[u8]| -> Result<(), Problem> {
            bytes += chunk.len() as u64;
            if bytes > self.limit {
                return Err(too_large(self.limit));
            }
            validator.feed(chunk)?;
            Ok(target.write_all(chunk)?)
        };
        if copy(self.place.read(&self.first)?, false, &mut add)? != b'\n' {
            add(b"\n")?;
        }
        // Only the beginning of a file may have a byte order mark.
        copy(self.second.read()?, true, &mut add)?;
        target.sync_all()?;
        Ok((whole, validator.finish()?))
    }
}

/// Hands a file on, without its byte order mark where `strip` says so, and returns its last byte.
fn copy(mut file: impl Read, strip: bool, add: &mut impl FnMut(&[u8]) -> Result<(), Problem>) -> Result<u8, Problem> {
    let mut chunk = vec![0; CHUNK];
    let (mut begin, mut last) = (strip, b'\n');
    loop {
        let count = fill(&mut file, &mut chunk)?;
        let text = &chunk[..count];
        let text = text.strip_prefix(BYTE_ORDER_MARK).filter(|_| begin).unwrap_or(text);
        if count == 0 {
            return Ok(last);
        }
        add(text)?;
        (begin, last) = (false, chunk[count - 1]);
    }
}

/// Reads as much as there is room for, so that a mark at the beginning is never torn apart.
fn fill(file: &mut impl Read, chunk: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while count < chunk.len() {
        match file.read(&mut chunk[count..]) {
            Ok(0) => break,
            Ok(read) => count += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}
