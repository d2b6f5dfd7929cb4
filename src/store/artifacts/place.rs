//! The place where files lie: what jobs make, rows of data sets, models, what clients upload. Whoever wants a file names
//! it by its [`Location`] and gets bytes, or a path on a disk of its own; whether that is a folder of this machine, or a
//! bucket that several machines share, is known here alone. Of a bucket, what this machine has made or brought stays in the
//! same folders, as a copy that can be brought again.
//!
//! What comes in is staged first: written under a name of its own, synced, and then published, so that a location holds
//! a whole thing or nothing. Rows come after, and go before what they name is removed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncSeekExt};
use tokio::runtime::Handle;

use super::Artifact;
use super::intact::{Damaged, Intact, StoredFile};
use super::location::Location;
use crate::job::digest::sha256_hex;
use crate::job::rollout_set::{PART_DIGEST, PARTS_FOLDER, SAMPLE_FOLDER};
use crate::job::{JobId, Manifest, Timestamp};
use crate::store::depot::{Depot, Object, Permit};
use crate::store::files::{publish, sync};
use crate::store::{Files, Result, StoreError};

/// What a folder of the place holds.
#[derive(Debug)]
pub(in crate::store) struct Entry {
    pub location: Location,
    pub name: String,
    /// Of a file.
    pub bytes: u64,
    /// Since it was changed, where that is known.
    pub age: Option<Duration>,
}

/// Files that were stored already, with length and time as they were then.
#[derive(Debug, Default)]
pub struct Kept(Mutex<BTreeMap<PathBuf, (u64, SystemTime)>>);

impl Kept {
    fn knows(&self, path: &Path, stamp: (u64, SystemTime)) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path) == Some(&stamp)
    }

    fn note(&self, path: PathBuf, stamp: (u64, SystemTime)) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path, stamp);
    }
}

/// The place of a data directory; clones share it.
#[derive(Clone, Debug)]
pub struct Place {
    pub(super) files: Files,
    intact: Intact,
    pub(super) bucket: Option<Arc<dyn Depot>>,
}

impl Place {
    pub(in crate::store) fn new(files: Files, bucket: Option<Arc<dyn Depot>>) -> Self {
        Self { files, intact: Intact::default(), bucket }
    }

    /// Of an agent: copies of what lies in a depot.
    pub fn of_copies(files: Files, depot: Arc<dyn Depot>) -> Self {
        Self::new(files, Some(depot))
    }

    /// `length` bytes of a file from `first` on, to be streamed. Who reads all of a file that is damaged gets an error
    /// before its end.
    pub async fn open(&self, file: &StoredFile, first: u64, length: u64) -> io::Result<Pin<Box<dyn AsyncRead + Send>>> {
        let path = self.path(&file.location);
        let mut reader = match (tokio::fs::File::open(&path).await, &self.bucket) {
            (Err(error), Some(bucket)) if error.kind() == io::ErrorKind::NotFound => {
                return self.open_remote(&**bucket, file, first, length).await;
            }
            (opened, _) => opened?,
        };
        self.ask_for(&path);
        let metadata = reader.metadata().await?;
        reader.seek(SeekFrom::Start(first)).await?;
        let whole = first == 0 && length == metadata.len();
        let unknown = StoredFile::from(file.location.clone());
        let file = if whole { file } else { &unknown };
        Ok(Box::pin(self.intact.reader(reader.take(length), &metadata, path, file)))
    }

    async fn open_remote(
        &self,
        bucket: &dyn Depot,
        file: &StoredFile,
        first: u64,
        length: u64,
    ) -> io::Result<Pin<Box<dyn AsyncRead + Send>>> {
        let whole = first == 0 && length == bucket.size(file.name()).await.map_err(unread)?;
        let reader = bucket.range(file.name(), first, length).await.map_err(unread)?;
        Ok(if whole { Box::pin(self.intact.remote(reader, length, file)) } else { Box::pin(reader) })
    }

    /// A file's bytes.
    pub async fn size(&self, file: &StoredFile) -> io::Result<u64> {
        match (tokio::fs::metadata(self.path(&file.location)).await, &self.bucket) {
            (Err(error), Some(bucket)) if error.kind() == io::ErrorKind::NotFound => {
                bucket.size(file.name()).await.map_err(unread)
            }
            (metadata, _) => Ok(metadata?.len()),
        }
    }

