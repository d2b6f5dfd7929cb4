//! Tables in Parquet, which are written while they are sent: what pandas, Polars and DuckDB read without a schema.

use std::io::{self, BufRead, BufReader, Write};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::SendTimeoutError;

use super::blocking::apart;
use crate::store::{Place, StoredFile};

/// Rows of a group, and about how many bytes of them.
const GROUP_ROWS: usize = 4096;
const GROUP_BYTES: usize = 8 << 20;
/// Bytes that are sent at once, and how many of these may wait.
const CHUNK: usize = 256 << 10;
const WAITING: usize = 4;
/// A client that takes nothing for so long is gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a column holds; all but lists may be null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Integer,
    Number,
    Text,
    Integers,
    Numbers,
}

/// A value in a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Null,
    Integer(i64),
    Number(f64),
    Text(String),
    Integers(Vec<i64>),
    Numbers(Vec<f64>),
}

impl Cell {
    pub fn of<T>(value: Option<T>, cell: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Null, cell)
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Null | Self::Integer(_) | Self::Number(_) => 8,
            Self::Text(text) => text.len(),
            Self::Integers(all) => 8 * all.len(),
            Self::Numbers(all) => 8 * all.len(),
        }
    }
}

/// The names and kinds of a table's columns.
pub type Columns = &'static [(&'static str, Kind)];

/// A table in the making.
pub struct Table<W: Write + Send> {
    columns: Columns,
    writer: SerializedFileWriter<W>,
    rows: Vec<Vec<Cell>>,
    bytes: usize,
}

impl<W: Write + Send> Table<W> {
    pub fn new(columns: Columns, out: W) -> io::Result<Self> {
        let schema = parse_message_type(&schema(columns)).map_err(io::Error::other)?;
        let compression = Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(compression).build();
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties));
        Ok(Self { columns, writer: writer.map_err(io::Error::other)?, rows: Vec::new(), bytes: 0 })
    }

    /// Adds a row, which has a cell for each column.
    pub fn push(&mut self, row: Vec<Cell>) -> io::Result<()> {
        self.bytes += row.iter().map(Cell::bytes).sum::<usize>();
        self.rows.push(row);
        if self.rows.len() >= GROUP_ROWS || self.bytes >= GROUP_BYTES { self.write() } else { Ok(()) }
    }

    /// Ends the table; gives back what it was written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.write()?;
        self.writer.into_inner().map_err(io::Error::other)
    }

    fn write(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        if rows.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group().map_err(io::Error::other)?;
        for (place, (_, kind)) in self.columns.iter().enumerate() {
            column(&mut group, *kind, rows.iter().map(|row| &row[place])).map_err(io::Error::other)?;
        }
        group.close().map_err(io::Error::other)?;
        Ok(())
    }
}

/// The message type of a table, in Parquet's notation.
fn schema(columns: Columns) -> String {
    let list = |name: &str, of: &str| {
        format!("required group {name} (list) {{ repeated group list {{ required {of} element; }} }}\n")
    };
    let column = |(name, kind): &(&str, Kind)| match kind {
        Kind::Integer => format!("optional int64 {name};\n"),
        Kind::Number => format!("optional double {name};\n"),
        Kind::Text => format!("optional binary {name} (utf8);\n"),
        Kind::Integers => list(name, "int64"),
        Kind::Numbers => list(name, "double"),
    };
    format!("message rows {{\n{}}}", columns.iter().map(column).collect::<String>())
}

/// Writes the cells of a column.
fn column<'a, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    kind: Kind,
    cells: impl Iterator<Item = &'a Cell>,
) -> ParquetResult<()> {
    let (mut integers, mut numbers, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut defined, mut repeated): (Vec<i16>, Vec<i16>) = (Vec::new(), Vec::new());
    for cell in cells {
        let before = integers.len() + numbers.len() + texts.len();
        match cell {
            Cell::Null => {}
            Cell::Integer(value) => integers.push(*value),
            Cell::Number(value) => numbers.push(*value),
            Cell::Text(text) => texts.push(ByteArray::from(text.as_str())),
            Cell::Integers(all) => integers.extend(all),
            Cell::Numbers(all) => numbers.extend(all),
        }
        let added = integers.len() + numbers.len() + texts.len() - before;
        // A null, or a list without members, takes a place as well.
        defined.extend(std::iter::repeat_n(i16::from(added > 0), added.max(1)));
        repeated.extend((0..added.max(1)).map(|number| i16::from(number > 0)));
    }
    let repeated = matches!(kind, Kind::Integers | Kind::Numbers).then_some(&repeated[..]);
    match kind {
        Kind::Integer | Kind::Integers => batch::<Int64Type, W>(group, &integers, &defined, repeated),
        Kind::Number | Kind::Numbers => batch::<DoubleType, W>(group, &numbers, &defined, repeated),
        Kind::Text => batch::<ByteArrayType, W>(group, &texts, &defined, repeated),
    }
}

fn batch<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    defined: &[i16],
    repeated: Option<&[i16]>,
) -> ParquetResult<()> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, Some(defined), repeated)?;
        column.close()?;
    }
    Ok(())
}

