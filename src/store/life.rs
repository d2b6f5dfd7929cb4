//! Whether a process lives, and which one keeps others from writing: what the kernel knows, and no clock.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::{Files, Result, Store, StoreError};
use crate::job::WorkerId;

/// Where the lock of SQLite's writer stands in the file beside the database that processes share
/// (sqlite.org/walformat.html, section 2.3).
const WRITER_BYTE: u64 = 120;

/// A file that a worker has locked for as long as its process lives; however that ends, the kernel lets go of it.
#[derive(Debug)]
pub struct LifeLock {
    _file: File,
}

impl LifeLock {
    /// Says that this process is a worker.
    pub fn hold(files: &Files, worker: WorkerId) -> Result<Self> {
        let path = path(files, worker);
        let failed = |e| StoreError::io("locking", &path, e);
        let file = File::create(&path).map_err(failed)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => failed(io::Error::other("another process has this worker's name")),
            TryLockError::Error(error) => failed(error),
        })?;
        Ok(Self { _file: file })
    }
}

impl Store {
    /// Whether the process of a worker has ended. One that left no file behind is not known to have.
    pub fn is_gone(&self, worker: WorkerId) -> bool {
        File::open(path(&self.files, worker)).is_ok_and(|file| file.try_lock_shared().is_ok())
    }

    /// Removes what a worker has left; doing so twice is no error.
    pub(super) fn forget_life(&self, worker: WorkerId) {
        let path = path(&self.files, worker);
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, path = %path.display(), "what a worker has left cannot be removed");
        }
    }

    /// The process in whose hands the database's write lock is.
    pub fn writing_process(&self) -> Option<u32> {
        let shared = fs::metadata(self.files.root().join("anneal.db-shm")).ok()?.ino();
        // Once more: what is there all the time is missed where others let go between two pieces of the list.
        (0..3).find_map(|_| writer(&locks().ok()?, shared))
    }
}

/// The locks of this machine's files, in pieces as large as the kernel gives them: it makes each when it is asked for.
fn locks() -> io::Result<String> {
    let mut locks = Vec::new();
    let mut piece = vec![0; 1 << 16];
    let mut file = File::open("/proc/locks")?;
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(String::from_utf8_lossy(&locks).into_owned()),
            read => locks.extend_from_slice(&piece[..read]),
        }
    }
}

fn path(files: &Files, worker: WorkerId) -> PathBuf {
    files.workers().join(format!("{worker}.lock"))
}

/// The process that holds the writer's byte of the file with this number, from a list as in proc_locks(5):
/// `1: POSIX ADVISORY WRITE 714 08:02:1183 120 120`.
fn writer(locks: &str, inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "POSIX", _, "WRITE", pid, file, first, last] = words[..] else { return None };
        let here = file.rsplit(':').next()?.parse() == Ok(inode);
        let covers = first.parse::<u64>().ok()? <= WRITER_BYTE && last.parse::<u64>().is_ok_and(|l| l >= WRITER_BYTE);
        (here && covers).then(|| pid.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_writer_is_the_process_that_has_locked_its_byte() {
        let locks = "1: POSIX  ADVISORY  READ  700 08:02:1183 124 124
                     2: FLOCK  ADVISORY  WRITE 701 08:02:1183 0 EOF
                     3: POSIX  ADVISORY  WRITE 702 08:02:77 120 120
                     4: POSIX  ADVISORY  WRITE 703 08:02:1183 121 121
                     5: POSIX  ADVISORY  WRITE 704 08:02:1183 120 120";
        assert_eq!(writer(locks, 1183), Some(704));
        assert_eq!(writer(locks, 5), None);
    }

    #[tokio::test]
    async fn a_write_under_way_is_seen_from_outside() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        if crate::store::backend::on_postgres() {
            return;
        }
        assert_eq!(store.writing_process(), None);
        let tx = store.begin().await.unwrap();
        assert_eq!(store.writing_process(), Some(std::process::id()));
        tx.commit().await.unwrap();
        assert_eq!(store.writing_process(), None);
    }

    #[tokio::test]
    async fn a_worker_is_gone_when_nobody_holds_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let worker = WorkerId::generate();
        assert!(!store.is_gone(worker), "nothing is known of it");
        let lock = LifeLock::hold(store.files(), worker).unwrap();
        assert!(!store.is_gone(worker));
        drop(lock);
        assert!(store.is_gone(worker));
        store.forget_life(worker);
        assert!(!store.is_gone(worker));
    }
}
