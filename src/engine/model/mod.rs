//! The model: its decoder forward and backward, its weights and its key-value cache.

pub mod adapter;
mod backward;
pub mod cache;
pub mod decoder;
mod feed;
pub mod head;
mod layers;
mod lengths;
mod magnitudes;
pub mod principal;
pub mod reader;
pub mod weights;

pub use backward::Pass;
