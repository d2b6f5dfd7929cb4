//! What an audit has a verifier judge: a data set's own answers, and texts that no model should be rewarded for.

use std::io;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::judge::checked;
use super::panel::Panel;
use crate::api::row_source::RowSource;
use crate::api::sandbox::Task;
use crate::dataset::{Dataset, Message, Prompt, Row};
use crate::verifier::{Case, Config, MAX_TEXT_BYTES, Outside, Score};

/// Rows that are tried with more than their own text.
const PROBED_ROWS: usize = 100;
/// Verdicts on the same text that must agree.
const REPEATS: usize = 3;
/// Verdicts on a row that is tried with more than its own text.
pub const VERDICTS: usize = REPEATS + Probe::ALL.len();
/// Rows whose texts are tried in the place of others', and rows that are looked through for them.
const MOST_TEXTS: usize = 16;
const LOOKED_THROUGH: usize = 512;
/// Rows that are judged together.
const MOST_TOGETHER: usize = 16;
/// Characters of a text that is far too long.
const LONG: usize = 1 << 16;
/// How often a text is repeated.
const TIMES: usize = 50;
/// Characters of a text that an answer shows.
const MOST_CHARACTERS: usize = 500;

/// A text that is judged in the place of a row's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// The answer of another row.
    OtherAnswer,
    /// Nothing.
    Empty,
    /// The prompt.
    Echo,
    /// Many answers at once, the right one among them.
    AllAnswers,
    /// The own text behind far too much else.
    Long,
    /// The own text again and again.
    Repeated,
}

impl Probe {
    pub const ALL: [Self; 6] =
        [Self::OtherAnswer, Self::Empty, Self::Echo, Self::AllAnswers, Self::Long, Self::Repeated];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::OtherAnswer => "other_answer",
            Self::Empty => "empty",
            Self::Echo => "echo",
            Self::AllAnswers => "all_answers",
            Self::Long => "long",
            Self::Repeated => "repeated",
        }
    }

    /// The text for a row with its own `text`, beside those of rows with another answer, of which the first is tried first;
    /// none where there is no such text, or only one that is longer than what is judged.
    fn text(self, row: &Row, text: &str, others: &[&str]) -> Option<String> {
        let tried = match self {
            Self::OtherAnswer => (*others.first()?).to_owned(),
            Self::Empty => String::new(),
            Self::Echo => prompt_text(row),
            Self::AllAnswers => {
                let mut bytes = text.len();
                let fits = |other: &&&str| {
                    bytes += other.len() + 1;
                    bytes <= MAX_TEXT_BYTES
                };
                // In the middle, so that neither the first nor the last one is right.
                let mut all: Vec<&str> = others.iter().take_while(fits).copied().collect();
                all.extend((all.len() == 1).then(|| all[0]));
                let middle = (!all.is_empty()).then_some(all.len() / 2)?;
                all.insert(middle, text);
                all.join("\n")
            }
            Self::Long => format!("{}\n{text}", "so it goes on and on, ".repeat(LONG / 22)),
            Self::Repeated => {
                let times = TIMES.min(MAX_TEXT_BYTES / (text.len() + 1));
                (times > 1).then(|| vec![text; times].join("\n"))?
            }
        };
        (tried.len() <= MAX_TEXT_BYTES).then_some(tried)
    }
}

/// A verifier, and the rows that it is audited with.
#[derive(Debug, Serialize, Deserialize)]
pub struct Audit {
    pub verifier: Value,
    pub outside: Outside,
    pub rows: RowSource,
    pub most: usize,
    /// After which it ends with the rows that it has.
    pub seconds: f64,
}

/// What is told of a row.
#[derive(Debug, Serialize, Deserialize)]
pub struct AuditedRow {
    pub row: usize,
    /// None: it has neither a completion nor an answer.
    pub judged: Option<AuditedText>,
}

/// A row's own text, and the others that were tried in its place. Texts are cut off behind their beginnings.
#[derive(Debug, Serialize, Deserialize)]
pub struct AuditedText {
    pub from_completion: bool,
    pub text: String,
    pub answer: Option<String>,
    pub score: Score,
    pub probes: Vec<(Probe, String, Score)>,
    /// Whether the text of a row with another answer was wanted, and there is none.
    pub alone: bool,
    /// Whether the same text got the same verdict each time.
    pub stable: bool,
    /// How long each verdict took, of those that came together all.
    pub seconds: Vec<f64>,
}

impl AuditedText {
    /// A text that did not get a verdict, with what there is instead of one.
    pub fn lost(score: Score) -> Self {
        Self {
            from_completion: false,
            text: String::new(),
            answer: None,
            score,
            probes: Vec::new(),
            alone: false,
            stable: true,
            seconds: Vec::new(),
        }
    }
}

