//! What a worker reports while it runs a job: events, and what follows from them.

use sqlx::sqlite::SqliteConnection;

use super::events::append;
use super::lease::{Lease, fence};
use super::transitions::{Transition, move_job};
use super::{Result, Store};
use crate::job::event::StepMetrics;
use crate::job::{EventBody, JobId, JobStatus, NewEvent, Timestamp};

impl Store {
    /// Adds events of a running attempt and what follows from them: phase, step and metrics. All or none.
    pub async fn record(&self, lease: Lease, events: &[NewEvent], now: Timestamp) -> Result<()> {
        let mut tx = self.begin().await?;
        if fence(tx.connection(), lease, now).await? == JobStatus::Starting {
            let begun = Transition::to(JobStatus::Running, format!("attempt {}", lease.attempt));
            move_job(tx.connection(), lease.job, &begun, now).await?;
        }
        for event in events {
            append(tx.connection(), lease.job, event, now).await?;
            match &event.body {
                EventBody::Phase(change) => {
                    sqlx::query("update job set phase = $2 where id = $1")
                        .bind(lease.job.to_string())
                        .bind(change.phase.as_str())
                        .execute(tx.connection())
                        .await?;
                }
                EventBody::Metrics(metrics) => record_metrics(tx.connection(), lease.job, metrics).await?,
                EventBody::Status(_)
                | EventBody::Progress(_)
                | EventBody::Evaluation(_)
                | EventBody::Checkpoint(_)
                | EventBody::RolloutSet(_)
                | EventBody::Log(_) => {}
            }
        }
        tx.commit().await
    }
}

async fn record_metrics(connection: &mut SqliteConnection, job: JobId, metrics: &StepMetrics) -> Result<()> {
    let step = i64::try_from(metrics.step).unwrap_or(i64::MAX);
    sqlx::query("update job set step = $2 where id = $1")
        .bind(job.to_string())
        .bind(step)
        .execute(&mut *connection)
        .await?;
    for (name, value) in metrics.values.iter() {
        // One that is not finite is in the event as null, and not in the table.
        let Some(value) = value else { continue };
        // A resumed attempt repeats the steps behind its checkpoint; the later value stands.
        sqlx::query(
            "insert into metric (job_id, name, step, value) values ($1, $2, $3, $4)
             on conflict (job_id, name, step) do update set value = excluded.value",
        )
        .bind(job.to_string())
        .bind(name)
        .bind(step)
        .bind(value)
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}
