//! `anneal db`: the database by itself: bringing it up to date, looking at it, and moving from SQLite to PostgreSQL.

use std::process::ExitCode;

use anyhow::bail;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::open_store;
use super::output::{Output, time};
use crate::clock;
use crate::config::{Config, DatabaseUrl};
use crate::store::{CopiedTable, Store};

#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Command {
    /// Bring the database up to date, as a server that starts does
    Migrate(MigrateArgs),
    /// Show which database is used, its version, and the machines that share it
    Status(StatusArgs),
    /// Copy everything from SQLite in a data directory to a new database of PostgreSQL
    Copy(CopyArgs),
}

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example:
  anneal db migrate --database postgres://anneal@db.example.org/anneal

Servers of the version before go on working meanwhile, unless CHANGELOG.md says otherwise of a version.")]
struct MigrateArgs {
    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Debug, clap::Args)]
struct StatusArgs {
    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example:
  createdb --locale=C --template=template0 anneal
  anneal db copy --data-dir /var/lib/anneal --to postgres://anneal@db.example.org/anneal
  anneal serve --data-dir /var/lib/anneal --database postgres://anneal@db.example.org/anneal

The server must be stopped. A copy that was broken off is gone on with. Each table is compared by a digest at the end.
Files stay where they are, in the data directory; of SQLite nothing is changed.")]
struct CopyArgs {
    /// Address of the new database
    #[arg(long, value_name = "URL")]
    to: DatabaseUrl,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match &args.command {
            Command::Migrate(args) => {
                let store = open_store(config).await?;
                let version = store.schema_version().await?;
                let answer = json!({"object": "database", "version": version});
                Output { json: args.json }
                    .answer(&answer, || format!("the database is up to date: change {version}\n"));
            }
            Command::Status(args) => status(config, Output { json: args.json }).await?,
            Command::Copy(args) => copy(config, args).await?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

async fn status(config: &Config, output: Output) -> anyhow::Result<()> {
    let store = super::open_to_read(config).await?;
    let (version, hosts) = (store.schema_version().await?, store.hosts().await?);
    let kind = if store.is_shared() { "postgres" } else { "sqlite" };
    let described: Vec<_> = hosts
        .iter()
        .map(|host| {
            json!({"name": host.name, "version": host.version, "started_at": host.started_at.unix_seconds(),
                   "seen_at": host.seen_at.unix_seconds()})
        })
        .collect();
    let answer = json!({"object": "database", "kind": kind, "version": version, "hosts": described});
    output.answer(&answer, || {
        let mut text = format!("{kind}, change {version}\n");
        for host in &hosts {
            let seen = time(Some(host.seen_at.unix_seconds()));
            text.push_str(&format!("{}: anneal {}, seen {seen}\n", host.name, host.version));
        }
        text
    });
    Ok(())
}

async fn copy(config: &Config, args: &CopyArgs) -> anyhow::Result<()> {
    if config.database.is_some() {
        bail!("a copy is made from SQLite in a data directory; leave --database out and name the other one with --to");
    }
    // What an older version has written is brought up to date first.
    drop(Store::open(&config.data_dir).await?);
    let source = Store::open_to_read(&config.data_dir, None, None).await?;
    let target = Store::open_at(&config.data_dir, Some(args.to.as_str()), None).await?;
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{elapsed_precise} {spinner} {msg}") {
        bar.set_style(style);
    }
    let told = |table: &CopiedTable| {
        let compared = if table.sha256.is_some() { ", compared" } else { "" };
        bar.set_message(format!("{}: {} rows{compared}", table.name, table.rows));
        bar.tick();
    };
    let tables = source.copy_rows(&target, clock::now(), told).await?;
    bar.finish_and_clear();
    let rows: u64 = tables.iter().map(|table| table.rows).sum();
    let described: Vec<_> =
        tables.iter().map(|table| json!({"name": table.name, "rows": table.rows, "sha256": table.sha256})).collect();
    let answer = json!({"object": "database_copy", "rows": rows, "tables": described});
    Output { json: args.json }.answer(&answer, || {
        format!(
            "{rows} rows of {} tables were copied and are equal on both sides\nstart the server with --database and the \
             same --data-dir, which keeps the files\n",
            tables.len()
        )
    });
    Ok(())
}
