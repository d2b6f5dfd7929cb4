//! A real server process on a data directory of its own, and a plain HTTP client for it.
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use ureq::Agent;

/// Longest that anything in a test may take.
pub const PATIENCE: Duration = Duration::from_secs(240);

/// The program, working on a data directory, whose database is a schema of its own where the tests run on PostgreSQL
/// (`scripts/postgres.sh cargo test --test api`), and whose files are in a bucket where there is one
/// (`scripts/seaweedfs.sh cargo test --test api`).
pub fn anneal(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anneal"));
    on_database(&mut command, data);
    command
}

/// The same for a command that ends up in the program.
pub fn on_database(command: &mut Command, data: &Path) {
    if let Ok(bucket) = std::env::var("ANNEAL_TEST_S3") {
        command.env("ANNEAL_ARTIFACTS", format!("{bucket}/{}", schema(data)));
    }
    if let Some(address) = database_url(data) {
        command.env("ANNEAL_DATABASE", address).env("ANNEAL_HOST_NAME", "local");
    }
}

/// The database of a data directory that is not in it.
pub fn database_url(data: &Path) -> Option<String> {
    let (address, schema) = (std::env::var("ANNEAL_TEST_POSTGRES").ok()?, schema(data));
    let create = format!("create schema if not exists {schema}");
    let mut made = Command::new("psql");
    made.args(["-q", "-c", &create, &address]).env("PGOPTIONS", "-c client_min_messages=error");
    assert!(made.status().expect("psql is there").success());
    Some(format!("{address}?options[search_path]={schema}"))
}

fn schema(data: &Path) -> String {
    let mut hash = std::hash::DefaultHasher::new();
    std::hash::Hash::hash(data, &mut hash);
    format!("b_{:016x}", std::hash::Hasher::finish(&hash))
}

/// Whether these tests run on PostgreSQL, where what is of SQLite alone is not tried.
pub fn on_postgres() -> bool {
    std::env::var_os("ANNEAL_TEST_POSTGRES").is_some()
}

/// A running `anneal serve`; killed when dropped.
pub struct Server {
    child: Child,
    pub base: String,
    agent: Agent,
    /// Sent with every request once it is set.
    key: Option<String>,
}

/// An answer.
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub bytes: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.bytes)))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(n, _)| n == name).map_or("", |(_, value)| value)
    }

    /// The `code` of a problem, after checking what every problem must have.
    pub fn problem(&self) -> String {
        let body = self.json();
        assert_eq!(self.header("content-type"), "application/problem+json", "{body}");
        assert_eq!(body["status"], self.status);
        assert!(!self.header("x-request-id").is_empty());
        assert_eq!(body["request_id"], self.header("x-request-id"));
        for key in ["type", "title", "detail", "instance", "code"] {
            assert!(body[key].as_str().is_some_and(|text| !text.is_empty()), "{key} in {body}");
        }
        assert_eq!(body["error"]["code"], body["code"]);
        body["code"].as_str().unwrap().to_owned()
    }
}

impl Server {
    pub fn start(data: &Path) -> Self {
        Self::start_with(data, &[])
    }

    pub fn start_with(data: &Path, arguments: &[&str]) -> Self {
        let mut command = anneal(data);
        command
            .args(["serve", "--supervised", "--listen", "127.0.0.1:0", "--log", "warn", "--data-dir"])
            .arg(data)
            .args(arguments);
        Self::spawn(command)
    }

