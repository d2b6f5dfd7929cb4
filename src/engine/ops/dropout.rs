//! Dropout (Srivastava et al., JMLR 15, 2014): numbers that are left out of a sum at random. What is dropped depends on
//! keys of rows and on columns alone, so that it is the same in every pass over a row, wherever it is packed.

use rayon::prelude::*;

use super::rows_per_task;
use crate::engine::kernels::buffer::Buffer;
use crate::engine::kernels::narrow::mixed;

/// Which numbers are dropped: a share of them, chosen by the key of their row, their column and the place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dropout {
    pub rate: f64,
    /// Tells apart what reads the same rows.
    pub place: u32,
}

impl Dropout {
    /// Words below this drop a number.
    pub fn threshold(self) -> u32 {
        (self.rate * 2.0_f64.powi(32)) as u32
    }

    /// What the others are multiplied by.
    pub fn scale(self) -> f32 {
        (1.0 / (1.0 - self.rate)) as f32
    }
}

/// Rows of `width` numbers, some of which are zeros; the rest is scaled so that the mean stays what it is.
pub fn dropped(x: &[f32], width: usize, keys: &[u32], dropout: Dropout) -> Buffer {
    let mut out = Buffer::new(x.len());
    each(&mut out, x, width, keys, dropout, |out, value| *out = value);
    out
}

/// Adds these rows to others.
pub fn add_dropped(sum: &mut [f32], x: &[f32], width: usize, keys: &[u32], dropout: Dropout) {
    each(sum, x, width, keys, dropout, |sum, value| *sum += value);
}

fn each(out: &mut [f32], x: &[f32], width: usize, keys: &[u32], dropout: Dropout, put: impl Fn(&mut f32, f32) + Sync) {
    assert!(x.len() == out.len() && x.len() == width * keys.len(), "{} keys for {} numbers", keys.len(), x.len());
    let columns: Vec<u32> = (0..width as u32).map(|column| mixed(dropout.place ^ mixed(column))).collect();
    let (threshold, scale) = (dropout.threshold(), dropout.scale());
    let rows = out.par_chunks_mut(width).zip(x.par_chunks(width)).zip(keys).with_min_len(rows_per_task(width));
    rows.for_each(|((out, x), key)| {
        for ((out, x), column) in out.iter_mut().zip(x).zip(&columns) {
            put(out, if mixed(key ^ column) < threshold { 0.0 } else { x * scale });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_that_is_dropped_is_the_rate_and_the_mean_stays() {
        let (width, dropout) = (300, Dropout { rate: 0.2, place: 7 });
        let keys: Vec<u32> = (0..200).map(|row| mixed(row ^ 0x5555)).collect();
        let x = vec![1.0; width * keys.len()];
        let out = dropped(&x, width, &keys, dropout);
        let zeros = out.iter().filter(|x| **x == 0.0).count() as f64 / out.len() as f64;
        assert!((zeros - 0.2).abs() < 0.01, "{zeros}");
        assert!(out.iter().all(|x| *x == 0.0 || *x == 1.25));
        // No row and no column is the pattern of another, and another place has others.
        let share = |column: usize| out.chunks(width).filter(|row| row[column] == 0.0).count() as f64 / 200.0;
        assert!((0..width).all(|column| (share(column) - 0.2).abs() < 0.15));
        let other = dropped(&x, width, &keys, Dropout { place: 8, ..dropout });
        let both = out.iter().zip(&other[..]).filter(|(a, b)| **a == 0.0 && **b == 0.0).count() as f64;
        assert!((both / out.len() as f64 - 0.04).abs() < 0.005);
        let mut sum = vec![2.0; x.len()];
        add_dropped(&mut sum, &x, width, &keys, dropout);
        assert!(sum.iter().zip(&out[..]).all(|(sum, out)| *sum == 2.0 + out));
    }
}
