//! A processor without AVX-512 computes the same: with fused multiply-add the same bits, without it the same within
//! rounding, and products of bf16 in the same bits as well. A binary of its own, because the choice of instructions holds for the whole process.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anneal::engine::batch::{Sequence, pack};
use anneal::engine::collective::Alone;
use anneal::engine::gradients::GradientSum;
use anneal::engine::kernels::codes::Codes;
use anneal::engine::kernels::form::{Way, way, widen_products};
use anneal::engine::kernels::gemm::{Left, Panels, Precision, Right, Strip, View, product_into};
use anneal::engine::kernels::{Instructions, detect, restrict, tiles, trial};
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

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[path = "common/tiles.rs"]
mod emulated;

/// The choice of instructions holds for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

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
            proximal_logprobs: Vec::new(),
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
    let mut optimizer = Optimizer::new(&OptimizerSpec::default(), &weights);
    let norm = optimizer.norm(&weights, &sums, 0.01, &Alone).unwrap();
    optimizer.step(&weights, &sums, 0.01, norm, 1e-4).unwrap();
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

/// Products with factors as numbers and as codes, of few rows and of many, with ends that fill no word, no tile and no
/// panel.
fn products(precision: Precision) -> Vec<f32> {
    let numbers: Vec<f32> = (0..300 * 203).map(|i| (i as f32 * 0.37).sin() * 1.5).collect();
    let mut all = Vec::new();
    for (rows, depth, columns) in [
        (1, 203, 45),
        (7, 64, 33),
        (8, 203, 70),
        (9, 203, 45),
        (16, 32, 32),
        (17, 31, 64),
        (50, 130, 32),
        (200, 201, 77),
        // More than a block of the inner dimension.
        (9, 4200, 14),
    ] {
        let left = Left::rows(View::new(&numbers[..rows * depth], depth), precision);
        let turned = Left::columns(View::new(&numbers[..rows * depth], rows), precision);
        let matrix = &numbers[..columns * depth];
        let panels = Panels::transposed(&[matrix], depth, precision);
        let codes = Codes::of_matrix(matrix, depth);
        for (left, add) in [(&left, true), (&turned, true), (&left, false)] {
            for right in [Right::Panels(&panels), Right::Codes(&codes, precision)] {
                let mut out = vec![0.25; rows * columns];
                product_into(left, &[right], Strip::whole(&mut out, columns), add);
                all.extend(out);
            }
        }
    }
    all
}

/// Into some columns of a matrix, with one thread and with three: a matrix gives the bits of its turned copy, whether its rows are read
/// in place or copied first, and nothing beside the columns is written.
#[test]
fn a_product_is_the_same_however_its_left_factor_lies() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (rows, depth, columns, first, width) = (53, 300, 130, 5, 150);
    let numbers: Vec<f32> = (0..columns * depth).map(|i| (i as f32 * 0.37).sin() * 1.5).collect();
    let straight = &numbers[..rows * depth];
    let turned: Vec<f32> = (0..rows * depth).map(|i| straight[i % rows * depth + i / rows]).collect();
    for precision in [Precision::F32, Precision::Bf16, Precision::Bf16Tiled] {
        let right = Panels::transposed(&[&numbers[..]], depth, precision);
        let mut all = Vec::new();
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for is_turned in [false, true] {
                let mut out = vec![0.25; rows * width];
                pool.install(|| {
                    let left = match is_turned {
                        true => Left::columns(View::new(&turned, rows), precision),
                        false => Left::rows(View::new(straight, depth), precision),
                    };
                    product_into(&left, &[Right::Panels(&right)], Strip { values: &mut out, width, first }, true);
                });
                let beside = |at: usize| !(first..first + columns).contains(&(at % width));
                assert!(out.iter().enumerate().all(|(at, x)| !beside(at) || *x == 0.25), "{precision:?} writes beside");
                all.push(out);
            }
        }
        assert!(all.iter().all(|out| *out == all[0]), "{precision:?} differs");
    }
}

/// A panel gives the same alone, beside others of its factor, with which it may be taken two at a time, and beside other factors.
#[test]
fn a_panel_is_the_same_alone_and_beside_others() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let numbers: Vec<f32> = (0..350 * 300).map(|i| (i as f32 * 0.37).sin() * 1.5).collect();
    for (rows, depth) in [(48, 130), (49, 1), (49, 128), (50, 300), (174, 129), (347, 200)] {
        let left = Left::rows(View::new(&numbers[..rows * depth], depth), Precision::F32);
        let panels = |columns: usize, first: usize| {
            Panels::transposed(&[&numbers[first * depth..][..columns * depth]], depth, Precision::F32)
        };
        let codes = Codes::of_matrix(&numbers[..70 * depth], depth);
        let (one, two) = (panels(96, 0), panels(141, 96));
        let all = [Right::Panels(&one), Right::Codes(&codes, Precision::F32), Right::Panels(&two)];
        let product = |right: &[Right<'_>], columns: usize| {
            let mut out = vec![0.25; rows * columns];
            product_into(&left, right, Strip::whole(&mut out, columns), true);
            out
        };
        let whole = product(&all, 96 + 70 + 141);
        let check = |part: Vec<f32>, first: usize| {
            let columns = part.len() / rows;
            for (row, part) in whole.chunks(96 + 70 + 141).zip(part.chunks(columns)) {
                assert_eq!(row[first..][..columns], *part, "{rows} rows of {depth}, columns from {first} on");
            }
        };
        check(product(&all[1..2], 70), 96);
        for first in [0, 32, 64] {
            check(product(&[Right::Panels(&panels(32, first))], 32), first);
        }
        for (first, columns) in [(0, 32), (32, 32), (64, 32), (96, 32), (128, 13)] {
            check(product(&[Right::Panels(&panels(columns, 96 + first))], columns), 96 + 70 + first);
        }
    }
}

