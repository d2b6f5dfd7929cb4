//! Where weights come from: Hugging Face safetensors, GGUF (dequantised), or random numbers. A tensor is read when it is
//! asked for, so that no more than one needs to be in memory besides what is made of them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use candle_core::Device;
use candle_core::quantized::{GgmlDType, QStorage, QTensor};
use half::{bf16, f16};
use rayon::prelude::*;

use crate::engine::backend::{Blocks, Source, Tensor};
use crate::engine::error::EngineError;
use crate::engine::random::{Purpose, Stream};
use crate::modelfile::architecture::{Part, Role, TensorSpec};
use crate::modelfile::config::ModelConfig;
use crate::modelfile::gguf::blocks::BlockKind;
use crate::modelfile::safetensors::{self as header, TensorInfo};
use crate::modelfile::{Format, Inspection, gguf};

/// A model's tensors, to be read one by one.
#[derive(Debug)]
pub enum Reader<'a> {
    Safetensors(Safetensors),
    Gguf {
        config: &'a ModelConfig,
        path: PathBuf,
        head: gguf::Gguf,
        file: File,
    },
    /// Weights to train from scratch; by name their number among the model's tensors.
    Random {
        config: &'a ModelConfig,
        seed: u64,
        numbers: HashMap<String, u64>,
    },
}

impl<'a> Reader<'a> {
    /// The tensors of an inspected model.
    pub fn open(inspection: &'a Inspection) -> Result<Self, EngineError> {
        Ok(match inspection.format {
            Format::HuggingFace => Self::Safetensors(Safetensors::open(&inspection.weights)?),
            Format::Gguf => {
                let path = inspection.weights[0].clone();
                let file = File::open(&path).map_err(|e| EngineError::io("opening", &path, e))?;
                Self::Gguf { config: &inspection.config, head: gguf::read(&path)?, path, file }
            }
        })
    }

    /// Draws weights for training from scratch: normal with variance `2 / (5 hidden)` (Nguyen and Salazar, arXiv
    /// 1910.05895), smaller by `sqrt(2 layers)` where a block writes to the residual stream; norms multiply by 1, and
    /// biases are 0.
    pub fn random(config: &'a ModelConfig, seed: u64) -> Self {
        let numbers = config.tensors().into_iter().zip(0..).map(|(tensor, number)| (tensor.name, number)).collect();
        Self::Random { config, seed, numbers }
    }

    /// The numbers of a tensor.
    pub fn read(&self, spec: &TensorSpec) -> Result<Vec<f32>, EngineError> {
        match self {
            Self::Safetensors(files) => {
                let Tensor { name, shape, values } = files.read(&spec.name)?;
                if shape != spec.shape {
                    return Err(EngineError::Internal(format!("`{name}` has shape {shape:?}, not {:?}", spec.shape)));
                }
                Ok(values)
            }
            Self::Gguf { config, path, head, file } => read_gguf(config, (path, head, file), spec),
            Self::Random { config, seed, numbers } => {
                let number = numbers.get(&spec.name).copied().unwrap_or_default();
                Ok(draw(config, &Stream::new(*seed, Purpose::Initialization, number), spec))
            }
        }
    }

    /// The blocks of a matrix, where the file has such that products read.
    pub fn blocks(&self, spec: &TensorSpec) -> Result<Option<Blocks>, EngineError> {
        let Self::Gguf { config, path, head, file } = self else { return Ok(None) };
        let kind = head.tensor(&spec.gguf_name).and_then(|info| BlockKind::of(info.ggml_type));
        let Some(kind) = kind.filter(|kind| spec.shape.len() == 2 && spec.shape[1].is_multiple_of(kind.size())) else {
            return Ok(None);
        };
        let (_, mut bytes) = read_bytes((path, head, file), spec)?;
        if let Some(heads) = paired_heads(config, spec.part) {
            bytes = halves(&bytes, heads, spec.shape[0] / heads);
        }
        Ok(Some((kind, bytes)))
    }
}

