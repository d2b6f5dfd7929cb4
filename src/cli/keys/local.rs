//! Keys in the data directory itself, so that whoever runs a server can make the first one.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{anyhow, bail};
use serde_json::{Value, json};

use super::{Command, CreateArgs, made, table};
use crate::cli::open_store;
use crate::cli::output::Output;
use crate::clock;
use crate::config::Config;
use crate::job::access::check_project;
use crate::job::{AuditEntryId, Scope, Timestamp};
use crate::store::{ApiKeyRow, AuditEntry, DEFAULT_PROJECT, NewApiKey, Page, Store};

/// Keys that are read at a time.
const PAGE: u32 = 100;
/// Longest life of a key, in days.
const MAX_DAYS: u64 = 3650;

pub fn run(config: &Config, command: &Command, output: Output) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = open_store(config).await?;
        match command {
            Command::Create(args) => {
                let (row, secret) = ApiKeyRow::generate(new_key(args)?, clock::now())?;
                let row = store.add_api_key(row, true).await?;
                note(&store, &row.project, "/v1/api-keys").await?;
                made(&described(&row, Some(secret)), output);
            }
            Command::List(_) => {
                let keys = all(&store).await?;
                let list = json!({"object": "list", "data": keys, "has_more": false});
                output.answer(&list, || table(&list));
            }
            Command::Revoke(args) => {
                let id = args.id.parse().map_err(|error| anyhow!("{error}"))?;
                let row = store.revoke_api_key(id, clock::now()).await?;
                note(&store, &row.project, &format!("/v1/api-keys/{id}/revoke")).await?;
                let key = described(&row, None);
                output.answer(&key, || format!("{id} is revoked\n"));
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// What is done beside the server stands in its audit log too.
async fn note(store: &Store, project: &str, path: &str) -> anyhow::Result<()> {
    let now = clock::now();
    let entry = AuditEntry {
        id: AuditEntryId::generate(),
        project: project.to_owned(),
        key: None,
        method: String::from("POST"),
        path: path.to_owned(),
        status: 200,
        code: None,
        request_id: String::from("local"),
        requests: 1,
        created_at: now,
    };
    Ok(store.add_audit_entries(&[entry], now).await?)
}

fn new_key(args: &CreateArgs) -> anyhow::Result<NewApiKey> {
    let project = args.project.clone().unwrap_or_else(|| DEFAULT_PROJECT.to_owned());
    check_project(&project, "--project")?;
    let scopes: Vec<Scope> = args
        .scopes
        .iter()
        .map(|scope| {
            scope.parse().map_err(|_| anyhow!("`{scope}` is no scope; there are read, write, admin, operator and code"))
        })
        .collect::<anyhow::Result<_>>()?;
    if args.expires_in_days.is_some_and(|days| !(1..=MAX_DAYS).contains(&days)) {
        bail!("--expires-in-days must lie between 1 and {MAX_DAYS}");
    }
    let expires_at = args.expires_in_days.map(|days| clock::now().plus_seconds(days * 24 * 3600));
    Ok(NewApiKey { project, name: args.name.clone(), scopes, metadata: BTreeMap::new(), expires_at })
}

async fn all(store: &Store) -> anyhow::Result<Vec<Value>> {
    let (mut keys, mut after) = (Vec::new(), None);
    loop {
        let rows = store.api_keys(&Page { after: after.take(), limit: PAGE, newest_first: true }).await?;
        keys.extend(rows.iter().map(|row| described(row, None)));
        match rows.last().filter(|_| rows.len() == PAGE as usize) {
            Some(last) => after = Some(last.id.to_string()),
            None => return Ok(keys),
        }
    }
}

/// A key as the API shows it.
fn described(row: &ApiKeyRow, secret: Option<String>) -> Value {
    let seconds = |time: Option<Timestamp>| time.map(Timestamp::unix_seconds);
    json!({
        "id": row.id,
        "object": "api_key",
        "name": row.name,
        "project": row.project,
        "scopes": row.scopes,
        "prefix": row.prefix,
        "created_at": row.created_at.unix_seconds(),
        "expires_at": seconds(row.expires_at),
        "revoked_at": seconds(row.revoked_at),
        "key": secret,
    })
}
