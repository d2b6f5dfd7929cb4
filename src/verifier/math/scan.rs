//! A text's mathematics and numbers, from its beginning to its end in one pass.

use super::extract::{Writings, plain_number};

/// The most items that are kept, the last ones.
const MAX_ITEMS: usize = 64;

/// Mathematics between delimiters, or a number.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// Where its content begins and ends.
    pub start: usize,
    pub end: usize,
    /// The same with the delimiters.
    pub before: usize,
    pub after: usize,
    pub latex: bool,
}

/// The last items of a text. Mathematics in a line ends on its line; displayed mathematics may have several.
pub fn items(text: &str, writings: Writings) -> Vec<Item> {
    let bytes = text.as_bytes();
    let mut items: Vec<Item> = Vec::new();
    let mut at = 0;
    // Where there is no further end of displayed mathematics, it is not looked for again.
    let mut closers = Closers::default();
    while at < bytes.len() {
        let found = match bytes[at] {
            b'\\' | b'$' => closers.delimited(text, at),
            b'0'..=b'9' | b'.' if writings.plain => number(text, at),
            _ => None,
        };
        let Some(item) = found else {
            at += if bytes[at] == b'\\' { 2 } else { 1 };
            continue;
        };
        at = item.after;
        while items.last().is_some_and(|last| last.after > item.before) {
            items.pop();
        }
        if item.latex && !writings.latex {
            continue;
        }
        if items.len() >= 2 * MAX_ITEMS {
            items.drain(..MAX_ITEMS);
        }
        items.push(item);
    }
    items
}

/// What is known of the ends of displayed mathematics.
#[derive(Default)]
struct Closers {
    no_bracket: bool,
    no_parenthesis_before: usize,
    no_dollars: bool,
    no_environment: bool,
}

impl Closers {
    fn delimited(&mut self, text: &str, at: usize) -> Option<Item> {
        let rest = &text[at..];
        let line = |rest: &str| rest.find('\n').unwrap_or(rest.len());
        let item = |open: usize, length: usize, close: usize| {
            let (start, end) = (at + open, at + open + length);
            Item { start, end, before: at, after: end + close, latex: true }
        };
        if let Some(inner) = rest.strip_prefix("\\[") {
            let length = if self.no_bracket { None } else { inner.find("\\]") };
            self.no_bracket = length.is_none();
            return length.map(|length| item(2, length, 2));
        }
        if let Some(inner) = rest.strip_prefix("\\(") {
            if at < self.no_parenthesis_before {
                return None;
            }
            let length = inner[..line(inner)].find("\\)");
            self.no_parenthesis_before = if length.is_none() { at + 2 + line(inner) } else { 0 };
            return length.map(|length| item(2, length, 2));
        }
        if let Some(inner) = rest.strip_prefix("$$") {
            let length = if self.no_dollars { None } else { inner.find("$$") };
            self.no_dollars = length.is_none();
            return length.map(|length| item(2, length, 2));
        }
        if let Some(inner) = rest.strip_prefix('$') {
            let length = closing_dollar(&inner[..line(inner)])?;
            return is_mathematics(&inner[..length]).then(|| item(1, length, 1));
        }
        if rest.starts_with("\\begin{") {
            if self.no_environment {
                return None;
            }
            let end = rest.find("\\end{").and_then(|length| Some((length, rest[length..].find('}')? + 1)));
            self.no_environment = end.is_none();
            let (length, close) = end?;
            let after = at + length + close;
            if !mathematics_around(text, at, after) {
                return Some(Item { end: after, ..item(0, length, close) });
            }
            // It is a part of what stands on its lines.
            let start = text[..at].rfind('\n').map_or(0, |before| before + 1);
            let end = after + line(&text[after..]);
            return Some(Item { start, end, before: start, after: end, latex: true });
        }
        None
    }
}

/// The place of the first dollar sign without a backslash before it.
fn closing_dollar(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'$', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'$' {
            return Some(at);
        }
        at += 2;
    }
}

/// Whether what stands before or behind an environment is mathematics that it belongs to, and no word or mark.
fn mathematics_around(text: &str, at: usize, after: usize) -> bool {
    let before = text[..at].trim_end_matches([' ', '~']);
    let word = before.len() - before.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len();
    let command = before[..before.len() - word].ends_with('\\');
    let operand = match before.chars().next_back() {
        Some(last) if last.is_ascii_alphabetic() => command || word == 1,
        Some('=') => {
            let line = before.rfind('\n').map_or(before, |start| &before[start + 1..]);
            !line.split(|c: char| !c.is_ascii_alphabetic()).any(|word| word.len() > 1)
        }
        Some(last) => last.is_ascii_digit() || "+-−*/^_|})]".contains(last),
        None => false,
    };
    let behind = text[after..].trim_start_matches([' ', '~']);
    let word = behind.len() - behind.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
    let operator = match behind.chars().next() {
        Some('\\') => ["\\begin", "\\cdot", "\\times", "\\pm", "\\left", "\\frac", "\\sqrt", "\\in"]
            .iter()
            .any(|command| behind.starts_with(command)),
        Some(first) if first.is_ascii_alphabetic() => word == 1,
        Some(first) => first.is_ascii_digit() || "+-−*/^_!=".contains(first),
        None => false,
    };
    operand || operator
}

/// Whether what stands between two dollar signs is no prose between two prices.
fn is_mathematics(text: &str) -> bool {
    if text.trim().is_empty() {
        return false;
    }
    if !text.starts_with(|c: char| c.is_ascii_digit()) || text.contains('\\') {
        return true;
    }
    let word = |word: &str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let mut words = text.split(' ');
    !words.any(|part| word(part) && !matches!(part, "and" | "or" | "pct" | "percent"))
}

fn number(text: &str, at: usize) -> Option<Item> {
    let bytes = text.as_bytes();
    let before = text[..at].chars().next_back();
    let point = bytes[at] == b'.';
    if point && !(bytes.get(at + 1).is_some_and(u8::is_ascii_digit) && before.is_none_or(char::is_whitespace)) {
        return None;
    }
    let length = plain_number(&text[at..]);
    let end = at + length;
    if before.is_some_and(|c| c.is_alphabetic() || c == '_') {
        // Digits within a word are no number, though one that is joined by an operator is looked at with it.
        return None;
    }
    let sign = before.filter(|c| "-−–".contains(*c)).map_or(0, char::len_utf8);
    let start = at - sign;
    let operand = text[..start].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == ')');
    let start = if operand { at } else { start };
    Some(Item { start, end, before: start, after: end, latex: false })
}
