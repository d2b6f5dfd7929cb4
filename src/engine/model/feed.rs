//! The feed-forward part of a block: a gated unit, or experts of which each token visits some. An expert's tokens are
//! gathered, go through its unit together, and are added to the result with their weights, expert after expert: so a
//! token's result does not depend on its company.

use super::backward::Whole;
use super::decoder::{Decoder, Fed};
use super::layers::{Feed, Gated};
use crate::engine::backend::{Backend, How, Output};
use crate::engine::error::EngineError;
use crate::engine::ops::experts::{Routes, Visit};

/// The keys of some rows, where rows have keys.
fn keys_of(keys: &[u32], rows: &[u32]) -> Vec<u32> {
    rows.iter().filter_map(|row| keys.get(*row as usize).copied()).collect()
}

impl<B: Backend> Decoder<B> {
    /// What is added to the residual stream for `states: [N, hidden]`.
    pub(super) fn feed(
        &self,
        feed: &Feed,
        states: &B::Array,
        how: How<'_>,
    ) -> Result<(B::Array, Fed<B::Array>), EngineError> {
        let (router, experts, kind) = match feed {
            Feed::Dense(unit) => {
                let (out, gate_up) = self.gated(unit, states, Output::Sum, how)?;
                return Ok((out, Fed::Dense(gate_up)));
            }
            Feed::Experts { router, experts, kind } => (router, experts, kind),
        };
        let (backend, hidden) = (&self.backend, self.config().hidden_size);
        let logits = backend.to_host(&self.project(router, states, Output::Sum, how)?)?;
        let routes = Routes::new(&logits, *kind);
        let mut sum = backend.zeros(logits.len() / kind.count * hidden)?;
        let mut gate_ups = Vec::with_capacity(experts.len());
        for (unit, Visit { rows, weights, .. }) in experts.iter().zip(routes.visits()) {
            if rows.is_empty() {
                gate_ups.push(None);
                continue;
            }
            let own = backend.gather(states, hidden, &rows)?;
            let how = How { keys: &keys_of(how.keys, &rows), ..how };
            let (mut out, gate_up) = self.gated(unit, &own, Output::Activation, how)?;
            backend.scale_rows(&mut out, hidden, &weights)?;
            backend.scatter_add(&mut sum, &out, hidden, &rows)?;
            gate_ups.push(Some(gate_up));
        }
        Ok((sum, Fed::Experts { routes, gate_ups }))
    }

    /// A gated unit's result, and its gate and up.
    fn gated(
        &self,
        unit: &Gated,
        states: &B::Array,
        into: Output,
        how: How<'_>,
    ) -> Result<(B::Array, B::Array), EngineError> {
        let gate_up = self.project(&unit.gate_up, states, Output::Activation, how)?;
        let gated = self.backend.gated(&gate_up, unit.width, self.config().architecture.activation)?;
        Ok((self.project(&unit.down, &gated, into, how)?, gate_up))
    }

    /// The gradient of `states` for `dy`, that of the result; those of the weights are added to `sums`.
    pub(super) fn feed_backward(
        &self,
        (feed, fed): (&Feed, Fed<B::Array>),
        states: impl FnOnce() -> Result<B::Array, EngineError>,
        dy: &B::Array,
        whole: &Whole<'_, B>,
        sums: &mut B::Gradients,
    ) -> Result<B::Array, EngineError> {
        let activation = self.config().architecture.activation;
        match (feed, fed) {
            (Feed::Dense(unit), Fed::Dense(mut gate_up)) => {
                let mut gated = self.input_gradient(&unit.down, dy, whole.keys)?;
                self.backend.gated_backward(&mut gate_up, &mut gated, unit.width, activation)?;
                self.weight_gradients(&unit.down, (&gated, whole.keys), dy, sums)?;
                drop(gated);
                let grad = self.input_gradient(&unit.gate_up, &gate_up, whole.keys)?;
                self.weight_gradients(&unit.gate_up, (&states()?, whole.keys), &gate_up, sums)?;
                Ok(grad)
            }
            (Feed::Experts { router, experts, .. }, Fed::Experts { routes, gate_ups }) => {
                let (backend, hidden, states) = (&self.backend, self.config().hidden_size, states()?);
                let mut of_weights = routes.zeros();
                let mut sum = backend.zeros(of_weights.len() / routes.active() * hidden)?;
                for ((unit, visit), gate_up) in experts.iter().zip(routes.visits()).zip(gate_ups) {
                    let (own, mut dy) =
                        (backend.gather(&states, hidden, &visit.rows)?, backend.gather(dy, hidden, &visit.rows)?);
                    let Some(mut gate_up) = gate_up else {
                        // Nothing, but a gradient.
                        self.weight_gradients(&unit.down, (&own, &[]), &dy, sums)?;
                        self.weight_gradients(&unit.gate_up, (&own, &[]), &dy, sums)?;
                        continue;
                    };
                    let keys = keys_of(whole.keys, &visit.rows);
                    let mut gated = self.input_gradient(&unit.down, &dy, &keys)?;
                    let result = backend.gated(&gate_up, unit.width, activation)?;
                    visit.give(&backend.row_products(&gated, &result, unit.width)?, &mut of_weights);
                    drop(result);
                    backend.scale_rows(&mut gated, unit.width, &visit.weights)?;
                    backend.scale_rows(&mut dy, hidden, &visit.weights)?;
                    backend.gated_backward(&mut gate_up, &mut gated, unit.width, activation)?;
                    self.weight_gradients(&unit.down, (&gated, &keys), &dy, sums)?;
                    let grad = self.input_gradient(&unit.gate_up, &gate_up, &keys)?;
                    self.weight_gradients(&unit.gate_up, (&own, &keys), &gate_up, sums)?;
                    backend.scatter_add(&mut sum, &grad, hidden, &visit.rows)?;
                }
                let mut of_logits = routes.logits_gradient(&of_weights);
                if whole.balance != 0.0 {
                    routes.add_balance(&mut of_logits, whole.boundaries, whole.balance);
                }
                let of_logits = self.owned(backend.brought(&of_logits)?)?;
                self.weight_gradients(router, (&states, whole.keys), &of_logits, sums)?;
                backend.add(&mut sum, &self.input_gradient(router, &of_logits, whole.keys)?)?;
                self.owned(sum)
            }
            _ => Err(EngineError::Internal(String::from("a layer was computed as another kind of layer"))),
        }
    }
}
