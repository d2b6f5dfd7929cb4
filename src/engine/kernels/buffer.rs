//! Memory for intermediate results, kept for the next operation when one is done with it: fresh memory is dear, because
//! the kernel clears every page of it. What is in use and what is kept are together never more than was once in use. Large
//! buffers are cut from ranges of pages that are joined again, since one phase of a step needs other sizes than the next.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::pages::Pages;

/// Smaller buffers are left to the allocator.
const POOLED: usize = 1 << 12;
/// Free buffers, and ranges, that are kept; the smallest is given back when there are more.
const KEPT: usize = 4096;

static POOL: Mutex<Pool> = Mutex::new(Pool::new());

/// Where the numbers of a buffer are.
enum Memory {
    Heap(Vec<f32>),
    Pages(Pages),
}

impl Memory {
    /// At least `len` zeros.
    fn zeros(len: usize) -> Self {
        Pages::zeros(len).map_or_else(|| Self::Heap(vec![0.0; Pages::size(len).unwrap_or(len)]), Self::Pages)
    }

    /// How many there is room for.
    fn len(&self) -> usize {
        match self {
            Self::Heap(values) => values.len(),
            Self::Pages(pages) => pages.len(),
        }
    }
}

struct Pool {
    /// What was given back last is the last.
    free: Vec<Vec<f32>>,
    /// Pages by the address of the first; none begins where another ends.
    ranges: BTreeMap<usize, Pages>,
    /// Numbers that there is room for in both.
    kept: usize,
    /// Numbers that there is room for in buffers in use.
    used: usize,
    /// The most of them at a time since memory was released.
    most: usize,
}

impl Pool {
    const fn new() -> Self {
        Self { free: Vec::new(), ranges: BTreeMap::new(), kept: 0, used: 0, most: 0 }
    }

    /// Free memory for `len` numbers, or what is to be given back before there is other memory.
    fn take(&mut self, len: usize) -> Result<Memory, Vec<Memory>> {
        let found = match Pages::size(len) {
            Some(size) => self.take_pages(size).map(Memory::Pages),
            None => self.take_small(len).map(Memory::Heap),
        };
        let taken = found.as_ref().map_or_else(|| Pages::size(len).unwrap_or(len), Memory::len);
        if found.is_some() {
            self.kept -= taken;
        }
        self.used += taken;
        self.most = self.most.max(self.used);
        found.ok_or_else(|| self.surplus())
    }

    fn take_small(&mut self, len: usize) -> Option<Vec<f32>> {
        // What stands empty in one counts as in use.
        let fits = |values: &Vec<f32>| values.len() >= len && values.len() <= len + len / 8;
        let fitting = self.free.iter().enumerate().filter(|(_, values)| fits(values));
        let best = fitting.min_by_key(|(_, values)| values.len()).map(|(i, _)| i)?;
        Some(self.free.remove(best))
    }

    /// From the smallest range that has as many.
    fn take_pages(&mut self, size: usize) -> Option<Pages> {
        let fitting = self.ranges.iter().filter(|(_, range)| range.len() >= size);
        let start = *fitting.min_by_key(|(_, range)| range.len())?.0;
        let (own, rest) = self.ranges.remove(&start)?.cut(size);
        self.ranges.extend(rest.map(|rest| (rest.start(), rest)));
        Some(own)
    }

    /// What is kept beyond the most that was in use: the smallest ranges, for large ones can be cut, and then what was given
    /// back first.
    fn surplus(&mut self) -> Vec<Memory> {
        let mut surplus = Vec::new();
        while self.used + self.kept > self.most {
            let memory = if let Some(range) = self.smallest().and_then(|start| self.ranges.remove(&start)) {
                let excess = Pages::grains(self.used + self.kept - self.most).min(range.len());
                let (own, rest) = range.cut(excess);
                self.ranges.extend(rest.map(|rest| (rest.start(), rest)));
                Memory::Pages(own)
            } else if self.free.is_empty() {
                break;
            } else {
                Memory::Heap(self.free.remove(0))
            };
            self.kept -= memory.len();
            surplus.push(memory);
        }
        surplus
    }

    /// The smallest range.
    fn smallest(&self) -> Option<usize> {
        self.ranges.iter().min_by_key(|(_, range)| range.len()).map(|(start, _)| *start)
    }

    /// Keeps memory that is no longer in use; what is then too much is to be given back.
    fn keep(&mut self, memory: Memory) -> Option<Memory> {
        self.used = self.used.saturating_sub(memory.len());
        self.kept += memory.len();
        let surplus = match memory {
            Memory::Heap(values) => {
                self.free.push(values);
                let least = self.free.iter().enumerate().min_by_key(|(_, values)| values.len()).map(|(i, _)| i);
                least.filter(|_| self.free.len() > KEPT).map(|least| Memory::Heap(self.free.remove(least)))
            }
            Memory::Pages(pages) => {
                self.put(pages);
                let least = self.smallest().filter(|_| self.ranges.len() > KEPT);
                least.and_then(|least| self.ranges.remove(&least)).map(Memory::Pages)
            }
        };
        self.kept -= surplus.as_ref().map_or(0, Memory::len);
        surplus
    }

