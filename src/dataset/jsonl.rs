//! Data sets as JSON lines: one JSON object a line.
//!
//! The upload is checked while it streams ([`Validator`]) and a stored file is read row by row ([`JsonlFile`]). Both
//! cut the bytes into lines with the same code and read a line with the same function, so a file that was accepted
//! is a file that can be read. Neither holds more of the file than one row.
//!
//! Tolerated, because editors and spreadsheets write them: blank lines, a byte order mark, CR LF, and a last line
//! without its end. Everything else is refused with the line it is on, and nothing is repaired by guessing.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::lines::{Line, Lines};
use super::tally::Tally;
use super::{Columns, DatasetError, Row};
use crate::job::digest::hex;

/// No limit on a row may be higher: a row is held in memory while it is read.
pub const MOST_ROW_BYTES: usize = 64 << 20;
/// No limit on rows may be higher: the index of an open file takes 8 bytes a row.
pub const MOST_ROWS: u64 = 100_000_000;

/// At a time when lines are counted.
const CHUNK_BYTES: usize = 256 << 10;

/// How much an upload may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one line without its end; at most [`MOST_ROW_BYTES`].
    pub max_row_bytes: usize,
    /// At most [`MOST_ROWS`].
    pub max_rows: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_row_bytes: 1 << 20, max_rows: 10_000_000 }
    }
}

/// What a valid file holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    pub rows: u64,
    pub bytes: u64,
    /// Of the whole file, in hexadecimal.
    pub sha256: String,
    /// Rows with an answer.
    pub has_answer: u64,
    /// Rows with a reference completion.
    pub has_completion: u64,
    pub columns: Columns,
    /// The rows that have a value in each column that any row has; none where there are too many columns.
    pub filled: Option<BTreeMap<String, u64>>,
    /// Rows whose prompt repeats an earlier one. Prompts are compared by a 64-bit hash: among 10 million different
    /// prompts, one is counted wrongly with a probability of 3e-6.
    pub duplicates: u64,
}

/// Checks a file while its bytes arrive in chunks of any size.
///
/// Memory is bounded by one row, one chunk and 8 bytes a row.
#[derive(Debug)]
pub struct Validator {
    lines: Lines,
    tally: Tally,
    digest: Sha256,
    bytes: u64,
    failure: Option<DatasetError>,
}

impl Validator {
    pub fn new(columns: Columns, limits: Limits) -> Self {
        Self {
            lines: Lines::new(limits.max_row_bytes.min(MOST_ROW_BYTES)),
            tally: Tally::new(columns, limits.max_rows.min(MOST_ROWS)),
            digest: Sha256::new(),
            bytes: 0,
            failure: None,
        }
    }

    /// Takes the next bytes. Once it has failed, every later call fails the same way.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), DatasetError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.digest.update(chunk);
        self.bytes += chunk.len() as u64;
        let fed = self.lines.feed(chunk, |line| self.tally.add(&line));
        self.failure = fed.as_ref().err().cloned();
        fed
    }

    /// Takes the end of the file.
    pub fn finish(mut self) -> Result<Summary, DatasetError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.lines.finish(|line| self.tally.add(&line))?;
        if self.tally.rows() == 0 {
            return Err(DatasetError::Empty);
        }
        let sha256 = hex(&self.digest.finalize());
        Ok(self.tally.summary(self.bytes, sha256))
    }
}

/// A stored file whose rows are read from disk as they are asked for.
#[derive(Debug)]
pub struct JsonlFile {
    file: File,
    path: PathBuf,
    columns: Columns,
    /// Where every row begins.
    starts: Vec<u64>,
    /// Bytes of the longest row with its line end, so that a row is found in one read.
    longest: usize,
    stamp: Stamp,
}

/// Tells whether a file is still the one that was indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self { bytes: metadata.len(), modified: (metadata.mtime(), metadata.mtime_nsec()) }
    }
}

