//! The decoder of the Llama family: RMSNorm (arXiv 1910.07467), rotary positions (arXiv 2104.09864), grouped-query
//! attention (arXiv 2305.13245) and SwiGLU (arXiv 2002.05202), with a tied or untied head.
//!
//! There is one forward pass. Its rows are tokens, whatever sequences they belong to; only attention knows about
//! sequences, either packed side by side (training) or through a key-value cache (sampling). The backward pass is in
//! `backward`.

use std::sync::Arc;

use super::cache::KvCache;
use super::weights::Weights;
use crate::engine::backend::{Backend, CachedRows, Output, PackedRows};
use crate::engine::cpu::Cpu;
use crate::engine::error::EngineError;
use crate::engine::kernels::attention::BLOCK;
use crate::engine::kernels::gemm::Precision;
use crate::engine::ops::attention::{Attended, Heads};
use crate::engine::ops::linear::Linear;
use crate::engine::ops::norm::Normed;
use crate::engine::projection::Projection;
use crate::engine::rows::{CachedRow, Packed};
use crate::modelfile::config::{ModelConfig, RopeScaling};

/// One transformer block.
#[derive(Debug)]
pub(super) struct Layer {
    pub input_norm: usize,
    /// Query, key and value.
    pub attention: Projection,
    pub output: Projection,
    pub post_norm: usize,
    pub gate_up: Projection,
    pub down: Projection,
}

/// A decoder over weights that it shares with others; it follows every change of them.
#[derive(Debug)]
pub struct Decoder<B: Backend = Cpu> {
    pub(super) backend: Arc<B>,
    pub(super) weights: Arc<Weights<B>>,
    pub(super) heads: Heads,
    pub(super) embedding: usize,
    pub(super) layers: Vec<Layer>,
    pub(super) norm: usize,
    pub(super) head: Projection,
    pub(super) rotary: B::Rotary,
}

/// What a block computed, as its backward pass needs it.
#[derive(Debug)]
pub(super) struct Activations<A, S = A> {
    /// `[N, hidden]`, and the factors of its norm.
    pub input: A,
    pub input_inverses: A,
    /// Queries, keys and values side by side, rotated.
    pub rows: A,
    pub attended: Attended<A, S>,
    /// `[N, hidden]` after attention, and the factors of its norm.
    pub middle: A,
    pub middle_inverses: A,
    /// Gate and up side by side.
    pub gate_up: A,
}

/// What a block computed, and its result.
type Computed<A, S = A> = (Activations<A, S>, A);

/// The final states, and what comes before their norm.
#[derive(Debug)]
pub(super) struct Final<A> {
    pub input: A,
    pub normed: Normed<A>,
}

impl<B: Backend> Decoder<B> {
    /// A decoder over weights, whose products are computed with the given precision.
    pub fn new(weights: Arc<Weights<B>>, precision: Precision) -> Result<Self, EngineError> {
        let config = weights.config().clone();
        let project = |names: &[String], input: usize| -> Result<Projection, EngineError> {
            let weights_of: Vec<usize> =
                names.iter().map(|name| weights.index(name)).collect::<Result<_, EngineError>>()?;
            let output = weights_of.iter().map(|index| weights.shape(*index)[0]).sum();
            Ok(Projection { linear: Linear::new(input, output, precision), weights: weights_of })
        };
        let heads =
            Heads { query: config.num_attention_heads, key_value: config.num_key_value_heads, width: config.head_dim };
        let layers = (0..config.num_hidden_layers)
            .map(|i| {
                let name = |name: &str| format!("model.layers.{i}.{name}.weight");
                let hidden = config.hidden_size;
                Ok(Layer {
                    input_norm: weights.index(&name("input_layernorm"))?,
                    attention: project(
                        &["q_proj", "k_proj", "v_proj"].map(|p| name(&format!("self_attn.{p}"))),
                        hidden,
                    )?,
                    output: project(&[name("self_attn.o_proj")], heads.query_row())?,
                    post_norm: weights.index(&name("post_attention_layernorm"))?,
                    gate_up: project(&["gate_proj", "up_proj"].map(|p| name(&format!("mlp.{p}"))), hidden)?,
                    down: project(&[name("mlp.down_proj")], config.intermediate_size)?,
                })
            })
            .collect::<Result<_, EngineError>>()?;
        let embedding = String::from("model.embed_tokens.weight");
        let head = if config.tie_word_embeddings { embedding.clone() } else { String::from("lm_head.weight") };
        let backend = Arc::clone(weights.backend());
        Ok(Self {
            heads,
            embedding: weights.index(&embedding)?,
            layers,
            norm: weights.index("model.norm.weight")?,
            head: project(&[head], config.hidden_size)?,
            rotary: backend.rotary(frequencies(&config), config.max_position_embeddings)?,
            weights,
            backend,
        })
    }

