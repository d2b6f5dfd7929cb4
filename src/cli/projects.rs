//! `anneal projects`: what each project may use, and uses.

use std::process::ExitCode;

use super::output::{Table, member, size};
use super::remote::{PageArgs, RemoteArgs, items, tell_more};
use crate::config::Config;

#[derive(Debug, clap::Args)]
#[command(after_help = "Example: anneal projects --json | jq '.data[] | {id, usage}'

This needs the scope admin, for the project of the key, or operator for all. Operators set limits with
PUT /v1/projects/NAME (docs/operation.md).")]
pub struct Args {
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| {
        let list = args.page.list(client, "/v1/projects", &[])?;
        output.answer(&list, || {
            let mut table = Table::new(&["PROJECT", ">UNFINISHED", ">DEVICES", ">STORED", ">SHARE"]);
            for project in items(&list) {
                let share = project["limits"]["share"].as_u64().unwrap_or(1).to_string();
                let stored = size(project["usage"]["storage_bytes"].as_u64());
                let text = |pointer| member(project, pointer);
                table.row([text("/id"), text("/usage/unfinished_jobs"), text("/usage/devices"), stored, share]);
            }
            table.text("there are no projects")
        });
        tell_more(&list, output);
        Ok(ExitCode::SUCCESS)
    })
}