impl Source for &Reader<'_> {
    fn read(&mut self, spec: &TensorSpec) -> Result<Vec<f32>, EngineError> {
        Reader::read(self, spec)
    }

    fn blocks(&mut self, spec: &TensorSpec) -> Result<Option<Blocks>, EngineError> {
        Reader::blocks(self, spec)
    }
}

fn draw(config: &ModelConfig, stream: &Stream, spec: &TensorSpec) -> Vec<f32> {
    let std = (2.0 / (5.0 * config.hidden_size as f64)).sqrt();
    let residual = std / (2.0 * config.num_hidden_layers as f64).sqrt();
    let count: usize = spec.shape.iter().product();
    let drawn = |std: f64| (0..count as u64).into_par_iter().map(|i| (stream.normal(i) * std) as f32).collect();
    match spec.role {
        Role::Norm => vec![1.0 - config.architecture.norm_offset; count],
        Role::Bias => vec![0.0; count],
        Role::ResidualMatrix => drawn(residual),
        Role::Matrix => drawn(std),
    }
}

/// Safetensors files, by the names of their tensors.
#[derive(Debug)]
pub struct Safetensors {
    files: Vec<(PathBuf, File)>,
    /// Number of the file, and the place of the tensor in it.
    tensors: HashMap<String, (usize, TensorInfo, u64)>,
}

impl Safetensors {
    pub fn open(paths: &[PathBuf]) -> Result<Self, EngineError> {
        let (mut files, mut tensors) = (Vec::with_capacity(paths.len()), HashMap::new());
        for path in paths {
            let head = header::read_header(path)?;
            let file = File::open(path).map_err(|e| EngineError::io("opening", path, e))?;
            for (name, info) in head.tensors {
                tensors.insert(name, (files.len(), info, head.data_start));
            }
            files.push((path.clone(), file));
        }
        Ok(Self { files, tensors })
    }

    /// Names of all tensors but the scales of others.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let of_other =
            |name: &&str| name.strip_suffix(header::SCALE_SUFFIX).is_none_or(|of| !self.tensors.contains_key(of));
        self.tensors.keys().map(String::as_str).filter(of_other)
    }

    pub fn shape(&self, name: &str) -> Option<&Vec<usize>> {
        self.tensors.get(name).map(|(_, info, _)| &info.shape)
    }

    /// A tensor as f32, multiplied by its scales where it has any.
    pub fn read(&self, name: &str) -> Result<Tensor, EngineError> {
        let mut tensor = self.read_raw(name)?;
        let scale = format!("{name}{}", header::SCALE_SUFFIX);
        if self.tensors.contains_key(&scale) {
            rescale(&mut tensor, &self.read_raw(&scale)?);
        }
        Ok(tensor)
    }

    fn read_raw(&self, name: &str) -> Result<Tensor, EngineError> {
        let missing = || EngineError::Internal(format!("`{name}` vanished between inspection and loading"));
        let (file, info, data_start) = self.tensors.get(name).ok_or_else(missing)?;
        let (path, file) = &self.files[*file];
        let mut bytes = vec![0_u8; (info.offsets.1 - info.offsets.0) as usize];
        file.read_exact_at(&mut bytes, data_start + info.offsets.0).map_err(|e| EngineError::io("reading", path, e))?;
        Ok(Tensor { name: name.to_owned(), shape: info.shape.clone(), values: to_f32(&bytes, info.dtype) })
    }
}

