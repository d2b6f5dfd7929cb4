//! What a claimed job reads of what is stored: where it lies and what it must hold, looked up once. With it a worker needs
//! no rows, so that one without the database has as much as one beside it.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::artifacts::Artifact;
use super::{Location, Place, Result, Store, StoreError, read};
use crate::job::{DatasetVersionId, JobId, ManifestFile, RolloutSetId};
use crate::spec::{InputKind, ModelRef, Resolved};

/// A folder of the place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredFolder {
    pub location: Location,
    /// What it must hold; all that is there, where that was not written down.
    pub files: Vec<ManifestFile>,
}

/// Weights that are no adapter.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// Files that the program brings along, by name; `seed` is what weights are drawn from that are not among them.
    Builtin {
        name: String,
        seed: u64,
    },
    Folder(StoredFolder),
}

/// A model, and an adapter that belongs to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredModel {
    /// What it is called where others read it.
    pub name: String,
    pub weights: Weights,
    pub adapter: Option<StoredFolder>,
    /// That of an adapter which has one of its own.
    pub chat_template: Option<String>,
}

/// Rows of a version of a data set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredRows {
    pub location: Location,
    pub sha256: String,
    /// The column map.
    pub columns: Value,
    /// How rows are held out.
    pub split: Option<Value>,
}

/// What a job reads, by the ids under which its spec refers to it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Materials {
    pub models: BTreeMap<String, StoredModel>,
    pub rows: BTreeMap<DatasetVersionId, StoredRows>,
    pub rollout_sets: BTreeMap<RolloutSetId, StoredFolder>,
    /// What the job has made so far.
    pub made: Vec<Location>,
}

impl From<&Artifact> for StoredFolder {
    fn from(artifact: &Artifact) -> Self {
        Self { location: artifact.location().clone(), files: artifact.manifest.files.clone() }
    }
}

impl StoredModel {
    /// The folders that it consists of.
    pub fn folders(&self) -> impl Iterator<Item = &StoredFolder> {
        let weights = match &self.weights {
            Weights::Builtin { .. } => None,
            Weights::Folder(folder) => Some(folder),
        };
        weights.into_iter().chain(&self.adapter)
    }
}

impl Materials {
    /// Where everything lies that the job reads, and all that it has made.
    pub fn locations(&self) -> impl Iterator<Item = &Location> {
        let models = self.models.values().flat_map(StoredModel::folders).map(|folder| &folder.location);
        let sets = self.rollout_sets.values().map(|folder| &folder.location);
        models.chain(sets).chain(self.rows.values().map(|rows| &rows.location)).chain(&self.made)
    }
}

impl Place {
    /// Brings a folder to this machine's disk, with what it must hold, and says where it is.
    pub async fn fetch_folder(&self, folder: &StoredFolder) -> io::Result<PathBuf> {
        if folder.files.is_empty() {
            return self.fetch(&folder.location).await.map_err(|error| match error {
                StoreError::Io { source, .. } => source,
                other => io::Error::other(other),
            });
        }
        for file in &folder.files {
            self.fetch_file(&folder.location.within(&file.path).holding(&file.sha256)).await?;
        }
        self.fetch(&folder.location).await.map_err(io::Error::other)
    }
}

impl Store {
    /// What a job reads.
    pub async fn materials(&self, job: JobId, spec: &Resolved) -> Result<Materials> {
        let mut materials = Materials { made: self.made(job).await?, ..Materials::default() };
        for input in spec.inputs() {
            match input.kind {
                InputKind::Model | InputKind::Checkpoint => {
                    let reference: ModelRef = read("model", &input.id)?;
                    materials.models.insert(input.id, self.stored_model(&reference, spec.common.seed).await?);
                }
                InputKind::DatasetVersion => {
                    let id: DatasetVersionId = read("data set version", &input.id)?;
                    materials.rows.insert(id, self.stored_rows(id).await?);
                }
                InputKind::RolloutSet => {
                    let id: RolloutSetId = read("rollout set", &input.id)?;
                    let content = self.rollout_set(id).await?.content;
                    let incomplete = || StoreError::Conflict(format!("the rollout set {id} is not complete"));
                    materials.rollout_sets.insert(id, (&content.ok_or_else(incomplete)?.artifact).into());
                }
                InputKind::Builtin | InputKind::Verifier | InputKind::Path => {}
            }
        }
        Ok(materials)
    }

    /// Where a model lies. `seed` is what a built-in without weights draws them from.
    pub async fn stored_model(&self, reference: &ModelRef, seed: u64) -> Result<StoredModel> {
        let whole = |name: String, weights| StoredModel { name, weights, adapter: None, chat_template: None };
        let (folder, name, adapter_of) = match *reference {
            ModelRef::Builtin(builtin) => {
                let name = builtin.name.to_owned();
                return Ok(whole(name.clone(), Weights::Builtin { name, seed }));
            }
            ModelRef::Model(id) => {
                let row = self.model(id).await?;
                let name = row.public_name();
                (StoredFolder { location: Location::model(id), files: row.files }, name, row.adapter)
            }
            ModelRef::Checkpoint(id) => {
                let row = self.checkpoint(id).await?;
                let adapter_of = self.adapter_of(&row).await?;
                (StoredFolder::from(&row.artifact), id.to_string(), adapter_of)
            }
        };
        let Some(of) = adapter_of else { return Ok(whole(name, Weights::Folder(folder))) };
        let base = Box::pin(self.stored_model(&of.model, of.seed)).await?;
        Ok(StoredModel { adapter: Some(folder), chat_template: of.chat_template, ..base })
    }

    async fn stored_rows(&self, id: DatasetVersionId) -> Result<StoredRows> {
        let row = self.dataset_version(id).await?;
        Ok(StoredRows { location: Location::dataset(id), sha256: row.sha256, columns: row.columns, split: row.split })
    }

    /// The folders of a job that rows name.
    async fn made(&self, job: JobId) -> Result<Vec<Location>> {
        let directories: Vec<String> = sqlx::query_scalar("select directory from artifact where job_id = $1")
            .bind(job.to_string())
            .fetch_all(&self.readers)
            .await?;
        Ok(directories.iter().map(|directory| Location::artifact(directory)).collect())
    }
}
