//! `anneal queue`: which jobs wait, and for what.

use std::process::ExitCode;

use serde_json::Value;

use super::output::{Table, age, member, time};
use super::remote::RemoteArgs;
use crate::config::Config;

#[derive(Debug, clap::Args)]
#[command(after_help = "Example: anneal queue        what waits, in which order, why, and what it can expect")]
pub struct Args {
    #[command(flatten)]
    remote: RemoteArgs,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| {
        let queue = client.get("/v1/queue")?;
        output.answer(&queue, || text(&queue));
        Ok(ExitCode::SUCCESS)
    })
}

fn text(queue: &Value) -> String {
    let counts = queue["counts"].as_object().into_iter().flatten();
    let counts: Vec<String> = counts.map(|(status, count)| format!("{count} {status}")).collect();
    let mut table = Table::new(&[">#", "JOB", ">PRIORITY", "SUBMITTED", "EXPECTED", "NAME", "WAITS"]);
    for entry in queue["waiting"].as_array().into_iter().flatten() {
        table.row([
            member(entry, "/position"),
            member(entry, "/job"),
            member(entry, "/priority"),
            age(entry["created_at"].as_i64()),
            time(entry["waiting"]["expected_start"].as_i64()),
            member(entry, "/name"),
            member(entry, "/waiting/message"),
        ]);
    }
    let counts = if counts.is_empty() { String::from("no jobs yet") } else { counts.join(", ") };
    format!("{counts}\n{}", table.text("nothing waits"))
}
