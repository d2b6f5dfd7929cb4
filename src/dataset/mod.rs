//! Rows to train and to evaluate on: what a row is, where rows come from and what can be wrong with them.
//!
//! Rows are addressed by index, because a job walks them in an order that it derives from its seed and must find
//! the same row again after a resume. A file is validated once, while it is uploaded ([`jsonl::Validator`]), so that
//! a client learns of a broken row at once and not when a job reaches it; a job then reads rows one by one and
//! never holds the file in memory ([`jsonl::JsonlFile`]).
//!
//! Other forms become JSON lines while they are received ([`intake`]), and rows of other layouts become rows of ours.
//!
//! Rows may be held out ([`split`]), compared with one another and with others ([`check`]), and chosen among ([`filter`]).
//!
//! Left out: shuffling and batching (the engine's), storing files (the store's).

pub mod arithmetic;
pub mod builtin;
pub mod chat;
pub mod check;
pub mod filter;
pub mod forms;
pub mod grams;
pub mod index;
pub mod intake;
pub mod jsonl;
pub mod layout;
pub mod leakage;
mod lines;
pub mod map;
pub mod numbers;
mod random;
mod shaper;
pub mod split;
mod tally;
pub mod tasks;
pub mod words;

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use arithmetic::Arithmetic;
use jsonl::JsonlFile;
use split::SplitRule;
use tasks::TaskRows;

/// The column of a conversation, read where the prompt column has its default name and a row lacks it.
const MESSAGES_COLUMN: &str = "messages";

/// One turn of a conversation: `role`, `content`, and whatever else the model's chat template reads of it, as
/// `tool_calls` or `reasoning_content`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Message(Map<String, Value>);

impl Message {
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        let text = |text: String| Value::String(text);
        Self(Map::from_iter([("role".into(), text(role.into())), (CONTENT.into(), text(content.into()))]))
    }

    /// `system`, `user`, `assistant` or whatever else the model's chat template knows.
    pub fn role(&self) -> &str {
        self.0.get("role").and_then(Value::as_str).unwrap_or_default()
    }

    /// What is said; nothing where a message only calls tools.
    pub fn content(&self) -> Option<&str> {
        self.0.get(CONTENT).and_then(Value::as_str)
    }

    /// The same message with something else said.
    pub fn saying(&self, content: String) -> Self {
        let mut message = self.clone();
        message.0.insert(CONTENT.to_owned(), Value::String(content));
        message
    }
}

const CONTENT: &str = "content";
/// The column of the tools that a conversation may call.
const TOOLS_COLUMN: &str = "tools";

/// What the model is asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Prompt {
    /// Text that is put through the job's template or chat format.
    Text(String),
    /// A conversation, never empty; only models with a chat template can take it.
    Messages(Vec<Message>),
}

/// One row of a data set.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub prompt: Prompt,
    /// What verifiers compare completions with; some verifiers need none.
    pub answer: Option<String>,
    /// A reference completion, which supervised objectives learn from.
    pub completion: Option<String>,
    /// The whole row, so that verifiers can read columns of their own; shared by the completions of a group.
    pub fields: Arc<Map<String, Value>>,
}

/// Which column of a file plays which part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Columns {
    /// Text, or an array of `{role, content}`. Where it has its default name and a row lacks it, `messages` is read.
    pub prompt: String,
    /// Text, a number or a boolean; optional.
    pub answer: String,
    /// Text; optional.
    pub completion: String,
}

impl Default for Columns {
    fn default() -> Self {
        Self { prompt: "prompt".into(), answer: "answer".into(), completion: "completion".into() }
    }
}

/// Which part of a data set that is split, as built-ins are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    Train,
    Eval,
}

/// Rows from wherever they come. Reading a row takes `&self`, so that threads can share one data set.
///
/// A row is read by its number in the file, whichever part of the file the data set is; [`number`](Self::number) goes
/// through them.
#[derive(Debug)]
pub enum Dataset {
    Jsonl(JsonlFile),
    /// Some rows of others, by their numbers in ascending order.
    Part(Box<Dataset>, Vec<u32>),
    Arithmetic(Arithmetic),
    Task(TaskRows),
}

