//! Matrix products. Every number of a result is one chain `((0 + a_0 b_0) + a_1 b_1) + ...` over the inner dimension
//! in ascending order (in bf16: over pairs, or over tiles), whatever the shapes, blocks and threads are. So a row of a product is the
//! same bits alone, in a batch, in a chunk, or packed with other sequences; and a product that is added to what is
//! there goes on with the chain, so that sums over micro-batches do not depend on where they were cut.
//!
//! The right factor is first copied into panels of [`PANEL`] columns, which the inner loop reads front to back; the
//! left one is read in place, or copied where its numbers are far from one another or lie in tiles. Blocking follows Goto and van de Geijn, "Anatomy of high-performance matrix
//! multiplication" (2008).

use rayon::prelude::*;

use super::codes::{Coded, Steps};
use super::dispatched;
pub use super::factors::{Kept, Left, Number, PANEL, Panels, Precision, Right, View};
use super::factors::{Part, Reading};
use super::form::{self, Way};
use super::lanes::{LANES, Lanes};
use super::precision::TILED;
use super::tiles::{self, Shaped, Tiled};
#[cfg(target_arch = "x86_64")]
use super::words::Beside;
use super::words::{Factor, Multiply, Plain, Widened};
use super::{Instructions, instructions};

/// Inner steps of a block: a panel's block stays in the first-level cache, and that of two panels of half as many.
const DEPTH: usize = 256;
/// Inner steps of a block when there are few rows, which then take all of a panel at once.
const WHOLE_DEPTH: usize = 2048;
/// Most words of a block of matrix tiles.
const TILED_DEPTH: usize = 1024;
/// Words of a block that is decoded for its product.
const DECODED: usize = 128;
/// Most rows for which codes are decoded in the product's registers.
const FUSED_ROWS: usize = 8;
/// Most rows that are few.
const WHOLE_ROWS: usize = 4 * TILE;
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
    let (width, pairs) = panels_of_task(panels, row_tasks, threads, in_pairs(left.rows, way));
    let panel_tasks = panels.div_ceil(width);
    let block_depth = block_depth(depth, left.rows, right, way, pairs);
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
            let mut next = columns.start;
            while next < columns.end {
                let of = parts.iter().rposition(|(before, ..)| *before <= next).unwrap_or(0);
                let (before, column, own, right) = parts[of];
                let panel = next - before;
                let (both, decoded) = (pairs && next + 1 < columns.end, Some(&mut decoded).filter(|_| !fuses));
                let (words, count) = right.part(panel, depth, steps.clone(), both, decoded);
                next += count;
                let block = Block {
                    rows: rows.len(),
                    left,
                    row_stride,
                    step_stride,
                    right: if widens { words.widened(&mut of_right) } else { words },
                    way: if widens { Way::Plain } else { way },
                    steps: if widens { 2 * steps.len() } else { steps.len() },
                    columns: (own - panel * PANEL).min(count * PANEL),
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

/// Panels of a task, and whether they are taken in pairs where that is wanted.
fn panels_of_task(panels: usize, row_tasks: usize, threads: usize, pairs: bool) -> (usize, bool) {
    let wanted = if threads == 1 { 1 } else { (4 * threads).div_ceil(row_tasks) };
    let width = panels.div_ceil(wanted.min(panels)).clamp(1, 12.max(if threads == 1 { panels } else { 1 }));
    if pairs && width > 1 { (width.next_multiple_of(2), true) } else { (width, false) }
}

/// Whether many rows are multiplied with two panels at a time: a tile of half the rows and twice the columns has as many sums, and
/// loads ten vectors a step where one of a single panel loads fourteen.
fn in_pairs(rows: usize, way: Way) -> bool {
    way == Way::Plain && rows > WHOLE_ROWS && instructions() >= Instructions::Avx512
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
fn block_depth(depth: usize, rows: usize, right: &[Right<'_>], way: Way, pairs: bool) -> usize {
    let has_codes = right.iter().any(|right| matches!(right, Right::Codes(..)));
    match rows {
        rows if way == Way::Widened && rows > FUSED_ROWS => DECODED / 2,
        rows if has_codes && (rows > FUSED_ROWS || way.is_tiled()) => DECODED,
        // Tiles come from the second-level cache quickly enough: few blocks of one size, so that the result is seldom read again.
        _ if way == Way::Tiles => depth.div_ceil(depth.div_ceil(TILED_DEPTH)).next_multiple_of(TILED),
        rows if rows <= WHOLE_ROWS => WHOLE_DEPTH,
        _ if pairs => DEPTH / 2,
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

/// Some rows of the left factor times a block of one panel, or of two.
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
        let most = if matches!(self.right, Part::Beside(..)) { TILE / 2 } else { TILE };
        let tiles = self.rows.div_ceil(most);
        for tile in 0..tiles {
            let rows = split(self.rows, tiles, tile);
            let block = Self { rows: rows.len(), left: &self.left[rows.start * self.row_stride..], ..*self };
            unsafe { block.run_tile(out.add(rows.start * stride), stride) };
        }
    }

    unsafe fn run_tile(&self, out: *mut f32, stride: usize) {
        let last = (self.rows - 1) * self.row_stride + (self.steps - 1) * self.step_stride;
        debug_assert!(last < self.left.len());
        if self.columns >= PANEL {
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
                (Part::Beside(words, apart), Way::Plain) => {
                    wide::tile_beside(self, Beside { first: words.as_ptr(), apart }, out, stride);
                }
                #[cfg(target_arch = "x86_64")]
                (Part::Words(words), Way::Own) => wide::tile_pairs(self, words.as_ptr(), out, stride),
                #[cfg(target_arch = "x86_64")]
                (Part::Codes(codes), Way::Own) => wide::tile_codes_pairs(self, codes, out, stride),
                #[cfg(not(target_arch = "x86_64"))]
                (_, Way::Own) => unreachable!("no such instruction"),
                (_, Way::Tiles | Way::WidenedTiles) => unreachable!("these have blocks of their own"),
                (Part::Beside(..), _) => unreachable!("two panels at a time are numbers, in wide registers"),
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

/// For registers of 512 bits alone.
#[cfg(target_arch = "x86_64")]
mod wide {
    use super::super::lanes::Avx512;
    use super::super::words::{Beside, Pairs, Plain};
    use super::{Block, Coded, Steps, few_rows, sums};

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    pub(super) unsafe fn tile_beside(block: &Block<'_>, right: Beside, out: *mut f32, stride: usize) {
        unsafe {
            by_rows!(Plain<Avx512>, _, block, right, block.rows, (0, 0), out, stride, 4, [1 2 3 4 5 6]);
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")]
    pub(super) unsafe fn tile_pairs(block: &Block<'_>, right: *const f32, out: *mut f32, stride: usize) {
        unsafe {
            by_rows!(Pairs, _, block, right, block.rows, (0, 0), out, stride, 2, [1 2 3 4 5 6 7 8 9 10 11 12]);
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")]
    pub(super) unsafe fn tile_codes_pairs(block: &Block<'_>, codes: Steps<'_>, out: *mut f32, stride: usize) {
        unsafe { by_bits!(few_rows::<Pairs>, block, codes, out, stride) }
    }
}
