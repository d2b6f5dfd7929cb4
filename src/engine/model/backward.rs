//! The decoder's backward pass, written out block by block from the last to the first. Compared with a recorded tape it
//! writes weight gradients where they are summed, frees every activation as soon as it is used, and can compute a
//! block's activations again instead of keeping them (Chen et al., arXiv 1604.06174).

use candle_core::Result;

use super::decoder::{Activations, Decoder, Final, Layer, Packed, Projection};
use crate::engine::ops::Buffer;
use crate::engine::ops::attention::packed_attention_backward;
use crate::engine::ops::embedding::scatter_add;
use crate::engine::ops::gate::gated_backward;
use crate::engine::ops::norm::{rms_norm_rows_again, rms_norm_rows_backward};
use crate::engine::optimizer::GradientSum;

/// A block as the backward pass finds it.
#[derive(Debug)]
enum Kept {
    Whole(Activations),
    /// Only its input; the rest is computed again.
    Input(Buffer),
}

/// A forward pass over whole sequences that a backward pass can follow.
#[derive(Debug)]
pub struct Pass {
    layers: Vec<Kept>,
    last: Final,
}

impl Pass {
    /// Final states `[N, hidden]`.
    pub fn hidden(&self) -> &[f32] {
        &self.last.normed.out
    }
}

impl Decoder {
    /// Runs whole sequences forward and keeps what the backward pass needs; with `recompute` only the blocks' inputs.
    pub fn pass(&self, packed: Packed<'_>, recompute: bool) -> Result<Pass> {
        let mut x = self.embed(packed.tokens)?;
        let mut layers = Vec::with_capacity(self.layers.len());
        for layer in &self.layers {
            let input = if recompute { Some(Buffer::copy(&x)) } else { None };
            let (activations, result) = self.packed_block(layer, x, packed, false);
            layers.push(input.map_or_else(|| Kept::Whole(activations), Kept::Input));
            x = result;
        }
        Ok(Pass { layers, last: self.finish(x) })
    }

    /// Adds to `sums` the gradients of all weights but the head's own share, for `grad: [N, hidden]`, that of the
    /// pass's final states.
    pub fn backward(&self, pass: Pass, packed: Packed<'_>, grad: &[f32], sums: &mut GradientSum) {
        let Pass { layers, last } = pass;
        let mut dx = Buffer::zeros(grad.len());
        self.norm_backward((&last.input, &last.normed.inverses), self.norm, grad, &mut dx, sums);
        drop(last);
        for (layer, kept) in self.layers.iter().zip(layers).rev() {
            let activations = match kept {
                Kept::Whole(activations) => activations,
                Kept::Input(input) => self.packed_block(layer, input, packed, false).0,
            };
            self.block_backward(layer, activations, packed, &mut dx, sums);
        }
        let width = self.config().hidden_size;
        let mut sum = sums.take(self.embedding, self.weights.len_of(self.embedding));
        if !sum.begun {
            sum.values.fill(0.0);
        }
        scatter_add(&mut sum.values, &dx, width, packed.tokens);
        sums.put(self.embedding, sum.values);
    }

    /// Turns the gradient of a block's result into that of its input.
    fn block_backward(
        &self,
        layer: &Layer,
        activations: Activations,
        packed: Packed<'_>,
        dx: &mut Buffer,
        sums: &mut GradientSum,
    ) {
        let Activations { input, input_inverses, rows, attended, middle, middle_inverses, mut gate_up } = activations;
        let again =
            |x: &[f32], inverses: &[f32], weight| rms_norm_rows_again(x, inverses, &self.weights.values(weight));

        let mut gated = self.input_gradient(&layer.down, dx);
        gated_backward(&mut gate_up, &mut gated, self.config().intermediate_size);
        self.weight_gradients(&layer.down, &gated, dx, sums);
        drop(gated);
        let grad = self.input_gradient(&layer.gate_up, &gate_up);
        let normed = again(&middle, &middle_inverses, layer.post_norm);
        self.weight_gradients(&layer.gate_up, &normed, &gate_up, sums);
        drop((normed, gate_up));
        self.norm_backward((&middle, &middle_inverses), layer.post_norm, &grad, dx, sums);
        drop((grad, middle));

        let grad = self.input_gradient(&layer.output, dx);
        self.weight_gradients(&layer.output, &attended.out, dx, sums);
        let mut of_rows = packed_attention_backward(&rows, &attended, &grad, self.heads, packed.boundaries);
        drop((rows, attended, grad));
        self.rotary.rotate_back(&mut of_rows, self.heads, packed.positions);
        let grad = self.input_gradient(&layer.attention, &of_rows);
        let normed = again(&input, &input_inverses, layer.input_norm);
        self.weight_gradients(&layer.attention, &normed, &of_rows, sums);
        self.norm_backward((&input, &input_inverses), layer.input_norm, &grad, dx, sums);
    }

    fn input_gradient(&self, projection: &Projection, dy: &[f32]) -> Buffer {
        self.with(projection, |weights| projection.linear.input_gradient(dy, weights))
    }

    pub(super) fn weight_gradients(&self, projection: &Projection, x: &[f32], dy: &[f32], sums: &mut GradientSum) {
        let mut own: Vec<_> = projection.weights.iter().map(|i| sums.take(*i, self.weights.len_of(*i))).collect();
        let mut targets: Vec<(&mut [f32], bool)> = own.iter_mut().map(|s| (&mut s.values[..], s.begun)).collect();
        projection.linear.weight_gradients(x, dy, &mut targets);
        projection.weights.iter().zip(own).for_each(|(index, sum)| sums.put(*index, sum.values));
    }

    fn norm_backward(
        &self,
        (x, inverses): (&[f32], &[f32]),
        weight: usize,
        grad: &[f32],
        dx: &mut [f32],
        sums: &mut GradientSum,
    ) {
        let mut sum = sums.take(weight, self.weights.len_of(weight));
        let values = self.weights.values(weight);
        rms_norm_rows_backward((x, inverses), &values, grad, dx, (&mut sum.values, sum.begun));
        sums.put(weight, sum.values);
    }
}
