//! Evaluations as a client sees them: measured prompt by prompt, browsed, and compared in pairs.

mod common;

use std::sync::LazyLock;

use common::{Server, data_dir, small_spec};
use serde_json::{Value, json};
use tempfile::TempDir;

const PROMPTS: usize = 64;

/// One server for the tests of this file, with evaluations of two models.
struct Shared {
    server: Server,
    /// Of a model with random weights.
    scratch: String,
    /// Of the model that can calculate.
    tiny: String,
    _folder: TempDir,
}

static SHARED: LazyLock<Shared> = LazyLock::new(|| {
    let folder = data_dir();
    let server = Server::start(&folder.path().join("data"));
    let of = |model: &str| finished(&server, &spec(model));
    let (scratch, tiny) = (of("builtin:arith-scratch"), of("builtin:arith-tiny"));
    Shared { scratch, tiny, server, _folder: folder }
});

fn server() -> &'static Server {
    &SHARED.server
}

fn spec(model: &str) -> Value {
    json!({
        "name": "held out",
        "model": model,
        "dataset": "builtin:arithmetic",
        "verifier": {"type": "numeric"},
        "sampling": {"max_new_tokens": 5, "batch_size": 64},
        "samples": 4,
        "pass_at": [1, 4],
        "prompts": PROMPTS,
        "seed": 5,
        "metadata": {"commit": "abc"}
    })
}

fn create(server: &Server, spec: &Value) -> Value {
    let answer = server.post("/v1/evaluations", spec);
    assert_eq!(answer.status, 201, "{}", answer.json());
    answer.json()
}

/// Makes an evaluation, waits for its end and returns its id.
fn finished(server: &Server, spec: &Value) -> String {
    let evaluation = create(server, spec);
    let job = server.wait(evaluation["job"].as_str().unwrap());
    assert_eq!(job["status"], "succeeded", "{job}");
    evaluation["id"].as_str().unwrap().to_owned()
}

fn evaluation(id: &str) -> Value {
    server().get(&format!("/v1/evaluations/{id}")).json()
}

/// All prompts of an evaluation, page by page.
fn results(id: &str, limit: usize) -> Vec<Value> {
    let (mut all, mut after) = (Vec::new(), String::from("0"));
    loop {
        let page = server().get(&format!("/v1/evaluations/{id}/results?limit={limit}&after={after}")).json();
        all.extend(page["data"].as_array().unwrap_or_else(|| panic!("{page}")).clone());
        if page["has_more"] == false {
            return all;
        }
        after = page["last_id"].as_str().unwrap().to_owned();
    }
}

fn compare(body: &Value) -> common::Answer {
    server().post("/v1/evaluations/compare", body)
}

