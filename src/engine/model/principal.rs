//! What is largest in a matrix: its first singular vectors, by subspace iteration from random numbers (Halko, Martinsson and
//! Tropp, arXiv 0909.4061), in float64. Every number is one sum in a fixed order, so that the result is the same bits on any
//! number of threads.

use rayon::prelude::*;

use crate::engine::random::Stream;

/// Vectors beyond those that are asked for.
const SPARE: usize = 8;
/// Multiplications with the matrix and its transpose, which make small singular values smaller.
const ROUNDS: usize = 4;
/// Sweeps over all pairs of rows, of which a few are enough.
const SWEEPS: usize = 30;

/// A matrix `[rows, columns]`, or the difference of two, of which products are taken.
#[derive(Clone, Copy)]
struct Matrix<'a> {
    values: &'a [f32],
    less: Option<&'a [f32]>,
    columns: usize,
}

/// Columns side by side: `[rows, width]`.
struct Columns {
    values: Vec<f64>,
    width: usize,
}

/// Factors `A: [rank, columns]` and `B: [rows, rank]` whose product `B A` is, of all matrices of that rank, about the one
/// nearest to `matrix: [rows, columns]`; each has the roots of the singular values. What a matrix has fewer of is zeros.
pub fn factors(matrix: &[f32], columns: usize, rank: usize, stream: &Stream) -> [Vec<f32>; 2] {
    let rows = matrix.len() / columns;
    let (left, right) = Matrix { values: matrix, less: None, columns }.largest(rank, stream);
    let width = left.width;
    let (values, vectors) = eigen(right.gram(), width);
    let mut order: Vec<usize> = (0..width).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    let (mut a, mut b) = (vec![0.0; rank * columns], vec![0.0; rows * rank]);
    for (which, from) in order.into_iter().take(rank).enumerate() {
        let root = values[from].max(0.0).sqrt().sqrt();
        if root == 0.0 {
            continue;
        }
        let combined = |of: &Columns, row: usize| -> f64 {
            let own = &of.values[row * width..][..width];
            own.iter().enumerate().map(|(k, x)| x * vectors[k * width + from]).sum()
        };
        (0..columns).for_each(|column| a[which * columns + column] = (combined(&right, column) / root) as f32);
        (0..rows).for_each(|row| b[row * rank + which] = (combined(&left, row) * root) as f32);
    }
    [a, b]
}

/// The share of the sum of the squares of `now - before: [rows, columns]` that its first singular vectors alone have: 1 where
/// all rows point in one direction, at least one over the smaller of its sides; none of a matrix of zeros.
pub fn first_share(now: &[f32], before: &[f32], columns: usize, stream: &Stream) -> Option<f64> {
    let whole: f64 = now.iter().zip(before).map(|(now, before)| f64::from(now - before).powi(2)).sum();
    let (_, right) = Matrix { values: now, less: Some(before), columns }.largest(1, stream);
    let (values, _) = eigen(right.gram(), right.width);
    (whole > 0.0).then(|| values.into_iter().fold(0.0, f64::max) / whole)
}

impl Matrix<'_> {
    /// Orthonormal columns `L: [rows, width]` that span what is largest, and `M^T L`; of at least `rank`, if it has so many.
    fn largest(self, rank: usize, stream: &Stream) -> (Columns, Columns) {
        let (rows, columns) = (self.values.len() / self.columns, self.columns);
        let width = (rank + SPARE).min(rows).min(columns);
        let random = (0..(columns * width) as u64).map(|index| stream.normal(index)).collect();
        let mut own = Columns { values: random, width };
        for _ in 0..ROUNDS {
            own = self.transposed_times(&self.times(&own).orthonormal()).orthonormal();
        }
        let left = self.times(&own).orthonormal();
        let right = self.transposed_times(&left);
        (left, right)
    }

    fn times(self, x: &Columns) -> Columns {
        let width = x.width;
        let mut values = vec![0.0; self.values.len() / self.columns * width];
        values.par_chunks_mut(width).enumerate().for_each_init(Vec::new, |room, (row, out)| {
            let row = self.part(row * self.columns, self.columns, room);
            for (m, x) in row.iter().zip(x.values.chunks_exact(width)) {
                out.iter_mut().zip(x).for_each(|(out, x)| *out += f64::from(*m) * x);
            }
        });
        Columns { values, width }
    }

    /// Some of a row, in `room` where it has to be computed: the whole difference would be one more copy of a large matrix.
    fn part<'a>(&'a self, first: usize, count: usize, room: &'a mut Vec<f32>) -> &'a [f32] {
        let values = &self.values[first..][..count];
        let Some(less) = self.less else { return values };
        room.clear();
        room.extend(values.iter().zip(&less[first..]).map(|(value, less)| value - less));
        room
    }

    fn transposed_times(self, y: &Columns) -> Columns {
        let (width, together) = (y.width, 64);
        let mut values = vec![0.0; self.columns * width];
        values.par_chunks_mut(width * together).enumerate().for_each_init(Vec::new, |room, (part, out)| {
            let first = part * together;
            for (row, y) in y.values.chunks_exact(width).enumerate() {
                let row = self.part(row * self.columns + first, together.min(self.columns - first), room);
                for (out, m) in out.chunks_exact_mut(width).zip(row) {
                    out.iter_mut().zip(y).for_each(|(out, y)| *out += f64::from(*m) * y);
                }
            }
        });
        Columns { values, width }
    }
}

