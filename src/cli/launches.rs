//! `anneal launches`: machines that a cluster's scheduler starts for jobs that no device fits.

use std::process::ExitCode;

use serde_json::Value;

use super::output::{Table, member};
use super::remote::{RemoteArgs, items};
use crate::config::Config;
use crate::launcher::SCRIPT;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Launchers stand in the settings file of the server, as tables [[launchers]]; docs/cluster.md has one for
Slurm.

Examples:
  anneal launches --json | jq -r '.data[] | select(.status == \"failed\") | .message'
  anneal launches --script >slurm-launch.sh   # to change, and to name in the settings"
)]
pub struct Args {
    #[command(flatten)]
    remote: RemoteArgs,
    /// How many, the newest first
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
    /// Print the script that Slurm is given, and nothing else
    #[arg(long)]
    script: bool,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    if args.script {
        print!("{SCRIPT}");
        return Ok(ExitCode::SUCCESS);
    }
    args.remote.run(config, |client, output| {
        let list = client.get(&format!("/v1/launches?limit={}", args.limit))?;
        output.answer(&list, || table(items(&list)));
        Ok(ExitCode::SUCCESS)
    })
}

pub(super) fn table<'a>(launches: impl IntoIterator<Item = &'a Value>) -> String {
    let mut table = Table::new(&["ID", "LAUNCHER", "STATUS", "REFERENCE", "NODE", "JOB", ">DEVICES", "MESSAGE"]);
    for launch in launches {
        table.row([
            member(launch, "/id"),
            member(launch, "/launcher"),
            member(launch, "/status"),
            member(launch, "/reference"),
            member(launch, "/node"),
            member(launch, "/job"),
            member(launch, "/devices"),
            member(launch, "/message"),
        ]);
    }
    table.text("nothing was launched")
}
