//! What is counted of rows while they are checked.
//!
//! Nearly all rows are good, and of a good one few things have to be known: its prompt, whether it has an answer and a
//! completion, and which columns have values. So a row is skimmed first, which reads all of its JSON and keeps those. Whatever
//! skimming does not understand is read by [`Row::parse`], which says what is wrong, and is the law: skimming finds a row good
//! only where it does, and counts the same.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::jsonl::Summary;
use super::lines::Line;
use super::{Columns, DatasetError, MESSAGES_COLUMN, Prompt, Row, read_answer, read_completion, read_prompt};

/// Columns that are counted; of files with more, or with longer names, nothing is known.
const MOST_COLUMNS: usize = 256;
const LONGEST_NAME: usize = 256;
/// Columns that are known while rows are skimmed, with those that never have a value.
const MOST_NAMES: usize = 4 * MOST_COLUMNS;

/// Counts rows that are good, and says what is wrong with the first that is not.
#[derive(Debug)]
pub(super) struct Tally {
    columns: Columns,
    max_rows: u64,
    rows: u64,
    has_answer: u64,
    has_completion: u64,
    names: Names,
    /// Hashes of the prompts; sorted at the end, which takes less memory than a set.
    prompts: Vec<u64>,
}

/// The columns that were met, with the rows that have a value in each.
#[derive(Debug, Default)]
struct Names {
    columns: Vec<Column>,
    places: HashMap<String, usize>,
    /// There are too many, so that none is counted.
    too_many: bool,
}

#[derive(Debug)]
struct Column {
    name: String,
    filled: u64,
    /// The row in which it was met last, counted from 1.
    met: u64,
}

impl Tally {
    pub fn new(columns: Columns, max_rows: u64) -> Self {
        let (names, prompts) = (Names::default(), Vec::new());
        Self { columns, max_rows, rows: 0, has_answer: 0, has_completion: 0, names, prompts }
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    pub fn add(&mut self, line: &Line<'_>) -> Result<(), DatasetError> {
        if self.rows == self.max_rows {
            return Err(DatasetError::TooManyRows { row: line.number, limit: self.max_rows });
        }
        if let Some(skimmed) = self.skim(line.text) {
            self.count(&skimmed.prompt, skimmed.has_answer, skimmed.has_completion);
            skimmed.filled.iter().for_each(|place| self.names.columns[*place].filled += 1);
            return Ok(());
        }
        let row = Row::parse(line.number, line.text, &self.columns)?;
        self.count(&row.prompt, row.answer.is_some(), row.completion.is_some());
        let filled = row.fields.iter().filter(|(_, value)| !value.is_null());
        filled.for_each(|(name, _)| self.names.fill(name));
        Ok(())
    }

    fn count(&mut self, prompt: &Prompt, has_answer: bool, has_completion: bool) {
        let mut hasher = DefaultHasher::new();
        prompt.hash(&mut hasher);
        self.prompts.push(hasher.finish());
        self.rows += 1;
        self.has_answer += u64::from(has_answer);
        self.has_completion += u64::from(has_completion);
    }

    /// Nothing where the row is not plainly good.
    fn skim(&mut self, line: &[u8]) -> Option<Skimmed> {
        if self.names.too_many {
            return None;
        }
        let text = str::from_utf8(line).ok()?;
        let skim = Skim { columns: &self.columns, names: &mut self.names, row: self.rows + 1 };
        let mut json = serde_json::Deserializer::from_str(text);
        let parts = skim.deserialize(&mut json).ok()?;
        json.end().ok()?;
        let is_default = self.columns.prompt == Columns::default().prompt;
        let prompt = match parts.prompt.or(if is_default { parts.messages } else { None })? {
            Value::String(text) if !text.is_empty() => Prompt::Text(text),
            other => read_prompt(&other).ok()?,
        };
        let has_answer = read_answer(parts.answer.as_ref()).ok()?.is_some();
        let has_completion = read_completion(parts.completion.as_ref()).ok()?.is_some();
        Some(Skimmed { prompt, has_answer, has_completion, filled: parts.filled })
    }

    pub fn summary(mut self, bytes: u64, sha256: String) -> Summary {
        self.prompts.sort_unstable();
        self.prompts.dedup();
        Summary {
            rows: self.rows,
            bytes,
            sha256,
            has_answer: self.has_answer,
            has_completion: self.has_completion,
            columns: self.columns,
            filled: self.names.filled(),
            duplicates: self.rows - self.prompts.len() as u64,
        }
    }
}

impl Names {
    /// The place of a column. Rows mostly have the same columns in the same order, so that `likely` is tried first.
    fn place(&mut self, name: &str, likely: usize) -> Option<usize> {
        if self.columns.get(likely).is_some_and(|column| column.name == name) {
            return Some(likely);
        }
        if let Some(place) = self.places.get(name) {
            return Some(*place);
        }
        if self.columns.len() == MOST_NAMES || name.len() > LONGEST_NAME {
            return None;
        }
        self.columns.push(Column { name: name.to_owned(), filled: 0, met: 0 });
        self.places.insert(name.to_owned(), self.columns.len() - 1);
        Some(self.columns.len() - 1)
    }

