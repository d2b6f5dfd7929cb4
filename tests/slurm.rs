//! Machines that Slurm starts for jobs: whatever becomes of its controller, of its nodes and of what it started, each job runs
//! once and to the same bits. And jobs on several machines in networks that can be cut. Started with a cluster beside it: `scripts/slurm.sh cargo test --test slurm`; not part of a
//! plain `cargo test`.

#[path = "common/agent.rs"]
mod agent;
mod common;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use agent::Agent;
use common::{PATIENCE, Server, anneal, data_dir, signal, small_spec};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a worker may be silent in these tests.
const LEASE: &str = "3";

/// The address of this machine in the cluster's network.
fn address() -> String {
    std::env::var("ANNEAL_TEST_SLURM")
        .expect("ANNEAL_TEST_SLURM is not set; run scripts/slurm.sh cargo test --test slurm -- --test-threads=1")
}

/// A server that runs no jobs itself and may ask the cluster for machines.
struct Site {
    data: TempDir,
    server: Server,
    listen: String,
}

impl Site {
    /// `more` are lines of the launcher's table in the settings.
    fn start(more: &str) -> Self {
        let data = data_dir();
        let port = TcpListener::bind((address().as_str(), 0)).unwrap().local_addr().unwrap().port();
        let listen = format!("{}:{port}", address());
        let settings = format!(
            "[[launchers]]\nname = \"nodes\"\ntype = \"slurm\"\nserver = \"http://{listen}\"\nprogram = \"{}\"\n\
             memory = \"4GiB\"\ndevices = \"simulated:4GiB\"\nidle_seconds = 5\npoll_seconds = 1\n\
             time_limit_minutes = 60\n{more}\n",
            env!("CARGO_BIN_EXE_anneal"),
        );
        std::fs::write(data.path().join("settings.toml"), settings).unwrap();
        let mut key = anneal(data.path());
        key.args(["keys", "create", "admin", "--scopes", "read,write,admin", "--local", "--data-dir"]).arg(data.path());
        let key = String::from_utf8(key.output().unwrap().stdout).unwrap().trim().to_owned();
        let mut server = Self::serve(data.path(), &listen);
        server.use_key(&key);
        std::fs::write(data.path().join("key"), key).unwrap();
        Self { data, server, listen }
    }

    fn serve(data: &Path, listen: &str) -> Server {
        let mut command = anneal(data);
        command.args(["serve", "--supervised", "--log", "warn", "--lease-seconds", LEASE, "--devices", "none"]);
        // What is started writes its log where the server is.
        command
            .current_dir(data)
            .args(["--listen", listen, "--data-dir"])
            .arg(data)
            .arg("--config")
            .arg(data.join("settings.toml"));
        Server::spawn(command)
    }

