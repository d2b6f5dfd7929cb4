//! Blocks of code in a text of Markdown, as models write them rather than as the standard has them.

use std::sync::LazyLock;

use regex::Regex;

/// How much further than the fence that opens a block the one that ends it may be indented.
const SHIFT: usize = 3;
const QUOTES: [&str; 2] = ["\"\"\"", "'''"];

/// What stands between two fences, without the indentation of the first one.
#[derive(Debug, PartialEq)]
pub struct Block {
    /// The language that the fence names, in small letters; empty where it names none.
    pub tag: String,
    pub text: String,
}

/// A fence at the end of a line.
struct Fence<'t> {
    mark: char,
    length: usize,
    indent: usize,
    info: &'t str,
    /// Whether other text stands before it.
    follows: bool,
}

impl<'t> Fence<'t> {
    fn of(line: &'t str) -> Option<Self> {
        static FENCE: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"^([ \t]*)([^`~\n]*?)(`{3,}|~{3,})[ \t]*([^`\n]*)$")
                .expect("the constant pattern is well-formed")
        });
        let (_, [indent, before, marks, info]) = FENCE.captures(line.trim_end())?.extract();
        let follows = !before.is_empty();
        // In a line of text there is a word at most behind it.
        let is_fence = !follows || !info.contains(char::is_whitespace);
        let mark = marks.chars().next().filter(|_| is_fence)?;
        Some(Self { mark, length: marks.len(), indent: indent.len(), info, follows })
    }

    fn closes(&self, open: &Fence<'_>) -> bool {
        self.mark == open.mark && self.length >= open.length && self.info.is_empty() && !self.follows
    }
}

/// The blocks of a text; one that is not closed goes to the end.
pub fn blocks(text: &str) -> Vec<Block> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (mut blocks, mut at) = (Vec::new(), 0);
    while at < lines.len() {
        let Some(open) = Fence::of(lines[at]) else {
            at += 1;
            continue;
        };
        let begin = at + 1;
        let end = closing(&lines[begin..], &open).map_or(lines.len(), |offset| begin + offset);
        let tag = open.info.split([' ', '\t', ',']).next().unwrap_or_default();
        let tag = tag.trim_matches(['{', '}', '.']).to_lowercase();
        let text = lines[begin..end].iter().map(|line| outdented(line, open.indent)).collect();
        blocks.push(Block { tag, text });
        at = end + 1;
    }
    blocks
}

/// Which line closes a block: the first fence of its kind that is neither in the middle of a text in triple quotation marks
/// nor indented like code; if there is none, the first fence.
fn closing(lines: &[&str], open: &Fence<'_>) -> Option<usize> {
    let (mut quoted, mut first) = (None, None);
    for (number, line) in lines.iter().enumerate() {
        match Fence::of(line).filter(|fence| fence.closes(open)) {
            Some(fence) if quoted.is_none() && fence.indent <= open.indent + SHIFT => return Some(number),
            Some(_) => first = first.or(Some(number)),
            None => quoted = quoted_after(line, quoted),
        }
    }
    first
}

/// The triple quotation marks that are open after a line of Python, where `open` were before it.
pub fn quoted_after(line: &str, mut open: Option<&'static str>) -> Option<&'static str> {
    let mut rest = line;
    loop {
        let (at, marks) = match open {
            Some(marks) => (rest.find(marks), marks),
            None => {
                let next = QUOTES.into_iter().filter_map(|marks| Some((rest.find(marks)?, marks))).min();
                // Behind a comment they open nothing.
                let next = next.filter(|(at, _)| rest.find('#').is_none_or(|comment| *at < comment))?;
                (Some(next.0), next.1)
            }
        };
        let Some(at) = at else { return open };
        rest = &rest[at + marks.len()..];
        open = if open.is_some() { None } else { Some(marks) };
    }
}

fn outdented(line: &str, indent: usize) -> &str {
    let blank = line.bytes().take(indent).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    &line[blank..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_read_as_people_and_models_write_them() {
        for (text, tag, block) in [
            ("1. So\n   ```python\n   if x:\n       y\n   ```\n", "python", "if x:\n    y\n"),
            ("````python\na = 1\n```\n````", "python", "a = 1\n```\n"),
            ("~~~Python\na\n~~~\n", "python", "a\n"),
            ("Here: ```python\na\n```\n", "python", "a\n"),
            ("```{.python}\na\n```", "python", "a\n"),
            ("```py title=\"a\"\na\n```", "py", "a\n"),
            ("```c++\na\n", "c++", "a\n"),
            (
                "```\ndef f():\n    \"\"\"\n    ```\n    1\n    ```\n    \"\"\"\n```\n",
                "",
                "def f():\n    \"\"\"\n    ```\n    1\n    ```\n    \"\"\"\n",
            ),
            ("```\n'''\n```\nit\n```\n'''\nb\n```\nend", "", "'''\n```\nit\n```\n'''\nb\n"),
            // Quotation marks that are not closed do not take the rest of the answer.
            ("```\na  # it's \"\"\"\nb = '''\n```\nend", "", "a  # it's \"\"\"\nb = '''\n"),
        ] {
            assert_eq!(blocks(text), [Block { tag: tag.to_owned(), text: block.to_owned() }], "{text}");
        }
        assert_eq!(blocks("```\na\n```\n~~~\nb\n~~~").len(), 2);
        for none in ["", "no `code` and ``two``", "of ```three``` words", "it says ``` and goes on with words"] {
            assert_eq!(blocks(none), [], "{none}");
        }
    }

    #[test]
    fn triple_quotation_marks_open_and_close() {
        assert_eq!(quoted_after("'''a''' + '''b", None), Some("'''"));
        assert_eq!(quoted_after("b''' # '''", Some("'''")), None);
        assert_eq!(quoted_after("a = \"\"\"'''\"\"\"", None), None);
        assert_eq!(quoted_after("'''", Some("\"\"\"")), Some("\"\"\""));
    }
}
