//! The operations of the decoder one by one, in the shape of SmolLM2-135M (hidden 576, 9 and 3 heads of 64, gate 1536,
//! vocabulary 49152), forward and backward, on 8 sequences of 128 tokens.
//!
//! ```text
//! cargo bench --bench ops
//! ```

use std::time::Duration;

use anneal::engine::gradients::GradientSum;
use anneal::engine::kernels::gemm::{Panels, Precision, View};
use anneal::engine::kernels::tiles;
use anneal::engine::kernels::update::{AdamW, adamw};
use anneal::engine::ops::attention::{Heads, packed_attention};
use anneal::engine::ops::attention_backward::packed_attention_backward;
use anneal::engine::ops::embedding::{gather, scatter_add};
use anneal::engine::ops::gate::{gated, gated_backward};
use anneal::engine::ops::linear::{Linear, Matrices};
use anneal::engine::ops::logprob::{logits_gradient, read_pairs, read_rows};
use anneal::engine::ops::norm::{rms_norm_rows, rms_norm_rows_backward, rms_norm_weight_gradient};
use anneal::engine::ops::rotary::Rotary;
use anneal::modelfile::architecture::Activation;
use anneal::modelfile::rope::Rotation;
use anneal::objective::TeacherView;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// As in the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SEQUENCES: usize = 8;
const LENGTH: usize = 128;
const ROWS: usize = SEQUENCES * LENGTH;
const HIDDEN: usize = 576;
const GATE: usize = 1536;
const VOCABULARY: usize = 49_152;
const HEADS: Heads = Heads { query: 9, key_value: 3, width: 64, scale: 0.125, window: usize::MAX };

fn wave(count: usize, speed: f64) -> Vec<f32> {
    (0..count).map(|i| (i as f64 * speed).sin() as f32).collect()
}

/// Those that are quick here: the order of matrix tiles is not without them.
fn precisions() -> Vec<Precision> {
    let tiled = [Precision::Bf16Tiled].into_iter().filter(|_| tiles::are_there());
    [Precision::F32, Precision::Bf16].into_iter().chain(tiled).collect()
}

/// The weights of the head in the form that products read; one element is one number.
fn packing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("packing");
    let weights = wave(VOCABULARY * HIDDEN, 0.9);
    group.throughput(Throughput::Elements(weights.len() as u64));
    for precision in precisions() {
        let name = |what: &str| BenchmarkId::new(what, format!("{precision:?}"));
        group.bench_function(name("turned"), |b| b.iter(|| Panels::transposed(&[&weights[..]], HIDDEN, precision)));
        group.bench_function(name("straight"), |b| {
            b.iter(|| Panels::straight(&[View::new(&weights, HIDDEN)], precision))
        });
    }
    group.finish();
}

fn linear(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("linear");
    for (rows, input, output) in
        [(1, HIDDEN, VOCABULARY), (32, HIDDEN, 2 * GATE), (ROWS, HIDDEN, 2 * GATE), (ROWS, GATE, HIDDEN)]
    {
        let (x, w, dy) = (wave(rows * input, 0.7), wave(output * input, 0.9), wave(rows * output, 0.3));
        let matrices = Matrices::Changing { values: &[&w], version: 0 };
        // One element is one multiplication with its addition.
        group.throughput(Throughput::Elements((rows * input * output) as u64));
        for precision in precisions() {
            let linear = Linear::new(input, output, precision);
            let name =
                |pass: &str| BenchmarkId::new(format!("{pass} {precision:?}"), format!("{rows}x{input}x{output}"));
            group.bench_function(name("forward"), |b| b.iter(|| linear.forward(&x, matrices, true)));
            if rows == ROWS {
                group.bench_function(name("input gradient"), |b| b.iter(|| linear.input_gradient(&dy, matrices)));
                let mut sum = vec![0.0; w.len()];
                group.bench_function(name("weight gradient"), |b| {
                    let (x, dy) = (View::new(&x, linear.input), View::new(&dy, linear.output));
                    b.iter(|| linear.weight_gradients(x, dy, &mut [(&mut sum, true)]));
                });
            }
        }
    }
    group.finish();
}