impl Dataset {
    /// Opens a file, or the rows of it that are on one side. The latter reads all rows. Blocks.
    pub fn open(
        path: impl AsRef<Path>,
        columns: Columns,
        side: Option<(&SplitRule, Split)>,
    ) -> Result<Self, DatasetError> {
        let file = JsonlFile::open(path, columns)?;
        let Some((rule, side)) = side else { return Ok(Self::Jsonl(file)) };
        let mut rows = Vec::new();
        for number in 0..file.len() {
            if rule.side(&file.row(number)?) == side {
                // A file has at most 2^27 rows.
                rows.push(number as u32);
            }
        }
        if rows.is_empty() { Err(DatasetError::Empty) } else { Ok(Self::Part(Box::new(Self::Jsonl(file)), rows)) }
    }

    /// Those of the rows that stand at some places, in ascending order.
    pub fn part(self, places: &[usize]) -> Self {
        // A data set has at most 2^27 rows.
        let numbers = places.iter().map(|place| self.number(*place) as u32).collect();
        match self {
            Self::Part(all, _) => Self::Part(all, numbers),
            whole => Self::Part(Box::new(whole), numbers),
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Jsonl(file) => file.len(),
            Self::Part(_, rows) => rows.len(),
            Self::Arithmetic(problems) => problems.len(),
            Self::Task(problems) => problems.len(),
        }
    }

    /// The number in its file of the row at place `index` of `0..len`.
    pub fn number(&self, index: usize) -> usize {
        match self {
            Self::Jsonl(_) | Self::Arithmetic(_) | Self::Task(_) => index,
            // Beyond the last there is no row by any number.
            Self::Part(_, rows) => rows.get(index).map_or(usize::MAX, |number| *number as usize),
        }
    }

