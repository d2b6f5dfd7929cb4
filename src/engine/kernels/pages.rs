//! Memory in large pages, where the system has them for the asking: long arrays are then walked with few address
//! translations, and fresh memory arrives in few faults.

use std::mem::ManuallyDrop;
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
/// what it gives others of a range that was once advised arrives in large pages too. A range can be cut, and joined with the
/// one behind it.
pub struct Pages {
    first: NonNull<f32>,
    len: usize,
}

/// Numbers of a range are a multiple of this: pages have at most 64 KiB.
const GRAIN: usize = (64 << 10) / size_of::<f32>();

// Safety: nobody else has the memory.
unsafe impl Send for Pages {}
unsafe impl Sync for Pages {}

impl Pages {
    /// How many numbers a range for `len` has; nothing where there are too few of them to be worth it, or too many, or no ranges.
    pub fn size(len: usize) -> Option<usize> {
        let bytes = len.checked_next_multiple_of(GRAIN)?.checked_mul(size_of::<f32>())?;
        (cfg!(target_os = "linux") && len >= WORTHWHILE / size_of::<f32>()).then_some(bytes / size_of::<f32>())
    }

    /// As many numbers, and up to a multiple of what a range is cut by.
    pub fn grains(len: usize) -> usize {
        len.next_multiple_of(GRAIN)
    }

    /// [`Self::size`] zeros, for at least `len`; nothing where the system has no such memory.
    #[cfg(target_os = "linux")]
    pub fn zeros(len: usize) -> Option<Self> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

        let len = Self::size(len)?;
        let (rights, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // Safety: the system chooses the place, where nothing is yet.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), len * size_of::<f32>(), rights, flags) }.ok()?;
        let pages = Self { first: NonNull::new(start.cast())?, len };
        advise(&pages);
        Some(pages)
    }

    #[cfg(not(target_os = "linux"))]
    pub fn zeros(_len: usize) -> Option<Self> {
        None
    }

    /// The address of the first number.
    pub fn start(&self) -> usize {
        self.first.as_ptr().addr()
    }

    /// The address behind the last one.
    pub fn end(&self) -> usize {
        self.start() + self.len * size_of::<f32>()
    }

    /// The first `len` numbers, a multiple of `GRAIN`, and the others.
    pub fn cut(self, len: usize) -> (Self, Option<Self>) {
        assert!(len.is_multiple_of(GRAIN) && (1..=self.len).contains(&len), "{len} numbers of {}", self.len);
        let whole = ManuallyDrop::new(self);
        // Safety: the place lies within the range, or right behind it.
        let behind = unsafe { whole.first.add(len) };
        let left = whole.len - len;
        (Self { first: whole.first, len }, (left > 0).then(|| Self { first: behind, len: left }))
    }

    /// Both, where `next` begins right behind this range.
    pub fn join(self, next: Self) -> Self {
        assert_eq!(self.end(), next.start(), "ranges that do not touch");
        let (own, next) = (ManuallyDrop::new(self), ManuallyDrop::new(next));
        Self { first: own.first, len: own.len + next.len }
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
        // Safety: nobody borrows them any more. What was mapped can be given back in whole
        // pages, whatever the ranges were that it came in; the middle of one alone unless the process has tens of thousands of them.
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
        assert!(pages.len() == 19 * GRAIN && pages.iter().all(|x| *x == 0.0));
        pages.fill(2.0);
        assert_eq!(pages.iter().map(|x| f64::from(*x)).sum::<f64>(), 38.0 * GRAIN as f64);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn ranges_keep_their_numbers_when_they_are_cut_and_joined() {
        let mut pages = Pages::zeros(40 * GRAIN).unwrap();
        (0_u16..).zip(pages.iter_mut().step_by(GRAIN)).for_each(|(at, x)| *x = f32::from(at));
        let (first, rest) = pages.cut(3 * GRAIN);
        let (second, third) = rest.unwrap().cut(30 * GRAIN);
        assert_eq!(
            (first[2 * GRAIN], second[0], second.len(), second.end()),
            (2.0, 3.0, 30 * GRAIN, third.as_ref().unwrap().start())
        );
        // One in the middle goes back to the system alone.
        drop(second);
        let (third, none) = third.unwrap().cut(7 * GRAIN);
        assert_eq!((third[6 * GRAIN], none.is_none()), (39.0, true));
        let (one, other) = third.cut(GRAIN);
        assert_eq!(one.join(other.unwrap())[GRAIN], 34.0);
    }
}
