//! AdamW (Loshchilov and Hutter, arXiv 1711.05101) in one pass over each tensor, with f32 state that can be saved,
//! and clipping by the global gradient norm.

use std::collections::BTreeMap;

use candle_core::backprop::GradStore;
use candle_core::{CpuStorage, InplaceOp1, Layout, Result, Tensor, Var};
use rayon::prelude::*;

use crate::job::spec::OptimizerSpec;

/// Numbers per parallel piece; fixed, so that sums do not depend on the number of threads.
const PIECE: usize = 1 << 14;

/// Gradients of a step, summed over its micro-batches.
#[derive(Debug, Default)]
pub struct GradientSum {
    sums: BTreeMap<String, Vec<f32>>,
}

impl GradientSum {
    /// Adds the gradients of one backward pass; a tensor without gradient is an internal error, because every
    /// trainable tensor takes part in every forward pass.
    pub fn add<'a>(&mut self, vars: impl Iterator<Item = (&'a str, &'a Var)>, gradients: &GradStore) -> Result<()> {
        for (name, var) in vars {
            let Some(gradient) = gradients.get(var) else {
                candle_core::bail!("no gradient reached `{name}`");
            };
            let gradient = gradient.flatten_all()?.to_vec1::<f32>()?;
            match self.sums.get_mut(name) {
                None => {
                    self.sums.insert(name.to_owned(), gradient);
                }
                Some(sum) => sum.par_chunks_mut(PIECE).zip(gradient.par_chunks(PIECE)).for_each(|(s, g)| {
                    for (s, g) in s.iter_mut().zip(g) {
                        *s += g;
                    }
                }),
            }
        }
        Ok(())
    }

    /// The Euclidean norm over all tensors, after multiplying by `scale`.
    pub fn norm(&self, scale: f64) -> f64 {
        let square = |values: &[f32]| values.iter().map(|g| f64::from(*g) * f64::from(*g)).sum::<f64>();
        let pieces: Vec<f64> =
            self.sums.values().flat_map(|sum| sum.par_chunks(PIECE).map(square).collect::<Vec<_>>()).collect();
        pieces.iter().sum::<f64>().sqrt() * scale
    }

    pub fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }
}

/// Mean and spread of several gradients, without keeping them.
#[derive(Debug, Default)]
pub struct GradientMoments {
    count: f64,
    /// Sum of the gradients, tensor after tensor in the order of their names.
    sum: Vec<f64>,
    /// Sum of their squared norms.
    squares: f64,
}

impl GradientMoments {
    /// Takes in one gradient, multiplied by `scale`.
    pub fn add(&mut self, gradient: &GradientSum, scale: f64) {
        let values = || gradient.sums.values().flatten().map(|g| f64::from(*g) * scale);
        self.sum.resize(gradient.sums.values().map(Vec::len).sum(), 0.0);
        self.sum.iter_mut().zip(values()).for_each(|(sum, value)| *sum += value);
        self.squares += values().map(|value| value * value).sum::<f64>();
        self.count += 1.0;
    }

    /// The norm of the mean gradient.
    pub fn mean_norm(&self) -> f64 {
        self.sum.iter().map(|sum| sum * sum).sum::<f64>().sqrt() / self.count.max(1.0)
    }

    /// The mean over the gradients of `||g - mean g||^2`.
    pub fn variance(&self) -> f64 {
        (self.squares / self.count.max(1.0) - self.mean_norm().powi(2)).max(0.0)
    }
}

/// First and second moments of one tensor.
#[derive(Clone, Debug, Default)]
struct Moments {
    first: Vec<f32>,
    second: Vec<f32>,
}

/// The optimizer and its state.
#[derive(Debug)]
pub struct AdamW {
    spec: OptimizerSpec,
    /// Steps taken; the bias correction depends on it.
    taken: u64,
    moments: BTreeMap<String, Moments>,
}

impl AdamW {
    pub fn new(spec: &OptimizerSpec) -> Self {
        Self { spec: spec.clone(), taken: 0, moments: BTreeMap::new() }
    }

