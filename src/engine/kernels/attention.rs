//! The inner loops of attention. Keys are kept transposed in blocks of sixteen tokens, so that sixteen scores come out
//! of one chain of products; values are kept row by row. A score is one chain over the head's width, an output one
//! chain over the keys in ascending order: neither depends on which rows are computed together. Blocks are f32, or bf16,
//! which a sampler may keep: it is widened as it is read, and everything else is the same.

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

impl<T> Queries<'_, T> {
    /// The first key that a query sees.
    fn begin(&self, query: usize) -> usize {
        self.seen[query].saturating_sub(self.window)
    }

    fn check(&self) {
        let (count, longest) = (self.seen.len(), self.seen.last().copied().unwrap_or(0));
        assert!((1..=TILE).contains(&count) && self.queries.len() == count * self.width);
        assert!(self.seen.is_sorted() && self.seen[0] > 0 && self.window > 0 && longest <= self.offsets.len() * BLOCK);
        let end = |block: &u32| self.first + *block as usize * self.stride + block_len(self.width);
        assert!(self.offsets[..longest.div_ceil(BLOCK)].iter().all(|block| end(block) <= self.blocks.len()));
    }

    /// Scores have this many numbers for each query.
    fn row(&self) -> usize {
        self.seen.last().map_or(0, |longest| longest.div_ceil(BLOCK) * BLOCK)
    }
}

/// Softmax attention: `out` gets a row of the head's padded width for each query, `log_sums` the logarithm of the
/// normaliser of its scores. `scores` is scratch.
pub fn attend<T: Kept>(queries: &Queries<'_, T>, scores: &mut Vec<f32>, out: &mut [f32], log_sums: &mut [f32]) {
    queries.check();
    let count = queries.seen.len();
    assert!(out.len() == count * padded(queries.width) && log_sums.len() == count);
    scores.resize(scores.len().max(count * queries.row()), 0.0);
    // Safety: the instruction set was detected, and all lengths were checked.
    unsafe { attend_of(queries, scores, out, log_sums) }
}

