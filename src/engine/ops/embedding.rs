//! Token embeddings: a row of the table for each token, and the gradient back into it.

use rayon::prelude::*;

use super::rows_per_task;
use crate::engine::kernels::buffer::Buffer;
use crate::engine::kernels::rows::add_row;

/// Rows `[N, width]` of `table: [V, width]`. Tokens must be below V.
pub fn gather(table: &[f32], width: usize, tokens: &[u32]) -> Buffer {
    let mut out = Buffer::new(tokens.len() * width);
    let rows = out.par_chunks_mut(width).zip(tokens).with_min_len(rows_per_task(width));
    rows.for_each(|(out, token)| out.copy_from_slice(&table[*token as usize * width..][..width]));
    out
}

/// Adds every row of `grad: [N, width]` to its token's row of `sum: [V, width]`, in the order of the rows.
pub fn scatter_add(sum: &mut [f32], grad: &[f32], width: usize, tokens: &[u32]) {
    assert_eq!(grad.len(), tokens.len() * width);
    for (grad, token) in grad.chunks_exact(width).zip(tokens) {
        add_row(&mut sum[*token as usize * width..][..width], grad);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_of_a_repeated_token_add_up() {
        let table = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(gather(&table, 2, &[2, 0, 2])[..], [4.0, 5.0, 0.0, 1.0, 4.0, 5.0]);
        let mut sum = [0.0; 6];
        scatter_add(&mut sum, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2, &[2, 0, 2]);
        assert_eq!(sum, [3.0, 4.0, 0.0, 0.0, 6.0, 8.0]);
    }
}
