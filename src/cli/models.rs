//! `anneal models ...`: lists and imports them.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::Subcommand;
use serde_json::json;

use super::client::Client;
use super::output::{Output, Table, member, size};
use super::remote::{PageArgs, RemoteArgs, items, tell_more};
use crate::api::models::import::import;
use crate::config::Config;
use crate::store::Store;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal models list
  anneal models import ~/models/SmolLM2-135M --name smollm2
                            on the server's machine, into its --data-dir")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the models that jobs can start from
    List(ListArgs),
    /// Check a model and copy it into the data directory (works beside a running server)
    Import(ImportArgs),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
struct ImportArgs {
    /// A Hugging Face directory (config.json, *.safetensors, tokenizer.json) or a GGUF file
    path: PathBuf,
    /// A name for people
    #[arg(long)]
    name: Option<String>,
    /// Write JSON to standard output
    #[arg(long)]
    json: bool,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::List(args) => args.remote.run(config, |client, output| list(client, output, args)),
        Command::Import(args) => {
            let output = Output { json: args.json };
            import_into(config, output, args).or_else(|error| output.failure(error))
        }
    }
}

fn list(client: &Client, output: Output, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let list = args.page.list(client, "/v1/models", &[])?;
    output.answer(&list, || {
        let mut table = Table::new(&["ID", ">PARAMETERS", ">CONTEXT", ">SIZE", "FORMAT", "NAME"]);
        for model in items(&list) {
            table.row([
                member(model, "/id"),
                member(model, "/parameters"),
                member(model, "/context_length"),
                size(model["bytes"].as_u64()),
                member(model, "/format"),
                member(model, "/name"),
            ]);
        }
        table.text("there are no models; `anneal models import PATH` brings one")
    });
    tell_more(&list, output);
    Ok(ExitCode::SUCCESS)
}

fn import_into(config: &Config, output: Output, args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = Store::open(&config.data_dir).await?;
        let path = args.path.canonicalize().map_err(|error| anyhow!("{}: {error}", args.path.display()))?;
        let model = import(store.place(), path, args.name.clone(), None).await;
        let model = model.map_err(|p| anyhow!("{} ({})", p.detail, p.code))?;
        store.add_model(&model).await?;
        let answer = json!({
            "id": model.id.to_string(), "object": "model", "name": model.name, "source": model.source,
            "format": model.format, "architecture": model.architecture, "parameters": model.parameters,
            "context_length": model.context_length, "vocab_size": model.vocab_size,
            "weights_sha256": model.weights_sha256, "tokenizer_sha256": model.tokenizer_sha256,
            "bytes": model.bytes, "created_at": model.created_at.unix_seconds(),
        });
        output.answer(&answer, || {
            format!(
                "{}\n  {} parameters, context {}, {} from {}\n  use it as \"model\": \"{}\" in a job spec\n",
                model.id, model.parameters, model.context_length, model.format, model.source, model.id
            )
        });
        Ok(ExitCode::SUCCESS)
    })
}
