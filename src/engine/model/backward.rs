//! The decoder's backward pass, written out block by block from the last to the first. Compared with a recorded tape it
//! writes weight gradients where they are summed, frees every activation as soon as it is used, and can compute a
//! block's activations again instead of keeping them (Chen et al., arXiv 1604.06174).

use super::decoder::{Activations, Decoder, Fed, Final, Rows};
use super::layers::{Adapted, Layer, Norms};
use crate::engine::backend::{Backend, How, Narrowed, Output, PackedRows};
use crate::engine::error::EngineError;
use crate::engine::ops::attention::Attended;
use crate::engine::ops::experts::Spread;
use crate::engine::projection::{Lengths, Norm};
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
    whole: Whole<'a, B>,
    layers: Vec<Kept<B::Array>>,
    last: Final<B::Array>,
    spread: Spread,
}

/// The sequences of a pass.
#[derive(Debug)]
pub(super) struct Whole<'a, B: Backend> {
    packed: PackedRows<'a, B>,
    /// Starts of the sequences and, last, the number of tokens.
    pub boundaries: &'a [usize],
    /// What each token adds of the balance of its experts, a layer, to the loss.
    pub balance: f32,
    /// What decides, row by row, what is dropped on its way to an adapter; nothing where nothing is.
    pub keys: &'a [u32],
}

impl<B: Backend> Whole<'_, B> {
    fn tokens(&self) -> usize {
        self.boundaries.last().copied().unwrap_or(0)
    }
}

impl<B: Backend> Pass<'_, B> {
    /// Final states `[N, hidden]`.
    pub fn hidden(&self) -> &B::Array {
        &self.last.normed.out
    }

    /// How its tokens spread over experts.
    pub fn spread(&self) -> &Spread {
        &self.spread
    }

    /// Adds to the loss `weight` times the sum over tokens and sparse layers of the balance of the token's sequence
    /// ([`experts`](crate::engine::ops::experts)).
    pub fn balanced(mut self, weight: f32) -> Self {
        self.whole.balance = weight;
        self
    }
}

