//! Mathematical answers: what a completion ends on is the expected number, expression, set or statement.
//!
//! The answer is taken out of the text (`extract`), read as LaTeX or plain text (`lex`, `parse`, `answer`) and compared
//! with the expected one (`compare`, `relate`). Numbers and functions have a normal form (`form`), which decides
//! exactly for polynomials and quotients of them with radicals, pi, e and i. What it leaves open is evaluated with
//! about 30 digits, functions at several points (`evaluate`).
//!
//! A number that is written with a decimal point may be rounded: it equals what differs from it by at most half a unit
//! in the last of `precision` decimals, or below 1 of as many significant digits. All other numbers are exact.
//!
//! What cannot be decided is not equal. The text that is searched, the length and the nesting of an answer, the digits
//! of numbers and the steps of a comparison are bounded, so that no text costs more than a few milliseconds.

mod answer;
mod compare;
mod complex;
mod double;
mod evaluate;
mod expr;
mod extract;
mod form;
mod hedge;
mod label;
mod lex;
mod matrix;
mod monomial;
mod name;
mod normal;
mod numeral;
mod parse;
mod quantity;
mod rational;
mod relate;
mod render;
mod scan;
mod span;
mod text;
mod touch;
mod units;
mod value;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use self::compare::{Judge, Rules};
use self::expr::Arena;
use self::extract::{Candidate, Part, Writings};
use self::units::Unit;
use self::value::Value;
use super::{Case, MAX_MARKER_CHARACTERS, Outside, Score, Settings, Verifier, excerpt};
use crate::job::field::{FieldError, Fields};

pub const SUMMARY: &str =
    "The mathematical answer a completion ends on, in LaTeX or plain text, equals the expected one.";

/// Steps of one comparison: nodes, products of terms and evaluated functions.
const MAX_STEPS: u32 = 20_000;
/// The longest expected answer, in bytes, that is taken as words where it cannot be read otherwise.
const LONGEST_WORDS: usize = 256;

/// The longest one that is compared by its writing, because it is not understood.
const LONGEST_WRITING: usize = 1_024;

/// Configuration of the `math` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where the answer is looked for, in this order; the first place that holds one that can be read is taken.
    #[schemars(length(min = 1, max = 4))]
    extract: Vec<Place>,
    /// What is read as an answer.
    #[schemars(length(min = 1, max = 3))]
    read: Vec<Writing>,
    /// Stands before the answer where `extract` holds `marker`.
    #[schemars(length(min = 1, max = MAX_MARKER_CHARACTERS))]
    marker: String,
    /// The column of the expected answer; by default the data set's answer column.
    #[schemars(length(min = 1))]
    answer_column: Option<String>,
    /// Decimals, and below 1 significant digits, to which numbers with a decimal point are compared.
    #[schemars(range(min = 0, max = 15))]
    precision: u32,
    /// Whether the names of variables matter, and the order of tuples.
    strict: bool,
    /// Whether an inequality such as `1 < x < 2` may be given where an interval is expected. The other way round it may
    /// always be.
    allow_set_relation_comp: bool,
    /// Whether some of several expected answers earn their share of the reward, with one answer too many counted
    /// against it.
    partial: bool,
    /// The reward of the expected answer.
    #[schemars(range(min = -1000.0, max = 1000.0))]
    correct_reward: f64,
    /// The reward of another answer. A completion without one is unparsable and earns 0, or this where it is less.
    #[schemars(range(min = -1000.0, max = 1000.0))]
    wrong_reward: f64,
    /// Seconds one verification may take.
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

/// A place where answers stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Place {
    /// In the last closed `\boxed{...}`, with those joined to it by a comma or `and`.
    Boxed,
    /// After the last "answer is" or "answer:", to the end of the sentence.
    FinalAnswer,
    /// After the last marker, to the end of the line.
    Marker,
    /// The last formula or number of the text.
    Last,
}

/// A way to write answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Writing {
    /// Formulas between `$`, `$$`, `\(`, `\[` or in `\boxed{...}`.
    Latex,
    /// Numbers and expressions in plain text.
    Plain,
    /// Words, such as a name or the letter of a choice.
    Text,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            extract: vec![Place::Boxed, Place::FinalAnswer, Place::Marker, Place::Last],
            read: vec![Writing::Latex, Writing::Plain, Writing::Text],
            marker: String::from("####"),
            answer_column: None,
            precision: 6,
            strict: true,
            allow_set_relation_comp: false,
            partial: false,
            correct_reward: 1.0,
            wrong_reward: 0.0,
            time_limit_seconds: super::DEFAULT_TIME_LIMIT_SECONDS,
        }
    }
}

