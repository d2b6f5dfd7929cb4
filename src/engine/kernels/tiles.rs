//! Products of bf16 in the order in which the matrix tiles of AMX add (Intel, "Architecture Instruction Set Extensions", TDPBF16PS):
//! the inner dimension is cut into blocks of 16 pairs; of each the products of the first numbers of the pairs are one
//! chain, those of the second ones another, and the sum of both is added to the result. In tiles where the processor has them,
//! and otherwise widened to f32, to the same bits (but for numbers below 2^-126, which tiles take for zero). So a job that
//! began on a machine with tiles can go on elsewhere.

use std::sync::atomic::{AtomicU8, Ordering};

use super::lanes::{LANES, Lanes, PANEL};
use super::precision::TILED;
use super::{Instructions, dispatched};

/// Rows that are computed at a time, as two tiles of 16.
pub(super) const ROWS: usize = 32;

/// Whether there are tiles: 0 until it was asked for, 1 for no, 2 for yes.
static THERE: AtomicU8 = AtomicU8::new(0);

/// Whether the processor has tiles of bf16 that this process may use.
#[inline]
pub fn are_there() -> bool {
    match THERE.load(Ordering::Relaxed) {
        0 => {
            let found = Instructions::allowed() == Ok(None) && detect();
            take(found);
            found
        }
        known => known == 2,
    }
}

/// Uses tiles or not from now on. Not where they are missing, unless their instructions are emulated, as tests do.
pub fn take(there: bool) {
    THERE.store(1 + u8::from(there), Ordering::Relaxed);
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn detect() -> bool {
    use std::arch::x86_64::__cpuid_count;
    /// AMX-BF16 and AMX-TILE in register EDX of leaf 7.
    const FEATURES: u32 = (1 << 22) | (1 << 24);
    /// Asks the kernel (from 5.16 on) for room for a part of the processor's state, here the data of tiles.
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    const XTILEDATA: libc::c_long = 18;
    let has = __cpuid_count(0, 0).eax >= 7 && __cpuid_count(7, 0).edx & FEATURES == FEATURES;
    // Safety: the call reads two numbers, and changes nothing but what this process may use.
    has && unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XTILEDATA) } == 0
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn detect() -> bool {
    false
}

/// The rows and words that a thread's tiles have; to give a processor's tiles a shape takes as long as several of their products.
#[derive(Default)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(super) struct Shaped(Option<(usize, usize)>);

#[cfg(target_arch = "x86_64")]
impl Drop for Shaped {
    fn drop(&mut self) {
        if self.0.is_some() {
            // Safety: there are tiles, since they have a shape.
            unsafe { std::arch::asm!("tilerelease", options(nostack, nomem)) };
        }
    }
}

/// Some rows of the left factor times a block of one panel of the right one, in words of two bf16.
#[derive(Clone, Copy)]
pub(super) struct Tiled<'a> {
    pub rows: usize,
    /// `[tiles of rows][tiles of words][TILED][TILED]`, those of one after the other of rows `row_stride` apart.
    pub left: &'a [f32],
    pub row_stride: usize,
    /// `[words][PANEL]`
    pub right: &'a [f32],
    pub words: usize,
    /// Columns of the panel that the result has.
    pub columns: usize,
    /// Whether the result's old value is left out.
    pub fresh: bool,
}

impl Tiled<'_> {
    /// With the processor's tiles, of which the thread has those of `shaped`, or widened.
    ///
    /// # Safety
    /// `out` must be good for `rows` rows of `columns` numbers, `stride` apart, and there must be tiles if they are to be used.
    pub unsafe fn run(&self, mut shaped: Option<&mut Shaped>, out: *mut f32, stride: usize) {
        let last = (self.rows - 1) / TILED * self.row_stride + self.words.next_multiple_of(TILED) * TILED;
        assert!(last <= self.left.len() && self.words * PANEL <= self.right.len(), "a factor is too short");
        if self.columns == PANEL {
            return unsafe { self.add_to(shaped, out, stride) };
        }
        // A panel with fewer columns goes through a full one beside the result.
        let mut beside = [0.0_f32; ROWS * PANEL];
        for first in (0..self.rows).step_by(ROWS) {
            let left = &self.left[first / TILED * self.row_stride..];
            let part = Self { rows: (self.rows - first).min(ROWS), left, ..*self };
            unsafe {
                for (row, beside) in beside.chunks_exact_mut(PANEL).enumerate().take(part.rows) {
                    out.add((first + row) * stride).copy_to_nonoverlapping(beside.as_mut_ptr(), self.columns);
                }
                part.add_to(shaped.as_deref_mut(), beside.as_mut_ptr(), PANEL);
                for (row, beside) in beside.chunks_exact(PANEL).enumerate().take(part.rows) {
                    out.add((first + row) * stride).copy_from_nonoverlapping(beside.as_ptr(), self.columns);
                }
            }
        }
    }

    /// To rows of a whole panel.
    unsafe fn add_to(&self, shaped: Option<&mut Shaped>, out: *mut f32, stride: usize) {
        unsafe {
            match shaped {
                #[cfg(target_arch = "x86_64")]
                Some(shaped) => amx::add(self, shaped, out, stride),
                _ => add_widened(self, out, stride),
            }
        }
    }
}

