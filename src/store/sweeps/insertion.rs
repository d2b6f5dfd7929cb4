//! Sweeps and their trials on the way into the database.

use serde_json::Value;
use sqlx::AnyConnection;

use crate::job::sweep::MOST_TRIALS;
use crate::job::sweep::halving::Halving;
use crate::job::{JobId, JobStatus, SweepId, Timestamp};
use crate::store::inputs::insert_inputs;
use crate::store::statement::Statement;
use crate::store::submissions::{Request, insert_jobs};
use crate::store::transitions::Transition;
use crate::store::{NewJob, ROWS, Result, StoreError, flag, number, write_json};

/// A sweep about to be made.
#[derive(Clone, Debug)]
pub struct NewSweep {
    pub id: SweepId,
    pub name: Option<String>,
    /// As the client sent it.
    pub request: Value,
    /// What its trials are called and differ in.
    pub configurations: Value,
    pub at_once: u32,
    pub halving: Option<Halving>,
    /// Seconds of devices that all its jobs together may use.
    pub budget_seconds: Option<u64>,
    pub trials: Vec<NewTrial>,
}

/// One of its jobs.
#[derive(Clone, Debug)]
pub struct NewTrial {
    pub configuration: u32,
    pub seed: u64,
    pub work: Work,
}

#[derive(Clone, Debug)]
pub enum Work {
    New(Box<NewJob>),
    /// It was done before.
    Done(JobId),
}

/// A trial as it is written down.
pub(super) struct Trial {
    configuration: u32,
    seed: u64,
    job: JobId,
    reused: bool,
}

/// Trials about to be written down, and the jobs that are made for them.
pub(super) struct Trials {
    pub all: Vec<Trial>,
    pub requests: Vec<Request>,
}

impl Trials {
    pub fn of(new: Vec<NewTrial>, project: &str, now: Timestamp) -> Result<Self> {
        let mut requests = Vec::with_capacity(new.len());
        let mut all = Vec::with_capacity(new.len());
        for NewTrial { configuration, seed, work } in new {
            let (job, reused) = match work {
                Work::New(job) => {
                    let id = job.id;
                    requests.push(Request::of(*job, project.to_owned(), now)?);
                    (id, false)
                }
                Work::Done(job) => (job, true),
            };
            all.push(Trial { configuration, seed, job, reused });
        }
        Ok(Self { all, requests })
    }

    /// Refuses them if the sweep has changed since it was looked what they are to be.
    pub async fn check(&self, connection: &mut AnyConnection, sweep: SweepId) -> Result<()> {
        let rows = sqlx::query("select seed, configuration, dropped from sweep_trial where sweep_id = $1");
        let rows = rows.bind(sweep.to_string()).fetch_all(connection).await?;
        let mut fits = rows.len() + self.all.len() <= MOST_TRIALS;
        for row in &rows {
            let (seed, configuration): (u64, u32) = (number(row, "seed")?, number(row, "configuration")?);
            let is_dropped = flag(row, "dropped")?;
            fits &= self.all.iter().all(|new| new.seed != seed && !(is_dropped && new.configuration == configuration));
        }
        let detail = "the sweep has changed meanwhile; look at it, and ask again for what it lacks";
        if fits { Ok(()) } else { Err(StoreError::Refused { code: "sweep_changed", detail: detail.to_owned() }) }
    }

    /// Writes them down as those from number `first` on, with their jobs, which are paused.
    pub async fn insert(&self, connection: &mut AnyConnection, sweep: SweepId, first: i64) -> Result<()> {
        let numbered: Vec<(i64, &Trial)> = (first..).zip(&self.all).collect();
        for some in numbered.chunks(ROWS) {
            let mut trials =
                Statement::new("insert into sweep_trial (sweep_id, number, configuration, seed, job_id, reused) ");
            trials.rows(some, |row, (number, trial)| {
                row.bind(sweep.to_string())
                    .bind(*number)
                    .bind(i64::from(trial.configuration))
                    .bind(i64::try_from(trial.seed).unwrap_or(i64::MAX))
                    .bind(trial.job.to_string())
                    .bind(i64::from(trial.reused));
            });
            trials.finish()?.persistent(false).execute(&mut *connection).await?;
        }
        let held = Transition::to(JobStatus::Paused, format!("waits for its turn in {sweep}"));
        for some in self.requests.chunks(ROWS) {
            let some: Vec<&Request> = some.iter().collect();
            insert_jobs(&mut *connection, &some, &held).await?;
            let inputs: Vec<_> = some.iter().flat_map(|request| request.inputs()).collect();
            insert_inputs(&mut *connection, &inputs).await?;
        }
        Ok(())
    }
}

pub(super) async fn insert_sweep(
    connection: &mut AnyConnection,
    new: &NewSweep,
    project: &str,
    now: Timestamp,
) -> Result<()> {
    sqlx::query(
        "insert into sweep (id, project, name, request, configurations, at_once, status, created_at, halving, budget_seconds)
         values ($1, $2, $3, $4, $5, $6, 'running', $7, $8, $9)",
    )
    .bind(new.id.to_string())
    .bind(project)
    .bind(&new.name)
    .bind(write_json(&new.request)?)
    .bind(write_json(&new.configurations)?)
    .bind(i64::from(new.at_once))
    .bind(now.0)
    .bind(new.halving.as_ref().map(write_json).transpose()?)
    .bind(new.budget_seconds.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX)))
    .execute(connection)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::job::JobKind;
    use crate::store::Store;

    #[tokio::test]
    async fn what_another_program_has_done_is_done_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let spec = json!({"model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"}, "objective": {"type": "bolt"}});
        let job = store.submit_job(NewJob::of_kind(JobKind::Train, spec), None, Timestamp(1)).await.unwrap().job;
        let run = async |statement: &'static str| {
            let mut tx = store.begin().await.unwrap();
            sqlx::query(statement).execute(tx.connection()).await.unwrap();
            tx.commit().await.unwrap();
        };
        let known = async |program: &str| store.done_before(&job.spec_digest, program).await.unwrap();
        run("insert into attempt (job_id, number, worker, device, started_at, program)
             select id, 1, '', '', 1, '1.0' from job")
        .await;
        assert_eq!(known("1.0").await, None, "it is not done");
        run("update job set status = 'succeeded'").await;
        assert_eq!((known("1.0").await, known("1.1").await), (Some(job.id), None));
        // What repeats the end of another as a proof has reported that alone.
        run("insert into verification (job_id, source_job, checkpoint_id, directory, from_step, expected_weights_sha256)
             select id, id, '', '', 1, '' from job")
        .await;
        assert_eq!(known("1.0").await, None);
        run("delete from verification").await;
        // It began with one program and ended with the other.
        run("insert into attempt (job_id, number, worker, device, started_at, program)
             select id, 2, '', '', 2, '1.1' from job")
        .await;
        assert_eq!((known("1.0").await, known("1.1").await), (None, None));
    }
}
