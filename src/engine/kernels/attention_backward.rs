//! The inner loops of attention's backward pass. The gradient of a query is one chain over the keys in ascending order, that
//! of a key or value one chain over the queries: in which pieces keys are gone through changes nothing.

#![allow(clippy::needless_range_loop, reason = "iterators over vectors in registers are calls in a build for tests")]

use std::ops::Range;

use super::attention::{BLOCK, TILE, by_count, padded, products, weigh_rows};
use super::dispatched;
use super::lanes::{LANES, Lanes};
use super::rows::exp;

/// What is kept of keys that are gone through at a time: less than a second-level cache.
const NEAR_BYTES: usize = 320 << 10;

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
    /// Scratch: weights and their gradients `[N, keys at a time]`.
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
        for (j, (key, value)) in rows.enumerate() {
            self.keys[j * padded..][..width].copy_from_slice(key);
            let at = j / BLOCK * padded * BLOCK + j % BLOCK;
            for d in 0..width {
                self.keys_transposed[at + d * BLOCK] = key[d];
                self.values_transposed[at + d * BLOCK] = value[d];
            }
        }
    }

    /// As many keys as stay near the processor with all that is kept of them, while tiles of queries go by.
    pub fn keys_at_a_time(&self) -> usize {
        (NEAR_BYTES / (size_of::<f32>() * 5 * padded(self.width)) / BLOCK * BLOCK).max(BLOCK)
    }

    /// Adds what some queries (`[N, padded]`, of rows in ascending order, seeing `seen` keys each) give to the gradients of
    /// a range of keys that begins with a block, and of their values, and what these give to the queries' own. With
    /// `s = scale q k`, `p = exp(s - log_sum)`: `dv_j += p_j do`, `dp_j = do v_j`, `ds_j = scale p_j (dp_j - do o)`,
    /// `dq += ds_j k_j`, `dk_j += ds_j q`. Ranges are added in their order.
    pub fn add(&mut self, tile: &Tile<'_>, keys: Range<usize>, query_grads: &mut [f32]) {
        let (count, padded) = (tile.seen.len(), padded(self.width));
        assert!((1..=TILE).contains(&count) && tile.seen.is_sorted() && tile.seen[0] > 0);
        assert!(tile.seen[count - 1] * padded <= self.keys.len() && keys.start.is_multiple_of(BLOCK));
        assert!([tile.queries.len(), tile.grads.len(), query_grads.len()] == [count * padded; 3]);
        assert!(tile.log_sums.len() == count && tile.centers.len() == count);
        let keys = keys.start..keys.end.min(tile.seen[count - 1]);
        if keys.is_empty() {
            return;
        }
        let scratch = count * keys.len().next_multiple_of(BLOCK);
        for buffer in [&mut self.weights, &mut self.weight_grads] {
            buffer.resize(buffer.len().max(scratch), 0.0);
        }
        // Safety: the instruction set was detected, and all lengths were checked.
        unsafe { backward_of(self, tile, keys, query_grads) }
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
    fn backward_of(state: &mut Backward, tile: &Tile<'_>, keys: Range<usize>, out: &mut [f32]) = backward_body
);

#[inline(always)]
unsafe fn backward_body<S: Lanes>(state: &mut Backward, tile: &Tile<'_>, keys: Range<usize>, out: &mut [f32]) {
    unsafe { by_count!(tile.seen.len(), backward_tile::<S>(state, tile, keys, out)) }
}

#[inline(always)]
unsafe fn backward_tile<S: Lanes, const N: usize>(
    state: &mut Backward,
    tile: &Tile<'_>,
    keys: Range<usize>,
    out: &mut [f32],
) {
    unsafe {
        let padded = padded(state.width);
        let begins: [usize; N] = std::array::from_fn(|query| tile.seen[query].saturating_sub(state.window));
        // Scratch begins with the first block of the range that a query sees.
        let from = keys.start.max(begins[0] / BLOCK * BLOCK);
        let keys = keys.start.max(begins[0])..keys.end;
        if keys.is_empty() {
            return;
        }
        let row = (keys.end - from).next_multiple_of(BLOCK);
        let blocks = from / BLOCK..from / BLOCK + row / BLOCK;
        let together = if S::HELD >= 32 { weights_tile::<S, N, 2>(state, tile, blocks.clone(), row) } else { 0 };
        weights_tile::<S, N, 1>(state, tile, blocks.start + together..blocks.end, row);
        for n in 0..N {
            let [begin, end] = [begins[n], tile.seen[n]].map(|key| key.clamp(from, from + row) - from);
            for buffer in [&mut state.weights, &mut state.weight_grads] {
                buffer[n * row..n * row + begin].fill(0.0);
                buffer[n * row + end..(n + 1) * row].fill(0.0);
            }
        }
        let key = state.keys.as_ptr();
        let rows = |block: usize| key.wrapping_add(block * BLOCK * padded);
        weigh_rows::<S, f32, N>((&state.weight_grads, row, from), keys.clone(), rows, out, padded);
        for (sums, weights, rows) in [
            (&mut state.key_grads, &state.weight_grads, tile.queries),
            (&mut state.value_grads, &state.weights, tile.grads),
        ] {
            let mut column = 0;
            while S::HELD >= 32 && column + LANES * 4 <= padded {
                share::<S, N, 4>((weights, row, from), keys.clone(), (rows, column), sums, padded);
                column += LANES * 4;
            }
            while column < padded {
                share::<S, N, 1>((weights, row, from), keys.clone(), (rows, column), sums, padded);
                column += LANES;
            }
        }
    }
}

/// Weights and their gradients for whole `TOGETHER`s of blocks, of which it returns the number.
#[inline(always)]
unsafe fn weights_tile<S: Lanes, const N: usize, const TOGETHER: usize>(
    state: &mut Backward,
    tile: &Tile<'_>,
    blocks: Range<usize>,
    row: usize,
) -> usize {
    unsafe {
        let (padded, scale) = (padded(state.width), S::splat(state.scale));
        let (weights, grads) = (state.weights.as_mut_ptr(), state.weight_grads.as_mut_ptr());
        // Places in the scratch, which ends with the last block.
        let begin = row - blocks.len() * BLOCK;
        let whole = blocks.len() / TOGETHER * TOGETHER;
        let mut first = 0;
        while first < whole {
            let (mut key_blocks, mut value_blocks) = ([std::ptr::null(); TOGETHER], [std::ptr::null(); TOGETHER]);
            for i in 0..TOGETHER {
                let at = (blocks.start + first + i) * BLOCK * padded;
                key_blocks[i] = state.keys_transposed.as_ptr().wrapping_add(at);
                value_blocks[i] = state.values_transposed.as_ptr().wrapping_add(at);
            }
            let scores = products::<S, f32, N, TOGETHER>(tile.queries.as_ptr(), padded, key_blocks);
            let dp = products::<S, f32, N, TOGETHER>(tile.grads.as_ptr(), padded, value_blocks);
            for n in 0..N {
                for i in 0..TOGETHER {
                    let p = exp::<S>(S::sub(S::mul(scores[n][i], scale), S::splat(tile.log_sums[n])));
                    let ds = S::mul(S::mul(p, S::sub(dp[n][i], S::splat(tile.centers[n]))), scale);
                    let at = n * row + begin + (first + i) * BLOCK;
                    S::store(weights.wrapping_add(at), p);
                    S::store(grads.wrapping_add(at), ds);
                }
            }
            first += TOGETHER;
        }
        whole
    }
}

/// `sums_j += sum_n weights_nj row_n` for `VECTORS` vectors of the rows from a column on, the rows in their order.
#[inline(always)]
unsafe fn share<S: Lanes, const N: usize, const VECTORS: usize>(
    (weights, row, from): (&[f32], usize, usize),
    keys: Range<usize>,
    (rows, column): (&[f32], usize),
    sums: &mut [f32],
    width: usize,
) {
    unsafe {
        let mut held = [[S::splat(0.0); VECTORS]; N];
        for n in 0..N {
            for v in 0..VECTORS {
                held[n][v] = S::load(rows.as_ptr().wrapping_add(n * width + column + v * LANES));
            }
        }
        let mut j = keys.start;
        while j < keys.end {
            let to = sums.as_mut_ptr().wrapping_add(j * width + column);
            let mut own = [S::splat(0.0); VECTORS];
            for v in 0..VECTORS {
                own[v] = S::load(to.wrapping_add(v * LANES));
            }
            for n in 0..N {
                let weight = S::spread(weights.as_ptr().wrapping_add(n * row + j - from));
                for v in 0..VECTORS {
                    own[v] = S::fma(weight, held[n][v], own[v]);
                }
            }
            for v in 0..VECTORS {
                S::store(to.wrapping_add(v * LANES), own[v]);
            }
            j += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_which_pieces_keys_are_gone_through_does_not_show() {
        let values = |seed: usize, count: usize| -> Vec<f32> {
            (0..count).map(|i| ((i * 7 + seed * 13) as f32 * 0.31).sin()).collect()
        };
        let (count, width) = (90, 40);
        let (keys, vals) = (values(1, count * width), values(2, count * width));
        for window in [usize::MAX, 37] {
            let grads = |piece: usize| {
                let mut state = Backward::default();
                let rows: Vec<_> = keys.chunks_exact(width).zip(vals.chunks_exact(width)).collect();
                state.begin(width, (0.2, window), rows.into_iter());
                let seen: Vec<usize> = (1..=count).collect();
                let of_queries = [3, 4, 5].map(|seed| values(seed, count * padded(width)));
                let [queries, grads, mut query_grads] = of_queries;
                query_grads.fill(0.0);
                let (log_sums, centers) = (vec![2.0; count], values(6, count));
                for start in (0..count).step_by(piece) {
                    for first in (0..count).step_by(TILE) {
                        let last = (first + TILE).min(count);
                        let numbers = first * padded(width)..last * padded(width);
                        let tile = Tile {
                            queries: &queries[numbers.clone()],
                            grads: &grads[numbers.clone()],
                            seen: &seen[first..last],
                            log_sums: &log_sums[first..last],
                            centers: &centers[first..last],
                        };
                        state.add(&tile, start..start + piece, &mut query_grads[numbers]);
                    }
                }
                let all = [query_grads, state.key_grads, state.value_grads].concat();
                all.into_iter().map(f32::to_bits).collect::<Vec<u32>>()
            };
            let whole = grads(96);
            assert!([16, 48].into_iter().all(|piece| grads(piece) == whole), "window {window}");
        }
    }
}
