//! How far jobs that run are, from what their workers have written down.

use sqlx::Row;

use super::{JobRow, Result, Store, read_json};
use crate::job::event::PhaseProgress;
use crate::job::progress::{BLOCK, Pace, Progress};
use crate::job::{JobId, Phase, Timestamp};

/// Blocks whose times are looked at, the newest ones.
const BLOCKS: i64 = 32;

impl Store {
    /// How far a job is that runs.
    pub async fn progress(&self, job: &JobRow, now: Timestamp) -> Result<Progress> {
        let steps = job.work().steps();
        if steps == 0 {
            return Ok(Progress { fraction: self.phase_fraction(job.id).await?, expected_end: None });
        }
        let pace = self.pace(job).await?;
        let expected_end = pace.and_then(|pace| pace.end(now));
        Ok(Progress { fraction: job.step as f64 / steps as f64, expected_end })
    }

    async fn pace(&self, job: &JobRow) -> Result<Option<Pace>> {
        let attempt = sqlx::query("select started_at, first_step from attempt where job_id = $1 and number = $2")
            .bind(job.id.to_string())
            .bind(i64::from(job.attempt))
            .fetch_optional(&self.readers)
            .await?;
        let Some(attempt) = attempt else { return Ok(None) };
        let first_step = attempt.try_get::<i64, _>("first_step")?.unsigned_abs();
        if job.step <= first_step || job.phase == Some(Phase::Loading) {
            return Ok(None);
        }
        // Whole blocks of this attempt.
        let [first, end] =
            [first_step / BLOCK + 1, job.step / BLOCK].map(|block| i64::try_from(block).unwrap_or(i64::MAX));
        let blocks = sqlx::query_scalar(
            "select sum(value_sum) / max(value_count) from metric_rollup
             where job_id = $1 and width = 16 and name in ('time/step_seconds', 'time/rollout_seconds')
               and bucket >= $2 and bucket < $3
             group by bucket",
        )
        .bind(job.id.to_string())
        .bind(first.max(end - BLOCKS))
        .bind(end)
        .fetch_all(&self.readers)
        .await?;
        let began_at = Timestamp(attempt.try_get("started_at")?);
        Ok(Some(Pace { began_at, first_step, step: job.step, steps: job.work().steps(), blocks }))
    }

    /// How far the phase is that the job told of last.
    async fn phase_fraction(&self, job: JobId) -> Result<f64> {
        let text: Option<String> = sqlx::query_scalar(
            "select data from event where job_id = $1 and type = 'progress' order by seq desc limit 1",
        )
        .bind(job.to_string())
        .fetch_optional(&self.readers)
        .await?;
        let Some(text) = text else { return Ok(0.0) };
        let progress: PhaseProgress = read_json("progress", &text)?;
        Ok(progress.done as f64 / progress.total.max(1) as f64)
    }
}
