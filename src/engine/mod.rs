//! The engine: everything that computes; it knows devices and tensors, but neither job rows nor HTTP. What it does
//! is told to a [`report::Reporter`].
//!
//! Read [`train`] first: it is the algorithm. [`trainer`] holds the state it works on, `step` is one step, [`actor`]
//! samples and scores.

pub mod actor;
pub mod artifact;
pub mod backend;
pub mod batch;
mod beside;
pub mod choice;
pub mod collective;
mod control;
mod conversation;
pub mod cpu;
pub mod cuda;
mod curriculum;
pub mod device;
pub mod digested;
pub mod driver;
pub mod error;
pub mod evaluate;
pub mod evaluation;
pub mod export;
mod fresh;
pub mod gradients;
pub mod kernels;
pub mod learn;
pub mod limits;
pub mod link;
pub mod loading;
mod measure;
pub mod memory;
pub mod model;
pub mod moments;
pub mod ops;
pub mod optimizer;
pub mod projection;
pub mod random;
pub mod regrade;
pub mod report;
pub mod responder;
pub mod rollout;
pub mod rollout_set;
mod round;
pub mod rows;
pub mod sample;
mod sample_log;
pub mod sampler;
pub mod schedule;
pub mod shares;
mod state;
mod step;
pub mod threads;
pub mod train;
pub mod trainer;
mod training_job;
mod variance;
pub mod verification;
pub mod verify;
mod visits;

pub use actor::ActorSpec;
pub use curriculum::chosen_rows;
pub use error::{EngineError, Stop};
pub use evaluation::{EvaluationJob, evaluate};
pub use export::{Card, CardBase, Evaluated, ExportTask, export};
pub use regrade::{RegradingJob, regrade};
pub use report::Reporter;
pub use sample::{SamplingJob, sample};
pub use state::products;
pub use train::{Outcome, run};
pub use training_job::Job;
