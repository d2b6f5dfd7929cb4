//! What a worker reports while it runs a job: events, and what follows from them.

use super::events::append;
use super::lease::{Lease, fence};
use super::transitions::{Transition, move_job};
use super::{Result, Store, metrics};
use crate::job::{EventBody, JobStatus, NewEvent, Timestamp};

impl Store {
    /// Adds events of a running attempt and what follows from them: phase, step and metrics. All or none.
    pub async fn record(&self, lease: Lease, events: &[NewEvent], now: Timestamp) -> Result<()> {
        let mut tx = self.begin_in_job().await?;
        if fence(tx.connection(), lease, now).await? == JobStatus::Starting {
            // The status of a job concerns others too.
            drop(tx);
            tx = self.begin().await?;
            if fence(tx.connection(), lease, now).await? == JobStatus::Starting {
                let begun = Transition::to(JobStatus::Running, format!("attempt {}", lease.attempt));
                move_job(tx.connection(), lease.job, &begun, now).await?;
            }
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
                EventBody::Metrics(metrics) => {
                    let step = i64::try_from(metrics.step).unwrap_or(i64::MAX);
                    sqlx::query("update job set step = $2 where id = $1")
                        .bind(lease.job.to_string())
                        .bind(step)
                        .execute(tx.connection())
                        .await?;
                    metrics::record(tx.connection(), lease.job, step, &metrics.values).await?;
                }
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
