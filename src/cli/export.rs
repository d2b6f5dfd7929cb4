//! `anneal export`: has a finished checkpoint made into a form that other programs read, and downloads that.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::ValueEnum;
use serde_json::{Value, json};

use super::checkpoints::{bar_of_bytes, tell_downloaded};
use super::client::{Client, escape};
use super::interrupt::on_interrupt;
use super::output::{Output, size};
use super::remote::RemoteArgs;
use crate::config::Config;

/// How often it is asked how far an export is.
const LOOK: Duration = Duration::from_millis(300);

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal export CHECKPOINT --format gguf --dtype q4_k_m     one file for llama.cpp
  anneal export CHECKPOINT --format merged --output model   a Hugging Face directory of the whole model
  anneal export CHECKPOINT --format adapter                 the adapter alone, for peft and vLLM

`@latest` stands for the newest job. The server keeps what it made, and the same command downloads it again; one that broke
off goes on where it stopped.")]
pub struct Args {
    /// A finished checkpoint, ckpt_..., or the job that made it: its id, its name, @latest
    checkpoint: String,
    /// What to make of it
    #[arg(long, short)]
    format: Format,
    /// What weights are written as: f32, f16, bf16, q8_0, q4_k_m [default: bf16 for merged, q8_0 for gguf]
    #[arg(long)]
    dtype: Option<String>,
    /// The folder for its files [default: one with the export's id]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Only have it made; download it later
    #[arg(long, conflicts_with = "output")]
    no_download: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Adapter,
    Merged,
    Gguf,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| export(client, output, args))
}

fn export(client: &Client, output: Output, args: &Args) -> anyhow::Result<ExitCode> {
    let named = &args.checkpoint;
    let is_checkpoint = named.starts_with("ckpt_") || named.starts_with("ft:");
    let named = if is_checkpoint { named.clone() } else { format!("ft:{named}") };
    let checkpoint = client.get(&format!("/v1/checkpoints/{}", escape(&named)))?;
    let id = checkpoint["id"].as_str().unwrap_or(&named);
    let format = args.format.to_possible_value().map(|value| value.get_name().to_owned());
    let mut body = json!({"format": format});
    if let Some(dtype) = &args.dtype {
        body["dtype"] = json!(dtype);
    }
    let made = client.post(&format!("/v1/checkpoints/{}/exports", escape(id)), &body)?;
    let export = made["id"].as_str().unwrap_or_default().to_owned();
    let path = format!("/v1/exports/{}", escape(&export));
    on_interrupt(format!("the server goes on; the same command, or `{path}`, has what it makes"));
    let made = followed(client, &path)?;
    if args.no_download {
        output.answer(&made, || format!("{export} is ready, {}", size(made["bytes"].as_u64())));
        return Ok(ExitCode::SUCCESS);
    }
    let folder = args.output.clone().unwrap_or_else(|| PathBuf::from(&export));
    let files = client.download(&path, &folder, &bar_of_bytes())?;
    tell_downloaded(output, ("export", &export), &folder, &files);
    Ok(ExitCode::SUCCESS)
}

/// Waits for an export with a bar of the bytes that are written.
fn followed(client: &Client, path: &str) -> anyhow::Result<Value> {
    let bar = bar_of_bytes();
    bar.set_message("made by the server");
    loop {
        let export = client.get(path)?;
        bar.set_length(export["bytes"].as_u64().unwrap_or_default());
        bar.set_position(export["bytes_done"].as_u64().unwrap_or_default());
        match export["status"].as_str() {
            Some("ready") => {
                bar.finish_and_clear();
                return Ok(export);
            }
            Some("failed") => bail!(
                "the export failed: {} ({})",
                export["failure"]["message"].as_str().unwrap_or("no reason is known"),
                export["failure"]["code"].as_str().unwrap_or("unknown"),
            ),
            _ => std::thread::sleep(LOOK),
        }
    }
}
