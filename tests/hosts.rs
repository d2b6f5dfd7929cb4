//! Jobs on several machines: they end as on one with as many devices, and outlive the loss of a machine.

#[path = "common/agent.rs"]
mod agent;
mod common;

use std::time::{Duration, Instant};

use agent::Agent;
use common::{PATIENCE, Server, anneal, children, data_dir, signal, small_spec};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Steps of the job that is disturbed.
const STEPS: u64 = 16;

/// A job on devices of so many machines, one on each.
fn spec(hosts: u32) -> Value {
    let mut spec = small_spec();
    spec["resources"] = json!({"devices": hosts, "hosts": hosts});
    spec
}

fn long_spec(hosts: u32) -> Value {
    let mut spec = spec(hosts);
    spec["train"]["steps"] = json!(STEPS);
    spec["eval"]["every_steps"] = json!(STEPS);
    spec
}

/// A server without devices.
fn server(data: &std::path::Path) -> Server {
    Server::start_with(data, &["--devices", "none", "--lease-seconds", "3"])
}

/// The job once it has ended well, and the digest of its weights.
fn ended(server: &Server, job: &str) -> (Value, String) {
    let ended = server.wait(job);
    assert_eq!(ended["status"], "succeeded", "{ended:#}");
    let weights = ended["result"]["weights_sha256"].as_str().unwrap().to_owned();
    (ended, weights)
}

/// What a job on several devices of one machine ends with.
fn on_one_machine(spec: &Value) -> String {
    let data = data_dir();
    let server = Server::start_with(data.path(), &["--devices", "simulated:2"]);
    let mut spec = spec.clone();
    if let Some(resources) = spec.get_mut("resources").and_then(Value::as_object_mut) {
        resources.remove("hosts");
    }
    ended(&server, &server.submit(&spec)).1
}

/// The devices of a job's attempts, the first attempt first, each with how it ended.
fn attempts(server: &Server, job: &str) -> Vec<(Vec<String>, Value)> {
    let attempts = server.get(&format!("/v1/jobs/{job}/attempts")).json();
    let of = |attempt: &Value| {
        let devices = attempt["devices"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned());
        (devices.collect(), attempt["outcome"].clone())
    };
    attempts["data"].as_array().unwrap().iter().rev().map(of).collect()
}

fn at_step(step: u64) -> impl Fn(&Value) -> bool {
    move |job| job["step"].as_u64().unwrap_or(0) >= step
}

#[test]
fn two_ranks_on_two_machines_end_with_the_bits_of_two_on_one() {
    let (data, own) = (data_dir(), data_dir());
    let server = server(data.path());
    let one = Server::start_with(own.path(), &["--devices", "simulated:2"]);
    let agents = ["box-1", "box-2"].map(|name| Agent::start(&server.base, name));
    let mut kept = spec(2);
    kept["rollouts"] = json!({"keep": true});
    let job = server.submit(&kept);
    let (job, weights) = ended(&server, &job);
    assert_eq!(job["devices"], json!(["box-1/simulated:0", "box-2/simulated:0"]));
    let mut near = kept.clone();
    near["resources"] = json!({"devices": 2});
    assert_eq!(weights, ended(&one, &one.submit(&near)).1);
    // Moments that the machines have together.
    let mut divided = spec(2);
    divided["optimizer"]["sharded"] = json!(true);
    let (divided, weights_of_divided) = ended(&server, &server.submit(&divided));
    assert_eq!(weights_of_divided, weights, "{divided:#}");
    let left = agents[1].folder().join("jobs").join(divided["id"].as_str().unwrap()).join("optimizer-1.safetensors");
    assert!(left.parent().unwrap().exists() && !left.exists(), "what was on its way is gone");
    // What samples and trains nothing, part by part.
    let measured = |server: &Server, job: &Value, resources: Value| {
        let asked = json!({"model": job["result"]["checkpoint"], "dataset": "builtin:arithmetic", "samples": 2,
                           "verifier": {"type": "numeric"}, "prompts": 16, "resources": resources});
        let evaluation = server.post("/v1/evaluations", &asked).json();
        server.wait(evaluation["job"].as_str().unwrap_or_else(|| panic!("{evaluation}")))["result"]["pass_at"].clone()
    };
    let far = measured(&server, &job, json!({"devices": 2, "hosts": 2}));
    assert!(far.is_array(), "{far}");
    assert_eq!(far, measured(&server, &job, json!({"devices": 1})));
    // Its machines take other jobs afterwards.
    ended(&server, &server.submit(&small_spec()));
    drop(agents);
}

