//! `anneal jobs list`

use std::process::ExitCode;

use super::super::client::{Client, escape};
use super::super::output::{Output, Table, age, member};
use super::super::remote::{PageArgs, items, tell_more};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal jobs list --status running
  anneal jobs list --search nightly --objective bolt
  anneal jobs list --metadata team=a --model builtin:arith-tiny")]
pub struct Args {
    /// Only jobs with this status, such as queued, running, paused, succeeded, failed or cancelled
    #[arg(long)]
    status: Option<String>,
    /// Only jobs of this kind: train, rollouts or evaluation
    #[arg(long)]
    kind: Option<String>,
    /// Only jobs with an objective of this type, such as bolt
    #[arg(long)]
    objective: Option<String>,
    /// Only jobs that start from this model or checkpoint, or measure it
    #[arg(long)]
    model: Option<String>,
    /// Only forks of this job
    #[arg(long, value_name = "JOB")]
    forks_of: Option<String>,
    /// Only jobs with this text in their names, or at the begin of their ids
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Only jobs with this pair of metadata; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    metadata: Vec<(String, String)>,
    #[command(flatten)]
    page: PageArgs,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write it as KEY=VALUE")?;
    Ok((format!("metadata[{}]", escape(key)), value.to_owned()))
}

pub fn run(client: &Client, output: Output, args: &Args) -> anyhow::Result<ExitCode> {
    let mut parameters = vec![
        ("status", args.status.clone()),
        ("kind", args.kind.clone()),
        ("objective", args.objective.clone()),
        ("model", args.model.clone()),
        ("forked_from", args.forks_of.clone()),
        ("q", args.search.clone()),
    ];
    parameters.extend(args.metadata.iter().map(|(name, value)| (name.as_str(), Some(value.clone()))));
    let list = args.page.list(client, "/v1/jobs", &parameters)?;
    output.answer(&list, || {
        let mut table = Table::new(&["ID", "STATUS", ">STEP", "OBJECTIVE", "CREATED", "NAME"]);
        for job in items(&list) {
            let step = match job["steps"].as_u64() {
                Some(steps) if steps > 0 => format!("{}/{steps}", member(job, "/step")),
                _ => String::from("-"),
            };
            let created = age(job["created_at"].as_i64());
            let text = |pointer| member(job, pointer);
            table.row([text("/id"), text("/status"), step, text("/objective"), created, text("/name")]);
        }
        table.text("there are no such jobs; `anneal run SPEC` submits one")
    });
    tell_more(&list, output);
    Ok(ExitCode::SUCCESS)
}
