//! `anneal sandbox`: a process for one task of the server, with limits.

use std::io::{stdin, stdout};
use std::process::ExitCode;

use anyhow::{anyhow, bail};
use rustix::process::{Resource, Signal, set_parent_process_death_signal};

use super::limits::{bound, step_back};
use crate::api::datasets::prompts::RowPrompts;
use crate::api::datasets::token_lengths::Counting;
use crate::api::imports::ModelTrial;
use crate::api::jobs::preflight::PromptCheck;
use crate::api::sandbox::{FAILED, Task, perform};
use crate::api::templates::TemplateTrial;
use crate::api::verifiers::judge::Judging;
use crate::api::verifiers::probes::Audit;
use crate::verifier::sandbox::FILE_BYTES;

/// Address space: several times what the tokenizers of the largest vocabularies take.
const MEMORY_BYTES: u64 = 4 << 30;
/// Deeper recursion ends the process.
const STACK_BYTES: usize = 16 << 20;
const OPEN_FILES: u64 = 256;
/// Requests come first.
const NICENESS: i32 = 10;
const OUT_OF_MEMORY_SCORE: u16 = 1000;

#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The task, which standard input describes
    task: String,
    /// Seconds of processor time after which the process is ended
    #[arg(long)]
    seconds: u64,
}

/// Does a task under the limits.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // A task that writes to its standard output alone, which is no file, writes none. Programs are handed on in files that
    // are in memory.
    let judges = [Judging::NAME, Audit::NAME].contains(&args.task.as_str());
    let limits = [
        (Resource::As, MEMORY_BYTES),
        (Resource::Cpu, args.seconds),
        (Resource::Nofile, OPEN_FILES),
        (Resource::Fsize, if judges { FILE_BYTES } else { 0 }),
        (Resource::Core, 0),
    ];
    for (resource, limit) in limits {
        bound(resource, limit)?;
    }
    step_back(NICENESS, OUT_OF_MEMORY_SCORE);
    let perform: fn() -> std::io::Result<()> = match args.task.as_str() {
        Judging::NAME => || perform::<Judging>(stdin(), stdout()),
        Audit::NAME => || perform::<Audit>(stdin(), stdout()),
        PromptCheck::NAME => || perform::<PromptCheck>(stdin(), stdout()),
        RowPrompts::NAME => || perform::<RowPrompts>(stdin(), stdout()),
        Counting::NAME => || perform::<Counting>(stdin(), stdout()),
        TemplateTrial::NAME => || perform::<TemplateTrial>(stdin(), stdout()),
        ModelTrial::NAME => || perform::<ModelTrial>(stdin(), stdout()),
        other => bail!("there is no task `{other}`"),
    };
    let done = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(perform)?;
    Ok(match done.join().map_err(|_| anyhow!("the task panicked"))? {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(FAILED),
    })
}