impl Columns {
    /// Columns of length 1 that stand upright on one another and span the same (Gram and Schmidt, twice for the sake of
    /// rounding); zeros in the place of one that the others before it make up.
    fn orthonormal(self) -> Self {
        let width = self.width;
        let mut columns: Vec<Vec<f64>> =
            (0..width).map(|at| self.values.iter().skip(at).step_by(width).copied().collect()).collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        for at in 0..width {
            let (before, rest) = columns.split_at_mut(at);
            let own = &mut rest[0];
            let whole = dot(own, own).sqrt();
            for other in before.iter().chain(before.iter()) {
                let share = dot(own, other);
                own.iter_mut().zip(other).for_each(|(x, other)| *x -= share * other);
            }
            let length = dot(own, own).sqrt();
            let factor = if length > 1e-12 * whole { 1.0 / length } else { 0.0 };
            own.iter_mut().for_each(|x| *x *= factor);
        }
        let rows = self.values.len() / width;
        let values = (0..rows * width).map(|at| columns[at % width][at / width]).collect();
        Self { values, width }
    }

    /// Products of all columns with one another.
    fn gram(&self) -> Vec<f64> {
        let width = self.width;
        let mut out = vec![0.0; width * width];
        for row in self.values.chunks_exact(width) {
            for (out, x) in out.chunks_exact_mut(width).zip(row) {
                out.iter_mut().zip(row).for_each(|(out, y)| *out += x * y);
            }
        }
        out
    }
}

