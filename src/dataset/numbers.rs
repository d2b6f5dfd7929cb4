//! Numbers of rows: what a value is worth where rows are compared, and whether it survives that a row is written anew.

use serde_json::{Map, Number, Value};

use super::DatasetError;

/// The number that a value is, or that a text wholly is: all values of CSV are texts.
pub fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(number.clone()),
        // Without texts such as `nan`, `inf` and `+1`, which are no numbers of JSON, and without a long walk.
        Value::String(text) if text.len() <= LONGEST_NUMBER => serde_json::from_str(text.trim()).ok(),
        _ => None,
    }
}

const LONGEST_NUMBER: usize = 64;

/// Whether two values are the same. Numbers are so by what they are worth, 1 and 1.0, and a text of the row is the number
/// that is asked for when it is wholly that number.
pub fn is(wanted: &Value, value: &Value) -> bool {
    if wanted == value {
        return true;
    }
    let Value::Number(wanted) = wanted else { return false };
    number(value).is_some_and(|number| match (whole(wanted), whole(&number)) {
        (Some(wanted), Some(number)) => wanted == number,
        _ => wanted.as_f64() == number.as_f64(),
    })
}

fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// Refuses a row that is to be written anew and has an integer with more digits than are kept: it would silently become
/// another number. Only the columns that are used count; `line` is the row as it came.
pub fn check_exact(
    row: u64,
    line: &str,
    fields: &Map<String, Value>,
    uses: impl Fn(&str) -> bool,
) -> Result<(), DatasetError> {
    // Nearly no row has such a number, and most have none that could be one.
    if !fields.iter().any(|(name, value)| has(value, &|number| number.abs() >= FIRST_INEXACT) && uses(name)) {
        return Ok(());
    }
    let inexact: Vec<f64> = integers(line).filter_map(lost).collect();
    let found = fields.iter().find(|(name, value)| has(value, &|number| inexact.contains(&number)) && uses(name));
    match found {
        None => Ok(()),
        Some((column, _)) => {
            let detail = String::from(
                "holds an integer of more than 64 bits, which does not survive that the row is written anew; write it as text",
            );
            Err(DatasetError::WrongType { row, column: column.clone(), detail })
        }
    }
}

/// 2^63: smaller integers are kept to the last digit.
const FIRST_INEXACT: f64 = 9_223_372_036_854_775_808.0;

/// Whether a number that is held with a point is so in a value.
fn has(value: &Value, is: &impl Fn(f64) -> bool) -> bool {
    match value {
        Value::Number(number) => number.is_f64() && number.as_f64().is_some_and(is),
        Value::Array(items) => items.iter().any(|item| has(item, is)),
        Value::Object(members) => members.values().any(|member| has(member, is)),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// The number that an integer has become, where it is none of 64 bits.
fn lost(integer: &str) -> Option<f64> {
    let is_kept = integer.parse::<i64>().is_ok() || integer.parse::<u64>().is_ok();
    if is_kept { None } else { integer.parse().ok() }
}

/// The integers of a line of JSON, as they are written.
fn integers(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        loop {
            let at = rest.find(['"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])?;
            rest = &rest[at..];
            if let Some(text) = rest.strip_prefix('"') {
                rest = &text[end_of_text(text)..];
                continue;
            }
            let end = rest.find(|sign: char| !matches!(sign, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'));
            let (number, behind) = rest.split_at(end.unwrap_or(rest.len()));
            rest = behind;
            if !number.contains(['.', 'e', 'E']) {
                return Some(number);
            }
        }
    })
}

/// Behind the quote that ends a text.
fn end_of_text(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_that_is_wholly_a_number_is_one() {
        for (value, worth) in [(json!("7"), 7.0), (json!(" -2.5e1 "), -25.0), (json!(3), 3.0), (json!("0"), 0.0)] {
            assert_eq!(number(&value).and_then(|number| number.as_f64()), Some(worth), "{value}");
        }
        for value in [
            json!("7 apples"),
            json!(""),
            json!("nan"),
            json!("inf"),
            json!("0x1"),
            json!("007"),
            json!(true),
            json!([1]),
        ] {
            assert_eq!(number(&value), None, "{value}");
        }
    }

    #[test]
    fn numbers_are_equal_by_what_they_are_worth() {
        for (wanted, value) in [
            (json!(2), json!("2")),
            (json!(2), json!("2.0")),
            (json!(1), json!(1.0)),
            (json!("2"), json!("2")),
            (json!(u64::MAX), json!("18446744073709551615")),
        ] {
            assert!(is(&wanted, &value), "{wanted} {value}");
        }
        for (wanted, value) in [
            (json!("2"), json!(2)),
            (json!("2"), json!("2.0")),
            (json!(2), json!("2 or 3")),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64)),
            (json!(1), json!(true)),
        ] {
            assert!(!is(&wanted, &value), "{wanted} {value}");
        }
    }

    #[test]
    fn integers_that_would_change_are_named_by_their_columns() {
        let checked = |line: &str, column: &str| {
            let fields = serde_json::from_str(line).unwrap();
            check_exact(3, line, &fields, |name| name == column || column.is_empty())
        };
        for line in [
            r#"{"a": 12345678901234567890123, "b": 1}"#,
            r#"{"b": 1e30, "a": [{"x": -9223372036854775809}]}"#,
            r#"{"b": "\"1", "a": 18446744073709551616}"#,
        ] {
            let error = checked(line, "").unwrap_err();
            assert_eq!((error.code(), error.row()), ("row_wrong_type", Some(3)));
            assert!(error.to_string().contains("column `a` holds an integer"), "{error}");
            assert!(checked(line, "b").is_ok(), "{line}");
        }
        for line in [
            r#"{"a": 18446744073709551615, "b": -9223372036854775808}"#,
            r#"{"a": 1e30, "b": "12345678901234567890123"}"#,
            r#"{"a": 1.5e22, "b": 12345678901234567890.5}"#,
        ] {
            assert!(checked(line, "").is_ok(), "{line}");
        }
    }
}
