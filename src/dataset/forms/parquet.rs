//! Parquet: rows read group by group and batch by batch, of the columns that are asked for.
//!
//! Texts, numbers, truth values and null are what they are in JSON; lists, structures and maps nest. Dates, times and decimals
//! are text (`parquet_text`). Bytes are text where they are UTF-8, which old writers leave unsaid, and an error where they are not.
//!
//! The file may be anything. Its directory, the headers of its pages and the lengths of its rows are checked first
//! (`parquet_pages`, `parquet_levels`), and what the reader then makes of it runs on a thread whose panic is an error of the file.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::reader::{ChunkReader, FileReader, Length};
use ::parquet::file::serialized_reader::SerializedFileReader;
use ::parquet::schema::types::{SchemaDescPtr, SchemaDescriptor, Type};
use bytes::Bytes;

use super::CHUNK_BYTES;
use super::parquet_levels::{Longest, check_rows};
use super::parquet_pages::{Chunk, broken, check_footer, check_pages};
use super::parquet_rows::Rows;
use crate::dataset::DatasetError;

/// What a file begins and ends with.
pub const MAGIC: &[u8] = b"PAR1";
/// Of a row as a line: no data set takes longer ones.
pub(super) const MOST_ROW_BYTES: usize = 1 << 20;
/// Rows that are decoded together: as many as have about so many bytes, within bounds.
const BATCH_BYTES: u64 = 4 << 20;
const MOST_BATCH_ROWS: u64 = 1024;
/// Each takes some 40 bytes with its levels.
const MOST_BATCH_ELEMENTS: u64 = 1 << 20;
/// Bytes of texts that are made of fewer bytes.
const MOST_BATCH_EXPANDED: u64 = 128 << 20;

/// A file that is read at places, by several readers at a time.
#[derive(Clone, Debug)]
pub struct Seekable {
    file: Arc<File>,
    bytes: u64,
}

impl Seekable {
    pub fn new(file: File) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        Ok(Self { file: Arc::new(file), bytes })
    }
}