impl Task for Audit {
    const NAME: &'static str = "audit";
    type Answer = AuditedRow;

    fn perform(&self, mut tell: impl FnMut(&AuditedRow) -> io::Result<()>) -> io::Result<()> {
        let config = checked(&self.verifier)?;
        let rows = self.rows.open().map_err(io::Error::other)?;
        let (began, budget) = (Instant::now(), Duration::from_secs_f64(self.seconds));
        let judge = Judge::new(config, &self.outside, &rows)?;
        let together = (judge.panel.at_once() / VERDICTS).clamp(1, MOST_TOGETHER);
        let numbers: Vec<usize> = (0..rows.len().min(self.most)).collect();
        let mut longest = Duration::ZERO;
        for numbers in numbers.chunks(together) {
            // What would not be over in time is not begun, so that being late means that something hangs.
            let before = began.elapsed();
            if before + longest > budget {
                break;
            }
            judge.rows(&rows, numbers)?.iter().try_for_each(&mut tell)?;
            longest = longest.max(began.elapsed() - before);
        }
        Ok(())
    }
}

/// A row with the text that a model should have written.
struct Own<'r> {
    number: usize,
    row: &'r Row,
    prompt: String,
    text: String,
}

impl<'r> Own<'r> {
    fn of(number: usize, row: &'r Row, config: &Config) -> Option<Self> {
        let text = own_text(row, config)?;
        Some(Self { number, row, prompt: prompt_text(row), text })
    }

    fn case<'a>(&'a self, text: &'a str) -> Case<'a> {
        Case { prompt: &self.prompt, completion: text, answer: self.row.answer.as_deref(), row: &self.row.fields }
    }
}

/// What a model should have said: the row's completion, what the verifier finds in it as such, or the answer in the form
/// that the verifier reads.
fn own_text(row: &Row, config: &Config) -> Option<String> {
    let written = || row.answer.as_deref().map(|answer| config.written(answer, &row.fields));
    row.completion.clone().or_else(|| config.reference(&row.fields)).or_else(written)
}

/// The own text of some row, which is to be wrong in others.
struct Other {
    text: String,
    answer: Option<String>,
    /// What the verifier took out of it.
    found: Option<String>,
}

struct Judge {
    panel: Panel,
    config: Config,
    others: Vec<Other>,
}

impl Judge {
    fn new(config: Config, outside: &Outside, rows: &Dataset) -> io::Result<Self> {
        let panel = Panel::of(config.build(outside));
        let chosen = if config.reads_row() { chosen(rows, &config)? } else { Vec::new() };
        let own: Vec<Own<'_>> = chosen.iter().filter_map(|row| Own::of(0, row, &config)).collect();
        let judged = panel.judge(&own.iter().map(|own| own.case(&own.text)).collect::<Vec<_>>());
        let other = |(own, (score, _)): (Own<'_>, (Score, f64))| Other {
            text: own.text,
            answer: own.row.answer.clone(),
            found: score.answer,
        };
        let others = own.into_iter().zip(judged).map(other).collect();
        Ok(Self { panel, config, others })
    }

    /// What is told of some rows: first their own texts, and then, all at once, what is tried in their place.
    fn rows(&self, rows: &Dataset, numbers: &[usize]) -> io::Result<Vec<AuditedRow>> {
        let read: Result<Vec<Row>, _> = numbers.iter().map(|number| rows.row(*number)).collect();
        let read = read.map_err(io::Error::other)?;
        let own: Vec<Own<'_>> =
            numbers.iter().zip(&read).filter_map(|(number, row)| Own::of(*number, row, &self.config)).collect();
        let judged = self.panel.judge(&own.iter().map(|own| own.case(&own.text)).collect::<Vec<_>>());
        let tried: Vec<Tried> = own.iter().zip(&judged).map(|(own, (score, _))| self.tried(own, score)).collect();
        let cases = own.iter().zip(&tried).flat_map(|(own, tried)| {
            let again = std::iter::repeat_n(own.text.as_str(), tried.again);
            again.chain(tried.texts.iter().map(|(_, text)| text.as_str())).map(move |text| own.case(text))
        });
        let mut verdicts = self.panel.judge(&cases.collect::<Vec<_>>()).into_iter();
        let mut told: Vec<AuditedRow> = numbers.iter().map(|row| AuditedRow { row: *row, judged: None }).collect();
        for ((own, first), tried) in own.iter().zip(judged).zip(tried) {
            let count = tried.again + tried.texts.len();
            let text = audited(own, first, tried, verdicts.by_ref().take(count));
            let place = numbers.iter().position(|number| *number == own.number);
            told[place.expect("it was read by its number")].judged = Some(text);
        }
        Ok(told)
    }

