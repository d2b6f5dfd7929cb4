//! Causal grouped-query attention over packed sequences (training) and over a key-value cache (sampling).
//!
//! Rows are tokens; a row attends to the tokens of its own sequence up to itself. No `[T, T]` tensor is made: forward
//! keeps one number for each row and head, backward computes the scores again. Both modes put keys and values into the
//! same blocks and call the same routine, so that a token's result does not depend on how it was batched. Equations:
//! Vaswani et al., arXiv 1706.03762; grouped heads, arXiv 2305.13245; recomputation from the normaliser, arXiv
//! 2205.14135.

use rayon::prelude::*;

use super::fallback;
use crate::engine::kernels::attention::{BLOCK, Kept, Queries, TILE, block_len, padded, put};
use crate::engine::kernels::buffer::Buffer;

/// Head counts and width of one attention layer, and what it looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heads {
    pub query: usize,
    pub key_value: usize,
    pub width: usize,
    /// What scores are multiplied by.
    pub scale: f32,
    /// Tokens that a token sees at most, itself among them.
    pub window: usize,
}

impl Heads {
    /// Heads that see everything before them, with scores divided by the root of their width.
    pub fn new(query: usize, key_value: usize, width: usize) -> Self {
        Self { query, key_value, width, scale: 1.0 / (width as f32).sqrt(), window: usize::MAX }
    }

    /// Query heads that share one key-value head.
    pub(super) fn group(self) -> usize {
        self.query / self.key_value
    }

    /// Numbers in one row of queries, over all heads.
    pub fn query_row(self) -> usize {
        self.query * self.width
    }

    /// Numbers in one row of keys (or values), over all heads.
    pub fn key_value_row(self) -> usize {
        self.key_value * self.width
    }

    /// Numbers in one row of queries, keys and values side by side.
    pub fn row(self) -> usize {
        self.query_row() + 2 * self.key_value_row()
    }

    /// Numbers in one block of keys and values, over all heads.
    pub fn block(self) -> usize {
        self.key_value * block_len(self.width)
    }

    /// Query heads and rows of one sequence that are computed together.
    pub(super) fn tile(self) -> (usize, usize) {
        let heads = self.group().min(TILE);
        (heads, TILE / heads)
    }

    /// Puts the key and value of `row` (queries, keys and values side by side) into a block.
    pub fn put<T: Kept>(self, row: &[f32], block: &mut [T], slot: usize) {
        let (keys, values) = row[self.query_row()..].split_at(self.key_value_row());
        let heads = block.chunks_exact_mut(block_len(self.width));
        for ((block, key), value) in heads.zip(keys.chunks_exact(self.width)).zip(values.chunks_exact(self.width)) {
            put(block, slot, key, value);
        }
    }
}

/// Which keys a row sees: the first `seen` of those in the blocks.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    pub blocks: &'a [u32],
    pub seen: usize,
}

/// Results `[N, query heads * width]` and the logarithms of the normalisers `[N, query heads]`; `()` where nobody asks
/// for these.
#[derive(Debug)]
pub struct Attended<A = Buffer, S = A> {
    pub out: A,
    pub log_sums: S,
}

