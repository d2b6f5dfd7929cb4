//! Where files are that several machines share: whole objects by their names, of which each machine keeps copies. A bucket of
//! an object storage is one; for an agent, which holds no key to that, its server is.

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use tokio::io::AsyncRead;

use super::{Result, StoreError};
use crate::job::Timestamp;

/// Larger files come in pieces of this size, a few at a time.
const PIECE_BYTES: u64 = 16 << 20;
const PIECES_AT_ONCE: usize = 4;
/// Of each so much is written at a time.
const WRITTEN_BYTES: u64 = 1 << 20;

/// Bytes as they come.
pub type Reader = Pin<Box<dyn AsyncRead + Send>>;

/// What a folder holds.
#[derive(Debug)]
pub struct Object {
    /// Its name within the folder.
    pub name: String,
    /// 0 of a folder.
    pub bytes: u64,
    /// When it was written, where that is known.
    pub written: Option<Timestamp>,
}

/// What a signed address lets do.
#[derive(Clone, Copy, Debug)]
pub enum Permit {
    /// `GET`, of an object of so many bytes.
    Read { bytes: u64 },
    /// `PUT`, of the whole object.
    Write,
}

/// Objects by name. One is whole or not there, and what is written under a name stays as it is until it is removed.
#[async_trait]
pub trait Depot: Debug + Send + Sync {
    /// Stores a file under a name, in the place of what is there.
    async fn put(&self, name: &str, file: &Path) -> Result<()>;

    /// Brings an object into a new file, which is synced.
    async fn get(&self, name: &str, file: &Path) -> Result<()>;

    /// `length` bytes of an object from `first` on.
    async fn range(&self, name: &str, first: u64, length: u64) -> Result<Reader>;

    /// The bytes of an object.
    async fn size(&self, name: &str) -> Result<u64>;

    /// What a folder holds, folders in it too.
    async fn list(&self, folder: &str) -> Result<Vec<Object>>;

    /// All objects below a folder, by their names within it.
    async fn list_all(&self, folder: &str) -> Result<Vec<Object>>;

    /// Removes an object, and all below a folder of that name. What is not there is no error.
    async fn remove(&self, name: &str) -> Result<()>;

    /// Gives an object a second name.
    async fn copy(&self, from: &str, to: &str) -> Result<()>;

    /// An address with which whoever has it can do this with an object for so long, where clients are to use one.
    async fn signed(&self, permit: Permit, name: &str, lasts: Duration) -> Result<Option<String>>;
}

/// A range of a file that is on its way to it.
#[derive(Debug)]
pub struct Piece {
    to: Arc<File>,
    range: Range<u64>,
    /// What has come and is not written yet.
    waiting: Vec<Bytes>,
    waiting_bytes: u64,
}

impl Piece {
    /// What is still to come of it.
    pub fn range(&self) -> Range<u64> {
        self.range.start + self.waiting_bytes..self.range.end
    }

    /// Takes what comes next, and no more than all of it.
    pub async fn write(&mut self, bytes: Bytes) -> io::Result<()> {
        let room = self.range();
        if bytes.len() as u64 > room.end - room.start {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "more bytes came than were asked for"));
        }
        self.waiting_bytes += bytes.len() as u64;
        self.waiting.push(bytes);
        if self.waiting_bytes < WRITTEN_BYTES && self.range().start < self.range.end {
            return Ok(());
        }
        let (to, bytes, mut at) = (Arc::clone(&self.to), std::mem::take(&mut self.waiting), self.range.start);
        self.range.start += std::mem::take(&mut self.waiting_bytes);
        blocking(move || {
            for bytes in bytes {
                to.write_all_at(&bytes, at)?;
                at += bytes.len() as u64;
            }
            Ok(())
        })
        .await
    }
}

/// Writes a new file of `length` bytes, of which `bring` brings any piece, and syncs it. Some pieces are on their way at a time,
/// and of each little is in memory.
pub async fn write_in_pieces<F>(file: &Path, length: u64, bring: impl Fn(Piece) -> F) -> Result<()>
where
    F: Future<Output = Result<Piece>>,
{
    let written = |e| StoreError::io("writing", file, e);
    let to = Arc::new(File::create(file).map_err(written)?);
    let begins = (0..length).step_by(PIECE_BYTES as usize);
    let pieces = begins.map(|begin| {
        let range = begin..(begin + PIECE_BYTES).min(length);
        let piece = bring(Piece { to: Arc::clone(&to), range, waiting: Vec::new(), waiting_bytes: 0 });
        async move {
            let ended =
                || written(io::Error::new(io::ErrorKind::UnexpectedEof, "fewer bytes came than were asked for"));
            if piece.await?.range().is_empty() { Ok(()) } else { Err(ended()) }
        }
    });
    futures_util::stream::iter(pieces).buffer_unordered(PIECES_AT_ONCE).try_collect::<()>().await?;
    blocking(move || to.sync_all()).await.map_err(written)
}

/// Does what blocks where that keeps nobody else.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_is_put_together_of_what_comes_in_any_portions_and_of_no_more_or_less() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let whole: Vec<u8> = (0..2 * PIECE_BYTES + 5).map(|i| (i * i % 251) as u8).collect();
        let whole = Bytes::from(whole);
        let brought = async |change: i64, portion: usize| {
            let bring = |mut piece: Piece| {
                let Range { start, end } = piece.range();
                let last = end == whole.len() as u64;
                let count = (end - start).saturating_add_signed(if last { change } else { 0 }) as usize;
                let own = whole.slice(start as usize..(start as usize + count).min(whole.len()));
                // One more than there is.
                let more = vec![0; count - own.len()];
                async move {
                    for bytes in own.chunks(portion).chain(more.chunks(1)) {
                        let bytes = Bytes::copy_from_slice(bytes);
                        piece.write(bytes).await.map_err(|e| StoreError::io("writing", Path::new("file"), e))?;
                    }
                    Ok(piece)
                }
            };
            write_in_pieces(&path, whole.len() as u64, bring).await
        };
        for portion in [1 << 12, 700_001, 1 << 20, usize::MAX >> 1] {
            brought(0, portion).await.unwrap();
            assert!(std::fs::read(&path).unwrap() == whole, "in portions of {portion}");
        }
        for change in [1, -1] {
            let error = format!("{:?}", brought(change, 1 << 12).await.unwrap_err());
            assert!(error.contains(if change > 0 { "more bytes came" } else { "fewer bytes came" }), "{error}");
        }
    }
}
