//! How a text is laid out: paragraphs, lists, emphasis, titles and other marks.

use std::sync::LazyLock;

use ::regex::Regex;

use crate::verifier::contract;

/// How many parts a divider makes; none where one between two others is empty. Empty ones at the ends do not count.
pub fn divided(text: &str, divider: &str) -> Option<i64> {
    let parts: Vec<&str> = text.split(divider).map(str::trim).collect();
    let inner = parts.len().saturating_sub(1);
    let mut count = 0;
    for (at, part) in parts.iter().enumerate() {
        match part.is_empty() {
            false => count += 1,
            true if at == 0 || at == inner => {}
            true => return None,
        }
    }
    Some(count)
}

/// Whether there are so many paragraphs between empty lines, and the `nth` begins with the word, in either case and
/// without quotation marks and punctuation. Empty paragraphs do not count as such but have their places, as in IFEval.
pub fn begins_with(text: &str, paragraphs: i64, nth: i64, word: &str) -> bool {
    let parts: Vec<&str> = text.split("\n\n").map(str::trim).collect();
    let count = parts.iter().filter(|part| !part.is_empty()).count();
    let at = usize::try_from(nth.saturating_sub(1)).ok().filter(|at| *at < count);
    let Some(first) = at.and_then(|at| parts[at].split_whitespace().next()) else { return false };
    let first = first.trim_start_matches('\'').trim_start_matches('"');
    let first = first.split(['.', ',', '?', '!', '\'', '"']).next().unwrap_or_default();
    usize::try_from(paragraphs) == Ok(count) && first.to_lowercase() == word.to_lowercase()
}

/// How many places such as `[address]` there are.
pub fn placeholders(text: &str) -> usize {
    let count = |line: &str| {
        let (mut count, mut rest) = (0, line);
        while let Some((_, inside)) = rest.split_once('[') {
            let Some((_, behind)) = inside.split_once(']') else { break };
            count += 1;
            rest = behind;
        }
        count
    };
    text.lines().map(count).sum()
}

/// Whether a postscript begins with the marker; `P.S.` and `P.P.S` may have spaces between their letters.
pub fn has_postscript(text: &str, marker: &str) -> bool {
    let close = |text: &str| text.to_lowercase().replace(". ", ".");
    let text = text.to_lowercase();
    match marker {
        "P.S." | "P.P.S" | "P.P.S." => close(&text).contains(&close(marker)),
        _ => text.contains(&marker.trim().to_lowercase()),
    }
}

/// How many lines are points of a list.
pub fn bullets(text: &str) -> usize {
    let is_bullet = |line: &&str| {
        let line = line.trim_start();
        line.starts_with('-') || line.strip_prefix('*').is_some_and(|rest| !rest.starts_with('*') && !rest.is_empty())
    };
    text.lines().filter(is_bullet).count()
}

/// How many parts stand between asterisks, one or two on each side, without a line break or an asterisk in them. Parts are
/// looked for twice, as in IFEval: `***this***` has one of either kind.
pub fn highlights(text: &str) -> usize {
    static SINGLE: LazyLock<Regex> = LazyLock::new(|| starred(1));
    static DOUBLE: LazyLock<Regex> = LazyLock::new(|| starred(2));
    let count = |pattern: &Regex| {
        pattern.find_iter(text).filter(|found| !found.as_str().trim_matches('*').trim().is_empty()).count()
    };
    count(&SINGLE) + count(&DOUBLE)
}

/// What stands between so many asterisks on each side.
fn starred(count: usize) -> Regex {
    let stars = r"\*".repeat(count);
    Regex::new(&format!(r"{stars}[^\n*]*{stars}")).expect("the pattern is well-formed for every count")
}

/// How many times the word stands with a number behind it.
pub fn sections(text: &str, word: &str) -> usize {
    let begins = |(at, _): &(usize, &str)| {
        let rest = &text[at + word.len()..];
        let rest = rest.strip_prefix(char::is_whitespace).unwrap_or(rest);
        rest.starts_with(|c: char| c.is_ascii_digit())
    };
    if word.is_empty() { 0 } else { text.match_indices(word).filter(begins).count() }
}

/// Whether the whole text is JSON, alone or with the marks of a code fence before it, behind it or both: ` ```json `, in
/// small letters, in capitals or with a capital `J`, or without a language. `NaN` and `Infinity` are numbers to IFEval.
pub fn is_json(text: &str) -> bool {
    let mut rest = text.trim();
    for mark in ["```json", "```Json", "```JSON", "```"] {
        rest = rest.strip_prefix(mark).unwrap_or(rest);
    }
    contract::read(rest.strip_suffix("```").unwrap_or(rest).trim()).is_ok()
}

/// Whether there is a title such as `<<poem of joy>>` in one line.
pub fn has_title(text: &str) -> bool {
    let titled = |line: &str| {
        let (mut rest, mut found) = (line, false);
        while let Some((_, inside)) = rest.split_once("<<") {
            let Some((title, behind)) = inside.split_once(">>") else { break };
            found |= !title.trim_matches(['<', '>', ' ', '\t']).is_empty();
            rest = behind;
        }
        found
    };
    text.lines().any(titled)
}

/// Whether there are two different answers, told apart by six asterisks.
pub fn has_two_responses(text: &str) -> bool {
    const DIVIDER: &str = "******";
    let answers: Vec<&str> = text.split(DIVIDER).map(str::trim).filter(|answer| !answer.is_empty()).collect();
    divided(text, DIVIDER) == Some(2) && answers.first() != answers.last()
}
