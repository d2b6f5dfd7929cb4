//! The decoder of the Llama family: RMSNorm (arXiv 1910.07467), rotary positions (arXiv 2104.09864), grouped-query
//! attention (arXiv 2305.13245) and SwiGLU (arXiv 2002.05202), with a tied or untied head.
//!
//! There is one forward pass. Its rows are tokens, whatever sequences they belong to; only attention knows about
//! sequences, either packed side by side (training) or through a key-value cache (sampling). The backward pass is in
//! `backward`.

use std::sync::Arc;

use candle_core::Result;

use super::cache::{BLOCK, KvCache};
use super::weights::{Values, Weights};
use crate::engine::kernels::gemm::Precision;
use crate::engine::ops::attention::{Attended, Heads, Seen, attend, packed_attention};
use crate::engine::ops::embedding::gather;
use crate::engine::ops::gate::gated;
use crate::engine::ops::linear::{Linear, Matrices};
use crate::engine::ops::norm::{Normed, rms_norm_rows};
use crate::engine::ops::rotary::Rotary;
use crate::engine::ops::{Buffer, add};
use crate::modelfile::config::{ModelConfig, RopeScaling};

/// A projection with the places of its weights.
#[derive(Debug)]
pub(super) struct Projection {
    pub linear: Linear,
    pub weights: Vec<usize>,
}

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
pub struct Decoder {
    pub(super) weights: Arc<Weights>,
    pub(super) heads: Heads,
    pub(super) embedding: usize,
    pub(super) layers: Vec<Layer>,
    pub(super) norm: usize,
    pub(super) head: Projection,
    pub(super) rotary: Rotary,
}

/// Tokens of whole sequences side by side.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    pub tokens: &'a [u32],
    /// Places within the tokens' sequences.
    pub positions: &'a [u32],
    /// Start of every sequence and, last, the number of tokens.
    pub boundaries: &'a [usize],
}

/// One token to run through the decoder, continuing a cached sequence.
#[derive(Clone, Copy, Debug)]
pub struct CachedRow<'a> {
    pub token: u32,
    pub position: u32,
    /// The sequence's blocks; `blocks[position / BLOCK]` will hold this token.
    pub blocks: &'a [u32],
}

/// What a block computed, as its backward pass needs it.
#[derive(Debug)]
pub(super) struct Activations {
    /// `[N, hidden]`, and the factors of its norm.
    pub input: Buffer,
    pub input_inverses: Buffer,
    /// Queries, keys and values side by side, rotated.
    pub rows: Buffer,
    pub attended: Attended,
    /// `[N, hidden]` after attention, and the factors of its norm.
    pub middle: Buffer,
    pub middle_inverses: Buffer,
    /// Gate and up side by side.
    pub gate_up: Buffer,
}

/// The final states, and what comes before their norm.
#[derive(Debug)]
pub(super) struct Final {
    pub input: Buffer,
    pub normed: Normed,
}