    /// An address from which whoever has it can read a file of so many bytes for so long, where clients are sent to the
    /// bucket.
    pub async fn signed_address(&self, file: &StoredFile, bytes: u64, lasts: Duration) -> Result<Option<String>> {
        match &self.bucket {
            None => Ok(None),
            Some(bucket) => bucket.signed(Permit::Read { bytes }, file.name(), lasts).await,
        }
    }

    /// An address to which whoever has it can send a file for so long, where clients may send to the bucket.
    pub async fn signed_target(&self, location: &Location, lasts: Duration) -> Result<Option<String>> {
        match &self.bucket {
            None => Ok(None),
            Some(bucket) => bucket.signed(Permit::Write, &location.0, lasts).await,
        }
    }

    /// A file, to be read here and there, which holds what was stored. Blocks, as its reader does.
    pub fn read(&self, file: &StoredFile) -> io::Result<impl Read + Seek + use<>> {
        let path = self.path(&file.location);
        self.ask_for(&path);
        match (self.intact.open(&path, file), &self.bucket) {
            // A copy that a disk has changed is brought again.
            (Err(error), Some(bucket)) if error.kind() == io::ErrorKind::NotFound || Damaged::is(&error) => {
                let handle = Handle::try_current().map_err(io::Error::other)?;
                handle.block_on(self.bring(&**bucket, file.name())).map_err(unread)?;
                self.intact.open(&path, file)
            }
            (opened, _) => opened,
        }
    }

    /// Brings a file or a folder to this machine's disk and says where it is; nobody may change it there.
    pub async fn fetch(&self, what: &Location) -> Result<PathBuf> {
        let path = self.path(what);
        let Some(bucket) = &self.bucket else { return Ok(path) };
        if path.is_file() {
            self.ask_for(&path);
            return Ok(path);
        }
        let there = |file: &Object| {
            self.ask_for(&path.join(&file.name));
            path.join(&file.name).metadata().is_ok_and(|found| found.len() == file.bytes)
        };
        let files = bucket.list_all(&what.0).await?;
        if files.is_empty() && !path.exists() {
            match self.bring(&**bucket, &what.0).await {
                // It is nowhere, which whoever asked finds out.
                Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                brought => brought?,
            }
        }
        for file in files.iter().filter(|file| !there(file)) {
            self.bring(&**bucket, &format!("{}/{}", what.0, file.name)).await?;
        }
        Ok(path)
    }

    /// Brings an object to where its file belongs on this machine's disk. Of two that do so at once both succeed.
    async fn bring(&self, bucket: &dyn Depot, name: &str) -> Result<()> {
        let (path, staged) = (self.files.root().join(name), self.stage());
        bucket.get(name, &staged.path).await?;
        staged.publish_here(path).await
    }

    /// Stores what lies here in the bucket, if there is one: a file, or all files of a folder.
    async fn send(&self, from: &Path, what: &Location) -> Result<()> {
        let Some(bucket) = &self.bucket else { return Ok(()) };
        if !from.is_dir() {
            return bucket.put(&what.0, from).await;
        }
        // Marks of what is under way have names that begin with a dot.
        for (name, path) in files_below(from)?.into_iter().filter(|(name, _)| !name.starts_with('.')) {
            bucket.put(&format!("{}/{name}", what.0), &path).await?;
        }
        Ok(())
    }

    /// Gives what was laid out with [`Staged::lay`], and is complete now, its place for all machines.
    pub async fn complete(&self, what: &Location) -> Result<()> {
        self.send(&self.path(what), what).await
    }

    /// Stores what a job keeps while it runs and `kept` does not know yet, where all machines find it.
    pub async fn keep(&self, job: JobId, kept: &Kept) -> Result<()> {
        let Some(bucket) = &self.bucket else { return Ok(()) };
        for folder in [PARTS_FOLDER, SAMPLE_FOLDER] {
            let location = Location::job(job).within(folder);
            let path = self.path(&location);
            let files = if path.is_dir() { files_below(&path)? } else { Vec::new() };
            for (name, path) in files.into_iter().filter(|(name, _)| !name.ends_with("tmp")) {
                let stamp = path.metadata().and_then(|found| Ok((found.len(), found.modified()?)));
                let stamp = stamp.map_err(|e| StoreError::io("reading", &path, e))?;
                if !kept.knows(&path, stamp) {
                    bucket.put(&location.within(&name).0, &path).await?;
                    kept.note(path, stamp);
                }
            }
        }
        Ok(())
    }

