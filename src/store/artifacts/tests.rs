//! What a data directory of the days of three tables becomes, and what the place promises.

use std::path::Path;

use serde_json::{Value, json};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use super::*;
use crate::job::digest::sha256_hex;
use crate::job::{
    ArtifactKind, ArtifactSummary, EvaluationId, FileId, JobId, JobKind, JobStatus, ModelId, RolloutSetId,
    RolloutSetStatus, Timestamp,
};
use crate::store::migrations::migrator;
use crate::store::{Lease, NewJob, Page, Store};

const NOW: Timestamp = Timestamp(1_750_000_000_000);

/// The last schema in which checkpoints, rollout sets and evaluations had a table each.
const THREE_TABLES: i64 = 11;

async fn old_database(folder: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(folder.join("anneal.db")).create_if_missing(true);
    let mut database = options.foreign_keys(true).connect().await.unwrap();
    migrator(THREE_TABLES).run(&mut database).await.unwrap();
    database
}

async fn insert(database: &mut SqliteConnection, statement: &'static str, values: &[Value]) {
    let mut query = sqlx::query(statement);
    for value in values {
        query = match value {
            Value::Null => query.bind(None::<String>),
            Value::Number(number) => query.bind(number.as_f64()),
            Value::String(text) => query.bind(text.clone()),
            other => query.bind(other.to_string()),
        };
    }
    query.execute(database).await.unwrap();
}

async fn insert_job(database: &mut SqliteConnection, kind: JobKind, status: JobStatus) -> JobId {
    let id = JobId::generate();
    let rows = match kind {
        JobKind::Train | JobKind::Rollouts => json!({"train": "builtin:arithmetic"}),
        JobKind::Evaluation => json!("builtin:arithmetic"),
    };
    let spec = json!({"model": "builtin:arith-tiny", "dataset": rows, "verifier": {"type": "numeric"}});
    let statement = "insert into job (id, kind, status, priority, objective, spec, spec_resolved, spec_digest,
                                      created_at, updated_at, steps)
                     values ($1, $2, $3, 0, '', $4, $4, 'sha256:00', 1, 1, 0)";
    let values = [json!(id.to_string()), json!(kind.as_str()), json!(status.as_str()), spec];
    insert(database, statement, &values).await;
    id
}

fn manifest(kind: ArtifactKind, job: JobId, attempt: u32, step: u64) -> Value {
    let file = json!({"path": "a.txt", "size": 1, "sha256": sha256_hex(b"a")});
    json!({"format": 1, "kind": kind, "job": job, "attempt": attempt, "step": step, "spec_digest": "sha256:00",
           "files": [file]})
}

async fn insert_rollout_set(database: &mut SqliteConnection, job: JobId, complete: bool) -> RolloutSetId {
    let id = RolloutSetId::generate();
    let held = [
        json!(format!("{job}/rollouts-1")),
        json!(5),
        manifest(ArtifactKind::Rollouts, job, 1, 3),
        json!({"groups": 2, "rollouts": 8, "tokens": 9, "reward_mean": 0.5, "zero_spread": 0.0,
               "whole_distribution": true, "max_step": 3}),
        json!(70),
    ];
    let mut values = vec![json!(id.to_string()), json!(job.to_string()), json!("kept"), json!({"a": "b"})];
    values.extend(held.map(|value| if complete { value } else { Value::Null }));
    let statement = "insert into rollout_set (id, job_id, name, model, model_digest, tokenizer_digest, metadata,
                                              created_at, directory, bytes, manifest, summary, completed_at)
                     values ($1, $2, $3, 'builtin:arith-tiny', 'sha256:01', 'sha256:02', $4, 60, $5, $6, $7, $8, $9)";
    insert(database, statement, &values).await;
    id
}