#[test]
fn an_evaluation_is_broken_down_by_a_column_of_its_rows() {
    let row = |a: u32, b: u32| json!({"prompt": format!("{a}+{b}="), "answer": (a + b).to_string(), "about": {"carry": a % 10 + b % 10 > 9}});
    let rows: Vec<String> = (10..22).map(|a| row(a, 17).to_string()).collect();
    let headers = [("content-type", "application/jsonl")];
    let set = server().post_bytes("/v1/datasets?name=carries", rows.join("\n").as_bytes(), &headers).json();
    let asked = json!({"model": "builtin:arith-tiny", "dataset": set["id"], "verifier": {"type": "numeric"},
        "sampling": {"max_new_tokens": 5}, "samples": 4, "pass_at": [1, 4], "seed": 2});
    let id = finished(server(), &asked);
    let found = server().get(&format!("/v1/evaluations/{id}/breakdown?by=about.carry&k=1,2")).json();
    let values: Vec<&Value> = found["groups"].as_array().unwrap().iter().map(|group| &group["value"]).collect();
    assert_eq!(values, ["false", "true"], "{found}");
    // What the prompts tell one by one.
    let prompts =
        server().get(&format!("/v1/evaluations/{id}/results?limit=100")).json()["data"].as_array().unwrap().clone();
    for group in found["groups"].as_array().unwrap() {
        let carries = |prompt: &&Value| {
            let a: u32 = prompt["prompt"].as_str().unwrap()[..2].parse().unwrap();
            (a % 10 + 7 > 9) == (group["value"] == "true")
        };
        let own: Vec<&Value> = prompts.iter().filter(carries).collect();
        let sum = |field: &str| own.iter().map(|prompt| prompt[field].as_f64().unwrap()).sum::<f64>();
        assert_eq!((&group["prompts"], group["samples"].as_f64()), (&json!(own.len()), Some(sum("samples"))));
        let rate = &group["pass_at"][0];
        assert!((rate["mean"].as_f64().unwrap() - sum("passed") / sum("samples")).abs() < 1e-12, "{group}");
        assert!(rate["low"].as_f64() <= rate["mean"].as_f64() && rate["mean"].as_f64() <= rate["high"].as_f64());
        assert_eq!(group["pass_at"][1]["k"], 2);
        assert!((group["tokens_mean"].as_f64().unwrap() - sum("tokens") / sum("samples")).abs() < 1e-12);
    }
    // Without a column it says what the evaluation does.
    let whole = server().get(&format!("/v1/evaluations/{id}/breakdown")).json();
    let result = server().get(&format!("/v1/evaluations/{id}")).json()["result"].clone();
    assert_eq!(
        (&whole["groups"][0]["pass_at"], &whole["groups"][0]["majority"]),
        (&result["pass_at"], &result["majority"])
    );
    for wrong in ["by=colour", "k=5", "k=none"] {
        let answer = server().get(&format!("/v1/evaluations/{id}/breakdown?{wrong}"));
        assert_eq!((answer.status, answer.problem().as_str()), (400, "invalid_parameter"), "{wrong}");
    }
}

