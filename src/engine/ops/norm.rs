//! RMSNorm (arXiv 1910.07467): `y = w x / sqrt(mean x^2 + eps)`, row by row.

use rayon::prelude::*;

use super::attention::Heads;
use super::rows_per_task;
use crate::engine::kernels::buffer::Buffer;
use crate::engine::kernels::rows::{add_product, add_row, rms_norm_again, rms_norm_backward_row, rms_norm_row};

/// Columns of the weight's gradient in one task.
const COLUMNS: usize = 64;

/// Norms `[N, H]` with the factor `1 / sqrt(mean x^2 + eps)` of each row.
#[derive(Debug)]
pub struct Normed<A = Buffer> {
    pub out: A,
    pub inverses: A,
}

/// Norms of the rows of `x`, after adding those of `residual` to them.
pub fn rms_norm_rows(x: &mut [f32], residual: Option<&[f32]>, weight: &[f32], eps: f32) -> Normed {
    let width = weight.len();
    let mut normed = Normed { out: Buffer::new(x.len()), inverses: Buffer::new(x.len() / width) };
    let rows = x.par_chunks_mut(width).zip(normed.out.par_chunks_mut(width)).zip(&mut normed.inverses[..]);
    rows.enumerate().with_min_len(rows_per_task(width)).for_each(|(i, ((x, out), inverse))| {
        if let Some(residual) = residual {
            add_row(x, &residual[i * width..][..width]);
        }
        *inverse = rms_norm_row(x, weight, eps, out);
    });
    normed
}

/// The norms once more.
pub fn rms_norm_rows_again(x: &[f32], inverses: &[f32], weight: &[f32]) -> Buffer {
    let width = weight.len();
    let mut out = Buffer::new(x.len());
    let rows = x.par_chunks(width).zip(out.par_chunks_mut(width)).zip(inverses);
    rows.with_min_len(rows_per_task(width)).for_each(|((x, out), inverse)| rms_norm_again(x, weight, *inverse, out));
    out
}

/// Adds to `dx` the gradient of the norms of `x` for `grad`.
pub fn rms_norm_rows_backward((x, inverses): (&[f32], &[f32]), weight: &[f32], grad: &[f32], dx: &mut [f32]) {
    let width = weight.len();
    let rows = x.par_chunks(width).zip(grad.par_chunks(width)).zip(inverses).zip(dx.par_chunks_mut(width));
    rows.with_min_len(rows_per_task(width)).for_each(|(((x, grad), inverse), dx)| {
        rms_norm_backward_row(x, weight, *inverse, grad, dx);
    });
}

/// Adds to the weight's gradient `dw`, or writes it.
pub fn rms_norm_weight_gradient((x, inverses): (&[f32], &[f32]), grad: &[f32], (dw, add): (&mut [f32], bool)) {
    let width = dw.len();
    // Row after row for each column, so that the sum does not depend on threads or on where a batch was cut.
    dw.par_chunks_mut(COLUMNS).enumerate().for_each(|(i, dw)| {
        if !add {
            dw.fill(0.0);
        }
        let columns = i * COLUMNS..i * COLUMNS + dw.len();
        for (row, inverse) in inverses.iter().enumerate() {
            let part = row * width + columns.start..row * width + columns.end;
            add_product(dw, &grad[part.clone()], &x[part], *inverse);
        }
    });
}

/// Norms of parts of rows: of each head of queries and keys, or of all of them as one, as their weights are wide.
#[derive(Clone, Copy, Debug)]
pub struct HeadNorms<'a> {
    pub heads: Heads,
    /// For queries and for keys.
    pub weights: [&'a [f32]; 2],
    pub eps: f32,
}

