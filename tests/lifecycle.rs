//! The life of a job after its submission: pause and resume, budgets, changes, forks, proofs, reports and deletion.

mod common;

use std::io::BufRead;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Instant;

use common::{PATIENCE, Server, data_dir, small_spec};
use serde_json::{Value, json};
use tempfile::TempDir;

/// One server for the tests that need no other, with a finished job that kept its completions and has a gate.
struct Shared {
    server: Server,
    _folder: TempDir,
    job: Value,
}

static SHARED: LazyLock<Shared> = LazyLock::new(|| {
    let folder = data_dir();
    let server = Server::start(folder.path());
    let mut spec = small_spec();
    spec["gate"] = json!({"pass_at_1": 0.0, "improvement": 1.0});
    spec["rollouts"] = json!({"keep": true});
    let job = server.submit(&spec);
    let job = server.wait(&job);
    assert_eq!(job["status"], "succeeded", "{job}");
    Shared { server, _folder: folder, job }
});

fn shared() -> (&'static Server, &'static str) {
    (&SHARED.server, SHARED.job["id"].as_str().unwrap())
}

/// A job that no test waits for.
fn endless_spec() -> Value {
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(100_000);
    spec["objective"]["rounds"] = json!(10_000);
    spec["checkpoints"]["every_steps"] = json!(100_000);
    spec["eval"] = json!({"before": false, "prompts": 4, "samples": 1, "pass_at": [1]});
    spec
}

fn act(server: &Server, job: &str, action: &str) -> common::Answer {
    server.post(&format!("/v1/jobs/{job}/{action}"), &json!({}))
}

fn status_after(server: &Server, job: &str, action: &str) -> String {
    let answer = act(server, job, action);
    assert_eq!(answer.status, 200, "{}", answer.json());
    answer.json()["status"].as_str().unwrap().to_owned()
}

fn refusal(answer: &common::Answer) -> (u16, String) {
    (answer.status, answer.problem())
}

fn conflict(code: &str) -> (u16, String) {
    (409, code.to_owned())
}

#[test]
fn a_job_paused_in_the_middle_ends_with_the_weights_of_an_undisturbed_run() {
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(24);
    spec["objective"]["rounds"] = json!(4);
    spec["eval"] = json!({"prompts": 8, "samples": 2, "pass_at": [1]});
    // Only the pause's own checkpoint can be resumed.
    spec["checkpoints"]["every_steps"] = json!(1000);
    let data = data_dir();
    let server = Server::start(data.path());
    let whole = server.submit(&spec);
    let whole = server.wait(&whole);
    assert_eq!(whole["status"], "succeeded", "{whole}");

    let job = server.submit(&spec);
    server.wait_until(&job, |job| job["step"].as_u64() > Some(3));
    assert_eq!(status_after(&server, &job, "pause"), "pausing");
    // Longer than the client has patience: a pause ends the wait.
    let paused = server.get(&format!("/v1/jobs/{job}/wait?timeout=300")).json();
    assert_eq!((status_after(&server, &job, "pause").as_str(), &paused["devices"]), ("paused", &json!([])));
    assert_eq!(server.get("/v1/devices").json()["data"][0]["status"], "idle");
    let step = paused["step"].as_u64().unwrap();
    assert!((4..24).contains(&step), "{paused}");
    assert_eq!(status_after(&server, &job, "resume"), "queued");
    let finished = server.wait(&job);
    assert_eq!(finished["status"], "succeeded", "{finished}");
    assert_eq!(finished["result"]["weights_sha256"], whole["result"]["weights_sha256"]);
    assert_eq!(finished["result"]["after"], whole["result"]["after"]);

    let attempts = server.get(&format!("/v1/jobs/{job}/attempts?order=asc")).json()["data"].clone();
    let outcomes: Vec<_> = attempts.as_array().unwrap().iter().map(|attempt| &attempt["outcome"]).collect();
    assert_eq!(outcomes, [&json!("paused"), &json!("succeeded")]);
    assert_eq!((&attempts[0]["first_step"], &attempts[1]["first_step"]), (&json!(0), &json!(step)));
    let used: f64 = attempts.as_array().unwrap().iter().map(|a| a["device_seconds"].as_f64().unwrap()).sum();
    assert!((finished["device_seconds"].as_f64().unwrap() - used).abs() < 1e-6, "{finished} {attempts}");
    let first = server.get(&format!("/v1/jobs/{job}/attempts?limit=1")).json();
    let after = format!("/v1/jobs/{job}/attempts?limit=1&after={}", first["last_id"].as_str().unwrap());
    assert_eq!((&first["data"][0]["number"], first["has_more"].as_bool()), (&json!(2), Some(true)));
    assert_eq!(server.get(&after).json()["data"][0]["number"], 1);
}

