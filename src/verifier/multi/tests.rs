//! Rewards of several members: formulas, rules, gates, limits and refusals.

use serde_json::json;

use super::*;
use crate::verifier::{self, ScoreStatus};

fn config(members: Value, formula: &str) -> Value {
    json!({"type": "multi", "name": "both", "graders": members, "calculate_output": formula})
}

fn members() -> Value {
    json!({
        "right": {"type": "string_check", "name": "right", "input": "{{ sample.output_text }}",
                  "reference": "{{ item.want }}", "operation": "eq"},
        "close": {"type": "numeric", "name": "close", "tolerance": 1.0},
    })
}

fn score(formula: &str, completion: &str, answer: Option<&str>) -> Score {
    let row = json!({"want": "42"});
    let case = Case { prompt: "", completion, answer, row: row.as_object().unwrap() };
    verifier::Config::parse(&config(members(), formula), "").unwrap().build(&Outside::default()).verify(&case)
}

#[test]
fn the_reward_is_the_formula_over_the_members() {
    let reward = |formula: &str, completion: &str| score(formula, completion, Some("42")).reward;
    assert_eq!(reward("0.5 * right + 2 * close", "42"), 2.5);
    assert_eq!(reward("0.5 * right + 2 * close", "43"), 2.0);
    assert_eq!(reward("right + close", "none"), 0.0);
}

#[test]
fn a_member_that_cannot_judge_and_a_reward_that_is_no_number_are_errors() {
    let failed = score("right", "42", None);
    assert_eq!(failed.status, ScoreStatus::Error);
    assert!(failed.detail.unwrap().contains("close"));
    assert_eq!(score("right / (close - 1)", "42", Some("42")).status, ScoreStatus::Error);
}

#[test]
fn mistakes_are_refused_where_they_stand() {
    let refusal = |value: Value| {
        let errors = verifier::Config::parse(&value, "/v").unwrap_err();
        (errors[0].pointer.clone(), errors[0].code)
    };
    let one = |name: &str, member: Value| config(json!({name: member}), "1");
    let exact = || json!({"type": "exact"});
    assert_eq!(refusal(config(members(), "right * wrong")), ("/v/calculate_output".to_owned(), "invalid_formula"));
    assert_eq!(refusal(config(json!({}), "1")), ("/v/graders".to_owned(), "out_of_range"));
    for name in ["", "two words", "max", "1st"] {
        assert_eq!(refusal(one(name, exact())), ("/v/graders".to_owned(), "out_of_range"), "{name}");
    }
    let python = one("a", json!({"type": "python", "source": "", "name": "a"}));
    assert_eq!(refusal(python), ("/v/graders/a/type".to_owned(), "unknown_value"));
    let nested = one("a", config(members(), "right"));
    assert_eq!(refusal(nested), ("/v/graders/a/type".to_owned(), "unknown_value"));
    let field = one("a", json!({"type": "numeric", "tolerence": 1}));
    assert_eq!(refusal(field), ("/v/graders/a/tolerence".to_owned(), "unknown_field"));
}

#[test]
fn a_whole_takes_as_long_as_its_members_together_and_no_limit_cuts_one_short() {
    let code = |limit: Value| json!({"type": "numeric", "time_limit_seconds": limit});
    let limit = |graders: Value, more: Value| {
        let mut config = json!({"type": "multi", "graders": graders, "combine": "min"});
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let config = verifier::Config::parse(&config, "/v").unwrap();
        (config.time_limit().as_secs_f64(), config.refused(&Outside::default(), "/v"))
    };
    let members = || json!({"a": code(json!(30)), "b": code(json!(20))});
    assert_eq!(limit(members(), json!({})), (50.0, Ok(())));
    assert_eq!(limit(members(), json!({"time_limit_seconds": 40})), (40.0, Ok(())));
    let (_, refused) = limit(members(), json!({"time_limit_seconds": 25}));
    let error = refused.unwrap_err().remove(0);
    assert_eq!((error.pointer.as_str(), error.code), ("/v/time_limit_seconds", "out_of_range"));
    assert!(error.detail.contains("below the 30 s of `a`"), "{error}");
    // Sixteen cases at a time, of which the number is asked for one after the other.
    let mixed = json!({"a": code(json!(2)), "b": {"type": "command", "command": "c", "time_limit_seconds": 60}});
    assert_eq!(limit(mixed, json!({})).0, 92.0);
}

