//! Gradients on the CPU, and what several of them say together.

use rayon::prelude::*;

use super::kernels::buffer::Buffer;
use super::kernels::update::squares;

/// Numbers per parallel piece; fixed, so that sums do not depend on the number of threads.
pub const PIECE: usize = 1 << 16;

/// Gradients of a step, summed over its micro-batches, by the weights' places.
#[derive(Debug, Default)]
pub struct GradientSum {
    sums: Vec<Option<Buffer>>,
}

/// One weight's sum on its way through a backward pass.
#[derive(Debug)]
pub struct PartialSum {
    pub values: Buffer,
    /// Whether it holds a sum already; otherwise its numbers mean nothing.
    pub begun: bool,
}

impl GradientSum {
    /// Takes out the sum of one weight of `len` numbers; [`Self::put`] brings it back.
    pub fn take(&mut self, index: usize, len: usize) -> PartialSum {
        match self.sums.get_mut(index).and_then(Option::take) {
            Some(values) => PartialSum { values, begun: true },
            None => PartialSum { values: Buffer::new(len), begun: false },
        }
    }

    pub fn put(&mut self, index: usize, values: Buffer) {
        if self.sums.len() <= index {
            self.sums.resize_with(index + 1, || None);
        }
        self.sums[index] = Some(values);
    }

    /// The sum of one weight, if any gradient reached it.
    pub fn get(&self, index: usize) -> Option<&[f32]> {
        self.sums.get(index)?.as_deref()
    }

    /// The sums of so many weights.
    pub fn into_sums(mut self, count: usize) -> impl Iterator<Item = Option<Buffer>> {
        self.sums.resize_with(count, || None);
        self.sums.into_iter()
    }

    /// All numbers in a row, tensor after tensor.
    pub fn numbers(&self) -> Vec<f32> {
        self.sums.iter().flatten().flat_map(|sum| sum.iter().copied()).collect()
    }

    /// The sums of the squares of pieces of one weight's sum.
    pub fn squares(&self, index: usize) -> Vec<f64> {
        self.get(index).map(|sum| sum.par_chunks(PIECE).map(squares).collect()).unwrap_or_default()
    }
}

/// Mean and spread of several gradients, without keeping them.
#[derive(Debug, Default)]
pub struct GradientMoments {
    count: f64,
    /// Sum of the gradients, number by number.
    sum: Vec<f64>,
    /// Sum of their squared norms.
    squares: f64,
}

impl GradientMoments {
    /// Takes in the numbers of one gradient, multiplied by `scale`.
    pub fn add(&mut self, gradient: &[f32], scale: f64) {
        let values = || gradient.iter().map(|g| f64::from(*g) * scale);
        self.sum.resize(gradient.len(), 0.0);
        self.sum.iter_mut().zip(values()).for_each(|(sum, value)| *sum += value);
        self.squares += values().map(|value| value * value).sum::<f64>();
        self.count += 1.0;
    }

    /// The norm of the mean gradient.
    pub fn mean_norm(&self) -> f64 {
        self.sum.iter().map(|sum| sum * sum).sum::<f64>().sqrt() / self.count.max(1.0)
    }

    /// The mean over the gradients of `||g - mean g||^2`.
    pub fn variance(&self) -> f64 {
        (self.squares / self.count.max(1.0) - self.mean_norm().powi(2)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_definitions() {
        let gradients = [[1.0_f32, -2.0], [3.0, 0.0], [-1.0, 5.0]];
        let mut moments = GradientMoments::default();
        for g in &gradients {
            moments.add(&g.map(|x| x * 2.0), 0.5);
        }
        let mean = [1.0, 1.0];
        let spread = |g: &[f32; 2]| (0..2).map(|i| (f64::from(g[i]) - mean[i]).powi(2)).sum::<f64>();
        assert!((moments.mean_norm() - 2.0_f64.sqrt()).abs() < 1e-12);
        assert!((moments.variance() - gradients.iter().map(spread).sum::<f64>() / 3.0).abs() < 1e-12);
    }
}
