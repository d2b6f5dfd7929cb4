//! Measures the rows of adapted weights whose lengths an adapter trains ([`RowLengths`]).

use rayon::prelude::*;

use super::decoder::Decoder;
use super::layers::Adapted;
use super::lengths::RowLengths;
use crate::engine::backend::{Backend, Output, Tensors};
use crate::engine::error::EngineError;
use crate::engine::projection::{LowRank, Up};

impl<B: Backend> Decoder<B> {
    /// Measures the rows if nobody has.
    pub(super) fn measure_first(&self) -> Result<(), EngineError> {
        let lengths = self.adapter.as_ref().and_then(|adapter| adapter.lengths());
        if lengths.is_some_and(RowLengths::begin) { self.measure() } else { Ok(()) }
    }

    /// Measures how long the rows of adapted weights are, where an adapter trains their lengths; after every change of its
    /// factors.
    pub fn measure(&self) -> Result<(), EngineError> {
        let Some(lengths) = self.adapter.as_ref().and_then(|adapter| adapter.lengths()) else { return Ok(()) };
        for projection in self.projections() {
            if let Some((change, _)) = self.change(projection) {
                self.measure_rows(projection, change, lengths)?;
            }
        }
        Ok(())
    }

    /// `|w + s b A|^2 = |w|^2 + 2 s b (A w) + s^2 b (A A^T) b` for every row `w` with its row `b` of `B`.
    fn measure_rows(&self, projection: &Adapted, change: &LowRank, lengths: &RowLengths<B>) -> Result<(), EngineError> {
        let (backend, Some(adapter)) = (&self.backend, &self.adapter) else { return Ok(()) };
        let (own, base, rank) = (adapter.weights(), &projection.base, change.rank);
        let downs: Vec<Vec<f32>> =
            change.down.weights.iter().map(|down| own.parameters().read(*down, <[f32]>::to_vec)).collect();
        let rows = self.owned(backend.brought(&downs.concat())?)?;
        let products = backend.project(base, self.weights.parameters(), &rows, Output::Sum, false)?;
        let products = backend.to_host(&products)?;
        for (which, (up, a)) in change.ups.iter().zip(&downs).enumerate() {
            let Up { projection: up, first, magnitude: Some(magnitude) } = up else { continue };
            let squares = lengths.squares(own.name(magnitude.weight));
            let bias = magnitude.bias.map(|bias| self.weights.parameters().read(bias, <[f32]>::to_vec));
            let b = own.parameters().read(up.weights[0], <[f32]>::to_vec);
            let gram = gram(a, rank);
            let scale = f64::from(change.scale);
            let length = |(row, (b, square)): (usize, (&[f32], &f64))| {
                let b: Vec<f64> = b.iter().map(|x| f64::from(*x)).collect();
                let bias = bias.as_ref().map_or(0.0, |bias| bias[row]);
                let product = |k: usize| products[(which * rank + k) * change.output + first + row] - bias;
                let dot: f64 = b.iter().enumerate().map(|(k, b)| b * f64::from(product(k))).sum();
                let of_gram = |gram: &[f64]| -> f64 { gram.iter().zip(&b).map(|(g, b)| g * b).sum() };
                let quadratic: f64 = gram.chunks_exact(rank).zip(&b).map(|(gram, b)| b * of_gram(gram)).sum();
                let square = square + 2.0 * scale * dot + scale * scale * quadratic;
                // A row of zeros has no direction.
                if square > 0.0 { (1.0 / square.sqrt()) as f32 } else { 0.0 }
            };
            let rows = b.par_chunks_exact(rank).zip(squares).enumerate();
            let inverses: Vec<f32> = rows.map(length).collect();
            backend.write(lengths.inverses().parameters(), magnitude.inverse, &inverses)?;
        }
        Ok(())
    }
}

/// `A A^T`.
fn gram(a: &[f32], rank: usize) -> Vec<f64> {
    let rows: Vec<&[f32]> = a.chunks_exact(a.len() / rank).collect();
    let dot = |x: &[f32], y: &[f32]| -> f64 { x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum() };
    rows.iter().flat_map(|x| rows.iter().map(move |y| dot(x, y))).collect()
}