fn attention(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("attention");
    for (sequences, length) in [(SEQUENCES, LENGTH), (1, ROWS), (1, 4 * ROWS)] {
        let count = sequences * length;
        let boundaries: Vec<usize> = (0..=sequences).map(|s| s * length).collect();
        let positions: Vec<u32> = (0..count).map(|row| (row % length) as u32).collect();
        let (mut rows, grad) = (wave(count * HEADS.row(), 0.7), wave(count * HEADS.query_row(), 0.3));
        let attended = packed_attention(&rows, HEADS, &boundaries);
        let name = |pass: &str| BenchmarkId::new(pass, format!("{sequences}x{length}"));
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(name("forward"), |b| b.iter(|| packed_attention(&rows, HEADS, &boundaries)));
        group.bench_function(name("backward"), |b| {
            b.iter(|| packed_attention_backward(&rows, (&attended.out, &attended.log_sums), &grad, HEADS, &boundaries));
        });
        let speeds = (0..32).map(|i| 1e5_f64.powf(-f64::from(i) / 32.0)).collect();
        let rotary = Rotary::new(Rotation { speeds, factor: 1.0 });
        group.bench_function(name("rotary"), |b| b.iter(|| rotary.rotate(&mut rows, HEADS, &positions)));
    }
    group.finish();
}

fn rows(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("rows");
    group.throughput(Throughput::Elements(ROWS as u64));
    let (mut x, grad, weight) = (wave(ROWS * HIDDEN, 0.7), wave(ROWS * HIDDEN, 0.3), wave(HIDDEN, 0.9));
    group.bench_function("norm forward", |b| b.iter(|| rms_norm_rows(&mut x, None, &weight, 1e-5)));
    let normed = rms_norm_rows(&mut x, None, &weight, 1e-5);
    let (mut dx, mut dw) = (vec![0.0; x.len()], vec![0.0; HIDDEN]);
    group.bench_function("norm backward", |b| {
        b.iter(|| {
            rms_norm_rows_backward((&x, &normed.inverses), &weight, &grad, &mut dx);
            rms_norm_weight_gradient((&x, &normed.inverses), &grad, (&mut dw, true));
        });
    });
    let (mut pairs, mut grad) = (wave(ROWS * 2 * GATE, 0.7), wave(ROWS * GATE, 0.3));
    group.bench_function("gate forward", |b| b.iter(|| gated(&pairs, GATE, Activation::Silu)));
    group.bench_function("gate backward", |b| b.iter(|| gated_backward(&mut pairs, &mut grad, GATE, Activation::Silu)));
    let tokens: Vec<u32> = (0..ROWS).map(|i| (i * 7919 % VOCABULARY) as u32).collect();
    let (table, mut sum) = (wave(VOCABULARY * HIDDEN, 0.1), vec![0.0; VOCABULARY * HIDDEN]);
    group.bench_function("embedding gather", |b| b.iter(|| gather(&table, HIDDEN, &tokens)));
    group.bench_function("embedding scatter", |b| b.iter(|| scatter_add(&mut sum, &dx, HIDDEN, &tokens)));
    group.finish();
}

fn logprob(criterion: &mut Criterion) {
    const COUNT: usize = 256;
    let mut group = criterion.benchmark_group("logits");
    group.throughput(Throughput::Elements(COUNT as u64));
    let (mut logits, teacher) = (wave(COUNT * VOCABULARY, 0.7), wave(COUNT * VOCABULARY, 0.3));
    let targets: Vec<u32> = (0..COUNT as u32).collect();
    group.bench_function("log-probabilities", |b| b.iter(|| read_rows(&logits, &targets)));
    for top_k in [None, Some(16)] {
        let view = TeacherView { temperature: 1.0, top_k };
        let name = BenchmarkId::new("beside a teacher", top_k.map_or(String::from("whole"), |k| format!("top {k}")));
        group.bench_function(name, |b| b.iter(|| read_pairs(&logits, &teacher, &targets, &view)));
    }
    let grad = vec![1e-3; COUNT];
    group.bench_function("gradient", |b| b.iter(|| logits_gradient(&mut logits, &targets, &grad, None)));
    group.finish();
}

fn optimizer(criterion: &mut Criterion) {
    const COUNT: usize = 1 << 24;
    let mut group = criterion.benchmark_group("optimizer");
    group.throughput(Throughput::Elements(COUNT as u64));
    let mut gradients = GradientSum::default();
    let mut sum = gradients.take(0, COUNT);
    sum.values.copy_from_slice(&wave(COUNT, 0.1));
    gradients.put(0, sum.values);
    group.bench_function("global norm", |b| b.iter(|| gradients.squares(0).iter().sum::<f64>().sqrt()));
    let (mut w, mut m, mut v, g) = (vec![0.1; COUNT], vec![0.0; COUNT], vec![0.0; COUNT], wave(COUNT, 0.1));
    let update =
        AdamW { scale: 1.0, beta1: 0.9, beta2: 0.999, step_size: 1e-6, root_correction: 1.0, eps: 1e-8, keep: 1.0 };
    group.bench_function("adamw, one thread", |b| b.iter(|| adamw(&mut w, &mut m, &mut v, &g, update)));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
    targets = packing, linear, attention, rows, logprob, optimizer
}
criterion_main!(benches);
