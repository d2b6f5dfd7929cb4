//! `anneal audit ...`: the audit log of a data directory.

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;

use super::output::{Output, time};
use crate::config::Config;
use crate::store::AuditChain;

#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Debug, Subcommand)]
enum Command {
    /// Look whether an entry was changed or taken out
    Verify(VerifyArgs),
}

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal audit verify --data-dir /var/lib/anneal
  anneal audit verify --known 3f5c...        also that nothing is missing since that hash was the newest

Every entry holds the hash of the one before it, so that one that was changed or taken out from between is found. Who can
write the database can cut off the end, or write all hashes anew; keep the newest hash elsewhere from time to time, and
give it with --known. Entries go after a year, and their hashes with them. The server may run meanwhile.")]
struct VerifyArgs {
    /// The hash of an entry that was the newest one once, as this command printed it
    #[arg(long, value_name = "HASH")]
    known: Option<String>,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let Command::Verify(args) = &args.command;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let chain = runtime.block_on(async {
        let store = super::open_to_read(config).await?;
        store.verify_audit_log(args.known.as_deref()).await
    })?;
    let is_whole = chain.broken.is_none() && (chain.holds || args.known.is_none());
    let broken = chain.broken.as_ref().map(|(id, fault)| json!({"id": id, "fault": fault}));
    let answer = json!({
        "object": "audit_verification", "whole": is_whole, "entries": chain.entries, "unchained": chain.unchained,
        "first_number": chain.begins.map_or(1, |(number, _)| number), "newest": chain.head, "known": args.known.as_ref().map(|_| chain.holds), "broken": broken,
    });
    Output { json: args.json }.answer(&answer, || sentences(&chain, args.known.is_some()));
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn sentences(chain: &AuditChain, is_known: bool) -> String {
    let mut text = match &chain.broken {
        Some((id, fault)) => {
            format!("{id}: {fault}; the {} entries before it are as they were written\n", chain.entries)
        }
        None => format!("{} entries are as they were written\n", chain.entries),
    };
    if let Some((number, at)) = chain.begins {
        text += &format!(
            "the oldest one is number {number}, of {}; those before it are gone\n",
            time(Some(at.unix_seconds()))
        );
    }
    if is_known && !chain.holds {
        text += "no entry has the known hash: entries are missing, or all hashes were made anew\n";
    }
    if chain.unchained > 0 {
        text += &format!("{} entries are of a version that did not chain them\n", chain.unchained);
    }
    if let (None, Some(head)) = (&chain.broken, &chain.head) {
        text += &format!("the newest one has the hash {head}\n");
    }
    text
}
