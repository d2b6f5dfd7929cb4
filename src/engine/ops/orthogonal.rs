//! Orthogonal matrices near given ones, as Muon takes them for updates: five steps of a Newton-Schulz iteration (Keller
//! Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024).
//!
//! A step replaces each singular value `s` by `a s + b s^3 + c s^5`. The coefficients are those of the source, with which
//! five steps bring what is above a 500th of the norm to between 0.68 and 1.21; it never needs to be exactly 1.
//! Products are f32 whatever the model's are computed in, and each number is one chain of additions, so that the result
//! does not depend on the number of threads.

use rayon::prelude::*;

use super::{TASK, bias};
use crate::engine::kernels::buffer::Buffer;
use crate::engine::kernels::gemm::{Left, Panels, Precision, View, product};
use crate::engine::kernels::update::squares;

pub const COEFFICIENTS: [f32; 3] = [3.4445, -4.7750, 2.0315];
pub const STEPS: usize = 5;
/// Added to the norm, so that zeros stay zeros.
pub const EPS: f64 = 1e-7;

/// Replaces `x: [rows, columns]`, with `x = U S V^T`, by about `U V^T`; its scale does not matter.
pub fn orthogonalise(x: &mut [f32], columns: usize) {
    let pieces: Vec<f64> = x.par_chunks(TASK).map(squares).collect();
    let norm = pieces.iter().sum::<f64>().sqrt();
    bias::scale(x, (1.0 / (norm + EPS)) as f32);
    let rows = x.len() / columns;
    let (is_wide, side) = (rows <= columns, rows.min(columns));
    let (mut gram, mut square) = (Buffer::new(side * side), Buffer::new(side * side));
    let mut next = Buffer::new(x.len());
    let [a, b, c] = COEFFICIENTS;
    for _ in 0..STEPS {
        // Of the two products of x with itself the smaller one, which is symmetric to the last bit.
        let view = View::new(x, columns);
        if is_wide {
            let turned = Panels::transposed(&[x], columns, Precision::F32);
            product(&Left::rows(view, Precision::F32), &turned, &mut gram, false);
        } else {
            let straight = Panels::straight(&[view], Precision::F32);
            product(&Left::columns(view, Precision::F32), &straight, &mut gram, false);
        }
        multiply(View::new(&gram, side), View::new(&gram, side), &mut square, false);
        blend(&mut square, c, &gram, b);
        next.copy_from_slice(x);
        bias::scale(&mut next, a);
        let factor = View::new(&square, side);
        if is_wide {
            multiply(factor, view, &mut next, true)
        } else {
            multiply(view, factor, &mut next, true)
        }
        x.copy_from_slice(&next);
    }
}

fn multiply(left: View<'_>, right: View<'_>, out: &mut [f32], add: bool) {
    product(&Left::rows(left, Precision::F32), &Panels::straight(&[right], Precision::F32), out, add);
}

/// `x <- factor x + other_factor other`, number by number.
fn blend(x: &mut [f32], factor: f32, other: &[f32], other_factor: f32) {
    let pieces = x.par_chunks_mut(TASK).zip(other.par_chunks(TASK));
    pieces.for_each(|(x, other)| x.iter_mut().zip(other).for_each(|(x, y)| *x = factor * *x + other_factor * y));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(rows: usize, columns: usize) -> Vec<f32> {
        (0..rows * columns).map(|i| ((i * i) as f64 * 0.37 + 0.2).sin() as f32).collect()
    }

    /// `x y` of `x: [n, k]` and `y: [k, m]`, or with `turned` `x y^T` of `y: [m, k]`.
    fn times(x: &[f64], y: &[f64], k: usize, turned: bool) -> Vec<f64> {
        let (n, m) = (x.len() / k, y.len() / k);
        let at = |row: usize, column: usize| {
            (0..k).map(|i| x[row * k + i] * if turned { y[column * k + i] } else { y[i * m + column] }).sum()
        };
        (0..n * m).map(|place| at(place / m, place % m)).collect()
    }

    /// The iteration in float64, written down as the source has it, for `x: [rows, columns]` of any shape.
    fn reference(x: &[f32], columns: usize) -> Vec<f64> {
        let mut x: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt() + 1e-7;
        x.iter_mut().for_each(|x| *x /= norm);
        for _ in 0..5 {
            let gram = times(&x, &x, columns, true);
            let rows = x.len() / columns;
            let square = times(&gram, &gram, rows, false);
            let factor: Vec<f64> = gram.iter().zip(&square).map(|(g, s)| -4.775 * g + 2.0315 * s).collect();
            let change = times(&factor, &x, rows, false);
            x.iter_mut().zip(change).for_each(|(x, change)| *x = 3.4445 * *x + change);
        }
        x
    }

    #[test]
    fn matrices_of_every_shape_become_what_float64_makes_of_them() {
        for (rows, columns) in [(1, 1), (1, 40), (40, 1), (7, 7), (16, 48), (48, 16), (33, 65), (130, 70)] {
            let mut x = wave(rows, columns);
            let wanted = reference(&x, columns);
            orthogonalise(&mut x, columns);
            let off = x.iter().zip(&wanted).map(|(x, y)| (f64::from(*x) - y).powi(2)).sum::<f64>().sqrt();
            let norm = wanted.iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!(off < 1e-4 * norm, "[{rows}, {columns}] is off by {off} of {norm}");
        }
    }

    #[test]
    fn rows_become_nearly_orthonormal_whatever_the_scale_and_zeros_stay_zeros() {
        let (rows, columns) = (12, 90);
        let first = wave(rows, columns);
        let made = |scale: f32| {
            let mut x: Vec<f32> = first.iter().map(|x| x * scale).collect();
            orthogonalise(&mut x, columns);
            x
        };
        let (x, smaller) = (made(1.0), made(1.0 / 1024.0));
        assert!(x.iter().zip(&smaller).all(|(x, y)| (x - y).abs() < 1e-4));
        let wide: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
        let gram = times(&wide, &wide, columns, true);
        // The trace is the sum of the squares of the singular values.
        let trace: f64 = (0..rows).map(|row| gram[row * rows + row]).sum();
        assert!((0.68 * 0.68..1.21 * 1.21).contains(&(trace / rows as f64)), "{trace}");
        let mut zeros = vec![0.0; 20];
        orthogonalise(&mut zeros, 4);
        assert_eq!(zeros, vec![0.0; 20]);
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let made = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut x = wave(150, 300);
            pool.install(|| orthogonalise(&mut x, 300));
            x
        };
        assert_eq!(made(1), made(3));
    }
}
