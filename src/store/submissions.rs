//! New jobs. Submissions that arrive while one is being written are written together: one transaction and one wait for
//! the disk for all of them, each behind a savepoint of its own.

use std::sync::Arc;

use serde_json::Value;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::derived::{Origin, insert_origin};
use super::jobs::status_event;
use super::projects::check_unfinished;
use super::rollout_sets::insert;
use super::{JobRow, NewRolloutSet, Result, Store, StoreError, read, write_json};
use crate::job::{EventId, JobId, JobKind, JobStatus, Timestamp};

/// Submissions that may wait; more are refused.
const WAITING: usize = 1024;
/// Submissions in one transaction.
const BATCH: usize = 128;
/// How long a key protects against a second submission.
const KEY_MILLISECONDS: i64 = 24 * 3600 * 1000;
/// How long a request without a key is taken for a repetition, where the client says that it repeats one.
const RETRY_MILLISECONDS: i64 = 10 * 60 * 1000;

/// A job about to be submitted.
#[derive(Clone, Debug)]
pub struct NewJob {
    pub id: JobId,
    pub kind: JobKind,
    pub name: Option<String>,
    pub priority: i32,
    /// The objective's type; empty when nothing is trained.
    pub objective: String,
    /// As the client sent it.
    pub spec: Value,
    /// With defaults filled in and references resolved.
    pub spec_resolved: Value,
    pub spec_digest: String,
    pub steps: u64,
    /// How many devices it needs.
    pub devices: u32,
    /// Bytes that it needs on each of them, by an estimate.
    pub memory_bytes: u64,
    /// The set that the job will fill.
    pub rollout_set: Option<NewRolloutSet>,
}

/// By what a client's request is known again.
#[derive(Clone, Debug)]
pub struct IdempotencyKey {
    /// The key that the client gave it; none where the client only counts its retries.
    pub name: Option<String>,
    /// Of path and body.
    pub digest: String,
    /// The client says that it has sent the same request before.
    pub repeats: bool,
}

/// Keys of requests without a key; a client's key cannot begin like this, for it has no control characters.
const RETRY_PREFIX: &str = "\u{1}";

/// The answer to a submission.
#[derive(Clone, Debug)]
pub struct Submitted {
    pub job: JobRow,
    /// The job is the one that an earlier request with the same key made.
    pub replayed: bool,
}

/// Submissions on their way to the disk.
#[derive(Clone, Debug)]
pub(super) struct Submissions {
    sender: mpsc::Sender<Pending>,
    /// Whoever holds it writes.
    receiver: Arc<Mutex<mpsc::Receiver<Pending>>>,
}

/// What is to be written.
#[derive(Debug)]
struct Request {
    new: NewJob,
    origin: Option<Origin>,
    key: Option<IdempotencyKey>,
    project: String,
    now: Timestamp,
}

#[derive(Debug)]
struct Pending {
    request: Request,
    reply: oneshot::Sender<Result<Submission>>,
}

#[derive(Clone, Copy, Debug)]
enum Submission {
    Made(JobId),
    /// An earlier request has made it.
    Known(JobId),
}

impl Submissions {
    pub(super) fn new() -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        Self { sender, receiver: Arc::new(Mutex::new(receiver)) }
    }
}

impl Store {
    /// Puts a job into the queue, once per idempotency key, together with the rollout set it will fill.
    pub async fn submit_job(&self, new: NewJob, key: Option<IdempotencyKey>, now: Timestamp) -> Result<Submitted> {
        self.submit(new, None, key, now).await
    }

    /// As [`submit_job`](Self::submit_job), for a job that was made from another one.
    pub async fn submit_derived(
        &self,
        new: NewJob,
        origin: Origin,
        key: Option<IdempotencyKey>,
        now: Timestamp,
    ) -> Result<Submitted> {
        self.submit(new, Some(origin), key, now).await
    }

    async fn submit(
        &self,
        new: NewJob,
        origin: Option<Origin>,
        key: Option<IdempotencyKey>,
        now: Timestamp,
    ) -> Result<Submitted> {
        let (reply, answer) = oneshot::channel();
        let request = Request { new, origin, key, project: self.own_project().to_owned(), now };
        let pending = Pending { request, reply };
        self.submissions.sender.try_send(pending).map_err(|_| StoreError::Overloaded)?;
        // A client that goes away must not take the submissions of others with it.
        let store = self.clone();
        tokio::spawn(async move { store.write_submissions().await });
        let lost = || StoreError::Corrupt { what: "submission", detail: String::from("its writer vanished") };
        let (id, replayed) = match answer.await.map_err(|_| lost())?? {
            Submission::Made(id) => (id, false),
            Submission::Known(id) => (id, true),
        };
        Ok(Submitted { job: self.job(id).await?, replayed })
    }