#[test]
fn the_answer_is_that_of_the_member_that_decides_most() {
    let graders = json!({
        "form": {"type": "regex", "pattern": "(is)", "group": 1},
        "right": {"type": "numeric"},
        "short": {"type": "length", "length": 9},
    });
    for (rule, text, answer) in [
        (json!({"calculate_output": "0.2 * form + 0.8 * right"}), "it is 42", Some("42")),
        (json!({"calculate_output": "0.8 * form + 0.2 * right"}), "it is 42", Some("is")),
        (json!({"calculate_output": "0.2 * form + 0.8 * right"}), "it is", Some("is")),
        (json!({"combine": "weighted_mean", "weights": {"right": 3.0, "form": 2.0}}), "it is 42", Some("42")),
        (json!({"combine": "sum", "weights": {"short": 9.0, "form": 2.0}}), "it is 42", Some("is")),
        (json!({"combine": "sum"}), "none", None),
    ] {
        let mut config = json!({"type": "multi", "graders": graders});
        config.as_object_mut().unwrap().extend(rule.as_object().unwrap().clone());
        let case = Case { prompt: "", completion: text, answer: Some("42"), row: &serde_json::Map::new() };
        let score = verifier::Config::parse(&config, "").unwrap().build(&Outside::default()).verify(&case);
        assert_eq!(score.answer.as_deref(), answer, "{rule} {text}");
    }
}

#[test]
fn an_answer_is_needed_when_a_member_needs_one() {
    let needs =
        |members: Value| verifier::Config::parse(&config(json!({"a": members}), "a"), "").unwrap().needs_answer();
    assert!(needs(json!({"type": "numeric"})));
    assert!(!needs(members()["right"].clone()));
}

/// A verdict by rules on a text; `brief` gives 1 for a word, `words` what the text says of two.
fn ruled(fields: Value, completion: &str) -> Score {
    let check = |reference: &str| json!({"type": "string_check", "input": "{{ sample.output_text }}", "reference": reference, "operation": "like"});
    let graders = json!({"a": check("a"), "b": check("b"), "form": check("["), "number": {"type": "numeric"}});
    let mut config = json!({"type": "multi", "graders": graders});
    config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let names: Vec<String> = fields["of"]
        .as_array()
        .map_or(vec!["a".into(), "b".into()], |of| of.iter().map(|name| name.as_str().unwrap().to_owned()).collect());
    config["graders"].as_object_mut().unwrap().retain(|name, _| names.contains(name));
    config.as_object_mut().unwrap().remove("of");
    let case = Case { prompt: "", completion, answer: None, row: &serde_json::Map::new() };
    verifier::Config::parse(&config, "").unwrap().build(&Outside::default()).verify(&case)
}

#[test]
fn rules_combine_as_they_say() {
    for (rule, weights, rewards) in [
        ("weighted_mean", json!({}), [0.0, 0.5, 0.5, 1.0]),
        ("weighted_mean", json!({"a": 3.0}), [0.0, 0.75, 0.25, 1.0]),
        ("sum", json!({"b": -0.5}), [0.0, 1.0, -0.5, 0.5]),
        ("product", json!({}), [0.0, 0.0, 0.0, 1.0]),
        ("min", json!({}), [0.0, 0.0, 0.0, 1.0]),
        ("max", json!({}), [0.0, 1.0, 1.0, 1.0]),
        ("all", json!({}), [0.0, 0.0, 0.0, 1.0]),
        ("any", json!({}), [0.0, 1.0, 1.0, 1.0]),
    ] {
        for (text, reward) in ["x", "a", "b", "ab"].into_iter().zip(rewards) {
            let score = ruled(json!({"combine": rule, "weights": weights}), text);
            assert_eq!(score.reward, reward, "{rule} {weights} {text}");
            assert_eq!(score.parts.len(), 2);
        }
    }
    assert_eq!(ruled(json!({"combine": "all", "pass": 0.0}), "x").reward, 1.0);
}

