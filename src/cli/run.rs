//! `anneal run`

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use serde_json::Value;

use super::client::{Client, Refused};
use super::progress::JobProgress;
use crate::config::Config;

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Exit codes with --wait: 0 succeeded, 20 failed, 30 cancelled. A refused spec ends with 21.")]
pub struct Args {
    /// The job spec, a JSON file, or - for standard input
    spec: PathBuf,
    /// Follow the job to its end
    #[arg(long)]
    wait: bool,
    /// Download the finished model into this folder (implies --wait)
    #[arg(long, value_name = "DIR")]
    download: Option<PathBuf>,
    /// The server [default: http:// and the address `serve` listens on]
    #[arg(long, env = "ANNEAL_SERVER", value_name = "URL")]
    server: Option<String>,
}

const FAILED: u8 = 20;
const REFUSED: u8 = 21;
const CANCELLED: u8 = 30;

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let spec = read_spec(&args.spec)?;
    let base = args.server.clone().unwrap_or_else(|| format!("http://{}", config.listen));
    let client = Client::new(&base);
    let job = match client.post("/v1/jobs", &spec) {
        Ok(job) => job,
        Err(error) => match error.downcast_ref::<Refused>().filter(|refused| refused.status < 500) {
            Some(refused) => {
                eprintln!("refused: {refused}");
                return Ok(ExitCode::from(REFUSED));
            }
            None => return Err(error),
        },
    };
    let id = job["id"].as_str().context("the server's answer has no job id")?;
    println!("{id}");
    if !args.wait && args.download.is_none() {
        eprintln!("follow it with: curl -N '{}'", client.url(&format!("/v1/jobs/{id}/events?stream=true")));
        return Ok(ExitCode::SUCCESS);
    }
    let job = follow(&client, &job)?;
    if let (Some(target), Some(checkpoint)) = (&args.download, job["result"]["checkpoint"].as_str()) {
        let bytes = client.download(checkpoint, target)?;
        eprintln!("{bytes} bytes downloaded to {} and checked", target.display());
    }
    Ok(match job["status"].as_str() {
        Some("succeeded") => ExitCode::SUCCESS,
        Some("cancelled") => ExitCode::from(CANCELLED),
        _ => {
            eprintln!("{}", job["failure"]["message"].as_str().unwrap_or("the job failed"));
            ExitCode::from(FAILED)
        }
    })
}

/// Shows a job's progress until it is over and returns it as it then stands.
pub fn follow(client: &Client, job: &Value) -> anyhow::Result<Value> {
    let id = job["id"].as_str().context("the server's answer has no job id")?;
    let mut progress = JobProgress::new(job["steps"].as_u64().unwrap_or_default());
    let followed = client.follow(id, |event| progress.show(event));
    progress.finish();
    followed?;
    client.get(&format!("/v1/jobs/{id}"))
}

fn read_spec(path: &Path) -> anyhow::Result<Value> {
    let mut text = String::new();
    if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut text)?;
    } else {
        text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    }
    serde_json::from_str(&text).with_context(|| format!("{} is not valid JSON", path.display()))
}
