//! The SHA-256 of a model's weights, all files in order: models with equal ones are equal.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::{Inspection, ModelFileError};
use crate::job::digest::hex;

/// Models whose digests are remembered.
const MOST: usize = 64;
const CHUNK_BYTES: usize = 1 << 20;

/// What tells whether a file is still the one that was read: device, inode, size, and the time of the last change,
/// which nobody can set.
type Stamp = (u64, u64, u64, i64, i64);

impl Inspection {
    /// Reads all weights; hexadecimal. Takes about a second for each gigabyte. Blocks.
    pub fn weights_sha256(&self) -> Result<String, ModelFileError> {
        let mut hasher = Sha256::new();
        let mut chunk = vec![0; CHUNK_BYTES];
        for path in &self.weights {
            let failed = |source| ModelFileError::Io { operation: "read", path: path.clone(), source };
            let mut file = File::open(path).map_err(failed)?;
            loop {
                let read = file.read(&mut chunk).map_err(failed)?;
                if read == 0 {
                    break;
                }
                hasher.update(&chunk[..read]);
            }
        }
        Ok(hex(&hasher.finalize()))
    }

    /// The same, read only when the files are others than at the last call. Blocks.
    pub fn remembered_weights_sha256(&self) -> Result<String, ModelFileError> {
        static KNOWN: Mutex<BTreeMap<Vec<Stamp>, String>> = Mutex::new(BTreeMap::new());
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = || self.weights.iter().map(|path| stamp(path)).collect::<Result<Vec<Stamp>, _>>();
        let before = stamps()?;
        if let Some(digest) = known().get(&before) {
            return Ok(digest.clone());
        }
        let digest = self.weights_sha256()?;
        // Of files that changed while they were read nothing is known.
        if stamps()? == before {
            let mut known = known();
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(before, digest.clone());
        }
        Ok(digest)
    }
}

fn stamp(path: &Path) -> Result<Stamp, ModelFileError> {
    let failed = |source| ModelFileError::Io { operation: "look at", path: path.to_owned(), source };
    let found = fs::metadata(path).map_err(failed)?;
    Ok((found.dev(), found.ino(), found.size(), found.ctime(), found.ctime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::super::builtin::Builtin;
    use super::super::inspect;
    use super::*;
    use crate::job::digest::sha256_hex;

    #[test]
    fn a_remembered_digest_is_that_of_the_files_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in Builtin::find("builtin:arith-tiny").unwrap().files {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        let path = folder.path().join("model.safetensors");
        let inspection = inspect(folder.path()).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        assert_eq!(inspection.weights_sha256().unwrap(), sha256_hex(&bytes));
        assert_eq!(inspection.remembered_weights_sha256().unwrap(), sha256_hex(&bytes));
        // Other weights of the same size in the place of the file, as old as it is.
        *bytes.last_mut().unwrap() ^= 1;
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let other = folder.path().join("other");
        fs::write(&other, &bytes).unwrap();
        File::options().write(true).open(&other).unwrap().set_modified(modified).unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(inspection.remembered_weights_sha256().unwrap(), sha256_hex(&bytes));
    }
}
