//! What reading a Parquet file will take, found out before any of it is taken.
//!
//! The directory at a file's end and the headers of its pages say how deep columns nest and how large pages are once they are
//! unpacked, and whoever believes them gives as much memory as they ask for. So they are walked first, as bytes: Thrift's
//! compact protocol, of which only numbers, texts, lists and structures are met. What they claim is held against bounds, and
//! pages packed with gzip, whose reader unpacks until the end, are unpacked once for their length alone.
//!
//! Source: the Parquet format's `parquet.thrift`, and Thrift's compact protocol.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use parquet::basic::Compression;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;

use crate::dataset::DatasetError;

/// Of the directory at the end; that of a file with a thousand columns and row groups takes some.
const MOST_FOOTER_BYTES: usize = 16 << 20;
const MOST_DEPTH: usize = 64;
const MOST_SCHEMA_ELEMENTS: usize = 10_000;
/// In one list of the directory, such as its row groups.
const MOST_STRUCTURES: u64 = 100_000;
/// Of one page, packed or not. Writers make pages of 1 MiB; some make one of a whole row group.
const MOST_PAGE_BYTES: u64 = 256 << 20;
/// Of the largest pages of all columns that are read, which lie in memory together.
const MOST_OPEN_BYTES: u64 = 512 << 20;
/// Of a page's header; statistics in it hold two values.
const MOST_HEADER_BYTES: u64 = 1 << 20;
/// The end of a file: the length of the directory, and `PAR1`.
const TAIL_BYTES: u64 = 8;
/// Depth to which what is not looked at may nest.
const MOST_SKIP_DEPTH: usize = 32;

/// Checks that a file has a directory that can be read: its length, how deep columns nest and how many there are.
pub fn check_footer(file: &impl ChunkReader) -> Result<(), DatasetError> {
    let length = file.len();
    if length < TAIL_BYTES + super::parquet::MAGIC.len() as u64 {
        return Err(broken("it is too short"));
    }
    let tail = file.get_bytes(length - TAIL_BYTES, TAIL_BYTES as usize).map_err(|error| broken(&error.to_string()))?;
    if tail.ends_with(b"PARE") {
        return Err(broken("it is encrypted; save it without encryption"));
    }
    if !tail.ends_with(super::parquet::MAGIC) {
        return Err(broken("it does not end as one; it was probably cut off, send it again"));
    }
    let bytes = tail.first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes)) as usize;
    let start = (length - TAIL_BYTES).checked_sub(bytes as u64);
    let start = start.ok_or_else(|| broken("its directory is longer than the file"))?;
    if bytes > MOST_FOOTER_BYTES {
        return Err(too_large(format!("its directory has {bytes} bytes, and at most {MOST_FOOTER_BYTES} are read")));
    }
    let footer = file.get_bytes(start, bytes).map_err(|error| broken(&error.to_string()))?;
    check_schema(&mut Compact { bytes: &footer })
}

/// Walks the directory to its schema, whose columns stand in a list, parents before their children.
fn check_schema(footer: &mut Compact<'_>) -> Result<(), DatasetError> {
    const SCHEMA: i64 = 2;
    const CHILDREN: i64 = 5;
    let mut field = 0;
    while let Some(kind) = footer.field(&mut field)? {
        if field != SCHEMA || kind != Kind::List {
            footer.skip(kind, MOST_SKIP_DEPTH)?;
            continue;
        }
        let (_, elements) = footer.list()?;
        if elements > MOST_SCHEMA_ELEMENTS {
            return Err(too_large(format!("it has {elements} columns, and at most {MOST_SCHEMA_ELEMENTS} are read")));
        }
        // How many children are still to come of each element around.
        let mut open: Vec<i64> = Vec::new();
        for _ in 0..elements {
            let (mut member, mut children) = (0, 0);
            while let Some(kind) = footer.field(&mut member)? {
                if member == CHILDREN && kind == Kind::Int {
                    children = footer.int()?;
                } else {
                    footer.skip(kind, MOST_SKIP_DEPTH)?;
                }
            }
            while open.pop_if(|left| *left <= 0).is_some() {}
            if let Some(left) = open.last_mut() {
                *left -= 1;
            }
            if children > 0 {
                open.push(children);
            }
            if open.len() > MOST_DEPTH {
                return Err(too_large(format!("its columns nest deeper than {MOST_DEPTH}")));
            }
        }
    }
    Ok(())
}

