//! Sweeps: jobs that were submitted together. All but the first wait as paused ones, and are put into the queue as others end.

mod insertion;
mod rungs;

use std::collections::BTreeMap;

use serde_json::Value;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

pub use self::insertion::{NewSweep, NewTrial, Work};
use self::insertion::{Trials, insert_sweep};
use self::rungs::Rung;
use super::jobs::spent;
use super::transitions::{Transition, move_job};
use super::{
    MetricQuery, MetricSeries, Page, ROWS, Result, Store, StoreError, flag, number, optional, read, read_json,
    write_json,
};
use crate::job::sweep::halving::Halving;
use crate::job::sweep::measure::Measure;
use crate::job::{JobId, JobStatus, SweepId, SweepStatus, Timestamp};

/// Sweeps that are looked after.
const MOST_OPEN: i64 = 10_000;
const CANCELLED: &str = "cancelled with its sweep";

/// What is changed of a sweep that is there.
#[derive(Clone, Debug, Default)]
pub struct SweepChange {
    pub status: Option<SweepStatus>,
    pub at_once: Option<u32>,
    pub budget_seconds: Option<u64>,
    /// They follow those that there are.
    pub trials: Vec<NewTrial>,
}

/// A sweep.
#[derive(Clone, Debug)]
pub struct SweepRow {
    pub state: SweepState,
    pub name: Option<String>,
    /// As the client sent it.
    pub request: Value,
    pub configurations: Value,
    pub created_at: Timestamp,
    pub finished_at: Option<Timestamp>,
}

/// How far a sweep is: what of it is looked at again and again.
#[derive(Clone, Debug)]
pub struct SweepState {
    pub id: SweepId,
    pub status: SweepStatus,
    pub at_once: u32,
    pub halving: Option<Halving>,
    /// How often configurations were given up.
    pub rung: usize,
    pub budget_seconds: Option<u64>,
    /// Milliseconds of devices that its jobs have used.
    pub spent: i64,
    pub counts: TrialCounts,
}

/// The columns of [`SweepState`].
macro_rules! state {
    () => {
        "id, status, at_once, halving, rung, budget_seconds"
    };
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
    /// Cancelled, as their configurations were given up.
    pub dropped: u64,
    /// Failed, or cancelled otherwise, or deleted since.
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
    /// The step of the last decision that it has reached, and what it was worth there.
    pub held_at: Option<u64>,
    pub held_value: Option<f64>,
    /// Its configuration was given up.
    pub dropped: bool,
}

impl Store {
    /// Makes a sweep with all its jobs, of which the first begin to wait for devices, in one transaction.
    pub async fn add_sweep(&self, mut sweep: NewSweep, now: Timestamp) -> Result<SweepRow> {
        let (id, project) = (sweep.id, self.own_project().to_owned());
        let trials = Trials::of(std::mem::take(&mut sweep.trials), &project, now)?;
        let (rooms, mut tx) = self.begin_jobs(&project, trials.requests.len()).await?;
        insert_sweep(tx.connection(), &sweep, &project, now).await?;
        trials.insert(tx.connection(), id, 0).await?;
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
        sweep(&row, &known(&mut *self.readers.acquire().await?, &[id.to_string()]).await?)
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
        let ids: Vec<String> = rows.iter().map(|row| row.try_get("id")).collect::<std::result::Result<_, _>>()?;
        let known = known(&mut *self.readers.acquire().await?, &ids).await?;
        rows.iter().map(|row| sweep(row, &known)).collect()
    }

    /// The trials of a sweep, in their order.
    pub async fn trials(&self, id: SweepId) -> Result<Vec<TrialRow>> {
        let rows = sqlx::query(
            "select trial.number, configuration, seed, job_id, reused, status, step, held_at, held_value, dropped
             from sweep_trial as trial left join job on job.id = trial.job_id where sweep_id = $1 order by trial.number",
        );
        rows.bind(id.to_string()).fetch_all(&self.readers).await?.iter().map(trial).collect()
    }

    /// The newest job that has finished the same work, by the same program from its beginning to its end. One that repeated the
    /// end of another as a proof has not done all of it.
    pub async fn done_before(&self, spec_digest: &str, program: &str) -> Result<Option<JobId>> {
        let id: Option<String> = sqlx::query_scalar(
            "select id from job where project = $1 and spec_digest = $2 and status = 'succeeded'
                 and not exists (select 1 from attempt where job_id = job.id and coalesce(program, '') <> $3)
                 and not exists (select 1 from verification where verification.job_id = job.id)
             order by id desc limit 1",
        )
        .bind(self.own_project())
        .bind(spec_digest)
        .bind(program)
        .fetch_optional(&self.readers)
        .await?;
        id.map(|id| read("job id", &id)).transpose()
    }

