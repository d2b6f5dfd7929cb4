//! Sweeps: jobs that were submitted together. All but the first wait as paused ones, and are put into the queue as others end.

use serde_json::Value;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use super::inputs::insert_inputs;
use super::statement::Statement;
use super::submissions::{Request, insert_jobs};
use super::transitions::{Transition, move_job};
use super::{NewJob, Page, ROWS, Result, Store, StoreError, flag, number, optional, read, read_json, write_json};
use crate::job::{JobId, JobStatus, SweepId, SweepStatus, Timestamp};

/// Sweeps that are looked after.
const MOST_OPEN: i64 = 10_000;
const CANCELLED: &str = "cancelled with its sweep";

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
struct Trial {
    configuration: u32,
    seed: u64,
    job: JobId,
    reused: bool,
}

#[derive(Clone, Debug)]
pub struct SweepRow {
    pub id: SweepId,
    pub name: Option<String>,
    pub configurations: Value,
    pub at_once: u32,
    pub status: SweepStatus,
    pub created_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    pub counts: TrialCounts,
}

/// Trials by what their jobs are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrialCounts {
    pub all: u64,
    /// Their turn has not come.
    pub waiting: u64,
    /// Queued or on a device.
    pub active: u64,
    /// Paused after their turn.
    pub paused: u64,
    pub succeeded: u64,
    /// Failed, or cancelled, or deleted since.
    pub lost: u64,
}

/// A trial with its job as it is now.
#[derive(Clone, Debug)]
pub struct TrialRow {
    pub number: u32,
    pub configuration: u32,
    pub seed: u64,
    pub job: JobId,
    pub reused: bool,
    /// None of a job that was deleted.
    pub status: Option<JobStatus>,
    pub step: u64,
}

impl Store {
    /// Makes a sweep with all its jobs, of which the first begin to wait for devices, in one transaction.
    pub async fn add_sweep(&self, mut sweep: NewSweep, now: Timestamp) -> Result<SweepRow> {
        drop(self.storage_room(0).await?);
        let (id, project) = (sweep.id, self.own_project().to_owned());
        let mut requests = Vec::with_capacity(sweep.trials.len());
        let mut trials = Vec::with_capacity(sweep.trials.len());
        for NewTrial { configuration, seed, work } in sweep.trials.drain(..) {
            let (job, reused) = match work {
                Work::New(job) => {
                    let id = job.id;
                    requests.push(Request::of(*job, project.clone(), now)?);
                    (id, false)
                }
                Work::Done(job) => (job, true),
            };
            trials.push(Trial { configuration, seed, job, reused });
        }
        // What is known of projects' room counts without these.
        let mut rooms = self.submissions.rooms.lock().await;
        let mut tx = self.begin().await?;
        let mut room = self.room(tx.connection(), &project, None, requests.len().max(1)).await?;
        for _ in &requests {
            room.take(&project)?;
        }
        rooms.remove(&project);
        insert_sweep(tx.connection(), &sweep, &trials, &project, now).await?;
        let reason = format!("waits for its turn in {id}");
        let held = Transition::to(JobStatus::Paused, reason);
        for some in requests.chunks(ROWS) {
            let some: Vec<&Request> = some.iter().collect();
            insert_jobs(tx.connection(), &some, &held).await?;
            let inputs: Vec<_> = some.iter().flat_map(|request| request.inputs()).collect();
            insert_inputs(tx.connection(), &inputs).await?;
        }
        advance(tx.connection(), id, now).await?;
        tx.commit_made(id).await?;
        drop(rooms);
        self.written.notify_one();
        self.sweep(id).await
    }

    pub async fn sweep(&self, id: SweepId) -> Result<SweepRow> {
        let row = sqlx::query("select * from sweep where id = $1 and project = coalesce($2, project)")
            .bind(id.to_string())
            .bind(self.project())
            .fetch_optional(&self.readers)
            .await?;
        let row = row.ok_or_else(|| StoreError::NotFound { what: "sweep", id: id.to_string() })?;
        sweep(&row, counts(&mut *self.readers.acquire().await?, id).await?)
    }

