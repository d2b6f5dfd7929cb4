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

/// Writes a new file of `length` bytes, of which `piece` brings any range, and syncs it. Some pieces are on their way while
/// others are written.
pub async fn write_in_pieces<F>(file: &Path, length: u64, piece: impl Fn(Range<u64>) -> F) -> Result<()>
where
    F: Future<Output = Result<Bytes>>,
{
    let written = |e| StoreError::io("writing", file, e);
    let to = Arc::new(File::create(file).map_err(written)?);
    let begins = (0..length).step_by(PIECE_BYTES as usize);
    let pieces = begins.map(|begin| {
        let (to, bytes) = (Arc::clone(&to), piece(begin..(begin + PIECE_BYTES).min(length)));
        async move {
            let bytes = bytes.await?;
            blocking(move || to.write_all_at(&bytes, begin)).await.map_err(written)
        }
    });
    futures_util::stream::iter(pieces).buffer_unordered(PIECES_AT_ONCE).try_collect::<()>().await?;
    blocking(move || to.sync_all()).await.map_err(written)
}

/// Does what blocks where that keeps nobody else.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
