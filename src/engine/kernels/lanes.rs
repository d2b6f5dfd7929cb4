//! Sixteen numbers at a time, in the widest registers that the processor has. A kernel is written once over [`Lanes`];
//! with fused multiply-add every instruction set gives the same bits, because lanes never mix.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::precision::bf16_bits;

/// The bits of a word's high half.
const HIGH_HALF: i32 = 0xffff_0000_u32.cast_signed();

/// Numbers in one vector, on every instruction set.
pub const LANES: usize = 16;
/// Columns of a panel of a product's right factor.
pub const PANEL: usize = 2 * LANES;

/// An instruction set's arithmetic on [`LANES`] numbers.
///
/// # Safety
/// The functions may only run on a processor that has the instruction set, and pointers must be good for [`LANES`]
/// numbers (of any alignment).
pub unsafe trait Lanes: Copy {
    type V: Copy;
    /// Vectors that registers hold.
    const HELD: usize;
    unsafe fn splat(x: f32) -> Self::V;
    /// One number in memory.
    #[inline(always)]
    unsafe fn spread(from: *const f32) -> Self::V {
        unsafe { Self::splat(*from) }
    }
    unsafe fn load(from: *const f32) -> Self::V;
    unsafe fn store(to: *mut f32, v: Self::V);
    /// Whole numbers of 8 bits.
    unsafe fn load_i8(from: *const i8) -> Self::V;
    /// The numbers that bf16 stand for.
    unsafe fn load_bf16(from: *const u16) -> Self::V;
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn sqrt(a: Self::V) -> Self::V;
    /// `a b + c`, rounded once where the processor can.
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// `2^n` for whole numbers n in -126..=127.
    unsafe fn exp2_whole(n: Self::V) -> Self::V;
    /// `yes` where `a < b`, otherwise `no`.
    unsafe fn select_less(a: Self::V, b: Self::V, yes: Self::V, no: Self::V) -> Self::V;
    /// The numbers that the low and the high halves of words stand for as bf16.
    unsafe fn halves(words: Self::V) -> (Self::V, Self::V);
    /// Words of the nearest bf16 to `low` and `high`.
    #[inline(always)]
    unsafe fn pair(low: Self::V, high: Self::V) -> Self::V {
        let (mut words, mut others) = ([0.0; LANES], [0.0; LANES]);
        unsafe {
            Self::store(words.as_mut_ptr(), low);
            Self::store(others.as_mut_ptr(), high);
            for (word, other) in words.iter_mut().zip(others) {
                *word = f32::from_bits(bf16_bits(*word) | (bf16_bits(other) << 16));
            }
            Self::load(words.as_ptr())
        }
    }
}

/// All lanes. Loads and stores with a mask are plain ones where all of it is set, but without the checks that builds with debug assertions
/// make of pointers, which would have the sums of an inner loop written to memory in each round.
#[cfg(target_arch = "x86_64")]
pub(super) const ALL: __mmask16 = 0xffff;

/// 512-bit registers.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Avx512;

