//! How far the expression goes that a number in plain text belongs to.

use std::borrow::Cow;

use super::{extract, text, units};

/// The most words that are taken on each side of a number, and how far a bracket is looked for.
const MOST_WORDS: usize = 8;
const FARTHEST: usize = 256;

const MARKS: &[char] = &['.', ',', ';', ':', '!', '?', '*', '"', '\''];
const FUNCTIONS: [&str; 8] = ["log", "ln", "sin", "cos", "tan", "sqrt", "exp", "pi"];

/// The expression around what stands from `start` to `end`, where more than that belongs to it.
#[derive(Debug, PartialEq)]
pub enum Span<'t> {
    /// Nothing more belongs to it.
    Alone,
    Wider(Cow<'t, str>),
    /// An operator or a function touches it whose other side is no mathematics.
    Unclear,
}

/// Looks on both sides of the words from `start` to `end`, on their line.
pub fn span(text: &str, start: usize, end: usize) -> Span<'_> {
    if let Some((open, close)) = enclosing(text, start, end) {
        let inner = &text[open + 1..close - 1];
        return Span::Wider(match text[open..].starts_with('{') {
            true => Cow::Owned(format!("\\{{{inner}\\}}")),
            false => Cow::Borrowed(&text[open..close]),
        });
    }
    let (Some(left), Some(right)) = (leftward(text, start), rightward(text, start, end)) else { return Span::Unclear };
    if (left, right) == (start, end) {
        return Span::Alone;
    }
    let all = &text[left..right];
    // An x between numbers is a sign of multiplication.
    Span::Wider(if all.contains(" x ") { Cow::Owned(all.replace(" x ", " × ")) } else { Cow::Borrowed(all) })
}

fn previous(text: &str, at: usize) -> (usize, &str) {
    let before = text[..at].trim_end_matches(' ');
    let start = before
        .rfind(char::is_whitespace)
        .map_or(0, |space| space + before[space..].chars().next().map_or(1, char::len_utf8));
    (start, &before[start..])
}

fn next(text: &str, at: usize) -> (usize, &str) {
    let behind = text[at..].trim_start_matches(' ');
    let length = behind.find(char::is_whitespace).unwrap_or(behind.len());
    let word = behind[..length].trim_end_matches(MARKS);
    (text.len() - behind.len() + word.len(), word)
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit() || c == '$')
        && word.ends_with(|c: char| c.is_ascii_digit())
        && word.bytes().all(|byte| byte.is_ascii_digit() || b".,/$".contains(&byte))
}

/// Whether a word is mathematics: numbers, single letters, names of functions, units and signs.
fn is_mathematics(word: &str) -> bool {
    let letters = |run: &str| run.chars().count() <= 1 || FUNCTIONS.contains(&run) || units::is_known(run);
    !matches!(word, "a" | "A" | "I" | "")
        && word.contains(char::is_alphanumeric)
        && word.chars().all(|c| c.is_alphanumeric() || ".,$%()[]{}^*/+-−×·√|!_".contains(c))
        && word.split(|c: char| !c.is_alphabetic()).all(letters)
}

fn is_operator(word: &str) -> bool {
    matches!(word, "+" | "*" | "/" | "^" | "×" | "·" | "÷" | "<" | ">" | "≤" | "≥" | "≠" | "<=" | ">=" | "!=")
}

/// Where the expression begins that goes on at `start`; None where that is not clear.
fn leftward(text: &str, start: usize) -> Option<usize> {
    let mut start = start;
    for _ in 0..MOST_WORDS {
        let (at, word) = previous(text, start);
        let (before, operand) = previous(text, at);
        let current = next(text, start).1;
        let number_before = is_number(operand);
        start = match word {
            // A mark at the beginning of a line is no operator.
            word if is_operator(word) && operand.is_empty() => return Some(start),
            word if is_operator(word) => is_mathematics(operand).then_some(before)?,
            "-" | "−" if is_mathematics(operand) => before,
            "x" | ":" if number_before => before,
            word if FUNCTIONS.contains(&word) => at,
            word if word.len() > 1 && word.ends_with(['/', '+', '^', '×', '·']) => {
                is_mathematics(word).then(|| bracketed(text, at, start))?
            }
            word if is_number(word) && current.starts_with(|c: char| c.is_alphabetic() || c == '(') => at,
            _ => return Some(start),
        };
    }
    Some(start)
}

