//! The inner loops of attention. Keys are kept transposed in blocks of sixteen tokens, so that sixteen scores come out
//! of one chain of products; values are kept row by row. A score is one chain over the head's width, an output one
//! chain over the keys in ascending order: neither depends on which rows are computed together, nor on how many keys are
//! gone through at a time, which is as many as stay near the processor while several tiles of queries need them. Blocks
//! are f32, or bf16, which a sampler may keep: it is widened as it is read, and everything else is the same. The backward
//! pass is in [`attention_backward`](super::attention_backward).

#![allow(clippy::needless_range_loop, reason = "iterators over vectors in registers are calls in a build for tests")]

use std::ops::Range;

use super::dispatched;
use super::lanes::{LANES, Lanes};
use super::precision::bf16_bits;
use super::rows::{exp, largest, sum};

/// Tokens in a block of keys and values.
pub const BLOCK: usize = LANES;
/// Most queries that go through a block together.
pub const TILE: usize = 6;

/// Numbers in one block of one head: its keys transposed `[width, BLOCK]`, then its values `[BLOCK, padded width]`.
pub const fn block_len(width: usize) -> usize {
    BLOCK * (width + padded(width))
}

/// The width of a row of values, in whole vectors.
pub const fn padded(width: usize) -> usize {
    width.div_ceil(LANES) * LANES
}

/// What keys and values are kept in.
///
/// # Safety
/// As of `Lanes`.
pub unsafe trait Kept: Copy + Send + Sync {
    /// The nearest to a number, ties to even.
    fn nearest(x: f32) -> Self;
    /// A vector of numbers as f32.
    ///
    /// # Safety
    /// As many can be read from there, and the processor knows the instructions of `S`.
    unsafe fn load<S: Lanes>(from: *const Self) -> S::V;
}

unsafe impl Kept for f32 {
    #[inline(always)]
    fn nearest(x: f32) -> Self {
        x
    }
    #[inline(always)]
    unsafe fn load<S: Lanes>(from: *const Self) -> S::V {
        unsafe { S::load(from) }
    }
}

/// The bits of bf16.
unsafe impl Kept for u16 {
    #[inline(always)]
    fn nearest(x: f32) -> Self {
        bf16_bits(x) as Self
    }
    #[inline(always)]
    unsafe fn load<S: Lanes>(from: *const Self) -> S::V {
        unsafe { S::load_bf16(from) }
    }
}

/// Puts one token's key and value into a head's block.
pub fn put<T: Kept>(block: &mut [T], slot: usize, key: &[f32], value: &[f32]) {
    let width = key.len();
    let (keys, values) = block.split_at_mut(width * BLOCK);
    for (column, key) in keys.chunks_exact_mut(BLOCK).zip(key) {
        column[slot] = T::nearest(*key);
    }
    let values = &mut values[slot * padded(width)..][..width];
    values.iter_mut().zip(value).for_each(|(to, value)| *to = T::nearest(*value));
}

/// Queries of one head over the same blocks, in ascending order of how many keys they see.
pub struct Queries<'a, T> {
    pub width: usize,
    /// The head's block `i`, of [`block_len`] numbers, is at `first + offsets[i] * stride`.
    pub blocks: &'a [T],
    pub first: usize,
    pub stride: usize,
    pub offsets: &'a [u32],
    /// The queries, one after the other.
    pub queries: &'a [f32],
    /// Keys that each query sees.
    pub seen: &'a [usize],
    pub scale: f32,
    /// Of those a query sees the last ones, at most so many.
    pub window: usize,
}

