//! `anneal jobs ...`: a file a command, or one for several that do alike.

mod act;
mod compare;
pub mod describe;
mod diagnose;
mod events;
pub mod follow;
mod fork;
mod get;
mod list;
mod metrics;
mod report;
mod tensorboard;
pub mod wait;

use std::process::ExitCode;

use clap::Subcommand;

use super::remote::RemoteArgs;
use crate::config::Config;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal jobs list --status running
  anneal jobs get JOB                        what it is, how far it is, why it waits or failed
  anneal jobs watch JOB                      live progress; ends with the job
  anneal jobs fork JOB --set /optimizer/learning_rate=3e-5 --name hotter
  anneal jobs metrics JOB --keys loss,reward/mean --csv > curve.csv
  anneal jobs diagnose JOB                   what its metrics show to be wrong
  anneal jobs report JOB --format junit --output report.xml
  anneal jobs list --all --json | jq -r '.data[] | select(.status == \"failed\") | .id'")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List jobs, the newest first
    List(list::Args),
    /// Show one job
    Get(get::Args),
    /// Follow a job with live progress until it is over
    Watch(wait::WatchArgs),
    /// Wait for a job silently
    Wait(wait::WaitArgs),
    /// End a job early; what it has learned so far is not kept as a model
    Cancel(act::Args),
    /// Save a job and free its device; `resume` goes on from there
    Pause(act::Args),
    /// Put a job that is paused, has failed or was cancelled back into the queue; it goes on where it was
    Resume(act::Args),
    /// Have the server prove that a resumed job ends with the same weights as one that was never interrupted
    VerifyResume(act::Args),
    /// Submit a changed copy of a job
    Fork(fork::Args),
    /// Say what a job's metrics show to be wrong, and what would help
    Diagnose(diagnose::Args),
    /// Show where jobs differ, and what came of it
    Compare(compare::Args),
    /// Print a job's report as Markdown, JSON or JUnit
    Report(report::Args),
    /// Show a job's metrics
    Metrics(metrics::Args),
    /// Write metrics where TensorBoard looks for them, and go on with it while jobs run
    Tensorboard(tensorboard::Args),
    /// Print a job's log of events
    Events(events::Args),
    /// Delete a job with all that it made
    Delete(act::DeleteArgs),
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| match &args.command {
        Command::List(args) => list::run(client, output, args),
        Command::Get(args) => get::run(client, output, args),
        Command::Watch(args) => wait::watch(client, output, args),
        Command::Wait(args) => wait::wait(client, output, args),
        Command::Cancel(args) => act::run(client, output, args, "cancel"),
        Command::Pause(args) => act::run(client, output, args, "pause"),
        Command::Resume(args) => act::run(client, output, args, "resume"),
        Command::VerifyResume(args) => act::run(client, output, args, "verify-resume"),
        Command::Fork(args) => fork::run(client, output, args),
        Command::Diagnose(args) => diagnose::run(client, output, args),
        Command::Compare(args) => compare::run(client, output, args),
        Command::Report(args) => report::run(client, output, args),
        Command::Metrics(args) => metrics::run(client, output, args),
        Command::Tensorboard(args) => tensorboard::run(client, output, args),
        Command::Events(args) => events::run(client, output, args),
        Command::Delete(args) => act::delete(client, output, args),
    })
}
