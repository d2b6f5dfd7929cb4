//! `anneal models import` and `pull`

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::anyhow;
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::HowArgs;
use crate::api::error::Problem;
use crate::api::imports::{self, Finder, Pull, Sources};
use crate::api::models::Model;
use crate::api::models::import::{Wanted, bring as bring_model};
use crate::cli::checkpoints::bar_of_bytes;
use crate::cli::client::{Client, escape};
use crate::cli::open_store;
use crate::cli::output::{Output, member};
use crate::config::Config;
use crate::hub::{self, HubRef};
use crate::import::{self, ImportError, Source};
use crate::job::ModelStatus;
use crate::modelfile::ModelFileError;
use crate::store::{ModelRow, Store};

/// How often a server is asked how far it is.
const LOOK: Duration = Duration::from_millis(500);

/// What is brought.
pub enum What {
    Path(PathBuf),
    Hub(HubRef),
}

/// Brings a model into this machine's data directory, or has a server do so.
pub fn bring(config: &Config, how: &HowArgs, what: &What) -> anyhow::Result<ExitCode> {
    let output = Output { json: how.remote.json };
    let by_server = || how.remote.run(config, |client, output| bring_by(client, output, how, what));
    if how.remote.names_a_server() {
        return by_server();
    }
    match how.remote.remembers_a_server() {
        // A data directory that is named is this machine's.
        Ok(true) if !config.names_data_dir => by_server(),
        Ok(_) => bring_into(config, output, how, what).or_else(|error| output.failure(error)),
        Err(error) => output.failure(error),
    }
}

/// Asks the server to bring it.
fn bring_by(client: &Client, output: Output, how: &HowArgs, what: &What) -> anyhow::Result<ExitCode> {
    let body = match what {
        What::Path(path) => json!({"path": std::path::absolute(path)?, "base": how.base, "name": how.name}),
        What::Hub(reference) => json!({"source": reference.to_string(), "base": how.base, "name": how.name}),
    };
    // The base of an adapter comes first.
    if let Some(base) = how.base.as_deref().filter(|base| base.starts_with(hub::PREFIX)) {
        follow(client, client.post("/v1/models", &json!({"source": base}))?)?;
    }
    let model = client.post("/v1/models", &body)?;
    let model = if how.no_wait { model } else { follow(client, model)? };
    output.answer(&model, || described(&model, &format!("by {}", client.base())));
    Ok(ExitCode::SUCCESS)
}

/// Waits until a server has all of a model.
pub fn follow(client: &Client, mut model: Value) -> anyhow::Result<Value> {
    let bar = bar_of_bytes();
    let path = format!("/v1/models/{}", escape(model["id"].as_str().unwrap_or_default()));
    while matches!(model["status"].as_str(), Some("importing")) {
        show(&bar, &model["bytes_done"], &model["bytes"]);
        std::thread::sleep(LOOK);
        model = client.get(&path)?;
    }
    bar.finish_and_clear();
    match model["status"].as_str() {
        Some("failed") => {
            Err(failed(&member(&model, "/id"), &member(&model, "/failure/message"), &member(&model, "/failure/code")))
        }
        _ => Ok(model),
    }
}

fn show(bar: &ProgressBar, done: &Value, all: &Value) {
    bar.set_length(all.as_u64().unwrap_or_default());
    bar.set_position(done.as_u64().unwrap_or_default());
}

fn failed(id: &str, message: &str, code: &str) -> anyhow::Error {
    anyhow!("{id} could not be imported: {message} ({code})")
}

/// What people read of a model that was brought.
pub fn described(model: &Value, whither: &str) -> String {
    let [id, parameters, context, format, source] =
        ["/id", "/parameters", "/context_length", "/format", "/source"].map(|pointer| member(model, pointer));
    let imported = if model["status"] == "importing" { "under way" } else { "imported" };
    let mut text = format!(
        "{id}\n  {parameters} parameters, context {context}, {format} from {source}, {imported} {whither}\n  use it as \
         \"model\": \"{id}\" in a job spec\n"
    );
    for warning in model["warnings"].as_array().into_iter().flatten() {
        text.push_str(&format!("  warning: {}\n", member(warning, "/detail")));
    }
    text
}

/// Brings it here.
fn bring_into(config: &Config, output: Output, how: &HowArgs, what: &What) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = open_store(config).await?;
        if let Some(base) = how.base.as_deref().filter(|base| base.starts_with(hub::PREFIX)) {
            let row = imports::bring(&store, &config.hub(), &base.parse()?, None, "").await.map_err(refused)?;
            complete(config, &store, row).await?;
        }
        let row = begin(config, &store, how, what).await.map_err(refused)?;
        let row = complete(config, &store, row).await?;
        let answer = serde_json::to_value(Model::from(row))?;
        output.answer(&answer, || described(&answer, &format!("into {}", config.data_dir.display())));
        Ok(ExitCode::SUCCESS)
    })
}

/// The model, laid out and tried if it is not there, as a server does it.
async fn begin(config: &Config, store: &Store, how: &HowArgs, what: &What) -> Result<ModelRow, Problem> {
    let wanted = match what {
        What::Path(path) => {
            let unreadable = |source| ModelFileError::Io { operation: "open", path: path.clone(), source };
            let path = path.canonicalize().map_err(unreadable).map_err(ImportError::from)?;
            Wanted::Here(Source::Disk { path, roots: None })
        }
        What::Hub(reference) => Wanted::Hub(reference.clone()),
    };
    let sources = Sources { roots: Vec::new(), hub: config.hub() };
    let finder = Finder { store, sources: &sources, pull: Pull::Begin };
    bring_model(finder, wanted, how.base.as_deref(), how.name.clone()).await
}

fn refused(problem: Problem) -> anyhow::Error {
    let detail = problem.errors.into_iter().next().map_or(problem.detail, |field| field.detail);
    anyhow!("{detail} ({})", problem.code)
}

/// Brings all of it, or waits for the server that does.
async fn complete(config: &Config, store: &Store, mut row: ModelRow) -> anyhow::Result<ModelRow> {
    let bar = bar_of_bytes();
    bar.set_length(row.bytes);
    while row.status == ModelStatus::Importing {
        let stop = Arc::new(AtomicBool::new(false));
        import::run(store, &config.hub(), &row, stop, |bytes| bar.set_position(bytes)).await?;
        row = store.model(row.id).await?;
        if row.status == ModelStatus::Importing {
            bar.set_position(row.bytes_done);
            tokio::time::sleep(LOOK).await;
        }
    }
    bar.finish_and_clear();
    match &row.failure {
        Some(failure) => Err(failed(&row.id.to_string(), &failure.message, &failure.code)),
        None => Ok(row),
    }
}
