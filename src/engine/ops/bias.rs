//! Vectors that are added to the results of products, and what becomes of single rows: factors, and products with each
//! other.

use rayon::prelude::*;

use super::{TASK, rows_per_task};
use crate::engine::kernels::rows::add_row;

/// Columns of a bias's gradient in one task.
const COLUMNS: usize = 64;

/// Adds biases, side by side, to every row of `rows: [N, sum of the biases' widths]`.
pub fn add_biases(rows: &mut [f32], biases: &[&[f32]]) {
    let width = biases.iter().map(|bias| bias.len()).sum();
    rows.par_chunks_mut(width).with_min_len(rows_per_task(width)).for_each(|row| {
        let mut rest = row;
        for bias in biases {
            let (own, others) = rest.split_at_mut(bias.len());
            add_row(own, bias);
            rest = others;
        }
    });
}

/// Writes, or with its flag adds, the sums over the rows of `grad: [N, width]` to each bias's part, in the order of the
/// biases. A sum has the rows' order, so that it does not depend on where a batch was cut.
pub fn bias_gradients(grad: &[f32], width: usize, sums: &mut [(&mut [f32], bool)]) {
    let mut first = 0;
    for (sum, add) in sums {
        sum.par_chunks_mut(COLUMNS).enumerate().for_each(|(i, sum)| {
            if !*add {
                sum.fill(0.0);
            }
            let begin = first + i * COLUMNS;
            grad.chunks_exact(width).for_each(|row| add_row(sum, &row[begin..begin + sum.len()]));
        });
        first += sum.len();
    }
}

/// `x *= factor`, number by number.
pub fn scale(x: &mut [f32], factor: f32) {
    x.par_chunks_mut(TASK).for_each(|x| x.iter_mut().for_each(|x| *x *= factor));
}

/// Multiplies each row of `x: [N, width]` by its factor.
pub fn scale_rows(x: &mut [f32], width: usize, factors: &[f32]) {
    assert_eq!(x.len(), factors.len() * width);
    let rows = x.par_chunks_mut(width).zip(factors).with_min_len(rows_per_task(width));
    rows.for_each(|(row, factor)| row.iter_mut().for_each(|x| *x *= factor));
}

/// The product of every row of `a: [N, width]` with that of `b`.
pub fn row_products(a: &[f32], b: &[f32], width: usize) -> Vec<f32> {
    assert_eq!(a.len(), b.len());
    let rows = a.par_chunks(width).zip(b.par_chunks(width)).with_min_len(rows_per_task(width));
    rows.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn biases_reach_their_columns_and_their_gradients_are_sums_over_rows() {
        let mut rows = vec![0.5; 3 * 5];
        add_biases(&mut rows, &[&[1.0, 2.0], &[3.0, 4.0, 5.0]]);
        assert!(rows.chunks(5).all(|row| *row == [1.5, 2.5, 3.5, 4.5, 5.5]));
        let (mut first, mut second) = (vec![1.0; 2], vec![f32::NAN; 3]);
        bias_gradients(&rows, 5, &mut [(&mut first, true), (&mut second, false)]);
        assert_eq!((first, second), (vec![5.5, 8.5], vec![10.5, 13.5, 16.5]));
    }

    #[test]
    fn rows_are_scaled_and_multiplied_one_by_one() {
        let mut x = [1.0, 2.0, 3.0, 4.0];
        scale(&mut x, 2.0);
        scale_rows(&mut x, 2, &[1.0, -1.0]);
        assert_eq!(x, [2.0, 4.0, -6.0, -8.0]);
        assert_eq!(row_products(&x, &[1.0, 1.0, 0.5, 0.0], 2), [6.0, -3.0]);
    }
}
