//! SQL: the query that a completion ends on gives the rows that are expected, on a database made for the verdict.
//!
//! The database is in memory and made anew from a script for every verdict. Queries only read, and know no file, no clock
//! and no chance (`database.rs`), so that a verdict is the same whenever it is made. A query that is refused, takes too
//! many steps or too much memory is a wrong one; the same of the script or of the expected query is an error. Queries with
//! steps so long that they take a quarter of the time limit are stopped by the processor's time that they have taken.

mod database;
mod functions;
mod nowhere;
mod result;
mod unfolding;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Case, Outside, Score, Settings, Verifier};
use crate::job::field::{FieldError, Fields};
use database::{Database, Limits};
use result::Rows;

pub const SUMMARY: &str =
    "The SQL query that a completion ends on gives the expected rows, on an in-memory SQLite database made for it.";

/// The longest setup in a spec; a row's may have [`super::MAX_TEXT_BYTES`].
const MAX_SETUP_CHARACTERS: usize = 1 << 18;
/// The longest query.
const MAX_QUERY_BYTES: usize = 1 << 16;
/// Texts of a completion that are tried as queries.
const TRIES: usize = 64;
/// The most text that a verdict repeats.
const MAX_ANSWER_BYTES: usize = 1 << 12;

/// Configuration of the `sql` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Statements that make the tables and rows that all queries ask, in SQLite's SQL.
    #[schemars(length(max = MAX_SETUP_CHARACTERS))]
    setup: Option<String>,
    /// The column with statements for each row, which run behind those of `setup`: a text, or a list of texts.
    #[schemars(length(min = 1))]
    setup_column: Option<String>,
    /// What the expected answer is.
    expected: Expected,
    /// Whether the order of the rows counts; that of the columns always does, and their names never do.
    order: Order,
    /// No rows may be expected. Otherwise that is an error, for any query that finds nothing gives them, also a wrong one.
    allow_empty: bool,
    /// The most rows of a result; a query that gives more is wrong.
    #[schemars(range(min = 1, max = 100_000))]
    max_rows: usize,
    /// The most steps of SQLite's virtual machine, for the setup and for each query; a million take about 10 ms.
    #[schemars(range(min = 1000, max = 1_000_000_000))]
    max_steps: u64,
    /// The column of the expected answer; by default the data set's answer column.
    #[schemars(length(min = 1))]
    answer_column: Option<String>,
    /// Seconds one verification may take.
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Expected {
    /// A query that gives the right rows.
    Query,
    /// The rows themselves, as a JSON list of lists.
    Rows,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// It counts where the expected query ends on an `order by`.
    AsExpected,
    Kept,
    Ignored,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            setup: None,
            setup_column: None,
            expected: Expected::Query,
            order: Order::AsExpected,
            allow_empty: false,
            max_rows: 1000,
            max_steps: 10_000_000,
            answer_column: None,
            time_limit_seconds: super::DEFAULT_TIME_LIMIT_SECONDS,
        }
    }
}

impl Config {
    fn limits(&self) -> Limits {
        // Two setups, the expected query and the completion's are run.
        let effort = super::duration(self.time_limit_seconds / 4.0);
        Limits { steps: self.max_steps, effort, rows: self.max_rows }
    }

    /// A database with what `setup` makes.
    fn database(&self) -> Result<Database, String> {
        let database = Database::new(self.limits())?;
        if let Some(setup) = &self.setup {
            database.run(setup)?;
        }
        Ok(database)
    }
}

