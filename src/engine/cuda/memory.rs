//! Memory of a device, kept for the next piece of its size when it is given back: taking it from the driver is slow and
//! waits for the device. Because all work is done in order, memory can be used again as soon as it is given back.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::driver::{DeviceError, Driver, Kind, Pointer, Result};

/// Sizes are multiples of this.
const GRAIN: usize = 512;

/// Free memory by size.
pub struct Pool {
    driver: Arc<dyn Driver>,
    /// Whether free memory may go back to the driver: not while a recorded pass will use it again.
    trims: bool,
    free: Mutex<BTreeMap<usize, Vec<Pointer>>>,
}

impl Pool {
    pub fn new(driver: Arc<dyn Driver>) -> Arc<Self> {
        Arc::new(Self { driver, trims: true, free: Mutex::default() })
    }

    /// A pool that keeps what it has taken until it is dropped, for passes that are recorded with its memory.
    pub fn for_recordings(driver: Arc<dyn Driver>) -> Arc<Self> {
        Arc::new(Self { driver, trims: false, free: Mutex::default() })
    }

    /// `len` numbers of any value.
    pub fn take(self: &Arc<Self>, kind: Kind, len: usize) -> Result<Memory> {
        let bytes = rounded((len * kind.bytes()).max(1));
        let kept = self.free().get_mut(&bytes).and_then(Vec::pop);
        let pointer = match kept {
            Some(pointer) => pointer,
            None => self.allocate(bytes)?,
        };
        Ok(Memory { pointer, bytes, kind, len, pool: Arc::clone(self) })
    }

    fn allocate(&self, bytes: usize) -> Result<Pointer> {
        match self.driver.allocate(bytes) {
            Err(DeviceError::OutOfMemory { .. }) if self.trims => {
                // Free memory of other sizes may be what is missing.
                self.driver.synchronize()?;
                self.trim();
                self.driver.allocate(bytes)
            }
            other => other,
        }
    }

    /// Bytes that are free here.
    pub fn free_bytes(&self) -> u64 {
        self.free().iter().map(|(bytes, pointers)| (bytes * pointers.len()) as u64).sum()
    }

    /// Gives all free memory back to the driver.
    pub fn trim(&self) {
        let free = std::mem::take(&mut *self.free());
        free.into_values().flatten().for_each(|pointer| self.driver.release(pointer));
    }

    fn free(&self) -> std::sync::MutexGuard<'_, BTreeMap<usize, Vec<Pointer>>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.trim();
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({} sizes)", self.free().len())
    }
}

/// The next of eight steps between two powers of two, so that sizes that differ a little share their memory.
fn rounded(bytes: usize) -> usize {
    let step = (bytes.next_power_of_two() / 8).max(GRAIN);
    bytes.next_multiple_of(step)
}

/// Numbers of one kind in a device's memory, which goes back to its pool.
pub struct Memory {
    pointer: Pointer,
    bytes: usize,
    kind: Kind,
    len: usize,
    pool: Arc<Pool>,
}

impl Memory {
    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn pointer(&self) -> Pointer {
        self.pointer
    }

    /// The address of one number.
    pub fn at(&self, index: usize) -> Pointer {
        debug_assert!(index <= self.len);
        self.pointer + (index * self.kind.bytes()) as u64
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.pool.free().entry(self.bytes).or_default().push(self.pointer);
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({} x {:?})", self.len, self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up_by_an_eighth_at_most() {
        for bytes in [1, 511, 512, 513, 5000, 1 << 20, (1 << 20) + 1, 123_456_789] {
            let rounded = rounded(bytes);
            assert!(rounded >= bytes && rounded.is_multiple_of(GRAIN));
            assert!(rounded <= bytes + bytes / 4 + GRAIN, "{bytes} became {rounded}");
        }
    }
}
