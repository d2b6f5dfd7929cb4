//! Rows that are held out: which side a row is on follows from the row alone, so that it stays there whatever rows come
//! to it or go.

use std::io::Read;
use std::ops::ControlFlow;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::jsonl::{MOST_ROW_BYTES, io_error};
use super::lines::{Line, Lines};
use super::{Columns, DatasetError, Row, Split, present_columns, words};

/// The largest share that is held out.
pub const MOST_SHARE: f64 = 0.9;
const LONGEST_NAME: usize = 256;

/// How rows are split.
///
/// The SHA-256 of a row's key, read as a number from 0 to 1, is below the share of those that are held out. The key is
/// what the row has in the column `by`, or else the words of its prompt, so that prompts which differ in looks only are on
/// one side. A larger share holds out the same rows and more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitRule {
    /// Share of the rows that is held out for evaluation; 0 holds none out.
    #[schemars(range(min = 0.0, max = MOST_SHARE))]
    pub eval: f64,
    /// The column that says which rows belong together; rows without a value there go by their prompts, and one row must have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub by: Option<String>,
}

impl SplitRule {
    /// The side that a row is on.
    pub fn side(&self, row: &Row) -> Split {
        let mut hasher = Sha256::new_with_prefix(b"anneal split\0");
        match self.of_column(row) {
            Some(Value::String(text)) => hasher.update(text),
            Some(other) => hasher.update(other.to_string()),
            None => hasher.update(words::of_prompt(&row.prompt)),
        }
        let digest = hasher.finalize();
        let first = digest.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        // 53 bits, as many as a number has.
        let place = (first >> 11) as f64 / (1_u64 << 53) as f64;
        if place < self.eval { Split::Eval } else { Split::Train }
    }

    /// What a row has in the column `by`.
    fn of_column<'a>(&self, row: &'a Row) -> Option<&'a Value> {
        self.by.as_ref().and_then(|column| row.fields.get(column)).filter(|value| !value.is_null())
    }

    /// How many rows of a file are held out. That no row has the column `by` is an error, for then all would go by their
    /// prompts, and what belongs together would be torn apart. Blocks.
    pub fn count(&self, file: impl Read, columns: &Columns) -> Result<u64, DatasetError> {
        let failed = |error| io_error(String::from("split the rows of a data set"), error);
        let (mut held_out, mut is_found, mut present) = (0, false, None);
        let each = |line: Line<'_>| {
            let row = Row::parse(line.number, line.text, columns)?;
            held_out += u64::from(self.side(&row) == Split::Eval);
            is_found = is_found || self.of_column(&row).is_some();
            present.get_or_insert_with(|| present_columns(&row.fields));
            Ok(ControlFlow::Continue(()))
        };
        Lines::new(MOST_ROW_BYTES).read(file, failed, each)?;
        match (&self.by, present) {
            (Some(column), Some(present)) if !is_found => {
                Err(DatasetError::NoSplitColumn { column: column.clone(), present })
            }
            _ => Ok(held_out),
        }
    }

    fn checked(self) -> Result<Self, String> {
        if !(0.0..=MOST_SHARE).contains(&self.eval) {
            return Err(format!("the share of `eval` is from 0 to {MOST_SHARE}"));
        }
        if self.by.as_ref().is_some_and(|by| by.is_empty() || by.len() > LONGEST_NAME) {
            return Err(format!("the column `by` has a name of 1 to {LONGEST_NAME} bytes"));
        }
        Ok(self)
    }

    /// The same, or nothing where no row is held out.
    pub fn holding(self) -> Option<Self> {
        (self.eval > 0.0).then_some(self)
    }
}

