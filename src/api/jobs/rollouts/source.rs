//! The files that hold a job's completions.

use std::io::{self, Read, Seek};
use std::ops::ControlFlow;

use memchr::memmem::Finder;

use super::cursor::Cursor;
use super::groups::{Form, Group, GroupsFromEnd, Shown};
use crate::api::rollout_sets::filter::{RolloutFilter, RolloutHead};
use crate::job::ScoreStatus;
use crate::job::inference::FinishReason;
use crate::store::{Place, StoredFile};

/// Which completions are wanted.
#[derive(Debug, Default)]
pub struct Wanted {
    pub head: RolloutFilter,
    pub max_step: Option<u64>,
    pub text: Option<String>,
    pub status: Option<ScoreStatus>,
    pub finish: Option<FinishReason>,
    /// Only of prompts whose completions got different rewards.
    pub mixed: bool,
    /// Only of this group.
    pub group: Option<Cursor>,
}

impl Wanted {
    pub fn holds(&self, Shown { line, spread, .. }: &Shown) -> bool {
        let head = RolloutHead { step: line.step, row: line.row as u64, reward: line.reward };
        self.head.holds(&head)
            && self.max_step.is_none_or(|most| line.step <= most)
            && (!self.mixed || *spread > 0.0)
            && self.text.as_ref().is_none_or(|text| line.completion.contains(text) || line.prompt.contains(text))
            && self.status.is_none_or(|status| line.status == Some(status))
            && self.finish.is_none_or(|finish| line.finish == finish)
    }

    /// What a group that is wanted has in its lines as they are written; none where every group's step must be known.
    fn needle(&self) -> Option<Finder<'static>> {
        let text = self.text.as_ref().filter(|_| self.head.step.is_none() && self.group.is_none())?;
        let written = serde_json::Value::from(text.as_str()).to_string();
        Some(Finder::new(&written[1..written.len() - 1]).into_owned())
    }

    /// The greatest step of completions that may be wanted.
    fn newest(&self) -> Option<u64> {
        self.head.step.into_iter().chain(self.max_step).min()
    }
}

/// The files with a job's completions by their numbers, the oldest first.
#[derive(Debug)]
pub struct Source {
    /// One file with a completion a line; otherwise parts with a prompt's completions a line, each of one step.
    pub complete: bool,
    /// Of a sample, which is not synced and becomes sparser: what is broken or gone is left out.
    pub sample: bool,
    pub files: Vec<(usize, StoredFile)>,
    pub place: Place,
}

impl Source {
    /// Shows what is wanted, the newest first, behind `after`, until `show` has enough.
    pub fn walk(
        &self,
        after: Option<Cursor>,
        wanted: &Wanted,
        mut show: impl FnMut(Cursor, Shown) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let named = wanted.group.map(|group| Cursor { item: usize::MAX, ..group });
        if named.zip(after).is_some_and(|(named, after)| (named.file, named.end) != (after.file, after.end)) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "of another group"));
        }
        let after = after.or(named);
        if after.is_some_and(|after| self.files.last().is_none_or(|(newest, _)| after.file > *newest)) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no such file"));
        }
        let files = self.files.iter().filter(|(number, _)| match named {
            Some(named) => *number == named.file,
            None => after.is_none_or(|after| *number <= after.file),
        });
        let files: Vec<_> = files.collect();
        for (number, file) in self.not_newer(&files, wanted.newest())?.iter().rev() {
            let begin = after.filter(|after| after.file == *number);
            let Some(groups) = self.groups(file, begin.map(|after| after.end))? else { continue };
            let mut groups = groups.with_text(wanted.needle());
            while let Some(group) = groups.next()? {
                let Group { end, completions } = match group {
                    Err(error) if self.sample => {
                        tracing::warn!(%error, "a line of a sample is broken");
                        continue;
                    }
                    group => group?,
                };
                let step = completions.first().map(|shown| shown.line.step);
                if wanted.head.step.zip(step).is_some_and(|(least, step)| step < least) {
                    // Steps only become fewer from here on.
                    return Ok(());
                }
                if named.is_some_and(|named| named.end != end) {
                    return Ok(());
                }
                // Only the group that the cursor names was shown in part.
                let before = begin.filter(|begin| begin.end == end).map_or(usize::MAX, |begin| begin.item);
                let fits = |(item, shown): &(usize, Shown)| *item < before && wanted.holds(shown);
                for (item, shown) in completions.into_iter().enumerate().rev().filter(fits) {
                    let at = Cursor { complete: self.complete, file: *number, end, item };
                    if show(at, shown).is_break() {
                        return Ok(());
                    }
                }
                if wanted.group.is_some() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The completion at a place that was shown before.
    pub fn read(&self, at: Cursor) -> io::Result<Shown> {
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        let (_, file) = self.files.iter().find(|(number, _)| *number == at.file).ok_or_else(gone)?;
        let mut groups = self.groups(file, Some(at.end))?.ok_or_else(gone)?;
        let group = groups.next()?.ok_or_else(gone)??;
        group.completions.into_iter().nth(at.item).ok_or_else(gone)
    }

    fn form(&self) -> Form {
        match (self.complete, self.sample) {
            (true, _) => Form::Set,
            (false, false) => Form::Part,
            (false, true) => Form::Sample,
        }
    }

    /// The groups of a file before `end`; none of a sample's that is gone.
    fn groups(
        &self,
        file: &StoredFile,
        end: Option<u64>,
    ) -> io::Result<Option<GroupsFromEnd<impl Read + Seek + use<>>>> {
        match self.place.read(file) {
            Err(error) if self.sample && error.kind() == io::ErrorKind::NotFound => Ok(None),
            file => Ok(Some(GroupsFromEnd::open(file?, self.form(), end)?)),
        }
    }

    /// The files without those at the end whose completions are of later steps than `newest`.
    fn not_newer<'a>(
        &self,
        files: &'a [&'a (usize, StoredFile)],
        newest: Option<u64>,
    ) -> io::Result<&'a [&'a (usize, StoredFile)]> {
        let Some(newest) = newest.filter(|_| !self.complete) else { return Ok(files) };
        let (mut least, mut most) = (0, files.len());
        while least < most {
            let middle = usize::midpoint(least, most);
            match self.step(&files[middle].1)? {
                Some(step) if step > newest => most = middle,
                _ => least = middle + 1,
            }
        }
        Ok(&files[..least])
    }

    /// The step of a part's completions; none where it cannot be told.
    fn step(&self, file: &StoredFile) -> io::Result<Option<u64>> {
        let Some(mut groups) = self.groups(file, None)? else { return Ok(None) };
        let Some(Ok(group)) = groups.next()? else { return Ok(None) };
        Ok(group.completions.first().map(|shown| shown.line.step))
    }
}