/// A job on two machines.
struct Scene {
    server: Server,
    /// The machine of its second rank, and that of its first.
    second: Agent,
    _first: Agent,
    job: String,
    /// What it is to end with.
    expected: String,
    _data: TempDir,
}

/// One that has come to a step.
fn at_work(step: u64) -> Scene {
    let expected = on_one_machine(&long_spec(2));
    let data = data_dir();
    let server = server(data.path());
    let [first, second] = ["box-1", "box-2"].map(|name| Agent::start(&server.base, name));
    let job = server.submit(&long_spec(2));
    server.wait_until(&job, at_step(step));
    Scene { server, second, _first: first, job, expected, _data: data }
}

#[test]
fn a_job_whose_other_machine_dies_goes_on_with_a_third_to_the_same_bits() {
    let Scene { server, mut second, _first, job, expected, _data } = at_work(4);
    let _third = Agent::start(&server.base, "box-3");
    second.kill();
    let (done, weights) = ended(&server, &job);
    let attempts = attempts(&server, &job);
    assert_eq!(
        attempts[0],
        (vec![String::from("box-1/simulated:0"), String::from("box-2/simulated:0")], json!("lost"))
    );
    assert_eq!(attempts[1].0, ["box-1/simulated:0", "box-3/simulated:0"], "{done:#}");
    assert_eq!((attempts.len(), weights), (2, expected));
}

#[test]
fn a_machine_that_is_to_be_free_has_the_job_saved_and_lets_go_of_it() {
    let Scene { server, mut second, _first, job, expected, _data } = at_work(3);
    signal(second.child.id(), "TERM");
    second.child.wait().unwrap();
    assert!(second.workers().is_empty());
    let waits = server.wait_until(&job, |job| job["status"] == "queued");
    assert!(waits["step"].as_u64() >= Some(3), "{waits:#}");
    let _third = Agent::start(&server.base, "box-3");
    assert_eq!(ended(&server, &job).1, expected);
    assert_eq!(attempts(&server, &job)[0].1, "drained");

    // An operator's word reaches whichever machine leads.
    let job = server.submit(&long_spec(2));
    server.wait_until(&job, at_step(2));
    assert_eq!(server.post("/v1/hosts/box-3/drain", &json!({})).status, 200);
    server.wait_until(&job, |job| job["status"] == "queued");
    server.post("/v1/hosts/box-3/uncordon", &json!({}));
    assert_eq!(ended(&server, &job).1, expected);
}

#[test]
fn an_elastic_job_goes_on_with_what_is_left() {
    let mut spec = long_spec(3);
    spec["resources"]["elastic"] = json!(true);
    let data = data_dir();
    let server = server(data.path());
    let _first = Agent::start(&server.base, "box-1");
    let mut second = Agent::start(&server.base, "box-2");
    let job = server.submit(&spec);
    server.wait_until(&job, at_step(3));
    second.kill();
    let (done, _) = ended(&server, &job);
    let attempts = attempts(&server, &job);
    let counts: Vec<usize> = attempts.iter().map(|(devices, _)| devices.len()).collect();
    assert_eq!(counts, [2, 1], "{done:#}");
    assert!(done["step"] == json!(STEPS));
}

