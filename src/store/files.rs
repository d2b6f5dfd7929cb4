//! The folders of a data directory, for the server and the workers of this machine. What is stored in them is found
//! through the [`super::Place`].

use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::statvfs;

use super::{Result, StoreError};
use crate::job::JobId;

/// Only owners remove their files from such a folder, which therefore is everybody's.
const STICKY: u32 = 0o1000;
/// Longest that an import may take.
const IMPORT_TIME: Duration = Duration::from_secs(24 * 3600);

/// The folders of a data directory.
#[derive(Clone, Debug)]
pub struct Files {
    root: Arc<Path>,
}

impl Files {
    /// Those of a directory, which are made where they are missing.
    pub fn open(root: &Path) -> Result<Self> {
        keep_private(root).map_err(|e| StoreError::io("opening", root, e))?;
        for folder in ["datasets", "exports", "files", "jobs", "models", "parts", "uploads", "workers"] {
            let path = root.join(folder);
            fs::create_dir_all(&path).map_err(|e| StoreError::io("creating", &path, e))?;
        }
        let private = root.join("inference");
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&private);
        made.map_err(|e| StoreError::io("creating", &private, e))?;
        Self::at(root)
    }

    /// The folders of a data directory that is there.
    pub(super) fn at(root: &Path) -> Result<Self> {
        let root = root.canonicalize().map_err(|e| StoreError::io("opening", root, e))?;
        Ok(Self { root: root.into() })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Bytes that are free for this program on the disk.
    pub fn free_bytes(&self) -> Result<u64> {
        let disk = statvfs(&*self.root).map_err(|e| StoreError::io("asking about", &self.root, e.into()))?;
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// The folder of a built-in model; the digest in its name keeps versions of the program apart.
    pub fn builtin_model(&self, name: &str, digest: &str) -> PathBuf {
        self.root.join("models").join(format!("{}-{digest}", name.replace(':', "-")))
    }

    /// The folder in which a job's worker writes.
    pub fn job(&self, id: JobId) -> PathBuf {
        self.root.join("jobs").join(id.to_string())
    }

    /// The file that the one server of the directory keeps locked.
    pub fn server_lock(&self) -> PathBuf {
        self.root.join("server.lock")
    }

    /// The key with which secrets are encrypted, unless the operator keeps it elsewhere.
    pub(super) fn secrets_key(&self) -> PathBuf {
        self.root.join("secrets.key")
    }

    /// The key with which what jobs make is signed.
    pub(super) fn signing_key(&self) -> PathBuf {
        self.root.join("signing.key")
    }

    /// The file that holds space for what is to be done on a full disk.
    pub fn reserve(&self) -> PathBuf {
        self.root.join("reserve")
    }

    /// The file with how many bytes must be free before this machine takes jobs again.
    pub(super) fn needed_space(&self) -> PathBuf {
        self.root.join("needed_space")
    }

    /// The file with what tells this directory from others.
    pub(super) fn identity(&self) -> PathBuf {
        self.root.join("host.id")
    }

    /// Whether a server uses the directory.
    pub fn has_server(&self) -> bool {
        File::open(self.server_lock()).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// The folder of the locks that tell which workers live.
    pub(super) fn workers(&self) -> PathBuf {
        self.root.join("workers")
    }

    /// The folder of the sockets on which idle workers answer.
    pub(super) fn inference(&self) -> PathBuf {
        self.root.join("inference")
    }

    /// A fresh name for something that is being received.
    pub fn upload(&self) -> PathBuf {
        self.root.join("uploads").join(format!("{}.tmp", uuid::Uuid::new_v4().simple()))
    }

    /// A name for something that is being received piece by piece.
    pub(super) fn partial(&self, digest: &str) -> PathBuf {
        self.root.join("uploads").join(format!("{digest}.part"))
    }

    /// Removes what interrupted uploads left behind, and folders of imports that are older than a day: a younger one
    /// may belong to an import that runs beside the server. Only the one server of a data directory may call it.
    pub fn sweep_uploads(&self) -> Result<()> {
        let folder = self.root.join("uploads");
        let entries = fs::read_dir(&folder).map_err(|e| StoreError::io("listing", &folder, e))?;
        for entry in entries {
            let path = entry.map_err(|e| StoreError::io("listing", &folder, e))?.path();
            let age = path.metadata().and_then(|m| m.modified()).ok().and_then(|time| time.elapsed().ok());
            if path.is_dir() && age.is_none_or(|age| age < IMPORT_TIME) {
                continue;
            }
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(|e| StoreError::io("removing", &path, e))?;
        }
        Ok(())
    }
}

/// Makes the folder of a data directory if it is not there, for its owner alone. One that others can look into is closed to
/// them if it is ours; whether or not that is possible is said.
fn keep_private(root: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(root)?;
    let mode = root.metadata()?.mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let path = root.display();
    let is_ours = root.join("anneal.db").exists() || fs::read_dir(root)?.next().is_none();
    if mode & STICKY == 0 && is_ours && fs::set_permissions(root, Permissions::from_mode(mode & 0o700)).is_ok() {
        tracing::warn!(%path, "others on this machine could look into the data directory; it is closed to them now");
    } else {
        tracing::warn!(%path, "others on this machine can look into the data directory, though not into new files; give \
                       it a folder of its own, for its user only (chmod 700)");
    }
    Ok(())
}

/// Moves a complete, synced file or folder to its final name, durably.
pub fn publish(temporary: &Path, target: &Path) -> Result<()> {
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::rename(temporary, target).map_err(|e| StoreError::io("renaming", temporary, e))?;
    sync(parent)
}

/// Makes the names in a folder durable.
pub(super) fn sync(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|e| StoreError::io("syncing", folder, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o1777
    }

    #[test]
    fn a_data_directory_is_for_its_owner_and_nobody_elses_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let made = |name: &str, mode: u32| {
            let path = folder.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            path
        };
        let new = folder.path().join("parent/new");
        Files::open(&new).unwrap();
        assert_eq!(mode(&new), 0o700);
        let old = made("old", 0o755);
        fs::write(old.join("anneal.db"), "").unwrap();
        Files::open(&old).unwrap();
        assert_eq!(mode(&old), 0o700);
        for (name, others) in [("shared", 0o755), ("sticky", 0o1777)] {
            let path = made(name, others);
            fs::write(path.join("of-somebody-else"), "").unwrap();
            Files::open(&path).unwrap();
            assert_eq!(mode(&path), others, "{name}");
        }
    }
}
