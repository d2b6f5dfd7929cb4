//! `anneal checkpoints ...`: lists, shows and downloads them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use super::client::{Client, Downloaded, escape};
use super::interrupt::on_interrupt;
use super::output::{Fields, Output, Table, age, member, size, time};
use super::remote::{PageArgs, RemoteArgs, items, tell_more};
use crate::config::Config;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal checkpoints list --job JOB
  anneal checkpoints download CHECKPOINT --output model     every file, checked against the manifest
  anneal checkpoints download CHECKPOINT --archive model.tar

A download that broke off goes on where it stopped when the same command is repeated.")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List checkpoints, the newest first
    List(ListArgs),
    /// Show one checkpoint and its files
    Get(GetArgs),
    /// Download a checkpoint and check it
    Download(DownloadArgs),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Only those of this job
    #[arg(long)]
    job: Option<String>,
    #[command(flatten)]
    page: PageArgs,
}

#[derive(Debug, clap::Args)]
struct GetArgs {
    /// The checkpoint, ckpt_...
    checkpoint: String,
}

#[derive(Debug, clap::Args)]
struct DownloadArgs {
    /// The checkpoint, ckpt_...
    checkpoint: String,
    /// The folder for its files [default: one with the checkpoint's id]
    #[arg(long, short, value_name = "DIR", conflicts_with = "archive")]
    output: Option<PathBuf>,
    /// Download it as one tar file
    #[arg(long, value_name = "FILE")]
    archive: Option<PathBuf>,
}

pub fn run(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| match &args.command {
        Command::List(args) => list(client, output, args),
        Command::Get(args) => get(client, output, args),
        Command::Download(args) => download(client, output, args),
    })
}

fn list(client: &Client, output: Output, args: &ListArgs) -> anyhow::Result<ExitCode> {
    let path = match &args.job {
        Some(job) => format!("/v1/jobs/{}/checkpoints", escape(job)),
        None => String::from("/v1/checkpoints"),
    };
    let list = args.page.list(client, &path, &[])?;
    output.answer(&list, || {
        let mut table = Table::new(&["ID", "KIND", ">STEP", ">SIZE", "CREATED", "JOB"]);
        for checkpoint in items(&list) {
            table.row([
                member(checkpoint, "/id"),
                member(checkpoint, "/kind"),
                member(checkpoint, "/step"),
                size(checkpoint["bytes"].as_u64()),
                age(checkpoint["created_at"].as_i64()),
                member(checkpoint, "/job"),
            ]);
        }
        table.text("there are no checkpoints yet")
    });
    tell_more(&list, output);
    Ok(ExitCode::SUCCESS)
}

fn get(client: &Client, output: Output, args: &GetArgs) -> anyhow::Result<ExitCode> {
    let checkpoint = client.get(&format!("/v1/checkpoints/{}", escape(&args.checkpoint)))?;
    output.answer(&checkpoint, || {
        let mut fields = Fields::default();
        for name in ["id", "kind", "job", "step", "attempt"] {
            fields.add(name, member(&checkpoint, &format!("/{name}")));
        }
        fields.add("size", size(checkpoint["bytes"].as_u64()));
        fields.add("created", time(checkpoint["created_at"].as_i64()));
        let mut table = Table::new(&["FILE", ">BYTES", "SHA256"]);
        for file in checkpoint["files"].as_array().into_iter().flatten() {
            table.row([member(file, "/path"), member(file, "/size"), member(file, "/sha256")]);
        }
        format!("{}\n{}", fields.text(), table.text("it has no files"))
    });
    Ok(ExitCode::SUCCESS)
}

fn download(client: &Client, output: Output, args: &DownloadArgs) -> anyhow::Result<ExitCode> {
    on_interrupt(String::from("what has arrived is kept; the same command goes on from there"));
    let id = &args.checkpoint;
    let path = format!("/v1/checkpoints/{}", escape(id));
    let (target, files) = match (&args.archive, &args.output) {
        (Some(file), _) => (file.clone(), vec![client.download_archive(&path, file, &bar_of_bytes())?]),
        (None, folder) => {
            let folder = folder.clone().unwrap_or_else(|| PathBuf::from(escape(id)));
            let files = client.download(&path, &folder, &bar_of_bytes())?;
            (folder, files)
        }
    };
    tell_downloaded(output, ("checkpoint", id), &target, &files);
    Ok(ExitCode::SUCCESS)
}

/// Says which files of what, a kind of thing and its id, are where now.
pub fn tell_downloaded(output: Output, (what, id): (&str, &str), target: &Path, files: &[Downloaded]) {
    let bytes: u64 = files.iter().map(|file| file.size).sum();
    let answer = json!({"object": "download", what: id, "target": target, "bytes": bytes, "files": files});
    output.answer(&answer, || {
        let mut table = Table::new(&["FILE", ">BYTES", "SHA256"]);
        for file in files {
            table.row([file.path.display().to_string(), file.size.to_string(), file.sha256.clone()]);
        }
        table.text(&format!("the {what} has no files"))
    });
    if !output.json {
        eprintln!("{} in {}, checked against the manifest", size(Some(bytes)), target.display());
    }
}

/// A bar for a transfer, on standard error.
pub fn bar_of_bytes() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("[{bar:24}] {bytes}/{total_bytes} {bytes_per_sec} {msg}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}
