//! Secret keys in files of their own: read, or made, when they are first needed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::files::publish;
use super::{Result, StoreError};

const KEY_BYTES: usize = 32;

/// A file with 32 secret bytes in base64.
#[derive(Debug)]
pub(super) struct KeyFile(PathBuf);

impl KeyFile {
    pub fn at(path: PathBuf) -> Self {
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The key, which is made if there is none and `may_make` says so.
    pub fn read(&self, may_make: bool) -> Result<Vec<u8>> {
        match fs::read_to_string(&self.0) {
            Ok(text) => Ok(STANDARD.decode(text.trim()).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::NotFound && may_make => self.make(),
            Err(error) => Err(self.failed("reading", error)),
        }
    }

    /// Makes a key, for the owner of the file only. Of two processes that do so at once the first wins.
    fn make(&self) -> Result<Vec<u8>> {
        let mut key = [0; KEY_BYTES];
        getrandom::fill(&mut key).map_err(|error| self.failed("drawing random numbers for", error.into()))?;
        let temporary = self.0.with_extension(format!("{}.tmp", std::process::id()));
        let written = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary).and_then(
            |mut file: File| {
                file.write_all(format!("{}\n", STANDARD.encode(key)).as_bytes())?;
                file.sync_all()
            },
        );
        written.map_err(|error| self.failed("writing", error))?;
        if self.0.exists() {
            return Err(self.failed("making", io::ErrorKind::AlreadyExists.into()));
        }
        publish(&temporary, &self.0)?;
        Ok(key.to_vec())
    }

    /// A key that is not one.
    pub fn malformed(&self) -> StoreError {
        self.failed("reading", io::Error::other("it must hold 32 bytes in base64"))
    }

    pub fn failed(&self, action: &'static str, source: io::Error) -> StoreError {
        StoreError::io(action, &self.0, source)
    }
}
