//! The whole life of a job against the server at ANNEAL_URL, through the proxy at ANNEAL_CUT_URL that breaks
//! connections.

use std::path::Path;

use anneal_client::types::{self, CheckpointKind, DryRun, JobStatus};
use anneal_client::{Client, ClientError, connect, download_checkpoint, dry_run, final_status, follow};
use futures_util::TryStreamExt;
use sha2::{Digest, Sha256};

fn client(variable: &str) -> Client {
    let key = std::env::var("ANNEAL_API_KEY").ok();
    connect(&std::env::var(variable).expect("clients/test.sh sets it"), key.as_deref()).unwrap()
}

async fn cuts() -> u64 {
    let url = format!("{}/cuts", std::env::var("ANNEAL_CUT_URL").unwrap());
    reqwest::get(url).await.unwrap().text().await.unwrap().parse().unwrap()
}

fn spec(dataset: &str, steps: u64) -> types::JobSpec {
    types::JobSpec::builder()
        .name(String::from("rust"))
        .model("builtin:arith-tiny")
        .dataset(types::DatasetSpec::builder().train(dataset))
        .verifier(types::JobSpecVerifier::from(types::VerifierSpec::from(
            types::VerifierNumeric::try_from(types::VerifierNumeric::builder()).unwrap(),
        )))
        .objective(types::ObjectiveBolt::try_from(types::ObjectiveBolt::builder().group_size(4).rounds(2)).unwrap())
        .sampling(types::SamplingSpec::try_from(types::SamplingSpec::builder().max_new_tokens(5).batch_size(64)).unwrap())
        .train(types::TrainSpec::try_from(types::TrainSpec::builder().steps(steps).prompts_per_step(16)).unwrap())
        .checkpoints(types::CheckpointSpec::try_from(types::CheckpointSpec::builder().every_steps(6)).unwrap())
        .try_into()
        .unwrap()
}

