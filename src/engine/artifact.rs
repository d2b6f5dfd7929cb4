//! Directories of artifacts: written under a temporary name, synced, given a manifest and renamed, so that a reader sees
//! a whole artifact or none.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::process::setpriority_process;

use super::digested::FileDigest;
pub use super::digested::digest;
use super::error::EngineError;
use crate::job::artifact::{MANIFEST, VERSION_MARK};
use crate::job::{ArtifactSummary, Manifest, ManifestFile};

/// Of the thread that brings artifacts to the disk: workers have 8.
const NICENESS: i32 = 15;
/// How often an attempt may write the same artifact again.
const MOST_VERSIONS: u32 = 1000;

/// An artifact that is complete on disk.
#[derive(Clone, Debug)]
pub struct Saved {
    pub directory: PathBuf,
    pub manifest: Manifest,
    pub summary: ArtifactSummary,
}

/// An artifact whose files are written, and not yet on the disk: what is left to do needs nothing but the files, so that
/// what they were written from may change meanwhile. One that is dropped is removed.
#[derive(Debug)]
pub struct Draft {
    directory: PathBuf,
    /// Where the files are.
    temporary: PathBuf,
    /// Without the files.
    header: Manifest,
    /// Of files, by their names.
    digests: BTreeMap<String, FileDigest>,
    summary: ArtifactSummary,
}

/// The folder of an artifact in the making.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    digests: BTreeMap<String, FileDigest>,
}

impl Folder {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Notes the digest of a file that was taken while it was written, so that nobody reads it again for that.
    pub fn note(&mut self, name: &str, digest: FileDigest) {
        self.digests.insert(name.to_owned(), digest);
    }
}

impl Draft {
    /// Of the files that `write` puts into the folder it is given; `write` also says what is told of them. `directory` is
    /// where the artifact will be.
    pub fn write(
        directory: &Path,
        header: Manifest,
        write: impl FnOnce(&mut Folder) -> Result<ArtifactSummary, EngineError>,
    ) -> Result<Self, EngineError> {
        let temporary = beside(directory, ".tmp");
        remove_dir(&temporary)?;
        let summary = ArtifactSummary::Checkpoint;
        let digests = BTreeMap::new();
        let mut draft = Self { directory: directory.to_owned(), temporary, header, digests, summary };
        fs::create_dir_all(&draft.temporary).map_err(|e| EngineError::io("creating", &draft.temporary, e))?;
        let mut folder = Folder { path: draft.temporary.clone(), digests: BTreeMap::new() };
        draft.summary = write(&mut folder)?;
        draft.digests = folder.digests;
        Ok(draft)
    }

    /// Brings the files to the disk and gives the artifact its name. A directory of that name which is there already may be
    /// one that a row names, and stays as it is: the new one is called `NAME~2`, and takes its place when its row stands.
    pub fn seal(self) -> Result<Saved, EngineError> {
        let manifest = complete_with(&self.temporary, self.header.clone(), &self.digests)?;
        let others = (2..=MOST_VERSIONS).map(|version| beside(&self.directory, &format!("{VERSION_MARK}{version}")));
        let free = iter::once(self.directory.clone()).chain(others).find(|directory| !directory.exists());
        let directory =
            free.ok_or_else(|| EngineError::Internal(format!("{} has no free name", self.directory.display())))?;
        fs::rename(&self.temporary, &directory).map_err(|e| EngineError::io("renaming", &self.temporary, e))?;
        sync(directory.parent().unwrap_or(Path::new(".")))?;
        Ok(Saved { directory, manifest, summary: self.summary.clone() })
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // The space matters more than the remains; what cannot be removed now is swept at the next start.
        if let Err(error) = remove_dir(&self.temporary) {
            tracing::warn!(%error, "an unfinished artifact is left behind");
        }
    }
}

/// A name in the same folder.
fn beside(directory: &Path, suffix: &str) -> PathBuf {
    let mut name = directory.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    directory.with_file_name(name)
}

/// Makes the artifact `directory` out of the files that `write` puts into the folder it is given ([`Draft`]).
pub fn save(
    directory: &Path,
    header: Manifest,
    write: impl FnOnce(&mut Folder) -> Result<ArtifactSummary, EngineError>,
) -> Result<Saved, EngineError> {
    Draft::write(directory, header, write)?.seal()
}

/// Syncs the files of a folder and lists them in a manifest beside them.
pub fn complete(folder: &Path, manifest: Manifest) -> Result<Manifest, EngineError> {
    complete_with(folder, manifest, &BTreeMap::new())
}

