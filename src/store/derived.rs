//! Jobs that are made from other jobs: forks, and jobs that repeat the end of another to prove that it resumes bit for
//! bit.

use serde::{Deserialize, Serialize};
use sqlx::AnyConnection;
use sqlx::Row;

use super::artifacts::checkpoint;
use super::inputs::insert_inputs;
use super::{CheckpointRow, Result, Store, StoreError, read};
use crate::job::{CheckpointId, JobId};
use crate::spec::Input;

/// What a job was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A job whose spec was changed.
    Fork(JobId),
    Verification(Verification),
}

impl Origin {
    /// The job whose spec was changed.
    pub fn forked_from(&self) -> Option<JobId> {
        match self {
            Self::Fork(source) => Some(*source),
            Self::Verification(_) => None,
        }
    }

    /// The job that is repeated.
    pub fn verifies(&self) -> Option<JobId> {
        match self {
            Self::Fork(_) => None,
            Self::Verification(verification) => Some(verification.source),
        }
    }
}

/// What a job is to prove: that a finished one, resumed from a checkpoint of it, ends with the same weights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// The finished job.
    pub source: JobId,
    pub checkpoint: CheckpointId,
    pub from_step: u64,
    pub expected_weights_sha256: String,
}

impl Store {
    /// The oldest training checkpoint that a job has kept.
    pub async fn oldest_training_checkpoint(&self, job: JobId) -> Result<Option<CheckpointRow>> {
        let row = sqlx::query(
            "select a.* from artifact a join job on job.id = a.job_id
             where a.job_id = $1 and a.kind = 'training' and job.project = coalesce($2, job.project)
             order by a.step, a.id limit 1",
        )
        .bind(job.to_string())
        .bind(self.project())
        .fetch_optional(&self.readers)
        .await?;
        row.as_ref().map(checkpoint).transpose()
    }
}

/// Refuses an origin that is not there: a checkpoint that was deleted a moment ago cannot be begun from.
pub(super) async fn check_origin(connection: &mut AnyConnection, origin: &Origin) -> Result<()> {
    let Origin::Verification(Verification { checkpoint, .. }) = origin else { return Ok(()) };
    let found = sqlx::query("select 1 from artifact where id = $1").bind(checkpoint.to_string());
    if found.fetch_optional(connection).await?.is_some() {
        return Ok(());
    }
    Err(StoreError::NotFound { what: "checkpoint", id: checkpoint.to_string() })
}

/// Writes down what a job is to prove, within the transaction of its submission.
pub(super) async fn insert_verification(
    connection: &mut AnyConnection,
    job: JobId,
    verification: &Verification,
) -> Result<()> {
    sqlx::query(
        "insert into verification (job_id, source_job, checkpoint_id, directory, from_step, expected_weights_sha256)
         select $1, job_id, id, directory, step, $3 from artifact where id = $2",
    )
    .bind(job.to_string())
    .bind(verification.checkpoint.to_string())
    .bind(&verification.expected_weights_sha256)
    .execute(&mut *connection)
    .await?;
    insert_inputs(connection, &[(job, &Input::resume(verification.checkpoint))]).await
}

/// What a job is to prove, if it is there for that.
pub(super) async fn verification(connection: &mut AnyConnection, job: JobId) -> Result<Option<Verification>> {
    let row = sqlx::query("select * from verification where job_id = $1")
        .bind(job.to_string())
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(Verification {
        source: read("job id", row.try_get("source_job")?)?,
        checkpoint: read("checkpoint id", row.try_get("checkpoint_id")?)?,
        from_step: row.try_get::<i64, _>("from_step")?.unsigned_abs(),
        expected_weights_sha256: row.try_get("expected_weights_sha256")?,
    }))
}
