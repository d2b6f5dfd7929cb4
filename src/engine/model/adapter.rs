//! A low-rank adapter (LoRA, arXiv 2106.09685): pairs of factors beside a model's weights, which stay as they are.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::lengths::RowLengths;
use super::principal;
use super::reader::Safetensors;
use super::weights::Weights;
use crate::engine::backend::{Backend, Source, Storage, Tensors, Usage};
use crate::engine::cpu::Cpu;
use crate::engine::error::EngineError;
use crate::engine::kernels::gemm::Precision;
use crate::engine::ops::dropout::Dropout;
use crate::engine::ops::linear::Linear;
use crate::engine::projection::{LowRank, Magnitude, Projection, Up};
use crate::engine::random::{Purpose, Stream};
use crate::job::adapter::{AdapterInit, Lora};
use crate::job::spec::Masters;
use crate::modelfile::adapter::{self, Factor, WEIGHTS, factor_name};
use crate::modelfile::architecture::TensorSpec;
use crate::modelfile::config::ModelConfig;

/// The factors of an adapter, and how they are used.
#[derive(Debug)]
pub struct Adapter<B: Storage> {
    weights: Arc<Weights<B>>,
    /// Factors of what is taken from the model's weights in exchange, which stay as they are.
    taken: Option<Arc<Weights<B>>>,
    /// Of the rows of adapted weights, where lengths are trained.
    lengths: Option<Arc<RowLengths<B>>>,
    rank: usize,
    scale: f32,
    /// The share that is dropped in training passes.
    dropout: f64,
}

