//! A processor without AVX-512 computes the same: with fused multiply-add the same bits, without it the same within
//! rounding, and products of bf16 in the same bits as well. A binary of its own, because the choice of instructions holds for the whole process.

use std::path::Path;
use std::sync::Arc;

use anneal::engine::batch::{Sequence, pack};
use anneal::engine::gradients::GradientSum;
use anneal::engine::kernels::codes::Codes;
use anneal::engine::kernels::form::{self, Way};
use anneal::engine::kernels::gemm::{Left, Panels, Precision, Right, Strip, View, product_into};
use anneal::engine::kernels::{Instructions, detect, restrict, trial};
use anneal::engine::learn::Learner;
use anneal::engine::model::decoder::Decoder;
use anneal::engine::model::weights::Weights;
use anneal::engine::ops::attention::{Heads, Seen, cached_attention};
use anneal::engine::ops::fallback;
use anneal::engine::optimizer::Optimizer;
use anneal::job::spec::{OptimizerSpec, TrainSpec};
use anneal::modelfile::inspect;
use anneal::objective;
use serde_json::json;

/// Log-probabilities before and after a step.
fn run(instructions: Instructions, precision: Precision) -> Vec<f32> {
    assert_eq!(restrict(instructions), instructions);
    let inspection = inspect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny")).unwrap();
    let weights = Arc::new(Weights::load(&inspection).unwrap());
    let decoder = Decoder::new(Arc::clone(&weights), precision).unwrap();
    let vocabulary = inspection.config.vocab_size as u32;
    let sequences: Vec<Sequence> = (1..9)
        .map(|s| Sequence {
            prompt: (0..s).map(|i| (i * 7 + s) % vocabulary).collect(),
            completion: (0..3 * s).map(|i| (i * 5 + s) % vocabulary).collect(),
            loss_mask: Vec::new(),
            credit: 1.0,
            behavior_logprobs: Vec::new(),
            reference_logprobs: Vec::new(),
        })
        .collect();
    let batch = pack(&sequences, 1 << 20).remove(0);
    let spec = json!({"type": "sft"});
    let objective = objective::Config::parse(&spec, "/objective").unwrap().build(&TrainSpec::default());
    let mut sums = GradientSum::default();
    let learner = Learner { decoder: &decoder, teacher: None, recompute: false, balance: 0.0, dropout: None };
    learner.micro_batch(objective.as_ref(), &batch, &mut sums).unwrap();
    let logprobs = || {
        let hidden = decoder.hidden(batch.packed()).unwrap();
        decoder.logprobs(&hidden, &batch.target_rows, &batch.targets).unwrap().logprobs
    };
    let mut all = logprobs();
    Optimizer::new(&OptimizerSpec::default(), &weights).step(&weights, &sums, 0.01, sums.norm(0.01), 1e-4).unwrap();
    all.extend(logprobs());
    all
}

/// Attention over keys and values in bf16, which are widened as they are read; with those in f32 that were rounded before, it
/// is the same on every set.
fn attended(instructions: Instructions) -> Vec<f32> {
    assert_eq!(restrict(instructions), instructions);
    let heads = Heads { window: 30, ..Heads::new(6, 2, 40) };
    let rows: Vec<f32> = (0..45 * heads.row()).map(|i| (i as f32 * 0.37).sin() * 1.5).collect();
    let nearest = |(at, x): (usize, &f32)| {
        if at % heads.row() < heads.query_row() { *x } else { half::bf16::from_f32(*x).to_f32() }
    };
    let rounded: Vec<f32> = rows.iter().enumerate().map(nearest).collect();
    let seen: Vec<Seen<'_>> = (1..=45).map(|seen| Seen { blocks: &[2, 0, 1], seen }).collect();
    let narrow = cached_attention(&rows, heads, &mut vec![0_u16; 3 * heads.block()], &seen).to_vec();
    let wide = cached_attention(&rounded, heads, &mut vec![0.0_f32; 3 * heads.block()], &seen);
    assert_eq!(narrow[..], wide[..], "{instructions:?}");
    narrow
}

/// Products of bf16 with factors as numbers and as codes, of few rows and of many, with ends that fill no word and no panel.
fn products() -> Vec<f32> {
    let numbers: Vec<f32> = (0..300 * 203).map(|i| (i as f32 * 0.37).sin() * 1.5).collect();
    let mut all = Vec::new();
    for (rows, depth, columns) in [(1, 203, 45), (7, 64, 33), (8, 203, 70), (9, 203, 45), (50, 130, 32), (200, 201, 77)]
    {
        let left = Left::rows(View::new(&numbers[..rows * depth], depth), Precision::Bf16);
        let turned = Left::columns(View::new(&numbers[..rows * depth], rows), Precision::Bf16);
        let matrix = &numbers[..columns * depth];
        let panels = Panels::transposed(&[matrix], depth, Precision::Bf16);
        let codes = Codes::of_matrix(matrix, depth);
        for left in [&left, &turned] {
            for right in [Right::Panels(&panels), Right::Codes(&codes, Precision::Bf16)] {
                let mut out = vec![0.25; rows * columns];
                product_into(left, &[right], Strip::whole(&mut out, columns), true);
                all.extend(out);
            }
        }
    }
    all
}

#[test]
fn every_instruction_set_computes_the_same() {
    let best = detect();
    let expected = products();
    for set in [Instructions::Portable, Instructions::Avx2, Instructions::Avx512, Instructions::Avx512Bf16] {
        for way in [Way::Own, Way::Widened] {
            [true, false].into_iter().for_each(|is_few| form::set(is_few, way));
            assert!(set > best || (restrict(set), products()) == (set, expected.clone()), "{set:?} {way:?}");
        }
    }
    let taken = trial::choose();
    assert!(taken.iter().all(|way| *way == Way::Widened) || best == Instructions::Avx512Bf16, "{taken:?}");
    let sets = [Instructions::Portable, Instructions::Avx2, Instructions::Avx512, Instructions::Avx512Bf16];
    for (precision, tolerance) in [(Precision::F32, 2e-3), (Precision::Bf16, 0.1)] {
        let expected = run(best, precision);
        for set in sets.into_iter().filter(|set| *set <= best) {
            let got = run(set, precision);
            let worst = got.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(worst < tolerance, "{set:?} {precision:?} is off by {worst}");
            assert!(set < Instructions::Avx2 || got == expected, "{set:?} {precision:?} is off by {worst}");
        }
    }
    let expected = attended(best);
    for set in sets.into_iter().filter(|set| *set <= best) {
        let got = attended(set);
        let worst = got.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst < 1e-5 && (set < Instructions::Avx2 || got == expected), "{set:?} is off by {worst}");
    }
    assert!(fallback::list().iter().any(|(what, _)| *what == "linear"), "slow ways are counted");
    restrict(best);
}
