//! The model: its decoder, its weights and its way from text to tokens and back.

pub mod cache;
pub mod chat;
pub mod decoder;
pub mod tokenizer;
pub mod weights;
