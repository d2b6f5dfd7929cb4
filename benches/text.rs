//! How fast rows become prompts: published tokenizers on this repository's own documents and sources, one thread and all of
//! them, as a job makes the prompts of a round.
//!
//! ```text
//! bash tests/text/get_tokenizers.sh target/tokenizers && cargo bench --bench text
//! ```

use std::path::{Path, PathBuf};
use std::time::Duration;

use anneal::text::tokenizer::TextTokenizer;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rayon::prelude::*;

/// As in the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Bytes of a row, as those of data sets for training on instructions often are.
const ROW_BYTES: usize = 2000;
const TOKENIZERS: [&str; 3] = ["qwen3", "llama3", "gemma3"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("it can be listed").path();
        let kind = path.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
        if path.is_dir() {
            read(&path, text);
        } else if ["md", "rs", "sql", "py"].contains(&kind) {
            text.push_str(&std::fs::read_to_string(&path).expect("it is text"));
        }
    }
}

/// Text in rows that end at line ends.
fn rows() -> Vec<String> {
    let mut text = String::new();
    for folder in ["docs", "src", "migrations", "examples"] {
        read(&root().join(folder), &mut text);
    }
    let mut rows = vec![String::new()];
    for line in text.lines() {
        if rows.last().is_some_and(|row| row.len() >= ROW_BYTES) {
            rows.push(String::new());
        }
        if let Some(row) = rows.last_mut() {
            row.push_str(line);
            row.push('\n');
        }
    }
    rows
}

fn tokenizing(criterion: &mut Criterion) {
    let rows = rows();
    let mut group = criterion.benchmark_group("tokenize");
    group.throughput(Throughput::Bytes(rows.iter().map(|row| row.len() as u64).sum()));
    group.sample_size(10).measurement_time(Duration::from_secs(8));
    for name in TOKENIZERS {
        let path = root().join("target/tokenizers").join(name).join("tokenizer.json");
        let Ok(json) = std::fs::read(&path) else {
            println!("{} is not there; see the head of this file", path.display());
            continue;
        };
        let tokenizer = TextTokenizer::from_hf_json(&json).expect("a published tokenizer can be read");
        let encode = |row: &String| tokenizer.encode(row).expect("it encodes").len();
        group.bench_function(BenchmarkId::new(name, "one thread"), |bencher| {
            bencher.iter(|| rows.iter().map(encode).sum::<usize>());
        });
        group.bench_function(BenchmarkId::new(name, "all threads"), |bencher| {
            bencher.iter(|| rows.par_iter().map(encode).sum::<usize>());
        });
    }
    group.finish();
}

criterion_group!(benches, tokenizing);
criterion_main!(benches);
