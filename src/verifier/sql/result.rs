//! Rows that a query gave or that are expected, and whether they are the same.

use std::cmp::Ordering;

use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde_json::Value;

/// 2^53: whole numbers below it are told apart by floats.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// How far numbers with a fraction may be from each other, as a share of them: sums in another order are nearer.
const NEAR: f64 = 1e-9;
/// The same where one of them is whole.
const NEAR_WHOLE: f64 = 1e-12;

/// What a cell counts for besides its text.
const CELL_BYTES: usize = 4;

#[derive(Clone, Debug)]
pub struct Rows {
    columns: usize,
    rows: Vec<Vec<Cell>>,
}

#[derive(Clone, Debug)]
enum Cell {
    Null,
    Number(Number),
    Text(String),
}

#[derive(Clone, Copy, Debug)]
enum Number {
    Whole(i64),
    Real(f64),
}

impl Number {
    /// A real number, which is whole where it has no fraction.
    fn of_real(number: f64) -> Self {
        if number.fract() == 0.0 && number.abs() < WHOLE { Self::Whole(number as i64) } else { Self::Real(number) }
    }

    fn real(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Real(number) => number,
        }
    }

    /// By value; whole numbers that no float tells apart by what they are.
    fn order(&self, other: &Self) -> Ordering {
        let exact = |number: &Self| match number {
            Self::Whole(whole) => *whole,
            Self::Real(_) => i64::MIN,
        };
        self.real().total_cmp(&other.real()).then_with(|| exact(self).cmp(&exact(other)))
    }

    /// Whether both are the same but for what is lost in sums. Whole numbers are exact.
    fn is_near(self, other: Self) -> bool {
        let near = match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => return one == other,
            (Self::Real(_), Self::Real(_)) => NEAR,
            (Self::Whole(_), Self::Real(_)) | (Self::Real(_), Self::Whole(_)) => NEAR_WHOLE,
        };
        let (one, other) = (self.real(), other.real());
        one == other || (one - other).abs() <= near * one.abs().max(other.abs())
    }
}

