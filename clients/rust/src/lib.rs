#[allow(clippy::all, missing_docs, unused)]
mod generated;
pub use generated::*;
