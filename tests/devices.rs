//! Devices as a client sees them: placement, reservation, memory, faults and hangs, with a real server on simulated
//! devices. What is wrong with a device is said by files in the data directory.

mod common;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{PATIENCE, Server, data_dir, small_spec};
use serde_json::{Value, json};

fn start(data: &Path, devices: &str) -> Server {
    start_with(data, devices, &[])
}

fn start_with(data: &Path, devices: &str, more: &[&str]) -> Server {
    let mut arguments = vec!["--devices", devices];
    arguments.extend(more);
    let server = Server::start_with(data, &arguments);
    until(&server, |devices| devices.iter().all(|device| device["pid"].is_u64()));
    server
}

/// Waits until `condition` holds for the devices, and returns them.
fn until(server: &Server, condition: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let devices = server.get("/v1/devices").json()["data"].as_array().unwrap().clone();
        if condition(&devices) {
            return devices;
        }
        assert!(Instant::now() < deadline, "{devices:#?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A job that runs until it is cancelled.
fn long_spec() -> Value {
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(5000);
    spec["objective"]["rounds"] = json!(1000);
    spec
}

/// A job that is over soon.
fn short_spec() -> Value {
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(2);
    spec["eval"] = json!({"prompts": 1, "samples": 1, "pass_at": [1], "before": false});
    spec
}

fn wide(mut spec: Value, devices: u32) -> Value {
    spec["resources"] = json!({"devices": devices});
    spec
}

fn running(job: &Value) -> bool {
    job["status"] == "running" && job["step"].as_u64() > Some(0)
}

/// Puts a file into the folder of a simulated device.
fn inject(data: &Path, device: u32, file: &str, text: &str) {
    let folder = data.join("simulated").join(device.to_string());
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(file), text).unwrap();
}

fn heal(data: &Path, device: u32, file: &str) {
    std::fs::remove_file(data.join("simulated").join(device.to_string()).join(file)).unwrap();
}

fn cancel(server: &Server, job: &str) {
    assert_eq!(server.post(&format!("/v1/jobs/{job}/cancel"), &json!({})).status, 200);
    assert_eq!(server.wait(job)["status"], "cancelled");
}

fn number(device: &Value) -> u32 {
    device.as_str().unwrap().strip_prefix("simulated:").unwrap().parse().unwrap()
}

#[test]
fn jobs_run_side_by_side_and_a_wide_one_waits_for_both_devices() {
    let data = data_dir();
    let server = start(data.path(), "simulated:2");
    let jobs = [server.submit(&long_spec()), server.submit(&long_spec())];
    let mut held: Vec<Value> = jobs.iter().map(|job| server.wait_until(job, running)["devices"][0].clone()).collect();
    held.sort_by_key(number);
    assert_eq!(held, [json!("simulated:0"), json!("simulated:1")]);
    let devices = until(&server, |_| true);
    assert!(devices.iter().all(|device| device["status"] == "busy"), "{devices:#?}");

    // Both must become free for this one.
    let both = server.submit(&wide(long_spec(), 2));
    let behind = server.submit(&short_spec());
    let waiting = server.job(&both)["waiting"].clone();
    assert_eq!((&waiting["code"], &waiting["position"]), (&json!("devices_busy"), &json!(1)), "{waiting}");
    assert_eq!((&waiting["devices_needed"], &waiting["devices_idle"]), (&json!(2), &json!(0)));
    assert!(waiting["memory_needed"].as_u64() > Some(0));
    assert_eq!(waiting["candidates"].as_array().unwrap().len(), 2);
    assert!(waiting["expected_start"].is_i64(), "both jobs have steps behind them: {waiting}");
    cancel(&server, &jobs[0]);

    // One device is free, and kept.
    let deadline = Instant::now() + PATIENCE;
    let queue = loop {
        let queue = server.get("/v1/queue").json();
        if queue["waiting"][1]["waiting"]["code"] == "devices_reserved" {
            break queue;
        }
        assert!(Instant::now() < deadline, "{queue:#}");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!((&queue["waiting"][0]["job"], &queue["waiting"][1]["job"]), (&json!(both), &json!(behind)), "{queue}");
    assert_eq!(queue["waiting"][1]["waiting"]["behind"], json!(both));
    assert_eq!(queue["waiting"][0]["waiting"]["devices_idle"], 1);
    let devices = until(&server, |devices| devices.iter().any(|device| device["status"] == "reserved"));
    let kept = devices.iter().find(|device| device["status"] == "reserved").unwrap();
    assert_eq!(kept["job"], json!(both));

    cancel(&server, &jobs[1]);
    let job = server.wait_until(&both, running);
    assert_eq!(job["devices"], json!(["simulated:0", "simulated:1"]));
    assert!(job["waiting"].is_null());
    let devices = until(&server, |_| true);
    assert!(devices.iter().all(|device| device["job"] == json!(both)), "{devices:#?}");
    let waiting = server.job(&behind)["waiting"].clone();
    assert_eq!((&waiting["code"], &waiting["devices_idle"]), (&json!("devices_busy"), &json!(0)), "{waiting}");
    assert!(waiting["message"].as_str().unwrap().contains(&both), "{waiting}");
    cancel(&server, &both);
    assert_eq!(server.wait(&behind)["status"], "succeeded");
    until(&server, |devices| devices.iter().all(|device| device["status"] == "idle"));
}

#[test]
fn a_job_runs_where_its_memory_fits_and_one_that_fits_nowhere_is_refused() {
    let data = data_dir();
    let probe = start(data.path(), "simulated:2");
    let plan = probe.post("/v1/jobs?dry_run=preflight", &small_spec()).json()["plan"].clone();
    let first = probe.submit(&small_spec());
    let need = probe.job(&first)["memory_bytes"].as_u64().unwrap();
    // Only a dry run knows how short the prompts are.
    assert!(plan["memory_bytes"].as_u64() < Some(need) && plan["longest_prompt_tokens"].as_u64() < Some(256), "{plan}");
    cancel(&probe, &first);
    probe.terminate();

    // One device is too small for the job by a byte.
    let server = start(data.path(), &format!("simulated:{},80GiB", need - 1));
    assert_eq!(until(&server, |_| true)[1]["memory_total"], 80_u64 << 30);
    let job = server.submit(&small_spec());
    let done = server.wait(&job);
    assert_eq!((&done["status"], &done["devices"]), (&json!("succeeded"), &json!(["simulated:1"])));
    assert_eq!(done["memory_bytes"], need);

    // Another program takes the memory of the large one, then the device.
    inject(data.path(), 1, "memory_used", &((80_u64 << 30) - need + 1).to_string());
    until(&server, |devices| devices[1]["memory_free"].as_u64() < Some(need));
    let job = server.submit(&small_spec());
    let waiting = server.job(&job)["waiting"].clone();
    assert_eq!(waiting["code"], "memory", "{waiting}");
    assert_eq!(waiting["candidates"][1]["memory_free"], need - 1);
    inject(data.path(), 1, "foreign_process", "1");
    until(&server, |devices| devices[1]["status"] == "foreign");
    assert_eq!(server.job(&job)["waiting"]["code"], "device_taken");
    heal(data.path(), 1, "foreign_process");
    heal(data.path(), 1, "memory_used");
    assert_eq!(server.wait(&job)["status"], "succeeded");

    for (spec, pointer, code, words) in [
        (wide(small_spec(), 3), "/resources/devices", "too_few_devices", "no machine has more than 2"),
        (wide(small_spec(), 2), "/resources/devices", "too_few_devices", "1 of 2"),
        (wide(small_spec(), 0), "/resources/devices", "out_of_range", "between 1 and 64"),
    ] {
        let refused = server.post("/v1/jobs", &spec);
        let error = refused.json()["errors"][0].clone();
        assert_eq!((refused.status, refused.problem().as_str()), (422, "invalid_spec"));
        assert_eq!((&error["pointer"], &error["code"]), (&json!(pointer), &json!(code)), "{error}");
        assert!(error["detail"].as_str().unwrap().contains(words), "{error}");
    }
    let set = json!({"model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"},
                     "resources": {"devices": 3}});
    assert_eq!(server.post("/v1/rollout-sets", &set).json()["errors"][0]["code"], "too_few_devices");
}

#[test]
fn a_spec_that_needs_more_memory_than_any_device_has_says_what_to_change() {
    let data = data_dir();
    let server = start(data.path(), "simulated:1MiB");
    let refused = server.post("/v1/jobs", &small_spec());
    let error = refused.json()["errors"][0].clone();
    assert_eq!((refused.status, error["code"].as_str()), (422, Some("too_little_memory")), "{error}");
    for words in ["1 MiB", "`sampling.batch_size: 8` (saves ", "an `adapter` in the place of all weights (saves "] {
        assert!(error["detail"].as_str().unwrap().contains(words), "{words} in {error}");
    }
}

#[test]
fn what_is_left_open_is_computed_again_where_no_device_can_keep_it() {
    let spec = |recompute: Value| {
        let mut spec = small_spec();
        spec["train"]["micro_batch_tokens"] = json!(16_384);
        spec["train"]["recompute"] = recompute;
        spec
    };
    let data = data_dir();
    let server = start(data.path(), "simulated:80GiB");
    let made = |server: &Server, recompute: Value| {
        let job = server.job(&server.submit(&spec(recompute)));
        (job["spec_resolved"]["train"]["recompute"].clone(), job["memory_bytes"].as_u64().unwrap() >> 20)
    };
    let [open, keeps, again] = [json!("auto"), json!(false), json!(true)].map(|choice| made(&server, choice));
    assert_eq!((&open, &again.0), (&keeps, &json!(true)));
    assert_eq!(open.0, false, "what is kept is not computed twice");
    assert!(again.1 + 10 < keeps.1, "{again:?} beside {keeps:?}");

    let data = data_dir();
    let server = start(data.path(), &format!("simulated:{}MiB", (keeps.1 + again.1) / 2));
    assert_eq!(made(&server, json!("auto")), again);
    let refused = server.post("/v1/jobs", &spec(json!(false))).json()["errors"][0].clone();
    assert_eq!(refused["code"], "too_little_memory", "{refused}");
    assert!(refused["detail"].as_str().unwrap().contains("`train.recompute: true` (saves"), "{refused}");
}

#[test]
fn a_job_outlives_the_fault_of_its_device_which_comes_back_when_it_is_well() {
    let data = data_dir();
    let server = start(data.path(), "simulated:2");
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(60);
    let job = server.submit(&spec);
    let ill = number(&server.wait_until(&job, running)["devices"][0]);
    inject(data.path(), ill, "fault", "Xid 79: the device has fallen off the bus");
    let devices = until(&server, |devices| devices[ill as usize]["faults"] == 1);
    let device = &devices[ill as usize];
    assert!(["faulted", "checking"].contains(&device["status"].as_str().unwrap()), "{device}");
    assert!(device["fault"].as_str().unwrap().contains("Xid 79"), "{device}");

    let done = server.wait(&job);
    assert_eq!((&done["status"], &done["attempt"]), (&json!("succeeded"), &json!(2)), "{done}");
    assert_eq!(number(&done["devices"][0]), 1 - ill);
    let log = server.get(&format!("/v1/jobs/{job}/events?limit=200")).json().to_string();
    assert!(log.contains("device_lost") && log.contains("Xid 79"), "{log}");
    // It takes nothing while it is ill, and the queue says why a job waits that needs it.
    let both = server.submit(&wide(short_spec(), 2));
    assert_eq!(server.job(&both)["waiting"]["code"], "device_faulted");
    let metrics = String::from_utf8(server.get("/metrics").bytes).unwrap();
    assert!(metrics.contains(&format!("anneal_device_faults_total{{device=\"simulated:{ill}\"}} 1")), "{metrics}");

    heal(data.path(), ill, "fault");
    assert_eq!(server.wait(&both)["status"], "succeeded");
    let devices = until(&server, |devices| devices[ill as usize]["status"] == "idle");
    assert!(devices[ill as usize]["fault"].is_null(), "{devices:#?}");
}

#[test]
fn a_device_that_hangs_loses_its_job_to_another() {
    let data = data_dir();
    let server = start_with(data.path(), "simulated:2", &["--watchdog-seconds", "5"]);
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(60);
    let job = server.submit(&spec);
    let ill = number(&server.wait_until(&job, running)["devices"][0]);
    inject(data.path(), ill, "hang", "");
    let done = server.wait(&job);
    assert_eq!((&done["status"], &done["attempt"]), (&json!("succeeded"), &json!(2)), "{done}");
    let devices = until(&server, |devices| devices[ill as usize]["faults"] == 1);
    assert_ne!(devices[ill as usize]["status"], "idle");
    heal(data.path(), ill, "hang");
    until(&server, |devices| devices[ill as usize]["status"] == "idle");
}

#[test]
fn a_job_that_loses_three_devices_fails_and_says_so() {
    let data = data_dir();
    let server = start(data.path(), "simulated:1");
    let job = server.submit(&long_spec());
    for attempt in 1..=3 {
        server.wait_until(&job, |job| running(job) && job["attempt"] == attempt);
        inject(data.path(), 0, "fault", "memory errors");
        server.wait_until(&job, |job| job["status"] != "running");
        heal(data.path(), 0, "fault");
    }
    let failed = server.wait(&job);
    let failure = &failed["failure"];
    assert_eq!((&failure["kind"], &failure["code"]), (&json!("device_lost"), &json!("device_lost")), "{failed}");
    assert!(failure["message"].as_str().unwrap().contains("memory errors"), "{failure}");
}

#[test]
fn metrics_are_there_for_prometheus() {
    let data = data_dir();
    let server = start(data.path(), "simulated:24GiB,80GiB");
    let answer = server.get("/metrics");
    assert!(answer.header("content-type").starts_with("text/plain; version=0.0.4"));
    let text = String::from_utf8(answer.bytes).unwrap();
    let total = 80_u64 << 30;
    for line in [
        "# TYPE anneal_jobs gauge",
        "anneal_jobs{status=\"queued\"} 0",
        "anneal_queue_length 0",
        &format!("anneal_device_memory_total_bytes{{device=\"simulated:1\"}} {total}"),
        &format!("anneal_device_memory_free_bytes{{device=\"simulated:1\"}} {total}"),
        "anneal_device_status{device=\"simulated:0\",status=\"idle\"} 1",
        "anneal_device_status{device=\"simulated:0\",status=\"faulted\"} 0",
        "# TYPE anneal_device_faults_total counter",
        "anneal_device_faults_total{device=\"simulated:0\"} 0",
    ] {
        assert!(text.lines().any(|other| other == line), "{line} in:\n{text}");
    }
    // Every series stands below its own HELP and TYPE.
    let mut family = "";
    for line in text.lines() {
        match line.strip_prefix("# HELP ").or(line.strip_prefix("# TYPE ")) {
            Some(named) => family = named.split(' ').next().unwrap(),
            None => assert!(line.starts_with(family), "{line} below {family}"),
        }
    }
}

#[test]
fn devices_that_are_not_there_keep_the_server_from_starting_and_say_why() {
    let data = data_dir();
    for (devices, words) in [
        ("7", &["built without CUDA", "driver is not loaded", "there is no device `cuda:7`"][..]),
        ("cuda:40", &["built without CUDA", "driver is not loaded", "there is no device `cuda:40`"]),
        ("gpu", &["`gpu` is none"]),
        ("simulated:0", &["from 1 to 64"]),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_anneal"))
            .args(["serve", "--listen", "127.0.0.1:0", "--devices", devices, "--data-dir"])
            .arg(data.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{devices}: {text}");
        assert!(words.iter().any(|words| text.contains(words)), "{devices}: {text}");
    }
}
