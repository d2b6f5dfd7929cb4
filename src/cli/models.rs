//! `anneal models ...`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::anyhow;

use crate::api::models::import::import;
use crate::config::Config;
use crate::store::Store;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Check a model and copy it into the data directory (works beside a running server)
    Import {
        /// A Hugging Face directory (config.json, *.safetensors, tokenizer.json) or a GGUF file
        path: PathBuf,
        /// A name for people
        #[arg(long)]
        name: Option<String>,
    },
}

pub fn run(config: &Config, command: Command) -> anyhow::Result<ExitCode> {
    let Command::Import { path, name } = command;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = Store::open(&config.data_dir).await?;
        let path = path.canonicalize().map_err(|error| anyhow!("{}: {error}", path.display()))?;
        let model = import(store.files(), &path, name).map_err(|p| anyhow!("{} ({})", p.detail, p.code))?;
        store.add_model(&model).await?;
        println!(
            "{}\n  {} parameters, context {}, {} from {}\n  use it as \"model\": \"{}\" in a job spec",
            model.id, model.parameters, model.context_length, model.format, model.source, model.id
        );
        Ok(ExitCode::SUCCESS)
    })
}
