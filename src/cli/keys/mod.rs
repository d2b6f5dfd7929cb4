//! `anneal keys ...`: makes, lists and revokes API keys.

mod local;

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};

use super::client::{Client, escape};
use super::output::{Output, Table, age, member, print, time};
use super::remote::{PageArgs, RemoteArgs, items, tell_more};
use crate::clock;
use crate::config::Config;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  KEY=$(anneal keys create ci --scopes read,write --expires-in-days 90)     the key is shown this one time
  anneal keys list
  anneal keys revoke key_...
  anneal keys create admin --scopes read,write,admin --local                  the first one, on the server's machine

Through the API this needs the scope admin for keys of its own project, or operator for all; the first key with admin
has operator too. From the first key on, every request needs one.")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    /// Work on the data directory (--data-dir) instead of asking the server; it may be running
    #[arg(long, global = true)]
    local: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a key, and print it on standard output: it is never shown again
    Create(CreateArgs),
    /// List keys, without what they are
    List(ListArgs),
    /// Make a key worthless at once
    Revoke(RevokeArgs),
}

#[derive(Debug, clap::Args)]
struct CreateArgs {
    /// A name that says who will use it
    name: String,
    /// What it allows, separated by commas: read, write, admin, operator, code, agent
    #[arg(long, value_name = "SCOPE,...", value_delimiter = ',', default_value = "read,write")]
    scopes: Vec<String>,
    /// The project whose things it sees [default: your own]
    #[arg(long)]
    project: Option<String>,
    /// When it ends by itself [default: never]
    #[arg(long, value_name = "DAYS")]
    expires_in_days: Option<u64>,
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    page: PageArgs,
}

#[derive(Debug, clap::Args)]
struct RevokeArgs {
    /// The key's id, key_...
    id: String,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    if args.local {
        return local::run(config, &args.command, Output { json: args.remote.json });
    }
    args.remote.run(config, |client, output| match &args.command {
        Command::Create(args) => create(client, output, args),
        Command::List(args) => list(client, output, args),
        Command::Revoke(args) => {
            let key = client.post(&format!("/v1/api-keys/{}/revoke", escape(&args.id)), &json!({}))?;
            output.answer(&key, || format!("{} is revoked\n", args.id));
            Ok(ExitCode::SUCCESS)
        }
    })
}

fn create(client: &Client, output: Output, args: &CreateArgs) -> anyhow::Result<ExitCode> {
    let mut body = json!({"name": args.name, "scopes": args.scopes});
    if let Some(project) = &args.project {
        body["project"] = json!(project);
    }
    if let Some(days) = args.expires_in_days {
        body["expires_in_days"] = json!(days);
    }
    let key = client.post("/v1/api-keys", &body)?;
    made(&key, output);
    Ok(ExitCode::SUCCESS)
}

/// Shows a new key.
fn made(key: &Value, output: Output) {
    if output.json {
        output.answer(key, String::new);
    } else {
        // Alone on standard output, to be captured.
        print(&format!("{}\n", member(key, "/key")));
        eprintln!("this is {}, with {}; it is not shown again", member(key, "/id"), scopes(key));
    }
}

fn list(client: &Client, output: Output, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let list = args.page.list(client, "/v1/api-keys", &[])?;
    output.answer(&list, || table(&list));
    tell_more(&list, output);
    Ok(ExitCode::SUCCESS)
}

fn scopes(key: &Value) -> String {
    let scopes = key["scopes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    scopes.collect::<Vec<_>>().join(",")
}

fn state(key: &Value) -> &'static str {
    if !key["revoked_at"].is_null() {
        return "revoked";
    }
    let expired = key["expires_at"].as_i64().is_some_and(|end| end <= clock::now().unix_seconds());
    if expired { "expired" } else { "valid" }
}

fn table(list: &Value) -> String {
    let mut table = Table::new(&["ID", "PROJECT", "SCOPES", "CREATED", "EXPIRES", "STATE", "NAME"]);
    for key in items(list) {
        table.row([
            member(key, "/id"),
            member(key, "/project"),
            scopes(key),
            age(key["created_at"].as_i64()),
            time(key["expires_at"].as_i64()),
            String::from(state(key)),
            member(key, "/name"),
        ]);
    }
    table.text("there are no keys")
}