impl Decoder {
    /// A decoder over weights, whose products are computed with the given precision.
    pub fn new(weights: Arc<Weights>, precision: Precision) -> Result<Self> {
        let config = weights.config().clone();
        let project = |names: &[String], input: usize| -> Result<Projection> {
            let weights_of: Vec<usize> = names.iter().map(|name| weights.index(name)).collect::<Result<_>>()?;
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
            .collect::<Result<_>>()?;
        let embedding = String::from("model.embed_tokens.weight");
        let head = if config.tie_word_embeddings { embedding.clone() } else { String::from("lm_head.weight") };
        Ok(Self {
            heads,
            embedding: weights.index(&embedding)?,
            layers,
            norm: weights.index("model.norm.weight")?,
            head: project(&[head], config.hidden_size)?,
            rotary: Rotary::new(frequencies(&config)),
            weights,
        })
    }

    pub fn config(&self) -> &ModelConfig {
        self.weights.config()
    }

    pub fn heads(&self) -> Heads {
        self.heads
    }

    /// Final states `[N, hidden]` of whole sequences, without what a backward pass needs.
    pub fn hidden(&self, packed: Packed<'_>) -> Result<Buffer> {
        let mut x = self.embed(packed.tokens)?;
        for layer in &self.layers {
            x = self.packed_block(layer, x, packed, false).1;
        }
        Ok(self.finish(x).normed.out)
    }

    /// Adds the rows' keys and values to the cache, then attends to all tokens of their sequences up to themselves.
    /// Rows of one sequence stand next to each other in ascending position. Returns final states `[rows, hidden]`.
    pub fn extend(&self, cache: &mut KvCache, rows: &[CachedRow<'_>]) -> Result<Buffer> {
        let positions: Vec<u32> = rows.iter().map(|row| row.position).collect();
        let tokens: Vec<u32> = rows.iter().map(|row| row.token).collect();
        for CachedRow { position, blocks, .. } in rows {
            let known = &blocks[..blocks.len().min(*position as usize / BLOCK + 1)];
            if known.len() * BLOCK <= *position as usize || known.iter().any(|b| *b as usize >= cache.blocks()) {
                candle_core::bail!("position {position} is outside the key-value cache");
            }
        }
        let seen: Vec<Seen<'_>> =
            rows.iter().map(|row| Seen { blocks: row.blocks, seen: row.position as usize + 1 }).collect();
        let mut x = self.embed(&tokens)?;
        for (index, layer) in self.layers.iter().enumerate() {
            let attention = |states: &[f32]| {
                let mut qkv = self.forward(&layer.attention, states, true);
                self.rotary.rotate(&mut qkv, self.heads, &positions);
                for (row, values) in rows.iter().zip(qkv.chunks_exact(self.heads.row())) {
                    let (block, slot) = (row.position as usize / BLOCK, row.position as usize % BLOCK);
                    cache.put(index, row.blocks[block], slot, values);
                }
                let attended = attend(&qkv, self.heads, cache.layer(index), &seen);
                (qkv, attended)
            };
            x = self.block(layer, x, true, attention).1;
        }
        Ok(self.finish(x).normed.out)
    }

    /// Logits `[rows, vocabulary]` of the given rows of `hidden`.
    pub fn row_logits(&self, hidden: &[f32], rows: &[u32]) -> Result<Buffer> {
        Ok(self.forward(&self.head, &gather(hidden, self.config().hidden_size, rows), true))
    }

    /// Gives back the memory of weights that were packed for sampling.
    pub fn release(&self) {
        let projections = self.layers.iter().flat_map(|l| [&l.attention, &l.output, &l.gate_up, &l.down]);
        projections.chain([&self.head]).for_each(|p| p.linear.release());
    }

    pub(super) fn embed(&self, tokens: &[u32]) -> Result<Buffer> {
        let vocabulary = self.config().vocab_size;
        if let Some(token) = tokens.iter().find(|token| **token as usize >= vocabulary) {
            candle_core::bail!("token {token} is outside a vocabulary of {vocabulary}");
        }
        Ok(gather(&self.weights.values(self.embedding), self.config().hidden_size, tokens))
    }

    /// One block over packed sequences.
    pub(super) fn packed_block(
        &self,
        layer: &Layer,
        x: Buffer,
        packed: Packed<'_>,
        keep: bool,
    ) -> (Activations, Buffer) {
        self.block(layer, x, keep, |states| {
            let mut rows = self.forward(&layer.attention, states, keep);
            self.rotary.rotate(&mut rows, self.heads, packed.positions);
            let attended = packed_attention(&rows, self.heads, packed.boundaries);
            (rows, attended)
        })
    }

    /// One block: what it computed, and its result.
    fn block(
        &self,
        layer: &Layer,
        input: Buffer,
        keep: bool,
        attention: impl FnOnce(&[f32]) -> (Buffer, Attended),
    ) -> (Activations, Buffer) {
        let mut input = input;
        let Normed { out, inverses: input_inverses } = self.normed(&mut input, None, layer.input_norm);
        let (rows, attended) = attention(&out);
        drop(out);
        let mut middle = self.forward(&layer.output, &attended.out, keep);
        let Normed { out, inverses: middle_inverses } = self.normed(&mut middle, Some(&input), layer.post_norm);
        let gate_up = self.forward(&layer.gate_up, &out, keep);
        drop(out);
        let gated = gated(&gate_up, self.config().intermediate_size);
        let mut result = self.forward(&layer.down, &gated, keep);
        add(&mut result, &middle);
        (Activations { input, input_inverses, rows, attended, middle, middle_inverses, gate_up }, result)
    }

    pub(super) fn finish(&self, mut x: Buffer) -> Final {
        let normed = self.normed(&mut x, None, self.norm);
        Final { input: x, normed }
    }

    fn normed(&self, x: &mut [f32], residual: Option<&[f32]>, weight: usize) -> Normed {
        rms_norm_rows(x, residual, &self.weights.values(weight), self.config().rms_norm_eps as f32)
    }

    pub(super) fn forward(&self, projection: &Projection, x: &[f32], keep: bool) -> Buffer {
        self.with(projection, |weights| projection.linear.forward(x, weights, keep))
    }

    /// Calls `f` with a projection's weights.
    pub(super) fn with<T>(&self, projection: &Projection, f: impl FnOnce(Matrices<'_>) -> T) -> T {
        let values: Vec<Values<'_>> = projection.weights.iter().map(|index| self.weights.values(*index)).collect();
        let slices: Vec<&[f32]> = values.iter().map(|v| &v[..]).collect();
        f(Matrices { values: &slices, version: self.weights.version() })
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
