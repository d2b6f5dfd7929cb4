//! The program as a client of a real server: exit codes, output for people and for programs, and what happens when
//! connections break.

mod common;
#[path = "common/program.rs"]
mod program;

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::LazyLock;

use common::{Server, data_dir, signal, small_spec};
use program::{Breaking, Program, answer, bytes, scripted};
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

/// A job that takes a second or two.
fn tiny_spec() -> Value {
    let mut spec = small_spec();
    spec["name"] = json!("tiny");
    spec["train"]["steps"] = json!(2);
    spec["objective"]["rounds"] = json!(1);
    spec
}

#[test]
fn a_job_that_succeeds_ends_with_0_and_its_model_is_there() {
    let program = program();
    let spec = program.file("job.json", &tiny_spec().to_string());
    let set = ["--set", "/train/steps=3", "--set", "/name=set by hand"];
    let said = program.run(&[&["run", &spec, "--download", "model", "--json"], &set[..]].concat());
    assert_eq!(said.code, Some(0), "{}", said.err);
    let job = said.json();
    assert_eq!((job["status"].as_str(), job["step"].as_u64()), (Some("succeeded"), Some(3)));
    assert_eq!(job["spec"]["name"], "set by hand");
    let weights = program.folder.path().join("model/model.safetensors");
    assert_eq!(
        bytes(weights).len() as u64,
        job["download"]["files"][0]["size"].as_u64().unwrap_or_default().max(
            job["download"]["files"].as_array().unwrap().iter().map(|f| f["size"].as_u64().unwrap()).max().unwrap()
        )
    );

    // For people: the id alone on standard output, the rest on standard error.
    let said = program.run(&["run", &spec, "--wait"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.starts_with("job_") && said.out.lines().count() == 1, "{}", said.out);
    assert!(said.err.contains("pass@1") && said.err.contains("ckpt_"), "{}", said.err);
}

#[test]
fn a_job_that_fails_ends_with_20_and_the_reason() {
    let program = program();
    let rows = program.file("rows.jsonl", &(json!({"prompt": "1+".repeat(200), "answer": 1}).to_string() + "\n"));
    let dataset = program.json(&["datasets", "upload", &rows]);
    let spec = program.file("job.json", &tiny_spec().to_string());
    let set = format!("/dataset={}", json!({"train": dataset["id"]}));
    let said = program.run(&["run", &spec, "--wait", "--set", &set]);
    assert_eq!(said.code, Some(20), "{}", said.err);
    assert!(said.err.contains("prompt_too_long") && said.err.contains("row 1"), "{}", said.err);
}

#[test]
fn a_refused_spec_ends_with_21_and_names_the_field() {
    let program = program();
    let mut spec = tiny_spec();
    spec["train"]["stepz"] = json!(1);
    let spec = program.file("job.json", &spec.to_string());
    for arguments in [&["run", &spec][..], &["run", &spec, "--dry-run"], &["run", &spec, "--wait"]] {
        let said = program.run(arguments);
        assert_eq!((said.code, said.out.as_str()), (Some(21), ""), "{}", said.err);
        assert!(said.err.contains("/train/stepz") && said.err.contains("request "), "{}", said.err);
        let said = program.run(&[arguments, &["--json"]].concat());
        let problem: Value = serde_json::from_str(said.err.trim()).unwrap();
        assert_eq!((said.code, problem["errors"][0]["pointer"].as_str()), (Some(21), Some("/train/stepz")));
    }
    let broken = program.file("broken.json", "{\"model\": ");
    assert_eq!(program.run(&["run", &broken]).code, Some(21));
    assert_eq!(program.run(&["run", "nowhere.json"]).code, Some(1));
}

#[test]
fn a_dry_run_makes_nothing() {
    let program = program();
    let spec = program.file("job.json", &tiny_spec().to_string());
    let key = "not-used-by-a-dry-run";
    let plan = program.json(&["run", &spec, "--dry-run", "--set", "/name=dry", "--idempotency-key", key]);
    assert_eq!((plan["object"].as_str(), plan["plan"]["rounds"].as_u64()), (Some("preflight"), Some(1)));
    assert!(program.text(&["run", &spec, "--dry-run=validate"]).contains("valid; nothing was made"));
    let jobs = program.json(&["jobs", "list", "--all"]);
    assert!(jobs["data"].as_array().unwrap().iter().all(|job| job["name"] != "dry"));
}

#[test]
fn one_key_makes_one_job() {
    let program = program();
    let spec = program.file("job.json", &tiny_spec().to_string());
    let submit = || program.json(&["run", &spec, "--idempotency-key", "cli-once"])["id"].clone();
    assert_eq!(submit(), submit());
}

/// Three ends of waiting, one after the other for the same job: the time is up, Ctrl-C, and another's cancellation.
#[test]
fn waiting_ends_with_50_130_and_30_and_only_the_last_ends_the_job() {
    let data = data_dir();
    let server = Server::start(data.path());
    let program = Program::of(&server.base);
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(5000);
    let spec = program.file("long.json", &spec.to_string());

    let said = program.run(&["run", &spec, "--timeout", "1"]);
    assert_eq!(said.code, Some(50), "{}", said.err);
    let id = said.out.trim();
    assert!(said.err.contains(&format!("anneal jobs watch {id}")), "{}", said.err);

    let mut watching = program.start(&["jobs", "watch", id], Stdio::null());
    // The first line of progress comes after the program has begun to listen for signals.
    let mut lines = BufReader::new(watching.stderr.take().unwrap()).lines();
    let mut told = lines.next().unwrap().unwrap();
    signal(watching.id(), "INT");
    lines.map_while(Result::ok).for_each(|line| told.push_str(&line));
    assert_eq!(watching.wait().unwrap().code(), Some(130), "{told}");
    assert!(told.contains("the job goes on") && told.contains(id), "{told}");
    assert_ne!(server.job(id)["status"], "cancelled");

    let waiting = program.start(&["jobs", "wait", id, "--json"], Stdio::null());
    let cancelled = program.json(&["jobs", "cancel", id]);
    assert_eq!(cancelled["id"], id);
    let waited: program::Said = waiting.wait_with_output().unwrap().into();
    assert_eq!((waited.code, waited.json()["status"].as_str()), (Some(30), Some("cancelled")));
    assert_eq!(program.run(&["jobs", "watch", id]).code, Some(30));
    let again = program.run(&["jobs", "cancel", id, "--json"]);
    let problem: Value = serde_json::from_str(again.err.trim()).unwrap();
    assert_eq!((again.code, problem["code"].as_str()), (Some(1), Some("conflict")));
}

#[test]
fn every_answer_is_text_for_people_and_json_for_programs() {
    let (program, job, checkpoint) = (program(), finished_job(), checkpoint());
    let table: &[(&[&str], &str, &str)] = &[
        (&["jobs", "list", "--limit", "100"], "list", job),
        (&["jobs", "list", "--status", "succeeded", "--all"], "list", job),
        (&["jobs", "get", job], "job", checkpoint),
        (&["jobs", "wait", job], "job", ""),
        (&["jobs", "metrics", job, "--keys", "loss,reward/mean"], "metrics", "reward/mean"),
        (&["datasets", "list"], "list", ""),
        (&["datasets", "builtins"], "list", "builtin:word-sorting"),
        (&["datasets", "builtins", "builtin:countdown?difficulty=3"], "dataset.builtin", "expression"),
        (&["checkpoints", "list", "--job", job], "list", checkpoint),
        (&["checkpoints", "get", checkpoint], "checkpoint", "model.safetensors"),
        (&["verifiers", "list"], "list", ""),
        (&["models", "list"], "list", "builtin:arith-tiny"),
        (&["devices"], "list", "cpu"),
        (&["queue"], "queue", "succeeded"),
        (&["evaluations", "list"], "list", ""),
        (&["suites", "list"], "list", ""),
        (&["objectives"], "list", "bolt"),
        (&["objectives", "bolt"], "objective", "exp(r_i/beta)"),
        (&["projects"], "list", "default"),
        (&["files"], "list", ""),
        (&["webhooks"], "list", ""),
    ];
    for (arguments, object, shown) in table {
        assert_eq!(program.json(arguments)["object"], *object, "{arguments:?}");
        let text = program.text(arguments);
        assert!(text.contains(shown), "{arguments:?}: {text}");
        assert!(!text.trim_start().starts_with('{'), "{text}");
    }
    let csv = program.text(&["jobs", "metrics", job, "--keys", "loss", "--csv"]);
    assert_eq!((csv.lines().next(), csv.lines().count()), (Some("step,loss"), 13));
}

#[test]
fn a_list_is_one_document_however_many_requests_it_takes() {
    let program = program();
    for name in ["a", "b", "c"] {
        program.json(&["verifiers", "create", r#"{"type": "numeric"}"#, "--name", name]);
    }
    let all = program.json(&["verifiers", "list", "--all"]);
    let ids: Vec<&Value> = all["data"].as_array().unwrap().iter().map(|item| &item["id"]).collect();
    assert!(ids.len() >= 3 && all["has_more"] == false);
    let first = program.json(&["verifiers", "list", "--limit", "2"]);
    assert_eq!((first["has_more"].as_bool(), &first["last_id"]), (Some(true), ids[1]));
    let next = program.json(&["verifiers", "list", "--limit", "1", "--after", ids[1].as_str().unwrap()]);
    assert_eq!(next["data"][0]["id"], *ids[2]);
}

#[test]
fn events_are_lines_without_gaps() {
    let (program, job) = (program(), finished_job());
    let last = SHARED.job["last_seq"].as_i64().unwrap();
    for arguments in [&["jobs", "watch", job][..], &["jobs", "events", job], &["jobs", "events", job, "--follow"]] {
        let said = program.run(&[arguments, &["--json"]].concat());
        assert_eq!(said.code, Some(0), "{}", said.err);
        let seqs: Vec<i64> = said.lines().iter().map(|event| event["seq"].as_i64().unwrap()).collect();
        assert_eq!(seqs, (1..=last).collect::<Vec<_>>(), "{arguments:?}");
    }
    let said = program.run(&["jobs", "events", job, "--type", "checkpoint,evaluation", "--after", "3", "--json"]);
    assert!(said.lines().iter().all(|event| event["type"] == "checkpoint" || event["type"] == "evaluation"));
    assert!(program.text(&["jobs", "events", job]).contains("reward/mean="));
}

#[test]
fn a_stream_that_breaks_again_and_again_has_no_gap_and_no_repeat() {
    let breaking = Breaking::before(&SHARED.server.base, 24_000);
    let program = Program::of(&breaking.base);
    let said = program.run(&["jobs", "watch", finished_job(), "--json"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let seqs: Vec<i64> = said.lines().iter().map(|event| event["seq"].as_i64().unwrap()).collect();
    assert_eq!(seqs, (1..=SHARED.job["last_seq"].as_i64().unwrap()).collect::<Vec<_>>());
    assert!(breaking.count() > 1, "{}", breaking.count());
}

#[test]
fn rows_are_uploaded_from_files_and_pipes_and_a_broken_one_is_named() {
    let program = program();
    let rows = "{\"q\": \"1+1=\", \"answer\": 2}\n{\"q\": \"1+2=\", \"answer\": 3}\n";
    let file = program.file("rows.jsonl", rows);
    let columns = ["--prompt-column", "q"];
    let named = [&["datasets", "upload", &file, "--name", "two words & more"], &columns[..]].concat();
    let dataset = program.json(&named);
    assert_eq!((dataset["name"].as_str(), dataset["latest"]["rows"].as_u64()), (Some("two words & more"), Some(2)));
    let id = dataset["id"].as_str().unwrap();
    let version = [&["datasets", "upload", "-", "--dataset", id, "--json"], &columns[..]].concat();
    let said = program.pipe(&version, &rows.repeat(2));
    assert_eq!((said.json()["number"].as_u64(), said.json()["rows"].as_u64()), (Some(2), Some(4)));
    let text = program.text(&["datasets", "get", id]);
    assert!(text.contains("two words & more") && text.contains("sha256"), "{text}");

    let broken = program.file("broken.jsonl", &format!("{rows}{{\"q\": \n"));
    let said = program.run(&[&["datasets", "upload", &broken], &columns[..]].concat());
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("row_invalid_json") && said.err.contains('3'), "{}", said.err);
}

#[test]
fn a_download_goes_on_where_it_stopped_and_is_never_wrong() {
    let program = program();
    let download = || {
        let answer = program.json(&["checkpoints", "download", checkpoint(), "--output", "model"]);
        let is_model = |file: &&Value| file["path"].as_str().unwrap().ends_with("model.safetensors");
        answer["files"].as_array().unwrap().iter().find(is_model).unwrap().clone()
    };
    let first = download();
    let (path, part) = (program.path("model/model.safetensors"), program.path("model/model.safetensors.part"));
    let whole = bytes(&path);
    let half = whole.len() / 2;
    assert_eq!((first["resumed_from"].as_u64(), first["size"].as_u64()), (Some(0), Some(whole.len() as u64)));

    // Cut in the middle; cut, and of another file; longer than the file; complete but not named yet; all there.
    let foreign = vec![7; half];
    let longer = vec![7; whole.len() + 1];
    let table = [(&whole[..half], half), (&foreign, 0), (&longer, 0), (&whole, whole.len())];
    for (there, resumed_from) in table {
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&part, there).unwrap();
        let file = download();
        assert_eq!(file["resumed_from"].as_u64(), Some(resumed_from as u64));
        assert_eq!(file["sha256"], first["sha256"]);
        assert!(bytes(&path) == whole && !std::path::Path::new(&part).exists());
    }
    assert_eq!(download()["resumed_from"].as_u64(), Some(whole.len() as u64));
    std::fs::write(&path, &foreign).unwrap();
    assert_eq!(download()["resumed_from"].as_u64(), Some(0));
    assert!(bytes(&path) == whole);
}

#[test]
fn a_download_over_a_connection_that_breaks_is_whole() {
    let breaking = Breaking::before(&SHARED.server.base, 900_000);
    let program = Program::of(&breaking.base);
    program.json(&["checkpoints", "download", checkpoint(), "--output", "model"]);
    let sha256 = SHARED.job["result"]["weights_sha256"].as_str().unwrap();
    let files = program.json(&["checkpoints", "get", checkpoint()]);
    assert!(files["files"].to_string().contains(sha256));
    assert!(breaking.count() >= 3, "{}", breaking.count());
    // What is there already needs no connection that holds.
    let again = program.json(&["checkpoints", "download", checkpoint(), "--output", "model"]);
    assert!(again["files"].as_array().unwrap().iter().all(|file| file["resumed_from"] == file["size"]));
}

#[test]
fn without_a_server_one_is_told_how_to_start_it() {
    let program = Program::of("127.0.0.1:1");
    let said = program.run(&["jobs", "list"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("anneal serve") && said.err.contains("--server"), "{}", said.err);
    let said = program.run(&["jobs", "list", "--json"]);
    let problem: Value = serde_json::from_str(said.err.trim()).unwrap();
    assert_eq!((said.code, said.out.as_str(), problem["code"].as_str()), (Some(1), "", Some("no_answer")));
}

#[test]
fn a_refused_key_is_told_and_never_shown() {
    let problem = r#"{"code": "invalid_api_key", "detail": "no such key", "request_id": "r-7"}"#;
    let (base, requests) = scripted(vec![answer("401 Unauthorized", "", problem); 2]);
    let program = Program::of(&base);
    let said = program.run(&["jobs", "list", "--api-key", "sk-canary"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("does not accept the key") && said.err.contains("r-7"), "{}", said.err);
    let quiet = program.command(&["jobs", "list", "--json"]).env("ANNEAL_API_KEY", "sk-canary").output().unwrap();
    let quiet: program::Said = quiet.into();
    let help = program.command(&["jobs", "list", "--help"]).env("ANNEAL_API_KEY", "sk-canary").output().unwrap();
    let all = [said.out, said.err, quiet.out, quiet.err, String::from_utf8(help.stdout).unwrap()].concat();
    assert!(!all.contains("sk-canary"), "{all}");
    let requests = requests.join().unwrap();
    assert!(requests.iter().all(|request| request.contains("authorization: bearer sk-canary")), "{requests:?}");
}

#[test]
fn a_busy_server_is_asked_again_under_the_same_key() {
    let busy = answer("503 Service Unavailable", "retry-after: 0\r\n", r#"{"code": "busy", "detail": "later"}"#);
    let limited = answer("429 Too Many Requests", "retry-after: 0\r\n", r#"{"code": "limited", "detail": "later"}"#);
    let made = answer("201 Created", "", r#"{"id": "job_1", "object": "job"}"#);
    let (base, requests) = scripted(vec![busy, limited, String::new(), made]);
    let program = Program::of(&base);
    let spec = program.file("job.json", "{}");
    assert_eq!(program.json(&["run", &spec])["id"], "job_1");
    let requests = requests.join().unwrap();
    let key = |request: &String| request.lines().find(|line| line.starts_with("idempotency-key: ")).unwrap().to_owned();
    // The third answer is none: the connection ends, and whether the job was made is not known.
    assert_eq!(requests.len(), 4);
    assert!(requests.iter().all(|request| key(request) == key(&requests[0])), "{requests:?}");
}

#[test]
fn an_answer_that_asks_for_more_patience_than_there_is_is_shown() {
    let busy =
        answer("429 Too Many Requests", "retry-after: 3600\r\n", r#"{"code": "limited", "detail": "in an hour"}"#);
    let (base, requests) = scripted(vec![busy]);
    let said = Program::of(&base).run(&["jobs", "list"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("in an hour (limited)"), "{}", said.err);
    requests.join().unwrap();
}

#[test]
fn a_terminal_shows_what_the_page_shows() {
    let (program, job, checkpoint) = (program(), finished_job(), checkpoint());
    let picture = program.text(&["top", "--once"]);
    assert!(picture.contains("cpu") && picture.contains("succeeded") && picture.contains("NEWEST"), "{picture}");
    assert!(program.json(&["top"])["queue"]["counts"].is_object());

    let read = |arguments: &[&str]| {
        let said = program.run(&[&["rollouts", job, "--json"], arguments].concat());
        assert_eq!(said.code, Some(0), "{}", said.err);
        said.lines()
    };
    let failed = read(&["--failed", "--limit", "5"]);
    assert!(!failed.is_empty() && failed.iter().all(|one| one["reward"].as_f64() < Some(0.5)), "{failed:?}");
    assert!(read(&["--passed", "--limit", "5"]).iter().all(|one| one["reward"].as_f64() >= Some(0.5)));
    assert!(program.text(&["rollouts", job, "--limit", "1"]).starts_with("step "));

    let talk = ["chat", "builtin:arith-tiny", checkpoint, "--raw", "--temperature", "0", "--max-tokens", "6"];
    let said = program.pipe(&talk, "7+5=\n\n");
    assert_eq!((said.code, said.out.lines().count()), (Some(0), 2), "{}{}", said.out, said.err);
    assert!(said.out.starts_with("builtin:arith-tiny: ") && said.out.contains(checkpoint), "{}", said.out);

    let address = program.text(&["ui", "--print"]);
    assert_eq!(address.trim(), format!("{}/", SHARED.server.base), "nobody has to sign in");
}

#[test]
fn a_spec_to_begin_with_runs_as_it_is_written() {
    let program = program();
    let spec = program.file("job.toml", &program.text(&["init", "grpo"]));
    let plan = program.json(&["run", &spec, "--dry-run"]);
    assert_eq!(plan["spec_resolved"]["objective"]["type"], "grpo", "{plan}");
    let broken = program.file("broken.toml", "model = ");
    let refused = program.run(&["run", &broken]);
    assert_eq!(refused.code, Some(21), "{}", refused.err);
    assert!(refused.err.contains("not valid TOML"), "{}", refused.err);
    assert_ne!(program.run(&["init", "nothing"]).code, Some(0));
}

#[test]
fn a_spec_in_yaml_names_data_of_this_machine_which_is_sent_once() {
    let program = program();
    let rows: String =
        (0..20).map(|i| format!("{}\n", json!({"prompt": format!("{i}+1="), "answer": i + 1}))).collect();
    std::fs::create_dir(program.path("data")).unwrap();
    program.file("data/sums.jsonl", &rows);
    let spec = "\
name: from a file
model: builtin:arith-tiny
dataset:
  train: ./data/sums.jsonl # below the folder of this file
verifier: {type: numeric}
objective: {type: grpo, group_size: 4}
train: {steps: 1, prompts_per_step: 2}
sampling: {max_new_tokens: 4}
";
    let spec = program.file("job.yaml", spec);
    let plan =
        |program: &Program| program.json(&["run", &spec, "--dry-run=validate"])["spec_resolved"]["dataset"].clone();
    let first = plan(&program);
    assert!(first["train"].as_str().unwrap().starts_with("dsv_"), "{first}");
    assert_eq!(plan(&program), first, "the server has these bytes");
    let listed = program.json(&["datasets", "list", "--all"]);
    let named = listed["data"].as_array().unwrap().iter().filter(|dataset| dataset["name"] == "sums").count();
    assert_eq!(named, 1, "{listed}");
    let missing = program.run(&["run", &spec, "--set", "/dataset/train=./nowhere.jsonl"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.err.contains("/dataset/train") && missing.err.contains("nowhere.jsonl"), "{}", missing.err);
    let broken = program.run(&["run", &program.file("broken.yaml", "model: [")]);
    assert!(broken.code == Some(21) && broken.err.contains("not valid YAML"), "{}", broken.err);
}

#[test]
fn the_key_of_the_environment_goes_to_no_server_that_has_another() {
    let none = || answer("200 OK", "", r#"{"object": "list", "data": [], "has_more": false}"#);
    let (base, requests) = scripted((0..4).map(|_| none()).collect());
    let program = Program::of("");
    let run = |arguments: &[&str]| {
        let said = program.command(arguments).env("ANNEAL_API_KEY", "of-environment").output().unwrap();
        assert!(said.status.success(), "{said:?}");
    };
    let said = program.pipe(&["login", &base], "of-profile\n");
    assert_eq!(said.code, Some(0), "{}", said.err);
    run(&["jobs", "list"]);
    run(&["jobs", "list", "--api-key", "of-flag"]);
    run(&["jobs", "list", "--server", &base]);
    let keys = ["of-profile", "of-profile", "of-flag", "of-environment"];
    for (request, key) in requests.join().unwrap().iter().zip(keys) {
        assert!(request.contains(&format!("authorization: bearer {key}\r\n")), "{key}: {request}");
    }
}

#[test]
fn a_server_is_remembered_with_its_key_until_it_is_forgotten() {
    let program = Program::of("");
    let base = &SHARED.server.base;
    assert_ne!(program.run(&["jobs", "list", "--profile", "lab"]).code, Some(0));
    let said = program.pipe(&["login", base, "--as", "lab"], "ak_whatever\n");
    assert_eq!(said.code, Some(0), "{}", said.err);
    let listed = program.json(&["profiles"]);
    assert_eq!(listed["data"][0], json!({"name": "lab", "server": base, "has_key": true, "present": true}));
    assert!(!program.text(&["profiles"]).contains("ak_whatever"), "keys are never shown");
    assert_eq!(program.json(&["jobs", "get", finished_job()])["id"], finished_job());
    let elsewhere = program.run(&["jobs", "list", "--server", "127.0.0.1:1"]);
    assert_ne!(elsewhere.code, Some(0), "a server that is named counts more");
    let by_flag = program.command(&["jobs", "list", "--profile", "lab"]).env("ANNEAL_SERVER", "127.0.0.1:1").output();
    assert!(by_flag.unwrap().status.success(), "a flag counts more than a variable");
    let both = program.run(&["jobs", "list", "--profile", "lab", "--server", base]);
    assert!(both.code == Some(2) && both.err.contains("cannot be used with"), "{}", both.err);
    let taken = program.pipe(&["login", "127.0.0.1:1", "--as", "lab"], "\n");
    assert!(taken.code == Some(1) && taken.err.contains("--as NAME"), "{}", taken.err);
    // A data directory that is named is this machine's; otherwise the server looks at its own disk.
    let here = program.run(&["models", "import", "/nowhere", "--data-dir", &program.path("data")]);
    assert!(here.code == Some(1) && here.err.contains("/nowhere: No such file"), "{}", here.err);
    let there = program.run(&["models", "import", "/nowhere"]);
    assert!(there.code == Some(1) && there.err.contains("import"), "{}", there.err);
    assert!(!there.err.contains("No such file"), "{}", there.err);
    let address = base.trim_start_matches("http://");
    assert_eq!(program.pipe(&["login", base], "\n").code, Some(0));
    assert_eq!(program.json(&["logout", "--profile", "lab"])["profile"], "lab");
    assert_eq!(program.json(&["profiles"])["data"][0]["name"], address, "servers are called by name and port");
    assert_eq!(program.run(&["logout"]).code, Some(0));
    assert_eq!(program.json(&["profiles"])["data"], json!([]));
    let none = program.run(&["jobs", "list", "--profile", "lab"]);
    assert!(none.err.contains("`anneal login URL` makes one"), "{}", none.err);
    assert_eq!(program.run(&["logout"]).code, Some(1));
}

#[test]
fn clients_help_is_about_the_client() {
    let program = program();
    for command in [&["run"][..], &["jobs", "list"], &["rollouts"], &["chat"], &["datasets", "upload"]] {
        let help = program.text(&[command, &["--help"]].concat());
        assert!(
            help.contains("--server") && !help.contains("--data-dir") && !help.contains("--devices"),
            "{command:?}"
        );
    }
    let help = program.text(&["serve", "--help"]);
    assert!(help.contains("--data-dir") && help.contains("--devices"));
    // They count all the same: the address that `serve` listens on is where clients look.
    let said = Program::of("").run(&["--listen", "127.0.0.1:1", "jobs", "list"]);
    assert!(said.code == Some(1) && said.err.contains("127.0.0.1:1"), "{}", said.err);
    let said = Program::of("").run(&["jobs", "list", "--listen", "127.0.0.1:1"]);
    assert!(said.code == Some(1) && said.err.contains("127.0.0.1:1"), "{}", said.err);
}

#[test]
fn every_shell_has_completions_and_every_group_examples() {
    let program = program();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = program.text(&["completions", shell]);
        assert!(script.contains("checkpoints") && script.contains("verify-resume"), "{shell}");
    }
    for group in [
        "jobs",
        "datasets",
        "checkpoints",
        "verifiers",
        "models",
        "evaluations",
        "suites",
        "keys",
        "run",
        "top",
        "chat",
        "rollouts",
    ] {
        let help = program.text(&[group, "--help"]);
        assert!(help.contains("Examples:\n  "), "{group}: {help}");
        assert_eq!(help.contains("--api-key"), group != "models", "{group}: {help}");
    }
    for command in ["devices", "queue"] {
        assert!(program.text(&[command, "--help"]).contains("Example:"), "{command}");
    }
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut listing = program().start(&["jobs", "events", finished_job(), "--json"], Stdio::null());
    drop(listing.stdout.take());
    let said = listing.wait_with_output().unwrap();
    assert!(said.stderr.is_empty(), "{}", String::from_utf8_lossy(&said.stderr));
}
