//! Where an answer stands in a text.
//!
//! Each way to look for it gives candidates, best first, and the first that can be read is the answer. Everything is
//! looked for from the end, and in a bounded part of the text.

use std::borrow::Cow;

use memchr::memmem;

use super::hedge;
use super::lex::{MAX_ANSWER_BYTES, number_length};
use super::scan::{self, Item};
use super::span::{Span, bracketed, enclosing, span};
use super::touch::{Touch, touch};

/// How much of the end of a text is searched for its last expression.
const TAIL_BYTES: usize = 16_384;
/// How many places that look like the beginning of an answer are tried.
const MAX_TRIES: usize = 64;
/// The longest text that may be an answer as a whole, and the longest sentence that holds one.
const MAX_WHOLE_BYTES: usize = 256;
const MAX_SENTENCE_BYTES: usize = 2_048;

/// One of the answers that stand beside one another.
#[derive(Clone, Debug, PartialEq)]
pub struct Part<'t> {
    pub text: Cow<'t, str>,
    /// Whether it is plain text and no LaTeX.
    pub plain: bool,
    /// Whether a percent sign follows.
    pub percent: bool,
}

/// What may be the answer: parts that belong together.
pub type Candidate<'t> = Vec<Part<'t>>;

/// Which writings are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Writings {
    pub latex: bool,
    pub plain: bool,
}

impl<'t> Part<'t> {
    fn latex(text: &'t str) -> Self {
        Self { text: Cow::Borrowed(text), plain: false, percent: false }
    }

    fn plain(text: &'t str) -> Self {
        Self { text: Cow::Borrowed(text), plain: true, percent: false }
    }

    /// The part with the sign that stands outside of its delimiters.
    fn signed(self, touch: Touch) -> Self {
        match touch {
            Touch::Minus(_) if self.text.contains(['+', '-', '−']) => {
                Self { text: Cow::Owned(format!("-({})", self.text)), ..self }
            }
            Touch::Minus(_) => Self { text: Cow::Owned(format!("-{}", self.text)), ..self },
            Touch::Free | Touch::Part => self,
        }
    }
}

/// The beginning of `text`, at most `most` bytes.
pub fn head(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// The end of `text`, at most `most` bytes.
pub fn tail(text: &str, most: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(most))..]
}

/// Whether a text is to be read as plain: it holds no command and is not between dollar signs.
fn is_plain(text: &str) -> bool {
    !text.contains('\\') && memchr::memchr_iter(b'$', text.as_bytes()).nth(1).is_none()
}

/// A text as a whole.
fn whole(text: &str) -> Part<'_> {
    Part { plain: is_plain(text), ..Part::latex(text) }
}

/// Where `needle` stands, from the end. Windows are searched forward, which is many times faster than backward.
fn backward<'h>(hay: &'h [u8], needle: &'h [u8]) -> impl Iterator<Item = usize> + 'h {
    const WINDOW: usize = 16_384;
    let finder = memmem::Finder::new(needle);
    (0..hay.len().div_ceil(WINDOW)).rev().flat_map(move |window| {
        let start = window * WINDOW;
        let end = (start + WINDOW + needle.len() - 1).min(hay.len());
        let mut found: Vec<usize> = finder.find_iter(&hay[start..end]).map(|at| start + at).collect();
        found.reverse();
        found
    })
}

/// The content of the last closed `\boxed{...}`, and of those before it that are joined to it.
pub fn boxed(text: &str) -> Option<Candidate<'_>> {
    let bytes = text.as_bytes();
    let mut parts: Candidate<'_> = Vec::new();
    let mut next = 0;
    for at in backward(bytes, b"boxed").take(MAX_TRIES) {
        if at == 0 || bytes[at - 1] != b'\\' {
            continue;
        }
        let start = at - 1 - usize::from(at > 1 && bytes[at - 2] == b'\\');
        let Some(open) = text[at + 5..].trim_start().strip_prefix('{') else { continue };
        let from = text.len() - open.len();
        let Some(length) = closing(open) else { continue };
        let end = from + length + 1;
        let touch = touch(text, start, end);
        if touch == Touch::Part {
            break;
        }
        if !parts.is_empty() {
            if end > next {
                // It holds the box that was found last.
                continue;
            }
            if !joins(&text[end..next]) {
                break;
            }
        }
        next = if let Touch::Minus(sign) = touch { sign } else { start };
        let part = Part { percent: percent_follows(&text[end..]), ..Part::latex(&open[..length]) }.signed(touch);
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts.reverse();
    (!parts.is_empty()).then_some(parts)
}