/// A pause comes when it comes: an evaluation that it interrupts is made up for, with the numbers that it would have had.
#[test]
fn an_evaluation_that_a_pause_interrupts_is_made_up_for() {
    let mut spec = small_spec();
    spec["objective"] = json!({"type": "grpo", "group_size": 2});
    spec["train"] = json!({"steps": 6, "prompts_per_step": 4});
    spec["eval"] = json!({"every_steps": 2, "prompts": 256, "samples": 64, "pass_at": [1, 8], "before": false});
    spec["checkpoints"]["every_steps"] = json!(1000);
    let data = data_dir();
    let server = Server::start(data.path());
    let found = |job: &str| -> Vec<Value> {
        let events = server.get(&format!("/v1/jobs/{job}/events?limit=200")).json();
        let all = events["data"].as_array().unwrap().iter();
        all.filter(|event| event["type"] == "evaluation").map(|event| event["data"].clone()).collect()
    };
    let whole = server.submit(&spec);
    server.wait(&whole);
    let whole = found(&whole);
    let steps: Vec<u64> = whole.iter().map(|found| found["step"].as_u64().unwrap()).collect();
    assert_eq!(steps, [2, 4, 6]);
    let job = server.submit(&spec);
    server.wait_until(&job, |job| job["phase"] == "evaluating" && job["step"] == 2);
    act(&server, &job, "pause");
    server.wait_until(&job, |job| job["status"] == "paused");
    assert!(found(&job).len() <= 1, "it was too quick to be interrupted later");
    act(&server, &job, "resume");
    assert_eq!(server.wait(&job)["status"], "succeeded");
    assert_eq!(found(&job), whole);
}

#[test]
fn a_waiting_job_pauses_at_once_and_only_a_paused_one_resumes() {
    let data = data_dir();
    let server = Server::start(data.path());
    let running = server.submit(&endless_spec());
    server.wait_until(&running, |job| job["status"] == "running");
    let waiting = server.submit(&small_spec());
    assert_eq!(status_after(&server, &waiting, "pause"), "paused");
    assert_eq!(refusal(&act(&server, &running, "resume")), conflict("job_not_paused"));
    assert_eq!(status_after(&server, &running, "cancel"), "cancelling");
    assert_eq!(server.wait(&running)["status"], "cancelled");
    assert_eq!(refusal(&act(&server, &running, "pause")), conflict("job_not_running"));
    // Whoever comes later passes a paused job by.
    let later = server.submit(&small_spec());
    assert_eq!(server.wait(&later)["status"], "succeeded");
    let paused = server.job(&waiting);
    assert_eq!((&paused["status"], &paused["attempt"]), (&json!("paused"), &json!(0)));
    assert_eq!(status_after(&server, &waiting, "resume"), "queued");
    assert_eq!(server.wait(&waiting)["status"], "succeeded");
    assert_eq!(refusal(&act(&server, &waiting, "resume")), conflict("job_not_paused"));
    assert_eq!(act(&server, "job_00000000000000000000000000000000", "pause").status, 404);
}

