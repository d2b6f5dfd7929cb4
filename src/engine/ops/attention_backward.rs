//! The gradients of attention over packed sequences. A sequence and a head of keys is a task of its own; tiles of queries go by
//! pieces of its keys, whose scores are computed again (arXiv 2205.14135).

use rayon::prelude::*;

use super::attention::Heads;
use crate::engine::kernels::attention::padded;
use crate::engine::kernels::attention_backward::{Backward, Tile};
use crate::engine::kernels::buffer::Buffer;

/// The gradient of [`packed_attention`](super::attention::packed_attention), whose results are given, `[N, row]` for `grad`, that of its result.
pub fn packed_attention_backward(
    rows: &[f32],
    (out, log_sums): (&[f32], &[f32]),
    grad: &[f32],
    heads: Heads,
    boundaries: &[usize],
) -> Buffer {
    let tasks: Vec<(usize, usize, usize)> =
        boundaries.windows(2).flat_map(|pair| (0..heads.key_value).map(|head| (pair[0], pair[1], head))).collect();
    let pass = Pass { rows, out, log_sums, grad, heads };
    let parts: Vec<Buffer> = tasks
        .par_iter()
        .with_max_len(1)
        .map_init(Backward::default, |state, (start, end, head)| pass.head(state, *start..*end, *head))
        .collect();
    let (group, width, padded) = (heads.group(), heads.width, padded(heads.width));
    let mut out = Buffer::new(rows.len());
    let sequences: Vec<usize> =
        boundaries.windows(2).enumerate().flat_map(|(s, pair)| std::iter::repeat_n(s, pair[1] - pair[0])).collect();
    out.par_chunks_mut(heads.row()).zip(&sequences).enumerate().with_min_len(16).for_each(|(row, (out, sequence))| {
        let local = row - boundaries[*sequence];
        let (queries, rest) = out.split_at_mut(heads.query_row());
        let (keys, values) = rest.split_at_mut(heads.key_value_row());
        for head in 0..heads.key_value {
            let part =
                &parts[sequence * heads.key_value + head][local * (group + 2) * padded..][..(group + 2) * padded];
            let mut pieces = part.chunks_exact(padded);
            for member in 0..group {
                let to = &mut queries[(head * group + member) * width..][..width];
                pieces.next().into_iter().for_each(|p| to.copy_from_slice(&p[..width]));
            }
            for to in [&mut keys[head * width..][..width], &mut values[head * width..][..width]] {
                pieces.next().into_iter().for_each(|p| to.copy_from_slice(&p[..width]));
            }
        }
    });
    out
}

/// One backward pass.
struct Pass<'a> {
    rows: &'a [f32],
    out: &'a [f32],
    log_sums: &'a [f32],
    grad: &'a [f32],
    heads: Heads,
}

impl Pass<'_> {
    /// Gradients of one sequence and key-value head, `[T, group + 2, padded width]`: queries, key, value.
    fn head(&self, state: &mut Backward, range: std::ops::Range<usize>, head: usize) -> Buffer {
        let heads = self.heads;
        let (group, width, padded) = (heads.group(), heads.width, padded(heads.width));
        let (together, most) = heads.tile();
        let row = |r: usize| &self.rows[r * heads.row()..][..heads.row()];
        let key_at = heads.query_row() + head * width;
        let value_at = key_at + heads.key_value_row();
        let pairs = range.clone().map(|r| (&row(r)[key_at..][..width], &row(r)[value_at..][..width]));
        state.begin(width, (heads.scale, heads.window), pairs);
        let centers = self.centers(range.clone(), head);
        let mut out = Buffer::zeros(range.len() * (group + 2) * padded);
        let (mut own, mut query_grads) = (TileMemory::default(), Vec::new());
        for start in (0..range.len()).step_by(state.keys_at_a_time()) {
            let keys = start..start + state.keys_at_a_time();
            // Rows before these keys see none of them.
            for first in (start / most * most..range.len()).step_by(most) {
                for begin in (0..group).step_by(together) {
                    let members = || begin..(begin + together).min(group);
                    let places =
                        || (first..(first + most).min(range.len())).flat_map(|r| members().map(move |m| (r, m)));
                    let grads = |(r, member): (usize, usize)| (r * (group + 2) + member) * padded;
                    own.clear();
                    query_grads.clear();
                    for (r, member) in places() {
                        let at = (range.start + r, head * group + member);
                        own.push(self, at, r + 1, centers[r * group + member]);
                        query_grads.extend_from_slice(&out[grads((r, member))..][..padded]);
                    }
                    state.add(&own.tile(), keys.clone(), &mut query_grads);
                    for (place, got) in places().zip(query_grads.chunks_exact(padded)) {
                        out[grads(place)..][..padded].copy_from_slice(got);
                    }
                }
            }
        }
        for local in 0..range.len() {
            let to = &mut out[(local * (group + 2) + group) * padded..][..2 * padded];
            to[..padded].copy_from_slice(&state.key_grads[local * padded..][..padded]);
            to[padded..].copy_from_slice(&state.value_grads[local * padded..][..padded]);
        }
        out
    }

    /// `sum_d do_d o_d` of each row and query head of a group.
    fn centers(&self, rows: std::ops::Range<usize>, head: usize) -> Vec<f32> {
        let (group, width) = (self.heads.group(), self.heads.width);
        let center =
            |at: usize| self.grad[at..at + width].iter().zip(&self.out[at..at + width]).map(|(g, o)| g * o).sum();
        let begin = |r: usize| r * self.heads.query_row() + head * group * width;
        rows.flat_map(|r| (0..group).map(move |member| begin(r) + member * width)).map(center).collect()
    }
}

/// Queries of one tile, with rows filled up with zeros to whole vectors.
#[derive(Default)]
struct TileMemory {
    queries: Vec<f32>,
    grads: Vec<f32>,
    seen: Vec<usize>,
    log_sums: Vec<f32>,
    centers: Vec<f32>,
}

impl TileMemory {
    fn clear(&mut self) {
        for buffer in [&mut self.queries, &mut self.grads, &mut self.log_sums, &mut self.centers] {
            buffer.clear();
        }
        self.seen.clear();
    }

    fn push(&mut self, pass: &Pass<'_>, (row, head): (usize, usize), seen: usize, center: f32) {
        let heads = pass.heads;
        let (width, at) = (heads.width, row * heads.query_row() + head * heads.width);
        self.queries.extend_from_slice(&pass.rows[row * heads.row() + head * width..][..width]);
        self.grads.extend_from_slice(&pass.grad[at..at + width]);
        let len = self.queries.len().next_multiple_of(padded(width));
        self.queries.resize(len, 0.0);
        self.grads.resize(len, 0.0);
        self.seen.push(seen);
        self.log_sums.push(pass.log_sums[row * heads.query + head]);
        self.centers.push(center);
    }

    fn tile(&self) -> Tile<'_> {
        let Self { queries, grads, seen, log_sums, centers } = self;
        Tile { queries, grads, seen, log_sums, centers }
    }
}
