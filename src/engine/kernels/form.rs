//! How products of bf16 are computed. They are summed in one of two orders, from pair to pair or from tile to tile
//! ([`Precision`]). Every way of an order gives the same bits (but for numbers below 2^-126, see `kernels::words`), so that the
//! quickest one can be taken, which differs from processor to processor: on some the instruction for pairs of bf16 is twice as
//! fast as products in f32, on others half as fast, and some have matrix tiles.

use std::sync::atomic::{AtomicBool, Ordering};

use super::lanes::Lanes;
use super::precision::Precision;
use super::{Instructions, dispatched, instructions, tiles};

/// How words of a product are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Numbers in f32.
    Plain,
    /// Pairs of bf16, by the processor's own instruction.
    Own,
    /// Pairs of bf16, widened to f32.
    Widened,
    /// Tiles of bf16, by the processor's own instruction.
    Tiles,
    /// The same, widened to f32.
    WidenedTiles,
}

impl Way {
    /// Whether sums go on from tile to tile.
    pub(super) fn is_tiled(self) -> bool {
        matches!(self, Self::Tiles | Self::WidenedTiles)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "f32",
            Self::Own => "own",
            Self::Widened => "widened",
            Self::Tiles => "tiles",
            Self::WidenedTiles => "widened_tiles",
        }
    }
}

/// Whether numbers are widened though the processor multiplies them itself: pairs and tiles, for few rows and for many.
static WIDENS: [[AtomicBool; 2]; 2] = [const { [const { AtomicBool::new(false) }; 2] }; 2];

fn widens(precision: Precision, is_few: bool) -> &'static AtomicBool {
    &WIDENS[usize::from(precision == Precision::Bf16Tiled)][usize::from(!is_few)]
}

/// How products are computed where there are few rows, or many.
pub fn way(precision: Precision, is_few: bool) -> Way {
    let widens = widens(precision, is_few).load(Ordering::Relaxed);
    match precision {
        Precision::F32 => Way::Plain,
        Precision::Bf16 if instructions() == Instructions::Avx512Bf16 && !widens => Way::Own,
        Precision::Bf16 => Way::Widened,
        Precision::Bf16Tiled if tiles::are_there() && !widens => Way::Tiles,
        Precision::Bf16Tiled => Way::WidenedTiles,
    }
}

/// Has numbers widened or not from now on, where the processor has a choice; for tests and comparisons.
pub fn widen_products(precision: Precision, is_few: bool, widen: bool) {
    widens(precision, is_few).store(widen, Ordering::Relaxed);
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
