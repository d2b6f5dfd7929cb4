//! The decoder's backward pass, written out block by block from the last to the first. Compared with a recorded tape it
//! writes weight gradients where they are summed, frees every activation as soon as it is used, and can compute a
//! block's activations again instead of keeping them (Chen et al., arXiv 1604.06174).

use super::decoder::{Activations, Decoder, Final, Layer};
use crate::engine::backend::{Backend, PackedRows};
use crate::engine::error::EngineError;
use crate::engine::projection::Projection;
use crate::engine::rows::Packed;

/// A block as the backward pass finds it.
#[derive(Debug)]
enum Kept<A> {
    Whole(Box<Activations<A>>),
    /// Only its input; the rest is computed again.
    Input(A),
}

/// A forward pass over whole sequences that a backward pass can follow.
#[derive(Debug)]
pub struct Pass<'a, B: Backend> {
    packed: PackedRows<'a, B>,
    /// Tokens.
    count: usize,
    layers: Vec<Kept<B::Array>>,
    last: Final<B::Array>,
}

impl<B: Backend> Pass<'_, B> {
    /// Final states `[N, hidden]`.
    pub fn hidden(&self) -> &B::Array {
        &self.last.normed.out
    }
}

impl<B: Backend> Decoder<B> {
    /// Runs whole sequences forward and keeps what the backward pass needs; with `recompute` only the blocks' inputs.
    pub fn pass<'a>(&self, packed: Packed<'a>, recompute: bool) -> Result<Pass<'a, B>, EngineError> {
        self.check_tokens(packed.tokens)?;
        let count = packed.tokens.len();
        let packed = self.backend.packed(packed)?;
        let mut x = self.embed(&packed.tokens)?;
        let mut layers = Vec::with_capacity(self.layers.len());
        for layer in &self.layers {
            let input = if recompute { Some(self.backend.copy(&x)?) } else { None };
            let (activations, result) = self.packed_block(layer, x, &packed, false)?;
            layers.push(input.map_or_else(|| Kept::Whole(Box::new(activations)), Kept::Input));
            x = result;
        }
        Ok(Pass { packed, count, layers, last: self.finish(x)? })
    }

    /// Adds to `sums` the gradients of all weights but the head's own share, for `grad: [N, hidden]`, that of the
    /// pass's final states.
    pub fn backward(&self, pass: Pass<'_, B>, grad: &B::Array, sums: &mut B::Gradients) -> Result<(), EngineError> {
        let Pass { packed, count, layers, last } = pass;
        let mut dx = self.backend.zeros(count * self.config().hidden_size)?;
        let narrowed = self.backend.narrowed(grad)?;
        self.norm_backward((&last.input, &last.normed.inverses), self.norm, &narrowed, &mut dx, sums)?;
        drop(last);
        for (layer, kept) in self.layers.iter().zip(layers).rev() {
            let activations = match kept {
                Kept::Whole(activations) => *activations,
                Kept::Input(input) => self.packed_block(layer, input, &packed, false)?.0,
            };
            self.block_backward(layer, activations, &packed, &mut dx, sums)?;
        }
        self.backend.embedding_gradient(self.weight(self.embedding), &packed, &dx, sums)
    }

    /// Turns the gradient of a block's result into that of its input.
    fn block_backward(
        &self,
        layer: &Layer,
        activations: Activations<B::Array>,
        packed: &PackedRows<'_, B>,
        dx: &mut B::Array,
        sums: &mut B::Gradients,
    ) -> Result<(), EngineError> {
        let Activations { input, input_inverses, rows, attended, middle, middle_inverses, mut gate_up } = activations;
        let backend = &self.backend;
        let again = |x: &B::Array, inverses: &B::Array, weight| backend.norm_again(x, inverses, self.weight(weight));

        let dy = backend.narrowed(dx)?;
        let mut gated = self.input_gradient(&layer.down, &dy)?;
        backend.gated_backward(&mut gate_up, &mut gated, self.config().intermediate_size)?;
        self.weight_gradients(&layer.down, &gated, &dy, sums)?;
        drop((gated, dy));
        let grad = self.input_gradient(&layer.gate_up, &gate_up)?;
        let normed = again(&middle, &middle_inverses, layer.post_norm)?;
        self.weight_gradients(&layer.gate_up, &normed, &gate_up, sums)?;
        drop((normed, gate_up));
        self.norm_backward((&middle, &middle_inverses), layer.post_norm, &grad, dx, sums)?;
        drop((grad, middle));

        let dy = backend.narrowed(dx)?;
        let grad = self.input_gradient(&layer.output, &dy)?;
        self.weight_gradients(&layer.output, &attended.out, &dy, sums)?;
        drop(dy);
        let mut of_rows = backend.packed_attention_backward(&rows, &attended, &grad, self.heads, packed)?;
        drop((rows, attended, grad));
        backend.rotate(&mut of_rows, self.heads, &packed.tokens, &self.rotary, true)?;
        let grad = self.input_gradient(&layer.attention, &of_rows)?;
        let normed = again(&input, &input_inverses, layer.input_norm)?;
        self.weight_gradients(&layer.attention, &normed, &of_rows, sums)?;
        self.norm_backward((&input, &input_inverses), layer.input_norm, &grad, dx, sums)
    }

    fn input_gradient(&self, projection: &Projection, dy: &B::Array) -> Result<B::Array, EngineError> {
        self.backend.input_gradient(projection, self.weights.parameters(), dy)
    }

    fn weight_gradients(
        &self,
        projection: &Projection,
        x: &B::Array,
        dy: &B::Array,
        sums: &mut B::Gradients,
    ) -> Result<(), EngineError> {
        self.backend.weight_gradients(projection, self.weights.parameters(), (x, 0), dy, sums)
    }

    fn norm_backward(
        &self,
        of: (&B::Array, &B::Array),
        weight: usize,
        grad: &B::Array,
        dx: &mut B::Array,
        sums: &mut B::Gradients,
    ) -> Result<(), EngineError> {
        self.backend.norm_backward(of, self.weight(weight), grad, dx, sums)
    }
}
