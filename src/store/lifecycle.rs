//! What is asked of a job after its submission: to rest, to go on, to be changed, and to stop because its budget is
//! spent. How a job that was asked to stop ends, when its worker lets go of it, is in `queue`.

use std::time::Duration;

use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::events::append;
use super::inputs::check_inputs;
use super::jobs::{by_id, find_by_metadata, spent, stored_budget};
use super::transitions::{Transition, move_job};
use super::{Heartbeat, JobRow, Lease, Result, Store, StoreError, WriteTransaction, read, write_json};
use crate::job::{BudgetSpec, EventLevel, Failure, FailureKind, JobId, JobStatus, NewEvent, OnExhausted, Timestamp};
use crate::spec::Attributes;

/// What a client changes about a job.
#[derive(Clone, Debug)]
pub struct JobChange {
    pub attributes: Attributes,
    /// What the log says of it; a finished log takes nothing more.
    pub event: Option<NewEvent>,
}

impl Store {
    /// Pauses a waiting job at once; a running one is told to save itself and to let go of its devices. Pausing twice is
    /// the same as once.
    pub async fn pause_job(&self, id: JobId, now: Timestamp) -> Result<JobRow> {
        self.despite_full(|| async move {
            let (mut tx, row) = self.begin_with(id).await?;
            let status: JobStatus = read("job status", row.try_get("status")?)?;
            let next = match status {
                JobStatus::Queued => JobStatus::Paused,
                JobStatus::Starting | JobStatus::Running => JobStatus::Pausing,
                JobStatus::Pausing | JobStatus::Paused => return self.job(id).await,
                JobStatus::Cancelling | JobStatus::Succeeded | JobStatus::Failed | JobStatus::Cancelled => {
                    let detail = format!("the job is {status}; only one that waits or runs can be paused");
                    return Err(StoreError::Refused { code: "job_not_running", detail });
                }
            };
            move_job(tx.connection(), id, &Transition::to(next, "paused by a client"), now).await?;
            tx.commit().await?;
            self.job(id).await
        })
        .await
    }

    /// Puts a job that rests, or has ended without success, back into the queue, unless its budget is spent or something
    /// that it needs is gone. One that waits for space is tried at once.
    pub async fn resume_job(&self, id: JobId, now: Timestamp) -> Result<JobRow> {
        // Before the transaction, as whoever writes submissions does: it must not count without this job.
        let mut rooms = self.submissions.rooms.lock().await;
        let (mut tx, row) = self.begin_with(id).await?;
        if row.try_get::<Option<i64>, _>("storage_full_at")?.is_some() {
            drop(tx);
            self.end_space_wait(id, now).await?;
            return self.job(id).await;
        }
        if let Some((code, detail)) = no_resume(&row)? {
            return Err(StoreError::Refused { code, detail });
        }
        if read::<JobStatus>("job status", row.try_get("status")?)?.is_final() {
            let project: String = row.try_get("project")?;
            self.room(tx.connection(), &project, None, 1).await?.take(&project)?;
            rooms.remove(&project);
            check_inputs(tx.connection(), id).await?;
            sqlx::query("update job set crashes = 0 where id = $1")
                .bind(id.to_string())
                .execute(tx.connection())
                .await?;
        }
        // A trial of a sweep that a client has begin is not the sweep's to begin any more.
        sqlx::query("update sweep_trial set released_at = $2 where job_id = $1 and released_at is null")
            .bind(id.to_string())
            .bind(now.0)
            .execute(tx.connection())
            .await?;
        // One that had ended without a value may come to the same step once more, and then with one.
        sqlx::query("update sweep_trial set held_at = null where job_id = $1 and held_value is null and dropped = 0")
            .bind(id.to_string())
            .execute(tx.connection())
            .await?;
        move_job(tx.connection(), id, &Transition::to(JobStatus::Queued, "resumed by a client"), now).await?;
        tx.commit().await?;
        self.job(id).await
    }

    /// Changes a job as `change` wants it, which sees the row and may refuse; nothing comes between the two.
    pub async fn change_job<E: From<StoreError>>(
        &self,
        id: JobId,
        now: Timestamp,
        change: impl FnOnce(&JobRow) -> std::result::Result<Option<JobChange>, E>,
    ) -> std::result::Result<JobRow, E> {
        let mut tx = self.begin().await?;
        let row = by_id(tx.connection(), id, self.project()).await?;
        if let Some(change) = change(&row)? {
            write_change(tx.connection(), id, &change, now).await?;
        }
        tx.commit().await?;
        Ok(self.job(id).await?)
    }

