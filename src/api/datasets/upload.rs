//! Receives bodies with rows: checked, and made into JSON Lines, on the way to the disk, and never held in memory. Nothing
//! remains of an upload that is cut off or has a broken row.

use std::io::{self, BufWriter, Write};

use axum::http::{HeaderMap, header};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use utoipa::{IntoParams, ToSchema};

use super::stream::{Feed, feed, too_large};
use crate::api::App;
use crate::api::blocking::apart;
use crate::api::error::Problem;
use crate::api::extract::{StreamedBody, drain, word};
use crate::clock;
use crate::dataset::forms::{Form, Packing};
use crate::dataset::intake::{Incoming, Intake, Preview, Source, Taken};
use crate::dataset::jsonl::{Limits, Summary};
use crate::dataset::layout::Layout;
use crate::dataset::map::ColumnMap;
use crate::dataset::{Columns, DatasetError};
use crate::job::{DatasetId, DatasetVersionId};
use crate::store::{DatasetVersionRow, Location, Place, Staged, StorageRoom};

/// Rows that a preview shows.
pub const PREVIEW_ROWS: usize = 10;
const BUFFER_BYTES: usize = 256 << 10;

/// How a file becomes rows.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct IntakeParams {
    /// How the rows are written: `jsonl`, `json` (one array), `csv`, `tsv` or `parquet`. By default what `Content-Type`
    /// says, else the end of `filename`, else the first bytes. That a file is packed with gzip or zstd is always seen.
    #[param(max_length = 20, example = "csv")]
    pub form: Option<String>,
    /// The name of the file, whose end says its form.
    #[param(max_length = 255, example = "train.csv.gz")]
    pub filename: Option<String>,
    /// How the columns make rows: `rows` (as they are), `chat`, `sharegpt`, `alpaca` or `gsm8k`. By default the first row says
    /// it where it cannot be mistaken.
    #[param(max_length = 20, example = "alpaca")]
    pub layout: Option<String>,
    /// What the columns of a row are made of, as a JSON object: names, templates such as `{question}`, or lists and objects of
    /// templates. `"*": "*"` keeps the others.
    #[param(
        max_length = 4000,
        example = r#"{"prompt": "{question}\nAnswer with a number.", "answer": "answer.value"}"#
    )]
    pub map: Option<String>,
    /// Column with the prompt: text, or an array of `{role, content}`. Default `prompt`, or else `messages`.
    pub prompt_column: Option<String>,
    /// Column with the expected answer. Default `answer`.
    pub answer_column: Option<String>,
    /// Column with a completion to learn from (`sft`). Default `completion`.
    pub completion_column: Option<String>,
    /// Rows to hold out: `eval:0.05`, by the words of their prompts, or `eval:0.05,by:COLUMN`. A row stays on its side in all
    /// versions. By default as in the newest version; `eval:0` holds out none.
    #[param(max_length = 300, example = "eval:0.05")]
    pub split: Option<String>,
    /// `preview` stores nothing, and answers how the first rows would be read.
    pub dry_run: Option<DatasetDryRun>,
}

/// What is done instead of storing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DatasetDryRun {
    /// Shows the first rows as they came and as they would be stored.
    Preview,
}

impl IntakeParams {
    /// What is asked for, within the limits of this server.
    pub fn intake(&self, app: &App) -> Result<Intake, Problem> {
        let map = self.map.as_deref().map(ColumnMap::parse).transpose();
        let map = map.map_err(|error| Problem::bad_request("invalid_parameter", format!("`map` {error}")))?;
        let default = Columns::default();
        let column = |named: &Option<String>, default: String| named.clone().unwrap_or(default);
        Ok(Intake {
            form: word::<Form>("form", self.form.clone())?,
            layout: word::<Layout>("layout", self.layout.clone())?,
            map,
            columns: Columns {
                prompt: column(&self.prompt_column, default.prompt),
                answer: column(&self.answer_column, default.answer),
                completion: column(&self.completion_column, default.completion),
            },
            limits: Limits::default(),
            max_bytes: app.settings.max_upload_bytes,
        })
    }

    /// The form of a body that nobody named: what its media type says, else its name.
    pub fn hint(&self, headers: &HeaderMap) -> Option<Form> {
        let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let by_name = || self.filename.as_deref().and_then(Form::of_name);
        media_type.and_then(Form::of_media_type).or_else(by_name)
    }
}

/// Rows that were received and checked, with their place in what the project may store.
pub struct ReceivedRows {
    pub rows: Staged,
    pub taken: Taken,
    pub room: StorageRoom,
}

/// Stores a body as a file of the data set and describes it; the row is the caller's business.
pub async fn receive(
    app: &App,
    dataset: DatasetId,
    intake: Intake,
    hint: Option<Form>,
    body: StreamedBody,
) -> Result<(DatasetVersionRow, StorageRoom), Problem> {
    let origin = Origin::of(&intake);
    let received = receive_rows(app, intake, hint, body).await?;
    let origin = origin.told(&received.taken);
    Ok((publish(received.rows, dataset, received.taken.summary, origin).await?, received.room))
}

