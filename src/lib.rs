//! Anneal: a self-hosted training service for verifiable-reward post-training of language models.
//!
//! Modules in reading order:
//!
//! * [`job`] what a job is: sections of specs, states, events. No I/O; everything else may use it.
//! * [`objective`], [`verifier`], [`dataset`], [`modelfile`] what is optimised, how completions are scored, what rows
//!   are, and what model files hold. They know only [`job`].
//! * [`spec`] what a job is to do: specs as they are submitted, and as they are run.
//! * `environment` what answers a model between its turns.
//! * [`device`] what devices this machine has and how they are.
//! * [`text`] tokenizers, chat templates and prompts.
//! * [`engine`] computes: sampling, training, checkpoints. It reports through a trait and knows neither the database
//!   nor HTTP.
//! * [`store`] the database and the data directory.
//! * [`worker`] claims a job from the store and runs the engine on it.
//! * `hub` the client of the model hub, `import` how models come into the data directory, `push` how exports leave it.
//! * [`webhook`] tells other servers what happens to jobs; `outbound` is how it and verifiers reach them.
//! * [`api`] the REST API; it meets the workers only in the store, and, for completions, on an idle worker's socket.
//! * [`cli`] the commands; [`config`] their settings, [`telemetry`] their logs, [`clock`] the time.

pub mod api;
pub mod cli;
pub mod clock;
pub mod config;
pub mod dataset;
pub mod device;
pub mod engine;
mod environment;
mod hub;
mod import;
pub mod job;
mod launcher;
pub mod modelfile;
pub mod objective;
mod outbound;
mod program;
mod push;
pub mod spec;
pub mod store;
pub mod telemetry;
pub mod text;
pub mod verifier;
pub mod webhook;
pub mod worker;
