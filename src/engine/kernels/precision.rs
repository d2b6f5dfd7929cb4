//! What numbers are rounded to before they are multiplied.

use crate::job::spec;

/// What factors are rounded to before they are multiplied; sums are f32 always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    #[default]
    F32,
    /// bf16, two inner steps to a word; sums go on from pair to pair.
    Bf16,
    /// bf16 in the same words; sums go on from block to block of 16 words, each of which has partial sums of its own,
    /// as matrix tiles add (`kernels::tiles`).
    Bf16Tiled,
}

/// Words of a block of the inner dimension that is summed by itself.
pub(super) const TILED: usize = 16;

impl From<spec::Precision> for Precision {
    fn from(precision: spec::Precision) -> Self {
        match precision {
            spec::Precision::F32 => Self::F32,
            spec::Precision::Bf16 => Self::Bf16,
        }
    }
}

impl Precision {
    /// Whether words hold pairs of bf16.
    pub(super) fn is_paired(self) -> bool {
        self != Self::F32
    }

    /// Words for `depth` inner steps.
    pub(super) fn words(self, depth: usize) -> usize {
        if self.is_paired() { depth.div_ceil(2) } else { depth }
    }
}

/// The sixteen bits of the nearest bf16, ties to even; what is not a number stays so.
#[inline(always)]
pub(super) fn bf16_bits(x: f32) -> u32 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    if x.is_nan() { (bits >> 16) | 0x40 } else { rounded }
}