    /// The place of the row with that number, if it is among these.
    pub fn place(&self, number: usize) -> Option<usize> {
        match self {
            Self::Jsonl(_) | Self::Arithmetic(_) | Self::Task(_) => (number < self.len()).then_some(number),
            Self::Part(_, rows) => rows.binary_search_by_key(&number, |row| *row as usize).ok(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row with a number, counted from 0.
    pub fn row(&self, index: usize) -> Result<Row, DatasetError> {
        match self {
            Self::Jsonl(file) => file.row(index),
            Self::Part(all, _) => all.row(index),
            Self::Arithmetic(problems) => problems.row(index),
            Self::Task(problems) => problems.row(index),
        }
    }
}

/// What is wrong with a data set. `row` is the line of the file, counted from 1 and with blank lines, as an editor
/// shows it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DatasetError {
    #[error("row {row}: not valid JSON: {detail}; every line must hold one whole JSON object")]
    InvalidJson { row: u64, detail: String },
    #[error(
        "row {row}: {found} instead of an object; every line must hold one JSON object such as {{\"prompt\": ...}}"
    )]
    NotObject { row: u64, found: &'static str },
    #[error("row {row}: no column `{column}`; {present}; name the column to use with `prompt_column=...`")]
    MissingColumn {
        row: u64,
        column: String,
        /// The columns that the row has, as a sentence.
        present: String,
    },
    #[error("row {row}: column `{column}` {detail}")]
    WrongType { row: u64, column: String, detail: String },
    #[error("row {row}: longer than {limit} bytes, the most that one row may have")]
    RowTooLong { row: u64, limit: usize },
    #[error("row {row}: not UTF-8 from byte {byte} of the line on; save the file as UTF-8")]
    NotUtf8 { row: u64, byte: usize },
    #[error("row {row}: more than {limit} rows, the most that one data set may have")]
    TooManyRows { row: u64, limit: u64 },
    #[error("row {row}: `{column}` cannot be made: {detail}; correct the map, or mark what may be missing with a `?`")]
    NotMapped { row: u64, column: String, detail: String },
    #[error("row {row}: not of the layout `{layout}`: {detail}")]
    OtherLayout { row: u64, layout: &'static str, detail: String },
    #[error("the file is {detail}")]
    OtherForm {
        /// What it is, and what to do about it.
        detail: String,
    },
    #[error("the file is packed with {packing} and cannot be unpacked: {detail}")]
    Packing {
        packing: &'static str,
        /// What it is, and what to do about it.
        detail: String,
    },
    #[error("the file has more than {limit} bytes when it is unpacked, the most that a data set may have; split it")]
    ExpandsTooFar { limit: u64 },
    #[error("row {row}: on line {line} of the file it has {fields} fields where there are {columns} columns; {hint}")]
    Ragged { row: u64, line: u64, fields: u64, columns: u64, hint: &'static str },
    #[error(
        "row {row}: a double quote opens a field on line {line} of the file, and none closes it where a field ends; close it, \
         and write a quote that is part of a text twice, within quotes"
    )]
    OpenQuote {
        /// 0 for the record that names the columns.
        row: u64,
        line: u64,
    },
    #[error("the first record of the file, which names the columns, {detail}; give each column a name of its own")]
    Header { detail: String },
    #[error("row {row}: the file is no whole array of JSON: {detail}")]
    Array { row: u64, detail: String },
    #[error("the file cannot be read as Parquet: {detail}")]
    Parquet { detail: String },
    #[error("the Parquet file takes too much memory to read: {detail}")]
    ParquetTooLarge { detail: String },
    #[error("{file}{}: {source}", .row.map_or_else(String::new, |row| format!(", its row {row}")))]
    InFile {
        file: String,
        /// Within the file; none where the error is of all of it.
        row: Option<u64>,
        source: Box<DatasetError>,
    },
    #[error(
        "no row has a value in `{column}`, by which the rows are to be split; {present}; name one of these in `by`, or keep the \
         column with the map, as `\"*\": \"*\"` does"
    )]
    NoSplitColumn {
        column: String,
        /// The columns that a row has, as a sentence.
        present: String,
    },
    #[error("the data set has no rows")]
    Empty,
    #[error("row index {index} is beyond the {rows} rows of the data set")]
    IndexOutOfRange { index: usize, rows: usize },
    #[error("could not {operation}")]
    Io {
        /// What was tried on which file, for example `open /data/rows.jsonl`.
        operation: String,
        source: Arc<std::io::Error>,
    },
}

