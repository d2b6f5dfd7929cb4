//! The completions in a file, prompt by prompt, from its end.

use std::io::{self, Read, Seek};

use memchr::memmem::Finder;
use serde::Deserialize;

use crate::api::lines::{Line, LinesFromEnd};
use crate::job::{Learned, Rollout, RolloutGroup, RolloutLine, SampledGroup};

/// A completion with what is known beside it.
#[derive(Debug)]
pub struct Shown {
    pub line: RolloutLine,
    /// Number of tokens.
    pub length: usize,
    /// How much the rewards of its group differ.
    pub spread: f64,
    /// Not of a complete set.
    pub sampled: Option<Sampled>,
}

impl Shown {
    fn new(line: RolloutLine, spread: f64, sampled: Option<Sampled>) -> Self {
        Self { length: line.tokens.len(), line, spread, sampled }
    }

    /// Without what is told token by token.
    pub fn light(mut self) -> Self {
        (self.line.tokens, self.line.logprobs) = Default::default();
        self.sampled = self.sampled.map(|Sampled { learned, verify_seconds, .. }| Sampled {
            learned: learned.map(|Learned { step, .. }| Learned {
                step,
                credit: Vec::new(),
                policy_logprobs: Vec::new(),
            }),
            verify_seconds,
            ..Sampled::default()
        });
        self
    }

    /// About how many bytes it has.
    pub fn bytes(&self) -> usize {
        let each = if self.sampled.is_some() { 96 } else { 32 };
        self.line.prompt.len() + self.line.completion.len() + each * self.line.tokens.len()
    }
}

/// What a sample knows more of a completion.
#[derive(Debug, Default)]
pub struct Sampled {
    pub pieces: Option<Vec<String>>,
    pub entropies: Option<Vec<f32>>,
    pub reference_logprobs: Option<Vec<f32>>,
    pub learned: Option<Learned>,
    pub verify_seconds: Option<f64>,
}

/// The completions that were sampled together for a prompt.
#[derive(Debug)]
pub struct Group {
    /// Its place: where its last line ends, or its number counted from 1.
    pub end: u64,
    pub completions: Vec<Shown>,
}

/// How a file holds groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A completion a line, group after group, never changed.
    Set,
    /// A group a line, never changed.
    Part,
    /// A group a line; what it tells of each becomes more. Places are numbers of lines, and the file is read whole.
    Sample,
}

/// Reads groups backwards.
#[derive(Debug)]
pub struct GroupsFromEnd<F> {
    lines: Lines<F>,
    form: Form,
    /// Groups without this in their lines are passed over.
    text: Option<Finder<'static>>,
    /// The line that ended the group before, of another one.
    next: Option<(Line, u64)>,
}

#[derive(Debug)]
enum Lines<F> {
    FromEnd(LinesFromEnd<F>),
    Numbered(Vec<Line>),
}

impl<F: Read + Seek> Lines<F> {
    fn next(&mut self) -> io::Result<Option<Line>> {
        match self {
            Self::FromEnd(lines) => lines.next(),
            Self::Numbered(lines) => Ok(lines.pop()),
        }
    }
}

/// The number of the group that a line of a set belongs to.
#[derive(Deserialize)]
struct Head {
    group: u64,
}

