//! Looking after data: what a disk has changed, `anneal doctor`, and backups of a server that is busy.

mod common;

use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use common::{Server, data_dir, small_spec};
use serde_json::{Value, json};

/// Flips a bit in the midst of a file.
fn flip(path: &Path) {
    flip_at(path, |bytes| bytes.len() / 2);
}

/// Flips a bit of the byte that `find` finds.
fn flip_at(path: &Path, find: impl FnOnce(&[u8]) -> usize) {
    let mut bytes = std::fs::read(path).unwrap();
    let at = find(&bytes);
    bytes[at] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn what_a_disk_has_changed_is_not_trained_on_and_not_given_out() {
    let data = data_dir();
    let server = Server::start(data.path());
    let rows: String = (0..500).map(|i| format!("{{\"prompt\": \"{i}+1=\", \"answer\": \"{}\"}}\n", i + 1)).collect();
    let dataset = server.post_bytes("/v1/datasets?name=sums", rows.as_bytes(), &[]).json();
    let version = dataset["latest"]["id"].as_str().unwrap();
    let evaluation = server.post(
        "/v1/evaluations",
        &json!({"model": "builtin:arith-tiny", "dataset": dataset["id"], "verifier": {"type": "numeric"},
                "samples": 1, "prompts": 20}),
    );
    let evaluation = evaluation.json();
    let (job, evaluation) = (evaluation["job"].as_str().unwrap(), evaluation["id"].as_str().unwrap());
    assert_eq!(server.wait(job)["status"], "succeeded");
    let results = format!("/v1/evaluations/{evaluation}/results");
    let (rows, content) =
        (format!("/v1/dataset-versions/{version}/rows"), format!("/v1/dataset-versions/{version}/content"));
    assert_eq!([&results, &rows, &content].map(|path| server.get(path).status), [200; 3]);

    flip(&data.path().join(format!("datasets/{version}.jsonl")));
    let directory = data.path().join("jobs").join(job).join("evaluation-1");
    flip(&directory.join("results.jsonl"));
    for path in [&results, &rows] {
        let refused = server.get(path);
        assert_eq!((refused.status, refused.problem().as_str()), (500, "data_damaged"), "{path}");
    }
    let download = Command::new("curl").args(["-sS", "-o", "/dev/null", &format!("{}{content}", server.base)]).status();
    // Before its headers, in the midst of it, or with a reset.
    assert!([18, 52, 56].contains(&download.unwrap().code().unwrap()), "the download must break off");
    let mut spec = small_spec();
    spec["dataset"]["train"] = json!(version);
    let failed = server.wait(&server.submit(&spec));
    assert_eq!(failed["failure"]["code"], "data_damaged", "{failed}");
    assert!(failed["failure"]["message"].as_str().unwrap().contains(version), "{failed}");

    // A part of what a job keeps is looked at before a set is made of it.
    let mut spec = small_spec();
    spec["rollouts"] = json!({"keep": true});
    spec["objective"]["rounds"] = json!(6);
    spec["train"]["steps"] = json!(24);
    let job = server.submit(&spec);
    let part = data.path().join("jobs").join(&job).join("parts/000000.jsonl");
    server.wait_until(&job, |_| part.exists());
    flip(&part);
    let failed = server.wait(&job);
    assert_eq!(failed["failure"]["code"], "data_damaged", "{failed}");
}

fn anneal(arguments: &[&str], data: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anneal"));
    command.args(arguments).arg("--data-dir").arg(data).output().unwrap()
}

/// What the doctor says of a data directory, and whether that is a failure.
fn diagnosis(data: &Path) -> (Value, bool) {
    let told = anneal(&["doctor", "--deep", "--json", "--devices", "cpu", "--listen", "127.0.0.1:0"], data);
    (serde_json::from_slice(&told.stdout).unwrap(), !told.status.success())
}

fn finding<'a>(diagnosis: &'a Value, check: &str) -> &'a Value {
    diagnosis["findings"].as_array().unwrap().iter().find(|finding| finding["check"] == check).unwrap()
}

#[test]
fn a_value_that_the_disk_has_changed_in_the_database_is_no_answer() {
    let data = data_dir();
    let server = Server::start(data.path());
    // Of what stands in an index as well, a change of one of the two is found by SQLite itself.
    let new = json!({"config": {"type": "exact"}, "metadata": {"note": "judge-upkeep"}});
    let verifier = server.post("/v1/verifiers", &new).json();
    let path = format!("/v1/verifiers/{}", verifier["id"].as_str().unwrap());
    assert_eq!(server.get(&path).json()["metadata"]["note"], "judge-upkeep");
    server.terminate();

    let name = |bytes: &[u8]| bytes.windows(12).position(|window| window == b"judge-upkeep").unwrap();
    flip_at(&data.path().join("anneal.db"), name);
    let (broken, failed) = diagnosis(data.path());
    let told = finding(&broken, "database");
    assert!(failed && told["detail"].as_str().unwrap().contains("is not what was written"), "{broken:#}");
    let server = Server::start(data.path());
    for path in [&path, "/readyz"] {
        let refused = server.get(path);
        assert_eq!((refused.status, refused.problem().as_str()), (503, "database_damaged"), "{path}");
    }
    assert!(!anneal(&["doctor", "--reseal"], data.path()).status.success(), "a server runs");
    server.terminate();

    // As if another program had meant it.
    assert!(anneal(&["doctor", "--reseal"], data.path()).status.success());
    let server = Server::start(data.path());
    assert_ne!(server.get(&path).json()["metadata"]["note"], "judge-upkeep");
    assert_eq!(server.get("/readyz").status, 200);
}