/// The place of the brace that closes what was opened before `text`.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut escaped) = (0_usize, false);
    for (at, byte) in text.bytes().enumerate().take(MAX_ANSWER_BYTES) {
        match byte {
            b'{' if !escaped => depth += 1,
            b'}' if !escaped => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return Some(at),
            },
            _ => {}
        }
        escaped = byte == b'\\' && !escaped;
    }
    None
}

/// Whether the text between two answers does nothing but join them.
pub fn joins(between: &str) -> bool {
    const LONGEST: usize = 64;
    const JOINTS: [&str; 20] = [
        "\\quad", "\\qquad", "\\text", "\\mbox", "and", "or", "\\(", "\\)", "\\[", "\\]", "\\,", "\\;", "\\ ", "\\\\",
        "$", ",", ";", "{", "}", "&",
    ];
    let mut rest = between.trim_start();
    if between.len() > LONGEST {
        return false;
    }
    while !rest.is_empty() {
        let Some(behind) = JOINTS.iter().find_map(|joint| rest.strip_prefix(joint)) else { return false };
        rest = behind.trim_start();
    }
    true
}

fn percent_follows(text: &str) -> bool {
    let behind = text.trim_start_matches(['$', ' ', '\\', ')']);
    ["%", "percent", "pct"].iter().any(|name| behind.starts_with(name))
}

/// What is said of an answer that was given before.
enum Remark {
    /// It may be an answer by itself.
    Perhaps,
    Surely,
}

/// Whether a sentence behind "answer is" is a remark on the answer, such as `correct`.
fn remark(sentence: &str) -> Option<Remark> {
    const ADVERBS: [&str; 5] = ["indeed", "also", "therefore", "thus", "not"];
    let mathematics = sentence.contains(|c: char| c.is_ascii_digit() || "$\\=".contains(c));
    let mut words = sentence.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    let first = words.find(|word| !ADVERBS.contains(word)).filter(|_| !mathematics)?;
    match first {
        "positive" | "negative" => Some(Remark::Perhaps),
        "correct" | "right" | "reasonable" | "consistent" | "valid" | "verified" | "unclear" | "incorrect"
        | "wrong" | "sensible" | "confirmed" | "plausible" | "accurate" | "clear" | "helpful" => Some(Remark::Surely),
        _ => None,
    }
}

/// What follows the last "answer is" or "answer:".
pub fn stated(text: &str, writings: Writings) -> Vec<Candidate<'_>> {
    let mut remarked = None;
    for at in backward(text.as_bytes(), b"nswer").take(MAX_TRIES) {
        let before = at.checked_sub(1).and_then(|at| text.as_bytes().get(at));
        if !matches!(before, Some(b'a' | b'A')) {
            continue;
        }
        let name = text[at + 5..].strip_prefix('s').unwrap_or(&text[at + 5..]).trim_start_matches(['*', ' ']);
        let verb = ["is", "are"].iter().find_map(|verb| name.strip_prefix(verb));
        // `isn't` says the contrary.
        let verb = verb.filter(|behind| !behind.starts_with(|c: char| c.is_alphanumeric()));
        if verb.is_none() && !name.starts_with(':') {
            continue;
        }
        let behind = verb.unwrap_or(name);
        let sentence = behind.trim_start_matches(|c: char| c.is_whitespace() || ":*".contains(c));
        let sentence = sentence_of(head(sentence, MAX_SENTENCE_BYTES));
        let candidates = beginning(sentence, writings);
        match remark(sentence).filter(|_| verb.is_some()) {
            None if candidates.is_empty() => {}
            None => return candidates,
            Some(_) if remarked.is_some() => {}
            Some(Remark::Perhaps) => remarked = Some(candidates),
            Some(Remark::Surely) => {
                let numbers = tail(&text[..at], TAIL_BYTES).contains(|c: char| c.is_ascii_digit());
                remarked = Some(if numbers { Vec::new() } else { candidates });
            }
        }
    }
    remarked.unwrap_or_default()
}

