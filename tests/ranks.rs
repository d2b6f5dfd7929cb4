//! Jobs on several devices, one process for each: they end as on one device, and outlive the loss of a process.

mod common;

use std::collections::HashMap;
use std::path::PathBuf;

use anneal::engine::model::reader::load_safetensors;
use common::{Server, children, data_dir, signal, small_spec};
use serde_json::{Value, json};

/// A job on so many devices that samples once, so that rounding cannot lead to other completions.
fn spec(devices: u32) -> Value {
    let mut spec = small_spec();
    spec["objective"]["rounds"] = json!(1);
    spec["train"]["steps"] = json!(6);
    spec["optimizer"] = json!({"learning_rate": 1e-4, "eps": 1e-5});
    spec["checkpoints"]["dtype"] = json!("f32");
    spec["resources"] = json!({"devices": devices});
    spec
}

fn start(data: &std::path::Path) -> Server {
    Server::start_with(data, &["--devices", "simulated:3"])
}

/// The weights of a finished job, and their digest.
fn weights(server: &Server, job: &Value) -> (HashMap<String, Vec<f32>>, String) {
    assert_eq!(job["status"], "succeeded", "{job:#}");
    let checkpoint = job["result"]["checkpoint"].as_str().unwrap();
    let adapter = !job["spec"]["adapter"].is_null();
    let name = if adapter { "adapter_model.safetensors" } else { "model.safetensors" };
    let file = server.get(&format!("/v1/checkpoints/{checkpoint}/files/{name}"));
    let path: PathBuf = data_dir().keep().join(name);
    std::fs::write(&path, &file.bytes).unwrap();
    let tensors = load_safetensors(std::slice::from_ref(&path)).unwrap();
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    let values = tensors.into_iter().map(|(name, tensor)| (name, tensor.values)).collect();
    (values, job["result"]["weights_sha256"].as_str().unwrap().to_owned())
}