    /// What a measure of a job was after `step` optimizer steps, or in the end. Of a metric that not every step reports it is
    /// the newest value.
    pub async fn measured(&self, job: JobId, measure: Measure<'_>, step: Option<u64>) -> Result<Option<f64>> {
        Ok(match (measure, step) {
            (Measure::PassAt(k), _) => {
                let evaluations = self.policy_evaluations(job).await?;
                let mut of_step = evaluations.iter().rev().filter(|found| step.is_none_or(|step| found.step == step));
                let rates = of_step.next().into_iter().flat_map(|evaluation| &evaluation.pass_at);
                rates.filter(|rate| rate.k == k).map(|rate| rate.mean).next()
            }
            (Measure::Metric(name), None) => self.last_metrics(job, &[name]).await?.first().map(|(_, _, value)| *value),
            (Measure::Metric(name), Some(step)) => {
                let names = [name.to_owned()];
                let query = MetricQuery { names: &names, steps: 0..=step, points: 2 };
                let newest = |series: &MetricSeries| {
                    series.buckets.as_ref().map_or(&series.values, |buckets| &buckets.last).last().copied()
                };
                self.metrics(job, &query).await?.first().and_then(newest)
            }
        })
    }

    /// Changes a sweep: has no more trials begin or has them begin again, how many at once, how long, and more of them. One
    /// that has ended goes on if it gets more trials.
    pub async fn change_sweep(&self, id: SweepId, change: SweepChange, now: Timestamp) -> Result<SweepRow> {
        let project = self.project_of_sweep(id).await?;
        let trials = Trials::of(change.trials, &project, now)?;
        if !trials.all.is_empty() {
            drop(self.storage_room(0).await?);
        }
        // As whoever adds jobs does.
        let mut rooms = self.submissions.rooms.lock().await;
        let mut tx = self.begin().await?;
        let before = self.open_sweep(tx.connection(), id, !trials.all.is_empty()).await?;
        let status = change.status.unwrap_or(before.status);
        if status == SweepStatus::Running && is_spent(change.budget_seconds.or(before.budget_seconds), before.spent) {
            let detail = "its budget is spent; raise `budget.device_seconds`, and have it go on with `paused: false`";
            return Err(StoreError::Refused { code: "budget_exhausted", detail: detail.to_owned() });
        }
        if !trials.all.is_empty() {
            trials.check(tx.connection(), id).await?;
            self.take_room(tx.connection(), &mut rooms, &project, trials.requests.len()).await?;
            trials.insert(tx.connection(), id, i64::try_from(before.counts.all).unwrap_or(i64::MAX)).await?;
        }
        sqlx::query("update sweep set status = $2, at_once = $3, finished_at = null where id = $1")
            .bind(id.to_string())
            .bind(status.as_str())
            .bind(i64::from(change.at_once.unwrap_or(before.at_once)))
            .execute(tx.connection())
            .await?;
        if let Some(seconds) = change.budget_seconds {
            sqlx::query("update sweep set budget_seconds = $2 where id = $1")
                .bind(id.to_string())
                .bind(i64::try_from(seconds).unwrap_or(i64::MAX))
                .execute(tx.connection())
                .await?;
        }
        advance(tx.connection(), id, now).await?;
        tx.commit().await?;
        drop(rooms);
        self.written.notify_one();
        self.sweep(id).await
    }

    async fn project_of_sweep(&self, id: SweepId) -> Result<String> {
        let project = sqlx::query_scalar("select project from sweep where id = $1 and project = coalesce($2, project)");
        let project = project.bind(id.to_string()).bind(self.project()).fetch_optional(&self.readers).await?;
        project.ok_or_else(|| StoreError::NotFound { what: "sweep", id: id.to_string() })
    }