#[cfg(target_arch = "x86_64")]
unsafe impl Lanes for Avx512 {
    type V = __m512;
    const HELD: usize = 32;
    #[inline(always)]
    unsafe fn splat(x: f32) -> __m512 {
        unsafe { _mm512_set1_ps(x) }
    }
    #[inline(always)]
    unsafe fn spread(from: *const f32) -> __m512 {
        unsafe { _mm512_broadcastss_ps(_mm_load_ss(from)) }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m512 {
        unsafe { _mm512_maskz_loadu_ps(ALL, from) }
    }
    #[inline(always)]
    unsafe fn store(to: *mut f32, v: __m512) {
        unsafe { _mm512_mask_storeu_ps(to, ALL, v) }
    }
    #[inline(always)]
    unsafe fn load_i8(from: *const i8) -> __m512 {
        unsafe { _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(from.cast()))) }
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> __m512 {
        unsafe {
            let words = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(words))
        }
    }
    #[inline(always)]
    unsafe fn add(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_add_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn sub(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_sub_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn mul(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_mul_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn div(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_div_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn max(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_max_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn sqrt(a: __m512) -> __m512 {
        unsafe { _mm512_sqrt_ps(a) }
    }
    #[inline(always)]
    unsafe fn fma(a: __m512, b: __m512, c: __m512) -> __m512 {
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    unsafe fn exp2_whole(n: __m512) -> __m512 {
        unsafe {
            let biased = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
            _mm512_castsi512_ps(_mm512_slli_epi32::<23>(biased))
        }
    }
    #[inline(always)]
    unsafe fn select_less(a: __m512, b: __m512, yes: __m512, no: __m512) -> __m512 {
        unsafe { _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b), no, yes) }
    }
    #[inline(always)]
    unsafe fn halves(words: __m512) -> (__m512, __m512) {
        unsafe {
            let bits = _mm512_castps_si512(words);
            let high = _mm512_and_si512(bits, _mm512_set1_epi32(HIGH_HALF));
            (_mm512_castsi512_ps(_mm512_slli_epi32::<16>(bits)), _mm512_castsi512_ps(high))
        }
    }
}

/// Pairs of 256-bit registers.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Avx2;

#[cfg(target_arch = "x86_64")]
macro_rules! both {
    ($op:ident, $a:expr $(, $more:expr)*) => {
        unsafe { [$op($a[0] $(, $more[0])*), $op($a[1] $(, $more[1])*)] }
    };
}

#[cfg(target_arch = "x86_64")]
unsafe impl Lanes for Avx2 {
    type V = [__m256; 2];
    const HELD: usize = 8;
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self::V {
        unsafe { [_mm256_set1_ps(x); 2] }
    }
    #[inline(always)]
    unsafe fn spread(from: *const f32) -> Self::V {
        unsafe { [_mm256_broadcastss_ps(_mm_load_ss(from)); 2] }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self::V {
        unsafe { [_mm256_loadu_ps(from), _mm256_loadu_ps(from.wrapping_add(8))] }
    }
    #[inline(always)]
    unsafe fn store(to: *mut f32, v: Self::V) {
        unsafe {
            _mm256_storeu_ps(to, v[0]);
            _mm256_storeu_ps(to.wrapping_add(8), v[1]);
        }
    }
    #[inline(always)]
    unsafe fn load_i8(from: *const i8) -> Self::V {
        let half = |from: *const i8| unsafe { _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(from.cast()))) };
        [half(from), half(from.wrapping_add(8))]
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> Self::V {
        let half = |from: *const u16| unsafe {
            let words = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.cast()));
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(words))
        };
        [half(from), half(from.wrapping_add(8))]
    }
    #[inline(always)]
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
        both!(_mm256_add_ps, a, b)
    }
    #[inline(always)]
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V {
        both!(_mm256_sub_ps, a, b)
    }
    #[inline(always)]
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V {
        both!(_mm256_mul_ps, a, b)
    }
    #[inline(always)]
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V {
        both!(_mm256_div_ps, a, b)
    }
    #[inline(always)]
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V {
        both!(_mm256_max_ps, a, b)
    }
    #[inline(always)]
    unsafe fn sqrt(a: Self::V) -> Self::V {
        both!(_mm256_sqrt_ps, a)
    }
    #[inline(always)]
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        both!(_mm256_fmadd_ps, a, b, c)
    }
    #[inline(always)]
    unsafe fn exp2_whole(n: Self::V) -> Self::V {
        unsafe {
            n.map(|n| {
                let biased = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
                _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased))
            })
        }
    }
    #[inline(always)]
    unsafe fn select_less(a: Self::V, b: Self::V, yes: Self::V, no: Self::V) -> Self::V {
        let half = |i: usize| unsafe { _mm256_blendv_ps(no[i], yes[i], _mm256_cmp_ps::<_CMP_LT_OQ>(a[i], b[i])) };
        [half(0), half(1)]
    }
    #[inline(always)]
    unsafe fn halves(words: Self::V) -> (Self::V, Self::V) {
        unsafe {
            let bits = words.map(|words| _mm256_castps_si256(words));
            let low = bits.map(|bits| _mm256_castsi256_ps(_mm256_slli_epi32::<16>(bits)));
            (low, bits.map(|bits| _mm256_castsi256_ps(_mm256_and_si256(bits, _mm256_set1_epi32(HIGH_HALF)))))
        }
    }
}

/// Plain arithmetic, which the compiler turns into whatever the target always has.
#[derive(Clone, Copy)]
pub struct Portable;

unsafe impl Lanes for Portable {
    type V = [f32; LANES];
    const HELD: usize = 8;
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self::V {
        [x; LANES]
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self::V {
        unsafe { from.cast::<Self::V>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store(to: *mut f32, v: Self::V) {
        unsafe { to.cast::<Self::V>().write_unaligned(v) }
    }
    #[inline(always)]
    unsafe fn load_i8(from: *const i8) -> Self::V {
        let codes = unsafe { from.cast::<[i8; LANES]>().read_unaligned() };
        codes.map(f32::from)
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> Self::V {
        let numbers = unsafe { from.cast::<[u16; LANES]>().read_unaligned() };
        numbers.map(|bits| f32::from_bits(u32::from(bits) << 16))
    }
    #[inline(always)]
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|i| a[i] + b[i])
    }
    #[inline(always)]
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|i| a[i] - b[i])
    }
    #[inline(always)]
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|i| a[i] * b[i])
    }
    #[inline(always)]
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|i| a[i] / b[i])
    }
    #[inline(always)]
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V {
        std::array::from_fn(|i| if a[i] > b[i] { a[i] } else { b[i] })
    }
    #[inline(always)]
    unsafe fn sqrt(a: Self::V) -> Self::V {
        a.map(f32::sqrt)
    }
    #[inline(always)]
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        // Without the instruction `mul_add` is a slow function of the C library.
        if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
            std::array::from_fn(|i| a[i].mul_add(b[i], c[i]))
        } else {
            std::array::from_fn(|i| a[i] * b[i] + c[i])
        }
    }
    #[inline(always)]
    unsafe fn exp2_whole(n: Self::V) -> Self::V {
        n.map(|n| f32::from_bits(((n as i32 + 127) as u32) << 23))
    }
    #[inline(always)]
    unsafe fn select_less(a: Self::V, b: Self::V, yes: Self::V, no: Self::V) -> Self::V {
        std::array::from_fn(|i| if a[i] < b[i] { yes[i] } else { no[i] })
    }
    #[inline(always)]
    unsafe fn halves(words: Self::V) -> (Self::V, Self::V) {
        let low = words.map(|word| f32::from_bits(word.to_bits() << 16));
        (low, words.map(|word| f32::from_bits(word.to_bits() & HIGH_HALF as u32)))
    }
}
