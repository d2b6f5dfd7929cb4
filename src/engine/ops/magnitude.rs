//! Magnitudes of the rows of a product's weight (DoRA, arXiv 2402.09353): what a product gave without them, but for its
//! bias, is multiplied by the magnitude and by one over the length that the row has. That length is no part of what is
//! differentiated, as in section 4.3 there.

use rayon::prelude::*;

use super::rows_per_task;

/// Columns of a magnitude's gradient in one task.
const COLUMNS: usize = 64;

/// Some columns of rows of `width` numbers.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    pub width: usize,
    pub first: usize,
}

/// What is done to columns, with a number of each for every column.
#[derive(Clone, Copy, Debug)]
pub struct Lengths<'a> {
    pub magnitudes: &'a [f32],
    /// One over the lengths of the weight's rows.
    pub inverses: &'a [f32],
    /// What is not scaled.
    pub bias: Option<&'a [f32]>,
}

/// `y = (y - bias) magnitude inverse + bias` in the given columns of `rows: [N, width]`.
pub fn scale_columns(rows: &mut [f32], Columns { width, first }: Columns, lengths: Lengths<'_>) {
    let Lengths { magnitudes, inverses, bias } = lengths;
    let factors: Vec<f32> = magnitudes.iter().zip(inverses).map(|(magnitude, inverse)| magnitude * inverse).collect();
    rows.par_chunks_mut(width).with_min_len(rows_per_task(width)).for_each(|row| {
        let own = &mut row[first..first + factors.len()];
        match bias {
            None => own.iter_mut().zip(&factors).for_each(|(y, factor)| *y *= factor),
            Some(bias) => {
                let columns = own.iter_mut().zip(&factors).zip(bias);
                columns.for_each(|((y, factor), bias)| *y = (*y - bias) * factor + bias);
            }
        }
    });
}

/// Writes, or with `add` adds, the gradient of the magnitudes: the sums over rows of `dy (y - bias) inverse`, in the rows'
/// order, where `y` is what the product gave without them.
pub fn magnitude_gradient(
    (y, dy): (&[f32], &[f32]),
    Columns { width, first }: Columns,
    Lengths { inverses, bias, .. }: Lengths<'_>,
    (sum, add): (&mut [f32], bool),
) {
    sum.par_chunks_mut(COLUMNS).enumerate().for_each(|(i, sum)| {
        if !add {
            sum.fill(0.0);
        }
        let own = i * COLUMNS..i * COLUMNS + sum.len();
        let columns = first + own.start..first + own.end;
        let inverses = &inverses[own.clone()];
        let bias = bias.map(|bias| &bias[own]);
        for (y, dy) in y.chunks_exact(width).zip(dy.chunks_exact(width)) {
            let pairs = y[columns.clone()].iter().zip(&dy[columns.clone()]).zip(inverses);
            for (at, (((y, dy), inverse), sum)) in pairs.zip(&mut *sum).enumerate() {
                *sum += dy * (y - bias.map_or(0.0, |bias| bias[at])) * inverse;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_get_their_lengths_around_the_bias_and_the_gradient_is_that_of_their_magnitudes() {
        let y: Vec<f32> = (0..15).map(|i| (i as f32 * 0.7).sin()).collect();
        let dy: Vec<f32> = (0..15).map(|i| (i as f32 * 1.3).cos()).collect();
        let columns = Columns { width: 5, first: 2 };
        let (inverses, bias) = ([0.5, 2.0], [0.25, -0.5]);
        for bias in [None, Some(&bias[..])] {
            let scaled = |magnitudes: [f32; 2]| {
                let mut rows = y.clone();
                scale_columns(&mut rows, columns, Lengths { magnitudes: &magnitudes, inverses: &inverses, bias });
                rows
            };
            let (low, high) = (scaled([1.5, 3.0]), scaled([1.5, 3.5]));
            assert_eq!((low[1], low[4], low[6]), (y[1], y[4], y[6]));
            let own = bias.map_or(0.0, |bias| bias[1]);
            assert!((low[8] - ((y[8] - own) * 6.0 + own)).abs() < 1e-6);
            // The result is linear in the magnitudes.
            let wanted: f32 = low.iter().zip(&high).zip(&dy).map(|((low, high), dy)| (high - low) / 0.5 * dy).sum();
            for (begun, add) in [(f32::NAN, false), (1.0, true)] {
                let mut sum = [begun; 2];
                let lengths = Lengths { magnitudes: &[], inverses: &inverses, bias };
                magnitude_gradient((&y, &dy), columns, lengths, (&mut sum, add));
                let before = if add { 1.0 } else { 0.0 };
                assert!((sum[1] - before - wanted).abs() < 1e-5, "{} and {wanted}", sum[1]);
            }
        }
    }
}
