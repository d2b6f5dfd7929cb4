//! Values of Parquet as JSON.
//!
//! What JSON has no value for is text: dates, times and decimals, as precise as they are stored. A time has an offset only
//! where the column says that it is one of UTC. The reader of rows knows nothing of nanoseconds and of offsets, so that the
//! type of each value is looked at besides.

use std::io::Write;

use ::parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit};
use ::parquet::data_type::{Decimal, Int96};
use ::parquet::record::{Field, Row};
use ::parquet::schema::types::Type;
use jiff::civil::{Date, Time};
use num_bigint::{BigInt, Sign};

use super::delimited::write_text;

/// The Julian day of 1 January 1970.
const JULIAN_EPOCH: i64 = 2_440_588;
const DAY_SECONDS: i64 = 86_400;
/// Of a decimal: those of 256 bits have 32.
const MOST_DECIMAL_BYTES: usize = 64;
const MOST_SCALE: i32 = 200;

/// Why a value has no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoText {
    Bytes,
    Time,
    Decimal,
    /// A time of the old form within a list or a structure, of which the reader keeps milliseconds only.
    NestedInt96,
}

impl NoText {
    /// What is said of a column with such a value.
    pub fn detail(self) -> &'static str {
        match self {
            Self::Bytes => "holds bytes that are no text; name the columns to read in `map`, without it",
            Self::Time => "holds a date or a time beyond the years -9999 to 9999, or beyond a day; write it as text",
            Self::Decimal => "holds a decimal with more digits than are read; write it as text",
            Self::NestedInt96 => {
                "holds times of the old form INT96 within a list or a structure; write them as TIMESTAMP, or name the columns \
                 to read in `map`, without it"
            }
        }
    }
}

/// Of what part of a second a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Millis,
    Micros,
    Nanos,
}

impl Unit {
    fn of(unit: &TimeUnit) -> Self {
        match unit {
            TimeUnit::MILLIS => Self::Millis,
            TimeUnit::MICROS => Self::Micros,
            TimeUnit::NANOS => Self::Nanos,
        }
    }

    /// In a second.
    fn parts(self) -> i64 {
        match self {
            Self::Millis => 1_000,
            Self::Micros => 1_000_000,
            Self::Nanos => 1_000_000_000,
        }
    }

    fn digits(self) -> usize {
        match self {
            Self::Millis => 3,
            Self::Micros => 6,
            Self::Nanos => 9,
        }
    }
}

/// Writes the value of a column of type `of`.
pub fn write_field(field: &Field, of: &Type, text: &mut Vec<u8>) -> Result<(), NoText> {
    match field {
        Field::Null => text.extend_from_slice(b"null"),
        Field::Bool(value) => write_number(text, value),
        Field::Byte(value) => write_number(text, value),
        Field::Short(value) => write_number(text, value),
        Field::Int(value) => write_number(text, value),
        Field::Long(value) => return write_long(*value, of, text),
        Field::UByte(value) => write_number(text, value),
        Field::UShort(value) => write_number(text, value),
        Field::UInt(value) => write_number(text, value),
        Field::ULong(value) => write_number(text, value),
        Field::Float16(value) => write_float(text, value.to_f32(), value.is_finite()),
        Field::Float(value) => write_float(text, *value, value.is_finite()),
        Field::Double(value) => write_float(text, *value, value.is_finite()),
        Field::Str(value) => write_text(text, value),
        Field::Bytes(value) => write_text(text, str::from_utf8(value.data()).map_err(|_| NoText::Bytes)?),
        Field::Decimal(value) => return write_decimal(value, text),
        Field::Date(days) => {
            let date = moment(i64::from(*days) * DAY_SECONDS).ok_or(NoText::Time)?.0;
            quoted(text, date);
        }
        Field::TimeMillis(value) => return write_time(i64::from(*value), Unit::Millis, text),
        Field::TimeMicros(value) => return write_time(*value, Unit::Micros, text),
        Field::TimestampMillis(_) if is_int96(of) => return Err(NoText::NestedInt96),
        Field::TimestampMillis(value) => return write_timestamp(*value, Unit::Millis, is_of_utc(of), text),
        Field::TimestampMicros(value) => return write_timestamp(*value, Unit::Micros, is_of_utc(of), text),
        Field::Group(row) => return write_members(row, of, text),
        Field::ListInternal(list) => return write_list(list.elements(), element(of), text),
        Field::MapInternal(map) => return write_map(map.entries(), of, text),
    }
    Ok(())
}

/// Writes the members of a structure, whose types are in the order of its values.
fn write_members(row: &Row, of: &Type, text: &mut Vec<u8>) -> Result<(), NoText> {
    let mut before = b'{';
    for (index, (name, field)) in row.get_column_iter().enumerate() {
        text.push(before);
        before = b',';
        write_text(text, name);
        text.push(b':');
        write_field(field, child(of, index), text)?;
    }
    if before == b'{' {
        text.push(before);
    }
    text.push(b'}');
    Ok(())
}