    fn fill(&mut self, name: &str) {
        if self.too_many {
            return;
        }
        if self.columns.len() == MOST_NAMES && !self.places.contains_key(name) {
            self.columns.retain(|column| column.filled > 0);
            self.places = self.columns.iter().enumerate().map(|(i, column)| (column.name.clone(), i)).collect();
        }
        match self.place(name, 0) {
            Some(place) => self.columns[place].filled += 1,
            None => self.too_many = true,
        }
    }

    fn filled(self) -> Option<BTreeMap<String, u64>> {
        let filled = self.columns.into_iter().filter(|column| column.filled > 0);
        let filled: BTreeMap<String, u64> = filled.map(|column| (column.name, column.filled)).collect();
        (!self.too_many && filled.len() <= MOST_COLUMNS).then_some(filled)
    }
}

/// What is known of a good row.
struct Skimmed {
    prompt: Prompt,
    has_answer: bool,
    has_completion: bool,
    /// The places of the columns that have a value.
    filled: Vec<usize>,
}

/// The columns of a row that play a part.
#[derive(Default)]
struct Parts {
    prompt: Option<Value>,
    messages: Option<Value>,
    answer: Option<Value>,
    completion: Option<Value>,
    filled: Vec<usize>,
}

/// Reads a row as [`Parts`]. Any error stands for "read it in full".
struct Skim<'a> {
    columns: &'a Columns,
    names: &'a mut Names,
    row: u64,
}

impl<'de> DeserializeSeed<'de> for Skim<'_> {
    type Value = Parts;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Parts, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Skim<'_> {
    type Value = Parts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parts, A::Error> {
        let other = || A::Error::custom("not plain");
        let mut parts = Parts::default();
        let mut likely = 0;
        while let Some(place) = map.next_key_seed(Name { names: self.names, likely })? {
            likely = place + 1;
            let column = &mut self.names.columns[place];
            // Of a name that comes twice, the last value counts.
            if column.met == self.row {
                return Err(other());
            }
            column.met = self.row;
            let name = column.name.as_str();
            let columns = self.columns;
            let wanted = [&columns.prompt, &columns.answer, &columns.completion].iter().any(|column| *column == name);
            let is_null = if wanted || name == MESSAGES_COLUMN {
                let value: Value = map.next_value()?;
                let is_null = value.is_null();
                // One column may play several parts.
                for (column, part) in
                    [(columns.answer.as_str(), &mut parts.answer), (&columns.completion, &mut parts.completion)]
                {
                    if column == name {
                        *part = Some(value.clone());
                    }
                }
                if columns.prompt == name {
                    parts.prompt = Some(value);
                } else if name == MESSAGES_COLUMN {
                    parts.messages = Some(value);
                }
                is_null
            } else {
                map.next_value_seed(Glance)?
            };
            if !is_null {
                parts.filled.push(place);
            }
        }
        Ok(parts)
    }
}

/// Reads a name as the place of a column.
struct Name<'a> {
    names: &'a mut Names,
    likely: usize,
}

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<usize, E> {
        self.names.place(name, self.likely).ok_or_else(|| E::custom("too many names"))
    }
}

/// Reads a value, all of it as strictly as [`Value`] does, and keeps whether it is null.
struct Glance;

