//! `anneal backup` and `anneal restore`: copies of a data directory. A copy is a data directory itself.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::output::Output;
use crate::clock;
use crate::config::Config;
use crate::store::{BucketAddress, Copied, Store};

/// What says that a folder is a backup.
const LABEL: &str = "backup.json";

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:
  anneal backup /mnt/backup/anneal --data-dir /var/lib/anneal
  anneal restore /mnt/backup/anneal --data-dir /var/lib/anneal-2

The server may run meanwhile. A backup that was broken off, or an earlier one, is gone on with:
only what is new is copied. Every file is compared with its digest on the way.")]
pub struct BackupArgs {
    /// The folder of the backup: a new or empty one, or that of an earlier backup
    folder: PathBuf,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example:
  anneal restore /mnt/backup/anneal --data-dir /var/lib/anneal-2
  anneal serve --data-dir /var/lib/anneal-2

Jobs that were running when the backup was made go on from their newest training checkpoint.")]
pub struct RestoreArgs {
    /// The folder of the backup
    folder: PathBuf,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub fn back_up(config: &Config, args: &BackupArgs) -> anyhow::Result<ExitCode> {
    let folder = &args.folder;
    let label = folder.join(LABEL);
    if !is_empty(folder)? && !label.exists() {
        bail!("{} is neither empty nor an earlier backup; name another folder", folder.display());
    }
    make(folder)?;
    fs::write(&label, "{\"complete\": false}\n").with_context(|| format!("cannot write {}", label.display()))?;
    let copied = copy(&config.data_dir, (config.database_url(), super::bucket(config).as_ref()), folder)?;
    let described = described(folder, copied);
    fs::write(&label, format!("{described:#}\n")).with_context(|| format!("cannot write {}", label.display()))?;
    Output { json: args.json }.answer(&described, || sentence("backed up to", folder, copied));
    Ok(ExitCode::SUCCESS)
}

pub fn restore(config: &Config, args: &RestoreArgs) -> anyhow::Result<ExitCode> {
    let (backup, data) = (&args.folder, &config.data_dir);
    if !backup.join(LABEL).exists() {
        bail!("{} is no backup: it has no {LABEL}", backup.display());
    }
    if data.join("anneal.db").exists() {
        bail!("{} holds data already; restore into a new folder with --data-dir", data.display());
    }
    make(data)?;
    let copied = copy(backup, (None, None), data)?;
    Output { json: args.json }.answer(&described(data, copied), || sentence("restored to", data, copied));
    Ok(ExitCode::SUCCESS)
}

/// A folder for its owner only, for what is copied holds secrets.
fn make(folder: &Path) -> anyhow::Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.with_context(|| format!("cannot create {}", folder.display()))
}

fn copy(from: &Path, (database, bucket): (Option<&str>, Option<&BucketAddress>), to: &Path) -> anyhow::Result<Copied> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{elapsed_precise} [{bar:24}] {bytes}/{total_bytes} {eta}") {
        bar.set_style(style.progress_chars("=> "));
    }
    let copied = runtime.block_on(async {
        let store = Store::open_to_read(from, database, bucket).await?;
        let told = |copied: Copied| {
            bar.set_length(copied.total);
            bar.set_position(copied.bytes);
        };
        anyhow::Ok(store.copy_to(to, told).await?)
    });
    bar.finish_and_clear();
    copied
}

fn is_empty(folder: &Path) -> anyhow::Result<bool> {
    match fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", folder.display())),
    }
}

fn described(folder: &Path, copied: Copied) -> Value {
    json!({
        "complete": true, "folder": folder, "files": copied.files, "bytes": copied.bytes,
        "version": env!("ANNEAL_BUILD"), "created_at": clock::now().unix_seconds(),
    })
}

fn sentence(done: &str, folder: &Path, copied: Copied) -> String {
    let Copied { files, bytes, .. } = copied;
    format!("{done} {}: the database and {files} files of {bytes} bytes\n", folder.display())
}
