//! AdamW (Loshchilov and Hutter, arXiv 1711.05101) in one pass over each tensor, with f32 state that can be saved,
//! and clipping by the global gradient norm.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rayon::prelude::*;

use super::collective::Collective;
use super::cuda::Flat;
use super::error::EngineError;
use super::kernels::pages::{moved, zeros};
use super::kernels::update::{self, adamw, squares};
use super::model::weights::{FlatView, Weights};
use super::ops::Buffer;
use crate::job::spec::OptimizerSpec;

/// Numbers per parallel piece; fixed, so that sums do not depend on the number of threads.
const PIECE: usize = 1 << 16;

/// Gradients of a step, summed over its micro-batches, by the weights' places.
#[derive(Debug, Default)]
pub struct GradientSum {
    sums: Vec<Option<Buffer>>,
    /// All of them, side by side, when they are on a device.
    device: Option<Flat>,
}

/// One weight's sum on its way through a backward pass.
#[derive(Debug)]
pub struct Taken {
    pub values: Buffer,
    /// Whether it holds a sum already; otherwise its numbers mean nothing.
    pub begun: bool,
}

impl GradientSum {
    /// Takes out the sum of one weight of `len` numbers; [`Self::put`] brings it back.
    pub fn take(&mut self, index: usize, len: usize) -> Taken {
        match self.sums.get_mut(index).and_then(Option::take) {
            Some(values) => Taken { values, begun: true },
            None => Taken { values: Buffer::new(len), begun: false },
        }
    }

    pub fn put(&mut self, index: usize, values: Buffer) {
        if self.sums.len() <= index {
            self.sums.resize_with(index + 1, || None);
        }
        self.sums[index] = Some(values);
    }

    /// The sum of one weight, if any gradient reached it.
    pub fn get(&self, index: usize) -> Option<&[f32]> {
        self.sums.get(index)?.as_deref()
    }

    /// The sums on a device; zeros at first.
    pub fn on_device(&mut self, weights: &Weights) -> Result<&Flat, EngineError> {
        if self.device.is_none() {
            self.device = Some(weights.device().zeros()?);
        }
        self.device.as_ref().ok_or_else(|| EngineError::Internal(String::from("no gradients on the device")))
    }

    /// The sums on a device, if any gradient reached it.
    pub fn device(&self) -> Option<&Flat> {
        self.device.as_ref()
    }

    /// All numbers in a row, tensor after tensor.
    fn flat(&self) -> Result<Vec<f32>, EngineError> {
        match &self.device {
            Some(flat) => Ok(flat.read()?),
            None => Ok(self.sums.iter().flatten().flat_map(|sum| sum.iter().copied()).collect()),
        }
    }

    /// Adds up the sums of all ranks of a job, as one flat piece.
    pub fn sum_over_ranks(&mut self, weights: &Weights, ranks: &dyn Collective) -> Result<(), EngineError> {
        if ranks.size() == 1 {
            return Ok(());
        }
        if weights.compute().is_asynchronous() {
            return ranks.sum_on_device(self.on_device(weights)?);
        }
        let mut flat = Vec::with_capacity(weights.parameter_count());
        for index in 0..weights.count() {
            match self.get(index) {
                Some(sum) => flat.extend_from_slice(sum),
                // A rank without a micro-batch.
                None => flat.resize(flat.len() + weights.len_of(index), 0.0),
            }
        }
        ranks.sum(&mut flat)?;
        let mut rest = &flat[..];
        for index in 0..weights.count() {
            let (own, behind) = rest.split_at(weights.len_of(index));
            rest = behind;
            self.put(index, Buffer::copy(own));
        }
        Ok(())
    }

