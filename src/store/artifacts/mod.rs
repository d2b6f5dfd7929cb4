//! What jobs make and where it lies. An artifact is a directory with a manifest; it exists for readers once its row
//! does (`rows.rs`), and its files are read through the place that holds them (`place.rs`).

mod place;
mod rows;
#[cfg(test)]
mod tests;

use std::io;

pub use place::{Location, Place, Staged};
pub use rows::{Added, Keep, NewArtifact};
pub(super) use rows::{checkpoint, checkpoint_bounds, content, training_locations};

use crate::job::{CheckpointId, Manifest, Timestamp};

/// A complete artifact of any kind.
#[derive(Clone, Debug)]
pub struct Artifact {
    pub manifest: Manifest,
    pub completed_at: Timestamp,
    location: Location,
}

impl Artifact {
    /// Its directory.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// One of its files. Only names in the manifest become locations.
    pub fn file(&self, name: &str) -> io::Result<Location> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, format!("the manifest lists no {name}"));
        self.manifest.file(name).map(|file| self.location.within(&file.path)).ok_or_else(missing)
    }
}

/// A checkpoint.
#[derive(Clone, Debug)]
pub struct CheckpointRow {
    pub id: CheckpointId,
    pub artifact: Artifact,
    /// Mean pass@k, for the first k, of the evaluation at its step.
    pub score: Option<f64>,
}

/// What a complete rollout set or evaluation holds, with what is told of it in numbers.
#[derive(Clone, Debug)]
pub struct Content<S> {
    pub artifact: Artifact,
    pub summary: S,
}