dispatched!(
    fn attend_of<T: Kept>(queries: &Queries<'_, T>, scores: &mut [f32], out: &mut [f32], log_sums: &mut [f32]) =
        attend_body
);

#[inline(always)]
unsafe fn attend_body<S: Lanes, T: Kept>(
    queries: &Queries<'_, T>,
    scores: &mut [f32],
    out: &mut [f32],
    log_sums: &mut [f32],
) {
    unsafe {
        match queries.seen.len() {
            1 => attend_tile::<S, T, 1>(queries, scores, out, log_sums),
            2 => attend_tile::<S, T, 2>(queries, scores, out, log_sums),
            3 => attend_tile::<S, T, 3>(queries, scores, out, log_sums),
            4 => attend_tile::<S, T, 4>(queries, scores, out, log_sums),
            5 => attend_tile::<S, T, 5>(queries, scores, out, log_sums),
            _ => attend_tile::<S, T, 6>(queries, scores, out, log_sums),
        }
    }
}

/// The scores of every query with every key of its blocks, also with those that it does not see.
#[inline(always)]
unsafe fn scores_tile<S: Lanes, T: Kept, const N: usize>(queries: &Queries<'_, T>, scores: &mut [f32]) {
    unsafe {
        let (row, width) = (queries.row(), queries.width);
        let keys = |block: usize| {
            queries.blocks.as_ptr().add(queries.first + queries.offsets[block] as usize * queries.stride)
        };
        let (blocks, scale) = (row / BLOCK, S::splat(queries.scale));
        // Keys before those that the first query sees are seen by none.
        let mut first = queries.begin(0) / BLOCK;
        // One query's chain of products would wait for itself; four blocks are four chains.
        while N <= 2 && first + 4 <= blocks {
            let columns = [keys(first), keys(first + 1), keys(first + 2), keys(first + 3)];
            let mut sums = [[S::splat(0.0); 4]; N];
            for d in 0..width {
                for (n, sums) in sums.iter_mut().enumerate() {
                    let query = S::spread(queries.queries.as_ptr().wrapping_add(n * width + d));
                    for (sum, column) in sums.iter_mut().zip(columns) {
                        *sum = S::fma(query, T::load::<S>(column.wrapping_add(d * LANES)), *sum);
                    }
                }
            }
            for (n, sums) in sums.into_iter().enumerate() {
                for (i, sum) in sums.into_iter().enumerate() {
                    S::store(scores.as_mut_ptr().add(n * row + (first + i) * BLOCK), S::mul(sum, scale));
                }
            }
            first += 4;
        }
        for block in first..blocks {
            let sums = products::<S, T, N>(queries.queries.as_ptr(), width, keys(block));
            for (n, sum) in sums.into_iter().enumerate() {
                S::store(scores.as_mut_ptr().add(n * row + block * BLOCK), S::mul(sum, scale));
            }
        }
    }
}

#[inline(always)]
unsafe fn attend_tile<S: Lanes, T: Kept, const N: usize>(
    queries: &Queries<'_, T>,
    scores: &mut [f32],
    out: &mut [f32],
    log_sums: &mut [f32],
) {
    unsafe {
        let (row, width) = (queries.row(), queries.width);
        let keys = |block: usize| {
            queries.blocks.as_ptr().add(queries.first + queries.offsets[block] as usize * queries.stride)
        };
        scores_tile::<S, T, N>(queries, scores);
        let mut inverses = [0.0; N];
        let first_key = queries.begin(0);
        let first_vector = first_key / LANES * LANES;
        for n in 0..N {
            let scores = &mut scores[n * row..][..row];
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
        let longest = queries.seen[N - 1];
        for column in (0..padded(width)).step_by(LANES * 4) {
            let wide = padded(width) - column >= LANES * 4;
            let vectors = if wide { 4 } else { (padded(width) - column) / LANES };
            let mut at = 0;
            while at < vectors {
                let first = column + at * LANES;
                let values = |j: usize| keys(j / BLOCK).add(width * BLOCK + (j % BLOCK) * padded(width) + first);
                let out = out.as_mut_ptr().add(first);
                if wide {
                    weighted::<S, T, N, 4>(scores, row, first_key..longest, values, &inverses, out, padded(width));
                    at += 4;
                } else {
                    weighted::<S, T, N, 1>(scores, row, first_key..longest, values, &inverses, out, padded(width));
                    at += 1;
                }
            }
        }
    }
}

/// Products of `N` rows with sixteen columns: `rows: [N, width]`, `columns: [width, LANES]`.
#[inline(always)]
unsafe fn products<S: Lanes, T: Kept, const N: usize>(rows: *const f32, width: usize, columns: *const T) -> [S::V; N] {
    unsafe {
        let mut sums = [S::splat(0.0); N];
        for d in 0..width {
            let column = T::load::<S>(columns.wrapping_add(d * LANES));
            for (n, sum) in sums.iter_mut().enumerate() {
                *sum = S::fma(S::spread(rows.wrapping_add(n * width + d)), column, *sum);
            }
        }
        sums
    }
}

/// `out_n = factor_n sum_j weights_nj value_j` for `VECTORS` vectors of the values.
#[inline(always)]
unsafe fn weighted<S: Lanes, T: Kept, const N: usize, const VECTORS: usize>(
    weights: &[f32],
    row: usize,
    keys: Range<usize>,
    value: impl Fn(usize) -> *const T,
    factors: &[f32; N],
    out: *mut f32,
    stride: usize,
) {
    unsafe {
        let mut sums = [[S::splat(0.0); VECTORS]; N];
        for j in keys {
            let from = value(j);
            let mut values = [S::splat(0.0); VECTORS];
            for (v, value) in values.iter_mut().enumerate() {
                *value = T::load::<S>(from.wrapping_add(v * LANES));
            }
            for (n, sums) in sums.iter_mut().enumerate() {
                let weight = S::spread(weights.as_ptr().wrapping_add(n * row + j));
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum = S::fma(weight, value, *sum);
                }
            }
        }
        for (n, sums) in sums.iter().enumerate() {
            for (v, sum) in sums.iter().enumerate() {
                S::store(out.add(n * stride + v * LANES), S::mul(*sum, S::splat(factors[n])));
            }
        }
    }
}

/// What the backward pass of one head of one sequence works on. Rows are as long as the padded width; beyond the width
/// they are zero.
#[derive(Default)]
pub struct Backward {
    width: usize,
    scale: f32,
    window: usize,
    /// Keys and values by row `[T, padded]`, and transposed in blocks `[T / BLOCK, padded, BLOCK]`.
    keys: Vec<f32>,
    keys_transposed: Vec<f32>,
    values_transposed: Vec<f32>,
    /// Gradients by row.
    pub key_grads: Vec<f32>,
    pub value_grads: Vec<f32>,
    /// Scratch: weights and their gradients `[N, T]`.
    weights: Vec<f32>,
    weight_grads: Vec<f32>,
}

impl Backward {
    /// Begins with a sequence's keys and values, given row by row.
    pub fn begin<'a>(
        &mut self,
        width: usize,
        (scale, window): (f32, usize),
        rows: impl ExactSizeIterator<Item = (&'a [f32], &'a [f32])>,
    ) {
        (self.width, self.scale, self.window) = (width, scale, window);
        let (padded, count) = (padded(width), rows.len());
        let blocked = count.div_ceil(BLOCK) * BLOCK;
        for (buffer, len) in [
            (&mut self.keys, count),
            (&mut self.keys_transposed, blocked),
            (&mut self.values_transposed, blocked),
            (&mut self.key_grads, count),
            (&mut self.value_grads, count),
        ] {
            buffer.clear();
            buffer.resize(len * padded, 0.0);
        }
        for buffer in [&mut self.weights, &mut self.weight_grads] {
            buffer.resize(TILE * blocked, 0.0);
        }
        for (j, (key, value)) in rows.enumerate() {
            self.keys[j * padded..][..width].copy_from_slice(key);
            let at = j / BLOCK * padded * BLOCK + j % BLOCK;
            for d in 0..width {
                self.keys_transposed[at + d * BLOCK] = key[d];
                self.values_transposed[at + d * BLOCK] = value[d];
            }
        }
    }

    /// Adds what some queries (`[N, padded]`, of rows in ascending order, seeing `seen` keys each) give to the keys'
    /// and values' gradients, and writes the queries' own. With `s = scale q k`, `p = exp(s - log_sum)`:
    /// `dv_j += p_j do`, `dp_j = do v_j`, `ds_j = scale p_j (dp_j - do o)`, `dq = sum_j ds_j k_j`, `dk_j += ds_j q`.
    pub fn add(&mut self, tile: &Tile<'_>, query_grads: &mut [f32]) {
        let (count, padded) = (tile.seen.len(), padded(self.width));
        assert!((1..=TILE).contains(&count) && tile.seen.is_sorted() && tile.seen[0] > 0);
        assert!(tile.seen[count - 1] * padded <= self.keys.len());
        assert!([tile.queries.len(), tile.grads.len(), query_grads.len()] == [count * padded; 3]);
        assert!(tile.log_sums.len() == count && tile.centers.len() == count);
        // Safety: the instruction set was detected, and all lengths were checked.
        unsafe { backward_of(self, tile, query_grads) }
    }
}

