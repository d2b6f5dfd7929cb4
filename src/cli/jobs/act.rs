//! `anneal jobs cancel`, `pause`, `resume`, `verify-resume` and `delete`

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use anyhow::bail;
use serde_json::{Value, json};

use super::super::client::{Client, escape};
use super::super::output::{Fields, Output, member};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job, job_...
    job: String,
}

#[derive(Debug, clap::Args)]
pub struct DeleteArgs {
    /// The job, job_...
    job: String,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

pub fn run(client: &Client, output: Output, args: &Args, action: &str) -> anyhow::Result<ExitCode> {
    let answer = client.post(&format!("/v1/jobs/{}/{action}", escape(&args.job)), &json!({}))?;
    output.answer(&answer, || match answer["object"].as_str() {
        Some("job") => format!("{} is {}\n", member(&answer, "/id"), member(&answer, "/status")),
        _ => Fields::of(&answer).text(),
    });
    Ok(ExitCode::SUCCESS)
}

pub fn delete(client: &Client, output: Output, args: &DeleteArgs) -> anyhow::Result<ExitCode> {
    if !args.yes && !confirmed(&args.job)? {
        bail!("nothing was deleted");
    }
    let answer = client.delete(&format!("/v1/jobs/{}", escape(&args.job)))?;
    let answer = if answer.is_null() { json!({"id": args.job, "object": "job", "deleted": true}) } else { answer };
    output.answer(&answer, || format!("{} is deleted\n", deleted_id(&answer, &args.job)));
    Ok(ExitCode::SUCCESS)
}

fn deleted_id(answer: &Value, asked: &str) -> String {
    answer["id"].as_str().unwrap_or(asked).to_owned()
}

fn confirmed(job: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("deleting cannot be undone; say --yes");
    }
    eprint!("Delete {job} with its events, checkpoints and rollouts? This cannot be undone. [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
