//! `anneal models ...`: lists and imports them.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::Subcommand;
use serde_json::{Value, json};

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
                            on the server's machine, into its --data-dir
  anneal models import /models/SmolLM2-135M --server http://gpu-box:8080
                            by a server that may read that folder (its --import-roots)")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the models that jobs can start from
    List(ListArgs),
    /// Check a model and copy it into the data directory (works beside a running server), or let the server that is
    /// named do so
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
    #[command(flatten)]
    remote: RemoteArgs,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::List(args) => args.remote.run(config, |client, output| list(client, output, args)),
        Command::Import(args) => {
            let output = Output { json: args.remote.json };
            let by_server = || args.remote.run(config, |client, output| import_by(client, output, args));
            let here = || import_into(config, output, args).or_else(|error| output.failure(error));
            if args.remote.names_a_server() {
                return by_server();
            }
            match args.remote.remembers_a_server() {
                // A data directory that is named is this machine's.
                Ok(true) if !config.names_data_dir => by_server(),
                Ok(_) => here(),
                Err(error) => output.failure(error),
            }
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

/// Asks the server to import what lies on its machine.
fn import_by(client: &Client, output: Output, args: &ImportArgs) -> anyhow::Result<ExitCode> {
    let path = std::path::absolute(&args.path)?;
    let model = client.post("/v1/models", &json!({"path": path, "name": args.name}))?;
    output.answer(&model, || imported(&model, &format!("by {}", client.base())));
    Ok(ExitCode::SUCCESS)
}

fn imported(model: &Value, whither: &str) -> String {
    let [id, parameters, context, format, source] =
        ["/id", "/parameters", "/context_length", "/format", "/source"].map(|pointer| member(model, pointer));
    format!(
        "{id}\n  {parameters} parameters, context {context}, {format} from {source}, imported {whither}\n  use it as \"model\": \"{id}\" in a \
         job spec\n"
    )
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
        output.answer(&answer, || imported(&answer, &format!("into {}", config.data_dir.display())));
        Ok(ExitCode::SUCCESS)
    })
}