impl JsonlFile {
    /// Opens a file and finds its rows in one pass, without reading them as JSON.
    pub fn open(path: impl AsRef<Path>, columns: Columns) -> Result<Self, DatasetError> {
        let path = path.as_ref();
        let failed = |source| io_error(format!("open the data set {}", path.display()), source);
        let mut file = File::open(path).map_err(failed)?;
        let stamp = Stamp::of(&file.metadata().map_err(failed)?);

        let (mut starts, mut longest) = (Vec::new(), 0);
        let mut add = |line: Line<'_>| {
            if starts.len() as u64 == MOST_ROWS {
                return Err(DatasetError::TooManyRows { row: line.number, limit: MOST_ROWS });
            }
            starts.push(line.start);
            longest = longest.max(line.text.len() + 2);
            Ok(ControlFlow::Continue(()))
        };
        Lines::new(MOST_ROW_BYTES).read(&mut file, failed, &mut add)?;
        if starts.is_empty() {
            return Err(DatasetError::Empty);
        }
        Ok(Self { file, path: path.to_owned(), columns, starts, longest, stamp })
    }

    pub fn len(&self) -> usize {
        self.starts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Row `index`, counted from 0 and without blank lines. A file that is no longer the one that was opened is an
    /// error: its rows would be others than those the job began with.
    pub fn row(&self, index: usize) -> Result<Row, DatasetError> {
        let Some(&start) = self.starts.get(index) else {
            return Err(DatasetError::IndexOutOfRange { index, rows: self.len() });
        };
        let failed = |source| io_error(format!("read row index {index} of {}", self.path.display()), source);
        if Stamp::of(&self.file.metadata().map_err(failed)?) != self.stamp {
            return Err(failed(io::Error::other("the file changed after it was opened")));
        }
        let end = self.starts.get(index + 1).copied().unwrap_or(self.stamp.bytes);
        let bytes = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX).min(self.longest);
        let mut text = vec![0; bytes];
        self.file.read_exact_at(&mut text, start).map_err(failed)?;
        if let Some(newline) = text.iter().position(|byte| *byte == b'\n') {
            text.truncate(newline);
        }
        // Counting lines up to the row is slow, so that it is left to the case in which somebody reads the number.
        Row::parse(0, &text, &self.columns).or_else(|_| {
            let number = self.line_number(start).map_err(failed)?;
            Row::parse(number, &text, &self.columns)
        })
    }

    /// The line, counted from 1, that holds byte `at`.
    fn line_number(&self, at: u64) -> io::Result<u64> {
        let (mut newlines, mut position) = (0, 0);
        let mut chunk = vec![0; CHUNK_BYTES];
        while position < at {
            let wanted = usize::try_from(at - position).unwrap_or(usize::MAX).min(CHUNK_BYTES);
            self.file.read_exact_at(&mut chunk[..wanted], position)?;
            newlines += chunk[..wanted].iter().filter(|byte| **byte == b'\n').count() as u64;
            position += wanted as u64;
        }
        Ok(newlines + 1)
    }
}

