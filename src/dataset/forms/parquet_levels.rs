//! How much one row of a row group may hold, which the reader of rows holds as a whole.
//!
//! A list takes memory for each of its elements, and a few bytes of a file stand for millions of them: levels that repeat are
//! written as a count, and a long text of a dictionary is copied for each reference to it. Nothing in a file's directory says
//! how long its longest row is, so that the levels are walked where the numbers of values leave room for a row that is too
//! long. A run is one step, whatever it counts.
//!
//! Source: the Parquet format's `Encodings.md` (levels as runs and packed bits).

use ::parquet::basic::{Encoding, Type as PhysicalType};
use ::parquet::column::page::Page;
use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::reader::RowGroupReader;
use bytes::Bytes;

use super::parquet::MOST_ROW_BYTES;
use super::parquet::unreadable;
use super::parquet_pages::{Chunk, broken, too_large};
use crate::dataset::DatasetError;

/// Of one column in a row: an element takes two bytes of its line at least, so that more make no row.
const MOST_ELEMENTS: u64 = MOST_ROW_BYTES as u64 / 2;
/// Of all columns of a row: their elements, each with what it nests in. One takes some 80 bytes.
const MOST_ROW_PARTS: u64 = 4 << 20;
/// Of the texts of a row.
const MOST_ROW_TEXT: u64 = 512 << 20;

/// What the longest row of a group may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Longest {
    /// Elements of all lists.
    pub elements: u64,
    /// Bytes of texts that the reader makes of fewer bytes.
    pub expanded: u64,
}

/// Checks that no row of a group holds too much. `columns` are those that are read, with their places in the group.
pub fn check_rows(
    reader: &dyn RowGroupReader,
    group: &RowGroupMetaData,
    columns: &[(usize, Chunk)],
) -> Result<Longest, DatasetError> {
    let others = group.num_rows().unsigned_abs().saturating_sub(1);
    // Every row has a value at least, so that the longest has no more than the others leave.
    let bound = |chunk: &Chunk| chunk.values.saturating_sub(others);
    let lists = || columns.iter().filter(|(place, _)| group.column(*place).column_descr().max_rep_level() > 0);
    let depth = |place: usize| group.column(place).column_path().parts().len() as u64;
    let sum = |of: &dyn Fn(&(usize, Chunk)) -> u64| lists().map(of).fold(0, u64::saturating_add);
    let fits = lists().all(|(_, chunk)| bound(chunk) <= MOST_ELEMENTS)
        && sum(&|(place, chunk)| bound(chunk).saturating_mul(depth(*place))) <= MOST_ROW_PARTS
        && sum(&|(_, chunk)| bound(chunk).saturating_mul(chunk.dictionary.max(chunk.expands))) <= MOST_ROW_TEXT;
    let (mut parts, mut bytes) = (0_u64, 0_u64);
    let flat = columns.len() - lists().count();
    let expanded = columns.iter().map(|(_, chunk)| chunk.expands).sum();
    let mut longest = Longest { elements: flat as u64, expanded };
    for (place, chunk) in lists() {
        let (elements, text) = if fits { (bound(chunk), chunk.dictionary) } else { walk(reader, group, *place)? };
        let text = text.max(chunk.expands);
        if elements > MOST_ELEMENTS {
            let name = group.column(*place).column_path().string();
            let name: String = name.chars().take(60).collect();
            return Err(too_large(format!(
                "column `{name}` has a row with {elements} elements, and at most {MOST_ELEMENTS} fit into a row"
            )));
        }
        parts = parts.saturating_add(elements.saturating_mul(depth(*place)));
        bytes = bytes.saturating_add(elements.saturating_mul(text));
        longest.elements += elements;
        longest.expanded = longest.expanded.saturating_add(elements.saturating_mul(chunk.expands));
    }
    if parts > MOST_ROW_PARTS || bytes > MOST_ROW_TEXT {
        let detail =
            "its lists may make one row of more than 512 MiB; read fewer columns, or write texts without a dictionary";
        return Err(too_large(detail.to_owned()));
    }
    Ok(longest)
}

