//! Weights as operations name them: products, norms, and their places among a model's weights.

use super::ops::dropout::Dropout;
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
    pub dropout: Dropout,
    /// Width of the projection's result.
    pub output: usize,
}

/// The `B: [out, rank]` of one adapted weight.
#[derive(Debug)]
pub struct Up {
    pub projection: Projection,
    /// The first of its columns in the result.
    pub first: usize,
    /// What trains the lengths of the weight's rows, if that is done.
    pub magnitude: Option<Magnitude>,
}

/// The places of what scales a part of a result (DoRA, arXiv 2402.09353).
#[derive(Clone, Copy, Debug)]
pub struct Magnitude {
    /// The lengths that the rows shall have, among the adapter's weights.
    pub weight: usize,
    /// One over those that they have, among what was measured.
    pub inverse: usize,
    /// What is not scaled, among the model's weights.
    pub bias: Option<usize>,
}

/// Where the numbers are that a [`Magnitude`] names.
#[derive(Debug)]
pub struct Lengths<'a, P> {
    pub magnitudes: &'a P,
    pub inverses: &'a P,
    /// None where what is scaled has no bias in it, as a gradient.
    pub biases: Option<&'a P>,
}

impl<P> Clone for Lengths<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Lengths<'_, P> {}

impl LowRank {
    /// Whether lengths are trained beside it.
    pub fn has_magnitudes(&self) -> bool {
        self.ups.iter().any(|up| up.magnitude.is_some())
    }

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
