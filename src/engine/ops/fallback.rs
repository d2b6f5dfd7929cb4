//! Counts operations that did not run in their fast form, so that none is slow without anyone noticing:
//! `anneal bench` prints the list, and the worker logs it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::engine::kernels::{Instructions, instructions};

static COUNTS: Mutex<BTreeMap<&'static str, u64>> = Mutex::new(BTreeMap::new());

/// Counts one call of `what` that took the slow way.
pub fn note(what: &'static str) {
    *COUNTS.lock().unwrap_or_else(PoisonError::into_inner).entry(what).or_default() += 1;
}

/// Counts one call of `what` when the processor has no vector instructions that its kernel knows.
pub fn note_portable(what: &'static str) {
    if instructions() == Instructions::Portable {
        note(what);
    }
}

/// What was counted since the process started.
pub fn list() -> Vec<(&'static str, u64)> {
    COUNTS.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|(what, count)| (*what, *count)).collect()
}
