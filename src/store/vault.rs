//! Secrets that have to be read again, in a form that nobody can read who has the database alone: those of webhooks, which
//! sign, and answers that are replayed. They are encrypted with AES-256-GCM (NIST SP 800-38D) under a key that lies in a
//! file of its own. What an older version has written in plain text is read as it is.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use super::key_file::KeyFile;
use super::{Result, StoreError};
use crate::job::digest::sha256_hex;

/// How what is encrypted begins.
const SEALED: &str = "sealed:1:";

/// The key, which is read, or made, when it is first needed.
#[derive(Debug)]
pub(super) struct Vault {
    file: KeyFile,
    key: OnceLock<LessSafeKey>,
    /// There are secrets already that no new key would open.
    is_kept: AtomicBool,
}

impl Vault {
    pub fn at(path: PathBuf) -> Self {
        Self { file: KeyFile::at(path), key: OnceLock::new(), is_kept: AtomicBool::new(false) }
    }

    /// The file of the key.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// `text`, encrypted for what it is used as: nothing else can be decrypted in its place.
    pub fn seal(&self, text: &str, used_as: &str) -> Result<String> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|error| self.failed("drawing random numbers for", error.into()))?;
        let mut bytes = text.as_bytes().to_vec();
        let sealed = self.key(true)?.seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(used_as.as_bytes()),
            &mut bytes,
        );
        sealed.map_err(|_| self.failed("encrypting with", io::Error::other("the text is too long")))?;
        Ok(format!("{SEALED}{}", STANDARD.encode([&nonce[..], &bytes].concat())))
    }

    /// What was encrypted; text that was not is returned as it is.
    pub fn open(&self, stored: &str, used_as: &'static str) -> Result<String> {
        let Some(sealed) = stored.strip_prefix(SEALED) else { return Ok(stored.to_owned()) };
        let unreadable = |detail: &str| StoreError::Corrupt {
            what: used_as,
            detail: format!("{detail}; the key is {}", self.name()),
        };
        let bytes = STANDARD.decode(sealed).map_err(|_| unreadable("it is no base64"))?;
        let (nonce, content) = bytes.split_first_chunk::<NONCE_LEN>().ok_or_else(|| unreadable("it is too short"))?;
        let mut content = content.to_vec();
        let key = self.key(false)?;
        let opened =
            key.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(used_as.as_bytes()), &mut content);
        let text = opened.map_err(|_| unreadable("it was encrypted with another key"))?;
        String::from_utf8(text.to_vec()).map_err(|_| unreadable("it is no text"))
    }

    /// SHA-256 of the key, which is made if there is none.
    pub fn digest(&self) -> Result<String> {
        Ok(sha256_hex(&self.file.read(!self.is_kept.load(Ordering::Relaxed))?))
    }

    /// Makes no key from now on, where there is none.
    pub fn keep_key(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    pub fn is_sealed(stored: &str) -> bool {
        stored.starts_with(SEALED)
    }

    fn key(&self, may_make: bool) -> Result<&LessSafeKey> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let bytes = self.file.read(may_make && !self.is_kept.load(Ordering::Relaxed))?;
        let key = UnboundKey::new(&AES_256_GCM, &bytes).map_err(|_| self.file.malformed())?;
        Ok(self.key.get_or_init(|| LessSafeKey::new(key)))
    }

    fn name(&self) -> std::path::Display<'_> {
        self.file.path().display()
    }

    fn failed(&self, action: &'static str, source: io::Error) -> StoreError {
        self.file.failed(action, source)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn what_is_sealed_is_read_with_the_key_and_as_what_it_was_sealed_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets.key");
        let vault = Vault::at(path.clone());
        assert!(vault.open("whsec_old", "webhook secret").unwrap() == "whsec_old" && !path.exists());
        let sealed = vault.seal("whsec_new", "webhook secret").unwrap();
        assert!(Vault::is_sealed(&sealed) && !sealed.contains("whsec"));
        assert_ne!(sealed, vault.seal("whsec_new", "webhook secret").unwrap(), "equal secrets do not look equal");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        let later = Vault::at(path);
        assert_eq!(later.open(&sealed, "webhook secret").unwrap(), "whsec_new");
        assert!(later.open(&sealed, "answer").is_err());
        let other = Vault::at(folder.path().join("other.key"));
        assert!(other.open(&sealed, "webhook secret").is_err(), "there is no key");
        other.seal("x", "answer").unwrap();
        assert!(matches!(other.open(&sealed, "webhook secret"), Err(StoreError::Corrupt { .. })));
    }
}