impl Length for Seekable {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for Seekable {
    type T = io::BufReader<Place>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(io::BufReader::with_capacity(1 << 10, Place { file: Arc::clone(&self.file), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        // Of a length that the file does not have, no memory is taken.
        if start.checked_add(length as u64).is_none_or(|end| end > self.bytes) {
            return Err(ParquetError::EOF(String::from("it says to have more bytes than it has")));
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}

/// Reads a file from a place on.
#[derive(Debug)]
pub struct Place {
    file: Arc<File>,
    at: u64,
}

impl Read for Place {
    fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(chunk, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Hands each row on as a line of JSON. With `columns`, those of them that there are and no others are read.
pub fn lines(
    file: impl ChunkReader + 'static,
    columns: Option<&BTreeSet<String>>,
    take: &mut dyn FnMut(&[u8]) -> Result<(), DatasetError>,
) -> Result<(), DatasetError> {
    check_footer(&file)?;
    let file = Arc::new(file);
    let reader = SerializedFileReader::new(Shared(Arc::clone(&file))).map_err(|error| unreadable(&error))?;
    let schema = project(reader.metadata().file_metadata().schema_descr_ptr(), columns)?;
    let mut text = Vec::with_capacity(2 * CHUNK_BYTES);
    let mut row_number = 0;
    for index in 0..reader.num_row_groups() {
        // Writers say nothing true of where the pages of an empty one are.
        if reader.metadata().row_group(index).num_rows() == 0 {
            continue;
        }
        let rows = open_group(&*file, &reader, index, &schema);
        let mut written = Written { text: &mut text, row: &mut row_number, take: &mut *take };
        match rows {
            Ok(mut rows) => written.group(&mut rows)?,
            Err(error) => {
                take(&text)?;
                return Err(error);
            }
        }
    }
    take(&text)
}

/// The rows of a group, once it is known that reading them takes no more memory than there is.
fn open_group(
    file: &impl ChunkReader,
    reader: &impl FileReader,
    index: usize,
    schema: &SchemaDescriptor,
) -> Result<Rows, DatasetError> {
    let group = reader.metadata().row_group(index);
    let columns = check_group(file, group, schema)?;
    let rows = reader.get_row_group(index).map_err(|error| unreadable(&error))?;
    let longest = check_rows(&*rows, group, &columns)?;
    Rows::of(&*rows, schema, batch_rows(group, longest))
}

/// Lines on their way out.
struct Written<'a> {
    text: &'a mut Vec<u8>,
    /// The number of the last row.
    row: &'a mut u64,
    take: &'a mut dyn FnMut(&[u8]) -> Result<(), DatasetError>,
}

impl Written<'_> {
    fn group(&mut self, rows: &mut Rows) -> Result<(), DatasetError> {
        loop {
            let count = match rows.read() {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) => return self.fail(error),
            };
            for row in 0..count {
                let begun = self.text.len();
                if let Err(error) = rows.write(row, self.text) {
                    self.text.truncate(begun);
                    return self.fail(error);
                }
                *self.row += 1;
                if self.text.len() >= CHUNK_BYTES {
                    (self.take)(self.text)?;
                    self.text.clear();
                }
            }
        }
    }

    /// An error at the next row. The rows before it may be wrong as well, and the first error is the one to tell.
    fn fail(&mut self, error: DatasetError) -> Result<(), DatasetError> {
        (self.take)(self.text)?;
        Err(error.in_row(*self.row + 1))
    }
}

/// The columns that are read: all, or those that are named.
fn project(schema: SchemaDescPtr, columns: Option<&BTreeSet<String>>) -> Result<SchemaDescPtr, DatasetError> {
    let root = schema.root_schema();
    let Some(columns) = columns else { return Ok(schema) };
    let fields = root.get_fields().iter().filter(|field| columns.contains(field.name())).cloned().collect();
    let projected = Type::group_type_builder(root.name()).with_fields(fields).build();
    Ok(Arc::new(SchemaDescriptor::new(Arc::new(projected.map_err(|error| unreadable(&error))?))))
}

/// Checks what reading a row group takes, and that its columns have as many values as it has rows. Returns the columns that
/// are read, by their places in the group.
fn check_group(
    file: &impl ChunkReader,
    group: &RowGroupMetaData,
    schema: &SchemaDescriptor,
) -> Result<Vec<(usize, Chunk)>, DatasetError> {
    let read: BTreeSet<&str> = schema.root_schema().get_fields().iter().map(|field| field.name()).collect();
    let is_read = |path: &[String]| path.first().is_some_and(|name| read.contains(name.as_str()));
    let places = || (0..group.num_columns()).filter(|place| is_read(group.column(*place).column_path().parts()));
    let columns = || places().map(|place| group.column(place));
    if group.num_rows() < 0 {
        return Err(broken("a row group has fewer than no rows"));
    }
    let lacks = columns().find(|column| {
        let is_flat = column.column_descr().max_rep_level() == 0;
        is_flat && column.num_values() != group.num_rows() || column.num_values() < group.num_rows()
    });
    if let Some(column) = lacks {
        return Err(broken(&format!("column `{}` has another number of values than rows", column.column_path())));
    }
    Ok(places().zip(check_pages(file, columns())?).collect())
}

/// Rows that are decoded together: few where they are long, or may become so.
fn batch_rows(group: &RowGroupMetaData, longest: Longest) -> usize {
    let rows = group.num_rows().unsigned_abs().max(1);
    let bytes = group.total_byte_size().unsigned_abs() / rows;
    let batch = (BATCH_BYTES / bytes.max(1)).clamp(16, MOST_BATCH_ROWS);
    let (elements, expanded) = (longest.elements.max(1), longest.expanded.max(1));
    batch.min(MOST_BATCH_ELEMENTS / elements).min(MOST_BATCH_EXPANDED / expanded).max(1) as usize
}

pub(super) fn unreadable(error: &ParquetError) -> DatasetError {
    let detail: String = error.to_string().chars().take(300).collect();
    let detail = detail.strip_prefix("Parquet error: ").map(str::to_owned).unwrap_or(detail);
    DatasetError::Parquet { detail }
}

/// Two readers of one file.
struct Shared<R>(Arc<R>);

impl<R: ChunkReader> Length for Shared<R> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl<R: ChunkReader> ChunkReader for Shared<R> {
    type T = R::T;

    fn get_read(&self, start: u64) -> ParquetResult<R::T> {
        self.0.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.0.get_bytes(start, length)
    }
}

#[cfg(test)]
pub mod tests {
    use ::parquet::basic::{Compression, GzipLevel, ZstdLevel};
    use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    use ::parquet::file::properties::{WriterProperties, WriterVersion};
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;
    use serde_json::{Value, json};

    use super::*;

    const SCHEMA: &str = "message rows {
        optional binary prompt (utf8);
        optional int64 answer;
        optional group turns (list) { repeated group list { optional group element {
            required binary role (utf8); required binary content (utf8); } } }
        optional double score;
        optional binary raw;
    }";

    /// A file with `rows` rows in groups of `group`, of which row `null` has no prompt.
    fn file(rows: usize, group: usize, null: Option<usize>, properties: WriterProperties) -> Bytes {
        let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
        let mut bytes = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
        let all: Vec<usize> = (1..=rows).collect();
        for rows in all.chunks(group) {
            let mut columns = writer.next_row_group().unwrap();
            let defined: Vec<i16> = rows.iter().map(|row| i16::from(Some(*row) != null)).collect();
            let prompts = rows.iter().filter(|row| Some(**row) != null);
            let texts: Vec<ByteArray> = prompts.map(|row| format!("{row}+\u{e4}\"=").as_str().into()).collect();
            let mut column = columns.next_column().unwrap().unwrap();
            column.typed::<ByteArrayType>().write_batch(&texts, Some(&defined), None).unwrap();
            column.close().unwrap();
            let numbers: Vec<i64> = rows.iter().map(|row| *row as i64).collect();
            let ones = vec![1; rows.len()];
            let mut column = columns.next_column().unwrap().unwrap();
            column.typed::<Int64Type>().write_batch(&numbers, Some(&ones), None).unwrap();
            column.close().unwrap();
            // Two turns a row.
            let (levels, repeats): (Vec<i16>, Vec<i16>) = rows.iter().flat_map(|_| [(3, 0), (3, 1)]).unzip();
            for word in ["user", "hi"] {
                let texts = vec![ByteArray::from(word); levels.len()];
                let mut column = columns.next_column().unwrap().unwrap();
                column.typed::<ByteArrayType>().write_batch(&texts, Some(&levels), Some(&repeats)).unwrap();
                column.close().unwrap();
            }
            let mut column = columns.next_column().unwrap().unwrap();
            column.typed::<DoubleType>().write_batch(&vec![f64::NAN; rows.len()], Some(&ones), None).unwrap();
            column.close().unwrap();
            let mut column = columns.next_column().unwrap().unwrap();
            let raw = vec![ByteArray::from(vec![0xff]); rows.len()];
            column.typed::<ByteArrayType>().write_batch(&raw, Some(&ones), None).unwrap();
            column.close().unwrap();
            columns.close().unwrap();
        }
        writer.close().unwrap();
        bytes.into()
    }

    fn properties(compression: Compression) -> WriterProperties {
        WriterProperties::builder().set_compression(compression).build()
    }

    fn read(file: Bytes, columns: &[&str]) -> Result<Vec<Value>, DatasetError> {
        let mut text = Vec::new();
        let named: BTreeSet<String> = columns.iter().map(|name| (*name).to_owned()).collect();
        lines(file, (!columns.is_empty()).then_some(&named), &mut |chunk| {
            text.extend_from_slice(chunk);
            Ok(())
        })?;
        Ok(String::from_utf8(text).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    #[test]
    fn rows_are_read_with_every_codec_and_both_forms_of_pages() {
        let codecs = [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(GzipLevel::default()),
            Compression::ZSTD(ZstdLevel::default()),
            Compression::LZ4_RAW,
        ];
        let turns = json!([{"role": "user", "content": "hi"}, {"role": "user", "content": "hi"}]);
        for codec in codecs {
            for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
                let properties = WriterProperties::builder().set_compression(codec).set_writer_version(version).build();
                let rows =
                    read(file(2500, 1000, Some(2100), properties.clone()), &["prompt", "answer", "turns", "score"])
                        .unwrap();
                assert_eq!(rows.len(), 2500, "{codec:?}");
                let row = json!({"prompt": "7+\u{e4}\"=", "answer": 7, "turns": turns, "score": null});
                assert_eq!(rows[6], row, "{codec:?} {version:?}");
                assert_eq!(rows[2099]["prompt"], Value::Null);
                // Without a column that nests, the others are read by themselves.
                let bytes = file(2500, 1000, Some(2100), properties.clone());
                let flat = read(bytes, &["prompt", "answer", "score"]).unwrap();
                let mut whole = rows;
                whole.iter_mut().filter_map(Value::as_object_mut).for_each(|row| drop(row.shift_remove("turns")));
                assert_eq!(flat, whole);
            }
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_named_unless_they_are_not_read() {
        let bytes = file(10, 10, None, properties(Compression::SNAPPY));
        let error = read(bytes.clone(), &[]).unwrap_err();
        assert_eq!((error.code(), error.row()), ("row_wrong_type", Some(1)));
        assert!(error.to_string().contains("`raw`"), "{error}");
        let rows = read(bytes, &["answer", "nothing"]).unwrap();
        assert_eq!(rows[9], json!({"answer": 10}));
    }

    #[test]
    fn what_is_no_parquet_is_refused_and_never_read_beyond() {
        let whole = file(300, 100, None, properties(Compression::SNAPPY));
        let named = ["prompt", "answer", "turns"];
        assert!(read(whole.clone(), &named).is_ok());
        for bytes in [&b"PAR1"[..], b"PAR1PAR1PAR1", &whole[..whole.len() - 1], &whole[..whole.len() / 2]] {
            assert_eq!(read(Bytes::copy_from_slice(bytes), &named).unwrap_err().code(), "parquet_unreadable");
        }
        let mut long = vec![0; 17 << 20];
        long.extend((17_u32 << 20).to_le_bytes());
        long.extend(MAGIC);
        assert_eq!(read(long.into(), &named).unwrap_err().code(), "parquet_too_large");
    }

    #[test]
    fn row_groups_without_rows_are_passed_over() {
        let schema = Arc::new(parse_message_type("message rows { required binary prompt (utf8); }").unwrap());
        let groups = |counts: &[usize]| {
            let mut bytes = Vec::new();
            let properties = Arc::new(WriterProperties::default());
            let mut writer = SerializedFileWriter::new(&mut bytes, Arc::clone(&schema), properties).unwrap();
            for count in counts {
                let mut columns = writer.next_row_group().unwrap();
                let mut column = columns.next_column().unwrap().unwrap();
                let texts = vec![ByteArray::from("a"); *count];
                column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
                column.close().unwrap();
                columns.close().unwrap();
            }
            writer.close().unwrap();
            read(bytes.into(), &[]).map(|rows| rows.len())
        };
        assert_eq!(groups(&[0, 2, 0, 0, 1]).unwrap(), 3);
        assert_eq!(groups(&[0]).unwrap(), 0);
        assert_eq!(groups(&[]).unwrap(), 0);
    }

    #[test]
    fn a_changed_byte_is_an_error_or_other_rows_and_nothing_worse() {
        let whole = file(60, 20, Some(3), properties(Compression::SNAPPY)).to_vec();
        for place in 0..whole.len() {
            for change in [0xff, 0x01] {
                let mut changed = whole.clone();
                changed[place] ^= change;
                // The thread of the intake makes an error of a panic, as is done here.
                let read = std::thread::spawn(move || read(changed.into(), &["prompt", "answer", "turns"]).is_ok());
                let _ = read.join();
            }
        }
    }
}
