//! The decoder of the Llama family: RMSNorm (arXiv 1910.07467), rotary positions (arXiv 2104.09864), grouped-query
//! attention (arXiv 2305.13245) and SwiGLU (arXiv 2002.05202), with a tied or untied head.
//!
//! There is one forward pass. Its rows are tokens, whatever sequences they belong to; only attention knows about
//! sequences, either packed side by side (training) or through a key-value cache (sampling).

use candle_core::{D, DType, Result, Tensor};
use candle_nn::ops::{rms_norm_slow, silu};

use super::cache::KvCache;
use crate::engine::ops::attention::{Heads, packed_attention};
use crate::engine::ops::logprob::Head;
use crate::modelfile::config::{ModelConfig, RopeScaling};

/// One transformer block; matrices are `[out, in]`.
#[derive(Clone, Debug)]
struct Layer {
    input_norm: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    post_norm: Tensor,
    gate: Tensor,
    up: Tensor,
    down: Tensor,
}

/// A decoder over tensors that are tracked for gradients (training) or detached (sampling).
#[derive(Clone, Debug)]
pub struct Decoder {
    config: ModelConfig,
    embedding: Tensor,
    layers: Vec<Layer>,
    norm: Tensor,
    head: Tensor,
    /// Rotation speed per pair of coordinates, in radians per position.
    frequencies: Vec<f64>,
}

/// Where a forward pass finds the keys and values of earlier tokens.
pub enum Context<'a> {
    /// Whole sequences side by side; sequence `s` is the rows `boundaries[s]..boundaries[s + 1]`.
    Packed { boundaries: &'a [usize] },
    /// Row `i` continues the sequence in `slots[i]`; its keys and values are added to the cache.
    Cached { cache: &'a mut KvCache, slots: &'a [usize] },
}

impl Decoder {
    /// Builds a decoder from tensors by their Hugging Face name.
    pub fn new(config: &ModelConfig, mut tensor: impl FnMut(&str) -> Result<Tensor>) -> Result<Self> {
        let embedding = tensor("model.embed_tokens.weight")?;
        let layers = (0..config.num_hidden_layers)
            .map(|i| {
                let mut get = |name: &str| tensor(&format!("model.layers.{i}.{name}.weight"));
                Ok(Layer {
                    input_norm: get("input_layernorm")?,
                    query: get("self_attn.q_proj")?,
                    key: get("self_attn.k_proj")?,
                    value: get("self_attn.v_proj")?,
                    output: get("self_attn.o_proj")?,
                    post_norm: get("post_attention_layernorm")?,
                    gate: get("mlp.gate_proj")?,
                    up: get("mlp.up_proj")?,
                    down: get("mlp.down_proj")?,
                })
            })
            .collect::<Result<_>>()?;
        let head = if config.tie_word_embeddings { embedding.clone() } else { tensor("lm_head.weight")? };
        let norm = tensor("model.norm.weight")?;
        Ok(Self { config: config.clone(), embedding, layers, norm, head, frequencies: frequencies(config) })
    }

    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Hidden states `[N, hidden]` of `tokens` (`[N]`) at `positions` within their sequences.
    pub fn hidden(&self, tokens: &[u32], positions: &[u32], mut context: Context<'_>) -> Result<Tensor> {
        let device = self.embedding.device();
        let mut x = self.embedding.index_select(&Tensor::new(tokens, device)?, 0)?;
        let rotation = self.rotation(positions)?;
        for (index, layer) in self.layers.iter().enumerate() {
            let attended = self.attention(
                layer,
                index,
                &self.rms_norm(&x, &layer.input_norm)?,
                &rotation,
                positions,
                &mut context,
            )?;
            x = (x + attended)?;
            let normed = self.rms_norm(&x, &layer.post_norm)?;
            let gated = (silu(&linear(&normed, &layer.gate)?)? * linear(&normed, &layer.up)?)?;
            x = (x + linear(&gated, &layer.down)?)?;
        }
        self.rms_norm(&x, &self.norm)
    }

    /// The given rows of `hidden` with the matrix that makes logits of them.
    pub fn head(&self, hidden: &Tensor, rows: &[u32]) -> Result<Head> {
        let hidden = hidden.index_select(&Tensor::new(rows, hidden.device())?, 0)?;
        Ok(Head { hidden, weight: self.head.clone() })
    }

    /// Logits `[rows, vocabulary]` of the given rows of `hidden`.
    pub fn logits(&self, hidden: &Tensor, rows: &[u32]) -> Result<Tensor> {
        linear(&hidden.index_select(&Tensor::new(rows, hidden.device())?, 0)?, &self.head)
    }

    fn attention(
        &self,
        layer: &Layer,
        index: usize,
        x: &Tensor,
        rotation: &Rotation,
        positions: &[u32],
        context: &mut Context<'_>,
    ) -> Result<Tensor> {
        let (rows, _) = x.dims2()?;
        let heads = self.heads();
        let q = rotation.apply(&linear(x, &layer.query)?.reshape((rows, heads.query, heads.width))?)?;
        let k = rotation.apply(&linear(x, &layer.key)?.reshape((rows, heads.key_value, heads.width))?)?;
        let v = linear(x, &layer.value)?.reshape((rows, heads.key_value, heads.width))?;
        let out = match context {
            Context::Packed { boundaries } => packed_attention(&q, &k, &v, boundaries)?,
            Context::Cached { cache, slots } => cache.attend(index, heads, [&q, &k, &v], slots, positions)?,
        };
        linear(&out.reshape((rows, heads.query * heads.width))?, &layer.output)
    }

    pub fn heads(&self) -> Heads {
        Heads {
            query: self.config.num_attention_heads,
            key_value: self.config.num_key_value_heads,
            width: self.config.head_dim,
        }
    }

    fn rms_norm(&self, x: &Tensor, weight: &Tensor) -> Result<Tensor> {
        rms_norm_slow(x, weight, self.config.rms_norm_eps as f32)
    }

    fn rotation(&self, positions: &[u32]) -> Result<Rotation> {
        let half = self.frequencies.len();
        let angles = positions.iter().flat_map(|p| self.frequencies.iter().map(move |f| f64::from(*p) * f));
        let (cos, sin): (Vec<f32>, Vec<f32>) = angles.map(|a| (a.cos() as f32, a.sin() as f32)).unzip();
        let shape = (positions.len(), 1, half);
        let device = self.embedding.device();
        Ok(Rotation { cos: Tensor::from_vec(cos, shape, device)?, sin: Tensor::from_vec(sin, shape, device)? })
    }
}

/// Cosines and sines of the rows' rotation angles, `[N, 1, width / 2]`.
struct Rotation {
    cos: Tensor,
    sin: Tensor,
}

impl Rotation {
    /// Rotates the coordinate pairs `(i, i + width / 2)` of `x: [N, heads, width]`.
    fn apply(&self, x: &Tensor) -> Result<Tensor> {
        let half = x.dim(D::Minus1)? / 2;
        let (a, b) = (x.narrow(D::Minus1, 0, half)?, x.narrow(D::Minus1, half, half)?);
        let first = (a.broadcast_mul(&self.cos)? - b.broadcast_mul(&self.sin)?)?;
        let second = (b.broadcast_mul(&self.cos)? + a.broadcast_mul(&self.sin)?)?;
        Tensor::cat(&[first, second], D::Minus1)
    }
}

fn linear(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    debug_assert_eq!(weight.dtype(), DType::F32);
    x.matmul(&weight.t()?)
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