fn digest(path: &Path) -> String {
    Sha256::digest(std::fs::read(path).unwrap()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn folder(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("anneal-client-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

#[tokio::test]
async fn a_job_is_followed_through_cuts_and_its_checkpoint_arrives_whole() {
    let (client, cutting) = (client("ANNEAL_URL"), client("ANNEAL_CUT_URL"));
    let rows: Vec<String> = (0..100)
        .map(|i| format!("{{\"prompt\": \"{}+{}=\", \"answer\": \"{}\"}}", i / 10, i % 10, i / 10 + i % 10))
        .collect();
    let dataset = client.create_dataset().name("sums").body(rows.join("\n")).send().await.unwrap().into_inner();
    assert_eq!(dataset.latest.rows, 100);
    let body = spec(&dataset.id, 12);
    let plan = dry_run(&client, &body, DryRun::Preflight).await.unwrap();
    assert!(plan.plan.is_some());
    let key = format!("rust-{}", dataset.id);
    let first = client.create_job().idempotency_key(key.as_str()).body(body.clone()).send().await.unwrap();
    let second = client.create_job().idempotency_key(key.as_str()).body(body).send().await.unwrap();
    assert_eq!(first.id, second.id);
    assert_eq!(second.headers()["idempotent-replayed"], "true");

    let before = cuts().await;
    let events: Vec<_> = follow(&cutting, &first.id, 0).try_collect().await.unwrap();
    assert!(cuts().await > before, "the stream was never cut");
    let numbers: Vec<i64> = events.iter().map(|event| event.seq()).collect();
    let count = numbers.len() as i64;
    assert_eq!(numbers, (1..=count).collect::<Vec<_>>());
    assert_eq!(final_status(events.last().unwrap()), Some(JobStatus::Succeeded));
    let losses = events.iter().filter_map(|event| match event {
        types::JobEvent::MetricsEvent(step) => step.data.values["loss"],
        _ => None,
    });
    assert_eq!(losses.count(), 12);
    for (after, left) in [(count - 2, 2), (count, 0)] {
        let rest: Vec<_> = follow(&client, &first.id, after).try_collect().await.unwrap();
        assert_eq!(rest.len(), left);
    }

    let metrics = client.get_job_metrics().id(&first.id).keys("reward/mean").send().await.unwrap();
    assert_eq!(metrics.series[0].steps.len(), 12);
    let checkpoints = client.list_job_checkpoints().id(&first.id).send().await.unwrap().into_inner();
    let result = checkpoints.data.into_iter().find(|c| c.kind == CheckpointKind::Inference).unwrap();
    let target = folder("whole");
    let before = cuts().await;
    let paths = download_checkpoint(&cutting, &result.id, &target).await.unwrap();
    assert!(cuts().await > before, "the download was never cut");
    for (path, file) in paths.iter().zip(&result.files) {
        assert_eq!(digest(path), file.sha256);
    }
    assert_eq!(std::fs::read_dir(&target).unwrap().count(), result.files.len());
    std::fs::remove_dir_all(target).unwrap();
}

#[tokio::test]
async fn a_download_continues_what_an_earlier_process_left_and_refuses_what_is_spoilt() {
    let client = client("ANNEAL_URL");
    let job = client.create_job().body(spec("builtin:arithmetic", 2)).send().await.unwrap();
    follow(&client, &job.id, 0).try_for_each(|_| async { Ok(()) }).await.unwrap();
    let checkpoints = client.list_job_checkpoints().id(&job.id).send().await.unwrap().into_inner();
    let result = &checkpoints.data[0];
    let file = result.files.iter().max_by_key(|file| file.size).unwrap();
    let download = client.download_checkpoint_file().id(&result.id).path(&file.path).send().await.unwrap();
    let parts: Vec<_> = download.into_inner().into_inner().try_collect().await.unwrap();
    let target = folder("parts");
    let part = target.join(format!(".{}.{}.part", file.path, &file.sha256[..16]));
    std::fs::write(&part, &parts.concat()[..1000]).unwrap();
    download_checkpoint(&client, &result.id, &target).await.unwrap();
    assert_eq!(digest(&target.join(&file.path)), file.sha256);
    std::fs::remove_file(target.join(&file.path)).unwrap();
    std::fs::write(&part, "spoilt").unwrap();
    let error = download_checkpoint(&client, &result.id, &target).await.unwrap_err();
    assert!(matches!(error, ClientError::DigestMismatch { .. }), "{error}");
    assert!(!part.exists() && !target.join(&file.path).exists());
    std::fs::remove_dir_all(target).unwrap();
}

#[tokio::test]
async fn a_job_is_cancelled_and_errors_have_codes() {
    let client = client("ANNEAL_URL");
    let job = client.create_job().body(spec("builtin:arithmetic", 400)).send().await.unwrap();
    client.cancel_job().id(&job.id).send().await.unwrap();
    let events: Vec<_> = follow(&client, &job.id, 0).try_collect().await.unwrap();
    assert_eq!(final_status(events.last().unwrap()), Some(JobStatus::Cancelled));
    let conflict = ClientError::from(client.cancel_job().id(&job.id).send().await.unwrap_err());
    assert_eq!(conflict.code(), Some("conflict"));
    let missing: Result<Vec<_>, _> = follow(&client, "job_nothing", 0).try_collect().await;
    assert_eq!(missing.unwrap_err().code(), Some("not_found"));
    let mut wrong = spec("builtin:arithmetic", 2);
    wrong.objective = types::ObjectiveBolt::try_from(types::ObjectiveBolt::builder().group_size(0)).unwrap().into();
    match ClientError::from(client.create_job().body(wrong).send().await.unwrap_err()) {
        ClientError::Refused { status, problem } => {
            assert_eq!((status.as_u16(), problem.code.as_str()), (422, "invalid_spec"));
            assert_eq!(problem.errors[0].pointer, "/objective/group_size");
        }
        other => panic!("{other}"),
    }
}