#[test]
fn what_an_evaluation_found_is_the_sum_of_its_prompts() {
    let found = evaluation(&SHARED.tiny);
    assert_eq!(
        (&found["object"], &found["status"], &found["name"]),
        (&json!("evaluation"), &json!("succeeded"), &json!("held out"))
    );
    assert_eq!(found["metadata"]["commit"], "abc");
    assert_eq!(found["spec"]["split"], "eval");
    let result = &found["result"];
    let prompts = results(&SHARED.tiny, 7);
    assert_eq!(prompts, results(&SHARED.tiny, 100));
    let sum = |key: &str| prompts.iter().map(|prompt| prompt[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!((prompts.len(), result["prompts"].as_u64()), (PROMPTS, Some(PROMPTS as u64)));
    assert_eq!(result["completions"], sum("samples"));
    assert_eq!(result["passed"], sum("passed"));
    assert_eq!(result["unparsable"], sum("unparsable"));
    assert_eq!(result["unscored"], 0);
    let rate = sum("passed") as f64 / sum("samples") as f64;
    assert!((result["pass_at"][0]["mean"].as_f64().unwrap() - rate).abs() < 1e-12, "{result}");
    assert!(rate > 0.1 && rate < 0.99, "the built-in model can calculate, but not all: {rate}");
    for (number, prompt) in prompts.iter().enumerate() {
        assert_eq!((prompt["number"].as_u64(), prompt["row"].as_u64()), (Some(number as u64 + 1), Some(number as u64)));
        assert_eq!(prompt["row_sha256"].as_str().unwrap().len(), 64);
        assert!(!prompt["prompt"].as_str().unwrap().is_empty());
    }
    let job = server().job(found["job"].as_str().unwrap());
    assert_eq!((&job["kind"], &job["evaluation"]), (&json!("evaluation"), &found["id"]));
    assert_eq!(job["result"]["pass_at"], result["pass_at"]);
    assert_eq!(job["result"]["evaluation"], found["id"]);
}

/// Both are the same function of seed, row and sample.
#[test]
fn an_evaluation_of_the_start_model_is_what_a_job_measures_before_it_begins() {
    let mut training = small_spec();
    (training["train"]["steps"], training["objective"]["rounds"]) = (json!(1), json!(1));
    let job = server().submit(&training);
    let job = server().wait(&job);
    let mut spec = spec("builtin:arith-tiny");
    (spec["seed"], spec["prompts"]) = (training["seed"].clone(), training["eval"]["prompts"].clone());
    let found = evaluation(&finished(server(), &spec));
    let (before, result) = (&job["result"]["before"], &found["result"]);
    for key in ["pass_at", "reward_mean", "tokens_mean", "truncated", "prompts", "samples"] {
        assert_eq!(before[key], result[key], "{key}: {before} {result}");
    }
    let checkpoint = job["result"]["checkpoint"].as_str().unwrap();
    spec["model"] = json!(checkpoint);
    let trained = evaluation(&finished(server(), &spec));
    assert_eq!((&trained["status"], &trained["model"]), (&json!("succeeded"), &json!(checkpoint)));
    // It goes with its job.
    let deleted = server().delete(&format!("/v1/jobs/{}", trained["job"].as_str().unwrap()));
    assert_eq!(deleted.status, 200, "{}", deleted.json());
    assert_eq!(server().get(&format!("/v1/evaluations/{}", trained["id"].as_str().unwrap())).status, 404);
}

#[test]
fn evaluations_are_listed_the_newest_first_and_page_by_page() {
    let page = server().get("/v1/evaluations?order=asc&limit=1").json();
    assert_eq!((&page["data"][0]["id"], &page["has_more"]), (&json!(SHARED.scratch), &json!(true)));
    let next = server().get(&format!("/v1/evaluations?order=asc&limit=1&after={}", SHARED.scratch)).json();
    assert_eq!(next["data"][0]["id"], SHARED.tiny);
    let newest = server().get("/v1/evaluations?limit=100").json();
    let ids: Vec<&str> = newest["data"].as_array().unwrap().iter().map(|e| e["id"].as_str().unwrap()).collect();
    assert!(ids.is_sorted_by(|a, b| a > b), "{ids:?}");
}

/// The interval by its formula: python -c "from scipy.stats import t; print(t.ppf(0.975, 63))"
const T_63: f64 = 1.998_340_542_520_741;

#[test]
fn a_model_that_can_calculate_is_better_than_one_that_cannot_by_students_paired_interval() {
    let body = json!({"baseline": SHARED.scratch, "candidate": SHARED.tiny, "min_improvement": 0.05});
    let answer = compare(&body);
    assert_eq!(answer.status, 200, "{}", answer.json());
    let found = answer.json();
    let rates = |id: &str| -> Vec<f64> {
        let rate = |prompt: &Value| prompt["passed"].as_f64().unwrap() / prompt["samples"].as_f64().unwrap();
        results(id, 100).iter().map(rate).collect()
    };
    let differences: Vec<f64> = rates(&SHARED.tiny)
        .iter()
        .zip(rates(&SHARED.scratch))
        .map(|(candidate, baseline)| candidate - baseline)
        .collect();
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / (n - 1.0);
    let half_width = T_63 * (variance / n).sqrt();
    for (key, expected) in [("difference", mean), ("low", mean - half_width), ("high", mean + half_width)] {
        let value = found[key].as_f64().unwrap();
        assert!((value - expected).abs() < 1e-9, "{key}: {value} {expected}");
    }
    assert_eq!(
        (&found["verdict"], &found["prompts"], &found["left_out"]),
        (&json!("better"), &json!(PROMPTS), &json!(0))
    );
    assert_eq!(found["gate"], json!({"min_improvement": 0.05, "passed": true}));
    let turned = compare(&json!({"baseline": SHARED.tiny, "candidate": SHARED.scratch, "min_improvement": 0.0})).json();
    assert_eq!((&turned["verdict"], &turned["gate"]["passed"]), (&json!("worse"), &json!(false)));
    assert_eq!(turned["low"].as_f64(), found["high"].as_f64().map(|high| -high));
}

#[test]
fn completions_are_kept_and_the_prompts_that_flip_are_named_with_both_texts() {
    let (scratch, tiny) = (&SHARED.scratch, &SHARED.tiny);
    for prompt in results(tiny, 20) {
        let completions = prompt["completions"].as_array().unwrap();
        let of = |name: &str| completions.iter().map(|c| c[name].as_f64().unwrap()).sum::<f64>();
        assert_eq!(completions.len() as u64, prompt["samples"].as_u64().unwrap());
        assert_eq!(of("tokens"), prompt["tokens"].as_f64().unwrap());
        let passed = completions.iter().filter(|c| c["reward"].as_f64() >= Some(0.5)).count() as u64;
        assert_eq!(passed, prompt["passed"].as_u64().unwrap());
        assert!(completions.iter().all(|c| c["completion"].is_string() && c["finish"].is_string()));
    }
    let flips = &compare(&json!({"baseline": scratch, "candidate": tiny})).json()["flips"];
    let named = flips["prompts"].as_array().unwrap();
    assert!(
        !named.is_empty() && named.len() as u64 == flips["gained"].as_u64().unwrap() + flips["lost"].as_u64().unwrap()
    );
    for (of, other) in [(scratch, tiny), (tiny, scratch)] {
        let mut differing = Vec::new();
        loop {
            let after = differing.last().map_or(0, |prompt: &Value| prompt["number"].as_u64().unwrap());
            let path = format!("/v1/evaluations/{of}/results?differs_from={other}&limit=7&after={after}");
            let page = server().get(&path).json();
            differing.extend(page["data"].as_array().unwrap().clone());
            if page["has_more"] == false {
                break;
            }
        }
        let numbers = |list: &[Value]| list.iter().map(|prompt| prompt["number"].as_u64().unwrap()).collect::<Vec<_>>();
        assert_eq!(numbers(&differing), numbers(named));
        for (prompt, flip) in differing.iter().zip(named) {
            let side = if of == tiny { "candidate_passed" } else { "baseline_passed" };
            assert_eq!((&prompt["passed"], &prompt["prompt"]), (&flip[side], &flip["prompt"]));
        }
    }
    let none = server().get(&format!("/v1/evaluations/{tiny}/results?differs_from={tiny}")).json();
    assert_eq!((&none["data"], &none["has_more"]), (&json!([]), &json!(false)));
    for wrong in ["x", "ev_00000000000070008000000000000000"] {
        assert!(server().get(&format!("/v1/evaluations/{tiny}/results?differs_from={wrong}")).status >= 400);
    }
    let behind = server().get(&format!("/v1/evaluations/{tiny}/results?after={}", u64::MAX)).json();
    assert_eq!(behind["data"], json!([]));
}

#[test]
fn a_model_is_neither_better_nor_worse_than_itself() {
    let found = compare(&json!({"baseline": SHARED.tiny, "candidate": SHARED.tiny, "k": 4})).json();
    assert_eq!(
        (&found["verdict"], &found["differing"], &found["gate"]),
        (&json!("inconclusive"), &json!(0), &json!(null))
    );
    assert_eq!(found["difference"], 0.0);
    // Another seed is another measurement of the same.
    let mut other = spec("builtin:arith-tiny");
    other["seed"] = json!(6);
    let other = finished(server(), &other);
    let found = compare(&json!({"baseline": SHARED.tiny, "candidate": other, "confidence": 0.999})).json();
    assert_eq!((&found["verdict"], &found["differences"]), (&json!("inconclusive"), &json!(["/seed"])), "{found}");
    assert!(found["differing"].as_u64() > Some(0), "{found}");
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_reason() {
    let mut fewer = spec("builtin:arith-tiny");
    fewer["prompts"] = json!(8);
    let fewer = finished(server(), &fewer);
    let mut otherwise = spec("builtin:arith-tiny");
    otherwise["verifier"] = json!({"type": "exact"});
    let otherwise = finished(server(), &otherwise);
    let tiny = &SHARED.tiny;
    let unknown = "ev_00000000000000000000000000000000";
    let table = [
        (json!({"baseline": tiny, "candidate": fewer}), "/candidate", "rows_differ"),
        (json!({"baseline": tiny, "candidate": otherwise}), "/candidate", "verifiers_differ"),
        (json!({"baseline": tiny, "candidate": tiny, "k": 5}), "/k", "out_of_range"),
        (json!({"baseline": tiny, "candidate": tiny, "k": 0}), "/k", "out_of_range"),
        (json!({"baseline": tiny, "candidate": tiny, "confidence": 1.0}), "/confidence", "out_of_range"),
        (json!({"baseline": tiny, "candidate": tiny, "min_improvement": -0.1}), "/min_improvement", "out_of_range"),
        (json!({"baseline": unknown, "candidate": tiny}), "/baseline", "not_found"),
        (json!({"baseline": "job_1", "candidate": tiny}), "/baseline", "not_found"),
        (json!({"baseline": tiny}), "/candidate", "missing_field"),
        (json!({"baseline": tiny, "candidate": tiny, "gate": 1}), "/gate", "unknown_field"),
    ];
    for (body, pointer, code) in table {
        let answer = compare(&body);
        assert_eq!((answer.status, answer.problem().as_str()), (422, "invalid_spec"), "{body}");
        let error = &answer.json()["errors"][0];
        assert_eq!((error["pointer"].as_str(), error["code"].as_str()), (Some(pointer), Some(code)), "{body}");
    }
}

#[test]
fn an_evaluation_that_is_not_complete_says_what_to_wait_for() {
    let mut long = spec("builtin:arith-tiny");
    (long["prompts"], long["samples"]) = (json!(800), json!(512));
    let long = create(server(), &long);
    let id = long["id"].as_str().unwrap();
    assert_eq!(long["result"], Value::Null);
    let refused = server().get(&format!("/v1/evaluations/{id}/results"));
    assert_eq!((refused.status, refused.problem().as_str()), (409, "evaluation_not_ready"));
    let refused = compare(&json!({"baseline": SHARED.tiny, "candidate": id}));
    assert_eq!((refused.status, refused.problem().as_str()), (409, "evaluation_not_ready"));
    let job = long["job"].as_str().unwrap();
    let rollouts = server().get(&format!("/v1/jobs/{job}/rollouts"));
    assert_eq!((rollouts.status, rollouts.problem().as_str()), (409, "rollouts_not_kept"));
    assert_eq!(server().post(&format!("/v1/jobs/{job}/cancel"), &json!({})).status, 200);
    server().wait(job);
    assert_eq!(evaluation(id)["status"], "cancelled");
    let refused = server().get(&format!("/v1/evaluations/{id}/results")).json();
    assert!(refused["detail"].as_str().unwrap().contains("cancelled"), "{refused}");
    for path in ["/v1/evaluations/ev_1", "/v1/evaluations/ev_00000000000000000000000000000000/results"] {
        assert_eq!(server().get(path).status, 404, "{path}");
    }
    // The id of a job of another kind is no evaluation's.
    let job = server().submit(&small_spec());
    assert_eq!(server().get(&format!("/v1/evaluations/{}", job.replace("job_", "ev_"))).status, 404);
    server().post(&format!("/v1/jobs/{job}/cancel"), &json!({}));
}

#[test]
fn an_invalid_spec_names_its_fields() {
    let upload = |rows: &str| -> String {
        let answer = server().post_bytes("/v1/datasets", rows.as_bytes(), &[("content-type", "application/jsonl")]);
        answer.json()["id"].as_str().unwrap().to_owned()
    };
    let unanswered = upload("{\"prompt\": \"1+1=\"}\n");
    let answered = upload("{\"prompt\": \"1+1=\", \"answer\": 2}\n");
    let table = [
        ("samples", json!(0), "/samples"),
        ("pass_at", json!([8]), "/pass_at"),
        ("model", json!("mdl_1"), "/model"),
        ("dataset", json!("ds_1"), "/dataset"),
        ("dataset", json!(unanswered), "/dataset"),
        ("split", json!("test"), "/split"),
        ("verifier", json!({"type": "none"}), "/verifier/type"),
        ("steps", json!(1), "/steps"),
    ];
    for (key, value, pointer) in table {
        let mut spec = spec("builtin:arith-tiny");
        spec[key] = value;
        let answer = server().post("/v1/evaluations", &spec);
        assert_eq!((answer.status, answer.problem().as_str()), (422, "invalid_spec"), "{spec}");
        assert_eq!(answer.json()["errors"][0]["pointer"], pointer, "{}", answer.json());
    }
    let mut spec = spec("builtin:arith-tiny");
    (spec["dataset"], spec["split"]) = (json!(answered), json!("eval"));
    assert_eq!(server().post("/v1/evaluations", &spec).json()["errors"][0]["pointer"], "/split");
    spec.as_object_mut().unwrap().remove("split");
    let evaluation = create(server(), &spec);
    assert!(evaluation["dataset"].as_str().unwrap().starts_with("dsv_"), "pinned to a version: {evaluation}");
}

#[test]
fn the_same_request_with_the_same_key_makes_one_evaluation() {
    let body = spec("builtin:arith-tiny").to_string();
    let headers = [("content-type", "application/json"), ("idempotency-key", "nightly")];
    let post = || server().post_bytes("/v1/evaluations", body.as_bytes(), &headers);
    let (first, second) = (post(), post());
    assert_eq!((first.status, second.status), (201, 201));
    assert_eq!(first.json()["id"], second.json()["id"]);
    assert_eq!((first.header("idempotent-replayed"), second.header("idempotent-replayed")), ("", "true"));
}

/// Sets that differ in what is asked, how many completions there are, and how long these may be.
fn suite(name: &str) -> Value {
    let set = |name: &str, change: Value| {
        let mut set = spec("");
        set.as_object_mut().unwrap().remove("model");
        set["name"] = json!(name);
        set.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        set
    };
    json!({"name": name, "metadata": {"team": "sums"}, "sets": [
        set("sums", json!({})),
        set("many", json!({"prompts": 8, "samples": 64, "pass_at": [1, 16, 64]})),
        set("short", json!({"prompts": 8, "sampling": {"max_new_tokens": 1}, "verifier": {"type": "exact"}})),
    ]})
}

fn over(run: &Value) -> Value {
    let path = format!("/v1/suite-runs/{}", run["id"].as_str().unwrap());
    for set in run["sets"].as_array().unwrap() {
        server().wait(evaluation(set["evaluation"].as_str().unwrap())["job"].as_str().unwrap());
    }
    server().get(&path).json()
}

#[test]
fn a_suite_evaluates_models_on_all_of_its_sets_as_evaluations_do() {
    let made = server().post("/v1/suites", &suite("sums of all kinds"));
    assert_eq!(made.status, 201, "{}", made.json());
    let made = made.json();
    let id = made["id"].as_str().unwrap();
    assert_eq!((&made["sets"][1]["seed"], &made["sets"][1]["model"]), (&json!(5), &Value::Null), "{made}");
    assert_eq!(server().get(&format!("/v1/suites/{id}")).json(), made);
    assert_eq!(server().get("/v1/suites/sums%20of%20all%20kinds").json(), made, "by its name");

    let run = |model: &str| {
        let run =
            server().post(&format!("/v1/suites/{id}/runs"), &json!({"model": model, "metadata": {"commit": "b"}}));
        assert_eq!(run.status, 201, "{}", run.json());
        run.json()
    };
    let begun = run("builtin:arith-tiny");
    assert_eq!((&begun["status"], &begun["suite"]), (&json!("running"), &json!(id)));
    let (tiny, scratch) = (over(&begun), over(&run("builtin:arith-scratch")));
    assert_eq!((&tiny["status"], &tiny["model"]), (&json!("succeeded"), &json!("builtin:arith-tiny")), "{tiny}");
    let names: Vec<&Value> = tiny["sets"].as_array().unwrap().iter().map(|set| &set["name"]).collect();
    assert_eq!(names, ["sums", "many", "short"]);
    // What the same evaluation finds by itself.
    assert_eq!(tiny["sets"][0]["result"], evaluation(&SHARED.tiny)["result"]);
    let many = &tiny["sets"][1]["result"];
    let ks: Vec<&Value> = many["pass_at"].as_array().unwrap().iter().map(|rate| &rate["k"]).collect();
    assert_eq!((json!(ks), &many["majority"]["k"]), (json!([1, 16, 64]), &json!(64)));
    // One completion is its own majority, and all of them are those of `majority`.
    let majorities = many["majority_at"].as_array().unwrap();
    assert_eq!(majorities.iter().map(|rate| rate["k"].clone()).collect::<Vec<_>>(), [1, 16, 64]);
    let mean = |rate: &Value| rate["mean"].as_f64().unwrap();
    assert_eq!(majorities[2], many["majority"]);
    assert!((mean(&majorities[0]) - mean(&many["pass_at"][0])).abs() < 0.02, "{many}");
    assert_eq!(tiny["sets"][2]["result"]["truncated"], 1.0);
    let single = evaluation(tiny["sets"][2]["evaluation"].as_str().unwrap());
    assert_eq!((&single["name"], &single["metadata"]), (&json!("sums of all kinds/short"), &json!({"commit": "b"})));
    // Runs compare set by set.
    let compared =
        compare(&json!({"baseline": scratch["sets"][1]["evaluation"], "candidate": tiny["sets"][1]["evaluation"]}));
    assert_eq!(compared.json()["verdict"], "better", "{}", compared.json());
    let list = server().get(&format!("/v1/suites/{id}/runs?limit=1")).json();
    assert_eq!((&list["data"][0], &list["has_more"]), (&scratch, &json!(true)), "the newest first");
    let rest = server().get(&format!("/v1/suites/{id}/runs?after={}", scratch["id"].as_str().unwrap())).json();
    assert_eq!(rest["data"], json!([tiny]));

    let evaluation_id = tiny["sets"][0]["evaluation"].as_str().unwrap();
    assert_eq!(server().delete(&format!("/v1/suites/{id}")).json()["object"], "suite.deleted");
    for path in [format!("/v1/suites/{id}"), format!("/v1/suite-runs/{}", tiny["id"].as_str().unwrap())] {
        assert_eq!(server().get(&path).status, 404, "{path}");
    }
    assert_eq!(evaluation(evaluation_id)["status"], "succeeded", "evaluations stay");
}

#[test]
fn what_is_wrong_with_a_suite_names_the_set_and_its_run_makes_all_or_nothing() {
    let rows = b"{\"prompt\": \"1+1=\"}\n";
    let unanswered = server().post_bytes("/v1/datasets", rows, &[("content-type", "application/jsonl")]).json();
    let with = |number: usize, key: &str, value: Value| {
        let mut suite = suite("wrong");
        suite["sets"][number][key] = value;
        suite
    };
    let thirty_three = json!({"sets": vec![suite("x")["sets"][0].clone(); 33]});
    let table = [
        (with(1, "dataset", unanswered["id"].clone()), "/sets/1/dataset"),
        (with(2, "model", json!("builtin:arith-tiny")), "/sets/2/model"),
        (with(0, "name", json!("many")), "/sets/1/name"),
        (with(0, "name", json!("")), "/sets/0/name"),
        (with(1, "pass_at", json!([65])), "/sets/1/pass_at"),
        (with(2, "verifier", json!({"type": "none"})), "/sets/2/verifier/type"),
        (with(0, "steps", json!(1)), "/sets/0/steps"),
        (json!({"sets": []}), "/sets"),
        (thirty_three, "/sets"),
        (json!({"sets": [1]}), "/sets/0/name"),
        (json!({"name": "n"}), "/sets"),
    ];
    for (body, pointer) in table {
        let answer = server().post("/v1/suites", &body);
        assert_eq!((answer.status, answer.problem().as_str()), (422, "invalid_spec"), "{body}");
        assert_eq!(answer.json()["errors"][0]["pointer"], pointer, "{}", answer.json());
    }
    let made = server().post("/v1/suites", &suite("right")).json();
    let runs = format!("/v1/suites/{}/runs", made["id"].as_str().unwrap());
    let refused = server().post(&runs, &json!({"model": "mdl_1"})).json();
    assert_eq!(refused["errors"].as_array().unwrap().len(), 1, "once, and not for each set: {refused}");
    assert_eq!(refused["errors"][0]["pointer"], "/model");
    assert_eq!(server().get(&runs).json()["data"], json!([]));
    assert_eq!(server().post("/v1/suites/nothing/runs", &json!({"model": "builtin:arith-tiny"})).status, 404);

    // A run that is asked for twice is one.
    let body = json!({"model": "builtin:arith-tiny"}).to_string();
    let headers = [("content-type", "application/json"), ("idempotency-key", "a run")];
    let post = || server().post_bytes(&runs, body.as_bytes(), &headers);
    let (first, second) = (post(), post());
    assert_eq!((first.status, second.status), (201, 201));
    assert_eq!(first.json()["id"], second.json()["id"]);
    assert_eq!(server().get(&runs).json()["data"].as_array().unwrap().len(), 1);
    // What is cancelled, and then deleted, is told as what it is.
    let run = first.json();
    let set = run["sets"][1]["evaluation"].as_str().unwrap();
    let job = evaluation(set)["job"].as_str().unwrap().to_owned();
    server().post(&format!("/v1/jobs/{job}/cancel"), &json!({}));
    assert_eq!(over(&run)["status"], "cancelled");
    assert_eq!(server().delete(&format!("/v1/jobs/{job}")).status, 200);
    let left = server().get(&format!("/v1/suite-runs/{}", run["id"].as_str().unwrap())).json();
    assert_eq!((&left["status"], &left["sets"][1]["status"]), (&json!("succeeded"), &json!("deleted")), "{left}");
}

/// The only run that a job asked for, when its suite is over.
fn run_after(server: &Server, suite: &str, job: &str) -> Value {
    for _ in 0..600 {
        let runs = server.get(&format!("/v1/suites/{suite}/runs?job={job}")).json()["data"].as_array().unwrap().clone();
        assert!(runs.len() <= 1, "{runs:?}");
        if let Some(run) = runs.first().filter(|run| run["status"] != "running") {
            return run.clone();
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("{job} has no finished run of {suite}");
}

#[test]
fn a_job_that_asks_for_a_suite_has_its_model_run_on_it_once_also_over_a_crash() {
    let folder = data_dir();
    let data = folder.path().join("data");
    let server = Server::start(&data);
    let sets = json!([{"name": "sums", "dataset": "builtin:arithmetic", "verifier": {"type": "numeric"}, "prompts": 8,
                       "samples": 1, "sampling": {"max_new_tokens": 4}}]);
    let made = server.post("/v1/suites", &json!({"name": "finals", "sets": sets})).json();
    let mut spec = small_spec();
    spec["train"]["steps"] = json!(2);
    spec["priority"] = json!(3);
    spec["eval"]["suite"] = json!("finals");
    let first = server.submit(&spec);
    let resolved = server.job(&first)["spec_resolved"]["eval"]["suite"].clone();
    assert_eq!(resolved, made["id"], "what a name stands for is pinned");
    server.wait(&first);
    server.kill();
    let server = Server::start(&data);
    let run = run_after(&server, "finals", &first);
    let expected = (json!("succeeded"), json!(first), server.job(&first)["result"]["checkpoint"].clone());
    assert_eq!((run["status"].clone(), run["after_job"].clone(), run["model"].clone()), expected, "{run}");
    let evaluation = server.get(&format!("/v1/evaluations/{}", run["sets"][0]["evaluation"].as_str().unwrap())).json();
    assert_eq!(server.job(evaluation["job"].as_str().unwrap())["priority"], 3, "{evaluation}");

    // A job that does not succeed has none.
    let cancelled = server.submit(&spec);
    server.post(&format!("/v1/jobs/{cancelled}/cancel"), &json!({}));
    server.wait(&cancelled);
    let other = server.submit(&spec);
    assert_eq!(run_after(&server, "finals", &other)["status"], "succeeded");
    let runs = server.get("/v1/suites/finals/runs").json()["data"].clone();
    assert_eq!(runs.as_array().unwrap().len(), 2, "{runs}");

    // What cannot be begun says why: of this set it shows with a model only.
    let mut broken = sets.clone();
    broken[0]["chat_template"] = json!("{% for");
    assert_eq!(server.post("/v1/suites", &json!({"name": "broken", "sets": broken})).status, 201);
    let mut with_broken = spec.clone();
    with_broken["eval"]["suite"] = json!("broken");
    let run = run_after(&server, "broken", &server.submit(&with_broken));
    assert_eq!((&run["status"], &run["sets"]), (&json!("failed"), &json!([])), "{run}");
    assert!(run["failure"]["code"].is_string() && run["failure"]["message"].is_string(), "{run}");

    let refused = |suite: Value| {
        let mut spec = spec.clone();
        spec["eval"]["suite"] = suite;
        let answer = server.post("/v1/jobs", &spec);
        (answer.status, answer.json()["errors"][0]["pointer"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(refused(json!("semifinals")), (422, String::from("/eval/suite")));
    assert_eq!(refused(json!(3)), (422, String::from("/eval/suite")));
    assert_eq!(server.get("/v1/suites/finals/runs?job=x").status, 400);
}
