//! `anneal jobs fork`: a changed copy of a job.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::ValueEnum;
use serde_json::{Value, json};

use super::super::assignment::Assignment;
use super::super::client::{Client, escape};
use super::super::output::{Output, member};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal jobs fork JOB --set /train/steps=400
  anneal jobs fork JOB --set /objective/beta=0.1 --unset /budget --name sharper
  anneal jobs fork JOB --from checkpoint           train the finished model further
  anneal jobs fork JOB --control shuffled-rewards  what is reached without what the verifier says
  anneal jobs fork JOB --patch changes.json        a JSON Patch (RFC 6902)")]
pub struct Args {
    /// The job to copy, job_...
    job: String,
    /// Change a member of the spec, by JSON pointer; a value that is not JSON is a text
    #[arg(long, value_name = "POINTER=VALUE")]
    set: Vec<Assignment>,
    /// Remove a member of the spec, by JSON pointer
    #[arg(long, value_name = "POINTER")]
    unset: Vec<String>,
    /// A file with a JSON Patch, applied before --unset and --set
    #[arg(long, value_name = "FILE")]
    patch: Option<PathBuf>,
    /// A name for the copy
    #[arg(long)]
    name: Option<String>,
    /// The model to begin with: `start`, the one that the job began with; `checkpoint`, the one that it made; or any
    /// checkpoint, ckpt_... [default: start]
    #[arg(long, value_name = "WHERE")]
    from: Option<String>,
    /// Make it a control run, with which `anneal jobs report` compares the job
    #[arg(long, value_enum)]
    control: Option<Control>,
}

/// What a control run leaves as it is but for one thing.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Control {
    /// The completions of a prompt exchange their rewards
    ShuffledRewards,
    /// Rewards are 0 or 1 by chance
    RandomRewards,
    /// As many rows of those that the job's were filtered from
    UnfilteredPrompts,
}

pub fn run(client: &Client, output: Output, args: &Args) -> anyhow::Result<ExitCode> {
    let mut patch = match &args.patch {
        Some(path) => {
            let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            match serde_json::from_str(&text).with_context(|| format!("{} is not valid JSON", path.display()))? {
                Value::Array(operations) => operations,
                _ => bail!("{} is not a JSON Patch, which is a list of operations", path.display()),
            }
        }
        None => Vec::new(),
    };
    patch.extend(args.unset.iter().map(|pointer| json!({"op": "remove", "path": pointer})));
    patch.extend(args.set.iter().map(Assignment::operation));
    let mut body = json!({"patch": patch});
    if let Some(name) = &args.name {
        body["name"] = json!(name);
    }
    if let Some(from) = &args.from {
        body["from"] = json!(from);
    }
    if let Some(control) = args.control {
        body["control"] = json!(match control {
            Control::ShuffledRewards => "shuffled_rewards",
            Control::RandomRewards => "random_rewards",
            Control::UnfilteredPrompts => "unfiltered_prompts",
        });
    }
    let job = client.post(&format!("/v1/jobs/{}/fork", escape(&args.job)), &body)?;
    output.answer(&job, || format!("{}\n", member(&job, "/id")));
    if !output.json {
        eprintln!("follow it with: anneal jobs watch {}", member(&job, "/id"));
    }
    Ok(ExitCode::SUCCESS)
}
