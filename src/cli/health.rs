//! `anneal health`: for whatever watches a server and may start it again.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};

use super::client::Client;
use crate::config::Config;

/// A server that takes longer than this to say that it lives does not serve anybody.
const LIMIT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 the server answers, 1 it does not, or something else answers.")]
pub struct Args {
    /// The server [default: http:// and the address `serve` listens on]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
}

/// Asks a server whether it lives.
pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let base = match &args.url {
        Some(url) => url.clone(),
        None if config.listen.port() == 0 => bail!("port 0 does not say where the server listens; name it with --url"),
        None => config.own_url(),
    };
    let answer = Client::impatient(&base, LIMIT).get("/healthz")?;
    if answer["status"] != "ok" {
        bail!("{base} answers, but not as anneal does");
    }
    let version = answer["version"].as_str().context("the answer names no version")?;
    println!("{base} is served by anneal {version}");
    Ok(ExitCode::SUCCESS)
}