impl<B: Backend> Decoder<B> {
    /// Runs whole sequences forward and keeps what the backward pass needs; with `recompute` only the blocks' inputs.
    pub fn pass<'a>(&self, packed: Packed<'a>, recompute: bool) -> Result<Pass<'a, B>, EngineError> {
        self.pass_dropping(packed, &[], recompute)
    }

    /// The same with an adapter whose dropout is decided by the `keys` of the rows.
    pub fn pass_dropping<'a>(
        &self,
        packed: Packed<'a>,
        keys: &'a [u32],
        recompute: bool,
    ) -> Result<Pass<'a, B>, EngineError> {
        self.check_tokens(packed.tokens)?;
        let boundaries = packed.boundaries;
        let packed = self.backend.packed(packed)?;
        let mut x = self.embed(&packed.tokens)?;
        let (mut layers, mut spread) = (Vec::with_capacity(self.layers.len()), Spread::default());
        for layer in &self.layers {
            let input = if recompute { Some(self.backend.copy(&x)?) } else { None };
            let (activations, result) = self.packed_block(layer, x, &packed, How { keep: false, keys })?;
            if let Fed::Experts { routes, .. } = &activations.fed {
                spread.add_layer(routes);
            }
            layers.push(input.map_or_else(|| Kept::Whole(Box::new(activations)), Kept::Input));
            x = result;
        }
        Ok(Pass { whole: Whole { packed, boundaries, balance: 0.0, keys }, layers, last: self.finish(x)?, spread })
    }

    /// Adds to `sums` the gradients of all weights that are trained but the head's own share, for `grad: [N, hidden]`,
    /// that of the pass's final states.
    pub fn backward(&self, pass: Pass<'_, B>, grad: &B::Array, sums: &mut B::Gradients) -> Result<(), EngineError> {
        let Pass { whole, layers, last, .. } = pass;
        let mut dx = self.backend.zeros(whole.tokens() * self.config().hidden_size)?;
        let factor = self.config().architecture.logits_scale;
        let scaled = if factor == 1.0 { None } else { Some(self.scaled(grad, factor)?) };
        let narrowed = self.backend.narrowed(scaled.as_ref().unwrap_or(grad))?;
        self.norm_backward((&last.input, &last.normed.inverses), self.norm, &narrowed, &mut dx, sums)?;
        drop(narrowed);
        drop(last);
        for (layer, kept) in self.layers.iter().zip(layers).rev() {
            let activations = match kept {
                Kept::Whole(activations) => *activations,
                Kept::Input(input) => {
                    let how = How { keep: false, keys: whole.keys };
                    self.packed_block(layer, input, &whole.packed, how)?.0
                }
            };
            self.block_backward(layer, activations, &whole, &mut dx, sums)?;
        }
        if self.adapter.is_some() {
            return Ok(());
        }
        self.scale(&mut dx, self.config().architecture.embedding_scale)?;
        let embedding = (self.weights.parameters(), self.embedding);
        self.backend.embedding_gradient(embedding, &whole.packed, &dx, sums)
    }

    /// Turns the gradient of a block's result into that of its input.
    fn block_backward(
        &self,
        layer: &Layer,
        activations: Activations<B::Array>,
        whole: &Whole<'_, B>,
        dx: &mut B::Array,
        sums: &mut B::Gradients,
    ) -> Result<(), EngineError> {
        let Activations { attention, rows, attended, feed, fed } = activations;
        let dy = self.behind_backward(feed.out, &layer.feed_norms, (dx, whole.tokens()), sums)?;
        let states = || self.states_again(&feed.input, feed.inverses.as_ref(), &layer.feed_norms);
        let grad = self.feed_backward((&layer.feed, fed), states, &dy, whole, sums)?;
        drop(dy);
        self.before_backward(&feed.input, feed.inverses.as_ref(), &layer.feed_norms, &grad, dx, sums)?;
        drop((grad, feed.input));

        let dy = self.behind_backward(attention.out, &layer.attention_norms, (dx, whole.tokens()), sums)?;
        let grad = self.input_gradient(&layer.output, &dy, whole.keys)?;
        self.weight_gradients(&layer.output, (&attended.out, whole.keys), &dy, sums)?;
        drop(dy);
        let of_rows = self.queries_backward(layer, rows, &attended, &grad, &whole.packed, sums)?;
        drop((attended, grad));
        let grad = self.input_gradient(&layer.attention, &of_rows, whole.keys)?;
        let states = self.states_again(&attention.input, attention.inverses.as_ref(), &layer.attention_norms)?;
        self.weight_gradients(&layer.attention, (&states, whole.keys), &of_rows, sums)?;
        drop(states);
        let (input, inverses) = (&attention.input, attention.inverses.as_ref());
        self.before_backward(input, inverses, &layer.attention_norms, &grad, dx, sums)
    }

    /// The gradient of what is projected, for `grad`, that of what attention gave.
    fn queries_backward(
        &self,
        layer: &Layer,
        rows: Rows<B::Array>,
        attended: &Attended<B::Array>,
        grad: &B::Array,
        packed: &PackedRows<'_, B>,
        sums: &mut B::Gradients,
    ) -> Result<B::Array, EngineError> {
        let backend = &self.backend;
        let (norms, heads) = (layer.head_norms.map(|norms| (self.weights.parameters(), norms)), layer.heads);
        let (raw, ready) = match (rows, norms) {
            (Rows::Raw(rows, inverses), Some(norms)) => {
                let mut ready = backend.norm_heads_again((&rows, &inverses), heads, norms)?;
                self.rotate(layer, &mut ready, &packed.tokens, false)?;
                (Some((rows, inverses, norms)), ready)
            }
            (Rows::Ready(rows) | Rows::Raw(rows, _), _) => (None, rows),
        };
        let mut of_rows = backend.packed_attention_backward(&ready, attended, grad, heads, packed)?;
        drop(ready);
        self.rotate(layer, &mut of_rows, &packed.tokens, true)?;
        if let Some((rows, inverses, norms)) = raw {
            let sums = self.of_base(sums);
            backend.norm_heads_backward((&rows, &inverses), heads, norms, &mut of_rows, sums)?;
        }
        Ok(of_rows)
    }

    /// The gradient of what came out of attention or the feed-forward part, before the norm behind it.
    fn behind_backward<'a>(
        &self,
        out: Option<(B::Array, B::Array)>,
        norms: &Norms,
        (dx, count): (&'a B::Array, usize),
        sums: &mut B::Gradients,
    ) -> Result<Narrowed<'a, B::Array>, EngineError> {
        let factor = self.config().architecture.residual_scale;
        let scaled = if factor == 1.0 { None } else { Some(self.scaled(dx, factor)?) };
        let (Some((out, inverses)), Some(norm)) = (out, norms.behind) else {
            return match scaled {
                Some(scaled) => Ok(Narrowed::Own(self.owned(scaled)?)),
                None => self.backend.narrowed(dx),
            };
        };
        let mut of_out = self.backend.zeros(count * self.config().hidden_size)?;
        let grad = self.backend.narrowed(scaled.as_ref().unwrap_or(dx))?;
        self.norm_backward((&out, &inverses), norm, &grad, &mut of_out, sums)?;
        Ok(Narrowed::Own(self.owned(of_out)?))
    }

    /// Adds to `dx` the gradient of what attention or the feed-forward part read, back through the norm before it.
    fn before_backward(
        &self,
        input: &B::Array,
        inverses: Option<&B::Array>,
        norms: &Norms,
        grad: &B::Array,
        dx: &mut B::Array,
        sums: &mut B::Gradients,
    ) -> Result<(), EngineError> {
        match (norms.before, inverses) {
            (Some(norm), Some(inverses)) => self.norm_backward((input, inverses), norm, grad, dx, sums),
            _ => self.backend.add(dx, grad),
        }
    }

    /// What attention or the feed-forward part read, once more.
    fn states_again(
        &self,
        input: &B::Array,
        inverses: Option<&B::Array>,
        norms: &Norms,
    ) -> Result<B::Array, EngineError> {
        match (norms.before, inverses) {
            (Some(norm), Some(inverses)) => self.backend.norm_again(input, inverses, self.of(norm)),
            _ => match self.backend.narrowed(input)? {
                Narrowed::Own(states) => Ok(states),
                Narrowed::Same(states) => self.backend.copy(states),
            },
        }
    }

    /// A copy with a factor.
    fn scaled(&self, x: &B::Array, factor: f32) -> Result<B::Array, EngineError> {
        let mut scaled = self.backend.copy(x)?;
        self.backend.scale(&mut scaled, factor)?;
        Ok(scaled)
    }

    /// Numbers of the residual stream in the kind that products read, where they are nobody else's.
    pub(super) fn owned(&self, x: B::Array) -> Result<B::Array, EngineError> {
        let narrowed = match self.backend.narrowed(&x)? {
            Narrowed::Own(narrowed) => Some(narrowed),
            Narrowed::Same(_) => None,
        };
        Ok(narrowed.unwrap_or(x))
    }

    /// Where gradients of the model's own weights are summed, if these are trained.
    fn of_base<'a>(&self, sums: &'a mut B::Gradients) -> Option<&'a mut B::Gradients> {
        self.adapter.is_none().then_some(sums)
    }

    pub(super) fn input_gradient(
        &self,
        projection: &Adapted,
        dy: &B::Array,
        keys: &[u32],
    ) -> Result<B::Array, EngineError> {
        let dy = &*self.before_lengths(projection, dy)?;
        let mut dx = self.backend.input_gradient(&projection.base, self.weights.parameters(), dy)?;
        if let Some((change, parameters)) = self.change(projection) {
            self.backend.change_input_gradient(change, parameters, dy, &mut dx, keys)?;
        }
        if let Some((taken, parameters)) = self.taken(projection) {
            self.backend.change_input_gradient(taken, parameters, dy, &mut dx, &[])?;
        }
        Ok(dx)
    }

    /// The gradient of a projection's result before an adapter gave its weights' rows other lengths.
    fn before_lengths<'a>(
        &self,
        projection: &Adapted,
        dy: &'a B::Array,
    ) -> Result<Narrowed<'a, B::Array>, EngineError> {
        let Some((change, lengths)) = self.lengths(projection) else { return Ok(Narrowed::Same(dy)) };
        let mut own = self.backend.copy(dy)?;
        self.backend.scale_columns(change, Lengths { biases: None, ..lengths }, &mut own)?;
        Ok(Narrowed::Own(own))
    }

    pub(super) fn weight_gradients(
        &self,
        projection: &Adapted,
        (x, keys): (&B::Array, &[u32]),
        dy: &B::Array,
        sums: &mut B::Gradients,
    ) -> Result<(), EngineError> {
        if let Some((change, lengths)) = self.lengths(projection) {
            let y = self.product(projection, x, Output::Activation, How { keep: false, keys })?;
            self.backend.magnitude_gradients(change, lengths, (&y, dy), sums)?;
        }
        let dy = &*self.before_lengths(projection, dy)?;
        if let Some((change, parameters)) = self.change(projection) {
            self.backend.change_weight_gradients(change, parameters, (x, keys), dy, sums)?;
        }
        match self.of_base(sums) {
            Some(sums) => self.backend.weight_gradients(&projection.base, self.weights.parameters(), (x, 0), dy, sums),
            None => Ok(()),
        }
    }

    fn norm_backward(
        &self,
        of: (&B::Array, &B::Array),
        norm: Norm,
        grad: &B::Array,
        dx: &mut B::Array,
        sums: &mut B::Gradients,
    ) -> Result<(), EngineError> {
        self.backend.norm_backward(of, self.of(norm), grad, dx, self.of_base(sums))
    }
}
