//! The rows of a row group: plain columns by themselves, which is three times as fast as whole rows, and what nests by the
//! reader of rows.

use std::sync::Arc;

use ::parquet::basic::{ConvertedType, Repetition};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType,
    Int32Type, Int64Type, Int96, Int96Type,
};
use ::parquet::errors::Result as ParquetResult;
use ::parquet::file::reader::RowGroupReader;
use ::parquet::record::Field;
use ::parquet::record::reader::{ReaderIter, TreeBuilder};
use ::parquet::schema::types::{ColumnDescPtr, SchemaDescriptor, Type, TypePtr};

use super::delimited::write_text;
use super::parquet::MOST_ROW_BYTES;
use super::parquet::unreadable;
use super::parquet_pages::broken;
use super::parquet_text::{NoText, write_field, write_int96};
use crate::dataset::DatasetError;

/// The columns of a row group.
pub struct Rows {
    columns: Vec<Column>,
    /// The columns that nest, row by row.
    nested: Option<ReaderIter>,
    batch: usize,
    left: usize,
}

struct Column {
    name: String,
    /// As JSON, with its colon.
    member: Vec<u8>,
    values: Source,
}

enum Source {
    Plain(Box<Plain>),
    /// In the rows that nest, in their order.
    Nested(TypePtr),
}

/// A column with one value, or null, in each row.
struct Plain {
    descr: ColumnDescPtr,
    values: Values,
    /// Of each row of the batch, where the column may be null.
    levels: Vec<i16>,
    /// The next of the batch's values, of which rows with null have none.
    next: usize,
}

/// A reader with the values that it has read.
enum Values {
    Bool(ColumnReaderImpl<BoolType>, Vec<bool>),
    Int32(ColumnReaderImpl<Int32Type>, Vec<i32>),
    Int64(ColumnReaderImpl<Int64Type>, Vec<i64>),
    Int96(ColumnReaderImpl<Int96Type>, Vec<Int96>),
    Float(ColumnReaderImpl<FloatType>, Vec<f32>),
    Double(ColumnReaderImpl<DoubleType>, Vec<f64>),
    Bytes(ColumnReaderImpl<ByteArrayType>, Vec<ByteArray>),
    Fixed(ColumnReaderImpl<FixedLenByteArrayType>, Vec<FixedLenByteArray>),
}

impl Rows {
    /// Of the columns of `schema`, `batch` rows decoded at a time.
    pub fn of(group: &dyn RowGroupReader, schema: &SchemaDescriptor, batch: usize) -> Result<Self, DatasetError> {
        let (mut columns, mut nesting) = (Vec::new(), Vec::new());
        for field in schema.root_schema().get_fields() {
            let mut member = Vec::new();
            write_text(&mut member, field.name());
            member.push(b':');
            let values = if field.is_primitive() && field.get_basic_info().repetition() != Repetition::REPEATED {
                Source::Plain(Box::new(Plain::of(group, field.name())?))
            } else {
                nesting.push(field.clone());
                Source::Nested(field.clone())
            };
            columns.push(Column { name: field.name().to_owned(), member, values });
        }
        let left = group.metadata().num_rows().unsigned_abs() as usize;
        if nesting.is_empty() {
            return Ok(Self { columns, nested: None, batch, left });
        }
        let nesting = Type::group_type_builder(schema.root_schema().name()).with_fields(nesting).build();
        let nesting = Arc::new(SchemaDescriptor::new(Arc::new(nesting.map_err(|error| unreadable(&error))?)));
        let nested = TreeBuilder::new().with_batch_size(batch).as_iter(nesting, group);
        Ok(Self { columns, nested: Some(nested.map_err(|error| unreadable(&error))?), batch, left })
    }

    /// Reads the next rows and says how many; 0 at the end.
    pub fn read(&mut self) -> Result<usize, DatasetError> {
        let rows = self.batch.min(self.left);
        for column in &mut self.columns {
            let Source::Plain(plain) = &mut column.values else { continue };
            if rows > 0 && plain.read(rows).map_err(|error| unreadable(&error))? != rows {
                return Err(broken(&format!("column `{}` has fewer values than there are rows", column.name)));
            }
        }
        self.left -= rows;
        Ok(rows)
    }

    /// Writes a row of the batch, one after the other. An error does not know the number of its row.
    pub fn write(&mut self, row: usize, text: &mut Vec<u8>) -> Result<(), DatasetError> {
        let nested = match &mut self.nested {
            Some(rows) => {
                let next = rows.next().ok_or_else(|| broken("a row group has fewer rows than it says"))?;
                Some(next.map_err(|error| unreadable(&error))?)
            }
            None => None,
        };
        let mut nested = nested.iter().flat_map(|row| row.get_column_iter());
        let (begun, mut before) = (text.len(), b'{');
        for column in &mut self.columns {
            text.push(before);
            before = b',';
            text.extend_from_slice(&column.member);
            let written = match &mut column.values {
                Source::Plain(plain) => plain.write(row, text),
                Source::Nested(of) => nested.next().map_or(Ok(()), |(_, field)| write_field(field, of, text)),
            };
            written.map_err(|why| {
                let (column, detail) = (column.name.clone(), why.detail().to_owned());
                DatasetError::WrongType { row: 0, column, detail }
            })?;
            if text.len() - begun >= MOST_ROW_BYTES {
                return Err(DatasetError::RowTooLong { row: 0, limit: MOST_ROW_BYTES });
            }
        }
        if before == b'{' {
            text.push(before);
        }
        text.extend_from_slice(b"}\n");
        Ok(())
    }
}

