//! Rollout sets. A row is there from the submission of the job that fills it, and is complete when that job's worker
//! has written its directory.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::events::append;
use super::queue::fence;
use super::{Lease, Page, Result, Store, StoreError, read, read_json, write_json};
use crate::job::{
    EventKind, JobId, JobStatus, Manifest, NewEvent, RolloutSetId, RolloutSetStatus, RolloutSummary, Timestamp,
};

/// A rollout set about to be submitted with its job.
#[derive(Clone, Debug)]
pub struct NewRolloutSet {
    pub id: RolloutSetId,
    pub name: Option<String>,
    /// The model that samples, as in the resolved spec.
    pub model: String,
    /// Of its weights, `sha256:...`.
    pub model_digest: String,
    /// Of its `tokenizer.json`, `sha256:...`.
    pub tokenizer_digest: String,
    /// The resolved spec; none when a training job keeps what it samples.
    pub spec: Option<Value>,
    pub metadata: BTreeMap<String, String>,
}

/// A rollout set.
#[derive(Clone, Debug)]
pub struct RolloutSetRow {
    pub id: RolloutSetId,
    pub job: JobId,
    pub job_status: JobStatus,
    pub name: Option<String>,
    /// The model that samples, as in the resolved spec.
    pub model: String,
    /// Of its weights, `sha256:...`.
    pub model_digest: String,
    /// Of its `tokenizer.json`, `sha256:...`.
    pub tokenizer_digest: String,
    /// The resolved spec; none when a training job keeps what it samples.
    pub spec: Option<Value>,
    pub metadata: BTreeMap<String, String>,
    pub created_at: Timestamp,
    /// What a complete set holds.
    pub content: Option<RolloutSetContent>,
}

/// What a complete rollout set holds.
#[derive(Clone, Debug)]
pub struct RolloutSetContent {
    /// Below the folder of all jobs; see [`super::Files::checkpoint`].
    pub directory: String,
    pub manifest: Manifest,
    pub summary: RolloutSummary,
    pub completed_at: Timestamp,
}

impl RolloutSetRow {
    /// A set needs no states of its own: what its job does says whether it can still become complete.
    pub fn status(&self) -> RolloutSetStatus {
        if self.content.is_some() {
            return RolloutSetStatus::Ready;
        }
        match self.job_status {
            JobStatus::Queued
            | JobStatus::Starting
            | JobStatus::Running
            | JobStatus::Pausing
            | JobStatus::Paused
            | JobStatus::Cancelling => RolloutSetStatus::Pending,
            // A job that succeeded has written its set before; if it has not, there will be none.
            JobStatus::Succeeded | JobStatus::Failed => RolloutSetStatus::Failed,
            JobStatus::Cancelled => RolloutSetStatus::Cancelled,
        }
    }
}

impl Store {
    /// Makes the set of the job complete and visible, under the fence. Writing the same set again changes nothing; a
    /// later attempt of the job may write another, which replaces it.
    pub async fn add_rollout_set(
        &self,
        lease: Lease,
        directory: &str,
        manifest: &Manifest,
        summary: &RolloutSummary,
        now: Timestamp,
    ) -> Result<RolloutSetId> {
        let mut tx = self.begin().await?;
        fence(tx.connection(), lease, now).await?;
        let known = sqlx::query("select id, directory, manifest from rollout_set where job_id = $1")
            .bind(lease.job.to_string())
            .fetch_optional(tx.connection())
            .await?
            .ok_or_else(|| StoreError::NotFound { what: "rollout set of job", id: lease.job.to_string() })?;
        let id: RolloutSetId = read("rollout set id", known.try_get("id")?)?;
        let text = write_json(manifest)?;
        let written = |column, expected: &str| -> Result<bool> {
            Ok(known.try_get::<Option<String>, _>(column)?.as_deref() == Some(expected))
        };
        if written("directory", directory)? && written("manifest", &text)? {
            tx.commit().await?;
            return Ok(id);
        }
        sqlx::query(
            "update rollout_set set directory = $2, bytes = $3, manifest = $4, summary = $5, completed_at = $6
             where job_id = $1",
        )
        .bind(lease.job.to_string())
        .bind(directory)
        .bind(manifest.bytes() as i64)
        .bind(text)
        .bind(write_json(summary)?)
        .bind(now.0)
        .execute(tx.connection())
        .await?;
        let (rollouts, groups) = (summary.rollouts, summary.groups);
        let message = format!("rollout set of {rollouts} completions for {groups} prompts");
        let data = json!({"rollout_set": id, "rollouts": rollouts, "groups": groups, "bytes": manifest.bytes()});
        append(tx.connection(), lease.job, &NewEvent::info(EventKind::RolloutSet, message, data), now).await?;
        tx.commit().await?;
        Ok(id)
    }

