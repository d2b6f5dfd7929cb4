//! The decoder: RMSNorm (arXiv 1910.07467), rotary positions (arXiv 2104.09864), grouped-query attention (arXiv
//! 2305.13245) and gated feed-forward layers (arXiv 2002.05202), with a tied or untied head. In what families of models
//! differ beyond that are the switches of [`Architecture`](crate::modelfile::architecture::Architecture).
//!
//! There is one forward pass. Its rows are tokens, whatever sequences they belong to; only attention knows about
//! sequences, either packed side by side (training) or through a key-value cache (sampling). The backward pass is in
//! `backward`, the feed-forward part of both in `feed`, what is built once in `layers`.

use std::sync::Arc;

use super::adapter::Adapter;
use super::cache::KvCache;
use super::layers::{Adapted, Layer, Norms, layers, norm, projection};
use super::weights::Weights;
use crate::engine::backend::{Backend, CachedRows, How, Narrowed, Output, PackedRows};
use crate::engine::cpu::Cpu;
use crate::engine::error::EngineError;
use crate::engine::kernels::attention::BLOCK;
use crate::engine::kernels::gemm::Precision;
use crate::engine::ops::attention::{Attended, Heads};
use crate::engine::ops::experts::Routes;
use crate::engine::ops::norm::Normed;
use crate::engine::projection::{Lengths, LowRank, Norm, NormOf};
use crate::engine::rows::{CachedRow, Packed};
use crate::job::spec::SampledCache;
use crate::modelfile::architecture::Part;
use crate::modelfile::config::ModelConfig;
use crate::modelfile::rope::RopeConfig;

/// How passes are computed that sample.
pub(super) const SAMPLING: How<'static> = How { keep: true, keys: &[] };

/// A decoder over weights that it shares with others; it follows every change of them.
#[derive(Debug)]
pub struct Decoder<B: Backend = Cpu> {
    pub(super) backend: Arc<B>,
    pub(super) weights: Arc<Weights<B>>,
    /// What is trained in the place of the weights, if it is that.
    pub(super) adapter: Option<Adapter<B>>,
    pub(super) heads: Heads,
    pub(super) embedding: usize,
    pub(super) layers: Vec<Layer>,
    pub(super) norm: Norm,
    pub(super) head: Adapted,
    /// Sets of rotations, which layers name by place.
    pub(super) rotary: Vec<B::Rotary>,
}

/// What a block computed, as its backward pass needs it.
#[derive(Debug)]
pub(super) struct Activations<A, S = A> {
    pub attention: Around<A>,
    pub rows: Rows<A>,
    pub attended: Attended<A, S>,
    pub feed: Around<A>,
    pub fed: Fed<A>,
}

/// What comes before and behind attention or the feed-forward part, for the gradients of its norms.
#[derive(Debug)]
pub(super) struct Around<A> {
    /// `[N, hidden]` of the residual stream, and the factors of the norm before.
    pub input: A,
    pub inverses: Option<A>,
    /// What the norm behind takes, with its factors.
    pub out: Option<(A, A)>,
}

/// Queries, keys and values side by side.
#[derive(Debug)]
pub(super) enum Rows<A> {
    /// As attention takes them, rotated.
    Ready(A),
    /// Before the norms of their heads, with the factors of these.
    Raw(A, A),
}

/// What the feed-forward part computed.
#[derive(Debug)]
pub(super) enum Fed<A> {
    /// Gate and up side by side.
    Dense(A),
    /// Where tokens went, and gate and up of those of each expert that has any.
    Experts { routes: Routes, gate_ups: Vec<Option<A>> },
}

/// What a block computed, and its result.
type Computed<A, S = A> = (Activations<A, S>, A);
/// Rows as attention takes them, and what came before the norms of their heads.
type Queries<A> = (A, Option<Rows<A>>);
/// States for products, and the factors of the norm before them.
type Entered<'a, A> = (Narrowed<'a, A>, Option<A>);
/// What is added to the residual stream, and what the norm behind took with its factors.
type Left<A> = (A, Option<(A, A)>);