impl<F: Read + Seek> GroupsFromEnd<F> {
    /// The groups before the place `end`, by default the end of the file; see [`LinesFromEnd::open`].
    pub fn open(mut file: F, form: Form, end: Option<u64>) -> io::Result<Self> {
        let lines = match form {
            Form::Set | Form::Part => Lines::FromEnd(LinesFromEnd::open(file, end)?),
            Form::Sample => {
                let mut all = Vec::new();
                file.read_to_end(&mut all)?;
                let before = usize::try_from(end.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
                let texts = all.strip_suffix(b"\n").unwrap_or(&all).split(|byte| *byte == b'\n');
                let numbered = texts.zip(1..).map(|(text, end)| Line { end, text: text.to_vec() });
                Lines::Numbered(numbered.take(before).filter(|line| !line.text.is_empty()).collect())
            }
        };
        Ok(Self { lines, form, text: None, next: None })
    }

    /// Only the groups that have `text` in their lines.
    pub fn with_text(self, text: Option<Finder<'static>>) -> Self {
        Self { text, ..self }
    }

    fn holds_text(&self, line: &[u8]) -> bool {
        self.text.as_ref().is_none_or(|text| text.find(line).is_some())
    }

    /// The last group that was not given out yet. Behind one that is broken reading goes on.
    pub fn next(&mut self) -> io::Result<Option<io::Result<Group>>> {
        if self.form == Form::Set {
            return Ok(self.of_lines()?.map(Ok));
        }
        while let Some(Line { end, text }) = self.lines.next()? {
            if self.holds_text(&text) {
                let group = serde_json::from_slice(&text).map(|group| Group { end, completions: shown(group) });
                return Ok(Some(group.map_err(io::Error::from)));
            }
        }
        Ok(None)
    }

    fn line(&mut self) -> io::Result<Option<(Line, u64)>> {
        if let Some(line) = self.next.take() {
            return Ok(Some(line));
        }
        let Some(line) = self.lines.next()? else { return Ok(None) };
        let head: Head = serde_json::from_slice(&line.text)?;
        Ok(Some((line, head.group)))
    }

    fn of_lines(&mut self) -> io::Result<Option<Group>> {
        let (end, texts) = loop {
            let Some((last, number)) = self.line()? else { return Ok(None) };
            let (end, mut texts) = (last.end, vec![last.text]);
            while let Some((line, group)) = self.line()? {
                if group != number {
                    self.next = Some((line, group));
                    break;
                }
                texts.push(line.text);
            }
            if texts.iter().any(|text| self.holds_text(text)) {
                break (end, texts);
            }
        };
        let lines = texts.iter().rev().map(|text| serde_json::from_slice::<RolloutLine>(text));
        let lines: Vec<RolloutLine> = lines.collect::<Result<_, _>>()?;
        let spread = spread(lines.iter().filter_map(|line| line.reward));
        let completions = lines.into_iter().map(|line| Shown::new(line, spread, None)).collect();
        Ok(Some(Group { end, completions }))
    }
}

fn shown(SampledGroup { mut group, pieces, learned, unscored }: SampledGroup) -> Vec<Shown> {
    // The group's number in the set is not known yet, and not shown.
    let lines: Vec<RolloutLine> = group.lines(0).collect();
    let spread = spread(lines.iter().filter_map(|line| line.reward));
    let (mut pieces, mut learned) = (pieces.into_iter(), learned.into_iter());
    let sampled = group.rollouts.drain(..).map(|rollout| Sampled {
        pieces: pieces.next(),
        entropies: Some(rollout.entropies),
        reference_logprobs: Some(rollout.reference_logprobs),
        learned: learned.next().flatten(),
        verify_seconds: rollout.verify_seconds,
    });
    let judged = lines.into_iter().zip(sampled).map(|(line, sampled)| Shown::new(line, spread, Some(sampled)));
    let mut all: Vec<Shown> = judged.collect();
    let unscored = RolloutGroup { rollouts: unscored, ..group };
    all.extend(unscored.lines(0).zip(&unscored.rollouts).map(|(line, Rollout { verify_seconds, .. })| {
        let sampled = Sampled { verify_seconds: *verify_seconds, ..Sampled::default() };
        // Without a verdict there is no reward, whatever its place holds.
        Shown::new(RolloutLine { reward: None, ..line }, spread, Some(sampled))
    }));
    all
}

/// The highest reward less the lowest; 0 for none.
fn spread(rewards: impl Iterator<Item = f64>) -> f64 {
    let (least, most) =
        rewards.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), r| (r.min(least), r.max(most)));
    (most - least).max(0.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::job::ScoreStatus;

    #[test]
    fn completions_that_could_not_be_judged_are_shown_without_a_reward() {
        let rollout = |status: &str, reward: f64| {
            json!({"sample": 0, "text": "a", "tokens": [1], "behavior_logprobs": [-0.5], "reference_logprobs": [],
                   "entropy_sum": 0.5, "finish": "stop", "status": status, "reward": reward, "detail": "why"})
        };
        let group = json!({"row": 3, "step": 1, "prompt": [1], "text": "b", "rollouts": [rollout("ok", 1.0), rollout("ok", 0.5)],
                           "unscored": [rollout("timeout", 0.0)]});
        let all = shown(serde_json::from_value(group).unwrap());
        let told: Vec<_> = all.iter().map(|one| (one.line.status, one.line.reward, one.spread)).collect();
        let (ok, timeout) = (Some(ScoreStatus::Ok), Some(ScoreStatus::Timeout));
        assert_eq!(told, [(ok, Some(1.0), 0.5), (ok, Some(0.5), 0.5), (timeout, None, 0.5)]);
        assert_eq!((all[2].line.row, all[2].line.detail.as_deref()), (3, Some("why")));
    }
}
