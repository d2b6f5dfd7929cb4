//! `anneal jobs report`: a job in one document.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;

use super::super::client::{Client, escape};
use super::super::output::{Output, print};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job, job_...
    job: String,
    /// How it is written [default: markdown, and json with --json]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write it into this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Markdown,
    Json,
    Junit,
}

pub fn run(client: &Client, output: Output, args: &Args) -> anyhow::Result<ExitCode> {
    let name = match (args.format, output.json) {
        (Some(Format::Markdown), _) | (None, false) => "markdown",
        (Some(Format::Json), _) | (None, true) => "json",
        (Some(Format::Junit), _) => "junit",
    };
    let mut text = client.text(&format!("/v1/jobs/{}/report?format={name}", escape(&args.job)))?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    match &args.output {
        Some(path) => fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?,
        None => print(&text),
    }
    Ok(ExitCode::SUCCESS)
}
