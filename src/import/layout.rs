//! Laying a model out: its small files, and of its weights the headers. All of this blocks.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::ImportError;
use super::complete::copy;
use super::plan::{Origin, Plan, Planned, Stamp};
use crate::hub::{Digester, FileDigest, Hub, HubError, HubRef, RemoteFile, Snapshot};
use crate::modelfile::{self, COMPANIONS, DOCUMENTS, Head, Inspection, ModelFileError, adapter, safetensors};
use crate::spec::ModelRef;
use crate::store::{AdapterOf, Staged, StoreError};

/// How often a request is tried that could not be answered, while a client waits.
const TRIES: u32 = 3;
/// Longest that it waits between two of them.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest that laying out a model of the hub takes, all tries together.
const LAY_OUT_TIME: Duration = Duration::from_secs(300);
/// What is read of a file of weights at first.
const FIRST_BYTES: u64 = 1 << 20;

/// Where a model comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A directory or a GGUF file of this machine. With `roots`, every file of it must lie below one of them: links may
    /// lead elsewhere below the roots, as in a cache that keeps a file once, and not out of them.
    Disk { path: PathBuf, roots: Option<Vec<PathBuf>> },
    /// Files that a client has sent.
    Uploads(Vec<Uploaded>),
    /// A model of the hub, at a commit.
    Hub { reference: HubRef, snapshot: Snapshot },
}

/// Whether a repository holds an adapter and no model.
fn has_adapter(snapshot: &Snapshot) -> bool {
    let has = |name: &str| snapshot.file(name).is_some();
    adapter::FILES.into_iter().all(has) && ![safetensors::SINGLE_FILE, safetensors::INDEX_FILE].into_iter().any(has)
}

/// A file that a client has sent, for a model.
#[derive(Clone, Debug)]
pub struct Uploaded {
    /// In the model's folder.
    pub name: String,
    /// On this machine.
    pub path: PathBuf,
    pub sha256: String,
}

/// A model that is laid out in a folder on its way in.
#[derive(Debug)]
pub struct Laid {
    pub(super) staged: Staged,
    pub inspection: Inspection,
    /// What it is an adapter of, if it is one.
    pub(super) adapter: Option<AdapterOf>,
    pub(super) plan: Plan,
    /// As the model's row names it.
    pub(super) source: String,
}

impl Source {
    /// As the row of the model names it.
    pub fn name(&self) -> String {
        match self {
            Self::Disk { path, .. } => path.display().to_string(),
            Self::Uploads(_) => String::from("upload"),
            Self::Hub { reference, snapshot } => reference.at(&snapshot.commit).to_string(),
        }
    }

    /// Lays the model out in `staged`, and inspects it.
    pub fn lay_out(&self, staged: Staged, hub: &Hub) -> Result<Laid, ImportError> {
        let folder = staged.folder()?.to_owned();
        let plan = match self {
            Self::Disk { path, roots } => lay_out_disk(path, roots.as_deref(), &folder)?,
            Self::Uploads(files) => lay_out_uploads(files, &folder)?,
            Self::Hub { reference, snapshot } => lay_out_hub(hub, reference, snapshot, &folder)?,
        };
        let inspection = modelfile::inspect(&folder)?;
        Ok(Laid { staged, inspection, adapter: None, plan, source: self.name() })
    }

    /// The model that it says it is an adapter of; none where it is no adapter.
    pub fn adapts(&self, hub: &Hub) -> Result<Option<String>, ImportError> {
        let parsed = |bytes: &[u8]| {
            let invalid = |error: serde_json::Error| ModelFileError::ConfigInvalid {
                file: adapter::CONFIG.to_owned(),
                detail: format!("it is not JSON: {error}"),
            };
            Ok(Some(adapter::base_named(&serde_json::from_slice(bytes).map_err(invalid)?)))
        };
        match self {
            Self::Disk { path, .. } => Ok(adapter::base_named_in(path)?),
            Self::Uploads(files) => match files.iter().find(|file| file.name == adapter::CONFIG) {
                Some(file) => parsed(&modelfile::read_limited(&file.path, modelfile::CONFIG_LIMIT_BYTES)?),
                None => Ok(None),
            },
            Self::Hub { snapshot, .. } if !has_adapter(snapshot) => Ok(None),
            Self::Hub { snapshot, .. } => match snapshot.file(adapter::CONFIG) {
                Some(file) => parsed(&Fetching::of(hub, snapshot).checked(file, modelfile::CONFIG_LIMIT_BYTES)?),
                None => Ok(None),
            },
        }
    }

