//! Which server a command talks to, who it is there, and for whom it writes. The same options on every command that is
//! a client of the API.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::client::{ApiKey, Client, with_query};
use super::output::Output;
use crate::config::Config;

const HEADING: &str = "Server and output";

#[derive(Clone, Debug, clap::Args)]
pub struct RemoteArgs {
    /// The server [default: http:// and the address `serve` listens on]
    #[arg(long, env = "ANNEAL_SERVER", value_name = "URL", global = true, help_heading = HEADING)]
    server: Option<String>,
    /// What lets you in; better in ANNEAL_API_KEY than here, where other users of this machine can read it
    #[arg(
        long, env = "ANNEAL_API_KEY", hide_env_values = true, value_name = "KEY", global = true, help_heading = HEADING,
        value_parser = |text: &str| Ok::<_, std::convert::Infallible>(ApiKey(text.to_owned()))
    )]
    api_key: Option<ApiKey>,
    /// Write JSON to standard output: one document, or one a line where things come one by one; errors as JSON to
    /// standard error
    #[arg(long, global = true, help_heading = HEADING)]
    pub json: bool,
}

impl RemoteArgs {
    /// Runs a command as a client.
    pub fn run(
        &self,
        config: &Config,
        command: impl FnOnce(&Client, Output) -> anyhow::Result<ExitCode>,
    ) -> anyhow::Result<ExitCode> {
        let output = Output { json: self.json };
        command(&self.connect(config), output).or_else(|error| output.failure(error))
    }

    fn connect(&self, config: &Config) -> Client {
        // A variable that is set to nothing, as CI systems do with what they lack, is none.
        let base = match self.server.as_deref().map(str::trim).filter(|base| !base.is_empty()) {
            Some(base) if base.contains("://") => base.to_owned(),
            Some(base) => format!("http://{base}"),
            None => config.own_url(),
        };
        if !self.json && std::env::args_os().any(|argument| argument.to_string_lossy().starts_with("--api-key")) {
            eprintln!(
                "warning: other users of this machine can see a key on a command line; use ANNEAL_API_KEY instead"
            );
        }
        let key = self.api_key.as_ref().map(|key| ApiKey(key.0.trim().to_owned())).filter(|key| !key.0.is_empty());
        Client::with_key(&base, key)
    }
}

/// Which part of a list to show.
#[derive(Clone, Debug, clap::Args)]
pub struct PageArgs {
    /// How many to show at most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Show all there are
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// Begin behind this one
    #[arg(long, value_name = "ID")]
    after: Option<String>,
}

/// Most that the server returns at once.
const PAGE: u64 = 100;

impl PageArgs {
    /// A list in as many requests as it takes, as the server would give it at once.
    pub fn list(&self, client: &Client, path: &str, filters: &[(&str, Option<String>)]) -> anyhow::Result<Value> {
        let (mut data, mut after, mut more) = (Vec::new(), self.after.clone(), true);
        let most = if self.all { u64::MAX } else { self.limit };
        while more && (data.len() as u64) < most {
            let limit = (most - data.len() as u64).min(PAGE);
            let mut parameters = vec![("limit", Some(limit.to_string())), ("after", after.clone())];
            parameters.extend(filters.iter().cloned());
            let mut page = client.get(&with_query(path, &parameters))?;
            more = page["has_more"].as_bool().unwrap_or_default();
            after = page["last_id"].as_str().map(str::to_owned);
            if let Value::Array(items) = page["data"].take() {
                more = more && !items.is_empty();
                data.extend(items);
            }
        }
        let id = |item: Option<&Value>| item.map_or(Value::Null, |item| item["id"].clone());
        let (first, last) = (id(data.first()), id(data.last()));
        Ok(json!({"object": "list", "data": data, "has_more": more, "first_id": first, "last_id": last}))
    }
}

/// The items of a list.
pub fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["data"].as_array().into_iter().flatten()
}

/// Says on standard error that a list goes on.
pub fn tell_more(list: &Value, output: Output) {
    if let (true, false, Some(last)) = (list["has_more"] == true, output.json, list["last_id"].as_str()) {
        eprintln!("there are more: --all, or --after {last}");
    }
}
