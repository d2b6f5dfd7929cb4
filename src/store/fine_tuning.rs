//! What the OpenAI-compatible view needs to know of training jobs and of the models they made, beyond the rows that
//! the rest of the API reads.

use serde_json::Value;

use super::artifacts::checkpoint_bounds;
use super::events::event;
use super::{Page, Result, Store, StoreError, read, read_json, write_json};
use crate::job::{CheckpointId, Event, JobId, Timestamp};

impl Store {
    /// Keeps what a client asked for in OpenAI's words, for the job that is about to be submitted.
    pub async fn describe_fine_tuning(&self, job: JobId, request: &Value, now: Timestamp) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query("insert into fine_tuning (job_id, project, request, created_at) values ($1, $2, $3, $4)")
            .bind(job.to_string())
            .bind(self.own_project())
            .bind(write_json(request)?)
            .bind(now.0)
            .execute(tx.connection())
            .await?;
        tx.commit().await
    }

    /// Forgets the description of a job that did not come to be.
    pub async fn forget_fine_tuning(&self, job: JobId) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query("delete from fine_tuning where job_id = $1 and not exists (select 1 from job where id = $1)")
            .bind(job.to_string())
            .execute(tx.connection())
            .await?;
        tx.commit().await
    }

    /// The request behind a job, if it was made by one.
    pub async fn fine_tuning(&self, job: JobId) -> Result<Option<Value>> {
        let text: Option<String> =
            sqlx::query_scalar("select request from fine_tuning where job_id = $1 and project = coalesce($2, project)")
                .bind(job.to_string())
                .bind(self.project())
                .fetch_optional(&self.readers)
                .await?;
        text.map(|text| read_json("fine-tuning request", &text)).transpose()
    }

    /// Events of a job, newest first, behind the event with the given id.
    pub async fn events_backwards(&self, job: JobId, after: Option<&str>, limit: u32) -> Result<Vec<Event>> {
        let below = match after {
            None => i64::MAX,
            Some(id) => sqlx::query_scalar("select seq from event where job_id = $1 and id = $2")
                .bind(job.to_string())
                .bind(id)
                .fetch_optional(&self.readers)
                .await?
                .ok_or_else(|| StoreError::NotFound { what: "event", id: id.chars().take(80).collect() })?,
        };
        let rows = sqlx::query("select * from event where job_id = $1 and seq < $2 order by seq desc limit $3")
            .bind(job.to_string())
            .bind(below)
            .bind(i64::from(limit))
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(event).collect()
    }

    /// How many tokens a job has trained on.
    pub async fn trained_tokens(&self, job: JobId) -> Result<u64> {
        Ok(self.metric_sum(job, "step/tokens").await?.round() as u64)
    }

    /// The finished models of one job, or of all, by id.
    pub async fn finished_models(&self, job: Option<JobId>, page: &Page) -> Result<Vec<CheckpointId>> {
        let (low, high) = checkpoint_bounds(page);
        let statement = if page.newest_first {
            "select c.id from artifact c join job on job.id = c.job_id
             where c.id > $1 and c.id < $2 and c.kind = 'inference' and job.project = coalesce($3, job.project)
                and c.job_id = coalesce($4, c.job_id) order by c.id desc limit $5"
        } else {
            "select c.id from artifact c join job on job.id = c.job_id
             where c.id > $1 and c.id < $2 and c.kind = 'inference' and job.project = coalesce($3, job.project)
                and c.job_id = coalesce($4, c.job_id) order by c.id limit $5"
        };
        let ids: Vec<String> = sqlx::query_scalar(statement)
            .bind(low)
            .bind(high)
            .bind(self.project())
            .bind(job.map(|id| id.to_string()))
            .bind(i64::from(page.limit))
            .fetch_all(&self.readers)
            .await?;
        ids.iter().map(|id| read("checkpoint id", id)).collect()
    }
}