#[tokio::test]
async fn a_database_with_three_tables_opens_with_all_that_was_in_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut database = old_database(folder.path()).await;
    let trained = insert_job(&mut database, JobKind::Train, JobStatus::Succeeded).await;
    let queued = insert_job(&mut database, JobKind::Rollouts, JobStatus::Queued).await;
    let evaluated = insert_job(&mut database, JobKind::Evaluation, JobStatus::Succeeded).await;
    let checkpoint = CheckpointId::generate();
    let values = [
        json!(checkpoint.to_string()),
        json!(trained.to_string()),
        json!(format!("{trained}/training-2-7")),
        manifest(ArtifactKind::Training, trained, 2, 7),
    ];
    let statement =
        "insert into checkpoint (id, job_id, kind, attempt, step, directory, bytes, manifest, created_at, score)
                     values ($1, $2, 'training', 2, 7, $3, 5, $4, 50, 0.25)";
    insert(&mut database, statement, &values).await;
    let complete = insert_rollout_set(&mut database, trained, true).await;
    let pending = insert_rollout_set(&mut database, queued, false).await;
    let found = json!({"prompts": 3, "samples": 4, "completions": 12, "unscored": 0, "passed": 6, "unparsable": 0,
                       "pass_at": [], "reward_mean": 0.5, "tokens_mean": 2.0, "truncated": 0.0,
                       "rows_digest": "sha256:03"});
    let values = [
        json!(evaluated.to_string()),
        json!(format!("{evaluated}/evaluation-1")),
        manifest(ArtifactKind::Evaluation, evaluated, 1, 0),
        found,
    ];
    let statement = "insert into evaluation (job_id, directory, bytes, manifest, summary, completed_at)
                     values ($1, $2, 5, $3, $4, 80)";
    insert(&mut database, statement, &values).await;
    database.close().await.unwrap();

    let store = Store::open(folder.path()).await.unwrap();
    let row = store.checkpoint(checkpoint).await.unwrap();
    assert_eq!((row.score, row.artifact.completed_at), (Some(0.25), Timestamp(50)));
    let set = store.rollout_set(complete).await.unwrap();
    assert_eq!(
        (set.status(), set.created_at, set.metadata["a"].as_str()),
        (RolloutSetStatus::Ready, Timestamp(60), "b")
    );
    let held = set.content.unwrap();
    assert_eq!((held.summary.rollouts, held.artifact.completed_at), (8, Timestamp(70)));
    let waiting = store.rollout_set(pending).await.unwrap();
    assert_eq!((waiting.status(), waiting.job), (RolloutSetStatus::Pending, queued));
    let evaluation = store.evaluation(EvaluationId::of_job(evaluated)).await.unwrap().content.unwrap();
    assert_eq!((evaluation.summary.passed, evaluation.artifact.completed_at), (6, Timestamp(80)));
    assert_eq!(store.project_with_usage("default").await.unwrap().storage_bytes, 15);

    let page = Page { after: None, limit: 10, newest_first: true };
    let listed: Vec<CheckpointId> = store.checkpoints(None, &page).await.unwrap().iter().map(|row| row.id).collect();
    assert_eq!(listed, [checkpoint]);
    for (artifact, directory, kind, attempt, step) in [
        (row.artifact, format!("{trained}/training-2-7"), ArtifactKind::Training, 2, 7),
        (held.artifact, format!("{trained}/rollouts-1"), ArtifactKind::Rollouts, 1, 3),
        (evaluation.artifact, format!("{evaluated}/evaluation-1"), ArtifactKind::Evaluation, 1, 0),
    ] {
        let manifest = &artifact.manifest;
        assert_eq!((manifest.kind, manifest.attempt, manifest.step), (kind, attempt, step));
        assert!(store.is_artifact(artifact.location()).await.unwrap(), "{kind}");
        // Its files are where they were.
        let path = store.files().root().join("jobs").join(directory);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("a.txt"), "a").unwrap();
        assert_eq!(read(&store, artifact.file("a.txt").unwrap()), "a");
        assert!(artifact.file("b.txt").is_err(), "only names in the manifest become locations");
    }
    store.delete_job(trained).await.unwrap();
    assert!(store.rollout_set(complete).await.is_err() && store.checkpoint(checkpoint).await.is_err());
}

/// A job whose first attempt is running.
async fn running_job(store: &Store) -> JobId {
    let spec = json!({"model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"},
                      "objective": {"type": "sft"}});
    let new = NewJob::of_kind(JobKind::Train, spec);
    let job = store.submit_job(new, None, NOW).await.unwrap().job.id;
    let mut tx = store.begin().await.unwrap();
    let held = "update job set status = 'running', attempt = 1, worker = 'w' where id = $1";
    sqlx::query(held).bind(job.to_string()).execute(tx.connection()).await.unwrap();
    tx.commit().await.unwrap();
    job
}

