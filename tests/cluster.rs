//! Several servers on one PostgreSQL and one bucket: one service to whoever talks to any of them, whatever of it breaks.
//! Started with both beside them: `scripts/cluster.sh cargo test --test cluster`; not part of a plain `cargo test`.

mod common;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::{PATIENCE, Server, data_dir, signal, small_spec};
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
        command.args(["serve", "--supervised", "--listen", "127.0.0.1:0", "--log", "warn", "--lease-seconds", LEASE]);
        command.arg("--data-dir").arg(data).args(["--host-name", &format!("host-{host}")]).args(arguments);
        command.env("ANNEAL_DATABASE", &self.database);
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
            server.post(&format!("/v1/jobs/{job}/resume"), &json!({}));
        }
        assert_eq!(weights(server, job), expected, "{}", server.job(job));
        attempts += server.job(job)["attempt"].as_u64().unwrap();
    }
    println!("{kills} kills, {} jobs, {attempts} attempts; nothing lost, all the same bits", made.len());
}
