//! RMSNorm (arXiv 1910.07467): `y = w x / sqrt(mean x^2 + eps)`, row by row.

use rayon::prelude::*;

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

/// Adds to `dx` the gradient of the norms of `x` for `grad`, and to the weight's gradient `dw` (or writes it).
pub fn rms_norm_rows_backward(
    (x, inverses): (&[f32], &[f32]),
    weight: &[f32],
    grad: &[f32],
    dx: &mut [f32],
    (dw, add): (&mut [f32], bool),
) {
    let width = weight.len();
    let rows = x.par_chunks(width).zip(grad.par_chunks(width)).zip(inverses).zip(dx.par_chunks_mut(width));
    rows.with_min_len(rows_per_task(width)).for_each(|(((x, grad), inverse), dx)| {
        rms_norm_backward_row(x, weight, *inverse, grad, dx);
    });
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

#[cfg(test)]
mod tests {
    use super::*;

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
        rms_norm_rows_backward((&x, &normed.inverses), &w, &grad, &mut dx, (&mut dw, true));
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
