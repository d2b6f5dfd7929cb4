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
