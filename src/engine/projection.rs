//! A product with some of the model's weights.

use super::ops::linear::Linear;

/// A projection with the places of its weights.
#[derive(Debug)]
pub struct Projection {
    pub linear: Linear,
    pub weights: Vec<usize>,
}