/// Eigenvalues of a symmetric matrix, and its eigenvectors as columns (Jacobi's rotations).
fn eigen(mut matrix: Vec<f64>, size: usize) -> (Vec<f64>, Vec<f64>) {
    let mut vectors: Vec<f64> = (0..size * size).map(|at| f64::from(u8::from(at % (size + 1) == 0))).collect();
    let whole = matrix.iter().map(|x| x * x).sum::<f64>();
    for _ in 0..SWEEPS {
        let off: f64 = (0..size * size).filter(|at| at % (size + 1) != 0).map(|at| matrix[at].powi(2)).sum();
        if off <= 1e-28 * whole {
            break;
        }
        for p in 0..size {
            for q in p + 1..size {
                let apart = matrix[p * size + q];
                if apart == 0.0 {
                    continue;
                }
                let ratio = (matrix[q * size + q] - matrix[p * size + p]) / (2.0 * apart);
                let tangent = ratio.signum() / (ratio.abs() + (ratio * ratio + 1.0).sqrt());
                let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
                let turn = |values: &mut [f64], at: [usize; 2]| {
                    let [x, y] = at.map(|at| values[at]);
                    values[at[0]] = cosine * (x - tangent * y);
                    values[at[1]] = cosine * (tangent * x + y);
                };
                (0..size).for_each(|k| turn(&mut matrix, [k * size + p, k * size + q]));
                (0..size).for_each(|k| turn(&mut matrix, [p * size + k, q * size + k]));
                (0..size).for_each(|k| turn(&mut vectors, [k * size + p, k * size + q]));
            }
        }
    }
    ((0..size).map(|at| matrix[at * (size + 1)]).collect(), vectors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::random::Purpose;

    /// Orthonormal columns `[rows, width]`.
    fn upright(rows: usize, width: usize, speed: f64) -> Columns {
        Columns { values: (0..rows * width).map(|i| (i as f64 * speed).sin()).collect(), width }.orthonormal()
    }

    fn product(left: &Columns, values: &[f64], right: &Columns) -> Vec<f64> {
        let pairs = left.values.chunks(left.width).flat_map(|l| right.values.chunks(right.width).map(move |r| (l, r)));
        pairs.map(|(l, r)| values.iter().zip(l).zip(r).map(|((value, l), r)| value * l * r).sum()).collect()
    }

    #[test]
    fn the_share_of_the_first_singular_direction_is_that_of_its_square() {
        let stream = Stream::new(1, Purpose::Geometry, 0);
        // Rows and columns are turned, which changes no singular value: 3, 2, 1 and 0.5.
        let turn = |at: usize, by: f32| [by.cos(), by.sin(), -by.sin(), by.cos()][at];
        let (columns, values) = (6, [3.0_f32, 2.0, 1.0, 0.5]);
        let mut matrix = vec![0.0_f32; 5 * columns];
        for (at, value) in values.into_iter().enumerate() {
            let (row, column) = (2 * (at / 2), 2 * (at / 2));
            for (r, c) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let of = turn(2 * r + at % 2, 0.4) * turn(2 * c + at % 2, 1.1);
                matrix[(row + r) * columns + column + c] += value * of;
            }
        }
        // As a difference of two matrices.
        let before: Vec<f32> = (0..matrix.len()).map(|at| (at % 7) as f32 / 8.0).collect();
        let now: Vec<f32> = matrix.iter().zip(&before).map(|(change, before)| before + change).collect();
        let share = first_share(&now, &before, columns, &stream).unwrap();
        assert!((share - 9.0 / 14.25).abs() < 1e-6, "{share}");
        let one: Vec<f32> = (0..40).map(|at| (at / 8 + 1) as f32 * (at % 8) as f32).collect();
        assert!(
            (first_share(&one, &[0.0; 40], 8, &stream).unwrap() - 1.0).abs() < 1e-9,
            "all rows point in one direction"
        );
        assert_eq!(first_share(&[0.5; 12], &[0.5; 12], 4, &stream), None);
    }

    /// A matrix is made of its singular values, and taken apart again.
    #[test]
    fn the_largest_part_of_a_matrix_is_found_and_the_rest_is_left() {
        let stream = Stream::new(1, Purpose::Adapter, 0);
        for (rows, columns) in [(40, 70), (70, 40)] {
            let (left, right) = (upright(rows, 12, 0.7), upright(columns, 12, 0.31));
            let values: Vec<f64> = (0..12).map(|k| 8.0 * 0.6_f64.powi(k)).collect();
            let matrix: Vec<f32> = product(&left, &values, &right).into_iter().map(|x| x as f32).collect();
            for rank in [1, 3, 12] {
                let [a, b] = factors(&matrix, columns, rank, &stream);
                let mut first = values.clone();
                first[rank..].fill(0.0);
                let wanted = product(&left, &first, &right);
                for (at, wanted) in wanted.into_iter().enumerate() {
                    let (row, column) = (at / columns, at % columns);
                    let of = |k: usize| f64::from(b[row * rank + k]) * f64::from(a[k * columns + column]);
                    let got: f64 = (0..rank).map(of).sum();
                    assert!((got - wanted).abs() < 1e-4, "{rank} of {rows} x {columns}: {got} and {wanted}");
                }
                // Both factors have the same share of it.
                let norm = |values: &[f32]| values.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
                assert!((norm(&a) / norm(&b) - 1.0).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn a_matrix_of_lower_rank_has_zeros_for_the_rest() {
        let matrix: Vec<f32> = (0..6 * 5).map(|i| ((i / 5 + 1) * (i % 5 + 1)) as f32).collect();
        let [a, b] = factors(&matrix, 5, 9, &Stream::new(1, Purpose::Adapter, 0));
        assert!(a.iter().chain(&b).all(|x| x.is_finite()) && a[5 * 6..].iter().all(|x| *x == 0.0));
        for (at, wanted) in matrix.iter().enumerate() {
            let got: f32 = (0..9).map(|k| b[at / 5 * 9 + k] * a[k * 5 + at % 5]).sum();
            assert!((got - wanted).abs() < 1e-3, "{got} and {wanted}");
        }
    }
}
