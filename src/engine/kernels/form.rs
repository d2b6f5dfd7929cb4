//! How products of bf16 are computed. Every way gives the same bits (but for numbers below 2^-126, see `kernels::words`), so
//! that the quickest one can be taken, which differs from processor to processor: on some the instruction for pairs of bf16
//! is twice as fast as products in f32, on others half as fast.

use std::sync::atomic::{AtomicBool, Ordering};

use super::lanes::Lanes;
use super::{Instructions, dispatched, instructions};

/// How words of a product are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Numbers in f32.
    Plain,
    /// Pairs of bf16, by the processor's own instruction.
    Own,
    /// Pairs of bf16, widened to f32.
    Widened,
}

impl Way {
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "f32",
            Self::Own => "own",
            Self::Widened => "widened",
        }
    }
}

/// Whether pairs are widened though the processor multiplies them itself: for few rows, and for many.
static WIDENS: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];

/// How pairs of bf16 are multiplied where there are few rows, or many.
pub fn way(is_few: bool) -> Way {
    let widens = WIDENS[usize::from(!is_few)].load(Ordering::Relaxed);
    if instructions() == Instructions::Avx512Bf16 && !widens { Way::Own } else { Way::Widened }
}

/// Has pairs of bf16 multiplied in a way from now on, where the processor has a choice; for tests and comparisons.
pub fn set(is_few: bool, way: Way) {
    WIDENS[usize::from(!is_few)].store(way == Way::Widened, Ordering::Relaxed);
}

/// The numbers of the high and of the low halves of words.
pub(super) fn widen(words: &[f32], high: &mut [f32], low: &mut [f32]) {
    assert!(words.len() == high.len() && words.len() == low.len());
    // Safety: the instruction set was detected; the body is plain code that it makes faster.
    unsafe { widen_of(words, high, low) }
}

dispatched!(
    fn widen_of(words: &[f32], high: &mut [f32], low: &mut [f32]) = widen_body
);

#[inline(always)]
unsafe fn widen_body<S: Lanes>(words: &[f32], high: &mut [f32], low: &mut [f32]) {
    for ((word, high), low) in words.iter().zip(high).zip(low) {
        *high = f32::from_bits(word.to_bits() & 0xffff_0000);
        *low = f32::from_bits(word.to_bits() << 16);
    }
}

/// The numbers of words one after the other, the high half of each before the low one.
pub(super) fn widen_row(words: &[f32], out: &mut [f32]) {
    assert_eq!(2 * words.len(), out.len());
    // Safety: the instruction set was detected; the body is plain code that it makes faster.
    unsafe { widen_row_of(words, out) }
}

dispatched!(
    fn widen_row_of(words: &[f32], out: &mut [f32]) = widen_row_body
);

#[inline(always)]
unsafe fn widen_row_body<S: Lanes>(words: &[f32], out: &mut [f32]) {
    let (pairs, _) = out.as_chunks_mut::<2>();
    for (word, pair) in words.iter().zip(pairs) {
        *pair = [f32::from_bits(word.to_bits() & 0xffff_0000), f32::from_bits(word.to_bits() << 16)];
    }
}
