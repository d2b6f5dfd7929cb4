//! What jobs make and where it lies. An artifact is a directory with a manifest; it exists for readers once its row
//! does (`rows.rs`), and its files are read through the place that holds them (`place.rs`),
//! of which there may be copies here (`copies.rs`).

mod adapter;
mod copies;
mod intact;
mod location;
mod place;
mod rows;
#[cfg(test)]
mod tests;

use std::io;

pub use adapter::AdapterOf;
pub use copies::Trimmed;
pub use intact::{Damaged, NamedFile, StoredFile};
pub use location::Location;
pub(in crate::store) use place::Entry;
pub use place::{Kept, Place, Staged};
pub use rows::{Added, Keep, NewArtifact};
pub(super) use rows::{checkpoint, checkpoint_bounds, content, training_locations};

use crate::job::{CheckpointId, Manifest, ManifestFile, Timestamp};

/// A complete artifact of any kind.
#[derive(Clone, Debug)]
pub struct Artifact {
    pub manifest: Manifest,
    pub completed_at: Timestamp,
    location: Location,
}

impl Artifact {
    /// One that no row of the table of artifacts names.
    pub(super) fn at(location: Location, manifest: Manifest, completed_at: Timestamp) -> Self {
        Self { manifest, completed_at, location }
    }

    /// Its directory.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// One of its files. Only names in the manifest become locations.
    pub fn file(&self, name: &str) -> io::Result<StoredFile> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, format!("the manifest lists no {name}"));
        self.manifest.file(name).map(|file| self.stored(file)).ok_or_else(missing)
    }

    /// All of its files.
    pub fn files(&self) -> impl Iterator<Item = StoredFile> {
        self.manifest.files.iter().map(|file| self.stored(file))
    }

    fn stored(&self, file: &ManifestFile) -> StoredFile {
        self.location.within(&file.path).holding(&file.sha256)
    }
}

/// The files that the manifest of an artifact's row lists.
pub(super) fn manifest_files(location: &Location, manifest: &str) -> super::Result<Vec<NamedFile>> {
    let manifest: Manifest = super::read_json("manifest", manifest)?;
    let named = |file: &ManifestFile| NamedFile {
        file: location.within(&file.path).holding(&file.sha256),
        size: Some(file.size),
    };
    Ok(manifest.files.iter().map(named).collect())
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