impl Settings for Config {
    fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        let mut fields = Fields::below(pointer);
        fields.require(self.correct_reward > self.wrong_reward, "correct_reward", "must be above `wrong_reward`");
        fields.finish()
    }

    fn build(&self, _outside: &Outside) -> Arc<dyn Verifier> {
        Arc::new(Math { config: self.clone() })
    }

    fn answer_column(&self) -> Option<&str> {
        self.answer_column.as_deref()
    }

    /// In the first of its places, unless an answer counts wherever it ends the text.
    fn written(&self, answer: &str, _row: &Map<String, serde_json::Value>) -> String {
        let found_alone = self.extract.contains(&Place::Last) && self.read.contains(&Writing::Plain);
        match self.extract.first() {
            _ if found_alone => answer.to_owned(),
            Some(Place::Boxed) => super::boxed(answer.trim().trim_matches('$')),
            Some(Place::Marker) => format!("{} {answer}", self.marker),
            Some(Place::FinalAnswer) => format!("The answer is {answer}"),
            Some(Place::Last) | None => answer.to_owned(),
        }
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

struct Math {
    config: Config,
}

/// An answer that was read, and the text it was read from.
struct Answer<'t> {
    value: Value,
    source: &'t str,
}

impl Verifier for Math {
    fn verify(&self, case: &Case<'_>) -> Score {
        self.compare(case).unwrap_or_else(|no_verdict| no_verdict.no_better_than(self.config.wrong_reward))
    }
}

impl Math {
    /// The verdict, or as an error the score that says why there is none.
    fn compare(&self, case: &Case<'_>) -> Result<Score, Score> {
        let answer = super::expected_answer(case, self.config.answer_column.as_deref()).map_err(Score::error)?;
        super::check_length("the completion", case.completion).map_err(Score::error)?;
        let mut arena = Arena::default();
        let wanted = extract::expected(&answer);
        let expected = expected(&wanted, &mut arena).ok_or_else(|| {
            let beginning = super::quote(answer.trim());
            Score::error(format!(
                "the expected answer {beginning} cannot be read as mathematics or words; correct the row"
            ))
        })?;
        let candidates = self.candidates(excerpt::behind_thought(case.completion));
        if let Some(score) = self.word_for_word(&expected, &candidates) {
            return Ok(score);
        }
        let Some(found) = self.found(&candidates, &mut arena) else {
            return Err(Score::unparsable("the completion holds no answer that could be read"));
        };
        let rules = Rules {
            precision: self.config.precision,
            strict: self.config.strict,
            relations: self.config.allow_set_relation_comp,
        };
        let counted = counted(&expected, &found);
        let counted = counted.as_ref().and_then(|candidate| read(candidate, &mut arena));
        let mut judge = Judge::new(&mut arena, rules, MAX_STEPS);
        if judge.is_undefined(&expected.value) {
            let beginning = super::quote(expected.source.trim());
            return Err(Score::error(format!("the expected answer {beginning} divides by zero; correct the row")));
        }
        let written = |part: &Part<'_>| !part.percent && part.text.trim() == expected.source.trim();
        let alone = |candidate: &Candidate<'_>| matches!(&candidate[..], [part] if written(part));
        // What is written the same is the same.
        let repeats = wanted.iter().any(alone) && candidates.first().is_some_and(alone);
        let mut share = if repeats { 1.0 } else { self.share(&mut judge, &expected, &found) };
        if let Some(counted) = counted.filter(|_| share == 0.0) {
            share = self.share(&mut judge, &expected, &counted);
        }
        let Config { correct_reward, wrong_reward, .. } = self.config;
        let canonical = render::canonical(&mut judge, &found.value, found.source);
        let (given, wanted) = (super::quote(found.source.trim()), super::quote(expected.source.trim()));
        let reason = match share {
            1.0 => format!("the answer {given} equals the expected {wanted}"),
            0.0 => format!("the answer {given} is not shown to equal the expected {wanted}"),
            share => format!("the answer {given} holds {share:.2} of the expected {wanted}"),
        };
        Ok(Score::of_answer(canonical, wrong_reward + share * (correct_reward - wrong_reward)).because(reason))
    }