/// What the headers of a column's pages say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Bytes of the largest page, packed or not.
    largest: u64,
    /// Bytes of the dictionary.
    pub dictionary: u64,
    /// Values of all pages, nulls among them.
    pub values: u64,
    /// Bytes that each text may have where texts share their beginnings, and are longer than what the page holds of them.
    pub expands: u64,
}

/// Checks the pages of the columns of a row group that will be read.
pub fn check_pages<'a>(
    file: &impl ChunkReader,
    columns: impl Iterator<Item = &'a ColumnChunkMetaData>,
) -> Result<Vec<Chunk>, DatasetError> {
    let (mut open, mut chunks) = (0, Vec::new());
    for column in columns {
        let chunk = check_column(file, column)?;
        open += chunk.largest + chunk.dictionary;
        if open > MOST_OPEN_BYTES {
            return Err(too_large(format!(
                "the pages of a row group take more than {MOST_OPEN_BYTES} bytes; read fewer columns, or write smaller pages"
            )));
        }
        chunks.push(chunk);
    }
    Ok(chunks)
}

fn check_column(file: &impl ChunkReader, column: &ColumnChunkMetaData) -> Result<Chunk, DatasetError> {
    let name = || column.column_path().string().chars().take(60).collect::<String>();
    let codec = match column.compression() {
        Compression::LZ4 => Some("the old LZ4"),
        Compression::BROTLI(_) => Some("Brotli"),
        Compression::LZO => Some("LZO"),
        _ => None,
    };
    if let Some(codec) = codec {
        let detail = format!(
            "column `{}` is packed with {codec}, which is not read; write the file with zstd, snappy or LZ4_RAW",
            name()
        );
        return Err(broken(&detail));
    }
    let (start, length) =
        (column.dictionary_page_offset().unwrap_or(column.data_page_offset()), column.compressed_size());
    let start = u64::try_from(start.min(column.data_page_offset())).ok();
    let length = u64::try_from(length).ok();
    let end = start.zip(length).and_then(|(start, length)| start.checked_add(length)).filter(|end| *end <= file.len());
    let (Some(mut at), Some(end)) = (start, end) else {
        return Err(broken(&format!("column `{}` lies beyond the file", name())));
    };
    let mut chunk = Chunk::default();
    while at < end {
        let page = page_header(file, at, end)?;
        let bytes = page.unpacked.max(page.packed);
        if bytes > MOST_PAGE_BYTES {
            let detail =
                format!("column `{}` has a page of {bytes} bytes, and at most {MOST_PAGE_BYTES} are read", name());
            return Err(too_large(detail));
        }
        let behind = at + page.header_bytes + page.packed;
        if behind > end {
            return Err(broken(&format!("a page of column `{}` lies beyond its column", name())));
        }
        if matches!(column.compression(), Compression::GZIP(_)) {
            check_gzip(file, at + page.header_bytes + page.levels, &page)?;
        }
        if page.is_dictionary {
            chunk.dictionary = chunk.dictionary.max(bytes);
        } else {
            chunk.largest = chunk.largest.max(bytes);
            chunk.values = chunk.values.saturating_add(page.values);
            chunk.expands = chunk.expands.max(if page.shares_beginnings { bytes } else { 0 });
        }
        at = behind;
    }
    Ok(chunk)
}

/// What a page's header says.
struct PageHeader {
    is_dictionary: bool,
    unpacked: u64,
    packed: u64,
    header_bytes: u64,
    /// Bytes of the page that stand before what is packed.
    levels: u64,
    is_packed: bool,
    values: u64,
    /// Whether texts are written as what they have in common with those before, and the rest (`DELTA_BYTE_ARRAY`).
    shares_beginnings: bool,
}

