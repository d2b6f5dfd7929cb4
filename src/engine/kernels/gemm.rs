//! Matrix products. Every number of a result is one chain `((0 + a_0 b_0) + a_1 b_1) + ...` over the inner dimension
//! in ascending order (in bf16: over pairs), whatever the shapes, blocks and threads are. So a row of a product is the
//! same bits alone, in a batch, in a chunk, or packed with other sequences; and a product that is added to what is
//! there goes on with the chain, so that sums over micro-batches do not depend on where they were cut.
//!
//! The right factor is first copied into panels of [`PANEL`] columns, which the inner loop reads front to back; the
//! left one is read in place. Blocking follows Goto and van de Geijn, "Anatomy of high-performance matrix
//! multiplication" (2008).

use rayon::prelude::*;

use super::dispatched;
pub use super::factors::{Kept, Left, PANEL, Panels, Precision, View};
use super::int8::{self, Int8};
use super::lanes::{LANES, Lanes};

/// Inner steps of a block: a panel's block stays in the first-level cache.
const DEPTH: usize = 256;
/// Inner steps of a block when there are few rows, which then take all of a panel at once.
const WHOLE_DEPTH: usize = 2048;
/// Rows of a task: their block stays in the second-level cache.
const ROWS: usize = 168;
/// Products below this many multiplications are not worth a second thread.
const SERIAL: usize = 1 << 15;

/// Where a product goes: `[rows, columns]` with rows `stride` apart, shared by tasks that write different parts.
#[derive(Clone, Copy)]
struct Target {
    first: *mut f32,
    stride: usize,
}

unsafe impl Send for Target {}
unsafe impl Sync for Target {}

/// Columns of a matrix that a product goes to.
#[derive(Debug)]
pub struct Strip<'a> {
    pub values: &'a mut [f32],
    /// Columns of the whole matrix.
    pub width: usize,
    /// The first of the strip's.
    pub first: usize,
}

impl<'a> Strip<'a> {
    /// All columns.
    pub fn whole(values: &'a mut [f32], width: usize) -> Self {
        Self { values, width, first: 0 }
    }
}

/// `C = A B`, or with `add` `C += A B`; `C` is `[rows of A, columns of B]`.
pub fn product(left: &Left<'_>, right: &Panels, out: &mut [f32], add: bool) {
    product_into(left, &[Right::Panels(right)], Strip::whole(out, right.columns), add);
}

/// Most rows for which codes are decoded in the registers of a bf16 product.
pub const FEW_ROWS: usize = 2 * TILE;

/// A right factor as products read it.
#[derive(Clone, Copy, Debug)]
pub enum Right<'a> {
    Panels(&'a Panels),
    /// Codes, to be multiplied in a precision that the processor has.
    Int8(&'a Int8, Precision),
}

impl<'a> Right<'a> {
    /// Inner steps, columns, and the precision of the products.
    fn shape(self) -> (usize, usize, Precision) {
        match self {
            Self::Panels(panels) => (panels.depth, panels.columns, panels.precision),
            Self::Int8(codes, precision) => (codes.depth, codes.columns, precision),
        }
    }

    /// Some words of a panel of `depth` words, of which the first begins a block.
    fn part(self, panel: usize, depth: usize, steps: std::ops::Range<usize>) -> Part<'a> {
        match self {
            Self::Panels(panels) => {
                let words = &panels.words[(panel * depth + steps.start) * PANEL..][..steps.len() * PANEL];
                if panels.paired { Part::Pairs(words) } else { Part::Words(words) }
            }
            Self::Int8(codes, precision) => {
                let wide = if precision == Precision::F32 { 1 } else { 2 };
                let (first, end) = (steps.start * wide, (steps.end * wide).min(codes.depth));
                let scales = (panel * codes.depth.div_ceil(int8::BLOCK) + first / int8::BLOCK) * PANEL;
                let count = (end - first).div_ceil(int8::BLOCK) * PANEL;
                let own = &codes.codes[(panel * codes.depth + first) * PANEL..][..(end - first) * PANEL];
                Part::Codes(own, &codes.scales[scales..][..count], wide == 2)
            }
        }
    }
}

