//! Every objective against reference values and gradients computed in float64 by an independent program.
//! `OBJECTIVE_VECTORS=/path/to/file.json cargo test --test objective_vectors` runs another file of the same form.

use anneal::objective::{Config, Group, Needs, Objective, StepTotals, TokenBatch, catalog, math};
use candle_core::{D, Device, Tensor, Var};
use candle_nn::ops::log_softmax;
use serde_json::{Value, json};

const DEFAULT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/objective_vectors.json");

fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(flat).collect(),
        number => vec![number.as_f64().expect("a number")],
    }
}

fn close(name: &str, got: &[f64], expected: &[f64], relative: f64) {
    assert_eq!(got.len(), expected.len(), "{name}");
    let scale = expected.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    for (i, (g, e)) in got.iter().zip(expected).enumerate() {
        assert!((g - e).abs() <= relative * scale.max(1e-12), "{name}[{i}]: got {g}, expected {e}");
    }
}

fn tensor(values: &[f64], shape: &[usize]) -> Tensor {
    let values: Vec<f32> = values.iter().map(|v| *v as f32).collect();
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
}

/// Credits and statistics by group, with the sequences of groups that were left out masked away.
struct Credited {
    credit: Vec<f64>,
    ess: Vec<f64>,
    kept: Vec<bool>,
}

fn credit(objective: &dyn Objective, needs: Needs, input: &Value, shape: [usize; 2]) -> Credited {
    let [b, t] = shape;
    let rewards = flat(&input["rewards"]);
    let groups = flat(&input["group"]);
    let (mask, behavior, reference) =
        (flat(&input["mask"]), flat(&input["behavior_logprobs"]), flat(&input["reference_logprobs"]));
    let log_ratios: Vec<f64> =
        (0..b).map(|s| (s * t..(s + 1) * t).map(|i| mask[i] * (reference[i] - behavior[i])).sum()).collect();
    let mut out = Credited { credit: vec![0.0; b], ess: Vec::new(), kept: vec![false; b] };
    let count = groups.iter().fold(0.0_f64, |m, g| m.max(*g)) as usize + 1;
    for g in 0..count {
        let members: Vec<usize> = (0..b).filter(|s| groups[*s] as usize == g).collect();
        let pick = |values: &[f64]| members.iter().map(|s| values[*s]).collect::<Vec<f64>>();
        let ratios = if needs.reference { pick(&log_ratios) } else { Vec::new() };
        match objective.credit(&Group { rewards: &pick(&rewards), reference_log_ratios: &ratios }) {
            None => out.ess.push(0.0),
            Some(credits) => {
                out.ess.push(math::ess_share(&credits));
                for (s, c) in members.iter().zip(credits) {
                    out.credit[*s] = c;
                    out.kept[*s] = true;
                }
            }
        }
    }
    out
}

fn run_case(index: usize, case: &Value) {
    let (name, input, expected) = (case["objective"].as_str().unwrap(), &case["input"], &case["expected"]);
    let mut spec = case["spec"].clone();
    spec["type"] = json!(name);
    if name == "bolt" && spec["reference"] == "initial" {
        // Only from the second round on does the initial reference differ from the sampling policy.
        spec["rounds"] = json!(2);
    }
    let objective = Config::parse(&spec, "/objective").unwrap().build();
    let size = |key: &str| input[key].as_u64().unwrap() as usize;
    let (b, t, v) = (size("B"), size("T"), size("V"));
    let credited = credit(objective.as_ref(), objective.needs(), input, [b, t]);
    let at = format!("case {index} {name} {}", case["spec"]);
    if let Some(weights) = expected.get("weights") {
        close(&format!("{at} weights"), &credited.credit, &flat(weights), 1e-5);
        close(&format!("{at} ess"), &credited.ess, &flat(&expected["ess_fraction_per_group"]), 1e-5);
    }

    let logits = Var::from_tensor(&tensor(&flat(&input["policy_logits"]), &[b, t, v])).unwrap();
    let tokens: Vec<u32> = flat(&input["tokens"]).iter().map(|x| *x as u32).collect();
    let tokens = Tensor::from_vec(tokens, (b, t, 1), &Device::Cpu).unwrap();
    let policy_logprobs =
        log_softmax(logits.as_tensor(), D::Minus1).unwrap().gather(&tokens, 2).unwrap().squeeze(2).unwrap();
    let mask: Vec<f64> =
        flat(&input["mask"]).iter().enumerate().map(|(i, m)| if credited.kept[i / t] { *m } else { 0.0 }).collect();
    let totals =
        StepTotals { tokens: mask.iter().sum(), sequences: credited.kept.iter().filter(|kept| **kept).count() as f64 };
    let credit: Vec<f64> = (0..b * t).map(|i| credited.credit[i / t]).collect();
    let batch = TokenBatch {
        policy_logprobs: &policy_logprobs,
        credit: &tensor(&credit, &[b, t]),
        mask: &tensor(&mask, &[b, t]),
    };
    let loss = (objective.loss(&batch).unwrap() / objective.normalizer(&totals)).unwrap();
    let value = f64::from(loss.to_scalar::<f32>().unwrap());
    close(&format!("{at} loss"), &[value], &[expected["loss"].as_f64().unwrap()], 1e-5);

    let gradients = loss.backward().unwrap();
    let gradient: Vec<f32> = gradients.get(&logits).unwrap().flatten_all().unwrap().to_vec1().unwrap();
    let gradient: Vec<f64> = gradient.into_iter().map(f64::from).collect();
    close(&format!("{at} gradient"), &gradient, &flat(&expected["grad_policy_logits"]), 1e-4);
}

#[test]
fn objectives_reproduce_the_reference_vectors() {
    let path = std::env::var("OBJECTIVE_VECTORS").unwrap_or_else(|_| DEFAULT.to_owned());
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let file: Value = serde_json::from_str(&text).unwrap();
    let known: Vec<&str> = catalog().iter().map(|d| d.name).collect();
    let mut ran = vec![0; known.len()];
    for (index, case) in file["cases"].as_array().unwrap().iter().enumerate() {
        let name = case["objective"].as_str().unwrap();
        match known.iter().position(|k| *k == name) {
            Some(i) => {
                run_case(index, case);
                ran[i] += 1;
            }
            None => println!("case {index}: `{name}` is not an objective of this build"),
        }
    }
    for (name, count) in known.iter().zip(&ran) {
        println!("{name}: {count} cases");
        assert!(*count > 0, "no case for {name}");
    }
}
