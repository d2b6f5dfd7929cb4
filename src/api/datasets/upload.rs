//! Receives a JSON Lines body: streamed to disk and validated on the way, never held in memory. Nothing remains of
//! an upload that is cut off or has a broken row.

use axum::body::BodyDataStream;
use axum::http::StatusCode;
use futures_util::StreamExt;
use serde::Deserialize;
use tokio::io::AsyncWriteExt;
use utoipa::IntoParams;

use crate::api::App;
use crate::api::error::Problem;
use crate::api::extract::{StreamedBody, drain};
use crate::clock;
use crate::dataset::Columns;
use crate::dataset::jsonl::{Limits, Summary, Validator};
use crate::job::{DatasetId, DatasetVersionId};
use crate::store::{DatasetVersionRow, Location, Staged, StorageRoom};

/// Which columns play which part.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ColumnParams {
    /// Column with the prompt: text, or an array of `{role, content}`. Default `prompt`, or else `messages`.
    pub prompt_column: Option<String>,
    /// Column with the expected answer. Default `answer`.
    pub answer_column: Option<String>,
    /// Column with a completion to learn from (`sft`). Default `completion`.
    pub completion_column: Option<String>,
}

impl ColumnParams {
    pub fn columns(self) -> Columns {
        let default = Columns::default();
        Columns {
            prompt: self.prompt_column.unwrap_or(default.prompt),
            answer: self.answer_column.unwrap_or(default.answer),
            completion: self.completion_column.unwrap_or(default.completion),
        }
    }
}

/// Rows that were received and checked, with their place in what the project may store.
pub struct ReceivedRows {
    pub rows: Staged,
    pub summary: Summary,
    pub room: StorageRoom,
}

/// Stores a body as a file of the data set and describes it; the row is the caller's business.
pub async fn receive(
    app: &App,
    dataset: DatasetId,
    columns: ColumnParams,
    body: StreamedBody,
) -> Result<(DatasetVersionRow, StorageRoom), Problem> {
    let received = receive_rows(app, columns.columns(), body).await?;
    Ok((publish(received.rows, dataset, received.summary).await?, received.room))
}

/// Receives a body into a file of its own and checks it; nothing remains of one that is refused.
pub async fn receive_rows(app: &App, columns: Columns, body: StreamedBody) -> Result<ReceivedRows, Problem> {
    let StreamedBody { mut chunks, length } = body;
    let limit = app.settings.max_upload_bytes;
    let received = async {
        if length > limit {
            return Err(too_large(limit));
        }
        let (rows, room) = (app.store.place().stage(), app.store.storage_room(length).await?);
        let (summary, room) = stream_to(&rows, columns, limit, room, &mut chunks).await?;
        Ok::<_, Problem>(ReceivedRows { rows, summary, room })
    }
    .await;
    if received.is_err() {
        drain(&mut chunks).await;
    }
    received
}

/// Gives checked rows their place and describes them.
pub async fn publish(rows: Staged, dataset: DatasetId, summary: Summary) -> Result<DatasetVersionRow, Problem> {
    let version = describe(dataset, summary);
    rows.publish(&Location::dataset(version.id)).await?;
    Ok(version)
}

/// A new version, which is the first of its data set unless the store knows better.
pub fn describe(dataset: DatasetId, summary: Summary) -> DatasetVersionRow {
    DatasetVersionRow {
        id: DatasetVersionId::generate(),
        dataset,
        number: 1,
        sha256: summary.sha256,
        rows: summary.rows,
        bytes: summary.bytes,
        answers: summary.has_answer,
        completions: summary.has_completion,
        duplicates: summary.duplicates,
        columns: serde_json::json!(summary.columns),
        filled: summary.filled,
        created_at: clock::now(),
    }
}

/// What becomes of an upload that is larger than allowed.
pub fn too_large(limit: u64) -> Problem {
    let detail = format!("the upload is larger than {limit} bytes; raise max_upload_bytes or split the file");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "upload_too_large", detail)
}

async fn stream_to(
    rows: &Staged,
    columns: Columns,
    limit: u64,
    mut room: StorageRoom,
    chunks: &mut BodyDataStream,
) -> Result<(Summary, StorageRoom), Problem> {
    let mut file = rows.writer().await?;
    let mut validator = Validator::new(columns, Limits::default());
    let mut bytes = 0_u64;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| {
            Problem::bad_request("upload_incomplete", format!("the upload was cut off: {error}; send it again"))
        })?;
        bytes += chunk.len() as u64;
        if bytes > limit {
            return Err(too_large(limit));
        }
        room.take(chunk.len() as u64).await?;
        validator.feed(&chunk)?;
        file.write_all(&chunk).await?;
    }
    let summary = validator.finish()?;
    file.flush().await?;
    file.sync_all().await?;
    Ok((summary, room))
}
