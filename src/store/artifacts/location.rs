//! Names of what is stored.

use serde::{Deserialize, Serialize};

use crate::job::artifact::VERSION_MARK;
use crate::job::{DatasetVersionId, ExportId, FileId, JobId, ModelId, PartId};

/// Characters of one that another machine names.
const LONGEST: usize = 1024;

/// The folder of what jobs make.
const JOBS: &str = "jobs";

/// Where a file or a folder lies within the place. Made of ids and of names in manifests; a client's text never becomes
/// one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Location(pub(super) String);

/// As another machine writes it: plain names, so that it leads nowhere but below the place.
impl TryFrom<String> for Location {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_plain = |name: &str| !name.is_empty() && name != "." && name != ".." && !name.contains(['\\', '\0']);
        if text.len() <= LONGEST && text.split('/').all(is_plain) {
            Ok(Self(text))
        } else {
            Err(format!("`{text}` is no location"))
        }
    }
}

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

    /// As it is named within the place.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Whether this is a folder and `other` lies in it, or is the same.
    pub fn holds(&self, other: &Self) -> bool {
        other.0.strip_prefix(&self.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// What has this plain name within a folder.
    pub fn within(&self, name: &str) -> Self {
        Self(format!("{}/{name}", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_machine_names_leads_nowhere_but_below_the_place() {
        let location = |text: &str| Location::try_from(text.to_owned());
        for text in ["jobs/job_1/training-1-5/state.json", "models/mdl_1", "datasets/dsv_1.jsonl", "jobs/a~2/..b"] {
            assert_eq!(location(text).unwrap().name(), text);
        }
        for text in
            ["", "/etc/passwd", "jobs/../../x", "jobs//x", "jobs/x/", "./x", "jobs/x/..", "a\\b", &"x".repeat(2000)]
        {
            assert!(location(text).is_err(), "{text}");
        }
        let folder = location("jobs/job_1").unwrap();
        assert!(folder.holds(&location("jobs/job_1/a").unwrap()) && folder.holds(&folder));
        assert!(!folder.holds(&location("jobs/job_12").unwrap()) && !folder.holds(&location("jobs").unwrap()));
    }
}