impl DatasetError {
    /// Stable, machine-readable reason.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidJson { .. } => "row_invalid_json",
            Self::NotObject { .. } => "row_not_object",
            Self::MissingColumn { .. } => "row_missing_column",
            Self::WrongType { .. } => "row_wrong_type",
            Self::RowTooLong { .. } => "row_too_long",
            Self::NotUtf8 { .. } => "not_utf8",
            Self::TooManyRows { .. } => "too_many_rows",
            Self::NotMapped { .. } => "row_not_mapped",
            Self::OtherLayout { .. } => "row_other_layout",
            Self::OtherForm { .. } => "unknown_form",
            Self::Packing { .. } => "packing_broken",
            Self::ExpandsTooFar { .. } => "expands_too_far",
            Self::Ragged { .. } => "csv_ragged_row",
            Self::OpenQuote { .. } => "csv_open_quote",
            Self::Header { .. } => "csv_header",
            Self::Array { .. } => "json_array_broken",
            Self::Parquet { .. } => "parquet_unreadable",
            Self::ParquetTooLarge { .. } => "parquet_too_large",
            Self::InFile { source, .. } => source.code(),
            Self::NoSplitColumn { .. } => "split_column_missing",
            Self::Empty => "dataset_empty",
            Self::IndexOutOfRange { .. } => "row_index_out_of_range",
            Self::Io { .. } => "io",
        }
    }

    /// The line, counted from 1, where the error is about one.
    pub fn row(&self) -> Option<u64> {
        match self {
            Self::InvalidJson { row, .. }
            | Self::NotObject { row, .. }
            | Self::MissingColumn { row, .. }
            | Self::WrongType { row, .. }
            | Self::RowTooLong { row, .. }
            | Self::NotUtf8 { row, .. }
            | Self::TooManyRows { row, .. }
            | Self::NotMapped { row, .. }
            | Self::OtherLayout { row, .. }
            | Self::Ragged { row, .. }
            | Self::OpenQuote { row, .. }
            | Self::Array { row, .. } => Some(*row),
            Self::InFile { row, .. } => *row,
            Self::OtherForm { .. }
            | Self::Packing { .. }
            | Self::ExpandsTooFar { .. }
            | Self::Header { .. }
            | Self::Parquet { .. }
            | Self::ParquetTooLarge { .. }
            | Self::NoSplitColumn { .. }
            | Self::Empty
            | Self::IndexOutOfRange { .. }
            | Self::Io { .. } => None,
        }
    }

    /// The same, said of a row by who knows which it is.
    fn in_row(self, number: u64) -> Self {
        match self {
            Self::RowTooLong { limit, .. } => Self::RowTooLong { row: number, limit },
            Self::WrongType { column, detail, .. } => Self::WrongType { row: number, column, detail },
            Self::Parquet { detail } => Self::Parquet { detail: format!("{detail} (at row {number})") },
            other => other,
        }
    }
}

impl Row {
    /// The tools that its conversation may call, as chat templates take them.
    pub fn tools(&self) -> Option<&Value> {
        self.fields.get(TOOLS_COLUMN).filter(|tools| tools.as_array().is_some_and(|tools| !tools.is_empty()))
    }

    /// The number in a column, or that a text there wholly is.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.fields.get(column).and_then(numbers::number)?.as_f64()
    }

    /// Reads line `row` of a file, counted from 1.
    fn parse(row: u64, line: &[u8], columns: &Columns) -> Result<Self, DatasetError> {
        let text =
            str::from_utf8(line).map_err(|error| DatasetError::NotUtf8 { row, byte: error.valid_up_to() + 1 })?;
        let fields = read_fields(row, text)?;
        let wrong = |column: &str, detail: String| DatasetError::WrongType { row, column: column.to_owned(), detail };

        let (column, prompt) = prompt_column(&fields, columns).ok_or_else(|| DatasetError::MissingColumn {
            row,
            column: columns.prompt.clone(),
            present: present_columns(&fields),
        })?;
        let prompt = read_prompt(prompt).map_err(|detail| wrong(column, detail))?;
        let answer = read_answer(fields.get(&columns.answer)).map_err(|detail| wrong(&columns.answer, detail))?;
        let completion = read_completion(fields.get(&columns.completion));
        let completion = completion.map_err(|detail| wrong(&columns.completion, detail))?;
        Ok(Self { prompt, answer, completion, fields: Arc::new(fields) })
    }
}

/// The columns of a row, before anything is known of them.
fn read_fields(row: u64, text: &str) -> Result<Map<String, Value>, DatasetError> {
    let value: Value = serde_json::from_str(text).map_err(|error| {
        // The position that serde_json appends counts lines within this line.
        let detail = error.to_string();
        let reason = detail.rsplit_once(" at line ").map_or(detail.as_str(), |(reason, _)| reason);
        let is_table = !text.trim_ascii_start().starts_with(['{', '[', '"']);
        let hint = if is_table { "; if the file is CSV or TSV, say so with `form=csv` or `form=tsv`" } else { "" };
        DatasetError::InvalidJson { row, detail: format!("{reason} (column {}){hint}", error.column()) }
    })?;
    match value {
        Value::Object(fields) => Ok(fields),
        other => Err(DatasetError::NotObject { row, found: kind(&other) }),
    }
}