    /// Asks the job of a lease to stop if its budget is spent by now.
    pub(super) async fn spend(
        &self,
        lease: Lease,
        budget: BudgetSpec,
        held: Duration,
        now: Timestamp,
    ) -> Result<Heartbeat> {
        if !budget.is_spent_by(spent_by(&mut *self.readers.acquire().await?, lease, held).await?) {
            return Ok(Heartbeat::GoOn);
        }
        let mut tx = self.begin().await?;
        let row = sqlx::query("select status, budget from job where id = $1 and attempt = $2")
            .bind(lease.job.to_string())
            .bind(i64::from(lease.attempt))
            .fetch_optional(tx.connection())
            .await?;
        let Some(row) = row else { return Ok(Heartbeat::Lost) };
        let status: JobStatus = read("job status", row.try_get("status")?)?;
        let budget = stored_budget(&row)?.filter(|_| Heartbeat::of(status) == Heartbeat::GoOn);
        let used = spent_by(tx.connection(), lease, held).await?;
        let Some(budget) = budget.filter(|budget| budget.is_spent_by(used)) else {
            return Ok(Heartbeat::of(status));
        };
        let stop = on_exhausted(&budget);
        move_job(tx.connection(), lease.job, &stop, now).await?;
        tx.commit().await?;
        Ok(Heartbeat::of(stop.to))
    }

    /// Begins a transaction with what decides about a job's next status.
    async fn begin_with(&self, id: JobId) -> Result<(WriteTransaction, AnyRow)> {
        let mut tx = self.begin().await?;
        let row = sqlx::query(concat!(
            "select status, budget, project, storage_full_at, ",
            spent!(),
            " as spent from job where id = $1 and project = coalesce($2, project)"
        ))
        .bind(id.to_string())
        .bind(self.project())
        .fetch_optional(tx.connection())
        .await?;
        let row = row.ok_or_else(|| StoreError::NotFound { what: "job", id: id.to_string() })?;
        Ok((tx, row))
    }
}

/// Why a job cannot be resumed, with a code.
fn no_resume(row: &AnyRow) -> Result<Option<(&'static str, String)>> {
    let status: JobStatus = read("job status", row.try_get("status")?)?;
    Ok(match status {
        JobStatus::Paused | JobStatus::Failed | JobStatus::Cancelled => {
            let used: i64 = row.try_get("spent")?;
            stored_budget(row)?.filter(|budget| budget.is_spent_by(used)).map(|budget| {
                let used = used as f64 / 1000.0;
                let detail = format!(
                    "{}: {used:.1} are used; raise `budget.device_seconds` with PATCH /v1/jobs/{{id}} and resume again",
                    budget.spent_reason()
                );
                ("budget_exhausted", detail)
            })
        }
        JobStatus::Pausing => {
            let detail = "the job is being saved and not paused yet; wait until its status is `paused`";
            Some(("job_pausing", detail.to_owned()))
        }
        JobStatus::Queued | JobStatus::Starting | JobStatus::Running | JobStatus::Cancelling | JobStatus::Succeeded => {
            let detail = format!("the job is {status}; one that is paused, has failed or was cancelled can be resumed");
            Some(("job_not_paused", detail))
        }
    })
}

/// How a job whose budget is spent stops while its worker still holds it.
fn on_exhausted(budget: &BudgetSpec) -> Transition {
    let reason = budget.spent_reason();
    let (to, failure) = match budget.on_exhausted {
        OnExhausted::Pause => (JobStatus::Pausing, None),
        OnExhausted::Cancel => (JobStatus::Cancelling, None),
        OnExhausted::Fail => (JobStatus::Cancelling, Some(exhausted(&reason))),
    };
    Transition { level: EventLevel::Warning, failure, ..Transition::to(to, reason) }
}

fn exhausted(reason: &str) -> Failure {
    Failure {
        kind: FailureKind::BudgetExhausted,
        code: FailureKind::BudgetExhausted.as_str().to_owned(),
        message: format!("{reason}; submit the job with a larger one, or with `on_exhausted` set to `pause`"),
    }
}

