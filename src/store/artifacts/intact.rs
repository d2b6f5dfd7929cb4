//! Whether stored files still hold what was stored. A disk may return other bytes than it was given, and nobody who
//! trains on them or downloads them would notice.
//!
//! A file is compared with its digest when it is read for the first time, and again when its length, its time or its
//! inode has changed. Whoever streams a whole file gets its last bytes only when the digest is right.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, ReadBuf};

use super::location::Location;
use crate::job::digest::hex;

/// Files that are remembered; all are forgotten beyond.
const MOST: usize = 1 << 16;

/// A stored file with the digest of what was stored, where that is known.
#[derive(Clone, Debug)]
pub struct StoredFile {
    pub(super) location: Location,
    sha256: Option<String>,
}

/// A file that a row names.
#[derive(Clone, Debug)]
pub struct NamedFile {
    pub file: StoredFile,
    /// None where it was not written down.
    pub size: Option<u64>,
}

impl Location {
    /// The file here, which holds what has this SHA-256, in hexadecimal.
    pub fn holding(self, sha256: &str) -> StoredFile {
        StoredFile { location: self, sha256: Some(sha256.to_owned()) }
    }
}

impl StoredFile {
    /// As it is named within the data directory.
    pub fn name(&self) -> &str {
        &self.location.0
    }

    /// Whether a file somewhere holds what was stored in this one. Blocks.
    pub fn check(&self, path: &Path) -> io::Result<()> {
        Intact::default().open(path, self).map(drop)
    }

    /// Whether what has this digest is what was stored.
    pub fn check_digest(&self, found: String) -> io::Result<()> {
        match &self.sha256 {
            Some(stored) if *stored != found => {
                Err(io::Error::other(Damaged { name: self.name().to_owned(), stored: stored.clone(), found }))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// A file of which nothing more is known than where it is.
impl From<Location> for StoredFile {
    fn from(location: Location) -> Self {
        Self { location, sha256: None }
    }
}

/// A stored file does not hold what was stored.
#[derive(Debug, thiserror::Error)]
#[error("`{name}` does not hold what was stored: its SHA-256 is {found} and was {stored}; restore it from a backup")]
pub struct Damaged {
    /// The file, as it is named within the data directory.
    name: String,
    stored: String,
    found: String,
}

impl Damaged {
    /// Whether an error says that a file is damaged.
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Self>())
    }
}

/// By what a change of a file is noticed without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    length: u64,
    seconds: i64,
    nanoseconds: i64,
    inode: u64,
}

impl From<&Metadata> for Stamp {
    fn from(metadata: &Metadata) -> Self {
        Self {
            length: metadata.len(),
            seconds: metadata.mtime(),
            nanoseconds: metadata.mtime_nsec(),
            inode: metadata.ino(),
        }
    }
}

/// The files that were found to be as they were stored; clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Intact(Arc<Mutex<HashMap<PathBuf, Stamp>>>);

impl Intact {
    /// Opens a file that holds what was stored; an error that [is](Damaged::is) about damage when it does not. Blocks.
    pub fn open(&self, path: &Path, file: &StoredFile) -> io::Result<File> {
        let opened = File::open(path)?;
        let stamp = Stamp::from(&opened.metadata()?);
        if file.sha256.is_none() || self.knows(path, stamp) {
            return Ok(opened);
        }
        let mut reading = Reading { file: file.clone(), digest: Sha256::new(), left: stamp.length };
        let (mut all, mut chunk) = (&opened, vec![0; 1 << 18]);
        loop {
            match all.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => reading.digest.update(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        reading.end()?;
        self.note(path, stamp);
        // The position is that of the file, whoever reads it.
        io::Seek::rewind(&mut all)?;
        Ok(opened)
    }

    /// A reader of a file from its begin to its end, whose metadata are these.
    pub fn reader<R>(&self, reader: R, metadata: &Metadata, path: PathBuf, file: &StoredFile) -> Verified<R> {
        let stamp = Stamp::from(metadata);
        let known = file.sha256.is_none() || self.knows(&path, stamp);
        let reading = (!known).then(|| Reading { file: file.clone(), digest: Sha256::new(), left: stamp.length });
        Verified { reader, reading, noted: Some((path, stamp)), intact: self.clone() }
    }

    /// A reader of all `length` bytes of a file that lies elsewhere.
    pub fn remote<R>(&self, reader: R, length: u64, file: &StoredFile) -> Verified<R> {
        let digest = file.sha256.is_some() && length > 0;
        let reading = digest.then(|| Reading { file: file.clone(), digest: Sha256::new(), left: length });
        Verified { reader, reading, noted: None, intact: self.clone() }
    }

    fn knows(&self, path: &Path, stamp: Stamp) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path) == Some(&stamp)
    }