fn page_header(file: &impl ChunkReader, at: u64, end: u64) -> Result<PageHeader, DatasetError> {
    const FIRST: u64 = 256;
    let read = |bytes: u64| {
        let most = usize::try_from(bytes.min(end - at)).unwrap_or(usize::MAX);
        file.get_bytes(at, most).map_err(|error| broken(&error.to_string()))
    };
    // Few headers are longer than the first bytes.
    let mut bytes = read(FIRST)?;
    match PageHeader::parse(&bytes) {
        Err(_) if end - at > FIRST => {
            bytes = read(MOST_HEADER_BYTES)?;
            PageHeader::parse(&bytes)
        }
        parsed => parsed,
    }
}

impl PageHeader {
    fn parse(bytes: &[u8]) -> Result<Self, DatasetError> {
        const DICTIONARY: i64 = 2;
        const DELTA_BYTE_ARRAY: i64 = 7;
        let (mut compact, mut field) = (Compact { bytes }, 0);
        let (mut kind_of_page, mut unpacked, mut packed) = (0, -1, -1);
        let mut data = DataHeader::default();
        while let Some(kind) = compact.field(&mut field)? {
            match (field, kind) {
                (1, Kind::Int) => kind_of_page = compact.int()?,
                (2, Kind::Int) => unpacked = compact.int()?,
                (3, Kind::Int) => packed = compact.int()?,
                (5, Kind::Struct) => data = compact.data_header(false)?,
                (8, Kind::Struct) => data = compact.data_header(true)?,
                _ => compact.skip(kind, MOST_SKIP_DEPTH)?,
            }
        }
        let size = |size: i64| u64::try_from(size).map_err(|_| broken("a page has no size"));
        let header_bytes = (bytes.len() - compact.bytes.len()) as u64;
        let is_dictionary = kind_of_page == DICTIONARY;
        let (unpacked, packed, levels) = (size(unpacked)?, size(packed)?, size(data.levels)?);
        if levels > packed {
            return Err(broken("a page is shorter than its levels"));
        }
        let (values, is_packed) = (size(data.values)?, !data.is_plain);
        let shares_beginnings = data.encoding == DELTA_BYTE_ARRAY;
        Ok(Self { is_dictionary, unpacked, packed, header_bytes, levels, is_packed, values, shares_beginnings })
    }
}

/// Unpacks a page for its length: it may not be longer than it says.
fn check_gzip(file: &impl ChunkReader, at: u64, page: &PageHeader) -> Result<(), DatasetError> {
    if !page.is_packed || page.unpacked == page.levels {
        return Ok(());
    }
    let reader = file.get_read(at).map_err(|error| broken(&error.to_string()))?;
    let said = page.unpacked.saturating_sub(page.levels);
    let mut unpacked = MultiGzDecoder::new(reader.take(page.packed - page.levels)).take(said + 1);
    let bytes = std::io::copy(&mut unpacked, &mut std::io::sink()).map_err(|error| broken(&error.to_string()))?;
    if bytes == said { Ok(()) } else { Err(broken("a page unpacks to another size than it says")) }
}

/// The kinds of values that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    True,
    False,
    Byte,
    Int,
    Double,
    Binary,
    List,
    Map,
    Struct,
}

/// Reads Thrift's compact protocol.
struct Compact<'a> {
    bytes: &'a [u8],
}