    /// One update with `gradients * scale`, clipped to the spec's global norm. Returns the norm before clipping.
    pub fn step<'a>(
        &mut self,
        vars: impl Iterator<Item = (&'a str, &'a Var)>,
        gradients: &GradientSum,
        scale: f64,
        learning_rate: f64,
    ) -> Result<f64> {
        let norm = gradients.norm(scale);
        let limit = self.spec.max_grad_norm;
        let clip = if limit > 0.0 && norm > limit { limit / norm } else { 1.0 };
        self.taken += 1;
        let (beta1, beta2) = (self.spec.beta1, self.spec.beta2);
        let correction = |beta: f64, taken: u64| 1.0 - beta.powf(taken as f64);
        for (name, var) in vars {
            let Some(gradient) = gradients.sums.get(name) else {
                candle_core::bail!("no gradient was summed for `{name}`");
            };
            let moments = self
                .moments
                .entry(name.to_owned())
                .or_insert_with(|| Moments { first: vec![0.0; gradient.len()], second: vec![0.0; gradient.len()] });
            // Norm weights are vectors; decay is for matrices.
            let decay = if var.rank() > 1 { self.spec.weight_decay } else { 0.0 };
            let update = Update {
                gradient,
                scale: (scale * clip) as f32,
                beta1: beta1 as f32,
                beta2: beta2 as f32,
                step_size: (learning_rate / correction(beta1, self.taken)) as f32,
                root_correction: correction(beta2, self.taken).sqrt() as f32,
                eps: self.spec.eps as f32,
                keep: (1.0 - learning_rate * decay) as f32,
                moments: std::sync::Mutex::new(moments),
            };
            var.inplace_op1(&update)?;
        }
        Ok(norm)
    }

    /// The state as named tensors (`first.<name>`, `second.<name>`) for a checkpoint, and the steps taken.
    pub fn state(&self) -> (u64, impl Iterator<Item = (String, &[f32])>) {
        let tensors = self.moments.iter().flat_map(|(name, moments)| {
            [(format!("first.{name}"), &moments.first[..]), (format!("second.{name}"), &moments.second[..])]
        });
        (self.taken, tensors)
    }

    /// Takes over a saved state.
    pub fn restore(&mut self, taken: u64, tensors: impl IntoIterator<Item = (String, Tensor)>) -> Result<()> {
        self.taken = taken;
        self.moments.clear();
        for (name, tensor) in tensors {
            let values = tensor.flatten_all()?.to_vec1::<f32>()?;
            if let Some(name) = name.strip_prefix("first.") {
                self.moments.entry(name.to_owned()).or_default().first = values;
            } else if let Some(name) = name.strip_prefix("second.") {
                self.moments.entry(name.to_owned()).or_default().second = values;
            }
        }
        Ok(())
    }
}

/// `m <- b1 m + (1-b1) g;  v <- b2 v + (1-b2) g^2;  w <- keep w - step m / (sqrt(v) / root_correction + eps)`.
struct Update<'a> {
    gradient: &'a [f32],
    scale: f32,
    beta1: f32,
    beta2: f32,
    step_size: f32,
    root_correction: f32,
    eps: f32,
    keep: f32,
    /// Behind a lock only because candle hands out `&self`; there is one user.
    moments: std::sync::Mutex<&'a mut Moments>,
}

impl InplaceOp1 for Update<'_> {
    fn name(&self) -> &'static str {
        "adamw"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let CpuStorage::F32(weights) = storage else { candle_core::bail!("adamw needs f32 weights") };
        let Some((start, end)) = layout.contiguous_offsets() else {
            candle_core::bail!("adamw needs contiguous weights")
        };
        let mut moments = self.moments.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Moments { first, second } = &mut **moments;
        if [self.gradient.len(), first.len(), second.len()] != [end - start; 3] {
            candle_core::bail!("adamw state has another size than the weights");
        }
        weights[start..end]
            .par_chunks_mut(PIECE)
            .zip(first.par_chunks_mut(PIECE))
            .zip(second.par_chunks_mut(PIECE))
            .zip(self.gradient.par_chunks(PIECE))
            .for_each(|(((weights, first), second), gradient)| {
                for (((w, m), v), g) in weights.iter_mut().zip(first).zip(second).zip(gradient) {
                    let g = g * self.scale;
                    *m = self.beta1 * *m + (1.0 - self.beta1) * g;
                    *v = self.beta2 * *v + (1.0 - self.beta2) * g * g;
                    *w = self.keep * *w - self.step_size * *m / (v.sqrt() / self.root_correction + self.eps);
                }
            });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

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
        let var =
            Var::from_tensor(&Tensor::from_slice(&[1.0_f32, -2.0, 0.5, 3.0], shape, &Device::Cpu).unwrap()).unwrap();
        let factors = Tensor::from_slice(&[1.0_f32, 2.0, 3.0, 4.0], shape, &Device::Cpu).unwrap();
        let mut optimizer = AdamW::new(spec);
        for _ in 0..20 {
            let loss = (var.as_tensor().sqr().unwrap() * &factors).unwrap().sum_all().unwrap();
            let mut sum = GradientSum::default();
            sum.add([("w", &var)].into_iter(), &loss.backward().unwrap()).unwrap();
            optimizer.step([("w", &var)].into_iter(), &sum, 1.0, 0.1).unwrap();
        }
        var.flatten_all().unwrap().to_vec1().unwrap()
    }

    #[test]
    fn moments_are_those_of_the_definitions() {
        let gradients = [[1.0_f32, -2.0], [3.0, 0.0], [-1.0, 5.0]];
        let mut moments = GradientMoments::default();
        for g in &gradients {
            let sum = GradientSum { sums: BTreeMap::from([(String::from("w"), g.map(|x| x * 2.0).to_vec())]) };
            moments.add(&sum, 0.5);
        }
        let mean = [1.0, 1.0];
        let spread = |g: &[f32; 2]| (0..2).map(|i| (f64::from(g[i]) - mean[i]).powi(2)).sum::<f64>();
        assert!((moments.mean_norm() - 2.0_f64.sqrt()).abs() < 1e-12);
        assert!((moments.variance() - gradients.iter().map(spread).sum::<f64>() / 3.0).abs() < 1e-12);
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