#[test]
fn a_budget_pauses_and_a_larger_one_goes_on() {
    let mut spec = endless_spec();
    spec["budget"] = json!({"device_seconds": 1});
    let data = data_dir();
    let server = Server::start(data.path());
    let job = server.submit(&spec);
    let paused = server.wait_until(&job, |job| job["status"] == "paused");
    assert!(paused["device_seconds"].as_f64() >= Some(1.0), "{paused}");
    assert_eq!(paused["spec_resolved"]["budget"]["on_exhausted"], "pause");
    let spent = act(&server, &job, "resume");
    assert_eq!(refusal(&spent), conflict("budget_exhausted"));
    assert!(spent.json()["detail"].as_str().unwrap().contains("PATCH"), "{}", spent.json());
    let raised = server.patch(&format!("/v1/jobs/{job}"), &json!({"budget": {"device_seconds": 100_000}}), &[]);
    assert_eq!(raised.status, 200, "{}", raised.json());
    assert_eq!(status_after(&server, &job, "resume"), "queued");
    let step = paused["step"].as_u64();
    server.wait_until(&job, |job| job["status"] == "running" && job["step"].as_u64() > step);
    assert_eq!(raised.json()["spec_digest"], paused["spec_digest"], "a budget decides nothing about the result");
    act(&server, &job, "cancel");
    assert_eq!(server.wait(&job)["status"], "cancelled");
    let events = server.get(&format!("/v1/jobs/{job}/events?limit=200")).json().to_string();
    assert!(events.contains("pausing: the budget of 1 device seconds is spent"), "{events}");

    spec["budget"]["on_exhausted"] = json!("fail");
    let job = server.submit(&spec);
    let failed = server.wait(&job);
    assert_eq!((&failed["status"], &failed["failure"]["code"]), (&json!("failed"), &json!("budget_exhausted")));
    for (field, budget) in [
        ("/budget/device_seconds", json!({"device_seconds": 0})),
        ("/budget/on_exhausted", json!({"device_seconds": 1, "on_exhausted": "party"})),
        ("/budget/seconds", json!({"device_seconds": 1, "seconds": 1})),
    ] {
        spec["budget"] = budget;
        let answer = server.post("/v1/jobs", &spec);
        assert_eq!((answer.status, &answer.json()["errors"][0]["pointer"]), (422, &json!(field)));
    }
}

#[test]
fn a_tag_changes_with_the_job_and_guards_a_change() {
    let (server, job) = shared();
    let path = format!("/v1/jobs/{job}");
    let first = server.get(&path);
    let tag = first.header("etag").to_owned();
    assert!(tag.starts_with('"') && server.get(&path).header("etag") == tag);
    let known = server.get_with(&path, &[("if-none-match", &tag)]);
    assert_eq!((known.status, known.header("etag"), known.bytes.len()), (304, tag.as_str(), 0));

    let changed = server.patch(&path, &json!({"metadata": {"commit": "abc", "stage": "x"}}), &[("if-match", &tag)]);
    assert_eq!(changed.status, 200, "{}", changed.json());
    assert_ne!(changed.header("etag"), tag);
    assert_eq!(changed.header("etag"), server.get(&path).header("etag"));
    let stale = server.patch(&path, &json!({"name": "other"}), &[("if-match", &tag)]);
    assert_eq!(refusal(&stale), (412, String::from("precondition_failed")));
    assert_eq!(server.job(job)["name"], "small");
    assert_eq!(server.get_with(&path, &[("if-none-match", &tag)]).status, 200);

    let merged = server.patch(&path, &json!({"metadata": {"commit": "def", "stage": null}, "name": "renamed"}), &[]);
    let merged = merged.json();
    assert_eq!((&merged["metadata"], &merged["name"]), (&json!({"commit": "def"}), &json!("renamed")));
    assert_eq!(merged["spec_resolved"]["metadata"], merged["metadata"]);
    assert_eq!((&merged["spec_digest"], &merged["last_seq"]), (&SHARED.job["spec_digest"], &SHARED.job["last_seq"]));
    let cleared = server.patch(&path, &json!({"metadata": null, "name": null}), &[]).json();
    assert_eq!((&cleared["metadata"], &cleared["name"]), (&json!({}), &Value::Null));
    assert_eq!(refusal(&server.patch(&path, &json!({"priority": 3}), &[])), conflict("job_finished"));
    for (pointer, body) in [
        ("/metadata", json!({"metadata": {"k": "v".repeat(600)}})),
        ("/colour", json!({"colour": "red"})),
        ("/priority", json!({"priority": "high"})),
        ("/name", json!({"name": "n".repeat(201)})),
        ("", json!(["name"])),
    ] {
        let answer = server.patch(&path, &body, &[]);
        assert_eq!((answer.status, &answer.json()["errors"][0]["pointer"]), (422, &json!(pointer)), "{body}");
    }
    server.patch(&path, &json!({"name": "small"}), &[]);
}

