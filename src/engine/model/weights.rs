//! A model's weights: loaded from Hugging Face safetensors or GGUF (dequantised), or drawn at random; shared by the
//! trainer and the sampler, and written back as safetensors.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLockWriteGuard};

use candle_core::quantized::{GgmlDType, QStorage, QTensor};
use candle_core::{Device, Tensor as Candle};
use half::{bf16, f16};
use rayon::prelude::*;
use safetensors::{Dtype, View};

use crate::engine::backend::{Backend, Storage, Tensor, Tensors, Training};
use crate::engine::cpu::{Cpu, Values};
use crate::engine::error::EngineError;
use crate::engine::kernels::pages::moved;
use crate::engine::random::{Purpose, Stream};
use crate::job::spec::WeightDtype;
use crate::modelfile::architecture::{Part, Role, TensorSpec};
use crate::modelfile::config::ModelConfig;
use crate::modelfile::{Format, Inspection, gguf, safetensors as header};

/// Trainable f32 weights, in the order of their Hugging Face names. Everyone who computes with them shares them; one
/// thread at a time changes them.
#[derive(Debug)]
pub struct Weights<B: Storage = Cpu> {
    config: ModelConfig,
    /// Names and shapes.
    tensors: Vec<(String, Vec<usize>)>,
    backend: Arc<B>,
    parameters: B::Parameters,
}

impl Weights {
    /// Loads an inspected model.
    pub fn load(inspection: &Inspection) -> Result<Self, EngineError> {
        let tensors = match inspection.format {
            Format::HuggingFace => load_safetensors(&inspection.weights)?,
            Format::Gguf => load_gguf(&inspection.weights[0], &inspection.config)?,
        };
        Self::from_tensors(&inspection.config, tensors)
    }

    /// Draws weights for training from scratch: normal with variance `2 / (5 hidden)` (Nguyen and Salazar, arXiv
    /// 1910.05895), smaller by `sqrt(2 layers)` where a block writes to the residual stream; norms multiply by 1, and
    /// biases are 0.
    pub fn random(config: &ModelConfig, seed: u64) -> Result<Self, EngineError> {
        let std = (2.0 / (5.0 * config.hidden_size as f64)).sqrt();
        let residual = std / (2.0 * config.num_hidden_layers as f64).sqrt();
        let mut tensors = HashMap::new();
        for (index, TensorSpec { name, shape, role, .. }) in config.tensors().into_iter().enumerate() {
            let count: usize = shape.iter().product();
            let stream = Stream::new(seed, Purpose::Initialization, index as u64);
            let drawn = |std: f64| (0..count as u64).into_par_iter().map(|i| (stream.normal(i) * std) as f32).collect();
            let values: Vec<f32> = match role {
                Role::Norm => vec![1.0 - config.architecture.norm_offset; count],
                Role::Bias => vec![0.0; count],
                Role::ResidualMatrix => drawn(residual),
                Role::Matrix => drawn(std),
            };
            tensors.insert(name.clone(), Tensor { name, shape, values });
        }
        Self::from_tensors(config, tensors)
    }

    fn from_tensors(config: &ModelConfig, mut tensors: HashMap<String, Tensor>) -> Result<Self, EngineError> {
        let mut weights = Vec::new();
        for TensorSpec { name, shape, .. } in config.tensors() {
            let tensor = tensors
                .remove(&name)
                .ok_or_else(|| EngineError::Internal(format!("`{name}` vanished between inspection and loading")))?;
            if tensor.shape != shape {
                return Err(EngineError::Internal(format!("`{name}` has shape {:?}, not {shape:?}", tensor.shape)));
            }
            weights.push(Tensor { name, shape, values: moved(tensor.values) });
        }
        weights.sort_by(|a, b| a.name.cmp(&b.name));
        Self::on(&Arc::new(Cpu), config, weights)
    }

    /// Moves the numbers to where they are computed with.
    pub fn placed<B: Backend>(self, backend: &Arc<B>) -> Result<Weights<B>, EngineError> {
        Weights::on(backend, &self.config, self.parameters.into_tensors())
    }