    /// Sweeps, the newest first unless the page says otherwise.
    pub async fn sweeps(&self, page: &Page) -> Result<Vec<SweepRow>> {
        let (low, high) = page.bounds();
        let statement = if page.newest_first {
            "select * from sweep where id > $1 and id < $2 and project = $3 order by id desc limit $4"
        } else {
            "select * from sweep where id > $1 and id < $2 and project = $3 order by id limit $4"
        };
        let rows = sqlx::query(statement)
            .bind(low)
            .bind(high)
            .bind(self.own_project())
            .bind(i64::from(page.limit))
            .fetch_all(&self.readers)
            .await?;
        let mut reader = self.readers.acquire().await?;
        let mut all = Vec::with_capacity(rows.len());
        for row in &rows {
            let id: SweepId = read("sweep id", row.try_get("id")?)?;
            all.push(sweep(row, counts(&mut reader, id).await?)?);
        }
        Ok(all)
    }

    /// The trials of a sweep, in their order.
    pub async fn trials(&self, id: SweepId) -> Result<Vec<TrialRow>> {
        let rows = sqlx::query(
            "select trial.number, configuration, seed, job_id, reused, status, step from sweep_trial as trial
             left join job on job.id = trial.job_id where sweep_id = $1 order by trial.number",
        );
        rows.bind(id.to_string()).fetch_all(&self.readers).await?.iter().map(trial).collect()
    }

    /// The newest job that has finished the same work.
    pub async fn done_before(&self, spec_digest: &str) -> Result<Option<JobId>> {
        let id: Option<String> = sqlx::query_scalar(
            "select id from job where project = $1 and spec_digest = $2 and status = 'succeeded' order by id desc limit 1",
        )
        .bind(self.own_project())
        .bind(spec_digest)
        .fetch_optional(&self.readers)
        .await?;
        id.map(|id| read("job id", &id)).transpose()
    }

    /// Has no more trials begin, or has them begin again; `at_once` of them from now on, if it says so.
    pub async fn change_sweep(
        &self,
        id: SweepId,
        status: Option<SweepStatus>,
        at_once: Option<u32>,
        now: Timestamp,
    ) -> Result<SweepRow> {
        let mut tx = self.begin().await?;
        let before = self.open_sweep(tx.connection(), id).await?;
        sqlx::query("update sweep set status = $2, at_once = $3 where id = $1")
            .bind(id.to_string())
            .bind(status.unwrap_or(before.0).as_str())
            .bind(at_once.map_or(before.1, i64::from))
            .execute(tx.connection())
            .await?;
        advance(tx.connection(), id, now).await?;
        tx.commit().await?;
        self.written.notify_one();
        self.sweep(id).await
    }

    /// Ends a sweep with all its jobs that are not over, but for those that were there before it.
    pub async fn cancel_sweep(&self, id: SweepId, now: Timestamp) -> Result<SweepRow> {
        self.despite_full(|| async move {
            let mut tx = self.begin().await?;
            self.open_sweep(tx.connection(), id).await?;
            let rows = sqlx::query(
                "select job_id, status from sweep_trial join job on job.id = job_id where sweep_id = $1 and reused = 0",
            );
            for row in rows.bind(id.to_string()).fetch_all(tx.connection()).await? {
                let job: JobId = read("job id", row.try_get("job_id")?)?;
                let to = match read("job status", row.try_get("status")?)? {
                    JobStatus::Queued | JobStatus::Paused => JobStatus::Cancelled,
                    JobStatus::Starting | JobStatus::Running | JobStatus::Pausing => JobStatus::Cancelling,
                    JobStatus::Cancelling | JobStatus::Succeeded | JobStatus::Failed | JobStatus::Cancelled => continue,
                };
                move_job(tx.connection(), job, &Transition::to(to, CANCELLED), now).await?;
            }
            sqlx::query("update sweep set status = 'cancelled', finished_at = $2 where id = $1")
                .bind(id.to_string())
                .bind(now.0)
                .execute(tx.connection())
                .await?;
            tx.commit().await?;
            self.sweep(id).await
        })
        .await
    }