impl<B: Storage> Clone for Adapter<B> {
    /// The same adapter: it follows every change.
    fn clone(&self) -> Self {
        Self { weights: Arc::clone(&self.weights), taken: self.taken.clone(), lengths: self.lengths.clone(), ..*self }
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

impl Origin {
    /// Whether it changes no bit at first.
    pub fn is_nothing_yet(&self) -> bool {
        matches!(self, Self::New { lora, .. } if lora.init != AdapterInit::Pissa && !lora.dora)
    }
}

impl<B: Backend> Adapter<B> {
    /// An adapter for a model with the given configuration, whose weights `base` gives.
    pub fn load(
        backend: &Arc<B>,
        config: &ModelConfig,
        origin: &Origin,
        base: &mut dyn Source,
    ) -> Result<Self, EngineError> {
        match origin {
            Origin::New { lora, seed } if lora.init == AdapterInit::Pissa => {
                Self::principal(backend, config, lora, *seed, base)
            }
            Origin::New { lora, seed } => Self::new(backend, config, lora, *seed, base),
            Origin::Stored { directory, lora } => {
                let (adapter, found) = Self::read(backend, config, directory, base)?;
                let Some(lora) = lora else { return Ok(adapter) };
                let differs = found.rank != lora.rank || found.scale() != lora.scale() || found.dora != lora.dora;
                if differs || targets(config, &found)? != targets(config, lora)? {
                    let detail = String::from("it has another rank, scale or other targets than the job");
                    return Err(mismatch(directory, &detail));
                }
                Ok(Self { dropout: lora.dropout, ..adapter })
            }
        }
    }

    /// A new adapter, which changes nothing yet.
    fn new(
        backend: &Arc<B>,
        config: &ModelConfig,
        lora: &Lora,
        seed: u64,
        base: &mut dyn Source,
    ) -> Result<Self, EngineError> {
        let specs = config.factors(lora)?;
        let adapted = config.adapted(&lora.targets)?;
        let firsts = adapted.iter().map(|tensor| factor_name(&tensor.name, Factor::A));
        let numbers: HashMap<String, u64> = firsts.zip(0..).collect();
        let rank = lora.rank as usize;
        let lengths = Self::measured(backend, config, lora, base)?;
        let weights =
            Weights::of_tensors(backend, config, specs, Usage::Training(Masters::F32), &mut |spec: &TensorSpec| {
                let count: usize = spec.shape.iter().product();
                if let (Some(lengths), [_]) = (&lengths, &spec.shape[..]) {
                    return Ok(lengths.of_model(&spec.name));
                }
                let Some(number) = numbers.get(&spec.name) else { return Ok(vec![0.0; count]) };
                let stream = Stream::new(seed, Purpose::Adapter, *number);
                let bound = 1.0 / (spec.shape[1] as f64).sqrt();
                let draw = |index: u64| match lora.init {
                    AdapterInit::ZeroB => stream.normal(index) / rank as f64,
                    AdapterInit::Kaiming | AdapterInit::Pissa => (2.0 * stream.uniform(index, 0, 0) - 1.0) * bound,
                };
                Ok((0..count as u64).map(|index| draw(index) as f32).collect())
            })?;
        let weights = Arc::new(weights);
        Ok(Self { weights, taken: None, lengths, rank, scale: lora.scale(), dropout: lora.dropout })
    }

    /// The lengths of the rows of a model's weights, where they are trained.
    fn measured(
        backend: &Arc<B>,
        config: &ModelConfig,
        lora: &Lora,
        base: &mut dyn Source,
    ) -> Result<Option<Arc<RowLengths<B>>>, EngineError> {
        let lengths = lora.dora.then(|| RowLengths::new(backend, config, lora, base)).transpose()?;
        Ok(lengths.map(Arc::new))
    }

    /// A new adapter of what is largest in the model's weights.
    fn principal(
        backend: &Arc<B>,
        config: &ModelConfig,
        lora: &Lora,
        seed: u64,
        base: &mut dyn Source,
    ) -> Result<Self, EngineError> {
        let (specs, rank) = (config.factors(lora)?, lora.rank as usize);
        let root = lora.scale().sqrt();
        let mut factors = HashMap::new();
        for (number, tensor) in (0..).zip(config.adapted(&lora.targets)?) {
            let stream = Stream::new(seed, Purpose::Adapter, number);
            let own = principal::factors(&base.read(&tensor)?, tensor.shape[1], rank, &stream);
            for (factor, values) in [Factor::A, Factor::B].into_iter().zip(own) {
                let values: Vec<f32> = values.into_iter().map(|x| x / root).collect();
                factors.insert(factor_name(&tensor.name, factor), values);
            }
        }
        let mut read = |spec: &TensorSpec| -> Result<Vec<f32>, EngineError> {
            let found = factors.get(&spec.name).cloned();
            found.ok_or_else(|| EngineError::Internal(format!("`{}` is a factor of no weight", spec.name)))
        };
        let mut weights = || {
            Weights::of_tensors(backend, config, specs.clone(), Usage::Training(Masters::F32), &mut read).map(Arc::new)
        };
        let (weights, taken) = (weights()?, Some(weights()?));
        Ok(Self { weights, taken, lengths: None, rank, scale: lora.scale(), dropout: lora.dropout })
    }

    /// The adapter as others read it, where that is not what is trained: what was taken is the other half of its rank, with
    /// the opposite sign. `lora` is how it was begun.
    pub fn finished(&self, lora: &Lora) -> Result<Option<(Weights<Cpu>, Lora)>, EngineError> {
        let Some(taken) = &self.taken else { return Ok(None) };
        let (config, whole) = (self.weights.config(), lora.widened(2 * lora.rank));
        let specs = config.factors(&whole)?;
        let mut read = |spec: &TensorSpec| -> Result<Vec<f32>, EngineError> {
            let index = self.weights.index(&spec.name)?;
            let [own, taken] = [&self.weights, taken].map(|weights| weights.parameters().read(index, <[f32]>::to_vec));
            Ok(if self.weights.shape(index)[0] == self.rank && spec.shape[0] == 2 * self.rank {
                [own, taken].concat()
            } else {
                let rows = own.chunks_exact(self.rank).zip(taken.chunks_exact(self.rank));
                rows.flat_map(|(own, taken)| own.iter().copied().chain(taken.iter().map(|x| -x))).collect()
            })
        };
        let weights = Weights::of_tensors(&Arc::new(Cpu), config, specs, Usage::Training(Masters::F32), &mut read)?;
        Ok(Some((weights, whole)))
    }

    /// An adapter as the Python package peft keeps it.
    fn read(
        backend: &Arc<B>,
        config: &ModelConfig,
        directory: &Path,
        base: &mut dyn Source,
    ) -> Result<(Self, Lora), EngineError> {
        let lora = adapter::inspect(directory, config)?;
        let specs = config.factors(&lora).map_err(|error| mismatch(directory, &error.to_string()))?;
        let files = Safetensors::open(&[directory.join(WEIGHTS)])?;
        let weights =
            Weights::of_tensors(backend, config, specs, Usage::Training(Masters::F32), &mut |spec: &TensorSpec| {
                let values = files.read(&spec.name)?.values;
                match values.iter().all(|value| value.is_finite()) {
                    true => Ok(values),
                    false => Err(EngineError::InvalidData {
                        code: "adapter_not_finite",
                        detail: format!("`{}` in {} has a number that is not finite", spec.name, directory.display()),
                    }),
                }
            })?;
        let (rank, scale) = (lora.rank as usize, lora.scale());
        let lengths = Self::measured(backend, config, &lora, base)?;
        let adapter = Self { weights: Arc::new(weights), taken: None, lengths, rank, scale, dropout: 0.0 };
        Ok((adapter, lora))
    }

    pub fn weights(&self) -> &Arc<Weights<B>> {
        &self.weights
    }

    /// The lengths of the rows of adapted weights, where they are trained.
    pub(super) fn lengths(&self) -> Option<&RowLengths<B>> {
        self.lengths.as_deref()
    }

    /// What was taken from the model's weights.
    pub(super) fn taken(&self) -> Option<&Arc<Weights<B>>> {
        self.taken.as_ref()
    }

    /// What it changes of a product with the given weights of the model and their biases, and what is taken from it; nothing
    /// where none of them is adapted.
    pub(super) fn changes(
        &self,
        base: &Weights<B>,
        own: (&[usize], &[usize]),
        precision: Precision,
    ) -> Result<[Option<LowRank>; 2], EngineError> {
        let change = self.low_rank(base, own, precision)?;
        let taken = match self.taken {
            None => None,
            // The places are the same.
            Some(_) => self.low_rank(base, own, precision)?.map(|change| LowRank {
                scale: -self.scale,
                dropout: Dropout::default(),
                ..change
            }),
        };
        Ok([change, taken])
    }

    fn low_rank(
        &self,
        base: &Weights<B>,
        (own, biases): (&[usize], &[usize]),
        precision: Precision,
    ) -> Result<Option<LowRank>, EngineError> {
        let (mut downs, mut ups, mut output) = (Vec::new(), Vec::new(), 0);
        for (place, index) in own.iter().enumerate() {
            let (name, width) = (base.name(*index), base.shape(*index)[0]);
            if let Ok(down) = self.weights.index(&factor_name(name, Factor::A)) {
                downs.push(down);
                let weights = vec![self.weights.index(&factor_name(name, Factor::B))?];
                let linear = Linear::new(self.rank, width, precision);
                let magnitude = self.magnitude(name, biases.get(place).copied())?;
                ups.push(Up {
                    projection: Projection { linear, weights, biases: Vec::new() },
                    first: output,
                    magnitude,
                });
            }
            output += width;
        }
        let Some(first) = downs.first() else { return Ok(None) };
        let linear = Linear::new(self.weights.shape(*first)[1], downs.len() * self.rank, precision);
        let down = Projection { linear, weights: downs, biases: Vec::new() };
        let dropout = Dropout { rate: self.dropout, place: own[0] as u32 };
        Ok(Some(LowRank { down, ups, rank: self.rank, scale: self.scale, dropout, output }))
    }

    /// What trains the lengths of a weight's rows, whose product has the given bias.
    fn magnitude(&self, name: &str, bias: Option<usize>) -> Result<Option<Magnitude>, EngineError> {
        let Some(lengths) = &self.lengths else { return Ok(None) };
        let name = factor_name(name, Factor::Magnitude);
        let (weight, inverse) = (self.weights.index(&name)?, lengths.inverses().index(&name)?);
        Ok(Some(Magnitude { weight, inverse, bias }))
    }

    /// Adds the change to the numbers of a weight `[out, in]`, if it is adapted, in float64.
    pub fn merge(&self, name: &str, values: &mut [f32]) {
        let places = [Factor::A, Factor::B].map(|factor| self.weights.index(&factor_name(name, factor)));
        let [Ok(a), Ok(b)] = places else { return };
        let input = self.weights.shape(a)[1];
        let parameters = self.weights.parameters();
        let (a, b) = (parameters.read(a, <[f32]>::to_vec), parameters.read(b, <[f32]>::to_vec));
        let lengths = self.weights.index(&factor_name(name, Factor::Magnitude));
        let lengths = lengths.ok().map(|index| parameters.read(index, <[f32]>::to_vec));
        let rows = values.chunks_exact_mut(input).zip(b.chunks_exact(self.rank));
        for (which, (row, b)) in rows.enumerate() {
            let mut changed = vec![0.0_f64; input];
            for (factor, a) in b.iter().zip(a.chunks_exact(input)) {
                changed.iter_mut().zip(a).for_each(|(sum, a)| *sum += f64::from(*factor) * f64::from(*a));
            }
            let scale = f64::from(self.scale);
            changed.iter_mut().zip(&*row).for_each(|(sum, value)| *sum = f64::from(*value) + scale * *sum);
            let factor = lengths.as_ref().map_or(1.0, |lengths| {
                let length = changed.iter().map(|x| x * x).sum::<f64>().sqrt();
                if length > 0.0 { f64::from(lengths[which]) / length } else { 0.0 }
            });
            row.iter_mut().zip(changed).for_each(|(value, changed)| *value = (factor * changed) as f32);
        }
    }
}

fn targets(config: &ModelConfig, lora: &Lora) -> Result<Vec<String>, EngineError> {
    let adapted = config.adapted(&lora.targets)?;
    Ok(adapted.into_iter().map(|tensor| tensor.name).collect())
}

fn invalid(detail: String) -> EngineError {
    EngineError::InvalidData { code: "adapter_mismatch", detail }
}

fn mismatch(directory: &Path, detail: &str) -> EngineError {
    invalid(format!("the adapter in {} is not for this job: {detail}", directory.display()))
}