    pub fn values(&self, index: usize) -> Values<'_> {
        self.parameters.values(index)
    }

    /// The numbers of a tensor to be changed; [`Self::changed`] comes after.
    pub fn values_mut(&self, index: usize) -> RwLockWriteGuard<'_, Vec<f32>> {
        self.parameters.values_mut(index)
    }

    /// Tells those who keep something made of the weights that it is out of date.
    pub fn changed(&self) {
        self.parameters.changed();
    }

    /// One tensor alone.
    #[cfg(test)]
    pub(in crate::engine) fn of(name: &str, shape: &[usize], values: Vec<f32>) -> Self {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny");
        let config = crate::modelfile::inspect(&directory).expect("the built-in model is complete").config;
        let tensor = Tensor { name: name.to_owned(), shape: shape.to_vec(), values };
        Self::on(&Arc::new(Cpu), &config, vec![tensor]).expect("the CPU has room for a tensor")
    }
}

impl<B: Training> Weights<B> {
    /// Tensors, in the order of their names, on a backend.
    fn on(backend: &Arc<B>, config: &ModelConfig, tensors: Vec<Tensor>) -> Result<Self, EngineError> {
        Ok(Self {
            config: config.clone(),
            tensors: tensors.iter().map(|tensor| (tensor.name.clone(), tensor.shape.clone())).collect(),
            backend: Arc::clone(backend),
            parameters: backend.parameters(config, tensors)?,
        })
    }

    /// Where the numbers are.
    pub fn backend(&self) -> &Arc<B> {
        &self.backend
    }

    /// The numbers.
    pub fn parameters(&self) -> &B::Parameters {
        &self.parameters
    }

    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Number of tensors.
    pub fn count(&self) -> usize {
        self.tensors.len()
    }

    /// Number of trainable numbers.
    pub fn parameter_count(&self) -> usize {
        (0..self.count()).map(|index| self.len_of(index)).sum()
    }

    /// The place of a tensor.
    pub fn index(&self, name: &str) -> Result<usize, EngineError> {
        let found = self.tensors.binary_search_by(|(other, _)| other.as_str().cmp(name));
        found.map_err(|_| EngineError::Internal(format!("no tensor `{name}`")))
    }

    /// The place of a tensor that belongs to no layer.
    pub fn outside(&self, part: Part) -> Result<usize, EngineError> {
        let tensor = self.config.tensors().into_iter().find(|tensor| tensor.part == part);
        let tensor = tensor.ok_or_else(|| EngineError::Internal(format!("the model has no {part:?}")))?;
        self.index(&tensor.name)
    }

    pub fn name(&self, index: usize) -> &str {
        &self.tensors[index].0
    }

    pub fn shape(&self, index: usize) -> &[usize] {
        &self.tensors[index].1
    }

    pub fn len_of(&self, index: usize) -> usize {
        self.shape(index).iter().product()
    }

    /// Writes the weights as one safetensors file.
    pub fn save(&self, path: &Path, dtype: WeightDtype) -> Result<(), EngineError> {
        let view = |index: usize| {
            let shape = self.shape(index).to_vec();
            (self.name(index).to_owned(), TensorView { numbers: &self.parameters, index, shape, dtype })
        };
        write_safetensors(path, (0..self.count()).map(view))?;
        self.backend.check()
    }

    /// Takes over the values of a file that [`Self::save`] wrote in f32.
    pub fn restore(&self, path: &Path) -> Result<(), EngineError> {
        let mut tensors = load_safetensors(&[path.to_owned()])?;
        for (index, (name, shape)) in self.tensors.iter().enumerate() {
            let tensor = tensors.remove(name).filter(|tensor| tensor.shape == *shape);
            let tensor = tensor.ok_or_else(|| EngineError::InvalidData {
                code: "checkpoint_corrupt",
                detail: format!("{} has no tensor `{name}` of the right shape", path.display()),
            })?;
            self.backend.write(&self.parameters, index, &tensor.values)?;
        }
        Ok(())
    }
}