dispatched!(
    fn add_widened(block: &Tiled<'_>, out: *mut f32, stride: usize) = add_widened_body
);

#[inline(always)]
unsafe fn add_widened_body<S: Lanes>(block: &Tiled<'_>, out: *mut f32, stride: usize) {
    let vectors = [0, LANES];
    for row in 0..block.rows {
        let tiles = block.left[row / TILED * block.row_stride..].chunks_exact(TILED * TILED);
        unsafe {
            let out = out.add(row * stride);
            let mut sums = [S::splat(0.0); 2];
            if !block.fresh {
                for (sum, v) in sums.iter_mut().zip(vectors) {
                    *sum = S::load(out.add(v));
                }
            }
            for (tile, right) in tiles.zip(block.right[..block.words * PANEL].chunks(TILED * PANEL)) {
                let left = &tile[row % TILED * TILED..][..TILED];
                let mut parts = [[S::splat(0.0); 2]; 2];
                for (word, words) in left.iter().zip(right.chunks_exact(PANEL)) {
                    let (low, high) = S::halves(S::splat(*word));
                    for (part, v) in parts.iter_mut().zip(vectors) {
                        let (of_low, of_high) = S::halves(S::load(words.as_ptr().add(v)));
                        *part = [S::fma(low, of_low, part[0]), S::fma(high, of_high, part[1])];
                    }
                }
                for (sum, [low, high]) in sums.iter_mut().zip(parts) {
                    *sum = S::add(*sum, S::add(low, high));
                }
            }
            for (sum, v) in sums.into_iter().zip(vectors) {
                S::store(out.add(v), sum);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod amx {
    use std::arch::asm;

    use super::{PANEL, ROWS, Shaped, TILED, Tiled};

    /// Rows of a tile.
    const TILE: usize = 16;
    /// Bytes of a word.
    const WORD: usize = 4;

    /// What LDTILECFG reads: the bytes of a row and the rows of each tile.
    #[repr(C, align(64))]
    struct Shapes {
        palette: u8,
        start_row: u8,
        reserved: [u8; 14],
        row_bytes: [u16; 16],
        rows: [u8; 16],
    }

    impl Shapes {
        /// 0 to 3 are the result, two tiles of rows by two of columns; 4 and 5 the left factor, 6 and 7 the right one.
        fn of(rows: usize, words: usize) -> Self {
            let (first, second) = (rows.min(TILE), rows.saturating_sub(TILE));
            let mut shapes = Self { palette: 1, start_row: 0, reserved: [0; 14], row_bytes: [0; 16], rows: [0; 16] };
            let wide = TILE * WORD;
            let tiles = [
                (first, wide),
                (first, wide),
                (second, wide),
                (second, wide),
                (first, words * WORD),
                (second, words * WORD),
                (words, wide),
                (words, wide),
            ];
            for (tile, (rows, bytes)) in tiles.into_iter().enumerate().filter(|(_, (rows, _))| *rows > 0) {
                shapes.rows[tile] = rows as u8;
                shapes.row_bytes[tile] = bytes as u16;
            }
            shapes
        }
    }

    impl Shaped {
        /// Gives the tiles this shape, unless they have it.
        fn take(&mut self, rows: usize, words: usize) {
            if self.0.replace((rows, words)) != Some((rows, words)) {
                // Safety: who computes with tiles asked whether there are any.
                unsafe { asm!("ldtilecfg [{}]", in(reg) &Shapes::of(rows, words), options(nostack, readonly)) };
            }
        }
    }

    /// Adds to rows of [`PANEL`] numbers, `stride` apart: whole tiles of the inner dimension, and then what is left of it; of
    /// both whole pairs of tiles of rows, and then what is left of these.
    ///
    /// # Safety
    /// There are tiles, and the factors and the result are as long as the block says.
    pub(super) unsafe fn add(block: &Tiled<'_>, shaped: &mut Shaped, out: *mut f32, stride: usize) {
        let (whole, rest) = (block.words / TILED, block.words % TILED);
        let whole_rows = block.rows - block.rows % ROWS;
        for (first, count, words) in [(0, whole, TILED), (whole * TILED, 1, rest)] {
            if count == 0 || words == 0 {
                continue;
            }
            let pass = Pass { block, first, count, fresh: block.fresh && first == 0 };
            for row in (0..whole_rows).step_by(ROWS) {
                shaped.take(ROWS, words);
                // Safety: tiles reach no further than the factors and the result; nothing else in this program uses tiles.
                unsafe { pass.two(row, out.add(row * stride), stride) };
            }
            let (row, rows) = (whole_rows, block.rows % ROWS);
            if rows > 0 {
                shaped.take(rows, words);
                // Safety: as above.
                unsafe {
                    let out = out.add(row * stride);
                    if rows <= TILE { pass.one(row, out, stride) } else { pass.two(row, out, stride) }
                }
            }
        }
    }

    /// Tiles one after the other along the inner dimension, from a word on.
    struct Pass<'a> {
        block: &'a Tiled<'a>,
        first: usize,
        count: usize,
        /// Whether sums begin at zero.
        fresh: bool,
    }

    impl Pass<'_> {
        /// Of one tile of rows.
        unsafe fn one(&self, row: usize, out: *mut f32, stride: usize) {
            let left = &self.block.left[row / TILE * self.block.row_stride + self.first * TILE..];
            unsafe {
                asm!(
                    "tilezero tmm0",
                    "tilezero tmm1",
                    "test {fresh}, {fresh}",
                    "jnz 2f",
                    "tileloadd tmm0, [{out} + {out_stride}]",
                    "tileloadd tmm1, [{out} + {out_stride} + 64]",
                    "2:",
                    "tileloadd tmm4, [{left} + {left_stride}]",
                    "tileloadd tmm6, [{right} + {right_stride}]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tileloadd tmm7, [{right} + {right_stride} + 64]",
                    "tdpbf16ps tmm1, tmm4, tmm7",
                    "add {left}, 1024",
                    "add {right}, 2048",
                    "dec {count}",
                    "jnz 2b",
                    "tilestored [{out} + {out_stride}], tmm0",
                    "tilestored [{out} + {out_stride} + 64], tmm1",
                    fresh = in(reg) usize::from(self.fresh),
                    out = in(reg) out,
                    out_stride = in(reg) stride * WORD,
                    left = inout(reg) left.as_ptr() => _,
                    left_stride = in(reg) TILE * WORD,
                    right = inout(reg) self.block.right[self.first * PANEL..].as_ptr() => _,
                    right_stride = in(reg) PANEL * WORD,
                    count = inout(reg) self.count => _,
                    options(nostack),
                );
            }
        }

        /// Of two tiles of rows, of which the second has less if need be.
        unsafe fn two(&self, row: usize, out: *mut f32, stride: usize) {
            let left = &self.block.left[row / TILE * self.block.row_stride + self.first * TILE..];
            unsafe {
                asm!(
                    "tilezero tmm0",
                    "tilezero tmm1",
                    "tilezero tmm2",
                    "tilezero tmm3",
                    "test {fresh}, {fresh}",
                    "jnz 2f",
                    "tileloadd tmm0, [{out} + {out_stride}]",
                    "tileloadd tmm1, [{out} + {out_stride} + 64]",
                    "tileloadd tmm2, [{below} + {out_stride}]",
                    "tileloadd tmm3, [{below} + {out_stride} + 64]",
                    "2:",
                    "tileloadd tmm4, [{left} + {left_stride}]",
                    "tileloadd tmm6, [{right} + {right_stride}]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tileloadd tmm7, [{right} + {right_stride} + 64]",
                    "tdpbf16ps tmm1, tmm4, tmm7",
                    "tileloadd tmm5, [{left_below} + {left_stride}]",
                    "tdpbf16ps tmm2, tmm5, tmm6",
                    "tdpbf16ps tmm3, tmm5, tmm7",
                    "add {left}, 1024",
                    "add {left_below}, 1024",
                    "add {right}, 2048",
                    "dec {count}",
                    "jnz 2b",
                    "tilestored [{out} + {out_stride}], tmm0",
                    "tilestored [{out} + {out_stride} + 64], tmm1",
                    "tilestored [{below} + {out_stride}], tmm2",
                    "tilestored [{below} + {out_stride} + 64], tmm3",
                    fresh = in(reg) usize::from(self.fresh),
                    out = in(reg) out,
                    below = in(reg) out.add(TILE * stride),
                    out_stride = in(reg) stride * WORD,
                    left = inout(reg) left.as_ptr() => _,
                    left_below = inout(reg) left.as_ptr().add(self.block.row_stride) => _,
                    left_stride = in(reg) TILE * WORD,
                    right = inout(reg) self.block.right[self.first * PANEL..].as_ptr() => _,
                    right_stride = in(reg) PANEL * WORD,
                    count = inout(reg) self.count => _,
                    options(nostack),
                );
            }
        }
    }
}
