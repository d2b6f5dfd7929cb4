//! Whether verifiers can be trusted: audits on rows of data sets, and jobs that require them.

mod common;

use std::sync::LazyLock;

use common::{Server, data_dir, small_spec};
use serde_json::{Value, json};
use tempfile::TempDir;

/// One server for the tests of this file.
static SHARED: LazyLock<(Server, TempDir)> = LazyLock::new(|| {
    let folder = data_dir();
    (Server::start(&folder.path().join("data")), folder)
});

fn server() -> &'static Server {
    &SHARED.0
}

fn upload(rows: &str) -> Value {
    let jsonl = [("content-type", "application/jsonl")];
    let answer = server().post_bytes("/v1/datasets?name=rows", rows.as_bytes(), &jsonl);
    assert_eq!(answer.status, 201, "{}", answer.json());
    answer.json()
}

fn row(prompt: &str, answer: u32) -> String {
    json!({"prompt": prompt, "answer": answer}).to_string()
}

#[test]
fn an_audit_finds_a_verifier_that_fails_right_answers() {
    let store = |config: Value| -> String {
        let verifier = server().post("/v1/verifiers", &json!({"config": config})).json();
        format!("/v1/verifiers/{}/audit", verifier["id"].as_str().unwrap())
    };
    let good = server().post(&store(json!({"type": "numeric"})), &json!({"dataset": "builtin:arithmetic"})).json();
    assert_eq!(
        (&good["rows"], &good["passed"], &good["pass_rate"]),
        (&json!(1000), &json!(1000), &json!(1.0)),
        "{good}"
    );
    assert_eq!((&good["examples"], &good["verdict"], &good["reasons"]), (&json!([]), &json!("trusted"), &json!([])));
    let probes: Vec<&str> = good["probes"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(probes, ["other_answer", "empty", "echo", "all_answers", "long", "repeated"]);
    assert_eq!((&good["unstable"], &good["probes"][1]["passed"]), (&json!(0), &json!(0)), "{good}");
    assert!(good["latency"]["verdicts"].as_u64().unwrap() > 1000 && good["latency"]["p95_seconds"].is_f64(), "{good}");
    let rows = format!("{}\n{}\n{}\n", row("a", 1), json!({"prompt": "b", "answer": "two"}), json!({"prompt": "c"}));
    let dataset = upload(&rows)["id"].clone();
    let tagged = store(json!({"type": "regex", "pattern": "answer: (.+)", "group": 1}));
    let found = server().post(&tagged, &json!({"dataset": dataset})).json();
    assert_eq!((&found["verdict"], &found["reasons"][0]["code"]), (&json!("suspicious"), &json!("too_few_rows")));
    let counts =
        ["rows", "skipped", "passed", "failed", "unparsable", "errors", "from_completion"].map(|key| &found[key]);
    assert_eq!(counts, [3, 1, 0, 0, 2, 0, 0], "{found}");
    assert_eq!((&found["examples"][1]["row"], &found["examples"][1]["completion"]), (&json!(1), &json!("two")));
    for (body, pointer) in [
        (json!({"dataset": dataset, "rows": 0}), "/rows"),
        (json!({"dataset": dataset, "rows": 1001}), "/rows"),
        (json!({"dataset": "ds_1"}), "/dataset"),
        (json!({}), "/dataset"),
    ] {
        let refused = server().post(&tagged, &body);
        assert_eq!((refused.status, refused.json()["errors"][0]["pointer"].as_str()), (422, Some(pointer)));
    }
}

#[test]
fn a_job_that_requires_an_audit_waits_for_one_that_finds_its_verifier_trusted() {
    let rows: String = (0..20).map(|i| row(&format!("{i}+1="), i + 1) + "\n").collect();
    let dataset = upload(&rows)["id"].clone();
    let good = json!({"type": "numeric"});
    let anything = json!({"type": "multi", "graders": {"right": {"type": "numeric"}}, "calculate_output": "1 + right"});
    let mut spec = small_spec();
    (spec["dataset"], spec["require_audit"]) = (json!({"train": dataset}), json!(true));
    let mut refusal = |verifier: &Value| {
        spec["verifier"] = verifier.clone();
        let answer = server().post("/v1/jobs?dry_run=validate", &spec);
        let errors = answer.json()["errors"].clone();
        let detail = errors[0]["detail"].as_str().unwrap_or_default().to_owned();
        (answer.status, errors[0]["pointer"].clone(), errors[0]["code"].clone(), detail)
    };
    let audit = |config: &Value| {
        let verifier = server().post("/v1/verifiers", &json!({"config": config})).json();
        let path = format!("/v1/verifiers/{}/audit", verifier["id"].as_str().unwrap());
        server().post(&path, &json!({"dataset": dataset})).json()
    };
    let refused = |found: (u16, Value, Value, String), words: &str| {
        assert_eq!((found.0, &found.1, &found.2), (422, &json!("/require_audit"), &json!("not_audited")), "{found:?}");
        assert!(found.3.contains(words), "{found:?}");
    };
    refused(refusal(&good), "was not audited");
    assert_eq!(audit(&good)["verdict"], "trusted");
    assert_eq!(refusal(&good).0, 200, "the same configuration, though it is inline");
    refused(refusal(&json!({"type": "numeric", "tolerance": 0.5})), "was not audited");
    let found = audit(&anything);
    let reasons: Vec<&str> = found["reasons"].as_array().unwrap().iter().map(|r| r["code"].as_str().unwrap()).collect();
    // Other answers earn less than the right one.
    assert_eq!(reasons, ["empty_passes", "echo_passes"], "{found}");
    assert_eq!(found["probes"][1]["example"]["completion"], "", "{found}");
    refused(refusal(&anything), "100.0 % of the empty completions pass");
}

#[test]
fn trust_cannot_be_had_by_asking_for_less() {
    let rows: String = (10..210).map(|i| row(&format!("{i}+1="), i + 1) + "\n").collect();
    let dataset = upload(&rows)["id"].clone();
    let audit = |config: &Value, most: usize| {
        let verifier = server().post("/v1/verifiers", &json!({"config": config})).json();
        let path = format!("/v1/verifiers/{}/audit", verifier["id"].as_str().unwrap());
        let audit = server().post(&path, &json!({"dataset": dataset, "rows": most})).json();
        let reasons = audit["reasons"].as_array().unwrap().clone();
        let codes: Vec<String> = reasons.iter().map(|reason| reason["code"].as_str().unwrap().to_owned()).collect();
        (codes, reasons)
    };
    let wide = json!({"type": "numeric", "tolerance": 501});
    let found = ["too_few_rows", "other_answers_pass", "echo_passes", "all_answers_pass"];
    assert_eq!(audit(&wide, 1000).0, found[1..]);
    assert_eq!(audit(&wide, 1).0, found);
    let (codes, reasons) = audit(&json!({"type": "numeric"}), 3);
    assert_eq!(codes, ["too_few_rows"]);
    let message = reasons[0]["message"].as_str().unwrap();
    assert_eq!(message, "only 3 rows were judged of the 10 that it takes: `rows` asked for 3");
    let mut spec = small_spec();
    (spec["dataset"], spec["verifier"], spec["require_audit"]) = (json!({"train": dataset}), wide, json!(true));
    let answer = server().post("/v1/jobs?dry_run=validate", &spec);
    assert_eq!((answer.status, &answer.json()["errors"][0]["code"]), (422, &json!("not_audited")));
}
