//! How a text is laid out: paragraphs, lists, emphasis, titles and other marks.

use serde::de::IgnoredAny;

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
/// without quotation marks and punctuation.
pub fn begins_with(text: &str, paragraphs: i64, nth: i64, word: &str) -> bool {
    let found: Vec<&str> = text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()).collect();
    let at = usize::try_from(nth.saturating_sub(1)).ok();
    let Some(paragraph) = at.and_then(|at| found.get(at)) else { return false };
    let first = paragraph.split_whitespace().next().unwrap_or_default().trim_start_matches(['\'', '"']);
    let first = first.split(['.', ',', '?', '!', '\'', '"']).next().unwrap_or_default();
    usize::try_from(paragraphs) == Ok(found.len()) && first.to_lowercase() == word.to_lowercase()
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

/// How many parts stand between asterisks, one or two on each side, without a line break or an asterisk in them.
pub fn highlights(text: &str) -> usize {
    text.lines().map(|line| highlights_of(line, 1) + highlights_of(line, 2)).sum()
}

/// Parts between `stars` asterisks on each side. What closes one part opens no other.
fn highlights_of(line: &str, stars: usize) -> usize {
    let mark = "*".repeat(stars);
    let (mut count, mut rest) = (0, line);
    while let Some((_, inside)) = rest.split_once(mark.as_str()) {
        let end = inside.find('*').unwrap_or(inside.len());
        let closed = inside[end..].starts_with(mark.as_str());
        count += usize::from(closed && !inside[..end].trim().is_empty());
        rest = if closed { &inside[end + stars..] } else { inside };
    }
    count
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

/// Whether the whole text is JSON, in a code fence or without one.
pub fn is_json(text: &str) -> bool {
    let fenced = crate::verifier::fenced_alone(text);
    serde_json::from_str::<IgnoredAny>(fenced.unwrap_or(text).trim()).is_ok()
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
