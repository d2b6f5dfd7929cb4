//! Adapters through the whole program: trained under every objective, resumed to the same bytes, evaluated, asked for
//! completions, gone on from, learnt from; and what is refused.

mod common;

use std::fs;
use std::path::Path;

use common::{PATIENCE, Server, data_dir, signal, small_spec};
use serde_json::{Value, json};

const WEIGHTS: &str = "adapter_model.safetensors";

/// What is wrong with a spec.
type Change<'a> = &'a dyn Fn(&mut Value);

/// A job of a few steps with an adapter.
fn spec(objective: Value) -> Value {
    let mut spec = small_spec();
    spec["objective"] = objective;
    spec["adapter"] = json!({"type": "lora", "rank": 4});
    spec["train"]["steps"] = json!(4);
    spec["train"]["prompts_per_step"] = json!(8);
    spec["optimizer"] = json!({"learning_rate": 0.003, "warmup": 0.0});
    spec["eval"] = json!({"prompts": 16, "samples": 1, "pass_at": [1], "before": false});
    spec
}

fn run(server: &Server, spec: &Value) -> Value {
    let job = server.wait(&server.submit(spec));
    assert_eq!(job["status"], "succeeded", "{job}");
    job
}

fn id(value: &Value) -> &str {
    value["id"].as_str().unwrap()
}

/// The finished adapter or model of a job.
fn finished(server: &Server, job: &Value) -> Value {
    let all = server.get(&format!("/v1/jobs/{}/checkpoints", id(job))).json();
    let found = all["data"].as_array().unwrap().iter().find(|checkpoint| checkpoint["kind"] == "inference");
    found.unwrap_or_else(|| panic!("{all}")).clone()
}

fn sha256<'a>(checkpoint: &'a Value, name: &str) -> &'a str {
    let files = checkpoint["files"].as_array().unwrap();
    let file = files.iter().find(|file| file["path"] == name).unwrap_or_else(|| panic!("no {name} in {checkpoint}"));
    file["sha256"].as_str().unwrap()
}

fn file(server: &Server, checkpoint: &Value, name: &str) -> Vec<u8> {
    let answer = server.get(&format!("/v1/checkpoints/{}/files/{name}", id(checkpoint)));
    assert_eq!(answer.status, 200, "{name}");
    answer.bytes
}

