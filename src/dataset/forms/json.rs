//! A JSON array of rows, cut into its elements while it is read.
//!
//! Only brackets and texts are followed, which tells where an element ends; whether an element is valid JSON is asked by the
//! check of rows, as it is of every line. Line ends between the parts of an element become spaces, so that an element is one
//! line.

use std::io::Read;

use super::{CHUNK_BYTES, read_some, skip_mark};
use crate::dataset::DatasetError;

/// Where the reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Before the array.
    Start,
    /// Behind `[` or a comma.
    Before,
    Element,
    /// Behind an element.
    After,
    /// Behind `]`.
    End,
}

struct Cutter<'a> {
    at: At,
    /// The element that is read, counted from 1.
    row: u64,
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// Whole lines, and the part of an element that has come.
    text: Vec<u8>,
    /// Where in `text` the element begins.
    begun: usize,
    max_row_bytes: usize,
    take: &'a mut dyn FnMut(&[u8]) -> Result<(), DatasetError>,
}

/// Hands each element of an array on as a line.
pub fn lines(
    bytes: impl Read,
    max_row_bytes: usize,
    take: &mut dyn FnMut(&[u8]) -> Result<(), DatasetError>,
) -> Result<(), DatasetError> {
    let mut bytes = skip_mark(bytes)?;
    let text = Vec::with_capacity(2 * CHUNK_BYTES);
    let mut cutter =
        Cutter { at: At::Start, row: 0, depth: 0, in_text: false, escaped: false, text, begun: 0, max_row_bytes, take };
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let fed = match read_some(&mut bytes, &mut chunk) {
            Ok(0) => return cutter.finish(),
            Ok(count) => cutter.feed(&chunk[..count]),
            Err(error) => Err(error),
        };
        if let Err(error) = fed {
            // The rows before it may be wrong as well, and the first error is the one to tell.
            cutter.hand_on()?;
            return Err(error);
        }
    }
}