impl Settings for Config {
    fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        let mut fields = Fields::below(pointer);
        let some = self.setup.is_some() || self.setup_column.is_some();
        fields.require(some, "setup", "give the statements that make the tables, here or in `setup_column`");
        let mut errors = fields.finish().err().unwrap_or_default();
        if let Err(detail) = self.database() {
            errors.push(FieldError::new(format!("{pointer}/setup"), "invalid_sql", detail));
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn build(&self, _outside: &Outside) -> Arc<dyn Verifier> {
        Arc::new(Sql { config: self.clone() })
    }

    fn answer_column(&self) -> Option<&str> {
        self.answer_column.as_deref()
    }

    fn columns(&self) -> Vec<(String, String)> {
        let named = [("setup_column", &self.setup_column), ("answer_column", &self.answer_column)];
        named.into_iter().filter_map(|(field, column)| Some((field.to_owned(), column.clone()?))).collect()
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

struct Sql {
    config: Config,
}

impl Verifier for Sql {
    fn verify(&self, case: &Case<'_>) -> Score {
        let (database, expected, ordered) = match self.asked(case) {
            Ok(asked) => asked,
            Err(detail) => return Score::error(detail),
        };
        if let Err(detail) = super::check_length("the completion", case.completion) {
            return Score::error(detail);
        }
        let Some(query) = query_of(case.completion, &database) else {
            return Score::unparsable("the completion holds no query: none of its lines begins with SELECT or WITH");
        };
        if query.len() > MAX_QUERY_BYTES {
            return Score::unparsable(format!(
                "the query has {} bytes; at most {MAX_QUERY_BYTES} are run",
                query.len()
            ));
        }
        let rows = match database.ask(query) {
            Ok(rows) => rows,
            Err(detail) => return Score::ok(0.0).because(format!("the query fails: {detail}")),
        };
        let right = rows.same(&expected, ordered);
        let reason = if right {
            format!("it gives the {} rows that are expected", expected.len())
        } else {
            rows.difference(&expected, ordered)
        };
        Score::of_answer(rows.shown(ordered, MAX_ANSWER_BYTES), f64::from(u8::from(right))).because(reason)
    }
}

impl Sql {
    /// The database of a row, the rows that are expected, and whether their order counts.
    fn asked(&self, case: &Case<'_>) -> Result<(Database, Rows, bool), String> {
        let database = self.config.database()?;
        if let Some(column) = &self.config.setup_column {
            for script in scripts(case, column)? {
                super::check_length("the setup", script)?;
                let run = database.run(script);
                run.map_err(|detail| format!("column {}: {detail}", super::quote(column)))?;
            }
        }
        let column = self.config.answer_column.as_deref();
        let given = column.and_then(|column| case.row.get(column));
        let (expected, orders) = match (self.config.expected, given) {
            (Expected::Rows, Some(rows @ Value::Array(_))) => (Rows::of_json(rows)?, false),
            (Expected::Rows, _) => {
                let text = super::expected_answer(case, column)?;
                let read: Result<Value, _> = serde_json::from_str(&text);
                let rows = read.map_err(|error| format!("the expected rows are not JSON: {error}"))?;
                (Rows::of_json(&rows)?, false)
            }
            (Expected::Query, _) => {
                let query = super::expected_answer(case, column)?;
                let rows = database.ask(&query).map_err(|detail| format!("the expected query fails: {detail}"))?;
                (rows, orders_rows(&query))
            }
        };
        if expected.len() == 0 && !self.config.allow_empty {
            let detail = "no rows are expected, which a wrong query may find as well; let the setup make rows that the \
                          right query finds, or set `allow_empty`";
            return Err(detail.to_owned());
        }
        let ordered = match self.config.order {
            Order::AsExpected => orders,
            Order::Kept => true,
            Order::Ignored => false,
        };
        Ok((database, expected, ordered))
    }
}

/// The statements in a column of a row.
fn scripts<'a>(case: &Case<'a>, column: &str) -> Result<Vec<&'a str>, String> {
    let wrong = || format!("column {} holds no statements: give a text or a list of texts", super::quote(column));
    match case.row.get(column) {
        Some(Value::String(script)) => Ok(vec![script]),
        Some(Value::Array(scripts)) => scripts.iter().map(|script| script.as_str().ok_or_else(wrong)).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => Err(wrong()),
    }
}

/// The query in a completion: in the last code fence that holds one, or between the last `<answer>` or `<sql>` tags;
/// otherwise the last text that begins with a line of a query and can be run, with what stands between empty lines tried
/// first. Where nothing can be run it is the first that may have been meant. Where no line begins with one it is the last that
/// stands inside a line behind some mark and can be run.
fn query_of<'c>(completion: &'c str, database: &Database) -> Option<&'c str> {
    let completion = super::behind_thought(completion);
    let tagged = || {
        let of = |open, close| super::last_tagged(completion, open, close);
        of("<answer>", "</answer>").or_else(|| of("<sql>", "</sql>"))
    };
    let in_fence = super::fenced(completion).into_iter().rev().find_map(|part| begun(part).next());
    if let Some(query) = in_fence.or_else(|| begun(tagged()?).next()) {
        return Some(query.trim());
    }
    let Some(whole) = begun(completion).next().map(str::trim) else {
        return hidden(completion)
            .filter(|text| text.len() <= MAX_QUERY_BYTES)
            .take(TRIES)
            .find(|text| database.is_query(text));
    };
    let last = blocks(completion).into_iter().rev().flat_map(tried);
    let mut tried = std::iter::once(whole).chain(last).filter(|text| text.len() <= MAX_QUERY_BYTES).take(TRIES);
    tried.find(|text| database.is_query(text)).or(Some(whole))
}