/// What follows the last marker on its line.
pub fn marked<'t>(text: &'t str, marker: &str, writings: Writings) -> Vec<Candidate<'t>> {
    if marker.is_empty() {
        return Vec::new();
    }
    let Some(at) = backward(text.as_bytes(), marker.as_bytes()).next() else { return Vec::new() };
    let line = text[at + marker.len()..].trim_start().lines().next().unwrap_or("");
    beginning(head(line, MAX_SENTENCE_BYTES), writings)
}

/// A sentence that states an answer: the whole of it, the expression that it begins with, or the last one that no word
/// in it changes.
fn beginning(text: &str, writings: Writings) -> Vec<Candidate<'_>> {
    let text = text.trim().trim_matches('*').trim_start();
    if text.is_empty() {
        return Vec::new();
    }
    if let Some(behind) = hedge::negative(text).filter(|_| writings.plain) {
        return beginning(behind, writings).into_iter().map(negated).collect();
    }
    let mut candidates = wholly(text, writings);
    if let Some(letter) = choice(text).filter(|_| writings.plain) {
        candidates.push(vec![Part::plain(letter)]);
        return candidates;
    }
    let items = scan::items(text, writings);
    match items.first() {
        Some(first) if is_leading(text, *first) => candidates.extend(leading(text, &items, writings)),
        _ => candidates.extend(expressions(text, writings)),
    }
    if candidates.is_empty() && !items.is_empty() {
        // It states something else than its numbers.
        candidates.push(vec![Part::plain(text)]);
    }
    candidates
}

/// The letter of a choice at the beginning of a sentence, with a reason behind it.
fn choice(text: &str) -> Option<&str> {
    let inner = text.trim_start_matches('(');
    let letter = inner.starts_with(|c: char| c.is_ascii_uppercase()).then(|| &inner[..1])?;
    let behind = &inner[1..];
    let reason = [",", ":", " because", " since", ") because", "),"].iter().any(|mark| behind.starts_with(mark));
    (reason && !behind.contains('=')).then_some(letter)
}

fn is_leading(text: &str, item: Item) -> bool {
    let start = if item.latex { item.before } else { word_start(text, item.start) };
    // A number in brackets, as in `(1, 2)`, begins with them.
    hedge::leads(text[..start].trim_end_matches(['(', '[', '{']))
}

/// The expression that a sentence begins with: formulas that are joined, or as many of the words from its first number on
/// as can be read.
fn leading<'t>(text: &'t str, items: &[Item], writings: Writings) -> Vec<Candidate<'t>> {
    const MOST_WORDS: usize = 8;
    let Some(first) = items.first() else { return Vec::new() };
    if first.latex {
        let joined = |pair: &&[Item]| pair[1].latex && joins(between(text, pair[0], pair[1]));
        let last = items.windows(2).take_while(joined).count();
        if !hedge::is_stated(text, first.before, items[last].after) {
            return Vec::new();
        }
        return parts(text, &items[..=last]).into_iter().collect();
    }
    let behind = &text[first.end..];
    let next = behind.trim_start();
    let another = next.len() < behind.len() && next.starts_with(|c: char| c.is_ascii_digit());
    if another || !hedge::is_stated(text, first.start, first.end) {
        return Vec::new();
    }
    let mut ends = vec![first.end];
    let mut at = first.end;
    while ends.len() <= MOST_WORDS && at < text.len() {
        let spaces = text[at..].len() - text[at..].trim_start().len();
        let word = text[at + spaces..].find(char::is_whitespace).unwrap_or(text.len() - at - spaces);
        // A sentence may go on behind a colon or a dash.
        let goes_on = word_length(&text[at + spaces..]) > 1 && text[..at].ends_with([':', '-', '–', '—']);
        if goes_on || hedge::denies(&text[at + spaces..at + spaces + word]) {
            break;
        }
        at += spaces + word;
        ends.push(text[..at].trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '"', '\'']).len());
    }
    ends.iter_mut().for_each(|end| *end = text[..*end].trim_end_matches([' ', '–', '—']).len());
    ends.dedup();
    let start = word_start(text, first.start);
    let start = if text[..start].contains('=') { 0 } else { start };
    let of = |end: &usize| whole(text[start..*end].trim_start_matches(['*', '"', ':']));
    let plain = |part: Part<'t>| vec![if writings.latex { part } else { Part { plain: true, ..part } }];
    ends.iter().rev().filter(|end| **end >= first.end).map(|end| plain(of(end))).collect()
}