/// Where the expression ends; None where that is not clear.
fn rightward(text: &str, start: usize, end: usize) -> Option<usize> {
    let mut end = end;
    for _ in 0..MOST_WORDS {
        if text[end..].starts_with(MARKS) {
            break;
        }
        let (after, word) = next(text, end);
        let (behind, operand) = next(text, after);
        let single = word.len() == 1 && word.bytes().all(|byte| b"bcdefijknpqrtuvwxyz".contains(&byte));
        end = match word {
            word if is_operator(word) => is_mathematics(operand).then_some(behind)?,
            "-" | "−" | "x" if is_mathematics(operand) && !is_word(operand) => behind,
            "pi" | "π" => after,
            word if word.len() > 1 && word.starts_with(['+', '^', '×']) => is_mathematics(word).then_some(after)?,
            _ if single && !units::is_known(word) && text[start..end].ends_with(|c: char| c.is_ascii_digit()) => after,
            _ => break,
        };
    }
    Some(end)
}

fn is_word(operand: &str) -> bool {
    units::is_known(operand) || text::number(operand).is_some()
}

/// The bracket around a place, where it holds mathematics only.
pub fn enclosing(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let before = extract::tail(&text[..end], FARTHEST);
    let from = end - before.len();
    let mut depth = 0_usize;
    let inside = before.trim_end_matches([')', ']', '}']);
    let open = inside.char_indices().rev().take_while(|(_, c)| *c != '\n').find_map(|(at, c)| match c {
        ')' | ']' | '}' => {
            depth += 1;
            None
        }
        '(' | '[' | '{' if depth == 0 => Some(from + at),
        '(' | '[' | '{' => {
            depth -= 1;
            None
        }
        _ => None,
    })?;
    let rest = extract::head(&text[from + inside.len()..], FARTHEST);
    let close = rest.find([')', ']', '}']).map(|at| from + inside.len() + at + 1)?;
    let touched = text[..open].ends_with(|c: char| c.is_alphanumeric() || c == '\\')
        || text[close..].starts_with(|c: char| c.is_alphanumeric() || "^/*([".contains(c));
    let content = &text[open + 1..close - 1];
    let words = || content.split([' ', ',']).filter(|word| !word.is_empty());
    let list = content.contains(',') && words().all(|word| is_mathematics(word) || is_operator(word) || word == "-");
    (list && !touched && open <= start && !content.contains('\n')).then_some((open, close))
}

/// `start`, or where the bracket was opened that is closed before `end`.
pub fn bracketed(text: &str, start: usize, end: usize) -> usize {
    let count = |symbols: [char; 2]| text[start..end].matches(symbols).count();
    if count([')', ']']) <= count(['(', '[']) {
        return start;
    }
    let before = &text[..start];
    let from = before.len() - extract::tail(before, FARTHEST).len();
    let open = before[from..].rfind(['(', '[']).map(|at| from + at);
    open.filter(|open| !text[*open..start].contains('\n')).map_or(start, |open| extract::word_start(text, open))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_goes_as_far_as_its_operators() {
        let of = |text: &'static str| {
            let (start, end) = (text.find('#').unwrap(), text.rfind('#').unwrap());
            match span(text, start, end + 1) {
                Span::Alone => String::from("alone"),
                Span::Wider(text) => text.into_owned(),
                Span::Unclear => String::from("unclear"),
            }
        };
        assert_eq!(of("it is #5#."), "alone");
        assert_eq!(of("he has #5# a day"), "alone");
        assert_eq!(of("apples + #5#"), "unclear");
    }
}
