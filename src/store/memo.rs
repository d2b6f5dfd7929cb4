//! What was read and need not be read again while nobody writes.
//!
//! SQLite counts the commits that a connection sees of others (`pragma data_version`). A connection of its own looks at
//! the count; requests that wait for the same look share it, so that many of them cost little more than one.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::AnyConnection;
use tokio::sync::{Mutex, OnceCell};

use super::{Store, StoreError};

/// Values that one memo holds; it begins anew beyond.
const MOST: usize = 1024;

/// A state of the database. Nothing was committed between two looks that find the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Version {
    /// Counts of different connections say nothing about each other.
    connection: u64,
    commits: Option<Arc<str>>,
}

/// Where the state of the database is looked up.
#[derive(Debug, Default)]
pub(super) struct Versions {
    /// Looks that have begun.
    begun: AtomicU64,
    newest: Mutex<Newest>,
}

#[derive(Debug, Default)]
struct Newest {
    look: u64,
    version: Version,
    connection: Option<AnyConnection>,
}

impl Versions {
    /// The connection over which was looked.
    pub async fn take_connection(&self) -> Option<AnyConnection> {
        self.newest.lock().await.connection.take()
    }
}

impl Store {
    /// The state that the database is in, with everything that was committed before the call.
    async fn version(&self) -> Result<Version, StoreError> {
        let before = self.versions.begun.load(Ordering::SeqCst);
        let mut newest = self.versions.newest.lock().await;
        // One that began after the call saw all that was there at the call.
        if newest.look > before {
            return Ok(newest.version.clone());
        }
        let mut connection = match newest.connection.take() {
            Some(connection) => connection,
            None => {
                newest.version.connection += 1;
                self.backend.connect_to_read().await?
            }
        };
        let look = self.versions.begun.fetch_add(1, Ordering::SeqCst) + 1;
        // An error leaves the connection behind.
        newest.version.commits = Some(self.backend.version(&mut connection).await?.into());
        (newest.look, newest.connection) = (look, Some(connection));
        Ok(newest.version.clone())
    }
}

/// Values that were computed from the database; clones share them.
#[derive(Debug)]
pub struct Memo<K, V> {
    held: Arc<std::sync::Mutex<Held<K, V>>>,
    lasts: Duration,
}

#[derive(Debug)]
struct Held<K, V> {
    version: Version,
    values: HashMap<K, Value<V>>,
}

/// A value that is known or being computed, and since when.
#[derive(Clone, Debug)]
struct Value<V> {
    cell: Arc<OnceCell<V>>,
    since: Instant,
}

impl<K, V> Clone for Memo<K, V> {
    fn clone(&self) -> Self {
        Self { held: Arc::clone(&self.held), lasts: self.lasts }
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Memo<K, V> {
    /// An empty memo, whose values are computed anew after `lasts` even if nobody has written: for values that depend
    /// on the time.
    pub fn new(lasts: Duration) -> Self {
        let held = Held { version: Version::default(), values: HashMap::new() };
        Self { held: Arc::new(std::sync::Mutex::new(held)), lasts }
    }

    /// The value of `key` as of this call or later. Unless it is known, `make` computes it, for all who ask meanwhile.
    /// `keep` says whether it is small enough to be held.
    pub async fn get<E: From<StoreError>>(
        &self,
        store: &Store,
        key: K,
        keep: impl FnOnce(&V) -> bool,
        make: impl AsyncFnOnce() -> Result<V, E>,
    ) -> Result<V, E> {
        // Looked up before the reading: what is read is of this state or of a later one, and it is handed out again
        // only while the state is this one.
        let version = store.version().await?;
        let cell = self.cell(version, &key);
        let value = cell.get_or_try_init(|| make()).await?.clone();
        if !keep(&value) {
            self.locked().values.remove(&key);
        }
        Ok(value)
    }

    fn cell(&self, version: Version, key: &K) -> Arc<OnceCell<V>> {
        let mut held = self.locked();
        if held.version != version || held.values.len() >= MOST {
            held.values.clear();
            held.version = version;
        }
        if let Some(value) = held.values.get(key).filter(|value| value.since.elapsed() < self.lasts) {
            return Arc::clone(&value.cell);
        }
        let cell = Arc::default();
        held.values.insert(key.clone(), Value { cell: Arc::clone(&cell), since: Instant::now() });
        cell
    }

    fn locked(&self) -> MutexGuard<'_, Held<K, V>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Timestamp;
    use crate::store::ProjectLimits;

    const LONG: Duration = Duration::from_secs(3600);

    async fn read(memo: &Memo<u8, u64>, store: &Store, value: u64) -> u64 {
        memo.get(store, 1, |_| true, async || Ok::<_, StoreError>(value)).await.unwrap()
    }

    /// A value that was handed out again. PostgreSQL counts what is written in every database of a server, so that the
    /// tests beside this one make a value anew now and then, and no more.
    async fn kept(memo: &Memo<u8, u64>, store: &Store) -> u64 {
        let mut last = read(memo, store, 1).await;
        for next in last + 1..last + 500 {
            match read(memo, store, next).await {
                again if again == last => return again,
                anew => last = anew,
            }
        }
        panic!("nobody has written, and nothing is kept")
    }

    #[tokio::test]
    async fn a_value_stands_until_somebody_writes() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let other = Store::open(folder.path()).await.unwrap();
        let memo = Memo::new(LONG);
        for writer in [&store, &other] {
            let first = kept(&memo, &store).await;
            writer.set_project_limits("a", &ProjectLimits::default(), Timestamp(1)).await.unwrap();
            assert_eq!(read(&memo, &store, first + 1).await, first + 1, "somebody has written");
            writer.set_project_limits("a", &ProjectLimits::default(), Timestamp(2)).await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_value_is_read_anew_after_its_time_and_when_it_is_too_large() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let memo = Memo::new(Duration::ZERO);
        assert_eq!((read(&memo, &store, 1).await, read(&memo, &store, 2).await), (1, 2));
        let memo: Memo<u8, u64> = Memo::new(LONG);
        for value in 1..3 {
            let got = memo.get(&store, 1, |_| false, async || Ok::<_, StoreError>(value)).await.unwrap();
            assert_eq!(got, value);
        }
    }

    /// What is written before a call is seen by it, whoever else asks at the same time.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn many_readers_beside_a_writer_never_go_back() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let (memo, written) = (Memo::new(LONG), Arc::new(AtomicU64::new(0)));
        let limit = async |store: &Store| -> Result<u64, StoreError> {
            Ok(store.project_with_usage("a").await?.limits.max_devices.unwrap_or(0))
        };
        let limits = |devices| ProjectLimits { max_devices: Some(devices), ..ProjectLimits::default() };
        store.set_project_limits("a", &limits(0), Timestamp(1)).await.unwrap();
        let readers: Vec<_> = (0..8)
            .map(|_| {
                let (store, memo, written) = (store.clone(), memo.clone(), Arc::clone(&written));
                tokio::spawn(async move {
                    while written.load(Ordering::SeqCst) < 50 {
                        let least = written.load(Ordering::SeqCst);
                        let seen = memo.get(&store, 1, |_| true, async || limit(&store).await).await.unwrap();
                        assert!(seen >= least, "{seen} after {least} was written");
                    }
                })
            })
            .collect();
        for devices in 1..=50 {
            store.set_project_limits("a", &limits(devices), Timestamp(1)).await.unwrap();
            written.store(devices, Ordering::SeqCst);
        }
        for reader in readers {
            reader.await.unwrap();
        }
    }
}
