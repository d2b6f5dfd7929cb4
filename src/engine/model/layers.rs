//! The layers of a decoder, put together once from a model's architecture and the places of its weights.

use std::collections::HashMap;

use super::adapter::Adapter;
use super::weights::Weights;
use crate::engine::backend::Backend;
use crate::engine::error::EngineError;
use crate::engine::kernels::gemm::Precision;
use crate::engine::ops::attention::Heads;
use crate::engine::ops::linear::Linear;
use crate::engine::projection::{LowRank, Norm, Projection};
use crate::modelfile::architecture::{Experts, Part, Role, TensorSpec};
use crate::modelfile::config::ModelConfig;

/// One transformer block.
#[derive(Debug)]
pub struct Layer {
    pub heads: Heads,
    /// Its set of rotations, if it has any.
    pub rope: Option<usize>,
    pub attention_norms: Norms,
    /// Query, key and value.
    pub attention: Adapted,
    /// Norms of queries and keys.
    pub head_norms: Option<[Norm; 2]>,
    pub output: Adapted,
    pub feed_norms: Norms,
    pub feed: Feed,
}

/// The norms before attention or the feed-forward part, and of what comes out of it.
#[derive(Debug)]
pub struct Norms {
    pub before: Option<Norm>,
    pub behind: Option<Norm>,
}

/// The feed-forward part of a block.
#[derive(Debug)]
pub enum Feed {
    Dense(Gated),
    Experts { router: Adapted, experts: Vec<Gated>, kind: Experts },
}

/// A gated unit: gate and up are one product, down another.
#[derive(Debug)]
pub struct Gated {
    pub gate_up: Adapted,
    pub down: Adapted,
    pub width: usize,
}

/// A projection, and what an adapter changes of it.
#[derive(Debug)]
pub struct Adapted {
    pub base: Projection,
    pub change: Option<Box<LowRank>>,
    /// What the adapter takes from it in exchange.
    pub taken: Option<Box<LowRank>>,
}

impl Adapted {
    /// Gives back the memory of weights that were packed for sampling.
    pub fn release(&self) {
        self.base.linear.release();
        for LowRank { down, ups, .. } in self.change.as_deref().into_iter().chain(self.taken.as_deref()) {
            down.linear.release();
            ups.iter().for_each(|up| up.projection.linear.release());
        }
    }
}

impl Feed {
    pub fn projections(&self) -> impl Iterator<Item = &Adapted> {
        let (router, units) = match self {
            Self::Dense(unit) => (None, std::slice::from_ref(unit)),
            Self::Experts { router, experts, .. } => (Some(router), experts.as_slice()),
        };
        router.into_iter().chain(units.iter().flat_map(|unit| [&unit.gate_up, &unit.down]))
    }
}

/// A norm with a model's offset and epsilon.
pub fn norm(config: &ModelConfig, weight: usize) -> Norm {
    Norm { weight, offset: config.architecture.norm_offset, eps: config.rms_norm_eps as f32 }
}

/// A projection of `input` numbers with weights, and their biases.
pub fn projection<B: Backend>(
    weights: &Weights<B>,
    own: Vec<usize>,
    biases: Vec<usize>,
    input: usize,
    precision: Precision,
) -> Projection {
    let output = own.iter().map(|index| weights.shape(*index)[0]).sum();
    Projection { linear: Linear::new(input, output, precision), weights: own, biases }
}

/// The layers, whose heads are `heads` with a window of their own, with what an adapter changes of them.
pub fn layers<B: Backend>(
    weights: &Weights<B>,
    adapter: Option<&Adapter<B>>,
    heads: Heads,
    precision: Precision,
) -> Result<Vec<Layer>, EngineError> {
    let config = weights.config();
    let mut places = HashMap::new();
    for TensorSpec { part, layer, expert, role, name, .. } in config.tensors() {
        places.insert((part, role == Role::Bias, layer, expert), weights.index(&name)?);
    }
    let builder = Builder { weights, adapter, places, precision };
    (0..config.num_hidden_layers).map(|layer| builder.layer(layer, heads)).collect()
}

struct Builder<'a, B: Backend> {
    weights: &'a Weights<B>,
    adapter: Option<&'a Adapter<B>>,
    /// By part, whether it is a bias, layer and expert.
    places: HashMap<(Part, bool, usize, usize), usize>,
    precision: Precision,
}

impl<B: Backend> Builder<'_, B> {
    fn layer(&self, layer: usize, heads: Heads) -> Result<Layer, EngineError> {
        let config = self.weights.config();
        let kind = config.architecture.layers[layer];
        let norm_of = |part: Part| self.places.get(&(part, false, layer, 0)).map(|weight| norm(config, *weight));
        let norms = |before: Part, behind: Part| Norms { before: norm_of(before), behind: norm_of(behind) };
        let hidden = config.hidden_size;
        let attention = [Part::Query, Part::Key, Part::Value, Part::QueryKeyValue];
        Ok(Layer {
            heads: Heads { window: kind.window.unwrap_or(usize::MAX), ..heads },
            rope: kind.rope,
            attention_norms: norms(Part::AttentionNorm, Part::AttentionOutNorm),
            attention: self.project(&attention, layer, 0, hidden)?,
            head_norms: norm_of(Part::QueryNorm).zip(norm_of(Part::KeyNorm)).map(|(queries, keys)| [queries, keys]),
            output: self.project(&[Part::Output], layer, 0, heads.query_row())?,
            feed_norms: norms(Part::FeedForwardNorm, Part::FeedForwardOutNorm),
            feed: match config.architecture.experts.filter(|_| kind.is_sparse) {
                None => {
                    let width = config.intermediate_size;
                    Feed::Dense(self.gated([&[Part::Gate, Part::Up, Part::GateUp], &[Part::Down]], layer, 0, width)?)
                }
                Some(kind) => {
                    let parts: [&[Part]; 2] = [&[Part::ExpertGate, Part::ExpertUp], &[Part::ExpertDown]];
                    let expert = |expert: usize| self.gated(parts, layer, expert, kind.width);
                    let experts = (0..kind.count).map(expert).collect::<Result<_, EngineError>>()?;
                    Feed::Experts { router: self.project(&[Part::Router], layer, 0, hidden)?, experts, kind }
                }
            },
        })
    }

    fn gated(&self, parts: [&[Part]; 2], layer: usize, expert: usize, width: usize) -> Result<Gated, EngineError> {
        Ok(Gated {
            gate_up: self.project(parts[0], layer, expert, self.weights.config().hidden_size)?,
            down: self.project(parts[1], layer, expert, width)?,
            width,
        })
    }

    /// A product with those of the given weights that a layer has.
    fn project(&self, parts: &[Part], layer: usize, expert: usize, input: usize) -> Result<Adapted, EngineError> {
        let of = |is_bias: bool| -> Vec<usize> {
            parts.iter().filter_map(|part| self.places.get(&(*part, is_bias, layer, expert)).copied()).collect()
        };
        let (own, biases) = (of(false), of(true));
        if own.is_empty() || !(biases.is_empty() || biases.len() == own.len()) {
            return Err(EngineError::Internal(format!("layer {layer} has no weights for {parts:?}")));
        }
        let changes =
            self.adapter.map(|adapter| adapter.changes(self.weights, (&own, &biases), self.precision)).transpose()?;
        let [change, taken] = changes.unwrap_or_default().map(|change| change.map(Box::new));
        let base = projection(self.weights, own, biases, input, self.precision);
        Ok(Adapted { base, change, taken })
    }
}