    /// The same for a file that holds what was stored.
    pub async fn fetch_file(&self, file: &StoredFile) -> io::Result<PathBuf> {
        let (place, file) = (self.clone(), file.clone());
        let read = tokio::task::spawn_blocking(move || place.read(&file).map(|_| place.path(&file.location)));
        read.await.map_err(io::Error::other)?
    }

    /// The same for an artifact.
    pub async fn fetch_artifact(&self, artifact: &Artifact) -> io::Result<PathBuf> {
        for file in artifact.files() {
            self.fetch_file(&file).await?;
        }
        Ok(self.path(artifact.location()))
    }

    /// Gives an artifact's directory, complete and synced, its place among what its job made.
    pub async fn publish(&self, directory: &Path, manifest: &Manifest) -> Result<Location> {
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        let location = Location::job(manifest.job).within(&name);
        self.send(directory, &location).await?;
        // Workers beside the place write there at once.
        if self.path(&location) != directory {
            publish(directory, &self.path(&location))?;
        }
        Ok(location)
    }

    /// Gives a file a second location, which does not go with the first.
    pub async fn copy(&self, from: &Location, to: &Location) -> Result<()> {
        if let Some(bucket) = &self.bucket {
            return bucket.copy(&from.0, &to.0).await;
        }
        let (from, to) = (self.path(from), self.path(to));
        let link = move || {
            fs::hard_link(&from, &to).map_err(|e| StoreError::io("linking", &from, e))?;
            sync(to.parent().unwrap_or(Path::new(".")))
        };
        tokio::task::spawn_blocking(link)
            .await
            .map_err(|e| StoreError::io("linking below", self.files.root(), io::Error::other(e)))?
    }