/// Attention of `rows` (`[N, row]`, queries, keys and values side by side) over blocks of keys and values, in which
/// the rows' own stand already.
pub fn attend<T: Kept>(rows: &[f32], heads: Heads, blocks: &[T], seen: &[Seen<'_>]) -> Attended {
    fallback::note_portable("attention");
    assert_eq!(rows.len(), seen.len() * heads.row(), "rows and positions do not fit");
    let width = heads.query_row();
    let mut result = Attended { out: Buffer::new(seen.len() * width), log_sums: Buffer::new(seen.len() * heads.query) };
    // Rows of one sequence stand next to each other; the tiles of some of them go through its keys together.
    let (_, most) = heads.tile();
    let mut groups = Vec::with_capacity(seen.len());
    let (mut out, mut log_sums) = (&mut result.out[..], &mut result.log_sums[..]);
    let (mut first, mut tiles) = (0, 0);
    while first < seen.len() {
        let same = |row: &Seen<'_>| std::ptr::eq(row.blocks, seen[first].blocks);
        let scores = TILE * size_of::<f32>() * seen[first].seen.next_multiple_of(BLOCK);
        let rows = most * (SCORES_BYTES / scores).clamp(1, TILES_TOGETHER);
        let count = seen[first..].iter().take(rows).take_while(|row| same(row)).count();
        let (own_out, rest) = out.split_at_mut(count * width);
        let (own_sums, rest_sums) = log_sums.split_at_mut(count * heads.query);
        (out, log_sums) = (rest, rest_sums);
        groups.push((first, count, own_out, own_sums));
        first += count;
        tiles += count.div_ceil(most);
    }
    // As much work as is worth a task.
    let per_task = (TILES_TOGETHER * groups.len() / tiles.max(1)).max(1);
    groups.par_iter_mut().with_min_len(per_task).for_each_init(Scratch::default, |scratch, group| {
        let (first, count, out, log_sums) = group;
        let own = (&rows[*first * heads.row()..][..*count * heads.row()], &seen[*first..][..*count]);
        scratch.attend(own, heads, blocks, out, log_sums);
    });
    drop(groups);
    result
}

/// Puts the keys and values of `rows` into blocks of `cache`, each at the last place that its row sees, then attends.
pub fn cached_attention<T: Kept>(rows: &[f32], heads: Heads, cache: &mut [T], seen: &[Seen<'_>]) -> Buffer {
    for (Seen { blocks, seen }, row) in seen.iter().zip(rows.chunks_exact(heads.row())) {
        let block = blocks[(seen - 1) / BLOCK] as usize;
        heads.put(row, &mut cache[block * heads.block()..][..heads.block()], (seen - 1) % BLOCK);
    }
    attend(rows, heads, cache, seen).out
}

/// Tiles that go through the keys of a sequence together, and bytes that their scores may take.
const TILES_TOGETHER: usize = 8;
const SCORES_BYTES: usize = 2 << 20;
/// Bytes of keys, or of values, that tiles go through at a time: so many stay near the processor.
const NEAR_BYTES: usize = 64 << 10;

/// Memory of one thread.
#[derive(Default)]
struct Scratch {
    queries: Vec<f32>,
    seen: Vec<usize>,
    scores: Vec<f32>,
    out: Vec<f32>,
    inverses: Vec<f32>,
    log_sums: Vec<f32>,
}

impl Scratch {
    /// Attention of rows of one sequence.
    fn attend<T: Kept>(
        &mut self,
        (rows, seen): (&[f32], &[Seen<'_>]),
        heads: Heads,
        blocks: &[T],
        out: &mut [f32],
        log_sums: &mut [f32],
    ) {
        let (width, (together, most)) = (heads.width, heads.tile());
        for first in (0..heads.query).step_by(heads.group()) {
            for begin in (first..first + heads.group()).step_by(together) {
                let end = (begin + together).min(first + heads.group());
                self.queries.clear();
                self.seen.clear();
                for (row, seen) in rows.chunks_exact(heads.row()).zip(seen) {
                    self.queries.extend_from_slice(&row[begin * width..end * width]);
                    self.seen.extend(std::iter::repeat_n(seen.seen, end - begin));
                }
                let whole = Queries {
                    width,
                    blocks,
                    first: first / heads.group() * block_len(width),
                    stride: heads.block(),
                    offsets: seen[0].blocks,
                    queries: &self.queries,
                    seen: &self.seen,
                    scale: heads.scale,
                    window: heads.window,
                };
                let tiles: Vec<Queries<'_, T>> = whole.tiles(most * (end - begin)).collect();
                self.out.clear();
                self.out.resize(self.seen.len() * padded(width), 0.0);
                for sums in [&mut self.inverses, &mut self.log_sums] {
                    sums.resize(self.seen.len(), 0.0);
                }
                attend_tiles(&tiles, &mut self.scores, &mut self.out, (&mut self.inverses, &mut self.log_sums));
                let sums = self.inverses.iter().zip(&self.log_sums);
                for (i, (got, (inverse, log_sum))) in self.out.chunks_exact(padded(width)).zip(sums).enumerate() {
                    let (row, head) = (i / (end - begin), begin + i % (end - begin));
                    let to = &mut out[row * heads.query_row() + head * width..][..width];
                    to.iter_mut().zip(got).for_each(|(to, got)| *to = got * inverse);
                    log_sums[row * heads.query + head] = *log_sum;
                }
            }
        }
    }
}

/// Tiles of queries of one head over the same keys: sums of weighted values, what divides them, and the logarithms of the
/// normalisers.
fn attend_tiles<T: Kept>(
    tiles: &[Queries<'_, T>],
    scores: &mut Vec<f32>,
    out: &mut [f32],
    (inverses, log_sums): (&mut [f32], &mut [f32]),
) {
    let Some(last) = tiles.last() else { return };
    let width = last.width;
    // A tile by itself has nobody to share with.
    let near = (NEAR_BYTES / (size_of::<T>() * width) / BLOCK * BLOCK).max(BLOCK);
    let step = if tiles.len() == 1 { last.row() } else { near };
    let ranges = || (0..last.row()).step_by(step).map(|start| start..start + step);
    let lengths: Vec<usize> = tiles.iter().map(|tile| tile.seen.len() * tile.row()).collect();
    let all = lengths.iter().sum();
    scores.resize(scores.len().max(all), 0.0);
    let mut scores = chunks(&mut scores[..all], lengths.iter().copied());
    let counts = || tiles.iter().map(|tile| tile.seen.len());
    let mut outs = chunks(out, counts().map(|count| count * padded(width)));
    for keys in ranges() {
        for (tile, scores) in tiles.iter().zip(&mut scores) {
            tile.score(keys.clone(), scores);
        }
    }
    let sums = chunks(inverses, counts()).into_iter().zip(chunks(log_sums, counts()));
    for ((tile, scores), (inverses, log_sums)) in tiles.iter().zip(&mut scores).zip(sums) {
        tile.weights(scores, inverses, log_sums);
    }
    for keys in ranges() {
        for ((tile, weights), out) in tiles.iter().zip(&scores).zip(&mut outs) {
            tile.weigh(keys.clone(), weights, out);
        }
    }
}

/// Pieces of the given lengths, one behind the other.
fn chunks(mut all: &mut [f32], lengths: impl Iterator<Item = usize>) -> Vec<&mut [f32]> {
    let piece = |length| {
        let (piece, rest) = std::mem::take(&mut all).split_at_mut(length);
        all = rest;
        piece
    };
    lengths.map(piece).collect()
}

/// Attention over whole sequences side by side; sequence `s` is the rows `boundaries[s]..boundaries[s + 1]` of
/// `rows: [N, row]`.
pub fn packed_attention(rows: &[f32], heads: Heads, boundaries: &[usize]) -> Attended {
    let lengths: Vec<usize> = boundaries.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let count: usize = lengths.iter().map(|len| len.div_ceil(BLOCK)).sum();
    assert_eq!(rows.len(), lengths.iter().sum::<usize>() * heads.row(), "boundaries do not end at the last row");
    let mut blocks = Buffer::new(count * heads.block());
    let ids: Vec<u32> = (0..count as u32).collect();
    let (mut seen, mut owners, mut next) = (Vec::with_capacity(rows.len() / heads.row()), Vec::new(), 0);
    for (sequence, len) in lengths.iter().enumerate() {
        let own = &ids[next..next + len.div_ceil(BLOCK)];
        next += own.len();
        seen.extend((1..=*len).map(|seen| Seen { blocks: own, seen }));
        let begin = boundaries[sequence];
        owners.extend((0..own.len()).map(|i| begin + i * BLOCK..(begin + (i + 1) * BLOCK).min(begin + len)));
    }
    blocks.par_chunks_mut(heads.block()).zip(&owners).for_each(|(block, range)| {
        for (slot, row) in range.clone().enumerate() {
            heads.put(&rows[row * heads.row()..][..heads.row()], block, slot);
        }
    });
    attend(rows, heads, &blocks, &seen)
}

#[cfg(test)]
mod tests {
    use super::super::attention_backward::packed_attention_backward;
    use super::*;

    fn values(seed: u64, count: usize) -> Vec<f32> {
        (0..count).map(|i| ((i as f64 * 0.7 + seed as f64 * 1.3).sin() * 1.5) as f32).collect()
    }

    /// Attention in float64, straight from the definition.
    fn reference(rows: &[f64], heads: Heads, boundaries: &[usize]) -> Vec<f64> {
        let (w, g, row) = (heads.width, heads.group(), heads.row());
        let mut out = vec![0.0; rows.len() / row * heads.query_row()];
        for pair in boundaries.windows(2) {
            for i in pair[0]..pair[1] {
                for h in 0..heads.query {
                    let key = |j: usize| j * row + heads.query_row() + h / g * w;
                    let first = pair[0].max((i + 1).saturating_sub(heads.window));
                    let scores: Vec<f64> = (first..=i)
                        .map(|j| (0..w).map(|d| rows[i * row + h * w + d] * rows[key(j) + d]).sum::<f64>())
                        .map(|s| (s * f64::from(heads.scale)).exp())
                        .collect();
                    let total: f64 = scores.iter().sum();
                    for (s, j) in scores.iter().zip(first..) {
                        for d in 0..w {
                            out[(i * heads.query + h) * w + d] += s / total * rows[key(j) + heads.key_value_row() + d];
                        }
                    }
                }
            }
        }
        out
    }

    fn check(heads: Heads, boundaries: &[usize]) {
        let count = boundaries[boundaries.len() - 1];
        let rows = values(1, count * heads.row());
        let grad = values(4, count * heads.query_row());
        let wide: Vec<f64> = rows.iter().map(|x| f64::from(*x)).collect();
        let attended = packed_attention(&rows, heads, boundaries);
        for (got, want) in attended.out.iter().zip(reference(&wide, heads, boundaries)) {
            assert!((f64::from(*got) - want).abs() < 1e-5, "{got} against {want}");
        }
        let got = packed_attention_backward(&rows, (&attended.out, &attended.log_sums), &grad, heads, boundaries);
        let loss = |rows: &[f64]| -> f64 {
            reference(rows, heads, boundaries).iter().zip(&grad).map(|(o, g)| o * f64::from(*g)).sum()
        };
        for at in (0..rows.len()).step_by(if rows.len() > 2000 { 37.max(rows.len() / 50) } else { 1 }) {
            let (mut up, mut down) = (wide.clone(), wide.clone());
            up[at] += 1e-5;
            down[at] -= 1e-5;
            let want = (loss(&up) - loss(&down)) / 2e-5;
            assert!((f64::from(got[at]) - want).abs() < 1e-4, "number {at}: {} against {want}", got[at]);
        }
    }

    #[test]
    fn attention_and_its_gradient_match_float64() {
        check(Heads::new(4, 2, 6), &[0, 3, 4, 9]);
        check(Heads::new(3, 3, 16), &[0, 18]);
        check(Heads::new(8, 1, 20), &[0, 7, 12]);
    }

    #[test]
    fn long_sequences_match_float64() {
        check(Heads::new(2, 1, 80), &[0, 35, 36]);
        // More keys than are gone through at a time.
        check(Heads::new(3, 1, 64), &[0, 300]);
        check(Heads { window: 150, ..Heads::new(1, 1, 128) }, &[0, 3, 280]);
    }

    #[test]
    fn pieces_of_keys_do_not_show() {
        for window in [usize::MAX, 290] {
            let (heads, count) = (Heads { window, ..Heads::new(6, 2, 64) }, 600);
            let rows = values(8, count * heads.row());
            let whole = packed_attention(&rows, heads, &[0, count]);
            // One row at a time takes all of its keys at once.
            assert_eq!(cached(&rows, heads, (vec![f32::NAN; 1 << 18], 1))[..], whole.out[..]);
            let [alone, together] = [1, 64].map(|pass| cached(&rows, heads, (vec![0x7fc0_u16; 1 << 18], pass)));
            assert_eq!(alone, together, "in bf16");
        }
    }

    /// Windows that are shorter than a block, as long, and longer; and a scale of its own.
    #[test]
    fn windows_match_float64() {
        for window in [1, 5, 16, 37] {
            check(Heads { window, scale: 0.4, ..Heads::new(4, 2, 6) }, &[0, 50, 57]);
        }
    }

    /// A sequence's results are the same bits alone and between others, and row by row over blocks as in one go.
    #[test]
    fn a_sequence_does_not_depend_on_its_company() {
        for window in [usize::MAX, 7, 20] {
            check_company(Heads { window, ..Heads::new(6, 2, 24) });
        }
    }

    fn check_company(heads: Heads) {
        let boundaries = [0, 5, 42, 43];
        let rows = values(3, 43 * heads.row());
        let whole = packed_attention(&rows, heads, &boundaries);
        for pair in boundaries.windows(2) {
            let own = &rows[pair[0] * heads.row()..pair[1] * heads.row()];
            let alone = packed_attention(own, heads, &[0, pair[1] - pair[0]]);
            assert_eq!(alone.out[..], whole.out[pair[0] * heads.query_row()..pair[1] * heads.query_row()]);
        }
        let own = &rows[5 * heads.row()..42 * heads.row()];
        let ids = [7, 2, 4];
        let mut blocks = vec![f32::NAN; 8 * heads.block()];
        for (position, row) in own.chunks_exact(heads.row()).enumerate() {
            let block = ids[position / BLOCK] as usize * heads.block();
            heads.put(row, &mut blocks[block..block + heads.block()], position % BLOCK);
            let got = attend(row, heads, &blocks, &[Seen { blocks: &ids, seen: position + 1 }]);
            assert_eq!(got.out[..], whole.out[(5 + position) * heads.query_row()..][..heads.query_row()]);
        }
    }

    /// Rows whose keys and values are the nearest bf16, by another implementation of rounding.
    fn rounded(rows: &[f32], heads: Heads) -> Vec<f32> {
        let nearest = |(at, x): (usize, &f32)| match at % heads.row() < heads.query_row() {
            true => *x,
            false => half::bf16::from_f32(*x).to_f32(),
        };
        rows.iter().enumerate().map(nearest).collect()
    }

    /// Through a cache of scattered blocks, in passes of so many rows.
    fn cached<T: Kept>(rows: &[f32], heads: Heads, (mut cache, pass): (Vec<T>, usize)) -> Vec<f32> {
        let ids: Vec<u32> = (0..(rows.len() / heads.row()).div_ceil(BLOCK) as u32).rev().collect();
        cache.truncate(ids.len() * heads.block());
        let mut out = Vec::new();
        for (number, some) in rows.chunks(pass * heads.row()).enumerate() {
            let seen = |row: usize| Seen { blocks: &ids, seen: number * pass + row + 1 };
            let seen: Vec<Seen<'_>> = (0..some.len() / heads.row()).map(seen).collect();
            out.extend_from_slice(&cached_attention(some, heads, &mut cache, &seen));
        }
        out
    }

    const SHAPES: [(Heads, usize); 4] = [
        (Heads { query: 4, key_value: 2, width: 6, scale: 0.4, window: usize::MAX }, 23),
        (Heads { query: 8, key_value: 1, width: 20, scale: 0.25, window: 7 }, 50),
        (Heads { query: 2, key_value: 2, width: 80, scale: 0.1, window: 37 }, 70),
        (Heads { query: 6, key_value: 2, width: 64, scale: 0.125, window: usize::MAX }, 90),
    ];

    #[test]
    fn keys_and_values_in_bf16_match_float64_of_the_rounded_ones() {
        for (heads, count) in SHAPES {
            let rows = values(6, count * heads.row());
            let own = rounded(&rows, heads);
            let wide: Vec<f64> = own.iter().map(|x| f64::from(*x)).collect();
            let got = cached(&rows, heads, (vec![0x7fc0_u16; 1 << 16], 5));
            for (got, want) in got.iter().zip(reference(&wide, heads, &[0, count])) {
                assert!((f64::from(*got) - want).abs() < 1e-5, "{got} against {want}");
            }
            // Widened on the way, they are computed with as numbers that were rounded before.
            assert_eq!(got, cached(&own, heads, (vec![f32::NAN; 1 << 16], 5)), "{heads:?}");
            assert!(got != cached(&rows, heads, (vec![f32::NAN; 1 << 16], 5)), "rounding says something");
        }
    }

    #[test]
    fn rows_over_bf16_depend_neither_on_their_company_nor_on_threads() {
        for (heads, count) in SHAPES {
            let rows = values(9, count * heads.row());
            let whole = cached(&rows, heads, (vec![0_u16; 1 << 16], count));
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                for pass in [1, 7, count] {
                    let got = pool.install(|| cached(&rows, heads, (vec![0x7fc0_u16; 1 << 16], pass)));
                    assert_eq!(got, whole, "{heads:?}, {threads} threads, {pass} rows at a time");
                }
            }
        }
    }

    #[test]
    fn ties_go_to_even_and_what_is_no_number_stays_so() {
        let numbers = [1.0 + 1.0 / 256.0, 1.0 + 3.0 / 256.0, -1.0 - 1.0 / 256.0, f32::MAX, f32::INFINITY, -0.0, 1e-40];
        for x in numbers {
            assert_eq!(<u16 as Kept>::nearest(x), half::bf16::from_f32(x).to_bits(), "{x}");
        }
        assert_eq!([numbers[0], numbers[1]].map(<u16 as Kept>::nearest), [0x3f80, 0x3f82]);
        assert!(half::bf16::from_bits(<u16 as Kept>::nearest(f32::NAN)).is_nan());
    }
}