fn write_list(elements: &[Field], of: &Type, text: &mut Vec<u8>) -> Result<(), NoText> {
    text.push(b'[');
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        write_field(element, of, text)?;
    }
    text.push(b']');
    Ok(())
}

fn write_map(entries: &[(Field, Field)], of: &Type, text: &mut Vec<u8>) -> Result<(), NoText> {
    let entry = child(of, 0);
    text.push(b'{');
    for (index, (key, value)) in entries.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        let mut name = Vec::new();
        write_field(key, child(entry, 0), &mut name)?;
        if name.starts_with(b"\"") {
            text.extend_from_slice(&name);
        } else {
            write_text(text, &String::from_utf8_lossy(&name));
        }
        text.push(b':');
        write_field(value, child(entry, 1), text)?;
    }
    text.push(b'}');
    Ok(())
}

/// A part of a group, or the type itself where there is none.
fn child(of: &Type, index: usize) -> &Type {
    if of.is_primitive() { of } else { of.get_fields().get(index).map_or(of, |child| &**child) }
}

/// The type of a list's elements, by the rules that the reader has for lists of old writers.
fn element(of: &Type) -> &Type {
    let info = of.get_basic_info();
    let is_list =
        matches!(info.converted_type(), ConvertedType::LIST | ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE);
    if of.is_primitive() || !is_list {
        // A field that repeats by itself.
        return of;
    }
    let repeated = child(of, 0);
    let name = repeated.name();
    let is_repeated =
        |of: &Type| of.get_basic_info().has_repetition() && of.get_basic_info().repetition() == Repetition::REPEATED;
    let is_element = repeated.is_primitive()
        || repeated.get_basic_info().converted_type() != ConvertedType::LIST
            && !(repeated.get_fields().len() == 1 && is_repeated(child(repeated, 0)))
            && (repeated.get_fields().len() > 1 || name == "array" || name.ends_with("_tuple"));
    if is_element { repeated } else { child(repeated, 0) }
}

fn is_int96(of: &Type) -> bool {
    of.is_primitive() && of.get_physical_type() == ::parquet::basic::Type::INT96
}

/// Whether a time is one of UTC, which old writers leave unsaid.
fn is_of_utc(of: &Type) -> bool {
    match of.get_basic_info().logical_type_ref() {
        Some(LogicalType::Timestamp(time)) => time.is_adjusted_to_u_t_c,
        _ => true,
    }
}

/// A number, or a time in nanoseconds.
fn write_long(value: i64, of: &Type, text: &mut Vec<u8>) -> Result<(), NoText> {
    match of.get_basic_info().logical_type_ref() {
        Some(LogicalType::Timestamp(time)) => {
            write_timestamp(value, Unit::of(&time.unit), time.is_adjusted_to_u_t_c, text)
        }
        Some(LogicalType::Time(time)) => write_time(value, Unit::of(&time.unit), text),
        _ => {
            write_number(text, &value);
            Ok(())
        }
    }
}

/// The day and the time of day so many seconds after the beginning of 1970.
fn moment(seconds: i64) -> Option<(Date, Time)> {
    let moment = jiff::tz::Offset::UTC.to_datetime(jiff::Timestamp::from_second(seconds).ok()?);
    Some((moment.date(), moment.time()))
}

fn write_timestamp(value: i64, unit: Unit, utc: bool, text: &mut Vec<u8>) -> Result<(), NoText> {
    let (date, time) = moment(value.div_euclid(unit.parts())).ok_or(NoText::Time)?;
    let (part, digits) = (value.rem_euclid(unit.parts()), unit.digits());
    let offset = if utc { " +00:00" } else { "" };
    quoted(text, format_args!("{date} {time}.{part:0digits$}{offset}"));
    Ok(())
}

fn write_time(value: i64, unit: Unit, text: &mut Vec<u8>) -> Result<(), NoText> {
    let seconds = value.div_euclid(unit.parts());
    if !(0..DAY_SECONDS).contains(&seconds) {
        return Err(NoText::Time);
    }
    let time = moment(seconds).ok_or(NoText::Time)?.1;
    let (part, digits) = (value.rem_euclid(unit.parts()), unit.digits());
    quoted(text, format_args!("{time}.{part:0digits$}"));
    Ok(())
}

