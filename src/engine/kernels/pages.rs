//! Memory in large pages, where the system has them for the asking: long arrays are then walked with few address
//! translations, and fresh memory arrives in few faults.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Arrays of fewer bytes are not worth it: half of a large page.
const WORTHWHILE: usize = 1 << 20;

/// `len` zeros.
pub fn zeros<T: Clone + Default>(len: usize) -> Vec<T> {
    let values = vec![T::default(); len];
    advise(&values);
    values
}

/// The same numbers, in large pages when there are enough of them.
pub fn moved(values: Vec<f32>) -> Vec<f32> {
    if size_of_val(&values[..]) < WORTHWHILE {
        return values;
    }
    let mut copy = zeros(values.len());
    copy.copy_from_slice(&values);
    copy
}

/// Numbers in memory that comes from the system and goes back to it at once: what an allocator gets back it may keep, and
/// what it gives others of a range that was once advised arrives in large pages too.
pub struct Pages {
    first: NonNull<f32>,
    len: usize,
}

// Safety: nobody else has the memory.
unsafe impl Send for Pages {}
unsafe impl Sync for Pages {}

impl Pages {
    /// `len` zeros; nothing where there are too few of them to be worth it, or the system has no such memory.
    #[cfg(target_os = "linux")]
    pub fn zeros(len: usize) -> Option<Self> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

        let bytes = len.checked_mul(size_of::<f32>()).filter(|bytes| *bytes >= WORTHWHILE)?;
        let (rights, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // Safety: the system chooses the place, where nothing is yet.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, rights, flags) }.ok()?;
        let pages = Self { first: NonNull::new(start.cast())?, len };
        advise(&pages);
        Some(pages)
    }

    #[cfg(not(target_os = "linux"))]
    pub fn zeros(_len: usize) -> Option<Self> {
        None
    }
}

impl Deref for Pages {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        // Safety: as many numbers were mapped, and are there until they are dropped; any bits are a number.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [f32] {
        // Safety: as above, and they are borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.len) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        // Safety: nobody borrows them any more. A range that was mapped as a whole can be given back as a whole.
        if let Err(error) = unsafe { rustix::mm::munmap(self.first.as_ptr().cast(), self.len * size_of::<f32>()) } {
            tracing::warn!(%error, "memory was not given back");
        }
    }
}

#[cfg(target_os = "linux")]
fn advise<T>(values: &[T]) {
    const PAGE: usize = 4096;
    let range = values.as_ptr_range();
    let (start, end) = ((range.start as usize).next_multiple_of(PAGE), range.end as usize / PAGE * PAGE);
    if end.saturating_sub(start) < WORTHWHILE {
        return;
    }
    // Safety: the range lies within the array, and the advice changes no contents. A system without large pages
    // refuses, which costs nothing but their speed.
    let advice = rustix::mm::Advice::LinuxHugepage;
    if let Err(error) = unsafe { rustix::mm::madvise(start as *mut std::ffi::c_void, end - start, advice) } {
        tracing::debug!(%error, "no large pages");
    }
}

#[cfg(not(target_os = "linux"))]
fn advise<T>(_: &[T]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn pages_are_zeros_that_can_be_written_and_small_arrays_get_none() {
        assert!(Pages::zeros(1000).is_none() && Pages::zeros(usize::MAX).is_none());
        let mut pages = Pages::zeros(300_001).unwrap();
        assert!(pages.len() == 300_001 && pages.iter().all(|x| *x == 0.0));
        pages.fill(2.0);
        assert_eq!(pages.iter().map(|x| f64::from(*x)).sum::<f64>(), 600_002.0);
    }
}
