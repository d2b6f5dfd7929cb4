//! The key-value cache of the sampler: one preallocated buffer per layer, divided into slots of equal capacity.

use candle_core::{Result, Tensor};

use crate::engine::ops::attention::{Heads, Span, attend};

/// Keys and values of the sequences being sampled.
#[derive(Debug)]
pub struct KvCache {
    /// Per layer `[slots * capacity, key-value heads * width]`.
    keys: Vec<Vec<f32>>,
    values: Vec<Vec<f32>>,
    slots: usize,
    capacity: usize,
}

impl KvCache {
    /// A cache for `slots` sequences of at most `capacity` tokens.
    pub fn new(layers: usize, heads: Heads, slots: usize, capacity: usize) -> Self {
        let buffer = || vec![vec![0.0; slots * capacity * heads.key_value_row()]; layers];
        Self { keys: buffer(), values: buffer(), slots, capacity }
    }

    /// Bytes that one token of one sequence takes.
    pub fn bytes_per_token(layers: usize, heads: Heads) -> usize {
        2 * layers * heads.key_value_row() * size_of::<f32>()
    }

    /// Copies the first `len` tokens of slot `from` to slot `to`: a prompt that several completions share is
    /// computed once.
    pub fn copy_prefix(&mut self, from: usize, to: usize, len: usize) {
        for buffer in self.keys.iter_mut().chain(&mut self.values) {
            let row = buffer.len() / (self.slots * self.capacity);
            let source = from * self.capacity * row;
            buffer.copy_within(source..source + len * row, to * self.capacity * row);
        }
    }

    /// Adds the rows of `k` and `v` (`[N, key-value heads, width]`) to their slots and attends with `q` to all tokens
    /// of the slot up to the row's position.
    pub(super) fn attend(
        &mut self,
        layer: usize,
        heads: Heads,
        [q, k, v]: [&Tensor; 3],
        slots: &[usize],
        positions: &[u32],
    ) -> Result<Tensor> {
        let flat = |t: &Tensor| t.flatten_all()?.to_vec1::<f32>();
        let (k, v, row) = (flat(k)?, flat(v)?, heads.key_value_row());
        let mut spans = Vec::with_capacity(slots.len());
        for (i, (slot, position)) in slots.iter().zip(positions).enumerate() {
            let position = *position as usize;
            if *slot >= self.slots || position >= self.capacity {
                candle_core::bail!("slot {slot}, position {position} is outside the key-value cache");
            }
            let at = (slot * self.capacity + position) * row;
            self.keys[layer][at..at + row].copy_from_slice(&k[i * row..][..row]);
            self.values[layer][at..at + row].copy_from_slice(&v[i * row..][..row]);
            spans.push(Span { first_row: slot * self.capacity, len: position + 1 });
        }
        let out = attend(&flat(q)?, &self.keys[layer], &self.values[layer], heads, &spans);
        Tensor::from_vec(out, q.shape(), q.device())
    }
}
