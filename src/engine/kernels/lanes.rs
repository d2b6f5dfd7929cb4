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
    /// Words of the nearest bf16 to numbers in a row, the first of two neighbours in the low half.
    #[inline(always)]
    unsafe fn neighbours(first: Self::V, second: Self::V) -> Self::V {
        let (mut numbers, mut words) = ([0.0; 2 * LANES], [0.0; LANES]);
        unsafe {
            Self::store(numbers.as_mut_ptr(), first);
            Self::store(numbers.as_mut_ptr().add(LANES), second);
            for (word, two) in words.iter_mut().zip(numbers.as_chunks::<2>().0) {
                *word = f32::from_bits(bf16_bits(two[0]) | (bf16_bits(two[1]) << 16));
            }
            Self::load(words.as_ptr())
        }
    }
    /// Rows for columns.
    #[inline(always)]
    unsafe fn turned(rows: [Self::V; LANES]) -> [Self::V; LANES] {
        let mut words = [[0.0; LANES]; LANES];
        unsafe {
            rows.iter().zip(&mut words).for_each(|(row, words)| Self::store(words.as_mut_ptr(), *row));
            std::array::from_fn(|column| {
                let words: [f32; LANES] = std::array::from_fn(|row| words[row][column]);
                Self::load(words.as_ptr())
            })
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
    #[inline(always)]
    unsafe fn pair(low: __m512, high: __m512) -> __m512 {
        unsafe {
            let high = _mm512_slli_epi32::<16>(bf16_of(high));
            _mm512_castsi512_ps(_mm512_or_si512(bf16_of(low), high))
        }
    }
    #[inline(always)]
    unsafe fn neighbours(first: __m512, second: __m512) -> __m512 {
        unsafe {
            let (first, second) = (_mm512_cvtepi32_epi16(bf16_of(first)), _mm512_cvtepi32_epi16(bf16_of(second)));
            _mm512_castsi512_ps(_mm512_inserti64x4::<1>(_mm512_castsi256_si512(first), second))
        }
    }
    /// Four times sixteen exchanges: of words, of pairs, and twice of four words.
    #[inline(always)]
    unsafe fn turned(mut rows: [__m512; LANES]) -> [__m512; LANES] {
        unsafe {
            for at in [0, 2, 4, 6, 8, 10, 12, 14] {
                let (a, b) = (rows[at], rows[at + 1]);
                (rows[at], rows[at + 1]) = (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
            }
            for at in [0, 1, 4, 5, 8, 9, 12, 13] {
                let (a, b) = (_mm512_castps_pd(rows[at]), _mm512_castps_pd(rows[at + 2]));
                rows[at] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
                rows[at + 2] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
            }
            // Each row holds a column of four rows, four times; the columns of four are in the order 0, 2, 1, 3.
            for at in [0, 1, 2, 3, 8, 9, 10, 11] {
                let (a, b) = (rows[at], rows[at + 4]);
                (rows[at], rows[at + 4]) = (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xdd>(a, b));
            }
            for at in [0, 1, 2, 3, 4, 5, 6, 7] {
                let (a, b) = (rows[at], rows[at + 8]);
                (rows[at], rows[at + 8]) = (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xdd>(a, b));
            }
            for at in [1, 5, 9, 13] {
                rows.swap(at, at + 1);
            }
            rows
        }
    }
}

/// The sixteen bits of the nearest bf16 to each, ties to even, in the low halves of words; what is not a number stays so.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn bf16_of(v: __m512) -> __m512i {
    unsafe {
        let bits = _mm512_castps_si512(v);
        let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
        let rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
        let quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x40_0000));
        let is_none = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(v, v);
        _mm512_srli_epi32::<16>(_mm512_mask_blend_epi32(is_none, rounded, quiet))
    }
}

/// Pairs of 256-bit registers.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Avx2;

/// An instruction on both registers. `array::map` in its place would be a call of a function that may not use the instruction,
/// for each register.
#[cfg(target_arch = "x86_64")]
macro_rules! both {
    ($op:path, $a:expr $(, $more:expr)*) => {
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
        let bias = unsafe { [_mm256_set1_epi32(127); 2] };
        let whole = both!(_mm256_cvtps_epi32, n);
        let biased = both!(_mm256_add_epi32, whole, bias);
        let bits = both!(_mm256_slli_epi32::<23>, biased);
        both!(_mm256_castsi256_ps, bits)
    }
    #[inline(always)]
    unsafe fn select_less(a: Self::V, b: Self::V, yes: Self::V, no: Self::V) -> Self::V {
        let half = |i: usize| unsafe { _mm256_blendv_ps(no[i], yes[i], _mm256_cmp_ps::<_CMP_LT_OQ>(a[i], b[i])) };
        [half(0), half(1)]
    }
    #[inline(always)]
    unsafe fn halves(words: Self::V) -> (Self::V, Self::V) {
        let mask = unsafe { [_mm256_set1_epi32(HIGH_HALF); 2] };
        let bits = both!(_mm256_castps_si256, words);
        let low = both!(_mm256_slli_epi32::<16>, bits);
        let high = both!(_mm256_and_si256, bits, mask);
        (both!(_mm256_castsi256_ps, low), both!(_mm256_castsi256_ps, high))
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
