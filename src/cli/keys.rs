//! `anneal keys`: works on the data directory, so that whoever runs the server can make the first key.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::bail;
use serde_json::json;

use crate::clock;
use crate::config::Config;
use crate::job::access::check_project;
use crate::job::{ApiKeyId, Scope};
use crate::store::{ApiKeyRow, NewApiKey, Page, Store};

#[derive(Clone, Debug, clap::Subcommand)]
pub enum Command {
    /// Make a key and print it; it is stored as a digest and cannot be shown again
    #[command(after_help = "Examples:
  anneal keys create admin --scopes read,write,admin
  anneal keys create nightly --project speech --expires-in-days 90

From the first key on, every request to the server needs one.")]
    Create {
        /// What people know the key by
        name: String,
        /// What the key allows: read, write, admin, code
        #[arg(long, value_delimiter = ',', default_value = "read,write", value_parser = scope)]
        scopes: Vec<Scope>,
        /// The project that it gives access to
        #[arg(long, default_value = "default")]
        project: String,
        /// Days until it ends; without it, it does not expire
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3650))]
        expires_in_days: Option<u32>,
        /// Print the key with its id as JSON
        #[arg(long)]
        json: bool,
    },
    /// List the keys of all projects, without their secrets
    List {
        /// Print one JSON document a line
        #[arg(long)]
        json: bool,
    },
    /// End a key at once
    Revoke {
        /// The key's id
        id: ApiKeyId,
    },
}

fn scope(text: &str) -> Result<Scope, String> {
    text.parse().map_err(|_| String::from("scopes are read, write, admin and code"))
}

pub fn run(config: &Config, command: Command) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = Store::open(&config.data_dir).await?;
        match command {
            Command::Create { name, scopes, project, expires_in_days, json } => {
                if let Err(error) = check_project(&project, "--project") {
                    bail!("{error}");
                }
                let now = clock::now();
                let expires_at = expires_in_days.map(|days| now.plus_seconds(u64::from(days) * 24 * 3600));
                let new = NewApiKey { project, name, scopes, metadata: BTreeMap::new(), expires_at };
                let (row, secret) = ApiKeyRow::generate(new, now)?;
                store.add_api_key(&row).await?;
                if json {
                    println!("{}", json!({"id": row.id, "project": row.project, "key": secret}));
                } else {
                    println!("{secret}");
                    eprintln!("{} for the project {}; keep it, it is not shown again", row.id, row.project);
                }
            }
            Command::List { json } => list(&store, json).await?,
            Command::Revoke { id } => {
                store.revoke_api_key(id, clock::now()).await?;
                println!("{id} is revoked");
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Keys that are read at a time.
const PAGE: u32 = 100;

async fn list(store: &Store, json: bool) -> anyhow::Result<()> {
    let mut after = None;
    loop {
        let rows = store.api_keys(&Page { after: after.take(), limit: PAGE, newest_first: false }).await?;
        for row in &rows {
            let scopes = row.scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(",");
            let state = if row.is_usable(clock::now()) { "usable" } else { "ended" };
            if json {
                let (id, name, project) = (row.id, &row.name, &row.project);
                println!("{}", json!({"id": id, "name": name, "project": project, "scopes": scopes, "state": state}));
            } else {
                println!("{}  {}…  {state}  {}  {scopes}  {}", row.id, row.prefix, row.project, row.name);
            }
        }
        match rows.last().filter(|_| rows.len() == PAGE as usize) {
            Some(last) => after = Some(last.id.to_string()),
            None => return Ok(()),
        }
    }
}
