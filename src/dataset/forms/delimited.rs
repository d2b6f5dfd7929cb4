//! CSV and TSV: records with the names of the columns in the first one, as RFC 4180 and spreadsheets write them.
//!
//! Every value is text, and an empty field is null: nothing is taken for a number by its looks. Columns without a name, as
//! pandas writes its index, are left out. Lines may end in CR LF, fields may hold line ends in quotes, and a byte order mark
//! is skipped. A quote that opens a field and is never closed would take the rest of the file into it, so that the end of the
//! file within quotes is an error.

use std::cell::Cell;
use std::collections::HashSet;
use std::io::{self, Read};
use std::rc::Rc;

use csv::{ByteRecord, ErrorKind, ReaderBuilder};

use super::{CHUNK_BYTES, failure, skip_mark};
use crate::dataset::DatasetError;

const MOST_COLUMNS: usize = 4096;
/// At a time.
const BUFFER_BYTES: usize = 64 << 10;

/// Hands each record on as a line of JSON.
pub fn lines(
    bytes: impl Read,
    delimiter: u8,
    max_row_bytes: usize,
    take: &mut dyn FnMut(&[u8]) -> Result<(), DatasetError>,
) -> Result<(), DatasetError> {
    let allowance = max_row_bytes.saturating_add(2 * BUFFER_BYTES);
    let left = Rc::new(Cell::new(allowance));
    let open = Rc::new(Cell::new(false));
    let (bytes, quotes) = (skip_mark(bytes)?, Quotes::new(delimiter));
    let bounded = Bounded { bytes, left: Rc::clone(&left), limit: max_row_bytes, quotes, open: Rc::clone(&open) };
    let mut reader = ReaderBuilder::new();
    let reader = reader.delimiter(delimiter).has_headers(false).buffer_capacity(BUFFER_BYTES);
    let mut reader = reader.from_reader(bounded);
    let mut record = ByteRecord::new();
    if !reader.read_byte_record(&mut record).map_err(|error| wrong(error, 0))? {
        return Ok(());
    }
    if open.get() {
        return Err(open_quote(&record, 0));
    }
    let names = names(&record)?;
    let mut text = Vec::with_capacity(2 * CHUNK_BYTES);
    let mut row = 0;
    loop {
        left.set(allowance);
        row += 1;
        let written = match reader.read_byte_record(&mut record) {
            _ if open.get() => Err(open_quote(&record, row)),
            Ok(true) => write_row(&names, &record, row, &mut text),
            Ok(false) => break,
            Err(error) => Err(spanning(wrong(error, row), &record)),
        };
        if let Err(error) = written {
            take(&text)?;
            return Err(error);
        }
        if text.len() >= CHUNK_BYTES {
            take(&text)?;
            text.clear();
        }
    }
    take(&text)
}

/// Each column's name as JSON with its colon; none for one without a name.
fn names(record: &ByteRecord) -> Result<Vec<Option<Vec<u8>>>, DatasetError> {
    let refused = |detail: String| DatasetError::Header { detail };
    if record.len() > MOST_COLUMNS {
        return Err(refused(format!("has {} columns, and at most {MOST_COLUMNS} are read", record.len())));
    }
    let mut seen = HashSet::new();
    let mut names = Vec::with_capacity(record.len());
    for (index, name) in record.iter().enumerate() {
        let name = str::from_utf8(name)
            .map_err(|error| DatasetError::NotUtf8 { row: 1, byte: error.valid_up_to() + 1 })?
            .trim();
        if name.is_empty() {
            names.push(None);
            continue;
        }
        if !seen.insert(name.to_owned()) {
            let name: String = name.chars().take(60).collect();
            return Err(refused(format!("names `{name}` twice, the second time in column {}", index + 1)));
        }
        let mut text = Vec::new();
        write_text(&mut text, name);
        text.push(b':');
        names.push(Some(text));
    }
    if seen.is_empty() {
        return Err(refused(String::from("names no column")));
    }
    Ok(names)
}

fn write_row(names: &[Option<Vec<u8>>], record: &ByteRecord, row: u64, text: &mut Vec<u8>) -> Result<(), DatasetError> {
    let mut before = b'{';
    for (name, field) in names.iter().zip(record.iter()) {
        let Some(name) = name else { continue };
        text.push(before);
        before = b',';
        text.extend_from_slice(name);
        if field.is_empty() {
            text.extend_from_slice(b"null");
            continue;
        }
        let field =
            str::from_utf8(field).map_err(|error| DatasetError::NotUtf8 { row, byte: error.valid_up_to() + 1 })?;
        write_text(text, field);
    }
    text.extend_from_slice(b"}\n");
    Ok(())
}

/// Text as JSON.
pub(super) fn write_text(into: &mut Vec<u8>, text: &str) {
    // Writing to memory does not fail, and text is always JSON.
    if serde_json::to_writer(&mut *into, text).is_err() {
        into.extend_from_slice(b"\"\"");
    }
}

