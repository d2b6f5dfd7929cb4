//! Every objective against reference values and gradients computed in float64 by an independent program.
//! `OBJECTIVE_VECTORS=/path/to/file.json cargo test --test objective_vectors` runs another file of the same form.

#[path = "common/padded.rs"]
mod padded;

use anneal::objective::{Config, math};
use candle_core::DType;
use padded::{Padded, close, flat};
use serde_json::{Value, json};

const DEFAULT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/objective_vectors.json");
/// What `baseline_vectors.py` beside it makes.
const BASELINES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/baseline_vectors.json");

/// The case's spec as a client would send it, and the number of updates per rollout.
fn spec_of(case: &Value) -> (Value, u32) {
    let name = case["objective"].as_str().unwrap();
    let mut spec = case["spec"].clone();
    let fields = spec.as_object_mut().unwrap();
    let updates = fields.remove("updates_per_rollout").map_or(1, |updates| updates.as_u64().unwrap() as u32);
    fields.remove("state");
    spec["type"] = json!(name);
    if name == "bolt" && spec["reference"] == "initial" {
        // Only from the second round on does the initial reference differ from the sampling policy.
        spec["rounds"] = json!(2);
    }
    if name == "vopd" {
        spec["teacher"] = json!("the vectors'");
    }
    (spec, updates)
}

fn run_case(index: usize, case: &Value, dtype: DType) {
    let expected = &case["expected"];
    let at = format!("case {index} {} {} in {dtype:?}", case["objective"], case["spec"]);
    let (spec, updates) = spec_of(case);
    let train = padded::train_spec(updates);
    let mut objective = Config::parse(&spec, "/objective").unwrap().build(&train);
    if let Some(state) = case["spec"].get("state") {
        objective.restore(state).unwrap();
    }
    let batch = Padded { dtype, ..Padded::from_case(&case["input"]) };
    let step = batch.step(objective.as_mut());

    for (field, tolerance) in [("weights", 1e-5), ("advantages", 1e-5)] {
        if let Some(want) = expected.get(field) {
            close(&format!("{at} {field}"), &step.credit, &flat(want), tolerance);
        }
    }
    if let Some(want) = expected.get("ess_fraction_per_group") {
        let ess: Vec<f64> = step.group_credits.iter().map(|credits| math::ess_share(credits)).collect();
        close(&format!("{at} ess"), &ess, &flat(want), 1e-5);
    }
    let statistics = [("ess", "p3o/ess"), ("alpha", "fade/alpha"), ("delta", "fade/delta")];
    let averages = [("solve_rate", "fade/solve_rate"), ("entropy", "fade/entropy")];
    for (field, metric) in statistics.into_iter().chain(averages) {
        if let Some(want) = expected.get(field).and_then(Value::as_f64) {
            let report = objective.step_report();
            let got = report.iter().find(|(name, _)| *name == metric).unwrap_or_else(|| panic!("{at}: no {metric}")).1;
            close(&format!("{at} {metric}"), &[got], &[want], 1e-5);
        }
    }
    if let Some(want) = expected.get("token_advantages") {
        let masked: Vec<f64> = step.token_credit.iter().zip(&batch.mask).map(|(a, m)| a * m).collect();
        close(&format!("{at} token advantages"), &masked, &flat(want), 1e-4);
    }
    if let Some(want) = expected.get("baseline").filter(|_| case["spec"]["baseline"] != "none") {
        let masked: Vec<f64> = step.divergence.iter().zip(&batch.mask).map(|(a, m)| a * m).collect();
        let want: Vec<f64> = flat(want).iter().zip(&batch.mask).map(|(a, m)| a * m).collect();
        close(&format!("{at} baseline"), &masked, &want, 1e-4);
    }
    // A loss is a sum whose terms may cancel, of which single precision leaves an absolute error.
    let (want, error) = (expected["loss"].as_f64().unwrap(), if dtype == DType::F32 { 2e-7 } else { 0.0 });
    assert!((step.loss - want).abs() <= 1e-5 * want.abs() + error, "{at} loss: {} against {want}", step.loss);
    close(&format!("{at} gradient"), &step.gradient, &flat(&expected["grad_policy_logits"]), 1e-4);
}

/// Runs all cases of a file, which are the answer.
fn run_all(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let file: Value = serde_json::from_str(&text).unwrap();
    let cases = file["cases"].as_array().unwrap();
    for (index, case) in cases.iter().enumerate() {
        for dtype in [DType::F32, DType::F64] {
            run_case(index, case, dtype);
        }
    }
    cases.clone()
}

#[test]
fn published_baselines_reproduce_the_reference_vectors() {
    assert!(run_all(BASELINES).len() >= 33);
}

#[test]
fn objectives_reproduce_the_reference_vectors() {
    let cases = run_all(&std::env::var("OBJECTIVE_VECTORS").unwrap_or_else(|_| DEFAULT.to_owned()));
    // Every objective that the file is for was run; a new one needs cases of its own.
    for name in ["sft", "bolt", "grpo", "p3o", "vopd", "fade"] {
        let count = cases.iter().filter(|case| case["objective"] == name).count();
        println!("{name}: {count} cases");
        assert!(count > 0, "no case for {name}");
    }
}