    /// Has the next trials of all sweeps begin whose turn it is, and ends sweeps whose jobs are all over.
    pub async fn advance_sweeps(&self, now: Timestamp) -> Result<()> {
        let open: Vec<String> =
            sqlx::query_scalar("select id from sweep where finished_at is null order by created_at limit $1")
                .bind(MOST_OPEN)
                .fetch_all(&self.readers)
                .await?;
        for id in open {
            let id: SweepId = read("sweep id", &id)?;
            // Others must not wait for a lock that nothing is done with.
            let went_on = match self.has_work(id).await {
                Ok(true) => self.advance_sweep(id, now).await,
                nothing => nothing.map(drop),
            };
            if let Err(error) = went_on {
                tracing::warn!(sweep = %id, %error, "a sweep could not go on; it is tried again");
            }
        }
        Ok(())
    }

    async fn advance_sweep(&self, id: SweepId, now: Timestamp) -> Result<()> {
        let mut tx = self.begin().await?;
        advance(tx.connection(), id, now).await?;
        tx.commit().await?;
        self.written.notify_one();
        Ok(())
    }

    async fn has_work(&self, id: SweepId) -> Result<bool> {
        let row = sqlx::query("select status, at_once from sweep where id = $1").bind(id.to_string());
        let Some(row) = row.fetch_optional(&self.readers).await? else { return Ok(false) };
        let counts = counts(&mut *self.readers.acquire().await?, id).await?;
        let status: SweepStatus = read("sweep status", row.try_get("status")?)?;
        let goes_on = status == SweepStatus::Running && counts.waiting > 0;
        Ok((goes_on && counts.active < number(&row, "at_once")?) || counts.is_over())
    }

    /// The status of a sweep that is not over, and how many of its trials run at once.
    async fn open_sweep(&self, connection: &mut AnyConnection, id: SweepId) -> Result<(SweepStatus, i64)> {
        let row = sqlx::query("select status, at_once from sweep where id = $1 and project = coalesce($2, project)")
            .bind(id.to_string())
            .bind(self.project())
            .fetch_optional(connection)
            .await?
            .ok_or_else(|| StoreError::NotFound { what: "sweep", id: id.to_string() })?;
        let status = read("sweep status", row.try_get("status")?)?;
        match status {
            SweepStatus::Running | SweepStatus::Paused => Ok((status, row.try_get("at_once")?)),
            SweepStatus::Cancelled | SweepStatus::Finished => {
                let detail = format!("the sweep is {status}; make another one");
                Err(StoreError::Refused { code: "sweep_over", detail })
            }
        }
    }
}

impl TrialCounts {
    /// Whether nothing of it is left to be done.
    fn is_over(&self) -> bool {
        self.succeeded + self.lost == self.all
    }
}

