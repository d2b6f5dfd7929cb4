//! Several processes that work on one job, each with a device of its own: its ranks. All of them hold the same state and
//! take the same decisions; what is dear is divided among them and put together again, so that every rank knows
//! everything: completions are gathered, gradients are summed. Rank 0 alone writes and reports.
//!
//! Sums have the ranks' order, so that all ranks end with the same bits, and a run with the same number of ranks repeats.

mod sockets;

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
pub use sockets::{Sockets, Watch};

use super::driver::Driver;
use super::error::EngineError;

type Result<T> = std::result::Result<T, EngineError>;

/// The ranks of one job.
pub trait Collective: Send + Sync + Debug {
    fn rank(&self) -> usize;

    fn size(&self) -> usize;

    /// The bytes of every rank, in the order of the ranks.
    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>>;

    /// The bytes of every rank, in the order of the ranks, for rank 0 alone; the others learn nothing.
    fn tell_first(&self, own: &[u8]) -> Result<Vec<Vec<u8>>>;

    /// Replaces numbers by their sums over all ranks (all-reduce).
    fn sum(&self, numbers: &mut [f32]) -> Result<()>;

    /// The same for a part of them on each rank (reduce-scatter); the others stay as they are. `parts` are those of all
    /// ranks, in their order.
    fn sum_parts(&self, numbers: &mut [f32], parts: &[Range<usize>]) -> Result<()>;

    /// Whether the devices have joined, so that they sum what lies in their memory by themselves.
    fn has_joined(&self) -> bool;

    /// Lets devices talk to each other, where they can; every rank calls it once, with its device if that is one.
    fn join(&self, driver: Option<&Arc<dyn Driver>>) -> Result<()>;
}

impl dyn Collective + '_ {
    /// Whether this rank writes and reports.
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// Every rank's value, in the order of the ranks.
    pub fn gather_values<T: Serialize + DeserializeOwned>(&self, own: T) -> Result<Vec<T>> {
        if self.size() == 1 {
            return Ok(vec![own]);
        }
        // Unlike JSON this keeps what is not finite.
        let unreadable = |error: &dyn std::error::Error| EngineError::Internal(format!("between ranks: {error}"));
        let bytes = rmp_serde::to_vec(&own).map_err(|error| unreadable(&error))?;
        let read = |bytes: &Vec<u8>| rmp_serde::from_slice(bytes).map_err(|error| unreadable(&error));
        self.gather(&bytes)?.iter().map(read).collect()
    }

    /// This rank's share of `items`, which follows on that of the rank before.
    pub fn share<'a, T>(&self, items: &'a [T]) -> &'a [T] {
        let bound = |rank: usize| items.len() * rank / self.size();
        &items[bound(self.rank())..bound(self.rank() + 1)]
    }

    /// Whether the n-th of many pieces of work is this rank's.
    pub fn owns(&self, index: usize) -> bool {
        index % self.size() == self.rank()
    }

    /// What rank 0 says, which may know what the others do not.
    pub fn first_says<T: Serialize + DeserializeOwned>(&self, own: T) -> Result<T> {
        let all = self.gather_values(own)?;
        all.into_iter().next().ok_or_else(|| EngineError::Internal(String::from("between ranks: nobody spoke")))
    }

    /// The results of pieces of work of which every rank did its own, in the order of the pieces.
    pub fn collect<T: Serialize + DeserializeOwned>(&self, own: Vec<T>) -> Result<Vec<T>> {
        let mut all: Vec<_> = self.gather_values(own)?.into_iter().map(Vec::into_iter).collect();
        let count: usize = all.iter().map(ExactSizeIterator::len).sum();
        Ok((0..count).filter_map(|index| all[index % self.size()].next()).collect())
    }
}

/// A job with one rank.
#[derive(Debug)]
pub struct Alone;

impl Collective for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        Ok(vec![own.to_vec()])
    }

    fn tell_first(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.gather(own)
    }

    fn sum(&self, _numbers: &mut [f32]) -> Result<()> {
        Ok(())
    }

    fn sum_parts(&self, _numbers: &mut [f32], _parts: &[Range<usize>]) -> Result<()> {
        Ok(())
    }

    fn has_joined(&self) -> bool {
        false
    }

    fn join(&self, _driver: Option<&Arc<dyn Driver>>) -> Result<()> {
        Ok(())
    }
}