    /// The Euclidean norm over all tensors, after multiplying by `scale`.
    pub fn norm(&self, scale: f64) -> Result<f64, EngineError> {
        if let Some(flat) = &self.device {
            return Ok(flat.squares()?.sqrt() * scale);
        }
        let values = self.sums.iter().flatten();
        let pieces: Vec<f64> = values.flat_map(|sum| sum.par_chunks(PIECE).map(squares).collect::<Vec<_>>()).collect();
        Ok(pieces.iter().sum::<f64>().sqrt() * scale)
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
    pub fn add(&mut self, gradient: &GradientSum, scale: f64) -> Result<(), EngineError> {
        let flat = gradient.flat()?;
        let values = || flat.iter().map(|g| f64::from(*g) * scale);
        self.sum.resize(flat.len(), 0.0);
        self.sum.iter_mut().zip(values()).for_each(|(sum, value)| *sum += value);
        self.squares += values().map(|value| value * value).sum::<f64>();
        self.count += 1.0;
        Ok(())
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
    /// First and second moments of all weights, when those are on a device.
    device: Option<[Flat; 2]>,
}

impl AdamW {
    pub fn new(spec: &OptimizerSpec) -> Self {
        Self { spec: spec.clone(), taken: 0, moments: BTreeMap::new(), device: None }
    }

    /// One update with `gradients * scale`, whose global norm is `norm`, clipped to the spec's. A weight without
    /// gradient is an internal error, because every weight takes part in every forward pass.
    pub fn step(
        &mut self,
        weights: &Weights,
        gradients: &GradientSum,
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
        // Norm weights are vectors; decay is for matrices.
        let [matrix, vector] = [update(self.spec.weight_decay), update(0.0)];
        if weights.compute().is_asynchronous() {
            self.step_on_device(weights, gradients, [matrix, vector])?;
            weights.changed();
            return Ok(());
        }
        for index in 0..weights.count() {
            let name = weights.name(index);
            let Some(gradient) = gradients.get(index) else {
                return Err(EngineError::Internal(format!("no gradient reached `{name}`")));
            };
            let moments = self
                .moments
                .entry(name.to_owned())
                .or_insert_with(|| Moments { first: zeros(gradient.len()), second: zeros(gradient.len()) });
            let mut values = weights.values_mut(index);
            if [gradient.len(), moments.first.len(), moments.second.len()] != [values.len(); 3] {
                let detail = format!("the optimizer's state of `{name}` has another size than the weight");
                return Err(EngineError::Internal(detail));
            }
            let update = if weights.shape(index).len() > 1 { matrix } else { vector };
            values
                .par_chunks_mut(PIECE)
                .zip(moments.first.par_chunks_mut(PIECE))
                .zip(moments.second.par_chunks_mut(PIECE))
                .zip(gradient.par_chunks(PIECE))
                .for_each(|(((w, m), v), g)| adamw(w, m, v, g, update));
        }
        weights.changed();
        Ok(())
    }

    fn step_on_device(
        &mut self,
        weights: &Weights,
        gradients: &GradientSum,
        updates: [update::AdamW; 2],
    ) -> Result<(), EngineError> {
        let Some(sums) = &gradients.device else {
            return Err(EngineError::Internal(String::from("no gradient reached the device")));
        };
        let parameters = weights.device();
        if self.device.is_none() {
            let moments = [parameters.zeros()?, parameters.zeros()?];
            // What a checkpoint brought.
            for index in 0..weights.count() {
                if let Some(known) = self.moments.remove(weights.name(index)) {
                    moments[0].write(index, &known.first)?;
                    moments[1].write(index, &known.second)?;
                }
            }
            self.device = Some(moments);
        }
        if let Some(moments) = &self.device {
            parameters.update(sums, moments, updates)?;
        }
        Ok(())
    }

    /// The state as named tensors (`first.<name>`, `second.<name>`) for a checkpoint, and the steps taken.
    pub fn state<'a>(&'a self, weights: &'a Weights) -> (u64, Vec<(String, FlatView<'a>)>) {
        let mut tensors = Vec::new();
        for (name, moments) in &self.moments {
            for (which, values) in [("first", &moments.first), ("second", &moments.second)] {
                let view = FlatView::new(values.len(), || Cow::Borrowed(&values[..]));
                tensors.push((format!("{which}.{name}"), view));
            }
        }
        for (which, flat) in ["first", "second"].into_iter().zip(self.device.iter().flatten()) {
            for index in 0..weights.count() {
                let view = FlatView::new(weights.len_of(index), move || Cow::Owned(flat.read_one(index)));
                tensors.push((format!("{which}.{}", weights.name(index)), view));
            }
        }
        (self.taken, tensors)
    }

    /// Takes over a saved state.
    pub fn restore(&mut self, taken: u64, tensors: impl IntoIterator<Item = (String, Vec<f32>)>) {
        self.taken = taken;
        self.moments.clear();
        self.device = None;
        for (name, values) in tensors {
            if let Some(name) = name.strip_prefix("first.") {
                self.moments.entry(name.to_owned()).or_default().first = moved(values);
            } else if let Some(name) = name.strip_prefix("second.") {
                self.moments.entry(name.to_owned()).or_default().second = moved(values);
            }
        }
    }
}

#[cfg(test)]
mod tests {
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
        let weights = Weights::of("w", shape, vec![1.0, -2.0, 0.5, 3.0]);
        let mut optimizer = AdamW::new(spec);
        for _ in 0..20 {
            let mut sum = GradientSum::default();
            let mut taken = sum.take(0, 4);
            for (i, (g, w)) in taken.values.iter_mut().zip(weights.values(0).iter()).enumerate() {
                *g = 2.0 * w * (i as f32 + 1.0);
            }
            sum.put(0, taken.values);
            optimizer.step(&weights, &sum, 1.0, sum.norm(1.0).unwrap(), 0.1).unwrap();
        }
        weights.values(0).to_vec()
    }

    #[test]
    fn moments_are_those_of_the_definitions() {
        let gradients = [[1.0_f32, -2.0], [3.0, 0.0], [-1.0, 5.0]];
        let mut moments = GradientMoments::default();
        for g in &gradients {
            let sum = GradientSum { sums: vec![Some(Buffer::copy(&g.map(|x| x * 2.0)))], device: None };
            moments.add(&sum, 0.5).unwrap();
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
