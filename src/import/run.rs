//! A model from its row to its end: `ready`, or `failed` with the reason.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::{JoinError, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval};

use super::ImportError;
use super::complete::{Weights, complete};
use super::layout::Laid;
use super::pieces::MARKS;
use super::plan::Plan;
use crate::clock;
use crate::hub::Hub;
use crate::job::digest::{sha256_hex, sha256_of};
use crate::job::{ManifestFile, ModelId, ModelStatus};
use crate::modelfile::{Format, adapter, safetensors};
use crate::store::{Location, ModelRow, RESERVE, Store, StoreError};

/// How often the row is told how far it is.
const NOTE: Duration = Duration::from_millis(500);
/// Locked by whoever is at it.
const LOCK: &str = ".import";

/// Gives a model that is laid out its row and its place, if there is room for all of it.
pub async fn begin(
    store: &Store,
    laid: Laid,
    name: Option<String>,
    status: ModelStatus,
) -> Result<ModelRow, ImportError> {
    let Laid { staged, inspection, adapter, plan, source } = laid;
    has_room(store, plan.weight_bytes())?;
    // Kept until the row counts it.
    let _room = store.storage_room(plan.small_bytes + plan.weight_bytes()).await?;
    let id = ModelId::generate();
    let row = ModelRow {
        id,
        name,
        source,
        format: match inspection.format {
            Format::HuggingFace => String::from("safetensors"),
            Format::Gguf => String::from("gguf"),
        },
        architecture: inspection.config.family.name.to_owned(),
        parameters: inspection.parameters,
        context_length: inspection.config.max_position_embeddings as u64,
        vocab_size: inspection.config.vocab_size as u64,
        weights_sha256: None,
        files: Vec::new(),
        tokenizer_sha256: sha256_hex(&inspection.tokenizer_bytes),
        bytes: plan.small_bytes + plan.weight_bytes(),
        created_at: clock::now(),
        status,
        bytes_done: plan.small_bytes,
        failure: None,
        warnings: serde_json::to_value(&inspection.warnings).unwrap_or_default(),
        plan: Some(serde_json::to_string(&plan).map_err(corrupt)?),
        last_used_at: None,
        adapter,
    };
    staged.lay(&Location::model(id)).await?;
    if let Err(error) = store.add_model(&row).await {
        store.place().remove(&Location::model(id)).await;
        return Err(error.into());
    }
    Ok(row)
}

/// Whether what was laid out of a model is there.
pub async fn is_laid_out(store: &Store, id: ModelId) -> Result<bool, StoreError> {
    Ok(store.place().fetch(&Location::model(id)).await?.is_dir())
}

/// How an import ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The row says how, or it was stopped.
    Here,
    /// Another process is at it.
    Elsewhere,
}

