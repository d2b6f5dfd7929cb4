//! `anneal exporter`: a process that makes one export for the server.

use std::io::{stdin, stdout};
use std::process::ExitCode;

use rustix::process::{Signal, set_parent_process_death_signal};

use super::limits::step_back;
use crate::worker::exports::perform;

/// Requests and jobs come first.
const NICENESS: i32 = 12;
const OUT_OF_MEMORY_SCORE: u16 = 800;

pub fn run() -> anyhow::Result<ExitCode> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    step_back(NICENESS, OUT_OF_MEMORY_SCORE);
    perform(stdin().lock(), stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}
