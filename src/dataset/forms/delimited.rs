//! CSV and TSV: records with the names of the columns in the first one, as RFC 4180 and spreadsheets write them. CSV may have
//! semicolons or tabs in the place of commas.
//!
//! Every value is text, and an empty field is null: nothing is taken for a number by its looks. Columns without a name, as
//! pandas writes its index, are left out. Lines may end in CR LF, fields may hold line ends in quotes, and a byte order mark
//! is skipped. A quote that opens a field and is never closed would take the rest of the file into it, so that the end of the
//! file within quotes is an error.

use std::cell::Cell;
use std::collections::HashSet;
use std::io::{self, Read};
use std::rc::Rc;

use csv::{ByteRecord, ErrorKind, Position, ReaderBuilder};

use super::{CHUNK_BYTES, failure, skip_mark};
use crate::dataset::DatasetError;

const MOST_COLUMNS: usize = 4096;
/// At a time.
const BUFFER_BYTES: usize = 64 << 10;

/// The delimiter of CSV, which its first record shows: a comma, or else the semicolons or tabs that stand there without one.
/// Spreadsheets write semicolons where a comma is part of numbers.
pub fn delimiter(mut bytes: impl Read) -> Result<(u8, impl Read), DatasetError> {
    let mut head = Vec::new();
    (&mut bytes).take(BUFFER_BYTES as u64).read_to_end(&mut head).map_err(failure)?;
    let delimiter = delimiter_of(&head);
    Ok((delimiter, io::Cursor::new(head).chain(bytes)))
}

fn delimiter_of(head: &[u8]) -> u8 {
    let (mut inside, mut begun, mut semicolons, mut tabs) = (false, false, false, false);
    for byte in head {
        match byte {
            b'"' => inside = !inside,
            _ if inside => {}
            b'\n' | b'\r' if begun => break,
            b',' => return b',',
            b';' => semicolons = true,
            b'\t' => tabs = true,
            _ => {}
        }
        begun = begun || !matches!(byte, b'\n' | b'\r');
    }
    match (semicolons, tabs) {
        (true, false) => b';',
        (false, true) => b'\t',
        _ => b',',
    }
}

