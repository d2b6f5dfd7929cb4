//! Pages of completions in the order that was asked for.

use std::cmp::Ordering;
use std::io;
use std::ops::ControlFlow;

use super::cursor::Cursor;
use super::groups::Shown;
use super::source::{Source, Wanted};
use crate::job::status::names;

/// A page ends with the completion with which it passes this many stored bytes, however many were asked for.
const PAGE_BYTES: usize = 16 << 20;
/// Completions that are ordered; older ones are left out.
const MOST_ORDERED: usize = 100_000;

names!(
    /// What comes first.
    Order {
        Newest = "newest",
        HighestReward = "highest_reward",
        LowestReward = "lowest_reward",
        Longest = "longest",
        Shortest = "shortest",
        /// Completions of prompts whose rewards differ most.
        WidestSpread = "widest_spread",
    }
);

/// Completions with their places.
#[derive(Debug, Default)]
pub struct Page {
    pub found: Vec<(Cursor, Shown)>,
    pub has_more: bool,
    bytes: usize,
}

impl Page {
    /// Takes a completion, if there is room for it.
    fn take(&mut self, limit: usize, at: Cursor, shown: Shown) -> ControlFlow<()> {
        if self.found.len() == limit || self.bytes > PAGE_BYTES {
            self.has_more = true;
            return ControlFlow::Break(());
        }
        self.bytes += shown.line.completion.len() + 48 * shown.line.tokens.len() + shown.line.prompt.len();
        self.found.push((at, shown));
        ControlFlow::Continue(())
    }
}

impl Order {
    /// A page of the completions that are wanted, behind one of them.
    pub fn page(self, source: &Source, after: Option<Cursor>, limit: usize, wanted: &Wanted) -> io::Result<Page> {
        let mut page = Page::default();
        if self == Self::Newest {
            source.walk(after, wanted, |at, shown| page.take(limit, at, shown))?;
            return Ok(page);
        }
        let mut all: Vec<(f64, Cursor)> = Vec::new();
        source.walk(None, wanted, |at, shown| {
            all.push((self.key(&shown), at));
            if all.len() < MOST_ORDERED { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        // What is equal stays in the order of its age.
        all.sort_by(|(a, _), (b, _)| a.partial_cmp(b).unwrap_or(Ordering::Equal));
        let begin = match after {
            Some(after) => 1 + all.iter().position(|(_, at)| *at == after).ok_or(io::ErrorKind::NotFound)?,
            None => 0,
        };
        for (_, at) in all.into_iter().skip(begin) {
            if page.take(limit, at, source.read(at)?).is_break() {
                break;
            }
        }
        Ok(page)
    }

    /// Completions are ordered from the least key to the greatest.
    fn key(self, shown: &Shown) -> f64 {
        let (reward, length) = (shown.line.reward, shown.line.tokens.len() as f64);
        match self {
            Self::Newest => 0.0,
            // Those without a reward come last.
            Self::HighestReward => reward.map_or(f64::INFINITY, |reward| -reward),
            Self::LowestReward => reward.unwrap_or(f64::INFINITY),
            Self::Longest => -length,
            Self::Shortest => length,
            Self::WidestSpread => -shown.spread,
        }
    }
}