/// The same where the digests of some files are known.
fn complete_with(
    folder: &Path,
    mut manifest: Manifest,
    digests: &BTreeMap<String, FileDigest>,
) -> Result<Manifest, EngineError> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect::<Result<Vec<_>, _>>())
        .map_err(|e| EngineError::io("listing", folder, e))?;
    names.sort();
    for name in names {
        let path = folder.join(&name);
        sync(&path)?;
        let name = name.to_string_lossy().into_owned();
        let known = digests.get(&name).cloned();
        let (size, sha256) = known.map_or_else(|| digest(&path), Ok)?;
        manifest.files.push(ManifestFile { path: name, size, sha256 });
    }
    let path = folder.join(MANIFEST);
    write_json(&path, &manifest)?;
    sync(&path)?;
    sync(folder)?;
    Ok(manifest)
}

/// The draft that is on its way to the disk, if one is, beside whoever wrote it; clones share it. It takes the time that others
/// leave: the next one waits for it, and nobody else does.
#[derive(Clone, Debug, Default)]
pub struct Saving(Arc<Mutex<Slot>>);

#[derive(Debug, Default)]
struct Slot {
    sealing: Option<Sealing>,
    /// Why the last one is not there, for whoever waits for it.
    failed: Option<EngineError>,
}

#[derive(Debug)]
struct Sealing {
    directory: PathBuf,
    thread: JoinHandle<Result<Saved, EngineError>>,
}

impl Saving {
    /// Sends a draft on its way; the one before must have ended.
    pub fn begin(&self, draft: Draft) -> Result<(), EngineError> {
        let directory = draft.directory.clone();
        let seal = move || {
            if let Err(error) = setpriority_process(None, NICENESS) {
                tracing::debug!(%error, "what is saved competes with what is computed");
            }
            draft.seal()
        };
        let thread = std::thread::Builder::new().name(String::from("saving")).spawn(seal);
        let thread =
            thread.map_err(|error| EngineError::Internal(format!("a thread could not be started: {error}")))?;
        self.slot().sealing = Some(Sealing { directory, thread });
        Ok(())
    }

    /// Where the artifact will be that is on its way.
    pub fn directory(&self) -> Option<PathBuf> {
        self.slot().sealing.as_ref().map(|sealing| sealing.directory.clone())
    }

    /// What has arrived since it was asked last, without waiting. An error is kept for [`Self::end`].
    pub fn arrived(&self) -> Option<Saved> {
        let mut slot = self.slot();
        let Sealing { thread, .. } = slot.sealing.take_if(|sealing| sealing.thread.is_finished())?;
        match joined(thread) {
            Ok(saved) => Some(saved),
            Err(error) => {
                slot.failed = Some(error);
                None
            }
        }
    }

    pub fn has_failed(&self) -> bool {
        self.slot().failed.is_some()
    }

