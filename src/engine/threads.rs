//! Threads that compute.

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::error::EngineError;

/// The stack of each.
const STACK_BYTES: usize = 32 << 20;

/// So many of them; the engine itself runs on one.
pub fn compute_threads(count: usize) -> ThreadPoolBuilder {
    let builder = ThreadPoolBuilder::new().num_threads(count);
    builder.thread_name(|index| format!("compute-{index}")).stack_size(STACK_BYTES)
}

/// A pool as large as the one of the caller, for work beside it: neither waits for the other's to end.
pub fn beside() -> Result<ThreadPool, EngineError> {
    let pool = compute_threads(rayon::current_num_threads()).build();
    pool.map_err(|error| EngineError::Internal(error.to_string()))
}