    /// Kills the server and starts it again.
    fn begin_again(&mut self) {
        signal(self.server.pid(), "KILL");
        while TcpListener::bind(&self.listen).is_err() {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.server = Self::serve(self.data.path(), &self.listen);
        self.server.use_key(&std::fs::read_to_string(self.data.path().join("key")).unwrap());
    }

    fn launches(&self) -> Vec<Value> {
        let list = self.server.get("/v1/launches?limit=100").json();
        list["data"].as_array().unwrap_or_else(|| panic!("{list}")).clone()
    }

    fn weights(&self, job: &str) -> String {
        let ended = self.server.wait(job);
        assert_eq!(ended["status"], "succeeded", "{ended} {:?}", self.launches());
        ended["result"]["weights_sha256"].as_str().unwrap().to_owned()
    }

    /// Waits for launches to be as they should.
    fn until(&self, what: &str, condition: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let launches = self.launches();
            if condition(&launches) {
                return launches;
            }
            assert!(Instant::now() < deadline, "{what}: {launches:#?}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// How often a job is said to have succeeded.
    fn successes(&self, job: &str) -> usize {
        let log = self.server.get(&format!("/v1/events?type=status&job={job}&limit=200")).json();
        assert_eq!(log["has_more"], false);
        let is_it = |event: &&Value| event["data"]["status"] == "succeeded";
        log["data"].as_array().unwrap().iter().filter(is_it).count()
    }

    fn waiting(&self, job: &str) -> Value {
        self.server.job(job)["waiting"].clone()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // What it asked for must not hold up the next test.
        drop(Command::new("scancel").args(["--user=root", "--full", "--signal=KILL"]).status());
        drop(Command::new("scancel").arg("--user=root").status());
    }
}

/// Does something to the cluster's controller or a node.
fn control(what: &str, whom: &str) {
    let script = std::env::var("ANNEAL_TEST_SLURM_CONTROL").unwrap();
    let done = Command::new("bash").args(["-c", &script, "-", what, whom]).status().unwrap();
    assert!(done.success(), "{what} {whom}");
}

/// What a job on a server's own device ends with.
fn undisturbed(spec: &Value) -> String {
    let data = data_dir();
    let server = Server::start_with(data.path(), &["--devices", "cpu"]);
    let job = server.submit(spec);
    let ended = server.wait(&job);
    ended["result"]["weights_sha256"].as_str().unwrap_or_else(|| panic!("{ended}")).to_owned()
}

/// Long enough to be disturbed.
fn long_spec() -> Value {
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(40);
    spec["eval"]["every_steps"] = json!(40);
    spec
}

fn at_step(step: u64) -> impl Fn(&Value) -> bool {
    move |job| job["step"].as_u64().unwrap_or(0) >= step
}

fn all_over(launches: &[Value]) -> bool {
    launches.iter().all(|launch| launch["ended_at"].is_i64())
}

#[test]
fn a_job_that_no_device_fits_gets_a_machine_which_goes_when_it_is_done() {
    let site = Site::start("max_launches = 2");
    let jobs: Vec<String> = (0..4).map(|_| site.server.submit(&small_spec())).collect();
    let told = site.server.wait_until(&jobs[0], |job| job["waiting"]["code"] == "launching" || job["step"] != 0);
    assert!(told["waiting"].is_null() || told["waiting"]["message"].as_str().unwrap().contains("`nodes`"), "{told}");
    assert!(site.launches().len() <= 2);
    let expected = undisturbed(&small_spec());
    assert!(jobs.iter().all(|job| site.weights(job) == expected));
    let launches = site.until("all are over", all_over);
    assert_eq!(launches.len(), 4, "one for each job: {launches:#?}");
    assert!(
        launches.iter().all(|launch| launch["status"] == "ended" && launch["claimed_at"].is_i64()),
        "{launches:#?}"
    );
    // Nothing is left of them.
    let hosts = site.server.get("/v1/hosts").json();
    assert_eq!(hosts["data"].as_array().unwrap().len(), 1, "{hosts}");
    assert_eq!(site.server.get("/v1/devices").json()["data"], json!([]));
    let keys = site.server.get("/v1/api-keys").json();
    assert_eq!(keys["data"].as_array().unwrap().len(), 1, "{keys}");
    let mut program = anneal(site.data.path());
    program.args(["launches"]).env("ANNEAL_SERVER", &site.server.base);
    program.env("ANNEAL_API_KEY", std::fs::read_to_string(site.data.path().join("key")).unwrap());
    let printed = String::from_utf8(program.output().unwrap().stdout).unwrap();
    assert_eq!(printed.matches("Slurm says COMPLETED").count(), 4, "{printed}");
}

#[test]
fn a_job_on_several_machines_gets_them_all_at_the_same_time() {
    let site = Site::start("max_launches = 2\n[launchers.slurm]\ncpus_per_device = 2");
    let mut spec = small_spec();
    spec["resources"] = json!({"devices": 2, "hosts": 2});
    // The second needs the machines that the first has, and has no room to begin with one of them.
    let jobs = [site.server.submit(&spec), site.server.submit(&spec)];
    let weights = jobs.clone().map(|job| site.weights(&job));
    assert_eq!(weights[0], weights[1]);
    let launches = site.until("all are over", all_over);
    assert!(launches.iter().all(|launch| launch["claimed_at"].is_i64()), "{launches:#?}");
    let of = |job: &String| launches.iter().filter(|launch| launch["job"] == job.as_str()).count();
    assert_eq!(jobs.each_ref().map(of), [2, 2], "{launches:#?}");
    let data = data_dir();
    let one = Server::start_with(data.path(), &["--devices", "simulated:2"]);
    spec["resources"] = json!({"devices": 2});
    assert_eq!(one.wait(&one.submit(&spec))["result"]["weights_sha256"], json!(weights[0]));
}

#[test]
fn a_launch_that_nobody_needs_any_more_is_taken_back() {
    // A node has two CPUs, so that a second machine of this size waits.
    let site = Site::start("[launchers.slurm]\ncpus_per_device = 2\noptions = [\"--nodelist=n1\"]");
    let jobs = [site.server.submit(&long_spec()), site.server.submit(&long_spec())];
    let is_waiting = |launch: &Value| launch["status"] == "waiting" && launch["message"].is_string();
    let launches = site.until("one runs and one waits", |all| {
        all.iter().any(|launch| launch["claimed_at"].is_i64()) && all.iter().any(is_waiting)
    });
    let waiting = launches.iter().find(|launch| is_waiting(launch)).unwrap();
    let job = jobs.iter().find(|job| site.server.job(job)["status"] == "queued").unwrap();
    let message = site.waiting(job)["message"].as_str().unwrap().to_owned();
    assert!(message.contains("Slurm says PENDING"), "{message}");
    assert_eq!(site.server.post(&format!("/v1/jobs/{job}/cancel"), &json!({})).status, 200);
    let id = waiting["id"].clone();
    let is_over = |launch: &Value| launch["id"] == id && launch["ended_at"].is_i64();
    let launches = site.until("it is over", |all| all.iter().any(is_over));
    let over = launches.iter().find(|launch| launch["id"] == id).unwrap();
    assert_eq!((&over["status"], &over["message"]), (&json!("ended"), &json!("no job needs it any more")));
    let queue = Command::new("squeue").args(["--noheader", "--states=PENDING", "--format=%j"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&queue.stdout).trim(), "");
}

#[test]
fn a_machine_whose_time_is_over_saves_its_job_and_the_next_one_goes_on() {
    let site = Site::start("");
    let job = site.server.submit(&long_spec());
    site.server.wait_until(&job, at_step(5));
    let reference = site.launches()[0]["reference"].as_str().unwrap().to_owned();
    // As Slurm does it at the time limit less `notice_seconds`.
    assert!(Command::new("scancel").args(["--batch", "--signal=TERM", &reference]).status().unwrap().success());
    let weights = site.weights(&job);
    assert_eq!(weights, undisturbed(&long_spec()));
    let attempts = site.server.get(&format!("/v1/jobs/{job}/attempts")).json();
    assert_eq!(attempts["data"].as_array().unwrap().len(), 2, "{attempts}");
    assert!(attempts["data"][0]["first_step"].as_u64().unwrap() >= 5, "it was saved when it was told to: {attempts}");
    // Another one, and without any notice.
    let job = site.server.submit(&long_spec());
    site.server.wait_until(&job, at_step(5));
    let running = site.until("one runs", |all| all.iter().any(|launch| launch["status"] == "running"));
    let running = running.iter().find(|launch| launch["status"] == "running").unwrap();
    let reference = running["reference"].as_str().unwrap();
    assert!(Command::new("scancel").args(["--full", "--signal=KILL", reference]).status().unwrap().success());
    assert_eq!(site.weights(&job), weights);
}

#[test]
fn a_node_that_is_cut_off_loses_its_job_to_another_and_writes_nothing_of_it_more() {
    let site = Site::start("");
    let job = site.server.submit(&long_spec());
    site.server.wait_until(&job, at_step(5));
    let reference = site.launches()[0]["reference"].as_str().unwrap().to_owned();
    let node = Command::new("squeue").args(["--noheader", "--format=%N", "--jobs", &reference]).output().unwrap();
    let node = String::from_utf8_lossy(&node.stdout).trim().to_owned();
    control("cut", &node);
    let cut = Instant::now();
    site.server.wait_until(&job, |job| job["attempt"] == 2);
    println!("the job of the node that was cut off ran elsewhere after {:.1} s", cut.elapsed().as_secs_f64());
    let weights = site.weights(&job);
    control("heal", &node);
    assert_eq!(weights, undisturbed(&long_spec()));
    let first = |all: &[Value]| {
        all.iter().any(|launch| launch["reference"] == reference.as_str() && launch["ended_at"].is_i64())
    };
    site.until("the first launch is over", first);
    let ended = site.server.job(&job);
    assert_eq!((&ended["status"], &ended["attempt"]), (&json!("succeeded"), &json!(2)));
    assert_eq!(site.successes(&job), 1);
}

/// Agents of an operator's own, in networks of their own, with one job on two of them.
#[test]
fn a_job_on_two_machines_of_which_one_is_cut_off_goes_on_with_another_to_the_same_bits() {
    let site = Site::start("max_launches = 1");
    let key = site.server.post("/v1/api-keys", &json!({"name": "agents", "scopes": ["agent"]})).json();
    let file = site.data.path().join("agent.key");
    std::fs::write(&file, key["key"].as_str().unwrap_or_else(|| panic!("{key}"))).unwrap();
    let token = ["--token-file", file.to_str().unwrap()];
    let (_first, _second) =
        (Agent::start_on("n1", &site.server.base, &token), Agent::start_on("n2", &site.server.base, &token));
    let mut spec = long_spec();
    spec["resources"] = json!({"devices": 2, "hosts": 2});
    let job = site.server.submit(&spec);
    site.server.wait_until(&job, at_step(5));
    let _third = Agent::start_in(data_dir(), &site.server.base, "own", &token);
    control("cut", "n2");
    let cut = Instant::now();
    site.server.wait_until(&job, |job| job["attempt"] == 2);
    println!("the job whose other machine was cut off ran with a third after {:.1} s", cut.elapsed().as_secs_f64());
    let weights = site.weights(&job);
    let ended = site.server.job(&job);
    assert_eq!((&ended["attempt"], &ended["devices"]), (&json!(2), &json!(["n1/simulated:0", "own/simulated:0"])));
    control("heal", "n2");
    // Whoever was cut off finds out, lets go of its device and takes jobs again.
    spec["resources"] = json!({"devices": 3, "hosts": 3});
    let next = site.server.submit(&spec);
    assert_eq!(site.server.wait(&next)["status"], "succeeded", "{:#}", site.server.job(&next));
    let data = data_dir();
    let one = Server::start_with(data.path(), &["--devices", "simulated:2"]);
    spec["resources"] = json!({"devices": 2});
    let undisturbed = one.wait(&one.submit(&spec));
    assert_eq!(undisturbed["result"]["weights_sha256"], json!(weights));
}

#[test]
fn each_launch_has_one_job_of_slurm_though_controller_and_server_are_killed_meanwhile() {
    let mut site = Site::start("max_launches = 20\n[launchers.slurm]\ncpus_per_device = 1");
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(2);
    let jobs: Vec<String> = (0..20).map(|_| site.server.submit(&spec)).collect();
    for round in 0..4 {
        std::thread::sleep(Duration::from_millis(700 + 300 * round));
        control("end", "control");
        if round % 2 == 1 {
            site.begin_again();
        }
        std::thread::sleep(Duration::from_millis(500));
        control("start", "control");
    }
    let expected = undisturbed(&spec);
    assert!(jobs.iter().all(|job| site.weights(job) == expected));
    let launches = site.until("all are over", all_over);
    // What a controller that was killed has forgotten is handed over again, but no launch did its work twice.
    let queue = Command::new("squeue").args(["--noheader", "--states=COMPLETED", "--format=%j"]).output().unwrap();
    let mut names: BTreeMap<String, u32> = BTreeMap::new();
    String::from_utf8_lossy(&queue.stdout).lines().for_each(|name| *names.entry(name.to_owned()).or_default() += 1);
    assert!(names.values().all(|count| *count == 1), "{names:?}");
    let attempts = |job: &String| site.server.job(job)["attempt"].as_u64().unwrap();
    println!("{} launches, {} attempts of 20 jobs", launches.len(), jobs.iter().map(attempts).sum::<u64>());
    assert!(jobs.iter().all(|job| site.successes(job) == 1));
}

#[test]
fn a_cluster_that_refuses_or_is_away_says_so_where_the_job_waits() {
    let refusing = Site::start("[launchers.slurm]\npartition = \"nope\"");
    let job = refusing.server.submit(&small_spec());
    let failed = refusing.until("it is refused", |all| all.iter().any(|launch| launch["status"] == "failed"));
    assert!(failed[0]["message"].as_str().unwrap().contains("nvalid partition"), "{failed:?}");
    let waiting = refusing.waiting(&job);
    assert_eq!(waiting["code"], "no_device", "{waiting}");
    assert!(waiting["message"].as_str().unwrap().contains("`nodes` started none"), "{waiting}");
    // It rests, and does not ask again and again.
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(refusing.launches().len(), 1);
    drop(refusing);

    let site = Site::start("");
    control("end", "control");
    let job = site.server.submit(&small_spec());
    site.until("the launch says so", |all| {
        all.first()
            .is_some_and(|launch| launch["message"].as_str().is_some_and(|said| said.contains("does not answer")))
    });
    let waiting = site.waiting(&job);
    assert_eq!(waiting["code"], "launching", "{waiting}");
    assert!(waiting["message"].as_str().unwrap().contains("does not answer"), "{waiting}");
    control("start", "control");
    site.weights(&job);
    assert_eq!(site.launches().len(), 1);

    // A program that is not there: its machine never comes to work.
    drop(site);
    let site =
        Site::start("[launchers.slurm]\noptions = [\"--chdir=/\", \"--output=/dev/null\", \"--export=PATH=/nowhere\"]");
    let job = site.server.submit(&small_spec());
    let failed = site.until("it failed", |all| all.iter().any(|launch| launch["status"] == "failed"));
    assert!(failed[0]["message"].as_str().unwrap().contains("see its log"), "{failed:?}");
    assert_eq!(site.server.job(&job)["status"], "queued");
}