#[test]
fn a_raised_priority_goes_first_and_is_in_the_log() {
    let data = data_dir();
    let server = Server::start(data.path());
    let running = server.submit(&endless_spec());
    server.wait_until(&running, |job| job["status"] == "running");
    let (first, second) = (server.submit(&small_spec()), server.submit(&small_spec()));
    assert_eq!(server.job(&second)["waiting"]["position"], 2);
    for listed in server.get("/v1/jobs?status=queued").json()["data"].as_array().unwrap() {
        let alone = server.job(listed["id"].as_str().unwrap());
        assert!(listed["waiting"]["message"].is_string(), "{listed}");
        for member in ["code", "message", "position", "behind"] {
            assert_eq!(listed["waiting"][member], alone["waiting"][member]);
        }
    }
    let raised = server.patch(&format!("/v1/jobs/{second}"), &json!({"priority": 5}), &[]).json();
    assert_eq!((&raised["priority"], &raised["waiting"]["position"]), (&json!(5), &json!(1)));
    let events = server.get(&format!("/v1/jobs/{second}/events")).json();
    assert_eq!(events["data"][1]["data"], json!({"code": "changed", "fields": ["priority"]}));
    for job in [&first, &second, &running] {
        act(&server, job, "cancel");
    }
}

#[test]
fn a_deleted_job_leaves_nothing() {
    let data = data_dir();
    let server = Server::start(data.path());
    let mut spec = small_spec();
    spec["rollouts"] = json!({"keep": true});
    let job = server.submit(&spec);
    let finished = server.wait(&job);
    let (checkpoint, set) =
        (finished["result"]["checkpoint"].as_str().unwrap(), finished["rollout_set"].as_str().unwrap());
    let folder = data.path().join("jobs").join(&job);
    assert!(folder.exists());

    let mut user = small_spec();
    user["model"] = json!(checkpoint);
    let mut blocker = endless_spec();
    blocker["metadata"] = json!({"parent": checkpoint});
    let blocker = server.submit(&blocker);
    server.wait_until(&blocker, |job| job["status"] == "running");
    assert_eq!(refusal(&server.delete(&format!("/v1/jobs/{blocker}"))), conflict("job_not_finished"));
    let user = server.submit(&user);
    for path in [format!("/v1/jobs/{job}"), format!("/v1/checkpoints/{checkpoint}")] {
        assert_eq!(refusal(&server.delete(&path)), conflict("in_use"), "{path}");
    }
    act(&server, &user, "cancel");
    // What the running job says in its metadata is no need of it.
    let deleted = server.delete(&format!("/v1/rollout-sets/{set}"));
    assert_eq!(deleted.json(), json!({"id": set, "object": "rollout_set.deleted", "deleted": true}));
    assert_eq!(server.get(&format!("/v1/rollout-sets/{set}")).status, 404);
    assert_eq!(server.job(&job)["rollout_set"], Value::Null);
    let deleted = server.delete(&format!("/v1/checkpoints/{checkpoint}"));
    assert_eq!(deleted.json(), json!({"id": checkpoint, "object": "checkpoint.deleted", "deleted": true}));
    let kept = server.get(&format!("/v1/jobs/{job}/checkpoints")).json()["data"].as_array().unwrap().len();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), kept, "files go with their rows");

    let deleted = server.delete(&format!("/v1/jobs/{job}"));
    assert_eq!(deleted.json(), json!({"id": job, "object": "job.deleted", "deleted": true}));
    assert!(!folder.exists());
    for part in ["", "/events", "/metrics", "/checkpoints", "/attempts", "/report"] {
        assert_eq!(server.get(&format!("/v1/jobs/{job}{part}")).status, 404, "{part}");
    }
    assert_eq!(server.delete(&format!("/v1/jobs/{job}")).status, 404);
    assert!(!server.get("/v1/jobs?limit=100").json().to_string().contains(&job));
    act(&server, &blocker, "cancel");
    server.wait(&blocker);
}

