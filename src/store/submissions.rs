//! New jobs. Submissions that arrive while one is being written are written together: one transaction and one wait for
//! the disk for all of them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use serde_json::Value;
use sqlx::AnyConnection;
use sqlx::Row;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::derived::{Origin, check_origin, insert_verification};
use super::inputs::insert_inputs;
use super::jobs::{by_id, find_by_metadata};
use super::projects::Room;
use super::requests::{self, Keyed};
use super::rollout_sets::insert;
use super::statement::Statement;
use super::suites_wanted::want_suites;
use super::transitions::Transition;
use super::{JobRow, NewRolloutSet, ROWS, Result, Store, StoreError, read, write_json};
use crate::job::placement::Base;
use crate::job::{EventId, JobId, JobStatus, Timestamp, VerifierId};
use crate::spec::{Attributes, Input, Resolved, Work, digest_of};

/// Submissions that may wait; more are refused.
const WAITING: usize = 1024;
/// Submissions in one transaction.
const BATCH: usize = ROWS;
/// How long a key protects against a second submission.
const KEY_MILLISECONDS: i64 = 24 * 3600 * 1000;
/// How long a request without a key is taken for a repetition, where the client says that it repeats one.
const RETRY_MILLISECONDS: i64 = 10 * 60 * 1000;

/// A job about to be submitted.
#[derive(Clone, Debug)]
pub struct NewJob {
    pub id: JobId,
    /// As the client sent it.
    pub spec: Value,
    pub attributes: Attributes,
    pub resolved: Arc<Resolved>,
    /// Of `resolved`.
    pub essence: Value,
    /// The same as text.
    pub essence_text: String,
    pub spec_digest: String,
    /// What it refers to.
    pub inputs: Vec<Input>,
    /// Bytes that it needs on each of them, by an estimate.
    pub memory_bytes: u64,
    /// What of it others can share.
    pub base: Option<Base>,
    /// The set that the job will fill.
    pub rollout_set: Option<NewRolloutSet>,
    /// What the trace of its submission is known by.
    pub trace: Option<String>,
}

impl NewJob {
    /// A job that fills no rollout set, with an id of its own.
    pub fn of(spec: Value, attributes: Attributes, resolved: Resolved, memory_bytes: u64) -> Self {
        let (essence, inputs) = (resolved.essence(), resolved.inputs());
        let essence_text = essence.to_string();
        Self {
            id: JobId::generate(),
            spec,
            attributes,
            spec_digest: digest_of(&essence_text, &inputs),
            essence,
            essence_text,
            inputs,
            resolved: Arc::new(resolved),
            memory_bytes,
            base: None,
            rollout_set: None,
            trace: None,
        }
    }

    /// A job whose spec is resolved as it stands.
    #[cfg(test)]
    pub fn of_kind(kind: crate::job::JobKind, spec: Value) -> Self {
        let (attributes, resolved) = Resolved::parse(kind, &spec).expect("the spec is resolved");
        Self::of(spec, attributes, resolved, 0)
    }

    /// The same with weights that others can share.
    pub fn with_base(mut self, base: Option<Base>) -> Self {
        self.base = base;
        self
    }

    /// The same with what the trace of its submission is known by.
    pub fn traced(mut self, trace: Option<String>) -> Self {
        self.trace = trace;
        self
    }

    /// The same with the stored verifier whose configuration its spec holds.
    pub fn with_verifier(mut self, stored: Option<VerifierId>) -> Self {
        self.inputs.extend(stored.map(Input::verifier));
        self
    }
}

/// By what a client's request is known again.
#[derive(Clone, Debug)]
pub struct IdempotencyKey {
    /// The key that the client gave it; none where the client only counts its retries.
    pub name: Option<String>,
    /// Of what is asked for.
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
    /// What was left to projects after the last ones.
    pub(super) rooms: Arc<Mutex<HashMap<String, Room>>>,
}

