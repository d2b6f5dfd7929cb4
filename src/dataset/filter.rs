//! Rows chosen among those of a file: by what stands in their columns, by how often a model solves them, and each only
//! once.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::ops::ControlFlow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::check::hash;
use super::jsonl::{MOST_ROW_BYTES, io_error};
use super::lines::{Line, Lines};
use super::{Columns, DatasetError, Row, numbers, words};

/// Values that one condition compares with.
const MOST_VALUES: usize = 1000;

/// What a column must hold. A row without a value there is not kept, unless it is `present: false` that is asked for. A text
/// that is wholly a number counts as that number, because all values of CSV are texts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Condition {
    /// The column.
    #[schemars(length(min = 1, max = 256))]
    pub column: String,
    /// Exactly this value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is: Option<Value>,
    /// One of these values.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MOST_VALUES))]
    pub any_of: Option<Vec<Value>>,
    /// None of these values.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MOST_VALUES))]
    pub none_of: Option<Vec<Value>>,
    /// A number of at least this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// A number of at most this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// True: any value but null. False: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub present: Option<bool>,
}

impl Condition {
    /// What is wrong with it, if something is.
    pub fn fault(&self) -> Option<&'static str> {
        let Self { column, is, any_of, none_of, at_least, at_most, present } = self;
        let lists = [any_of, none_of].into_iter().flatten();
        if column.is_empty() {
            return Some("names no `column`");
        }
        if is.is_none()
            && any_of.is_none()
            && none_of.is_none()
            && at_least.is_none()
            && at_most.is_none()
            && present.is_none()
        {
            return Some("asks for nothing; give `is`, `any_of`, `none_of`, `at_least`, `at_most` or `present`");
        }
        if lists.into_iter().any(|values| values.is_empty() || values.len() > MOST_VALUES) {
            return Some("takes lists of 1 to 1000 values");
        }
        let bounds = [at_least, at_most].into_iter().flatten().all(|bound| bound.is_finite());
        (!bounds || at_least.zip(*at_most).is_some_and(|(low, high)| low > high))
            .then_some("has no number between its bounds")
    }

    /// Whether a row is as it says.
    pub fn holds(&self, row: &Row) -> bool {
        let value = row.fields.get(&self.column).filter(|value| !value.is_null());
        if self.present.is_some_and(|present| present != value.is_some()) {
            return false;
        }
        let Some(value) = value else { return self.present == Some(false) };
        let bounded = self.at_least.or(self.at_most).and_then(|_| numbers::number(value));
        let number = bounded.and_then(|number| number.as_f64());
        self.is.as_ref().is_none_or(|wanted| numbers::is(wanted, value))
            && self.any_of.as_ref().is_none_or(|wanted| wanted.iter().any(|wanted| numbers::is(wanted, value)))
            && self.none_of.as_ref().is_none_or(|others| !others.iter().any(|other| numbers::is(other, value)))
            && self.at_least.is_none_or(|low| number.is_some_and(|number| number >= low))
            && self.at_most.is_none_or(|high| number.is_some_and(|number| number <= high))
    }
}

/// When two rows are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Likeness {
    /// Their prompts are equal to the letter.
    Exact,
    /// Their prompts have the same words.
    Normalised,
}

/// How often rows were solved: completions by the number of the row, and of them those that passed.
pub type Counts = HashMap<usize, (u32, u32)>;

/// Rows that a model solves neither always nor never.
#[derive(Clone, Debug, Default)]
pub struct PassRates {
    pub counts: Counts,
    pub min: f64,
    pub max: f64,
    /// Whether rows are kept that nothing was sampled for.
    pub keep_unsampled: bool,
    /// Where 1 minus the rate is written.
    pub difficulty_column: Option<String>,
}

/// Which rows are kept.
#[derive(Debug, Default)]
pub struct Filter {
    pub conditions: Vec<Condition>,
    pub rates: Option<PassRates>,
    pub unique: Option<Likeness>,
}

/// What became of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub rows: usize,
    /// Of these, rows that are kept.
    pub kept: usize,
}

