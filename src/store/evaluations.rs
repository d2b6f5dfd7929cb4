//! Evaluations: jobs of that kind, with what they found once they are complete.

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::queue::fence;
use super::{JobRow, Lease, Page, Result, Store, StoreError, read, read_json, write_json};
use crate::job::{EvaluationId, EvaluationSummary, JobId, JobKind, Manifest, Timestamp};

/// An evaluation.
#[derive(Clone, Debug)]
pub struct EvaluationRow {
    pub id: EvaluationId,
    pub job: JobRow,
    /// What a complete evaluation found.
    pub content: Option<EvaluationContent>,
}

/// What a complete evaluation found.
#[derive(Clone, Debug)]
pub struct EvaluationContent {
    /// Below the folder of all jobs; see [`super::Files::checkpoint`].
    pub directory: String,
    pub manifest: Manifest,
    pub summary: EvaluationSummary,
    pub completed_at: Timestamp,
}

impl Store {
    /// Makes what an evaluation found visible, under the fence. A later attempt of the job may find it again, which
    /// replaces it.
    pub async fn add_evaluation(
        &self,
        lease: Lease,
        directory: &str,
        manifest: &Manifest,
        summary: &EvaluationSummary,
        now: Timestamp,
    ) -> Result<()> {
        let mut tx = self.begin().await?;
        fence(tx.connection(), lease, now).await?;
        sqlx::query(
            "insert into evaluation (job_id, directory, bytes, manifest, summary, completed_at)
             values ($1, $2, $3, $4, $5, $6)
             on conflict (job_id) do update
                set directory = excluded.directory, bytes = excluded.bytes, manifest = excluded.manifest,
                    summary = excluded.summary, completed_at = excluded.completed_at",
        )
        .bind(lease.job.to_string())
        .bind(directory)
        .bind(manifest.bytes() as i64)
        .bind(write_json(manifest)?)
        .bind(write_json(summary)?)
        .bind(now.0)
        .execute(tx.connection())
        .await?;
        tx.commit().await
    }

    pub async fn evaluation(&self, id: EvaluationId) -> Result<EvaluationRow> {
        let missing = || StoreError::NotFound { what: "evaluation", id: id.to_string() };
        let job = match self.job(id.job()).await {
            Ok(job) if job.kind == JobKind::Evaluation => job,
            Ok(_) | Err(StoreError::NotFound { .. }) => return Err(missing()),
            Err(error) => return Err(error),
        };
        let row = sqlx::query("select * from evaluation where job_id = $1")
            .bind(job.id.to_string())
            .fetch_optional(&self.readers)
            .await?;
        Ok(EvaluationRow { id, job, content: row.as_ref().map(content).transpose()? })
    }

    /// Evaluations by id; `page.after` names one.
    pub async fn evaluations(&self, page: &Page) -> Result<Vec<EvaluationRow>> {
        // The rows are those of their jobs, whose ids have the same digits.
        let after = page.after.as_ref().map(|after| match after.parse::<EvaluationId>() {
            Ok(id) => id.job().to_string(),
            Err(_) => after.clone(),
        });
        let page = Page { after, ..page.clone() };
        let (low, high) = page.bounds();
        let statement = if page.newest_first {
            "select id from job where id > $1 and id < $2 and kind = 'evaluation' and project = $3
             order by id desc limit $4"
        } else {
            "select id from job where id > $1 and id < $2 and kind = 'evaluation' and project = $3
             order by id limit $4"
        };
        let ids: Vec<String> = sqlx::query_scalar(statement)
            .bind(low)
            .bind(high)
            .bind(self.own_project())
            .bind(page.limit)
            .fetch_all(&self.readers)
            .await?;
        let mut rows = Vec::with_capacity(ids.len());
        for id in ids {
            let job: JobId = read("job id", &id)?;
            match self.evaluation(EvaluationId::of_job(job)).await {
                // Deleted meanwhile.
                Err(StoreError::NotFound { .. }) => {}
                row => rows.push(row?),
            }
        }
        Ok(rows)
    }
}

fn content(row: &SqliteRow) -> Result<EvaluationContent> {
    Ok(EvaluationContent {
        directory: row.try_get("directory")?,
        manifest: read_json("manifest", row.try_get("manifest")?)?,
        summary: read_json("evaluation", row.try_get("summary")?)?,
        completed_at: Timestamp(row.try_get("completed_at")?),
    })
}
