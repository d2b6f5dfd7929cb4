//! Weights as operations name them: products, norms, and their places among a model's weights.

use super::ops::linear::Linear;

/// A projection with the places of its weights.
#[derive(Debug)]
pub struct Projection {
    pub linear: Linear,
    pub weights: Vec<usize>,
    /// A vector for each weight, to be added to its part of the result; or none.
    pub biases: Vec<usize>,
}

/// A low-rank change of a projection (LoRA, arXiv 2106.09685): to the part of the result that belongs to an adapted
/// weight, `scale (x A^T) B^T` is added.
#[derive(Debug)]
pub struct LowRank {
    /// The `A: [rank, in]` of all adapted weights, as one product.
    pub down: Projection,
    pub ups: Vec<Up>,
    pub rank: usize,
    pub scale: f32,
    /// Width of the projection's result.
    pub output: usize,
}

/// The `B: [out, rank]` of one adapted weight.
#[derive(Debug)]
pub struct Up {
    pub projection: Projection,
    /// The first of its columns in the result.
    pub first: usize,
}

impl LowRank {
    /// Width of what lies between `A` and `B`.
    pub fn inner(&self) -> usize {
        self.ups.len() * self.rank
    }
}

/// A norm: `x (weight + offset) / sqrt(mean x^2 + eps)`.
#[derive(Clone, Copy, Debug)]
pub struct Norm {
    /// The weight's place.
    pub weight: usize,
    pub offset: f32,
    pub eps: f32,
}

/// Weights with one of their norms.
pub type NormOf<'a, P> = (&'a P, Norm);
