//! The engine: everything that computes. It knows devices and tensors, but neither job rows nor HTTP; what it does
//! is told to a [`report::Reporter`].
//!
//! Read [`train`] first: it is the algorithm. [`trainer`] holds the state it works on.

pub mod batch;
pub mod checkpoint;
pub mod device;
pub mod error;
pub mod evaluate;
pub mod model;
pub mod ops;
pub mod optimizer;
pub mod random;
pub mod report;
pub mod rollout;
pub mod sampler;
pub mod schedule;
mod state;
pub mod train;
pub mod trainer;
pub mod verify;

pub use error::{EngineError, Stop};
pub use report::Reporter;
pub use train::{Outcome, run};
pub use trainer::Job;
