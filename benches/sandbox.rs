//! How fast programs are judged: rooms made a second, and verdicts a second with what one takes.
//!
//! `cargo bench --bench sandbox`; needs bubblewrap and Python, as `code` verifiers do.

use std::time::{Duration, Instant};

use anneal::verifier::{self, Case, Outside, Verifier};
use serde_json::{Value, json};

const ROOMS: usize = 10;
const VERDICTS: usize = 200;
const PROGRAM: &str = "def add(a, b):\n    return a + b\n";

fn outside() -> Outside {
    serde_json::from_value(json!({"code": true})).expect("the settings are well-formed")
}

fn build() -> std::sync::Arc<dyn Verifier> {
    verifier::Config::parse(&json!({"type": "code"}), "").expect("the configuration is well-formed").build(&outside())
}

fn verdict(verifier: &dyn Verifier, program: &str, row: &Value) -> Duration {
    let row = row.as_object().expect("a row is an object");
    let began = Instant::now();
    let score = verifier.verify(&Case { prompt: "", completion: program, answer: None, row });
    assert_eq!(score.reward, 1.0, "{score:?}");
    began.elapsed()
}

fn report(name: &str, mut took: Vec<Duration>, lanes: usize, whole: Duration) {
    took.sort();
    let milliseconds = |share: usize| took[(took.len() - 1) * share / 100].as_secs_f64() * 1e3;
    let rate = took.len() as f64 / whole.as_secs_f64();
    println!(
        "{name:<28} {lanes} lanes  {rate:>7.1} /s  p50 {:>6.1} ms  p95 {:>6.1} ms",
        milliseconds(50),
        milliseconds(95)
    );
}

fn main() {
    let tests =
        json!({"tests": ["assert add(1, 2) == 3", "assert add([1], [2]) == [1, 2]", "assert add('a', 'b') == 'ab'"]});
    let outputs = json!({"stdin": "41\n", "stdout": "42\n"});
    let first = verdict(build().as_ref(), PROGRAM, &tests);
    println!("{:<28} {:.1} ms", "the first verdict", first.as_secs_f64() * 1e3);
    let began = Instant::now();
    let rooms: Vec<Duration> = (0..ROOMS).map(|_| verdict(build().as_ref(), PROGRAM, &tests)).collect();
    report("a room for every verdict", rooms, 1, began.elapsed());
    for (name, program, row) in [("tests", PROGRAM, &tests), ("output", "print(int(input()) + 1)", &outputs)] {
        for lanes in [1, 2] {
            let verifier = build();
            // Rooms are made by the first verdicts.
            std::thread::scope(|scope| {
                (0..lanes).for_each(|_| drop(scope.spawn(|| verdict(verifier.as_ref(), program, row))));
            });
            let began = Instant::now();
            let took: Vec<Duration> = std::thread::scope(|scope| {
                let lane =
                    || (0..VERDICTS / lanes).map(|_| verdict(verifier.as_ref(), program, row)).collect::<Vec<_>>();
                let threads: Vec<_> = (0..lanes).map(|_| scope.spawn(lane)).collect();
                threads.into_iter().flat_map(|thread| thread.join().expect("no lane panics")).collect()
            });
            report(name, took, lanes, began.elapsed());
        }
    }
}
