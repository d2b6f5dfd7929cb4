//! Changes of a job's status. Whatever moves a job goes through [`move_job`], which knows from where it may come, and
//! writes the event with it.

use serde_json::Value;
use sqlx::AnyConnection;

use super::events::append;
use super::{Result, StoreError, devices, write_json};
use crate::job::event::StatusChange;
use crate::job::{EventBody, EventLevel, Failure, JobId, JobStatus, NewEvent, Timestamp};

/// Where a job goes, and why.
#[derive(Debug)]
pub(super) struct Transition {
    pub to: JobStatus,
    /// For people.
    pub reason: String,
    pub level: EventLevel,
    /// What a job that has succeeded shows.
    pub result: Option<Value>,
    /// Why the job failed; of one that is to stop, with what it fails once its worker has let go of it.
    pub failure: Option<Failure>,
}

impl Transition {
    pub fn to(to: JobStatus, reason: impl Into<String>) -> Self {
        Self { to, reason: reason.into(), level: EventLevel::Info, result: None, failure: None }
    }

    pub fn failed(failure: Failure) -> Self {
        let level = EventLevel::Error;
        Self { level, failure: Some(failure.clone()), ..Self::to(JobStatus::Failed, failure.message) }
    }

    /// What the job's log says of it.
    pub fn event(&self) -> NewEvent {
        let Self { to, reason, level, .. } = self;
        let failure = self.failure.clone().filter(|_| to.is_final());
        let body = EventBody::Status(StatusChange { status: *to, reason: reason.clone(), failure });
        NewEvent { level: *level, message: format!("{to}: {reason}"), body }
    }
}

/// Moves a job to another status, if it is in one that comes before that, with its event and all that goes with it:
/// a job that no worker holds any more has neither a lease nor devices, and what it was asked to do is done.
pub(super) async fn move_job(
    connection: &mut AnyConnection,
    job: JobId,
    transition: &Transition,
    now: Timestamp,
) -> Result<()> {
    let Transition { to, reason, result, failure, .. } = transition;
    let stops = matches!(to, JobStatus::Pausing | JobStatus::Cancelling);
    let failure = failure.as_ref().map(write_json).transpose()?;
    let moved = sqlx::query(
        "update job set status = $2, updated_at = $3, stop_reason = $4, stop_failure = $5, result = $6, failure = $7,
                        finished_at = case when $8 then $3 end, phase = case when $9 then phase end,
                        worker = case when $9 then worker end, storage_full_at = null, storage_failure = null
         where id = $1 and status in (select value from json_each($10))",
    )
    .bind(job.to_string())
    .bind(to.as_str())
    .bind(now.0)
    .bind(stops.then_some(reason))
    .bind(failure.as_ref().filter(|_| stops))
    .bind(result.as_ref().map(write_json).transpose()?)
    .bind(failure.as_ref().filter(|_| !stops))
    .bind(to.is_final())
    .bind(to.is_held())
    .bind(write_json(&to.predecessors())?)
    .execute(&mut *connection)
    .await?;
    if moved.rows_affected() != 1 {
        let detail = format!("{job} is in no status that `{to}` may follow");
        return Err(StoreError::Corrupt { what: "job status", detail });
    }
    if !to.is_held() {
        devices::free(connection, job, now).await?;
    }
    append(connection, job, &transition.event(), now).await
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;
    use crate::job::{DeviceReading, Event, FailureKind, JobKind};
    use crate::store::{JobRow, NewJob, Store};

    const NOW: Timestamp = Timestamp(1_750_000_000_000);
    const LATER: Timestamp = Timestamp(NOW.0 + 5000);
    const DEVICE: &str = "simulated:0";

    async fn open() -> (Store, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let reading = DeviceReading::of_test(DEVICE, 0, 0);
        store.set_devices(&[reading], NOW).await.unwrap();
        (store, folder)
    }

    /// A job in a status, with everything that it has while a worker holds it.
    async fn job_in(store: &Store, status: JobStatus) -> JobId {
        let new = NewJob::of_kind(
            JobKind::Train,
            json!({
                "model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"}, "objective": {"type": "sft"},
            }),
        );
        let job = store.submit_job(new, None, NOW).await.unwrap().job.id;
        let mut tx = store.begin().await.unwrap();
        if status.is_held() {
            devices::hold(tx.connection(), job, &[DEVICE.to_owned()], NOW).await.unwrap();
        }
        sqlx::query("update job set status = $2, phase = 'loading', worker = 'w' where id = $1")
            .bind(job.to_string())
            .bind(status.as_str())
            .execute(tx.connection())
            .await
            .unwrap();
        tx.commit().await.unwrap();
        job
    }

    async fn state(store: &Store, job: JobId) -> (JobRow, Vec<Event>, bool) {
        let device = store.device(DEVICE).await.unwrap();
        (store.job(job).await.unwrap(), store.events(job, 0, 10).await.unwrap(), device.jobs.contains(&job))
    }

    async fn attempt(store: &Store, job: JobId, transition: &Transition) -> Result<()> {
        let mut tx = store.begin().await?;
        let moved = move_job(tx.connection(), job, transition, LATER).await;
        // Also what was refused is committed: it must have changed nothing.
        tx.commit().await?;
        moved
    }

    #[tokio::test]
    async fn allowed_moves_write_one_event_and_all_others_change_nothing() {
        let (store, _folder) = open().await;
        for from in JobStatus::ALL {
            for to in JobStatus::ALL {
                let job = job_in(&store, *from).await;
                let (before, log, _) = state(&store, job).await;
                let moved = attempt(&store, job, &Transition::to(*to, "a reason")).await;
                let (after, events, holds) = state(&store, job).await;
                if !to.predecessors().contains(from) {
                    assert!(matches!(moved, Err(StoreError::Corrupt { .. })), "{from} to {to}: {moved:?}");
                    assert_eq!(format!("{before:?} {log:?}"), format!("{after:?} {events:?}"), "{from} to {to}");
                } else {
                    moved.unwrap();
                    assert_eq!((after.status, after.last_seq, events.len()), (*to, 2, 2), "{from} to {to}");
                    assert_eq!(events[1].message, format!("{to}: a reason"));
                    assert_eq!(json!(events[1].body), json!({"status": to, "reason": "a reason"}));
                    assert_eq!(after.finished_at, to.is_final().then_some(LATER), "{from} to {to}");
                    assert_eq!((after.worker.is_some(), after.phase.is_some()), (to.is_held(), to.is_held()));
                    assert_eq!(holds, from.is_held() && to.is_held(), "{from} to {to}");
                }
            }
        }
    }

    #[tokio::test]
    async fn a_failure_is_kept_for_a_job_that_is_to_stop_and_told_when_it_fails() {
        let (store, _folder) = open().await;
        let failure =
            Failure { kind: FailureKind::Internal, code: String::from("internal"), message: String::from("why") };
        let job = job_in(&store, JobStatus::Running).await;
        let failing = Transition { failure: Some(failure.clone()), ..Transition::to(JobStatus::Cancelling, "stop") };
        attempt(&store, job, &failing).await.unwrap();
        let (row, events, _) = state(&store, job).await;
        assert_eq!((row.failure, json!(events[1].body)), (None, json!({"status": "cancelling", "reason": "stop"})));
        attempt(&store, job, &Transition::failed(failure.clone())).await.unwrap();
        let (row, events, _) = state(&store, job).await;
        assert_eq!((row.failure.as_ref(), events[2].level), (Some(&failure), EventLevel::Error));
        assert_eq!(json!(events[2].body), json!({"status": "failed", "reason": "why", "failure": failure}));
    }
}
