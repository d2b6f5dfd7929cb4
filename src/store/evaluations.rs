//! Evaluations: jobs of that kind, with what they found once they are complete.

use std::collections::{BTreeMap, HashMap};

use sqlx::Row;

use super::artifacts::content;
use super::jobs::{job, job_rows, spent};
use super::{Content, JobRow, Page, Result, Store, StoreError, read, read_json};
use crate::job::event::EvaluationFound;
use crate::job::{CheckpointId, EvaluationId, EvaluationSummary, JobId, JobKind, PolicyEvaluation, SuiteRunId};

/// An evaluation.
#[derive(Clone, Debug)]
pub struct EvaluationRow {
    pub id: EvaluationId,
    pub job: JobRow,
    /// What a complete evaluation found.
    pub content: Option<Content<EvaluationSummary>>,
}

impl Store {
    pub async fn evaluation(&self, id: EvaluationId) -> Result<EvaluationRow> {
        let missing = || StoreError::NotFound { what: "evaluation", id: id.to_string() };
        let job = match self.job(id.job()).await {
            Ok(job) if job.work().kind() == JobKind::Evaluation => job,
            Ok(_) | Err(StoreError::NotFound { .. }) => return Err(missing()),
            Err(error) => return Err(error),
        };
        let row = sqlx::query("select * from artifact where id = $1")
            .bind(id.to_string())
            .fetch_optional(&self.readers)
            .await?;
        Ok(EvaluationRow { id, job, content: row.as_ref().map(content).transpose()?.flatten() })
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
            .bind(i64::from(page.limit))
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

    /// The evaluations of a run of a suite, those that are there.
    pub(super) async fn evaluations_of_run(&self, run: SuiteRunId) -> Result<HashMap<EvaluationId, EvaluationRow>> {
        let jobs = concat!(job_rows!(), " where job.id in (select job_id from suite_run_set where run_id = $1)");
        let jobs = sqlx::query(jobs).bind(run.to_string()).fetch_all(&self.readers).await?;
        // An evaluation has the digits of its job.
        let found = "select * from artifact where id in
            (select $2 || substr(job_id, length($3) + 1) from suite_run_set where run_id = $1)";
        let found = sqlx::query(found).bind(run.to_string()).bind(EvaluationId::PREFIX).bind(JobId::PREFIX);
        let mut contents = HashMap::new();
        for row in found.fetch_all(&self.readers).await? {
            let id: EvaluationId = read("evaluation id", row.try_get("id")?)?;
            contents.extend(content(&row)?.map(|content| (id, content)));
        }
        let evaluation = |row| {
            let job = job(row)?;
            let id = EvaluationId::of_job(job.id);
            Ok((id, EvaluationRow { id, job, content: contents.remove(&id) }))
        };
        jobs.iter().map(evaluation).collect()
    }

    /// What a job that trains found of its policy, the last of each step, by steps.
    pub async fn policy_evaluations(&self, job: JobId) -> Result<Vec<PolicyEvaluation>> {
        let found: Vec<String> = sqlx::query_scalar(
            "select data from event where job_id = $1 and type = 'evaluation' order by seq limit 10000",
        )
        .bind(job.to_string())
        .fetch_all(&self.readers)
        .await?;
        let mut steps = BTreeMap::new();
        for text in found {
            if let EvaluationFound::Policy(evaluation) = read_json("evaluation", &text)? {
                steps.insert(evaluation.step, evaluation);
            }
        }
        Ok(steps.into_values().collect())
    }

    /// The newest complete evaluations of a checkpoint, the newest first.
    pub async fn evaluations_of(&self, checkpoint: CheckpointId, most: u32) -> Result<Vec<EvaluationRow>> {
        let ids: Vec<String> = sqlx::query_scalar(
            "select job.id from job_input join job on job.id = job_id
             where job_input.id = $1 and role = 'model' and job.kind = 'evaluation' and status = 'succeeded'
             order by job.id desc limit $2",
        )
        .bind(checkpoint.to_string())
        .bind(i64::from(most))
        .fetch_all(&self.readers)
        .await?;
        let mut rows = Vec::with_capacity(ids.len());
        for id in ids {
            match self.evaluation(EvaluationId::of_job(read("job id", &id)?)).await {
                // Deleted meanwhile.
                Err(StoreError::NotFound { .. }) => {}
                row => rows.push(row?),
            }
        }
        Ok(rows)
    }
}
