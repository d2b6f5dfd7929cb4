//! The server's pushes: exports that were asked for on the hub are brought there, also those that a server before this one was
//! at. What the hub has of them already is not sent again.

use std::collections::HashSet;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::clock;
use crate::hub::{File, Hub, HubRef, Progress, PushError, PushTargets, Pushed};
use crate::job::artifact::MANIFEST;
use crate::job::digest::sha256_hex;
use crate::job::{ExportId, Failure, FailureKind, provenance};
use crate::store::{Damaged, ExportRow, Place, PushRow, Store, StoreError, StoredFile};

/// How often it is looked for pushes, and rows are told how far they are.
const LOOK: Duration = Duration::from_millis(250);
/// Pushes at once: each has connections of its own.
const AT_ONCE: usize = 2;
/// How long an answer of the hub is waited for when the server ends.
const GRACE: Duration = Duration::from_secs(2);

/// Pushes to where the operator lets it, until `shutdown` becomes true.
pub async fn watch(store: Store, hub: Hub, targets: PushTargets, mut shutdown: watch::Receiver<bool>) {
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut running, mut tasks) = (HashSet::new(), JoinSet::new());
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            Some(ended) = tasks.join_next(), if !tasks.is_empty() => {
                match ended {
                    Ok(export) => drop(running.remove(&export)),
                    Err(error) => tracing::error!(%error, "a push ended without a word"),
                }
                continue;
            }
            _ = shutdown.wait_for(|down| *down) => break,
        }
        let unfinished = match store.unfinished_pushes().await {
            Ok(unfinished) => unfinished,
            Err(error) => {
                tracing::warn!(%error, "exports that are to be pushed could not be looked for");
                continue;
            }
        };
        for row in unfinished {
            if running.len() < AT_ONCE && running.insert(row.export) {
                tasks.spawn(run(store.clone(), hub.clone(), targets.clone(), row, shutdown.clone()));
            }
        }
    }
    // What has arrived is kept by the hub; the next server goes on.
    while tasks.join_next().await.is_some() {}
}

/// Pushes an export to its end; one that the server's own end stops stays as it is.
async fn run(store: Store, hub: Hub, targets: PushTargets, row: PushRow, shutdown: watch::Receiver<bool>) -> ExportId {
    let ended = match push(&store, hub, &targets, &row, shutdown).await {
        Ok(Pushed { commit, url }) => store.finish_push(row.export, &commit, &url, clock::now()).await,
        Err(Failed::Push(PushError::Stopped)) => Ok(()),
        Err(error) => match store.export(row.export).await {
            // Its files went with it.
            Err(StoreError::NotFound { .. }) => Ok(()),
            _ => {
                let failure = error.failure();
                tracing::warn!(export = %row.export, to = row.destination, failure.message, "an export cannot be pushed");
                store.fail_push(row.export, &failure, clock::now()).await
            }
        },
    };
    if let Err(error) = ended {
        tracing::warn!(export = %row.export, %error, "a push is tried again");
    }
    row.export
}

