//! Rewards from programs, through a server: who may have them, what is said where they cannot run, and a job that learns
//! from them.

mod common;
#[path = "common/pages.rs"]
mod pages;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anneal::job::{Scope, Timestamp};
use anneal::store::{ApiKeyRow, NewApiKey, Store};
use common::{Server, data_dir};
use serde_json::{Value, json};

const ENABLED: &str = r#"{"code": true}"#;

fn key(data: &Path, scopes: &[Scope]) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (project, name) = (String::from("default"), String::from("test"));
        let new = NewApiKey { project, name, scopes: scopes.to_vec(), metadata: BTreeMap::new(), expires_at: None };
        let (row, secret) = ApiKeyRow::generate(new, Timestamp(1)).unwrap();
        Store::open(data).await.unwrap().add_api_key(row, true).await.unwrap();
        secret
    })
}

fn enabled(data: &Path) -> Server {
    Server::start_with(data, &["--verifiers", ENABLED])
}

/// Rows that ask for a line of output.
fn rows() -> String {
    (0..40)
        .map(|i| {
            format!("{}\n", json!({"prompt": format!("print({i}+1)\n#"), "stdin": "", "stdout": (i + 1).to_string()}))
        })
        .collect()
}

/// A job whose completions are programs; those of an untrained model mostly fail.
fn job(dataset: &Value) -> Value {
    json!({"model": "builtin:arith-tiny", "dataset": {"train": dataset}, "verifier": {"type": "code", "reward": "fraction"},
           "objective": {"type": "grpo", "group_size": 4}, "sampling": {"max_new_tokens": 6},
           "train": {"steps": 2, "prompts_per_step": 4, "micro_batch_tokens": 256}, "seed": 1})
}

#[test]
fn programs_are_refused_until_the_operator_enables_them() {
    let data = data_dir();
    let server = Server::start(data.path());
    let dataset = server.post_bytes("/v1/datasets?name=programs", rows().as_bytes(), &[]).json()["id"].clone();
    for (path, body, pointer) in [
        ("/v1/verifiers", json!({"config": {"type": "code"}}), "/config/type"),
        (
            "/v1/verifiers/test",
            json!({"config": {"type": "code"}, "completions": [{"completion": "a", "row": {}}]}),
            "/config/type",
        ),
        ("/v1/jobs", job(&dataset), "/verifier/type"),
    ] {
        let refused = server.post(path, &body);
        let error = &refused.json()["errors"][0];
        assert_eq!((refused.status, error["code"].as_str()), (422, Some("not_enabled")), "{path}: {error}");
        assert_eq!(error["pointer"], pointer);
        assert!(error["detail"].as_str().unwrap().contains("code = true"), "{error}");
    }
}

#[test]
fn a_key_needs_the_scope_for_programs_and_for_nothing_else() {
    let data = data_dir();
    let without = key(data.path(), &[Scope::Read, Scope::Write]);
    let with = key(data.path(), &[Scope::Read, Scope::Write, Scope::Code]);
    let mut server = enabled(data.path());
    server.use_key(&with);
    let stored = server.post("/v1/verifiers", &json!({"config": {"type": "code"}})).json()["id"].clone();
    let dataset = server.post_bytes("/v1/datasets?name=programs", rows().as_bytes(), &[]).json()["id"].clone();
    server.use_key(&without);
    let multi = json!({"type": "multi", "graders": {"a": {"type": "code"}}, "calculate_output": "a"});
    let mut named = job(&dataset);
    named["verifier"] = stored.clone();
    for (path, body) in [
        ("/v1/verifiers", json!({"config": {"type": "code"}})),
        ("/v1/verifiers", json!({"config": multi})),
        ("/v1/verifiers/test", json!({"config": {"type": "code"}, "completions": [{"completion": "a", "row": {}}]})),
        (
            &format!("/v1/verifiers/{}/test", stored.as_str().unwrap()),
            json!({"completions": [{"completion": "a", "row": {}}]}),
        ),
        (&format!("/v1/verifiers/{}/audit", stored.as_str().unwrap()), json!({"dataset": dataset})),
        ("/v1/jobs", job(&dataset)),
        ("/v1/jobs", named),
    ] {
        let refused = server.post(path, &body);
        assert_eq!((refused.status, refused.problem().as_str()), (403, "insufficient_scope"), "{path}");
        assert!(refused.json()["detail"].as_str().unwrap().contains("`code`"));
    }
    assert_eq!(server.post("/v1/verifiers", &json!({"config": {"type": "numeric"}})).status, 201);
}