/// What is to be written.
#[derive(Debug)]
pub(super) struct Request {
    new: NewJob,
    /// Written before its turn comes, for others wait while it is written to the disk.
    texts: Texts,
    origin: Option<Origin>,
    key: Option<IdempotencyKey>,
    project: String,
    now: Timestamp,
}

#[derive(Debug)]
struct Pending {
    request: Request,
    reply: oneshot::Sender<Result<Answer>>,
}

/// What became of a submission.
#[derive(Clone, Copy, Debug)]
enum Submission {
    Made,
    /// An earlier request has made it.
    Known(JobId),
}

#[derive(Debug)]
enum Answer {
    /// What was asked for is written.
    Made(Box<Request>),
    Known(JobId),
}

/// What is stored of a job as text.
#[derive(Debug)]
struct Texts {
    spec: String,
    metadata: String,
    budget: Option<String>,
}

impl Texts {
    fn of(new: &NewJob) -> Result<Self> {
        let Attributes { metadata, budget, .. } = &new.attributes;
        let budget = budget.as_ref().map(write_json).transpose()?;
        Ok(Self { spec: write_json(&new.spec)?, metadata: write_json(metadata)?, budget })
    }
}

impl Request {
    /// Of a job that comes from no other one and that no key stands for.
    pub fn of(new: NewJob, project: String, now: Timestamp) -> Result<Self> {
        Ok(Self { texts: Texts::of(&new)?, new, origin: None, key: None, project, now })
    }

    /// What it refers to.
    pub fn inputs(&self) -> impl Iterator<Item = (JobId, &Input)> {
        self.new.inputs.iter().map(|input| (self.new.id, input))
    }

    /// The suite that its model is to be evaluated on.
    fn suite(&self) -> Option<&str> {
        let proves = self.origin.as_ref().is_some_and(|origin| origin.verifies().is_some());
        match &self.new.resolved.work {
            Work::Train(training) if !proves => training.eval.suite.as_deref(),
            Work::Train(_) | Work::Sample(_) | Work::Regrade(_) | Work::Evaluate(_) => None,
        }
    }

    /// The row that it makes.
    fn into_row(self) -> JobRow {
        let Self { new, origin, now, .. } = self;
        JobRow {
            id: new.id,
            status: JobStatus::Queued,
            phase: None,
            spec: new.spec,
            attributes: new.attributes,
            resolved: new.resolved,
            essence: new.essence,
            spec_digest: new.spec_digest,
            created_at: now,
            started_at: None,
            finished_at: None,
            attempt: 0,
            worker: None,
            step: 0,
            last_seq: 1,
            result: None,
            failure: None,
            memory_bytes: new.memory_bytes,
            base: new.base,
            devices: Vec::new(),
            rollout_set: new.rollout_set.map(|set| set.id),
            spent_milliseconds: 0,
            worker_seen_at: None,
            forked_from: origin.as_ref().and_then(Origin::forked_from),
            verifies: origin.as_ref().and_then(Origin::verifies),
        }
    }
}

impl Submissions {
    pub(super) fn new() -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        Self { sender, receiver: Arc::new(Mutex::new(receiver)), rooms: Arc::default() }
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

    /// The job that an earlier request with this key has made.
    pub async fn submitted_before(&self, key: Option<&IdempotencyKey>, now: Timestamp) -> Result<Option<JobRow>> {
        let Some(key) = key else { return Ok(None) };
        let mut reader = self.readers.acquire().await?;
        match known_job(&mut reader, key, self.own_project(), now).await? {
            Some(id) => by_id(&mut reader, id, self.project()).await.map(Some),
            None => Ok(None),
        }
    }

