//! The forms in which files of rows come, each made into JSON Lines while it is read.
//!
//! ```text
//! bytes -> unpack (gzip, zstd) -> lines of JSON (from JSON Lines, a JSON array, CSV, TSV, Parquet) -> map -> check -> file
//! ```
//!
//! One row becomes one line, so that the number of a line is the number of its row from here on, and so that what follows
//! knows one form only. Nothing here holds more of a file than some rows; Parquet, whose directory stands at its end, needs a
//! file to seek in.

pub mod delimited;
pub mod json;
pub mod parquet;
mod parquet_levels;
mod parquet_pages;
mod parquet_rows;
mod parquet_text;
pub mod unpack;

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DatasetError;
use super::lines::BYTE_ORDER_MARK;
use unpack::Unpacked;

/// Lines are handed on in chunks of about so many bytes.
pub(super) const CHUNK_BYTES: usize = 256 << 10;
/// What is looked at to tell what a file is.
const HEAD_BYTES: usize = 4 << 10;

/// How rows are written in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// One JSON object a line.
    Jsonl,
    /// One JSON array of objects.
    Json,
    /// Fields between commas, or semicolons or tabs, names in the first record.
    Csv,
    /// Fields between tabs, names in the first record.
    Tsv,
    Parquet,
}

/// A word that names no form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no form of rows; there are jsonl, json, csv, tsv and parquet")]
pub struct UnknownForm(String);

impl Form {
    pub fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Parquet => "parquet",
        }
    }

    /// What the end of a file's name says, without that of its packing.
    pub fn of_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let name = [".gz", ".gzip", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        match name.rsplit_once('.')?.1 {
            "jsonl" | "ndjson" | "jsonlines" => Some(Self::Jsonl),
            "csv" => Some(Self::Csv),
            "tsv" | "tab" => Some(Self::Tsv),
            "parquet" | "pq" => Some(Self::Parquet),
            // Also of files with one object a line, so that it says nothing.
            _ => None,
        }
    }

    /// What the media type of a body says. That of JSON is also given to lines of JSON, and says nothing.
    pub fn of_media_type(media_type: &str) -> Option<Self> {
        match media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "application/jsonl" | "application/x-ndjson" | "application/x-jsonlines" | "application/jsonlines" => {
                Some(Self::Jsonl)
            }
            "text/csv" => Some(Self::Csv),
            "text/tab-separated-values" => Some(Self::Tsv),
            "application/vnd.apache.parquet" | "application/x-parquet" => Some(Self::Parquet),
            _ => None,
        }
    }

    /// What the first bytes say, unpacked: Parquet, an array, or else lines of JSON.
    fn of_head(head: &[u8]) -> Result<Self, DatasetError> {
        const OTHERS: [(&[u8], &str); 6] = [
            (b"PK\x03\x04", "a zip archive or a workbook (.xlsx); take the file out of it, or save the sheet as CSV"),
            (b"BZh", "packed with bzip2; pack it with gzip or zstd, or not at all"),
            (b"\xfd7zXZ\0", "packed with xz; pack it with gzip or zstd, or not at all"),
            (b"ARROW1", "an Arrow file; save it as Parquet"),
            (b"Obj\x01", "an Avro file; save it as Parquet or JSON Lines"),
            (b"SQLite format 3\0", "an SQLite database; export the table as CSV"),
        ];
        if let Some((_, what)) = OTHERS.iter().find(|(magic, _)| head.starts_with(magic)) {
            return Err(DatasetError::OtherForm { detail: (*what).to_owned() });
        }
        if head.starts_with(parquet::MAGIC) {
            return Ok(Self::Parquet);
        }
        let first = without_mark(head).trim_ascii_start().first();
        Ok(if first == Some(&b'[') { Self::Json } else { Self::Jsonl })
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Form {
    type Err = UnknownForm;

    fn from_str(text: &str) -> Result<Self, UnknownForm> {
        let all = [Self::Jsonl, Self::Json, Self::Csv, Self::Tsv, Self::Parquet];
        let found = all.into_iter().find(|form| form.name() == text);
        found.ok_or_else(|| UnknownForm(text.chars().take(40).collect()))
    }
}

/// How a file is packed, which its first bytes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Packing {
    Plain,
    Gzip,
    Zstd,
}

/// Bytes that are unpacked, with what they turned out to be.
pub struct Opened<R: Read> {
    pub form: Form,
    pub packing: Packing,
    /// The unpacked bytes from the first on.
    pub bytes: Unpacked<R>,
}

/// Finds out what a file is. `named` is the form that somebody said, in the order of [`Form`]'s rule: a parameter, the media
/// type, the name; the bytes decide where nobody did. More than `limit` unpacked bytes are an error when they are reached.
pub fn open<R: Read>(source: R, named: Option<Form>, limit: u64) -> Result<Opened<R>, DatasetError> {
    let mut bytes = Unpacked::new(source, limit)?;
    let head = bytes.head()?;
    let found = Form::of_head(head)?;
    let form = match named {
        // These two cannot be mistaken for anything else.
        _ if found == Form::Parquet => found,
        Some(form) => form,
        None => found,
    };
    Ok(Opened { form, packing: bytes.packing(), bytes })
}

