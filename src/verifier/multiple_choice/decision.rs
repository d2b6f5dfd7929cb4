//! Where a completion decides for an option.

use ::regex::Regex;
use serde_json::{Map, Value};

use super::options::{Options, bare, folded};
use crate::verifier::fenced_alone;

/// Words that join options, and words that may stand between them and an option.
const JOINING: [&str; 2] = ["and", "or"];
const BESIDE: [&str; 10] =
    ["also", "maybe", "perhaps", "possibly", "probably", "even", "else", "the", "option", "choice"];
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
    /// A letter with a mark behind it anywhere.
    item: Regex,
    /// The commands of LaTeX that only say how something looks.
    command: Regex,
    /// Where a statement ends, or goes on with its reasons, which may name other options.
    reasons: Regex,
    /// Where a sentence ends.
    sentence: Regex,
    /// An option that is said to be the right one, with one that stands joined before it.
    confirmed: Regex,
    /// A last sentence that only concludes on an option.
    concluded: Regex,
    /// A statement that says first which option it is not.
    corrected: Regex,
    /// What stands before an option that is only supposed to be right.
    supposed: Regex,
    /// What stands before words that are said not to be right, and what behind them.
    refused: [Regex; 2],
}

impl Patterns {
    pub fn new() -> Self {
        let made = |pattern: &str| Regex::new(pattern).expect("the constant pattern is well-formed");
        Self {
            announced: made(
                r"(?i)\b(?:answer|ans|choice|option)\b(?: (?:to|for) (?:the|this|that) (?:question|problem))?[ *_]*(?:(?:is|would be|must be|should be)\b(?:,? (?:therefore|thus|hence|then|clearly|obviously|definitely|certainly|indeed|simply)\b,?)*[ *_]*:?|[:=]|[-–—] )|答案\s*(?:是|为|為|[:：])|\b(?:I|we)\b(?: will| would|['’]ll|['’]d)? (?:choose|pick|select|go with)\b",
            ),
            leading: made(
                r"^[\s*_`$]*(?i:\\?(?:boxed)?\{)?(?i:(?:the )?(?:option|choice|letter)\b[\s*_]*)?([\s*_`$(\[{]*)([A-Za-z0-9])([^A-Za-z0-9]|$)",
            ),
            marked: made(r"(?m)^[ \t>*_(\[-]*(?i:(?:option|choice)[ *_(\[]+)?([A-Za-z0-9])(?:[)\].:]|\*\*|\s*$)"),
            item: made(r"\b{start-half}([A-Za-z0-9])([)\]*]|[.:](?:\s|\*))"),
            command: made(r"\\(?:text|textbf|textit|mathrm|mathbf|mathsf)\s*\{|\\[ ,;:!]|\\q?quad\b"),
            reasons: made(
                r"(?i)\b(?:because|since|as|while|whereas|not|but|rather|instead|unlike|although|though|isn['’]t)\b",
            ),
            sentence: made(r"(?:\w\w|[)\]*'’$}])[.!?](?:\s|$)"),
            confirmed: made(
                r"(?:\b([A-Z0-9])\b[)\]*_` ]*(?:,|/|\b(?:and|or|nor)\b)+ *(?i:(?:option|choice) )?)?[(\[*_`$]*\b{start-half}([A-Z0-9])[)\]*_`$]* +(?i:is|must be|would be|should be)(?i: (?:indeed|clearly|therefore|thus|the|most|only))* (?i:correct|right|best)\b[^?.!\n]*(?:[.!\n]|$)",
            ),
            concluded: made(
                r"(?:^|[.!?:\n])\s*(?i:thus|hence|so|therefore)\b,? *(?i:it(?: is| must be|['’]s) )?(?i:(?:option|choice) )?[(\[*_`$]*([A-Z0-9])[)\]*_`$]*[.!]?[*_]*\s*$",
            ),
            corrected: made(
                r"(?i)^\s*not\b[^;,.\n]{0,48}(?:[;,.]|\bbut\b)(?:\s*\b(?:but|rather|instead|it is|it['’]s|it must be)\b)*\s*",
            ),
            supposed: made(r"(?i)\b(?:if|whether|unless|suppos\w+|assum\w+|say\w*|claim\w*)\b[^.!?\n]{0,24}$"),
            refused: [
                made(
                    r"(?:\b(?:not|never|neither|nor|except|excluding|without|cannot)\b|n['’]t\b|\b(?:any|every|all)\w* but\b)(?: (?:be|is|it|it's|the|a|an|that|option|choice|choose|pick|say|think))*\W*$",
                ),
                made(r"^\W*(?:(?:is|are|was|were|can|could|would)(?: ?not\b| (?:wrong|incorrect|false)\b|n['’]t\b))"),
            ],
        }
    }

