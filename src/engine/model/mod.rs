//! The model: its decoder forward and backward, its weights and its key-value cache.

mod backward;
pub mod cache;
pub mod decoder;
mod feed;
pub mod head;
mod layers;
pub mod weights;

pub use backward::Pass;