    async fn submit(
        &self,
        new: NewJob,
        origin: Option<Origin>,
        key: Option<IdempotencyKey>,
        now: Timestamp,
    ) -> Result<Submitted> {
        drop(self.storage_room(0).await?);
        let (reply, answer) = oneshot::channel();
        let texts = Texts::of(&new)?;
        let request = Request { new, texts, origin, key, project: self.own_project().to_owned(), now };
        let pending = Pending { request, reply };
        self.submissions.sender.try_send(pending).map_err(|_| StoreError::Overloaded)?;
        // A client that goes away must not take the submissions of others with it.
        let store = self.clone();
        tokio::spawn(async move { store.write_submissions().await });
        let lost = || StoreError::Corrupt { what: "submission", detail: String::from("its writer vanished") };
        Ok(match answer.await.map_err(|_| lost())?? {
            Answer::Made(request) => {
                self.written.notify_one();
                // Reading it would show the same, or what has become of it since.
                Submitted { job: request.into_row(), replayed: false }
            }
            Answer::Known(id) => Submitted { job: self.job(id).await?, replayed: true },
        })
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
        for ((reply, request), result) in replies.into_iter().zip(requests).zip(results) {
            let answer = result.map(|submission| match submission {
                Submission::Made => Answer::Made(Box::new(request)),
                Submission::Known(id) => Answer::Known(id),
            });
            // Whoever asked may have gone away; the job is there all the same.
            drop(reply.send(answer));
        }
    }

    async fn write_batch(&self, requests: &[Request]) -> Result<Vec<Result<Submission>>> {
        let mut known = self.submissions.rooms.lock().await;
        let mut tx = self.begin().await?;
        let mut results = Vec::with_capacity(requests.len());
        // Of a transaction that fails nothing is known.
        let mut before = std::mem::take(&mut *known);
        before.retain(|_, room| room.is_fresh());
        let (mut made, mut rooms) = (Vec::new(), HashMap::new());
        for request in requests {
            let result = self.admit(tx.connection(), request, &mut rooms, &before).await;
            match &result {
                Ok(Submission::Made) => made.push(request),
                // These are about this submission alone, and nothing of it is written yet.
                Ok(Submission::Known(_))
                | Err(StoreError::KeyReused | StoreError::QuotaExceeded(_) | StoreError::NotFound { .. }) => {}
                Err(_) => return result.map(|_| Vec::new()),
            }
            results.push(result);
        }
        if !made.is_empty() {
            let submitted = Transition::to(JobStatus::Queued, "submitted");
            insert_jobs(tx.connection(), &made, &submitted).await?;
        }
        let inputs: Vec<(JobId, &Input)> = made.iter().flat_map(|made| made.inputs()).collect();
        insert_inputs(tx.connection(), &inputs).await?;
        for Request { new, origin, now, .. } in made {
            if let Some(set) = &new.rollout_set {
                insert(tx.connection(), new.id, set, *now).await?;
            }
            if let Some(Origin::Verification(verification)) = origin {
                insert_verification(tx.connection(), new.id, verification).await?;
            }
        }
        tx.commit().await?;
        before.extend(rooms);
        *known = before;
        Ok(results)
    }

    /// Whether a submission makes a job. If it does, its key stands for the job from now on.
    async fn admit(
        &self,
        connection: &mut AnyConnection,
        request: &Request,
        rooms: &mut HashMap<String, Room>,
        before: &HashMap<String, Room>,
    ) -> Result<Submission> {
        let Request { new, origin, key, project, now, .. } = request;
        if let Some(key) = key
            && let Some(known) = known_job(connection, key, project, *now).await?
        {
            return Ok(Submission::Known(known));
        }
        if let Some(origin) = origin {
            check_origin(connection, origin).await?;
        }
        let room = match rooms.entry(project.clone()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                entry.insert(self.room(connection, project, before.get(project).copied(), BATCH).await?)
            }
        };
        room.take(project)?;
        if let Some(key) = key {
            remember(connection, new.id, key, project, *now).await?;
        }
        Ok(Submission::Made)
    }
}

