//! The `math` verifier beside math-verify, on pairs of which it is known how they were made
//! (tests/verifiers/math_pairs.py).
//!
//! Where the two differ, docs/math_disagreements.md says so; `UPDATE_DOCUMENTS=1 cargo test --test math_pairs` writes
//! it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anneal::verifier::{Case, Config, Outside};
use serde::Deserialize;
use serde_json::{Map, json};

const PAIRS: &str = include_str!("data/math_pairs.jsonl");
const INTRODUCTION: &str = "# Where `math` and math-verify differ

The `math` verifier was compared verdict by verdict with math-verify 0.9.0 on pairs of an expected and a given answer: of
GSM8K's answers in various writings, and from templates (`tests/verifiers/math_pairs.py`). Whether a pair is the same is
known from how it was made. Pairs of one template that differ in their numbers only stand in one row, with the first of
them. `cargo test --test math_pairs` holds this page to what is found.
";

#[derive(Deserialize)]
struct Pair {
    id: String,
    gold: String,
    pred: String,
    same: bool,
    math_verify: bool,
}

/// How two verifiers differ on the pairs of one template.
#[derive(Default)]
struct Row {
    pairs: usize,
    gold: String,
    pred: String,
    same: bool,
    found: bool,
}

fn pairs() -> Vec<(Pair, bool)> {
    let config = json!({"type": "math", "read": ["latex", "plain", "text"]});
    let verifier = Config::parse(&config, "").unwrap().build(&Outside::default());
    let verdict = |line: &str| {
        let pair: Pair = serde_json::from_str(line).unwrap();
        let case = Case { prompt: "", completion: &pair.pred, answer: Some(&pair.gold), row: &Map::new() };
        let score = verifier.verify(&case);
        assert!(score.is_scored(), "{}: {:?}", pair.id, score.detail);
        let found = score.reward > 0.0;
        (pair, found)
    };
    PAIRS.lines().map(verdict).collect()
}

/// The template that made a pair: its name without the number of the draw.
fn template(id: &str) -> String {
    let (name, rest) = id.split_once('[').unwrap_or((id, ""));
    format!("{name}{}", rest.split_once(']').map_or("", |(_, way)| way))
}

fn cell(text: &str) -> String {
    let shown: String = text.chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
    let shown = if shown.len() < text.len() { format!("…{shown}") } else { shown };
    format!("`` {} ``", shown.replace('\n', " ").replace('|', "\\|"))
}

fn page(pairs: &[(Pair, bool)]) -> String {
    let mut rows: BTreeMap<(String, bool), Row> = BTreeMap::new();
    for (pair, found) in pairs.iter().filter(|(pair, found)| *found != pair.math_verify) {
        let row = rows.entry((template(&pair.id), *found)).or_default();
        if row.pairs == 0 {
            *row = Row { pairs: 0, gold: pair.gold.clone(), pred: pair.pred.clone(), same: pair.same, found: *found };
        }
        row.pairs += 1;
    }
    let differ: usize = rows.values().map(|row| row.pairs).sum();
    let right = |of: fn(&(Pair, bool)) -> bool| pairs.iter().filter(|pair| of(pair) == pair.0.same).count();
    let false_positives = |of: fn(&(Pair, bool)) -> bool| pairs.iter().filter(|pair| of(pair) && !pair.0.same).count();
    let mut page = format!("{INTRODUCTION}\n| of {} pairs | `math` | math-verify |\n|---|---|---|\n", pairs.len());
    let (ours, theirs): (Verdict, Verdict) = (|pair| pair.1, |pair| pair.0.math_verify);
    let _ = writeln!(page, "| right | {} | {} |", right(ours), right(theirs));
    let _ = writeln!(page, "| taken for right and not | {} | {} |", false_positives(ours), false_positives(theirs));
    let _ = writeln!(page, "\nThey differ on {differ}:\n");
    page.push_str(
        "| template | pairs | expected | given | `math` | math-verify | right is |\n|---|---|---|---|---|---|---|\n",
    );
    for ((name, _), row) in &rows {
        let verdict = |same: bool| if same { "same" } else { "not" };
        let who = if row.found == row.same { "`math`" } else { "math-verify" };
        let (gold, pred) = (cell(&row.gold), cell(&row.pred));
        let (found, other) = (verdict(row.found), verdict(!row.found));
        let _ = writeln!(page, "| {name} | {} | {gold} | {pred} | {found} | {other} | {who} |", row.pairs);
    }
    page
}

type Verdict = fn(&(Pair, bool)) -> bool;

#[test]
fn no_pair_is_the_same_that_was_made_to_differ() {
    let pairs = pairs();
    assert!(pairs.len() >= 2_000, "{} pairs", pairs.len());
    let missed: Vec<&str> =
        pairs.iter().filter(|(pair, found)| pair.same && !found).map(|(pair, _)| &*pair.id).collect();
    for (pair, found) in &pairs {
        assert!(pair.same || !found, "{}: {} and {}", pair.id, pair.gold, pair.pred);
        if pair.same && !found {
            println!("{}: {} and {}", pair.id, pair.gold, pair.pred);
        }
    }
    assert!(missed.len() * 100 <= pairs.len(), "{} pairs are not found to be the same: {missed:?}", missed.len());
}

#[test]
fn the_page_of_disagreements_is_what_is_found() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/math_disagreements.md");
    let page = page(&pairs());
    if std::env::var_os("UPDATE_DOCUMENTS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, page, "run UPDATE_DOCUMENTS=1 cargo test --test math_pairs");
}
