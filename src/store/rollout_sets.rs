//! Rollout sets. A row is there from the submission of the job that fills it; the set is complete when that job's worker
//! has added an artifact of the same id.

use std::collections::BTreeMap;

use serde_json::Value;
use sqlx::AnyConnection;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::artifacts::content;
use super::{Content, Page, Result, Store, StoreError, read, read_json, write_json};
use crate::job::{JobId, JobStatus, RolloutSetId, RolloutSetStatus, RolloutSummary, Timestamp};

/// Rollout sets with their jobs and, where they are complete, with what they hold.
macro_rules! rollout_set_rows {
    () => {
        "select s.*, job.status as job_status, a.directory, a.manifest, a.summary, a.completed_at
         from rollout_set s join job on job.id = s.job_id left join artifact a on a.id = s.id "
    };
}

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
    pub content: Option<Content<RolloutSummary>>,
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
    pub async fn rollout_set(&self, id: RolloutSetId) -> Result<RolloutSetRow> {
        sqlx::query(concat!(rollout_set_rows!(), "where s.id = $1 and project = coalesce($2, project)"))
            .bind(id.to_string())
            .bind(self.project())
            .fetch_optional(&self.readers)
            .await?
            .map_or_else(
                || Err(StoreError::NotFound { what: "rollout set", id: id.to_string() }),
                |row| rollout_set(&row),
            )
    }

    pub async fn rollout_sets(&self, page: &Page) -> Result<Vec<RolloutSetRow>> {
        let (low, high) = page.bounds();
        let statement = if page.newest_first {
            concat!(
                rollout_set_rows!(),
                "where s.id > $1 and s.id < $2 and project = coalesce($4, project) order by s.id desc limit $3"
            )
        } else {
            concat!(
                rollout_set_rows!(),
                "where s.id > $1 and s.id < $2 and project = coalesce($4, project) order by s.id limit $3"
            )
        };
        let rows = sqlx::query(statement)
            .bind(low)
            .bind(high)
            .bind(i64::from(page.limit))
            .bind(self.project())
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(rollout_set).collect()
    }
}