impl Plain {
    fn of(group: &dyn RowGroupReader, name: &str) -> Result<Self, DatasetError> {
        let all = group.metadata().columns();
        let place = all.iter().position(|column| column.column_path().parts() == [name]);
        let place = place.ok_or_else(|| broken("a row group lacks a column"))?;
        let reader = group.get_column_reader(place).map_err(|error| unreadable(&error))?;
        let descr = all[place].column_descr_ptr();
        Ok(Self { descr, values: Values::of(reader), levels: Vec::new(), next: 0 })
    }

    fn read(&mut self, rows: usize) -> ParquetResult<usize> {
        self.levels.clear();
        self.next = 0;
        let levels = (self.descr.max_def_level() > 0).then_some(&mut self.levels);
        self.values.read(rows, levels)
    }

    fn write(&mut self, row: usize, text: &mut Vec<u8>) -> Result<(), NoText> {
        let is_null = self.levels.get(row).is_some_and(|level| *level < self.descr.max_def_level());
        if is_null {
            text.extend_from_slice(b"null");
            return Ok(());
        }
        let place = self.next;
        self.next += 1;
        self.values.write(place, &self.descr, text)
    }
}

impl Values {
    fn of(reader: ColumnReader) -> Self {
        match reader {
            ColumnReader::BoolColumnReader(reader) => Self::Bool(reader, Vec::new()),
            ColumnReader::Int32ColumnReader(reader) => Self::Int32(reader, Vec::new()),
            ColumnReader::Int64ColumnReader(reader) => Self::Int64(reader, Vec::new()),
            ColumnReader::Int96ColumnReader(reader) => Self::Int96(reader, Vec::new()),
            ColumnReader::FloatColumnReader(reader) => Self::Float(reader, Vec::new()),
            ColumnReader::DoubleColumnReader(reader) => Self::Double(reader, Vec::new()),
            ColumnReader::ByteArrayColumnReader(reader) => Self::Bytes(reader, Vec::new()),
            ColumnReader::FixedLenByteArrayColumnReader(reader) => Self::Fixed(reader, Vec::new()),
        }
    }

    fn read(&mut self, rows: usize, levels: Option<&mut Vec<i16>>) -> ParquetResult<usize> {
        match self {
            Self::Bool(reader, values) => records(reader, rows, levels, values),
            Self::Int32(reader, values) => records(reader, rows, levels, values),
            Self::Int64(reader, values) => records(reader, rows, levels, values),
            Self::Int96(reader, values) => records(reader, rows, levels, values),
            Self::Float(reader, values) => records(reader, rows, levels, values),
            Self::Double(reader, values) => records(reader, rows, levels, values),
            Self::Bytes(reader, values) => records(reader, rows, levels, values),
            Self::Fixed(reader, values) => records(reader, rows, levels, values),
        }
    }

    /// Writes a value; an error where there is none, or it has no text.
    fn write(&self, place: usize, descr: &ColumnDescPtr, text: &mut Vec<u8>) -> Result<(), NoText> {
        const NONE: NoText = NoText::Bytes;
        let field = match self {
            Self::Bool(_, values) => Field::convert_bool(descr, *values.get(place).ok_or(NONE)?),
            Self::Int32(_, values) => Field::convert_int32(descr, *values.get(place).ok_or(NONE)?),
            Self::Int64(_, values) => Field::convert_int64(descr, *values.get(place).ok_or(NONE)?),
            Self::Int96(_, values) => return write_int96(values.get(place).ok_or(NONE)?, text),
            Self::Float(_, values) => Field::convert_float(descr, *values.get(place).ok_or(NONE)?),
            Self::Double(_, values) => Field::convert_double(descr, *values.get(place).ok_or(NONE)?),
            Self::Bytes(_, values) => {
                let value = values.get(place).ok_or(NONE)?;
                if descr.converted_type() != ConvertedType::DECIMAL {
                    write_text(text, str::from_utf8(value.data()).map_err(|_| NoText::Bytes)?);
                    return Ok(());
                }
                Field::convert_byte_array(descr, value.clone()).map_err(|_| NoText::Bytes)?
            }
            Self::Fixed(_, values) => {
                let value: &ByteArray = values.get(place).ok_or(NONE)?;
                Field::convert_byte_array(descr, value.clone()).map_err(|_| NoText::Bytes)?
            }
        };
        write_field(&field, descr.self_type(), text)
    }
}

/// Reads the values of so many rows, in the place of those before.
fn records<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    mut levels: Option<&mut Vec<i16>>,
    values: &mut Vec<T::T>,
) -> ParquetResult<usize> {
    values.clear();
    let mut read = 0;
    while read < rows {
        let (records, _, _) = reader.read_records(rows - read, levels.as_deref_mut(), None, values)?;
        if records == 0 {
            break;
        }
        read += records;
    }
    Ok(read)
}