#[test]
fn what_no_machines_could_ever_run_is_refused_and_a_job_is_called_off_while_it_waits_for_others() {
    let data = data_dir();
    let server = server(data.path());
    let _first = Agent::start(&server.base, "box-1");
    let refused = |resources: Value| {
        let mut spec = small_spec();
        spec["resources"] = resources;
        let answer = server.post("/v1/jobs", &spec);
        assert_eq!(answer.status, 422);
        let error = answer.json()["errors"][0].clone();
        (error["pointer"].as_str().unwrap().to_owned(), error["code"].as_str().unwrap().to_owned())
    };
    let of = |pointer: &str, code: &str| (pointer.to_owned(), code.to_owned());
    assert_eq!(refused(json!({"devices": 3, "hosts": 2})), of("/resources/hosts", "conflict"));
    assert_eq!(refused(json!({"devices": 2, "hosts": 2})), of("/resources/hosts", "too_few_devices"));
    assert_eq!(refused(json!({"devices": 2})), of("/resources/devices", "too_few_devices"));

    // A machine that is there but does not come: its agent stands still, and is believed to live for longer than this takes.
    let data = data_dir();
    let server = Server::start_with(data.path(), &["--devices", "none", "--lease-seconds", "60"]);
    let _first = Agent::start(&server.base, "box-1");
    let second = Agent::start(&server.base, "box-2");
    let begun = Instant::now();
    while server.get("/v1/devices").json()["data"][1]["pid"].is_null() {
        assert!(begun.elapsed() < PATIENCE, "its worker does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    second.workers().into_iter().for_each(|pid| signal(pid, "STOP"));
    let mut other = Agent::start(&server.base, "box-3");
    let job = server.submit(&spec(3));
    server.wait_until(&job, |job| job["status"] == "starting");
    server.post(&format!("/v1/jobs/{job}/cancel"), &json!({}));
    server.wait_until(&job, |job| job["status"] == "cancelled");
    other.kill();
    second.workers().into_iter().for_each(|pid| signal(pid, "CONT"));
}

/// Kills of the server, of machines, of their workers and of what computes for these, at instants that nobody chose;
/// `ANNEAL_KILLS` says how many.
#[test]
fn whatever_is_killed_each_job_ends_with_its_bits() {
    let kills: u64 = std::env::var("ANNEAL_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let specs = [small_spec(), spec(2)];
    let expected = specs.each_ref().map(on_one_machine);
    let data = data_dir();
    let start = |port: &str| {
        let mut command = anneal(data.path());
        command.args(["serve", "--supervised", "--log", "warn", "--devices", "none", "--lease-seconds", "3"]);
        command.args(["--listen", &format!("127.0.0.1:{port}"), "--data-dir"]).arg(data.path());
        Server::spawn(command)
    };
    let mut server = start("0");
    let port = server.base.rsplit(':').next().unwrap().to_owned();
    let mut agents = ["box-1", "box-2", "box-3"].map(|name| Agent::start(&server.base, name));
    let mut random = 1_u64;
    let mut draw = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % below
    };
    let mut jobs = Vec::new();
    for kill in 0..kills {
        jobs.push(server.submit(&specs[kill as usize % 2]));
        std::thread::sleep(Duration::from_millis(300 + draw(2500)));
        let agent = &mut agents[draw(3) as usize];
        match draw(4) {
            0 => {
                server.kill();
                server = start(&port);
            }
            1 => {
                agent.kill();
                agent.begin_again();
            }
            2 => agent.workers().into_iter().for_each(|pid| signal(pid, "KILL")),
            _ => {
                let ranks = agent.workers().into_iter().flat_map(children);
                ranks.for_each(|pid| signal(pid, "KILL"));
            }
        }
    }
    let mut attempts = 0;
    for (number, job) in jobs.iter().enumerate() {
        let done = server.wait(job);
        // Three losses are a job's end, as anywhere.
        if done["failure"]["message"].as_str().is_some_and(|message| message.contains("3 times")) {
            server.resume(job);
        }
        assert_eq!(ended(&server, job).1, expected[number % 2]);
        let log = server.get(&format!("/v1/events?type=status&job={job}&limit=200")).json();
        let succeeded = log["data"].as_array().unwrap().iter().filter(|event| event["data"]["status"] == "succeeded");
        assert_eq!(succeeded.count(), 1);
        attempts += server.job(job)["attempt"].as_u64().unwrap();
    }
    println!("{kills} kills, {} jobs, {attempts} attempts", jobs.len());
}
