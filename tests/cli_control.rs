//! The program's commands that control jobs, and those around data sets, verifiers, evaluations and keys, against a
//! real server.

mod common;
#[path = "common/program.rs"]
mod program;

use std::sync::LazyLock;

use common::{Server, data_dir, small_spec};
use program::{Program, bytes};
use serde_json::{Value, json};
use tempfile::TempDir;

/// One server for the tests of this file.
struct Shared {
    server: Server,
    _folder: TempDir,
    /// A finished job.
    job: Value,
}

static SHARED: LazyLock<Shared> = LazyLock::new(|| {
    let folder = data_dir();
    let server = Server::start(folder.path());
    let job = server.wait(&server.submit(&small_spec()));
    assert_eq!(job["status"], "succeeded", "{job}");
    Shared { server, _folder: folder, job }
});

fn program() -> Program {
    Program::of(&SHARED.server.base)
}

fn finished_job() -> &'static str {
    SHARED.job["id"].as_str().unwrap()
}

fn checkpoint() -> &'static str {
    SHARED.job["result"]["checkpoint"].as_str().unwrap()
}

/// Submits a copy of the finished job that ends soon.
fn fork(program: &Program, name: &str) -> Value {
    program.json(&[
        "jobs",
        "fork",
        finished_job(),
        "--set",
        "/train/steps=2",
        "--set",
        "/objective/rounds=1",
        "--name",
        name,
    ])
}

#[test]
fn a_pause_ends_waiting_with_40_and_a_resumed_job_with_0() {
    let data = data_dir();
    let server = Server::start(data.path());
    let program = Program::of(&server.base);
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(100);
    spec["checkpoints"]["every_steps"] = json!(50);
    let id = server.submit(&spec);
    server.wait_until(&id, |job| job["step"].as_u64() > Some(0));
    let watching = program.start(&["jobs", "wait", &id, "--json"], std::process::Stdio::null());
    assert_eq!(program.json(&["jobs", "pause", &id])["id"], id.as_str());
    let waited: program::Said = watching.wait_with_output().unwrap().into();
    assert_eq!((waited.code, waited.json()["status"].as_str()), (Some(40), Some("paused")), "{}", waited.err);
    assert_eq!(program.run(&["jobs", "watch", &id]).code, Some(40));
    program.json(&["jobs", "resume", &id]);
    // The log still tells of the pause; it must not end this wait.
    assert_eq!(program.run(&["jobs", "wait", &id]).code, Some(0));
}