    fn tried(&self, own: &Own<'_>, score: &Score) -> Tried {
        if own.number >= PROBED_ROWS {
            return Tried { again: 0, texts: Vec::new(), alone: false };
        }
        let compares = self.compares(own.row);
        let others = if compares { self.others(own, score) } else { Vec::new() };
        // Of programs one after the other the right one is still there to be called.
        let lists = !self.config.runs_code();
        let kinds = Probe::ALL.into_iter().filter(|probe| lists || *probe != Probe::AllAnswers);
        let texts = kinds.filter_map(|probe| Some((probe, probe.text(own.row, &own.text, &others)?))).collect();
        Tried { again: REPEATS - 1, texts, alone: compares && others.is_empty() }
    }

    /// Whether what is right in another row should be wrong in this one.
    fn compares(&self, row: &Row) -> bool {
        let config = &self.config;
        let by_name = config.needs_answer() || !config.required_columns().is_empty() || config.runs_code();
        by_name || config.reads_row() && row.answer.is_some()
    }

    /// Texts whose answers are others, each row's from another one on.
    fn others(&self, own: &Own<'_>, score: &Score) -> Vec<&str> {
        let (answer, found) = (own.row.answer.as_deref(), score.answer.as_deref());
        let wrong = |other: &&Other| {
            let answers = differ(answer, other.answer.as_deref()) && differ(found, other.found.as_deref());
            answers && other.text != own.text
        };
        let mut others: Vec<&str> = self.others.iter().filter(wrong).map(|other| other.text.as_str()).collect();
        let first = own.number % others.len().max(1);
        others.rotate_left(first);
        others
    }
}

/// Whether two texts may be told apart; what is not known may.
fn differ(one: Option<&str>, other: Option<&str>) -> bool {
    let plain = |text: &str| text.trim().to_lowercase();
    one.zip(other).is_none_or(|(one, other)| plain(one) != plain(other))
}

/// Rows with answers that all differ, from everywhere in a data set.
fn chosen(rows: &Dataset, config: &Config) -> io::Result<Vec<Row>> {
    let looked = rows.len().min(LOOKED_THROUGH);
    let (mut chosen, mut known) = (Vec::new(), std::collections::BTreeSet::new());
    for number in 0..looked {
        if chosen.len() == MOST_TEXTS {
            break;
        }
        // In the order of the file a data set may have all rows of one answer first.
        let row = rows.row(number * (rows.len() / looked)).map_err(io::Error::other)?;
        let Some(text) = own_text(&row, config).filter(|text| text.len() <= MAX_TEXT_BYTES) else { continue };
        if known.insert(row.answer.clone().unwrap_or(text)) {
            chosen.push(row);
        }
    }
    Ok(chosen)
}

/// What is judged of a row besides its own text.
struct Tried {
    /// How often its own text is judged once more.
    again: usize,
    texts: Vec<(Probe, String)>,
    alone: bool,
}

/// A row's first verdict with those that came later.
fn audited(own: &Own<'_>, first: (Score, f64), tried: Tried, later: impl Iterator<Item = (Score, f64)>) -> AuditedText {
    let (score, took) = first;
    let (mut seconds, mut scores) = (vec![took], Vec::new());
    later.for_each(|(score, took)| {
        seconds.push(took);
        scores.push(score);
    });
    let of_texts = scores.split_off(tried.again.min(scores.len()));
    let probes = tried.texts.into_iter().zip(of_texts);
    AuditedText {
        from_completion: own.row.completion.is_some(),
        text: beginning(&own.text),
        answer: own.row.answer.as_deref().map(beginning),
        probes: probes.map(|((probe, text), score)| (probe, beginning(&text), shortened(score))).collect(),
        alone: tried.alone,
        stable: scores.iter().all(|again| same(again, &score)),
        score: shortened(score),
        seconds,
    }
}

fn same(one: &Score, other: &Score) -> bool {
    one.status == other.status && one.reward.to_bits() == other.reward.to_bits()
}

fn prompt_text(row: &Row) -> String {
    match &row.prompt {
        Prompt::Text(text) => text.clone(),
        Prompt::Messages(messages) => messages.iter().filter_map(Message::content).collect::<Vec<_>>().join("\n"),
    }
}

/// A verdict whose texts are cut off behind their beginnings.
fn shortened(score: Score) -> Score {
    let short = |text: Option<String>| text.as_deref().map(beginning);
    Score { answer: short(score.answer), detail: short(score.detail), parts: Vec::new(), ..score }
}

fn beginning(text: &str) -> String {
    text.chars().take(MOST_CHARACTERS).collect()
}

#[cfg(test)]
mod tests;