impl Compact<'_> {
    fn byte(&mut self) -> Result<u8, DatasetError> {
        let (&byte, rest) = self.bytes.split_first().ok_or_else(|| broken("its directory ends early"))?;
        self.bytes = rest;
        Ok(byte)
    }

    fn unsigned(&mut self) -> Result<u64, DatasetError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(broken("its directory has a number without end"))
    }

    fn int(&mut self) -> Result<i64, DatasetError> {
        let value = self.unsigned()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn kind(code: u8) -> Result<Kind, DatasetError> {
        Ok(match code {
            1 => Kind::True,
            2 => Kind::False,
            3 => Kind::Byte,
            4..=6 => Kind::Int,
            7 => Kind::Double,
            8 => Kind::Binary,
            9 | 10 => Kind::List,
            11 => Kind::Map,
            12 => Kind::Struct,
            _ => return Err(broken("its directory has a value of an unknown kind")),
        })
    }

    /// The kind of the next field of a structure, and its number in `field`; none at the end.
    fn field(&mut self, field: &mut i64) -> Result<Option<Kind>, DatasetError> {
        let byte = self.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        *field = if byte >> 4 == 0 { self.int()? } else { field.saturating_add(i64::from(byte >> 4)) };
        Self::kind(byte & 0x0f).map(Some)
    }

    /// The kind of a list's elements and their number, each of which takes a byte at least.
    fn list(&mut self) -> Result<(Kind, usize), DatasetError> {
        let byte = self.byte()?;
        let count = if byte >> 4 == 15 { self.unsigned()? } else { u64::from(byte >> 4) };
        if count > self.bytes.len() as u64 {
            return Err(broken("its directory has a list longer than itself"));
        }
        let kind = Self::kind(byte & 0x0f)?;
        if kind == Kind::Struct && count > MOST_STRUCTURES {
            return Err(too_large(format!("it has {count} row groups, and at most {MOST_STRUCTURES} are read")));
        }
        Ok((kind, count as usize))
    }

    fn advance(&mut self, bytes: u64) -> Result<(), DatasetError> {
        let rest = usize::try_from(bytes).ok().and_then(|bytes| self.bytes.get(bytes..));
        self.bytes = rest.ok_or_else(|| broken("its directory ends early"))?;
        Ok(())
    }

    fn skip(&mut self, kind: Kind, depth: usize) -> Result<(), DatasetError> {
        let Some(deeper) = depth.checked_sub(1) else { return Err(broken("its directory nests too deeply")) };
        match kind {
            Kind::True | Kind::False => Ok(()),
            Kind::Byte => self.advance(1),
            Kind::Int => self.unsigned().map(drop),
            Kind::Double => self.advance(8),
            Kind::Binary => {
                let bytes = self.unsigned()?;
                self.advance(bytes)
            }
            Kind::List => {
                let (kind, count) = self.list()?;
                // Within a list, a truth value takes a byte.
                let kind = if matches!(kind, Kind::True | Kind::False) { Kind::Byte } else { kind };
                (0..count).try_for_each(|_| self.skip(kind, deeper))
            }
            Kind::Map => Err(broken("its directory has a map, which the format does not know")),
            Kind::Struct => {
                let mut field = 0;
                while let Some(kind) = self.field(&mut field)? {
                    self.skip(kind, deeper)?;
                }
                Ok(())
            }
        }
    }

    /// What the header of a page of values says, in its first form or in its `second`.
    fn data_header(&mut self, second: bool) -> Result<DataHeader, DatasetError> {
        let (mut field, mut header) = (0, DataHeader::default());
        while let Some(kind) = self.field(&mut field)? {
            match (field, kind, second) {
                (1, Kind::Int, _) => header.values = self.int()?,
                (2, Kind::Int, false) | (4, Kind::Int, true) => header.encoding = self.int()?,
                (5 | 6, Kind::Int, true) => header.levels = header.levels.saturating_add(self.int()?.max(0)),
                (7, kind @ (Kind::True | Kind::False), true) => header.is_plain = kind == Kind::False,
                _ => self.skip(kind, MOST_SKIP_DEPTH)?,
            }
        }
        Ok(header)
    }
}

/// Of a page of values.
#[derive(Debug, Default)]
struct DataHeader {
    values: i64,
    encoding: i64,
    /// Bytes of the levels in the second form, where they are never packed.
    levels: i64,
    /// Whether what follows the levels is not packed either.
    is_plain: bool,
}

pub(super) fn broken(detail: &str) -> DatasetError {
    DatasetError::Parquet { detail: detail.to_owned() }
}

