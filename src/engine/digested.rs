//! Digests of files, taken while they are written or read.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::error::EngineError;
use crate::job::digest::hex;

/// Bytes from which on a file and its digest are worth a thread each.
pub(super) const TOGETHER: usize = 1 << 16;

/// Bytes of a file, and their SHA-256 in hexadecimal.
pub type FileDigest = (u64, String);

/// A file whose digest is taken while it is written.
#[derive(Debug)]
pub struct DigestedFile {
    path: PathBuf,
    file: File,
    hasher: Sha256,
    size: u64,
}

impl DigestedFile {
    pub fn create(path: &Path) -> Result<Self, EngineError> {
        let file = File::create(path).map_err(|e| EngineError::io("creating", path, e))?;
        Ok(Self { path: path.to_owned(), file, hasher: Sha256::new(), size: 0 })
    }

    /// Adds bytes; many are written on one thread while another takes the digest.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), EngineError> {
        let Self { path, file, hasher, size } = self;
        let written = if bytes.len() < TOGETHER {
            hasher.update(bytes);
            file.write_all(bytes)
        } else {
            rayon::join(|| file.write_all(bytes), || hasher.update(bytes)).0
        };
        *size += bytes.len() as u64;
        written.map_err(|e| EngineError::io("writing", path, e))
    }

    /// Of all that was written; the caller syncs the file.
    pub fn finish(self) -> FileDigest {
        (self.size, hex(&self.hasher.finalize()))
    }
}

/// Size and hexadecimal SHA-256 of a file.
pub fn digest(path: &Path) -> Result<FileDigest, EngineError> {
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
