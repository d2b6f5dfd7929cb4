//! Which server a command talks to, who it is there, and for whom it writes. The same options on every command that is
//! a client of the API.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use serde_json::{Value, json};

use super::client::{ApiKey, Client, with_query};
use super::output::Output;
use super::profiles::{Profile, Profiles, default_file};
use crate::config::Config;

const HEADING: &str = "Server and output";

#[derive(Clone, Debug, clap::Args)]
pub struct RemoteArgs {
    /// The server [default: that of the profile, or http:// and the address `serve` listens on]
    #[arg(long, env = "ANNEAL_SERVER", value_name = "URL", global = true, help_heading = HEADING)]
    server: Option<String>,
    /// What lets you in; better in ANNEAL_API_KEY than here, where other users of this machine can read it
    #[arg(
        long, env = "ANNEAL_API_KEY", hide_env_values = true, value_name = "KEY", global = true, help_heading = HEADING,
        value_parser = |text: &str| Ok::<_, std::convert::Infallible>(ApiKey(text.to_owned()))
    )]
    api_key: Option<ApiKey>,
    /// A server that `anneal login` remembers [default: the one of the last login]
    #[arg(long, env = "ANNEAL_PROFILE", value_name = "NAME", global = true, help_heading = HEADING)]
    profile: Option<String>,
    /// Where it remembers them
    #[arg(long, env = "ANNEAL_PROFILES", value_name = "FILE", global = true, hide = true)]
    profiles: Option<PathBuf>,
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
        self.connect(config).and_then(|client| command(&client, output)).or_else(|error| output.failure(error))
    }

    /// The file of profiles.
    pub fn profiles_file(&self) -> anyhow::Result<PathBuf> {
        let file = self.profiles.clone().filter(|file| !file.as_os_str().is_empty()).or_else(default_file);
        file.context("there is no home directory; say in ANNEAL_PROFILES where profiles are kept")
    }

    /// The key that was given, by flag or variable.
    pub fn key(&self) -> Option<ApiKey> {
        self.api_key.as_ref().map(|key| ApiKey(key.0.trim().to_owned())).filter(|key| !key.0.is_empty())
    }

    /// Whether a server was given, or is remembered as the present one.
    pub fn names_a_server(&self) -> anyhow::Result<bool> {
        Ok(given(self.server.as_ref()).is_some() || self.profile()?.is_some())
    }

    /// The profile that counts where no server was given.
    fn profile(&self) -> anyhow::Result<Option<Profile>> {
        let name = given(self.profile.as_ref());
        match self.profiles_file() {
            Ok(file) => Ok(Profiles::read(&file)?.find(name)?.cloned()),
            Err(error) if name.is_some() => Err(error),
            Err(_) => Ok(None),
        }
    }

    fn connect(&self, config: &Config) -> anyhow::Result<Client> {
        let (base, remembered) = match given(self.server.as_ref()) {
            Some(server) => (base(server), None),
            None => match self.profile()? {
                Some(profile) => (profile.server.clone(), profile.key()),
                None => (config.own_url(), None),
            },
        };
        if !self.json && std::env::args_os().any(|argument| argument.to_string_lossy().starts_with("--api-key")) {
            eprintln!(
                "warning: other users of this machine can see a key on a command line; use ANNEAL_API_KEY instead"
            );
        }
        Ok(Client::with_key(&base, self.key().or(remembered)))
    }
}

/// What a flag or a variable says; one that is set to nothing, as CI systems do with what they lack, says nothing.
fn given(text: Option<&String>) -> Option<&str> {
    text.map(|text| text.trim()).filter(|text| !text.is_empty())
}

/// The address of a server, with a scheme.
pub fn base(server: &str) -> String {
    if server.contains("://") { server.to_owned() } else { format!("http://{server}") }
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
    /// The first so many.
    pub fn first(limit: u64) -> Self {
        Self { limit, all: false, after: None }
    }

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