    /// The option that `part` states, which is known to hold nothing but the decision.
    pub fn stated(&self, part: &str, options: &Options) -> Result<usize, Undecided> {
        let part = &*self.command.replace_all(part, " ");
        if let Some(place) = options.alone(part) {
            return Ok(place);
        }
        several(part, options)?;
        self.lead(part, options)
    }

    /// The option that a whole completion decides for.
    pub fn decided(&self, completion: &str, options: &Options) -> Result<usize, Undecided> {
        if let Some(member) = only_member(completion) {
            return self.stated(&member, options);
        }
        if let Some(place) = options.alone(completion) {
            return Ok(place);
        }
        several(completion, options)?;
        let alone = |line: &str| options.alone(line);
        let mut lines = completion.lines().filter(|line| !line.trim().is_empty());
        let (first, last) = (lines.next(), lines.next_back());
        // Who ends on an option has come to it, whatever was said before.
        if let Some(place) = last.and_then(alone) {
            return Ok(place);
        }
        let concluded = self.concluded.captures(completion).and_then(|found| options.with_label(&found[1]));
        if let Some(place) = concluded {
            return Ok(place);
        }
        if let Some(announced) = self.announced.find_iter(completion).last() {
            match self.announcement(&completion[announced.end()..], options) {
                Err(Undecided::None) => {}
                decided => return decided,
            }
        }
        match only(self.confirmations(completion, options).into_iter()) {
            Err(Undecided::None) => {}
            decided => return decided,
        }
        if let Some(place) = first.and_then(alone) {
            return Ok(place);
        }
        match only(self.marks(completion, options).into_iter()) {
            Err(Undecided::None) => only(self.mentioned(&folded(completion), options).into_iter()),
            decided => decided,
        }
    }

    /// The options that are said to be right, in sentences that do not deny or suppose it.
    fn confirmations(&self, completion: &str, options: &Options) -> Vec<usize> {
        const BEFORE: usize = 48;
        let said = self.confirmed.captures_iter(completion).filter(|found| {
            let at = found.get(0).map_or(0, |all| all.start());
            let before = &completion[completion.ceil_char_boundary(at.saturating_sub(BEFORE))..at];
            !self.refused[0].is_match(before) && !self.supposed.is_match(before)
        });
        let labels = said.flat_map(|found| [found.get(1), found.get(2)]).flatten();
        labels.filter_map(|label| options.with_label(label.as_str())).collect()
    }

    /// The options that are marked at the beginnings of lines, each with another that is listed behind it.
    fn marks(&self, completion: &str, options: &Options) -> Vec<usize> {
        let marked = self.marked.captures_iter(completion).flat_map(|found| {
            let label = found.get(1).map_or(0..0, |label| label.range());
            let line = completion[label.start..].lines().next().unwrap_or_default();
            let first = options.with_label(&completion[label.clone()]);
            // Items without a mark, which stand alone in their lines, were told apart above.
            let mark = first.and_then(|_| Mark::of(completion, label.start));
            let other = mark.zip(first).and_then(|(mark, first)| {
                self.listed(options.behind_words(&line[label.len()..], first), first, mark, options)
            });
            [first, other]
        });
        marked.flatten().collect()
    }

    /// What stands behind "the answer is": on the same line, or on the next one that is not empty.
    fn announcement(&self, rest: &str, options: &Options) -> Result<usize, Undecided> {
        let Some(line) = rest.lines().find(|line| !bare(line).is_empty()) else { return Err(Undecided::None) };
        let end = (0..=MAX_STATEMENT_BYTES.min(line.len())).rev().find(|end| line.is_char_boundary(*end));
        let line = &*self.command.replace_all(&line[..end.unwrap_or(0)], " ");
        if let Some(place) = options.alone(line) {
            return Ok(place);
        }
        let line = self.corrected.find(line).map_or(line, |denied| &line[denied.end()..]);
        let statement = self.sentence.find(line).map_or(line, |end| &line[..end.end()]);
        match self.lead(statement, options) {
            Err(Undecided::None) => only(self.mentioned(&folded(statement), options).into_iter()),
            decided => decided,
        }
    }

    /// The option at the beginning of a statement.
    fn lead(&self, text: &str, options: &Options) -> Result<usize, Undecided> {
        let found = self.leading.captures(text).ok_or(Undecided::None)?;
        let label = found.get(2).ok_or(Undecided::None)?;
        let (around, behind) = (&found[1], &text[label.end()..]);
        let place = options.with_label(label.as_str()).ok_or(Undecided::None)?;
        let bracketed = around.contains(['(', '[', '{', '$', '*', '`']) || found[3].contains([')', ']', '*', '`']);
        let is_small = label.as_str().starts_with(|c: char| c.is_ascii_lowercase());
        if !bracketed && (is_small || is_word(label.as_str(), behind)) {
            return Err(Undecided::None);
        }
        let behind = options.behind_words(behind, place);
        let listed = || Mark::of(text, label.start()).and_then(|mark| self.listed(behind, place, mark, options));
        match joined(behind, options).filter(|other| *other != place).or_else(listed) {
            Some(other) => Err(Undecided::Several(place, other)),
            None => Ok(place),
        }
    }