/// The first attempt was killed between its finished model and its end.
#[tokio::test]
async fn a_job_has_one_finished_model_however_many_attempts_made_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let job = running_job(&store).await;
    let add = async |name: &str, weights: &[u8]| {
        let mut manifest: Manifest = serde_json::from_value(manifest(ArtifactKind::Inference, job, 1, 12)).unwrap();
        manifest.files[0].path = String::from("model.safetensors");
        manifest.files[0].sha256 = sha256_hex(weights);
        let location = &Location::job(job).within(name);
        let (summary, keep) = (&ArtifactSummary::Checkpoint, Keep { last: 3, best: 0 });
        let new = NewArtifact { location, manifest: &manifest, summary, score: None, keep };
        store.add_artifact(Lease { job, attempt: 1 }, new, NOW).await.unwrap()
    };
    let first = add("model-1-12", b"weights").await;
    let again = add("model-2-12", b"weights").await;
    assert_eq!((again.id, again.dropped), (first.id, vec![Location::job(job).within("model-2-12")]));
    assert!(add("model-1-12", b"weights").await.dropped.is_empty(), "what is told again changes nothing");
    let other = add("model-3-12", b"other weights").await;
    assert_eq!((other.id, other.dropped), (first.id, vec![Location::job(job).within("model-1-12")]));
    let page = Page { after: None, limit: 10, newest_first: true };
    assert_eq!(store.checkpoints(Some(job), &page).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_checkpoint_that_is_written_again_replaces_the_older_one_with_its_row() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let job = running_job(&store).await;
    let add = async |name: &str, step| {
        let manifest = serde_json::from_value(manifest(ArtifactKind::Training, job, 1, step)).unwrap();
        let new = NewArtifact {
            location: &Location::job(job).within(name),
            manifest: &manifest,
            summary: &ArtifactSummary::Checkpoint,
            score: None,
            keep: Keep { last: 3, best: 0 },
        };
        store.add_artifact(Lease { job, attempt: 1 }, new, NOW).await.unwrap().dropped
    };
    assert!(add("training-1-5", 5).await.is_empty());
    assert!(add("training-1-5-rollouts", 5).await.is_empty(), "that is another one");
    assert!(add("training-1-55", 55).await.is_empty());
    assert_eq!(add("training-1-5~2", 5).await, [Location::job(job).within("training-1-5")]);
    assert_eq!(add("training-1-5~3", 5).await, [Location::job(job).within("training-1-5~2")]);
    let page = Page { after: None, limit: 10, newest_first: true };
    assert_eq!(store.checkpoints(Some(job), &page).await.unwrap().len(), 3);
}

fn read(store: &Store, file: impl Into<StoredFile>) -> String {
    io::read_to_string(store.place().read(&file.into()).unwrap()).unwrap()
}

#[tokio::test]
async fn what_is_staged_and_not_published_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let staged = || std::fs::read_dir(store.files().root().join("uploads")).unwrap().count();
    let (file, model) = (Location::file(FileId::generate()), Location::model(ModelId::generate()));
    for publish in [false, true] {
        let (one, many) = (store.place().stage(), store.place().stage());
        io::Write::write_all(&mut one.create().unwrap(), b"rows").unwrap();
        std::fs::write(many.folder().unwrap().join("source.txt"), "from outside").unwrap();
        assert_eq!(staged(), 2);
        if publish {
            one.publish(&file).await.unwrap();
            many.publish(&model).await.unwrap();
        } else {
            drop((one, many));
        }
        assert_eq!(staged(), 0);
        assert_eq!(store.place().size(&file.clone().into()).await.ok(), publish.then_some(4));
    }
    assert_eq!(read(&store, model.within("source.txt")), "from outside");
}

#[tokio::test]
async fn a_copy_stays_when_the_first_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let (first, second) = (Location::file(FileId::generate()), Location::file(FileId::generate()));
    let staged = store.place().stage();
    io::Write::write_all(&mut staged.create().unwrap(), b"rows").unwrap();
    staged.publish(&first).await.unwrap();
    store.place().copy(&first, &second).await.unwrap();
    for _ in 0..2 {
        store.place().remove(&first).await;
    }
    assert!(store.place().size(&first.clone().into()).await.is_err());
    assert_eq!(read(&store, second), "rows");
}