impl<T: Kept> Queries<'_, T> {
    /// The first key that a query sees.
    fn begin(&self, query: usize) -> usize {
        self.seen[query].saturating_sub(self.window)
    }

    /// The same queries, some at a time.
    pub fn tiles(&self, count: usize) -> impl Iterator<Item = Queries<'_, T>> {
        let some = self.queries.chunks(count * self.width).zip(self.seen.chunks(count));
        some.map(|(queries, seen)| Queries { queries, seen, ..*self })
    }

    fn check(&self) {
        let (count, longest) = (self.seen.len(), self.seen.last().copied().unwrap_or(0));
        assert!((1..=TILE).contains(&count) && self.queries.len() == count * self.width);
        assert!(self.seen.is_sorted() && self.seen[0] > 0 && self.window > 0 && longest <= self.offsets.len() * BLOCK);
        let end = |block: &u32| self.first + *block as usize * self.stride + block_len(self.width);
        assert!(self.offsets[..longest.div_ceil(BLOCK)].iter().all(|block| end(block) <= self.blocks.len()));
    }

    /// Scores have this many numbers for each query.
    pub fn row(&self) -> usize {
        self.seen.last().map_or(0, |longest| longest.div_ceil(BLOCK) * BLOCK)
    }

    /// Scores of all queries with the keys of a range that begins with a block, also with those that a query does not see.
    /// `scores` has a [`row`](Self::row) for each query.
    pub fn score(&self, keys: Range<usize>, scores: &mut [f32]) {
        self.check();
        assert!(keys.start.is_multiple_of(BLOCK) && scores.len() == self.seen.len() * self.row());
        // Safety: the instruction set was detected, and all lengths were checked.
        unsafe { score_of(self, keys, scores) }
    }

    /// Makes weights of all scores: their exponentials. `inverses` gets for each query what makes their sum 1, and `log_sums`
    /// the logarithm of the normaliser.
    pub fn weights(&self, scores: &mut [f32], inverses: &mut [f32], log_sums: &mut [f32]) {
        self.check();
        let count = self.seen.len();
        assert!(scores.len() == count * self.row() && [inverses.len(), log_sums.len()] == [count; 2]);
        // Safety: the instruction set was detected, and all lengths were checked.
        unsafe { weights_of(self, scores, inverses, log_sums) }
    }

    /// Adds the values of a range of keys, each times its weight, to a row of the head's padded width for each query.
    pub fn weigh(&self, keys: Range<usize>, weights: &[f32], out: &mut [f32]) {
        self.check();
        let count = self.seen.len();
        assert!(weights.len() == count * self.row() && out.len() == count * padded(self.width));
        // Safety: the instruction set was detected, and all lengths were checked.
        unsafe { weigh_of(self, keys, weights, out) }
    }

    /// Keys and values of a block.
    fn block(&self, block: usize) -> *const T {
        self.blocks.as_ptr().wrapping_add(self.first + self.offsets[block] as usize * self.stride)
    }
}

/// Calls a function that is generic over a count of queries.
macro_rules! by_count {
    ($count:expr, $function:ident::<$($kind:ty),*>($($arg:expr),*)) => {
        match $count {
            1 => $function::<$($kind,)* 1>($($arg),*),
            2 => $function::<$($kind,)* 2>($($arg),*),
            3 => $function::<$($kind,)* 3>($($arg),*),
            4 => $function::<$($kind,)* 4>($($arg),*),
            5 => $function::<$($kind,)* 5>($($arg),*),
            _ => $function::<$($kind,)* 6>($($arg),*),
        }
    };
}
pub(super) use by_count;