fn series(server: &Server, job: &Value, name: &str) -> Vec<f64> {
    let all = server.get(&format!("/v1/jobs/{}/metrics?keys={name}", id(job))).json();
    let values = all["series"].as_array().unwrap().iter().find(|s| s["name"] == name);
    values.map_or_else(Vec::new, |s| s["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect())
}

#[test]
fn every_objective_trains_an_adapter() {
    let data = data_dir();
    let server = Server::start(data.path());
    let jobs = [
        json!({"type": "sft"}),
        json!({"type": "bolt", "group_size": 4, "rounds": 2, "reference": "initial"}),
        json!({"type": "grpo", "group_size": 4, "kl_coef": 0.1}),
        json!({"type": "p3o", "group_size": 4}),
        json!({"type": "fade", "group_size": 4}),
        json!({"type": "policy_gradient", "group_size": 4, "advantage": "maxrl"}),
        json!({"type": "vopd", "teacher": "builtin:arith-tiny"}),
    ];
    for objective in jobs {
        let (samples, has_news) = (objective["type"] != "sft", objective["type"] != "vopd");
        let job = run(&server, &spec(objective.clone()));
        if samples {
            assert_eq!(series(&server, &job, "logprob/max_abs_diff")[0], 0.0, "{objective}");
            let reference = series(&server, &job, "kl/reference");
            assert_eq!(reference[0], 0.0, "an adapter begins at the model, {objective}");
            // A teacher that is the model itself has nothing to teach.
            assert!(reference[1..].iter().any(|kl| *kl > 0.0) == has_news, "and leaves it, {objective}: {reference:?}");
        }
        let checkpoint = finished(&server, &job);
        let config: Value = serde_json::from_slice(&file(&server, &checkpoint, "adapter_config.json")).unwrap();
        assert_eq!((&config["r"], &config["lora_alpha"]), (&json!(4), &json!(8)), "{config}");
        assert_eq!(config["base_model_name_or_path"], "builtin:arith-tiny");
        let names: Vec<&str> =
            checkpoint["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
        assert!(!names.contains(&"model.safetensors") && !names.contains(&"config.json"), "{names:?}");
        assert!(names.contains(&"tokenizer.json") && names.contains(&"README.md"), "{names:?}");
        assert!(checkpoint["bytes"].as_u64().unwrap() < 2_000_000, "{checkpoint}");
    }
}

/// Whether a job is left alone, killed or killed with its server, the adapter has the same bytes, whatever moments are kept
/// in.
#[test]
fn killed_jobs_end_with_the_same_adapter() {
    let mut spec = spec(json!({"type": "grpo", "group_size": 4, "kl_coef": 0.1}));
    spec["train"]["steps"] = json!(12);
    spec["checkpoints"] = json!({"every_steps": 2});
    for (state, kill_server, step) in [("f32", false, 3), ("bf16", true, 7), ("int8", false, 5)] {
        spec["optimizer"]["state"] = json!(state);
        spec["adapter"]["init"] = json!(if state == "bf16" { "pissa" } else { "kaiming" });
        spec["adapter"]["dora"] = json!(state != "bf16");
        if state == "int8" {
            spec["adapter"]["quantize"] = json!("int8");
            spec["adapter"]["dropout"] = json!(0.1);
        }
        let wanted = {
            let data = data_dir();
            let server = Server::start(data.path());
            sha256(&finished(&server, &run(&server, &spec)), WEIGHTS).to_owned()
        };
        let data = data_dir();
        let mut server = Server::start(data.path());
        let worker = server.worker_pid();
        let job = server.submit(&spec);
        server.wait_until(&job, |job| job["step"].as_u64().unwrap_or(0) >= step);
        if kill_server {
            server.kill();
            server = Server::start(data.path());
        } else {
            signal(worker, "KILL");
        }
        let job = server.wait(&job);
        assert_eq!((job["status"].as_str(), job["attempt"].as_u64() > Some(1)), (Some("succeeded"), true), "{job}");
        assert_eq!(sha256(&finished(&server, &job), WEIGHTS), wanted, "{state}");
        assert_eq!(job["result"]["weights_sha256"], json!(wanted));
        let report = server.get(&format!("/v1/jobs/{}/report?format=markdown", id(&job)));
        assert!(String::from_utf8_lossy(&report.bytes).contains(&wanted));
        // It can be proved at any time.
        let proof = server.post(&format!("/v1/jobs/{}/verify-resume", id(&job)), &json!({})).json();
        let proof = server.wait(id(&proof));
        assert_eq!(proof["result"]["verify_resume"]["identical"], true, "{proof}");
    }
}

/// Waits until as many jobs have the only device together.
fn until_together(server: &Server, count: usize) {
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let device = server.get("/v1/devices").json()["data"][0].clone();
        if device["jobs"].as_array().unwrap().len() == count {
            return;
        }
        assert!(std::time::Instant::now() < deadline, "{device:#}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Jobs that have the frozen weights together: each with its own end, and with the bytes that it has alone.
#[test]
fn jobs_beside_others_on_one_base_end_with_the_bytes_that_they_have_alone() {
    let mut long = spec(json!({"type": "grpo", "group_size": 4, "kl_coef": 0.1}));
    long["train"]["steps"] = json!(24);
    long["checkpoints"] = json!({"every_steps": 2});
    let mut other = long.clone();
    (other["objective"], other["seed"], other["adapter"]["rank"]) =
        (json!({"type": "p3o", "group_size": 4}), json!(5), json!(2));
    let wanted = {
        let data = data_dir();
        let server = Server::start(data.path());
        [&long, &other].map(|spec| sha256(&finished(&server, &run(&server, spec)), WEIGHTS).to_owned())
    };
    for spec in [&mut long, &mut other] {
        spec["resources"] = json!({"share_base": true});
    }
    let measuring = json!({"model": "builtin:arith-tiny", "dataset": "builtin:arithmetic", "verifier": {"type": "numeric"},
        "prompts": 64, "samples": 4, "sampling": {"max_new_tokens": 5}, "resources": {"share_base": true}});
    for kill_worker in [false, true] {
        let data = data_dir();
        let server = Server::start(data.path());
        let worker = server.worker_pid();
        let mut forever = long.clone();
        forever["train"]["steps"] = json!(100_000);
        let jobs = [server.submit(&long), server.submit(&other)];
        let endless = server.submit(&forever);
        until_together(&server, 3);
        let evaluation = server.post("/v1/evaluations", &measuring).json();
        let evaluation = evaluation["job"].as_str().unwrap_or_else(|| panic!("{evaluation}"));
        let mut alone = spec(json!({"type": "sft"}));
        alone["train"]["steps"] = json!(1);
        if kill_worker {
            server.wait_until(&jobs[0], |job| job["step"].as_u64().unwrap_or(0) >= 3);
            signal(worker, "KILL");
        } else {
            // What shares nothing waits until nobody has the device.
            let alone = server.submit(&alone);
            server.wait(evaluation);
            assert_eq!(server.job(&alone)["status"], "queued");
        }
        assert_eq!(server.post(&format!("/v1/jobs/{endless}/cancel"), &json!({})).status, 200);
        for (id, wanted) in jobs.iter().zip(&wanted) {
            let job = server.wait(id);
            assert_eq!(job["status"], "succeeded", "{job}");
            assert_eq!(job["attempt"].as_u64() > Some(1), kill_worker, "{job}");
            assert_eq!(sha256(&finished(&server, &job), WEIGHTS), wanted, "{}", job["spec"]["objective"]);
            if !kill_worker {
                assert_eq!(series(&server, &job, "logprob/max_abs_diff")[0], 0.0);
            }
        }
        assert_eq!(server.wait(&endless)["status"], "cancelled");
        assert_eq!(server.wait(evaluation)["status"], "succeeded");
    }
}

#[test]
fn an_adapter_is_a_model_to_evaluate_to_ask_to_go_on_from_and_to_learn_from() {
    let data = data_dir();
    let server = Server::start(data.path());
    let trained = run(&server, &spec(json!({"type": "sft"})));
    let adapter = finished(&server, &trained);
    let name = id(&adapter);

    // Held-out accuracy is that of the job's own last evaluation, for base and adapter are the same.
    let evaluation = server.post(
        "/v1/evaluations",
        &json!({"model": name, "dataset": "builtin:arithmetic", "verifier": {"type": "numeric"}, "prompts": 16,
                "samples": 1, "pass_at": [1], "sampling": {"max_new_tokens": 5}}),
    );
    assert_eq!(evaluation.status, 201, "{}", evaluation.json());
    let evaluated = server.wait(evaluation.json()["job"].as_str().unwrap());
    assert_eq!(evaluated["status"], "succeeded", "{evaluated}");

    let chat = json!({"model": name, "messages": [{"role": "user", "content": "12+7="}], "temperature": 0});
    let answer = server.post("/v1/chat/completions", &chat);
    assert_eq!(answer.status, 200, "{}", answer.json());

    let mut further = spec(json!({"type": "grpo", "group_size": 4}));
    further["adapter"] = json!({"type": "lora", "start": name});
    let job = run(&server, &further);
    let resolved = server.job(id(&job));
    assert_eq!(resolved["spec_resolved"]["adapter"]["rank"], 4, "{resolved}");
    assert!(series(&server, &job, "kl/reference")[0] > 0.0, "the reference is the model without the adapter");
    assert_eq!(series(&server, &job, "logprob/max_abs_diff")[0], 0.0);

    let mut distilled = spec(json!({"type": "vopd", "teacher": name}));
    distilled["adapter"]["rank"] = json!(2);
    run(&server, &distilled);

    // All weights are trained on from the model with the adapter in it.
    let mut whole = spec(json!({"type": "grpo", "group_size": 4}));
    whole["adapter"] = Value::Null;
    whole["model"] = json!(name);
    let job = run(&server, &whole);
    assert_eq!(series(&server, &job, "kl/reference")[0], 0.0, "the reference has it too");
    sha256(&finished(&server, &job), "model.safetensors");
}

/// An adapter in a folder, as peft saves it, becomes a model beside its base: the same model as the checkpoint that it was.
#[test]
fn an_adapter_of_others_is_imported_beside_its_base() {
    let (data, import) = (data_dir(), data_dir());
    let server = Server::start_with(data.path(), &["--import-roots", import.path().to_str().unwrap()]);
    let adapter = finished(&server, &run(&server, &spec(json!({"type": "sft"}))));
    let folder = import.path().join("adapter");
    fs::create_dir(&folder).unwrap();
    for name in ["adapter_config.json", WEIGHTS] {
        fs::write(folder.join(name), file(&server, &adapter, name)).unwrap();
    }
    let path = folder.to_str().unwrap();
    let refused = |body: Value| {
        let answer = server.post("/v1/models", &body);
        assert_eq!(answer.status, 422, "{}", answer.json());
        answer.json()["errors"][0]["code"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(refused(json!({"path": path, "base": "builtin:nothing"})), "unknown_model");
    let assets = import.path().join("whole");
    fs::create_dir(&assets).unwrap();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), assets.join(entry.file_name())).unwrap();
    }
    assert_eq!(refused(json!({"path": assets, "base": "builtin:arith-tiny"})), "invalid_value");
    assert_eq!(refused(json!({"path": path, "base": id(&adapter)})), "adapter_of_adapter");
    let model = server.import(&json!({"path": path, "base": "builtin:arith-tiny", "name": "theirs"}));
    assert_eq!((&model["status"], &model["base"]), (&json!("ready"), &json!("builtin:arith-tiny")), "{model}");
    assert_eq!(model["weights_sha256"], sha256(&adapter, WEIGHTS));
    // Evaluated, gone on from and trained as a whole, it is what the checkpoint is.
    let on = |start: &str| {
        let mut spec = spec(json!({"type": "sft"}));
        spec["adapter"] = json!({"type": "lora", "start": start});
        sha256(&finished(&server, &run(&server, &spec)), WEIGHTS).to_owned()
    };
    assert_eq!(on(id(&model)), on(id(&adapter)));
    let whole = |name: &str| {
        let mut spec = spec(json!({"type": "sft"}));
        (spec["model"], spec["adapter"]) = (json!(name), Value::Null);
        sha256(&finished(&server, &run(&server, &spec)), "model.safetensors").to_owned()
    };
    assert_eq!(whole(id(&model)), whole(id(&adapter)));
    // A number that is not finite is found when the bytes are there, and nothing is left.
    let mut bytes = fs::read(folder.join(WEIGHTS)).unwrap();
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(folder.join(WEIGHTS), bytes).unwrap();
    let broken = server.import(&json!({"path": path, "base": "builtin:arith-tiny"}));
    assert_eq!(broken["failure"]["code"], "adapter_not_finite", "{broken}");
    assert!(!data.path().join("models").join(id(&broken)).exists());
}

#[test]
fn what_cannot_be_adapted_is_refused_and_a_base_stays_while_adapters_need_it() {
    let (data, import) = (data_dir(), data_dir());
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny");
    let own = import.path().join("own");
    fs::create_dir(&own).unwrap();
    for entry in fs::read_dir(assets).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
        fs::copy(entry.path(), own.join(entry.file_name())).unwrap();
    }
    let server = Server::start_with(data.path(), &["--import-roots", import.path().to_str().unwrap()]);
    let model = server.import(&json!({"path": own.to_str().unwrap()}));
    let mut first = spec(json!({"type": "sft"}));
    first["model"] = model["id"].clone();
    let adapter = finished(&server, &run(&server, &first));
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut spec = spec(json!({"type": "sft"}));
        change(&mut spec);
        let answer = server.post("/v1/jobs", &spec);
        assert_eq!(answer.status, 422, "{}", answer.json());
        let error = answer.json()["errors"][0].clone();
        (error["pointer"].as_str().unwrap().to_owned(), error["code"].as_str().unwrap().to_owned())
    };
    let cases: [(Change, &str, &str); 10] = [
        (&|spec| spec["adapter"]["targets"] = json!(["q_proj", "w1"]), "/adapter/targets", "adapter_target_unknown"),
        (&|spec| spec["adapter"]["targets"] = json!(["lm_head"]), "/adapter/targets", "adapter_target_unsupported"),
        (&|spec| spec["adapter"]["rank"] = json!(0), "/adapter/rank", "out_of_range"),
        (&|spec| spec["adapter"]["ranks"] = json!(3), "/adapter/ranks", "unknown_field"),
        (&|spec| spec["adapter"]["start"] = adapter["id"].clone(), "/adapter/start", "adapter_base_differs"),
        (&|spec| spec["adapter"]["start"] = json!("ckpt_0"), "/adapter/start", "invalid_value"),
        (&|spec| spec["model"] = adapter["id"].clone(), "/model", "adapter_of_adapter"),
        (
            &|spec| {
                spec["adapter"] = Value::Null;
                spec["resources"] = json!({"share_base": true});
            },
            "/resources/share_base",
            "conflict",
        ),
        (&|spec| spec["resources"] = json!({"share_base": true, "devices": 2}), "/resources/share_base", "conflict"),
        (
            &|spec| {
                spec["model"] = model["id"].clone();
                spec["adapter"] = json!({"type": "lora", "rank": 8, "start": adapter["id"]});
            },
            "/adapter/rank",
            "adapter_mismatch",
        ),
    ];
    for (number, (change, pointer, code)) in cases.into_iter().enumerate() {
        assert_eq!(refused(change), (pointer.to_owned(), code.to_owned()), "case {number}");
    }

    let path = format!("/v1/models/{}", id(&model));
    let kept = server.delete(&path);
    assert_eq!(kept.status, 409, "{}", kept.json());
    assert!(kept.json()["detail"].as_str().unwrap().contains("adapters"), "{}", kept.json());
    assert_eq!(server.delete(&format!("/v1/checkpoints/{}", id(&adapter))).status, 200);
    assert_eq!(server.delete(&path).status, 200);
}

/// What samples with weights, or keys and values, of fewer bits is another distribution than the policy, which the metrics show and the kept
/// log-probabilities are those of; killed in the middle, the job ends with the same bytes.
#[test]
fn a_faster_sampler_is_measured_and_resumed_to_the_same_bytes() {
    let data = data_dir();
    let server = Server::start(data.path());
    for narrowed in [json!({"weights": "bf16"}), json!({"weights": "int8"}), json!({"cache": "bf16"})] {
        for adapter in [Value::Null, json!({"type": "lora", "rank": 4})] {
            let mut spec = spec(json!({"type": "p3o", "group_size": 4}));
            spec["adapter"] = adapter.clone();
            spec["sampling"].as_object_mut().unwrap().extend(narrowed.as_object().unwrap().clone());
            spec["train"]["track_reference"] = json!(true);
            spec["train"]["steps"] = json!(8);
            spec["checkpoints"] = json!({"every_steps": 2});
            let job = run(&server, &spec);
            let (most, mean) =
                (series(&server, &job, "logprob/max_abs_diff"), series(&server, &job, "logprob/mean_abs_diff"));
            assert!(
                most[0] > 0.0 && most[0] < 0.5 && mean[0] > 0.0 && mean[0] < 0.1,
                "{narrowed} {adapter}: {most:?} {mean:?}"
            );
            // The policy is the reference still, and what sampled is neither.
            assert_eq!(series(&server, &job, "kl/reference")[0], 0.0, "{narrowed} {adapter}");
            assert!(series(&server, &job, "kl/behavior")[0] > 0.0);
            // No step is on-policy, the first one neither, and P3O takes the ratios that were measured.
            assert!(series(&server, &job, "p3o/ess").iter().all(|ess| *ess < 1.0), "{narrowed} {adapter}");
            let name = if adapter.is_null() { "model.safetensors" } else { WEIGHTS };
            let wanted = sha256(&finished(&server, &job), name).to_owned();
            let worker = server.worker_pid();
            let again = server.submit(&spec);
            server.wait_until(&again, |job| job["step"].as_u64().unwrap_or(0) >= 3);
            signal(worker, "KILL");
            let again = server.wait(&again);
            assert_eq!((&again["status"], again["attempt"].as_u64() > Some(1)), (&json!("succeeded"), true), "{again}");
            assert_eq!(sha256(&finished(&server, &again), name), wanted, "{narrowed} {adapter}");
        }
        // Evaluations and rollout sets have no other weights, and take what they are told of keys and values.
        let evaluation = json!({"model": "builtin:arith-tiny", "dataset": "builtin:arithmetic", "prompts": 16, "samples": 2,
                                "pass_at": [1], "verifier": {"type": "numeric"}, "sampling": narrowed});
        let evaluation = server.post("/v1/evaluations", &evaluation).json();
        let job = server.wait(evaluation["job"].as_str().unwrap());
        assert_eq!(job["status"], "succeeded", "{job}");
    }
}