    /// Starts a prepared command that ends up in `anneal serve`.
    pub fn spawn(mut command: Command) -> Self {
        // The pipe on standard input ends the server with the test process, however that ends.
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the server starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let base = line.split_whitespace().find(|word| word.starts_with("http://"));
        let base = base.unwrap_or_else(|| panic!("the server said: {line}")).to_owned();
        let config = Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE)).build();
        Self { child, base, agent: config.into(), key: None }
    }

    /// Sends `key` with every request from now on.
    pub fn use_key(&mut self, key: &str) {
        self.key = Some(format!("Bearer {key}"));
    }

    /// Sends any request; its own headers win over the server's key.
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Answer {
        let mut request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.base));
        if let Some(key) = self.key.as_ref().filter(|_| !headers.iter().any(|(name, _)| *name == "authorization")) {
            request = request.header("authorization", key);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        answer(self.agent.run(request.header("content-type", "application/json").body(body).unwrap()).unwrap())
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.request("DELETE", path, &[], None)
    }

    pub fn patch(&self, path: &str, body: &Value, headers: &[(&str, &str)]) -> Answer {
        self.request("PATCH", path, headers, Some(body))
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn get(&self, path: &str) -> Answer {
        self.get_with(path, &[])
    }

    pub fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = self.agent.get(format!("{}{path}", self.base));
        if let Some(key) = &self.key {
            request = request.header("authorization", key);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        answer(request.call().unwrap())
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_bytes(path, body.to_string().as_bytes(), &[("content-type", "application/json")])
    }

    pub fn post_bytes(&self, path: &str, body: &[u8], headers: &[(&str, &str)]) -> Answer {
        let mut request = self.agent.post(format!("{}{path}", self.base));
        if let Some(key) = &self.key {
            request = request.header("authorization", key);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        answer(request.send(body).unwrap())
    }

    pub fn head(&self, path: &str) -> Answer {
        self.request("HEAD", path, &[], None)
    }

    /// Opens a stream of server-sent events behind event `after`; none when there is nothing more to tell.
    pub fn stream(&self, job: &str, after: i64) -> Option<BufReader<Box<dyn Read>>> {
        let request = self
            .agent
            .get(format!("{}/v1/jobs/{job}/events", self.base))
            .header("accept", "text/event-stream")
            .header("last-event-id", after.to_string());
        let response = request.call().unwrap();
        if response.status() == 204 {
            return None;
        }
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Some(BufReader::new(Box::new(response.into_body().into_reader())))
    }

    /// Posts and reads the answer as it comes.
    pub fn post_stream(&self, path: &str, body: &Value) -> BufReader<Box<dyn Read>> {
        let request = self.agent.post(format!("{}{path}", self.base)).header("content-type", "application/json");
        let response = request.send(body.to_string().as_bytes()).unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        BufReader::new(Box::new(response.into_body().into_reader()))
    }

    /// Submits a job and returns its id.
    /// Imports a model and waits until all of it is there.
    pub fn import(&self, body: &Value) -> Value {
        let answer = self.post("/v1/models", body);
        assert_eq!(answer.status, 201, "{}", answer.json());
        self.imported(&answer.json())
    }

    /// The model when its import has ended, however it did.
    pub fn imported(&self, model: &Value) -> Value {
        let path = format!("/v1/models/{}", model["id"].as_str().unwrap());
        let end = Instant::now() + PATIENCE;
        loop {
            let model = self.get(&path).json();
            if model["status"] != "importing" {
                return model;
            }
            assert!(Instant::now() < end, "{model}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn submit(&self, spec: &Value) -> String {
        let answer = self.post("/v1/jobs", spec);
        assert_eq!(answer.status, 201, "{}", answer.json());
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    pub fn job(&self, id: &str) -> Value {
        self.get(&format!("/v1/jobs/{id}")).json()
    }

    /// Waits until a job is over.
    pub fn wait(&self, id: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let job = self.get(&format!("/v1/jobs/{id}/wait?timeout=60")).json();
            let status = job["status"].as_str().unwrap_or_else(|| panic!("waiting for {id}: {job}"));
            if ["succeeded", "failed", "cancelled"].contains(&status) {
                return job;
            }
            assert!(Instant::now() < deadline, "{job}");
        }
    }

    /// Lets a job that rests, or has ended without success, go on.
    pub fn resume(&self, id: &str) {
        let answer = self.post(&format!("/v1/jobs/{id}/resume"), &json!({}));
        assert_eq!(answer.status, 200, "{}", answer.json());
    }

    /// Waits until `condition` holds for a job.
    pub fn wait_until(&self, id: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let job = self.job(id);
            if condition(&job) {
                return job;
            }
            assert!(Instant::now() < deadline, "{job}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The process that tends the only device, once there is one.
    pub fn worker_pid(&self) -> u32 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let devices = self.get("/v1/devices").json();
            if let Some(pid) = devices["data"][0]["pid"].as_u64() {
                return pid as u32;
            }
            assert!(Instant::now() < deadline, "{devices}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills the server as a power switch would.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks the server to end and returns how long that took.
    pub fn terminate(mut self) -> Duration {
        let began = Instant::now();
        signal(self.child.id(), "TERM");
        assert!(self.child.wait().unwrap().success());
        began.elapsed()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            self.child.kill().ok();
            self.child.wait().ok();
        }
    }
}

fn answer(mut response: ureq::http::Response<ureq::Body>) -> Answer {
    let headers = response
        .headers()
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap_or_default().to_owned()))
        .collect();
    let bytes = response.body_mut().with_config().limit(1 << 30).read_to_vec().unwrap();
    Answer { status: response.status().as_u16(), headers, bytes }
}

pub fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap();
    assert!(status.success());
}

/// The processes that another one has started.
pub fn children(pid: u32) -> Vec<u32> {
    let found = Command::new("pgrep").args(["-P", &pid.to_string()]).output().unwrap();
    String::from_utf8_lossy(&found.stdout).lines().map(|pid| pid.parse().unwrap()).collect()
}

pub fn data_dir() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// A BOLT job on the built-ins that takes a few seconds: two rounds, evaluations, checkpoints.
pub fn small_spec() -> Value {
    json!({
        "name": "small",
        "model": "builtin:arith-tiny",
        "dataset": {"train": "builtin:arithmetic"},
        "verifier": {"type": "numeric"},
        "objective": {"type": "bolt", "group_size": 4, "rounds": 2},
        "sampling": {"max_new_tokens": 5, "batch_size": 64},
        "optimizer": {"learning_rate": 0.0003},
        "train": {"steps": 12, "prompts_per_step": 16, "micro_batch_tokens": 256},
        "eval": {"prompts": 16, "samples": 4, "pass_at": [1, 4], "every_steps": 5},
        "checkpoints": {"every_steps": 2},
        "seed": 3
    })
}
