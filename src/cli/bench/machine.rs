//! What the machine is, and how fast it multiplies matrices.

use std::hint::black_box;
use std::time::Instant;

use anyhow::Context;
use rayon::prelude::*;

use crate::engine::backend::Storage;
use crate::engine::cpu::Cpu;
use crate::engine::kernels::gemm::{Left, Panels, Precision, View, library_product, product};

/// Rows, columns and inner dimension of products like those of a small model's layers.
const SHAPES: &[[usize; 3]] = &[[1024, 3072, 576], [2048, 2048, 512]];
/// A product that takes little memory, for when only the peak is wanted and memory is watched.
const SMALL: &[[usize; 3]] = &[[1024, 1024, 512]];
/// Seconds for all shapes; the best of many short products needs no more.
const MOST_SECONDS: f64 = 2.0;
/// Passes over memory.
const MEMORY_PASSES: usize = 10;
/// Repetitions of each shape, however short the time is.
const LEAST: usize = 3;

/// The best rates that were seen, in GFLOP/s.
#[derive(Clone, Copy, Debug, Default)]
pub struct Products {
    /// In the engine's kernel, on factors in the form that it reads.
    pub engine: f64,
    /// In the `gemm` crate, in f32.
    pub library: f64,
}

impl Products {
    pub fn peak(&self) -> f64 {
        self.engine.max(self.library)
    }
}

/// Multiplies matrices for about `seconds`, or less; without `thorough` only small ones.
pub fn matmul(precision: Precision, thorough: bool, seconds: f64) -> Products {
    let shapes = if thorough { SHAPES } else { SMALL };
    let budget = seconds.min(MOST_SECONDS) / SHAPES.len() as f64;
    let mut best = Products::default();
    for [rows, columns, depth] in shapes.iter().copied() {
        let flops = 2.0 * (rows * columns * depth) as f64;
        let (a, b) = (wave(rows * depth, 0.7), wave(columns * depth, 0.3));
        let left = Left::rows(View::new(&a, depth), precision);
        let right = Panels::transposed(&[&b], depth, precision);
        let mut out = vec![0.0; rows * columns];
        let began = Instant::now();
        let mut count = 0;
        // Turn by turn, so that whatever else runs on the machine slows down both.
        while count < LEAST || began.elapsed().as_secs_f64() < budget {
            best.engine = best.engine.max(rate(flops, || product(&left, &right, &mut out, false)));
            best.library = best.library.max(rate(flops, || library_product(&a, &b, depth, &mut out)));
            count += 1;
        }
    }
    best
}

fn rate(flops: f64, run: impl FnOnce()) -> f64 {
    let began = Instant::now();
    run();
    flops / began.elapsed().as_secs_f64() / 1e9
}

/// Numbers between -1 and 1 without a pattern that matters.
fn wave(count: usize, speed: f64) -> Vec<f32> {
    (0..count).map(|i| (i as f64 * speed).sin() as f32).collect()
}

/// Numbers that are read to see how fast memory is: 512 MiB, more than caches hold.
const MEMORY_NUMBERS: usize = 1 << 27;
/// Numbers that a thread reads at a time.
const MEMORY_PIECE: usize = 1 << 20;

/// Bytes that all threads together read from memory in a second: the best of some passes over what no cache holds.
pub fn read_bandwidth() -> f64 {
    let numbers = vec![1.0_f32; MEMORY_NUMBERS];
    let sum = |piece: &[f32]| {
        let mut lanes = [0.0_f32; 64];
        for group in piece.chunks_exact(lanes.len()) {
            lanes.iter_mut().zip(group).for_each(|(lane, number)| *lane += number);
        }
        lanes.iter().sum::<f32>()
    };
    let pass = || {
        let began = Instant::now();
        black_box(numbers.par_chunks(MEMORY_PIECE).map(sum).sum::<f32>());
        size_of_val(numbers.as_slice()) as f64 / began.elapsed().as_secs_f64()
    };
    (0..MEMORY_PASSES).map(|_| pass()).fold(0.0, f64::max)
}

/// The processor's name.
pub fn cpu() -> String {
    let name = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let (_, name) = text.lines().find(|line| line.starts_with("model name"))?.split_once(':')?;
        Some(name.trim().to_owned())
    });
    name.unwrap_or_else(|| String::from("unknown"))
}

/// The most memory that the process has held so far.
pub fn peak_memory_bytes() -> anyhow::Result<u64> {
    Cpu.peak().context("/proc/self/status does not tell the peak memory (VmHWM)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_products_are_the_same_product() {
        let (rows, columns, depth) = (5, 7, 9);
        let (a, b) = (wave(rows * depth, 0.7), wave(columns * depth, 0.3));
        let mut ours = vec![0.0; rows * columns];
        let mut theirs = vec![f32::NAN; rows * columns];
        let right = Panels::transposed(&[&b], depth, Precision::F32);
        product(&Left::rows(View::new(&a, depth), Precision::F32), &right, &mut ours, false);
        library_product(&a, &b, depth, &mut theirs);
        assert!(ours.iter().zip(&theirs).all(|(ours, theirs)| (ours - theirs).abs() < 1e-5), "{ours:?} {theirs:?}");
    }
}