/// Writes the rows of jobs and the first event of each, which says what they begin as.
pub(super) async fn insert_jobs(
    connection: &mut AnyConnection,
    requests: &[&Request],
    first: &Transition,
) -> Result<()> {
    let mut jobs = Statement::new(
        "insert into job (id, kind, name, status, priority, objective, spec, spec_resolved, metadata, budget,
                          spec_digest, steps, created_at, updated_at, devices, hosts, least_devices, pool, memory_bytes,
                          base, base_bytes, project, forked_from, trace, last_seq) ",
    );
    jobs.rows(requests, |row, Request { new, texts, origin, project, now, .. }| {
        let Resolved { common, work } = &*new.resolved;
        row.bind(new.id.to_string())
            .bind(work.kind().as_str())
            .bind(&new.attributes.name)
            .bind(first.to.as_str())
            .bind(new.attributes.priority)
            .bind(work.objective().unwrap_or_default())
            .bind(&texts.spec)
            .bind(&new.essence_text)
            .bind(&texts.metadata)
            .bind(&texts.budget)
            .bind(&new.spec_digest)
            .bind(work.steps() as i64)
            .bind(now.0)
            .bind(now.0)
            .bind(i64::from(common.resources.devices))
            .bind(i64::from(common.resources.hosts))
            .bind(common.resources.elastic.then_some(1_i64))
            .bind(&common.resources.pool)
            .bind(i64::try_from(new.memory_bytes).unwrap_or(i64::MAX))
            .bind(new.base.map(|base| base.key))
            .bind(new.base.map_or(0, |base| i64::try_from(base.bytes).unwrap_or(i64::MAX)))
            .bind(project)
            .bind(origin.as_ref().and_then(Origin::forked_from).map(|id| id.to_string()))
            .bind(&new.trace)
            .bind(1_i64);
    });
    jobs.finish()?.persistent(false).execute(&mut *connection).await?;
    let labelled = requests.iter().filter(|request| !request.new.attributes.metadata.is_empty());
    let labelled: Vec<JobId> = labelled.map(|request| request.new.id).collect();
    if !labelled.is_empty() {
        find_by_metadata(connection, &labelled).await?;
    }
    let event = first.event();
    let data = write_json(&event.body)?;
    let mut events = Statement::new("insert into event (id, job_id, seq, type, level, message, data, created_at) ");
    events.rows(requests, |row, Request { new, now, .. }| {
        row.bind(EventId::generate().to_string())
            .bind(new.id.to_string())
            .bind(1_i64)
            .bind(event.body.kind().as_str())
            .bind(event.level.as_str())
            .bind(&event.message)
            .bind(&data)
            .bind(now.0);
    });
    events.finish()?.persistent(false).execute(&mut *connection).await?;
    let wanted: Vec<(JobId, &str)> =
        requests.iter().filter_map(|request| Some((request.new.id, request.suite()?))).collect();
    want_suites(connection, &wanted).await
}

/// Under which name a key is stored, and for how long it stands.
fn stored(key: &IdempotencyKey) -> (String, i64) {
    match &key.name {
        Some(name) => (name.clone(), KEY_MILLISECONDS),
        None => (format!("{RETRY_PREFIX}{}", key.digest), RETRY_MILLISECONDS),
    }
}

/// The job that an earlier request with the same key has made.
async fn known_job(
    connection: &mut AnyConnection,
    key: &IdempotencyKey,
    project: &str,
    now: Timestamp,
) -> Result<Option<JobId>> {
    let (name, age) = stored(key);
    let known = sqlx::query(
        "select digest, resource, created_at from idempotency where project = $1 and key = $2 and created_at >= $3",
    )
    .bind(project)
    .bind(&name)
    .bind(now.0 - KEY_MILLISECONDS)
    .fetch_optional(&mut *connection)
    .await?;
    let Some(row) = known else { return Ok(None) };
    if row.try_get::<String, _>("digest")? != key.digest {
        return Err(StoreError::KeyReused);
    }
    let resource: Option<String> = row.try_get("resource")?;
    let recent = row.try_get::<i64, _>("created_at")? >= now.0 - age;
    let resource = resource.filter(|_| recent && (key.name.is_some() || key.repeats));
    resource.map(|id| read("job id", &id)).transpose()
}