/// Some queries of one head, with the gradients of their outputs.
pub struct Tile<'a> {
    pub queries: &'a [f32],
    pub grads: &'a [f32],
    pub seen: &'a [usize],
    pub log_sums: &'a [f32],
    /// `sum_d do_d o_d` of each query.
    pub centers: &'a [f32],
}

dispatched!(
    fn backward_of(state: &mut Backward, tile: &Tile<'_>, out: &mut [f32]) = backward_body
);

#[inline(always)]
unsafe fn backward_body<S: Lanes>(state: &mut Backward, tile: &Tile<'_>, out: &mut [f32]) {
    unsafe {
        match tile.seen.len() {
            1 => backward_tile::<S, 1>(state, tile, out),
            2 => backward_tile::<S, 2>(state, tile, out),
            3 => backward_tile::<S, 3>(state, tile, out),
            4 => backward_tile::<S, 4>(state, tile, out),
            5 => backward_tile::<S, 5>(state, tile, out),
            _ => backward_tile::<S, 6>(state, tile, out),
        }
    }
}

#[inline(always)]
unsafe fn backward_tile<S: Lanes, const N: usize>(state: &mut Backward, tile: &Tile<'_>, out: &mut [f32]) {
    unsafe {
        let padded = padded(state.width);
        let longest = tile.seen[N - 1];
        let row = longest.div_ceil(BLOCK) * BLOCK;
        let begin = |query: usize| tile.seen[query].saturating_sub(state.window);
        let first_key = begin(0);
        let first_vector = first_key / BLOCK * BLOCK;
        let begins: [usize; N] = std::array::from_fn(begin);
        let scale = S::splat(state.scale);
        let (weights, grads) = (state.weights.as_mut_ptr(), state.weight_grads.as_mut_ptr());
        for at in (first_vector..row).step_by(BLOCK) {
            let scores =
                products::<S, f32, N>(tile.queries.as_ptr(), padded, state.keys_transposed.as_ptr().add(at * padded));
            let dp =
                products::<S, f32, N>(tile.grads.as_ptr(), padded, state.values_transposed.as_ptr().add(at * padded));
            for n in 0..N {
                let p = exp::<S>(S::sub(S::mul(scores[n], scale), S::splat(tile.log_sums[n])));
                let ds = S::mul(S::mul(p, S::sub(dp[n], S::splat(tile.centers[n]))), scale);
                S::store(weights.add(n * row + at), p);
                S::store(grads.add(n * row + at), ds);
            }
        }
        for n in 0..N {
            for buffer in [&mut state.weights, &mut state.weight_grads] {
                buffer[n * row + first_vector..n * row + begins[n]].fill(0.0);
                buffer[n * row + tile.seen[n]..(n + 1) * row].fill(0.0);
            }
        }
        let ones = [1.0; N];
        for column in (0..padded).step_by(LANES) {
            let keys = state.keys.as_ptr().add(column);
            let out = out.as_mut_ptr().add(column);
            weighted::<S, f32, N, 1>(
                &state.weight_grads,
                row,
                first_key..longest,
                |j| keys.add(j * padded),
                &ones,
                out,
                padded,
            );
        }
        for (sums, weights, rows) in [
            (&mut state.key_grads, &state.weight_grads, tile.queries),
            (&mut state.value_grads, &state.weights, tile.grads),
        ] {
            for j in first_key..longest {
                for column in (0..padded).step_by(LANES) {
                    let to = sums.as_mut_ptr().add(j * padded + column);
                    let mut sum = S::load(to);
                    for n in 0..N {
                        let weight = S::spread(weights.as_ptr().wrapping_add(n * row + j));
                        sum = S::fma(weight, S::load(rows.as_ptr().add(n * padded + column)), sum);
                    }
                    S::store(to, sum);
                }
            }
        }
    }
}
