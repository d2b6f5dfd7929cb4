//! Bringing the weights of a model that is laid out, and checking every byte of them. All of this blocks.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::ImportError;
use super::pieces::Pieces;
use super::plan::{Origin, Plan, Planned, Stamp};
use crate::hub::{Digester, Hub};
use crate::job::ManifestFile;
use crate::job::digest::hex;

const CHUNK_BYTES: usize = 1 << 20;
/// What is copied before somebody is told.
const COPIED_AT_ONCE: u64 = 64 << 20;

/// How often it is looked whether a digest is there.
const LOOK: Duration = Duration::from_millis(5);

/// Copies a file, synced; `tell` learns of all bytes that are there and says whether to go on.
pub fn copy(source: &Path, target: &Path, mut tell: impl FnMut(u64) -> bool) -> Result<u64, ImportError> {
    let mut from = File::open(source).map_err(|error| ImportError::io("opening", source, error))?;
    // What is written may be a hole that is filled, which nobody may see shortened.
    let opened = File::options().write(true).create(true).truncate(false).open(target);
    let mut to = opened.map_err(|error| ImportError::io("creating", target, error))?;
    let mut done = 0;
    loop {
        // Within the kernel where it can.
        let copied = io::copy(&mut Read::by_ref(&mut from).take(COPIED_AT_ONCE), &mut to);
        let copied = copied.map_err(|error| ImportError::io("copying to", target, error))?;
        if copied == 0 {
            break;
        }
        done += copied;
        if !tell(done) {
            return Err(ImportError::Stopped);
        }
    }
    to.sync_all().map_err(|error| ImportError::io("syncing", target, error))?;
    Ok(done)
}

/// Weights that are there.
pub struct Weights {
    /// SHA-256 of all of them, one after the other.
    pub sha256: String,
    pub files: Vec<ManifestFile>,
}

/// Brings what is missing to `folder`, and returns what the weights were found to be. `tell` learns of the bytes that are there and
/// says whether to go on.
pub fn complete(
    folder: &Path,
    plan: &Plan,
    hub: &Hub,
    mut tell: impl FnMut(u64) -> bool,
) -> Result<Weights, ImportError> {
    match &plan.origin {
        Origin::Disk => complete_from_disk(folder, plan, tell),
        Origin::Hub { repository, commit } => {
            let mut pieces = Pieces::open(folder, plan)?;
            let mut again = HashSet::new();
            loop {
                pieces.fetch(hub, (repository, commit), plan, |done| tell(plan.small_bytes + done))?;
                let files = plan.weights.iter().map(|file| (folder.join(&file.name), file));
                match digest(files, || tell(plan.small_bytes + plan.weight_bytes())) {
                    // Once may be the network's fault.
                    Err(ImportError::WrongBytes { file, .. }) if again.insert(file.clone()) => {
                        pieces.forget(plan, &file)?;
                    }
                    found => return found,
                }
            }
        }
    }
}

fn complete_from_disk(folder: &Path, plan: &Plan, mut tell: impl FnMut(u64) -> bool) -> Result<Weights, ImportError> {
    let sources = || plan.weights.iter().map(|file| (Path::new(&file.from), file));
    let unchanged = || {
        let changed = sources().find(|(path, file)| Stamp::of(path).ok() != file.stamp);
        changed.map_or(Ok(()), |(path, _)| Err(ImportError::Changed(path.display().to_string())))
    };
    unchanged()?;
    // Reading for the digest and writing take each other's time where there is one processor, and otherwise not.
    let goes_on = AtomicBool::new(true);
    let found = std::thread::scope(|scope| {
        let digest = scope.spawn(|| digest(sources(), || goes_on.load(Ordering::Relaxed)));
        let mut done = plan.small_bytes;
        let copied = sources().try_for_each(|(source, file)| {
            done += copy(source, &folder.join(&file.name), |copied| tell(done + copied))?;
            Ok(())
        });
        goes_on.store(copied.is_ok(), Ordering::Relaxed);
        while !digest.is_finished() {
            goes_on.fetch_and(tell(done), Ordering::Relaxed);
            std::thread::sleep(LOOK);
        }
        let digest = digest.join().unwrap_or(Err(ImportError::Stopped));
        copied.and(digest)
    })?;
    unchanged()?;
    Ok(found)
}

/// The SHA-256 of files, each of which is compared with what was announced of it, as long as `goes_on`.
fn digest<'a>(
    files: impl Iterator<Item = (impl AsRef<Path>, &'a Planned)>,
    mut goes_on: impl FnMut() -> bool,
) -> Result<Weights, ImportError> {
    let (mut all, mut found) = (Sha256::new(), Vec::new());
    let mut chunk = vec![0; CHUNK_BYTES];
    for (path, file) in files {
        let path = path.as_ref();
        let failed = |error| ImportError::io("reading", path, error);
        let mut reader = File::open(path).map_err(failed)?;
        let (mut own, mut one) = (Digester::new(file.digest.as_ref(), file.bytes), Sha256::new());
        loop {
            if !goes_on() {
                return Err(ImportError::Stopped);
            }
            let count = reader.read(&mut chunk).map_err(failed)?;
            if count == 0 {
                break;
            }
            all.update(&chunk[..count]);
            one.update(&chunk[..count]);
            own.update(&chunk[..count]);
        }
        found.push(ManifestFile { path: file.name.clone(), size: file.bytes, sha256: hex(&one.finalize()) });
        own.finish().map_err(|mismatch| ImportError::mismatch(&file.name, &mismatch))?;
    }
    Ok(Weights { sha256: hex(&all.finalize()), files: found })
}
