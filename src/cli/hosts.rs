//! `anneal hosts`, `anneal cordon`, `anneal uncordon` and `anneal drain`: the machines that run jobs.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::output::{Table, member};
use super::remote::{RemoteArgs, items};
use crate::config::Config;

/// How often it is looked whether a machine is empty.
const LOOK: Duration = Duration::from_millis(500);

#[derive(Debug, clap::Args)]
#[command(after_help = "A machine runs jobs when `anneal serve` or `anneal worker --server URL` runs on it.

Example: anneal hosts --json | jq -r '.data[] | select(.status == \"gone\") | .id'")]
pub struct Args {
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
pub struct ChangeArgs {
    /// The machine, as `anneal hosts` lists it
    host: String,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example, before a machine is taken down:
  anneal drain gpu-1 --wait && ssh gpu-1 systemctl poweroff")]
pub struct DrainArgs {
    #[command(flatten)]
    change: ChangeArgs,
    /// Return when the machine runs no job any more
    #[arg(long)]
    wait: bool,
    /// Seconds to wait at most
    #[arg(long, default_value_t = 600, requires = "wait")]
    timeout: u64,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| {
        let list = client.get("/v1/hosts")?;
        output.answer(&list, || table(items(&list)));
        Ok(ExitCode::SUCCESS)
    })
}

pub fn cordon(config: &Config, args: &ChangeArgs) -> anyhow::Result<ExitCode> {
    change(config, args, "cordon")
}

pub fn uncordon(config: &Config, args: &ChangeArgs) -> anyhow::Result<ExitCode> {
    change(config, args, "uncordon")
}

fn change(config: &Config, args: &ChangeArgs, how: &str) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| {
        let host = client.post(&format!("/v1/hosts/{}/{how}", args.host), &json!({}))?;
        output.answer(&host, || table([&host]));
        Ok(ExitCode::SUCCESS)
    })
}

pub fn drain(config: &Config, args: &DrainArgs) -> anyhow::Result<ExitCode> {
    let name = &args.change.host;
    args.change.remote.run(config, |client, output| {
        let mut host = client.post(&format!("/v1/hosts/{name}/drain"), &json!({}))?;
        let deadline = Instant::now() + Duration::from_secs(args.timeout);
        while args.wait && host["status"] == "draining" && Instant::now() < deadline {
            std::thread::sleep(LOOK);
            let list = client.get("/v1/hosts")?;
            if let Some(found) = items(&list).find(|host| host["id"] == name.as_str()) {
                host = found.clone();
            }
        }
        output.answer(&host, || table([&host]));
        let empty = !args.wait || host["status"] != "draining";
        Ok(if empty { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

fn table<'a>(hosts: impl IntoIterator<Item = &'a Value>) -> String {
    let mut table = Table::new(&["ID", "KIND", "STATUS", "POOL", ">DEVICES", ">JOBS", "VERSION"]);
    let count = |value: &Value| value.as_array().map_or(0, Vec::len).to_string();
    for host in hosts {
        table.row([
            member(host, "/id"),
            member(host, "/kind"),
            member(host, "/status"),
            member(host, "/pool"),
            count(&host["devices"]),
            count(&host["jobs"]),
            member(host, "/version"),
        ]);
    }
    table.text("there are no machines")
}
