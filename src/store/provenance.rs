//! What an artifact was made from, signed in the transaction that makes it visible, so that nothing that is deleted or
//! changed later changes what was said.

use std::sync::OnceLock;

use sqlx::AnyConnection;
use sqlx::Row;

use super::key_file::KeyFile;
use super::{Result, Store, read_json, write_json};
use crate::job::digest::sha256_hex;
use crate::job::provenance::{Dependency, Made, PublicKey, SigningKey};
use crate::job::{JobId, Manifest, Timestamp};

/// The key of a server, which is read, or made, when it is first needed.
#[derive(Debug)]
pub(super) struct Signer {
    file: KeyFile,
    key: OnceLock<SigningKey>,
}

impl Signer {
    pub fn at(file: KeyFile) -> Self {
        Self { file, key: OnceLock::new() }
    }

    /// The file of the key.
    pub fn file(&self) -> &KeyFile {
        &self.file
    }

    /// SHA-256 of the key, which is made if there is none.
    pub fn digest(&self) -> Result<String> {
        Ok(sha256_hex(&self.file.read(true)?))
    }

    fn key(&self) -> Result<&SigningKey> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let key = SigningKey::of(&self.file.read(true)?).ok_or_else(|| self.file.malformed())?;
        Ok(self.key.get_or_init(|| key))
    }
}

impl Store {
    /// The key with which statements are signed.
    pub fn public_key(&self) -> Result<PublicKey> {
        Ok(self.signer.key()?.public())
    }

    /// The signed statement of an artifact or an export, as an envelope in JSON; what an older version made has none.
    pub async fn provenance(&self, id: &str) -> Result<Option<String>> {
        let found: Option<Option<String>> = sqlx::query_scalar(
            "select provenance from artifact where id = $1 union all select provenance from export where id = $1",
        )
        .bind(id)
        .fetch_optional(&self.readers)
        .await?;
        Ok(found.flatten())
    }

    /// What a job was made from, by their roles.
    pub async fn dependencies(&self, job: JobId) -> Result<Vec<Dependency>> {
        dependencies(&mut *self.readers.acquire().await?, job).await
    }

    /// The envelope for something that a job made. Without a key to sign with there is none, which is said: what was made is
    /// worth more.
    pub(super) async fn signed(
        &self,
        connection: &mut AnyConnection,
        manifest: &Manifest,
        now: Timestamp,
    ) -> Result<Option<String>> {
        let key = match self.signer.key() {
            Ok(key) => key,
            Err(error) => {
                tracing::error!(%error, "what a job made is not signed");
                return Ok(None);
            }
        };
        let job = manifest.job.to_string();
        let spec = sqlx::query_scalar("select spec_resolved from job where id = $1").bind(&job);
        // What belongs to a job that was deleted meanwhile finds no row either.
        let spec: Option<String> = spec.fetch_optional(&mut *connection).await?;
        let Some(spec) = spec else { return Ok(None) };
        let made = Made {
            manifest,
            spec: read_json("spec", &spec)?,
            dependencies: dependencies(connection, manifest.job).await?,
            version: env!("CARGO_PKG_VERSION"),
            finished_on: now.rfc3339(),
        };
        Ok(Some(write_json(&key.sign(&made.statement()))?))
    }
}

async fn dependencies(connection: &mut AnyConnection, job: JobId) -> Result<Vec<Dependency>> {
    let inputs = sqlx::query(
        "select role, id, coalesce(digest, (select 'sha256:' || sha256 from dataset_version
                                             where dataset_version.id = job_input.id)) as digest
         from job_input where job_id = $1 order by role, id",
    )
    .bind(job.to_string())
    .fetch_all(connection)
    .await?;
    let dependency = |row: &sqlx::any::AnyRow| -> Result<Dependency> {
        Ok(Dependency { role: row.try_get("role")?, id: row.try_get("id")?, digest: row.try_get("digest")? })
    };
    inputs.iter().map(dependency).collect()
}
