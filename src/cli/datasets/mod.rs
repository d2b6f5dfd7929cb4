//! `anneal datasets ...`: lists, shows, uploads, pulls, checks and filters them and their versions.

mod builtins;
mod check;
mod filter;
mod get;
mod upload;

use std::process::ExitCode;

use clap::Subcommand;

use super::remote::RemoteArgs;
use crate::config::Config;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A data set is rows with a prompt and mostly an answer: JSON Lines, a JSON array, CSV, TSV or Parquet, also
packed with gzip or zstd. A version never changes.

Examples:
  anneal datasets upload sums.jsonl --name sums --prompt-column question --answer-column result
  anneal datasets upload train.csv.gz --map 'prompt={question} Answer with a number.' --map answer=result --preview
  anneal datasets pull hf:datasets/openai/gsm8k:main/train --name gsm8k
  anneal datasets append DATASET fresh.jsonl       more rows, which makes the next version
  anneal datasets upload sums.jsonl --split eval:0.05     a share held out, which stays that
  anneal datasets check DATASET --model hf:Qwen/Qwen3-0.6B
  anneal datasets filter DATASET --pass-rate ROLLOUT_SET --min 0.1 --max 0.9
  anneal datasets versions DATASET
  anneal datasets builtins                         what there is without a file
  anneal datasets builtins 'builtin:countdown?difficulty=3&seed=7'"
)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List data sets, the newest first
    List(get::ListArgs),
    /// List the data sets that are part of the program, or show one with some of its rows
    Builtins(builtins::Args),
    /// Show one data set
    Get(get::Args),
    /// Upload a data set, or a whole new version of one
    Upload(upload::Args),
    /// Make a data set of rows of the hub
    Pull(upload::PullArgs),
    /// Add rows to a data set, which makes its next version
    Append(upload::AppendArgs),
    /// Look for rows that repeat others, for held-out rows that are trained on, and count tokens
    Check(check::Args),
    /// Keep some rows of a data set, which makes its next version
    Filter(filter::Args),
    /// List the versions of a data set
    Versions(get::VersionArgs),
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| match &args.command {
        Command::List(args) => get::list(client, output, args),
        Command::Builtins(args) => builtins::builtins(client, output, args),
        Command::Get(args) => get::get(client, output, args),
        Command::Upload(args) => upload::upload(client, output, args),
        Command::Pull(args) => upload::pull(client, output, args),
        Command::Append(args) => upload::append(client, output, args),
        Command::Check(args) => check::run(client, output, args),
        Command::Filter(args) => filter::run(client, output, args),
        Command::Versions(args) => get::versions(client, output, args),
    })
}
