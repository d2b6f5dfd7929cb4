//! Memory for intermediate results, kept for the next operation when one is done with it: fresh memory is dear, because
//! the kernel clears every page of it. What is in use and what is kept are together never more than was once in use.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::pages::Pages;

/// Smaller buffers are left to the allocator.
const POOLED: usize = 1 << 12;
/// Free buffers that are kept; the smallest is given back when there are more.
const KEPT: usize = 4096;

static POOL: Mutex<Pool> = Mutex::new(Pool { free: Vec::new(), kept: 0, used: 0, most: 0 });

/// Where the numbers of a buffer are.
enum Memory {
    Heap(Vec<f32>),
    Pages(Pages),
}

impl Memory {
    fn zeros(len: usize) -> Self {
        Pages::zeros(len).map_or_else(|| Self::Heap(vec![0.0; len]), Self::Pages)
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
    free: Vec<Memory>,
    /// Numbers that there is room for in it.
    kept: usize,
    /// Numbers that there is room for in buffers in use.
    used: usize,
    /// The most of them at a time since memory was released.
    most: usize,
}

impl Pool {
    /// Free memory for `len` numbers, or what is to be given back before there is other memory.
    fn take(&mut self, len: usize) -> Result<Memory, Vec<Memory>> {
        // What stands empty in one counts as in use.
        let fits = |memory: &Memory| memory.len() >= len && memory.len() <= len + len / 8;
        let fitting = self.free.iter().enumerate().filter(|(_, memory)| fits(memory));
        let best = fitting.min_by_key(|(_, memory)| memory.len()).map(|(i, _)| i);
        if let Some(i) = best {
            let memory = self.free.remove(i);
            self.kept -= memory.len();
            self.used += memory.len();
            self.most = self.most.max(self.used);
            return Ok(memory);
        }
        self.used += len;
        self.most = self.most.max(self.used);
        let mut count = 0;
        while self.used + self.kept > self.most && count < self.free.len() {
            self.kept -= self.free[count].len();
            count += 1;
        }
        Err(self.free.drain(..count).collect())
    }

    /// Keeps memory that is no longer in use; what is then too much is to be given back.
    fn keep(&mut self, memory: Memory) -> Option<Memory> {
        self.used = self.used.saturating_sub(memory.len());
        self.kept += memory.len();
        self.free.push(memory);
        if self.free.len() <= KEPT {
            return None;
        }
        let least = self.free.iter().enumerate().min_by_key(|(_, memory)| memory.len()).map(|(i, _)| i)?;
        let memory = self.free.remove(least);
        self.kept -= memory.len();
        Some(memory)
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
    let free = std::mem::take(&mut pool.free);
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
        let mut pool = Pool { free: Vec::new(), kept: 0, used: 0, most: 0 };
        let take = |pool: &mut Pool, len: usize| pool.take(len).unwrap_or_else(|_| Memory::Heap(vec![0.0; len]));
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