#[test]
fn what_a_crash_left_of_a_deletion_is_gone_after_the_next_start() {
    let data = data_dir();
    let server = Server::start(data.path());
    let job = server.submit(&small_spec());
    server.wait(&job);
    let folder = data.path().join("jobs").join(&job);
    let kept = std::fs::read_dir(&folder).unwrap().count();
    server.kill();
    let (gone, stray) = (data.path().join("jobs/job_0198f6c2a7d47e0c8f6f0d9f0e6b5a31"), folder.join("training-9-9"));
    for leftover in [&gone, &stray] {
        std::fs::create_dir(leftover).unwrap();
        std::fs::write(leftover.join("model.safetensors"), "x").unwrap();
    }
    let server = Server::start(data.path());
    let deadline = Instant::now() + PATIENCE;
    while gone.exists() || stray.exists() {
        assert!(Instant::now() < deadline, "nothing is swept");
        std::thread::yield_now();
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), kept);
    assert_eq!(server.job(&job)["status"], "succeeded");
}

#[test]
fn a_stream_of_a_deleted_job_ends() {
    let data = data_dir();
    let server = Server::start(data.path());
    let blocker = server.submit(&endless_spec());
    let job = server.submit(&small_spec());
    act(&server, &job, "pause");
    let mut lines = server.stream(&job, 0).unwrap().lines();
    // The log so far has been read before the job goes.
    assert!(lines.by_ref().map_while(Result::ok).any(|line| line.contains("paused: paused by a client")));
    assert_eq!(server.delete(&format!("/v1/jobs/{job}")).status, 200);
    assert!(!lines.map_while(Result::ok).any(|line| line.starts_with("data:")));
    act(&server, &blocker, "cancel");
}

#[test]
fn a_fork_is_the_spec_with_its_changes() {
    let (server, job) = shared();
    let path = format!("/v1/jobs/{job}/fork");
    let body = json!({
        "name": "seed 8",
        "patch": [{"op": "replace", "path": "/seed", "value": 8}, {"op": "remove", "path": "/gate"}],
        "from": "checkpoint",
    });
    let headers = [("content-type", "application/json"), ("idempotency-key", "fork-1")];
    let made = server.post_bytes(&path, body.to_string().as_bytes(), &headers);
    assert_eq!(made.status, 201, "{}", made.json());
    let fork = made.json();
    let mut expected = SHARED.job["spec"].clone();
    expected.as_object_mut().unwrap().remove("gate");
    (expected["seed"], expected["name"]) = (json!(8), json!("seed 8"));
    expected["model"] = SHARED.job["result"]["checkpoint"].clone();
    assert_eq!((&fork["spec"], &fork["forked_from"]), (&expected, &json!(job)));
    let again = server.post_bytes(&path, body.to_string().as_bytes(), &headers);
    assert_eq!((again.header("idempotent-replayed"), &again.json()["id"]), ("true", &fork["id"]));
    act(server, fork["id"].as_str().unwrap(), "cancel");

    let seed = json!({"op": "test", "path": "/seed", "value": 3});
    for bad in [
        json!({"op": "replace", "path": "/train/stops", "value": 1}),
        json!({"op": "test", "path": "/seed", "value": 4}),
        json!({"op": "eat", "path": "/seed"}),
    ] {
        let answer = server.post(&path, &json!({"patch": [seed, bad]}));
        assert_eq!(refusal(&answer), (422, String::from("patch_failed")), "{bad}");
        assert_eq!(answer.json()["errors"][0]["pointer"], "/patch/1", "{bad}");
    }
    for (pointer, body) in [
        ("/train/steps", json!({"patch": [{"op": "replace", "path": "/train/steps", "value": 0}]})),
        ("/from", json!({"from": "nowhere"})),
        ("/model", json!({"from": "ckpt_00000000000000000000000000000000"})),
        ("/patches", json!({"patches": []})),
    ] {
        let answer = server.post(&path, &body);
        assert_eq!((answer.status, &answer.json()["errors"][0]["pointer"]), (422, &json!(pointer)));
    }
    let set = json!({"model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"}, "prompts": 4});
    let sampling = server.post("/v1/rollout-sets", &set).json()["job"].as_str().unwrap().to_owned();
    assert_eq!(refusal(&act(server, &sampling, "fork")), conflict("not_a_training_job"));
    let unfinished = server.submit(&endless_spec());
    let answer = server.post(&format!("/v1/jobs/{unfinished}/fork"), &json!({"from": "checkpoint"}));
    assert_eq!(refusal(&answer), conflict("no_checkpoint"));
    assert_eq!(refusal(&act(server, &unfinished, "verify-resume")), conflict("job_not_succeeded"));
    act(server, &unfinished, "cancel");
}

