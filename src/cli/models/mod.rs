//! `anneal models ...`: lists them and brings them here, from a folder, from the hub or from this machine to a server.

mod bring;
mod cache;
mod push;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::Value;

use super::client::{Client, escape};
use super::output::{Output, Table, member, size};
use super::remote::{PageArgs, RemoteArgs, items, tell_more};
use crate::config::Config;
use crate::hub::HubRef;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal models list
  anneal models pull hf:Qwen/Qwen3-0.6B
                            from the hub; a spec may also name it, as \"model\": \"hf:Qwen/Qwen3-0.6B\"
  anneal models pull hf:Qwen/Qwen3-0.6B-GGUF/Qwen3-0.6B-Q8_0.gguf@main
                            one file of a repository with several
  anneal models import ~/models/SmolLM2-135M --name smollm2
                            on the server's machine, into its --data-dir
  anneal models import /models/SmolLM2-135M --server http://gpu-box:8080
                            by a server that may read that folder (its --import-roots)
  anneal models push ~/models/SmolLM2-135M --server http://gpu-box:8080
                            from this machine to a server; goes on where it was when it is called again
  anneal models cache --unused-for 30d --max-bytes 100GB --clean
                            removes what came from the hub and was not used for a month, and the oldest of the rest")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the models that jobs can start from
    List(ListArgs),
    /// Show a model
    Get(OneArgs),
    /// Check a model and copy it into the data directory (works beside a running server), or let the server that is
    /// named do so
    Import(ImportArgs),
    /// Bring a model from the hub into the data directory, or let the server that is named do so
    Pull(PullArgs),
    /// Send a model from this machine to a server
    Push(push::PushArgs),
    /// List what came from the hub, or remove what is not used
    Cache(cache::CacheArgs),
    /// Delete imported models, with their files
    Delete(DeleteArgs),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
struct OneArgs {
    /// mdl_..., ckpt_... or the name of a built-in
    model: String,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
struct DeleteArgs {
    /// mdl_...
    #[arg(required = true)]
    models: Vec<String>,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
struct ImportArgs {
    /// A Hugging Face directory (config.json, *.safetensors, tokenizer.json) or a GGUF file
    path: PathBuf,
    #[command(flatten)]
    how: HowArgs,
}

#[derive(Debug, clap::Args)]
struct PullArgs {
    /// hf:owner/name, with /file.gguf where there are several, and with @revision (a branch, a tag or a commit)
    #[arg(value_name = "MODEL")]
    reference: HubRef,
    #[command(flatten)]
    how: HowArgs,
}

/// How a model is brought.
#[derive(Debug, clap::Args)]
struct HowArgs {
    /// Of an adapter (peft): the model that it was trained beside, as jobs name it; else what its configuration names
    #[arg(long)]
    base: Option<String>,
    /// A name for people
    #[arg(long)]
    name: Option<String>,
    /// Do not wait until a server has all of it; jobs that name it will
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::List(args) => args.remote.run(config, |client, output| list(client, output, args)),
        Command::Get(args) => args.remote.run(config, |client, output| {
            let model = client.get(&format!("/v1/models/{}", escape(&args.model)))?;
            output.answer(&model, || super::output::Fields::of(&model).text());
            Ok(ExitCode::SUCCESS)
        }),
        Command::Import(ImportArgs { path, how }) => bring::bring(config, how, &bring::What::Path(path.clone())),
        Command::Pull(PullArgs { reference, how }) => bring::bring(config, how, &bring::What::Hub(reference.clone())),
        Command::Push(args) => push::run(config, args),
        Command::Cache(args) => cache::run(config, args),
        Command::Delete(args) => args.remote.run(config, |client, output| {
            for model in &args.models {
                let deleted = client.delete(&format!("/v1/models/{}", escape(model)))?;
                output.line(&deleted, || format!("{model} is deleted\n"));
            }
            Ok(ExitCode::SUCCESS)
        }),
    }
}

fn list(client: &Client, output: Output, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let list = args.page.list(client, "/v1/models", &[])?;
    output.answer(&list, || {
        let mut table = Table::new(&["ID", "STATUS", ">PARAMETERS", ">CONTEXT", ">SIZE", "FORMAT", "NAME"]);
        for model in items(&list) {
            table.row([
                member(model, "/id"),
                status(model),
                member(model, "/parameters"),
                member(model, "/context_length"),
                size(model["bytes"].as_u64()),
                member(model, "/format"),
                called(model),
            ]);
        }
        table.text("there are no models; `anneal models import PATH` or `anneal models pull hf:owner/name` brings one")
    });
    tell_more(&list, output);
    Ok(ExitCode::SUCCESS)
}

/// What people call a model: its name, or where on the hub it is.
fn called(model: &Value) -> String {
    match (&model["name"], model["source"].as_str()) {
        (Value::Null, Some(source)) if source.starts_with(crate::hub::PREFIX) => source.to_owned(),
        _ => member(model, "/name"),
    }
}

/// Whether a model can be used, and how far it is.
fn status(model: &Value) -> String {
    match (model["status"].as_str(), model["bytes_done"].as_u64(), model["bytes"].as_u64()) {
        (Some("importing"), Some(done), Some(all)) => {
            format!("importing {:.0} %", 100.0 * done as f64 / all.max(1) as f64)
        }
        (status, ..) => status.unwrap_or_default().to_owned(),
    }
}