/// Answers with a table for which `fill` has the rows; it reads files, and waits for the client, on a thread of its own.
pub fn answer(
    name: &str,
    columns: Columns,
    fill: impl FnOnce(&mut Table<Sender>) -> io::Result<()> + Send + 'static,
) -> Response {
    let (out, parts) = mpsc::channel(WAITING);
    let sender = Sender { out: out.clone(), waiting: Vec::new(), runtime: Handle::current() };
    tokio::spawn(async move {
        let work = move || -> io::Result<()> {
            let mut table = Table::new(columns, sender)?;
            fill(&mut table)?;
            table.finish()?.flush()
        };
        if let Err(error) = apart(work).await.and_then(|written| written)
            && !out.is_closed()
        {
            tracing::warn!(%error, "a table could not be sent to its end");
            // It cuts the answer off, so that it is not taken for the whole.
            out.send_timeout(Err(error), PATIENCE).await.ok();
        }
    });
    let parts = stream::unfold(parts, |mut parts| async move { Some((parts.recv().await?, parts)) });
    with_headers(name, Body::from_stream(parts))
}

/// Answers with a table of the lines of a stored file, a row each.
pub fn answer_lines<T: DeserializeOwned + 'static>(
    name: &str,
    columns: Columns,
    (place, file): (Place, StoredFile),
    row: impl Fn(T) -> Vec<Cell> + Send + 'static,
) -> Response {
    answer(name, columns, move |table| {
        for line in BufReader::new(place.read(&file)?).lines() {
            table.push(row(serde_json::from_str(&line?)?))?;
        }
        Ok(())
    })
}

/// Answers with a table that is there.
pub fn with_headers(name: &str, body: Body) -> Response {
    let name = format!("attachment; filename=\"{name}\"");
    let headers =
        [(header::CONTENT_TYPE, "application/vnd.apache.parquet"), (header::CONTENT_DISPOSITION, name.as_str())];
    (headers, body).into_response()
}

/// Sends what is written to it.
pub struct Sender {
    out: mpsc::Sender<io::Result<Bytes>>,
    waiting: Vec<u8>,
    runtime: Handle,
}

impl Write for Sender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= CHUNK {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let part = Bytes::from(std::mem::take(&mut self.waiting));
        let sent = self.runtime.block_on(self.out.send_timeout(Ok(part), PATIENCE));
        sent.map_err(|error| match error {
            SendTimeoutError::Timeout(_) => io::Error::from(io::ErrorKind::TimedOut),
            SendTimeoutError::Closed(_) => io::Error::from(io::ErrorKind::BrokenPipe),
        })
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::*;

    const COLUMNS: Columns = &[
        ("step", Kind::Integer),
        ("reward", Kind::Number),
        ("text", Kind::Text),
        ("tokens", Kind::Integers),
        ("logprobs", Kind::Numbers),
    ];

    fn row(number: i64) -> Vec<Cell> {
        let is_odd = number % 2 == 1;
        vec![
            Cell::Integer(number),
            if is_odd { Cell::Null } else { Cell::Number(number as f64 / 4.0) },
            if is_odd { Cell::Text(format!("ä{number}")) } else { Cell::Null },
            Cell::Integers((0..number % 4).collect()),
            Cell::Numbers(vec![-0.5; (number % 3) as usize]),
        ]
    }

    #[test]
    fn rows_come_back_with_their_nulls_and_lists_over_several_groups() {
        let mut table = Table::new(COLUMNS, Vec::new()).unwrap();
        let count = GROUP_ROWS as i64 + 7;
        (0..count).for_each(|number| table.push(row(number)).unwrap());
        let file = SerializedFileReader::new(Bytes::from(table.finish().unwrap())).unwrap();
        assert_eq!(file.metadata().num_row_groups(), 2);
        let mut seen = 0;
        for (number, read) in file.get_row_iter(None).unwrap().enumerate() {
            let fields: Vec<Field> = read.unwrap().into_columns().into_iter().map(|(_, field)| field).collect();
            let list = |field: &Field| match field {
                Field::ListInternal(list) => list.elements().to_vec(),
                other => panic!("{other}"),
            };
            let expected = row(number as i64);
            assert_eq!(fields[0], Field::Long(number as i64));
            assert_eq!(fields[1], if number % 2 == 1 { Field::Null } else { Field::Double(number as f64 / 4.0) });
            assert_eq!(fields[2], if number % 2 == 1 { Field::Str(format!("ä{number}")) } else { Field::Null });
            let Cell::Integers(tokens) = &expected[3] else { panic!() };
            assert_eq!(list(&fields[3]), tokens.iter().map(|token| Field::Long(*token)).collect::<Vec<_>>());
            assert_eq!(list(&fields[4]), vec![Field::Double(-0.5); number % 3]);
            seen += 1;
        }
        assert_eq!(seen, count);
    }

    #[test]
    fn a_table_without_rows_has_its_columns() {
        let bytes = Table::new(COLUMNS, Vec::new()).unwrap().finish().unwrap();
        let file = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
        assert_eq!(file.metadata().file_metadata().num_rows(), 0);
        assert_eq!(file.metadata().file_metadata().schema_descr().num_columns(), 5);
    }
}