#[test]
fn behind_a_closed_gate_nobody_is_asked() {
    let config = || {
        json!({"of": ["a", "form"], "combine": "sum", "weights": {"form": 0.0}, "gates": {"form": 1.0},
                           "closed_reward": -1.0})
    };
    let (open, closed) = (ruled(config(), "[a"), ruled(config(), "a"));
    assert_eq!((open.reward, open.parts.len()), (1.0, 2));
    assert_eq!((closed.reward, closed.parts.len()), (-1.0, 1));
    assert!(closed.detail.unwrap().contains("`form`"));
    // What is behind the gate cannot judge without an answer, and is asked only where the gate is open.
    let number = || json!({"of": ["form", "number"], "calculate_output": "number", "gates": {"form": 1.0}});
    assert_eq!(ruled(number(), "1").status, ScoreStatus::Ok);
    assert_eq!(ruled(number(), "[1").status, ScoreStatus::Error);
    let broken = json!({"of": ["form", "number"], "calculate_output": "form", "gates": {"number": 1.0}});
    assert_eq!(ruled(broken, "[").status, ScoreStatus::Error);
}

#[test]
fn many_cases_are_judged_as_one_by_one() {
    let config = json!({"type": "multi", "graders": members(), "combine": "weighted_mean", "gates": {"close": 1.0}});
    let multi = verifier::Config::parse(&config, "").unwrap().build(&Outside::default());
    let row = json!({"want": "42"});
    let case = |completion| Case { prompt: "", completion, answer: Some("42"), row: row.as_object().unwrap() };
    let cases = ["42", "none", "43", "7"].map(case);
    let alone: Vec<Score> = cases.iter().map(|case| multi.verify(case)).collect();
    assert_eq!(multi.verify_many(&cases), alone);
    assert_eq!(alone.iter().map(|score| score.reward).collect::<Vec<_>>(), [1.0, 0.0, 0.5, 0.0]);
    assert_eq!(multi.part_names(), ["close", "right"]);
}

#[test]
fn what_rules_cannot_mean_is_refused_where_it_stands() {
    for (fields, pointer, code) in [
        (json!({}), "/v/calculate_output", "missing_field"),
        (json!({"combine": "min", "calculate_output": "right"}), "/v/combine", "conflict"),
        (json!({"combine": "average"}), "/v/combine", "unknown_value"),
        (json!({"combine": "sum", "weights": {"wrong": 1}}), "/v/weights/wrong", "unknown_value"),
        (json!({"combine": "sum", "weights": {"right": 1e9}}), "/v/weights/right", "out_of_range"),
        (json!({"combine": "min", "weights": {"right": 1}}), "/v/weights", "out_of_range"),
        (json!({"combine": "weighted_mean", "weights": {"right": -1}}), "/v/weights", "out_of_range"),
        (json!({"combine": "weighted_mean", "weights": {"right": 0, "close": 0}}), "/v/weights", "out_of_range"),
        (json!({"calculate_output": "right", "gates": {"a/b": 1}}), "/v/gates/a~1b", "unknown_value"),
    ] {
        let mut config = json!({"type": "multi", "graders": members()});
        config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let errors = verifier::Config::parse(&config, "/v").unwrap_err();
        assert_eq!((errors[0].pointer.as_str(), errors[0].code), (pointer, code), "{fields}");
    }
}