/// The elements of the longest row in a column, and the bytes of the longest text in its dictionary.
fn walk(reader: &dyn RowGroupReader, group: &RowGroupMetaData, place: usize) -> Result<(u64, u64), DatasetError> {
    let descr = group.column(place).column_descr();
    let bits = (i16::BITS - descr.max_rep_level().leading_zeros()) as usize;
    let mut pages = reader.get_column_page_reader(place).map_err(|error| unreadable(&error))?;
    let (mut count, mut text) = (Count::default(), 0);
    while let Some(page) = pages.get_next_page().map_err(|error| unreadable(&error))? {
        match page {
            Page::DictionaryPage { buf, .. } if descr.physical_type() == PhysicalType::BYTE_ARRAY => {
                text = longest_text(&buf);
            }
            // A value of a fixed length is no longer than the page.
            Page::DictionaryPage { buf, num_values, .. } => text = buf.len() as u64 / u64::from(num_values).max(1),
            Page::DataPage { buf, num_values, rep_level_encoding: Encoding::RLE, .. } => {
                let length = buf.first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes)) as usize;
                count.add(levels(&buf, 4, length)?, bits, num_values.into())?;
            }
            // Of levels that only very old writers write this is the most that they may say.
            Page::DataPage { num_values, .. } => count.go_on(num_values.into()),
            Page::DataPageV2 { buf, num_values, rep_levels_byte_len, .. } => {
                count.add(levels(&buf, 0, rep_levels_byte_len as usize)?, bits, num_values.into())?;
            }
        }
    }
    Ok((count.longest, text))
}

fn levels(page: &Bytes, from: usize, length: usize) -> Result<&[u8], DatasetError> {
    let end = from.checked_add(length);
    end.and_then(|end| page.get(from..end)).ok_or_else(|| broken("a page is shorter than its levels"))
}

/// Of texts with their lengths before them.
fn longest_text(mut dictionary: &[u8]) -> u64 {
    let mut longest = 0;
    while let Some((length, rest)) = dictionary.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length);
        longest = longest.max(length);
        dictionary = rest.get(length as usize..).unwrap_or_default();
    }
    longest.into()
}

/// Counts the values of rows by their repetition levels: 0 begins a row.
#[derive(Debug, Default)]
struct Count {
    row: u64,
    longest: u64,
}

impl Count {
    fn begin(&mut self) {
        self.row = 0;
        self.go_on(1);
    }

    fn go_on(&mut self, values: u64) {
        self.row += values;
        self.longest = self.longest.max(self.row);
    }

    /// Takes the levels of `left` values of so many bits: runs of one level, and levels packed from the lowest bit on.
    fn add(&mut self, mut levels: &[u8], bits: usize, mut left: u64) -> Result<(), DatasetError> {
        while left > 0 {
            let header = unsigned(&mut levels)?;
            let count = left.min(if header & 1 == 0 { header >> 1 } else { (header >> 1).saturating_mul(8) });
            if count == 0 {
                return Err(short());
            }
            left -= count;
            if header & 1 == 0 {
                let (level, rest) = levels.split_at_checked(bits.div_ceil(8)).ok_or_else(short)?;
                levels = rest;
                if level.iter().any(|byte| *byte != 0) {
                    self.go_on(count)
                } else {
                    self.begin()
                }
                continue;
            }
            let bytes = (header >> 1).saturating_mul(bits as u64).min(levels.len() as u64) as usize;
            let (packed, rest) = levels.split_at_checked(bytes).ok_or_else(short)?;
            if (packed.len() as u64).saturating_mul(8) < count.saturating_mul(bits as u64) {
                return Err(short());
            }
            levels = rest;
            let is_set = |bit: usize| packed[bit / 8] >> (bit % 8) & 1 == 1;
            for value in 0..count as usize {
                if (value * bits..(value + 1) * bits).any(is_set) { self.go_on(1) } else { self.begin() }
            }
        }
        Ok(())
    }
}

fn short() -> DatasetError {
    broken("the levels of a page end early")
}

