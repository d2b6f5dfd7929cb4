//! Matrix products. Every number of a result is one chain `((0 + a_0 b_0) + a_1 b_1) + ...` over the inner dimension
//! in ascending order (in bf16: over pairs, or over tiles), whatever the shapes, blocks and threads are. So a row of a product is the
//! same bits alone, in a batch, in a chunk, or packed with other sequences; and a product that is added to what is
//! there goes on with the chain, so that sums over micro-batches do not depend on where they were cut.
//!
//! The right factor is first copied into panels of [`PANEL`] columns, which the inner loop reads front to back; the
//! left one is read in place, or copied where its numbers are far from one another or lie in tiles. Blocking follows Goto and van de Geijn, "Anatomy of high-performance matrix
//! multiplication" (2008).

use std::ops::Range;

use rayon::prelude::*;

use super::codes::{Coded, Codes, Steps};
use super::dispatched;
use super::factors::Reading;
pub use super::factors::{Kept, Left, Number, PANEL, Panels, Precision, View};
use super::form::{self, Way};
use super::lanes::{LANES, Lanes};
use super::precision::TILED;
use super::tiles::{self, Shaped, Tiled};
use super::words::{Factor, Multiply, Plain, Widened};

/// Inner steps of a block: a panel's block stays in the first-level cache.
const DEPTH: usize = 256;
/// Inner steps of a block when there are few rows, which then take all of a panel at once.
const WHOLE_DEPTH: usize = 2048;
/// Most words of a block of matrix tiles.
const TILED_DEPTH: usize = 1024;
/// Words of a block that is decoded for its product.
const DECODED: usize = 128;
/// Most rows for which codes are decoded in the product's registers.
const FUSED_ROWS: usize = 8;
/// Rows of a task: their block stays in the second-level cache.
const ROWS: usize = 168;
/// Least panels of a task for which rows that lie side by side are copied.
const GATHERED: usize = 4;
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

