//! Where a completion decides for an option.

use ::regex::Regex;

use super::options::{Options, bare, folded};

/// Words that join options.
const JOINING: [&str; 2] = ["and", "or"];
/// As much of a line behind "the answer is" as is looked at.
const MAX_STATEMENT_BYTES: usize = 512;

/// Why there is no decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// Two of the options that are named, by their places.
    Several(usize, usize),
    None,
}

/// What is looked for; each takes time linear in the text.
pub struct Patterns {
    /// "The answer is" and the like, up to where the option follows.
    announced: Regex,
    /// An option at the beginning of a statement, such as `**option (B)**`.
    leading: Regex,
    /// A letter with a mark behind it at the beginning of a line.
    marked: Regex,
}

impl Patterns {
    pub fn new() -> Self {
        let made = |pattern: &str| Regex::new(pattern).expect("the constant pattern is well-formed");
        Self {
            announced: made(
                r"(?i)\b(?:answer|choice|option)\b[ *_]*(?:(?:is|was|would be|must be|should be)\b[ *_]*:?|[:=])",
            ),
            leading: made(
                r"^[\s*_`$]*(?i:\\?(?:boxed|text|textbf|mathrm|mathbf)?\{)?(?i:(?:the )?(?:option|choice|letter)\b[\s*_]*)?([\s*_`$(\[{]*)([A-Za-z0-9])([^A-Za-z0-9]|$)",
            ),
            marked: made(r"(?m)^[ \t>*_(\[-]*(?i:(?:option|choice)[ *_(\[]+)?([A-Za-z0-9])(?:[)\].:]|\*\*|\s*$)"),
        }
    }

    /// The option that `part` states, which is known to hold nothing but the decision.
    pub fn stated(&self, part: &str, options: &Options) -> Result<usize, Undecided> {
        several(part, options)?;
        if let Some(place) = options.with_text(part).or_else(|| options.with_label(part)) {
            return Ok(place);
        }
        self.lead(part, options)
    }

    /// The option that a whole completion decides for.
    pub fn decided(&self, completion: &str, options: &Options) -> Result<usize, Undecided> {
        several(completion, options)?;
        if let Some(announced) = self.announced.find_iter(completion).last() {
            match self.announcement(&completion[announced.end()..], options) {
                Err(Undecided::None) => {}
                decided => return decided,
            }
        }
        let mut lines = completion.lines().filter(|line| !line.trim().is_empty());
        let (first, last) = (lines.next(), lines.next_back());
        for line in [last, first].into_iter().flatten() {
            if let Some(place) = options.with_text(line).or_else(|| options.with_label(line)) {
                return Ok(place);
            }
        }
        let marked = self.marked.captures_iter(completion).filter_map(|found| options.with_label(&found[1]));
        match only(marked) {
            Err(Undecided::None) => only(mentioned(&folded(completion), options).into_iter()),
            decided => decided,
        }
    }

    /// What stands behind "the answer is": on the same line, or on the next one that is not empty.
    fn announcement(&self, rest: &str, options: &Options) -> Result<usize, Undecided> {
        let Some(line) = rest.lines().find(|line| !bare(line).is_empty()) else { return Err(Undecided::None) };
        let end = (0..=MAX_STATEMENT_BYTES.min(line.len())).rev().find(|end| line.is_char_boundary(*end));
        let line = &line[..end.unwrap_or(0)];
        if let Some(place) = options.with_text(line).or_else(|| options.with_label(line)) {
            return Ok(place);
        }
        match self.lead(line, options) {
            Err(Undecided::None) => only(mentioned(&folded(line), options).into_iter()),
            decided => decided,
        }
    }

    /// The option at the beginning of a statement.
    fn lead(&self, text: &str, options: &Options) -> Result<usize, Undecided> {
        let found = self.leading.captures(text).ok_or(Undecided::None)?;
        let (around, label, behind) = (&found[1], &found[2], &text[found.get(2).map_or(0, |label| label.end())..]);
        let place = options.with_label(label).ok_or(Undecided::None)?;
        let bracketed = around.contains(['(', '[', '{', '$', '*', '`']) || found[3].contains([')', ']', '*', '`']);
        if label.starts_with(|c: char| c.is_ascii_lowercase()) && !bracketed {
            return Err(Undecided::None);
        }
        // `A dog` and `I think` are words; `A because` is an option.
        let next: String = behind.trim_start_matches(' ').chars().take_while(|c| c.is_alphabetic()).collect();
        let leads_on = ["", "because", "since", "as", "which", "and", "or", "with", "for"].contains(&next.as_str());
        if matches!(label, "A" | "I") && !bracketed && behind.starts_with(' ') && !leads_on {
            return Err(Undecided::None);
        }
        match joined(behind, options).filter(|other| *other != place) {
            Some(other) => Err(Undecided::Several(place, other)),
            None => Ok(place),
        }
    }
}

/// The option that follows one directly: `A or B`, `A, B`, `A/B`.
fn joined(behind: &str, options: &Options) -> Option<usize> {
    let mut words = behind.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let first = words.next()?;
    let label = if JOINING.contains(&first) { words.next()? } else { first };
    options.with_label(label).filter(|_| label.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit()))
}

/// An error where a text is nothing but labels, and several of them.
fn several(text: &str, options: &Options) -> Result<(), Undecided> {
    let mut first = None;
    let mut other = None;
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        match options.with_label(word) {
            Some(place) if first.is_none() => first = Some(place),
            Some(place) => other = other.or(Some(place).filter(|place| first != Some(*place))),
            None if JOINING.contains(&word) => {}
            None => return Ok(()),
        }
    }
    match (first, other) {
        (Some(first), Some(other)) => Err(Undecided::Several(first, other)),
        _ => Ok(()),
    }
}

/// The one option that is named, however often.
fn only(mut named: impl Iterator<Item = usize>) -> Result<usize, Undecided> {
    let first = named.next().ok_or(Undecided::None)?;
    match named.find(|place| *place != first) {
        Some(other) => Err(Undecided::Several(first, other)),
        None => Ok(first),
    }
}

/// The options whose words stand in a folded text and are not only a part of the words of another that stands there.
fn mentioned(text: &str, options: &Options) -> Vec<usize> {
    let mut order: Vec<usize> =
        (0..options.texts().len()).filter(|place| !options.texts()[*place].is_empty()).collect();
    order.sort_by_key(|place| std::cmp::Reverse(options.texts()[*place].len()));
    let mut rest = text.to_owned();
    let mut found = Vec::new();
    for place in order {
        let words = options.texts()[place].as_str();
        if stands_in(&rest, words) {
            found.push(place);
            rest = rest.replace(words, "\n");
        }
    }
    found
}

/// Whether `words` stand in `text` as words of their own.
fn stands_in(text: &str, words: &str) -> bool {
    let alphanumeric = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(words).any(|(at, _)| {
        let (before, behind) = (text[..at].chars().next_back(), text[at + words.len()..].chars().next());
        let begins = !(alphanumeric(before) && alphanumeric(words.chars().next()));
        begins && !(alphanumeric(behind) && alphanumeric(words.chars().next_back()))
    })
}
