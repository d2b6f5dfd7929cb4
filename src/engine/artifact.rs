//! Directories of artifacts: written under a temporary name, synced, given a manifest and renamed, so that a reader sees
//! a whole artifact or none.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::iter;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::error::EngineError;
use crate::job::artifact::{MANIFEST, VERSION_MARK};
use crate::job::digest::hex;
use crate::job::{ArtifactSummary, Manifest, ManifestFile};

/// How often an attempt may write the same artifact again.
const MOST_VERSIONS: u32 = 1000;

/// An artifact that is complete on disk.
#[derive(Clone, Debug)]
pub struct Saved {
    pub directory: PathBuf,
    pub manifest: Manifest,
    pub summary: ArtifactSummary,
}

/// Makes the artifact `directory` out of the files that `write` puts into the folder it is given; `write` also says what
/// is told of them. `header` is the manifest without its files. A directory of that name which is there already may be
/// one that a row names, and stays as it is: the new one is called `NAME~2`, and takes its place when its row stands.
pub fn save(
    directory: &Path,
    header: Manifest,
    write: impl FnOnce(&Path) -> Result<ArtifactSummary, EngineError>,
) -> Result<Saved, EngineError> {
    let parent = directory.parent().unwrap_or(Path::new("."));
    let named = |suffix: String| {
        let mut name = directory.file_name().unwrap_or_default().to_owned();
        name.push(suffix);
        parent.join(name)
    };
    let temporary = named(String::from(".tmp"));
    let result = fill(&temporary, header, write).and_then(|(manifest, summary)| {
        let others = (2..=MOST_VERSIONS).map(|version| named(format!("{VERSION_MARK}{version}")));
        let free = iter::once(directory.to_owned()).chain(others).find(|directory| !directory.exists());
        let directory =
            free.ok_or_else(|| EngineError::Internal(format!("{} has no free name", directory.display())))?;
        fs::rename(&temporary, &directory).map_err(|e| EngineError::io("renaming", &temporary, e))?;
        sync(parent)?;
        Ok(Saved { directory, manifest, summary })
    });
    if result.is_err() {
        // The space matters more than the remains; what cannot be removed now is swept at the next start.
        if let Err(error) = remove_dir(&temporary) {
            tracing::warn!(%error, "an unfinished artifact is left behind");
        }
    }
    result
}

fn fill(
    temporary: &Path,
    header: Manifest,
    write: impl FnOnce(&Path) -> Result<ArtifactSummary, EngineError>,
) -> Result<(Manifest, ArtifactSummary), EngineError> {
    remove_dir(temporary)?;
    fs::create_dir_all(temporary).map_err(|e| EngineError::io("creating", temporary, e))?;
    let summary = write(temporary)?;
    Ok((complete(temporary, header)?, summary))
}

/// Syncs the files of a folder and lists them in a manifest beside them.
pub fn complete(folder: &Path, mut manifest: Manifest) -> Result<Manifest, EngineError> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect::<Result<Vec<_>, _>>())
        .map_err(|e| EngineError::io("listing", folder, e))?;
    names.sort();
    for name in names {
        let path = folder.join(&name);
        sync(&path)?;
        let (size, sha256) = digest(&path)?;
        manifest.files.push(ManifestFile { path: name.to_string_lossy().into_owned(), size, sha256 });
    }
    write_json(&folder.join(MANIFEST), &manifest)?;
    sync(folder)?;
    Ok(manifest)
}

/// Reads an artifact's manifest and checks every file against it.
pub fn verify(directory: &Path) -> Result<Manifest, EngineError> {
    let path = directory.join(MANIFEST);
    let broken = |detail: String| EngineError::InvalidData { code: "checkpoint_corrupt", detail };
    let text = fs::read(&path).map_err(|e| EngineError::io("reading", &path, e))?;
    let manifest: Manifest =
        serde_json::from_slice(&text).map_err(|e| broken(format!("{} is not a manifest: {e}", path.display())))?;
    for file in &manifest.files {
        let path = directory.join(&file.path);
        let (size, sha256) = digest(&path)?;
        if size != file.size || sha256 != file.sha256 {
            return Err(broken(format!("{} does not match its digest in the manifest", path.display())));
        }
    }
    Ok(manifest)
}

/// Writes and syncs one file.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), EngineError> {
    let mut file = File::create(path).map_err(|e| EngineError::io("creating", path, e))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(|e| EngineError::io("writing", path, e))
}

/// Writes and syncs one file of JSON.
pub fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), EngineError> {
    let text = serde_json::to_vec_pretty(value).map_err(|e| EngineError::Internal(e.to_string()))?;
    write_file(path, &text)
}

/// Size and hexadecimal SHA-256 of a file.
pub fn digest(path: &Path) -> Result<(u64, String), EngineError> {
    let mut file = File::open(path).map_err(|e| EngineError::io("opening", path, e))?;
    let (mut hasher, mut size) = (Sha256::new(), 0);
    let mut buffer = vec![0_u8; 1 << 20];
    loop {
        match file.read(&mut buffer).map_err(|e| EngineError::io("reading", path, e))? {
            0 => break,
            count => {
                hasher.update(&buffer[..count]);
                size += count as u64;
            }
        }
    }
    Ok((size, hex(&hasher.finalize())))
}

pub fn sync(path: &Path) -> Result<(), EngineError> {
    File::open(path).and_then(|file| file.sync_all()).map_err(|e| EngineError::io("syncing", path, e))
}

fn remove_dir(path: &Path) -> Result<(), EngineError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(EngineError::io("removing", path, error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{ArtifactKind, JobId};

    fn header() -> Manifest {
        Manifest {
            format: 1,
            kind: ArtifactKind::Training,
            job: JobId::generate(),
            attempt: 1,
            step: 5,
            spec_digest: String::from("sha256:00"),
            files: Vec::new(),
        }
    }

    fn write(dir: &Path, bytes: &[u8]) -> Result<ArtifactSummary, EngineError> {
        write_file(&dir.join("weights"), bytes)?;
        Ok(ArtifactSummary::Checkpoint)
    }

    #[test]
    fn a_saved_artifact_verifies_and_a_flipped_byte_does_not() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("1-5");
        let saved = save(&directory, header(), |dir| write(dir, b"0123456789")).unwrap();
        assert_eq!(verify(&directory).unwrap(), saved.manifest);
        assert_eq!(saved.manifest.bytes(), 10);
        fs::write(directory.join("weights"), b"0123456780").unwrap();
        assert!(matches!(verify(&directory), Err(EngineError::InvalidData { code: "checkpoint_corrupt", .. })));
        fs::write(directory.join("weights"), b"012345").unwrap();
        assert!(verify(&directory).is_err());
    }

    #[test]
    fn a_failed_write_leaves_nothing_and_keeps_the_old_artifact() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("1-5");
        save(&directory, header(), |dir| write(dir, b"old")).unwrap();
        let failed = save(&directory, header(), |dir| {
            write(dir, b"new")?;
            Err(EngineError::Internal(String::from("power cut")))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(directory.join("weights")).unwrap(), b"old");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_written_again_leaves_the_older_one_until_a_row_names_it() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("1-5");
        let older = save(&directory, header(), |dir| write(dir, b"old")).unwrap();
        for (version, name) in ["1-5~2", "1-5~3"].into_iter().enumerate() {
            let newer = save(&directory, header(), |dir| write(dir, &[version as u8])).unwrap();
            assert_eq!(newer.directory, root.path().join(name));
            assert_eq!(verify(&newer.directory).unwrap(), newer.manifest);
        }
        assert_eq!(verify(&older.directory).unwrap(), older.manifest);
    }
}
