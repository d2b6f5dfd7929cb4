//! Which way of computing products of bf16 is the quicker one here.

use std::time::{Duration, Instant};

use super::buffer::Buffer;
use super::form::{Way, set, way};
use super::gemm::{Left, Panels, Precision, View, product};
use super::{Instructions, instructions};

/// Rows of the products that are measured: as in sampling, and as in training.
const ROWS: [usize; 2] = [4, 96];
/// Numbers in a row, and columns of them.
const DEPTH: usize = 256;
/// How often each is measured, of which the best counts.
const TRIES: usize = 5;
/// The instruction is taken unless it is clearly slower.
const CLEARLY: f64 = 1.1;

/// Measures both ways for a few milliseconds, on this thread, and takes the quicker one from now on. At the start of a process, before it
/// computes. Returns what is taken for few rows and for many.
pub fn choose() -> [Way; 2] {
    if instructions() == Instructions::Avx512Bf16 {
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let measured = alone.map(|alone| alone.install(|| ROWS.map(measure)));
        for (is_few, [own, widened]) in [true, false].into_iter().zip(measured.into_iter().flatten()) {
            let slower = own.as_secs_f64() > CLEARLY * widened.as_secs_f64();
            set(is_few, if slower { Way::Widened } else { Way::Own });
        }
    }
    [way(true), way(false)]
}

/// What a product of so many rows takes with the processor's own instruction, and widened.
fn measure(rows: usize) -> [Duration; 2] {
    let numbers: Vec<f32> = (0..DEPTH * DEPTH).map(|i| (i as f32 * 0.37).sin()).collect();
    let right = Panels::transposed(&[&numbers[..]], DEPTH, Precision::Bf16);
    let left = Left::rows(View::new(&numbers[..rows * DEPTH], DEPTH), Precision::Bf16);
    let mut out = Buffer::new(rows * DEPTH);
    let mut best = [Duration::MAX; 2];
    for _ in 0..TRIES {
        for (best, way) in best.iter_mut().zip([Way::Own, Way::Widened]) {
            [true, false].into_iter().for_each(|is_few| set(is_few, way));
            let began = Instant::now();
            product(&left, &right, &mut out, false);
            *best = began.elapsed().min(*best);
        }
    }
    best
}
