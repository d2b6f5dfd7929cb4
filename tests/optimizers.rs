//! Optimizers through the whole program: that they learn, that a killed job ends with the bytes of one that was left alone,
//! and what is refused.

mod common;

use common::{Server, data_dir, signal, small_spec};
use serde_json::{Value, json};

/// A job that learns from the built-in data set, from random weights on.
fn spec(optimizer: Value) -> Value {
    let mut spec = small_spec();
    spec["model"] = json!("builtin:arith-scratch");
    spec["dataset"] = json!({"train": "builtin:arithmetic-slips"});
    spec["objective"] = json!({"type": "sft"});
    spec["optimizer"] = optimizer;
    spec["train"] = json!({"steps": 24, "prompts_per_step": 32, "micro_batch_tokens": 256});
    spec["eval"] = json!({"prompts": 8, "samples": 1, "pass_at": [1], "before": false});
    spec
}

fn run(server: &Server, spec: &Value) -> Value {
    let job = server.wait(&server.submit(spec));
    assert_eq!(job["status"], "succeeded", "{job}");
    job
}

fn losses(server: &Server, job: &Value) -> Vec<f64> {
    let id = job["id"].as_str().unwrap();
    let all = server.get(&format!("/v1/jobs/{id}/metrics?keys=loss")).json();
    all["series"][0]["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

/// The digests of what a job made: of the finished weights, and of its last training checkpoint's optimizer and weights.
fn digests(server: &Server, job: &Value) -> Vec<String> {
    let (id, steps) = (job["id"].as_str().unwrap(), &job["steps"]);
    let all = server.get(&format!("/v1/jobs/{id}/checkpoints?limit=100")).json();
    let last = all["data"].as_array().unwrap().iter().filter(|checkpoint| checkpoint["step"] == *steps);
    let files = last.flat_map(|checkpoint| checkpoint["files"].as_array().unwrap());
    let weights = files.filter(|file| file["path"].as_str().unwrap().ends_with(".safetensors"));
    let mut digests: Vec<String> = weights.map(|file| file["sha256"].as_str().unwrap().to_owned()).collect();
    digests.sort();
    assert_eq!(digests.len(), 3, "{all}");
    digests
}

/// With the learning rate of AdamW, for the updates are as large.
#[test]
fn muon_learns_from_random_weights_and_other_things_than_adamw() {
    let data = data_dir();
    let server = Server::start(data.path());
    let ends = [("adamw", "f32"), ("muon", "f32"), ("muon", "bf16")].map(|(kind, masters)| {
        let optimizer = json!({"type": kind, "masters": masters, "learning_rate": 0.003, "weight_decay": 0.1});
        let job = run(&server, &spec(optimizer));
        let losses = losses(&server, &job);
        let (first, last) = (losses[0], losses[losses.len() - 1]);
        assert!(last < 0.8 * first, "{kind} {masters}: {losses:?}");
        last
    });
    assert!(ends[0] != ends[1] && ends[1] != ends[2], "{ends:?}");
}

/// Whatever moments are kept in, for a whole model and for an adapter.
#[test]
fn killed_jobs_end_with_the_same_weights() {
    for (optimizer, adapter, step) in [
        (json!({"type": "muon", "momentum": 0.9}), Value::Null, 5),
        (json!({"type": "muon", "state": "bf16"}), json!({"type": "lora", "rank": 4}), 9),
        (json!({"type": "muon", "state": "int8"}), Value::Null, 13),
        (json!({"masters": "bf16", "state": "bf16"}), Value::Null, 7),
        (json!({"type": "muon", "masters": "bf16", "state": "int8"}), Value::Null, 11),
    ] {
        let mut spec = spec(optimizer.clone());
        spec["optimizer"]["learning_rate"] = json!(0.003);
        spec["model"] = json!("builtin:arith-tiny");
        spec["adapter"] = adapter;
        let data = data_dir();
        let server = Server::start(data.path());
        let wanted = digests(&server, &run(&server, &spec));
        let job = server.submit(&spec);
        server.wait_until(&job, |job| job["step"].as_u64().unwrap_or(0) >= step);
        signal(server.worker_pid(), "KILL");
        let job = server.wait(&job);
        assert_eq!((job["status"].as_str(), job["attempt"].as_u64() > Some(1)), (Some("succeeded"), true), "{job}");
        assert_eq!(digests(&server, &job), wanted, "{optimizer}");
    }
}

/// The sampler computes with what is trained, and a model whose numbers bf16 does not have begins beside its reference.
#[test]
fn masters_in_bf16_are_sampled_from_as_they_are_and_a_checkpoint_has_half_of_the_bytes() {
    let data = data_dir();
    let server = Server::start(data.path());
    let mut spec = small_spec();
    spec["objective"] = json!({"type": "grpo", "group_size": 4});
    spec["train"]["steps"] = json!(4);
    let bytes = ["f32", "bf16"].map(|masters| {
        let sizes = ["f32", "bf16"].map(|precision| {
            spec["optimizer"] = json!({"learning_rate": 0.0003, "masters": masters});
            spec["train"]["precision"] = json!(precision);
            let job = run(&server, &spec);
            let id = job["id"].as_str().unwrap();
            let all = server.get(&format!("/v1/jobs/{id}/metrics?keys=logprob/max_abs_diff")).json();
            assert_eq!(all["series"][0]["values"][0], 0.0, "{masters} {precision}: {all}");
            let all = server.get(&format!("/v1/jobs/{id}/checkpoints?limit=100")).json();
            let training = all["data"].as_array().unwrap().iter().find(|checkpoint| checkpoint["kind"] == "training");
            let files = training.unwrap()["files"].as_array().unwrap();
            let weights = files.iter().find(|file| file["path"] == "model.safetensors").unwrap();
            weights["size"].as_f64().unwrap()
        });
        assert_eq!(sizes[0], sizes[1], "whatever products are computed in");
        sizes[0]
    });
    assert!((bytes[1] / bytes[0] - 0.5).abs() < 0.05, "{bytes:?}");
}

#[test]
fn what_an_optimizer_does_not_have_is_refused() {
    let data = data_dir();
    let server = Server::start(data.path());
    for (optimizer, pointer, code) in [
        (json!({"type": "sgd"}), "/optimizer/type", "unknown_value"),
        (json!({"type": "muon", "momentum": 1.0}), "/optimizer/momentum", "out_of_range"),
        (json!({"momentum": 0.9}), "/optimizer/momentum", "conflict"),
        (json!({"masters": "bf16"}), "/optimizer/masters", "conflict"),
    ] {
        let mut spec = spec(optimizer.clone());
        if pointer == "/optimizer/masters" {
            spec["adapter"] = json!({"type": "lora"});
        }
        let answer = server.post("/v1/jobs", &spec);
        let errors = answer.json()["errors"].clone();
        let found = (answer.status, errors[0]["pointer"].as_str(), errors[0]["code"].as_str());
        assert_eq!(found, (422, Some(pointer), Some(code)), "{optimizer}: {errors}");
    }
}
