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
    /// The server [env: ANNEAL_SERVER] [default: that of the profile, or http:// and the address `serve` listens on]
    #[arg(long, value_name = "URL", global = true, help_heading = HEADING)]
    server: Option<String>,
    /// What lets you in [default: the profile's, or else ANNEAL_API_KEY]; other users of this machine can read what
    /// stands here
    #[arg(long, value_name = "KEY", global = true, help_heading = HEADING, value_parser = key)]
    api_key: Option<ApiKey>,
    /// A server that `anneal login` remembers [env: ANNEAL_PROFILE] [default: the one of the last login]
    #[arg(long, value_name = "NAME", global = true, conflicts_with = "server", help_heading = HEADING)]
    profile: Option<String>,
    /// Where it remembers them
    #[arg(long, env = "ANNEAL_PROFILES", value_name = "FILE", global = true, hide = true)]
    profiles: Option<PathBuf>,
    #[command(flatten)]
    environment: Environment,
    /// Write JSON to standard output: one document, or one a line where things come one by one; errors as JSON to
    /// standard error
    #[arg(long, global = true, help_heading = HEADING)]
    pub json: bool,
}

/// What variables say, which counts less than any flag.
#[derive(Clone, Debug, clap::Args)]
struct Environment {
    #[arg(long, env = "ANNEAL_SERVER", global = true, hide = true)]
    environment_server: Option<String>,
    #[arg(long, env = "ANNEAL_PROFILE", global = true, hide = true)]
    environment_profile: Option<String>,
    #[arg(long, env = "ANNEAL_API_KEY", hide_env_values = true, global = true, hide = true, value_parser = key)]
    environment_api_key: Option<ApiKey>,
}

/// Which server is meant.
enum Meant {
    Named(String),
    Remembered(Profile),
    /// The one of this machine.
    Own,
}

impl RemoteArgs {
    /// Runs a command as a client.
    pub fn run(
        &self,
        config: &Config,
        command: impl FnOnce(&Client, Output) -> anyhow::Result<ExitCode>,
    ) -> anyhow::Result<ExitCode> {
        self.run_alone(|output| self.connect(config).and_then(|client| command(&client, output)))
    }

    /// The same for a command that asks no server.
    pub fn run_alone(&self, command: impl FnOnce(Output) -> anyhow::Result<ExitCode>) -> anyhow::Result<ExitCode> {
        let output = Output { json: self.json };
        command(output).or_else(|error| output.failure(error))
    }

    /// The file of profiles.
    pub fn profiles_file(&self) -> anyhow::Result<PathBuf> {
        let file = self.profiles.clone().filter(|file| !file.as_os_str().is_empty()).or_else(default_file);
        file.context("there is no home directory; say in ANNEAL_PROFILES where profiles are kept")
    }

    /// The key on the command line.
    pub fn key(&self) -> Option<ApiKey> {
        let key = given_key(self.api_key.as_ref());
        if key.is_some() && !self.json {
            eprintln!(
                "warning: other users of this machine can see a key on a command line; use ANNEAL_API_KEY instead"
            );
        }
        key
    }

    /// The profile that was named, by a flag or a variable.
    pub fn profile_name(&self) -> Option<&str> {
        given(self.profile.as_ref()).or(given(self.environment.environment_profile.as_ref()))
    }

    /// Whether a server or a profile was named, by a flag or a variable.
    pub fn names_a_server(&self) -> bool {
        self.named_server().or(self.profile_name()).is_some()
    }

    /// Whether `anneal login` remembers a server as the present one.
    pub fn remembers_a_server(&self) -> anyhow::Result<bool> {
        Ok(self.remembered(None)?.is_some())
    }

    fn named_server(&self) -> Option<&str> {
        given(self.server.as_ref()).or(given(self.environment.environment_server.as_ref()))
    }

    /// A flag counts more than a variable, and a server more than a profile.
    fn meant(&self) -> anyhow::Result<Meant> {
        let flag = given(self.profile.as_ref());
        if let Some(server) = self.named_server().filter(|_| flag.is_none()) {
            return Ok(Meant::Named(base(server)));
        }
        Ok(self.remembered(self.profile_name())?.map_or(Meant::Own, Meant::Remembered))
    }

    /// The profile of this name, or else the present one.
    fn remembered(&self, name: Option<&str>) -> anyhow::Result<Option<Profile>> {
        match self.profiles_file() {
            Ok(file) => Ok(Profiles::read(&file)?.find(name)?.cloned()),
            Err(error) if name.is_some() => Err(error),
            Err(_) => Ok(None),
        }
    }

    fn connect(&self, config: &Config) -> anyhow::Result<Client> {
        let (base, remembered) = match self.meant()? {
            Meant::Named(base) => (base, None),
            Meant::Remembered(profile) => (profile.server.clone(), profile.key()),
            Meant::Own => (config.own_url(), None),
        };
        // The key of a profile is that server's; the variable's may be another's.
        let key = self.key().or(remembered).or_else(|| given_key(self.environment.environment_api_key.as_ref()));
        Ok(Client::with_key(&base, key))
    }
}

fn key(text: &str) -> Result<ApiKey, std::convert::Infallible> {
    Ok(ApiKey(text.to_owned()))
}

fn given_key(key: Option<&ApiKey>) -> Option<ApiKey> {
    key.and_then(|key| ApiKey::given(&key.0))
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
    /// All there are.
    pub fn everything() -> Self {
        Self { limit: 0, all: true, after: None }
    }

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
    items_of(list, "data")
}

/// The items of a list that is a member.
pub fn items_of<'a>(value: &'a Value, member: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value[member].as_array().into_iter().flatten()
}

/// Says on standard error that a list goes on.
pub fn tell_more(list: &Value, output: Output) {
    if let (true, false, Some(last)) = (list["has_more"] == true, output.json, list["last_id"].as_str()) {
        eprintln!("there are more: --all, or --after {last}");
    }
}