/// A part of a panel of the right factor.
#[derive(Clone, Copy)]
enum Part<'a> {
    Words(&'a [f32]),
    /// Of bf16.
    Pairs(&'a [f32]),
    /// With a scale for each block of steps and column, and whether two steps are a word.
    Codes(&'a [i8], &'a [f32], bool),
}

/// The same for several right factors side by side, into columns of a matrix.
pub fn product_into(left: &Left<'_>, right: &[Right<'_>], out: Strip<'_>, add: bool) {
    let depth = left.precision.words(left.depth);
    let Strip { values, width, first } = out;
    // Panels before each factor, and its first column.
    let (mut parts, mut panels, mut columns) = (Vec::with_capacity(right.len()), 0, first);
    for factor in right {
        let (steps, own, precision) = factor.shape();
        assert_eq!((left.depth, left.precision), (steps, precision), "the factors do not fit");
        parts.push((panels, columns, own, *factor));
        panels += own.div_ceil(PANEL);
        columns += own;
    }
    assert!(columns <= width && values.len() == left.rows * width, "the product has another size");
    if values.is_empty() || panels == 0 {
        return;
    }
    if depth == 0 {
        return values.chunks_exact_mut(width).filter(|_| !add).for_each(|row| row[first..columns].fill(0.0));
    }
    let last = (left.rows - 1) * left.row_stride + (depth - 1) * left.step_stride;
    assert!(last < left.words().len());
    let target = Target { first: values.as_mut_ptr(), stride: width };
    let work = left.rows * (columns - first) * depth;
    let threads = if work < SERIAL { 1 } else { rayon::current_num_threads() };
    // Each task has some rows and some panels; a few tasks for each thread, so that none waits long for another.
    let row_tasks = left.rows.div_ceil(ROWS);
    let wanted = if threads == 1 { 1 } else { (4 * threads).div_ceil(row_tasks) };
    let width = panels.div_ceil(wanted.min(panels)).clamp(1, 12.max(if threads == 1 { panels } else { 1 }));
    let panel_tasks = panels.div_ceil(width);
    let block_depth = if left.rows <= 4 * TILE { WHOLE_DEPTH } else { DEPTH };
    let task = |index: usize| {
        let (row_task, panel_task) = (index % row_tasks, index / row_tasks);
        let rows = split(left.rows, row_tasks, row_task);
        let columns = panel_task * width..((panel_task + 1) * width).min(panels);
        for begin in (0..depth).step_by(block_depth) {
            let steps = begin..(begin + block_depth).min(depth);
            let fresh = begin == 0 && !add;
            for panel in columns.clone() {
                let of = parts.iter().rposition(|(before, ..)| *before <= panel).unwrap_or(0);
                let (before, column, own, right) = parts[of];
                let panel = panel - before;
                let tiles = rows.len().div_ceil(TILE);
                for tile in 0..tiles {
                    let within = split(rows.len(), tiles, tile);
                    let first = rows.start + within.start;
                    let block = Block {
                        rows: within.len(),
                        left: &left.words()[first * left.row_stride + steps.start * left.step_stride..],
                        row_stride: left.row_stride,
                        step_stride: left.step_stride,
                        right: right.part(panel, depth, steps.clone()),
                        steps: steps.len(),
                        columns: (own - panel * PANEL).min(PANEL),
                        fresh,
                    };
                    // Safety: tasks have different rows or panels, and lengths were checked above.
                    unsafe { block.run(target.at(first, column + panel * PANEL), target.stride) };
                }
            }
        }
    };
    let tasks = row_tasks * panel_tasks;
    if threads == 1 || tasks == 1 {
        (0..tasks).for_each(task);
    } else {
        (0..tasks).into_par_iter().with_max_len(1).for_each(task);
    }
}

/// `C = A B^T` as the `gemm` crate computes it, to compare with, for `A: [rows, depth]` and `B: [columns, depth]`.
pub fn library_product(a: &[f32], b: &[f32], depth: usize, out: &mut [f32]) {
    let (rows, columns) = (a.len() / depth, b.len() / depth);
    assert_eq!([a.len(), b.len(), out.len()], [rows * depth, columns * depth, rows * columns]);
    let threads = gemm::Parallelism::Rayon(0);
    let (of_a, of_b, of_out) = ([1, depth as isize], [depth as isize, 1], [1, columns as isize]);
    // Safety: the strides of columns and rows stay within the slices, whose lengths are checked above; `out` is
    // borrowed alone. The crate has no safe form.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            depth,
            out.as_mut_ptr(),
            of_out[0],
            of_out[1],
            false,
            a.as_ptr(),
            of_a[0],
            of_a[1],
            b.as_ptr(),
            of_b[0],
            of_b[1],
            0.0,
            1.0,
            false,
            false,
            false,
            threads,
        );
    }
}

/// Part `index` of `0..count` in `parts` parts that differ by one at most.
fn split(count: usize, parts: usize, index: usize) -> std::ops::Range<usize> {
    count * index / parts..count * (index + 1) / parts
}

