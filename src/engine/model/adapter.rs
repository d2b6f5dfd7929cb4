//! A low-rank adapter (LoRA, arXiv 2106.09685): pairs of factors beside a model's weights, which stay as they are.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::reader::Safetensors;
use super::weights::Weights;
use crate::engine::backend::{Backend, Storage, Tensors, Usage};
use crate::engine::error::EngineError;
use crate::engine::kernels::gemm::Precision;
use crate::engine::ops::linear::Linear;
use crate::engine::projection::{LowRank, Projection, Up};
use crate::engine::random::{Purpose, Stream};
use crate::job::adapter::{AdapterInit, Lora};
use crate::modelfile::adapter::{self, Factor, WEIGHTS, factor_name};
use crate::modelfile::config::ModelConfig;

/// The factors of an adapter, and how they are used.
#[derive(Debug)]
pub struct Adapter<B: Storage> {
    weights: Arc<Weights<B>>,
    rank: usize,
    scale: f32,
}

impl<B: Storage> Clone for Adapter<B> {
    /// The same adapter: it follows every change.
    fn clone(&self) -> Self {
        Self { weights: Arc::clone(&self.weights), rank: self.rank, scale: self.scale }
    }
}

/// Where an adapter comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// It is drawn from a seed.
    New { lora: Lora, seed: u64 },
    /// It lies in a directory, and must be what a job expects, if one does.
    Stored { directory: PathBuf, lora: Option<Lora> },
}

impl<B: Backend> Adapter<B> {
    /// An adapter for a model with the given configuration.
    pub fn load(backend: &Arc<B>, config: &ModelConfig, origin: &Origin) -> Result<Self, EngineError> {
        match origin {
            Origin::New { lora, seed } => Self::new(backend, config, lora, *seed),
            Origin::Stored { directory, lora } => {
                let (adapter, found) = Self::read(backend, config, directory)?;
                let Some(lora) = lora else { return Ok(adapter) };
                let differs = found.rank != lora.rank || found.scale() != lora.scale();
                if differs || targets(config, &found)? != targets(config, lora)? {
                    let detail = String::from("it has another rank, scale or other targets than the job");
                    return Err(mismatch(directory, &detail));
                }
                Ok(adapter)
            }
        }
    }

    /// A new adapter, which changes nothing yet.
    fn new(backend: &Arc<B>, config: &ModelConfig, lora: &Lora, seed: u64) -> Result<Self, EngineError> {
        let specs = config.factors(lora).map_err(|error| invalid(error.to_string()))?;
        let firsts = specs.iter().take(specs.len() / 2).map(|spec| spec.name.clone());
        let numbers: HashMap<String, u64> = firsts.zip(0..).collect();
        let rank = lora.rank as usize;
        let weights = Weights::of_tensors(backend, config, specs, Usage::Training, &mut |spec| {
            let count: usize = spec.shape.iter().product();
            let Some(number) = numbers.get(&spec.name) else { return Ok(vec![0.0; count]) };
            let stream = Stream::new(seed, Purpose::Adapter, *number);
            let bound = 1.0 / (spec.shape[1] as f64).sqrt();
            let draw = |index: u64| match lora.init {
                AdapterInit::Kaiming => (2.0 * stream.uniform(index, 0, 0) - 1.0) * bound,
                AdapterInit::ZeroB => stream.normal(index) / rank as f64,
            };
            Ok((0..count as u64).map(|index| draw(index) as f32).collect())
        })?;
        Ok(Self { weights: Arc::new(weights), rank, scale: lora.scale() })
    }

    /// An adapter as the Python package peft keeps it.
    fn read(backend: &Arc<B>, config: &ModelConfig, directory: &Path) -> Result<(Self, Lora), EngineError> {
        let lora = adapter::inspect(directory, config)?;
        let specs = config.factors(&lora).map_err(|error| mismatch(directory, &error.to_string()))?;
        let files = Safetensors::open(&[directory.join(WEIGHTS)])?;
        let weights = Weights::of_tensors(backend, config, specs, Usage::Training, &mut |spec| {
            let values = files.read(&spec.name)?.values;
            match values.iter().all(|value| value.is_finite()) {
                true => Ok(values),
                false => Err(EngineError::InvalidData {
                    code: "adapter_not_finite",
                    detail: format!("`{}` in {} has a number that is not finite", spec.name, directory.display()),
                }),
            }
        })?;
        let adapter = Self { weights: Arc::new(weights), rank: lora.rank as usize, scale: lora.scale() };
        Ok((adapter, lora))
    }

    pub fn weights(&self) -> &Arc<Weights<B>> {
        &self.weights
    }

    /// What it changes of a product with the given weights of the model; nothing where none of them is adapted.
    pub(super) fn change(
        &self,
        base: &Weights<B>,
        own: &[usize],
        precision: Precision,
    ) -> Result<Option<LowRank>, EngineError> {
        let (mut downs, mut ups, mut output) = (Vec::new(), Vec::new(), 0);
        for index in own {
            let (name, width) = (base.name(*index), base.shape(*index)[0]);
            if let Ok(down) = self.weights.index(&factor_name(name, Factor::A)) {
                downs.push(down);
                let weights = vec![self.weights.index(&factor_name(name, Factor::B))?];
                let linear = Linear::new(self.rank, width, precision);
                ups.push(Up { projection: Projection { linear, weights, biases: Vec::new() }, first: output });
            }
            output += width;
        }
        let Some(first) = downs.first() else { return Ok(None) };
        let linear = Linear::new(self.weights.shape(*first)[1], downs.len() * self.rank, precision);
        let down = Projection { linear, weights: downs, biases: Vec::new() };
        Ok(Some(LowRank { down, ups, rank: self.rank, scale: self.scale, output }))
    }

    /// Adds the change to the numbers of a weight `[out, in]`, if it is adapted, in float64.
    pub fn merge(&self, name: &str, values: &mut [f32]) {
        let places = [Factor::A, Factor::B].map(|factor| self.weights.index(&factor_name(name, factor)));
        let [Ok(a), Ok(b)] = places else { return };
        let input = self.weights.shape(a)[1];
        let parameters = self.weights.parameters();
        let (a, b) = (parameters.read(a, <[f32]>::to_vec), parameters.read(b, <[f32]>::to_vec));
        for (row, b) in values.chunks_exact_mut(input).zip(b.chunks_exact(self.rank)) {
            let mut change = vec![0.0_f64; input];
            for (factor, a) in b.iter().zip(a.chunks_exact(input)) {
                change.iter_mut().zip(a).for_each(|(sum, a)| *sum += f64::from(*factor) * f64::from(*a));
            }
            let scale = f64::from(self.scale);
            row.iter_mut().zip(change).for_each(|(value, sum)| *value = (f64::from(*value) + scale * sum) as f32);
        }
    }
}

fn targets(config: &ModelConfig, lora: &Lora) -> Result<Vec<String>, EngineError> {
    let adapted = config.adapted(&lora.targets).map_err(|error| invalid(error.to_string()))?;
    Ok(adapted.into_iter().map(|tensor| tensor.name).collect())
}

fn invalid(detail: String) -> EngineError {
    EngineError::InvalidData { code: "adapter_mismatch", detail }
}

fn mismatch(directory: &Path, detail: &str) -> EngineError {
    invalid(format!("the adapter in {} is not for this job: {detail}", directory.display()))
}
