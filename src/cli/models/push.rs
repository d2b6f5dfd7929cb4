//! `anneal models push`: sends a model from this machine to a server, part by part. What has arrived is written down beside
//! the profiles, so that a push that was interrupted goes on where it was.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use indicatif::ProgressBar;
use md5::Md5;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::bring::{described, follow};
use crate::cli::checkpoints::bar_of_bytes;
use crate::cli::client::{Client, Refused, escape};
use crate::cli::output::Output;
use crate::cli::remote::RemoteArgs;
use crate::config::Config;
use crate::job::digest::{hex, sha256_hex};
use crate::modelfile::{self, ModelFileError, adapter};

/// Bytes of a part.
const PART_BYTES: u64 = 32 << 20;
/// How long a file that was sent is kept for the model that it is part of.
const FILE_SECONDS: u64 = 2 * 86_400;

#[derive(Debug, clap::Args)]
pub struct PushArgs {
    /// A Hugging Face directory (config.json, *.safetensors, tokenizer.json) or a GGUF file
    path: PathBuf,
    /// Of an adapter: the model that it was trained beside, which the server has
    #[arg(long)]
    base: Option<String>,
    /// A name for people
    #[arg(long)]
    name: Option<String>,
    /// Begin anew, whatever was sent before
    #[arg(long)]
    restart: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub fn run(config: &Config, args: &PushArgs) -> anyhow::Result<ExitCode> {
    args.remote.run(config, |client, output| push(client, output, args))
}

/// What has arrived of a model.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Sent {
    files: BTreeMap<String, SentFile>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct SentFile {
    sha256: String,
    bytes: u64,
    /// Under way.
    upload: Option<String>,
    parts: Vec<String>,
    /// Complete.
    file: Option<String>,
}

fn push(client: &Client, output: Output, args: &PushArgs) -> anyhow::Result<ExitCode> {
    let path = args.path.canonicalize().with_context(|| format!("cannot open {}", args.path.display()))?;
    // What the server would refuse is not sent to it.
    let files = files_of(&path).map_err(|error| anyhow::anyhow!("{error} ({})", error.code()))?;
    let state = state_file(&args.remote, client, &path)?;
    if args.restart {
        drop(fs::remove_file(&state));
    }
    let mut sent: Sent =
        fs::read(&state).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let sizes = files.iter().map(|file| Ok(file.metadata()?.len())).collect::<std::io::Result<Vec<u64>>>()?;
    let bar = bar_of_bytes();
    bar.set_length(sizes.iter().sum());
    for (file, bytes) in files.iter().zip(sizes) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        bar.set_message(name.clone());
        let known = sent.files.remove(&name).unwrap_or_default();
        let mut keep = |now: &SentFile| {
            sent.files.insert(name.clone(), now.clone());
            write(&state, &sent)
        };
        Push { client, path: file, name: &name, bar: &bar }.file(bytes, known, &mut keep)?;
    }
    bar.finish_and_clear();
    // What was sent at an earlier try and is no longer in the folder is not of this model.
    let names: Vec<_> = files.iter().filter_map(|file| file.file_name()?.to_str()).collect();
    let of_model = sent.files.iter().filter(|(name, _)| names.contains(&name.as_str()));
    let ids: BTreeMap<&String, &Option<String>> = of_model.map(|(name, file)| (name, &file.file)).collect();
    let model = client.post("/v1/models", &json!({"files": ids, "base": args.base, "name": args.name}))?;
    let model = follow(client, model)?;
    // The model has them, and nobody needs the others.
    for file in sent.files.values().filter_map(|file| file.file.as_deref()) {
        client.delete(&format!("/v1/files/{}", escape(file)))?;
    }
    drop(fs::remove_file(&state));
    output.answer(&model, || described(&model, &format!("by {}", client.base())));
    Ok(ExitCode::SUCCESS)
}

/// The files of a model, or of an adapter, which the server compares with its base.
fn files_of(path: &Path) -> Result<Vec<PathBuf>, ModelFileError> {
    match modelfile::inspect(path) {
        Ok(inspection) => Ok(inspection.files),
        Err(ModelFileError::AdapterAlone { .. }) => Ok(adapter::FILES.map(|name| path.join(name)).into()),
        Err(error) => Err(error),
    }
}

/// A file on its way.
struct Push<'a> {
    client: &'a Client,
    path: &'a Path,
    name: &'a str,
    bar: &'a ProgressBar,
}