/// Every tensor of the given safetensors files, as f32.
pub fn load_safetensors(paths: &[PathBuf]) -> Result<HashMap<String, Tensor>, EngineError> {
    let mut tensors = HashMap::new();
    for path in paths {
        let head = header::read_header(path)?;
        let file = File::open(path).map_err(|e| EngineError::io("opening", path, e))?;
        for (name, info) in &head.tensors {
            let mut bytes = vec![0_u8; (info.offsets.1 - info.offsets.0) as usize];
            file.read_exact_at(&mut bytes, head.data_start + info.offsets.0)
                .map_err(|e| EngineError::io("reading", path, e))?;
            let values = to_f32(&bytes, info.dtype);
            tensors.insert(name.clone(), Tensor { name: name.clone(), shape: info.shape.clone(), values });
        }
    }
    let scales: Vec<String> = tensors.keys().filter(|name| name.ends_with(header::SCALE_SUFFIX)).cloned().collect();
    for name in scales {
        if let (Some(scale), Some(of)) = (tensors.remove(&name), name.strip_suffix(header::SCALE_SUFFIX))
            && let Some(tensor) = tensors.get_mut(of)
        {
            rescale(tensor, &scale);
        }
    }
    Ok(tensors)
}

/// Multiplies each block of a matrix with its scale.
fn rescale(tensor: &mut Tensor, scale: &Tensor) {
    let (columns, scales) = (tensor.shape[1], scale.shape[1]);
    for (row, values) in tensor.values.chunks_exact_mut(columns).enumerate() {
        let of_row = &scale.values[row / header::SCALE_BLOCK * scales..][..scales];
        for (values, scale) in values.chunks_mut(header::SCALE_BLOCK).zip(of_row) {
            values.iter_mut().for_each(|value| *value *= scale);
        }
    }
}

/// The number that an 8-bit float with four bits of exponent stands for (E4M3 of the Open Compute Project's 8-bit floating
/// point specification 1.0: exponent bias 7, no infinity).
fn e4m3(byte: u8) -> f32 {
    let (exponent, mantissa) = (i32::from(byte >> 3 & 15), f32::from(byte & 7));
    let magnitude = match (exponent, byte & 7) {
        (15, 7) => f32::NAN,
        (0, _) => mantissa * 2.0_f32.powi(-9),
        (exponent, _) => (8.0 + mantissa) * 2.0_f32.powi(exponent - 10),
    };
    if byte >> 7 == 1 { -magnitude } else { magnitude }
}

fn to_f32(bytes: &[u8], dtype: header::Dtype) -> Vec<f32> {
    let pairs = || bytes.chunks_exact(2).map(|b| [b[0], b[1]]);
    match dtype {
        header::Dtype::F32 => bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect(),
        header::Dtype::F16 => pairs().map(|b| f16::from_le_bytes(b).to_f32()).collect(),
        header::Dtype::Bf16 => pairs().map(|b| bf16::from_le_bytes(b).to_f32()).collect(),
        header::Dtype::F8E4m3 => bytes.iter().map(|byte| e4m3(*byte)).collect(),
        // The upper half of an f16.
        header::Dtype::F8E5m2 => bytes.iter().map(|byte| f16::from_le_bytes([0, *byte]).to_f32()).collect(),
    }
}