#[test]
fn several_ranks_end_with_the_model_of_one() {
    let data = data_dir();
    let server = start(data.path());
    let jobs = [1, 2, 3].map(|devices| server.submit(&spec(devices)));
    let jobs = jobs.map(|job| server.wait(&job));
    let [one, two, three] = jobs.each_ref().map(|job| weights(&server, job));
    assert_eq!(jobs[1]["devices"].as_array().map(Vec::len), Some(2), "{:#}", jobs[1]);
    for (ranks, other) in [(2, &two), (3, &three)] {
        for (name, values) in &one.0 {
            let off = values.iter().zip(&other.0[name]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(off < 1e-5, "{name} is off by {off} with {ranks} ranks");
        }
    }
    // All of them have learned the same: what was evaluated before and after agrees.
    for job in &jobs[1..] {
        assert_eq!(job["result"]["before"], jobs[0]["result"]["before"]);
    }
    let metric = |job: &Value| {
        let id = job["id"].as_str().unwrap();
        server.get(&format!("/v1/jobs/{id}/metrics?keys=step/tokens")).json()
    };
    let of_one = metric(&jobs[0])["series"].clone();
    assert!(of_one.to_string().contains("step/tokens"), "{of_one}");
    assert_eq!(metric(&jobs[1])["series"], of_one);
}

/// What is trained beside frozen weights, in codes or not, and by an update that looks at whole matrices.
#[test]
fn adapters_and_matrices_end_with_several_ranks_as_with_one() {
    let data = data_dir();
    let server = start(data.path());
    let adapter = json!({"type": "lora", "rank": 4});
    let muon = json!({"type": "muon", "learning_rate": 1e-4, "eps": 1e-5});
    let in_codes = json!({"type": "lora", "rank": 4, "quantize": "int8"});
    for (what, changes) in [
        ("an adapter", json!({"adapter": adapter})),
        ("an adapter beside codes", json!({"adapter": in_codes})),
        ("matrices", json!({"optimizer": muon})),
        ("an adapter by Muon", json!({"adapter": adapter, "optimizer": muon})),
    ] {
        let of = |devices| {
            let mut spec = spec(devices);
            for (field, value) in changes.as_object().unwrap() {
                spec[field] = value.clone();
            }
            weights(&server, &server.wait(&server.submit(&spec)))
        };
        let (one, two) = (of(1), of(2));
        assert_eq!(one.0.len(), two.0.len());
        let mut moved = 0.0_f32;
        for (name, values) in &one.0 {
            let off = values.iter().zip(&two.0[name]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(off < 1e-5, "{what}: {name} is off by {off}");
            moved = values.iter().fold(moved, |most, value| most.max(value.abs()));
        }
        assert!(moved > 1e-4, "{what}: nothing was trained");
    }
}

/// Moments that are divided among the ranks change no bit of what these end with, whatever kind they are, and memory is less.
#[test]
fn ranks_that_divide_the_moments_end_as_ranks_that_keep_all() {
    let data = data_dir();
    let server = start(data.path());
    for (what, optimizer, devices) in [
        ("AdamW", json!({"learning_rate": 1e-4}), 2),
        ("AdamW in codes", json!({"learning_rate": 1e-4, "state": "int8"}), 3),
        ("weights and moments in bf16", json!({"learning_rate": 1e-4, "state": "bf16", "masters": "bf16"}), 2),
        ("Muon", json!({"type": "muon", "learning_rate": 1e-4}), 3),
    ] {
        let of = |sharded: bool| {
            let mut spec = spec(devices);
            spec["optimizer"] = optimizer.clone();
            if sharded {
                spec["optimizer"]["sharded"] = json!(true);
            }
            server.wait(&server.submit(&spec))
        };
        let (whole, divided) = (of(false), of(true));
        assert_eq!(weights(&server, &divided).1, weights(&server, &whole).1, "{what}");
        let memory = |job: &Value| job["memory_bytes"].as_u64().unwrap();
        assert!(memory(&divided) < memory(&whole), "{what}: {} and {}", memory(&divided), memory(&whole));
    }
}

/// A state that the ranks have only together is saved by all of them, and taken up by however many there are.
#[test]
fn a_job_with_divided_moments_rests_and_goes_on_with_other_ranks() {
    let data = data_dir();
    let server = start(data.path());
    let mut spec = spec(2);
    spec["objective"] = json!({"type": "grpo", "group_size": 4});
    spec["train"]["steps"] = json!(24);
    spec["optimizer"]["sharded"] = json!(true);
    // Nothing is saved but where the job rests.
    spec["checkpoints"]["every_steps"] = json!(100);
    let calm = server.wait(&server.submit(&spec));
    let expected = weights(&server, &calm).1;
    let rest = |spec: &Value| {
        let job = server.submit(spec);
        server.wait_until(&job, |job| job["step"].as_u64() >= Some(4));
        server.post(&format!("/v1/jobs/{job}/pause"), &json!({}));
        server.wait_until(&job, |job| job["status"] == "paused");
        assert!(server.job(&job)["step"].as_u64() >= Some(4));
        job
    };
    let job = rest(&spec);
    server.resume(&job);
    let done = server.wait(&job);
    assert_eq!((&done["attempt"], weights(&server, &done).1), (&json!(2), expected));

    // What two have saved goes on with one and with three, within rounding.
    spec["resources"]["elastic"] = json!(true);
    spec["objective"] = json!({"type": "sft"});
    spec["dataset"] = json!({"train": "builtin:arithmetic"});
    let whole = weights(&server, &server.wait(&server.submit(&spec))).0;
    let job = rest(&spec);
    // Two of the three devices are taken.
    let mut long = small_spec();
    long["objective"] = json!({"type": "sft"});
    long["train"]["steps"] = json!(100_000);
    let others = [server.submit(&long), server.submit(&long)];
    others.iter().for_each(|job| drop(server.wait_until(job, |job| job["status"] == "running")));
    server.resume(&job);
    let done = server.wait(&job);
    others.iter().for_each(|job| drop(server.post(&format!("/v1/jobs/{job}/cancel"), &json!({}))));
    let attempts = server.get(&format!("/v1/jobs/{job}/attempts")).json();
    let devices =
        attempts["data"].as_array().unwrap().iter().rev().map(|attempt| attempt["devices"].as_array().unwrap().len());
    assert_eq!(devices.collect::<Vec<_>>(), [2, 1]);
    for (name, values) in &weights(&server, &done).0 {
        let off = values.iter().zip(&whole[name]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(off < 1e-5, "{name} is off by {off}");
    }
}

#[test]
fn a_job_that_loses_one_of_its_processes_goes_on_from_its_checkpoint() {
    let data = data_dir();
    let server = start(data.path());
    let mut spec = spec(2);
    spec["objective"] = json!({"type": "grpo", "group_size": 4});
    spec["train"]["steps"] = json!(24);
    let calm = server.submit(&spec);
    let calm = server.wait(&calm);
    let job = server.submit(&spec);
    server.wait_until(&job, |job| job["step"].as_u64() >= Some(4));
    let devices = server.get("/v1/devices").json();
    let lead = devices["data"]
        .as_array()
        .unwrap()
        .iter()
        .find(|device| device["job"] == json!(job) && !children(device["pid"].as_u64().unwrap() as u32).is_empty());
    let lead = lead.unwrap();
    let peers = children(lead["pid"].as_u64().unwrap() as u32);
    assert_eq!(peers.len(), 1);
    signal(peers[0], "KILL");
    let done = server.wait(&job);
    assert_eq!(done["attempt"], 2, "{done:#}");
    let (first, other) = (&lead["id"], |device: &&Value| device["faults"] == 1);
    let after = server.get("/v1/devices").json();
    let blamed: Vec<&Value> = after["data"].as_array().unwrap().iter().filter(other).collect();
    assert!(blamed.len() == 1 && blamed[0]["id"] != *first, "the device of the lost process is checked: {after:#}");
    assert_eq!(weights(&server, &done).1, weights(&server, &calm).1, "the same bits as undisturbed");
}

/// What only one rank meets ends the job with that reason, and not as a lost device.
#[test]
fn a_failure_of_another_rank_is_told_as_it_is() {
    let data = data_dir();
    let server = start(data.path());
    // Rank 1 samples the second half of the prompts, of which one is too long for the model.
    let row = |text: &str| json!({"prompt": text, "answer": "3"}).to_string();
    let mut rows: Vec<String> = (0..10_100).map(|i| row(&format!("{i}+1="))).collect();
    rows[10_050] = row(&"1+".repeat(400));
    let dataset = server.post_bytes("/v1/datasets?name=long", rows.join("\n").as_bytes(), &[]);
    assert_eq!(dataset.status, 201, "{}", dataset.problem());
    let set = server.post(
        "/v1/rollout-sets",
        &json!({
            "model": "builtin:arith-tiny", "dataset": {"train": dataset.json()["id"]},
            "verifier": {"type": "numeric"}, "prompts": 10_100, "group_size": 1,
            "sampling": {"max_new_tokens": 1, "batch_size": 1024}, "resources": {"devices": 2}
        }),
    );
    assert_eq!(set.status, 201, "{}", set.problem());
    let job = server.wait(set.json()["job"].as_str().unwrap());
    assert_eq!((&job["status"], &job["attempt"]), (&json!("failed"), &json!(1)), "{job:#}");
    assert_eq!(job["failure"]["kind"], "invalid_data", "{job:#}");
}

#[test]
fn a_rollout_set_is_the_same_whoever_samples() {
    let data = data_dir();
    let server = start(data.path());
    let rollouts = [1, 2].map(|devices| {
        let spec = json!({
            "model": "builtin:arith-tiny", "dataset": {"train": "builtin:arithmetic"},
            "verifier": {"type": "numeric"}, "prompts": 9, "group_size": 3, "seed": 5,
            "sampling": {"max_new_tokens": 5}, "resources": {"devices": devices}
        });
        let set = server.post("/v1/rollout-sets", &spec);
        assert_eq!(set.status, 201, "{}", set.problem());
        let set = set.json();
        let (id, job) = (set["id"].as_str().unwrap(), set["job"].as_str().unwrap());
        assert_eq!(server.wait(job)["status"], "succeeded");
        server.get(&format!("/v1/rollout-sets/{id}/files/rollouts.jsonl")).bytes
    });
    assert!(!rollouts[0].is_empty() && rollouts[0] == rollouts[1]);
}
