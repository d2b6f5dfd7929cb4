//! `anneal jobs get`

use std::process::ExitCode;

use super::super::client::{Client, escape};
use super::super::output::Output;
use super::describe::describe;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job, job_...
    job: String,
}

pub fn run(client: &Client, output: Output, args: &Args) -> anyhow::Result<ExitCode> {
    let job = client.get(&format!("/v1/jobs/{}", escape(&args.job)))?;
    output.answer(&job, || describe(&job));
    Ok(ExitCode::SUCCESS)
}
