//! What an audit has a verifier judge: a data set's own answers, and texts that no model should be rewarded for.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::judge::checked;
use crate::api::row_source::RowSource;
use crate::api::sandbox::Task;
use crate::dataset::{Message, Prompt, Row};
use crate::verifier::{Case, Config, Outside, Score, Verifier};

/// Rows that are tried with more than their own text.
const PROBED_ROWS: usize = 100;
/// Verdicts on the same text that must agree.
const REPEATS: usize = 3;
/// Answers that stand in one text at most.
const MOST_ANSWERS: usize = 16;
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

    /// Whether it says something of a verifier that compares with nothing.
    fn is_of_comparisons(self) -> bool {
        matches!(self, Self::OtherAnswer | Self::AllAnswers)
    }

    /// The text for a row with its own `text` among all `texts`; none where there is no such text.
    fn text(self, row: &Row, text: &str, texts: &[String]) -> Option<String> {
        let others = || texts.iter().map(String::as_str).filter(|other| *other != text);
        Some(match self {
            Self::OtherAnswer => others().next()?.to_owned(),
            Self::Empty => String::new(),
            Self::Echo => prompt_text(row),
            Self::AllAnswers => {
                // In the middle, so that neither the first nor the last one is right.
                let mut all: Vec<&str> = others().take(MOST_ANSWERS).collect();
                if all.len() < 2 {
                    return None;
                }
                all.insert(all.len() / 2, text);
                all.join("\n")
            }
            Self::Long => format!("{}\n{text}", "so it goes on and on, ".repeat(LONG / 22)),
            Self::Repeated => vec![text; TIMES].join("\n"),
        })
    }
}

/// A verifier, and the rows that it is audited with.
#[derive(Debug, Serialize, Deserialize)]
pub struct Audit {
    pub verifier: Value,
    pub outside: Outside,
    pub rows: RowSource,
    pub most: usize,
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
    /// Whether the same text got the same verdict each time.
    pub stable: bool,
    /// How long each verdict took.
    pub seconds: Vec<f64>,
}

impl AuditedText {
    /// A text that ended the process that judged it.
    pub fn lost(how: &str) -> Self {
        Self {
            from_completion: false,
            text: String::new(),
            answer: None,
            score: Score::error(how),
            probes: Vec::new(),
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
        let count = rows.len().min(self.most);
        let row = |number: usize| rows.row(number).map_err(io::Error::other);
        let mut texts = Vec::new();
        for number in 0..count.min(2 * MOST_ANSWERS) {
            let row = row(number)?;
            texts.extend(own_text(&row).filter(|text| !texts.iter().any(|known| known == text)).map(str::to_owned));
        }
        let judge = Judge { verifier: config.build(&self.outside), compares: compares(&config), texts };
        (0..count).try_for_each(|number| {
            let row = row(number)?;
            tell(&AuditedRow {
                row: number,
                judged: own_text(&row).map(|text| judge.row(&row, text, number < PROBED_ROWS)),
            })
        })
    }
}

/// Whether a verdict depends on the row at all.
fn compares(config: &Config) -> bool {
    config.needs_answer() || !config.required_columns().is_empty()
}

/// What a model should have said.
fn own_text(row: &Row) -> Option<&str> {
    row.completion.as_deref().or(row.answer.as_deref())
}

struct Judge {
    verifier: std::sync::Arc<dyn Verifier>,
    compares: bool,
    /// Texts of the first rows, all different.
    texts: Vec<String>,
}

impl Judge {
    fn row(&self, row: &Row, text: &str, probed: bool) -> AuditedText {
        let mut seconds = Vec::new();
        let mut judge = |text: &str| {
            let began = Instant::now();
            let score = judge(self.verifier.as_ref(), row, text);
            seconds.push(began.elapsed().as_secs_f64());
            score
        };
        let score = judge(text);
        let (mut probes, mut stable) = (Vec::new(), true);
        if probed {
            stable = (1..REPEATS).all(|_| same(&judge(text), &score));
            for probe in Probe::ALL.into_iter().filter(|probe| self.compares || !probe.is_of_comparisons()) {
                if let Some(text) = probe.text(row, text, &self.texts) {
                    probes.push((probe, beginning(&text), shortened(judge(&text))));
                }
            }
        }
        AuditedText {
            from_completion: row.completion.is_some(),
            text: beginning(text),
            answer: row.answer.as_deref().map(beginning),
            score: shortened(score),
            probes,
            stable,
            seconds,
        }
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

fn judge(verifier: &dyn Verifier, row: &Row, text: &str) -> Score {
    let prompt = prompt_text(row);
    let case = Case { prompt: &prompt, completion: text, answer: row.answer.as_deref(), row: &row.fields };
    // A verifier has no state of its own that a panic could leave half-changed.
    catch_unwind(AssertUnwindSafe(|| verifier.verify(&case)))
        .unwrap_or_else(|_| Score::error("the verifier panicked on this text"))
}

/// A verdict whose texts are cut off behind their beginnings.
fn shortened(score: Score) -> Score {
    let short = |text: Option<String>| text.as_deref().map(beginning);
    Score { answer: short(score.answer), detail: short(score.detail), parts: Vec::new(), ..score }
}

fn beginning(text: &str) -> String {
    text.chars().take(MOST_CHARACTERS).collect()
}
