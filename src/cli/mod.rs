//! The commands of the program, one file each.

mod bench;
mod client;
mod frontier;
mod health;
mod keys;
mod models;
mod openapi;
mod progress;
mod quickstart;
mod run;
pub mod serve;
mod worker;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::config::{Config, SettingArgs};
use crate::telemetry;

/// Self-hosted training service for verifiable-reward post-training of language models.
///
/// `anneal serve` starts the REST API with one worker per device; jobs are submitted to it with curl, with
/// `anneal run`, or from any HTTP client. `anneal quickstart` shows all of it in about two minutes.
#[derive(Debug, Parser)]
#[command(name = "anneal", version = env!("ANNEAL_BUILD"), propagate_version = true)]
#[command(after_help = "First steps:
  anneal quickstart                       see a job improve a model, end to end
  anneal serve                            start the service on http://127.0.0.1:8080 (docs at /docs)
  anneal run examples/quickstart.json --wait
                                          submit a job to it and follow it

Settings come from flags, then ANNEAL_* variables, then ./anneal.toml.")]
pub struct Cli {
    #[command(flatten)]
    settings: SettingArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the API and a worker for every device
    Serve(serve::Args),
    /// Run jobs on one device (started by `serve`)
    Worker(worker::Args),
    /// Start a server, improve the built-in model with BOLT, download and check the result
    Quickstart(quickstart::Args),
    /// Submit a job to a server, and with --wait follow it to its end
    Run(run::Args),
    /// Show what a rollout set can teach at each temperature, as a table and a plot
    Frontier(frontier::Args),
    /// Measure the engine on this machine: matrix products, sampling, training
    Bench(bench::Args),
    /// Ask a running server whether it lives, for health checks
    Health(health::Args),
    /// Print the OpenAPI document
    Openapi,
    /// Make, list and revoke API keys, on the data directory
    #[command(subcommand)]
    Keys(keys::Command),
    /// Work with models
    #[command(subcommand)]
    Models(models::Command),
}

/// Runs a command.
pub fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let config = Config::load(cli.settings)?;
    match cli.command {
        Command::Serve(args) => {
            telemetry::start(&config.log)?;
            serve::run(config, &args)
        }
        Command::Worker(args) => {
            telemetry::start(&config.log)?;
            worker::run(config, args)
        }
        Command::Quickstart(args) => quickstart::run(config, &args),
        Command::Run(args) => run::run(&config, &args),
        Command::Frontier(args) => frontier::run(&config, &args),
        Command::Bench(args) => bench::run(&config, &args),
        Command::Health(args) => health::run(&config, &args),
        Command::Openapi => openapi::run(),
        Command::Keys(command) => keys::run(&config, command),
        Command::Models(command) => models::run(&config, command),
    }
}