impl Target {
    unsafe fn at(&self, row: usize, column: usize) -> *mut f32 {
        unsafe { self.first.add(row * self.stride + column) }
    }
}

/// Most rows of a tile.
const TILE: usize = 12;

/// Some rows of the left factor times a block of one panel.
struct Block<'a> {
    rows: usize,
    left: &'a [f32],
    row_stride: usize,
    step_stride: usize,
    right: Part<'a>,
    steps: usize,
    columns: usize,
    /// Whether the result's old value is left out.
    fresh: bool,
}

impl Block<'_> {
    unsafe fn run(&self, out: *mut f32, stride: usize) {
        let last = (self.rows - 1) * self.row_stride + (self.steps - 1) * self.step_stride;
        debug_assert!(last < self.left.len());
        if self.columns == PANEL {
            return unsafe { self.tile(out, stride) };
        }
        // A panel with fewer columns goes through a full tile beside the result.
        let mut whole = [0.0_f32; TILE * PANEL];
        for row in 0..self.rows {
            for column in 0..self.columns {
                whole[row * PANEL + column] = unsafe { *out.add(row * stride + column) };
            }
        }
        unsafe { self.tile(whole.as_mut_ptr(), PANEL) };
        for row in 0..self.rows {
            for column in 0..self.columns {
                unsafe { *out.add(row * stride + column) = whole[row * PANEL + column] };
            }
        }
    }

    unsafe fn tile(&self, out: *mut f32, stride: usize) {
        match self.right {
            #[cfg(target_arch = "x86_64")]
            Part::Pairs(words) => unsafe { bf16::tile_bf16(self, words.as_ptr(), out, stride) },
            #[cfg(not(target_arch = "x86_64"))]
            Part::Pairs(_) => unreachable!("only some processors have pairs"),
            Part::Words(words) => unsafe { tile_f32(self, words.as_ptr(), out, stride) },
            Part::Codes(codes, scales, paired) => {
                let tile = Codes { codes: codes.as_ptr(), scales: scales.as_ptr(), steps: codes.len() / PANEL };
                #[cfg(target_arch = "x86_64")]
                if paired {
                    return unsafe { bf16::tile_codes(self, tile, out, stride) };
                }
                debug_assert!(!paired);
                unsafe { tile_int8(self, tile, out, stride) }
            }
        }
    }
}

/// How a word of the left factor is multiplied with words of the right one.
///
/// # Safety
/// As of [`Lanes`].
unsafe trait Multiply: Copy {
    type S: Lanes;
    type X: Copy;
    unsafe fn spread(word: *const f32) -> Self::X;
    unsafe fn load(words: *const f32) -> Self::X;
    unsafe fn add(a: Self::X, b: Self::X, sum: <Self::S as Lanes>::V) -> <Self::S as Lanes>::V;
}

#[derive(Clone, Copy)]
struct Plain<S>(std::marker::PhantomData<S>);

unsafe impl<S: Lanes> Multiply for Plain<S> {
    type S = S;
    type X = S::V;
    #[inline(always)]
    unsafe fn spread(word: *const f32) -> S::V {
        unsafe { S::splat(*word) }
    }
    #[inline(always)]
    unsafe fn load(words: *const f32) -> S::V {
        unsafe { S::load(words) }
    }
    #[inline(always)]
    unsafe fn add(a: S::V, b: S::V, sum: S::V) -> S::V {
        unsafe { S::fma(a, b, sum) }
    }
}

/// `ROWS x (VECTORS * LANES)` sums in registers.
#[inline(always)]
unsafe fn sums<M: Multiply, const ROWS: usize, const VECTORS: usize>(
    block: &Block<'_>,
    right: *const f32,
    offset: (usize, usize),
    out: *mut f32,
    stride: usize,
) {
    unsafe {
        let (first, column) = offset;
        let out = out.add(first * stride + column);
        let mut sums = [[M::S::splat(0.0); VECTORS]; ROWS];
        if !block.fresh {
            for (row, sums) in sums.iter_mut().enumerate() {
                for (v, sum) in sums.iter_mut().enumerate() {
                    *sum = M::S::load(out.add(row * stride + v * LANES));
                }
            }
        }
        // Three rows share a pointer, because an address is a pointer and a stride times 1 or 2: a pointer for each row
        // would not fit the registers, and one for all would be a chain of additions as long as the products take.
        let left = block.left.as_ptr().add(first * block.row_stride);
        let mut thirds: [*const f32; TILE.div_ceil(3)] = [left; TILE.div_ceil(3)];
        for (third, pointer) in thirds.iter_mut().enumerate() {
            *pointer = left.wrapping_add(third * 3 * block.row_stride);
        }
        let mut right = right.add(column);
        for _ in 0..block.steps {
            let mut words = [M::load(right); VECTORS];
            for (v, word) in words.iter_mut().enumerate() {
                *word = M::load(right.add(v * LANES));
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                let factor = M::spread(thirds[row / 3].add(row % 3 * block.row_stride));
                for (sum, word) in sums.iter_mut().zip(words) {
                    *sum = M::add(factor, word, *sum);
                }
            }
            for pointer in &mut thirds {
                *pointer = pointer.wrapping_add(block.step_stride);
            }
            right = right.add(PANEL);
        }
        for (row, sums) in sums.iter().enumerate() {
            for (v, sum) in sums.iter().enumerate() {
                M::S::store(out.add(row * stride + v * LANES), *sum);
            }
        }
    }
}

