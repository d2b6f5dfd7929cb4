//! Names of what is stored.

use crate::job::artifact::VERSION_MARK;
use crate::job::{DatasetVersionId, ExportId, FileId, JobId, ModelId, PartId};

/// The folder of what jobs make.
const JOBS: &str = "jobs";

/// Where a file or a folder lies within the place. Made of ids and of names in manifests; a client's text never becomes
/// one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location(pub(super) String);

impl Location {
    /// The rows of a version of a data set.
    pub fn dataset(version: DatasetVersionId) -> Self {
        Self(format!("datasets/{version}.jsonl"))
    }

    /// The folder of an imported model.
    pub fn model(id: ModelId) -> Self {
        Self(format!("models/{id}"))
    }

    /// The folder of an export.
    pub fn export(id: ExportId) -> Self {
        Self(format!("exports/{id}"))
    }

    /// A file as a client uploaded it.
    pub fn file(id: FileId) -> Self {
        Self(format!("files/{id}"))
    }

    /// A part of a file that is uploaded in parts.
    pub fn part(id: PartId) -> Self {
        Self(format!("parts/{id}"))
    }

    /// The folder of everything that a job makes.
    pub fn job(id: JobId) -> Self {
        Self(format!("{JOBS}/{id}"))
    }

    /// A folder of the place itself.
    pub(in crate::store) fn folder(name: &'static str) -> Self {
        Self(name.to_owned())
    }

    /// An artifact, from the directory that its row names.
    pub(in crate::store) fn artifact(directory: &str) -> Self {
        Self(format!("{JOBS}/{directory}"))
    }

    /// An artifact's directory as its row names it.
    pub(in crate::store) fn directory(&self) -> &str {
        self.0.strip_prefix(JOBS).and_then(|name| name.strip_prefix('/')).unwrap_or(&self.0)
    }

    /// The same without the number of its version.
    pub(in crate::store) fn unversioned(&self) -> Self {
        Self(self.0.split(VERSION_MARK).next().unwrap_or_default().to_owned())
    }

    /// What has this plain name within a folder.
    pub fn within(&self, name: &str) -> Self {
        Self(format!("{}/{name}", self.0))
    }
}