#[test]
fn a_finished_job_proves_that_it_resumes_bit_for_bit() {
    let data = data_dir();
    let server = Server::start(data.path());
    let mut spec = small_spec();
    spec["rollouts"] = json!({"keep": true});
    spec["budget"] = json!({"device_seconds": 100_000});
    let job = server.submit(&spec);
    let source = server.wait(&job);
    let made = act(&server, &job, "verify-resume");
    assert_eq!(made.status, 201, "{}", made.json());
    let verifier = made.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(made.json()["verifies"], json!(job));
    assert_eq!(refusal(&server.delete(&format!("/v1/jobs/{job}"))), conflict("in_use"));
    let finished = server.wait(&verifier);
    let proof = &finished["result"]["verify_resume"];
    assert_eq!((&proof["identical"], &proof["job"]), (&json!(true), &json!(job)), "{finished}");
    assert_eq!(proof["expected_weights_sha256"], source["result"]["weights_sha256"]);
    assert_eq!(proof["weights_sha256"], finished["result"]["weights_sha256"]);
    let from = proof["from_step"].as_u64().unwrap();
    assert!(from > 0 && from < 12, "{proof}");
    let metrics = server.get(&format!("/v1/jobs/{verifier}/metrics?keys=loss")).json();
    assert_eq!(metrics["series"][0]["steps"][0], from + 1, "only the rest was computed");

    // Without an intact checkpoint there is nothing to begin from, and nothing is proved by beginning anew.
    let oldest = server.get(&format!("/v1/checkpoints/{}", proof["checkpoint"].as_str().unwrap())).json();
    let directory = checkpoint_directory(data.path(), &job, oldest["step"].as_u64().unwrap());
    let file = directory.join("optimizer.safetensors");
    let mut bytes = std::fs::read(&file).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let again = act(&server, &job, "verify-resume").json()["id"].as_str().unwrap().to_owned();
    let failed = server.wait(&again);
    assert_eq!((&failed["status"], &failed["failure"]["code"]), (&json!("failed"), &json!("checkpoint_corrupt")));
    assert_eq!(server.delete(&format!("/v1/jobs/{job}")).status, 200);
}

/// Where the training checkpoint of a step lies.
fn checkpoint_directory(data: &Path, job: &str, step: u64) -> std::path::PathBuf {
    let names = std::fs::read_dir(data.join("jobs").join(job)).unwrap().map(|entry| entry.unwrap().path());
    let wanted = format!("training-1-{step}");
    let mut found = names.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&wanted));
    found.next().unwrap()
}