/// A time of the old form: a Julian day, and nanoseconds of it, in no zone that it says.
pub fn write_int96(value: &Int96, text: &mut Vec<u8>) -> Result<(), NoText> {
    let &[low, high, day] = value.data() else { return Err(NoText::Time) };
    let nanos = i64::try_from(u64::from(high) << 32 | u64::from(low)).map_err(|_| NoText::Time)?;
    let (seconds, part) = (nanos.div_euclid(Unit::Nanos.parts()), nanos.rem_euclid(Unit::Nanos.parts()));
    let (date, time) = moment((i64::from(day) - JULIAN_EPOCH) * DAY_SECONDS + seconds).ok_or(NoText::Time)?;
    quoted(text, format_args!("{date} {time}.{part:09}"));
    Ok(())
}

/// A decimal with as many digits behind its point as its scale says, and no point where those are none.
fn write_decimal(decimal: &Decimal, text: &mut Vec<u8>) -> Result<(), NoText> {
    if decimal.data().len() > MOST_DECIMAL_BYTES || !(0..=MOST_SCALE).contains(&decimal.scale()) {
        return Err(NoText::Decimal);
    }
    let number = BigInt::from_signed_bytes_be(decimal.data());
    let scale = decimal.scale() as usize;
    let digits = format!("{:0>width$}", number.magnitude().to_string(), width = scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    let sign = if number.sign() == Sign::Minus { "-" } else { "" };
    let point = if scale == 0 { "" } else { "." };
    quoted(text, format_args!("{sign}{whole}{point}{part}"));
    Ok(())
}

/// Text of digits and signs, which needs no escapes.
fn quoted(text: &mut Vec<u8>, value: impl std::fmt::Display) {
    // Writing to memory does not fail.
    let _ = write!(text, "\"{value}\"");
}

fn write_number(text: &mut Vec<u8>, value: &impl std::fmt::Display) {
    let _ = write!(text, "{value}");
}

/// Floating point numbers that are no number are null.
fn write_float(text: &mut Vec<u8>, value: impl serde::Serialize, is_finite: bool) {
    if !is_finite || serde_json::to_writer(&mut *text, &value).is_err() {
        text.extend_from_slice(b"null");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use ::parquet::data_type::{ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType};
    use ::parquet::data_type::{Int32Type, Int64Type, Int96Type};
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;
    use serde_json::{Value, json};

    use super::super::parquet::lines;
    use crate::dataset::DatasetError;

    /// 5 March 2024, 06:07:08.
    const SECONDS: i64 = 1_709_618_828;

    /// One row of the columns `type name annotation`, and of a list with one number where `nested`.
    fn rows(columns: &[(&str, Number)], nested: bool) -> Result<Value, DatasetError> {
        let list = "required group l (LIST) { repeated group list { required int64 element; } }";
        let end = |column: &str| if column.ends_with('}') { "" } else { ";" };
        let members: String = columns.iter().map(|(column, _)| format!("required {column}{} ", end(column))).collect();
        let schema = format!("message rows {{ {members} {} }}", if nested { list } else { "" });
        let schema = Arc::new(parse_message_type(&schema).unwrap());
        let mut bytes = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(WriterProperties::default())).unwrap();
        let mut group = writer.next_row_group().unwrap();
        for (_, number) in columns {
            let mut column = group.next_column().unwrap().unwrap();
            match number {
                Number::Int(value) => column.typed::<Int32Type>().write_batch(&[*value], None, None),
                Number::Long(value) => column.typed::<Int64Type>().write_batch(&[*value], None, None),
                Number::Int96(value) => {
                    let mut old = ::parquet::data_type::Int96::new();
                    old.set_data(value[0], value[1], value[2]);
                    column.typed::<Int96Type>().write_batch(&[old], None, None)
                }
                Number::Fixed(value) => {
                    let value = FixedLenByteArray::from(value.clone());
                    column.typed::<FixedLenByteArrayType>().write_batch(&[value], None, None)
                }
                Number::Bytes(value) => {
                    column.typed::<ByteArrayType>().write_batch(&[ByteArray::from(value.clone())], None, None)
                }
            }
            .unwrap();
            column.close().unwrap();
        }
        if nested {
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int64Type>().write_batch(&[7], Some(&[1]), Some(&[0])).unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
        writer.close().unwrap();
        let mut text = Vec::new();
        lines(bytes::Bytes::from(bytes), None, &mut |chunk| {
            text.extend_from_slice(chunk);
            Ok(())
        })?;
        Ok(serde_json::from_slice(&text).unwrap())
    }

    enum Number {
        Int(i32),
        Long(i64),
        Int96([u32; 3]),
        Fixed(Vec<u8>),
        Bytes(Vec<u8>),
    }

    #[test]
    fn times_and_decimals_are_as_precise_as_they_are_stored() {
        let nanos = SECONDS * 1_000_000_000 + 123_456_789;
        let of_day = ((6 * 60 + 7) * 60 + 8) * 1_000_000_000 + 123_456_789_u64;
        let old = [of_day as u32, (of_day >> 32) as u32, 2_460_375];
        let columns = [
            ("int64 ns (TIMESTAMP(NANOS,false))", Number::Long(nanos), "2024-03-05 06:07:08.123456789"),
            ("int64 ns_utc (TIMESTAMP(NANOS,true))", Number::Long(nanos), "2024-03-05 06:07:08.123456789 +00:00"),
            ("int64 us (TIMESTAMP(MICROS,false))", Number::Long(nanos / 1000), "2024-03-05 06:07:08.123456"),
            ("int64 us_utc (TIMESTAMP(MICROS,true))", Number::Long(nanos / 1000), "2024-03-05 06:07:08.123456 +00:00"),
            ("int64 ms (TIMESTAMP(MILLIS,false))", Number::Long(nanos / 1_000_000), "2024-03-05 06:07:08.123"),
            ("int64 ms_old (TIMESTAMP_MILLIS)", Number::Long(-1), "1969-12-31 23:59:59.999 +00:00"),
            ("int96 int96", Number::Int96(old), "2024-03-05 06:07:08.123456789"),
            ("int32 date (DATE)", Number::Int(-1), "1969-12-31"),
            ("int32 t_ms (TIME(MILLIS,false))", Number::Int(3_723_004), "01:02:03.004"),
            ("int64 t_us (TIME(MICROS,false))", Number::Long(3_723_004_567), "01:02:03.004567"),
            ("int64 t_ns (TIME(NANOS,false))", Number::Long(3_723_004_567_000), "01:02:03.004567000"),
            ("int64 whole (DECIMAL(10,0))", Number::Long(42), "42"),
            ("int64 minus (DECIMAL(10,0))", Number::Long(-12), "-12"),
            ("int32 part (DECIMAL(5,2))", Number::Int(-50), "-0.50"),
            ("int32 zero (DECIMAL(5,2))", Number::Int(0), "0.00"),
            ("int32 only (DECIMAL(2,2))", Number::Int(5), "0.05"),
            ("fixed_len_byte_array(3) fixed (DECIMAL(6,1))", Number::Fixed(vec![0xff, 0xfe, 0x0c]), "-50.0"),
            ("binary bytes (DECIMAL(9,3))", Number::Bytes(vec![1, 0]), "0.256"),
        ];
        let expected: BTreeMap<String, &str> =
            columns.iter().map(|(column, _, text)| (column.split([' ']).nth(1).unwrap().to_owned(), *text)).collect();
        let columns: Vec<(&str, Number)> = columns.into_iter().map(|(column, number, _)| (column, number)).collect();
        let plain = rows(&columns, false).unwrap();
        assert_eq!(plain, json!(expected));
        // Beside a column that nests.
        let mut nested = rows(&columns, true).unwrap();
        assert_eq!(nested.as_object_mut().unwrap().remove("l"), Some(json!([7])));
        assert_eq!(nested, plain);
    }

    #[test]
    fn times_within_structures_are_read_by_their_types() {
        let within = |column: &str| format!("group g {{ required {column}; }}");
        let nanos = SECONDS * 1_000_000_000 + 5;
        for (column, value, expected) in [
            ("int64 x (TIMESTAMP(NANOS,false))", Number::Long(nanos), "2024-03-05 06:07:08.000000005"),
            ("int64 x (TIMESTAMP(MILLIS,false))", Number::Long(SECONDS * 1000), "2024-03-05 06:07:08.000"),
            ("int64 x (TIME(NANOS,true))", Number::Long(1), "00:00:00.000000001"),
            ("int64 x (DECIMAL(10,0))", Number::Long(42), "42"),
        ] {
            assert_eq!(rows(&[(&within(column), value)], false).unwrap(), json!({"g": {"x": expected}}), "{column}");
        }
        let error = rows(&[(&within("int96 x"), Number::Int96([0, 0, 2_440_588]))], false).unwrap_err();
        assert_eq!((error.code(), error.row()), ("row_wrong_type", Some(1)), "{error}");
    }

    #[test]
    fn what_has_no_text_is_an_error_of_the_row() {
        for (column, value) in [
            ("int64 x (TIMESTAMP(MILLIS,true))", Number::Long(i64::MAX)),
            ("int64 x (TIME(MICROS,true))", Number::Long(-1)),
            ("int32 x (DATE)", Number::Int(i32::MAX)),
            ("int96 x", Number::Int96([u32::MAX, u32::MAX, 0])),
            ("binary x (DECIMAL(9,3))", Number::Bytes(vec![1; 100])),
        ] {
            let error = rows(&[(column, value)], false).unwrap_err();
            assert_eq!((error.code(), error.row()), ("row_wrong_type", Some(1)), "{column}: {error}");
        }
    }
}