/// Hands text on as lines of JSON, chunk by chunk, until `take` fails. Not for Parquet, which is read by
/// [`parquet::lines`].
pub fn lines(
    form: Form,
    mut bytes: impl Read,
    max_row_bytes: usize,
    take: &mut dyn FnMut(&[u8]) -> Result<(), DatasetError>,
) -> Result<(), DatasetError> {
    match form {
        Form::Jsonl => {
            let mut chunk = vec![0; CHUNK_BYTES];
            loop {
                match read_some(&mut bytes, &mut chunk)? {
                    0 => return Ok(()),
                    count => take(&chunk[..count])?,
                }
            }
        }
        Form::Json => json::lines(bytes, max_row_bytes, take),
        Form::Csv => {
            let (delimiter, bytes) = delimited::delimiter(bytes)?;
            delimited::lines(bytes, delimiter, max_row_bytes, take)
        }
        Form::Tsv => delimited::lines(bytes, b'\t', max_row_bytes, take),
        Form::Parquet => Err(DatasetError::Parquet { detail: String::from("it cannot be read as a stream") }),
    }
}

/// The next bytes; 0 at the end.
pub(super) fn read_some(mut bytes: impl Read, chunk: &mut [u8]) -> Result<usize, DatasetError> {
    loop {
        match bytes.read(chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read.map_err(failure),
        }
    }
}

/// The error of ours that a failed read carries, or what else it means.
pub(super) fn failure(error: io::Error) -> DatasetError {
    match error.downcast::<DatasetError>() {
        Ok(ours) => ours,
        Err(error) => super::jsonl::io_error(String::from("read the rows"), error),
    }
}

fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// Reads on behind a byte order mark.
pub(super) fn skip_mark<R: Read>(mut bytes: R) -> Result<impl Read, DatasetError> {
    let mut first = Vec::with_capacity(BYTE_ORDER_MARK.len());
    (&mut bytes).take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut first).map_err(failure)?;
    if first.starts_with(&[0xff, 0xfe]) || first.starts_with(&[0xfe, 0xff]) {
        return Err(DatasetError::NotUtf8 { row: 1, byte: 1 });
    }
    let first = without_mark(&first).to_vec();
    Ok(io::Cursor::new(first).chain(bytes))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// What a form's reader makes of some bytes, given to it a few at a time.
    pub fn text_of(form: Form, bytes: &[u8], max_row_bytes: usize) -> Result<String, DatasetError> {
        let mut text = Vec::new();
        let take = &mut |chunk: &[u8]| {
            text.extend_from_slice(chunk);
            Ok(())
        };
        lines(form, Slowly(bytes), max_row_bytes, take)?;
        Ok(String::from_utf8(text).unwrap())
    }

    /// Gives seven bytes at a time.
    pub struct Slowly<'a>(pub &'a [u8]);

    impl Read for Slowly<'_> {
        fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
            let most = chunk.len().min(7);
            self.0.read(&mut chunk[..most])
        }
    }

    #[test]
    fn a_form_is_told_by_word_then_media_type_then_name_then_bytes() {
        for (name, form) in [
            ("a.jsonl", Some(Form::Jsonl)),
            ("A.CSV.GZ", Some(Form::Csv)),
            ("a.tsv.zst", Some(Form::Tsv)),
            ("train-00000-of-00001.parquet", Some(Form::Parquet)),
            ("a.json", None),
            ("csv", None),
        ] {
            assert_eq!(Form::of_name(name), form, "{name}");
        }
        assert_eq!(Form::of_media_type("text/csv; charset=utf-8"), Some(Form::Csv));
        assert_eq!(Form::of_media_type("application/json"), None);
        let form = |bytes: &[u8], named| open(bytes, named, 1 << 20).map(|opened| opened.form);
        assert_eq!(form(b"\xef\xbb\xbf \n[{}]", None).unwrap(), Form::Json);
        assert_eq!(form(b"{}", None).unwrap(), Form::Jsonl);
        assert_eq!(form(b"", None).unwrap(), Form::Jsonl);
        assert_eq!(form(b"a,b", Some(Form::Csv)).unwrap(), Form::Csv);
        assert_eq!(form(b"PAR1....", Some(Form::Csv)).unwrap(), Form::Parquet);
        assert_eq!("parquet".parse(), Ok(Form::Parquet));
        assert!("xlsx".parse::<Form>().is_err());
    }

    #[test]
    fn what_is_none_of_ours_is_named() {
        for bytes in [&b"PK\x03\x04..."[..], b"BZh9", b"\xfd7zXZ\0", b"ARROW1", b"SQLite format 3\0"] {
            let error = open(bytes, None, 100).map(|opened| opened.form).unwrap_err();
            assert_eq!(error.code(), "unknown_form", "{error}");
        }
    }

    #[test]
    fn text_in_sixteen_bits_is_refused() {
        let bytes = b"\xff\xfea\0,\0b\0";
        assert_eq!(text_of(Form::Csv, bytes, 100).unwrap_err().code(), "not_utf8");
    }
}
