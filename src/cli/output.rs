//! What commands write to standard output: one JSON document or JSON Lines for programs, aligned text for people.
//! Progress and remarks go to standard error, so that standard output can always be captured.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::client::{Refused, Unreachable};
use crate::clock;
use crate::job::Timestamp;

/// What a shell reports of a program whose reader went away.
const CLOSED_PIPE: i32 = 141;

/// For whom a command writes.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    pub json: bool,
}

impl Output {
    /// The answer of a command.
    pub fn answer(self, value: &Value, people: impl FnOnce() -> String) {
        if self.json { print(&format!("{value:#}\n")) } else { print(&people()) }
    }

    /// One of many answers.
    pub fn line(self, value: &Value, people: impl FnOnce() -> String) {
        if self.json { print(&format!("{value}\n")) } else { print(&people()) }
    }

    /// Tells why a command failed.
    pub fn failure(self, error: anyhow::Error) -> anyhow::Result<ExitCode> {
        if !self.json {
            return Err(error);
        }
        eprintln!("{}", document(&error));
        Ok(ExitCode::FAILURE)
    }

    /// Tells why a request was refused, where that is an end of its own.
    pub fn refusal(self, refused: &Refused) {
        if self.json {
            eprintln!("{}", refused.document());
        } else {
            eprintln!("refused: {refused}");
        }
    }
}

/// An error in the members of a problem document.
fn document(error: &anyhow::Error) -> Value {
    if let Some(refused) = error.downcast_ref::<Refused>() {
        return refused.document().clone();
    }
    match error.downcast_ref::<Unreachable>() {
        Some(unreachable) => unreachable.document(),
        None => json!({"code": "client_error", "detail": format!("{error:#}")}),
    }
}

/// Writes to standard output; ends the program quietly when nobody reads on, as `head` does.
pub fn print(text: &str) {
    let mut out = io::stdout().lock();
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        if error.kind() != io::ErrorKind::BrokenPipe {
            eprintln!("error: standard output: {error}");
        }
        std::process::exit(CLOSED_PIPE);
    }
}

/// Text from elsewhere without the characters that move a terminal's cursor or change its colors.
pub fn printable(text: &str) -> String {
    let hidden = |c: char| (c.is_control() && c != '\n' && c != '\t') || turns_text(c);
    text.chars().map(|c| if hidden(c) { '\u{fffd}' } else { c }).collect()
}