/// How many letters a text begins with.
fn word_length(text: &str) -> usize {
    text.chars().take_while(|c| c.is_alphabetic()).count()
}

/// The last expression of a text, or the text if it is short.
pub fn last(text: &str, writings: Writings) -> Vec<Candidate<'_>> {
    let trimmed = text.trim();
    if trimmed.len() <= MAX_WHOLE_BYTES {
        return within(trimmed, writings);
    }
    expressions(tail(trimmed, TAIL_BYTES), writings)
}

/// A text that is, or holds, an answer.
fn within(text: &str, writings: Writings) -> Vec<Candidate<'_>> {
    let text = text.trim().trim_matches('*');
    if text.is_empty() {
        return Vec::new();
    }
    let mut candidates = wholly(text, writings);
    candidates.extend(expressions(text, writings));
    candidates
}

/// A text as the only candidate, if it may be one.
fn wholly(text: &str, writings: Writings) -> Vec<Candidate<'_>> {
    if !writings.plain || (writings.latex && is_prose_around(text)) {
        return Vec::new();
    }
    vec![vec![if writings.latex { whole(text) } else { Part::plain(text) }]]
}

/// Whether a text holds formulas with more around them than what joins answers or is a unit.
fn is_prose_around(text: &str) -> bool {
    let formulas = scan::items(text, Writings { latex: true, plain: false });
    let mut before = 0;
    for formula in &formulas {
        if !joins(&text[before..formula.before]) {
            return true;
        }
        before = formula.after;
    }
    let behind = text[before..].trim().trim_end_matches('.');
    !(formulas.is_empty() || joins(behind) || percent_follows(behind) || super::units::is_known(behind))
}

/// What is expected: what is marked as the answer, otherwise the whole text, and of a solution in words what it ends
/// on.
pub fn expected(text: &str) -> Vec<Candidate<'_>> {
    const BOTH: Writings = Writings { latex: true, plain: true };
    const FEWEST_WORDS: usize = 3;
    if let Some(at) = backward(text.as_bytes(), b"####").next() {
        return vec![vec![whole(head(
            text[at + 4..].trim_start().lines().next().unwrap_or("").trim(),
            MAX_ANSWER_BYTES,
        ))]];
    }
    if let Some(parts) = boxed(text) {
        return vec![parts];
    }
    let text = text.trim();
    let mut candidates = Vec::new();
    let prose = is_prose_around(tail(text, TAIL_BYTES));
    if text.len() <= MAX_ANSWER_BYTES && !prose {
        // A box that is not closed is all there is of it.
        candidates.push(vec![whole(text.rfind("\\boxed{").map_or(text, |at| &text[at + 7..]))]);
    }
    let is_word = |word: &&str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    if prose || text.split_whitespace().filter(is_word).take(FEWEST_WORDS).count() == FEWEST_WORDS {
        candidates.extend(stated(text, BOTH));
        candidates.extend(expressions(tail(text, TAIL_BYTES), BOTH));
    }
    candidates
}