impl HeadNorms<'_> {
    /// Parts of a row that are normed: first number, and whether the weight is that of keys.
    fn parts(&self) -> Vec<(usize, usize)> {
        let queries = (0..self.heads.query_row()).step_by(self.weights[0].len()).map(|at| (at, 0));
        let keys = (0..self.heads.key_value_row()).step_by(self.weights[1].len());
        queries.chain(keys.map(|at| (self.heads.query_row() + at, 1))).collect()
    }

    /// Rows `[N, row]` with their parts normed, and the factors of the norms, `[N, parts]`.
    pub fn rows(&self, rows: &[f32]) -> Normed {
        let (width, parts) = (self.heads.row(), self.parts());
        let mut normed = Normed { out: Buffer::copy(rows), inverses: Buffer::new(rows.len() / width * parts.len()) };
        let all = rows.par_chunks(width).zip(normed.out.par_chunks_mut(width));
        let all = all.zip(normed.inverses.par_chunks_mut(parts.len())).with_min_len(rows_per_task(width));
        all.for_each(|((row, out), inverses)| {
            for ((at, which), inverse) in parts.iter().zip(inverses) {
                let part = *at..at + self.weights[*which].len();
                *inverse = rms_norm_row(&row[part.clone()], self.weights[*which], self.eps, &mut out[part]);
            }
        });
        normed
    }

    /// The rows once more.
    pub fn again(&self, rows: &[f32], inverses: &[f32]) -> Buffer {
        let (width, parts) = (self.heads.row(), self.parts());
        let mut all = Buffer::copy(rows);
        let each = rows.par_chunks(width).zip(all.par_chunks_mut(width)).zip(inverses.par_chunks(parts.len()));
        each.with_min_len(rows_per_task(width)).for_each(|((row, out), inverses)| {
            for ((at, which), inverse) in parts.iter().zip(inverses) {
                let part = *at..at + self.weights[*which].len();
                rms_norm_again(&row[part.clone()], self.weights[*which], *inverse, &mut out[part]);
            }
        });
        all
    }

    /// Adds to the gradients of the two weights, or writes them, for `grad`, that of the result.
    pub fn weight_gradients(&self, (rows, inverses): (&[f32], &[f32]), grad: &[f32], sums: [(&mut [f32], bool); 2]) {
        let (width, parts) = (self.heads.row(), self.parts());
        for (which, (dw, add)) in sums.into_iter().enumerate() {
            let own: Vec<(usize, usize)> =
                parts.iter().enumerate().filter(|(_, part)| part.1 == which).map(|(i, part)| (i, part.0)).collect();
            // Row after row for each column, as for whole rows.
            dw.par_chunks_mut(COLUMNS).enumerate().for_each(|(chunk, dw)| {
                if !add {
                    dw.fill(0.0);
                }
                for (row, inverses) in inverses.chunks_exact(parts.len()).enumerate() {
                    for (part, at) in &own {
                        let first = row * width + at + chunk * COLUMNS;
                        let range = first..first + dw.len();
                        add_product(dw, &grad[range.clone()], &rows[range], inverses[*part]);
                    }
                }
            });
        }
    }

    /// Turns the gradient of the result into that of `rows`.
    pub fn backward(&self, (rows, inverses): (&[f32], &[f32]), grad: &mut [f32]) {
        let (width, parts) = (self.heads.row(), self.parts());
        let each = rows.par_chunks(width).zip(grad.par_chunks_mut(width)).zip(inverses.par_chunks(parts.len()));
        each.with_min_len(rows_per_task(width)).for_each_init(Vec::new, |scratch, ((row, grad), inverses)| {
            for ((at, which), inverse) in parts.iter().zip(inverses) {
                let weight = self.weights[*which];
                let part = *at..at + weight.len();
                scratch.clear();
                scratch.resize(weight.len(), 0.0);
                rms_norm_backward_row(&row[part.clone()], weight, *inverse, &grad[part.clone()], scratch);
                grad[part].copy_from_slice(scratch);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Heads one by one and as one row, in float64 straight from the definition.
    #[test]
    fn norms_of_heads_and_their_gradients_match_float64() {
        let (heads, count) = (Heads::new(4, 2, 6), 5);
        let wave = |n: usize, s: f64| (0..n).map(|i| (i as f64 * s).sin() as f32).collect::<Vec<f32>>();
        let (rows, grad) = (wave(count * heads.row(), 0.3), wave(count * heads.row(), 1.1));
        for widths in [[6, 6], [24, 12]] {
            let weights = widths.map(|width| wave(width, 0.5));
            let norms = HeadNorms { heads, weights: [&weights[0], &weights[1]], eps: 1e-5 };
            let of = |rows: &[f64], weights: &[Vec<f64>]| -> Vec<f64> {
                let mut out = rows.to_vec();
                for row in out.chunks_mut(heads.row()) {
                    let (queries, rest) = row.split_at_mut(heads.query_row());
                    for (part, weight) in [queries, &mut rest[..heads.key_value_row()]].into_iter().zip(weights) {
                        for piece in part.chunks_mut(weight.len()) {
                            let mean = piece.iter().map(|x| x * x).sum::<f64>() / weight.len() as f64;
                            piece.iter_mut().zip(weight).for_each(|(x, w)| *x *= w / (mean + 1e-5).sqrt());
                        }
                    }
                }
                out
            };
            let wide = |v: &[f32]| v.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
            let (wr, ww) = (wide(&rows), weights.each_ref().map(|w| wide(w)));
            let normed = norms.rows(&rows);
            for (got, want) in normed.out.iter().zip(of(&wr, &ww)) {
                assert!((f64::from(*got) - want).abs() < 1e-5);
            }
            assert_eq!(norms.again(&rows, &normed.inverses)[..], normed.out[..]);
            let mut dx = grad.clone();
            let mut dw = widths.map(|width| vec![2.0; width]);
            let [first, second] = &mut dw;
            norms.weight_gradients((&rows, &normed.inverses), &dx, [(first, true), (second, false)]);
            norms.backward((&rows, &normed.inverses), &mut dx);
            let loss = |rows: &[f64], weights: &[Vec<f64>]| -> f64 {
                of(rows, weights).iter().zip(&grad).map(|(o, g)| o * f64::from(*g)).sum()
            };
            for at in 0..rows.len() {
                let moved = |d: f64| {
                    let mut rows = wr.clone();
                    rows[at] += d;
                    loss(&rows, &ww)
                };
                assert!((f64::from(dx[at]) - (moved(1e-6) - moved(-1e-6)) / 2e-6).abs() < 1e-4);
            }
            for (which, begun) in [2.0, 0.0].into_iter().enumerate() {
                for at in 0..widths[which] {
                    let moved = |d: f64| {
                        let mut weights = ww.clone();
                        weights[which][at] += d;
                        loss(&wr, &weights)
                    };
                    let want = begun + (moved(1e-6) - moved(-1e-6)) / 2e-6;
                    assert!((f64::from(dw[which][at]) - want).abs() < 1e-4);
                }
            }
        }
    }

    #[test]
    fn norms_with_residual_and_both_gradients_match_float64() {
        let (rows, width) = (7, 70);
        let wave = |n: usize, s: f64| (0..n).map(|i| (i as f64 * s).sin() as f32).collect::<Vec<f32>>();
        let (a, b) = (wave(rows * width, 0.3), wave(rows * width, 0.8));
        let (w, grad) = (wave(width, 0.5), wave(rows * width, 1.1));
        let mut x = a.clone();
        let normed = rms_norm_rows(&mut x, Some(&b), &w, 1e-5);
        let norm = |x: &[f64], w: &[f64]| -> Vec<f64> {
            let inverse = |row: &[f64]| 1.0 / (row.iter().map(|x| x * x).sum::<f64>() / width as f64 + 1e-5).sqrt();
            x.chunks(width)
                .flat_map(|row| row.iter().zip(w).map(|(x, w)| x * w * inverse(row)).collect::<Vec<_>>())
                .collect()
        };
        let wide = |v: &[f32]| v.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
        let (wx, ww) = (wide(&x), wide(&w));
        for (got, want) in normed.out.iter().zip(norm(&wx, &ww)) {
            assert!((f64::from(*got) - want).abs() < 1e-5);
        }
        assert_eq!(rms_norm_rows_again(&x, &normed.inverses, &w)[..], normed.out[..]);
        let (mut dx, mut dw) = (vec![0.5; x.len()], vec![2.0; width]);
        rms_norm_rows_backward((&x, &normed.inverses), &w, &grad, &mut dx);
        rms_norm_weight_gradient((&x, &normed.inverses), &grad, (&mut dw, true));
        let loss = |x: &[f64], w: &[f64]| norm(x, w).iter().zip(&grad).map(|(o, g)| o * f64::from(*g)).sum::<f64>();
        let slope = |f: &dyn Fn(f64) -> f64| (f(1e-6) - f(-1e-6)) / 2e-6;
        for at in 0..x.len() {
            let want = 0.5
                + slope(&|d| {
                    let mut x = wx.clone();
                    x[at] += d;
                    loss(&x, &ww)
                });
            assert!((f64::from(dx[at]) - want).abs() < 1e-4);
        }
        for at in 0..width {
            let want = 2.0
                + slope(&|d| {
                    let mut w = ww.clone();
                    w[at] += d;
                    loss(&wx, &w)
                });
            assert!((f64::from(dw[at]) - want).abs() < 1e-4);
        }
    }
}
