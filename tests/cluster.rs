//! Several servers on one PostgreSQL and one bucket: one service to whoever talks to any of them, whatever of it breaks.
//! Started with both beside them: `scripts/cluster.sh cargo test --test cluster`; not part of a plain `cargo test`.

#[path = "common/agent.rs"]
mod agent;
#[path = "common/between.rs"]
mod between;
mod common;
#[path = "common/program.rs"]
mod program;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use agent::Agent;
use common::{PATIENCE, Server, data_dir, signal, small_spec};
use futures_util::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt};
use program::Program;
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a worker may be silent in these tests.
const LEASE: &str = "4";

fn variable(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set; run scripts/cluster.sh cargo test --test cluster"))
}

/// A database, a bucket and machines with data directories of their own.
struct Cluster {
    database: String,
    /// None: each machine keeps its files for itself.
    bucket: Option<String>,
    hosts: Vec<TempDir>,
}

impl Cluster {
    fn new(hosts: usize) -> Self {
        let hosts: Vec<TempDir> = (0..hosts).map(|_| data_dir()).collect();
        let database = common::database_url(hosts[0].path());
        let name = hosts[0].path().file_name().unwrap().to_string_lossy().replace('.', "");
        let bucket = Some(format!("{}/{name}", variable("ANNEAL_TEST_S3")));
        Self { database: database.unwrap_or_else(|| variable("ANNEAL_TEST_POSTGRES")), bucket, hosts }
    }

