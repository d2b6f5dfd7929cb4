//! `anneal jobs watch` and `anneal jobs wait`

use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::super::client::{Client, escape};
use super::super::exit;
use super::super::output::Output;
use super::follow::{conclude, detach_on_interrupt, follow, follow_visibly};

#[derive(Debug, clap::Args)]
#[command(after_help = exit::HELP)]
pub struct WatchArgs {
    /// The job, job_...
    job: String,
    /// Leave when the job is not over after this long
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = exit::HELP)]
pub struct WaitArgs {
    /// The job, job_...
    job: String,
    /// Leave when the job is not over after this long
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
}

/// With `--json` every event is a line on standard output.
pub fn watch(client: &Client, output: Output, args: &WatchArgs) -> anyhow::Result<ExitCode> {
    let job = client.get(&format!("/v1/jobs/{}", escape(&args.job)))?;
    detach_on_interrupt(&job);
    let deadline = deadline(args.timeout);
    let (job, outcome) = if output.json {
        follow(client, &job, deadline, |event| output.line(event, String::new))?
    } else {
        follow_visibly(client, &job, deadline)?
    };
    Ok(conclude(&job, outcome, output))
}

/// With `--json` the job as it stands at the end is printed.
pub fn wait(client: &Client, output: Output, args: &WaitArgs) -> anyhow::Result<ExitCode> {
    let job = client.get(&format!("/v1/jobs/{}", escape(&args.job)))?;
    detach_on_interrupt(&job);
    let (job, outcome) = follow(client, &job, deadline(args.timeout), |_| {})?;
    if output.json {
        output.answer(&job, String::new);
    }
    Ok(conclude(&job, outcome, output))
}

pub fn deadline(seconds: Option<u64>) -> Option<Instant> {
    // A time that no clock can hold is none.
    seconds.and_then(|seconds| Instant::now().checked_add(Duration::from_secs(seconds)))
}