/// Whether a character makes a terminal show what follows in another order than it stands there (Unicode UAX #9).
fn turns_text(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The member at a pointer for people; `-` when there is none.
pub fn member(value: &Value, pointer: &str) -> String {
    match value.pointer(pointer) {
        None | Some(Value::Null) => String::from("-"),
        Some(Value::String(text)) if text.is_empty() => String::from("-"),
        Some(Value::String(text)) => printable(text),
        Some(other) => printable(&other.to_string()),
    }
}

/// Columns of text under headers.
pub struct Table {
    /// A header, and whether its column is of numbers and aligned at their ends.
    columns: Vec<(String, bool)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Headers that begin with `>` are those of numbers.
    pub fn new(headers: &[&str]) -> Self {
        let columns = headers.iter().map(|header| match header.strip_prefix('>') {
            Some(header) => (header.to_owned(), true),
            None => ((*header).to_owned(), false),
        });
        Self { columns: columns.collect(), rows: Vec::new() }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        // A cell is one line, whatever a name holds.
        self.rows.push(cells.into_iter().map(|cell| cell.replace(['\n', '\t'], " ")).collect());
    }

    /// The table, or the sentence that there is nothing in it.
    pub fn text(&self, empty: &str) -> String {
        if self.rows.is_empty() {
            return format!("{empty}\n");
        }
        let header: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let lines: Vec<&Vec<String>> = std::iter::once(&header).chain(&self.rows).collect();
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default();
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = String::new();
        for line in lines {
            let cells = line.iter().zip(&widths).zip(&self.columns).map(|((cell, width), (_, number))| {
                if *number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text
    }
}

/// Names with values below each other.
#[derive(Default)]
pub struct Fields(Vec<(String, String)>);

impl Fields {
    pub fn add(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.push((name.into(), value.into()));
    }

    /// Adds a value only when there is one.
    pub fn add_some(&mut self, name: &str, value: &str) {
        if value != "-" {
            self.add(name, value);
        }
    }

    /// Every member of an object that is a text, a number or a truth value.
    pub fn of(value: &Value) -> Self {
        let mut fields = Self::default();
        for (name, member) in value.as_object().into_iter().flatten() {
            match member {
                Value::String(text) if name != "object" => fields.add(name, printable(text)),
                Value::Number(seconds) if name.ends_with("_at") => fields.add(name, time(seconds.as_i64())),
                Value::Bool(_) | Value::Number(_) => fields.add(name, member.to_string()),
                Value::String(_) | Value::Null | Value::Array(_) | Value::Object(_) => {}
            }
        }
        fields
    }

    pub fn text(&self) -> String {
        let width = self.0.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
        let mut text = String::new();
        for (name, value) in &self.0 {
            // Values of several lines hang below their first one.
            let value = value.replace('\n', &format!("\n{:width$}  ", ""));
            // Writing to a text cannot fail.
            writeln!(text, "{name:<width$}  {value}").expect("a text takes all that is written");
        }
        text
    }
}

/// How long ago a time in Unix seconds was.
pub fn age(seconds: Option<i64>) -> String {
    let Some(then) = seconds.filter(|then| *then > 0) else { return String::from("-") };
    let passed = clock::now().unix_seconds() - then;
    match passed {
        ..0 => time(Some(then)),
        0..60 => format!("{passed} s ago"),
        60..3600 => format!("{} min ago", passed / 60),
        3600..172_800 => format!("{} h ago", passed / 3600),
        _ => format!("{} days ago", passed / 86_400),
    }
}

/// A time in Unix seconds as RFC 3339 in UTC, without fractions.
pub fn time(seconds: Option<i64>) -> String {
    let Some(then) = seconds else { return String::from("-") };
    Timestamp(then.saturating_mul(1000)).rfc3339().replace(".000", "")
}

/// Bytes in the unit that leaves the fewest digits.
pub fn size(bytes: Option<u64>) -> String {
    let Some(bytes) = bytes else { return String::from("-") };
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let Some(power) = (1..=units.len()).rev().find(|power| bytes >> (10 * power) > 0) else {
        return format!("{bytes} B");
    };
    format!("{:.1} {}", bytes as f64 / (1_u64 << (10 * power)) as f64, units[power - 1])
}

/// Writes a plot into a file, and says so.
pub fn write_plot(path: &Path, svg: &str) -> anyhow::Result<()> {
    write_whole(path, svg).with_context(|| format!("cannot write {}", path.display()))?;
    eprintln!("plotted in {}", path.display());
    Ok(())
}

/// Writes a file under another name and renames it, so that whoever looks never sees half of it.
fn write_whole(path: &Path, text: &str) -> anyhow::Result<()> {
    let Some(name) = path.file_name() else { bail!("it is not the name of a file") };
    let mut partial = name.to_owned();
    partial.push(".part");
    let partial = path.with_file_name(partial);
    let mut file = File::create(&partial)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&partial, path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_rows_are_lines() {
        let mut table = Table::new(&["ID", ">ROWS", "NAME"]);
        table.row([String::from("ds_1"), String::from("7"), String::from("sums\nof two")]);
        table.row([String::from("ds_22"), String::from("1200"), String::new()]);
        assert_eq!(table.text("none"), "ID     ROWS  NAME\nds_1      7  sums of two\nds_22  1200\n");
        assert_eq!(Table::new(&["ID"]).text("none"), "none\n");
    }

    #[test]
    fn fields_hang() {
        let mut fields = Fields::default();
        fields.add("id", "a");
        fields.add("failure", "one\ntwo");
        assert_eq!(fields.text(), "id       a\nfailure  one\n         two\n");
    }

    #[test]
    fn members_cannot_command_a_terminal() {
        let value = json!({"name": "a\u{1b}[31mb", "empty": "", "number": 3});
        assert_eq!(member(&value, "/name"), "a\u{fffd}[31mb");
        assert_eq!([member(&value, "/empty"), member(&value, "/none")], ["-", "-"]);
        assert_eq!(member(&value, "/number"), "3");
    }

    #[test]
    fn sizes_and_times_are_short() {
        assert_eq!([Some(5), Some(2048), Some(3 << 29), None].map(size), ["5 B", "2.0 KiB", "1.5 GiB", "-"]);
        assert_eq!(time(Some(0)), "1970-01-01T00:00:00Z");
        assert_eq!(age(Some(clock::now().unix_seconds() - 7200)), "2 h ago");
        assert_eq!(age(Some(0)), "-");
    }

    #[test]
    fn a_plot_replaces_the_file_and_leaves_nothing_beside_it() {
        let folder = std::env::temp_dir().join(format!("anneal-frontier-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("frontier.svg");
        write_whole(&path, "old").unwrap();
        write_whole(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert!(write_whole(Path::new("/"), "").is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
