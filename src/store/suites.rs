//! Suites of evaluations, and their runs: an evaluation for each set, made in one transaction.

use std::collections::BTreeMap;

use serde_json::Value;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::inputs::insert_inputs;
use super::statement::Statement;
use super::submissions::{Request, insert_jobs};
use super::suites_wanted::{check_unwanted, take_wanted};
use super::transitions::Transition;
use super::{EvaluationRow, NewJob, Page, Result, Store, StoreError, read, read_json, write_json};
use crate::job::{EvaluationId, JobId, JobStatus, SuiteId, SuiteRunId, Timestamp};

/// What models are evaluated on.
#[derive(Clone, Debug)]
pub struct SuiteRow {
    pub id: SuiteId,
    pub name: Option<String>,
    /// Specs of evaluations without a model.
    pub sets: Vec<Value>,
    pub metadata: BTreeMap<String, String>,
    pub created_at: Timestamp,
}

/// A run about to be made: an evaluation for each set, called as the set is.
#[derive(Clone, Debug)]
pub struct NewSuiteRun {
    pub id: SuiteRunId,
    pub suite: SuiteId,
    /// As the evaluations have it.
    pub model: String,
    /// The job that asked for it, whose wish it fulfils.
    pub after_job: Option<JobId>,
    /// Or why there are none.
    pub evaluations: std::result::Result<Vec<(String, NewJob)>, Value>,
}

/// A run, with its evaluations as they are now.
#[derive(Clone, Debug)]
pub struct SuiteRunRow {
    pub id: SuiteRunId,
    pub suite: SuiteId,
    pub model: String,
    /// The job that asked for it.
    pub after_job: Option<JobId>,
    /// Why it has no evaluations.
    pub failure: Option<Value>,
    pub created_at: Timestamp,
    pub sets: Vec<SuiteRunSet>,
}

#[derive(Clone, Debug)]
pub struct SuiteRunSet {
    pub name: String,
    pub id: EvaluationId,
    /// None of one that was deleted.
    pub evaluation: Option<EvaluationRow>,
}

