//! Successive halving: trials that have reached a step wait there for the others, and of the configurations only the better
//! ones go on. What is decided depends on what jobs have measured at that step alone, and not on who was there first; so a
//! trial that is seen late takes some steps more, which are no one's.

use std::collections::BTreeMap;

use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use super::{SweepState, end_jobs, hold};
use crate::job::sweep::halving::Halving;
use crate::job::sweep::measure::Measure;
use crate::job::{JobStatus, SweepId, Timestamp};
use crate::store::{Result, Store, StoreError, number, optional};

/// A decision that is to be taken, and which trials have come to it since it was looked last.
pub(super) struct Rung<'a> {
    sweep: SweepId,
    halving: &'a Halving,
    step: u64,
    arrived: Vec<Arrived>,
}

struct Arrived {
    number: u32,
    job: String,
    /// None where the job has gone on, or has ended, without it.
    value: Option<f64>,
}

/// A trial of a configuration that was not given up.
struct Standing {
    number: i64,
    configuration: u32,
    job: String,
    has_come: bool,
    value: Option<f64>,
}

impl Store {
    /// The next decision of a sweep, if there is one to come.
    pub(super) async fn rung<'a>(&self, sweep: &'a SweepState) -> Result<Option<Rung<'a>>> {
        let (Some(halving), Some(step)) = (&sweep.halving, sweep.next_rung()) else { return Ok(None) };
        let unknown = || StoreError::Corrupt { what: "metric of a sweep", detail: halving.metric.clone() };
        let measure = Measure::of(&halving.metric).ok_or_else(unknown)?;
        let mut arrived = Vec::new();
        for trial in self.trials(sweep.id).await? {
            if trial.dropped || trial.held_at >= Some(step) {
                continue;
            }
            // A step is told with its metrics, and an evaluation after a step before the next one.
            let told = match measure {
                Measure::Metric(_) => trial.step >= step,
                Measure::PassAt(_) => trial.step > step,
            };
            let is_over = trial.status.is_none_or(JobStatus::is_final);
            if !is_over && trial.step < step {
                continue;
            }
            let value =
                if trial.status.is_some() { self.measured(trial.job, measure, Some(step)).await? } else { None };
            if is_over || told || value.is_some() {
                arrived.push(Arrived { number: trial.number, job: trial.job.to_string(), value });
            }
        }
        Ok(Some(Rung { sweep: sweep.id, halving, step, arrived }))
    }
}

impl Rung<'_> {
    pub(super) fn has_news(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// Writes down who has come, and decides if that are all; else those who have come wait.
    pub(super) async fn take(&self, connection: &mut AnyConnection, now: Timestamp) -> Result<()> {
        for Arrived { number, value, .. } in &self.arrived {
            self.note(connection, *number, *value).await?;
        }
        let standing = self.standing(connection).await?;
        if standing.iter().all(|trial| trial.has_come) {
            return self.decide(connection, &standing, now).await;
        }
        let reason = format!("waits at step {} for the other trials of {}", self.step, self.sweep);
        for Arrived { job, .. } in &self.arrived {
            hold(connection, self.sweep, job, &reason, now).await?;
        }
        Ok(())
    }

    async fn note(&self, connection: &mut AnyConnection, number: u32, value: Option<f64>) -> Result<()> {
        let held_at = i64::try_from(self.step).unwrap_or(i64::MAX);
        // A value that is missing has no type to be told to PostgreSQL.
        let statement = match value {
            Some(_) => "update sweep_trial set held_at = $3, held_value = $4 where sweep_id = $1 and number = $2",
            None => "update sweep_trial set held_at = $3, held_value = null where sweep_id = $1 and number = $2",
        };
        let mut query = sqlx::query(statement).bind(self.sweep.to_string()).bind(i64::from(number)).bind(held_at);
        if let Some(value) = value {
            query = query.bind(value);
        }
        query.execute(connection).await?;
        Ok(())
    }

    async fn standing(&self, connection: &mut AnyConnection) -> Result<Vec<Standing>> {
        let rows = sqlx::query(
            "select number, configuration, job_id, held_at, held_value from sweep_trial where sweep_id = $1 and dropped = 0
             order by number",
        );
        let rows = rows.bind(self.sweep.to_string()).fetch_all(connection).await?;
        let of = |row: &AnyRow| {
            let held_at: Option<u64> = optional(row, "held_at")?;
            Ok(Standing {
                number: row.try_get("number")?,
                configuration: number(row, "configuration")?,
                job: row.try_get("job_id")?,
                has_come: held_at >= Some(self.step),
                value: row.try_get("held_value")?,
            })
        };
        rows.iter().map(of).collect()
    }

    /// Gives up all but the better configurations.
    async fn decide(&self, connection: &mut AnyConnection, standing: &[Standing], now: Timestamp) -> Result<()> {
        let mut values: BTreeMap<u32, Vec<Option<f64>>> = BTreeMap::new();
        for trial in standing {
            values.entry(trial.configuration).or_default().push(trial.value);
        }
        let going_on = self.halving.going_on(&values);
        let reason = format!(
            "its configuration is not among the {} of {} that {} goes on with after step {}, by {}",
            going_on.len(),
            values.len(),
            self.sweep,
            self.step,
            self.halving.metric
        );
        for trial in standing.iter().filter(|trial| !going_on.contains(&trial.configuration)) {
            // By its number: several trials can be answered by one job.
            sqlx::query("update sweep_trial set dropped = 1 where sweep_id = $1 and number = $2")
                .bind(self.sweep.to_string())
                .bind(trial.number)
                .execute(&mut *connection)
                .await?;
            let job = sqlx::query(
                "select job_id, status from sweep_trial join job on job.id = job_id
                 where sweep_id = $1 and job_id = $2 and reused = 0",
            );
            let job = job.bind(self.sweep.to_string()).bind(&trial.job).fetch_all(&mut *connection).await?;
            end_jobs(connection, &job, &reason, now).await?;
        }
        // Of one that is left nothing more is to be decided.
        let rungs = self.halving.steps.len();
        let next = self.halving.steps.iter().position(|step| *step > self.step).filter(|_| going_on.len() > 1);
        sqlx::query("update sweep set rung = $2 where id = $1")
            .bind(self.sweep.to_string())
            .bind(next.unwrap_or(rungs) as i64)
            .execute(connection)
            .await?;
        Ok(())
    }
}