    /// Ends a sweep with all its jobs that are not over, but for those that were there before it.
    pub async fn cancel_sweep(&self, id: SweepId, now: Timestamp) -> Result<SweepRow> {
        self.despite_full(|| async move {
            let mut tx = self.begin().await?;
            self.open_sweep(tx.connection(), id, false).await?;
            let jobs = sqlx::query(
                "select job_id, status from sweep_trial join job on job.id = job_id where sweep_id = $1 and reused = 0",
            );
            let jobs = jobs.bind(id.to_string()).fetch_all(tx.connection()).await?;
            end_jobs(tx.connection(), &jobs, CANCELLED, now).await?;
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

    /// Has the next trials of all sweeps begin whose turn it is, gives up what is behind where that is to be decided, and ends
    /// sweeps whose jobs are all over.
    pub async fn advance_sweeps(&self, now: Timestamp) -> Result<()> {
        let rows = sqlx::query(concat!(
            "select ",
            state!(),
            " from sweep where finished_at is null order by created_at limit $1"
        ));
        let rows = rows.bind(MOST_OPEN).fetch_all(&self.readers).await?;
        for some in rows.chunks(ROWS) {
            let ids: Vec<String> = some.iter().map(|row| row.try_get("id")).collect::<std::result::Result<_, _>>()?;
            let known = known(&mut *self.readers.acquire().await?, &ids).await?;
            for (row, id) in some.iter().zip(&ids) {
                let went_on = match state(row, &known) {
                    Ok(state) => self.look_after(&state, now).await,
                    Err(error) => Err(error),
                };
                if let Err(error) = went_on {
                    tracing::warn!(sweep = id, %error, "a sweep could not go on; it is tried again");
                }
            }
        }
        Ok(())
    }

    /// Takes a transaction only where there is something to do: others would wait for it.
    async fn look_after(&self, seen: &SweepState, now: Timestamp) -> Result<()> {
        let rung = self.rung(seen).await?;
        let goes_on = seen.has_room() && self.can_begin(seen).await?;
        let has_news = rung.as_ref().is_some_and(Rung::has_news);
        if !(goes_on || has_news || seen.must_stop() || seen.is_over()) {
            return Ok(());
        }
        let mut tx = self.begin().await?;
        // A client, or another server that leads by now, may have been here.
        let Some(sweep) = open_state(tx.connection(), seen.id).await? else { return Ok(()) };
        if (sweep.status, sweep.rung) != (seen.status, seen.rung) {
            return Ok(());
        }
        if let Some(rung) = rung {
            rung.take(tx.connection(), now).await?;
        }
        if sweep.must_stop() {
            stop(tx.connection(), &sweep, now).await?;
        }
        advance(tx.connection(), seen.id, now).await?;
        tx.commit().await?;
        self.written.notify_one();
        Ok(())
    }

    /// Whether a trial's turn has come: those that wait at a step have theirs when it is decided.
    async fn can_begin(&self, sweep: &SweepState) -> Result<bool> {
        let next = sqlx::query(concat!("select 1 as one ", next!(), " limit 1"));
        let next = next.bind(sweep.id.to_string()).bind(sweep.decided()).fetch_optional(&self.readers).await?;
        Ok(next.is_some())
    }

    /// A sweep that is not over. One that has ended is open where it gets `more` trials.
    async fn open_sweep(&self, connection: &mut AnyConnection, id: SweepId, more: bool) -> Result<SweepState> {
        let row =
            sqlx::query(concat!("select ", state!(), " from sweep where id = $1 and project = coalesce($2, project)"));
        let row = row.bind(id.to_string()).bind(self.project()).fetch_optional(&mut *connection).await?;
        let row = row.ok_or_else(|| StoreError::NotFound { what: "sweep", id: id.to_string() })?;
        let state = state(&row, &known(connection, &[id.to_string()]).await?)?;
        match state.status {
            SweepStatus::Running | SweepStatus::Paused => Ok(state),
            SweepStatus::Finished if more => Ok(SweepState { status: SweepStatus::Running, ..state }),
            SweepStatus::Cancelled | SweepStatus::Finished => {
                let detail = format!("the sweep is {}; make another one", state.status);
                Err(StoreError::Refused { code: "sweep_over", detail })
            }
        }
    }
}

/// A sweep as it is within a transaction, if it is not over.
async fn open_state(connection: &mut AnyConnection, id: SweepId) -> Result<Option<SweepState>> {
    let row = sqlx::query(concat!("select ", state!(), " from sweep where id = $1 and finished_at is null"))
        .bind(id.to_string());
    let Some(row) = row.fetch_optional(&mut *connection).await? else { return Ok(None) };
    state(&row, &known(connection, &[id.to_string()]).await?).map(Some)
}

impl TrialCounts {
    /// Whether nothing of it is left to be done.
    fn is_over(&self) -> bool {
        self.succeeded + self.dropped + self.lost == self.all
    }
}

/// Ends those of some jobs (`job_id`, `status`) that are not over.
async fn end_jobs(connection: &mut AnyConnection, jobs: &[AnyRow], reason: &str, now: Timestamp) -> Result<()> {
    for row in jobs {
        let to = match read("job status", row.try_get("status")?)? {
            JobStatus::Queued | JobStatus::Paused => JobStatus::Cancelled,
            JobStatus::Starting | JobStatus::Running | JobStatus::Pausing => JobStatus::Cancelling,
            JobStatus::Cancelling | JobStatus::Succeeded | JobStatus::Failed | JobStatus::Cancelled => continue,
        };
        let job = read("job id", row.try_get("job_id")?)?;
        move_job(&mut *connection, job, &Transition::to(to, reason), now).await?;
    }
    Ok(())
}

/// Has a job rest, as one whose turn is yet to come, if it is under way.
async fn hold(connection: &mut AnyConnection, sweep: SweepId, job: &str, reason: &str, now: Timestamp) -> Result<()> {
    let status = sqlx::query_scalar("select status from job where id = $1").bind(job);
    let status: Option<String> = status.fetch_optional(&mut *connection).await?;
    let to = match status.map(|status| read("job status", &status)).transpose()? {
        Some(JobStatus::Queued) => JobStatus::Paused,
        Some(JobStatus::Starting | JobStatus::Running) => JobStatus::Pausing,
        _ => return Ok(()),
    };
    sqlx::query("update sweep_trial set released_at = null where sweep_id = $1 and job_id = $2")
        .bind(sweep.to_string())
        .bind(job)
        .execute(&mut *connection)
        .await?;
    move_job(connection, read("job id", job)?, &Transition::to(to, reason), now).await
}

fn is_spent(budget_seconds: Option<u64>, milliseconds: i64) -> bool {
    budget_seconds.is_some_and(|seconds| i128::from(milliseconds) >= i128::from(seconds) * 1000)
}

/// Pauses a sweep whose budget is spent, and its jobs with it.
async fn stop(connection: &mut AnyConnection, sweep: &SweepState, now: Timestamp) -> Result<()> {
    sqlx::query("update sweep set status = 'paused' where id = $1 and finished_at is null")
        .bind(sweep.id.to_string())
        .execute(&mut *connection)
        .await?;
    let seconds = sweep.budget_seconds.unwrap_or_default();
    let reason = format!("the {seconds} device seconds of {} are spent", sweep.id);
    let jobs = sqlx::query_scalar(
        "select job_id from sweep_trial where sweep_id = $1 and reused = 0 and released_at is not null",
    );
    let jobs: Vec<String> = jobs.bind(sweep.id.to_string()).fetch_all(&mut *connection).await?;
    for job in jobs {
        hold(&mut *connection, sweep.id, &job, &reason, now).await?;
    }
    Ok(())
}

/// Trials whose turn it is, of the sweep `$1`, which has decided up to the step `$2`.
macro_rules! next {
    () => {
        "from sweep_trial as trial join job on job.id = trial.job_id
         where sweep_id = $1 and released_at is null and reused = 0 and status = 'paused' and dropped = 0
           and coalesce(held_at, 0) <= $2"
    };
}
use next;

/// Puts the next trials into the queue, as many as may begin, and ends a sweep of which nothing is left to be done.
async fn advance(connection: &mut AnyConnection, id: SweepId, now: Timestamp) -> Result<()> {
    let Some(sweep) = open_state(connection, id).await? else { return Ok(()) };
    if sweep.is_over() {
        sqlx::query("update sweep set status = 'finished', finished_at = $2 where id = $1")
            .bind(id.to_string())
            .bind(now.0)
            .execute(connection)
            .await?;
        return Ok(());
    }
    if !sweep.has_room() {
        return Ok(());
    }
    let room = u64::from(sweep.at_once).saturating_sub(sweep.counts.active);
    let next: Vec<String> = sqlx::query_scalar(concat!("select job_id ", next!(), " order by trial.number limit $3"))
        .bind(id.to_string())
        .bind(sweep.decided())
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

/// What is known of a sweep's jobs.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    counts: TrialCounts,
    /// Milliseconds of devices.
    spent: i64,
}

async fn known(connection: &mut AnyConnection, sweeps: &[String]) -> Result<BTreeMap<SweepId, Known>> {
    let counted = sqlx::query(concat!(
        "select sweep_id, count(*) as total,
                count(case when released_at is null and dropped = 0 and status = 'paused' then 1
                           when reused = 1 and status in ('queued', 'starting', 'running', 'pausing', 'cancelling') then 1 end)
                    as waiting,
                count(case when reused = 0 and status in ('queued', 'starting', 'running', 'pausing', 'cancelling') then 1 end)
                    as active,
                count(case when released_at is not null and status = 'paused' then 1 end) as paused,
                count(case when status = 'succeeded' then 1 end) as succeeded,
                count(case when dropped = 1 and status = 'cancelled' then 1 end) as dropped,
                count(case when status is null or status = 'failed' or (status = 'cancelled' and dropped = 0) then 1 end)
                    as lost,
                cast(coalesce(sum(case when reused = 0 then ",
        spent!(),
        " end), 0) as bigint) as spent
         from sweep_trial as trial left join job on job.id = trial.job_id
         where sweep_id in (select value from json_each($1)) group by sweep_id"
    ));
    let rows = counted.bind(write_json(&sweeps)?).fetch_all(connection).await?;
    let of = |row: &AnyRow| {
        let of = |column| number(row, column);
        let counts = TrialCounts {
            all: of("total")?,
            waiting: of("waiting")?,
            active: of("active")?,
            paused: of("paused")?,
            succeeded: of("succeeded")?,
            dropped: of("dropped")?,
            lost: of("lost")?,
        };
        Ok((read("sweep id", row.try_get("sweep_id")?)?, Known { counts, spent: row.try_get("spent")? }))
    };
    rows.iter().map(of).collect()
}

fn sweep(row: &AnyRow, known: &BTreeMap<SweepId, Known>) -> Result<SweepRow> {
    let finished_at: Option<i64> = row.try_get("finished_at")?;
    Ok(SweepRow {
        state: state(row, known)?,
        name: row.try_get("name")?,
        request: read_json("request", row.try_get("request")?)?,
        configurations: read_json("configurations", row.try_get("configurations")?)?,
        created_at: Timestamp(row.try_get("created_at")?),
        finished_at: finished_at.map(Timestamp),
    })
}

fn state(row: &AnyRow, known: &BTreeMap<SweepId, Known>) -> Result<SweepState> {
    let id = read("sweep id", row.try_get("id")?)?;
    let halving: Option<String> = row.try_get("halving")?;
    let Known { counts, spent } = known.get(&id).copied().unwrap_or_default();
    Ok(SweepState {
        id,
        status: read("sweep status", row.try_get("status")?)?,
        at_once: number(row, "at_once")?,
        halving: halving.map(|halving| read_json("halving", &halving)).transpose()?,
        rung: number(row, "rung")?,
        budget_seconds: optional(row, "budget_seconds")?,
        spent,
        counts,
    })
}

impl SweepState {
    /// Whether nothing of it is left to be done, nor to be decided: jobs that are over can have come to several steps meanwhile.
    fn is_over(&self) -> bool {
        self.counts.is_over() && self.next_rung().is_none()
    }

    /// Whether more trials may begin.
    fn has_room(&self) -> bool {
        let has_time = !is_spent(self.budget_seconds, self.spent);
        self.status == SweepStatus::Running && has_time && self.counts.active < u64::from(self.at_once)
    }

    /// Whether its budget is spent, and it is not at rest. A sweep that a client has paused has jobs under way too.
    fn must_stop(&self) -> bool {
        let waits = self.status == SweepStatus::Running && self.counts.waiting > 0;
        is_spent(self.budget_seconds, self.spent) && (self.counts.active > 0 || waits)
    }

    /// The step of the next decision of which configurations go on, if there is one.
    fn next_rung(&self) -> Option<u64> {
        self.halving.as_ref()?.steps.get(self.rung).copied()
    }

    /// The step up to which it is decided.
    fn decided(&self) -> i64 {
        let steps = self.halving.as_ref().map_or(&[][..], |halving| &halving.steps);
        let last = self.rung.checked_sub(1).and_then(|last| steps.get(last));
        if self.rung >= steps.len() {
            i64::MAX
        } else {
            last.map_or(0, |step| i64::try_from(*step).unwrap_or(i64::MAX))
        }
    }
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
        held_at: optional(row, "held_at")?,
        held_value: row.try_get("held_value")?,
        dropped: flag(row, "dropped")?,
    })
}