impl Store {
    pub async fn add_suite(&self, suite: &SuiteRow) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "insert into suite (id, project, name, sets, metadata, created_at) values ($1, $2, $3, $4, $5, $6)",
        )
        .bind(suite.id.to_string())
        .bind(self.own_project())
        .bind(&suite.name)
        .bind(write_json(&suite.sets)?)
        .bind(write_json(&suite.metadata)?)
        .bind(suite.created_at.0)
        .execute(tx.connection())
        .await?;
        tx.commit_made(suite.id).await
    }

    pub async fn suite(&self, id: SuiteId) -> Result<SuiteRow> {
        sqlx::query("select * from suite where id = $1 and project = coalesce($2, project)")
            .bind(id.to_string())
            .bind(self.project())
            .fetch_optional(&self.readers)
            .await?
            .map_or_else(|| Err(StoreError::NotFound { what: "suite", id: id.to_string() }), |row| suite(&row))
    }

    pub async fn suites(&self, page: &Page) -> Result<Vec<SuiteRow>> {
        let (low, high) = page.bounds();
        let statement = if page.newest_first {
            "select * from suite where id > $1 and id < $2 and project = $3 order by id desc limit $4"
        } else {
            "select * from suite where id > $1 and id < $2 and project = $3 order by id limit $4"
        };
        let rows = sqlx::query(statement)
            .bind(low)
            .bind(high)
            .bind(self.own_project())
            .bind(i64::from(page.limit))
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(suite).collect()
    }

    /// Removes a suite with its runs; their evaluations stay.
    pub async fn delete_suite(&self, id: SuiteId) -> Result<()> {
        self.despite_full(|| async move {
            let mut tx = self.begin().await?;
            check_unwanted(tx.connection(), id).await?;
            let deleted = sqlx::query("delete from suite where id = $1 and project = coalesce($2, project)")
                .bind(id.to_string())
                .bind(self.project())
                .execute(tx.connection())
                .await?;
            if deleted.rows_affected() == 0 {
                return Err(StoreError::NotFound { what: "suite", id: id.to_string() });
            }
            tx.commit().await
        })
        .await
    }

    /// Makes a run with all its evaluations, which wait for devices from now on.
    pub async fn add_suite_run(&self, new: NewSuiteRun, now: Timestamp) -> Result<SuiteRunRow> {
        let project = self.own_project().to_owned();
        let NewSuiteRun { id, suite, model, after_job, evaluations } = new;
        let (evaluations, failure) = evaluations.map_or_else(|why| (Vec::new(), Some(why)), |all| (all, None));
        let (names, jobs): (Vec<String>, Vec<NewJob>) = evaluations.into_iter().unzip();
        let sets: Vec<(i64, String, JobId)> =
            (0..).zip(names).zip(&jobs).map(|((number, name), job)| (number, name, job.id)).collect();
        let requests: Vec<Request> =
            jobs.into_iter().map(|job| Request::of(job, project.clone(), now)).collect::<Result<_>>()?;
        let (rooms, mut tx) = self.begin_jobs(&project, requests.len()).await?;
        // It may have been deleted while it was looked what its sets come to.
        let known = sqlx::query("select 1 from suite where id = $1 and project = $2");
        let known = known.bind(suite.to_string()).bind(&project).fetch_optional(tx.connection()).await?;
        known.ok_or_else(|| StoreError::NotFound { what: "suite", id: suite.to_string() })?;
        if let Some(job) = after_job {
            take_wanted(tx.connection(), job).await?;
        }
        sqlx::query(
            "insert into suite_run (id, suite_id, project, model, after_job, failure, created_at)
             values ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(id.to_string())
        .bind(suite.to_string())
        .bind(&project)
        .bind(&model)
        .bind(after_job.map(|job| job.to_string()))
        .bind(failure.as_ref().map(write_json).transpose()?)
        .bind(now.0)
        .execute(tx.connection())
        .await?;
        if requests.is_empty() {
            tx.commit_made(id).await?;
            return self.suite_run(id).await;
        }
        let mut rows = Statement::new("insert into suite_run_set (run_id, number, name, job_id) ");
        rows.rows(&sets, |row, (number, name, job)| {
            row.bind(id.to_string()).bind(*number).bind(name.clone()).bind(job.to_string());
        });
        rows.finish()?.persistent(false).execute(tx.connection()).await?;
        let all: Vec<&Request> = requests.iter().collect();
        insert_jobs(tx.connection(), &all, &Transition::to(JobStatus::Queued, format!("submitted by {id}"))).await?;
        let inputs: Vec<_> = all.iter().flat_map(|request| request.inputs()).collect();
        insert_inputs(tx.connection(), &inputs).await?;
        tx.commit_made(id).await?;
        drop(rooms);
        self.written.notify_one();
        self.suite_run(id).await
    }

    pub async fn suite_run(&self, id: SuiteRunId) -> Result<SuiteRunRow> {
        let row = sqlx::query("select * from suite_run where id = $1 and project = coalesce($2, project)")
            .bind(id.to_string())
            .bind(self.project())
            .fetch_optional(&self.readers)
            .await?;
        self.with_sets(&row.ok_or_else(|| StoreError::NotFound { what: "suite run", id: id.to_string() })?).await
    }

    /// Runs of a suite, of all or of those that a job asked for, the newest first unless the page says otherwise.
    pub async fn suite_runs(&self, suite: SuiteId, job: Option<JobId>, page: &Page) -> Result<Vec<SuiteRunRow>> {
        let (low, high) = page.bounds();
        let statement = if page.newest_first {
            "select * from suite_run where id > $1 and id < $2 and suite_id = $3
                    and coalesce(after_job, '') = coalesce($4, after_job, '') order by id desc limit $5"
        } else {
            "select * from suite_run where id > $1 and id < $2 and suite_id = $3
                    and coalesce(after_job, '') = coalesce($4, after_job, '') order by id limit $5"
        };
        let rows = sqlx::query(statement)
            .bind(low)
            .bind(high)
            .bind(suite.to_string())
            .bind(job.map(|job| job.to_string()))
            .bind(i64::from(page.limit))
            .fetch_all(&self.readers)
            .await?;
        let mut runs = Vec::with_capacity(rows.len());
        for row in &rows {
            runs.push(self.with_sets(row).await?);
        }
        Ok(runs)
    }

    /// A run with its evaluations.
    async fn with_sets(&self, row: &AnyRow) -> Result<SuiteRunRow> {
        let id: SuiteRunId = read("suite run id", row.try_get("id")?)?;
        let rows = sqlx::query("select name, job_id from suite_run_set where run_id = $1 order by number")
            .bind(id.to_string())
            .fetch_all(&self.readers)
            .await?;
        let mut known = self.evaluations_of_run(id).await?;
        let failure: Option<String> = row.try_get("failure")?;
        let set = |row: &AnyRow| -> Result<SuiteRunSet> {
            let id = EvaluationId::of_job(read("job id", row.try_get("job_id")?)?);
            Ok(SuiteRunSet { name: row.try_get("name")?, id, evaluation: known.remove(&id) })
        };
        let sets = rows.iter().map(set).collect::<Result<_>>()?;
        Ok(SuiteRunRow {
            id,
            suite: read("suite id", row.try_get("suite_id")?)?,
            model: row.try_get("model")?,
            after_job: row.try_get::<Option<String>, _>("after_job")?.map(|job| read("job id", &job)).transpose()?,
            failure: failure.map(|text| read_json("failure", &text)).transpose()?,
            created_at: Timestamp(row.try_get("created_at")?),
            sets,
        })
    }
}

fn suite(row: &AnyRow) -> Result<SuiteRow> {
    Ok(SuiteRow {
        id: read("suite id", row.try_get("id")?)?,
        name: row.try_get("name")?,
        sets: read_json("suite", row.try_get("sets")?)?,
        metadata: read_json("metadata", row.try_get("metadata")?)?,
        created_at: Timestamp(row.try_get("created_at")?),
    })
}
