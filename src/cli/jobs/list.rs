//! `anneal jobs list`

use std::process::ExitCode;

use super::super::client::Client;
use super::super::output::{Output, Table, age, member};
use super::super::remote::{PageArgs, items, tell_more};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only jobs with this status, such as queued, running, paused, succeeded, failed or cancelled
    #[arg(long)]
    status: Option<String>,
    #[command(flatten)]
    page: PageArgs,
}

pub fn run(client: &Client, output: Output, args: &Args) -> anyhow::Result<ExitCode> {
    let list = args.page.list(client, "/v1/jobs", &[("status", args.status.clone())])?;
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