impl<'de> DeserializeSeed<'de> for Glance {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Glance {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_str<E>(self, _: &str) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<bool, A::Error> {
        while seq.next_element_seed(Glance)?.is_some() {}
        Ok(false)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        // Names are read as texts, which are as strict as others.
        while map.next_key_seed(Glance)?.is_some() {
            map.next_value_seed(Glance)?;
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::jsonl::{Limits, Validator};
    use super::*;

    fn filled(rows: &[u8]) -> Option<BTreeMap<String, u64>> {
        let mut validator = Validator::new(Columns::default(), Limits::default());
        validator.feed(rows).unwrap();
        validator.finish().unwrap().filled
    }

    #[test]
    fn values_are_counted_for_each_column_unless_there_are_too_many() {
        let found = filled(b"{\"prompt\":\"a\",\"x\":1}\n{\"prompt\":\"b\",\"x\":null,\"y\":[],\"z\":null}\n").unwrap();
        let found: Vec<_> = found.iter().map(|(name, rows)| (name.as_str(), *rows)).collect();
        assert_eq!(found, [("prompt", 2), ("x", 1), ("y", 1)]);
        let wide = |columns: usize, value: &str| {
            let columns: String = (1..columns).map(|i| format!(",\"{i}\":{value}")).collect();
            filled(format!("{{\"prompt\":\"a\"{columns}}}").as_bytes()).map(|filled| filled.len())
        };
        assert_eq!((wide(MOST_COLUMNS, "0"), wide(MOST_COLUMNS + 1, "0")), (Some(MOST_COLUMNS), None));
        assert_eq!(wide(2 * MOST_NAMES, "null"), Some(1));
        assert_eq!(wide(2 * MOST_NAMES, "0"), None);
        let long = format!("{{\"prompt\":\"a\",\"{}\":0}}", "n".repeat(LONGEST_NAME + 1));
        assert_eq!(filled(long.as_bytes()), None);
    }

    /// Rows as they are, and nearly.
    fn any_line() -> impl Strategy<Value = String> {
        let name = prop_oneof![
            4 => Just("\"prompt\""),
            1 => Just("\"messages\""),
            1 => Just("\"answer\""),
            1 => Just("\"completion\""),
            1 => Just("\"x\""),
            1 => Just("\"\\u0078\""),
            1 => Just("\"\\ud800\""),
        ];
        let value = prop_oneof![
            4 => Just("\"a\""),
            1 => Just("\"\""),
            1 => Just("\"\\ud800\""),
            1 => Just("\"\\u00e4\\n\""),
            1 => Just("null"),
            1 => Just("true"),
            1 => Just("-7"),
            1 => Just("1e5"),
            1 => Just("1e999"),
            1 => Just("01"),
            1 => Just("1234567890123456789012"),
            1 => Just("[{\"role\":\"user\",\"content\":\"b\"}]"),
            1 => Just("[{\"role\":\"user\"}]"),
            1 => Just("{\"a\":[1,{\"b\":null}]}"),
            1 => Just("{\"a\":}"),
            1 => Just("{\"\\ud800\":1}"),
        ];
        let end = prop_oneof![8 => Just("}"), 1 => Just("} "), 1 => Just("}x"), 1 => Just(",}"), 1 => Just("")];
        (prop::collection::vec((name, value), 0..5), end).prop_map(|(members, end)| {
            let members: Vec<String> = members.iter().map(|(name, value)| format!("{name}:{value}")).collect();
            format!("{{{}{end}", members.join(","))
        })
    }

    proptest! {
        #[test]
        fn skimming_finds_what_reading_finds(lines in prop::collection::vec(any_line(), 1..6)) {
            let (mut skimmed, mut read) = (Tally::new(Columns::default(), 100), Tally::new(Columns::default(), 100));
            let mut counts: BTreeMap<String, u64> = BTreeMap::new();
            for (index, text) in lines.iter().enumerate() {
                let number = index as u64 + 1;
                let line = Line { number, start: 0, text: text.as_bytes() };
                let row = Row::parse(number, text.as_bytes(), &Columns::default());
                let added = skimmed.add(&line);
                prop_assert_eq!(added.as_ref().err().map(ToString::to_string), row.as_ref().err().map(ToString::to_string));
                let Ok(row) = row else { return Ok(()) };
                read.count(&row.prompt, row.answer.is_some(), row.completion.is_some());
                for (name, _) in row.fields.iter().filter(|(_, value)| !value.is_null()) {
                    *counts.entry(name.clone()).or_default() += 1;
                }
            }
            let expected = Summary { filled: Some(counts), ..read.summary(1, String::new()) };
            prop_assert_eq!(skimmed.summary(1, String::new()), expected);
        }
    }
}
