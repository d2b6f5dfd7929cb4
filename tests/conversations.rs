//! What a spec says of prompts, through the whole program: a chat template of its own, which turns are learnt, reasoning,
//! and the longest prompt.

mod common;

use common::{Server, data_dir, small_spec};
use serde_json::{Value, json};

/// Messages one after the other, which the built-in model reads as its own text.
const TEMPLATE: &str = "{% for m in messages %}{{ m.content }}{% endfor %}";

fn spec(dataset: Value) -> Value {
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(2);
    spec["train"]["prompts_per_step"] = json!(2);
    spec["eval"] = json!({"before": false, "samples": 1, "pass_at": [1], "prompts": 4});
    spec["dataset"] = dataset;
    spec
}

fn uploaded(server: &Server, rows: &[Value]) -> Value {
    let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
    server.post_bytes("/v1/datasets", lines.as_bytes(), &[("content-type", "application/x-ndjson")]).json()["id"]
        .clone()
}

fn run(server: &Server, spec: &Value) -> Value {
    let id = server.submit(spec);
    let job = server.wait(&id);
    assert_eq!(job["status"], "succeeded", "{job}");
    job
}

fn last(server: &Server, job: &Value, name: &str) -> f64 {
    let id = job["id"].as_str().unwrap();
    let all = server.get(&format!("/v1/jobs/{id}/metrics?keys={name}")).json();
    let series = all["series"].as_array().unwrap().iter().find(|series| series["name"] == name);
    let values = series.unwrap_or_else(|| panic!("no {name}"))["values"].as_array().unwrap();
    values.last().unwrap().as_f64().unwrap()
}

#[test]
fn a_specs_own_chat_template_is_used_and_goes_with_the_model() {
    let data = data_dir();
    let server = Server::start(data.path());
    let rows = [("1+1=", "2"), ("2+2=", "4")].map(|(prompt, answer)| json!({"prompt": prompt, "answer": answer}));
    let train = uploaded(&server, &rows);
    let template = "{{ messages[0].content }}{% if enable_thinking %}{% endif %}";
    let spec = |dataset: Value| {
        let mut spec = spec(dataset);
        // It learns whatever the rewards are.
        spec["objective"] = json!({"type": "vopd", "teacher": "builtin:arith-tiny"});
        spec
    };
    let job = run(&server, &spec(json!({"train": train, "format": "chat", "chat_template": template})));
    // It knows reasoning, and says so.
    assert_eq!(job["spec_resolved"]["dataset"]["thinking"], true);
    assert_eq!(last(&server, &job, "completion/thinking_unfinished"), 1.0);
    assert_eq!(last(&server, &job, "completion/answer_tokens_mean"), 0.0);
    // Nothing of a completion that does not end its reasoning is judged.
    assert_eq!(last(&server, &job, "reward/mean"), 0.0);
    let checkpoint = job["result"]["checkpoint"].as_str().unwrap();
    let file = server.get(&format!("/v1/checkpoints/{checkpoint}/files/chat_template.jinja"));
    assert_eq!(String::from_utf8(file.bytes).unwrap(), template);

    let answers = json!({"train": train, "format": "chat", "chat_template": template, "thinking": false});
    let job = run(&server, &spec(answers));
    assert!(last(&server, &job, "reward/mean") > 0.0);
}

#[test]
fn the_turns_that_are_learnt_are_those_that_the_spec_names() {
    let data = data_dir();
    let server = Server::start(data.path());
    let said = |role: &str, content: &str| json!({"role": role, "content": content});
    let row = |a: &str, b: &str| {
        let prompt = [said("user", "1+1="), said("assistant", a), said("user", " 20+20=")];
        json!({"prompt": prompt, "completion": b, "answer": b})
    };
    let train = uploaded(&server, &[row("2", "40"), row("2", "40")]);
    let tokens = |train_on: &str| {
        let dataset = json!({"train": train, "chat_template": TEMPLATE, "train_on": train_on});
        let mut spec = spec(dataset);
        spec["objective"] = json!({"type": "sft"});
        last(&server, &run(&server, &spec), "step/tokens")
    };
    // Two digits and the end; and the first answer too, whose turn the template does not end.
    assert_eq!(tokens("last"), 2.0 * 3.0);
    assert_eq!(tokens("all_assistant"), 2.0 * (1.0 + 2.0));
}

#[test]
fn what_a_spec_says_wrongly_of_prompts_is_named() {
    let data = data_dir();
    let server = Server::start(data.path());
    let train = uploaded(&server, &[json!({"prompt": "1+1=", "answer": "2"})]);
    let refused = |dataset: Value, pointer: &str, code: &str| {
        let answer = server.post("/v1/jobs", &spec(dataset));
        assert_eq!(answer.status, 422);
        let error = &answer.json()["errors"][0];
        assert_eq!((&error["pointer"], &error["code"]), (&json!(pointer), &json!(code)), "{error}");
    };
    refused(json!({"train": train, "chat_template": "{% if %}"}), "/dataset/chat_template", "chat_template_failed");
    refused(json!({"train": train, "max_prompt_tokens": 0}), "/dataset/max_prompt_tokens", "out_of_range");
    refused(json!({"train": train, "train_on": "some"}), "/dataset/train_on", "unknown_value");
    let mut unfit = spec(json!({"train": train}));
    unfit["train"]["router_aux_loss_coef"] = json!(0.01);
    let answer = server.post("/v1/jobs", &unfit);
    assert_eq!(
        (answer.status, answer.json()["errors"][0]["pointer"].as_str()),
        (422, Some("/train/router_aux_loss_coef"))
    );

    let job = server.submit(&spec(json!({"train": train, "max_prompt_tokens": 1})));
    let job = server.wait(&job);
    assert_eq!((&job["status"], &job["failure"]["code"]), (&json!("failed"), &json!("prompt_too_long")), "{job}");
}