/// Milliseconds of devices that a job has used, with what the attempt under way has `held` them for.
async fn spent_by(connection: &mut AnyConnection, lease: Lease, held: Duration) -> Result<i64> {
    let spent = sqlx::query_scalar(concat!(
        "select ",
        spent!("max(held_milliseconds, case number when $2 then $3 else 0 end)"),
        " from job where id = $1"
    ));
    let spent = spent.bind(lease.job.to_string()).bind(i64::from(lease.attempt)).bind(held.as_millis() as i64);
    Ok(spent.fetch_one(connection).await?)
}

async fn write_change(connection: &mut AnyConnection, job: JobId, change: &JobChange, now: Timestamp) -> Result<()> {
    let Attributes { name, priority, metadata, budget } = &change.attributes;
    sqlx::query("update job set name = $2, priority = $3, metadata = $4, budget = $5, updated_at = $6 where id = $1")
        .bind(job.to_string())
        .bind(name)
        .bind(priority)
        .bind(write_json(metadata)?)
        .bind(budget.as_ref().map(write_json).transpose()?)
        .bind(now.0)
        .execute(&mut *connection)
        .await?;
    sqlx::query("delete from job_metadata where job_id = $1").bind(job.to_string()).execute(&mut *connection).await?;
    find_by_metadata(connection, &[job]).await?;
    if let Some(event) = &change.event {
        append(connection, job, event, now).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tempfile::TempDir;

    use super::*;
    use crate::job::{DeviceReading, DeviceStatus, JobKind, WorkerId};
    use crate::store::{Ended, NewJob};

    const NOW: Timestamp = Timestamp(1_750_000_000_000);

    /// A server's store with two devices and the worker of the first.
    struct Server {
        store: Store,
        worker: WorkerId,
        _folder: TempDir,
    }

    impl Server {
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(folder.path()).await.unwrap();
            let reading = |number: u32| DeviceReading::of_test(&format!("simulated:{number}"), number, 1 << 30);
            store.set_devices(&[reading(0), reading(1)], NOW).await.unwrap();
            let server = Self { store, worker: WorkerId::generate(), _folder: folder };
            for (id, device) in [(server.worker, "simulated:0"), (WorkerId::generate(), "simulated:1")] {
                let (device, description) = (device.to_owned(), String::new());
                let row = crate::store::WorkerRow { id, device, description, pid: 1, started_at: NOW, seen_at: NOW };
                server.store.add_worker(&row).await.unwrap();
            }
            server
        }

        /// Submits a job for `devices` of the devices.
        async fn submit(&self, devices: u32, budget: Value) -> JobId {
            let spec = json!({
                "model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"},
                "objective": {"type": "sft"}, "resources": {"devices": devices}, "budget": budget,
            });
            let new = NewJob::of_kind(JobKind::Train, spec);
            self.store.submit_job(new, None, NOW).await.unwrap().job.id
        }

        async fn claim(&self, now: Timestamp) -> Option<Lease> {
            let claim = self.store.claim(self.worker, "simulated:0", now).await.unwrap();
            claim.map(|claim| claim.lease)
        }

        /// What the worker learns `seconds` after its claim.
        async fn check(&self, lease: Lease, seconds: u64) -> Heartbeat {
            self.store.check_lease(lease, Duration::from_secs(seconds), NOW).await.unwrap()
        }

        /// A sign of life of the worker `seconds` after its claim, at `now`.
        async fn beat(&self, lease: Lease, seconds: u64, now: Timestamp) {
            self.store.beat(self.worker, &[(lease, Duration::from_secs(seconds))], now).await.unwrap();
        }

        async fn status(&self, job: JobId) -> JobStatus {
            self.store.job(job).await.unwrap().status
        }

        async fn all_idle(&self) -> bool {
            self.store.devices(NOW).await.unwrap().iter().all(|device| device.status == DeviceStatus::Idle)
        }
    }

    #[tokio::test]
    async fn a_pausing_job_becomes_paused_however_its_worker_lets_go_of_it() {
        let server = Server::new().await;
        for end in ["drained", "released"] {
            let job = server.submit(1, Value::Null).await;
            let lease = server.claim(NOW).await.unwrap();
            assert_eq!(server.store.pause_job(job, NOW).await.unwrap().status, JobStatus::Pausing, "{end}");
            assert_eq!(server.check(lease, 0).await, Heartbeat::Pause);
            let early = server.store.resume_job(job, NOW).await.unwrap_err();
            assert!(matches!(early, StoreError::Refused { code: "job_pausing", .. }), "{early:?}");
            match end {
                "drained" => server.store.end_attempt(lease, Ended::Drained, NOW).await.unwrap(),
                _ => assert_eq!(server.store.release_worker(server.worker, "killed", false, NOW).await.unwrap(), 1),
            }
            server.store.revive_worker(server.worker).await;
            assert_eq!((server.status(job).await, server.all_idle().await), (JobStatus::Paused, true), "{end}");
            assert!(server.claim(NOW).await.is_none(), "a paused job waits for a client");
            assert_eq!(server.store.resume_job(job, NOW).await.unwrap().status, JobStatus::Queued);
            let lease = server.claim(NOW).await.unwrap();
            assert_eq!((lease.job, lease.attempt), (job, 2));
            server.store.end_attempt(lease, Ended::Succeeded { result: json!({}) }, NOW).await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_cancellation_wins_over_a_pause_and_ends_a_paused_job_at_once() {
        let server = Server::new().await;
        let job = server.submit(1, Value::Null).await;
        let lease = server.claim(NOW).await.unwrap();
        server.store.pause_job(job, NOW).await.unwrap();
        assert_eq!(server.store.cancel_job(job, NOW).await.unwrap().status, JobStatus::Cancelling);
        assert_eq!(server.check(lease, 0).await, Heartbeat::Cancel);
        assert!(server.store.pause_job(job, NOW).await.is_err());
        // The engine was saving already when the cancellation came.
        server.store.end_attempt(lease, Ended::Drained, NOW).await.unwrap();
        assert_eq!(server.status(job).await, JobStatus::Cancelled);
        let paused = server.submit(1, Value::Null).await;
        assert_eq!(server.store.pause_job(paused, NOW).await.unwrap().status, JobStatus::Paused);
        let cancelled = server.store.cancel_job(paused, NOW).await.unwrap();
        assert_eq!((cancelled.status, cancelled.finished_at), (JobStatus::Cancelled, Some(NOW)));
    }

    #[tokio::test]
    async fn a_job_that_was_cancelled_goes_on_unless_what_it_refers_to_is_gone() {
        let server = Server::new().await;
        let job = server.submit(1, Value::Null).await;
        server.store.cancel_job(job, NOW).await.unwrap();
        for kind in ["model", "checkpoint", "dataset_version", "rollout_set"] {
            let mut tx = server.store.begin().await.unwrap();
            let input = "insert into job_input (job_id, role, kind, id) values ($1, 'model', $2, 'gone')
                         on conflict (job_id, role, id) do update set kind = excluded.kind";
            sqlx::query(input).bind(job.to_string()).bind(kind).execute(tx.connection()).await.unwrap();
            tx.commit().await.unwrap();
            let refused = server.store.resume_job(job, NOW).await.unwrap_err();
            assert!(matches!(refused, StoreError::Refused { code: "input_deleted", .. }), "{kind}: {refused:?}");
        }
        let other = server.submit(1, Value::Null).await;
        server.store.cancel_job(other, NOW).await.unwrap();
        assert_eq!(server.store.resume_job(other, NOW).await.unwrap().status, JobStatus::Queued);
    }

    #[tokio::test]
    async fn a_job_that_ends_while_it_is_asked_to_pause_has_ended() {
        let server = Server::new().await;
        let job = server.submit(1, Value::Null).await;
        let lease = server.claim(NOW).await.unwrap();
        server.store.pause_job(job, NOW).await.unwrap();
        server.store.end_attempt(lease, Ended::Succeeded { result: json!({}) }, NOW).await.unwrap();
        assert_eq!(server.status(job).await, JobStatus::Succeeded);
    }

    #[tokio::test]
    async fn device_seconds_add_up_over_attempts_and_devices_whatever_the_clock_does() {
        let server = Server::new().await;
        let job = server.submit(2, Value::Null).await;
        let seconds = async |now| server.store.job(job).await.unwrap().device_seconds(now);
        let lease = server.claim(NOW).await.unwrap();
        assert_eq!(seconds(NOW.plus_seconds(3)).await, 6.0, "two devices for three seconds");
        assert_eq!(
            seconds(NOW.plus_seconds(7200)).await,
            10.0,
            "a clock that is set forward adds what is not heard of"
        );
        assert_eq!(seconds(Timestamp(NOW.0 - 7_200_000)).await, 0.0, "and one that is set back takes nothing away");
        server.beat(lease, 6, NOW.plus_seconds(7206)).await;
        assert_eq!(seconds(NOW.plus_seconds(1)).await, 12.0);
        server.beat(lease, 7, NOW.plus_seconds(7)).await;
        server.store.end_attempt(lease, Ended::Drained, NOW.plus_seconds(7)).await.unwrap();
        assert_eq!(seconds(NOW.plus_seconds(15)).await, 14.0);
        // The worker dies, and nobody looks for a day: it had its devices until it was seen last.
        let lease = server.claim(NOW.plus_seconds(20)).await.unwrap();
        server.beat(lease, 60, NOW.plus_seconds(80)).await;
        server.store.release_worker(server.worker, "killed", false, NOW.plus_seconds(86_400)).await.unwrap();
        assert_eq!(seconds(NOW.plus_seconds(90_000)).await, 14.0 + 2.0 * 60.0);
        let page = crate::store::Page { after: None, limit: 10, newest_first: false };
        let attempts = server.store.attempts(job, None, &page).await.unwrap();
        let outcomes: Vec<_> = attempts.iter().map(|attempt| attempt.outcome.as_deref()).collect();
        assert_eq!(outcomes, [Some("drained"), Some("lost")]);
        assert_eq!(attempts[0].devices, ["simulated:0", "simulated:1"]);
    }

    #[tokio::test]
    async fn a_spent_budget_does_what_the_spec_says_and_says_why() {
        let server = Server::new().await;
        let ends = [
            ("pause", JobStatus::Pausing, JobStatus::Paused, "paused"),
            ("cancel", JobStatus::Cancelling, JobStatus::Cancelled, "cancelled"),
            ("fail", JobStatus::Cancelling, JobStatus::Failed, "failed"),
        ];
        for (action, asked, expected, outcome) in ends {
            let job = server.submit(2, json!({"device_seconds": 10, "on_exhausted": action})).await;
            let lease = server.claim(NOW).await.unwrap();
            assert_eq!(server.check(lease, 4).await, Heartbeat::GoOn, "{action}");
            let (later, answer) = (NOW.plus_seconds(5), server.check(lease, 5).await);
            assert_eq!((answer, server.status(job).await), (Heartbeat::of(asked), asked), "{action}");
            let ended = if action == "pause" { Ended::Drained } else { Ended::Cancelled };
            server.store.end_attempt(lease, ended, later).await.unwrap();
            let row = server.store.job(job).await.unwrap();
            assert_eq!(row.status, expected, "{action}");
            assert_eq!(
                row.failure.map(|failure| failure.code),
                (action == "fail").then(|| "budget_exhausted".to_owned())
            );
            let events = server.store.events(job, 0, 100).await.unwrap();
            let last = events.last().unwrap();
            assert!(last.message.contains("the budget of 10 device seconds is spent"), "{}", last.message);
            let warned = server.store.notable_events(job, 10).await.unwrap();
            assert_eq!(json!(warned[0].body)["status"], json!(asked), "{action}");
            let page = crate::store::Page { after: None, limit: 10, newest_first: false };
            let attempts = server.store.attempts(job, None, &page).await.unwrap();
            assert_eq!(attempts[0].outcome.as_deref(), Some(outcome));
        }
    }

    #[tokio::test]
    async fn a_job_without_budget_left_is_resumed_only_with_a_larger_one() {
        let server = Server::new().await;
        let job = server.submit(1, json!({"device_seconds": 10, "on_exhausted": "pause"})).await;
        let lease = server.claim(NOW).await.unwrap();
        let later = NOW.plus_seconds(10);
        assert_eq!(server.check(lease, 10).await, Heartbeat::Pause);
        server.beat(lease, 10, later).await;
        server.store.end_attempt(lease, Ended::Drained, later).await.unwrap();
        let spent = server.store.resume_job(job, later).await.unwrap_err();
        assert!(matches!(spent, StoreError::Refused { code: "budget_exhausted", .. }), "{spent:?}");
        let raise = |row: &JobRow| -> Result<Option<JobChange>> {
            let budget = BudgetSpec { device_seconds: 20, on_exhausted: OnExhausted::Pause };
            let attributes = Attributes { budget: Some(budget), ..row.attributes.clone() };
            Ok(Some(JobChange { attributes, event: None }))
        };
        server.store.change_job(job, later, raise).await.unwrap();
        assert_eq!(server.store.resume_job(job, later).await.unwrap().status, JobStatus::Queued);
        let lease = server.claim(later).await.unwrap();
        assert_eq!(server.check(lease, 9).await, Heartbeat::GoOn);
        assert_eq!(server.check(lease, 10).await, Heartbeat::Pause);
    }
}