    /// Removes a file or a folder that no row names any more. One that is not there is no error, and what cannot be
    /// removed is left for the sweep at the next start.
    pub async fn remove(&self, what: &Location) {
        if let Some(bucket) = &self.bucket
            && let Err(error) = bucket.remove(&what.0).await
        {
            tracing::warn!(%error, name = what.0, "deleted files are left in the bucket for the next sweep to remove");
        }
        let path = self.path(what);
        let removed = match tokio::fs::symlink_metadata(&path).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => Err(error),
            Ok(metadata) if metadata.is_dir() => tokio::fs::remove_dir_all(&path).await,
            Ok(_) => tokio::fs::remove_file(&path).await,
        };
        if let Err(error) = removed {
            tracing::warn!(%error, path = %path.display(), "deleted files are left for the next start to remove");
        }
    }

    /// Where a stored file lies on this machine's disk.
    pub(in crate::store) fn path_of(&self, file: &StoredFile) -> PathBuf {
        self.path(&file.location)
    }

    /// All files of what a job keeps while it runs.
    pub(in crate::store) async fn kept_part_files(&self, job: JobId) -> Result<Vec<Location>> {
        let mut parts = self.list(&Location::job(job).within(PARTS_FOLDER)).await?;
        parts.retain(|entry| entry.name.ends_with(".jsonl") || entry.name.ends_with(PART_DIGEST));
        Ok(parts.into_iter().map(|entry| entry.location).collect())
    }

    /// The rounds of the sample of a job's completions with their numbers, the oldest first.
    pub async fn sampled_rounds(&self, job: JobId) -> Result<Vec<(usize, StoredFile)>> {
        let rounds = self.numbered(&Location::job(job).within(SAMPLE_FOLDER)).await?;
        Ok(rounds.into_iter().map(|(number, location)| (number, location.into())).collect())
    }

    /// The files of a folder that are called by numbers, in the order of these.
    async fn numbered(&self, folder: &Location) -> Result<Vec<(usize, Location)>> {
        let entries = self.list(folder).await?.into_iter();
        let numbered =
            entries.filter_map(|entry| Some((entry.name.strip_suffix(".jsonl")?.parse().ok()?, entry.location)));
        let mut numbered: Vec<(usize, Location)> = numbered.collect();
        numbered.sort_by_key(|(number, _)| *number);
        Ok(numbered)
    }

    /// The parts of what a job keeps while it runs with their numbers, the oldest first.
    pub async fn kept_parts(&self, job: JobId) -> Result<Vec<(usize, StoredFile)>> {
        let parts = self.numbered(&Location::job(job).within(PARTS_FOLDER)).await?;
        let part = async |location: Location| {
            // Parts that an older version kept have no digests.
            let digest = Location(location.0.replace(".jsonl", &format!(".{PART_DIGEST}")));
            let digest = self.fetch(&digest).await.unwrap_or_default();
            match tokio::fs::read_to_string(digest).await {
                Ok(sha256) => location.holding(&sha256),
                Err(_) => location.into(),
            }
        };
        let mut files = Vec::with_capacity(parts.len());
        for (number, location) in parts {
            files.push((number, part(location).await));
        }
        Ok(files)
    }

    /// What a folder holds; nothing when it is not there.
    pub(in crate::store) async fn list(&self, folder: &Location) -> Result<Vec<Entry>> {
        let mut entries = self.list_here(folder).await?;
        let Some(bucket) = &self.bucket else { return Ok(entries) };
        for object in bucket.list(&folder.0).await? {
            // What was written there last is as young as the younger of the two.
            let age = object.written.and_then(since);
            match entries.iter_mut().find(|entry| entry.name == object.name) {
                Some(entry) => entry.age = entry.age.zip(age).map(|(here, there)| here.min(there)),
                None => {
                    let location = folder.within(&object.name);
                    entries.push(Entry { location, name: object.name, bytes: object.bytes, age });
                }
            }
        }
        Ok(entries)
    }

    /// How long nothing of an entry has been written, where that is known.
    pub(in crate::store) async fn age(&self, entry: &Entry) -> Result<Option<Duration>> {
        // Of a folder in a bucket nothing is known but its files.
        if entry.age.is_none() { self.stored_age(&entry.location).await } else { Ok(entry.age) }
    }

    /// The same of what is in the bucket of a folder; none where that is nothing.
    pub(in crate::store) async fn stored_age(&self, folder: &Location) -> Result<Option<Duration>> {
        let Some(bucket) = &self.bucket else { return Ok(None) };
        let files = bucket.list_all(&folder.0).await?;
        Ok(files.iter().filter_map(|file| file.written).max().and_then(since))
    }

    async fn list_here(&self, folder: &Location) -> Result<Vec<Entry>> {
        let path = self.path(folder);
        let failed = |e| StoreError::io("listing", &path, e);
        let mut listing = match tokio::fs::read_dir(&path).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listing => listing.map_err(failed)?,
        };
        let mut entries = Vec::new();
        while let Some(entry) = listing.next_entry().await.map_err(failed)? {
            let name = entry.file_name().to_string_lossy().into_owned();
            let metadata = entry.metadata().await.ok();
            let bytes = metadata.as_ref().map_or(0, |metadata| metadata.len());
            let changed = metadata.and_then(|metadata| metadata.modified().ok());
            let age = changed.and_then(|time| time.elapsed().ok());
            entries.push(Entry { location: folder.within(&name), name, bytes, age });
        }
        Ok(entries)
    }

    /// Whether files are elsewhere than on this machine.
    pub fn is_remote(&self) -> bool {
        self.bucket.is_some()
    }

    /// A name of its own for something that is coming in.
    pub fn stage(&self) -> Staged {
        Staged { path: self.files.upload(), place: self.clone(), published: false }
    }

    /// As [`stage`](Self::stage), for what arrives piece by piece: under the same key is what has arrived so far.
    pub fn stage_again(&self, key: &str) -> Staged {
        Staged { path: self.files.partial(&sha256_hex(key.as_bytes())), place: self.clone(), published: false }
    }

    /// All files below a folder, by their names within it, with their bytes.
    pub async fn list_below(&self, folder: &Location) -> Result<Vec<(String, u64)>> {
        let path = self.path(folder);
        let mut files = BTreeMap::new();
        for (name, path) in if path.is_dir() { files_below(&path)? } else { Vec::new() } {
            // One that is gone meanwhile is none.
            files.extend(path.metadata().ok().map(|metadata| (name, metadata.len())));
        }
        if let Some(bucket) = &self.bucket {
            files.extend(bucket.list_all(&folder.0).await?.into_iter().map(|object| (object.name, object.bytes)));
        }
        Ok(files.into_iter().collect())
    }

    /// An empty file to write and to read that has no name, and is gone when it is closed. Blocks.
    pub fn scratch(&self) -> io::Result<File> {
        let path = self.files.upload();
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        fs::remove_file(&path)?;
        Ok(file)
    }

    /// As [`stage`](Self::stage), for what will be at this location, beside it; what an earlier process left there is removed.
    pub async fn stage_beside(&self, location: &Location) -> Staged {
        let beside = Location(format!("{}.tmp", location.0));
        self.remove(&beside).await;
        Staged { path: self.path(&beside), place: self.clone(), published: false }
    }

    fn path(&self, location: &Location) -> PathBuf {
        self.files.root().join(&location.0)
    }
}

