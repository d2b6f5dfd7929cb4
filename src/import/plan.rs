//! What is still to be brought of a model that is laid out, as it is kept beside the model's row.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::hub::FileDigest;

/// Where the weights of a model come from, and what is known of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub origin: Origin,
    /// In the order in which their digest is taken.
    pub weights: Vec<Planned>,
    /// Of all files that are complete.
    pub small_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Files of this machine.
    Disk,
    Hub {
        repository: String,
        commit: String,
    },
}

/// A file of weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// In the model's folder.
    pub name: String,
    pub bytes: u64,
    /// A path on this machine, or within the repository.
    pub from: String,
    pub digest: Option<FileDigest>,
    /// What tells that the file at a path is still the same.
    pub stamp: Option<Stamp>,
}

/// Device, inode, size, and the time of the last change, which nobody can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp(u64, u64, u64, i64, i64);

impl Stamp {
    pub fn of(path: &Path) -> io::Result<Self> {
        let found = fs::metadata(path)?;
        Ok(Self(found.dev(), found.ino(), found.size(), found.ctime(), found.ctime_nsec()))
    }
}

impl Plan {
    pub fn weight_bytes(&self) -> u64 {
        self.weights.iter().map(|file| file.bytes).sum()
    }
}