impl Filter {
    /// Hands the rows of a file that are kept to `out`, each with its line end. Rows are as they were, but for the column
    /// of difficulty, if one is written. Blocks.
    pub fn copy(
        &self,
        file: impl Read,
        columns: &Columns,
        mut out: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<Kept, DatasetError> {
        let failed = |error| io_error(String::from("filter the rows of a data set"), error);
        let (mut kept, mut seen) = (Kept::default(), HashSet::new());
        let each = |line: Line<'_>| {
            let row = Row::parse(line.number, line.text, columns)?;
            let number = kept.rows;
            kept.rows += 1;
            if self.wants(number, &row) && self.is_new(&row, &mut seen) {
                kept.kept += 1;
                match self.difficulty(number) {
                    Some((column, difficulty)) => out(&with(&line, &row.fields, column, difficulty)?),
                    None => out(line.text).and_then(|()| out(b"\n")),
                }
                .map_err(failed)?;
            }
            Ok(ControlFlow::Continue(()))
        };
        Lines::new(MOST_ROW_BYTES).read(file, failed, each)?;
        Ok(kept)
    }

    fn wants(&self, number: usize, row: &Row) -> bool {
        let solved = self.rates.as_ref().is_none_or(|rates| match rates.of(number) {
            Some(rate) => rate >= rates.min && rate <= rates.max,
            None => rates.keep_unsampled,
        });
        solved && self.conditions.iter().all(|condition| condition.holds(row))
    }

    /// Whether no row like it was kept before; 8 bytes are held for each row.
    fn is_new(&self, row: &Row, seen: &mut HashSet<u64>) -> bool {
        match self.unique {
            None => true,
            Some(Likeness::Exact) => seen.insert(hash(&row.prompt)),
            Some(Likeness::Normalised) => seen.insert(hash(words::of_prompt(&row.prompt).as_str())),
        }
    }

    fn difficulty(&self, number: usize) -> Option<(&str, f64)> {
        let rates = self.rates.as_ref()?;
        Some((rates.difficulty_column.as_deref()?, 1.0 - rates.of(number)?))
    }
}

impl PassRates {
    fn of(&self, number: usize) -> Option<f64> {
        let (completions, passed) = self.counts.get(&number)?;
        (*completions > 0).then(|| f64::from(*passed) / f64::from(*completions))
    }
}