/// What is wrong with record `row`, where the header is 0.
fn wrong(error: csv::Error, row: u64) -> DatasetError {
    let detail = error.to_string();
    match error.into_kind() {
        ErrorKind::Io(error) => failure(error).in_row(row.max(1)),
        ErrorKind::UnequalLengths { pos, expected_len, len } => DatasetError::Ragged {
            row,
            line: pos.map_or(0, |position| position.line()),
            fields: len,
            columns: expected_len,
            hint: "put fields that hold the delimiter or a line end in double quotes",
        },
        _ => DatasetError::Header { detail },
    }
}

/// A record with other fields than columns and a field of several lines has probably lost a quote.
fn spanning(error: DatasetError, record: &ByteRecord) -> DatasetError {
    match error {
        DatasetError::Ragged { row, line, fields, columns, .. } if memchr::memchr(b'\n', record.as_slice()).is_some() => {
            let hint = "a field in double quotes goes on over a line end, so that a quote may be missing or one too many";
            DatasetError::Ragged { row, line, fields, columns, hint }
        }
        other => other,
    }
}

/// The last record of a file that ends within quotes: its last field is the one that was opened.
fn open_quote(record: &ByteRecord, row: u64) -> DatasetError {
    let fields = record.len().saturating_sub(1);
    let line_ends = |field: &[u8]| memchr::memchr_iter(b'\n', field).count() as u64;
    let before: u64 = record.iter().take(fields).map(line_ends).sum();
    DatasetError::OpenQuote { row, line: record.position().map_or(0, csv::Position::line) + before }
}

/// Reads on until a record has taken more than its allowance: a quote that is not closed would otherwise make one field of
/// whatever follows.
struct Bounded<R> {
    bytes: R,
    left: Rc<Cell<usize>>,
    limit: usize,
    quotes: Quotes,
    /// Set at the end of a file that ends within quotes. Only who reads the last record sees it, because there is nothing
    /// behind it.
    open: Rc<Cell<bool>>,
}

/// Follows quotes as the reader of records takes them: one that begins a field opens, two in quotes are one of the text, and
/// one within a field without quotes is text.
struct Quotes {
    delimiter: u8,
    inside: bool,
    /// The last byte that was seen.
    last: u8,
    /// Whether it closed a field.
    closed: bool,
}

impl Quotes {
    fn new(delimiter: u8) -> Self {
        Self { delimiter, inside: false, last: b'\n', closed: false }
    }

