//! The `anneal` program: arguments, settings, one command.

use std::process::ExitCode;

use anneal::cli::Cli;
use clap::FromArgMatches;

/// The system allocator gives memory back to the kernel after every tensor; this one keeps it at hand.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::from_arg_matches(&anneal::cli::command().get_matches()).unwrap_or_else(|error| error.exit());
    match anneal::cli::run(cli) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