#[test]
fn a_fork_is_the_job_with_the_changes_and_nothing_else() {
    let program = program();
    let forked = fork(&program, "shorter");
    assert_eq!((forked["name"].as_str(), forked["spec"]["train"]["steps"].as_u64()), (Some("shorter"), Some(2)));
    assert_eq!(forked["spec"]["optimizer"], SHARED.job["spec"]["optimizer"]);
    let patch = program.file("patch.json", r#"[{"op": "replace", "path": "/train/steps", "value": 3}]"#);
    let patched = program.json(&["jobs", "fork", finished_job(), "--patch", &patch, "--set", "/objective/rounds=1"]);
    assert_eq!(patched["spec"]["train"]["steps"], 3);
    for job in [forked, patched] {
        assert_eq!(program.run(&["jobs", "wait", job["id"].as_str().unwrap()]).code, Some(0));
    }
}

#[test]
fn a_report_is_markdown_json_or_junit() {
    let (program, job) = (program(), finished_job());
    assert!(program.text(&["jobs", "report", job]).contains(job));
    assert!(program.json(&["jobs", "report", job]).is_object());
    program.text(&["jobs", "report", job, "--format", "junit", "--output", "report.xml"]);
    let junit = String::from_utf8(bytes(program.path("report.xml"))).unwrap();
    assert!(junit.contains("<testsuite"), "{junit}");
}

#[test]
fn a_deleted_job_is_gone_and_deletion_is_confirmed() {
    let program = program();
    let job = fork(&program, "to be deleted");
    let id = job["id"].as_str().unwrap();
    assert_eq!(program.run(&["jobs", "wait", id]).code, Some(0));
    let unconfirmed = program.run(&["jobs", "delete", id]);
    assert!(unconfirmed.code == Some(1) && unconfirmed.err.contains("--yes"), "{}", unconfirmed.err);
    program.json(&["jobs", "delete", id, "--yes"]);
    let gone = program.run(&["jobs", "get", id]);
    assert!(gone.code == Some(1) && gone.err.contains("not_found"), "{}", gone.err);
}

#[test]
fn a_resume_is_verified_by_the_server() {
    let answer = program().json(&["jobs", "verify-resume", finished_job()]);
    assert!(answer["object"].is_string(), "{answer}");
}

#[test]
fn appended_rows_make_the_next_version_once_for_a_key() {
    let program = program();
    let rows = program.file("rows.jsonl", "{\"prompt\": \"1+1=\", \"answer\": 2}\n");
    let more =
        program.file("more.jsonl", "{\"prompt\": \"1+2=\", \"answer\": 3}\n{\"prompt\": \"1+3=\", \"answer\": 4}\n");
    let dataset = program.json(&["datasets", "upload", &rows, "--name", "growing"]);
    let id = dataset["id"].as_str().unwrap();
    let append = || program.json(&["datasets", "append", id, &more, "--idempotency-key", "append-once"]);
    let version = append();
    assert_eq!(append()["id"], version["id"]);
    let versions = program.json(&["datasets", "versions", id]);
    let rows: Vec<u64> =
        versions["data"].as_array().unwrap().iter().map(|version| version["rows"].as_u64().unwrap()).collect();
    assert_eq!((rows.len(), rows.iter().max()), (2, Some(&3)), "{versions}");
    assert!(program.text(&["datasets", "versions", id]).contains("SHA256"));
}

#[test]
fn a_verifier_is_tried_on_completions() {
    let program = program();
    let verifier = program.json(&["verifiers", "create", r#"{"type": "numeric"}"#]);
    let id = verifier["id"].as_str().unwrap();
    let row = r#"{"prompt": "6*7=", "answer": 42}"#;
    let test = ["verifiers", "test", id, "--completion", "42", "--completion", "41", "--row", row];
    let results = program.json(&test);
    let rewards: Vec<f64> =
        results["data"].as_array().unwrap().iter().map(|result| result["reward"].as_f64().unwrap()).collect();
    assert_eq!(rewards, [1.0, 0.0]);
    assert!(program.text(&test).contains("REWARD"));
    let lines = program.file("samples.jsonl", &format!("{{\"completion\": \"42\", \"row\": {row}}}\n"));
    assert_eq!(program.json(&["verifiers", "test", id, "--file", &lines])["data"].as_array().unwrap().len(), 1);
    assert_eq!(program.run(&["verifiers", "test", id]).code, Some(1));
}

#[test]
fn a_suite_is_run_by_its_name_shown_as_a_table_and_gates() {
    let program = program();
    let sets = json!([
        {"name": "sums", "dataset": "builtin:arithmetic", "verifier": {"type": "numeric"}, "prompts": 16, "samples": 4},
        {"name": "greedy", "dataset": "builtin:arithmetic", "verifier": {"type": "exact"}, "prompts": 16, "samples": 1,
         "sampling": {"temperature": 0.0}},
    ]);
    let file = program.file("suite.json", &json!({"name": "small", "sets": sets}).to_string());
    assert!(program.text(&["suites", "create", &file]).contains("greedy"));
    let run = |model: &str| program.json(&["suites", "run", "small", "--model", model, "--wait"]);
    let (scratch, tiny) = (run("builtin:arith-scratch"), run("builtin:arith-tiny"));
    assert_eq!((&scratch["status"], &tiny["status"]), (&json!("succeeded"), &json!("succeeded")), "{tiny}");
    // A job whose model is evaluated when it is there, once for the job.
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(1);
    spec["objective"]["rounds"] = json!(1);
    let spec = program.file("job.json", &spec.to_string());
    let submit = ["run", &spec, "--suite", "small", "--idempotency-key", "nightly"];
    let [job, again] = [(); 2].map(|()| program.json(&submit));
    assert_eq!((&job["status"], &job["suite_run"]["status"]), (&json!("succeeded"), &json!("succeeded")), "{job}");
    assert_eq!(job["suite_run"]["model"], job["result"]["checkpoint"]);
    assert_eq!(again["suite_run"]["id"], job["suite_run"]["id"]);
    let unknown = program.run(&["run", &spec, "--suite", "large"]);
    assert_eq!(unknown.code, Some(21), "no job without its suite: {}", unknown.err);
    let results = program.text(&["suites", "results", "small"]);
    assert!(
        results.contains("SUMS") && results.contains("builtin:arith-scratch") && results.contains('\u{b1}'),
        "{results}"
    );
    let (scratch, tiny) = (scratch["id"].as_str().unwrap(), tiny["id"].as_str().unwrap());
    let compared = program.json(&["suites", "compare", "--baseline", scratch, "--candidate", tiny]);
    let verdicts: Vec<&Value> =
        compared["data"].as_array().unwrap().iter().map(|one| &one["comparison"]["verdict"]).collect();
    assert_eq!((verdicts.len(), verdicts[0]), (2, &json!("better")), "{compared}");
    let far = program.run(&["suites", "compare", "--baseline", scratch, "--candidate", tiny, "--min-improvement", "1"]);
    assert_eq!(far.code, Some(10), "{}", far.err);
    assert!(far.out.contains("greedy") && far.out.contains("failed"), "{}", far.out);
    assert!(program.text(&["suites", "delete", "small"]).contains("is deleted"));
    assert_ne!(program.run(&["suites", "run", "small", "--model", "builtin:arith-tiny"]).code, Some(0));
}

#[test]
fn evaluations_are_made_once_for_a_key_and_compared() {
    let program = program();
    let evaluate = |model: &str, key: &str| {
        let what = ["evaluations", "create", "--model", model, "--dataset", "builtin:arithmetic"];
        let how = ["--verifier", r#"{"type": "numeric"}"#, "--samples", "4", "--pass-at", "1,4", "--prompts", "32"];
        program.json(&[&what[..], &how, &["--seed", "5", "--wait", "--idempotency-key", key]].concat())
    };
    let base = evaluate("builtin:arith-tiny", "evaluate-base");
    assert_eq!(evaluate("builtin:arith-tiny", "evaluate-base")["id"], base["id"]);
    let trained = evaluate(checkpoint(), "evaluate-trained");
    let (base, trained) = (base["id"].as_str().unwrap(), trained["id"].as_str().unwrap());
    assert!(program.text(&["evaluations", "get", base]).contains("pass@1"));
    let same = program.json(&["evaluations", "compare", "--baseline", base, "--candidate", base]);
    assert_eq!(same["verdict"], "inconclusive", "{same}");
    // Whoever is better, the other is worse by as much.
    let compare = |baseline, candidate| {
        let comparison = program.json(&["evaluations", "compare", "--baseline", baseline, "--candidate", candidate]);
        (comparison["low"].as_f64().unwrap(), comparison["high"].as_f64().unwrap())
    };
    let ((low, high), (back_low, back_high)) = (compare(base, trained), compare(trained, base));
    assert!((low + back_high).abs() < 1e-9 && (high + back_low).abs() < 1e-9 && low <= high);
    let far = ["evaluations", "compare", "--baseline", base, "--candidate", trained, "--min-improvement", "1"];
    let missed = program.run(&far);
    assert!(missed.code == Some(10) && missed.out.contains("gate        failed"), "{}", missed.out);
    let missed = program.run(&[&far[..], &["--json"]].concat());
    let comparison: Value = serde_json::from_str(&missed.out).unwrap();
    assert_eq!((missed.code, &comparison["gate"]["passed"]), (Some(10), &json!(false)));
    let near = ["evaluations", "compare", "--baseline", base, "--candidate", base, "--min-improvement", "0"];
    assert_eq!(program.run(&near).code, Some(10), "an improvement by nothing is none");
}

#[test]
fn a_key_is_shown_once_and_can_be_revoked() {
    // The first key closes a server to everybody else.
    let data = data_dir();
    let server = Server::start(data.path());
    let program = Program::of(&server.base);
    let local = ["--local", "--data-dir", data.path().to_str().unwrap()];
    let admin = program.run(&[&["keys", "create", "admin", "--scopes", "read,admin"], &local[..]].concat());
    assert_eq!(admin.code, Some(0), "{}", admin.err);
    let admin = ["--api-key", admin.out.trim()];
    let create = ["keys", "create", "ci", "--scopes", "read,write", "--expires-in-days", "90"];
    let said = program.run(&[&create[..], &admin].concat());
    assert_eq!(said.code, Some(0), "{}", said.err);
    let key = said.out.trim();
    assert!(!key.is_empty() && !key.contains(char::is_whitespace) && !said.err.contains(key), "{}", said.err);
    let listed = program.json(&[&["keys", "list"], &admin[..]].concat());
    assert!(!listed.to_string().contains(key));
    let id = listed["data"].as_array().unwrap().iter().find(|item| item["name"] == "ci").unwrap()["id"].clone();
    assert_eq!(program.run(&["jobs", "list", "--api-key", key]).code, Some(0));
    program.json(&[&["keys", "revoke", id.as_str().unwrap()], &admin[..]].concat());
    let refused = program.run(&["jobs", "list", "--api-key", key]);
    assert!(refused.code == Some(1) && refused.err.contains("does not accept the key"), "{}", refused.err);
}

#[test]
fn an_archive_is_checked_against_the_manifest_and_resumed() {
    let program = program();
    let download = || program.json(&["checkpoints", "download", checkpoint(), "--archive", "model.tar"]);
    let first = download();
    let (path, part) = (program.path("model.tar"), program.path("model.tar.part"));
    let whole = bytes(&path);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&part, &whole[..whole.len() / 2]).unwrap();
    let second = download();
    assert_eq!(second["files"][0]["sha256"], first["files"][0]["sha256"]);
    assert_eq!(second["files"][0]["resumed_from"].as_u64(), Some(whole.len() as u64 / 2));
    assert!(bytes(&path) == whole);
}