#[test]
fn the_doctor_finds_what_is_missing_changed_and_broken() {
    let data = data_dir();
    let server = Server::start_with(data.path(), &["--webhook-allow-private", "127.0.0.0/8"]);
    let endpoint = server.post("/v1/webhook_endpoints", &json!({"url": "http://127.0.0.1:9/"})).json();
    let jobs: Vec<String> = (0..2).map(|_| server.submit(&small_spec())).collect();
    jobs.iter().for_each(|job| assert_eq!(server.wait(job)["status"], "succeeded"));
    let (well, failed) = diagnosis(data.path());
    assert!(!failed && well["verdict"] != "error", "{well:#}");
    let webhooks = finding(&well, "webhooks");
    assert_eq!(webhooks["verdict"], "warning", "the setting of the server is not the doctor's");
    assert!(webhooks["detail"].as_str().unwrap().contains(endpoint["id"].as_str().unwrap()), "{webhooks}");
    let model = |job: &str| {
        let mut folders =
            std::fs::read_dir(data.path().join("jobs").join(job)).unwrap().map(|entry| entry.unwrap().path());
        folders
            .find(|path| path.join("model.safetensors").exists() && !path.to_string_lossy().contains("training-"))
            .unwrap()
    };
    flip(&model(&jobs[0]).join("model.safetensors"));
    std::fs::remove_dir_all(model(&jobs[1])).unwrap();
    let (ill, failed) = diagnosis(data.path());
    let text = ill.to_string();
    assert!(failed && text.contains("does not hold what was stored") && text.contains("not there"), "{ill:#}");
    assert!(jobs.iter().all(|job| text.contains(job)), "{ill:#}");
    assert_eq!(finding(&ill, "database")["verdict"], "ok");
    server.terminate();

    // A page with metrics, which nobody reads when a server starts.
    let path = data.path().join("anneal.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let holds = |page: &[u8]| page.windows(9).any(|window| window == b"grad/norm");
    let page = bytes.chunks(4096).rposition(holds).unwrap();
    bytes[page * 4096..(page + 1) * 4096].fill(0x5a);
    std::fs::write(&path, bytes).unwrap();
    let (broken, failed) = diagnosis(data.path());
    assert!(failed && finding(&broken, "database")["verdict"] == "error", "{broken:#}");
    let server = Server::start(data.path());
    let began = std::time::Instant::now();
    while server.get("/readyz").status == 200 {
        assert!(began.elapsed() < common::PATIENCE, "the server does not notice a broken database");
    }
    assert_eq!(server.get("/readyz").problem(), "database_damaged");
}

#[test]
fn a_backup_of_a_busy_server_is_whole_and_goes_on_where_it_was() {
    let (data, backup, restored) = (data_dir(), data_dir(), data_dir());
    let server = Server::start(data.path());
    let mut long = small_spec();
    long["train"]["steps"] = json!(400);
    long["objective"]["rounds"] = json!(100);
    let running = server.submit(&long);
    server.wait_until(&running, |job| job["step"].as_u64() > Some(4));
    let (done, made) = (AtomicBool::new(false), AtomicU32::new(0));
    let rows = |i: u32| format!("{{\"prompt\": \"{i}\", \"answer\": \"{i}\"}}\n").repeat(2000);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            // Data sets come and go; every third stays.
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    let i = made.fetch_add(1, Ordering::SeqCst);
                    let made = server.post_bytes(&format!("/v1/datasets?name=set-{i}"), rows(i).as_bytes(), &[]).json();
                    if i % 3 != 0 {
                        let id = made["id"].as_str().unwrap();
                        assert_eq!(server.delete(&format!("/v1/datasets/{id}")).status, 200);
                    }
                }
            });
        }
        for round in 0..3 {
            let told = anneal(&["backup", backup.path().to_str().unwrap(), "--json"], data.path());
            assert!(told.status.success(), "round {round}: {}", String::from_utf8_lossy(&told.stderr));
        }
        done.store(true, Ordering::SeqCst);
    });
    println!("{} data sets were made meanwhile", made.load(Ordering::SeqCst));
    let refused = anneal(&["backup", data.path().to_str().unwrap()], data.path());
    assert!(!refused.status.success(), "a data directory is no place for a backup");
    let step = server.job(&running)["step"].as_u64().unwrap();
    server.kill();

    let (backup, new) = (backup.path().to_str().unwrap(), restored.path().join("data"));
    let told = anneal(&["restore", backup], &new);
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    assert!(!anneal(&["restore", backup], &new).status.success(), "what is there is not written over");
    let (well, failed) = diagnosis(&new);
    assert!(!failed, "{well:#}");
    let server = Server::start(&new);
    let sets = server.get("/v1/datasets?limit=100").json();
    for set in sets["data"].as_array().unwrap() {
        let (name, version) = (set["name"].as_str().unwrap(), set["latest"]["id"].as_str().unwrap());
        let number = name.strip_prefix("set-").unwrap().parse().unwrap();
        let content = server.get(&format!("/v1/dataset-versions/{version}/content"));
        assert!(content.bytes == rows(number).as_bytes(), "{name} is another one");
    }
    let resumed = server.wait_until(&running, |job| job["attempt"] == 2 && job["status"] == "running");
    assert!(resumed["step"].as_u64().unwrap() <= step, "{resumed}");
    let attempts = server.get(&format!("/v1/jobs/{running}/attempts")).json();
    assert!(attempts.to_string().contains("lost"), "{attempts}");
}
