//! The place where files lie: what jobs make, rows of data sets, models, what clients upload. Whoever wants a file names
//! it by its [`Location`] and gets bytes, or a path on a disk of its own; that it is a folder of this machine is known
//! here alone.
//!
//! What comes in is staged first: written under a name of its own, synced, and then published, so that a location holds
//! a whole thing or nothing. Rows come after, and go before what they name is removed.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncSeekExt};

use super::Artifact;
use super::intact::{Intact, StoredFile};
use super::location::Location;
use crate::job::rollout_set::{PART_DIGEST, PARTS_FOLDER, SAMPLE_FOLDER};
use crate::job::{JobId, Manifest};
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

/// The place of a data directory; clones share it.
#[derive(Clone, Debug)]
pub struct Place {
    files: Files,
    intact: Intact,
}

impl Place {
    pub(in crate::store) fn new(files: Files) -> Self {
        Self { files, intact: Intact::default() }
    }

    /// `length` bytes of a file from `first` on, to be streamed. Who reads all of a file that is damaged gets an error
    /// before its end.
    pub async fn open(&self, file: &StoredFile, first: u64, length: u64) -> io::Result<impl AsyncRead + use<>> {
        let path = self.path(&file.location);
        let mut reader = tokio::fs::File::open(&path).await?;
        let metadata = reader.metadata().await?;
        reader.seek(SeekFrom::Start(first)).await?;
        let whole = first == 0 && length == metadata.len();
        let unknown = StoredFile::from(file.location.clone());
        let file = if whole { file } else { &unknown };
        Ok(self.intact.reader(reader.take(length), &metadata, path, file))
    }

    /// A file's bytes.
    pub async fn size(&self, file: &StoredFile) -> io::Result<u64> {
        Ok(tokio::fs::metadata(self.path(&file.location)).await?.len())
    }

    /// A file, to be read here and there, which holds what was stored. Blocks, as its reader does.
    pub fn read(&self, file: &StoredFile) -> io::Result<impl Read + Seek + use<>> {
        self.intact.open(&self.path(&file.location), file)
    }

    /// Brings a file or a folder to this machine's disk and says where it is; nobody may change it there.
    pub async fn fetch(&self, what: &Location) -> Result<PathBuf> {
        Ok(self.path(what))
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
        // Workers beside the place write there at once.
        if self.path(&location) != directory {
            publish(directory, &self.path(&location))?;
        }
        Ok(location)
    }

    /// Gives a file a second location, which does not go with the first.
    pub async fn copy(&self, from: &Location, to: &Location) -> Result<()> {
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
            match tokio::fs::read_to_string(self.path(&location).with_extension(PART_DIGEST)).await {
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

    /// A name of its own for something that is coming in.
    pub fn stage(&self) -> Staged {
        Staged { path: self.files.upload(), place: self.clone(), published: false }
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
    pub async fn publish(mut self, location: &Location) -> Result<()> {
        let target = self.place.path(location);
        let files = self.place.files.clone();
        let publish = move || {
            if self.path.is_dir() {
                sync(&self.path)?;
            }
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