    /// Another option behind one that is marked in the same way, before any reasons are given: `A) red B) green`.
    fn listed(&self, behind: &str, place: usize, mark: Mark, options: &Options) -> Option<usize> {
        let list = self.reasons.find(behind).map_or(behind, |reasons| &behind[..reasons.start()]);
        self.item.captures_iter(list).find_map(|found| {
            let label = found.get(1)?;
            let is_small = label.as_str().starts_with(|c: char| c.is_ascii_lowercase());
            let same = Mark::of(list, label.start()) == Some(mark) && !(is_small && matches!(mark.sign, '.' | ':'));
            options.with_label(label.as_str()).filter(|other| same && *other != place)
        })
    }

    /// The options whose words stand in a folded text, are not only a part of the words of another that stands there, and
    /// are not said to be wrong.
    fn mentioned(&self, text: &str, options: &Options) -> Vec<usize> {
        let mut order: Vec<usize> =
            (0..options.texts().len()).filter(|place| !options.texts()[*place].is_empty()).collect();
        order.sort_by_key(|place| std::cmp::Reverse(options.texts()[*place].len()));
        let mut rest = text.to_owned();
        let mut found = Vec::new();
        for place in order {
            let words = options.texts()[place].as_str();
            if self.stands_in(&rest, words) {
                found.push(place);
            }
            rest = rest.replace(words, "\n");
        }
        found
    }

    /// Whether `words` stand in `text` as words of their own and not as what is refused.
    fn stands_in(&self, text: &str, words: &str) -> bool {
        const AROUND: usize = 48;
        let alphanumeric = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        text.match_indices(words).any(|(at, _)| {
            let (before, behind) = (&text[..at], &text[at + words.len()..]);
            let begins = !(alphanumeric(before.chars().next_back()) && alphanumeric(words.chars().next()));
            let ends = !(alphanumeric(behind.chars().next()) && alphanumeric(words.chars().next_back()));
            begins && ends && {
                let before = &before[before.ceil_char_boundary(at.saturating_sub(AROUND))..];
                let behind = &behind[..behind.floor_char_boundary(AROUND)];
                !self.refused[0].is_match(before) && !self.refused[1].is_match(behind)
            }
        })
    }
}

/// What stands around a label: `(A)`, `A)`, `A.`, `**A**`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    sign: char,
    is_opened: bool,
}

impl Mark {
    /// How the label at a place of a text, which is one byte, is marked.
    fn of(text: &str, at: usize) -> Option<Self> {
        let mut behind = text[at + 1..].chars();
        let sign = behind.next()?;
        let is_mark = match sign {
            ')' | ']' | '*' => true,
            '.' | ':' => behind.next().is_some_and(|next| next.is_whitespace() || next == '*'),
            _ => false,
        };
        is_mark.then(|| Self { sign, is_opened: text[..at].ends_with(['(', '[', '*']) })
    }
}

/// The one member of a completion that is a JSON object, in a fence or not, as text.
fn only_member(completion: &str) -> Option<String> {
    /// A longer one says more than an option.
    const LONGEST: usize = 4096;
    let text = fenced_alone(completion).unwrap_or(completion).trim();
    if !text.starts_with('{') || text.len() > LONGEST {
        return None;
    }
    let object: Map<String, Value> = serde_json::from_str(text).ok()?;
    let mut members = object.into_iter();
    match (members.next()?.1, members.next()) {
        (Value::String(text), None) => Some(text),
        (Value::Number(number), None) => Some(number.to_string()),
        _ => None,
    }
}

/// Whether a letter is a word: `A dog` and `I think` are none of the options, `A because` is one.
fn is_word(label: &str, behind: &str) -> bool {
    const LEADS_ON: [&str; 9] = ["", "because", "since", "as", "which", "and", "or", "with", "for"];
    let next: String = behind.trim_start_matches(' ').chars().take_while(|c| c.is_alphabetic()).collect();
    matches!(label, "A" | "I") && behind.starts_with(' ') && !LEADS_ON.contains(&next.as_str())
}

/// The option that follows one directly: `A or B`, `A, B`, `A/B`, `A and maybe B`.
fn joined(behind: &str, options: &Options) -> Option<usize> {
    let (mut word, mut rest) = next_word(behind)?;
    let between = &behind[..behind.len() - rest.len() - word.len()];
    if JOINING.contains(&word) {
        (word, rest) = next_word(rest)?;
        while BESIDE.contains(&word) {
            (word, rest) = next_word(rest)?;
        }
    } else if between.contains(['.', ':', '!', '?']) {
        return None;
    }
    let is_label = word.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit()) && !is_word(word, rest);
    options.with_label(word).filter(|_| is_label)
}

/// The first word of a text, and what follows it.
fn next_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let end = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
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
