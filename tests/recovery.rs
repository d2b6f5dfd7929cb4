//! What must survive: killed workers, killed servers, drains, lost leases, poison and full disks. `ANNEAL_KILLS` sets
//! how many random kills are tried.

mod common;
#[path = "common/hub.rs"]
mod hub;
#[path = "common/small_disk.rs"]
mod small_disk;

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{PATIENCE, Server, data_dir, signal, small_spec};
use hub::{Hub, large_model};
use serde_json::{Value, json};
use small_disk::SmallDisk;

/// What must not depend on what happened on the way: digests of the model's weights and of the last training checkpoint's
/// weights and optimizer state, and what the completions could not cover.
fn digests(server: &Server, job: &str) -> Vec<String> {
    let finished = server.wait(job);
    assert_eq!(finished["status"], "succeeded", "{finished}");
    let list = server.get(&format!("/v1/jobs/{job}/checkpoints?limit=100")).json();
    let checkpoints = list["data"].as_array().unwrap();
    let digest = |kind: &str, file: &str| {
        let checkpoint = checkpoints.iter().find(|c| c["kind"] == kind && c["step"] == finished["steps"]).unwrap();
        let files = checkpoint["files"].as_array().unwrap();
        files.iter().find(|f| f["path"] == file).unwrap()["sha256"].as_str().unwrap().to_owned()
    };
    vec![
        digest("inference", "model.safetensors"),
        digest("training", "model.safetensors"),
        digest("training", "optimizer.safetensors"),
        finished["result"]["report"]["gaps"].to_string(),
    ]
}

/// An undisturbed run: its digests and how long it took.
fn undisturbed(spec: &Value) -> (Vec<String>, Duration) {
    let data = data_dir();
    let server = Server::start(data.path());
    server.worker_pid();
    let began = Instant::now();
    let job = server.submit(spec);
    let digests = digests(&server, &job);
    (digests, began.elapsed())
}

/// A number in `[0, 1)` for kill `i`; fixed, so that a failure can be repeated.
fn share(i: u32) -> f64 {
    f64::from(i.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24)
}

/// Lets a job of [`small_spec`] come as far as `share` of its way, whose milestones are its 12 steps. Between these it is
/// guessed by the `duration` of such a job, so that a machine that is busy for a while does not let all kills come late.
fn come_as_far(server: &Server, job: &str, share: f64, duration: Duration) {
    let stretches = 13.0;
    let place = share * stretches;
    server.wait_until(job, |job| job["step"].as_u64().unwrap_or(0) >= place as u64 || job["status"] == "succeeded");
    std::thread::sleep(duration.mul_f64(place.fract() / stretches));
}

/// How many servers are killed at a time: most of what a kill takes is waiting for a lease to run out.
const LANES: usize = 4;