    /// The verdict on an answer that repeats an expected one that is not understood, such as a sum with an index.
    fn word_for_word(&self, expected: &Answer<'_>, candidates: &[Candidate<'_>]) -> Option<Score> {
        let writing = match &expected.value {
            Value::Text(_) if !expected.source.is_empty() => lex::writing(expected.source)?,
            _ => return None,
        };
        let repeats = |candidate: &Candidate<'_>| match &candidate[..] {
            [part] => lex::writing(&part.text).is_some_and(|given| given == writing),
            _ => false,
        };
        if !candidates.first().is_some_and(repeats) {
            return None;
        }
        let wanted = super::quote(expected.source.trim());
        let reason = format!("the answer repeats the expected {wanted}");
        Some(Score::of_answer(writing.trim_end(), self.config.correct_reward).because(reason))
    }

    /// How much of what is expected was found: all or nothing, unless parts are to count.
    fn share(&self, judge: &mut Judge<'_>, expected: &Answer<'_>, found: &Answer<'_>) -> f64 {
        let texts = matches!(expected.value, Value::Text(_)) || matches!(found.value, Value::Text(_));
        if texts {
            let normal = |answer: &Answer<'_>| match &answer.value {
                Value::Text(text) => Some(text.clone()),
                _ => text::normal(answer.source),
            };
            return f64::from(u8::from(normal(expected).is_some() && normal(expected) == normal(found)));
        }
        if judge.same(&expected.value, &found.value) {
            return 1.0;
        }
        let Value::Set(wanted) = &expected.value else { return 0.0 };
        if !self.config.partial {
            return 0.0;
        }
        let given = match &found.value {
            Value::Set(given) => &given[..],
            other => std::slice::from_ref(other),
        };
        let met = wanted.iter().filter(|want| given.iter().any(|given| judge.same(want, given))).count();
        met as f64 / wanted.len().max(given.len()).max(met + 1) as f64
    }

    /// What may be the answer, in the order of the places where it is looked for.
    fn candidates<'t>(&self, completion: &'t str) -> Vec<Candidate<'t>> {
        let read = |writing| self.config.read.contains(&writing);
        let text = read(Writing::Text);
        let writings = Writings { latex: read(Writing::Latex), plain: read(Writing::Plain) || text };
        let mut candidates = Vec::new();
        for place in &self.config.extract {
            match place {
                Place::Boxed if writings.latex => candidates.extend(extract::boxed(completion)),
                Place::Boxed => {}
                Place::FinalAnswer => candidates.extend(extract::stated(completion, writings)),
                Place::Marker => candidates.extend(extract::marked(completion, &self.config.marker, writings)),
                Place::Last => candidates.extend(extract::last(completion, writings)),
            }
            if !candidates.is_empty() {
                break;
            }
        }
        candidates
    }

    /// The first candidate that can be read; or the first as a text, where it was set apart as the answer.
    fn found<'t>(&self, candidates: &'t [Candidate<'_>], arena: &mut Arena) -> Option<Answer<'t>> {
        let text = self.config.read.contains(&Writing::Text);
        let wordy = |value: &Value, part: &Part<'_>| matches!(value, Value::Text(_)) && part.plain && !text;
        for candidate in candidates {
            let Some(answer) = read(candidate, arena) else { continue };
            if !wordy(&answer.value, &candidate[0]) {
                return Some(answer);
            }
        }
        let [part] = &candidates.first()?[..] else { return None };
        if part.plain {
            return None;
        }
        Some(Answer { value: Value::Text(text::normal(&part.text)?), source: &part.text })
    }
}

/// The expected answer: the first candidate, if it can be read or is words without mathematics; otherwise another one.
/// Mathematics that is not understood is taken as it is written.
fn expected<'t>(candidates: &'t [Candidate<'_>], arena: &mut Arena) -> Option<Answer<'t>> {
    const MATHEMATICS: &str = "\\=<>^_{}+*|≤≥≠";
    let (first, others) = candidates.split_first()?;
    if let Some(answer) = read(first, arena) {
        return Some(answer);
    }
    match &first[..] {
        [part] if part.text.len() <= LONGEST_WORDS && !part.text.contains(|c: char| MATHEMATICS.contains(c)) => {
            Some(Answer { value: Value::Text(text::normal(&part.text)?), source: &part.text })
        }
        [part] if others.is_empty() && part.text.len() <= LONGEST_WRITING && lex::writing(&part.text).is_some() => {
            Some(Answer { value: Value::Text(text::normal(&part.text)?), source: &part.text })
        }
        _ => others.iter().find_map(|candidate| read(candidate, arena)),
    }
}

/// The answer with its pairs, couples and dozens as what is counted, where a number alone is expected.
fn counted(expected: &Answer<'_>, found: &Answer<'_>) -> Option<Candidate<'static>> {
    let number = !expected.source.contains(char::is_alphabetic) && matches!(found.value, Value::Scalar { .. });
    let text = units::counted(found.source).filter(|_| number)?;
    Some(vec![Part { plain: !text.contains('\\'), text: text.into(), percent: false }])
}

/// Reads the parts of a candidate, several of them as one set.
fn read<'t>(candidate: &'t [Part<'_>], arena: &mut Arena) -> Option<Answer<'t>> {
    let mut values = Vec::with_capacity(candidate.len());
    for part in candidate {
        let value = answer::read(part.text.trim(), part.plain, arena)?;
        values.push(match value {
            Value::Scalar { expr, unit: None } if part.percent => Value::Scalar { expr, unit: Some(Unit::Percent) },
            value => value,
        });
    }
    let source = &candidate.last()?.text;
    let value = if values.len() == 1 { values.pop()? } else { Value::Set(values) };
    // Words and numbers between commas are a sentence and no list of answers.
    if let Value::Set(members) = &value
        && members.iter().any(|member| matches!(member, Value::Text(_)))
        && !members.iter().all(|member| matches!(member, Value::Text(_)))
    {
        return None;
    }
    Some(Answer { value, source })
}
