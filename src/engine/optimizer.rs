//! AdamW (Loshchilov and Hutter, arXiv 1711.05101) in one pass over each tensor, with f32 state that can be saved,
//! and clipping by the global gradient norm.

use std::collections::HashMap;

use super::backend::Backend;
use super::cpu::Cpu;
use super::error::EngineError;
use super::kernels::update;
use super::model::weights::{NamedTensors, TensorView, Weights};
use crate::job::spec::{OptimizerSpec, WeightDtype};

/// First and second moments by the names that checkpoints have for them.
const MOMENTS: [&str; 2] = ["first", "second"];

/// The optimizer and its state.
#[derive(Debug)]
pub struct AdamW<B: Backend = Cpu> {
    spec: OptimizerSpec,
    /// Steps taken; the bias correction depends on it.
    taken: u64,
    /// First and second moments, from the first step on.
    moments: Option<[B::Moments; 2]>,
}

impl<B: Backend> AdamW<B> {
    pub fn new(spec: &OptimizerSpec) -> Self {
        Self { spec: spec.clone(), taken: 0, moments: None }
    }

    /// One update with `gradients * scale`, whose global norm is `norm`, clipped to the spec's.
    pub fn step(
        &mut self,
        weights: &Weights<B>,
        gradients: &B::Gradients,
        scale: f64,
        norm: f64,
        learning_rate: f64,
    ) -> Result<(), EngineError> {
        let limit = self.spec.max_grad_norm;
        let clip = if limit > 0.0 && norm > limit { limit / norm } else { 1.0 };
        self.taken += 1;
        let (beta1, beta2) = (self.spec.beta1, self.spec.beta2);
        let correction = |beta: f64, taken: u64| 1.0 - beta.powf(taken as f64);
        let update = |decay: f64| update::AdamW {
            scale: (scale * clip) as f32,
            beta1: beta1 as f32,
            beta2: beta2 as f32,
            step_size: (learning_rate / correction(beta1, self.taken)) as f32,
            root_correction: correction(beta2, self.taken).sqrt() as f32,
            eps: self.spec.eps as f32,
            keep: (1.0 - learning_rate * decay) as f32,
        };
        let (backend, parameters) = (weights.backend(), weights.parameters());
        let moments = match &mut self.moments {
            Some(moments) => moments,
            none @ None => {
                let zeros = || backend.moments(parameters, vec![None; weights.count()]);
                none.insert([zeros()?, zeros()?])
            }
        };
        // Norm weights are vectors; decay is for matrices.
        backend.update(parameters, gradients, moments, [update(self.spec.weight_decay), update(0.0)])
    }

    /// The state as named tensors (`first.<name>`, `second.<name>`) for a checkpoint, and the steps taken.
    pub fn state<'a>(&'a self, weights: &'a Weights<B>) -> (u64, NamedTensors<'a, B::Moments>) {
        let mut tensors = Vec::new();
        for (which, numbers) in MOMENTS.into_iter().zip(self.moments.iter().flatten()) {
            tensors.extend((0..weights.count()).map(|index| {
                let (shape, dtype) = (vec![weights.len_of(index)], WeightDtype::F32);
                (format!("{which}.{}", weights.name(index)), TensorView { numbers, index, shape, dtype })
            }));
        }
        (self.taken, tensors)
    }

    /// Takes over a saved state.
    pub fn restore(
        &mut self,
        weights: &Weights<B>,
        taken: u64,
        mut tensors: HashMap<String, Vec<f32>>,
    ) -> Result<(), EngineError> {
        let mut known = |which: &str| -> Result<Vec<Option<Vec<f32>>>, EngineError> {
            let of = |index: usize| {
                let name = format!("{which}.{}", weights.name(index));
                match tensors.remove(&name) {
                    Some(values) if values.len() != weights.len_of(index) => Err(EngineError::InvalidData {
                        code: "checkpoint_corrupt",
                        detail: format!("the optimizer's `{name}` has another size than the weight"),
                    }),
                    values => Ok(values),
                }
            };
            (0..weights.count()).map(of).collect()
        };
        let [first, second] = [known(MOMENTS[0])?, known(MOMENTS[1])?];
        let moments = |known| weights.backend().moments(weights.parameters(), known);
        let has_begun = first.iter().chain(&second).any(Option::is_some);
        self.moments = if has_begun { Some([moments(first)?, moments(second)?]) } else { None };
        self.taken = taken;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::gradients::GradientSum;

    /// AdamW in float64 from the paper's algorithm 2.
    fn reference(steps: usize, spec: &OptimizerSpec, decay: f64) -> Vec<f64> {
        let mut w = vec![1.0, -2.0, 0.5, 3.0];
        let (mut m, mut v) = ([0.0; 4], [0.0; 4]);
        for t in 1..=steps {
            let g: Vec<f64> = w.iter().enumerate().map(|(i, x)| 2.0 * x * (i as f64 + 1.0)).collect();
            let norm = g.iter().map(|x| x * x).sum::<f64>().sqrt();
            let clip = if norm > spec.max_grad_norm { spec.max_grad_norm / norm } else { 1.0 };
            for i in 0..4 {
                let g = g[i] * clip;
                m[i] = spec.beta1 * m[i] + (1.0 - spec.beta1) * g;
                v[i] = spec.beta2 * v[i] + (1.0 - spec.beta2) * g * g;
                let m_hat = m[i] / (1.0 - spec.beta1.powi(t as i32));
                let v_hat = v[i] / (1.0 - spec.beta2.powi(t as i32));
                w[i] -= 0.1 * (m_hat / (v_hat.sqrt() + spec.eps) + decay * w[i]);
            }
        }
        w
    }

    fn run(shape: &[usize], spec: &OptimizerSpec) -> Vec<f32> {
        let weights = Weights::of("w", shape, vec![1.0, -2.0, 0.5, 3.0]);
        let mut optimizer = AdamW::new(spec);
        for _ in 0..20 {
            let mut sum = GradientSum::default();
            let mut taken = sum.take(0, 4);
            for (i, (g, w)) in taken.values.iter_mut().zip(weights.values(0).iter()).enumerate() {
                *g = 2.0 * w * (i as f32 + 1.0);
            }
            sum.put(0, taken.values);
            optimizer.step(&weights, &sum, 1.0, sum.norm(1.0), 0.1).unwrap();
        }
        weights.values(0).to_vec()
    }

    #[test]
    fn twenty_clipped_steps_match_float64_and_vectors_are_not_decayed() {
        let spec = OptimizerSpec { weight_decay: 0.1, max_grad_norm: 5.0, ..OptimizerSpec::default() };
        for (shape, decay) in [(vec![2, 2], 0.1), (vec![4], 0.0)] {
            for (got, want) in run(&shape, &spec).iter().zip(reference(20, &spec, decay)) {
                assert!((f64::from(*got) - want).abs() < 1e-4, "{got} against {want}");
            }
        }
    }
}
