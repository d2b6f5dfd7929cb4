//! Memory in large pages, where the system has them for the asking: long arrays are then walked with few address
//! translations, and fresh memory arrives in few faults.

/// Arrays of fewer bytes are not worth it: half of a large page.
const WORTHWHILE: usize = 1 << 20;

/// `len` zeros.
pub fn zeros(len: usize) -> Vec<f32> {
    let values = vec![0.0; len];
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

#[cfg(target_os = "linux")]
fn advise(values: &[f32]) {
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
fn advise(_: &[f32]) {}
