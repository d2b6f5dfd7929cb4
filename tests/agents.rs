//! Machines without the database: agents that run a server's jobs over its API, whatever becomes of the way there.

#[path = "common/agent.rs"]
mod agent;
#[path = "common/cable.rs"]
mod cable;
mod common;
#[path = "common/hub.rs"]
mod hub;
#[path = "common/small_disk.rs"]
mod small_disk;
#[path = "common/tls.rs"]
mod tls;

use std::io::{BufRead, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agent::Agent;
use cable::Cable;
use common::{PATIENCE, Server, anneal, data_dir, small_spec};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use small_disk::SmallDisk;
use tempfile::TempDir;
use tls::Tls;

/// How long a worker may be silent in these tests.
const LEASE: u64 = 3;

/// A server that runs no jobs itself.
fn server(data: &Path) -> Server {
    Server::start_with(data, &["--devices", "none", "--lease-seconds", &LEASE.to_string()])
}

/// The digest of the weights that a job ends with.
fn weights(server: &Server, job: &str) -> String {
    let ended = server.wait(job);
    assert_eq!(ended["status"], "succeeded", "{ended}");
    ended["result"]["weights_sha256"].as_str().unwrap().to_owned()
}

/// What a job on a server's own device ends with.
fn undisturbed(spec: &Value) -> String {
    let data = data_dir();
    let server = Server::start_with(data.path(), &["--devices", "cpu"]);
    let job = server.submit(spec);
    weights(&server, &job)
}

fn hosts_of(server: &Server, job: &str) -> Vec<String> {
    let attempts = server.get(&format!("/v1/jobs/{job}/attempts")).json();
    let host = |attempt: &Value| attempt["devices"][0].as_str().unwrap().split('/').next().unwrap().to_owned();
    // The newest comes first.
    attempts["data"].as_array().unwrap().iter().rev().map(host).collect()
}

/// Steps of the job that is disturbed.
const STEPS: u64 = 14;

/// The same job, long enough to be disturbed.
fn long_spec() -> Value {
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(STEPS);
    spec["eval"]["every_steps"] = json!(STEPS);
    spec
}

fn at_step(step: u64) -> impl Fn(&Value) -> bool {
    move |job| job["step"].as_u64().unwrap_or(0) >= step
}

#[test]
fn a_job_on_an_agent_makes_what_it_makes_on_the_server() {
    let rows: String = (1..40).map(|i| format!("{{\"prompt\": \"{i}+1=\", \"answer\": \"{}\"}}\n", i + 1)).collect();
    let prepare = |server: &Server| {
        let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny");
        let model = server.import(&json!({"path": assets, "name": "ours"}));
        let set =
            server.post_bytes("/v1/datasets?name=sums", rows.as_bytes(), &[("content-type", "application/jsonl")]);
        assert_eq!(set.status, 201, "{}", set.json());
        let mut spec = small_spec();
        spec["model"] = server.imported(&model)["id"].clone();
        spec["dataset"] = json!({"train": set.json()["id"]});
        spec["eval"] = json!({"prompts": 8, "samples": 2, "pass_at": [1], "dataset": "builtin:arithmetic"});
        spec["eval"].as_object_mut().unwrap().remove("dataset");
        spec["rollouts"] = json!({"keep": true});
        spec
    };
    let roots = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let roots = ["--import-roots", roots.to_str().unwrap()];
    let (own_data, data) = (data_dir(), data_dir());
    let own = Server::start_with(own_data.path(), &[&["--devices", "cpu"][..], &roots].concat());
    let other = Server::start_with(data.path(), &[&["--devices", "none"][..], &roots].concat());
    let agent = Agent::start(&other.base, "box-1");
    let made = [&own, &other].map(|server| {
        let spec = prepare(server);
        let job = server.submit(&spec);
        let weights = weights(server, &job);
        let set = server.job(&job)["result"]["rollout_set"].as_str().unwrap().to_owned();
        let set = server.get(&format!("/v1/rollout-sets/{set}")).json();
        // A job that goes on from what the first has made, and one that measures it.
        let checkpoint = server.job(&job)["result"]["checkpoint"].clone();
        let mut next = spec.clone();
        next["model"] = checkpoint.clone();
        next["adapter"] = json!({"type": "lora", "rank": 4});
        let next = server.submit(&next);
        let adapter = server.wait(&next)["result"]["weights_sha256"].clone();
        let asked = json!({"model": checkpoint, "dataset": "builtin:arithmetic", "verifier": {"type": "numeric"},
                           "prompts": 16, "samples": 2});
        let evaluation = server.post("/v1/evaluations", &asked).json();
        let found = server.wait(evaluation["job"].as_str().unwrap())["result"]["pass_at"].clone();
        // The others name the job and its data set.
        let same = |file: &&Value| ["groups.json", "rollouts.jsonl"].contains(&file["path"].as_str().unwrap());
        let digests = set["files"].as_array().unwrap().iter().filter(same).map(|file| file["sha256"].clone());
        (weights, digests.collect::<Vec<_>>(), adapter, found)
    });
    assert_eq!(made[0], made[1]);
    assert!(made[0].2.is_string() && made[0].3.is_array(), "{made:?}");
    let devices = other.get("/v1/devices").json();
    assert_eq!(
        (&devices["data"][0]["id"], &devices["data"][0]["status"]),
        (&json!("box-1/simulated:0"), &json!("idle"))
    );
    // A copy of the model that the agent's disk has changed is brought again.
    let copies = std::fs::read_dir(agent.folder().join("models")).unwrap().map(|entry| entry.unwrap().path());
    let copy = copies.map(|model| model.join("model.safetensors")).find(|file| file.exists()).unwrap();
    let mut bytes = std::fs::read(&copy).unwrap();
    let place = bytes.len() - 7;
    bytes[place] ^= 0x40;
    std::fs::write(&copy, &bytes).unwrap();
    let jobs = other.get("/v1/jobs").json();
    let first = jobs["data"].as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
    let again = other.submit(&other.job(&first)["spec"]);
    assert_eq!(weights(&other, &again), made[1].0);
    bytes[place] ^= 0x40;
    assert!(std::fs::read(&copy).unwrap() == bytes, "the copy is good again");
    drop(agent);
    // What an operator watches, by the names that the dashboard asks for.
    let metrics = String::from_utf8(other.get("/metrics").bytes).unwrap();
    let value = |name: &str| {
        let line = metrics.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name} in {metrics}"));
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    for name in ["renewals_total", "claims_total", "sent_bytes_total", "received_bytes_total"] {
        assert!(value(&format!("anneal_agent_{name}")) > 0.0, "{metrics}");
    }
    assert!(value("anneal_queue_wait_seconds_count") >= 1.0 && value("anneal_hosts{status=\"ready\"}") == 2.0);
    let dashboard = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/grafana.json");
    let dashboard = std::fs::read_to_string(dashboard).unwrap();
    let asked = regex::Regex::new(r"anneal_[a-z_]+").unwrap();
    for name in asked.find_iter(&dashboard).map(|name| name.as_str()) {
        assert!(metrics.contains(&format!("# HELP {name} ")), "the dashboard asks for {name}");
    }
}

#[test]
fn a_client_that_pauses_or_cancels_is_heard_at_once() {
    let data = data_dir();
    let server = server(data.path());
    let _agent = Agent::start(&server.base, "box-1");
    let job = server.submit(&long_spec());
    server.wait_until(&job, at_step(2));
    server.post(&format!("/v1/jobs/{job}/pause"), &json!({}));
    let asked = Instant::now();
    server.wait_until(&job, |job| job["status"] == "paused");
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    server.resume(&job);
    server.wait_until(&job, |job| job["attempt"] == 2 && job["status"] == "running");
    server.post(&format!("/v1/jobs/{job}/cancel"), &json!({}));
    server.wait_until(&job, |job| job["status"] == "cancelled");
}

#[test]
fn a_job_whose_agent_dies_goes_on_elsewhere_to_the_same_bits() {
    let spec = long_spec();
    let expected = undisturbed(&spec);
    let data = data_dir();
    let server = server(data.path());
    let mut first = Agent::start(&server.base, "box-1");
    let job = server.submit(&spec);
    server.wait_until(&job, at_step(6));
    let _second = Agent::start(&server.base, "box-2");
    first.kill();
    let died = Instant::now();
    server.wait_until(&job, |job| job["attempt"] == 2);
    println!("elsewhere {:.1} s after the agent was killed, with a lease of {LEASE} s", died.elapsed().as_secs_f64());
    assert_eq!(weights(&server, &job), expected);
    assert_eq!(hosts_of(&server, &job), ["box-1", "box-2"]);
}

#[test]
fn a_server_that_dies_and_comes_back_finds_the_job_going_on() {
    let spec = long_spec();
    let expected = undisturbed(&spec);
    let data = data_dir();
    let first = server(data.path());
    let port = first.base.rsplit(':').next().unwrap().to_owned();
    let _agent = Agent::start(&first.base, "box-1");
    let job = first.submit(&spec);
    first.wait_until(&job, at_step(6));
    first.kill();
    std::thread::sleep(Duration::from_secs(LEASE + 1));
    let mut command = anneal(data.path());
    command.args(["serve", "--supervised", "--listen", &format!("127.0.0.1:{port}"), "--log", "warn", "--devices"]);
    command.args(["none", "--lease-seconds", &LEASE.to_string(), "--data-dir"]).arg(data.path());
    let server = Server::spawn(command);
    assert_eq!(weights(&server, &job), expected);
    assert_eq!(server.job(&job)["attempt"], 1, "nobody took it from its worker");
    let events = server.get(&format!("/v1/jobs/{job}/events?limit=100")).json();
    let steps = events["data"].as_array().unwrap().iter().filter(|event| event["type"] == "metrics");
    let steps: Vec<u64> = steps.map(|event| event["data"]["step"].as_u64().unwrap()).collect();
    assert_eq!(steps, (1..=STEPS).collect::<Vec<_>>(), "each step is told once");
}

#[test]
fn an_agent_that_was_cut_off_writes_nothing_more_of_a_job_that_is_elsewhere() {
    let spec = long_spec();
    let expected = undisturbed(&spec);
    let data = data_dir();
    let server = server(data.path());
    let cable = Cable::to(&server.base);
    let _first = Agent::start(&cable.url, "box-1");
    let job = server.submit(&spec);
    server.wait_until(&job, at_step(6));
    cable.cut();
    let cut = Instant::now();
    let _second = Agent::start(&server.base, "box-2");
    server.wait_until(&job, |job| job["attempt"] == 2);
    println!("elsewhere {:.1} s after the cut, with a lease of {LEASE} s", cut.elapsed().as_secs_f64());
    let before = server.job(&job)["last_seq"].as_i64().unwrap();
    cable.mend();
    assert_eq!(weights(&server, &job), expected);
    assert_eq!(hosts_of(&server, &job), ["box-1", "box-2"]);
    let events = server.get(&format!("/v1/jobs/{job}/events?limit=100&after={before}")).json();
    let steps = events["data"].as_array().unwrap().iter().filter(|event| event["type"] == "metrics");
    let steps: Vec<u64> = steps.map(|event| event["data"]["step"].as_u64().unwrap()).collect();
    assert!(steps.is_sorted_by(|a, b| a < b), "only one attempt writes: {steps:?}");
    // The first one has noticed, and takes jobs again.
    let deadline = Instant::now() + PATIENCE;
    let attended = || {
        let devices = server.get("/v1/devices").json();
        let of = |device: &&Value| device["id"] == "box-1/simulated:0";
        devices["data"].as_array().unwrap().iter().find(of).unwrap()["status"] == "idle"
    };
    while !attended() {
        assert!(Instant::now() < deadline, "{}", server.get("/v1/devices").json());
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn an_agent_ends_after_one_job_or_when_there_is_none() {
    let data = data_dir();
    let server = server(data.path());
    let job = server.submit(&small_spec());
    let mut once = Agent::start_in(data_dir(), &server.base, "box-1", &["--once"]);
    assert!(once.child.wait().unwrap().success());
    assert_eq!(server.job(&job)["status"], "succeeded");
    let mut idle = Agent::start_in(data_dir(), &server.base, "box-2", &["--idle-exit", "1"]);
    assert!(idle.child.wait().unwrap().success());
}

/// What an agent says that is not let in, which ends it.
fn refused(server: &str, folder: &TempDir, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anneal"));
    command.args(["worker", "--server", server, "--host-name", "box-1", "--devices", "simulated:1GiB", "--data-dir"]);
    let output = command.arg(folder.path()).args(arguments).env("RUST_BACKTRACE", "0").output().unwrap();
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_key_opens_what_it_is_for_and_a_machine_has_one() {
    let data = data_dir();
    let key = |name: &str, scopes: &str| {
        let mut command = anneal(data.path());
        command.args(["keys", "create", name, "--scopes", scopes, "--local", "--data-dir"]).arg(data.path());
        String::from_utf8(command.output().unwrap().stdout).unwrap().trim().to_owned()
    };
    let admin = key("admin", "read,write,admin");
    let keys = [key("plain", "read,write"), key("one", "agent"), key("two", "agent")];
    let folder = data_dir();
    let files = ["plain", "one", "two"].map(|name| folder.path().join(name));
    files.iter().zip(&keys).for_each(|(file, key)| std::fs::write(file, key).unwrap());
    let mut server = Server::start_with(data.path(), &["--devices", "none", "--lease-seconds", "3"]);
    let file = |i: usize| files[i].to_str().unwrap();
    for arguments in [&[][..], &["--token-file", file(0)]] {
        let said = refused(&server.base, &data_dir(), arguments);
        assert!(said.contains("anneal keys create NAME --scopes agent"), "{said}");
    }
    let agent = Agent::start_in(data_dir(), &server.base, "box-1", &["--token-file", file(1)]);
    let said = refused(&server.base, &data_dir(), &["--token-file", file(2)]);
    assert!(said.contains("has the name `box-1`") && said.contains("--host-name"), "{said}");
    // A key of agents reads nothing else, and another agent's does not speak for this machine.
    server.use_key(&keys[1]);
    assert_eq!(server.get("/v1/jobs").status, 403);
    server.use_key(&keys[2]);
    let faulted = server.post("/v1/agent/hosts/box-1/devices/simulated:0", &json!({"type": "faulted", "reason": "x"}));
    assert_eq!((faulted.status, faulted.problem().as_str()), (409, "not_your_host"));
    server.use_key(&admin);
    let job = server.submit(&small_spec());
    weights(&server, &job);
    // A key that is revoked ends its agent's work, and its job goes back.
    let job = server.submit(&long_spec());
    server.wait_until(&job, at_step(1));
    let list = server.get("/v1/api-keys").json();
    let of = |key: &&Value| key["name"] == "one";
    let id = list["data"].as_array().unwrap().iter().find(of).unwrap()["id"].as_str().unwrap().to_owned();
    assert_eq!(server.post(&format!("/v1/api-keys/{id}/revoke"), &json!({})).status, 200);
    server.wait_until(&job, |job| job["status"] == "queued");
    let mut agent = agent;
    assert!(!agent.child.wait().unwrap().success(), "it says so and ends");
}

#[test]
fn an_agent_trusts_the_authority_that_it_is_told_and_no_other() {
    let data = data_dir();
    let server = server(data.path());
    let tls = Tls::before(&server.base);
    let (own, other) = (tls.authority("own"), tls.authority("other"));
    for arguments in [&[][..], &["--ca-file", other.to_str().unwrap()]] {
        let said = refused(&tls.url, &data_dir(), arguments);
        assert!(said.contains("certificate") && said.contains("--ca-file"), "{said}");
    }
    let _agent = Agent::start_in(data_dir(), &tls.url, "box-1", &["--ca-file", own.to_str().unwrap()]);
    let job = server.submit(&small_spec());
    assert_eq!(weights(&server, &job), undisturbed(&small_spec()));
}

#[test]
fn a_job_waits_for_an_agent_whose_disk_is_full_and_goes_on_when_there_is_room() {
    let data = data_dir();
    let server = server(data.path());
    let disk = SmallDisk::new();
    let _agent = Agent::run(disk.program(), disk.data(), &server.base, "box-1", &[]);
    let mut spec = long_spec();
    spec["checkpoints"] = json!({"every_steps": 1});
    let job = server.submit(&spec);
    server.wait_until(&job, at_step(2));
    disk.fill();
    let waiting = server.wait_until(&job, |job| job["waiting"]["code"] == "device_faulted");
    let message = waiting["waiting"]["message"].as_str().unwrap();
    assert!(message.contains("box-1/simulated:0 failed"), "{message}");
    let device = server.get("/v1/devices").json()["data"][0].clone();
    assert!(device["fault"].as_str().unwrap().contains("make room there"), "{device}");
    assert_eq!(waiting["attempt"], 1, "what cannot be is not tried again and again: {waiting}");
    disk.free();
    assert_eq!(weights(&server, &job), undisturbed(&spec));
}

#[test]
fn a_job_that_is_too_large_for_a_machines_disk_goes_on_on_another_one() {
    let (data, roots) = (data_dir(), data_dir());
    let arguments = ["--devices", "none", "--import-roots", roots.path().to_str().unwrap()];
    let server = Server::start_with(data.path(), &arguments);
    for (name, bytes) in hub::large_model() {
        std::fs::write(roots.path().join(name), bytes).unwrap();
    }
    let model = server.import(&json!({"path": roots.path()}));
    let disk = SmallDisk::new();
    let _small = Agent::run(disk.program(), disk.data(), &server.base, "box-1", &[]);
    let mut spec = small_spec();
    spec["model"] = model["id"].clone();
    spec["train"] = json!({"steps": 1});
    spec["objective"]["rounds"] = json!(1);
    spec["checkpoints"] = json!({"every_steps": 1});
    // The model has room there, its checkpoint has not.
    let job = server.submit(&spec);
    server.wait_until(&job, |job| job["waiting"]["code"] == "device_faulted");
    let device = server.get("/v1/devices").json()["data"][0].clone();
    assert!(device["fault"].as_str().unwrap().contains("make room there, for"), "{device}");
    let _large = Agent::start(&server.base, "box-2");
    weights(&server, &job);
    assert_eq!(hosts_of(&server, &job), ["box-1", "box-2"], "what cannot be is not tried again and again");
}

#[test]
fn a_job_that_names_a_pool_runs_on_a_machine_of_it() {
    let data = data_dir();
    let server = server(data.path());
    let mut spec = small_spec();
    spec["resources"] = json!({"pool": "large"});
    let refused = || server.post("/v1/jobs", &spec).json();
    assert_eq!(refused()["status"], 422, "nobody is there to run anything: {}", refused());
    let error = refused()["errors"][0].clone();
    assert_eq!((&error["pointer"], &error["code"]), (&json!("/resources/pool"), &json!("unknown_pool")));
    let mut agents = Vec::new();
    for (name, pool) in [("box-1", "small"), ("box-2", "large")] {
        agents.push(Agent::start_in(data_dir(), &server.base, name, &["--pool", pool]));
    }
    let jobs = [server.submit(&spec), server.submit(&spec)];
    for job in &jobs {
        assert_eq!(weights(&server, job), undisturbed(&small_spec()));
        assert_eq!(hosts_of(&server, job), ["box-2"]);
    }
}

#[test]
fn a_machine_that_is_drained_is_empty_and_takes_jobs_when_it_is_told_to() {
    // It lasts as long as the test on any machine, and is cancelled in the end.
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(5000);
    let data = data_dir();
    let server = server(data.path());
    let (_first, _second) = (Agent::start(&server.base, "box-1"), Agent::start(&server.base, "box-2"));
    let job = server.submit(&spec);
    server.wait_until(&job, at_step(4));
    let was_on = hosts_of(&server, &job)[0].clone();
    let program = |command: &str, more: &[&str]| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_anneal"));
        program.args([command, &was_on, "--json"]).args(more).env("ANNEAL_SERVER", &server.base);
        let output = program.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let drained = program("drain", &["--wait"]);
    assert_eq!((&drained["status"], &drained["jobs"]), (&json!("drained"), &json!([])));
    server.wait_until(&job, |job| job["attempt"] == 2 && job["status"] == "running");
    assert_ne!(hosts_of(&server, &job)[1], was_on);
    // The other one has a job now, and this one must not take any.
    let next = server.submit(&small_spec());
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(server.job(&next)["status"], "queued");
    assert_eq!(program("uncordon", &[])["status"], "ready");
    server.wait_until(&next, |job| job["status"] == "running");
    assert_eq!(hosts_of(&server, &next), std::slice::from_ref(&was_on));
    assert_eq!(program("cordon", &[])["status"], "cordoned");
    assert_eq!(server.wait(&next)["status"], "succeeded", "what it has goes on");
    let hosts = server.get("/v1/hosts").json();
    let kinds: Vec<&str> =
        hosts["data"].as_array().unwrap().iter().map(|host| host["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["agent", "agent", "server"], "{hosts}");
    assert_eq!(server.post("/v1/hosts/nowhere/drain", &json!({})).status, 404);
    assert_eq!(server.job(&job)["status"], "running", "it was in the way all the time");
    assert_eq!(server.post(&format!("/v1/jobs/{job}/cancel"), &json!({})).status, 200);
}

#[test]
fn an_idle_agent_answers_requests_for_completions_and_a_job_comes_first() {
    let (own_data, data) = (data_dir(), data_dir());
    let own = Server::start_with(own_data.path(), &["--devices", "cpu"]);
    let server = server(data.path());
    let agent = Agent::start(&server.base, "box-1");
    let ask = |server: &Server, model: &str, tokens: u64| {
        let body = json!({"model": model, "prompt": ["1+2=", "17+4="], "max_tokens": tokens, "temperature": 1.0, "seed": 5,
                          "n": 2, "logprobs": 3});
        let answer = server.post("/v1/completions", &body);
        assert_eq!(answer.status, 200, "{}", answer.json());
        answer.json()["choices"].clone()
    };
    assert_eq!(ask(&server, "builtin:arith-tiny", 5), ask(&own, "builtin:arith-tiny", 5));
    // As it comes.
    let body =
        json!({"model": "builtin:arith-tiny", "stream": true, "messages": [{"role": "user", "content": "2+2="}]});
    let said: Vec<String> = server.post_stream("/v1/chat/completions", &body).lines().map(Result::unwrap).collect();
    assert!(said.iter().any(|line| line.contains("finish_reason\":\"stop\"")), "{said:?}");
    assert!(said.iter().any(|line| line == "data: [DONE]"), "{said:?}");
    // A model that the agent has to bring, and that no job of its worker's refers to any more.
    let models = [&own, &server].map(|server| {
        let job = server.submit(&small_spec());
        weights(server, &job);
        server.job(&job)["result"]["checkpoint"].as_str().unwrap().to_owned()
    });
    let answers = [ask(&own, &models[0], 5), ask(&server, &models[1], 5)];
    assert_eq!(answers[0], answers[1]);
    let unknown = json!({"model": "mdl_0198f6c2a7d47e0c8f6f0d9f0e6b5a31", "prompt": "1+1="});
    assert_eq!(server.post("/v1/completions", &unknown).status, 404);
    // While a job has its device nobody answers, and without the agent neither.
    let job = server.submit(&long_spec());
    server.wait_until(&job, at_step(1));
    weights(&server, &job);
    drop(agent);
    let answer = server.post("/v1/completions", &json!({"model": "builtin:arith-tiny", "prompt": "1+1="}));
    assert_eq!((answer.status, answer.problem().as_str()), (503, "no_idle_device"));
}

/// An agent of another make: the protocol as docs/agents.md has it.
struct Foreign<'a> {
    server: &'a Server,
    worker: String,
}

impl Foreign<'_> {
    fn post(&self, path: &str, body: &Value) -> common::Answer {
        self.server.post(&format!("/v1/agent{path}"), body)
    }

    fn put(&self, path: &str, bytes: &[u8], (offset, size): (usize, usize), sha256: &str) -> (u16, Value) {
        let route =
            format!("/v1/agent/workers/{}/file?path={path}&offset={offset}&size={size}&sha256={sha256}", self.worker);
        let mut command = Command::new("curl");
        command.args(["-s", "-X", "PUT", "--data-binary", "@-", "-w", "\n%{http_code}", "-H"]);
        command.args(["content-type: application/octet-stream", &format!("{}{route}", self.server.base)]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), bytes).unwrap();
        let mut said = String::new();
        child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        child.wait().unwrap();
        let (body, status) = said.rsplit_once('\n').unwrap();
        (status.parse().unwrap(), serde_json::from_str(body).unwrap())
    }
}

#[test]
fn an_agent_of_any_make_is_held_to_the_protocol() {
    let data = data_dir();
    let server = Server::start_with(data.path(), &["--devices", "none"]);
    let device = json!({"name": "other/cpu", "number": 0, "description": "a device", "uuid": null,
                        "memory_total": 4_294_967_296_u64, "memory_free": 4_294_967_296_u64, "compute_capability": null,
                        "driver_version": null, "processes": [], "fault": null});
    let registration = json!({"protocol": 1, "name": "other", "identity": "0123456789abcdef", "version": "x",
                              "devices": [device]});
    let register = |change: &dyn Fn(&mut Value)| {
        let mut body = registration.clone();
        change(&mut body);
        server.post("/v1/agent/hosts", &body)
    };
    type Change<'a> = &'a dyn Fn(&mut Value);
    let wrong: [(Change, &str); 5] = [
        (&|body| body["protocol"] = json!(7), "protocol_unknown"),
        (&|body| body["name"] = json!("local"), "invalid_body"),
        (&|body| body["devices"][0]["name"] = json!("cpu"), "invalid_body"),
        (&|body| body["identity"] = json!("short"), "invalid_body"),
        (&|body| body["devices"] = json!([]), "invalid_body"),
    ];
    for (change, code) in wrong {
        let answer = register(change);
        assert!(answer.status == 422 || answer.status == 409, "{}", answer.json());
        if code != "invalid_body" {
            assert_eq!(answer.problem(), code);
        }
    }
    assert_eq!(register(&|_| ()).json()["protocol"], 1);
    let worker = "wrk_0198f6c2a7d47e0c8f6f0d9f0e6b5a31";
    let agent = Foreign { server: &server, worker: worker.to_owned() };
    assert_eq!(agent.post("/workers", &json!({"id": worker, "device": "other/cuda:7", "pid": 1})).status, 404);
    for _ in 0..2 {
        assert_eq!(agent.post("/workers", &json!({"id": worker, "device": "other/cpu", "pid": 1})).status, 200);
    }
    assert_eq!(agent.post(&format!("/workers/{worker}/claim"), &json!({"held": []})).status, 204);
    let job = server.submit(&small_spec());
    let claim = || agent.post(&format!("/workers/{worker}/claim?wait=5"), &json!({"held": []})).json();
    let (given, again) = (claim(), claim());
    assert_eq!((&given["job"], &given["attempt"], &given["devices"]), (&json!(job), &json!(1), &json!(["other/cpu"])));
    assert_eq!(given, again, "a claim whose answer was lost is given again");
    let held = json!({"held": [{"job": job, "attempt": 1, "held_milliseconds": 10}]});
    assert_eq!(agent.post(&format!("/workers/{worker}/claim"), &held).status, 204);
    assert_eq!(agent.post(&format!("/workers/{worker}/beat"), &held).status, 200);
    let lease = format!("/leases/{job}/1");
    assert_eq!(agent.post(&format!("{lease}/heed"), &json!({"held_milliseconds": 5})).json()["word"], "go_on");
    reports(&agent, &job, &lease);
    files(&agent, &job, &lease);
    let ended = json!({"outcome": "failed", "failure": {"kind": "internal", "code": "internal", "message": "no more"}});
    for _ in 0..2 {
        assert_eq!(agent.post(&format!("{lease}/end"), &ended).status, 200, "an end can be told again");
    }
    assert_eq!(server.job(&job)["status"], "failed");
    assert_eq!(agent.post(&format!("{lease}/heed"), &json!({"held_milliseconds": 5})).json()["word"], "lost");
    let late = agent.post(&format!("{lease}/events"), &json!({"first": 2, "events": []}));
    assert_eq!((late.status, late.problem().as_str()), (409, "lease_lost"));
    assert_eq!(
        agent.post(&format!("/workers/{worker}/end"), &json!({"reason": "done", "blameless": true})).status,
        200
    );
    assert_eq!(agent.post(&format!("/workers/{worker}/beat"), &held).status, 404);
}

/// Events: told once however often they are reported, in order, and nothing that is the server's to tell.
fn reports(agent: &Foreign<'_>, job: &str, lease: &str) {
    let log = |text: &str| json!({"type": "log", "level": "info", "message": text, "data": {}});
    let report = |first: u64, texts: &[&str]| {
        let events: Vec<Value> = texts.iter().map(|text| log(text)).collect();
        agent.post(&format!("{lease}/events"), &json!({"first": first, "events": events}))
    };
    assert_eq!(report(0, &["one", "two"]).status, 200);
    assert_eq!(report(0, &["one", "two"]).status, 200);
    assert_eq!(report(1, &["two", "three"]).status, 200);
    assert_eq!(report(7, &["eight"]).problem(), "events_missing");
    let events = agent.server.get(&format!("/v1/jobs/{job}/events")).json();
    let logs = events["data"].as_array().unwrap().iter().filter(|event| event["type"] == "log");
    assert_eq!(logs.map(|event| event["message"].clone()).collect::<Vec<_>>(), ["one", "two", "three"]);
    let status =
        json!({"type": "status", "level": "info", "message": "x", "data": {"status": "succeeded", "reason": "x"}});
    let strange = json!({"type": "phase", "level": "info", "message": "x", "data": {"phase": 7}});
    for event in [status, strange] {
        let answer = agent.post(&format!("{lease}/events"), &json!({"first": 3, "events": [event]}));
        assert_eq!(answer.status, 422, "{}", answer.json());
    }
}

/// Files: piece by piece, checked, and nowhere but where the worker's job has them.
fn files(agent: &Foreign<'_>, job: &str, lease: &str) {
    let (bytes, path) = (b"weights of a model".as_slice(), format!("jobs/{job}/training-1-4/model.safetensors"));
    let sha256: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let size = bytes.len();
    let (status, answer) = agent.put(&path, &bytes[..7], (0, size), &sha256);
    assert_eq!((status, &answer), (200, &json!({"received": 7, "complete": false})));
    // Whoever does not know how far it was asks.
    assert_eq!(agent.put(&path, b"", (0, size), &sha256).1["received"], 7);
    assert_eq!(agent.put(&path, &bytes[3..], (3, size), &sha256).1["received"], 7);
    assert_eq!(agent.put(&path, &bytes[7..], (7, size), &sha256).1, json!({"received": size, "complete": true}));
    let other = format!("jobs/{job}/training-1-4/other");
    assert_eq!(agent.put(&other, b"something else!!!!", (0, size), &sha256).0, 422);
    assert_eq!(agent.put(&other, b"", (0, size), &sha256).1["received"], 0, "it is sent anew");
    let elsewhere = ["jobs/job_0198f6c2a7d47e0c8f6f0d9f0e6b5a31/a", "models/mdl_0198f6c2a7d47e0c8f6f0d9f0e6b5a31/a"];
    for path in elsewhere.iter().chain(&["anneal.db", "jobs"]) {
        assert_eq!(agent.put(path, bytes, (0, size), &sha256).0, 404, "{path}");
    }
    for path in ["../x", "/etc/passwd", &format!("jobs/{job}/../../x"), &format!("jobs/{job}//x")] {
        assert_eq!(agent.put(path, bytes, (0, size), &sha256).0, 400, "{path}");
        let read = agent.server.get(&format!("/v1/agent/workers/{}/file?path={path}", agent.worker));
        assert_eq!(read.status, 400, "{path}");
    }
    let read = |path: &str| agent.server.get(&format!("/v1/agent/workers/{}/file?path={path}", agent.worker));
    assert_eq!(read(&path).bytes, bytes);
    for path in ["secrets.key", "anneal.db", "models", elsewhere[0], elsewhere[1]] {
        assert_eq!(read(path).status, 404, "{path}");
    }
    let manifest = json!({"format": 1, "kind": "training", "job": job, "attempt": 1, "step": 4, "spec_digest": "sha256:00",
                          "files": [{"path": "model.safetensors", "size": size, "sha256": sha256}]});
    let artifact = |manifest: &Value| {
        let body = json!({"folder": "training-1-4", "manifest": manifest, "keep_last": 1});
        agent.post(&format!("{lease}/artifacts"), &body)
    };
    let mut absent = manifest.clone();
    absent["files"][0]["path"] = json!("absent");
    let mut other = manifest.clone();
    other["attempt"] = json!(2);
    for wrong in [absent, other] {
        assert_eq!(artifact(&wrong).status, 422);
    }
    assert_eq!(artifact(&manifest).status, 200);
    let list = agent.server.get(&format!("/v1/jobs/{job}/checkpoints")).json();
    assert_eq!(list["data"].as_array().unwrap().len(), 1, "{list}");
}
