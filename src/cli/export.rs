//! `anneal export`: has a finished checkpoint made into a form that other programs read, and downloads that, or has the server
//! push it to the hub.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::ValueEnum;
use serde_json::{Value, json};

use super::checkpoints::{bar_of_bytes, tell_downloaded};
use super::client::{Client, escape};
use super::interrupt::on_interrupt;
use super::output::{Output, member, size};
use super::remote::RemoteArgs;
use crate::config::Config;
use crate::hub::MAIN;

/// How often it is asked how far an export is.
const LOOK: Duration = Duration::from_millis(300);

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal export CHECKPOINT --format gguf --dtype q4_k_m     one file for llama.cpp
  anneal export CHECKPOINT --format merged --output model   a Hugging Face directory of the whole model
  anneal export CHECKPOINT --format adapter                 the adapter alone, for peft and vLLM
  anneal export @latest --format merged --push hf:acme/arith

`@latest` stands for the newest job. The server keeps what it made, and the same command downloads it again; one that broke
off goes on where it stopped. With --push it is the server that sends the files, with its own token, where its operator lets
it (hub_push_to); what the hub has of them is not sent again.")]
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
    /// Push it to a repository of the hub, hf:owner/name or hf:owner/name@branch, which is made if it is not there; nothing
    /// is downloaded without --output
    #[arg(long, value_name = "REPOSITORY")]
    push: Option<String>,
    /// With --push: make a new repository public, and push to one that is public
    #[arg(long, requires = "push")]
    public: bool,
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
    let made = followed(client, &path, &made)?;
    if let Some(to) = &args.push {
        let pushed = push(client, &path, &made, (to, args.public))?;
        let [to, url] = ["to", "url"].map(|name| member(&pushed["push"], &format!("/{name}")));
        if args.output.is_none() {
            output.answer(&pushed, || format!("{export} is {to}: {url}"));
            return Ok(ExitCode::SUCCESS);
        }
        eprintln!("{export} is {to}: {url}");
    }
    if args.no_download {
        output.answer(&made, || format!("{export} is ready, {}", size(made["bytes"].as_u64())));
        return Ok(ExitCode::SUCCESS);
    }
    let folder = args.output.clone().unwrap_or_else(|| PathBuf::from(&export));
    let files = client.download(&path, &folder, &bar_of_bytes())?;
    tell_downloaded(output, ("export", &export), &folder, &files);
    Ok(ExitCode::SUCCESS)
}

/// Has an export pushed, or follows the push that an earlier command asked for, to its end.
fn push(client: &Client, path: &str, export: &Value, (to, public): (&str, bool)) -> anyhow::Result<Value> {
    let under_way = &export["push"];
    let branch = if to.contains('@') { to.to_owned() } else { format!("{to}@{MAIN}") };
    let is_meant = under_way["to"] == branch && under_way["private"] == !public;
    let begun = match under_way["status"].as_str() {
        Some("pending" | "running") if is_meant => export.clone(),
        _ => client.post(&format!("{path}/push"), &json!({"to": to, "private": !public}))?,
    };
    let pointer = "/push";
    follow(client, path, &begun, &Followed { pointer, ended: "succeeded", doing: "pushed by the server", what: "push" })
}

/// Waits for an export with a bar of the bytes that are written.
fn followed(client: &Client, path: &str, made: &Value) -> anyhow::Result<Value> {
    follow(client, path, made, &Followed { pointer: "", ended: "ready", doing: "made by the server", what: "export" })
}

/// What is waited for.
struct Followed {
    /// Where in an export its status stands.
    pointer: &'static str,
    /// The status when it is over.
    ended: &'static str,
    doing: &'static str,
    what: &'static str,
}

/// Waits until an export, or its push, is over, with a bar of its bytes.
fn follow(client: &Client, path: &str, begun: &Value, of: &Followed) -> anyhow::Result<Value> {
    let bar = bar_of_bytes();
    bar.set_message(of.doing);
    let mut export = begun.clone();
    loop {
        let now = export.pointer(of.pointer).unwrap_or(&Value::Null);
        bar.set_length(now["bytes"].as_u64().unwrap_or_default());
        bar.set_position(now["bytes_done"].as_u64().unwrap_or_default());
        match now["status"].as_str() {
            Some(status) if status == of.ended => {
                bar.finish_and_clear();
                return Ok(export);
            }
            Some("failed") => bail!(
                "the {} failed: {} ({})",
                of.what,
                now["failure"]["message"].as_str().unwrap_or("no reason is known"),
                now["failure"]["code"].as_str().unwrap_or("unknown"),
            ),
            _ => std::thread::sleep(LOOK),
        }
        export = client.get(path)?;
    }
}