#[test]
fn programs_are_tried_audited_and_judged_in_a_worker() {
    let data = data_dir();
    let server = enabled(data.path());
    let row = json!({"prompt": "p", "answer": "def add(a, b):\n    return a + b", "entry_point": "add",
                     "tests": ["assert add(1, 2) == 3", "assert add('a', 'b') == 'ab'"]});
    let completions = json!([
        {"completion": "```python\ndef add(a, b):\n    return a + b\n```", "row": row},
        {"completion": "def add(a, b):\n    return 3", "row": row},
        {"completion": "import os\nos._exit(0)", "row": row},
    ]);
    let tried = server.post(
        "/v1/verifiers/test",
        &json!({"config": {"type": "code", "reward": "fraction"}, "completions": completions}),
    );
    assert_eq!(tried.status, 200, "{}", tried.json());
    let rewards: Vec<f64> =
        tried.json()["data"].as_array().unwrap().iter().map(|v| v["reward"].as_f64().unwrap()).collect();
    assert_eq!(rewards, [1.0, 0.5, 0.0], "{}", tried.json());

    let verifier = server.post("/v1/verifiers", &json!({"config": {"type": "code"}})).json();
    let good: String = (0..6).map(|_| format!("{row}\n")).collect();
    let dataset = server.post_bytes("/v1/datasets?name=add", good.as_bytes(), &[]).json()["id"].clone();
    let audit =
        server.post(&format!("/v1/verifiers/{}/audit", verifier["id"].as_str().unwrap()), &json!({"dataset": dataset}));
    assert_eq!(audit.json()["passed"], 6, "{}", audit.json());

    let dataset = server.post_bytes("/v1/datasets?name=programs", rows().as_bytes(), &[]).json()["id"].clone();
    let spec = json!({"model": "builtin:arith-tiny", "dataset": {"train": dataset}, "prompts": 4, "group_size": 4,
                      "verifier": {"type": "code", "reward": "fraction"}, "sampling": {"max_new_tokens": 6}});
    let set = server.post("/v1/rollout-sets", &spec).json();
    let ended = server.wait(set["job"].as_str().unwrap_or_else(|| panic!("{set}")));
    assert_eq!(ended["status"], "succeeded", "{ended}");
    let lines = server.get(&format!("/v1/rollout-sets/{}/rollouts?limit=100", set["id"].as_str().unwrap())).json();
    for line in lines["data"].as_array().unwrap() {
        assert!(line["reward"].is_number() && line["detail"].is_string(), "{line}");
    }
}

#[test]
fn rows_with_a_program_of_their_own_are_audited_with_it_and_tests_that_any_program_passes_are_found() {
    let data = data_dir();
    let server = enabled(data.path());
    let verifier = server.post("/v1/verifiers", &json!({"config": {"type": "code"}})).json();
    let audit = |name: &str, test: &dyn Fn(usize) -> String| {
        let row = |n: usize| {
            json!({"prompt": format!("Add {n}."), "code": format!("def add_{n}(x):\n    return x + {n}"),
                   "test_list": [test(n)]})
        };
        let rows: String = (0..12).map(|n| format!("{}\n", row(n))).collect();
        let dataset =
            server.post_bytes(&format!("/v1/datasets?name={name}"), rows.as_bytes(), &[]).json()["id"].clone();
        let path = format!("/v1/verifiers/{}/audit", verifier["id"].as_str().unwrap());
        server.post(&path, &json!({"dataset": dataset})).json()
    };
    let good = audit("good", &|n| format!("assert add_{n}(1) == {}", n + 1));
    assert_eq!((&good["verdict"], &good["passed"]), (&json!("trusted"), &json!(12)), "{good}");
    let any = audit("any", &|_| String::from("assert True"));
    assert_eq!(any["reasons"][0]["code"], "other_answers_pass", "{any}");
}

#[test]
fn every_command_about_programs_works() {
    let folder = data_dir();
    let page = pages::section("docs/VERIFIERS.md", "## code");
    let server = enabled(&folder.path().join("data"));
    pages::all_work(&pages::blocks_of(&page, "sh"), &server.base, folder.path());
}

#[test]
fn a_machine_without_user_namespaces_is_told_by_the_doctor_and_by_the_submission() {
    let data = data_dir();
    // A user namespace of its own, in which no further one can be made.
    let without = |arguments: &[&str]| {
        let script = "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_anneal")]);
        command.args(arguments).args(["--verifiers", ENABLED, "--data-dir"]).arg(data.path());
        command
    };
    let doctor = without(&["doctor", "--json"]).output().unwrap();
    let found: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let programs = found["findings"].as_array().unwrap().iter().find(|finding| finding["check"] == "programs").unwrap();
    assert_eq!(programs["verdict"], "error", "{programs}");
    assert!(programs["detail"].as_str().unwrap().contains("user namespaces"), "{programs}");

    let server = Server::spawn(without(&["serve", "--supervised", "--listen", "127.0.0.1:0", "--log", "warn"]));
    let refused = server.post("/v1/verifiers", &json!({"config": {"type": "code"}})).json();
    assert_eq!(refused["errors"][0]["code"], "sandbox_unavailable", "{refused}");
    assert!(refused["errors"][0]["detail"].as_str().unwrap().contains("max_user_namespaces"), "{refused}");
}

#[test]
fn a_machine_with_all_that_is_needed_is_well() {
    let data = data_dir();
    let doctor = Command::new(env!("CARGO_BIN_EXE_anneal"))
        .args(["doctor", "--json", "--verifiers", ENABLED, "--data-dir"])
        .arg(data.path())
        .output()
        .unwrap();
    let found: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let programs: Vec<&Value> =
        found["findings"].as_array().unwrap().iter().filter(|f| f["check"] == "programs").collect();
    assert!(!programs.is_empty() && programs.iter().all(|finding| finding["verdict"] == "ok"), "{programs:?}");
}