fn load_gguf(path: &Path, config: &ModelConfig) -> Result<HashMap<String, Tensor>, EngineError> {
    let head = gguf::read(path)?;
    let file = File::open(path).map_err(|e| EngineError::io("opening", path, e))?;
    let mut tensors = HashMap::new();
    for TensorSpec { part, expert, role, name, gguf_name, shape, .. } in config.tensors() {
        let missing = || EngineError::Internal(format!("`{gguf_name}` vanished between inspection and loading"));
        let info = head.tensor(&gguf_name).ok_or_else(missing)?;
        // The experts of a layer stand one after the other.
        let pieces = if part.is_of_expert() { info.shape[0] as u64 } else { 1 };
        let size = info.size_bytes / pieces;
        let mut bytes = vec![0_u8; size as usize];
        file.read_exact_at(&mut bytes, head.data_start + info.offset + expert as u64 * size)
            .map_err(|e| EngineError::io("reading", path, e))?;
        let mut tensor = dequantized(bytes, info.ggml_type, shape)?;
        // Some families have the rotated pairs of a head next to each other; Hugging Face keeps halves.
        let heads = match part {
            Part::Query if config.family.gguf_has_pairs => Some(config.num_attention_heads),
            Part::Key if config.family.gguf_has_pairs => Some(config.num_key_value_heads),
            _ => None,
        };
        if let Some(heads) = heads {
            tensor = halves(&tensor, heads)?;
        }
        let (shape, mut values) = (tensor.dims().to_vec(), tensor.flatten_all()?.to_vec1::<f32>()?);
        if role == Role::Norm && config.architecture.norm_offset != 0.0 {
            // The format has what a norm multiplies by.
            values.iter_mut().for_each(|value| *value -= config.architecture.norm_offset);
        }
        tensors.insert(name.clone(), Tensor { name, shape, values });
    }
    Ok(tensors)
}

/// Reorders the output rows of each head from `(0, h), (1, h + 1), ...` pairs to first and second half.
fn halves(weight: &Candle, heads: usize) -> candle_core::Result<Candle> {
    let (shape, out) = (weight.dims().to_vec(), weight.dims()[0]);
    let pairs = weight.reshape((heads, out / heads / 2, 2, weight.elem_count() / out))?;
    pairs.transpose(1, 2)?.contiguous()?.reshape(shape)
}

/// The numbers that the blocks of a GGUF tensor stand for.
fn dequantized(blocks: Vec<u8>, ggml_type: u32, shape: Vec<usize>) -> Result<Candle, EngineError> {
    let storage = QStorage::from_data(Cow::Owned(blocks), &Device::Cpu, ggml_dtype(ggml_type)?)?;
    Ok(QTensor::new(storage, shape)?.dequantize(&Device::Cpu)?)
}

/// The block formats of GGUF by their number in the file (ggml's `enum ggml_type`).
fn ggml_dtype(number: u32) -> Result<GgmlDType, EngineError> {
    Ok(match number {
        0 => GgmlDType::F32,
        1 => GgmlDType::F16,
        2 => GgmlDType::Q4_0,
        3 => GgmlDType::Q4_1,
        6 => GgmlDType::Q5_0,
        7 => GgmlDType::Q5_1,
        8 => GgmlDType::Q8_0,
        10 => GgmlDType::Q2K,
        11 => GgmlDType::Q3K,
        12 => GgmlDType::Q4K,
        13 => GgmlDType::Q5K,
        14 => GgmlDType::Q6K,
        30 => GgmlDType::BF16,
        other => {
            return Err(EngineError::InvalidData {
                code: "unsupported_dtype",
                detail: format!("GGUF tensor type {other} is not supported; convert the file to F16 or Q8_0"),
            });
        }
    })
}

/// A tensor on its way into a safetensors file; its numbers are read and converted when its turn comes.
#[derive(Debug)]
pub struct TensorView<'a, T> {
    pub numbers: &'a T,
    pub index: usize,
    pub shape: Vec<usize>,
    pub dtype: WeightDtype,
}

/// Tensors with their names in a file.
pub type NamedTensors<'a, T> = Vec<(String, TensorView<'a, T>)>;

impl<T: Tensors> View for TensorView<'_, T> {
    fn dtype(&self) -> Dtype {
        match self.dtype {
            WeightDtype::F32 => Dtype::F32,
            WeightDtype::Bf16 => Dtype::BF16,
        }
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Owned(self.numbers.read(self.index, |values| match self.dtype {
            WeightDtype::F32 => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            WeightDtype::Bf16 => values.iter().flat_map(|v| bf16::from_f32(*v).to_le_bytes()).collect(),
        }))
    }

    fn data_len(&self) -> usize {
        self.shape.iter().product::<usize>() * self.dtype().bitsize() / 8
    }
}

