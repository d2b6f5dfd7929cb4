//! Where a completion lies, as pages name it.

use std::fmt;
use std::str::FromStr;

/// A completion's place, behind which a page begins. Of places in the same files the later ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// In the one file of a complete set.
    pub complete: bool,
    pub file: usize,
    /// The place of its group in the file, as the file's form has it.
    pub end: u64,
    /// Number of the completion within its group.
    pub item: usize,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.complete { "s" } else { "p" };
        write!(f, "{kind}{}-{}-{}", self.file, self.end, self.item)
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let complete = text.starts_with('s');
        let mut numbers = text.strip_prefix(['s', 'p']).ok_or(())?.split('-').map(|part| part.parse::<u64>().ok());
        let mut next = || numbers.next().flatten().ok_or(());
        let cursor = Self { complete, file: next()? as usize, end: next()?, item: next()? as usize };
        if numbers.next().is_none() { Ok(cursor) } else { Err(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_read_back_and_nonsense_does_not() {
        let cursor = Cursor { complete: true, file: 0, end: 123, item: 4 };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for nonsense in ["", "s", "x0-1-2", "s0-1", "p0-1-2-3", "s0--1-2", "s0-1-99999999999999999999999"] {
            assert_eq!(nonsense.parse::<Cursor>(), Err(()), "{nonsense}");
        }
    }
}