/// Hands each record on as a line of JSON.
pub fn lines(
    bytes: impl Read,
    delimiter: u8,
    max_row_bytes: usize,
    take: &mut dyn FnMut(&[u8]) -> Result<(), DatasetError>,
) -> Result<(), DatasetError> {
    let seen = Rc::new(Seen::new(max_row_bytes));
    let bounded =
        Bounded { bytes: skip_mark(bytes)?, quotes: Quotes::new(delimiter), ends: false, seen: Rc::clone(&seen) };
    let mut reader = ReaderBuilder::new();
    let reader = reader.delimiter(delimiter).has_headers(false).buffer_capacity(BUFFER_BYTES);
    let mut reader = reader.from_reader(bounded);
    let mut record = ByteRecord::new();
    let mut names: Option<Names> = None;
    let mut text = Vec::with_capacity(2 * CHUNK_BYTES);
    for row in 0.. {
        seen.begin();
        let read = reader.read_byte_record(&mut record);
        let place = || seen.place(reader.position(), &record);
        let written = match read {
            Err(error) if !seen.open.get() => Err(wrong(error, row, &record, place())),
            _ if seen.lost_quote(reader.position()) => Err(open_quote(row, &seen, place(), &record)),
            Ok(true) => match &names {
                Some(names) => write_row(names, &record, row, &mut text),
                None => {
                    names = Some(read_names(&record)?);
                    Ok(())
                }
            },
            _ => break,
        };
        if let Err(error) = written {
            // The rows before it may be wrong as well, and the first error is the one to tell.
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
type Names = Vec<Option<Vec<u8>>>;

fn read_names(record: &ByteRecord) -> Result<Names, DatasetError> {
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
    let (begun, mut before) = (text.len(), b'{');
    for (name, field) in names.iter().zip(record.iter()) {
        let Some(name) = name else { continue };
        text.push(before);
        before = b',';
        text.extend_from_slice(name);
        if field.is_empty() {
            text.extend_from_slice(b"null");
            continue;
        }
        match str::from_utf8(field) {
            Ok(field) => write_text(text, field),
            Err(error) => {
                text.truncate(begun);
                return Err(DatasetError::NotUtf8 { row, byte: error.valid_up_to() + 1 });
            }
        }
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

/// What is wrong with record `row`, which begins on `line`; the one with the names is 0.
fn wrong(error: csv::Error, row: u64, record: &ByteRecord, line: u64) -> DatasetError {
    let detail = error.to_string();
    match error.into_kind() {
        ErrorKind::Io(error) => failure(error).in_row(row.max(1)),
        ErrorKind::UnequalLengths { expected_len: columns, len: fields, .. } => {
            let hint = if line_ends(record) > 0 {
                "a field in double quotes goes on over a line end, so that a quote may be missing, or be one too many"
            } else {
                "put fields that hold the delimiter or a line end in double quotes"
            };
            DatasetError::Ragged { row, line, fields, columns, hint }
        }
        _ => DatasetError::Header { detail },
    }
}

/// A record of which a quote took more than its field. Where it took the rest of the file, that is the last field.
fn open_quote(row: u64, seen: &Seen, line: u64, record: &ByteRecord) -> DatasetError {
    let last = record.iter().next_back().map_or(0, |field| memchr::memchr_iter(b'\n', field).count() as u64);
    let before = if seen.open.get() { line_ends(record) - last } else { 0 };
    DatasetError::OpenQuote { row, line: line + before }
}

fn line_ends(record: &ByteRecord) -> u64 {
    memchr::memchr_iter(b'\n', record.as_slice()).count() as u64
}

/// What the reader of bytes tells the reader of records.
struct Seen {
    max_row_bytes: usize,
    /// Bytes that the record may still take.
    left: Cell<usize>,
    /// Whether the file has ended within quotes. Only who reads the last record sees that, because nothing is behind it.
    open: Cell<bool>,
    /// Where a field of several lines first goes on behind the quote that should end it.
    stray: Cell<Option<u64>>,
    /// Whether a line feed ends the records: behind a carriage return it is left to the next one.
    line_feeds: Cell<bool>,
}

impl Seen {
    fn new(max_row_bytes: usize) -> Self {
        let (left, open, stray) = (Cell::default(), Cell::default(), Cell::default());
        Self { max_row_bytes, left, open, stray, line_feeds: Cell::new(true) }
    }

    /// Begins a record.
    fn begin(&self) {
        self.left.set(self.max_row_bytes.saturating_add(2 * BUFFER_BYTES));
    }

    /// Whether the record that ends there has a quote that is not closed where it should be.
    fn lost_quote(&self, end: &Position) -> bool {
        self.open.get() || self.stray.get().is_some_and(|stray| stray < end.byte())
    }

    /// The line on which a record begins that ends there.
    fn place(&self, end: &Position, record: &ByteRecord) -> u64 {
        let own = u64::from(self.line_feeds.get() && !self.open.get());
        end.line().saturating_sub(line_ends(record) + own).max(1)
    }
}

/// Reads on until a record has taken more than its allowance: a quote that is not closed would otherwise make one field of
/// whatever follows.
struct Bounded<R> {
    bytes: R,
    quotes: Quotes,
    /// Whether the end of a line was seen.
    ends: bool,
    seen: Rc<Seen>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(chunk)?;
        if !self.ends
            && let Some(end) = memchr::memchr2(b'\r', b'\n', &chunk[..count])
        {
            self.ends = true;
            self.seen.line_feeds.set(chunk[end] == b'\n');
        }
        self.quotes.pass(&chunk[..count]);
        self.seen.stray.set(self.quotes.stray);
        if count == 0 {
            self.seen.open.set(self.quotes.inside);
            // The last record may have no end.
            self.seen.line_feeds.set(self.seen.line_feeds.get() && self.quotes.last == b'\n');
        }
        match self.seen.left.get().checked_sub(count) {
            Some(left) => self.seen.left.set(left),
            // The caller knows the row.
            None => return Err(io::Error::other(DatasetError::RowTooLong { row: 0, limit: self.seen.max_row_bytes })),
        }
        Ok(count)
    }
}

/// Follows quotes as the reader of records takes them: one that begins a field opens, two in quotes are one of the text, and
/// one within a field without quotes is text.
struct Quotes {
    delimiter: u8,
    inside: bool,
    /// Bytes that were seen.
    read: u64,
    /// The last of them.
    last: u8,
    /// Whether it closed a field.
    closed: bool,
    /// Whether the field that was opened last has a line end.
    spans: bool,
    /// Where such a field goes on behind its quotes, which means that others were meant.
    stray: Option<u64>,
}

impl Quotes {
    fn new(delimiter: u8) -> Self {
        Self { delimiter, inside: false, read: 0, last: b'\n', closed: false, spans: false, stray: None }
    }

    fn pass(&mut self, chunk: &[u8]) {
        let Some(&last) = chunk.last() else { return };
        if self.closed && chunk[0] != b'"' {
            self.close(0, chunk[0]);
        }
        // Behind the quote that closed, or 0 where that was the byte before the chunk.
        let mut again = self.closed.then_some(0);
        // Where the field that is open begins.
        let mut opened = 0;
        for at in memchr::memchr_iter(b'"', chunk) {
            if self.inside {
                self.inside = false;
                self.spans = self.spans || memchr::memchr(b'\n', &chunk[opened..at]).is_some();
                again = Some(at + 1);
                if let Some(&next) = chunk.get(at + 1).filter(|next| **next != b'"') {
                    self.close(at + 1, next);
                }
                continue;
            }
            let before = at.checked_sub(1).map_or(self.last, |before| chunk[before]);
            let goes_on = again == Some(at);
            if goes_on || self.ends(before) {
                self.inside = true;
                self.spans = self.spans && goes_on;
                opened = at;
            }
        }
        if self.inside {
            self.spans = self.spans || memchr::memchr(b'\n', &chunk[opened..]).is_some();
        }
        (self.last, self.closed) = (last, again == Some(chunk.len()));
        self.read += chunk.len() as u64;
    }

    /// Whether a byte ends a field.
    fn ends(&self, byte: u8) -> bool {
        byte == self.delimiter || matches!(byte, b'\n' | b'\r')
    }

    /// Behind a quote that closed a field stands `next`.
    fn close(&mut self, at: usize, next: u8) {
        if self.spans && !self.ends(next) {
            self.stray.get_or_insert(self.read + at as u64);
        }
        self.spans = false;
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
    fn the_first_record_shows_the_delimiter() {
        let row = json!({"prompt": "a,b", "answer": "1"});
        for text in ["prompt;answer\na,b;1\n", "\u{feff}\"prompt\";answer\r\na,b;1\n", "prompt\tanswer\na,b\t1\n"] {
            assert_eq!(rows(Form::Csv, text).unwrap(), std::slice::from_ref(&row), "{text}");
        }
        for (head, delimiter) in [
            ("a;b,c\n", b','),
            ("\"a;b\"\nc;d", b','),
            ("a;b\tc", b','),
            ("\n\na;b\nc,d", b';'),
            ("", b','),
            ("a\nb;c", b','),
        ] {
            assert_eq!(delimiter_of(head.as_bytes()), delimiter, "{head}");
        }
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
            ("prompt,answer\na,1\n\"b,2\nc,3\n\"d\",4\n", 2, 3),
            ("prompt,answer\r\na,1\r\nb,\"2\r\nc,\"3\"\r\nd,4\r\n", 2, 3),
        ] {
            let error = rows(Form::Csv, text).unwrap_err();
            assert_eq!((error.code(), error.row()), ("csv_open_quote", Some(row)), "{text}");
            assert!(error.to_string().contains(&format!("line {line}")), "{text}: {error}");
        }
        let error = rows(Form::Csv, "prompt,answer\na,1\n\"b,2\nc,3\n\",4,5\n").unwrap_err();
        assert_eq!((error.code(), error.row()), ("csv_ragged_row", Some(2)));
        assert!(error.to_string().contains("a quote may be missing"), "{error}");
        for text in ["prompt\n\"\"", "prompt\na\"", "prompt\n\"a\"x\"\n", "prompt,x\na\"\",\"b\"", "prompt\n\"\"\"\"\n"]
        {
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
    fn rows_before_an_error_are_handed_on() {
        for bytes in [&b"prompt\na\n\xff\n"[..], b"prompt\na\nb,c\n", b"prompt\na\n\"b\n"] {
            let mut text = Vec::new();
            let take = &mut |chunk: &[u8]| {
                text.extend_from_slice(chunk);
                Ok(())
            };
            assert_eq!(lines(bytes, b',', 100, take).unwrap_err().row(), Some(2));
            assert_eq!(text, b"{\"prompt\":\"a\"}\n");
        }
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

        /// Both agree on whether the end of a text is within quotes.
        #[test]
        fn quotes_are_followed_as_the_reader_does(text in "[a,\"\n\r]{0,12}") {
            let mut quotes = Quotes::new(b',');
            text.as_bytes().chunks(3).for_each(|chunk| quotes.pass(chunk));
            let mut reader = ReaderBuilder::new();
            let more = format!("{text}\nend");
            let reader = reader.has_headers(false).flexible(true).from_reader(more.as_bytes());
            let last = reader.into_byte_records().last().unwrap().unwrap();
            // Only within quotes does a line end not end a record.
            let ends = last.iter().eq([&b"end"[..]]);
            prop_assert_eq!(quotes.inside, !ends, "{:?}", last);
        }
    }
}
