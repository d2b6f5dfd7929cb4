//! The model: its decoder, its weights and its key-value cache.

pub mod cache;
pub mod decoder;
pub mod weights;
