//! The words of a product: how those of its two factors are multiplied, and where those of the right one come from.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
use super::lanes::{ALL, Avx512};
use super::lanes::{LANES, Lanes, PANEL};

/// How a word of the left factor is multiplied with words of the right one. Words are addressed and read without the
/// checks that builds with debug assertions make of pointers: in the inner loop they cost half of the time.
///
/// # Safety
/// As of [`Lanes`].
pub(super) unsafe trait Multiply: Copy {
    type S: Lanes;
    /// [`LANES`] words.
    type X: Copy;
    /// Inner steps of a word.
    const STEPS: usize;
    unsafe fn spread(word: *const f32) -> Self::X;
    unsafe fn load(words: *const f32) -> Self::X;
    unsafe fn store(to: *mut f32, words: Self::X);
    /// Words of numbers, of one step or two.
    unsafe fn word(low: <Self::S as Lanes>::V, high: <Self::S as Lanes>::V) -> Self::X;
    unsafe fn add(a: Self::X, b: Self::X, sum: <Self::S as Lanes>::V) -> <Self::S as Lanes>::V;
}

/// Numbers as they are.
#[derive(Clone, Copy)]
pub(super) struct Plain<S>(std::marker::PhantomData<S>);

unsafe impl<S: Lanes> Multiply for Plain<S> {
    type S = S;
    type X = S::V;
    const STEPS: usize = 1;
    #[inline(always)]
    unsafe fn spread(word: *const f32) -> S::V {
        unsafe { S::spread(word) }
    }
    #[inline(always)]
    unsafe fn load(words: *const f32) -> S::V {
        unsafe { S::load(words) }
    }
    #[inline(always)]
    unsafe fn store(to: *mut f32, words: S::V) {
        unsafe { S::store(to, words) }
    }
    #[inline(always)]
    unsafe fn word(low: S::V, _high: S::V) -> S::V {
        low
    }
    #[inline(always)]
    unsafe fn add(a: S::V, b: S::V, sum: S::V) -> S::V {
        unsafe { S::fma(a, b, sum) }
    }
}

/// Pairs of bf16, the first in the low half, widened to f32 where they are multiplied. A product of two bf16 is exact in f32,
/// so that a sum is rounded once for each; the processor's own product of pairs ([`Pairs`]) does the same in the same order,
/// the high half first, and gives the same bits, but for numbers below 2^-126, which it takes for zero.
#[derive(Clone, Copy)]
pub(super) struct Widened<S>(std::marker::PhantomData<S>);

unsafe impl<S: Lanes> Multiply for Widened<S> {
    type S = S;
    type X = S::V;
    const STEPS: usize = 2;
    #[inline(always)]
    unsafe fn spread(word: *const f32) -> S::V {
        unsafe { S::spread(word) }
    }
    #[inline(always)]
    unsafe fn load(words: *const f32) -> S::V {
        unsafe { S::load(words) }
    }
    #[inline(always)]
    unsafe fn store(to: *mut f32, words: S::V) {
        unsafe { S::store(to, words) }
    }
    #[inline(always)]
    unsafe fn word(low: S::V, high: S::V) -> S::V {
        unsafe { S::pair(low, high) }
    }
    #[inline(always)]
    unsafe fn add(a: S::V, b: S::V, sum: S::V) -> S::V {
        unsafe {
            let ((low_a, high_a), (low_b, high_b)) = (S::halves(a), S::halves(b));
            S::fma(low_a, low_b, S::fma(high_a, high_b, sum))
        }
    }
}

/// Pairs of bf16, the first in the low half, with the processor's own product.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Pairs;

#[cfg(target_arch = "x86_64")]
unsafe impl Multiply for Pairs {
    type S = Avx512;
    type X = __m512i;
    const STEPS: usize = 2;
    #[inline(always)]
    unsafe fn spread(word: *const f32) -> __m512i {
        unsafe { _mm512_broadcastd_epi32(_mm_castps_si128(_mm_load_ss(word))) }
    }
    #[inline(always)]
    unsafe fn load(words: *const f32) -> __m512i {
        unsafe { _mm512_maskz_loadu_epi32(ALL, words.cast()) }
    }
    #[inline(always)]
    unsafe fn store(to: *mut f32, words: __m512i) {
        unsafe { _mm512_storeu_si512(to.cast(), words) }
    }
    #[inline(always)]
    unsafe fn word(low: __m512, high: __m512) -> __m512i {
        unsafe {
            let both = std::mem::transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(high, low));
            // From the numbers of one step before those of the other to pairs.
            let pairs = _mm512_set_epi16(
                31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2,
                17, 1, 16, 0,
            );
            _mm512_permutexvar_epi16(pairs, both)
        }
    }
    #[inline(always)]
    unsafe fn add(a: __m512i, b: __m512i, sum: __m512) -> __m512 {
        unsafe {
            _mm512_dpbf16_ps(
                sum,
                std::mem::transmute::<__m512i, __m512bh>(a),
                std::mem::transmute::<__m512i, __m512bh>(b),
            )
        }
    }
}

/// Where the words of a panel come from. `half` is 0 for its first [`LANES`] columns and 1 for the others, and goes on with those of
/// a second panel.
///
/// # Safety
/// Words must be there.
pub(super) unsafe trait Factor<M: Multiply>: Copy {
    /// What some words have in common.
    type Shared: Copy;
    /// How many.
    fn together(self) -> usize;
    unsafe fn shared(self, word: usize, half: usize) -> Self::Shared;
    unsafe fn word(self, word: usize, half: usize, shared: Self::Shared) -> M::X;
}

/// In memory.
unsafe impl<M: Multiply> Factor<M> for *const f32 {
    type Shared = ();
    #[inline(always)]
    fn together(self) -> usize {
        usize::MAX
    }
    #[inline(always)]
    unsafe fn shared(self, _word: usize, _half: usize) {}
    #[inline(always)]
    unsafe fn word(self, word: usize, half: usize, (): ()) -> M::X {
        unsafe { M::load(self.wrapping_add(word.wrapping_mul(PANEL) + half * LANES)) }
    }
}

/// Two panels in memory.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Beside {
    pub(super) first: *const f32,
    /// Words from one to the other.
    pub(super) apart: usize,
}

#[cfg(target_arch = "x86_64")]
unsafe impl<M: Multiply> Factor<M> for Beside {
    type Shared = ();
    #[inline(always)]
    fn together(self) -> usize {
        usize::MAX
    }
    #[inline(always)]
    unsafe fn shared(self, _word: usize, _half: usize) {}
    #[inline(always)]
    unsafe fn word(self, word: usize, half: usize, (): ()) -> M::X {
        let panel = self.first.wrapping_add(self.apart.wrapping_mul(half / 2));
        unsafe { Factor::<M>::word(panel, word, half % 2, ()) }
    }
}
