//! What jobs make: checkpoints, finished models, rollout sets, evaluations. All of them are artifacts, a directory of
//! files with a manifest that a row makes visible, and are written, stored, checked and downloaded in the same way.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::adapter;
use super::status::names;
use super::{CheckpointId, EvaluationId, EvaluationSummary, JobId, RolloutSetId, RolloutSummary};

/// Name of the manifest within an artifact's directory; it is the only thing that readers trust.
pub const MANIFEST: &str = "manifest.json";

/// The file with the weights of a whole model.
pub const WEIGHTS: &str = "model.safetensors";

/// What stands between the name of an artifact's directory and the number of its version, when an attempt writes the
/// same one again.
pub const VERSION_MARK: char = '~';

names!(
    /// What an artifact is for.
    ArtifactKind {
        /// Everything a resumed run needs: a checkpoint.
        Training = "training",
        /// The model alone, as a Hugging Face directory: a checkpoint that jobs can start from.
        Inference = "inference",
        /// A rollout set.
        Rollouts = "rollouts",
        /// What an evaluation found.
        Evaluation = "evaluation",
        /// A finished model in a form that other programs read: an export.
        Export = "export",
    }
);

/// The name of an artifact, in the words of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArtifactId {
    Checkpoint(CheckpointId),
    RolloutSet(RolloutSetId),
    Evaluation(EvaluationId),
}

impl fmt::Display for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checkpoint(id) => id.fmt(f),
            Self::RolloutSet(id) => id.fmt(f),
            Self::Evaluation(id) => id.fmt(f),
        }
    }
}

/// A complete artifact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this format.
    pub format: u32,
    pub kind: ArtifactKind,
    pub job: JobId,
    pub attempt: u32,
    /// Optimizer steps taken.
    pub step: u64,
    /// Digest of the resolved spec, `sha256:...`.
    pub spec_digest: String,
    pub files: Vec<ManifestFile>,
}

/// One file of an artifact.
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

    /// The digest of the file with the weights, of a whole model or of an adapter.
    pub fn weights_sha256(&self) -> Option<&str> {
        [WEIGHTS, adapter::WEIGHTS].iter().find_map(|name| self.file(name)).map(|file| file.sha256.as_str())
    }
}

/// What is said of an artifact besides its manifest.
#[derive(Clone, Debug, PartialEq)]
pub enum ArtifactSummary {
    Checkpoint,
    Rollouts(RolloutSummary),
    Evaluation(EvaluationSummary),
}