/// From now on the key stands for `job`.
async fn remember(
    connection: &mut AnyConnection,
    job: JobId,
    key: &IdempotencyKey,
    project: &str,
    now: Timestamp,
) -> Result<()> {
    sqlx::query("delete from idempotency where created_at < $1")
        .bind(now.0 - KEY_MILLISECONDS)
        .execute(&mut *connection)
        .await?;
    let keyed = Keyed { project: project.to_owned(), key: stored(key).0, digest: key.digest.clone(), now };
    requests::remember(connection, &keyed, &job.to_string()).await
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::job::{JobKind, RolloutSetId};
    use crate::store::ProjectLimits;

    const NOW: Timestamp = Timestamp(1_750_000_000_000);

    fn new_job() -> NewJob {
        let set = NewRolloutSet {
            id: RolloutSetId::generate(),
            name: None,
            model: String::from("builtin:arith-tiny"),
            model_digest: String::from("sha256:00"),
            tokenizer_digest: String::from("sha256:01"),
            spec: None,
            metadata: BTreeMap::new(),
        };
        let spec = json!({
            "name": "nightly", "model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"},
            "objective": {"type": "bolt"}, "train": {"steps": 7}, "resources": {"devices": 2}, "priority": -3,
            "metadata": {"a": "b"}, "budget": {"device_seconds": 7}, "seed": 1,
        });
        NewJob { rollout_set: Some(set), memory_bytes: u64::MAX, ..NewJob::of_kind(JobKind::Train, spec) }
    }

    #[tokio::test]
    async fn what_is_answered_is_what_is_stored() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let mut new = new_job();
        new.memory_bytes = 1 << 40;
        let first = store.submit_job(new, None, NOW).await.unwrap().job;
        let fork = store.submit_derived(new_job(), Origin::Fork(first.id), None, NOW).await;
        let mut huge = fork.unwrap().job;
        assert_eq!(format!("{first:?}"), format!("{:?}", store.job(first.id).await.unwrap()));
        huge.memory_bytes = i64::MAX.unsigned_abs();
        assert_eq!(format!("{huge:?}"), format!("{:?}", store.job(huge.id).await.unwrap()));
    }

    /// Each of many at once is judged by itself, and those that are refused leave nothing.
    #[tokio::test]
    async fn submissions_that_are_written_together_do_not_fail_together() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let limits = ProjectLimits { max_unfinished_jobs: Some(3), ..ProjectLimits::default() };
        store.set_project_limits("default", &limits, NOW).await.unwrap();
        let key = |name: &str, digest: &str| {
            Some(IdempotencyKey { name: Some(name.to_owned()), digest: digest.to_owned(), repeats: false })
        };
        let asked = [key("a", "1"), key("a", "1"), key("a", "2"), None, None, key("b", "1"), key("a", "1")];
        let submitted =
            futures_util::future::join_all(asked.into_iter().map(|key| store.submit_job(new_job(), key, NOW))).await;
        let found: Vec<String> = submitted
            .iter()
            .map(|result| match result {
                Ok(submitted) => format!("replayed: {}", submitted.replayed),
                Err(error) => format!("{error:?}").split(['(', ' ']).next().unwrap_or_default().to_owned(),
            })
            .collect();
        let (new, old) = ("replayed: false", "replayed: true");
        assert_eq!(found, [new, old, "KeyReused", new, new, "QuotaExceeded", old]);
        let first = submitted[0].as_ref().unwrap().job.id;
        assert!([1, 6].iter().all(|again| submitted[*again].as_ref().unwrap().job.id == first));
        // The key of the refused one is free.
        store.set_project_limits("default", &ProjectLimits::default(), NOW).await.unwrap();
        assert!(!store.submit_job(new_job(), key("b", "2"), NOW).await.unwrap().replayed);
    }
}