    /// Lays an adapter out, for a model and what was found of that.
    pub fn lay_out_adapter(
        &self,
        staged: Staged,
        hub: &Hub,
        model: ModelRef,
        base: &Inspection,
    ) -> Result<Laid, ImportError> {
        let folder = staged.folder()?.to_owned();
        let mut plan = Plan { origin: Origin::Disk, weights: Vec::new(), small_bytes: 0 };
        match self {
            Self::Disk { path, roots } => {
                for name in adapter::FILES {
                    let source = path.join(name);
                    if roots.as_ref().is_some_and(|roots| !is_below(&source, roots)) {
                        return Err(ImportError::NotAllowed(source.display().to_string()));
                    }
                    plan.add_disk(&folder, &source, name.to_owned(), name == adapter::WEIGHTS, None)?;
                }
            }
            Self::Uploads(files) => {
                for Uploaded { name, path, sha256 } in files {
                    if !adapter::FILES.contains(&name.as_str()) {
                        return Err(ImportError::UnknownFile(name.chars().take(120).collect()));
                    }
                    let is_weights = name == adapter::WEIGHTS;
                    let digest = FileDigest::Sha256(sha256.clone());
                    plan.add_disk(&folder, path, name.clone(), is_weights, Some(digest))?;
                }
            }
            Self::Hub { reference, snapshot } => {
                plan.origin = Origin::of(snapshot);
                let from = Fetching::of(hub, snapshot);
                let has = |name: &str| {
                    let missing = || HubError::NotFound(format!("{name} in {}", reference.at(&snapshot.commit)));
                    snapshot.file(name).ok_or_else(missing)
                };
                plan.small_bytes += from.small(has(adapter::CONFIG)?, &folder)?;
                plan.add_remote(&from, &folder, has(adapter::WEIGHTS)?.clone())?;
            }
        }
        let (inspection, lora) = adapter::inspect_beside(&folder, base)?;
        let adapter = Some(AdapterOf { model, seed: 0, lora, chat_template: None });
        Ok(Laid { staged, inspection, adapter, plan, source: self.name() })
    }
}

impl Laid {
    /// Where it is laid out.
    pub fn folder(&self) -> Result<&Path, StoreError> {
        self.staged.folder()
    }
}

/// Whether a path, its links followed, lies below one of `roots`.
pub fn is_below(path: &Path, roots: &[PathBuf]) -> bool {
    let real = path.canonicalize().ok();
    real.is_some_and(|real| roots.iter().any(|root| root.canonicalize().is_ok_and(|root| real.starts_with(root))))
}

fn lay_out_disk(path: &Path, roots: Option<&[PathBuf]>, folder: &Path) -> Result<Plan, ImportError> {
    let inspection = modelfile::inspect(path)?;
    let mut plan = Plan { origin: Origin::Disk, weights: Vec::new(), small_bytes: 0 };
    for source in &inspection.files {
        if roots.is_some_and(|roots| !is_below(source, roots)) {
            return Err(ImportError::NotAllowed(source.display().to_string()));
        }
        let is_weights = inspection.weights.contains(source);
        plan.add_disk(folder, source, file_name(source), is_weights, None)?;
    }
    Ok(plan)
}

fn lay_out_uploads(files: &[Uploaded], folder: &Path) -> Result<Plan, ImportError> {
    let mut plan = Plan { origin: Origin::Disk, weights: Vec::new(), small_bytes: 0 };
    for Uploaded { name, path, sha256 } in files {
        let is_weights = is_weights(name);
        if !is_weights && !COMPANIONS.contains(&name.as_str()) && name != safetensors::INDEX_FILE {
            return Err(ImportError::UnknownFile(name.chars().take(120).collect()));
        }
        let digest = FileDigest::Sha256(sha256.clone());
        plan.add_disk(folder, path, name.clone(), is_weights, Some(digest))?;
    }
    plan.weights.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(plan)
}

/// Whether a plain name is that of a file of weights.
fn is_weights(name: &str) -> bool {
    let as_safetensors = name.strip_suffix(".gguf").map(|stem| format!("{stem}.safetensors"));
    safetensors::is_plain_name(as_safetensors.as_deref().unwrap_or(name))
}