    fn note(&self, path: &Path, stamp: Stamp) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(path.to_owned(), stamp);
    }
}

/// What was read of a file so far.
struct Reading {
    file: StoredFile,
    digest: Sha256,
    /// Bytes that are still to come.
    left: u64,
}

impl Reading {
    /// Compares the digest, once everything was read.
    fn end(self) -> io::Result<()> {
        let compared = self.file.check_digest(hex(&self.digest.finalize()));
        compared.inspect_err(|error| tracing::error!(%error, "a stored file is damaged"))
    }
}

/// Reads a file, and fails instead of giving out its last bytes when it does not hold what was stored.
pub struct Verified<R> {
    reader: R,
    /// None when the file is known to be intact, or nothing is known of it.
    reading: Option<Reading>,
    /// The file on this machine, to be known again once it was read.
    noted: Option<(PathBuf, Stamp)>,
    intact: Intact,
}

impl<R: AsyncRead + Unpin> AsyncRead for Verified<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.reader).poll_read(context, buffer))?;
        let Some(reading) = self.reading.as_mut() else { return Poll::Ready(Ok(())) };
        let read = &buffer.filled()[before..];
        reading.digest.update(read);
        reading.left = reading.left.saturating_sub(read.len() as u64);
        if let Some(reading) = self.reading.take_if(|reading| reading.left == 0) {
            match reading.end() {
                Ok(()) => {
                    if let Some((path, stamp)) = &self.noted {
                        self.intact.note(path, *stamp);
                    }
                }
                Err(error) => {
                    buffer.set_filled(before);
                    return Poll::Ready(Err(error));
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::job::FileId;
    use crate::job::digest::sha256_hex;
    use crate::store::{Place, Store};

    async fn streamed(place: &Place, file: &StoredFile, length: u64) -> (Vec<u8>, io::Result<usize>) {
        let mut bytes = Vec::new();
        let mut reader = place.open(file, 0, length).await.unwrap();
        let result = reader.read_to_end(&mut bytes).await;
        (bytes, result)
    }

    /// A flipped bit is noticed by whoever reads the file, also when it was intact before, and not when a part is asked
    /// for.
    #[tokio::test]
    async fn a_file_whose_bytes_have_changed_is_not_given_out() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let (place, location) = (store.place(), Location::file(FileId::generate()));
        let bytes: Vec<u8> = (0..700_000_u32).map(|i| (i % 251) as u8).collect();
        let path = store.files().root().join(&location.0);
        fs::write(&path, &bytes).unwrap();
        let file = location.holding(&sha256_hex(&bytes));
        let length = bytes.len() as u64;
        for _ in 0..2 {
            let (got, result) = streamed(place, &file, length).await;
            assert_eq!((got == bytes, result.unwrap()), (true, bytes.len()));
            assert!(place.read(&file).is_ok());
        }
        let mut flipped = bytes.clone();
        flipped[350_000] ^= 4;
        fs::write(&path, &flipped).unwrap();
        assert!(Damaged::is(&place.read(&file).err().unwrap()));
        let (got, result) = streamed(place, &file, length).await;
        assert!(Damaged::is(&result.unwrap_err()) && got.len() < bytes.len());
        assert!(place.fetch_file(&file).await.is_err());
        let mut part = Vec::new();
        place.open(&file, 10, 20).await.unwrap().read_to_end(&mut part).await.unwrap();
        assert_eq!(part, bytes[10..30]);
        fs::write(&path, &bytes).unwrap();
        assert!(place.read(&file).is_ok() && place.fetch_file(&file).await.is_ok());
        assert!(place.read(&file.location.clone().into()).is_ok(), "of what was never said what it holds");
    }
}
