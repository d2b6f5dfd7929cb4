//! Verdicts per second of the `math` verifier on one thread: on the cases of its tests, which math-verify is given too
//! (`benches/math_peer.py`), and on hostile answers.
//!
//! ```text
//! cargo bench --bench math
//! python3 -m venv target/math-verify && target/math-verify/bin/pip install math-verify==0.9.0
//! target/math-verify/bin/python benches/math_peer.py tests/data/math_cases.jsonl
//! ```

use std::sync::Arc;

use anneal::verifier::{Case, Config, Outside, Verifier};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::{Map, Value, json};

/// As in the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CASES: &str = include_str!("../tests/data/math_cases.jsonl");
const PAIRS: &str = include_str!("../tests/data/math_pairs.jsonl");

fn verifier() -> Arc<dyn Verifier> {
    let config = Config::parse(&json!({"type": "math"}), "").expect("the configuration is right");
    config.build(&Outside::default())
}

/// The expected and the given answers of a file.
fn answers(text: &str) -> Vec<(String, String)> {
    let of = |line: &str| {
        let case: Value = serde_json::from_str(line).expect("each line is JSON");
        let text = |name: &str| case[name].as_str().unwrap_or_default().to_owned();
        (text("gold"), text("pred"))
    };
    text.lines().map(of).collect()
}

fn verdicts(criterion: &mut Criterion) {
    let (verifier, row) = (verifier(), Map::new());
    let judge = |gold: &str, pred: &str| {
        verifier.verify(&Case { prompt: "", completion: pred, answer: Some(gold), row: &row }).reward
    };
    let mut group = criterion.benchmark_group("math");
    for (name, text) in [("cases", CASES), ("pairs", PAIRS)] {
        let answers = answers(text);
        group.throughput(Throughput::Elements(answers.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(name), |bench| {
            bench.iter(|| answers.iter().map(|(gold, pred)| judge(gold, pred)).sum::<f64>());
        });
    }
    group.throughput(Throughput::Elements(1));
    for (name, text) in [
        ("a megabyte of boxes", "\\boxed{".repeat(149_000)),
        ("ten thousand braces", format!("\\boxed{{{}1{}}}", "{".repeat(10_000), "}".repeat(10_000))),
        ("a tower", String::from("\\boxed{9^9^9^9}")),
        ("powers of powers", String::from("\\boxed{((((x+1)^{9})^{9})^{9})^{9}}")),
    ] {
        group.bench_function(BenchmarkId::new("hostile", name), |bench| bench.iter(|| judge("\\sin x", &text)));
    }
    group.finish();
}

criterion_group!(benches, verdicts);
criterion_main!(benches);