impl Push<'_> {
    /// Sends what of the file has not arrived; `keep` writes down what has.
    fn file(
        &self,
        bytes: u64,
        known: SentFile,
        keep: &mut impl FnMut(&SentFile) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (sha256, md5) = digests(self.path)?;
        let fresh = SentFile { sha256, bytes, ..SentFile::default() };
        let mut now = if known.sha256 == fresh.sha256 { known } else { fresh };
        if let Some(file) = &now.file {
            match self.client.get(&format!("/v1/files/{}", escape(file))) {
                Ok(there) if there["sha256"] == now.sha256 => {
                    self.bar.inc(bytes);
                    return keep(&now);
                }
                Ok(_) => now.file = None,
                Err(error) if is_gone(&error) => now.file = None,
                Err(error) => return Err(error),
            }
        }
        // An upload lives for an hour after its last part; one that has ended begins again, once.
        for is_last in [false, true] {
            match self.parts(&mut now, &md5, keep) {
                Err(error) if is_gone(&error) && !is_last => {
                    self.bar.set_position(self.bar.position().saturating_sub(now.arrived()));
                    (now.upload, now.parts) = (None, Vec::new());
                }
                result => return result,
            }
        }
        Ok(())
    }

    fn parts(
        &self,
        now: &mut SentFile,
        md5: &str,
        keep: &mut impl FnMut(&SentFile) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let upload = match &now.upload {
            Some(upload) => upload.clone(),
            None => {
                let body = json!({
                    "filename": self.name, "purpose": "user_data", "bytes": now.bytes,
                    "mime_type": "application/octet-stream",
                    "expires_after": {"anchor": "created_at", "seconds": FILE_SECONDS},
                });
                let upload = id(&self.client.post("/v1/uploads", &body)?)?;
                (now.upload, now.parts) = (Some(upload.clone()), Vec::new());
                keep(now)?;
                upload
            }
        };
        self.bar.inc(now.arrived());
        let file = File::open(self.path)?;
        while now.arrived() < now.bytes {
            let start = now.arrived();
            let mut part = vec![0; PART_BYTES.min(now.bytes - start) as usize];
            file.read_exact_at(&mut part, start).with_context(|| format!("cannot read {}", self.path.display()))?;
            let made = self.client.send_part(&upload, &part)?;
            now.parts.push(id(&made)?);
            keep(now)?;
            self.bar.inc(part.len() as u64);
        }
        let body = json!({"part_ids": now.parts, "md5": md5});
        // Asked again after a break it answers with the same file.
        let path = format!("/v1/uploads/{}/complete", escape(&upload));
        let done = self.client.post_once(&path, &body, Some(&upload))?;
        if done["file"]["sha256"] != now.sha256 {
            bail!("{} arrived as another file than it was; it was changed meanwhile, push it again", self.name);
        }
        (now.file, now.upload, now.parts) = (Some(id(&done["file"])?), None, Vec::new());
        keep(now)
    }
}

impl SentFile {
    /// Bytes that are there.
    fn arrived(&self) -> u64 {
        (self.parts.len() as u64 * PART_BYTES).min(self.bytes)
    }
}

/// Whether the server does not know any more what was begun.
fn is_gone(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refused>().is_some_and(|refused| matches!(refused.status, 404 | 409))
}

fn id(value: &Value) -> anyhow::Result<String> {
    Ok(value["id"].as_str().context("the server's answer has no id")?.to_owned())
}

/// The SHA-256 and the MD5 of a file.
fn digests(path: &Path) -> anyhow::Result<(String, String)> {
    let mut file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let (mut sha256, mut md5, mut chunk) = (Sha256::new(), Md5::new(), vec![0; 1 << 20]);
    loop {
        let count = file.read(&mut chunk).with_context(|| format!("cannot read {}", path.display()))?;
        if count == 0 {
            return Ok((hex(&sha256.finalize()), hex(&md5.finalize())));
        }
        sha256.update(&chunk[..count]);
        md5.update(&chunk[..count]);
    }
}

/// Where it is written down what of a model has arrived at a server.
fn state_file(remote: &RemoteArgs, client: &Client, path: &Path) -> anyhow::Result<PathBuf> {
    let what = sha256_hex(format!("{}\n{}", client.base(), path.display()).as_bytes());
    let folder = remote.profiles_file()?.parent().context("profiles have no folder")?.join("pushes");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder.join(format!("{}.json", &what[..32])))
}

fn write(path: &Path, sent: &Sent) -> anyhow::Result<()> {
    let temporary = path.with_extension("tmp");
    fs::write(&temporary, serde_json::to_vec(sent)?)?;
    fs::rename(&temporary, path).with_context(|| format!("cannot write {}", path.display()))
}