/// How long ago something was written.
fn since(written: Timestamp) -> Option<Duration> {
    (SystemTime::UNIX_EPOCH + Duration::from_millis(written.0.unsigned_abs())).elapsed().ok()
}

/// The files below a folder with their names within it.
pub(super) fn files_below(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let (mut files, mut pending) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = pending.pop() {
        let failed = |e| StoreError::io("listing", &next, e);
        for entry in fs::read_dir(&next).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_dir() {
                pending.push(path);
            } else if let Ok(name) = path.strip_prefix(folder) {
                files.push((name.to_string_lossy().into_owned(), path));
            }
        }
    }
    files.sort();
    Ok(files)
}

/// An error of the bucket as whoever reads a file knows it.
fn unread(error: StoreError) -> io::Error {
    match error {
        StoreError::Io { source, .. } => source,
        other => io::Error::other(other),
    }
}

/// A file or folder on its way in, on this machine's disk. It is removed again unless it is published.
#[derive(Debug)]
pub struct Staged {
    path: PathBuf,
    place: Place,
    published: bool,
}

impl Staged {
    /// Makes it an empty file to write to. Blocks, as what it returns does.
    pub fn create(&self) -> io::Result<File> {
        File::create(&self.path)
    }

    /// The same without blocking.
    pub async fn writer(&self) -> io::Result<tokio::fs::File> {
        tokio::fs::File::create(&self.path).await
    }

    /// Bytes that have arrived so far.
    pub fn bytes(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }

    /// Writes behind what has arrived.
    pub async fn appender(&self) -> io::Result<tokio::fs::File> {
        tokio::fs::File::options().create(true).append(true).open(&self.path).await
    }

    /// More of it is to arrive.
    pub fn keep(mut self) {
        self.published = true;
    }

    /// Reads it as a file.
    pub fn read(&self) -> io::Result<impl Read + use<>> {
        File::open(&self.path)
    }

    /// Makes it an empty folder to write to, in which every file must be synced.
    pub fn folder(&self) -> Result<&Path> {
        fs::create_dir_all(&self.path).map_err(|e| StoreError::io("creating", &self.path, e))?;
        Ok(&self.path)
    }

    /// Gives it its location, durably. A file must be synced; a folder is.
    pub async fn publish(self, location: &Location) -> Result<()> {
        self.place.send(&self.path, location).await?;
        let target = self.place.path(location);
        self.publish_here(target).await
    }

    /// The same on this machine alone, for what is not complete yet.
    pub async fn lay(self, location: &Location) -> Result<()> {
        let target = self.place.path(location);
        self.publish_here(target).await
    }

    async fn publish_here(mut self, target: PathBuf) -> Result<()> {
        let files = self.place.files.clone();
        let publish = move || {
            if self.path.is_dir() {
                sync(&self.path)?;
            }
            let folder = target.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(folder).map_err(|e| StoreError::io("creating", folder, e))?;
            publish(&self.path, &target)?;
            self.published = true;
            Ok(())
        };
        let failed = |error| StoreError::io("publishing below", files.root(), io::Error::other(error));
        tokio::task::spawn_blocking(publish).await.map_err(failed)?
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if self.published {
            return;
        }
        let removed = if self.path.is_dir() { fs::remove_dir_all(&self.path) } else { fs::remove_file(&self.path) };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, path = %self.path.display(), "the remains of an upload could not be removed");
            }
            Err(_) | Ok(()) => {}
        }
    }
}