    /// Starts a server on a machine, with the keys of the first, and with `more` in its environment.
    fn start_with(&self, host: usize, arguments: &[&str], more: &[(&str, &str)]) -> Server {
        let data = self.hosts[host].path();
        for key in ["secrets.key", "signing.key"] {
            let (from, to) = (self.hosts[0].path().join(key), data.join(key));
            if from.exists() && !to.exists() {
                std::fs::copy(from, to).unwrap();
            }
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_anneal"));
        command.args(["serve", "--supervised", "--log", "warn", "--lease-seconds", LEASE]);
        command.arg("--data-dir").arg(data).args(["--host-name", &format!("host-{host}")]).args(arguments);
        command.env("ANNEAL_DATABASE", &self.database).env("ANNEAL_LISTEN", "127.0.0.1:0");
        if let Some(bucket) = &self.bucket {
            command.env("ANNEAL_ARTIFACTS", bucket);
        }
        command.envs(more.iter().copied());
        Server::spawn(command)
    }

    fn start(&self, host: usize) -> Server {
        self.start_with(host, &["--devices", "cpu"], &[])
    }
}

/// Ends a machine: its server and its workers, at once.
fn cut_off(server: Server) {
    let workers = Command::new("pkill").args(["-KILL", "-P", &server.pid().to_string()]).status();
    assert!(workers.is_ok());
    server.kill();
}

/// The digests of what a job has made, as any server tells them.
fn weights(server: &Server, job: &str) -> Vec<String> {
    let finished = server.wait(job);
    assert_eq!(finished["status"], "succeeded", "{finished}");
    let list = server.get(&format!("/v1/jobs/{job}/checkpoints?limit=100")).json();
    let last = list["data"].as_array().unwrap().iter().filter(|c| c["step"] == finished["steps"]);
    let files = last.flat_map(|checkpoint| checkpoint["files"].as_array().unwrap().clone());
    let mut digests: Vec<String> = files
        .filter(|file| file["path"].as_str().unwrap().ends_with(".safetensors"))
        .map(|file| format!("{} {}", file["path"].as_str().unwrap(), file["sha256"].as_str().unwrap()))
        .collect();
    digests.sort();
    digests
}

/// What a job makes whom nothing disturbs.
fn undisturbed(spec: &Value) -> Vec<String> {
    let cluster = Cluster::new(1);
    let server = cluster.start(0);
    let job = server.submit(spec);
    weights(&server, &job)
}

fn device_of(server: &Server, job: &str) -> String {
    server.job(job)["devices"][0].as_str().unwrap_or_default().to_owned()
}

#[test]
fn whoever_talks_to_any_server_talks_to_one_service() {
    let cluster = Cluster::new(2);
    let (one, two) = (cluster.start(0), cluster.start(1));
    let devices = || {
        let list = one.get("/v1/devices").json();
        let ready = |device: &&Value| device["status"] == "idle";
        let data = list["data"].as_array().unwrap();
        data.iter().filter(ready).map(|device| device["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let deadline = Instant::now() + PATIENCE;
    while devices() != ["host-0/cpu", "host-1/cpu"] {
        assert!(Instant::now() < deadline, "{:?}", devices());
        std::thread::sleep(Duration::from_millis(50));
    }
    // Data that came to one server is there for workers of both, and a request is known at both.
    let rows: String = (1..40).map(|i| format!("{{\"prompt\": \"{i}+1=\", \"answer\": \"{}\"}}\n", i + 1)).collect();
    let made = one.post_bytes("/v1/datasets?name=sums", rows.as_bytes(), &[("content-type", "application/jsonl")]);
    assert_eq!(made.status, 201, "{}", made.json());
    let mut spec = small_spec();
    spec["dataset"] = json!({"train": made.json()["id"]});
    spec["eval"] = json!({"prompts": 8, "samples": 2, "pass_at": [1]});
    let keyed = |server: &Server| {
        server.request("POST", "/v1/jobs", &[("idempotency-key", "the-first")], Some(&spec)).json()["id"].clone()
    };
    let first = keyed(&one).as_str().unwrap().to_owned();
    assert_eq!(keyed(&two), json!(first));
    let second = one.submit(&spec);
    for (server, job) in [(&two, &first), (&one, &second)] {
        assert_eq!(server.wait(job)["status"], "succeeded", "{}", server.job(job));
    }
    assert_ne!(device_of(&one, &first), device_of(&two, &second), "one of them stood idle");
    assert_eq!(weights(&one, &first), weights(&two, &second));

    // What one machine has made is read at the other: whole, in part, and as a model to go on from.
    for server in [&one, &two] {
        let list = server.get(&format!("/v1/jobs/{first}/checkpoints")).json();
        let model = list["data"].as_array().unwrap().iter().find(|c| c["kind"] == "inference").unwrap();
        let file = model["files"].as_array().unwrap().iter().find(|f| f["path"] == "model.safetensors").unwrap();
        let path = format!("/v1/checkpoints/{}/files/model.safetensors", model["id"].as_str().unwrap());
        let whole = server.get(&path);
        assert_eq!((whole.status, whole.bytes.len() as u64), (200, file["size"].as_u64().unwrap()));
        let part = server.get_with(&path, &[("range", "bytes=100-199")]);
        assert_eq!((part.status, &part.bytes[..]), (206, &whole.bytes[100..200]));
    }
    // And nothing of a job that is deleted at one is there at the other, or in the bucket.
    assert_eq!(two.delete(&format!("/v1/jobs/{first}")).status, 200);
    assert_eq!(one.get(&format!("/v1/jobs/{first}")).status, 404);
}

#[test]
fn parts_of_uploads_go_straight_to_the_bucket_and_are_looked_at_before_they_are_a_file() {
    let cluster = Cluster::new(2);
    let [one, two] = [0, 1].map(|host| cluster.start_with(host, &["--redirect-downloads"], &[]));
    let rows: String = (1..40).map(|i| format!("{{\"prompt\": \"{i}+1=\", \"answer\": \"{}\"}}\n", i + 1)).collect();
    let (first, second) = rows.split_at(500);
    let announced =
        json!({"filename": "sums.jsonl", "purpose": "fine-tune", "bytes": rows.len(), "mime_type": "text/plain"});
    let upload = one.post("/v1/uploads", &announced).json()["id"].as_str().unwrap().to_owned();
    let path = |end: &str| format!("/v1/uploads/{upload}/{end}");
    let asked = |server: &Server, bytes: usize| server.post(&path("direct-parts"), &json!({"bytes": bytes}));
    assert_eq!(asked(&one, rows.len() + 1).problem(), "invalid_spec");
    let parts = [asked(&one, first.len()).json(), asked(&two, second.len()).json()];
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let put = |at: usize, bytes: &str| {
        let address = parts[at]["url"].as_str().unwrap();
        assert!(!address.starts_with(&one.base) && !address.starts_with(&two.base), "{address}");
        assert_eq!(agent.put(address).send(bytes).unwrap().status(), 200);
    };
    let completed = || two.post(&path("complete"), &json!({"part_ids": [parts[0]["id"], parts[1]["id"]]}));
    put(0, first);
    let code = |answer: common::Answer| answer.json()["errors"][0].clone();
    let refused = code(completed());
    assert_eq!((&refused["pointer"], &refused["code"]), (&json!("/part_ids/1"), &json!("not_sent")), "{refused}");
    put(1, &second[1..]);
    let refused = code(completed());
    assert_eq!((&refused["pointer"], &refused["code"]), (&json!("/part_ids/1"), &json!("size_mismatch")), "{refused}");
    put(1, second);
    let done = completed();
    assert_eq!(done.status, 200, "{}", done.json());
    let file = done.json()["file"]["id"].as_str().unwrap().to_owned();
    assert_eq!(one.get(&format!("/v1/files/{file}/content")).bytes, rows.as_bytes());
    // A part that is sent after that is of no upload.
    assert_eq!(asked(&one, 1).status, 409);

    // The program sends models so.
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/arith-tiny");
    let said = Program::of(&two.base).json(&["models", "push", model]);
    assert_eq!(said["status"], "ready", "{said}");
}

#[test]
fn a_job_of_a_machine_that_is_gone_ends_elsewhere_with_the_same_bits() {
    let spec = small_spec();
    let expected = undisturbed(&spec);
    let cluster = Cluster::new(2);
    let (one, two) = (cluster.start(0), cluster.start_with(1, &["--devices", "simulated:1"], &[]));
    let job = one.submit(&spec);
    two.wait_until(&job, |job| job["step"].as_u64() >= Some(3) || job["status"] == "succeeded");
    let (gone, left) = if device_of(&two, &job).starts_with("host-0/") { (one, two) } else { (two, one) };
    let first = device_of(&left, &job);
    cut_off(gone);
    let began = Instant::now();
    left.wait_until(&job, |job| job["attempt"] == 2);
    println!("taken over after {:.1} s with a lease of {LEASE} s", began.elapsed().as_secs_f64());
    assert_eq!(weights(&left, &job), expected);
    assert_ne!(device_of(&left, &job), first);
}

/// Clocks of machines differ; the database's counts. (An object storage refuses whoever is 15 minutes off.)
#[test]
fn a_machine_whose_clock_is_an_hour_ahead_neither_takes_nor_loses_a_job() {
    let spec = small_spec();
    let expected = undisturbed(&spec);
    let cluster = Cluster { bucket: None, ..Cluster::new(2) };
    let one = cluster.start(0);
    let library = variable("ANNEAL_TEST_FAKETIME");
    for ahead in ["+3600s", "-3600s"] {
        let more = [("LD_PRELOAD", library.as_str()), ("FAKETIME", ahead), ("FAKETIME_DONT_FAKE_MONOTONIC", "1")];
        let two = cluster.start_with(1, &["--devices", "cpu"], &more);
        let jobs = [one.submit(&spec), two.submit(&spec)];
        for job in &jobs {
            assert_eq!(weights(&two, job), expected);
            let job = one.job(job);
            assert_eq!(job["attempt"], 1, "{job}");
            let (submitted, ended) = (job["created_at"].as_i64().unwrap(), job["finished_at"].as_i64().unwrap());
            assert!((0..600).contains(&(ended - submitted)), "{job}");
        }
        two.terminate();
    }
}

#[test]
fn an_agent_whose_clock_is_an_hour_off_neither_keeps_nor_loses_a_job() {
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(100);
    spec["eval"]["every_steps"] = json!(100);
    let expected = undisturbed(&spec);
    let data = data_dir();
    let server = Server::start_with(data.path(), &["--devices", "none", "--lease-seconds", LEASE]);
    for ahead in ["+3600s", "-3600s"] {
        let job = server.submit(&spec);
        let agent = |name: &str| {
            let (mut command, folder) = (Command::new("env"), data_dir());
            command.arg(format!("LD_PRELOAD={}", variable("ANNEAL_TEST_FAKETIME"))).arg(format!("FAKETIME={ahead}"));
            command.arg("FAKETIME_DONT_FAKE_MONOTONIC=1").arg(env!("CARGO_BIN_EXE_anneal"));
            // The names of one round are not free at once.
            let name = format!("{name}{}", ahead.trim_start_matches('+'));
            (Agent::run(command, folder.path(), &server.base, &name, &[]), folder)
        };
        let (first, _folder) = agent("first");
        server.wait_until(&job, |job| job["step"].as_u64() > Some(3));
        // One that is well keeps its job for longer than a lease; one that is gone loses it when that is over, and not before.
        std::thread::sleep(Duration::from_secs(LEASE.parse::<u64>().unwrap() + 1));
        let there = server.job(&job);
        assert_eq!((&there["attempt"], &there["status"]), (&json!(1), &json!("running")), "{there}");
        let (_second, _folder) = agent("second");
        let killed = Instant::now();
        drop(first);
        assert_eq!(weights(&server, &job), expected);
        assert_eq!(server.job(&job)["attempt"], 2, "{}", server.job(&job));
        println!("with a clock {ahead} ahead the job ended elsewhere {:.1} s later", killed.elapsed().as_secs_f64());
    }
}

/// Follows a job at one of several servers until its end, at another one whenever one breaks off. Returns the numbers of the
/// events as they came, and the longest silence.
fn follow(bases: &[String], job: &str, first: usize) -> (Vec<i64>, Duration) {
    let (mut seen, mut silence, mut newest) = (Vec::new(), Duration::ZERO, Instant::now());
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let deadline = Instant::now() + PATIENCE;
    for turn in 0.. {
        assert!(Instant::now() < deadline, "{seen:?}");
        let base = &bases[(first + turn) % bases.len()];
        let last = seen.last().copied().unwrap_or(0).to_string();
        let asked = agent.get(format!("{base}/v1/jobs/{job}/events"));
        let answered = asked.header("accept", "text/event-stream").header("last-event-id", last).call();
        let Ok(response) = answered else {
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        if response.status() == 204 {
            return (seen, silence);
        }
        for line in BufReader::new(response.into_body().into_reader()).lines() {
            let Ok(line) = line else { break };
            if let Some(id) = line.strip_prefix("id:") {
                seen.push(id.trim().parse().unwrap());
                silence = silence.max(newest.elapsed());
                newest = Instant::now();
            }
        }
    }
    unreachable!()
}

#[test]
fn followers_of_a_server_that_is_killed_go_on_at_another_without_gap_or_repeat() {
    const FOLLOWERS: usize = 200;
    let cluster = Cluster::new(2);
    let (one, two) = (cluster.start(0), cluster.start_with(1, &["--devices", "simulated:1"], &[]));
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(60);
    let job = one.submit(&spec);
    one.wait_until(&job, |job| job["status"] == "running");
    // The server that does not run it is the one that ends.
    let (gone, left) = if device_of(&one, &job).starts_with("host-0/") { (two, one) } else { (one, two) };
    let bases = [gone.base.clone(), left.base.clone()];
    let followed: Vec<(Vec<i64>, Duration)> = std::thread::scope(|scope| {
        let follow = |_| scope.spawn(|| follow(&bases, &job, 0));
        let followers: Vec<_> = (0..FOLLOWERS).map(follow).collect();
        left.wait_until(&job, |job| job["step"].as_u64() >= Some(20));
        cut_off(gone);
        followers.into_iter().map(|follower| follower.join().unwrap()).collect()
    });
    let last = left.job(&job)["last_seq"].as_i64().unwrap();
    for (seen, _) in &followed {
        assert_eq!(*seen, (1..=last).collect::<Vec<_>>(), "gaps or repeats");
    }
    let silence = followed.iter().map(|(_, silence)| *silence).max().unwrap();
    println!("{FOLLOWERS} followers, {last} events each; the longest silence was {:.2} s", silence.as_secs_f64());
}

#[test]
fn jobs_go_on_while_the_database_is_away() {
    let away = std::env::var("ANNEAL_AWAY_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let spec = small_spec();
    let expected = undisturbed(&spec);
    let cluster = Cluster::new(1);
    let server = cluster.start(0);
    let job = server.submit(&spec);
    server.wait_until(&job, |job| job["step"].as_u64() >= Some(2));
    let control = |command: &str| {
        let done =
            Command::new("bash").args(["-c", &variable("ANNEAL_TEST_POSTGRES_CONTROL"), "control", command]).status();
        assert!(done.unwrap().success(), "{command}");
    };
    control("stop");
    let began = Instant::now();
    let mut refused = 0;
    while began.elapsed() < Duration::from_secs(away) {
        let answer = server.get(&format!("/v1/jobs/{job}"));
        if answer.status != 200 {
            assert_eq!((answer.status, !answer.header("retry-after").is_empty()), (503, true), "{}", answer.json());
            refused += 1;
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    assert!(refused > 0, "the database was never away");
    assert_eq!(server.get("/healthz").status, 200);
    control("start");
    let back = Instant::now();
    while server.get("/readyz").status != 200 {
        assert!(back.elapsed() < Duration::from_secs(30), "the server does not come back");
        std::thread::sleep(Duration::from_millis(50));
    }
    println!("away for {away} s; ready {:.1} s after it was back", back.elapsed().as_secs_f64());
    assert_eq!(weights(&server, &job), expected);
    assert_eq!(server.job(&job)["attempt"], 1, "it was requeued");
}

#[test]
fn a_job_waits_for_an_object_storage_that_stands_still_while_it_publishes() {
    let spec = small_spec();
    let expected = undisturbed(&spec);
    let cluster = Cluster::new(1);
    let server = cluster.start(0);
    let job = server.submit(&spec);
    server.wait_until(&job, |job| job["step"].as_u64() >= Some(1));
    let storage: u32 = variable("ANNEAL_TEST_S3_PID").parse().unwrap();
    signal(storage, "STOP");
    std::thread::sleep(Duration::from_secs(8));
    let during = server.job(&job);
    signal(storage, "CONT");
    assert_ne!(during["status"], "succeeded", "nothing was published meanwhile");
    assert_eq!(weights(&server, &job), expected);
    assert_eq!(server.job(&job)["attempt"], 1);
}

/// What an object storage answers when it does not let in, has too much to do, is full; and one that takes its time.
#[test]
fn a_job_waits_for_an_object_storage_that_refuses_and_trains_beside_one_that_is_slow() {
    let spec = small_spec();
    let expected = undisturbed(&spec);
    let cluster = Cluster::new(1);
    let between = between::Between::before(&variable("AWS_ENDPOINT_URL"));
    let server = cluster.start_with(0, &["--devices", "cpu"], &[("AWS_ENDPOINT_URL", &between.url)]);
    let rows = |number: usize| format!("{{\"prompt\": \"{number}+1=\", \"answer\": \"{}\"}}\n", number + 1);
    let upload =
        |number| server.post_bytes("/v1/datasets", rows(number).as_bytes(), &[("content-type", "application/jsonl")]);
    // Each checkpoint takes a second or more, and steps are taken meanwhile.
    between.let_through(Duration::from_millis(500));
    let job = server.submit(&spec);
    server.wait_until(&job, |job| job["step"].as_u64() >= Some(2));
    for (status, answer, code) in
        [(403, 503, "storage_unavailable"), (503, 503, "storage_unavailable"), (507, 507, "storage_full")]
    {
        let before = (between.refused(), server.job(&job)["step"].as_u64().unwrap());
        between.refuse(status);
        let refused = upload(status as usize);
        assert_eq!((refused.status, &refused.json()["code"]), (answer, &json!(code)), "{}", refused.json());
        assert!(!refused.header("retry-after").is_empty() || answer == 507, "{:?}", refused.json());
        let deadline = Instant::now() + PATIENCE;
        while between.refused() < before.0 + 2 {
            assert!(Instant::now() < deadline, "nobody asked");
            std::thread::sleep(Duration::from_millis(50));
        }
        between.let_through(Duration::from_millis(100));
        assert_eq!(upload(status as usize).status, 201, "the same again");
    }
    assert_eq!(weights(&server, &job), expected);
    let job = server.job(&job);
    assert_eq!(job["attempt"], 1, "{job}");
}

/// The engine does not wait for its checkpoint to arrive, and what was done behind it is in the next one.
#[test]
fn a_job_trains_while_its_checkpoint_is_on_its_way() {
    let mut spec = small_spec();
    spec["checkpoints"] = json!({"every_steps": 6});
    let expected = undisturbed(&spec);
    let cluster = Cluster::new(1);
    let between = between::Between::before(&variable("AWS_ENDPOINT_URL"));
    let server = cluster.start_with(0, &["--devices", "cpu"], &[("AWS_ENDPOINT_URL", &between.url)]);
    let job = server.submit(&spec);
    server.wait_until(&job, |job| job["step"].as_u64() >= Some(1));
    between.refuse(403);
    server.wait_until(&job, |job| job["step"].as_u64() >= Some(11));
    let list = server.get(&format!("/v1/jobs/{job}/checkpoints")).json();
    assert!(list["data"].as_array().unwrap().iter().all(|checkpoint| checkpoint["step"] != 6), "{list}");
    between.let_through(Duration::ZERO);
    assert_eq!(weights(&server, &job), expected);
    let list = server.get(&format!("/v1/jobs/{job}/checkpoints")).json();
    assert!(list["data"].as_array().unwrap().iter().any(|checkpoint| checkpoint["step"] == 6), "{list}");
}

fn run(program: &str, arguments: &[&str]) {
    let done = Command::new(program).args(arguments).env("PGOPTIONS", "-c client_min_messages=error").status();
    assert!(done.unwrap().success(), "{program} {arguments:?}");
}

/// Copies all objects of one prefix of the bucket to another.
fn copy_objects(from: &str, to: &str) {
    let ((bucket, from), (_, to)) = (split(from), split(to));
    drop(rustls::crypto::ring::default_provider().install_default());
    let storage = AmazonS3Builder::from_env().with_bucket_name(bucket).build().unwrap();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let all: Vec<_> = storage.list(Some(&Key::from(from))).try_collect().await.unwrap();
        for object in &all {
            let name = object.location.as_ref().strip_prefix(from).unwrap();
            storage.copy(&object.location, &Key::from(format!("{to}{name}"))).await.unwrap();
        }
        assert!(all.len() > 10, "{all:?}");
    });
}

fn split(address: &str) -> (&str, &str) {
    address.trim_start_matches("s3://").split_once('/').unwrap()
}

/// As docs/cluster.md has it: the rows of one moment, then the files, and the keys.
#[test]
fn what_was_backed_up_is_a_service_again() {
    let spec = small_spec();
    let expected = undisturbed(&spec);
    let cluster = Cluster::new(1);
    let server = cluster.start(0);
    let ended = server.submit(&spec);
    assert_eq!(weights(&server, &ended), expected);
    let running = server.submit(&spec);
    server.wait_until(&running, |job| job["step"].as_u64() >= Some(4));

    let (address, schema) = cluster.database.split_once("?options[search_path]=").unwrap();
    let (name, folder) = (format!("restored_{schema}"), data_dir());
    let file = folder.path().join("rows").display().to_string();
    run("pg_dump", &["--format=custom", "--schema", schema, "--file", &file, address]);
    let files = cluster.bucket.clone().unwrap();
    let copied = format!("{files}-copied");
    copy_objects(&files, &copied);
    let later = server.submit(&spec);
    cut_off(server);

    run("psql", &["-qc", &format!("create database {name} locale 'C' template template0"), address]);
    let address = address.replace("/postgres", &format!("/{name}"));
    run("pg_restore", &["--dbname", &address, &file]);
    let database = format!("{address}?options[search_path]={schema}");
    let restored = Cluster { database, bucket: Some(copied), hosts: vec![data_dir(), data_dir()] };
    for key in ["secrets.key", "signing.key"] {
        let from = cluster.hosts[0].path().join(key);
        if from.exists() {
            std::fs::copy(from, restored.hosts[0].path().join(key)).unwrap();
        }
    }
    // Another machine: the one that is in the backup was there a moment ago.
    let server = restored.start(1);
    assert_eq!(weights(&server, &ended), expected);
    let list = server.get(&format!("/v1/jobs/{ended}/checkpoints")).json();
    let model = list["data"].as_array().unwrap().iter().find(|c| c["kind"] == "inference").unwrap();
    let path = format!("/v1/checkpoints/{}/files/model.safetensors", model["id"].as_str().unwrap());
    assert_eq!(server.get(&path).status, 200, "its files are there");
    assert_eq!(server.get(&format!("/v1/jobs/{later}")).status, 404, "what came later is not");
    assert_eq!(weights(&server, &running), expected, "it went on from its last checkpoint");
    assert!(server.job(&running)["attempt"].as_u64() >= Some(2));
}

/// `deploy/haproxy.cfg` before servers at two ports; ends when dropped.
struct Proxy {
    child: Child,
    base: String,
}

impl Proxy {
    fn before(ports: [u16; 2], folder: &Path) -> Self {
        let (file, own) = (folder.join("haproxy.cfg"), free_port());
        let text = include_str!("../deploy/haproxy.cfg").replace("bind :8080", &format!("bind 127.0.0.1:{own}"));
        let text = text.replace("one:8080", &format!("127.0.0.1:{}", ports[0]));
        std::fs::write(&file, text.replace("two:8080", &format!("127.0.0.1:{}", ports[1]))).unwrap();
        let child = Command::new("haproxy").args(["-db", "-q", "-f"]).arg(&file).spawn().expect("haproxy starts");
        Self { child, base: format!("http://127.0.0.1:{own}") }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Whoever talks to the proxy notices nothing while a server that drains is replaced, and then the other.
#[test]
fn servers_are_replaced_one_by_one_and_no_request_is_lost() {
    const CLIENTS: usize = 4;
    let (cluster, ports) = (Cluster::new(2), [free_port(), free_port()]);
    let start = |host: usize| {
        let address = format!("127.0.0.1:{}", ports[host]);
        cluster.start_with(host, &["--devices", "cpu", "--drain-seconds", "2"], &[("ANNEAL_LISTEN", &address)])
    };
    let mut servers = [start(0), start(1)].map(Some);
    let proxy = Proxy::before(ports, cluster.hosts[0].path());
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let ready =
        |port: u16| agent.get(format!("http://127.0.0.1:{port}/readyz")).call().is_ok_and(|a| a.status() == 200);
    let deadline = Instant::now() + PATIENCE;
    while !agent.get(format!("{}/readyz", proxy.base)).call().is_ok_and(|answer| answer.status() == 200) {
        assert!(Instant::now() < deadline, "the proxy finds no server");
        std::thread::sleep(Duration::from_millis(50));
    }
    let is_over = AtomicBool::new(false);
    let ask = |client: usize| {
        let mut asked = 0;
        while !is_over.load(Ordering::SeqCst) {
            let made = agent
                .post(format!("{}/v1/jobs", proxy.base))
                .header("idempotency-key", format!("{client}-{asked}"))
                .send_json(small_spec())
                .unwrap();
            assert_eq!(made.status(), 201, "request {asked} of client {client}");
            let made: Value = made.into_body().read_json().unwrap();
            let read = agent.get(format!("{}/v1/jobs/{}", proxy.base, made["id"].as_str().unwrap())).call().unwrap();
            assert_eq!(read.status(), 200, "request {asked} of client {client}");
            asked += 2;
            std::thread::sleep(Duration::from_millis(100));
        }
        asked
    };
    let asked: usize = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|client| scope.spawn(move || ask(client))).collect();
        for host in 0..2 {
            std::thread::sleep(Duration::from_secs(1));
            servers[host].take().unwrap().terminate();
            servers[host] = Some(start(host));
            let deadline = Instant::now() + PATIENCE;
            while !ready(ports[host]) {
                assert!(Instant::now() < deadline);
                std::thread::sleep(Duration::from_millis(50));
            }
            // The proxy looks twice a second.
            std::thread::sleep(Duration::from_secs(1));
        }
        is_over.store(true, Ordering::SeqCst);
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    println!("{asked} requests through a proxy while both servers were replaced; all answered");
}

#[test]
fn another_server_leads_soon_when_the_one_that_led_is_gone() {
    let cluster = Cluster::new(2);
    let (one, two) = (cluster.start(0), cluster.start(1));
    let (address, schema) = cluster.database.split_once("?options[search_path]=").unwrap();
    let leads = || {
        let args = ["-tAc", "select server || ' ' || until from leader", address];
        let said =
            Command::new("psql").args(args).env("PGOPTIONS", format!("-c search_path={schema}")).output().unwrap();
        String::from_utf8(said.stdout).unwrap().split(' ').next().unwrap_or_default().trim().to_owned()
    };
    let deadline = Instant::now() + PATIENCE;
    while leads().is_empty() {
        assert!(Instant::now() < deadline);
    }
    let first = leads();
    // Which of the two it is is not told: both are stopped in turn, and whoever does not lead changes nothing.
    signal(one.pid(), "STOP");
    let began = Instant::now();
    while leads() == first && began.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut took = began.elapsed();
    signal(one.pid(), "CONT");
    if leads() == first {
        signal(two.pid(), "STOP");
        let began = Instant::now();
        while leads() == first {
            assert!(began.elapsed() < PATIENCE, "nobody leads");
            std::thread::sleep(Duration::from_millis(20));
        }
        took = began.elapsed();
        signal(two.pid(), "CONT");
    }
    println!("another server led after {:.2} s", took.as_secs_f64());
}

/// Kills of servers, workers, the postmaster and the storage, at instants that nobody chose; `ANNEAL_KILLS` says how many.
#[test]
fn whatever_is_killed_nothing_is_lost_and_no_bit_changes() {
    let kills: u64 = std::env::var("ANNEAL_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(8);
    let spec = small_spec();
    let expected = undisturbed(&spec);
    let cluster = Cluster::new(2);
    let mut servers = [Some(cluster.start(0)), Some(cluster.start(1))];
    let (mut made, random) = (BTreeSet::new(), AtomicU64::new(1));
    let draw = |below: u64| {
        let next = random.load(Ordering::Relaxed).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        random.store(next, Ordering::Relaxed);
        (next >> 33) % below
    };
    for kill in 0..kills {
        let alive = servers.iter().flatten().next().unwrap();
        let key = format!("kill-{kill}");
        let answer = alive.request("POST", "/v1/jobs", &[("idempotency-key", &key)], Some(&spec));
        if answer.status == 201 {
            made.insert(answer.json()["id"].as_str().unwrap().to_owned());
        }
        std::thread::sleep(Duration::from_millis(300 + draw(2000)));
        let at = draw(2) as usize;
        match kill % 4 {
            0 => {
                let server = servers[at].take().unwrap();
                Command::new("pkill").args(["-KILL", "-P", &server.pid().to_string()]).status().unwrap();
                servers[at] = Some(server);
            }
            1 => {
                cut_off(servers[at].take().unwrap());
                servers[at] = Some(cluster.start(at));
            }
            2 => {
                let control = variable("ANNEAL_TEST_POSTGRES_CONTROL");
                for command in ["kill", "start"] {
                    assert!(
                        Command::new("bash").args(["-c", &control, "control", command]).status().unwrap().success()
                    );
                }
            }
            _ => {
                let storage: u32 = variable("ANNEAL_TEST_S3_PID").parse().unwrap();
                signal(storage, "STOP");
                std::thread::sleep(Duration::from_millis(draw(3000)));
                signal(storage, "CONT");
            }
        }
    }
    let server = servers.iter().flatten().next().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while server.get("/readyz").status != 200 {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(100));
    }
    let mut attempts = 0;
    for job in &made {
        let ended = server.wait(job);
        // Three kills of its own worker are a job's end, as anywhere.
        if ended["failure"]["kind"] == "poison" {
            server.resume(job);
        }
        assert_eq!(weights(server, job), expected, "{}", server.job(job));
        attempts += server.job(job)["attempt"].as_u64().unwrap();
    }
    println!("{kills} kills, {} jobs, {attempts} attempts; nothing lost, all the same bits", made.len());
}