/// Calls [`sums`] for the block's number of rows.
macro_rules! by_rows {
    ($sums:ident::<$multiply:ty>, $block:expr, $right:expr, $rows:expr, $offset:expr, $out:expr, $stride:expr, $vectors:literal, [$($count:literal)*]) => {
        match $rows {
            $($count => $sums::<$multiply, $count, $vectors>($block, $right, $offset, $out, $stride),)*
            rows => unreachable!("{rows} rows in a tile"),
        }
    };
}

dispatched!(
    fn tile_f32(block: &Block<'_>, right: *const f32, out: *mut f32, stride: usize) = tile_f32_body
);

#[inline(always)]
unsafe fn tile_f32_body<S: Lanes>(block: &Block<'_>, right: *const f32, out: *mut f32, stride: usize) {
    unsafe {
        if size_of::<S::V>() == 64 && align_of::<S::V>() == 64 {
            by_rows!(sums::<Plain<S>>, block, right, block.rows, (0, 0), out, stride, 2, [1 2 3 4 5 6 7 8 9 10 11 12]);
        } else {
            // Half the registers: fewer rows and one vector at a time.
            for first in (0..block.rows).step_by(6) {
                for column in [0, LANES] {
                    let rows = (block.rows - first).min(6);
                    by_rows!(sums::<Plain<S>>, block, right, rows, (first, column), out, stride, 1, [1 2 3 4 5 6]);
                }
            }
        }
    }
}

/// Codes of a block, and their scales.
#[derive(Clone, Copy)]
struct Codes {
    codes: *const i8,
    scales: *const f32,
    /// Steps that there are.
    steps: usize,
}

/// As [`sums`], with words that are decoded when they are read.
#[inline(always)]
unsafe fn coded_sums<S: Lanes, const ROWS: usize, const VECTORS: usize>(
    block: &Block<'_>,
    right: Codes,
    (first, column): (usize, usize),
    out: *mut f32,
    stride: usize,
) {
    unsafe {
        let out = out.add(first * stride + column);
        let mut sums = [[S::splat(0.0); VECTORS]; ROWS];
        if !block.fresh {
            for (row, sums) in sums.iter_mut().enumerate() {
                for (v, sum) in sums.iter_mut().enumerate() {
                    *sum = S::load(out.add(row * stride + v * LANES));
                }
            }
        }
        let left = block.left.as_ptr().add(first * block.row_stride);
        for begin in (0..block.steps).step_by(int8::BLOCK) {
            let mut scales = [S::splat(0.0); VECTORS];
            for (v, scale) in scales.iter_mut().enumerate() {
                *scale = S::load(right.scales.add(begin / int8::BLOCK * PANEL + column + v * LANES));
            }
            for step in begin..(begin + int8::BLOCK).min(block.steps) {
                let mut words = scales;
                for (v, word) in words.iter_mut().enumerate() {
                    *word = S::mul(S::load_i8(right.codes.add(step * PANEL + column + v * LANES)), *word);
                }
                let left = left.wrapping_add(step * block.step_stride);
                for (row, sums) in sums.iter_mut().enumerate() {
                    let factor = S::splat(*left.wrapping_add(row * block.row_stride));
                    for (sum, word) in sums.iter_mut().zip(words) {
                        *sum = S::fma(factor, word, *sum);
                    }
                }
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            for (v, sum) in sums.iter().enumerate() {
                S::store(out.add(row * stride + v * LANES), *sum);
            }
        }
    }
}

dispatched!(
    fn tile_int8(block: &Block<'_>, right: Codes, out: *mut f32, stride: usize) = tile_int8_body
);

#[inline(always)]
unsafe fn tile_int8_body<S: Lanes>(block: &Block<'_>, right: Codes, out: *mut f32, stride: usize) {
    unsafe {
        if size_of::<S::V>() == 64 && align_of::<S::V>() == 64 {
            by_rows!(coded_sums::<S>, block, right, block.rows, (0, 0), out, stride, 2, [1 2 3 4 5 6 7 8 9 10 11 12]);
        } else {
            for first in (0..block.rows).step_by(6) {
                for column in [0, LANES] {
                    let rows = (block.rows - first).min(6);
                    by_rows!(coded_sums::<S>, block, right, rows, (first, column), out, stride, 1, [1 2 3 4 5 6]);
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod bf16 {
    use std::arch::x86_64::*;

    use super::super::lanes::{Avx512, LANES, Lanes, PANEL};
    use super::{Block, Codes, Multiply, int8, sums};

    /// Pairs of bf16, with the processor's own product.
    #[derive(Clone, Copy)]
    struct Pairs;

    unsafe impl Multiply for Pairs {
        type S = Avx512;
        type X = __m512i;
        #[inline(always)]
        unsafe fn spread(word: *const f32) -> __m512i {
            unsafe { _mm512_set1_epi32(word.cast::<i32>().read_unaligned()) }
        }
        #[inline(always)]
        unsafe fn load(words: *const f32) -> __m512i {
            unsafe { _mm512_loadu_si512(words.cast()) }
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

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")]
    pub(super) unsafe fn tile_bf16(block: &Block<'_>, right: *const f32, out: *mut f32, stride: usize) {
        unsafe {
            by_rows!(sums::<Pairs>, block, right, block.rows, (0, 0), out, stride, 2, [1 2 3 4 5 6 7 8 9 10 11 12]);
        }
    }

    /// Words that are decoded when they are read: two steps of sixteen columns, rounded to bf16.
    #[inline(always)]
    unsafe fn word(right: Codes, step: usize, column: usize) -> __m512i {
        unsafe {
            let scale = Avx512::load(right.scales.add(step / int8::BLOCK * PANEL + column));
            let decoded = |step: usize| Avx512::mul(Avx512::load_i8(right.codes.add(step * PANEL + column)), scale);
            let low = decoded(step);
            let high = if step + 1 < right.steps { decoded(step + 1) } else { Avx512::splat(0.0) };
            let both = std::mem::transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(high, low));
            // From the numbers of one step before those of the other to pairs.
            let pairs = _mm512_set_epi16(
                31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2,
                17, 1, 16, 0,
            );
            _mm512_permutexvar_epi16(pairs, both)
        }
    }

    /// As [`sums`].
    #[inline(always)]
    unsafe fn coded_pairs<M: Multiply, const ROWS: usize, const VECTORS: usize>(
        block: &Block<'_>,
        right: Codes,
        (first, column): (usize, usize),
        out: *mut f32,
        stride: usize,
    ) {
        unsafe {
            let out = out.add(first * stride + column);
            let mut sums = [[Avx512::splat(0.0); VECTORS]; ROWS];
            if !block.fresh {
                for (row, sums) in sums.iter_mut().enumerate() {
                    for (v, sum) in sums.iter_mut().enumerate() {
                        *sum = Avx512::load(out.add(row * stride + v * LANES));
                    }
                }
            }
            let left = block.left.as_ptr().add(first * block.row_stride);
            for pair in 0..block.steps {
                let mut words = [_mm512_setzero_si512(); VECTORS];
                for (v, own) in words.iter_mut().enumerate() {
                    *own = word(right, 2 * pair, column + v * LANES);
                }
                let left = left.wrapping_add(pair * block.step_stride);
                for (row, sums) in sums.iter_mut().enumerate() {
                    let factor = Pairs::spread(left.wrapping_add(row * block.row_stride));
                    for (sum, word) in sums.iter_mut().zip(words) {
                        *sum = Pairs::add(factor, word, *sum);
                    }
                }
            }
            for (row, sums) in sums.iter().enumerate() {
                for (v, sum) in sums.iter().enumerate() {
                    Avx512::store(out.add(row * stride + v * LANES), *sum);
                }
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")]
    pub(super) unsafe fn tile_codes(block: &Block<'_>, right: Codes, out: *mut f32, stride: usize) {
        unsafe {
            by_rows!(coded_pairs::<Pairs>, block, right, block.rows, (0, 0), out, stride, 2, [1 2 3 4 5 6 7 8 9 10 11 12]);
        }
    }
}
