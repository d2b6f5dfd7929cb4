//! Examples of the main requests and answers.

use serde_json::{Value, json};

/// Adds the examples to the operations that there are.
pub fn add(document: &mut Value) {
    for (path, method, name, summary, value) in requests() {
        let operation = document["paths"].get_mut(path).and_then(|item| item.get_mut(method));
        let content = operation.and_then(|operation| operation["requestBody"]["content"].as_object_mut());
        for (_, content) in content.into_iter().flatten() {
            content["examples"][name] = json!({"summary": summary, "value": value});
        }
    }
    for (path, method, status, value) in answers() {
        let operation = document["paths"].get_mut(path).and_then(|item| item.get_mut(method));
        if let Some(response) = operation.and_then(|operation| operation["responses"].get_mut(status)) {
            response["content"]["application/json"]["example"] = value;
        }
    }
    document["components"]["schemas"]["ProblemBody"]["examples"] = json!([problem()]);
    let stream = "/paths/~1v1~1jobs~1{id}~1events/get/responses/200/content/text~1event-stream";
    if let Some(stream) = document.pointer_mut(stream) {
        stream["example"] = json!(format!("id: 7\nevent: metrics\ndata: {}\n\n", event()));
    }
}

const MODEL: &str = "builtin:arith-tiny";
const ROWS: &str = "builtin:arithmetic";

/// Path, method, name, summary, body.
pub fn requests() -> Vec<(&'static str, &'static str, &'static str, &'static str, Value)> {
    let completion = json!({"completion": "12", "row": {"answer": "12"}});
    let seed = json!({"op": "replace", "path": "/seed", "value": 8});
    let numeric = json!({"type": "numeric"});
    let upload =
        json!({"filename": "rows.jsonl", "purpose": "fine-tune", "bytes": 79, "mime_type": "application/jsonl"});
    let grader = json!({"type": "string_check", "name": "equal", "operation": "eq", "input": "{{sample.output_text}}",
                        "reference": "12"});
    let grading = json!({"grader": grader, "model_sample": "12"});
    let rows = "{\"prompt\": \"7+5=\", \"answer\": \"12\"}\n{\"prompt\": \"9-4=\", \"answer\": \"5\"}\n";
    vec![
        ("/v1/jobs", "post", "bolt", "BOLT on the built-in model", bolt()),
        ("/v1/jobs", "post", "sft", "Supervised fine-tuning on the completions of a data set", sft()),
        ("/v1/rollout-sets", "post", "scored", "Eight scored completions for each of 50 prompts", rollout_set()),
        (
            "/v1/rollout-sets/{id}/frontier",
            "post",
            "defaults",
            "The temperatures that are looked at by default",
            json!({}),
        ),
        ("/v1/rollout-sets/{id}/advice", "post", "alone", "Without a teacher", json!({})),
        (
            "/v1/verifiers",
            "post",
            "numeric",
            "The last number of a completion",
            json!({"name": "last number", "config": {"type": "numeric"}}),
        ),
        ("/v1/verifiers/{id}/test", "post", "one", "One completion", json!({"completions": [completion]})),
        (
            "/v1/verifiers/{id}/audit",
            "post",
            "arithmetic",
            "A data set's first rows",
            json!({"dataset": ROWS, "rows": 8}),
        ),
        ("/v1/evaluations", "post", "arithmetic", "Four completions for each of 20 prompts", evaluation()),
        ("/v1/jobs/{id}/fork", "post", "seed", "The same with another seed", json!({"patch": [seed], "name": "again"})),
        ("/v1/rollout-sets/{id}/regrade", "post", "numeric", "By the last number", json!({"verifier": numeric})),
        ("/v1/uploads", "post", "rows", "Rows of 79 bytes, in parts", upload),
        ("/v1/fine_tuning/alpha/graders/run", "post", "equal", "Equal texts", grading),
        ("/v1/fine_tuning/alpha/graders/validate", "post", "equal", "Equal texts", json!({"grader": grader})),
        (
            "/v1/api-keys",
            "post",
            "ci",
            "A key for CI",
            json!({"name": "ci", "scopes": ["read", "write"], "expires_in_days": 90}),
        ),
        ("/v1/datasets", "post", "arithmetic", "Two rows", json!(rows)),
        ("/v1/datasets/{id}/versions", "post", "arithmetic", "Two rows", json!(rows)),
    ]
}

fn bolt() -> Value {
    json!({
        "name": "nightly",
        "model": MODEL,
        "dataset": {"train": ROWS, "eval": ROWS},
        "verifier": {"type": "numeric"},
        "objective": {"type": "bolt", "beta": 0.25, "group_size": 8, "rounds": 4},
        "sampling": {"max_new_tokens": 6, "batch_size": 256},
        "optimizer": {"learning_rate": 0.0001},
        "train": {"steps": 120, "prompts_per_step": 64},
        "eval": {"every_steps": 30, "samples": 8, "pass_at": [1, 8], "prompts": 200},
        "seed": 7,
        "metadata": {"commit": "4f2a91c"},
    })
}

