//! The model: its decoder forward and backward, its weights and its key-value cache.

mod backward;
pub mod cache;
pub mod decoder;
pub mod head;
pub mod weights;

pub use backward::Pass;