/// A cell in a form that is equal where cells are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key<'a> {
    Null,
    /// The place among all different numbers.
    Number(usize),
    Text(&'a str),
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
                Value::Null => Ok(Cell::Null),
                Value::String(text) => Ok(Cell::Text(text.clone())),
                Value::Bool(truth) => Ok(Cell::Number(Number::Whole(i64::from(*truth)))),
                Value::Number(number) => Ok(Cell::Number(match number.as_i64() {
                    Some(whole) => Number::Whole(whole),
                    None => Number::of_real(number.as_f64().unwrap_or(f64::NAN)),
                })),
                Value::Array(_) | Value::Object(_) => Err(wrong()),
            };
            if !all.rows.is_empty() && all.columns != cells.len() {
                return Err(String::from("the expected rows have different numbers of columns"));
            }
            all.columns = cells.len();
            let cells: Result<Vec<Cell>, String> = cells.into_iter().map(cell).collect();
            all.rows.push(cells?);
        }
        Ok(all)
    }

    /// Takes a row in, and returns how many bytes it has.
    pub fn push(&mut self, row: &Row<'_>) -> rusqlite::Result<usize> {
        let mut bytes = 0;
        let cell = |at: usize| {
            let cell = match row.get_ref(at)? {
                ValueRef::Null => Cell::Null,
                ValueRef::Integer(whole) => Cell::Number(Number::Whole(whole)),
                ValueRef::Real(number) => Cell::Number(Number::of_real(number)),
                ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
                ValueRef::Blob(blob) => {
                    Cell::Text(blob.iter().fold(String::from("x'"), |text, byte| text + &format!("{byte:02x}")))
                }
            };
            bytes += CELL_BYTES + if let Cell::Text(text) = &cell { text.len() } else { 0 };
            Ok(cell)
        };
        let cells: rusqlite::Result<Vec<Cell>> = (0..self.columns).map(cell).collect();
        self.rows.push(cells?);
        Ok(bytes)
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether both hold the same rows as often, and in the same order where it counts.
    pub fn same(&self, other: &Self, ordered: bool) -> bool {
        // An empty JSON list does not say how many columns there are.
        let columns = other.columns == 0 || self.columns == other.columns;
        if !columns || self.len() != other.len() {
            return false;
        }
        let numbers = different(self.numbers().chain(other.numbers()).collect());
        let (mut own, mut others) = (self.keys(&numbers), other.keys(&numbers));
        if !ordered {
            own.sort_unstable();
            others.sort_unstable();
        }
        own == others
    }

    /// In a sentence, how rows differ from those that are expected.
    pub fn difference(&self, expected: &Self, ordered: bool) -> String {
        if expected.len() > 0 && self.columns != expected.columns {
            return format!("it gives {} columns; expected are {}", self.columns, expected.columns);
        }
        if self.len() != expected.len() {
            return format!("it gives {} rows; expected are {}", self.len(), expected.len());
        }
        if ordered && self.same(expected, false) {
            return String::from("it gives the expected rows in another order");
        }
        String::from("it gives other rows than those that are expected")
    }

    /// The rows as JSON, the same for equal ones but at the edge of what is near, cut behind `most` bytes.
    pub fn shown(&self, ordered: bool, most: usize) -> String {
        let mut rows: Vec<String> = self.rows.iter().map(|row| shown(row)).collect();
        if !ordered {
            rows.sort_unstable();
        }
        let mut text = String::from("[");
        for row in rows {
            if text.len() + row.len() > most {
                text.push_str(&format!("… {} rows", self.len()));
                return text;
            }
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&row);
        }
        text + "]"
    }

    fn numbers(&self) -> impl Iterator<Item = Number> {
        self.rows.iter().flatten().filter_map(|cell| match cell {
            Cell::Number(number) => Some(*number),
            Cell::Null | Cell::Text(_) => None,
        })
    }

    fn keys(&self, numbers: &[(Number, usize)]) -> Vec<Vec<Key<'_>>> {
        let key = |cell| match cell {
            &Cell::Null => Key::Null,
            Cell::Number(number) => {
                let place = numbers.binary_search_by(|(known, _)| known.order(number));
                Key::Number(numbers[place.expect("the numbers are those of all rows")].1)
            }
            Cell::Text(text) => Key::Text(text),
        };
        self.rows.iter().map(|row| row.iter().map(key).collect()).collect()
    }
}

/// Numbers in order, each with a number that it shares with those that it is the same as. What is near to the next is the
/// same, so that the order of rows with near numbers makes no difference.
fn different(mut numbers: Vec<Number>) -> Vec<(Number, usize)> {
    numbers.sort_unstable_by(Number::order);
    let mut place = 0;
    let mut before = None;
    let placed = numbers.into_iter().map(|number| {
        place += usize::from(before.is_some_and(|before| !number.is_near(before)));
        before = Some(number);
        (number, place)
    });
    placed.collect()
}

/// A row as a JSON list, fractions with twelve digits.
fn shown(row: &[Cell]) -> String {
    let cell = |cell: &Cell| match cell {
        Cell::Null => Value::Null,
        Cell::Text(text) => Value::from(text.as_str()),
        Cell::Number(Number::Whole(whole)) => Value::from(*whole),
        Cell::Number(Number::Real(number)) => {
            let rounded: f64 = format!("{number:.11e}").parse().unwrap_or(*number);
            match Number::of_real(rounded) {
                whole @ Number::Whole(shown) if whole.is_near(Number::Real(*number)) => Value::from(shown),
                // What is infinite is no number in JSON.
                Number::Whole(_) | Number::Real(_) => serde_json::Number::from_f64(rounded)
                    .map_or_else(|| Value::from(rounded.to_string()), Value::Number),
            }
        }
    };
    Value::Array(row.iter().map(cell).collect()).to_string()
}
