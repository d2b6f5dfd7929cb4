//! What a finished checkpoint directory holds; its `manifest.json` is the only thing readers trust.

use serde::{Deserialize, Serialize};

use super::JobId;
use super::status::names;

/// Name of the manifest within a checkpoint directory.
pub const MANIFEST: &str = "manifest.json";

names!(
    /// What a checkpoint is for.
    CheckpointKind {
        /// Everything a resumed run needs.
        Training = "training",
        /// The model alone, as a Hugging Face directory.
        Inference = "inference",
        /// A rollout set; not a checkpoint, but written and checked like one.
        Rollouts = "rollouts",
        /// What an evaluation found; not a checkpoint, but written and checked like one.
        Evaluation = "evaluation",
    }
);

/// A complete checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this format.
    pub format: u32,
    pub kind: CheckpointKind,
    pub job: JobId,
    pub attempt: u32,
    /// Optimizer steps taken.
    pub step: u64,
    /// Digest of the resolved spec, `sha256:...`.
    pub spec_digest: String,
    pub files: Vec<ManifestFile>,
}

/// One file of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Plain name within the directory.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Hexadecimal.
    pub sha256: String,
}

impl Manifest {
    /// Bytes of all files together.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    pub fn file(&self, path: &str) -> Option<&ManifestFile> {
        self.files.iter().find(|file| file.path == path)
    }
}
