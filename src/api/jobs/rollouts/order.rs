//! Pages of completions in the order that was asked for.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;

use super::cursor::Cursor;
use super::groups::Shown;
use super::source::{Source, Wanted};
use crate::job::status::names;

/// A page ends with the completion with which it passes this many bytes, however many were asked for.
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
}

/// Which part of a listing is wanted.
#[derive(Debug, Default)]
pub struct Part {
    /// What stands behind this one.
    pub after: Option<Cursor>,
    pub limit: usize,
    /// Without what is told token by token.
    pub light: bool,
}

/// Where a completion stands in an order; what comes first is less. What is equal stays in the order of its age.
#[derive(Clone, Copy, Debug)]
struct Rank {
    key: f64,
    at: Cursor,
}

/// Takes completions as they come and keeps the first ones, as many as a page holds.
#[derive(Debug)]
struct First<'a> {
    part: &'a Part,
    kept: BTreeMap<Rank, Shown>,
    bytes: usize,
    left_out: bool,
}

impl Order {
    /// A page of the completions that are wanted, behind one of them.
    pub fn page(self, source: &Source, part: &Part, wanted: &Wanted) -> io::Result<Page> {
        let after = part.after;
        let mut first = First { part, kept: BTreeMap::new(), bytes: 0, left_out: false };
        if self == Self::Newest {
            source.walk(after, wanted, |at, shown| {
                first.take(Rank { key: 0.0, at }, shown);
                if first.left_out { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            return Ok(first.page());
        }
        let after = after.map(|at| source.read(at).map(|shown| Rank { key: self.key(&shown), at })).transpose()?;
        let mut ordered = 0;
        source.walk(None, wanted, |at, shown| {
            ordered += 1;
            let rank = Rank { key: self.key(&shown), at };
            if after.is_none_or(|after| rank > after) {
                first.take(rank, shown);
            }
            if ordered < MOST_ORDERED { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(first.page())
    }

    /// Completions are ordered from the least key to the greatest.
    fn key(self, shown: &Shown) -> f64 {
        let (reward, length) = (shown.line.reward, shown.length as f64);
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

impl First<'_> {
    fn take(&mut self, rank: Rank, shown: Shown) {
        let shown = if self.part.light { shown.light() } else { shown };
        self.bytes += shown.bytes();
        self.kept.insert(rank, shown);
        while let Some(last) = self.kept.last_entry() {
            let before = self.bytes - last.get().bytes();
            if self.kept.len() <= self.part.limit && before <= PAGE_BYTES {
                break;
            }
            self.kept.pop_last();
            (self.bytes, self.left_out) = (before, true);
        }
    }

    fn page(self) -> Page {
        Page { found: self.kept.into_iter().map(|(rank, shown)| (rank.at, shown)).collect(), has_more: self.left_out }
    }
}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.total_cmp(&other.key).then(other.at.cmp(&self.at))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Rank {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Rank {}