/// Why an export was not pushed.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error(transparent)]
    Push(#[from] PushError),
    #[error("this server does not push to {0} any more; the operator's setting hub_push_to says where it does")]
    NotAllowed(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Failed {
    /// What a client reads of it.
    fn failure(&self) -> Failure {
        let damaged = match self {
            Self::Push(PushError::Read { source, .. }) if Damaged::is(source) => Some(source),
            Self::Push(_) | Self::NotAllowed(_) | Self::Store(_) => None,
        };
        let (code, message) = match (self, damaged) {
            (_, Some(source)) => ("data_damaged", source.to_string()),
            (Self::Push(error), None) => (error.code(), error.to_string()),
            (Self::NotAllowed(_), None) => ("push_not_allowed", self.to_string()),
            (Self::Store(error), None) => ("internal", error.to_string()),
        };
        let kind = match self {
            Self::Push(_) | Self::NotAllowed(_) => FailureKind::InvalidData,
            Self::Store(_) => FailureKind::Internal,
        };
        Failure { kind, code: code.to_owned(), message }
    }
}

async fn push(
    store: &Store,
    hub: Hub,
    targets: &PushTargets,
    row: &PushRow,
    mut shutdown: watch::Receiver<bool>,
) -> Result<Pushed, Failed> {
    let export = store.export(row.export).await?;
    let corrupt = |detail: String| StoreError::Corrupt { what: "push", detail };
    let to: HubRef = row.destination.parse().map_err(|error| corrupt(format!("{error}")))?;
    // What it was when the push was asked for may not be so any more.
    if !targets.admit(&to.repository) {
        return Err(Failed::NotAllowed(to.repository));
    }
    let files = files(store, &export).await?;
    let total = files.iter().map(|file| file.bytes).sum();
    let summary = format!("{} by Anneal {}", row.export, env!("CARGO_PKG_VERSION"));
    let progress = Arc::new(Progress::default());
    let work = {
        let (progress, private) = (Arc::clone(&progress), row.private);
        spawn_blocking(move || hub.push(&to, private, &files, &summary, &progress))
    };
    tokio::pin!(work);
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let pushed = loop {
        tokio::select! {
            pushed = &mut work => break Some(pushed),
            _ = shutdown.wait_for(|down| *down) => break None,
            _ = ticks.tick() => {}
        }
        match store.note_push(row.export, progress.bytes.load(Ordering::Relaxed), total).await {
            Ok(()) => {}
            Err(StoreError::NotFound { .. }) => progress.stop.store(true, Ordering::Relaxed),
            Err(error) => tracing::debug!(%error, "how far a push is cannot be written down"),
        }
    };
    let pushed = match pushed {
        Some(pushed) => Some(pushed),
        None => {
            progress.stop.store(true, Ordering::Relaxed);
            timeout(GRACE, &mut work).await.ok()
        }
    };
    let panicked = |error| StoreError::io("pushing", Path::new(&row.destination), io::Error::other(error));
    match pushed {
        Some(pushed) => Ok(pushed.map_err(panicked)??),
        None => Err(PushError::Stopped.into()),
    }
}

/// The files of an export as a download has them: its own, their manifest, and what the server has signed.
async fn files(store: &Store, export: &ExportRow) -> Result<Vec<File>, StoreError> {
    let missing = || StoreError::NotFound { what: "export", id: export.id.to_string() };
    let artifact = export.artifact.as_ref().ok_or_else(missing)?;
    let mut files = Vec::new();
    for (file, stored) in artifact.manifest.files.iter().zip(artifact.files()) {
        let (place, path) = (store.place().clone(), file.path.clone());
        let open = Box::new(move |from| opened(&place, &stored, from));
        files.push(File { path, bytes: file.size, sha256: file.sha256.clone(), open });
    }
    let manifest = serde_json::to_vec_pretty(&artifact.manifest)
        .map_err(|error| StoreError::Corrupt { what: "manifest", detail: error.to_string() })?;
    files.push(held(MANIFEST, manifest));
    if let Some(envelope) = store.provenance(&export.id.to_string()).await? {
        files.push(held(provenance::FILE, envelope.into_bytes()));
    }
    Ok(files)
}

fn opened(place: &Place, file: &StoredFile, from: u64) -> io::Result<Box<dyn Read>> {
    let mut reader = place.read(file)?;
    reader.seek(SeekFrom::Start(from))?;
    Ok(Box::new(reader))
}

/// A file that is held in memory.
fn held(path: &str, bytes: Vec<u8>) -> File {
    let (size, sha256, bytes) = (bytes.len() as u64, sha256_hex(&bytes), Arc::<[u8]>::from(bytes));
    let open = Box::new(move |from: u64| {
        let mut reader = io::Cursor::new(Arc::clone(&bytes));
        reader.set_position(from);
        Ok(Box::new(reader) as Box<dyn Read>)
    });
    File { path: path.to_owned(), bytes: size, sha256, open }
}