/// As it stands in a query: `eval:0.05`, `eval:0.05,by:problem`, or the object in JSON.
impl FromStr for SplitRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = "is `eval:0.05`, `eval:0.05,by:COLUMN` or {\"eval\": 0.05}";
        if text.trim_start().starts_with('{') {
            let rule: Self = serde_json::from_str(text).map_err(|error| format!("{form}: {error}"))?;
            return rule.checked();
        }
        let (share, by) = match text.split_once(",by:") {
            Some((share, by)) => (share, Some(by.to_owned())),
            None => (text, None),
        };
        let share = share.strip_prefix("eval:").and_then(|share| share.trim().parse().ok());
        Self { eval: share.ok_or_else(|| form.to_owned())?, by }.checked()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;

    fn rule(eval: f64, by: Option<&str>) -> SplitRule {
        SplitRule { eval, by: by.map(str::to_owned) }
    }

    #[test]
    fn a_row_stays_on_its_side_and_takes_its_likes_along() {
        let line = |i: usize| format!("{{\"prompt\":\"What is {i} + {}?\",\"id\":{}}}", i + 1, i / 4);
        let sides = |rule: &SplitRule| (0..4000).map(|i| rule.side(&row(&line(i)))).collect::<Vec<_>>();
        let (few, more) = (sides(&rule(0.05, None)), sides(&rule(0.2, None)));
        let held = |sides: &[Split]| sides.iter().filter(|side| **side == Split::Eval).count();
        assert!(
            (150..=250).contains(&held(&few)) && (700..=900).contains(&held(&more)),
            "{} {}",
            held(&few),
            held(&more)
        );
        assert!(few.iter().zip(&more).all(|(few, more)| *few == Split::Train || *more == Split::Eval));
        for (i, side) in more.iter().enumerate().take(200) {
            let alike = format!("{{\"prompt\":\"  what is {i}+{}\"}}", i + 1);
            assert_eq!(rule(0.2, None).side(&row(&alike)), *side);
        }
        let by = sides(&rule(0.2, Some("id")));
        assert!(by.chunks(4).all(|group| group.iter().all(|side| *side == group[0])));
        assert!(held(&by) > 600 && by != more);
        assert_eq!(sides(&rule(0.2, Some("no such"))), more);
        assert_eq!(held(&sides(&rule(0.0, None))), 0);
        let file: String = (0..4000).map(|i| line(i) + "\n").collect();
        let counted = rule(0.2, None).count(file.as_bytes(), &Columns::default()).unwrap();
        assert_eq!(counted as usize, held(&more));
        assert!(rule(0.2, Some("id")).count(file.as_bytes(), &Columns::default()).is_ok());
        let error = rule(0.2, Some("source")).count(file.as_bytes(), &Columns::default()).unwrap_err();
        assert_eq!(error.code(), "split_column_missing");
        assert!(error.to_string().contains("`source`") && error.to_string().contains("`prompt`, `id`"), "{error}");
        let nulls = "{\"prompt\":\"p\",\"source\":null}";
        assert!(rule(0.2, Some("source")).count(nulls.as_bytes(), &Columns::default()).is_err());
    }

    /// Rows that are held out today are held out by every later version of the program.
    #[test]
    fn sides_never_change() {
        let eval: Vec<usize> = (0..40)
            .filter(|i| rule(0.25, None).side(&row(&format!("{{\"prompt\":\"What is {i}?\"}}"))) == Split::Eval)
            .collect();
        assert_eq!(eval, [1, 5, 10, 14, 23, 30]);
    }

    #[test]
    fn a_rule_reads_from_a_query() {
        assert_eq!("eval:0.05".parse(), Ok(rule(0.05, None)));
        assert_eq!("eval:0.05,by:problem id".parse(), Ok(rule(0.05, Some("problem id"))));
        assert_eq!("{\"eval\": 0.1, \"by\": \"id\"}".parse(), Ok(rule(0.1, Some("id"))));
        for bad in
            ["", "0.05", "eval:", "eval:1", "eval:-1", "eval:nan", "eval:0.1,by:", "{\"eval\":2}", "{\"test\":1}"]
        {
            assert!(bad.parse::<SplitRule>().is_err(), "{bad}");
        }
    }
}