fn kills() -> u32 {
    std::env::var("ANNEAL_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

/// A job that samples two phases ahead, and prompts in the place of others.
fn ahead() -> Value {
    let mut spec = small_spec();
    spec["objective"] = json!({"type": "p3o", "group_size": 4});
    spec["train"]["updates_per_rollout"] = json!(2);
    spec["train"]["max_lag"] = json!(2);
    spec["rollouts"] = json!({"dynamic_sampling": 2});
    spec
}

#[test]
fn killed_workers_and_servers_change_nothing_about_the_result() {
    let mut measured = small_spec();
    measured["objective"]["held_out_prompts"] = json!(4);
    let specs = [measured, ahead()];
    let whole = specs.each_ref().map(undisturbed);
    let mut other = specs[0].clone();
    other["seed"] = json!(4);
    assert_ne!(undisturbed(&other).0, whole[0].0, "the digests do not depend on what is computed");

    // Whether kill `i` hit a running job.
    let hit = |i: u32| {
        // The one that samples ahead comes first, and most often.
        let kind = (i as usize / LANES + 1) % specs.len();
        let (spec, (expected, duration)) = (&specs[kind], &whole[kind]);
        let data = data_dir();
        let mut server = Server::start(data.path());
        let worker = server.worker_pid();
        let job = server.submit(spec);
        let place = share(i + 1);
        come_as_far(&server, &job, place, *duration);
        if i % 3 == 2 {
            server.kill();
            server = Server::start(data.path());
        } else {
            signal(worker, "KILL");
        }
        assert_eq!(digests(&server, &job), *expected, "kill {i} of kind {kind} at {place:.3}");
        check_log(&server, &job);
        server.job(&job)["attempt"].as_u64() > Some(1)
    };
    let resumed: usize = std::thread::scope(|scope| {
        let lane = |first| (first..kills()).step_by(LANES).filter(|i| hit(*i)).count();
        let lanes: Vec<_> = (0..LANES as u32).map(|first| scope.spawn(move || lane(first))).collect();
        lanes.into_iter().map(|lane| lane.join().expect("a lane has said what is wrong")).sum()
    });
    println!("{resumed} of {} kills hit a running job", kills());
    assert!(resumed * 2 > kills() as usize, "only {resumed} kills hit a running job");
}

/// Objectives with a state, an extra pass, a teacher, a reference or kept completions: each goes on to the same bytes,
/// whether its worker is killed or asked to stop.
#[test]
fn every_objective_resumes_bit_for_bit() {
    let jobs = [
        json!({"objective": {"type": "fade", "ema": 0.5}}),
        json!({"objective": {"type": "p3o", "advantage": {"fade": {}}}, "updates_per_rollout": 4, "keep": true}),
        json!({"objective": {"type": "vopd", "teacher": "builtin:arith-tiny", "reward_weight": 0.3}}),
        json!({"objective": {"type": "grpo", "kl_coef": 0.1}, "updates_per_rollout": 2}),
        json!({"objective": {"type": "bolt", "rounds": 4, "reference": "initial"}}),
        json!({"objective": {"type": "bolt", "rounds": 4, "held_out_prompts": 8}, "updates_per_rollout": 2}),
        json!({"objective": {"type": "policy_gradient", "advantage": "batch_std", "ratio": "sequence_mean",
                             "correction": "clip", "entropy_coef": 0.01}, "max_lag": 1, "keep": true}),
        json!({"objective": {"type": "policy_gradient", "correction": "decoupled"}, "max_lag": 1, "updates_per_rollout": 4}),
    ];
    let mut resumed = 0;
    for (i, job) in jobs.iter().enumerate() {
        let mut spec = small_spec();
        spec["objective"] = job["objective"].clone();
        spec["objective"]["group_size"] = json!(4);
        spec["train"]["updates_per_rollout"] = job.get("updates_per_rollout").cloned().unwrap_or(json!(1));
        spec["train"]["max_lag"] = job.get("max_lag").cloned().unwrap_or(json!(0));
        spec["rollouts"] = json!({"keep": job["keep"] == true});
        spec["eval"]["every_steps"] = json!(0);
        let data = data_dir();
        let server = Server::start(data.path());
        server.worker_pid();
        let began = Instant::now();
        let whole = server.submit(&spec);
        let expected = with_kept(&server, &whole, digests(&server, &whole));
        let duration = began.elapsed();
        for (j, with) in ["KILL", "TERM"].into_iter().enumerate() {
            let job = server.submit(&spec);
            let place = 0.3 + 0.5 * share((2 * i + j) as u32 + 1);
            come_as_far(&server, &job, place, duration);
            signal(server.worker_pid(), with);
            let got = with_kept(&server, &job, digests(&server, &job));
            assert_eq!(got, expected, "{} {with} at {place:.3}", spec["objective"]);
            resumed += u32::from(server.job(&job)["attempt"].as_u64() > Some(1));
        }
    }
    println!("{resumed} of 16 signals hit a running job");
    assert!(resumed >= 8, "only {resumed} signals hit a running job");
}

/// Adds the digests of the rollout set that the job kept, if it did.
fn with_kept(server: &Server, job: &str, mut digests: Vec<String>) -> Vec<String> {
    if let Some(set) = server.job(job)["rollout_set"].as_str() {
        let files = server.get(&format!("/v1/rollout-sets/{set}")).json()["files"].clone();
        let names = ["rollouts.jsonl", "groups.json", "summary.json"];
        digests.extend(files.as_array().unwrap().iter().filter(|f| names.contains(&f["path"].as_str().unwrap())).map(
            |file| {
                assert!(file["size"].as_u64() > Some(10), "{file}");
                file["sha256"].as_str().unwrap().to_owned()
            },
        ));
        assert_eq!(digests.len(), 7);
    }
    digests
}

/// The event log has every number once, and ends with the job.
fn check_log(server: &Server, job: &str) {
    let mut after = 0;
    loop {
        let page = server.get(&format!("/v1/jobs/{job}/events?after={after}")).json();
        for event in page["data"].as_array().unwrap() {
            after += 1;
            assert_eq!(event["seq"], after);
        }
        if page["has_more"] == false {
            break;
        }
    }
    assert_eq!(server.job(job)["last_seq"], after);
}

#[test]
fn a_terminated_server_saves_its_job_and_the_next_one_finishes_it() {
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(200);
    spec["objective"]["rounds"] = json!(1);
    // No checkpoint is due while it runs, so that only the drain's own can be resumed.
    spec["checkpoints"]["every_steps"] = json!(1000);
    let data = data_dir();
    let server = Server::start(data.path());
    let job = server.submit(&spec);
    let before = server.wait_until(&job, |job| job["step"].as_u64() > Some(3));
    assert!(server.terminate() <= Duration::from_secs(10));
    let server = Server::start(data.path());
    let events = server.get(&format!("/v1/jobs/{job}/events?after={}&wait=60", before["last_seq"])).json();
    assert!(events.to_string().contains("the worker had to stop"), "{events}");
    server.wait_until(&job, |job| {
        job["attempt"] == 2 && job["status"] == "running" && job["step"].as_u64() > before["step"].as_u64()
    });
    server.post(&format!("/v1/jobs/{job}/cancel"), &json!({}));
    assert_eq!(server.wait(&job)["status"], "cancelled");
}

#[test]
fn a_job_that_ends_its_worker_three_times_is_poison() {
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(5000);
    let data = data_dir();
    let server = Server::start(data.path());
    let job = server.submit(&spec);
    for attempt in 1..=3 {
        server.wait_until(&job, |job| job["attempt"] == attempt && job["status"] == "running");
        signal(server.worker_pid(), "KILL");
        server.wait_until(&job, |job| job["status"] != "running");
    }
    let failed = server.wait(&job);
    assert_eq!((failed["status"].as_str(), failed["failure"]["code"].as_str()), (Some("failed"), Some("poison")));
    // The device is there for others.
    let next = server.submit(&small_spec());
    assert_eq!(server.wait(&next)["status"], "succeeded");
}

/// A job that goes on until somebody ends it, with a write at each of its short steps.
fn endless() -> Value {
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(5000);
    spec["objective"]["rounds"] = json!(1000);
    spec
}

#[test]
fn a_stopped_worker_is_replaced_and_its_job_goes_on() {
    let data = data_dir();
    let server = Server::start_with(data.path(), &["--lease-seconds", "2"]);
    let job = server.submit(&endless());
    server.wait_until(&job, |job| job["status"] == "running" && job["step"].as_u64() > Some(0));
    let stopped = server.worker_pid();
    signal(stopped, "STOP");
    // There is no other worker that could notice.
    server.wait_until(&job, |job| job["attempt"] == 2 && job["status"] == "running");
    assert!(!Path::new(&format!("/proc/{stopped}")).exists(), "the stopped process is still there");
    let events = server.get(&format!("/v1/jobs/{job}/events?limit=200")).json().to_string();
    assert!(events.contains("the worker stopped reporting"), "{events}");
    check_log(&server, &job);
    signal(server.worker_pid(), "STOP");
    server.post(&format!("/v1/jobs/{job}/cancel"), &json!({}));
    assert_eq!(server.wait(&job)["status"], "cancelled");
    assert_eq!(server.job(&job)["attempt"], 2);
}

#[test]
fn a_worker_that_is_stopped_while_it_writes_locks_nobody_out() {
    // PostgreSQL ends such a transaction by itself.
    if common::on_postgres() {
        return;
    }
    let data = data_dir();
    let server = Server::start(data.path());
    let job = server.submit(&endless());
    server.wait_until(&job, |job| job["status"] == "running" && job["step"].as_u64() > Some(0));
    stop_while_writing(data.path(), server.worker_pid());
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let ready = server.get("/readyz");
        if ready.status == 503 {
            assert_eq!(ready.problem(), "database_unavailable");
            break;
        }
        assert!(Instant::now() < deadline, "nobody notices that nothing can be written");
        std::thread::sleep(Duration::from_millis(20));
    }
    server.wait_until(&job, |job| job["attempt"] == 2 && job["status"] == "running");
    assert_eq!(server.post("/v1/verifiers", &json!({"config": {"type": "numeric"}})).status, 201);
    assert_eq!(server.get("/readyz").status, 200);
    check_log(&server, &job);

    stop_while_writing(data.path(), server.worker_pid());
    assert!(server.terminate() <= Duration::from_secs(30), "a stopped worker keeps the server from ending");
}

/// Whether all threads of a process stand still.
fn is_stopped(pid: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().map(|thread| thread.unwrap().path());
    // One that has ended meanwhile does nothing more.
    let mut states = threads.filter_map(|thread| std::fs::read_to_string(thread.join("stat")).ok());
    states.all(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')))
}

/// Stops a process at a moment at which it holds the database's write lock.
fn stop_while_writing(data: &Path, pid: u32) {
    let file = std::fs::metadata(data.join("anneal.db-shm")).unwrap();
    let lock = format!(":{} 120 120", file.ino());
    for _ in 0..2000 {
        signal(pid, "STOP");
        // Until its last thread has stopped, it may go on to give back what it holds.
        let end = Instant::now() + Duration::from_secs(20);
        while !is_stopped(pid) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        if locks.lines().any(|line| line.ends_with(&lock) && line.split_whitespace().any(|w| w == pid.to_string())) {
            return;
        }
        signal(pid, "CONT");
        std::thread::sleep(Duration::from_millis(3));
    }
    panic!("the worker never holds the write lock");
}

#[test]
fn what_was_killed_with_its_server_goes_on_at_once_and_is_no_poison() {
    let data = data_dir();
    // Nobody waits for this lease to run out.
    let start = || Server::start_with(data.path(), &["--lease-seconds", "3600"]);
    let mut server = start();
    let job = server.submit(&endless());
    for attempt in 1..=5 {
        server.wait_until(&job, |job| job["attempt"] == attempt && job["status"] == "running");
        let worker = server.worker_pid();
        // The server first: it must not see its worker end.
        signal(server.pid(), "STOP");
        signal(worker, "KILL");
        server.kill();
        server = start();
    }
    server.wait_until(&job, |job| job["attempt"] == 6 && job["status"] == "running");
    server.post(&format!("/v1/jobs/{job}/cancel"), &json!({}));
    assert_eq!(server.wait(&job)["status"], "cancelled");
}

#[test]
fn a_keyed_request_makes_one_thing_over_kills_of_the_server() {
    let data = data_dir();
    let mut server = Server::start(data.path());
    let mut sent = 0;
    for _ in 0..kills().div_ceil(2) {
        let base = server.base.clone();
        let range = sent..sent + 40;
        let clients: Vec<_> = range
            .clone()
            .map(|key| {
                let base = base.clone();
                let post = move || drop(make_verifier(&base, key));
                std::thread::spawn(post)
            })
            .collect();
        std::thread::sleep(Duration::from_millis(u64::from(5 + sent % 37)));
        server.kill();
        clients.into_iter().for_each(|client| client.join().unwrap());
        server = Server::start(data.path());
        for key in range.clone() {
            let (status, id) = make_verifier(&server.base, key).unwrap();
            assert_eq!(status, 201);
            assert_eq!(make_verifier(&server.base, key), Some((201, id)));
        }
        sent = range.end;
    }
    let mut made = 0;
    let mut path = String::from("/v1/verifiers?limit=100");
    loop {
        let page = server.get(&path).json();
        made += page["data"].as_array().unwrap().len();
        if page["has_more"] == false {
            break;
        }
        path = format!("/v1/verifiers?limit=100&after={}", page["last_id"].as_str().unwrap());
    }
    assert_eq!(made, sent as usize, "each key has made one verifier");
}

/// Asks for the verifier of a key; none when nobody answers.
fn make_verifier(base: &str, key: u32) -> Option<(u16, String)> {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let body = json!({"config": {"type": "numeric"}, "name": format!("v{key}")}).to_string();
    let request = agent.post(format!("{base}/v1/verifiers")).header("idempotency-key", format!("key-{key}"));
    let mut response = request.header("content-type", "application/json").send(body).ok()?;
    let answer: Value = serde_json::from_str(&response.body_mut().read_to_string().ok()?).ok()?;
    Some((response.status().as_u16(), answer["id"].as_str().unwrap_or_default().to_owned()))
}

#[test]
fn a_full_disk_can_be_emptied_and_a_server_starts_on_it() {
    let disk = SmallDisk::new();
    let server = disk.start(&[]);
    let jobs: Vec<String> = (0..2).map(|_| server.submit(&small_spec())).collect();
    jobs.iter().for_each(|job| assert_eq!(server.wait(job)["status"], "succeeded"));
    let rows = "{\"prompt\": \"1+1=\", \"answer\": \"2\"}\n";
    let dataset = server.post_bytes("/v1/datasets?name=small", rows.as_bytes(), &[]).json()["id"].clone();
    server.terminate();

    disk.fill();
    let server = disk.start(&[]);
    assert_eq!(server.job(&jobs[0])["status"], "succeeded", "reads go on");
    let readiness = server.get("/readyz");
    assert_eq!((readiness.status, readiness.problem().as_str()), (503, "storage_full"));
    let rows = rows.repeat(100_000);
    // Whoever filled the disk takes as well what starting gave back of the reserve.
    std::fs::write(disk.path("filler-2"), vec![0; 64 << 20]).unwrap_err();
    assert_eq!(server.post_bytes("/v1/datasets?name=big", rows.as_bytes(), &[]).status, 507);

    let checkpoints = server.get(&format!("/v1/jobs/{}/checkpoints", jobs[0])).json();
    let checkpoint = checkpoints["data"][0]["id"].as_str().unwrap();
    assert_eq!(server.delete(&format!("/v1/checkpoints/{checkpoint}")).status, 200);
    assert_eq!(server.delete(&format!("/v1/datasets/{}", dataset.as_str().unwrap())).status, 200);
    for job in &jobs {
        assert_eq!(server.delete(&format!("/v1/jobs/{job}")).status, 200);
        assert!(!disk.path(&format!("jobs/{job}")).exists());
    }
    std::fs::remove_file(disk.path("filler-2")).unwrap();
    disk.free();
    let freed = Instant::now();
    while server.get("/readyz").status != 200 || disk.path("reserve").metadata().unwrap().len() < 16 << 20 {
        assert!(freed.elapsed() < Duration::from_secs(10), "the server is not itself again");
    }
    let job = server.submit(&small_spec());
    assert_eq!(server.wait(&job)["status"], "succeeded");
}

#[test]
fn a_job_that_finds_the_disk_full_waits_and_goes_on_and_one_that_failed_is_resumed() {
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(24);
    spec["objective"]["rounds"] = json!(12);
    spec["checkpoints"] = json!({"every_steps": 1});
    let (expected, _) = undisturbed(&spec);
    let disk = SmallDisk::new();
    let server = disk.start(&[]);
    let fill_under = |job: &str| {
        server.wait_until(job, |job| job["step"].as_u64() > Some(3));
        disk.fill();
    };
    let job = server.submit(&spec);
    fill_under(&job);
    let waiting = server.wait_until(&job, |job| job["waiting"]["code"] == "storage_full");
    assert_eq!(waiting["status"], "queued");
    let listed = server.get("/v1/jobs").json();
    assert_eq!(listed["data"][0]["waiting"]["code"], "storage_full");
    disk.free();
    assert_eq!(digests(&server, &job), expected);
    let events = server.get(&format!("/v1/jobs/{job}/events?limit=200")).json().to_string();
    assert!(events.contains("the disk is full") && events.contains("storage_freed"), "{events}");
    check_log(&server, &job);
    assert_eq!(server.delete(&format!("/v1/jobs/{job}")).status, 200);

    let mut hasty = spec.clone();
    hasty["resources"] = json!({"storage_wait_seconds": 1});
    let job = server.submit(&hasty);
    fill_under(&job);
    let failed = server.wait(&job);
    assert_eq!((&failed["status"], &failed["failure"]["code"]), (&json!("failed"), &json!("storage_full")), "{failed}");
    disk.free();
    assert_eq!(server.post(&format!("/v1/jobs/{job}/resume"), &json!({})).json()["status"], "queued");
    assert_eq!(digests(&server, &job), expected);
    check_log(&server, &job);

    let job = server.submit(&spec);
    server.wait_until(&job, |job| job["step"].as_u64() > Some(3));
    server.post(&format!("/v1/jobs/{job}/cancel"), &json!({}));
    assert_eq!(server.wait(&job)["status"], "cancelled");
    let mut stream = server.stream(&job, 0).unwrap();
    assert_eq!(server.post(&format!("/v1/jobs/{job}/resume"), &json!({})).status, 200);
    assert_eq!(digests(&server, &job), expected);
    assert_eq!(server.job(&job)["failure"], Value::Null);
    assert_eq!(server.post(&format!("/v1/jobs/{job}/resume"), &json!({})).problem(), "job_not_paused");
    // Whoever reads the log from its begin is led past the first end.
    let mut text = String::new();
    server.stream(&job, 0).unwrap().read_to_string(&mut text).unwrap();
    assert!(text.contains("succeeded: finished") && text.contains("cancelled by a client"), "{text}");
    stream.read_to_string(&mut text).unwrap();
}

/// The weights of a model that fits are written when the disk becomes full.
#[test]
fn a_model_that_finds_the_disk_full_fails_and_gives_back_what_it_took() {
    let (hub, disk) = (Hub::start(), SmallDisk::new());
    hub.put_files("large/model", large_model());
    hub.pace(Duration::from_millis(30));
    let server = disk.start(&["--hub-endpoint", &hub.base]);
    let model = server.post("/v1/models", &json!({"source": "hf:large/model"})).json();
    let path = format!("/v1/models/{}", model["id"].as_str().unwrap());
    let end = Instant::now() + PATIENCE;
    while server.get(&path).json()["bytes_done"].as_u64() < Some(4 << 20) {
        assert!(Instant::now() < end, "nothing came");
        std::thread::sleep(Duration::from_millis(20));
    }
    disk.fill();
    hub.pace(Duration::ZERO);
    let failed = server.imported(&model);
    assert_eq!((&failed["status"], &failed["failure"]["code"]), (&json!("failed"), &json!("storage_full")), "{failed}");
    let folder = disk.path("models").join(model["id"].as_str().unwrap());
    assert!(!folder.exists(), "what was written is gone");
    // Now that its pieces are gone there is room for the filler's rest only; one that cannot fit is not begun.
    disk.fill();
    let refused = server.post("/v1/models", &json!({"source": "hf:large/model"}));
    assert_eq!(refused.problem(), "storage_full");
    disk.free();
    let model = server.import(&json!({"source": "hf:large/model"}));
    assert_eq!(model["status"], "ready", "{model}");
}

#[test]
fn a_full_disk_loses_nothing_and_writes_resume() {
    let disk = SmallDisk::new();
    let server = disk.start(&[]);
    let first = server.submit(&small_spec());
    assert_eq!(server.wait(&first)["status"], "succeeded");

    disk.fill();
    let rows = "{\"prompt\": \"1+1=\", \"answer\": \"2\"}\n".repeat(100_000);
    let refused = server.post_bytes("/v1/datasets?name=big", rows.as_bytes(), &[]);
    assert_eq!((refused.status, refused.problem().as_str()), (507, "storage_full"));
    let make = |key: u32| {
        let (key, body) = (format!("full-{key}"), json!({"config": {"type": "numeric"}}));
        server.request("POST", "/v1/verifiers", &[("idempotency-key", &key)], Some(&body)).status
    };
    let mut refused = Vec::new();
    for key in 0..50 {
        match make(key) {
            201 => {}
            507 => refused.push(key),
            other => panic!("{other}"),
        }
    }
    println!("{} of 50 small writes were refused", refused.len());
    let verifiers = || server.get("/v1/verifiers?limit=100").json()["data"].as_array().unwrap().len();
    assert_eq!(verifiers(), 50 - refused.len(), "what was refused is not there, and all else is");
    assert_eq!(server.job(&first)["status"], "succeeded", "reads go on");
    assert_eq!(server.get("/v1/datasets").json()["data"], json!([]));

    disk.free();
    let freed = Instant::now();
    while server.post("/v1/verifiers", &json!({"config": {"type": "numeric"}})).status != 201 {
        assert!(freed.elapsed() < Duration::from_secs(5), "writes do not resume");
    }
    let before = verifiers();
    for key in &refused {
        assert_eq!(make(*key), 201, "a request that was refused is tried again");
    }
    (0..50).for_each(|key| assert_eq!(make(key), 201));
    assert_eq!(verifiers(), before + refused.len(), "each of them once");
    let second = server.submit(&small_spec());
    assert_eq!(server.wait(&second)["status"], "succeeded");
}
