//! Memory for intermediate results, kept for the next operation when one is done with it: fresh memory is dear, because
//! the kernel clears every page of it.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use super::pages;

/// Smaller buffers are left to the allocator.
const POOLED: usize = 1 << 12;
/// Free buffers that are kept; the smallest is given back when there are more.
const KEPT: usize = 4096;

static FREE: Mutex<Vec<Vec<f32>>> = Mutex::new(Vec::new());

/// Numbers whose memory goes back to a pool.
#[derive(Default)]
pub struct Buffer(Vec<f32>);

impl Buffer {
    /// `len` numbers of any value, for results that are written in full.
    pub fn new(len: usize) -> Self {
        if len < POOLED {
            return Self(vec![0.0; len]);
        }
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |v: &Vec<f32>| v.capacity() >= len && v.capacity() <= 2 * len;
        let best = free.iter().enumerate().filter(|(_, v)| fits(v)).min_by_key(|(_, v)| v.capacity()).map(|(i, _)| i);
        let found = best.map(|i| free.swap_remove(i));
        drop(free);
        match found {
            None => Self(pages::zeros(len)),
            Some(mut values) => {
                values.resize(len, 0.0);
                Self(values)
            }
        }
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
    FREE.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.0.capacity() >= POOLED {
            let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
            free.push(std::mem::take(&mut self.0));
            if free.len() > KEPT {
                let least = free.iter().enumerate().min_by_key(|(_, v)| v.capacity()).map(|(i, _)| i);
                least.map(|i| free.swap_remove(i));
            }
        }
    }
}

impl Deref for Buffer {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        &self.0
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.0
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
