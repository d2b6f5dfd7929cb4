//! Models on their way in: how far they are, how they end, and the jobs that wait for them.

use std::collections::HashSet;
use std::time::Duration;

use sqlx::AnyConnection;
use sqlx::Row;

use super::events::append;
use super::models::{ModelRow, model, models};
use super::statuses::unfinished;
use super::transitions::{Transition, move_job};
use super::{Location, Result, Store, StoreError, read, read_json, write_json};
use crate::job::event::{LogDetail, PhaseProgress};
use crate::job::{EventBody, Failure, FailureKind, JobId, ManifestFile, ModelId, NewEvent, Phase, Timestamp};

/// How often jobs are told how far the model is that they wait for.
const TELL_MILLISECONDS: i64 = 3000;
/// Jobs that are told, or end, at once.
const MOST_JOBS: i64 = 100;

impl Store {
    /// The models that are to be brought, of all projects, the oldest first.
    pub async fn importing_models(&self) -> Result<Vec<ModelRow>> {
        let rows =
            sqlx::query(models!("where status = 'importing' order by id limit 100")).fetch_all(&self.readers).await?;
        rows.iter().map(model).collect()
    }

    /// A model is wanted that was only looked at, or is tried again.
    pub async fn start_import(&self, id: ModelId) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "update model set status = 'importing', failure = null where id = $1 and status in ('pending', 'failed')",
        )
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
        tx.commit().await
    }

    /// Writes down how far an import is, and tells the jobs that wait for it. An error when there is no such import any more.
    pub async fn note_import(&self, id: ModelId, bytes_done: u64, now: Timestamp) -> Result<()> {
        let mut tx = self.begin().await?;
        let total: Option<i64> = sqlx::query_scalar(
            "update model set bytes_done = $2 where id = $1 and status = 'importing' returning bytes",
        )
        .bind(id.to_string())
        .bind(bytes_done as i64)
        .fetch_optional(tx.connection())
        .await?;
        let Some(total) = total else { return Err(StoreError::NotFound { what: "model", id: id.to_string() }) };
        let jobs: Vec<String> = sqlx::query_scalar(
            "select distinct job.id from job_input join job on job.id = job_input.job_id
             where job_input.id = $1 and job.status = 'queued' and not exists
                   (select 1 from event where job_id = job.id and seq = job.last_seq and type = 'progress'
                    and created_at > $2)
             order by job.id limit $3",
        )
        .bind(id.to_string())
        .bind(now.0 - TELL_MILLISECONDS)
        .bind(MOST_JOBS)
        .fetch_all(tx.connection())
        .await?;
        let total = total.unsigned_abs();
        let progress = PhaseProgress { phase: Phase::Fetching, done: bytes_done, total, unit: String::from("bytes") };
        let message = format!("bringing {id}: {} of {} MB", bytes_done / 1_000_000, total / 1_000_000);
        for job in jobs {
            let event = NewEvent::info(message.clone(), EventBody::Progress(progress.clone()));
            append(tx.connection(), read("job id", &job)?, &event, now).await?;
        }
        tx.commit().await
    }

    /// A model is complete, if it was not deleted meanwhile.
    pub async fn finish_import(
        &self,
        id: ModelId,
        weights_sha256: &str,
        files: &[ManifestFile],
        now: Timestamp,
    ) -> Result<()> {
        self.despite_full(|| async move {
            let mut tx = self.begin().await?;
            let finished = sqlx::query(
                "update model set status = 'ready', bytes_done = bytes, weights_sha256 = $2, plan = null, failure = null,
                                  files = $3
                 where id = $1 and status = 'importing'",
            )
            .bind(id.to_string())
            .bind(weights_sha256)
            .bind(write_json(&files)?)
            .execute(tx.connection())
            .await?;
            if finished.rows_affected() == 0 {
                return Ok(());
            }
            // Rollout sets whose jobs waited did not know it.
            sqlx::query("update rollout_set set model_digest = 'sha256:' || $2 where model = $1 and model_digest = ''")
                .bind(id.to_string())
                .bind(weights_sha256)
                .execute(tx.connection())
                .await?;
            for job in queued(tx.connection(), id).await? {
                let event = NewEvent::coded(format!("{id} is here"), "model_ready", LogDetail::None {});
                append(tx.connection(), job, &event, now).await?;
            }
            tx.commit().await
        })
        .await
    }

    /// A model could not be brought; the jobs that wait for it fail.
    pub async fn fail_import(&self, id: ModelId, failure: &Failure, now: Timestamp) -> Result<()> {
        self.despite_full(|| async move {
            let mut tx = self.begin().await?;
            sqlx::query("update model set status = 'failed', failure = $2 where id = $1 and status = 'importing'")
                .bind(id.to_string())
                .bind(write_json(failure)?)
                .execute(tx.connection())
                .await?;
            tx.commit().await
        })
        .await?;
        self.fail_jobs_without_model(now).await
    }

    /// Ends the queued jobs whose model could not be brought.
    pub async fn fail_jobs_without_model(&self, now: Timestamp) -> Result<()> {
        let waiting = "select job.id as job, model.id, model.source, model.failure
             from model join job_input on job_input.id = model.id join job on job.id = job_input.job_id
             where model.status = 'failed' and job.status = 'queued' limit $1";
        if sqlx::query(waiting).bind(1).fetch_optional(&self.readers).await?.is_none() {
            return Ok(());
        }
        self.despite_full(|| async move {
            let mut tx = self.begin().await?;
            // A job may name one model twice, or two that are not to be had.
            let mut ended = HashSet::new();
            for row in sqlx::query(waiting).bind(MOST_JOBS).fetch_all(tx.connection()).await? {
                let job: JobId = read("job id", row.try_get("job")?)?;
                if !ended.insert(job) {
                    continue;
                }
                let (id, source): (String, String) = (row.try_get("id")?, row.try_get("source")?);
                let cause: Option<String> = row.try_get("failure")?;
                let cause: Option<Failure> = cause.map(|text| read_json("failure", &text)).transpose()?;
                let said = cause.as_ref().map_or("no reason is known", |cause| &cause.message);
                let failure = Failure {
                    kind: cause.as_ref().map_or(FailureKind::InvalidData, |cause| cause.kind),
                    code: String::from("model_import_failed"),
                    message: format!("the model {id} ({source}) could not be imported: {said}"),
                };
                move_job(tx.connection(), job, &Transition::failed(failure), now).await?;
            }
            tx.commit().await
        })
        .await
    }

    /// Removes models that were looked at, and that no job has asked for within `age`.
    pub async fn drop_unwanted_models(&self, age: Duration, now: Timestamp) -> Result<()> {
        let unwanted = concat!(
            "select id from model where status = 'pending' and created_at < $1 and not exists
             (select 1 from job_input join job on job.id = job_input.job_id
              where job_input.id = model.id and job.status in ",
            unfinished!(),
            ") limit 100"
        );
        let before = now.0 - i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        if sqlx::query(unwanted).bind(before).fetch_optional(&self.readers).await?.is_none() {
            return Ok(());
        }
        let mut tx = self.begin().await?;
        let ids: Vec<String> = sqlx::query_scalar(unwanted).bind(before).fetch_all(tx.connection()).await?;
        for id in &ids {
            sqlx::query("delete from model where id = $1").bind(id).execute(tx.connection()).await?;
        }
        tx.commit().await?;
        for id in ids {
            self.place().remove(&Location::model(read("model id", &id)?)).await;
        }
        Ok(())
    }
}

/// The jobs that wait for a model.
async fn queued(connection: &mut AnyConnection, id: ModelId) -> Result<Vec<JobId>> {
    let jobs: Vec<String> = sqlx::query_scalar(
        "select distinct job.id from job_input join job on job.id = job_input.job_id
         where job_input.id = $1 and job.status = 'queued' order by job.id limit $2",
    )
    .bind(id.to_string())
    .bind(MOST_JOBS)
    .fetch_all(connection)
    .await?;
    jobs.iter().map(|id| read("job id", id)).collect()
}