/// The end of the first sentence, which may hold displayed mathematics.
fn sentence_of(text: &str) -> &str {
    let bytes = text.as_bytes();
    let (mut inside, mut at) = (false, 0);
    while at < bytes.len() {
        let next = bytes.get(at + 1).copied().unwrap_or(b'\n');
        match (bytes[at], next) {
            (b'$', b'$') => (inside, at) = (!inside, at + 1),
            (b'$', _) => inside = !inside,
            (b'\\', mark) => {
                inside = matches!(mark, b'(' | b'[') || inside && !matches!(mark, b')' | b']');
                at += 1;
            }
            (b'\n', _) if !inside => return &text[..at],
            (b'.', b' ' | b'\n') if !inside => return &text[..at],
            _ => {}
        }
        at += 1;
    }
    text
}

/// The last expression in a text as candidates: with those that are joined to it, and a plain number with more or less
/// of what is around it.
fn expressions(text: &str, writings: Writings) -> Vec<Candidate<'_>> {
    let items = scan::items(text, writings);
    let Some(last) = items.last() else { return Vec::new() };
    let mut first = items.len() - 1;
    while first > 0
        && items[first - 1].latex == last.latex
        && joins(between(text, items[first - 1], items[first]))
        && (last.latex || !text[items[first - 1].after..items[first].before].trim().is_empty())
    {
        first -= 1;
    }
    let start = if last.latex { items[first].before } else { word_start(text, items[first].start) };
    if hedge::is_negative(&text[..start]) && hedge::is_stated(text, 0, last.after) {
        return parts(text, &items[items.len() - 1..]).into_iter().map(negated).collect();
    }
    if !hedge::is_stated(text, start, last.after) {
        return Vec::new();
    }
    // Numbers in brackets are one answer.
    let bracketed = text[start..items[first].start].contains(['(', '[', '{'])
        || enclosing(text, items[first].start, last.after).is_some();
    let joined = first + 1 < items.len() && !bracketed;
    if !last.latex && !joined {
        return around(text, *last);
    }
    parts(text, &items[first..]).into_iter().collect()
}

/// A candidate with a minus sign before each part.
fn negated(candidate: Candidate<'_>) -> Candidate<'_> {
    candidate.into_iter().map(|part| part.signed(Touch::Minus(0))).collect()
}

/// What stands between two items, without the sign of the second one.
fn between(text: &str, first: Item, second: Item) -> &str {
    text[first.after..second.before].trim_end_matches(['-', '−'])
}

/// Items that are joined, each once; none where one of them is a part of something else.
fn parts<'t>(text: &'t str, items: &[Item]) -> Option<Candidate<'t>> {
    let mut parts: Candidate<'_> = Vec::new();
    for item in items {
        let touch = if item.latex { touch(text, item.before, item.after) } else { Touch::Free };
        if touch == Touch::Part {
            return None;
        }
        let percent = percent_follows(&text[item.after..]);
        let part = Part { percent, plain: !item.latex, ..Part::latex(&text[item.start..item.end]) }.signed(touch);
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    Some(parts)
}

/// A number in plain text: with its unit, with what is written to it without a space, and alone.
fn around(text: &str, number: Item) -> Vec<Candidate<'_>> {
    let start = word_start(text, number.start);
    let mut end = number.end + text[number.end..].find(char::is_whitespace).unwrap_or(text.len() - number.end);
    end =
        number.end + text[number.end..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '"', '\'', '$']).len();
    let start = bracketed(text, start, end);
    let base = word_begin(text, number.start).max(start);
    match span(text, bracketed(text, base, end), end) {
        Span::Alone => {}
        Span::Unclear => return Vec::new(),
        Span::Wider(text) => return vec![vec![Part { text, plain: true, percent: false }]],
    }
    let mut candidates: Vec<Candidate<'_>> = Vec::new();
    if let Some(unit) = unit_end(text, end) {
        candidates.push(vec![Part::plain(text[start..unit].trim_start_matches(['*', '"', ':']))]);
    }
    candidates.push(vec![Part::plain(text[start..end].trim_start_matches(['*', '"', ':']))]);
    let alone = &text[number.start..number.end];
    let percent = percent_follows(&text[number.end..]);
    let enclosed = text[start..number.start].contains(['(', '[', '{']);
    match decimal_comma(alone) {
        // Within brackets a comma separates.
        Some(_) if enclosed => {}
        Some(text) => candidates = vec![vec![Part { text: Cow::Owned(text), percent, plain: true }]],
        None => candidates.push(vec![Part { percent, ..Part::plain(alone) }]),
    }
    candidates
}

