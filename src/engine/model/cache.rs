//! The key-value cache of the sampler: memory for a number of blocks, taken once. Which sequence has which blocks, and
//! which sequences share one, is the sampler's business.

use crate::engine::compute::Compute;
use crate::engine::cuda::{Cuda, Memory, Recordings};
use crate::engine::error::EngineError;
use crate::engine::kernels::pages::zeros;
use crate::engine::ops::attention::Heads;

/// Tokens in one block.
pub use crate::engine::kernels::attention::BLOCK;

/// Keys and values of the sequences being sampled.
#[derive(Debug)]
pub struct KvCache {
    layers: Vec<Layer>,
    /// Numbers in one block of a layer.
    len: usize,
    blocks: usize,
    compute: Compute,
    /// Passes over this cache that a device can repeat.
    recordings: Recordings,
}

/// The blocks of one layer, `[blocks, numbers of a block]`. On a device one more than may be used, for rows that only
/// fill a pass up.
#[derive(Debug)]
pub enum Layer {
    Host(Vec<f32>),
    Device(Memory),
}

impl KvCache {
    pub fn new(layers: usize, heads: Heads, blocks: usize, compute: &Compute) -> Result<Self, EngineError> {
        let len = match compute {
            Compute::Cpu => heads.block(),
            Compute::Cuda(_) => Cuda::cache_block(heads),
        };
        let layer = |_| match compute {
            Compute::Cpu => Ok(Layer::Host(zeros(blocks * len))),
            Compute::Cuda(cuda) => Ok(Layer::Device(cuda.activations((blocks + 1) * len)?)),
        };
        let layers = (0..layers).map(layer).collect::<Result<_, EngineError>>()?;
        Ok(Self { layers, len, blocks, compute: compute.clone(), recordings: Recordings::default() })
    }

    /// Bytes of one block over all layers.
    pub fn bytes_per_block(layers: usize, heads: Heads, compute: &Compute) -> usize {
        match compute {
            Compute::Cpu => layers * heads.block() * size_of::<f32>(),
            Compute::Cuda(cuda) => layers * Cuda::cache_block(heads) * cuda.kind().bytes(),
        }
    }

    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Copies one block, in all layers.
    pub fn copy_block(&mut self, from: u32, to: u32) -> Result<(), EngineError> {
        let (len, from, to) = (self.len, from as usize, to as usize);
        for layer in &mut self.layers {
            match (layer, &self.compute) {
                (Layer::Host(values), _) => values.copy_within(from * len..(from + 1) * len, to * len),
                (Layer::Device(memory), Compute::Cuda(cuda)) => cuda.copy_within(memory, from * len, to * len, len)?,
                (Layer::Device(_), Compute::Cpu) => unreachable!("a device's cache is used on the CPU"),
            }
        }
        Ok(())
    }

    /// Calls `f` with the recorded passes and the block that nobody reads.
    pub(super) fn recorded<T>(&mut self, f: impl FnOnce(&mut Self, &mut Recordings, u32) -> T) -> T {
        let mut recordings = std::mem::take(&mut self.recordings);
        let spare = self.blocks as u32;
        let result = f(self, &mut recordings, spare);
        self.recordings = recordings;
        result
    }

    pub(super) fn layers(&mut self) -> &mut [Layer] {
        &mut self.layers
    }
}

impl Layer {
    pub fn host(&self) -> &[f32] {
        match self {
            Self::Host(values) => values,
            Self::Device(_) => unreachable!("a device's cache is used on the CPU"),
        }
    }

    pub fn device(&self) -> &Memory {
        match self {
            Self::Device(memory) => memory,
            Self::Host(_) => unreachable!("the CPU's cache is used on a device"),
        }
    }

    /// Puts the key and value of `row` (queries, keys and values side by side) at a position of a sequence.
    pub fn put(&mut self, heads: Heads, blocks: &[u32], position: usize, row: &[f32]) {
        if let Self::Host(values) = self {
            let block = blocks[position / BLOCK] as usize;
            heads.put(row, &mut values[block * heads.block()..][..heads.block()], position % BLOCK);
        }
    }
}
