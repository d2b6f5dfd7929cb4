//! `anneal quickstart`: the whole service in two minutes, over the same HTTP API that everyone uses.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::client::{Client, escape};
use super::jobs::describe::interval;
use super::jobs::follow::follow_visibly;
use super::serve::Server;
use super::worker::signalled;
use crate::config::Config;
use crate::telemetry;

/// The job, as it also stands in the examples.
const SPEC: &str = include_str!("../../examples/quickstart.json");

#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Leave the server running at the end, for the curl commands that are printed
    #[arg(long)]
    keep: bool,
    /// Optimizer steps, when the full run is too long
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Where to put the finished model [default: quickstart-model in the data directory]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub fn run(mut config: Config, args: &Args) -> anyhow::Result<ExitCode> {
    // The progress bar is the output; the log, and that of the workers, only speaks up when something is wrong.
    config.log = String::from("warn");
    let _telemetry = telemetry::start(&config.log, config.otlp_endpoint.as_deref())?;
    config.listen.set_port(0);
    let mut spec: Value = serde_json::from_str(SPEC).context("the built-in spec is broken")?;
    if let Some(steps) = args.steps {
        spec["train"]["steps"] = json!(steps);
        let rounds = spec["objective"]["rounds"].as_u64().unwrap_or(1);
        spec["objective"]["rounds"] = json!(rounds.min(steps).max(1));
    }
    let output = args.output.clone().unwrap_or_else(|| config.data_dir.join("quickstart-model"));
    let keep = args.keep;
    let runtime = tokio::runtime::Runtime::new()?;
    let result = runtime.block_on(async {
        let server = Server::start(&config).await?;
        let base = format!("http://{}", server.address);
        let client = tokio::task::spawn_blocking(move || {
            println!("server   {base} (data in {})", config.data_dir.display());
            show(&Client::new(&base), &spec, &output, keep)
        });
        let result = tokio::select! {
            result = client => result?,
            () = signalled() => Err(anyhow::anyhow!("interrupted; the job goes on with `anneal serve`")),
        };
        if args.keep && result.is_ok() {
            signalled().await;
        }
        server.stop().await;
        result
    });
    runtime.shutdown_background();
    result.map(|()| ExitCode::SUCCESS)
}

/// Submits, follows, downloads, compares.
fn show(client: &Client, spec: &Value, output: &std::path::Path, keep: bool) -> anyhow::Result<()> {
    let job = client.post("/v1/jobs", spec)?;
    let id = job["id"].as_str().context("the answer has no job id")?;
    println!("job      {id}: BOLT on {} with {}", spec["model"], spec["dataset"]["train"]);
    let (job, _) = follow_visibly(client, &job, None)?;
    if job["status"] != "succeeded" {
        bail!("the job {}: {}", job["status"], job["failure"]["message"]);
    }
    let result = &job["result"];
    let checkpoint = result["checkpoint"].as_str().context("the job has no checkpoint")?;
    let files = client.download(&format!("/v1/checkpoints/{}", escape(checkpoint)), output, &ProgressBar::hidden())?;
    let bytes: u64 = files.iter().map(|file| file.size).sum();
    println!("model    {bytes} bytes in {}, every file checked against its sha256", output.display());
    println!("weights  sha256 {}", result["weights_sha256"].as_str().unwrap_or_default());
    println!("\n{:>8}  {:>17}  {:>17}", "", "before", "after");
    let (before, after) = (&result["before"]["pass_at"], &result["after"]["pass_at"]);
    for (i, row) in after.as_array().into_iter().flatten().enumerate() {
        println!("{:>8}  {:>17}  {:>17}", format!("pass@{}", row["k"]), interval(&before[i]), interval(row));
    }
    println!("\nThe same by hand, with a server of your own (`anneal serve`):\n");
    println!(
        "  curl -s http://127.0.0.1:8080/v1/jobs -H 'content-type: application/json' -d @examples/quickstart.json"
    );
    println!("  curl -N 'http://127.0.0.1:8080/v1/jobs/JOB/events?stream=true'");
    println!("  curl -s http://127.0.0.1:8080/v1/jobs/JOB");
    println!("  curl -O http://127.0.0.1:8080/v1/checkpoints/CHECKPOINT/files/model.safetensors");
    if keep {
        println!("\nThis server goes on until Ctrl-C; the job in a browser: {}", client.url(&format!("/jobs/{id}")));
    }
    Ok(())
}