/// What may be a query inside a line: behind a colon, a quotation mark, a comment, the number of an item or such a mark; the
/// last one first, each to the end of the text, to a mark that ends it, and to the end of its line.
fn hidden(text: &str) -> impl Iterator<Item = &str> {
    const MARKS: [char; 11] = [':', '`', '"', '\'', '{', '>', '.', ')', '-', '*', '/'];
    let lower = text.to_ascii_lowercase();
    let mut starts: Vec<usize> =
        ["select", "with"].iter().flat_map(|word| lower.match_indices(word)).map(|(at, _)| at).collect();
    starts.retain(|at| begins(&text[*at..]) && text[..*at].trim_end().ends_with(MARKS));
    starts.sort_unstable();
    starts.into_iter().rev().take(TRIES).flat_map(move |start| {
        let rest = &text[start..];
        let line = rest.lines().next().unwrap_or_default();
        let closed = match text[..start].trim_end().chars().next_back() {
            Some(quote @ ('`' | '"' | '\'')) => rest.rfind(quote),
            Some('{') => rest.rfind('}'),
            _ => None,
        };
        let statement = rest.find(';').map(|end| &rest[..end]);
        let marked = closed.map(|end| &rest[..end]);
        [Some(rest), marked, statement, Some(line)].into_iter().flatten().map(str::trim)
    })
}

/// The rests of a text from each line on that begins a query.
fn begun(text: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    let starts = text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line)
    });
    starts.filter(|(_, line)| begins(line)).map(move |(start, _)| &text[start..])
}

fn begins(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches('(').as_bytes();
    ["select", "with", "values"].iter().any(|word| {
        line.len() > word.len()
            && line[..word.len()].eq_ignore_ascii_case(word.as_bytes())
            && !line[word.len()].is_ascii_alphanumeric()
    })
}

/// What stands between empty lines and behind lines that end a statement.
fn blocks(text: &str) -> Vec<&str> {
    let (mut blocks, mut start, mut at) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        at += line.len();
        if line.trim().is_empty() || line.trim_end().ends_with(';') {
            blocks.push(&text[start..at]);
            start = at;
        }
    }
    blocks.push(&text[start..]);
    blocks
}

/// What may be the query of a block: from a line that begins one to the end, to an earlier line's end, or to a semicolon
/// that no query follows.
fn tried(block: &str) -> impl Iterator<Item = &str> {
    begun(block).flat_map(|rest| {
        let ends = rest.match_indices('\n').map(|(at, _)| at).chain([rest.len()]);
        let ends: Vec<usize> = ends.collect();
        let statement = rest.split_once(';').filter(|(_, behind)| !begins(behind)).map(|(statement, _)| statement);
        let lines = ends.into_iter().rev().map(move |end| rest[..end].trim());
        lines.chain(statement).filter(|text| !text.is_empty())
    })
}

/// Whether a query ends on an `order by` of its own, outside of brackets and quotation marks.
fn orders_rows(query: &str) -> bool {
    let mut depth = 0_usize;
    let mut quoted = None;
    let mut plain = String::new();
    for c in query.chars() {
        match (quoted, c) {
            (Some(end), _) => {
                if c == end {
                    quoted = None;
                }
            }
            (None, '\'' | '"' | '`') => quoted = Some(c),
            (None, '[') => quoted = Some(']'),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, _) if depth == 0 => plain.push(c.to_ascii_lowercase()),
            (None, _) => {}
        }
    }
    let words: Vec<&str> = plain.split_whitespace().collect();
    words.windows(2).any(|pair| pair == ["order", "by"])
}

#[cfg(test)]
mod tests;
