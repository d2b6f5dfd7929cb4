//! Sweeps: one spec in several configurations and with several seeds, and what their results say.

pub mod expansion;
pub mod halving;
pub mod measure;
pub mod statistics;

use super::status::names;

names!(
    /// How far a sweep is.
    SweepStatus {
        /// Its trials begin as those before them end.
        Running = "running",
        /// Trials that run go on, and no other one begins.
        Paused = "paused",
        /// A client has ended it, and its jobs with it.
        Cancelled = "cancelled",
        /// All its jobs are over.
        Finished = "finished",
    }
);

/// Most trials of a sweep.
pub const MOST_TRIALS: usize = 1000;