/// Receives a body into a file of its own and checks it; nothing remains of one that is refused.
pub async fn receive_rows(
    app: &App,
    intake: Intake,
    hint: Option<Form>,
    body: StreamedBody,
) -> Result<ReceivedRows, Problem> {
    let StreamedBody { mut chunks, length } = body;
    let limit = app.settings.max_upload_bytes;
    let received = async {
        if length > limit {
            return Err(too_large(limit));
        }
        let room = app.store.storage_room(length).await?;
        let (stream, feed) = feed(limit);
        let place = app.store.place().clone();
        let work = take_in(place, intake, incoming(hint, stream), room);
        fed(feed, &mut chunks, work).await?
    }
    .await;
    if received.is_err() {
        drain(&mut chunks).await;
    }
    received
}

/// What the first rows of a body would become.
pub async fn preview(app: &App, intake: Intake, hint: Option<Form>, body: StreamedBody) -> Result<Preview, Problem> {
    let StreamedBody { mut chunks, length } = body;
    let limit = app.settings.max_upload_bytes;
    let shown = async {
        if length > limit {
            return Err(too_large(limit));
        }
        let (stream, feed) = feed(limit);
        let place = app.store.place().clone();
        let work = apart(move || {
            let files = [Ok(incoming(hint, stream))];
            intake.preview(files.into_iter(), &|| place.scratch(), PREVIEW_ROWS)
        });
        fed(feed, &mut chunks, work).await
    }
    .await;
    drain(&mut chunks).await;
    shown
}

/// Hands a body on to what is done with it beside. Of a body that was cut off, that is what is told.
async fn fed<T>(
    feed: Feed,
    chunks: &mut axum::body::BodyDataStream,
    work: impl Future<Output = io::Result<T>>,
) -> Result<T, Problem> {
    let (fed, worked) = tokio::join!(feed.all(chunks), work);
    fed?;
    Ok(worked?)
}

fn incoming(form: Option<Form>, stream: impl io::Read + Send + 'static) -> Incoming {
    Incoming { name: String::from("body"), form, source: Source::Stream(Box::new(stream)) }
}

/// Takes one file in on a thread of its own, which may wait for who sends it.
async fn take_in(
    place: Place,
    intake: Intake,
    file: Incoming,
    room: StorageRoom,
) -> io::Result<Result<ReceivedRows, Problem>> {
    let handle = Handle::current();
    apart(move || store_rows(&place, &intake, [Ok(file)].into_iter(), room, &handle)).await
}

/// Writes what files hold as one file of rows. Blocks.
pub fn store_rows(
    place: &Place,
    intake: &Intake,
    files: impl Iterator<Item = Result<Incoming, DatasetError>> + Send,
    mut room: StorageRoom,
    handle: &Handle,
) -> Result<ReceivedRows, Problem> {
    let rows = place.stage();
    let mut file = BufWriter::with_capacity(BUFFER_BYTES, rows.create()?);
    // What is wrong here, and not with the rows.
    let mut failure = None;
    let taken = intake.take(files, &|| place.scratch(), &mut |bytes| {
        let stored = handle.block_on(room.take(bytes.len() as u64)).map_err(Problem::from);
        let stored = stored.and_then(|()| file.write_all(bytes).map_err(Problem::from));
        stored.map_err(|problem| {
            failure = Some(problem);
            DatasetError::Empty
        })
    });
    if let Some(problem) = failure {
        return Err(problem);
    }
    let taken = taken?;
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok(ReceivedRows { rows, taken, room })
}

/// What is noted of where rows come from.
#[derive(Clone, Debug)]
pub struct Origin {
    map: Option<Value>,
}

impl Origin {
    pub fn of(intake: &Intake) -> Self {
        Self { map: intake.map.as_ref().map(|map| map.said().clone()) }
    }

    /// Nothing for JSON Lines that came as they are.
    pub fn told(self, taken: &Taken) -> Option<Value> {
        let as_they_are = taken.form == Form::Jsonl && taken.packing == Packing::Plain && taken.layout == Layout::Rows;
        if as_they_are && self.map.is_none() { None } else { Some(self.always(taken)) }
    }

    /// Form, packing, layout and map.
    pub fn always(self, taken: &Taken) -> Value {
        json!({"form": taken.form, "packing": taken.packing, "layout": taken.layout, "map": self.map})
    }
}

/// Gives checked rows their place and describes them.
pub async fn publish(
    rows: Staged,
    dataset: DatasetId,
    summary: Summary,
    origin: Option<Value>,
) -> Result<DatasetVersionRow, Problem> {
    let version = describe(dataset, summary, origin);
    rows.publish(&Location::dataset(version.id)).await?;
    Ok(version)
}

/// A new version, which is the first of its data set unless the store knows better.
pub fn describe(dataset: DatasetId, summary: Summary, origin: Option<Value>) -> DatasetVersionRow {
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
        columns: json!(summary.columns),
        filled: summary.filled,
        origin,
        split: None,
        held_out: 0,
        parent: None,
        made: None,
        created_at: clock::now(),
    }
}