/// What tiles add, in the order of the description, straight from it: the first and the second numbers of sixteen pairs apart.
#[test]
fn sums_of_tiles_are_those_of_the_description() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (rows, depth, columns) = (19, 75, 35);
    let numbers: Vec<f32> = (0..columns * depth).map(|i| (i as f32 * 0.73).sin() * 1.5).collect();
    let nearest = |x: f32| half::bf16::from_f32(x).to_f32();
    let (a, b) = (&numbers[..rows * depth], &numbers);
    let left = Left::rows(View::new(a, depth), Precision::Bf16Tiled);
    let right = Panels::transposed(&[b], depth, Precision::Bf16Tiled);
    let mut out = vec![0.25; rows * columns];
    product_into(&left, &[Right::Panels(&right)], Strip::whole(&mut out, columns), true);
    for (at, got) in out.iter().enumerate() {
        let (row, column) = (at / columns, at % columns);
        let product = |k: usize| nearest(a[row * depth + k]) * nearest(b[column * depth + k]);
        let tiles = (0..depth).collect::<Vec<_>>();
        let wanted = tiles.chunks(32).fold(0.25_f32, |sum, steps| {
            let half = |odd: usize| steps.iter().filter(|k| *k % 2 == odd).fold(0.0_f32, |sum, k| sum + product(*k));
            sum + (half(0) + half(1))
        });
        assert_eq!(*got, wanted, "row {row}, column {column}");
    }
}

/// The machine code for tiles, on a processor that has them or emulated: it gives the bits of what is widened.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[test]
fn tiles_give_the_bits_of_what_is_widened() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let set = |widen| [true, false].into_iter().for_each(|few| widen_products(Precision::Bf16Tiled, few, widen));
    let own = tiles::are_there();
    tiles::take(false);
    let expected = (products(Precision::Bf16Tiled), run(detect(), Precision::Bf16Tiled));
    if !own {
        emulated::emulate();
    }
    tiles::take(true);
    set(false);
    assert_eq!(way(Precision::Bf16Tiled, true), Way::Tiles);
    let got = (products(Precision::Bf16Tiled), run(detect(), Precision::Bf16Tiled));
    assert!(got.0 == expected.0 && got.1 == expected.1, "tiles differ");
    // What is measured when a process starts tries them as well.
    let ways = trial::choose();
    assert!(tiles::are_there(), "they give the documented bits");
    let quick = |way: &Way| matches!(way, Way::Tiles | Way::WidenedTiles);
    assert!(ways.iter().all(quick), "new jobs add as tiles do: {ways:?}");
    assert!(own || ways == [Way::WidenedTiles; 2], "emulated, they are slow: {ways:?}");
    tiles::take(own);
    set(false);
}

#[test]
fn every_instruction_set_computes_the_same() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let best = detect();
    let tiled = products(Precision::Bf16Tiled);
    let expected = products(Precision::Bf16);
    let own = tiles::are_there();
    tiles::take(false);
    for set in [Instructions::Portable, Instructions::Avx2, Instructions::Avx512, Instructions::Avx512Bf16] {
        for widen in [false, true] {
            [true, false].into_iter().for_each(|is_few| widen_products(Precision::Bf16, is_few, widen));
            let got = || (restrict(set), products(Precision::Bf16));
            assert!(set > best || got() == (set, expected.clone()), "{set:?} {widen}");
        }
        assert!(set > best || (restrict(set), products(Precision::Bf16Tiled)) == (set, tiled.clone()), "{set:?} tiled");
    }
    let of_f32 =
        [Instructions::Avx2, Instructions::Avx512].map(|set| (restrict(set) == set).then(|| products(Precision::F32)));
    assert!(of_f32.iter().flatten().all(|got| of_f32[0].as_ref() == Some(got)), "products of f32 differ");
    restrict(best);
    let taken = trial::choose();
    let has_choice = best == Instructions::Avx512Bf16 || tiles::are_there();
    assert!(taken.iter().all(|way| *way == Way::Widened) || has_choice, "{taken:?}");
    let sets = [Instructions::Portable, Instructions::Avx2, Instructions::Avx512, Instructions::Avx512Bf16];
    for (precision, tolerance) in [(Precision::F32, 2e-3), (Precision::Bf16, 0.1), (Precision::Bf16Tiled, 0.1)] {
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
    tiles::take(own);
}