/// A row with another value in a column, as a line. Where the row has no such column, all else stays as it is written.
fn with(line: &Line<'_>, fields: &Map<String, Value>, column: &str, number: f64) -> Result<Vec<u8>, DatasetError> {
    let number = Number::from_f64(number).map_or(Value::Null, Value::Number);
    let mut made = match line.text.trim_ascii_end().strip_suffix(b"}") {
        Some(open) if !fields.contains_key(column) && !fields.is_empty() => {
            [open.trim_ascii_end(), b",", Value::from(column).to_string().as_bytes(), b":"].concat()
        }
        _ => {
            let text = str::from_utf8(line.text).unwrap_or_default();
            numbers::check_exact(line.number, text, fields, |name| name != column)?;
            let mut fields = fields.clone();
            fields.insert(column.to_owned(), number);
            let mut made = Value::Object(fields).to_string().into_bytes();
            made.push(b'\n');
            return Ok(made);
        }
    };
    made.extend_from_slice(number.to_string().as_bytes());
    made.extend_from_slice(b"}\n");
    Ok(made)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::row;
    use super::*;

    fn copied(filter: &Filter, lines: &[&str]) -> (Vec<String>, Kept) {
        let (mut out, text) = (Vec::new(), lines.join("\n"));
        let add = |bytes: &[u8]| {
            out.extend_from_slice(bytes);
            Ok(())
        };
        let kept = filter.copy(text.as_bytes(), &Columns::default(), add).unwrap();
        (String::from_utf8(out).unwrap().lines().map(str::to_owned).collect(), kept)
    }

    fn condition(value: Value) -> Condition {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn conditions_say_what_columns_hold() {
        let row = row(r#"{"prompt":"p","level":3,"topic":"sums","gone":null,"mixed":"7"}"#);
        let holds = |value: Value| condition(value).holds(&row);
        for kept in [
            json!({"column": "level", "is": 3.0}),
            json!({"column": "level", "at_least": 3, "at_most": 3}),
            json!({"column": "topic", "any_of": ["a", "sums"], "none_of": ["b"]}),
            json!({"column": "gone", "present": false}),
            json!({"column": "never", "present": false}),
            json!({"column": "topic", "present": true}),
            json!({"column": "mixed", "is": 7}),
            json!({"column": "mixed", "is": "7"}),
            json!({"column": "mixed", "any_of": [1, 7.0]}),
            json!({"column": "mixed", "at_least": 0, "at_most": 7}),
        ] {
            assert!(holds(kept.clone()), "{kept}");
        }
        for left in [
            json!({"column": "level", "is": "3"}),
            json!({"column": "level", "at_least": 3.5}),
            json!({"column": "topic", "none_of": ["sums"]}),
            json!({"column": "gone", "none_of": ["x"]}),
            json!({"column": "mixed", "at_least": 8}),
            json!({"column": "mixed", "none_of": [7]}),
            json!({"column": "topic", "at_least": 0}),
            json!({"column": "topic", "present": false}),
        ] {
            assert!(!holds(left.clone()), "{left}");
        }
        for bad in [
            json!({"column": "a"}),
            json!({"is": 1}),
            json!({"column": "a", "any_of": []}),
            json!({"column": "a", "at_least": 2, "at_most": 1}),
        ] {
            assert!(condition(bad.clone()).fault().is_some(), "{bad}");
        }
        assert_eq!(condition(json!({"column": "a", "is": 1})).fault(), None);
    }

    #[test]
    fn rows_are_chosen_by_how_often_they_were_solved() {
        let lines: Vec<String> = (0..5).map(|i| format!("{{\"prompt\": \"p{i}\",  \"n\": {i}}}")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let counts = Counts::from([(0, (8, 0)), (1, (8, 1)), (2, (8, 4)), (3, (8, 8))]);
        let rates = PassRates { counts, min: 0.1, max: 0.9, ..PassRates::default() };
        let filter = Filter { rates: Some(rates.clone()), ..Filter::default() };
        // To the last space.
        assert_eq!(
            copied(&filter, &lines),
            (vec![lines[1].to_owned(), lines[2].to_owned()], Kept { rows: 5, kept: 2 })
        );
        let difficulty_column = Some(String::from("difficulty"));
        let rates = PassRates { keep_unsampled: true, difficulty_column, ..rates };
        let filter = Filter { rates: Some(rates), ..Filter::default() };
        let (kept, _) = copied(&filter, &lines);
        assert_eq!(kept[0], r#"{"prompt": "p1",  "n": 1,"difficulty":0.875}"#);
        assert_eq!(kept[2], lines[4]);
        // Whatever else a row has stays to the digit, or is refused.
        let counts = Counts::from([(0, (8, 2))]);
        let difficulty_column = Some(String::from("difficulty"));
        let rates = PassRates { counts, max: 1.0, difficulty_column, ..PassRates::default() };
        let filter = Filter { rates: Some(rates), ..Filter::default() };
        let (kept, _) = copied(&filter, &["{\"prompt\":\"p\", \"id\":12345678901234567890123 } "]);
        assert_eq!(kept, ["{\"prompt\":\"p\", \"id\":12345678901234567890123,\"difficulty\":0.75}"]);
        assert_eq!(copied(&filter, &[r#"{"difficulty":1,"prompt":"p"}"#]).0, [r#"{"difficulty":0.75,"prompt":"p"}"#]);
        let text = r#"{"prompt":"p","id":12345678901234567890123,"difficulty":1}"#;
        let error = filter.copy(text.as_bytes(), &Columns::default(), |_| Ok(())).unwrap_err();
        assert_eq!((error.code(), error.row()), ("row_wrong_type", Some(1)));
    }

    #[test]
    fn each_row_is_kept_once() {
        let lines = [r#"{"prompt":"A b"}"#, "", r#"{"prompt":"a, b!"}"#, r#"{"prompt":"A b"}"#, r#"{"prompt":"c"}"#];
        let unique = |unique| copied(&Filter { unique: Some(unique), ..Filter::default() }, &lines).1;
        assert_eq!(unique(Likeness::Exact), Kept { rows: 4, kept: 3 });
        assert_eq!(unique(Likeness::Normalised), Kept { rows: 4, kept: 2 });
    }
}
