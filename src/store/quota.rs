//! What a project may store, counted while it arrives: several uploads at once share what is left, and one that would
//! exceed it ends where it does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Result, Store, StoreError};

/// How often it is looked whether there is room, before somebody is refused, and the time between.
const LOOKS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(50);

/// What is on its way to the disk, by project.
#[derive(Clone, Debug, Default)]
pub(super) struct Arriving(Arc<Mutex<HashMap<String, Bytes>>>);

#[derive(Clone, Copy, Debug, Default)]
struct Bytes {
    arriving: u64,
    /// What has come to rest so far: a row counts it, or nothing remains of it.
    rested: u64,
    /// How many are under way; when there is none, nothing is remembered.
    uploads: u64,
}

impl Arriving {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Bytes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one upload. It is kept until a row counts what has arrived, or nothing remains of it.
#[derive(Debug)]
pub struct StorageRoom {
    store: Store,
    limit: Option<u64>,
    taken: u64,
    /// What is taken and has not arrived yet.
    announced: u64,
    /// What the project had stored, looked up when so many bytes had come to rest.
    seen: Option<(u64, u64)>,
}

impl Store {
    /// A place for something that will be received, with room for the bytes that are `announced`; an error when the
    /// project stores as much as it may, or would.
    pub async fn storage_room(&self, announced: u64) -> Result<StorageRoom> {
        let limit = self.project_limits(self.own_project()).await?.max_storage_bytes;
        if limit.is_some() {
            self.arriving.lock().entry(self.own_project().to_owned()).or_default().uploads += 1;
        }
        let mut room = StorageRoom { store: self.clone(), limit, taken: 0, announced: 0, seen: None };
        room.reserve(announced).await?;
        room.announced = announced;
        Ok(room)
    }
}

impl StorageRoom {
    /// Takes `bytes` more, before they are written; those that were announced have their room.
    pub async fn take(&mut self, bytes: u64) -> Result<()> {
        let beyond = bytes.saturating_sub(self.announced);
        self.announced = self.announced.saturating_sub(bytes);
        if beyond == 0 { Ok(()) } else { self.reserve(beyond).await }
    }

    async fn reserve(&mut self, bytes: u64) -> Result<()> {
        let Some(limit) = self.limit else { return Ok(()) };
        let project = self.store.own_project().to_owned();
        for look in 0..LOOKS {
            if look > 0 || self.seen.is_none() {
                let rested = self.store.arriving.lock().get(&project).copied().unwrap_or_default().rested;
                self.seen = Some((self.store.project_with_usage(&project).await?.storage_bytes, rested));
            }
            if self.fits(&project, bytes, limit) {
                return Ok(());
            }
            if look > 0 {
                // What has just come to rest counts twice for a moment.
                tokio::time::sleep(PAUSE).await;
            }
        }
        Err(StoreError::QuotaExceeded(format!(
            "the project `{project}` stores {} bytes, others arrive, and it may store {limit}; delete jobs, checkpoints or \
             data sets",
            self.seen.unwrap_or_default().0
        )))
    }

    /// Takes room if there is enough. What has come to rest since it was looked counts as stored.
    fn fits(&mut self, project: &str, bytes: u64, limit: u64) -> bool {
        let mut arriving = self.store.arriving.lock();
        let known = arriving.entry(project.to_owned()).or_default();
        let (stored, rested) = self.seen.unwrap_or_default();
        let since = known.rested.saturating_sub(rested);
        let used = stored.saturating_add(since).saturating_add(known.arriving).saturating_add(bytes);
        let fits = used < limit || (bytes > 0 && used == limit);
        if fits {
            known.arriving += bytes;
            self.taken += bytes;
        }
        fits
    }
}

impl Drop for StorageRoom {
    fn drop(&mut self) {
        if self.limit.is_none() {
            return;
        }
        let project = self.store.own_project();
        let mut arriving = self.store.arriving.lock();
        if let Some(known) = arriving.get_mut(project) {
            known.arriving = known.arriving.saturating_sub(self.taken);
            known.rested += self.taken;
            known.uploads = known.uploads.saturating_sub(1);
            if known.uploads == 0 {
                arriving.remove(project);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Timestamp;
    use crate::store::ProjectLimits;

    #[tokio::test]
    async fn uploads_at_once_share_what_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap().within("small");
        let limits = ProjectLimits { max_storage_bytes: Some(100), ..ProjectLimits::default() };
        store.set_project_limits("small", &limits, Timestamp(1)).await.unwrap();
        let (mut first, mut second) = (store.storage_room(0).await.unwrap(), store.storage_room(0).await.unwrap());
        first.take(60).await.unwrap();
        assert!(matches!(second.take(50).await, Err(StoreError::QuotaExceeded(_))));
        second.take(40).await.unwrap();
        drop(second);
        first.take(40).await.unwrap();
        assert!(store.storage_room(0).await.is_err(), "all is taken");
        let other = store.within("other").storage_room(0).await;
        other.unwrap().take(1000).await.unwrap();
        drop(first);
        let mut announced = store.storage_room(70).await.unwrap();
        assert!(store.storage_room(31).await.is_err(), "what is announced has its room");
        store.storage_room(30).await.unwrap().take(30).await.unwrap();
        announced.take(50).await.unwrap();
        announced.take(50).await.unwrap();
        assert!(announced.take(1).await.is_err());
        drop(announced);
        assert!(store.arriving.lock().is_empty(), "what has ended is forgotten");
    }
}