    /// Waits for what is on its way.
    pub fn end(&self) -> Result<Option<Saved>, EngineError> {
        let Slot { sealing, failed } = std::mem::take(&mut *self.slot());
        match (failed, sealing) {
            (Some(error), _) => Err(error),
            (None, Some(Sealing { thread, .. })) => joined(thread).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// Nobody waits for it any more.
    pub fn give_up(&self) {
        drop(std::mem::take(&mut *self.slot()));
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn joined(thread: JoinHandle<Result<Saved, EngineError>>) -> Result<Saved, EngineError> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Reads an artifact's manifest and checks every file against it.
pub fn verify(directory: &Path) -> Result<Manifest, EngineError> {
    let path = directory.join(MANIFEST);
    let broken = |detail: String| EngineError::InvalidData { code: "checkpoint_corrupt", detail };
    let text = fs::read(&path).map_err(|e| EngineError::io("reading", &path, e))?;
    let manifest: Manifest =
        serde_json::from_slice(&text).map_err(|e| broken(format!("{} is not a manifest: {e}", path.display())))?;
    for file in &manifest.files {
        let path = directory.join(&file.path);
        let (size, sha256) = digest(&path)?;
        if size != file.size || sha256 != file.sha256 {
            return Err(broken(format!("{} does not match its digest in the manifest", path.display())));
        }
    }
    Ok(manifest)
}

/// Writes one file of an artifact, which is synced when all of them are there.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), EngineError> {
    fs::write(path, bytes).map_err(|e| EngineError::io("writing", path, e))
}

/// Writes and syncs one file.
pub fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), EngineError> {
    write_file(path, bytes)?;
    sync(path)
}

/// Writes one file of JSON of an artifact.
pub fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), EngineError> {
    let text = serde_json::to_vec_pretty(value).map_err(|e| EngineError::Internal(e.to_string()))?;
    write_file(path, &text)
}

pub fn sync(path: &Path) -> Result<(), EngineError> {
    File::open(path).and_then(|file| file.sync_all()).map_err(|e| EngineError::io("syncing", path, e))
}

fn remove_dir(path: &Path) -> Result<(), EngineError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(EngineError::io("removing", path, error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::digested::{DigestedFile, TOGETHER};
    use crate::job::{ArtifactKind, JobId};

    fn header() -> Manifest {
        Manifest {
            format: 1,
            kind: ArtifactKind::Training,
            job: JobId::generate(),
            attempt: 1,
            step: 5,
            spec_digest: String::from("sha256:00"),
            files: Vec::new(),
        }
    }

    fn write(folder: &Folder, bytes: &[u8]) -> Result<ArtifactSummary, EngineError> {
        write_file(&folder.path().join("weights"), bytes)?;
        Ok(ArtifactSummary::Checkpoint)
    }

    #[test]
    fn a_saved_artifact_verifies_and_a_flipped_byte_does_not() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("1-5");
        let saved = save(&directory, header(), |folder| write(folder, b"0123456789")).unwrap();
        assert_eq!(verify(&directory).unwrap(), saved.manifest);
        assert_eq!(saved.manifest.bytes(), 10);
        fs::write(directory.join("weights"), b"0123456780").unwrap();
        assert!(matches!(verify(&directory), Err(EngineError::InvalidData { code: "checkpoint_corrupt", .. })));
        fs::write(directory.join("weights"), b"012345").unwrap();
        assert!(verify(&directory).is_err());
    }

    #[test]
    fn a_digest_that_is_taken_while_a_file_is_written_is_the_files() {
        let root = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..3 * TOGETHER).map(|i| (i % 251) as u8).collect();
        let saved = save(&root.path().join("1-5"), header(), |folder| {
            let mut file = DigestedFile::create(&folder.path().join("weights"))?;
            for piece in [&bytes[..7], &bytes[7..2 * TOGETHER], &bytes[2 * TOGETHER..]] {
                file.write(piece)?;
            }
            folder.note("weights", file.finish());
            Ok(ArtifactSummary::Checkpoint)
        });
        let saved = saved.unwrap();
        assert_eq!(verify(&saved.directory).unwrap(), saved.manifest);
        let file = &saved.manifest.files[0];
        assert_eq!(
            (file.size, &file.sha256),
            (bytes.len() as u64, &digest(&saved.directory.join("weights")).unwrap().1)
        );
    }

    #[test]
    fn a_draft_that_is_given_up_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let draft = Draft::write(&root.path().join("1-5"), header(), |folder| write(folder, b"new")).unwrap();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
        drop(draft);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
        let draft = Draft::write(&root.path().join("1-5"), header(), |folder| write(folder, b"new")).unwrap();
        let saving = Saving::default();
        saving.begin(draft).unwrap();
        assert_eq!(saving.directory(), Some(root.path().join("1-5")));
        let saved = saving.end().unwrap().unwrap();
        assert!(saving.end().unwrap().is_none() && saving.directory().is_none());
        assert_eq!(verify(&saved.directory).unwrap(), saved.manifest);
    }

    #[test]
    fn a_failed_write_leaves_nothing_and_keeps_the_old_artifact() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("1-5");
        save(&directory, header(), |folder| write(folder, b"old")).unwrap();
        let failed = save(&directory, header(), |folder| {
            write(folder, b"new")?;
            Err(EngineError::Internal(String::from("power cut")))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(directory.join("weights")).unwrap(), b"old");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_written_again_leaves_the_older_one_until_a_row_names_it() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("1-5");
        let older = save(&directory, header(), |folder| write(folder, b"old")).unwrap();
        for (version, name) in ["1-5~2", "1-5~3"].into_iter().enumerate() {
            let newer = save(&directory, header(), |folder| write(folder, &[version as u8])).unwrap();
            assert_eq!(newer.directory, root.path().join(name));
            assert_eq!(verify(&newer.directory).unwrap(), newer.manifest);
        }
        assert_eq!(verify(&older.directory).unwrap(), older.manifest);
    }
}
