//! `anneal bench` as a user runs it: what its figures are, never how large they are.

use std::process::{Command, Output};

use serde_json::Value;

fn bench(arguments: &[&str]) -> Output {
    // A folder without `anneal.toml`, so that only the arguments count.
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_anneal"));
    command.arg("bench").args(arguments).current_dir(folder.path()).output().unwrap()
}

fn figures(arguments: &[&str]) -> Value {
    let output = bench(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The results of one name, of which every number is a positive figure.
fn named<'a>(report: &'a Value, name: &str) -> Vec<&'a Value> {
    let all = report["results"].as_array().unwrap().iter();
    let found: Vec<&Value> = all.filter(|result| result["name"] == name).collect();
    for (key, value) in found.iter().flat_map(|result| result.as_object().unwrap()) {
        // JSON has no number that is not finite; such a one would be null.
        let is_figure = value.as_f64().is_some_and(|number| number > 0.0);
        assert!(is_figure || key == "name" || value.is_boolean(), "{key} is {value} in {name}");
    }
    found
}

#[test]
fn every_figure_is_there_and_a_shared_prompt_is_computed_once() {
    let report = figures(&["--model", "builtin:arith-tiny", "--seconds", "0.05", "--batch", "1,3", "--json"]);
    assert!(report["version"].as_str().unwrap().starts_with(env!("CARGO_PKG_VERSION")));
    assert!(report["date"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
    assert!(!report["machine"]["cpu"].as_str().unwrap().is_empty());
    assert!(report["machine"]["cores"].as_u64() > Some(0));
    assert_eq!((&report["model"], &report["compute"]), (&"builtin:arith-tiny".into(), &"f32".into()));
    assert_eq!(report["parameters"], 791_680);
    assert!(report["peak_memory_bytes"].as_u64() > Some(4 * 791_680));

    let matmul = named(&report, "matmul");
    assert_eq!(matmul.len(), 1);
    let rates = ["gflops", "library_gflops"].map(|key| matmul[0][key].as_f64().unwrap());
    assert_eq!(report["matmul_peak_gflops"].as_f64(), Some(rates[0].max(rates[1])));
    for name in ["prefill", "decode", "shared_prompt"] {
        let batches: Vec<&Value> = named(&report, name).iter().map(|result| &result["batch"]).collect();
        assert_eq!(batches, [1, 3], "{name}");
    }
    for result in named(&report, "shared_prompt") {
        assert_eq!((&result["prompt_tokens"], &result["new_tokens"]), (&64.into(), &64.into()), "{result}");
    }
    let train = named(&report, "train");
    assert_eq!(train.iter().map(|result| &result["recompute"]).collect::<Vec<_>>(), [false, true]);
    assert!(train.iter().all(|result| result["sequences"] == 64 && result["length"] == 64));
    let step = named(&report, "grpo_step");
    assert_eq!(step.len(), 1);
    assert!(step[0]["sampling_seconds"].as_f64() < step[0]["seconds"].as_f64());

    let instructions = report["machine"]["instructions"].as_str().unwrap();
    if instructions.starts_with("avx512") {
        assert_eq!(report["unfused"], Value::Array(Vec::new()));
    }
}

#[test]
fn only_what_is_asked_for_is_measured() {
    let report = figures(&["--model", "builtin:arith-tiny", "--seconds", "0.01", "--only", "train", "--json"]);
    let names: Vec<&Value> = report["results"].as_array().unwrap().iter().map(|result| &result["name"]).collect();
    assert_eq!(names, ["train", "train"]);
    assert!(report["matmul_peak_gflops"].as_f64() > Some(0.0));
}

#[test]
fn keys_and_values_in_bf16_are_measured_and_said() {
    let arguments =
        ["--model", "builtin:arith-tiny", "--seconds", "0.01", "--only", "sample", "--batch", "3", "--cache", "bf16"];
    let report = figures(&[&arguments[..], &["--json"]].concat());
    assert_eq!((&report["cache"], named(&report, "decode").len()), (&"bf16".into(), 1));
}

#[test]
fn without_json_a_table_is_printed() {
    let output = bench(&["--model", "builtin:arith-tiny", "--seconds", "0.01", "--only", "train", "--compute", "bf16"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["791,680 parameters, products in bf16", "train, 64 x 64 tokens", "peak memory", "unfused calls: "] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn a_model_that_is_not_there_is_named() {
    let output = bench(&["--model", "no-such-model", "--seconds", "0.01"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && output.stdout.is_empty());
    assert!(said.contains("`no-such-model`") && said.contains("tiny, smollm2-135m"), "{said}");
}