impl Cutter<'_> {
    fn feed(&mut self, mut chunk: &[u8]) -> Result<(), DatasetError> {
        while let Some(&byte) = chunk.first() {
            if self.at == At::Element {
                let used = self.element(chunk)?;
                chunk = &chunk[used..];
            } else {
                chunk = &chunk[1..];
                if !byte.is_ascii_whitespace() && self.between(byte)? {
                    self.text.push(byte);
                    self.depth = usize::from(matches!(byte, b'{' | b'['));
                    self.in_text = byte == b'"';
                }
            }
        }
        Ok(())
    }

    /// A byte between elements; says whether it begins one.
    fn between(&mut self, byte: u8) -> Result<bool, DatasetError> {
        match (self.at, byte) {
            (At::Start, b'[') => self.at = At::Before,
            (At::After, b',') => self.at = At::Before,
            (At::After, b']') => self.at = At::End,
            (At::Before, b']') if self.row == 0 => self.at = At::End,
            (At::Before, b',' | b']' | b'}' | b':') => return Err(self.wrong("a comma too many, or a bracket")),
            (At::Before, _) => {
                self.at = At::Element;
                self.row += 1;
                return Ok(true);
            }
            (At::Start, _) => return Err(self.wrong("no `[` at the beginning")),
            (At::After, _) => return Err(self.wrong("no comma behind the element")),
            (At::End, _) => return Err(self.wrong("something behind the end of the array")),
            (At::Element, _) => {}
        }
        Ok(false)
    }

    /// Takes bytes of an element and says how many.
    fn element(&mut self, chunk: &[u8]) -> Result<usize, DatasetError> {
        let mut from = 0;
        let mut used = chunk.len();
        for (index, &byte) in chunk.iter().enumerate() {
            if self.in_text {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_text = false,
                    b'\n' | b'\r' => return Err(self.wrong("a line end within a text; write it as \\n")),
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_text = true,
                b'{' | b'[' => self.depth += 1,
                b'\n' | b'\r' => {
                    self.text.extend_from_slice(&chunk[from..index]);
                    self.text.push(b' ');
                    from = index + 1;
                }
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        used = index + 1;
                        self.at = At::After;
                        break;
                    }
                }
                // A number, a word or a text that stands alone ends before these.
                b',' | b']' if self.depth == 0 => {
                    used = index;
                    self.at = At::After;
                    break;
                }
                _ => {}
            }
        }
        self.text.extend_from_slice(&chunk[from..used]);
        if self.text.len() - self.begun > self.max_row_bytes.saturating_add(CHUNK_BYTES) {
            return Err(DatasetError::RowTooLong { row: self.row, limit: self.max_row_bytes });
        }
        if self.at == At::After {
            self.end_line()?;
        }
        Ok(used)
    }

    fn end_line(&mut self) -> Result<(), DatasetError> {
        while self.text.len() > self.begun && self.text.last().is_some_and(u8::is_ascii_whitespace) {
            self.text.pop();
        }
        self.text.push(b'\n');
        self.begun = self.text.len();
        if self.begun >= CHUNK_BYTES { self.hand_on() } else { Ok(()) }
    }

    /// Hands whole lines on.
    fn hand_on(&mut self) -> Result<(), DatasetError> {
        let begun = std::mem::take(&mut self.begun);
        let taken = if begun > 0 { (self.take)(&self.text[..begun]) } else { Ok(()) };
        self.text.drain(..begun);
        taken
    }

    fn finish(mut self) -> Result<(), DatasetError> {
        self.hand_on()?;
        match self.at {
            At::End | At::Start => Ok(()),
            At::Before | At::Element | At::After => Err(self.wrong("the file ends within the array")),
        }
    }

    fn wrong(&self, what: &str) -> DatasetError {
        DatasetError::Array { row: self.row.max(1), detail: what.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::Form;
    use super::super::tests::text_of;
    use super::*;

    fn text(json: &str) -> Result<String, DatasetError> {
        text_of(Form::Json, json.as_bytes(), 100)
    }

    #[test]
    fn elements_become_lines() {
        let array =
            "\u{feff}[\n  {\n    \"prompt\": \"a]}\\\"\\n\",\n    \"x\": [1, {}]\r\n  },\n{\"prompt\":\"b\"}\n]\n";
        let lines = text(array).unwrap();
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines, [json!({"prompt": "a]}\"\n", "x": [1, {}]}), json!({"prompt": "b"})]);
        assert_eq!(text("[]").unwrap(), "");
        assert_eq!(text("").unwrap(), "");
        assert_eq!(
            text("[1 , \"x,]\" ,null]").unwrap(),
            "1\n\"x,]\"\nnull\n",
            "what is no row is told by the check of rows"
        );
    }

    #[test]
    fn a_broken_array_names_the_element() {
        for (array, row) in [
            ("[{},{}", 2),
            ("[{}, {\"a\": [}", 2),
            ("[{},,{}]", 1),
            ("[{} {}]", 1),
            ("[{},]", 1),
            ("{}", 1),
            ("[{}] {}", 1),
            ("[{},{\"a\": \"b\n\"}]", 2),
        ] {
            let error = text(array).unwrap_err();
            assert_eq!(error.code(), "json_array_broken", "{array}: {error}");
            assert_eq!(error.row(), Some(row), "{array}: {error}");
        }
    }

    #[test]
    fn elements_before_an_error_are_handed_on() {
        for array in ["[{\"a\":1},{\"a\":2} {}]", "[{\"a\":1},{\"a\":2},{\"a\": \"\n\"}]", "[{\"a\":1},{\"a\":2},"] {
            let mut text = Vec::new();
            let take = &mut |chunk: &[u8]| {
                text.extend_from_slice(chunk);
                Ok(())
            };
            assert_eq!(lines(array.as_bytes(), 100, take).unwrap_err().code(), "json_array_broken", "{array}");
            assert_eq!(text, b"{\"a\":1}\n{\"a\":2}\n", "{array}");
        }
    }

    #[test]
    fn an_element_without_end_is_not_collected() {
        let array = format!("[{{\"prompt\": \"{}", "x".repeat(4 * CHUNK_BYTES));
        assert_eq!(text(&array).unwrap_err().code(), "row_too_long");
    }

    fn any_row() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(Value::Null), any::<i32>().prop_map(Value::from), ".{0,6}".prop_map(Value::from)];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-c\\]\\\"]{1,2}", inner, 0..3).prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_read(rows in prop::collection::vec(any_row(), 0..6), pretty in any::<bool>()) {
            let array = Value::from(rows.clone());
            let array = if pretty { serde_json::to_string_pretty(&array).unwrap() } else { array.to_string() };
            let text = text_of(Form::Json, array.as_bytes(), 1 << 20).unwrap();
            let read: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            prop_assert_eq!(read, rows);
        }
    }
}
