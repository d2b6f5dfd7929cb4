//! How far jobs that run are, from what their workers have written down.

use std::collections::BTreeMap;
use std::ops::Range;

use sqlx::Row;

use super::{JobRow, MetricQuery, Result, Store, read_json};
use crate::job::event::PhaseProgress;
use crate::job::progress::{BLOCK, Pace, Progress};
use crate::job::{JobId, Phase, Timestamp};

/// Blocks whose times are looked at, the newest ones.
const BLOCKS: u64 = 32;

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
        let (first, end) = (first_step / BLOCK + 1, job.step / BLOCK);
        let blocks = self.seconds_of_steps(job.id, first.max(end.saturating_sub(BLOCKS))..end).await?;
        let began_at = Timestamp(attempt.try_get("started_at")?);
        Ok(Some(Pace { began_at, first_step, step: job.step, steps: job.work().steps(), blocks }))
    }

    /// How long a step took in each of some blocks.
    async fn seconds_of_steps(&self, job: JobId, blocks: Range<u64>) -> Result<Vec<f64>> {
        if blocks.is_empty() {
            return Ok(Vec::new());
        }
        let names = ["time/step_seconds", "time/rollout_seconds"].map(String::from);
        let steps = blocks.start * BLOCK..=blocks.end * BLOCK - 1;
        let all = self.metrics(job, &MetricQuery { names: &names, steps, points: 2 * BLOCK * BLOCKS }).await?;
        let mut seconds: BTreeMap<u64, f64> = BTreeMap::new();
        for (step, value) in all.iter().flat_map(|series| series.steps.iter().zip(&series.values)) {
            *seconds.entry(step / BLOCK).or_default() += value / BLOCK as f64;
        }
        Ok(seconds.into_values().collect())
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::job::event::StepMetrics;
    use crate::job::{DeviceReading, EventBody, JobKind, NewEvent, WorkerId};
    use crate::store::{NewJob, WorkerRow};

    #[tokio::test]
    async fn the_spread_of_the_steps_so_far_says_how_late_the_end_may_be() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let (now, worker, device) = (Timestamp(1_000), WorkerId::generate(), String::from("simulated:0"));
        store.set_devices(&[DeviceReading::of_test(&device, 0, 1 << 40)], now).await.unwrap();
        let row = WorkerRow {
            id: worker,
            device: device.clone(),
            description: String::new(),
            pid: 1,
            started_at: now,
            seen_at: now,
        };
        store.add_worker(&row).await.unwrap();
        let dataset = json!({"train": "builtin:arithmetic"});
        let spec = json!({"model": "builtin:arith-tiny", "dataset": dataset, "objective": {"type": "sft"}});
        store.submit_job(NewJob::of_kind(JobKind::Train, spec), None, now).await.unwrap();
        let lease = store.claim(worker, &device, now).await.unwrap().unwrap().lease;
        let mut events = vec![NewEvent::info(
            "training",
            EventBody::Phase(crate::job::event::PhaseChange { phase: Phase::Training, step: 0 }),
        )];
        for step in 1..=70 {
            let seconds = 1.0 + (step / BLOCK) as f64;
            let values = [("time/step_seconds", seconds), ("time/rollout_seconds", 0.5)].into_iter().collect();
            events.push(NewEvent::info("a step", EventBody::Metrics(StepMetrics { step, values })));
        }
        store.record(lease, &events, now).await.unwrap();
        let blocks = store.seconds_of_steps(lease.job, 1..4).await.unwrap();
        assert_eq!(blocks, [2.5, 3.5, 4.5]);
        let job = store.job(lease.job).await.unwrap();
        let end = store.progress(&job, Timestamp(100_000)).await.unwrap().expected_end.unwrap();
        assert!(end.p90.is_some_and(|late| late > end.p50), "{end:?}");
    }
}
