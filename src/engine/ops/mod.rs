//! The operations of the decoder, forward and backward, multi-threaded over rows, heads or panels. Each pass is written
//! out by hand: results go into buffers, gradients are written where they are summed, nothing is copied in between.
//! A row's result never depends on its neighbours; sums over rows have the rows' order.

pub mod attention;
pub mod attention_backward;
pub mod bias;
pub mod dropout;
pub mod embedding;
pub mod experts;
pub mod fallback;
pub mod gate;
pub mod linear;
pub mod logprob;
pub mod magnitude;
pub mod norm;
pub mod orthogonal;
pub mod rotary;

use rayon::prelude::*;

/// Numbers that are worth a task of their own: waking a thread takes as long as some ten thousand of them.
const TASK: usize = 1 << 15;

/// Rows for one task, when a row has `width` numbers.
pub fn rows_per_task(width: usize) -> usize {
    (TASK / width.max(1)).max(1)
}

/// `sum += x`, number by number.
pub fn add(sum: &mut [f32], x: &[f32]) {
    assert_eq!(sum.len(), x.len());
    sum.par_chunks_mut(TASK).zip(x.par_chunks(TASK)).for_each(|(sum, x)| {
        for (sum, x) in sum.iter_mut().zip(x) {
            *sum += x;
        }
    });
}