    pub async fn rollout_set(&self, id: RolloutSetId) -> Result<RolloutSetRow> {
        sqlx::query(
            "select rollout_set.*, job.status as job_status from rollout_set join job on job.id = job_id
             where rollout_set.id = $1",
        )
        .bind(id.to_string())
        .fetch_optional(&self.readers)
        .await?
        .map_or_else(|| Err(StoreError::NotFound { what: "rollout set", id: id.to_string() }), |row| rollout_set(&row))
    }

    pub async fn rollout_sets(&self, page: &Page) -> Result<Vec<RolloutSetRow>> {
        let (low, high) = page.bounds();
        let statement = if page.newest_first {
            "select rollout_set.*, job.status as job_status from rollout_set join job on job.id = job_id
             where rollout_set.id > $1 and rollout_set.id < $2 order by rollout_set.id desc limit $3"
        } else {
            "select rollout_set.*, job.status as job_status from rollout_set join job on job.id = job_id
             where rollout_set.id > $1 and rollout_set.id < $2 order by rollout_set.id limit $3"
        };
        let rows = sqlx::query(statement).bind(low).bind(high).bind(page.limit).fetch_all(&self.readers).await?;
        rows.iter().map(rollout_set).collect()
    }
}

/// Adds the pending set of a job within the transaction of its submission.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    job: JobId,
    set: &NewRolloutSet,
    now: Timestamp,
) -> Result<()> {
    sqlx::query(
        "insert into rollout_set (id, job_id, name, model, model_digest, tokenizer_digest, spec, metadata, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(set.id.to_string())
    .bind(job.to_string())
    .bind(&set.name)
    .bind(&set.model)
    .bind(&set.model_digest)
    .bind(&set.tokenizer_digest)
    .bind(set.spec.as_ref().map(write_json).transpose()?)
    .bind(write_json(&set.metadata)?)
    .bind(now.0)
    .execute(connection)
    .await?;
    Ok(())
}

fn rollout_set(row: &SqliteRow) -> Result<RolloutSetRow> {
    let text = |column| -> Result<Option<String>> { Ok(row.try_get(column)?) };
    let spec = text("spec")?;
    // The columns of the content are set together; the table checks it.
    let content = match text("directory")? {
        None => None,
        Some(directory) => Some(RolloutSetContent {
            directory,
            manifest: read_json("manifest", row.try_get("manifest")?)?,
            summary: read_json("rollout summary", row.try_get("summary")?)?,
            completed_at: Timestamp(row.try_get("completed_at")?),
        }),
    };
    Ok(RolloutSetRow {
        id: read("rollout set id", row.try_get("id")?)?,
        job: read("job id", row.try_get("job_id")?)?,
        job_status: read("job status", row.try_get("job_status")?)?,
        name: row.try_get("name")?,
        model: row.try_get("model")?,
        model_digest: row.try_get("model_digest")?,
        tokenizer_digest: row.try_get("tokenizer_digest")?,
        spec: spec.map(|text| read_json("spec", &text)).transpose()?,
        metadata: read_json("metadata", row.try_get("metadata")?)?,
        created_at: Timestamp(row.try_get("created_at")?),
        content,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{CheckpointKind, DeviceReading, JobKind, ManifestFile, WorkerId};
    use crate::store::{Ended, NewJob};

    const NOW: Timestamp = Timestamp(1_750_000_000_000);
    const LEASE_SECONDS: u64 = 10;

    fn new_job() -> NewJob {
        let spec = json!({"model": "builtin:arith-tiny", "prompts": 2});
        let set = NewRolloutSet {
            id: RolloutSetId::generate(),
            name: Some(String::from("small")),
            model: String::from("builtin:arith-tiny"),
            model_digest: String::from("sha256:00"),
            tokenizer_digest: String::from("sha256:01"),
            spec: Some(spec.clone()),
            metadata: BTreeMap::from([(String::from("commit"), String::from("abc"))]),
        };
        NewJob {
            id: JobId::generate(),
            kind: JobKind::Rollouts,
            name: None,
            priority: 0,
            objective: String::new(),
            spec: spec.clone(),
            spec_resolved: spec,
            spec_digest: String::from("sha256:02"),
            steps: 0,
            devices: 1,
            memory_bytes: 0,
            rollout_set: Some(set),
        }
    }

    fn manifest(lease: Lease) -> Manifest {
        let file = ManifestFile { path: String::from("rollouts.jsonl"), size: 100, sha256: "0".repeat(64) };
        Manifest {
            format: 1,
            kind: CheckpointKind::Rollouts,
            job: lease.job,
            attempt: lease.attempt,
            step: 0,
            spec_digest: String::from("sha256:02"),
            files: vec![file],
        }
    }

    /// A store with a device.
    async fn open(directory: &std::path::Path) -> Store {
        let store = Store::open(directory).await.unwrap();
        let cpu = DeviceReading {
            name: String::from("cpu"),
            number: 0,
            description: String::from("CPU"),
            uuid: None,
            memory_total: 1 << 30,
            memory_free: 1 << 30,
            compute_capability: None,
            driver_version: None,
            processes: Vec::new(),
            fault: None,
        };
        store.set_devices(&[cpu], NOW).await.unwrap();
        store
    }

    async fn claim(store: &Store, now: Timestamp) -> Lease {
        let claim = store.claim(WorkerId::generate(), "cpu", LEASE_SECONDS, now).await.unwrap().unwrap();
        assert_eq!(claim.kind, JobKind::Rollouts);
        claim.lease
    }

    #[tokio::test]
    async fn a_set_is_pending_with_its_job_and_ready_when_written() {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path()).await;
        let new = new_job();
        let (job, id) = (new.id, new.rollout_set.as_ref().unwrap().id);
        let submitted = store.submit_job(new, None, NOW).await.unwrap();
        assert_eq!((submitted.job.kind, submitted.job.rollout_set), (JobKind::Rollouts, Some(id)));
        let pending = store.rollout_set(id).await.unwrap();
        assert_eq!((pending.status(), pending.job), (RolloutSetStatus::Pending, job));
        assert_eq!(pending.metadata["commit"], "abc");

        let lease = claim(&store, NOW).await;
        let summary = RolloutSummary { groups: 2, rollouts: 8, ..RolloutSummary::default() };
        let name = format!("{job}/rollouts");
        assert!(!store.is_checkpoint_directory(&name).await.unwrap());
        for _ in 0..2 {
            let added = store.add_rollout_set(lease, &name, &manifest(lease), &summary, NOW).await.unwrap();
            assert_eq!(added, id);
        }
        assert!(store.is_checkpoint_directory(&name).await.unwrap());
        let events = store.events(job, 0, 100).await.unwrap();
        let told: Vec<_> = events.iter().filter(|event| event.body.kind == EventKind::RolloutSet).collect();
        assert_eq!(told.len(), 1, "writing it again is no news");
        assert_eq!(told[0].body.data, json!({"rollout_set": id, "rollouts": 8, "groups": 2, "bytes": 100}));

        store.end_attempt(lease, Ended::Succeeded { result: json!({}) }, NOW).await.unwrap();
        let page = Page { after: None, limit: 10, newest_first: true };
        let ready = store.rollout_sets(&page).await.unwrap().remove(0);
        assert_eq!((ready.id, ready.status()), (id, RolloutSetStatus::Ready));
        assert_eq!(ready.content.unwrap().summary, summary);
    }

    #[tokio::test]
    async fn only_the_attempt_that_holds_the_lease_fills_the_set() {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path()).await;
        let new = new_job();
        let (job, id) = (new.id, new.rollout_set.as_ref().unwrap().id);
        store.submit_job(new, None, NOW).await.unwrap();
        let first = claim(&store, NOW).await;
        let summary = RolloutSummary::default();
        store.add_rollout_set(first, &format!("{job}/1"), &manifest(first), &summary, NOW).await.unwrap();

        let later = NOW.plus_seconds(LEASE_SECONDS + 1);
        assert_eq!(store.reap_expired(later).await.unwrap(), 1);
        let second = claim(&store, later).await;
        let late = store.add_rollout_set(first, &format!("{job}/1"), &manifest(first), &summary, later).await;
        assert!(matches!(late, Err(StoreError::LeaseLost)), "{late:?}");
        store.add_rollout_set(second, &format!("{job}/2"), &manifest(second), &summary, later).await.unwrap();
        let content = store.rollout_set(id).await.unwrap().content.unwrap();
        assert_eq!((content.directory, content.manifest.attempt), (format!("{job}/2"), 2));
    }

    #[tokio::test]
    async fn a_set_whose_job_ended_without_it_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path()).await;
        for (cancel, expected) in [(true, RolloutSetStatus::Cancelled), (false, RolloutSetStatus::Failed)] {
            let new = new_job();
            let (job, id) = (new.id, new.rollout_set.as_ref().unwrap().id);
            store.submit_job(new, None, NOW).await.unwrap();
            if cancel {
                store.cancel_job(job, NOW).await.unwrap();
            } else {
                let lease = claim(&store, NOW).await;
                store.end_attempt(lease, Ended::Succeeded { result: json!({}) }, NOW).await.unwrap();
            }
            assert_eq!(store.rollout_set(id).await.unwrap().status(), expected);
        }
    }
}