/// Writes one safetensors file; the caller syncs it.
pub fn write_safetensors<V: View>(
    path: &Path,
    views: impl IntoIterator<Item = (String, V)>,
) -> Result<(), EngineError> {
    let metadata = HashMap::from([(String::from("format"), String::from("pt"))]);
    safetensors::serialize_to_file(views, Some(metadata), path).map_err(|error| match error {
        safetensors::SafeTensorError::IoError(source) => EngineError::io("writing", path, source),
        other => EngineError::Internal(format!("writing {}: {other}", path.display())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All 254 finite numbers of the format by its table of exponents, and the values that its specification names.
    #[test]
    fn floats_of_8_bits_stand_for_the_numbers_of_their_specification() {
        assert_eq!(e4m3(0x7e), 448.0);
        assert_eq!(e4m3(0x08), 2.0_f32.powi(-6));
        assert_eq!(e4m3(0x01), 2.0_f32.powi(-9));
        assert_eq!(e4m3(0xc5), -3.25);
        assert!(e4m3(0x7f).is_nan() && e4m3(0xff).is_nan());
        // Between two powers of two the numbers lie evenly, and their order is that of the bytes.
        for byte in 0..0x7e_u8 {
            assert!(e4m3(byte) < e4m3(byte + 1), "{byte:#x}");
            assert_eq!(e4m3(byte | 0x80), -e4m3(byte));
        }
        let e5m2 = to_f32(&[0x7b, 0x04, 0x01, 0xc1], header::Dtype::F8E5m2);
        assert_eq!(e5m2, [57344.0, 2.0_f32.powi(-14), 2.0_f32.powi(-16), -2.5]);
    }

    /// As the Python package gguf reads them (tests/text/gguf_blocks.py).
    #[test]
    fn blocks_of_gguf_stand_for_the_numbers_that_others_read_from_them() {
        #[derive(serde::Deserialize)]
        struct Case {
            r#type: u32,
            name: String,
            blocks: String,
            values: Vec<f32>,
        }
        let cases: Vec<Case> = serde_json::from_str(include_str!("../../../tests/data/gguf_blocks.json")).unwrap();
        assert_eq!(cases.len(), 10);
        for Case { r#type, name, blocks, values } in cases {
            let bytes = |at: usize| u8::from_str_radix(&blocks[at..at + 2], 16).unwrap();
            let blocks = (0..blocks.len()).step_by(2).map(bytes).collect();
            let read = dequantized(blocks, r#type, vec![1, values.len()]).unwrap();
            let read: Vec<f32> = read.flatten_all().unwrap().to_vec1().unwrap();
            assert_eq!(read.len(), values.len(), "{name}");
            for (read, value) in read.iter().zip(&values) {
                assert!((read - value).abs() <= 1e-6 * value.abs().max(1.0), "{name}: {read} and {value}");
            }
        }
        let halves = dequantized(vec![0x00, 0x3e, 0x00, 0xc0], 1, vec![1, 2]).unwrap();
        assert_eq!(halves.flatten_all().unwrap().to_vec1::<f32>().unwrap(), [1.5, -2.0]);
        let short = dequantized(vec![0xc0, 0x3f, 0x00, 0xc0], 30, vec![1, 2]).unwrap();
        assert_eq!(short.flatten_all().unwrap().to_vec1::<f32>().unwrap(), [1.5, -2.0]);
    }

    #[test]
    fn each_block_of_a_matrix_has_its_scale() {
        let (rows, columns) = (130, 257);
        let tensor =
            |name: &str, shape: &[usize], values| Tensor { name: name.to_owned(), shape: shape.to_vec(), values };
        let mut matrix = tensor("w", &[rows, columns], vec![1.0; rows * columns]);
        let scales: Vec<f32> = (1..=6).map(|scale| scale as f32).collect();
        rescale(&mut matrix, &tensor("w_scale_inv", &[2, 3], scales));
        for (at, value) in matrix.values.iter().enumerate() {
            let (row, column) = (at / columns, at % columns);
            assert_eq!(*value, (1 + row / 128 * 3 + column / 128) as f32, "{row} {column}");
        }
    }
}