pub(super) fn io_error(operation: String, source: io::Error) -> DatasetError {
    DatasetError::Io { operation, source: Arc::new(source) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::Prompt;
    use super::super::lines::BYTE_ORDER_MARK;
    use super::*;

    fn validate(bytes: &[u8], limits: Limits) -> Result<Summary, DatasetError> {
        validate_in(&[bytes], limits)
    }

    fn validate_in(chunks: &[&[u8]], limits: Limits) -> Result<Summary, DatasetError> {
        let mut validator = Validator::new(Columns::default(), limits);
        chunks.iter().try_for_each(|chunk| validator.feed(chunk))?;
        validator.finish()
    }

    fn small() -> Limits {
        Limits { max_row_bytes: 40, max_rows: 4 }
    }

    fn stored(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn outcome(result: Result<Summary, DatasetError>) -> Result<Summary, (&'static str, Option<u64>, String)> {
        result.map_err(|error| (error.code(), error.row(), error.to_string()))
    }

    #[test]
    fn a_broken_row_is_named_by_its_code_and_its_line() {
        let cases: &[(&[u8], &str, Option<u64>)] = &[
            (b"", "dataset_empty", None),
            (b"\n \r\n\t\n", "dataset_empty", None),
            (b"\xef\xbb\xbf", "dataset_empty", None),
            (b"{\"prompt\":\"a\"}\n{\"prompt\":", "row_invalid_json", Some(2)),
            (b"{\"prompt\":\"a\"}{\"prompt\":\"b\"}", "row_invalid_json", Some(1)),
            (b"{\n\"prompt\":\"a\"\n}", "row_invalid_json", Some(1)),
            (b"\n\n{\"prompt\":\"a\"}\n\xef\xbb\xbf{\"prompt\":\"b\"}", "row_invalid_json", Some(4)),
            (b"[{\"prompt\":\"a\"}]", "row_not_object", Some(1)),
            (b"\r\n\"prompt\"", "row_not_object", Some(2)),
            (b"{\"prompt\":\"a\"}\n{\"question\":\"a\"}\n{", "row_missing_column", Some(2)),
            (b"{}", "row_missing_column", Some(1)),
            (b"{\"prompt\":null}", "row_wrong_type", Some(1)),
            (b"{\"prompt\":\"\"}", "row_wrong_type", Some(1)),
            (b"{\"prompt\":[]}", "row_wrong_type", Some(1)),
            (b"{\"prompt\":[[\"user\",\"hi\"]]}", "row_wrong_type", Some(1)),
            (b"{\"messages\":[{\"role\":\"user\"}]}", "row_wrong_type", Some(1)),
            (b"{\"prompt\":\"a\",\"answer\":[1]}", "row_wrong_type", Some(1)),
            (b"{\"prompt\":\"a\",\"answer\":1234567890123456789012}", "row_wrong_type", Some(1)),
            (b"{\"prompt\":\"a\",\"completion\":1}", "row_wrong_type", Some(1)),
            (b"{\"prompt\":\"\xff\"}", "not_utf8", Some(1)),
            (b"\xff\xfe{\0", "not_utf8", Some(1)),
        ];
        for (bytes, code, row) in cases {
            let error = validate(bytes, Limits::default()).unwrap_err();
            assert_eq!((error.code(), error.row()), (*code, *row), "{}: {error}", bytes.escape_ascii());
            if let Some(row) = row {
                assert!(error.to_string().starts_with(&format!("row {row}: ")), "{error}");
            }
        }
    }

    #[test]
    fn row_4217_of_5000_is_found() {
        let lines: Vec<String> = (1..=5000)
            .map(|n| if n == 4217 { "{\"prompt\": oops}\n".into() } else { format!("{{\"prompt\":\"{n}\"}}\n") })
            .collect();
        let error = validate(lines.concat().as_bytes(), Limits::default()).unwrap_err();
        assert_eq!((error.code(), error.row()), ("row_invalid_json", Some(4217)));
    }

    #[test]
    fn a_missing_column_says_which_there_are_and_how_to_map_one() {
        let error = validate(br#"{"question": "a", "gold": "b"}"#, Limits::default()).unwrap_err().to_string();
        for part in ["`prompt`", "`question`, `gold`", "prompt_column=..."] {
            assert!(error.contains(part), "{error}");
        }
        // `messages` stands in for a default name only: whoever maps a column means that column.
        let line = br#"{"messages": [{"role": "user", "content": "a"}]}"#;
        let mapped = Columns { prompt: "question".into(), ..Columns::default() };
        assert!(validate(line, Limits::default()).is_ok());
        assert_eq!(
            Validator::new(mapped, Limits::default()).feed(&[line, &b"\n"[..]].concat()).unwrap_err().row(),
            Some(1)
        );
    }

    #[test]
    fn a_limit_is_met_exactly_and_never_passed() {
        let row = |bytes: usize| format!("{{\"prompt\":\"{}\"}}", "x".repeat(bytes - 13));
        for tolerated in [row(40), row(40) + "\r\n", format!("\u{feff}{}\r\n", row(40))] {
            assert!(validate(tolerated.as_bytes(), small()).is_ok(), "{tolerated:?}");
        }
        for end in ["", "\n", "\r\n", "x".repeat(1000).as_str()] {
            let text = format!("{}\n{}{end}", row(20), row(41));
            let error = validate(text.as_bytes(), small()).unwrap_err();
            assert_eq!((error.code(), error.row()), ("row_too_long", Some(2)), "{text:?}");
        }
        assert_eq!(validate((row(20) + "\n").repeat(4).as_bytes(), small()).unwrap().rows, 4);
        let error = validate(("\n".to_owned() + &row(20)).repeat(5).as_bytes(), small()).unwrap_err();
        assert_eq!((error.code(), error.row()), ("too_many_rows", Some(6)));
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_is_collected() {
        let mut validator = Validator::new(Columns::default(), small());
        for _ in 0..44 {
            validator.feed(b"x").unwrap();
        }
        assert_eq!(validator.feed(b"x").unwrap_err().code(), "row_too_long");
        assert!(validator.lines.partial.len() <= 44);
        assert_eq!(validator.feed(b"\n{\"prompt\":\"a\"}\n").unwrap_err().row(), Some(1));
        assert_eq!(validator.finish().unwrap_err().code(), "row_too_long");
    }

    #[test]
    fn the_summary_counts_what_is_there() {
        let text = "\u{feff}{\"prompt\":\"a\",\"answer\":1}\r\n\n{\"prompt\":\"a\",\"completion\":\"c\"}\n{\"prompt\":\"b\",\"answer\":null}";
        let summary = validate(text.as_bytes(), Limits::default()).unwrap();
        let expected = Summary {
            rows: 3,
            bytes: text.len() as u64,
            // From `sha256sum`.
            sha256: "bf8eef10d7e9644f4c8a04df6d7a4d4a1cf4b20e7777199aa5ccdd55f71a9333".into(),
            has_answer: 1,
            has_completion: 1,
            columns: Columns::default(),
            filled: Some([("prompt", 3), ("answer", 1), ("completion", 1)].map(|(k, n)| (k.to_owned(), n)).into()),
            duplicates: 1,
        };
        assert_eq!(summary, expected);
    }

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let rows = [
            json!({"prompt": "a\n\u{1f600}", "answer": "x", "completion": "y", "level": [1, 2]}),
            json!({"prompt": [{"role": "system", "content": ""}, {"role": "user", "content": "b"}], "answer": 7}),
            json!({"messages": [{"role": "user", "content": "c"}], "answer": true}),
            json!({"answer": -0.5, "prompt": "d"}),
        ];
        let text = format!("\u{feff}\n{}\r\n   \n\n{}\n{}\n{}", rows[0], rows[1], rows[2], rows[3]);
        let stored = stored(text.as_bytes());
        let file = JsonlFile::open(stored.path(), Columns::default()).unwrap();
        let read: Vec<Row> = (0..file.len()).map(|index| file.row(index).unwrap()).collect();
        assert_eq!(read.iter().map(|row| Value::Object((*row.fields).clone())).collect::<Vec<_>>(), rows);
        assert_eq!(read[0].prompt, Prompt::Text("a\n\u{1f600}".into()));
        assert_eq!(read[0].completion.as_deref(), Some("y"));
        let Prompt::Messages(messages) = &read[1].prompt else { panic!("{:?}", read[1]) };
        assert_eq!((messages.len(), messages[1].role(), messages[1].content()), (2, "user", Some("b")));
        let answers: Vec<_> = read.iter().map(|row| row.answer.as_deref()).collect();
        assert_eq!(answers, [Some("x"), Some("7"), Some("true"), Some("-0.5")]);
        assert_eq!(file.row(4).unwrap_err().code(), "row_index_out_of_range");
    }

    #[test]
    fn a_file_that_changed_or_is_broken_is_an_error() {
        let broken = stored(b"{\"prompt\":\"a\"}\n\n{\"prompt\":\n");
        let file = JsonlFile::open(broken.path(), Columns::default()).unwrap();
        assert!(file.row(0).is_ok());
        let error = file.row(1).unwrap_err();
        assert_eq!((error.code(), error.row()), ("row_invalid_json", Some(3)));
        broken.as_file().set_len(10).unwrap();
        assert_eq!(file.row(0).unwrap_err().code(), "io");

        let edited = stored(b"{\"prompt\":\"a\"}\n");
        let file = JsonlFile::open(edited.path(), Columns::default()).unwrap();
        edited.as_file().write_all_at(b"{\"prompt\":\"b\"}\n", 0).unwrap();
        // The clock of a file system may stand still between two writes.
        edited.as_file().set_modified(std::time::UNIX_EPOCH).unwrap();
        assert_eq!(file.row(0).unwrap_err().code(), "io");

        for (bytes, code) in [(&b"\n"[..], "dataset_empty"), (b"", "dataset_empty")] {
            assert_eq!(JsonlFile::open(stored(bytes).path(), Columns::default()).unwrap_err().code(), code);
        }
        assert_eq!(JsonlFile::open("/no/such/file", Columns::default()).unwrap_err().code(), "io");
    }

    fn any_line() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            6 => "[a-c]{1,3}".prop_map(|text| format!("{{\"prompt\":\"{text}\",\"answer\":1}}").into_bytes()),
            2 => Just(b"  ".to_vec()),
            1 => "x{30,50}".prop_map(|text| format!("{{\"prompt\":\"{text}\"}}").into_bytes()),
            1 => prop::collection::vec(any::<u8>(), 0..8),
        ]
    }

    proptest! {
        #[test]
        fn chunk_boundaries_do_not_matter(
            lines in prop::collection::vec((any_line(), prop::bool::ANY), 0..8),
            mark in prop::bool::ANY,
            last_has_end in prop::bool::ANY,
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let mut bytes = if mark { BYTE_ORDER_MARK.to_vec() } else { Vec::new() };
            for (line, carriage_return) in lines {
                bytes.extend(line);
                bytes.extend(if carriage_return { &b"\r\n"[..] } else { b"\n" });
            }
            if !last_has_end {
                bytes.pop();
            }
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            places.extend([0, bytes.len()]);
            places.sort_unstable();
            let chunks: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let singly: Vec<&[u8]> = bytes.chunks(1).collect();
            let whole = outcome(validate(&bytes, small()));
            prop_assert_eq!(&outcome(validate_in(&chunks, small())), &whole);
            prop_assert_eq!(&outcome(validate_in(&singly, small())), &whole);

            // What the validator accepts, a stored file gives back.
            if let Ok(summary) = whole {
                let stored = stored(&bytes);
                let file = JsonlFile::open(stored.path(), Columns::default()).unwrap();
                prop_assert_eq!(file.len() as u64, summary.rows);
                prop_assert!((0..file.len()).all(|index| file.row(index).is_ok()));
            }
        }
    }
}
