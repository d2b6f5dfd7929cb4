//! The `anneal` program: arguments, settings, one command.

use std::process::ExitCode;

use anneal::cli::Cli;
use clap::Parser;

/// The system allocator gives memory back to the kernel after every tensor; this one keeps it at hand.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match anneal::cli::run(Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
