//! `anneal devices`: what devices there are, and which job holds which.

use std::process::ExitCode;

use super::output::{Table, member, size};
use super::remote::{RemoteArgs, items};
use crate::config::Config;

#[derive(Debug, clap::Args)]
#[command(after_help = "Example: anneal devices --json | jq -r '.data[] | select(.status == \"faulted\") | .fault'")]
pub struct Args {
    #[command(flatten)]
    remote: RemoteArgs,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| {
        let list = client.get("/v1/devices")?;
        output.answer(&list, || {
            let mut table = Table::new(&["ID", "STATUS", ">FREE", ">MEMORY", "JOB", "DEVICE", "FAULT"]);
            for device in items(&list) {
                table.row([
                    member(device, "/id"),
                    member(device, "/status"),
                    size(device["memory_free"].as_u64()),
                    size(device["memory_total"].as_u64()),
                    member(device, "/job"),
                    member(device, "/description"),
                    member(device, "/fault"),
                ]);
            }
            table.text("the server has no devices")
        });
        Ok(ExitCode::SUCCESS)
    })
}