fn prompt_column<'a>(fields: &'a Map<String, Value>, columns: &Columns) -> Option<(&'a String, &'a Value)> {
    let is_default = columns.prompt == Columns::default().prompt;
    fields
        .get_key_value(&columns.prompt)
        .or_else(|| if is_default { fields.get_key_value(MESSAGES_COLUMN) } else { None })
}

fn read_prompt(value: &Value) -> Result<Prompt, String> {
    match value {
        Value::String(text) if text.is_empty() => Err("is empty; a prompt needs some text".into()),
        Value::String(text) => Ok(Prompt::Text(text.clone())),
        Value::Array(items) if items.is_empty() => Err("is an empty array; a conversation needs a message".into()),
        Value::Array(items) => read_messages(items).map(Prompt::Messages),
        other => Err(format!("holds {}; a prompt is text or an array of {{role, content}}", kind(other))),
    }
}

/// Reads the messages of a conversation; an error names the message.
pub fn read_messages(items: &[Value]) -> Result<Vec<Message>, String> {
    items.iter().enumerate().map(|(i, item)| read_message(i, item)).collect()
}

fn read_message(index: usize, item: &Value) -> Result<Message, String> {
    let text = |name: &str| match item.get(name) {
        Some(Value::String(_)) => Ok(()),
        Some(other) => Err(format!("message {index}: `{name}` is {}; it must be text", kind(other))),
        None => Err(format!("message {index}: no `{name}`; a message is {{role, content}}")),
    };
    text("role")?;
    let calls = item.get("tool_calls").and_then(Value::as_array).is_some_and(|calls| !calls.is_empty());
    if !(calls && item.get(CONTENT).is_none_or(Value::is_null)) {
        text(CONTENT)?;
    }
    Ok(Message(item.as_object().cloned().unwrap_or_default()))
}

fn read_answer(value: Option<&Value>) -> Result<Option<String>, String> {
    /// From here on, not every integer has a 64-bit floating point number of its own.
    const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Bool(truth)) => Ok(Some(truth.to_string())),
        Some(Value::Number(number)) => {
            if number.is_f64() && number.as_f64().is_none_or(|value| value.abs() >= LARGEST_EXACT) {
                return Err("holds a number too large to be kept exactly; write it as text".into());
            }
            Ok(Some(number.to_string()))
        }
        Some(other) => Err(format!("holds {}; an answer is text, a number or a boolean", kind(other))),
    }
}

fn read_completion(value: Option<&Value>) -> Result<Option<String>, String> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(format!("holds {}; a completion is text", kind(other))),
    }
}

/// The columns of a row as a sentence of bounded length.
fn present_columns(fields: &Map<String, Value>) -> String {
    if fields.is_empty() { "the row has no columns".into() } else { format!("the row has {}", named(fields.keys())) }
}

/// Columns as a message names them: not all of many, and not all of a long name.
pub fn named<'a>(columns: impl ExactSizeIterator<Item = &'a String>) -> String {
    const MOST_NAMED: usize = 20;
    const LONGEST_NAME: usize = 60;
    let more = columns.len().saturating_sub(MOST_NAMED);
    let named: Vec<String> = columns
        .take(MOST_NAMED)
        .map(|name| format!("`{}`", name.chars().take(LONGEST_NAME).collect::<String>()))
        .collect();
    let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{rest}", named.join(", "))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A row of a file with the default columns.
    pub fn row(line: &str) -> Row {
        Row::parse(1, line.as_bytes(), &Columns::default()).unwrap()
    }

    #[test]
    fn a_data_set_can_be_shared_between_threads() {
        fn shareable<T: Send + Sync>() {}
        shareable::<Dataset>();
    }

    #[test]
    fn columns_have_defaults_and_refuse_unknown_parts() {
        let columns: Columns = serde_json::from_str(r#"{"prompt": "question"}"#).unwrap();
        assert_eq!(columns, Columns { prompt: "question".into(), ..Columns::default() });
        assert!(serde_json::from_str::<Columns>(r#"{"promt": "question"}"#).is_err());
    }
}
