//! The `math` verifier on cases of math-verify's own tests, and on any other file of that form.
//!
//! ```text
//! cargo test --test math_cases -- --nocapture
//! VERIFIER_CASES=/file.jsonl cargo test --test math_cases -- --nocapture
//! ```
//!
//! Each line has `id`, `gold`, `pred`, `expected` (0 or 1), and may have `strict`, `precision`,
//! `allow_set_relation_comp` and `match_types` (`default`, or a list of `latex`, `expr` and `string`).

use anneal::verifier::{Case, Config, Outside};
use serde_json::{Map, Value, json};

const CASES: &str = include_str!("data/math_cases.jsonl");

/// The configuration that a case asks for.
fn config(case: &Value) -> Value {
    let kinds = match &case["match_types"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => vec!["latex", "expr"],
    };
    let mut read: Vec<&str> = Vec::new();
    for kind in kinds {
        read.push(match kind {
            "latex" => "latex",
            "expr" => "plain",
            "string" => "text",
            other => panic!("match type {other} is not known"),
        });
    }
    let mut config = json!({"type": "math", "read": read});
    for name in ["strict", "precision", "allow_set_relation_comp"] {
        if !case[name].is_null() {
            config[name] = case[name].clone();
        }
    }
    config
}

#[test]
fn verdicts_agree_and_no_wrong_answer_is_taken_for_right() {
    let given = std::env::var("VERIFIER_CASES").ok();
    let text = match &given {
        Some(path) => std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}")),
        None => CASES.to_owned(),
    };
    let (mut cases, mut agree, mut wrong) = (0, 0, Vec::new());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).unwrap();
        let verifier = Config::parse(&config(&case), "").unwrap().build(&Outside::default());
        let text = |name: &str| case[name].as_str().unwrap_or_default().to_owned();
        let (gold, pred) = (text("gold"), text("pred"));
        let score = verifier.verify(&Case { prompt: "", completion: &pred, answer: Some(&gold), row: &Map::new() });
        let found = score.is_scored() && score.reward > 0.0;
        let expected = case["expected"].as_i64() == Some(1);
        cases += 1;
        if found == expected {
            agree += 1;
            continue;
        }
        println!("{}: {gold:.200?} and {pred:.200?} are expected to be {expected}: {:?}", text("id"), score.detail);
        if found {
            wrong.push(text("id"));
        }
    }
    println!("{agree} of {cases} verdicts agree; {} answers are taken for right that are not", wrong.len());
    if given.is_none() {
        assert!(agree * 100 >= cases * 97, "{agree} of {cases}");
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}