/// Imports a model that has begun, to its end; `tell` learns of the bytes that are there. An import that is stopped by
/// `stop`, or whose model was deleted, returns as if nothing had been.
pub async fn run(
    store: &Store,
    hub: &Hub,
    model: &ModelRow,
    stop: Arc<AtomicBool>,
    mut tell: impl FnMut(u64),
) -> Result<Ended, StoreError> {
    let folder = store.place().fetch(&Location::model(model.id)).await?;
    if store.is_shared() && !folder.is_dir() {
        // It was laid out on another machine, where it is brought.
        return Ok(Ended::Elsewhere);
    }
    let lock = match Lock::take(&folder) {
        Ok(Some(lock)) => lock,
        Ok(None) => return Ok(Ended::Elsewhere),
        Err(error) => return end(store, model, Err(error)).await,
    };
    // Whoever held it may just have ended.
    match store.model(model.id).await {
        Ok(row) if row.status == ModelStatus::Importing => {}
        Ok(_) | Err(StoreError::NotFound { .. }) => return lock.remove().map(|()| Ended::Here),
        Err(error) => return Err(error),
    }
    let done = Arc::new(AtomicU64::new(model.bytes_done));
    let work = {
        let (hub, done, stop, folder) = (hub.clone(), Arc::clone(&done), Arc::clone(&stop), folder.clone());
        let (plan, store) = (model.plan.clone().unwrap_or_default(), store.clone());
        spawn_blocking(move || {
            let tell = |bytes| {
                done.store(bytes, Ordering::Relaxed);
                !stop.load(Ordering::Relaxed)
            };
            import(&store, &folder, &plan, &hub, tell)
        })
    };
    tokio::pin!(work);
    let mut ticks = interval(NOTE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut noted = model.bytes_done;
    let result = loop {
        tokio::select! {
            result = &mut work => break result,
            _ = ticks.tick() => {}
        }
        let bytes = done.load(Ordering::Relaxed);
        tell(bytes);
        let is_there = if bytes == noted {
            store.model(model.id).await.map(drop)
        } else {
            noted = bytes;
            store.note_import(model.id, bytes, clock::now()).await
        };
        match is_there {
            Ok(()) => {}
            Err(StoreError::NotFound { .. }) => stop.store(true, Ordering::Relaxed),
            Err(error) => tracing::debug!(%error, "how far an import is cannot be written down"),
        }
    };
    tell(done.load(Ordering::Relaxed));
    let panicked =
        |error: JoinError| ImportError::io("importing", Path::new(&model.source), std::io::Error::other(error));
    end(store, model, result.map_err(panicked).and_then(|result| Ok((result?, lock)))).await
}

async fn end(
    store: &Store,
    model: &ModelRow,
    result: Result<(Weights, Lock), ImportError>,
) -> Result<Ended, StoreError> {
    let now = clock::now();
    let error = match result {
        Ok((Weights { sha256, files }, lock)) => {
            store.place().complete(&Location::model(model.id)).await?;
            store.finish_import(model.id, &sha256, &files, now).await?;
            remove_if_deleted(store, model.id).await;
            lock.remove()?;
            return Ok(Ended::Here);
        }
        Err(ImportError::Stopped) => {
            remove_if_deleted(store, model.id).await;
            return Ok(Ended::Here);
        }
        Err(error) => error,
    };
    tracing::warn!(model = %model.id, source = model.source, %error, "a model could not be imported");
    // What came over a network is kept for the next try. The rest goes before anybody can begin that.
    if !matches!(error, ImportError::Hub(_)) {
        store.place().remove(&Location::model(model.id)).await;
    }
    store.fail_import(model.id, &error.failure(), now).await?;
    Ok(Ended::Here)
}

/// What was deleted while it was brought leaves nothing behind.
async fn remove_if_deleted(store: &Store, id: ModelId) {
    if matches!(store.model(id).await, Err(StoreError::NotFound { .. })) {
        store.place().remove(&Location::model(id)).await;
    }
}

/// Held by the one process that imports a model.
struct Lock {
    folder: PathBuf,
    _file: File,
}

impl Lock {
    /// None while another process holds it.
    fn take(folder: &Path) -> Result<Option<Self>, ImportError> {
        let path = folder.join(LOCK);
        let file = File::create(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ImportError::Lost,
            _ => ImportError::io("creating", &path, error),
        })?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { folder: folder.to_owned(), _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(ImportError::io("locking", &path, error)),
        }
    }

    /// Removes what an import keeps beside the model, when it is over.
    fn remove(self) -> Result<(), StoreError> {
        for name in [MARKS, LOCK] {
            let path = self.folder.join(name);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(StoreError::io("removing", &path, error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}

fn corrupt(error: serde_json::Error) -> StoreError {
    StoreError::Corrupt { what: "plan", detail: error.to_string() }
}

/// Blocks.
fn import(
    store: &Store,
    folder: &Path,
    plan: &str,
    hub: &Hub,
    tell: impl FnMut(u64) -> bool,
) -> Result<Weights, ImportError> {
    let plan: Plan = serde_json::from_str(plan).map_err(corrupt)?;
    has_room(store, missing(folder, &plan))?;
    let mut found = complete(folder, &plan, hub, tell)?;
    if let Some(file) = plan.weights.iter().find(|file| file.name == adapter::WEIGHTS) {
        safetensors::check_finite(&folder.join(&file.name))?;
    }
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| ImportError::io("syncing", folder, error))?;
    let weights: Vec<String> = found.files.iter().map(|file| file.path.clone()).collect();
    for name in plain_files(folder)?.into_iter().filter(|name| !weights.contains(name)) {
        let path = folder.join(&name);
        let read = |error| ImportError::io("reading", &path, error);
        let file = File::open(&path).map_err(read)?;
        let size = file.metadata().map_err(read)?.len();
        found.files.push(ManifestFile { path: name, size, sha256: sha256_of(file).map_err(read)? });
    }
    Ok(found)
}

/// The files of a model's folder, without those of the import.
fn plain_files(folder: &Path) -> Result<Vec<String>, ImportError> {
    let names = || -> io::Result<Vec<String>> {
        let entries = std::fs::read_dir(folder)?;
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.filter(|name| !name.as_ref().is_ok_and(|name| name.starts_with('.'))).collect()
    };
    names().map_err(|error| ImportError::io("listing", folder, error))
}

fn has_room(store: &Store, needed: u64) -> Result<(), ImportError> {
    let free = store.free_bytes()?.saturating_sub(RESERVE);
    if needed > free { Err(ImportError::Full { needed, free }) } else { Ok(()) }
}

/// Bytes that the holes of a model take when they are filled.
fn missing(folder: &Path, plan: &Plan) -> u64 {
    use std::os::unix::fs::MetadataExt;
    // Blocks of 512 bytes, whatever the disk's are.
    let taken = |name: &str| folder.join(name).metadata().map_or(0, |found| found.blocks() * 512);
    plan.weights.iter().map(|file| file.bytes.saturating_sub(taken(&file.name))).sum()
}
