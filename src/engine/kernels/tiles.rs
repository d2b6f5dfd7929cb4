//! Products of bf16 in the order in which the matrix tiles of AMX add (Intel, "Architecture Instruction Set Extensions", TDPBF16PS):
//! the inner dimension is cut into blocks of 16 pairs; of each the products of the first numbers of the pairs are one
//! chain, those of the second ones another, and the sum of both is added to the result. In tiles where the processor has them,
//! and otherwise widened to f32, to the same bits (but for numbers below 2^-126, which tiles take for zero). So a job that
//! began on a machine with tiles can go on elsewhere.

use std::sync::atomic::{AtomicU8, Ordering};

use super::dispatched;
use super::lanes::{LANES, Lanes, PANEL};
use super::precision::TILED;

/// Rows that are computed at a time, as two tiles of 16.
const ROWS: usize = 32;

/// Whether there are tiles: 0 until it was asked for, 1 for no, 2 for yes.
static THERE: AtomicU8 = AtomicU8::new(0);

/// Whether the processor has tiles of bf16 that this process may use.
#[inline]
pub fn are_there() -> bool {
    match THERE.load(Ordering::Relaxed) {
        0 => {
            let found = detect();
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

/// Some rows of the left factor times a block of one panel of the right one, in words of two bf16.
#[derive(Clone, Copy)]
pub(super) struct Tiled<'a> {
    pub rows: usize,
    /// Rows of `words` words, `row_stride` apart.
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
    /// With the processor's tiles, or widened.
    ///
    /// # Safety
    /// `out` must be good for `rows` rows of `columns` numbers, `stride` apart, and there must be tiles if they are to be used.
    pub unsafe fn run(&self, with_tiles: bool, out: *mut f32, stride: usize) {
        let last = (self.rows - 1) * self.row_stride + self.words;
        assert!(last <= self.left.len() && self.words * PANEL <= self.right.len(), "a factor is too short");
        for first in (0..self.rows).step_by(ROWS) {
            let left = &self.left[first * self.row_stride..];
            let part = Self { rows: (self.rows - first).min(ROWS), left, ..*self };
            unsafe { part.run_rows(with_tiles, out.add(first * stride), stride) };
        }
    }

    /// Of at most [`ROWS`] rows. A panel with fewer columns goes through a full one beside the result.
    unsafe fn run_rows(&self, with_tiles: bool, out: *mut f32, stride: usize) {
        let mut beside = [0.0_f32; ROWS * PANEL];
        let is_whole = self.columns == PANEL;
        let (to, width) = if is_whole { (out, stride) } else { (beside.as_mut_ptr(), PANEL) };
        unsafe {
            for row in 0..self.rows {
                if self.fresh {
                    to.add(row * width).write_bytes(0, PANEL);
                } else if !is_whole {
                    out.add(row * stride).copy_to_nonoverlapping(to.add(row * width), self.columns);
                }
            }
            match with_tiles {
                #[cfg(target_arch = "x86_64")]
                true => self.add_tiles(to, width),
                _ => add_widened(self, to, width),
            }
            for row in (0..self.rows).filter(|_| !is_whole) {
                to.add(row * width).copy_to_nonoverlapping(out.add(row * stride), self.columns);
            }
        }
    }

    /// Whole tiles, and then what is left of the inner dimension.
    #[cfg(target_arch = "x86_64")]
    unsafe fn add_tiles(&self, out: *mut f32, stride: usize) {
        let (whole, rest) = (self.words / TILED, self.words % TILED);
        for (first, count, words) in [(0, whole, TILED), (whole * TILED, 1, rest)] {
            if count > 0 && words > 0 {
                let (left, right) = (&self.left[first..], &self.right[first * PANEL..]);
                let pass = amx::Pass { rows: self.rows, left, row_stride: self.row_stride, right, words, count };
                unsafe { pass.run(out, stride) };
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
        let left = &block.left[row * block.row_stride..][..block.words];
        unsafe {
            let out = out.add(row * stride);
            let mut sums = vectors.map(|v| S::load(out.add(v)));
            for (left, right) in left.chunks(TILED).zip(block.right.chunks(TILED * PANEL)) {
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

    use super::PANEL;

    /// Rows of a tile.
    const ROWS: usize = 16;
    /// Bytes of a word.
    const WORD: usize = 4;

    /// Tiles one after the other along the inner dimension.
    pub(super) struct Pass<'a> {
        pub rows: usize,
        pub left: &'a [f32],
        pub row_stride: usize,
        pub right: &'a [f32],
        /// Words of a tile.
        pub words: usize,
        /// Tiles.
        pub count: usize,
    }

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
            let (first, second) = (rows.min(ROWS), rows.saturating_sub(ROWS));
            let mut shapes = Self { palette: 1, start_row: 0, reserved: [0; 14], row_bytes: [0; 16], rows: [0; 16] };
            let wide = ROWS * WORD;
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

    impl Pass<'_> {
        /// Adds to `rows` rows of [`PANEL`] numbers, `stride` apart.
        pub(super) unsafe fn run(&self, out: *mut f32, stride: usize) {
            let last = (self.rows - 1) * self.row_stride + self.count * self.words;
            debug_assert!(last <= self.left.len() && self.count * self.words * PANEL <= self.right.len());
            let shapes = Shapes::of(self.rows, self.words);
            // Safety: tiles reach no further than the factors and the result; nothing else in this program uses tiles.
            unsafe { if self.rows <= ROWS { self.one(&shapes, out, stride) } else { self.two(&shapes, out, stride) } }
        }

        /// Of one tile of rows.
        unsafe fn one(&self, shapes: &Shapes, out: *mut f32, stride: usize) {
            unsafe {
                asm!(
                    "ldtilecfg [{shapes}]",
                    "tileloadd tmm0, [{out} + {out_stride}]",
                    "tileloadd tmm1, [{out} + {out_stride} + 64]",
                    "2:",
                    "tileloadd tmm4, [{left} + {left_stride}]",
                    "tileloadd tmm6, [{right} + {right_stride}]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tileloadd tmm7, [{right} + {right_stride} + 64]",
                    "tdpbf16ps tmm1, tmm4, tmm7",
                    "add {left}, 64",
                    "add {right}, 2048",
                    "dec {count}",
                    "jnz 2b",
                    "tilestored [{out} + {out_stride}], tmm0",
                    "tilestored [{out} + {out_stride} + 64], tmm1",
                    "tilerelease",
                    shapes = in(reg) shapes,
                    out = in(reg) out,
                    out_stride = in(reg) stride * WORD,
                    left = inout(reg) self.left.as_ptr() => _,
                    left_stride = in(reg) self.row_stride * WORD,
                    right = inout(reg) self.right.as_ptr() => _,
                    right_stride = in(reg) PANEL * WORD,
                    count = inout(reg) self.count => _,
                    options(nostack),
                );
            }
        }

        /// Of two tiles of rows, of which the second has less if need be.
        unsafe fn two(&self, shapes: &Shapes, out: *mut f32, stride: usize) {
            unsafe {
                asm!(
                    "ldtilecfg [{shapes}]",
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
                    "add {left}, 64",
                    "add {left_below}, 64",
                    "add {right}, 2048",
                    "dec {count}",
                    "jnz 2b",
                    "tilestored [{out} + {out_stride}], tmm0",
                    "tilestored [{out} + {out_stride} + 64], tmm1",
                    "tilestored [{below} + {out_stride}], tmm2",
                    "tilestored [{below} + {out_stride} + 64], tmm3",
                    "tilerelease",
                    shapes = in(reg) shapes,
                    out = in(reg) out,
                    below = in(reg) out.add(ROWS * stride),
                    out_stride = in(reg) stride * WORD,
                    left = inout(reg) self.left.as_ptr() => _,
                    left_below = inout(reg) self.left.as_ptr().add(ROWS * self.row_stride) => _,
                    left_stride = in(reg) self.row_stride * WORD,
                    right = inout(reg) self.right.as_ptr() => _,
                    right_stride = in(reg) PANEL * WORD,
                    count = inout(reg) self.count => _,
                    options(nostack),
                );
            }
        }
    }
}