fn unsigned(bytes: &mut &[u8]) -> Result<u64, DatasetError> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or_else(short)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(short())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ::parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
    use ::parquet::file::properties::{WriterProperties, WriterVersion};
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;

    use super::super::parquet::lines;
    use super::*;

    /// Rows of `x`, lists of so many nulls each.
    fn nulls(rows: &[usize], version: WriterVersion) -> Bytes {
        let schema = "message rows { optional group x (LIST) { repeated group list { optional int32 element; } } }";
        let properties = WriterProperties::builder().set_writer_version(version).build();
        let mut bytes = Vec::new();
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let repeats: Vec<i16> = rows.iter().flat_map(|row| (0..*row).map(|index| i16::from(index > 0))).collect();
        let levels = vec![2; repeats.len()];
        column.typed::<Int32Type>().write_batch(&[], Some(&levels), Some(&repeats)).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        bytes.into()
    }

    /// One row, a list with the same text so often.
    fn texts(text: &str, count: usize, dictionary: bool) -> Bytes {
        let schema =
            "message rows { required group x (LIST) { repeated group list { required binary element (utf8); } } }";
        let properties =
            WriterProperties::builder().set_dictionary_enabled(dictionary).set_dictionary_page_size_limit(8 << 20);
        let mut bytes = Vec::new();
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties.build())).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let repeats: Vec<i16> = (0..count).map(|index| i16::from(index > 0)).collect();
        let values = vec![ByteArray::from(text); count];
        column.typed::<ByteArrayType>().write_batch(&values, Some(&vec![1; count]), Some(&repeats)).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        bytes.into()
    }

    fn read(file: Bytes) -> Result<usize, &'static str> {
        let mut rows = 0;
        lines(file, None, &mut |text| {
            rows += text.iter().filter(|byte| **byte == b'\n').count();
            Ok(())
        })
        .map_err(|error| error.code())?;
        Ok(rows)
    }

    #[test]
    fn a_row_of_more_elements_than_fit_into_it_is_refused_before_it_is_made() {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let bomb = nulls(&[3, 600_000, 2], version);
            assert!(bomb.len() < 4000, "{}", bomb.len());
            assert_eq!(read(bomb), Err("parquet_too_large"));
            // As many in all, but in no row.
            assert_eq!(read(nulls(&[6000; 100], version)), Ok(100));
            assert_eq!(read(nulls(&[1; 1000], version)), Ok(1000));
        }
    }

    #[test]
    fn a_text_that_is_copied_for_each_reference_is_counted_as_often() {
        let text = "a".repeat(1 << 20);
        let bomb = texts(&text, 2000, true);
        assert!(bomb.len() < 3 << 20);
        assert_eq!(read(bomb), Err("parquet_too_large"));
        assert_eq!(read(texts("a", 2000, true)), Ok(1));
        assert_eq!(read(texts("a", 2000, false)), Ok(1));
    }

    #[test]
    fn levels_are_counted_in_runs_and_in_bits() {
        let count = |levels: &[u8], bits: usize, values: u64| {
            let mut count = Count::default();
            count.add(levels, bits, values).map(|()| (count.row, count.longest))
        };
        // Three rows of one value, then five more of the last.
        assert_eq!(count(&[6, 0, 10, 1], 1, 8).unwrap(), (6, 6));
        // Eight values 0 1 1 0 1 0 0 1.
        assert_eq!(count(&[3, 0b1001_0110], 1, 8).unwrap(), (2, 3));
        // Of two bits each, of which only six count: 0 2 1 0 3 3.
        assert_eq!(count(&[3, 0b0001_1000, 0b0000_1111], 2, 6).unwrap(), (3, 3));
        let run = [0xfe, 0xff, 0xff, 0xff, 0x0f, 1];
        assert_eq!(count(&run, 1, u64::from(u32::MAX >> 1)).unwrap().1, u64::from(u32::MAX >> 1));
        for broken in [&[][..], &[0], &[6], &[3], &[0xff; 12], &[5, 0]] {
            assert!(count(broken, 1, 9).is_err(), "{broken:?}");
        }
    }
}
