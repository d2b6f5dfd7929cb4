//! Where files are that several machines share: whole objects by their names, of which each machine keeps copies. A bucket of
//! an object storage is one; for an agent, which holds no key to that, its server is.

use std::fmt::Debug;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::AsyncRead;

use super::Result;
use crate::job::Timestamp;

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

    /// An address from which whoever has it can read an object for so long, where clients are to use one.
    async fn signed(&self, name: &str, lasts: Duration) -> Result<Option<String>>;
}