/// Every tensor of the given safetensors files, as f32.
pub fn load_safetensors(paths: &[PathBuf]) -> Result<HashMap<String, Tensor>, EngineError> {
    let files = Safetensors::open(paths)?;
    files.names().map(|name| Ok((name.to_owned(), files.read(name)?))).collect()
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

/// A tensor of a GGUF file as it stands there.
fn read_bytes(
    (path, head, file): (&Path, &gguf::Gguf, &File),
    spec: &TensorSpec,
) -> Result<(u32, Vec<u8>), EngineError> {
    let TensorSpec { part, expert, gguf_name, .. } = spec;
    let missing = || EngineError::Internal(format!("`{gguf_name}` vanished between inspection and loading"));
    let info = head.tensor(gguf_name).ok_or_else(missing)?;
    // The experts of a layer stand one after the other.
    let pieces = if part.is_of_expert() { info.shape[0] as u64 } else { 1 };
    let size = info.size_bytes / pieces;
    let mut bytes = vec![0_u8; size as usize];
    file.read_exact_at(&mut bytes, head.data_start + info.offset + *expert as u64 * size)
        .map_err(|e| EngineError::io("reading", path, e))?;
    Ok((info.ggml_type, bytes))
}

/// The heads of a weight of which a file has the rotated pairs next to each other, as some families do. Hugging Face keeps
/// halves.
fn paired_heads(config: &ModelConfig, part: Part) -> Option<usize> {
    match part {
        Part::Query if config.family.gguf_has_pairs => Some(config.num_attention_heads),
        Part::Key if config.family.gguf_has_pairs => Some(config.num_key_value_heads),
        _ => None,
    }
}

fn read_gguf(
    config: &ModelConfig,
    source: (&Path, &gguf::Gguf, &File),
    spec: &TensorSpec,
) -> Result<Vec<f32>, EngineError> {
    let (ggml_type, bytes) = read_bytes(source, spec)?;
    let mut values = dequantized(bytes, ggml_type, spec.shape.clone())?;
    if let Some(heads) = paired_heads(config, spec.part) {
        values = halves(&values, heads, spec.shape[0] / heads);
    }
    if spec.role == Role::Norm && config.architecture.norm_offset != 0.0 {
        // The format has what a norm multiplies by.
        values.iter_mut().for_each(|value| *value -= config.architecture.norm_offset);
    }
    Ok(values)
}

/// Reorders the output rows of each head of `width` coordinates from `(0, h), (1, h + 1), ...` pairs to first and second
/// half.
fn halves<T: Copy>(weight: &[T], heads: usize, width: usize) -> Vec<T> {
    reordered(weight, heads, width, |at| at % (width / 2) * 2 + at / (width / 2))
}

/// Reorders the output rows of each head of `width` coordinates from first and second half to pairs, side by side: the way
/// back from how such a file is read.
pub fn pairs(weight: &[f32], heads: usize, width: usize) -> Vec<f32> {
    reordered(weight, heads, width, |at| at / 2 + at % 2 * (width / 2))
}

/// Rows of heads, each in the place where `source` says which of its head's it is.
fn reordered<T: Copy>(weight: &[T], heads: usize, width: usize, source: impl Fn(usize) -> usize) -> Vec<T> {
    let row = weight.len() / heads / width;
    let rows = (0..heads * width).map(|at| at / width * width + source(at % width));
    rows.flat_map(|from| &weight[from * row..][..row]).copied().collect()
}

/// The numbers that the blocks of a GGUF tensor stand for.
fn dequantized(blocks: Vec<u8>, ggml_type: u32, shape: Vec<usize>) -> Result<Vec<f32>, EngineError> {
    let storage = QStorage::from_data(Cow::Owned(blocks), &Device::Cpu, ggml_dtype(ggml_type)?)?;
    Ok(QTensor::new(storage, shape)?.dequantize(&Device::Cpu)?.flatten_all()?.to_vec1()?)
}

/// The block formats of GGUF by their number in the file (ggml's `enum ggml_type`).
pub fn ggml_dtype(number: u32) -> Result<GgmlDType, EngineError> {
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
            assert_eq!(read.len(), values.len(), "{name}");
            for (read, value) in read.iter().zip(&values) {
                assert!((read - value).abs() <= 1e-6 * value.abs().max(1.0), "{name}: {read} and {value}");
            }
        }
        let halves = dequantized(vec![0x00, 0x3e, 0x00, 0xc0], 1, vec![1, 2]).unwrap();
        assert_eq!(halves, [1.5, -2.0]);
        let short = dequantized(vec![0xc0, 0x3f, 0x00, 0xc0], 30, vec![1, 2]).unwrap();
        assert_eq!(short, [1.5, -2.0]);
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