/// A right factor as products read it.
#[derive(Clone, Copy, Debug)]
pub enum Right<'a> {
    Panels(&'a Panels),
    /// Codes, to be multiplied in the given precision.
    Codes(&'a Codes, Precision),
}

impl<'a> Right<'a> {
    /// Inner steps, columns, and the precision of the products.
    fn shape(self) -> (usize, usize, Precision) {
        match self {
            Self::Panels(panels) => (panels.depth, panels.columns, panels.precision),
            Self::Codes(codes, precision) => (codes.depth, codes.columns, precision),
        }
    }

    /// Some words of a panel of `depth` words; codes for more than one tile are decoded into `decoded`.
    fn part(self, panel: usize, depth: usize, words: Range<usize>, decoded: Option<&'a mut Vec<f32>>) -> Part<'a> {
        match self {
            Self::Panels(panels) => {
                Part::Words(&panels.words[(panel * depth + words.start) * PANEL..][..words.len() * PANEL])
            }
            Self::Codes(codes, precision) => {
                let wide = if precision.is_paired() { 2 } else { 1 };
                let steps = words.start * wide..(words.end * wide).min(codes.depth);
                let Some(decoded) = decoded else { return Part::Codes(codes.steps(panel, steps)) };
                decoded.resize(words.len() * PANEL, 0.0);
                codes.fill(panel, steps, precision, decoded);
                Part::Words(decoded)
            }
        }
    }
}

/// A part of a panel of the right factor.
#[derive(Clone, Copy)]
enum Part<'a> {
    Words(&'a [f32]),
    /// Decoded in the product's registers.
    Codes(Steps<'a>),
}

impl<'a> Part<'a> {
    /// Pairs as two rows of numbers each, in `room`.
    fn widened(self, room: &'a mut Vec<f32>) -> Self {
        let Self::Words(words) = self else { return self };
        room.resize(2 * words.len(), 0.0);
        for (words, out) in words.chunks_exact(PANEL).zip(room.chunks_exact_mut(2 * PANEL)) {
            let (high, low) = out.split_at_mut(PANEL);
            form::widen(words, high, low);
        }
        Self::Words(room)
    }
}

/// The same for several right factors side by side, into columns of a matrix.
pub fn product_into(left: &Left<'_>, right: &[Right<'_>], out: Strip<'_>, add: bool) {
    let depth = left.precision.words(left.depth);
    let Strip { values, width, first } = out;
    let (parts, panels, columns) = side_by_side(left, right, first);
    assert!(columns <= width && values.len() == left.rows * width, "the product has another size");
    if values.is_empty() || panels == 0 {
        return;
    }
    if depth == 0 {
        return values.chunks_exact_mut(width).filter(|_| !add).for_each(|row| row[first..columns].fill(0.0));
    }
    left.check();
    let target = Target { first: values.as_mut_ptr(), stride: width };
    let is_few = left.rows <= FUSED_ROWS;
    let way = form::way(left.precision, is_few);
    let is_small = left.rows * (columns - first) * depth < SERIAL;
    let threads = if is_small { 1 } else { rayon::current_num_threads() };
    // Each task has some rows and some panels; a few tasks for each thread, so that none waits long for another.
    let unit = if way.is_tiled() { tiles::ROWS } else { 1 };
    let units = left.rows.div_ceil(unit);
    let row_tasks = units.div_ceil(ROWS / unit);
    let width = panels_of_task(panels, row_tasks, threads);
    let panel_tasks = panels.div_ceil(width);
    let block_depth = block_depth(depth, left.rows, right, way);
    // Codes are decoded as they are multiplied.
    let fuses = is_few && !way.is_tiled();
    let reading = reading(left, way, width);
    let widens = reading == Reading::Widened;
    let task = |index: usize| {
        let (mut decoded, mut of_left, mut of_right) = (Vec::new(), Vec::new(), Vec::new());
        let mut shaped = (way == Way::Tiles).then(Shaped::default);
        let (row_task, panel_task) = (index % row_tasks, index / row_tasks);
        let rows = split(units, row_tasks, row_task);
        let rows = rows.start * unit..(rows.end * unit).min(left.rows);
        let columns = panel_task * width..((panel_task + 1) * width).min(panels);
        for begin in (0..depth).step_by(block_depth) {
            let steps = begin..(begin + block_depth).min(depth);
            let fresh = begin == 0 && !add;
            let (left, row_stride, step_stride) = left.read(reading, rows.clone(), steps.clone(), &mut of_left);
            for panel in columns.clone() {
                let of = parts.iter().rposition(|(before, ..)| *before <= panel).unwrap_or(0);
                let (before, column, own, right) = parts[of];
                let panel = panel - before;
                let words = right.part(panel, depth, steps.clone(), Some(&mut decoded).filter(|_| !fuses));
                let block = Block {
                    rows: rows.len(),
                    left,
                    row_stride,
                    step_stride,
                    right: if widens { words.widened(&mut of_right) } else { words },
                    way: if widens { Way::Plain } else { way },
                    steps: if widens { 2 * steps.len() } else { steps.len() },
                    columns: (own - panel * PANEL).min(PANEL),
                    fresh,
                };
                // Safety: tasks have different rows or panels, and lengths were checked above.
                unsafe { block.run(target.at(rows.start, column + panel * PANEL), target.stride, shaped.as_mut()) };
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

/// A right factor with the panels before it, its first column, and how many it has.
type Side<'a> = (usize, usize, usize, Right<'a>);

/// Right factors side by side; and all panels, and the end of the columns.
fn side_by_side<'a>(left: &Left<'_>, right: &[Right<'a>], first: usize) -> (Vec<Side<'a>>, usize, usize) {
    let (mut parts, mut panels, mut columns) = (Vec::with_capacity(right.len()), 0, first);
    for factor in right {
        let (steps, own, precision) = factor.shape();
        assert_eq!((left.depth, left.precision), (steps, precision), "the factors do not fit");
        parts.push((panels, columns, own, *factor));
        panels += own.div_ceil(PANEL);
        columns += own;
    }
    (parts, panels, columns)
}

/// Panels of a task.
fn panels_of_task(panels: usize, row_tasks: usize, threads: usize) -> usize {
    let wanted = if threads == 1 { 1 } else { (4 * threads).div_ceil(row_tasks) };
    panels.div_ceil(wanted.min(panels)).clamp(1, 12.max(if threads == 1 { panels } else { 1 }))
}

/// How a task of so many panels reads the left factor. Many rows are widened once for all of its products. Rows that lie side by side,
/// with a row of the whole matrix between steps, are far from one another for a cache.
fn reading(left: &Left<'_>, way: Way, panels: usize) -> Reading {
    match way {
        Way::Widened if left.rows > FUSED_ROWS => Reading::Widened,
        Way::Plain | Way::Own if left.step_stride > TILE && left.rows > TILE && panels >= GATHERED => Reading::Gathered,
        _ => Reading::InPlace,
    }
}

/// Words of a block of the inner dimension of `depth` words.
fn block_depth(depth: usize, rows: usize, right: &[Right<'_>], way: Way) -> usize {
    let has_codes = right.iter().any(|right| matches!(right, Right::Codes(..)));
    match rows {
        rows if way == Way::Widened && rows > FUSED_ROWS => DECODED / 2,
        rows if has_codes && (rows > FUSED_ROWS || way.is_tiled()) => DECODED,
        // Tiles come from the second-level cache quickly enough: few blocks of one size, so that the result is seldom read again.
        _ if way == Way::Tiles => depth.div_ceil(depth.div_ceil(TILED_DEPTH)).next_multiple_of(TILED),
        rows if rows <= 4 * TILE => WHOLE_DEPTH,
        _ => DEPTH,
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
#[derive(Clone, Copy)]
struct Block<'a> {
    rows: usize,
    left: &'a [f32],
    row_stride: usize,
    step_stride: usize,
    right: Part<'a>,
    way: Way,
    steps: usize,
    columns: usize,
    /// Whether the result's old value is left out.
    fresh: bool,
}

impl Block<'_> {
    /// Tile by tile.
    unsafe fn run(&self, out: *mut f32, stride: usize, shaped: Option<&mut Shaped>) {
        if let Part::Words(right) = self.right
            && self.way.is_tiled()
        {
            let Self { rows, left, row_stride, steps: words, columns, fresh, .. } = *self;
            let tiled = Tiled { rows, left, row_stride, right, words, columns, fresh };
            return unsafe { tiled.run(shaped, out, stride) };
        }
        let tiles = self.rows.div_ceil(TILE);
        for tile in 0..tiles {
            let rows = split(self.rows, tiles, tile);
            let block = Self { rows: rows.len(), left: &self.left[rows.start * self.row_stride..], ..*self };
            unsafe { block.run_tile(out.add(rows.start * stride), stride) };
        }
    }

    unsafe fn run_tile(&self, out: *mut f32, stride: usize) {
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
        unsafe {
            match (self.right, self.way) {
                (Part::Words(words), Way::Plain) => tile(self, words.as_ptr(), out, stride),
                (Part::Codes(codes), Way::Plain) => tile_codes(self, codes, out, stride),
                (Part::Words(words), Way::Widened) => tile_widened(self, words.as_ptr(), out, stride),
                (Part::Codes(codes), Way::Widened) => tile_codes_widened(self, codes, out, stride),
                #[cfg(target_arch = "x86_64")]
                (Part::Words(words), Way::Own) => bf16::tile(self, words.as_ptr(), out, stride),
                #[cfg(target_arch = "x86_64")]
                (Part::Codes(codes), Way::Own) => bf16::tile_codes(self, codes, out, stride),
                #[cfg(not(target_arch = "x86_64"))]
                (_, Way::Own) => unreachable!("no such instruction"),
                (_, Way::Tiles | Way::WidenedTiles) => unreachable!("these have blocks of their own"),
            }
        }
    }
}

/// Does something with the sums of each row of a tile, written out row by row: a loop over twelve rows is unrolled at the highest
/// level of optimization alone, and one that is not keeps the sums in memory, which takes four times as long.
macro_rules! by_row {
    ($sums:ident, |$row:ident, $own:ident| $body:block) => {
        by_row!($sums, $row, $own, $body, [0 1 2 3 4 5 6 7 8 9 10 11])
    };
    ($sums:ident, $row:ident, $own:ident, $body:block, [$($number:literal)*]) => {$(
        if let Some($own) = $sums.get_mut($number) {
            let $row: usize = $number;
            $body
        }
    )*};
}

/// `ROWS x (VECTORS * LANES)` sums in registers.
#[inline(always)]
unsafe fn sums<M: Multiply, F: Factor<M>, const ROWS: usize, const VECTORS: usize>(
    block: &Block<'_>,
    right: F,
    offset: (usize, usize),
    out: *mut f32,
    stride: usize,
) {
    unsafe {
        let (first, column) = offset;
        let out = out.add(first * stride + column);
        let mut sums = [[M::S::splat(0.0); VECTORS]; ROWS];
        if !block.fresh {
            by_row!(sums, |row, own| {
                for (v, sum) in own.iter_mut().enumerate() {
                    *sum = M::S::load(out.wrapping_add(stride.wrapping_mul(row) + v * LANES));
                }
            });
        }
        // Three rows share a pointer, because an address is a pointer and a stride times 1 or 2: a pointer for each row
        // would not fit the registers, and one for all would be a chain of additions as long as the products take.
        let left = block.left.as_ptr().add(first * block.row_stride);
        let mut thirds: [*const f32; TILE.div_ceil(3)] = [left; TILE.div_ceil(3)];
        for (third, pointer) in thirds.iter_mut().enumerate() {
            *pointer = left.wrapping_add(third * 3 * block.row_stride);
        }
        let (half, together) = (column / LANES, right.together().min(block.steps));
        for begin in (0..block.steps).step_by(together) {
            let mut shared = [right.shared(begin, half); VECTORS];
            for (v, shared) in shared.iter_mut().enumerate().skip(1) {
                *shared = right.shared(begin, half + v);
            }
            for step in begin..(begin + together).min(block.steps) {
                let mut words = [right.word(step, half, shared[0]); VECTORS];
                for (v, word) in words.iter_mut().enumerate().skip(1) {
                    *word = right.word(step, half + v, shared[v]);
                }
                by_row!(sums, |row, own| {
                    let factor = M::spread(thirds[row / 3].wrapping_add(block.row_stride.wrapping_mul(row % 3)));
                    for (sum, word) in own.iter_mut().zip(words) {
                        *sum = M::add(factor, word, *sum);
                    }
                });
                for pointer in &mut thirds {
                    *pointer = pointer.wrapping_add(block.step_stride);
                }
            }
        }
        by_row!(sums, |row, own| {
            for (v, sum) in own.iter().enumerate() {
                M::S::store(out.wrapping_add(stride.wrapping_mul(row) + v * LANES), *sum);
            }
        });
    }
}

/// Calls [`sums`] for the block's number of rows.
macro_rules! by_rows {
    ($multiply:ty, $factor:ty, $block:expr, $right:expr, $rows:expr, $offset:expr, $out:expr, $stride:expr, $vectors:literal, [$($count:literal)*]) => {
        match $rows {
            $($count => sums::<$multiply, $factor, $count, $vectors>($block, $right, $offset, $out, $stride),)*
            rows => unreachable!("{rows} rows in a tile"),
        }
    };
}

/// Calls a function for the number of bits of codes.
macro_rules! by_bits {
    ($of:ident::<$multiply:ty>, $block:expr, $codes:expr, $out:expr, $stride:expr) => {
        match $codes.bits() {
            4 => $of::<$multiply, Coded<'_, 4>>($block, $codes.of(), $out, $stride),
            5 => $of::<$multiply, Coded<'_, 5>>($block, $codes.of(), $out, $stride),
            6 => $of::<$multiply, Coded<'_, 6>>($block, $codes.of(), $out, $stride),
            _ => $of::<$multiply, Coded<'_, 8>>($block, $codes.of(), $out, $stride),
        }
    };
}

dispatched!(
    fn tile(block: &Block<'_>, right: *const f32, out: *mut f32, stride: usize) = tile_body
);

#[inline(always)]
unsafe fn tile_body<S: Lanes>(block: &Block<'_>, right: *const f32, out: *mut f32, stride: usize) {
    unsafe {
        if is_wide::<S>() {
            by_rows!(Plain<S>, _, block, right, block.rows, (0, 0), out, stride, 2, [1 2 3 4 5 6 7 8 9 10 11 12]);
        } else {
            narrow_tile::<Plain<S>, _>(block, right, out, stride);
        }
    }
}

/// Whether a vector is one register.
fn is_wide<S: Lanes>() -> bool {
    size_of::<S::V>() == 64 && align_of::<S::V>() == 64
}

/// With half the registers: fewer rows and one vector at a time.
#[inline(always)]
unsafe fn narrow_tile<M: Multiply, F: Factor<M>>(block: &Block<'_>, right: F, out: *mut f32, stride: usize) {
    unsafe {
        let most = if M::STEPS == 1 { 6 } else { 4 };
        for first in (0..block.rows).step_by(most) {
            for column in [0, LANES] {
                let rows = (block.rows - first).min(most);
                by_rows!(M, F, block, right, rows, (first, column), out, stride, 1, [1 2 3 4 5 6]);
            }
        }
    }
}

dispatched!(
    fn tile_codes(block: &Block<'_>, codes: Steps<'_>, out: *mut f32, stride: usize) = tile_codes_body
);

#[inline(always)]
unsafe fn tile_codes_body<S: Lanes>(block: &Block<'_>, codes: Steps<'_>, out: *mut f32, stride: usize) {
    unsafe {
        if is_wide::<S>() {
            by_bits!(few_rows::<Plain<S>>, block, codes, out, stride);
        } else {
            by_bits!(narrow_tile::<Plain<S>>, block, codes, out, stride);
        }
    }
}

dispatched!(
    fn tile_widened(block: &Block<'_>, right: *const f32, out: *mut f32, stride: usize) = tile_widened_body
);

#[inline(always)]
unsafe fn tile_widened_body<S: Lanes>(block: &Block<'_>, right: *const f32, out: *mut f32, stride: usize) {
    unsafe {
        if is_wide::<S>() {
            few_rows::<Widened<S>, _>(block, right, out, stride);
        } else {
            narrow_tile::<Widened<S>, _>(block, right, out, stride);
        }
    }
}

dispatched!(
    fn tile_codes_widened(block: &Block<'_>, codes: Steps<'_>, out: *mut f32, stride: usize) = tile_codes_widened_body
);

#[inline(always)]
unsafe fn tile_codes_widened_body<S: Lanes>(block: &Block<'_>, codes: Steps<'_>, out: *mut f32, stride: usize) {
    unsafe {
        if is_wide::<S>() {
            by_bits!(few_rows::<Widened<S>>, block, codes, out, stride);
        } else {
            by_bits!(narrow_tile::<Widened<S>>, block, codes, out, stride);
        }
    }
}

/// A tile of at most [`FUSED_ROWS`] rows.
#[inline(always)]
unsafe fn few_rows<M: Multiply, F: Factor<M>>(block: &Block<'_>, right: F, out: *mut f32, stride: usize) {
    unsafe { by_rows!(M, F, block, right, block.rows, (0, 0), out, stride, 2, [1 2 3 4 5 6 7 8]) }
}

#[cfg(target_arch = "x86_64")]
mod bf16 {
    use super::super::words::Pairs;
    use super::{Block, Coded, Steps, few_rows, sums};

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")]
    pub(super) unsafe fn tile(block: &Block<'_>, right: *const f32, out: *mut f32, stride: usize) {
        unsafe {
            by_rows!(Pairs, _, block, right, block.rows, (0, 0), out, stride, 2, [1 2 3 4 5 6 7 8 9 10 11 12]);
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")]
    pub(super) unsafe fn tile_codes(block: &Block<'_>, codes: Steps<'_>, out: *mut f32, stride: usize) {
        unsafe { by_bits!(few_rows::<Pairs>, block, codes, out, stride) }
    }
}
