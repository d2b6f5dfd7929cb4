//! Suites that are still to be run on the models of jobs: written down with a job, and gone when the run is made, so that each
//! job has one run whoever makes it.

use sqlx::{AnyConnection, Row};

use super::statement::Statement;
use super::statuses::unfinished;
use super::{Result, Store, StoreError, read};
use crate::job::{JobId, SuiteId};

/// A suite whose turn has come: the job has succeeded.
#[derive(Clone, Debug)]
pub struct SuiteDue {
    pub job: JobId,
    pub suite: SuiteId,
    pub project: String,
}

impl Store {
    /// The first suites whose turns have come, of all projects, of jobs behind this one.
    pub async fn suites_due(&self, after: Option<JobId>, most: u32) -> Result<Vec<SuiteDue>> {
        let rows = sqlx::query(
            "select wanted.job_id, wanted.suite_id, suite.project from suite_wanted wanted
                    join job on job.id = wanted.job_id join suite on suite.id = wanted.suite_id
             where job.status = 'succeeded' and wanted.job_id > $1 order by wanted.job_id limit $2",
        )
        .bind(after.map(|job| job.to_string()).unwrap_or_default())
        .bind(i64::from(most))
        .fetch_all(&self.readers)
        .await?;
        let due = |row: &sqlx::any::AnyRow| {
            Ok(SuiteDue {
                job: read("job id", row.try_get("job_id")?)?,
                suite: read("suite id", row.try_get("suite_id")?)?,
                project: row.try_get("project")?,
            })
        };
        rows.iter().map(due).collect()
    }
}

/// Refuses to take a suite away that a job waits for.
pub(super) async fn check_unwanted(connection: &mut AnyConnection, suite: SuiteId) -> Result<()> {
    let job: Option<String> = sqlx::query_scalar(concat!(
        "select job.id from suite_wanted wanted join job on job.id = wanted.job_id
         where wanted.suite_id = $1 and (job.status = 'succeeded' or job.status in ",
        unfinished!(),
        ") limit 1"
    ))
    .bind(suite.to_string())
    .fetch_optional(connection)
    .await?;
    match job {
        None => Ok(()),
        Some(job) => Err(StoreError::Conflict(format!(
            "the model of the job {job} is to be evaluated on the suite; wait for that, or cancel the job"
        ))),
    }
}

/// Writes down, within the transaction that makes jobs, which suites their models are to be evaluated on.
pub(super) async fn want_suites(connection: &mut AnyConnection, wanted: &[(JobId, &str)]) -> Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    let mut rows = Statement::new("insert into suite_wanted (job_id, suite_id) ");
    rows.rows(wanted, |row, (job, suite)| {
        row.bind(job.to_string()).bind((*suite).to_owned());
    });
    rows.finish()?.persistent(false).execute(connection).await?;
    Ok(())
}

/// Takes the wish of a job for a suite away, within the transaction that makes its run; refuses where another has done so.
pub(super) async fn take_wanted(connection: &mut AnyConnection, job: JobId) -> Result<()> {
    let taken =
        sqlx::query("delete from suite_wanted where job_id = $1").bind(job.to_string()).execute(connection).await?;
    if taken.rows_affected() == 1 {
        return Ok(());
    }
    Err(StoreError::Conflict(format!("the suite of the job {job} was run already")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::job::{JobKind, JobStatus, SuiteRunId, Timestamp};
    use crate::store::transitions::{Transition, move_job};
    use crate::store::{NewJob, NewSuiteRun, SuiteRow};

    const NOW: Timestamp = Timestamp(1_750_000_000_000);

    #[tokio::test]
    async fn of_two_servers_one_makes_the_run_and_till_then_the_suite_stays() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let suite = SuiteId::generate();
        let row = SuiteRow { id: suite, name: None, sets: Vec::new(), metadata: Default::default(), created_at: NOW };
        store.add_suite(&row).await.unwrap();
        let spec = json!({
            "model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"}, "objective": {"type": "bolt"},
            "train": {"steps": 7}, "eval": {"suite": suite.to_string()}, "seed": 1,
        });
        let job = NewJob::of_kind(JobKind::Train, spec);
        let job = store.submit_job(job, None, NOW).await.unwrap().job.id;
        assert!(store.suites_due(None, 9).await.unwrap().is_empty(), "the job has not succeeded");
        assert!(matches!(store.delete_suite(suite).await, Err(StoreError::Conflict(_))));
        for to in [JobStatus::Starting, JobStatus::Running, JobStatus::Succeeded] {
            let mut tx = store.begin().await.unwrap();
            move_job(tx.connection(), job, &Transition::to(to, "a test"), NOW).await.unwrap();
            tx.commit().await.unwrap();
        }
        let due = store.suites_due(None, 9).await.unwrap();
        assert_eq!((due.len(), due[0].job, due[0].suite), (1, job, suite));
        assert!(store.suites_due(Some(job), 9).await.unwrap().is_empty(), "it is not behind itself");
        let run = || {
            let evaluations: std::result::Result<_, Value> = Err(json!({"code": "a", "message": "b"}));
            let (id, model) = (SuiteRunId::generate(), String::from("m"));
            store.add_suite_run(NewSuiteRun { id, suite, model, after_job: Some(job), evaluations }, NOW)
        };
        let (first, second) = tokio::join!(run(), run());
        let refused = [&first, &second].into_iter().filter(|one| matches!(one, Err(StoreError::Conflict(_)))).count();
        assert_eq!((first.is_ok() ^ second.is_ok(), refused), (true, 1), "{first:?} {second:?}");
        assert!(store.suites_due(None, 9).await.unwrap().is_empty());
        store.delete_suite(suite).await.unwrap();
    }
}
