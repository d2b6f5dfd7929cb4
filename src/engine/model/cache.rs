//! The key-value cache of the sampler: memory for a number of blocks, taken once. Which sequence has which blocks, and
//! which sequences share one, is the sampler's business.

use std::sync::Arc;

use crate::engine::backend::Backend;
use crate::engine::error::EngineError;
use crate::engine::ops::attention::Heads;
use crate::job::spec::SampledCache;

/// Keys and values of the sequences being sampled.
#[derive(Debug)]
pub struct KvCache<B: Backend> {
    backend: Arc<B>,
    heads: Heads,
    blocks: usize,
    pub(super) layers: Vec<B::Layer>,
    /// Passes over this cache that can be repeated.
    recordings: B::Recordings,
}

impl<B: Backend> KvCache<B> {
    /// Memory for `blocks` blocks in each layer.
    pub fn new(
        backend: &Arc<B>,
        layers: usize,
        heads: Heads,
        kept: Option<SampledCache>,
        blocks: usize,
    ) -> Result<Self, EngineError> {
        let layers = (0..layers).map(|_| backend.cache_layer(heads, kept, blocks));
        let layers = layers.collect::<Result<_, EngineError>>()?;
        Ok(Self { backend: Arc::clone(backend), heads, blocks, layers, recordings: B::Recordings::default() })
    }

    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Copies one block, in all layers.
    pub fn copy_block(&mut self, from: u32, to: u32) -> Result<(), EngineError> {
        self.layers.iter_mut().try_for_each(|layer| self.backend.copy_block(layer, self.heads, from, to))
    }

    /// Calls `f` with the recorded passes and the block that nobody reads.
    pub(super) fn recorded<T>(&mut self, f: impl FnOnce(&mut Self, &mut B::Recordings, u32) -> T) -> T {
        let mut recordings = std::mem::take(&mut self.recordings);
        let spare = self.blocks as u32;
        let result = f(self, &mut recordings, spare);
        self.recordings = recordings;
        result
    }
}
