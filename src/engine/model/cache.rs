//! The key-value cache of the sampler: memory for a number of blocks, taken once. Which sequence has which blocks, and
//! which sequences share one, is the sampler's business.

use crate::engine::kernels::pages::zeros;
use crate::engine::ops::attention::Heads;

/// Tokens in one block.
pub use crate::engine::kernels::attention::BLOCK;

/// Keys and values of the sequences being sampled.
#[derive(Debug)]
pub struct KvCache {
    heads: Heads,
    /// Per layer `[blocks, Heads::block]`.
    layers: Vec<Vec<f32>>,
    blocks: usize,
}

impl KvCache {
    pub fn new(layers: usize, heads: Heads, blocks: usize) -> Self {
        Self { heads, layers: (0..layers).map(|_| zeros(blocks * heads.block())).collect(), blocks }
    }

    /// Bytes of one block over all layers.
    pub fn bytes_per_block(layers: usize, heads: Heads) -> usize {
        layers * heads.block() * size_of::<f32>()
    }

    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Copies one block, in all layers.
    pub fn copy_block(&mut self, from: u32, to: u32) {
        let len = self.heads.block();
        for layer in &mut self.layers {
            layer.copy_within(from as usize * len..(from as usize + 1) * len, to as usize * len);
        }
    }

    /// The blocks of one layer.
    pub(super) fn layer(&self, layer: usize) -> &[f32] {
        &self.layers[layer]
    }

    /// Puts the key and value of `row` (queries, keys and values side by side) at a position of a block.
    pub(super) fn put(&mut self, layer: usize, block: u32, slot: usize, row: &[f32]) {
        let len = self.heads.block();
        self.heads.put(row, &mut self.layers[layer][block as usize * len..][..len], slot);
    }
}