/// The final states, and what comes before their norm.
#[derive(Debug)]
pub(super) struct Final<A> {
    pub input: A,
    pub normed: Normed<A>,
}

impl<B: Backend> Decoder<B> {
    /// A decoder over weights, whose products are computed with the given precision, for sequences that fill the context.
    pub fn new(weights: Arc<Weights<B>>, precision: Precision) -> Result<Self, EngineError> {
        let longest = weights.config().max_position_embeddings;
        Self::for_sequences(weights, None, precision, longest)
    }

    /// A decoder for sequences of up to `longest` tokens, by which rotations that depend on length are chosen; with an
    /// adapter, whatever it adds to the weights.
    pub fn for_sequences(
        weights: Arc<Weights<B>>,
        adapter: Option<Adapter<B>>,
        precision: Precision,
        longest: usize,
    ) -> Result<Self, EngineError> {
        let config = weights.config().clone();
        let heads = Heads {
            scale: config.architecture.attention_scale,
            ..Heads::new(config.num_attention_heads, config.num_key_value_heads, config.head_dim)
        };
        let backend = Arc::clone(weights.backend());
        let head = if config.tie_word_embeddings { Part::Embedding } else { Part::Head };
        let context = config.max_position_embeddings;
        let rotary = |rope: &RopeConfig| backend.rotary(rope.rotation(longest), context);
        let decoder = Self {
            heads,
            embedding: weights.outside(Part::Embedding)?,
            layers: layers(&weights, adapter.as_ref(), heads, precision)?,
            norm: norm(&config, weights.outside(Part::FinalNorm)?),
            head: Adapted {
                base: projection(&weights, vec![weights.outside(head)?], Vec::new(), config.hidden_size, precision),
                change: None,
                taken: None,
            },
            rotary: config.architecture.rope.iter().map(rotary).collect::<Result<_, EngineError>>()?,
            weights,
            adapter,
            backend,
        };
        decoder.measure_first()?;
        Ok(decoder)
    }

    pub fn config(&self) -> &ModelConfig {
        self.weights.config()
    }

    pub fn weights(&self) -> &Arc<Weights<B>> {
        &self.weights
    }

    pub fn adapter(&self) -> Option<&Adapter<B>> {
        self.adapter.as_ref()
    }