/// A number with a comma before one or two digits, with a point in its place.
fn decimal_comma(number: &str) -> Option<String> {
    let (whole, digits) = number.split_once(',')?;
    let plain = digits.len() <= 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
    (plain && !whole.contains('.')).then(|| format!("{whole}.{digits}"))
}

fn number_length_of_digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// The beginning of the word that `at` stands in.
fn word_begin(text: &str, at: usize) -> usize {
    let space = text[..at].rfind(char::is_whitespace);
    space.map_or(0, |space| space + text[space..].chars().next().map_or(1, char::len_utf8))
}

/// The beginning of the word that `at` stands in, and of those before it that operators join to it.
pub fn word_start(text: &str, at: usize) -> usize {
    const MOST_OPERANDS: usize = 8;
    let begin = |at: usize| word_begin(text, at);
    let mut start = begin(at);
    for _ in 0..MOST_OPERANDS {
        let before = text[..start].trim_end_matches(' ');
        let operator = begin(before.len());
        if !matches!(&before[operator..], "+" | "-" | "*" | "/" | "^" | "×" | "·" | "−") || operator == 0 {
            break;
        }
        start = begin(text[..operator].trim_end_matches(' ').len());
    }
    start
}

/// Where the unit ends that follows a number, with what multiplies the number before it.
fn unit_end(text: &str, end: usize) -> Option<usize> {
    const MOST: usize = 3;
    let mut multiplied = end;
    for _ in 0..MOST {
        let word = text[multiplied..].trim_start_matches(' ');
        let length = word.find(|c: char| !c.is_alphabetic()).unwrap_or(word.len());
        if super::units::multiplier(&word[..length]).is_none() {
            break;
        }
        multiplied = text.len() - word.len() + length;
    }
    named_unit_end(text, multiplied).or_else(|| (multiplied > end).then_some(multiplied))
}

fn named_unit_end(text: &str, end: usize) -> Option<usize> {
    let rest = &text[end..];
    let word = rest.trim_start_matches(' ');
    let length = word.find(|c: char| !c.is_alphabetic()).unwrap_or(word.len());
    let known = super::units::is_known(&word[..length]) || matches!(&word[..length], "percent" | "pct");
    let at = text.len() - word.len();
    if word.starts_with('%') {
        return Some(at + 1);
    }
    (known && length > 0).then_some(at + length)
}

/// The length of the number at the beginning of `text`, with a fraction or a decimal comma behind it.
pub fn plain_number(text: &str) -> usize {
    let mut length = number_length(text, true);
    let comma = text[length..].strip_prefix(',').map_or(0, number_length_of_digits);
    if (1..=2).contains(&comma) && text[..length].bytes().all(|byte| byte.is_ascii_digit()) {
        let end = length + 1 + comma;
        // A second comma makes a list.
        return if text[end..].starts_with(',') { length } else { end };
    }
    let part = |rest: &str| {
        let digits = number_length_of_digits(rest);
        let bottom = rest[digits..].strip_prefix('/').map_or(0, number_length_of_digits);
        if digits > 0 && bottom > 0 { digits + 1 + bottom } else { 0 }
    };
    if let Some(bottom) = text[length..].strip_prefix('/').map(number_length_of_digits).filter(|bottom| *bottom > 0) {
        length += 1 + bottom;
    } else if let Some(mixed) = text[length..].strip_prefix(' ').map(part).filter(|mixed| *mixed > 0) {
        length += 1 + mixed;
    }
    length
}
