//! Rows that a query gave or that are expected, in a form in which equal ones are the same.

use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde_json::{Number, Value};

/// 2^53: whole numbers below it are told apart by floats.
const WHOLE: f64 = 9_007_199_254_740_992.0;

#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    columns: usize,
    /// Each row as a JSON list, with numbers in one form.
    rows: Vec<String>,
}

impl Rows {
    pub fn of_columns(columns: usize) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Rows from a JSON list of lists, or of objects whose members are columns in their order.
    pub fn of_json(value: &Value) -> Result<Self, String> {
        let wrong = || String::from("the expected rows are a JSON list of lists of numbers, texts and nulls");
        let mut all = Self::of_columns(0);
        for row in value.as_array().ok_or_else(wrong)? {
            let cells: Vec<&Value> = match row {
                Value::Array(cells) => cells.iter().collect(),
                Value::Object(members) => members.values().collect(),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return Err(wrong()),
            };
            let cell = |cell: &Value| match cell {
                Value::Null | Value::String(_) => Ok(cell.clone()),
                Value::Bool(truth) => Ok(Value::from(i64::from(*truth))),
                Value::Number(number) => Ok(match number.as_i64() {
                    Some(whole) => Value::from(whole),
                    None => real(number.as_f64().unwrap_or(f64::NAN)),
                }),
                Value::Array(_) | Value::Object(_) => Err(wrong()),
            };
            if !all.rows.is_empty() && all.columns != cells.len() {
                return Err(String::from("the expected rows have different numbers of columns"));
            }
            all.columns = cells.len();
            let cells: Result<Vec<Value>, String> = cells.into_iter().map(cell).collect();
            all.rows.push(Value::Array(cells?).to_string());
        }
        Ok(all)
    }

    /// Takes a row in, and returns how many bytes it has.
    pub fn push(&mut self, row: &Row<'_>) -> rusqlite::Result<usize> {
        let cell = |at: usize| {
            Ok(match row.get_ref(at)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(whole) => Value::from(whole),
                ValueRef::Real(number) => real(number),
                ValueRef::Text(text) => Value::from(String::from_utf8_lossy(text)),
                ValueRef::Blob(bytes) => {
                    Value::from(bytes.iter().fold(String::from("x'"), |text, byte| text + &format!("{byte:02x}")))
                }
            })
        };
        let cells: rusqlite::Result<Vec<Value>> = (0..self.columns).map(cell).collect();
        let text = Value::Array(cells?).to_string();
        let bytes = text.len();
        self.rows.push(text);
        Ok(bytes)
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether both hold the same rows as often, and in the same order where it counts.
    pub fn same(&self, other: &Self, ordered: bool) -> bool {
        // An empty JSON list does not say how many columns there are.
        let columns = other.columns == 0 || self.columns == other.columns;
        columns && self.arranged(ordered) == other.arranged(ordered)
    }

    /// In a sentence, how rows differ from those that are expected.
    pub fn difference(&self, expected: &Self, ordered: bool) -> String {
        if expected.len() > 0 && self.columns != expected.columns {
            return format!("it gives {} columns; expected are {}", self.columns, expected.columns);
        }
        if self.len() != expected.len() {
            return format!("it gives {} rows; expected are {}", self.len(), expected.len());
        }
        if ordered && self.arranged(false) == expected.arranged(false) {
            return String::from("it gives the expected rows in another order");
        }
        String::from("it gives other rows than those that are expected")
    }

    /// The rows as JSON, the same for equal ones, cut behind `most` bytes.
    pub fn shown(&self, ordered: bool, most: usize) -> String {
        let mut text = String::from("[");
        for row in self.arranged(ordered) {
            if text.len() + row.len() > most {
                text.push_str(&format!("… {} rows", self.len()));
                return text;
            }
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(row);
        }
        text + "]"
    }

    fn arranged(&self, ordered: bool) -> Vec<&str> {
        let mut rows: Vec<&str> = self.rows.iter().map(String::as_str).collect();
        if !ordered {
            rows.sort_unstable();
        }
        rows
    }
}

/// A number with a fraction in one form: whole ones as such, others to nine digits, which sums in another order keep.
fn real(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < WHOLE {
        return Value::from(number as i64);
    }
    let rounded: f64 = format!("{number:.8e}").parse().unwrap_or(number);
    if rounded.fract() == 0.0 && rounded.abs() < WHOLE {
        return Value::from(rounded as i64);
    }
    Number::from_f64(rounded).map_or_else(|| Value::from(number.to_string()), Value::Number)
}
