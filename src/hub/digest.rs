//! Digests by which the hub knows files: SHA-256, and for small files the name that git gives them.

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use sha2::{Digest, Sha256};

use super::FileDigest;
use crate::job::digest::hex;

/// Compares a file with what the hub says of it.
pub struct Digester {
    expected: Option<FileDigest>,
    sha256: Option<Sha256>,
    git: Option<Context>,
}

/// Another file than the one that was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its digest is {found} and should be {expected}")]
pub struct Mismatch {
    found: String,
    expected: String,
}

impl Digester {
    /// For a file of so many bytes; whatever comes is right where nothing is expected.
    pub fn new(expected: Option<&FileDigest>, bytes: u64) -> Self {
        let mut new = Self { expected: expected.cloned(), sha256: None, git: None };
        match expected {
            Some(FileDigest::Sha256(_)) => new.sha256 = Some(Sha256::new()),
            Some(FileDigest::Git(_)) => {
                let mut context = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
                context.update(format!("blob {bytes}\0").as_bytes());
                new.git = Some(context);
            }
            None => {}
        }
        new
    }

    pub fn update(&mut self, bytes: &[u8]) {
        if let Some(sha256) = &mut self.sha256 {
            sha256.update(bytes);
        }
        if let Some(git) = &mut self.git {
            git.update(bytes);
        }
    }

    /// An error when it is another file.
    pub fn finish(self) -> Result<(), Mismatch> {
        let found = match (self.sha256, self.git) {
            (Some(sha256), _) => hex(&sha256.finalize()),
            (None, Some(git)) => hex(git.finish().as_ref()),
            (None, None) => return Ok(()),
        };
        match self.expected {
            Some(FileDigest::Sha256(expected) | FileDigest::Git(expected))
                if !expected.eq_ignore_ascii_case(&found) =>
            {
                Err(Mismatch { found, expected })
            }
            Some(_) | None => Ok(()),
        }
    }
}