/// Adds the pending set of a job within the transaction of its submission.
pub(super) async fn insert(
    connection: &mut AnyConnection,
    job: JobId,
    set: &NewRolloutSet,
    now: Timestamp,
) -> Result<()> {
    // A model that was under way when the spec was read may be here by now.
    sqlx::query(
        "insert into rollout_set (id, job_id, name, model, model_digest, tokenizer_digest, spec, metadata, created_at)
         values ($1, $2, $3, $4,
                 case when $5 <> '' then $5
                      else coalesce((select 'sha256:' || weights_sha256 from model where id = $4 and status = 'ready'), '')
                 end,
                 $6, $7, $8, $9)",
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

fn rollout_set(row: &AnyRow) -> Result<RolloutSetRow> {
    let text = |column| -> Result<Option<String>> { Ok(row.try_get(column)?) };
    let spec = text("spec")?;
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
        content: content(row)?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::job::{
        ArtifactId, ArtifactKind, ArtifactSummary, DeviceReading, EventKind, JobKind, Manifest, ManifestFile, WorkerId,
    };
    use crate::store::{Added, Ended, IdempotencyKey, Keep, Lease, Location, NewArtifact, NewJob};

    const NOW: Timestamp = Timestamp(1_750_000_000_000);

    fn new_job() -> NewJob {
        let spec = json!({
            "model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"}, "prompts": 2,
        });
        let set = NewRolloutSet {
            id: RolloutSetId::generate(),
            name: Some(String::from("small")),
            model: String::from("builtin:arith-tiny"),
            model_digest: String::from("sha256:00"),
            tokenizer_digest: String::from("sha256:01"),
            spec: Some(spec.clone()),
            metadata: BTreeMap::from([(String::from("commit"), String::from("abc"))]),
        };
        NewJob { rollout_set: Some(set), ..NewJob::of_kind(JobKind::Rollouts, spec) }
    }

    fn manifest(lease: Lease) -> Manifest {
        let file = ManifestFile { path: String::from("rollouts.jsonl"), size: 100, sha256: "0".repeat(64) };
        Manifest {
            format: 1,
            kind: ArtifactKind::Rollouts,
            job: lease.job,
            attempt: lease.attempt,
            step: 0,
            spec_digest: String::from("sha256:02"),
            files: vec![file],
        }
    }

    /// Adds a set whose directory has that name.
    async fn add(store: &Store, lease: Lease, name: &str, summary: &RolloutSummary, now: Timestamp) -> Result<Added> {
        let location = &Location::job(lease.job).within(name);
        let (manifest, summary) = (&manifest(lease), &ArtifactSummary::Rollouts(summary.clone()));
        let new = NewArtifact { location, manifest, summary, score: None, keep: Keep { last: 1, best: 0 } };
        store.add_artifact(lease, new, now).await
    }

    /// A store with a device.
    async fn open(directory: &std::path::Path) -> Store {
        let store = Store::open(directory).await.unwrap();
        let cpu = DeviceReading::of_test("cpu", 0, 1 << 30);
        store.set_devices(&[cpu], NOW).await.unwrap();
        store
    }

    async fn claim(store: &Store, now: Timestamp) -> Lease {
        claim_as(store, WorkerId::generate(), now).await
    }

    async fn claim_as(store: &Store, worker: WorkerId, now: Timestamp) -> Lease {
        let claim = store.claim(worker, "cpu", now).await.unwrap().unwrap();
        assert_eq!(claim.spec.work.kind(), JobKind::Rollouts);
        claim.lease
    }

    #[tokio::test]
    async fn a_set_is_pending_with_its_job_and_ready_when_written() {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path()).await;
        let new = new_job();
        let (job, id) = (new.id, new.rollout_set.as_ref().unwrap().id);
        let submitted = store.submit_job(new, None, NOW).await.unwrap();
        assert_eq!((submitted.job.work().kind(), submitted.job.rollout_set), (JobKind::Rollouts, Some(id)));
        let pending = store.rollout_set(id).await.unwrap();
        assert_eq!((pending.status(), pending.job), (RolloutSetStatus::Pending, job));
        assert_eq!(pending.metadata["commit"], "abc");

        let lease = claim(&store, NOW).await;
        let summary = RolloutSummary { groups: 2, rollouts: 8, ..RolloutSummary::default() };
        let location = Location::job(job).within("rollouts");
        assert!(!store.is_artifact(&location).await.unwrap());
        for _ in 0..2 {
            let added = add(&store, lease, "rollouts", &summary, NOW).await.unwrap();
            assert_eq!((added.id, added.dropped), (ArtifactId::RolloutSet(id), Vec::new()));
        }
        assert!(store.is_artifact(&location).await.unwrap());
        let events = store.events(job, 0, 100).await.unwrap();
        let told: Vec<_> = events.iter().filter(|event| event.body.kind() == EventKind::RolloutSet).collect();
        assert_eq!(told.len(), 1, "writing it again is no news");
        assert_eq!(json!(told[0].body), json!({"rollout_set": id, "rollouts": 8, "groups": 2, "bytes": 100}));

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
        let worker = WorkerId::generate();
        let first = claim_as(&store, worker, NOW).await;
        let summary = RolloutSummary::default();
        add(&store, first, "1", &summary, NOW).await.unwrap();

        let later = NOW.plus_seconds(60);
        assert_eq!(store.release_worker(worker, "silent", false, later).await.unwrap(), 1);
        let second = claim(&store, later).await;
        let late = add(&store, first, "1", &summary, later).await;
        assert!(matches!(late, Err(StoreError::LeaseLost)), "{late:?}");
        let added = add(&store, second, "2", &summary, later).await.unwrap();
        assert_eq!(added.dropped, [Location::job(job).within("1")], "its files are nobody's any more");
        let artifact = store.rollout_set(id).await.unwrap().content.unwrap().artifact;
        assert_eq!(*artifact.location(), Location::job(job).within("2"));
        assert_eq!(artifact.manifest.attempt, 2);
    }

    #[tokio::test]
    async fn the_request_of_a_deleted_set_makes_another_one() {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path()).await;
        let key = || IdempotencyKey { name: Some("k".into()), digest: "sha256:00".into(), repeats: false };
        let first = store.submit_job(new_job(), Some(key()), NOW).await.unwrap().job;
        store.cancel_job(first.id, NOW).await.unwrap();
        assert_eq!(store.submitted_before(Some(&key()), NOW).await.unwrap().map(|job| job.id), Some(first.id));
        store.delete_rollout_set(first.rollout_set.unwrap()).await.unwrap();
        assert!(store.submitted_before(Some(&key()), NOW).await.unwrap().is_none());
        let second = store.submit_job(new_job(), Some(key()), NOW).await.unwrap();
        assert!(!second.replayed && second.job.rollout_set.is_some());
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