    /// Writes all submissions that wait, unless somebody else has done so meanwhile.
    async fn write_submissions(&self) {
        let mut receiver = self.submissions.receiver.lock().await;
        let mut batch = Vec::new();
        while let Ok(pending) = receiver.try_recv() {
            batch.push(pending);
            if batch.len() == BATCH {
                break;
            }
        }
        if batch.is_empty() {
            return;
        }
        let (requests, replies): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|pending| (pending.request, pending.reply)).unzip();
        let results = match self.write_batch(&requests).await {
            Ok(results) => results,
            Err(error) => {
                let error = Arc::new(error);
                replies.iter().map(|_| Err(StoreError::Shared(Arc::clone(&error)))).collect()
            }
        };
        for (reply, result) in replies.into_iter().zip(results) {
            // Whoever asked may have gone away; the job is there all the same.
            drop(reply.send(result));
        }
    }

    async fn write_batch(&self, requests: &[Request]) -> Result<Vec<Result<Submission>>> {
        let mut tx = self.begin().await?;
        let mut results = Vec::with_capacity(requests.len());
        for request in requests {
            sqlx::query("savepoint submission").execute(tx.connection()).await?;
            let result = submit(tx.connection(), request).await;
            match &result {
                Ok(_) => {}
                // These are about this submission alone.
                Err(StoreError::KeyReused | StoreError::QuotaExceeded(_) | StoreError::NotFound { .. }) => {
                    sqlx::query("rollback to submission").execute(tx.connection()).await?;
                }
                Err(_) => return result.map(|_| Vec::new()),
            }
            sqlx::query("release submission").execute(tx.connection()).await?;
            results.push(result);
        }
        tx.commit().await?;
        Ok(results)
    }
}

async fn submit(connection: &mut SqliteConnection, request: &Request) -> Result<Submission> {
    let Request { new, origin, key, project, now } = request;
    let now = *now;
    if let Some(key) = key
        && let Some(known) = remember(connection, new.id, key, project, now).await?
    {
        return Ok(Submission::Known(known));
    }
    check_unfinished(connection, project).await?;
    sqlx::query(
        "insert into job (id, kind, name, status, priority, objective, spec, spec_resolved, spec_digest, steps,
                          created_at, updated_at, devices, memory_bytes, project, last_seq)
         values ($1, $2, $3, 'queued', $4, $5, $6, $7, $8, $9, $10, $10, $11, $12, $13, 1)",
    )
    .bind(new.id.to_string())
    .bind(new.kind.as_str())
    .bind(&new.name)
    .bind(new.priority)
    .bind(&new.objective)
    .bind(write_json(&new.spec)?)
    .bind(write_json(&new.spec_resolved)?)
    .bind(&new.spec_digest)
    .bind(new.steps as i64)
    .bind(now.0)
    .bind(new.devices)
    .bind(i64::try_from(new.memory_bytes).unwrap_or(i64::MAX))
    .bind(project)
    .execute(&mut *connection)
    .await?;
    let event = status_event(JobStatus::Queued, "submitted");
    sqlx::query(
        "insert into event (id, job_id, seq, type, level, message, data, created_at)
         values ($1, $2, 1, $3, $4, $5, $6, $7)",
    )
    .bind(EventId::generate().to_string())
    .bind(new.id.to_string())
    .bind(event.kind.as_str())
    .bind(event.level.as_str())
    .bind(&event.message)
    .bind(write_json(&event.data)?)
    .bind(now.0)
    .execute(&mut *connection)
    .await?;
    if let Some(set) = &new.rollout_set {
        insert(connection, new.id, set, now).await?;
    }
    if let Some(origin) = origin {
        insert_origin(connection, new.id, origin).await?;
    }
    Ok(Submission::Made(new.id))
}

/// The job that an earlier request with the same key has made. If there is none, the key stands for `job` from now on.
async fn remember(
    connection: &mut SqliteConnection,
    job: JobId,
    key: &IdempotencyKey,
    project: &str,
    now: Timestamp,
) -> Result<Option<JobId>> {
    let (name, age) = match &key.name {
        Some(name) => (name.clone(), KEY_MILLISECONDS),
        None => (format!("{RETRY_PREFIX}{}", key.digest), RETRY_MILLISECONDS),
    };
    sqlx::query("delete from idempotency where created_at < $1")
        .bind(now.0 - KEY_MILLISECONDS)
        .execute(&mut *connection)
        .await?;
    let known = sqlx::query("select digest, resource, created_at from idempotency where project = $1 and key = $2")
        .bind(project)
        .bind(&name)
        .fetch_optional(&mut *connection)
        .await?;
    if let Some(row) = known {
        if row.try_get::<String, _>("digest")? != key.digest {
            return Err(StoreError::KeyReused);
        }
        let resource: Option<String> = row.try_get("resource")?;
        let recent = row.try_get::<i64, _>("created_at")? >= now.0 - age;
        if let Some(resource) = resource.filter(|_| recent && (key.name.is_some() || key.repeats)) {
            return Ok(Some(read("job id", &resource)?));
        }
    }
    sqlx::query(
        "insert into idempotency (project, key, digest, resource, created_at) values ($1, $2, $3, $4, $5)
         on conflict (project, key) do update
            set digest = excluded.digest, resource = excluded.resource, created_at = excluded.created_at",
    )
    .bind(project)
    .bind(&name)
    .bind(&key.digest)
    .bind(job.to_string())
    .bind(now.0)
    .execute(connection)
    .await?;
    Ok(None)
}