    pub fn config(&self) -> &ModelConfig {
        self.weights.config()
    }

    pub fn weights(&self) -> &Weights<B> {
        &self.weights
    }

    pub fn heads(&self) -> Heads {
        self.heads
    }

    /// Where it computes.
    pub fn backend(&self) -> &Arc<B> {
        &self.backend
    }

    /// Final states `[N, hidden]` of whole sequences, without what a backward pass needs.
    pub fn hidden(&self, packed: Packed<'_>) -> Result<B::Array, EngineError> {
        self.check_tokens(packed.tokens)?;
        let packed = self.backend.packed(packed)?;
        let mut x = self.embed(&packed.tokens)?;
        for layer in &self.layers {
            x = self.packed_block(layer, x, &packed, false)?.1;
        }
        Ok(self.finish(x)?.normed.out)
    }

    /// An empty cache of so many blocks.
    pub fn cache(&self, blocks: usize) -> Result<KvCache<B>, EngineError> {
        KvCache::new(&self.backend, self.layers.len(), self.heads, blocks)
    }

    /// Bytes of one block of a cache over all layers.
    pub fn bytes_per_block(&self) -> usize {
        self.layers.len() * self.backend.block_bytes(self.heads)
    }

    /// Adds the rows' keys and values to the cache, then attends to all tokens of their sequences up to themselves.
    /// Rows of one sequence stand next to each other in ascending position. Returns final states `[rows, hidden]`.
    pub fn extend(&self, cache: &mut KvCache<B>, rows: &[CachedRow<'_>]) -> Result<B::Array, EngineError> {
        self.check_rows(cache, rows)?;
        self.run_cached(cache, &self.backend.cached(rows, self.heads)?)
    }

    pub(super) fn check_rows(&self, cache: &KvCache<B>, rows: &[CachedRow<'_>]) -> Result<(), EngineError> {
        for CachedRow { token, position, blocks } in rows {
            self.check_tokens(&[*token])?;
            let known = &blocks[..blocks.len().min(*position as usize / BLOCK + 1)];
            if known.len() * BLOCK <= *position as usize || known.iter().any(|b| *b as usize >= cache.blocks()) {
                return Err(EngineError::Internal(format!("position {position} is outside the key-value cache")));
            }
        }
        Ok(())
    }

    pub(super) fn run_cached(&self, cache: &mut KvCache<B>, rows: &CachedRows<'_, B>) -> Result<B::Array, EngineError> {
        let mut x = self.embed(&rows.tokens)?;
        for (layer, cached) in self.layers.iter().zip(&mut cache.layers) {
            let attention = |states: &B::Array| {
                let mut qkv = self.project(&layer.attention, states, Output::Activation, true)?;
                self.backend.rotate(&mut qkv, self.heads, &rows.tokens, &self.rotary, false)?;
                let out = self.backend.cached_attention(&qkv, self.heads, rows, cached)?;
                Ok((qkv, Attended { out, log_sums: () }))
            };
            x = self.block(layer, x, true, attention)?.1;
        }
        Ok(self.finish(x)?.normed.out)
    }

    /// Gives back the memory of weights that were packed for sampling.
    pub fn release(&self) {
        let projections = self.layers.iter().flat_map(|l| [&l.attention, &l.output, &l.gate_up, &l.down]);
        projections.chain([&self.head]).for_each(|p| p.linear.release());
    }

    /// Every token has a row in the embedding.
    pub(super) fn check_tokens(&self, tokens: &[u32]) -> Result<(), EngineError> {
        let vocabulary = self.config().vocab_size;
        match tokens.iter().find(|token| **token as usize >= vocabulary) {
            Some(bad) => Err(EngineError::Internal(format!("token {bad} is outside a vocabulary of {vocabulary}"))),
            None => Ok(()),
        }
    }

    pub(super) fn embed(&self, tokens: &B::Tokens<'_>) -> Result<B::Array, EngineError> {
        self.backend.embed(self.weight(self.embedding), tokens, self.config().hidden_size)
    }

    /// A weight as operations take it.
    pub(super) fn weight(&self, index: usize) -> (&B::Parameters, usize) {
        (self.weights.parameters(), index)
    }

    /// One block over packed sequences.
    pub(super) fn packed_block(
        &self,
        layer: &Layer,
        x: B::Array,
        packed: &PackedRows<'_, B>,
        keep: bool,
    ) -> Result<Computed<B::Array>, EngineError> {
        self.block(layer, x, keep, |states| {
            let mut rows = self.project(&layer.attention, states, Output::Activation, keep)?;
            self.backend.rotate(&mut rows, self.heads, &packed.tokens, &self.rotary, false)?;
            let attended = self.backend.packed_attention(&rows, self.heads, packed)?;
            Ok((rows, attended))
        })
    }

    /// One block: what it computed, and its result.
    fn block<S>(
        &self,
        layer: &Layer,
        input: B::Array,
        keep: bool,
        attention: impl FnOnce(&B::Array) -> Result<(B::Array, Attended<B::Array, S>), EngineError>,
    ) -> Result<Computed<B::Array, S>, EngineError> {
        let mut input = input;
        let Normed { out, inverses: input_inverses } = self.normed(&mut input, None, layer.input_norm)?;
        let (rows, attended) = attention(&out)?;
        drop(out);
        let mut middle = self.project(&layer.output, &attended.out, Output::Sum, keep)?;
        let Normed { out, inverses: middle_inverses } = self.normed(&mut middle, Some(&input), layer.post_norm)?;
        let gate_up = self.project(&layer.gate_up, &out, Output::Activation, keep)?;
        drop(out);
        let gated = self.backend.gated(&gate_up, self.config().intermediate_size)?;
        let mut result = self.project(&layer.down, &gated, Output::Sum, keep)?;
        self.backend.add(&mut result, &middle)?;
        Ok((Activations { input, input_inverses, rows, attended, middle, middle_inverses, gate_up }, result))
    }

    pub(super) fn finish(&self, mut x: B::Array) -> Result<Final<B::Array>, EngineError> {
        let normed = self.normed(&mut x, None, self.norm)?;
        Ok(Final { input: x, normed })
    }

    fn normed(
        &self,
        x: &mut B::Array,
        residual: Option<&B::Array>,
        weight: usize,
    ) -> Result<Normed<B::Array>, EngineError> {
        self.backend.norm(x, residual, self.weight(weight), self.config().rms_norm_eps as f32)
    }

    pub(super) fn project(
        &self,
        projection: &Projection,
        x: &B::Array,
        into: Output,
        keep: bool,
    ) -> Result<B::Array, EngineError> {
        self.backend.project(projection, self.weights.parameters(), x, into, keep)
    }
}

/// Rotation speeds `theta^(-2i/width)`, slowed down as the configuration says for longer contexts.
fn frequencies(config: &ModelConfig) -> Vec<f64> {
    let width = config.head_dim as f64;
    let plain = (0..config.head_dim / 2).map(|i| config.rope.theta.powf(-2.0 * i as f64 / width));
    match config.rope.scaling {
        RopeScaling::None => plain.collect(),
        RopeScaling::Linear { factor } => plain.map(|f| f / factor).collect(),
        // Llama 3.1: long wavelengths are slowed down by `factor`, short ones stay, with a ramp in between.
        RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } => plain
            .map(|f| {
                let turns = original_max_position_embeddings as f64 * f / std::f64::consts::TAU;
                let keep = ((turns - low_freq_factor) / (high_freq_factor - low_freq_factor)).clamp(0.0, 1.0);
                keep * f + (1.0 - keep) * f / factor
            })
            .collect(),
    }
}