#[test]
fn a_report_comes_in_three_forms() {
    let (server, job) = shared();
    let path = format!("/v1/jobs/{job}/report");
    let report = server.get(&path).json();
    assert_eq!((&report["object"], &report["status"]), (&json!("job.report"), &json!("succeeded")));
    assert_eq!(report["spec_digest"], SHARED.job["spec_digest"]);
    for when in ["before", "after"] {
        assert_eq!(report[when], SHARED.job["result"][when], "{when}");
    }
    let gate = &SHARED.job["result"]["gate"];
    assert_eq!((&gate["passed"], &report["gate"]), (&json!(false), gate));
    let checks: Vec<_> = gate["checks"].as_array().unwrap().iter().map(|c| (&c["name"], &c["passed"])).collect();
    assert_eq!(checks, [(&json!("pass_at_1"), &json!(true)), (&json!("improvement"), &json!(false))]);
    let loss = report["metrics"].as_array().unwrap().iter().find(|metric| metric["name"] == "loss").unwrap();
    assert_eq!(loss["step"], 12);
    let made = report["checkpoints"].as_array().unwrap().iter().find(|c| c["kind"] == "inference").unwrap();
    assert_eq!(made["sha256"]["model.safetensors"], SHARED.job["result"]["weights_sha256"]);

    let markdown = server.get_with(&path, &[("accept", "text/markdown")]);
    assert_eq!(markdown.header("content-type"), "text/markdown; charset=utf-8");
    let text = String::from_utf8(markdown.bytes).unwrap();
    assert!(text.contains("gate **missed**") && text.contains("| pass@1 |"), "{text}");
    let junit = server.get(&format!("{path}?format=junit"));
    assert_eq!(junit.header("content-type"), "application/xml; charset=utf-8");
    let text = String::from_utf8(junit.bytes).unwrap();
    assert!(text.contains("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"0\""), "{text}");
    assert!(text.contains("name=\"gate.improvement\""), "{text}");
    assert_eq!(server.get(&format!("{path}?format=pdf")).problem(), "invalid_parameter");
}

#[test]
fn a_gate_that_nothing_measures_is_refused() {
    let (server, _) = shared();
    let mut unevaluated = small_spec();
    unevaluated["verifier"] = json!(null);
    unevaluated["objective"] = json!({"type": "sft"});
    unevaluated["dataset"]["train"] = json!("builtin:arithmetic-slips");
    unevaluated["gate"] = json!({"pass_at_1": 0.5});
    let answer = server.post("/v1/jobs", &unevaluated).json();
    assert_eq!(
        (&answer["errors"][0]["pointer"], &answer["errors"][0]["code"]),
        (&json!("/gate"), &json!("not_evaluated"))
    );
    for (pointer, gate) in [
        ("/gate", json!({})),
        ("/gate/pass_at_1", json!({"pass_at_1": 1.5})),
        ("/gate/pass_at_k", json!({"pass_at_k": 1.0})),
    ] {
        let mut spec = small_spec();
        spec["gate"] = gate;
        let answer = server.post("/v1/jobs", &spec);
        assert_eq!((answer.status, &answer.json()["errors"][0]["pointer"]), (422, &json!(pointer)));
    }
}

#[test]
fn the_best_training_checkpoints_stay_besides_the_last() {
    let data = data_dir();
    let server = Server::start(data.path());
    let mut spec = small_spec();
    spec["eval"]["every_steps"] = json!(2);
    spec["checkpoints"] = json!({"every_steps": 2, "keep_last": 1, "keep_best": 2});
    let job = server.submit(&spec);
    assert_eq!(server.wait(&job)["status"], "succeeded");
    let list = server.get(&format!("/v1/jobs/{job}/checkpoints?limit=100")).json()["data"].clone();
    let training: Vec<&Value> = list.as_array().unwrap().iter().filter(|c| c["kind"] == "training").collect();
    let events = server.get(&format!("/v1/jobs/{job}/events?limit=200")).json();
    // The last step is evaluated when its checkpoint has been written.
    let mut scores: Vec<(f64, u64)> = events["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["type"] == "evaluation" && (1..12).contains(&event["data"]["step"].as_u64().unwrap()))
        .map(|event| (event["data"]["pass_at"][0]["mean"].as_f64().unwrap(), event["data"]["step"].as_u64().unwrap()))
        .collect();
    scores.sort_by(|a, b| b.partial_cmp(a).unwrap());
    let kept: Vec<u64> = training.iter().map(|c| c["step"].as_u64().unwrap()).collect();
    for (score, step) in &scores[..2] {
        let best = training.iter().find(|c| c["step"] == *step);
        assert_eq!(best.and_then(|c| c["score"].as_f64()), Some(*score), "{kept:?} {scores:?}");
    }
    assert!(kept.contains(&12) && kept.len() == 3, "{kept:?}");
}