fn sft() -> Value {
    json!({
        "model": MODEL,
        "dataset": {"train": "builtin:arithmetic-slips"},
        "objective": {"type": "sft"},
        "train": {"steps": 50, "prompts_per_step": 32},
    })
}

fn rollout_set() -> Value {
    json!({
        "model": MODEL,
        "dataset": {"train": ROWS},
        "verifier": {"type": "numeric"},
        "sampling": {"max_new_tokens": 6},
        "group_size": 8,
        "prompts": 50,
    })
}

fn evaluation() -> Value {
    json!({
        "model": MODEL,
        "dataset": ROWS,
        "verifier": {"type": "numeric"},
        "sampling": {"max_new_tokens": 6},
        "samples": 4,
        "prompts": 20,
    })
}

/// Path, method, status, body.
fn answers() -> Vec<(&'static str, &'static str, &'static str, Value)> {
    vec![
        ("/v1/jobs", "post", "201", job("queued")),
        ("/v1/jobs/{id}", "get", "200", job("running")),
        ("/v1/datasets", "post", "201", dataset()),
        ("/v1/checkpoints/{id}", "get", "200", checkpoint()),
        ("/v1/jobs/{id}/metrics", "get", "200", metrics()),
    ]
}

const JOB: &str = "job_0198f6c2a7d47e0c8f6f0d9f0e6b5a31";

fn job(status: &str) -> Value {
    let running = status == "running";
    json!({
        "id": JOB,
        "object": "job",
        "kind": "train",
        "name": "nightly",
        "status": status,
        "phase": running.then_some("training"),
        "created_at": 1_769_817_600,
        "started_at": running.then_some(1_769_817_604),
        "finished_at": null,
        "attempt": u32::from(running),
        "step": if running { 37 } else { 0 },
        "steps": 120,
        "objective": "bolt",
        "priority": 0,
        "memory_bytes": 54_525_952,
        "device_seconds": if running { 31.5 } else { 0.0 },
        "devices": if running { json!(["cpu"]) } else { json!([]) },
        "waiting": null,
        "last_seq": if running { 52 } else { 1 },
        "result": null,
        "failure": null,
        "rollout_set": null,
        "forked_from": null,
        "verifies": null,
        "evaluation": null,
        "spec": bolt(),
        "spec_resolved": bolt(),
        "spec_digest": format!("sha256:{DIGEST}"),
        "metadata": {"commit": "4f2a91c"},
    })
}

const DIGEST: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

fn dataset() -> Value {
    json!({
        "id": "ds_0198f6c2a7d47e0c8f6f0d9f0e6b5a31",
        "object": "dataset",
        "name": "sums",
        "created_at": 1_769_817_600,
        "metadata": {},
        "latest": {
            "id": "dsv_0198f6c2a7d47e0c8f6f0d9f0e6b5a32",
            "object": "dataset.version",
            "dataset": "ds_0198f6c2a7d47e0c8f6f0d9f0e6b5a31",
            "number": 1,
            "created_at": 1_769_817_600,
            "rows": 2,
            "bytes": 71,
            "sha256": DIGEST,
            "answers": 2,
            "completions": 0,
            "duplicates": 0,
            "columns": {"prompt": "prompt", "answer": "answer", "completion": "completion"},
        },
    })
}

fn checkpoint() -> Value {
    json!({
        "id": "ckpt_0198f6c2a7d47e0c8f6f0d9f0e6b5a31",
        "object": "checkpoint",
        "job": JOB,
        "kind": "inference",
        "step": 120,
        "attempt": 1,
        "bytes": 1_849_344,
        "files": [{"path": "model.safetensors", "size": 1_849_344, "sha256": DIGEST}],
        "created_at": 1_769_817_700,
    })
}

fn metrics() -> Value {
    json!({
        "object": "metrics",
        "job": JOB,
        "series": [{"name": "reward/mean", "steps": [1, 2, 3], "values": [0.41, 0.44, 0.48]}],
    })
}

fn event() -> Value {
    json!({
        "id": "evt_0198f6c2a7d47e0c8f6f0d9f0e6b5a31",
        "object": "event",
        "job": JOB,
        "seq": 7,
        "type": "metrics",
        "created_at": "2026-01-31T00:00:09Z",
        "level": "info",
        "message": "step 1 of 120",
        "data": {"step": 1, "values": {"reward/mean": 0.41}},
    })
}

fn problem() -> Value {
    let detail = "/objective/beta: must be above 0; 0.25 is a good start";
    json!({
        "type": "/docs/errors#invalid_spec",
        "title": "Unprocessable Entity",
        "status": 422,
        "detail": detail,
        "instance": "/v1/jobs",
        "code": "invalid_spec",
        "request_id": "8c6e3f0e-6f0a-4a34-9a40-5a0f3f1d2c11",
        "errors": [{"pointer": "/objective/beta", "code": "out_of_range", "detail": "must be above 0; 0.25 is a good start"}],
        "error": {
            "message": detail,
            "type": "invalid_request_error",
            "param": "objective.beta",
            "code": "invalid_spec",
        },
    })
}