async fn insert_sweep(
    connection: &mut AnyConnection,
    new: &NewSweep,
    trials: &[Trial],
    project: &str,
    now: Timestamp,
) -> Result<()> {
    sqlx::query(
        "insert into sweep (id, project, name, request, configurations, at_once, status, created_at)
         values ($1, $2, $3, $4, $5, $6, 'running', $7)",
    )
    .bind(new.id.to_string())
    .bind(project)
    .bind(&new.name)
    .bind(write_json(&new.request)?)
    .bind(write_json(&new.configurations)?)
    .bind(i64::from(new.at_once))
    .bind(now.0)
    .execute(&mut *connection)
    .await?;
    let numbered: Vec<(i64, &Trial)> = (0..).zip(trials).collect();
    for some in numbered.chunks(ROWS) {
        let mut trials =
            Statement::new("insert into sweep_trial (sweep_id, number, configuration, seed, job_id, reused) ");
        trials.rows(some, |row, (number, trial)| {
            row.bind(new.id.to_string())
                .bind(*number)
                .bind(i64::from(trial.configuration))
                .bind(i64::try_from(trial.seed).unwrap_or(i64::MAX))
                .bind(trial.job.to_string())
                .bind(i64::from(trial.reused));
        });
        trials.finish()?.persistent(false).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Puts the next trials into the queue, as many as may begin, and ends a sweep of which nothing is left to be done.
async fn advance(connection: &mut AnyConnection, id: SweepId, now: Timestamp) -> Result<()> {
    let row = sqlx::query("select status, at_once from sweep where id = $1 and finished_at is null");
    let Some(row) = row.bind(id.to_string()).fetch_optional(&mut *connection).await? else { return Ok(()) };
    let counts = counts(connection, id).await?;
    if counts.is_over() {
        sqlx::query("update sweep set status = 'finished', finished_at = $2 where id = $1")
            .bind(id.to_string())
            .bind(now.0)
            .execute(connection)
            .await?;
        return Ok(());
    }
    if read::<SweepStatus>("sweep status", row.try_get("status")?)? != SweepStatus::Running {
        return Ok(());
    }
    let room = number::<u64>(&row, "at_once")?.saturating_sub(counts.active);
    let next: Vec<String> = sqlx::query_scalar(
        "select job_id from sweep_trial as trial join job on job.id = trial.job_id
         where sweep_id = $1 and released_at is null and reused = 0 and status = 'paused' order by trial.number limit $2",
    )
    .bind(id.to_string())
    .bind(i64::try_from(room).unwrap_or(i64::MAX))
    .fetch_all(&mut *connection)
    .await?;
    for job in next {
        sqlx::query("update sweep_trial set released_at = $3 where sweep_id = $1 and job_id = $2")
            .bind(id.to_string())
            .bind(&job)
            .bind(now.0)
            .execute(&mut *connection)
            .await?;
        let turn = Transition::to(JobStatus::Queued, format!("its turn in {id}"));
        move_job(connection, read("job id", &job)?, &turn, now).await?;
    }
    Ok(())
}

async fn counts(connection: &mut AnyConnection, id: SweepId) -> Result<TrialCounts> {
    let row = sqlx::query(
        "select count(*) as total,
                count(case when released_at is null and reused = 0 and status = 'paused' then 1 end) as waiting,
                count(case when status in ('queued', 'starting', 'running', 'pausing', 'cancelling') then 1 end) as active,
                count(case when released_at is not null and status = 'paused' then 1 end) as paused,
                count(case when status = 'succeeded' then 1 end) as succeeded,
                count(case when status is null or status in ('failed', 'cancelled') then 1 end) as lost
         from sweep_trial as trial left join job on job.id = trial.job_id where sweep_id = $1",
    )
    .bind(id.to_string())
    .fetch_one(connection)
    .await?;
    let of = |column| number(&row, column);
    Ok(TrialCounts {
        all: of("total")?,
        waiting: of("waiting")?,
        active: of("active")?,
        paused: of("paused")?,
        succeeded: of("succeeded")?,
        lost: of("lost")?,
    })
}

fn sweep(row: &AnyRow, counts: TrialCounts) -> Result<SweepRow> {
    let finished_at: Option<i64> = row.try_get("finished_at")?;
    Ok(SweepRow {
        id: read("sweep id", row.try_get("id")?)?,
        name: row.try_get("name")?,
        configurations: read_json("configurations", row.try_get("configurations")?)?,
        at_once: number(row, "at_once")?,
        status: read("sweep status", row.try_get("status")?)?,
        created_at: Timestamp(row.try_get("created_at")?),
        finished_at: finished_at.map(Timestamp),
        counts,
    })
}

fn trial(row: &AnyRow) -> Result<TrialRow> {
    let status: Option<String> = row.try_get("status")?;
    Ok(TrialRow {
        number: number(row, "number")?,
        configuration: number(row, "configuration")?,
        seed: number(row, "seed")?,
        job: read("job id", row.try_get("job_id")?)?,
        reused: flag(row, "reused")?,
        status: status.map(|status| read("job status", &status)).transpose()?,
        step: optional(row, "step")?.unwrap_or_default(),
    })
}
