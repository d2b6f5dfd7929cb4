//! Which way of computing products of bf16 is the quicker one here.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::buffer::Buffer;
use super::form::{Way, way, widen_products};
use super::gemm::{Left, Panels, Precision, View, product};
use super::{Instructions, instructions, tiles};
use crate::job::spec;

/// Rows of the products that are measured: as in sampling, and as in training.
const ROWS: [usize; 2] = [4, 96];
/// Numbers in a row, and columns of them.
const DEPTH: usize = 256;
/// How often each is measured, of which the best counts.
const TRIES: usize = 5;
/// What is usual is taken unless it is clearly slower.
const CLEARLY: f64 = 1.1;

/// Whether there are tiles, which are several times as fast as all else.
static TILED: AtomicBool = AtomicBool::new(false);

/// What products are computed in where nothing says how bf16 is to be summed.
pub fn quickest(precision: spec::Precision) -> Precision {
    match precision {
        spec::Precision::Bf16 if TILED.load(Ordering::Relaxed) => Precision::Bf16Tiled,
        precision => precision.into(),
    }
}

/// Measures the ways of each order for a few milliseconds, on this thread, and takes the quicker ones from now on. At the start of a
/// process, before it computes. Which order new jobs have depends on the processor alone, so that two runs of a job on one machine
/// have the same bits. Returns what is taken for few rows and for many.
pub fn choose() -> [Way; 2] {
    let has_pairs = instructions() == Instructions::Avx512Bf16;
    // A pool of its own: the one that all share is made later, once.
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    if let Ok(alone) = alone
        && (has_pairs || tiles::are_there())
    {
        alone.install(|| {
            if has_pairs && are_as_widened(Precision::Bf16) {
                settle(Precision::Bf16);
            } else if has_pairs {
                tracing::warn!(
                    "this processor adds pairs of bf16 in another order than is documented, and they are widened"
                );
                [true, false].into_iter().for_each(|is_few| widen_products(Precision::Bf16, is_few, true));
            }
            if tiles::are_there() && are_as_widened(Precision::Bf16Tiled) {
                settle(Precision::Bf16Tiled);
            } else if tiles::are_there() {
                tracing::warn!(
                    "matrix tiles of this processor add in another order than is documented, and are not used"
                );
                tiles::take(false);
            }
        });
    }
    TILED.store(tiles::are_there(), Ordering::Relaxed);
    [true, false].map(|is_few| way(quickest(spec::Precision::Bf16), is_few))
}

/// Widens the numbers of products in this order or not, whatever is quicker for few rows and for many.
fn settle(precision: Precision) {
    let measured = ROWS.map(|rows| measure(rows, precision));
    for (is_few, [own, widened]) in [true, false].into_iter().zip(measured) {
        widen_products(precision, is_few, own.as_secs_f64() > CLEARLY * widened.as_secs_f64());
    }
}

/// What a product of so many rows takes with the processor's own instruction, and widened.
fn measure(rows: usize, precision: Precision) -> [Duration; 2] {
    let numbers: Vec<f32> = (0..DEPTH * DEPTH).map(|i| (i as f32 * 0.37).sin()).collect();
    let right = Panels::transposed(&[&numbers[..]], DEPTH, precision);
    let left = Left::rows(View::new(&numbers[..rows * DEPTH], DEPTH), precision);
    let mut out = Buffer::new(rows * DEPTH);
    let mut best = [Duration::MAX; 2];
    for _ in 0..TRIES {
        for (best, widen) in best.iter_mut().zip([false, true]) {
            [true, false].into_iter().for_each(|is_few| widen_products(precision, is_few, widen));
            let began = Instant::now();
            product(&left, &right, &mut out, false);
            *best = began.elapsed().min(*best);
        }
    }
    best
}

/// Whether the processor's own instructions give the bits that numbers widened to f32 do.
fn are_as_widened(precision: Precision) -> bool {
    // Two tiles of rows and a part of one, and a part of a tile at the end of the inner dimension and of the columns.
    let (rows, depth, columns) = (37, 75, 45);
    let numbers: Vec<f32> = (0..columns * depth).map(|i| (i as f32 * 0.37).sin() * 1.5).collect();
    let right = Panels::transposed(&[&numbers[..]], depth, precision);
    let left = Left::rows(View::new(&numbers[..rows * depth], depth), Precision::Bf16Tiled);
    let [own, widened] = [false, true].map(|widen| {
        widen_products(precision, false, widen);
        let mut out = Buffer::new(rows * columns);
        product(&left, &right, &mut out, false);
        out
    });
    own.iter().zip(widened.iter()).all(|(a, b)| a.to_bits() == b.to_bits())
}