    /// What training changes: the adapter's weights where there is one.
    pub fn trained(&self) -> &Arc<Weights<B>> {
        self.adapter.as_ref().map_or(&self.weights, Adapter::weights)
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
            x = self.packed_block(layer, x, &packed, How::default())?.1;
        }
        Ok(self.finish(x)?.normed.out)
    }

    /// An empty cache of so many blocks, whose keys and values the backend keeps as attention takes them, or otherwise.
    pub fn cache(&self, kept: Option<SampledCache>, blocks: usize) -> Result<KvCache<B>, EngineError> {
        KvCache::new(&self.backend, self.layers.len(), self.heads, kept, blocks)
    }

    /// Bytes of one block of a cache over all layers.
    pub fn bytes_per_block(&self, kept: Option<SampledCache>) -> usize {
        self.layers.len() * self.backend.block_bytes(self.heads, kept)
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
                let (ready, _) = self.queries(layer, states, &rows.tokens, SAMPLING)?;
                let out = self.backend.cached_attention(&ready, layer.heads, rows, cached)?;
                Ok((Rows::Ready(ready), Attended { out, log_sums: () }))
            };
            x = self.block(layer, x, SAMPLING, attention)?.1;
        }
        Ok(self.finish(x)?.normed.out)
    }

    /// Gives back the memory of weights that were packed for sampling.
    pub fn release(&self) {
        self.projections().for_each(Adapted::release);
    }

    pub(super) fn projections(&self) -> impl Iterator<Item = &Adapted> {
        let layers = self.layers.iter();
        let inside = layers.flat_map(|l| [&l.attention, &l.output].into_iter().chain(l.feed.projections()));
        inside.chain([&self.head])
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
        let embedding = (self.weights.parameters(), self.embedding);
        let mut x = self.backend.embed(embedding, tokens, self.config().hidden_size)?;
        self.scale(&mut x, self.config().architecture.embedding_scale)?;
        Ok(x)
    }

    /// Multiplies by a factor, which mostly is 1.
    pub(super) fn scale(&self, x: &mut B::Array, factor: f32) -> Result<(), EngineError> {
        if factor == 1.0 { Ok(()) } else { self.backend.scale(x, factor) }
    }

    /// A norm as operations take it.
    pub(super) fn of(&self, norm: Norm) -> NormOf<'_, B::Parameters> {
        (self.weights.parameters(), norm)
    }

    /// One block over packed sequences.
    pub(super) fn packed_block(
        &self,
        layer: &Layer,
        x: B::Array,
        packed: &PackedRows<'_, B>,
        how: How<'_>,
    ) -> Result<Computed<B::Array>, EngineError> {
        self.block(layer, x, how, |states| {
            let (ready, raw) = self.queries(layer, states, &packed.tokens, how)?;
            let attended = self.backend.packed_attention(&ready, layer.heads, packed)?;
            Ok((raw.unwrap_or(Rows::Ready(ready)), attended))
        })
    }

    /// Queries, keys and values as attention takes them, and what came before the norms of their heads.
    fn queries(
        &self,
        layer: &Layer,
        states: &B::Array,
        tokens: &B::Tokens<'_>,
        how: How<'_>,
    ) -> Result<Queries<B::Array>, EngineError> {
        let rows = self.project(&layer.attention, states, Output::Activation, how)?;
        let Some(norms) = layer.head_norms else {
            let mut rows = rows;
            self.rotate(layer, &mut rows, tokens, false)?;
            return Ok((rows, None));
        };
        let norms = (self.weights.parameters(), norms);
        let Normed { out: mut ready, inverses } = self.backend.norm_heads(&rows, layer.heads, norms)?;
        self.rotate(layer, &mut ready, tokens, false)?;
        Ok((ready, Some(Rows::Raw(rows, inverses))))
    }

    /// Rotates in layers that do so, or back.
    pub(super) fn rotate(
        &self,
        layer: &Layer,
        rows: &mut B::Array,
        tokens: &B::Tokens<'_>,
        back: bool,
    ) -> Result<(), EngineError> {
        match layer.rope {
            Some(set) => self.backend.rotate(rows, layer.heads, tokens, &self.rotary[set], back),
            None => Ok(()),
        }
    }

    /// One block: what it computed, and its result.
    fn block<S>(
        &self,
        layer: &Layer,
        mut input: B::Array,
        how: How<'_>,
        attention: impl FnOnce(&B::Array) -> Result<(Rows<B::Array>, Attended<B::Array, S>), EngineError>,
    ) -> Result<Computed<B::Array, S>, EngineError> {
        let (states, inverses) = self.enter(&mut input, None, &layer.attention_norms)?;
        let (rows, attended) = attention(&states)?;
        drop(states);
        let out = self.project(&layer.output, &attended.out, Output::Sum, how)?;
        let (mut middle, out) = self.leave(out, &layer.attention_norms)?;
        let (states, feed_inverses) = self.enter(&mut middle, Some(&input), &layer.feed_norms)?;
        let attention = Around { input, inverses, out };
        let (out, fed) = self.feed(&layer.feed, &states, how)?;
        drop(states);
        let (mut result, out) = self.leave(out, &layer.feed_norms)?;
        self.backend.add(&mut result, &middle)?;
        let feed = Around { input: middle, inverses: feed_inverses, out };
        Ok((Activations { attention, rows, attended, feed, fed }, result))
    }

    /// What attention or the feed-forward part reads of the residual stream, after adding `residual` to it, and the
    /// factors of the norm before it.
    fn enter<'a>(
        &self,
        x: &'a mut B::Array,
        residual: Option<&B::Array>,
        norms: &Norms,
    ) -> Result<Entered<'a, B::Array>, EngineError> {
        if let Some(norm) = norms.before {
            let Normed { out, inverses } = self.backend.norm(x, residual, self.of(norm))?;
            return Ok((Narrowed::Own(out), Some(inverses)));
        }
        if let Some(residual) = residual {
            self.backend.add(x, residual)?;
        }
        Ok((self.backend.narrowed(x)?, None))
    }

    /// What is added to the residual stream, and what the norm behind took with its factors.
    fn leave(&self, mut out: B::Array, norms: &Norms) -> Result<Left<B::Array>, EngineError> {
        let factor = self.config().architecture.residual_scale;
        let Some(norm) = norms.behind else {
            self.scale(&mut out, factor)?;
            return Ok((out, None));
        };
        let Normed { out: normed, inverses } = self.backend.norm(&mut out, None, self.of(norm))?;
        let mut sum = self.backend.widened(normed)?;
        self.scale(&mut sum, factor)?;
        Ok((sum, Some((out, inverses))))
    }

    pub(super) fn finish(&self, mut x: B::Array) -> Result<Final<B::Array>, EngineError> {
        let mut normed = self.backend.norm(&mut x, None, self.of(self.norm))?;
        self.scale(&mut normed.out, self.config().architecture.logits_scale)?;
        Ok(Final { input: x, normed })
    }

    pub(super) fn project(
        &self,
        projection: &Adapted,
        x: &B::Array,
        into: Output,
        how: How<'_>,
    ) -> Result<B::Array, EngineError> {
        let mut out = self.product(projection, x, into, how)?;
        if let Some((change, lengths)) = self.lengths(projection) {
            self.backend.scale_columns(change, lengths, &mut out)?;
        }
        Ok(out)
    }

    /// The same before an adapter gives the weights' rows other lengths.
    pub(super) fn product(
        &self,
        projection: &Adapted,
        x: &B::Array,
        into: Output,
        how: How<'_>,
    ) -> Result<B::Array, EngineError> {
        let mut out = self.backend.project(&projection.base, self.weights.parameters(), x, into, how.keep)?;
        if let Some((change, parameters)) = self.change(projection) {
            self.backend.change(change, parameters, x, &mut out, how)?;
        }
        if let Some((taken, parameters)) = self.taken(projection) {
            self.backend.change(taken, parameters, x, &mut out, How { keys: &[], ..how })?;
        }
        Ok(out)
    }

    /// What the adapter changes of a projection, with its weights.
    pub(super) fn change<'a>(&'a self, projection: &'a Adapted) -> Option<(&'a LowRank, &'a B::Parameters)> {
        projection.change.as_deref().zip(self.adapter.as_ref().map(|adapter| adapter.weights().parameters()))
    }

    /// What gives the rows of a projection's weights other lengths.
    pub(super) fn lengths<'a>(&'a self, projection: &'a Adapted) -> Option<(&'a LowRank, Lengths<'a, B::Parameters>)> {
        let change = projection.change.as_deref().filter(|change| change.has_magnitudes())?;
        let adapter = self.adapter.as_ref()?;
        let (magnitudes, inverses) = (adapter.weights().parameters(), adapter.lengths()?.inverses().parameters());
        Some((change, Lengths { magnitudes, inverses, biases: Some(self.weights.parameters()) }))
    }

    /// What the adapter takes from a projection in exchange, with its weights.
    pub(super) fn taken<'a>(&'a self, projection: &'a Adapted) -> Option<(&'a LowRank, &'a B::Parameters)> {
        let weights = self.adapter.as_ref().and_then(Adapter::taken);
        projection.taken.as_deref().zip(weights.map(|weights| weights.parameters()))
    }
}