impl Plan {
    /// Brings a file of this machine: all of a small one, the header of weights.
    fn add_disk(
        &mut self,
        folder: &Path,
        source: &Path,
        name: String,
        is_weights: bool,
        digest: Option<FileDigest>,
    ) -> Result<(), ImportError> {
        let failed = |error| ImportError::io("reading", source, error);
        let target = folder.join(&name);
        let Some(from) = source.to_str().map(str::to_owned) else {
            let detail = String::from("its path is not UTF-8; rename its folder");
            return Err(ModelFileError::WeightsInvalid { file: name, detail }.into());
        };
        if !is_weights {
            let bytes = copy(source, &target, |_| true)?;
            let mut digester = Digester::new(digest.as_ref(), bytes);
            if digest.is_some() {
                digester.update(&fs::read(&target).map_err(failed)?);
            }
            digester.finish().map_err(|mismatch| ImportError::mismatch(&name, &mismatch))?;
            self.small_bytes += bytes;
            return Ok(());
        }
        let file = File::open(source).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        let read = |range: Range<u64>| {
            let mut bytes = vec![0; (range.end - range.start) as usize];
            file.read_exact_at(&mut bytes, range.start).map_err(failed)?;
            Ok(bytes)
        };
        write_head(&target, &name, bytes, read)?;
        let stamp = Some(Stamp::of(source).map_err(failed)?);
        self.weights.push(Planned { name, bytes, from, digest, stamp });
        Ok(())
    }
}

impl Plan {
    /// Brings the header of a file of weights of the hub.
    fn add_remote(&mut self, from: &Fetching<'_>, folder: &Path, file: RemoteFile) -> Result<(), ImportError> {
        let name = file.path.rsplit('/').next().unwrap_or_default().to_owned();
        write_head(&folder.join(&name), &name, file.bytes, |range| from.range(&file.path, range))?;
        self.weights.push(Planned { name, bytes: file.bytes, from: file.path, digest: file.digest, stamp: None });
        Ok(())
    }
}

impl Origin {
    fn of(snapshot: &Snapshot) -> Self {
        Self::Hub { repository: snapshot.repository.clone(), commit: snapshot.commit.clone() }
    }
}

fn lay_out_hub(hub: &Hub, reference: &HubRef, snapshot: &Snapshot, folder: &Path) -> Result<Plan, ImportError> {
    let mut plan = Plan { origin: Origin::of(snapshot), weights: Vec::new(), small_bytes: 0 };
    let from = Fetching::of(hub, snapshot);
    if reference.file.is_none()
        && has_adapter(snapshot)
        && let Some(config) = snapshot.file(adapter::CONFIG)
    {
        let config: serde_json::Value = from
            .checked(config, modelfile::CONFIG_LIMIT_BYTES)
            .map(|bytes| serde_json::from_slice(&bytes).unwrap_or_default())?;
        return Err(ModelFileError::AdapterAlone { base: adapter::base_named(&config) }.into());
    }
    let has = |name: &str| snapshot.file(name);
    let in_safetensors = reference.file.is_none()
        && [safetensors::SINGLE_FILE, safetensors::INDEX_FILE].iter().any(|name| has(name).is_some());
    let companions = if in_safetensors { &COMPANIONS[..] } else { DOCUMENTS };
    let index = Some(safetensors::INDEX_FILE).filter(|_| in_safetensors && has(safetensors::SINGLE_FILE).is_none());
    for file in companions.iter().copied().chain(index).filter_map(has) {
        plan.small_bytes += from.small(file, folder)?;
    }
    let weights: Vec<RemoteFile> = match (&reference.file, in_safetensors) {
        (Some(path), _) => {
            let missing = || HubError::NotFound(format!("{path} in {}", reference.at(&snapshot.commit)));
            vec![has(path).ok_or_else(missing)?.clone()]
        }
        (None, true) => shards(snapshot, &folder.join(safetensors::INDEX_FILE))?,
        (None, false) => vec![only_gguf(snapshot)?.clone()],
    };
    for file in weights {
        plan.add_remote(&from, folder, file)?;
    }
    Ok(plan)
}

/// The files of weights that an index names, or the one file that needs none.
fn shards(snapshot: &Snapshot, index: &Path) -> Result<Vec<RemoteFile>, ImportError> {
    if let Some(single) = snapshot.file(safetensors::SINGLE_FILE) {
        return Ok(vec![single.clone()]);
    }
    let missing = |name: &str| {
        let detail = format!("it names {name}, which is not in {}", snapshot.repository);
        ModelFileError::WeightsInvalid { file: safetensors::INDEX_FILE.to_owned(), detail }.into()
    };
    let names = safetensors::indexed_files(index)?;
    names.iter().map(|name| snapshot.file(name).cloned().ok_or_else(|| missing(name))).collect()
}