dispatched!(
    fn score_of<T: Kept>(queries: &Queries<'_, T>, keys: Range<usize>, scores: &mut [f32]) = score_body
);
dispatched!(
    fn weights_of<T: Kept>(
        queries: &Queries<'_, T>,
        scores: &mut [f32],
        inverses: &mut [f32],
        log_sums: &mut [f32],
    ) = weights_body
);
dispatched!(
    fn weigh_of<T: Kept>(queries: &Queries<'_, T>, keys: Range<usize>, weights: &[f32], out: &mut [f32]) = weigh_body
);

#[inline(always)]
unsafe fn score_body<S: Lanes, T: Kept>(queries: &Queries<'_, T>, keys: Range<usize>, scores: &mut [f32]) {
    unsafe { by_count!(queries.seen.len(), score_tile::<S, T>(queries, keys, scores)) }
}

#[inline(always)]
unsafe fn weigh_body<S: Lanes, T: Kept>(
    queries: &Queries<'_, T>,
    keys: Range<usize>,
    weights: &[f32],
    out: &mut [f32],
) {
    unsafe { by_count!(queries.seen.len(), weigh_tile::<S, T>(queries, keys, weights, out)) }
}

#[inline(always)]
unsafe fn score_tile<S: Lanes, T: Kept, const N: usize>(
    queries: &Queries<'_, T>,
    keys: Range<usize>,
    scores: &mut [f32],
) {
    unsafe {
        // Keys before those that the first query sees are seen by none.
        let first = (keys.start / BLOCK).max(queries.begin(0) / BLOCK);
        let blocks = first..keys.end.min(queries.row()).div_ceil(BLOCK);
        // One query's chain of products would wait for itself; four blocks are four chains.
        let first = if N <= 2 {
            score_blocks::<S, T, N, 4>(queries, blocks.clone(), scores)
        } else if S::HELD >= 32 {
            score_blocks::<S, T, N, 2>(queries, blocks.clone(), scores)
        } else {
            first
        };
        score_blocks::<S, T, N, 1>(queries, first..blocks.end, scores);
    }
}

/// Scores with whole `TOGETHER`s of blocks; returns the first block behind them.
#[inline(always)]
unsafe fn score_blocks<S: Lanes, T: Kept, const N: usize, const TOGETHER: usize>(
    queries: &Queries<'_, T>,
    blocks: Range<usize>,
    scores: &mut [f32],
) -> usize {
    unsafe {
        let (row, scale) = (queries.row(), S::splat(queries.scale));
        let mut first = blocks.start;
        while first + TOGETHER <= blocks.end {
            let mut columns = [std::ptr::null(); TOGETHER];
            for i in 0..TOGETHER {
                columns[i] = queries.block(first + i);
            }
            let sums = products::<S, T, N, TOGETHER>(queries.queries.as_ptr(), queries.width, columns);
            for n in 0..N {
                for i in 0..TOGETHER {
                    let at = scores.as_mut_ptr().wrapping_add(n * row + (first + i) * BLOCK);
                    S::store(at, S::mul(sums[n][i], scale));
                }
            }
            first += TOGETHER;
        }
        first
    }
}

#[inline(always)]
unsafe fn weights_body<S: Lanes, T: Kept>(
    queries: &Queries<'_, T>,
    scores: &mut [f32],
    inverses: &mut [f32],
    log_sums: &mut [f32],
) {
    unsafe {
        let row = queries.row();
        let first_vector = queries.begin(0) / LANES * LANES;
        for (n, scores) in scores.chunks_exact_mut(row).enumerate() {
            scores[first_vector..queries.begin(n)].fill(f32::NEG_INFINITY);
            scores[queries.seen[n]..].fill(f32::NEG_INFINITY);
            let mut top = S::splat(f32::NEG_INFINITY);
            for at in (first_vector..row).step_by(LANES) {
                top = S::max(top, S::load(scores.as_ptr().add(at)));
            }
            let top = largest::<S>(top);
            let mut total = S::splat(0.0);
            for at in (first_vector..row).step_by(LANES) {
                let to = scores.as_mut_ptr().add(at);
                let p = exp::<S>(S::sub(S::load(to), S::splat(top)));
                S::store(to, p);
                total = S::add(total, p);
            }
            let total = sum::<S>(total);
            inverses[n] = 1.0 / total;
            log_sums[n] = top + total.ln();
        }
    }
}

#[inline(always)]
unsafe fn weigh_tile<S: Lanes, T: Kept, const N: usize>(
    queries: &Queries<'_, T>,
    keys: Range<usize>,
    weights: &[f32],
    out: &mut [f32],
) {
    unsafe {
        let (row, width) = (queries.row(), queries.width);
        let keys = keys.start.max(queries.begin(0))..keys.end.min(queries.seen[N - 1]);
        let values = |block: usize| queries.block(block).wrapping_add(width * BLOCK);
        weigh_rows::<S, T, N>((weights, row, 0), keys, values, out, padded(width));
    }
}

/// `out_n += sum_j weights_nj value_j`, the values being rows of `width` numbers, those of a block one behind the other; the
/// weight of key `j` is at `j - from` of its row of `weights`.
#[inline(always)]
pub(super) unsafe fn weigh_rows<S: Lanes, T: Kept, const N: usize>(
    weights: (&[f32], usize, usize),
    keys: Range<usize>,
    values: impl Fn(usize) -> *const T,
    out: &mut [f32],
    width: usize,
) {
    unsafe {
        let mut column = 0;
        while S::HELD >= 32 && column + LANES * 4 <= width {
            weighted::<S, T, N, 4>(weights, keys.clone(), &values, (out, column), width);
            column += LANES * 4;
        }
        while column < width {
            weighted::<S, T, N, 1>(weights, keys.clone(), &values, (out, column), width);
            column += LANES;
        }
    }
}

/// Products of `N` rows with sixteen columns of each of some blocks: `rows: [N, width]`, a block `[width, LANES]`.
#[inline(always)]
pub(super) unsafe fn products<S: Lanes, T: Kept, const N: usize, const BLOCKS: usize>(
    rows: *const f32,
    width: usize,
    blocks: [*const T; BLOCKS],
) -> [[S::V; BLOCKS]; N] {
    unsafe {
        let mut sums = [[S::splat(0.0); BLOCKS]; N];
        for d in 0..width {
            let mut columns = [S::splat(0.0); BLOCKS];
            for i in 0..BLOCKS {
                columns[i] = T::load::<S>(blocks[i].wrapping_add(d * LANES));
            }
            for n in 0..N {
                let number = S::spread(rows.wrapping_add(n * width + d));
                for i in 0..BLOCKS {
                    sums[n][i] = S::fma(number, columns[i], sums[n][i]);
                }
            }
        }
        sums
    }
}

/// `out_n += sum_j weights_nj value_j` for `VECTORS` vectors of the values from a column on.
#[inline(always)]
unsafe fn weighted<S: Lanes, T: Kept, const N: usize, const VECTORS: usize>(
    (weights, row, from): (&[f32], usize, usize),
    keys: Range<usize>,
    values: &impl Fn(usize) -> *const T,
    (out, column): (&mut [f32], usize),
    width: usize,
) {
    unsafe {
        let mut sums = [[S::splat(0.0); VECTORS]; N];
        let out = out.as_mut_ptr().wrapping_add(column);
        for n in 0..N {
            for v in 0..VECTORS {
                sums[n][v] = S::load(out.wrapping_add(n * width + v * LANES));
            }
        }
        let mut j = keys.start;
        while j < keys.end {
            let rows = values(j / BLOCK).wrapping_add(column);
            let end = keys.end.min((j / BLOCK + 1) * BLOCK);
            while j < end {
                let at = rows.wrapping_add(j % BLOCK * width);
                let mut values = [S::splat(0.0); VECTORS];
                for v in 0..VECTORS {
                    values[v] = T::load::<S>(at.wrapping_add(v * LANES));
                }
                for n in 0..N {
                    let weight = S::spread(weights.as_ptr().wrapping_add(n * row + j - from));
                    for v in 0..VECTORS {
                        sums[n][v] = S::fma(weight, values[v], sums[n][v]);
                    }
                }
                j += 1;
            }
        }
        for n in 0..N {
            for v in 0..VECTORS {
                S::store(out.wrapping_add(n * width + v * LANES), sums[n][v]);
            }
        }
    }
}