    fn pass(&mut self, chunk: &[u8]) {
        let Some(&last) = chunk.last() else { return };
        // Behind the quote that closed, or 0 where that was the byte before the chunk.
        let mut again = self.closed.then_some(0);
        for at in memchr::memchr_iter(b'"', chunk) {
            if self.inside {
                self.inside = false;
                again = Some(at + 1);
                continue;
            }
            let before = at.checked_sub(1).map_or(self.last, |before| chunk[before]);
            let begins = before == self.delimiter || matches!(before, b'\n' | b'\r');
            self.inside = begins || again == Some(at);
        }
        (self.last, self.closed) = (last, again == Some(chunk.len()));
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(chunk)?;
        self.quotes.pass(&chunk[..count]);
        self.open.set(count == 0 && self.quotes.inside);
        match self.left.get().checked_sub(count) {
            Some(left) => self.left.set(left),
            // The caller knows the row.
            None => return Err(io::Error::other(DatasetError::RowTooLong { row: 0, limit: self.limit })),
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::super::Form;
    use super::super::tests::text_of;
    use super::*;

    fn rows(form: Form, text: &str) -> Result<Vec<Value>, DatasetError> {
        let text = text_of(form, text.as_bytes(), 1 << 20)?;
        Ok(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    #[test]
    fn quotes_marks_and_line_ends_are_read_as_spreadsheets_write_them() {
        let text = "\u{feff}prompt,answer\r\n\"a, \"\"b\"\"\nc\",1\r\n\r\nd,\r\n";
        let expected = [json!({"prompt": "a, \"b\"\nc", "answer": "1"}), json!({"prompt": "d", "answer": null})];
        assert_eq!(rows(Form::Csv, text).unwrap(), expected);
        assert_eq!(rows(Form::Tsv, "prompt\tanswer\na,b\t1\n").unwrap(), [json!({"prompt": "a,b", "answer": "1"})]);
        assert_eq!(rows(Form::Csv, ",prompt\n0,a\n1,b").unwrap(), [json!({"prompt": "a"}), json!({"prompt": "b"})]);
        assert_eq!(rows(Form::Csv, "prompt\n").unwrap(), Vec::<Value>::new());
        assert_eq!(rows(Form::Csv, "").unwrap(), Vec::<Value>::new());
    }

    #[test]
    fn a_ragged_row_is_named_with_its_line() {
        let error = rows(Form::Csv, "prompt,answer\n\"a\nb\",1\nc,2,3\n").unwrap_err();
        assert_eq!((error.code(), error.row()), ("csv_ragged_row", Some(2)));
        let text = error.to_string();
        assert!(text.contains("line 4") && text.contains("3 fields") && text.contains("2 columns"), "{text}");
    }

    #[test]
    fn lines_are_counted_with_carriage_returns() {
        let error = rows(Form::Csv, "prompt,answer\r\n\"a\r\nb\",1\r\nc,2,3\r\n").unwrap_err();
        assert!(error.to_string().contains("line 4"), "{error}");
        let error = rows(Form::Csv, "prompt,answer\r\n\"a\r\nb\",1\r\nc,\"2\r\nd,3\r\n").unwrap_err();
        assert!(error.to_string().contains("line 4"), "{error}");
    }

    #[test]
    fn a_quote_that_is_never_closed_is_named_and_takes_no_rows_along() {
        for (text, row, line) in [
            ("answer,prompt\n1,a\n2,\"b\n3,c\n4,d\n", 2, 3),
            ("prompt,answer\na,1\n\"b,2\nc,3\n", 2, 3),
            ("prompt\na\n\"b\nc\n", 2, 3),
            ("prompt,answer\n\"a\nb\",\"1\nc,2", 1, 3),
            ("prompt,\"answer\na,1\n", 0, 1),
            ("prompt\n\"", 1, 2),
            ("prompt\n\"a\"\"", 1, 2),
        ] {
            let error = rows(Form::Csv, text).unwrap_err();
            assert_eq!((error.code(), error.row()), ("csv_open_quote", Some(row)), "{text}");
            assert!(error.to_string().contains(&format!("line {line}")), "{text}: {error}");
        }
        let error = rows(Form::Csv, "prompt,answer\na,1\n\"b,2\nc,3\n\"d\",4\n").unwrap_err();
        assert_eq!((error.code(), error.row()), ("csv_ragged_row", Some(2)));
        assert!(error.to_string().contains("a quote may be missing"), "{error}");
        for text in ["prompt\n\"\"", "prompt\na\"", "prompt\n\"a\"x\"\n", "prompt,x\na\"\",\"b\"", "prompt\n\"\"\"\"\n"] {
            assert!(rows(Form::Csv, text).is_ok(), "{text}");
        }
    }

    #[test]
    fn headers_that_name_nothing_or_one_thing_twice_are_refused() {
        for text in ["a,a\n1,2", ",\n1,2"] {
            assert_eq!(rows(Form::Csv, text).unwrap_err().code(), "csv_header", "{text}");
        }
    }

    #[test]
    fn a_quote_without_end_does_not_collect_the_file() {
        let text = format!("prompt\na\n\"{}", "x,\n".repeat(1 << 20));
        let error = rows(Form::Csv, &text).unwrap_err();
        assert_eq!((error.code(), error.row()), ("row_too_long", Some(2)));
    }

    #[test]
    fn what_is_not_utf8_is_named() {
        let error = text_of(Form::Csv, b"prompt\na\n\xff\n", 100).unwrap_err();
        assert_eq!((error.code(), error.row()), ("not_utf8", Some(2)));
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_read(fields in prop::collection::vec((".{0,8}", "[ab,\"\n\r]{0,4}"), 1..6)) {
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(["x", "y"]).unwrap();
            fields.iter().for_each(|(x, y)| writer.write_record([x, y]).unwrap());
            let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
            let value = |text: &str| if text.is_empty() { Value::Null } else { Value::from(text) };
            let expected: Vec<Value> = fields
                .iter()
                .map(|(x, y)| Value::from(Map::from_iter([("x".to_owned(), value(x)), ("y".to_owned(), value(y))])))
                .collect();
            prop_assert_eq!(rows(Form::Csv, &text).unwrap(), expected);
        }

        /// What the reader of records holds a quote for, ours does too: with the quote closed there is the same record.
        #[test]
        fn quotes_are_followed_as_the_reader_does(text in "[a,\"\n\r]{0,12}") {
            let mut quotes = Quotes::new(b',');
            text.as_bytes().chunks(3).for_each(|chunk| quotes.pass(chunk));
            let records = |text: &str| {
                let mut reader = ReaderBuilder::new();
                let mut reader = reader.has_headers(false).flexible(true).from_reader(text.as_bytes());
                reader.byte_records().map(|record| record.unwrap().iter().map(<[u8]>::to_vec).collect()).collect()
            };
            let (whole, more): (Vec<Vec<Vec<u8>>>, Vec<Vec<Vec<u8>>>) = (records(&text), records(&format!("{text}\nend")));
            // Only within quotes does a line end not end a record.
            let inside = more.last().is_none_or(|last| last != &[b"end".to_vec()]);
            prop_assert_eq!(quotes.inside, inside, "{:?} {:?}", whole, more);
        }
    }
}