/// The one GGUF file of a repository.
fn only_gguf(snapshot: &Snapshot) -> Result<&RemoteFile, ModelFileError> {
    let path = PathBuf::from(format!("hf:{}", snapshot.repository));
    let ends_in =
        |file: &&RemoteFile, ends: &[&str]| ends.iter().any(|end| file.path.to_ascii_lowercase().ends_with(end));
    let ggufs: Vec<&RemoteFile> = snapshot.files.iter().filter(|file| ends_in(file, &[".gguf"])).collect();
    match ggufs[..] {
        [file] => Ok(file),
        [] => match snapshot.files.iter().find(|file| ends_in(file, &[".bin", ".pt", ".pth", ".ckpt"])) {
            Some(pickle) => Err(ModelFileError::PickleRefused { file: pickle.path.clone() }),
            None => {
                let detail = "it has neither model.safetensors, model.safetensors.index.json nor a .gguf file";
                Err(ModelFileError::NotFound { path, detail })
            }
        },
        _ => Err(ModelFileError::Ambiguous { path }),
    }
}

/// Files of the hub, for whoever waits for them.
struct Fetching<'a> {
    hub: &'a Hub,
    snapshot: &'a Snapshot,
    deadline: Instant,
}

impl<'a> Fetching<'a> {
    fn of(hub: &'a Hub, snapshot: &'a Snapshot) -> Self {
        Self { hub, snapshot, deadline: Instant::now() + LAY_OUT_TIME }
    }

    /// A small file, checked.
    fn checked(&self, file: &RemoteFile, limit_bytes: u64) -> Result<Vec<u8>, ImportError> {
        if file.bytes > limit_bytes {
            return Err(ModelFileError::TooLarge { file: file.path.clone(), limit_bytes }.into());
        }
        let bytes = self.range(&file.path, 0..file.bytes)?;
        let mut digester = Digester::new(file.digest.as_ref(), file.bytes);
        digester.update(&bytes);
        digester.finish().map_err(|mismatch| ImportError::mismatch(&file.path, &mismatch))?;
        Ok(bytes)
    }

    /// Brings a small file, checked.
    fn small(&self, file: &RemoteFile, folder: &Path) -> Result<u64, ImportError> {
        let bytes = self.checked(file, modelfile::TOKENIZER_LIMIT_BYTES)?;
        let path = folder.join(&file.path);
        let write = || {
            fs::write(&path, &bytes)?;
            File::open(&path)?.sync_all()
        };
        write().map_err(|error| ImportError::io("writing", &path, error))?;
        Ok(file.bytes)
    }

    /// A range of a file. What cannot be answered now is asked for again, as long as somebody may wait for it.
    fn range(&self, path: &str, range: Range<u64>) -> Result<Vec<u8>, ImportError> {
        let at = (self.snapshot.repository.as_str(), self.snapshot.commit.as_str());
        let mut tries = 0;
        loop {
            let mut bytes = Vec::new();
            let read = self.hub.read(at, path, range.clone(), |chunk| {
                bytes.extend_from_slice(chunk);
                if Instant::now() < self.deadline { Ok(()) } else { Err(io::ErrorKind::TimedOut.into()) }
            });
            let error = match read {
                Ok(()) => return Ok(bytes),
                Err(HubError::Io(_)) => {
                    let said = format!("{path} takes longer than {} s", LAY_OUT_TIME.as_secs());
                    return Err(HubError::Unreachable(said).into());
                }
                Err(error) => error,
            };
            tries += 1;
            let may_wait = |wait: &Duration| tries < TRIES && *wait <= PATIENCE && Instant::now() < self.deadline;
            match error.passes().filter(may_wait) {
                Some(wait) => std::thread::sleep(wait),
                None => return Err(error.into()),
            }
        }
    }
}

/// Writes what of a file of weights says what model it is, and leaves the rest a hole.
fn write_head(
    path: &Path,
    name: &str,
    bytes: u64,
    mut read: impl FnMut(Range<u64>) -> Result<Vec<u8>, ImportError>,
) -> Result<(), ImportError> {
    let mut prefix = read(0..bytes.min(FIRST_BYTES))?;
    let head = loop {
        let have = prefix.len() as u64;
        let found = modelfile::head(&prefix, bytes, name)?;
        let needed = match found {
            Some(head) if head.bytes <= have => break head,
            Some(head) => head.bytes,
            None => have.saturating_mul(4),
        };
        if have >= bytes {
            // All of the file is there, and the inspection says what is wrong with it.
            break Head { bytes: have, beside: Vec::new() };
        }
        prefix.extend(read(have..needed.min(bytes))?);
    };
    let failed = |error| ImportError::io("writing", path, error);
    let file = File::create(path).map_err(failed)?;
    file.set_len(bytes).map_err(failed)?;
    file.write_all_at(&prefix[..head.bytes as usize], 0).map_err(failed)?;
    for range in head.beside {
        let start = range.start;
        file.write_all_at(&read(range)?, start).map_err(failed)?;
    }
    file.sync_all().map_err(failed)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