    /// Joins pages with what lies before and behind them.
    fn put(&mut self, mut pages: Pages) {
        let before = self.ranges.range(..pages.start()).next_back();
        if let Some(start) = before.filter(|(_, range)| range.end() == pages.start()).map(|(start, _)| *start)
            && let Some(before) = self.ranges.remove(&start)
        {
            pages = before.join(pages);
        }
        if let Some(behind) = self.ranges.remove(&pages.end()) {
            pages = pages.join(behind);
        }
        self.ranges.insert(pages.start(), pages);
    }
}

fn pool() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Numbers whose memory goes back to a pool.
pub struct Buffer {
    memory: Memory,
    len: usize,
}

impl Default for Buffer {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Buffer {
    /// `len` numbers of any value, for results that are written in full.
    pub fn new(len: usize) -> Self {
        if len < POOLED {
            return Self { memory: Memory::Heap(vec![0.0; len]), len };
        }
        let found = pool().take(len);
        let memory = found.unwrap_or_else(|surplus| {
            drop(surplus);
            Memory::zeros(len)
        });
        Self { memory, len }
    }

    pub fn zeros(len: usize) -> Self {
        let mut buffer = Self::new(len);
        buffer.fill(0.0);
        buffer
    }

    /// A copy of some numbers.
    pub fn copy(values: &[f32]) -> Self {
        let mut buffer = Self::new(values.len());
        buffer.copy_from_slice(values);
        buffer
    }
}

/// Gives all free buffers back to the system, before a phase that needs other sizes.
pub fn release_free() {
    let mut pool = pool();
    let free = (std::mem::take(&mut pool.free), std::mem::take(&mut pool.ranges));
    (pool.kept, pool.most) = (0, pool.used);
    drop(pool);
    drop(free);
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.memory.len() >= POOLED {
            let surplus = pool().keep(std::mem::replace(&mut self.memory, Memory::Heap(Vec::new())));
            drop(surplus);
        }
    }
}

impl Deref for Buffer {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        match &self.memory {
            Memory::Heap(values) => &values[..self.len],
            Memory::Pages(pages) => &pages[..self.len],
        }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        match &mut self.memory {
            Memory::Heap(values) => &mut values[..self.len],
            Memory::Pages(pages) => &mut pages[..self.len],
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({})", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_was_in_use_at_a_time() {
        let mut pool = Pool::new();
        let take = |pool: &mut Pool, len: usize| pool.take(len).unwrap_or_else(|_| Memory::zeros(len));
        // Sizes that differ a little share their memory; the largest has been seen last.
        for len in [8000, 10_000, 9000, 10_000] {
            let both = [take(&mut pool, len), take(&mut pool, len)];
            both.into_iter().for_each(|values| assert!(pool.keep(values).is_none()));
        }
        assert_eq!((pool.used, pool.kept, pool.most, pool.free.len()), (0, 20_000, 20_000, 2));
        // Others do not, and take the place of what was kept.
        for (other, left) in [(8000, 10_000), (15_000, 0)] {
            let memory = take(&mut pool, other);
            assert_eq!((pool.used, pool.kept), (other, left));
            pool.keep(memory);
        }
        assert_eq!(pool.kept, 15_000);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn large_buffers_are_cut_from_what_others_gave_back() {
        let mut pool = Pool::new();
        let new =
            |pool: &mut Pool, len: usize| pool.take(len).map_or_else(|_| (Memory::zeros(len), true), |m| (m, false));
        let large = new(&mut pool, 5_000_000);
        assert!(large.1 && pool.keep(large.0).is_none());
        let size = pool.kept;
        // Three of other sizes fit in, in whatever order they come and go; and then the large one again.
        for lens in [[1_000_000, 2_000_000, 1_900_000], [3_000_000, 300_000, 1_500_000]] {
            let taken = lens.map(|len| new(&mut pool, len));
            assert!(taken.iter().all(|(_, is_new)| !is_new) && pool.used + pool.kept == size);
            let [first, second, third] = taken.map(|(memory, _)| memory);
            for memory in [third, first, second] {
                assert!(pool.keep(memory).is_none());
            }
            assert_eq!((pool.used, pool.kept, pool.ranges.len()), (0, size, 1));
        }
        let (own, is_new) = new(&mut pool, 5_000_000);
        assert!(!is_new);
        pool.keep(own);
        // One that fits in nowhere takes the place of as much.
        let (small, _) = new(&mut pool, 300_000);
        let (large, is_new) = new(&mut pool, 4_900_000);
        assert!(is_new && pool.used + pool.kept <= pool.most, "{} {} {}", pool.used, pool.kept, pool.most);
        [small, large].into_iter().for_each(|memory| assert!(pool.keep(memory).is_none()));
    }

    #[test]
    fn a_buffer_has_the_length_asked_for_whatever_it_held_before() {
        for len in [3, 5000, 4999, 9000, 5000] {
            let mut buffer = Buffer::zeros(len);
            assert!(buffer.len() == len && buffer.iter().all(|x| *x == 0.0));
            buffer.fill(f32::NAN);
        }
        assert_eq!(&Buffer::copy(&[1.0, 2.0])[..], [1.0, 2.0]);
    }
}