pub(super) fn too_large(detail: String) -> DatasetError {
    DatasetError::ParquetTooLarge { detail }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use bytes::Bytes;
    use parquet::basic::BrotliLevel;
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;

    use super::super::parquet::MAGIC;
    use super::*;

    /// A file whose directory is a version and a schema with so many columns, each within the one before.
    fn nested(columns: u8) -> Bytes {
        let mut footer = vec![0x15, 0x02, 0x19, 0xfc, columns];
        (0..columns).for_each(|_| footer.extend([0x55, 0x02, 0x00]));
        footer.push(0x00);
        let length = (footer.len() as u32).to_le_bytes();
        [MAGIC, &footer, &length, MAGIC].concat().into()
    }

    #[test]
    fn columns_that_nest_without_end_are_refused_before_they_are_read() {
        assert!(check_footer(&nested(60)).is_ok());
        assert_eq!(check_footer(&nested(100)).unwrap_err().code(), "parquet_too_large");
    }

    #[test]
    fn a_list_is_never_longer_than_what_is_left() {
        let (count, mut long) = ([0xff, 0xff, 0xff, 0x7f], vec![0x15, 0x02, 0x19, 0xfc]);
        long.extend(count);
        let length = (long.len() as u32).to_le_bytes();
        let file: Bytes = [MAGIC, &long, &length, MAGIC].concat().into();
        assert_eq!(check_footer(&file).unwrap_err().code(), "parquet_unreadable");
    }

    #[test]
    fn a_codec_that_is_not_read_is_named_with_what_to_do() {
        let schema = parse_message_type("message rows { required binary prompt (utf8); }").unwrap();
        let descr = SchemaDescriptor::new(Arc::new(schema)).column(0);
        for (codec, name) in [
            (Compression::BROTLI(BrotliLevel::default()), "Brotli"),
            (Compression::LZO, "LZO"),
            (Compression::LZ4, "LZ4"),
        ] {
            let column = ColumnChunkMetaData::builder(descr.clone()).set_compression(codec).build().unwrap();
            let error = check_pages(&Bytes::new(), [&column].into_iter()).unwrap_err();
            assert_eq!(error.code(), "parquet_unreadable");
            assert!(error.to_string().contains(name) && error.to_string().contains("with zstd, snappy"), "{error}");
        }
    }

    #[test]
    fn a_page_says_its_sizes() {
        // Data, 300 bytes, packed 150; then a header of the second form with 3 + 4 bytes of levels, not packed.
        let header =
            [0x15, 0x06, 0x15, 0xd8, 0x04, 0x15, 0xac, 0x02, 0x5c, 0x55, 0x06, 0x15, 0x08, 0x12, 0x00, 0x00, 0xff];
        let page = PageHeader::parse(&header).unwrap();
        assert_eq!((page.unpacked, page.packed, page.header_bytes), (300, 150, 16));
        assert_eq!((page.levels, page.is_packed, page.is_dictionary), (7, false, false));
        // The first form: 100 values, as texts that share their beginnings.
        let header = [0x15, 0x00, 0x15, 0x02, 0x15, 0x02, 0x2c, 0x15, 0xc8, 0x01, 0x15, 0x0e, 0x00, 0x00];
        let page = PageHeader::parse(&header).unwrap();
        assert_eq!((page.values, page.shares_beginnings, page.is_packed), (100, true, true));
        assert!(PageHeader::parse(&header[..10]).is_err());
        let negative = [0x15, 0x00, 0x15, 0x01, 0x15, 0x02, 0x00];
        assert_eq!(PageHeader::parse(&negative).map(|_| ()).unwrap_err().code(), "parquet_unreadable");
    }

    #[test]
    fn a_page_that_unpacks_to_more_than_it_says_is_refused() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&vec![0; 8 << 20]).unwrap();
        let packed: Bytes = encoder.finish().unwrap().into();
        let page = |unpacked| PageHeader {
            is_dictionary: false,
            unpacked,
            packed: packed.len() as u64,
            header_bytes: 0,
            levels: 0,
            is_packed: true,
            values: 0,
            shares_beginnings: false,
        };
        assert!(check_gzip(&packed, 0, &page(8 << 20)).is_ok());
        for said in [100, (8 << 20) - 1, (8 << 20) + 1] {
            assert_eq!(check_gzip(&packed, 0, &page(said)).unwrap_err().code(), "parquet_unreadable", "{said}");
        }
    }
}
