//! Data sets of tasks without a file: how they are listed and named, and the commands that the documentation shows.

mod common;
#[path = "common/hub.rs"]
mod hub;
#[path = "common/pages.rs"]
mod pages;

use common::{Server, data_dir};
use hub::{Hub, assets};
use serde_json::{Value, json};

#[test]
fn every_command_about_tasks_works() {
    let hub = Hub::start();
    // Any model that reads a few words will do.
    hub.put("HuggingFaceTB/SmolLM2-135M-Instruct", &assets());
    let folder = data_dir();
    let server = Server::start_with(&folder.path().join("data"), &["--hub-endpoint", &hub.base]);
    let page = pages::section("docs/DATASETS.md", "## Tasks without a file");
    pages::all_work(&pages::blocks_of(&page, "sh"), &server.base, folder.path());
}

#[test]
fn the_list_says_how_each_set_is_named_and_judged() {
    let folder = data_dir();
    let server = Server::start_with(folder.path(), &[]);
    let list = server.get("/v1/datasets/builtins").json();
    let sets = list["data"].as_array().unwrap();
    assert_eq!(sets.len(), 12, "{list}");
    for set in sets {
        // Its verifier and rows are those that the server itself takes.
        let name = set["id"].as_str().unwrap();
        let verifier = server.post("/v1/verifiers", &json!({"config": set["verifier"]})).json();
        let audit = json!({"dataset": name, "rows": 100});
        let audit = server.post(&format!("/v1/verifiers/{}/audit", verifier["id"].as_str().unwrap()), &audit).json();
        let passing = if name == "builtin:arithmetic-slips" { audit["pass_rate"].as_f64() } else { Some(1.0) };
        assert_eq!(audit["pass_rate"].as_f64(), passing, "{name}: {audit}");
        assert_eq!(set["examples"].as_array().unwrap().len(), 4, "{set}");
    }
    let query = "/v1/datasets/builtins?name=builtin:countdown%3Frows%3D100%26difficulty%3D3";
    let one = server.get(query).json()["data"][0].clone();
    assert_eq!(one["id"], "builtin:countdown?difficulty=3&rows=100");
    assert_eq!((&one["train_rows"], &one["eval_rows"]), (&json!(100), &json!(10)));
    let refused = server.get("/v1/datasets/builtins?name=builtin:countdown%3Flevel%3D3");
    let error = &refused.json()["errors"][0];
    assert_eq!((refused.status, &error["code"]), (422, &json!("invalid_dataset_parameter")));
    assert!(error["detail"].as_str().unwrap().contains("`level`"), "{error}");
}

#[test]
fn a_job_keeps_the_name_of_its_set_and_a_wrong_one_is_refused_by_its_parameter() {
    let folder = data_dir();
    let server = Server::start_with(folder.path(), &[]);
    let spec = |train: &str, verifier: Value| {
        json!({
            "model": "builtin:arith-tiny", "dataset": {"train": train}, "verifier": verifier,
            "objective": {"type": "grpo", "group_size": 4}, "sampling": {"max_new_tokens": 5},
            "train": {"steps": 2, "prompts_per_step": 4}, "eval": {"prompts": 4, "samples": 1, "pass_at": [1]},
        })
    };
    let job = server.submit(&spec("builtin:chain-sums?seed=7&difficulty=2", json!({"type": "numeric"})));
    let job = server.job(&job);
    assert_eq!(job["spec_resolved"]["dataset"]["train"], "builtin:chain-sums?difficulty=2&seed=7");
    for (train, code) in [
        ("builtin:chain-sums?seed=x", "invalid_dataset_parameter"),
        ("builtin:arithmetic?seed=1", "invalid_dataset_parameter"),
        ("builtin:sums", "unknown_dataset"),
    ] {
        let refused = server.post("/v1/jobs", &spec(train, json!({"type": "numeric"})));
        let error = &refused.json()["errors"][0];
        assert_eq!((refused.status, &error["pointer"], &error["code"]), (422, &json!("/dataset/train"), &json!(code)));
    }
    // Rows that have no numbers are not for the verifier of countdown.
    let refused = server.post("/v1/jobs", &spec("builtin:gcd-lcm", json!({"type": "expression"})));
    assert_eq!(refused.json()["errors"][0]["code"], "row_missing_column", "{}", refused.json());
}
