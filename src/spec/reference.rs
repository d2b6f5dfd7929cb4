//! What specs refer to, by the texts that stand for it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::dataset::builtin::BuiltinSet;
use crate::job::adapter::AdapterId;
use crate::job::status::names;
use crate::job::{CheckpointId, DatasetVersionId, ModelId, RolloutSetId, VerifierId};
use crate::modelfile::builtin::Builtin;

/// A text that stands for nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no {what}")]
pub struct UnknownReference {
    what: &'static str,
    text: String,
}

impl UnknownReference {
    fn new(what: &'static str, text: &str) -> Self {
        Self { what, text: text.chars().take(80).collect() }
    }
}

/// A model to start from.
#[derive(Clone, Copy, Debug)]
pub enum ModelRef {
    Builtin(&'static Builtin),
    Model(ModelId),
    /// An inference checkpoint.
    Checkpoint(CheckpointId),
}

impl PartialEq for ModelRef {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Builtin(one), Self::Builtin(other)) => one.name == other.name,
            (Self::Model(one), Self::Model(other)) => one == other,
            (Self::Checkpoint(one), Self::Checkpoint(other)) => one == other,
            (Self::Builtin(_) | Self::Model(_) | Self::Checkpoint(_), _) => false,
        }
    }
}

impl FromStr for ModelRef {
    type Err = UnknownReference;

    fn from_str(text: &str) -> Result<Self, UnknownReference> {
        let builtin = Builtin::find(text).map(Self::Builtin);
        let model = || text.parse().map(Self::Model).ok();
        let checkpoint = || text.parse().map(Self::Checkpoint).ok();
        builtin.or_else(model).or_else(checkpoint).ok_or_else(|| UnknownReference::new("model", text))
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin(builtin) => f.write_str(builtin.name),
            Self::Model(id) => id.fmt(f),
            Self::Checkpoint(id) => id.fmt(f),
        }
    }
}

/// Rows that never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsRef {
    Builtin(BuiltinSet),
    Version(DatasetVersionId),
}

impl FromStr for RowsRef {
    type Err = UnknownReference;

    fn from_str(text: &str) -> Result<Self, UnknownReference> {
        let builtin = text.parse().map(Self::Builtin).ok();
        let version = || text.parse().map(Self::Version).ok();
        builtin.or_else(version).ok_or_else(|| UnknownReference::new("data set version", text))
    }
}

impl fmt::Display for RowsRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin(set) => set.fmt(f),
            Self::Version(id) => id.fmt(f),
        }
    }
}

/// A model to distil from.
#[derive(Clone, Debug, PartialEq)]
pub enum TeacherRef {
    Model(ModelRef),
    /// A directory or a GGUF file of the operator's.
    Path(PathBuf),
}

impl FromStr for TeacherRef {
    type Err = UnknownReference;

    fn from_str(text: &str) -> Result<Self, UnknownReference> {
        if Path::new(text).is_absolute() {
            return Ok(Self::Path(PathBuf::from(text)));
        }
        text.parse().map(Self::Model)
    }
}

impl fmt::Display for TeacherRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(model) => model.fmt(f),
            Self::Path(path) => path.display().fmt(f),
        }
    }
}

names!(
    /// What an input is to its job.
    Role {
        Model = "model",
        Teacher = "teacher",
        /// Rows to train on, to sample for or to evaluate on.
        Rows = "rows",
        /// Held-out rows of a job that trains.
        HeldOut = "held_out",
        /// The adapter that this one goes on from.
        Adapter = "adapter",
        /// Stored completions.
        Rollouts = "rollouts",
        Verifier = "verifier",
        /// The checkpoint of another job that this one goes on from.
        Resume = "resume",
    }
);

names!(
    /// What an input is.
    InputKind {
        Builtin = "builtin",
        Model = "model",
        Checkpoint = "checkpoint",
        DatasetVersion = "dataset_version",
        RolloutSet = "rollout_set",
        Verifier = "verifier",
        /// Files of the operator's, outside of the data directory.
        Path = "path",
    }
);

/// Something that a job refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub role: Role,
    pub kind: InputKind,
    pub id: String,
    /// `sha256:` and the digest of what it was at submission, where its id alone does not say so.
    pub digest: Option<String>,
}

impl Input {
    fn new(role: Role, kind: InputKind, id: impl fmt::Display) -> Self {
        Self { role, kind, id: id.to_string(), digest: None }
    }

    /// `seed` is what a built-in without weights draws them from.
    pub(super) fn model(role: Role, model: &ModelRef, seed: u64) -> Self {
        let kind = match model {
            ModelRef::Builtin(_) => InputKind::Builtin,
            ModelRef::Model(_) => InputKind::Model,
            ModelRef::Checkpoint(_) => InputKind::Checkpoint,
        };
        let digest = match model {
            ModelRef::Builtin(builtin) => Some(format!("sha256:{}", builtin.weights_sha256(seed))),
            ModelRef::Model(_) | ModelRef::Checkpoint(_) => None,
        };
        Self { digest, ..Self::new(role, kind, model) }
    }

    pub(super) fn rows(role: Role, rows: RowsRef) -> Self {
        match rows {
            RowsRef::Builtin(set) => {
                let digest = Some(format!("sha256:{}", set.sha256()));
                Self { digest, ..Self::new(role, InputKind::Builtin, set) }
            }
            RowsRef::Version(id) => Self::new(role, InputKind::DatasetVersion, id),
        }
    }

    pub(super) fn rollout_set(role: Role, set: RolloutSetId) -> Self {
        Self::new(role, InputKind::RolloutSet, set)
    }

    pub(super) fn path(role: Role, path: &Path) -> Self {
        Self::new(role, InputKind::Path, path.display())
    }

    /// The stored verifier whose configuration a spec holds.
    pub fn verifier(id: VerifierId) -> Self {
        Self::new(Role::Verifier, InputKind::Verifier, id)
    }

    /// The adapter that one is trained on from.
    pub(super) fn adapter(id: AdapterId) -> Self {
        let kind = match id {
            AdapterId::Checkpoint(_) => InputKind::Checkpoint,
            AdapterId::Model(_) => InputKind::Model,
        };
        Self::new(Role::Adapter, kind, id)
    }

    /// The checkpoint that a job goes on from although it is another job's.
    pub fn resume(checkpoint: CheckpointId) -> Self {
        Self::new(Role::Resume, InputKind::Checkpoint, checkpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_read_back_from_their_texts() {
        let (model, checkpoint) = (ModelId::generate().to_string(), CheckpointId::generate().to_string());
        for text in ["builtin:arith-tiny", &model, &checkpoint] {
            assert_eq!(text.parse::<ModelRef>().unwrap().to_string(), text);
            assert_eq!(text.parse::<TeacherRef>().unwrap().to_string(), text);
        }
        assert_eq!("/models/a".parse(), Ok(TeacherRef::Path(PathBuf::from("/models/a"))));
        let version = DatasetVersionId::generate().to_string();
        for text in ["builtin:arithmetic", "builtin:arithmetic-slips", "builtin:programs?difficulty=3&seed=7", &version]
        {
            assert_eq!(text.parse::<RowsRef>().unwrap().to_string(), text);
        }
        assert!("gpt".parse::<ModelRef>().is_err() && "ds_1".parse::<RowsRef>().is_err());
        assert!("models/a".parse::<TeacherRef>().is_err());
    }
}
