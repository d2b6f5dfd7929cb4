//! A GGUF file (version 3): configuration, tokenizer and chat template in its metadata, weights as llama.cpp has them.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use candle_core::quantized::QTensor;
use candle_core::{Device, Tensor};
use half::f16;
use rayon::prelude::*;

use super::{ExportTask, Written};
use crate::engine::error::EngineError;
use crate::engine::loading::Opened;
use crate::engine::model::reader::{ggml_dtype, pairs};
use crate::engine::model::weights;
use crate::job::ExportDtype;
use crate::job::spec::WeightDtype;
use crate::modelfile::architecture::{Part, Role, TensorSpec};
use crate::modelfile::gguf::write::{NewTensor, header, lay_out};
use crate::modelfile::gguf::{self, Described, Gguf, GgufValue, mixture};
use crate::modelfile::{ModelConfig, ModelFileError};
use crate::text::gguf as vocabulary;
use crate::text::tokenizer::TokenizerError;

/// Numbers that one thread encodes at a time: whole blocks of every type.
const PIECE: usize = 1 << 16;
/// The number of ggml's type of 32-bit floats.
const F32: u32 = 0;

/// Writes the one file.
pub fn write(task: &ExportTask, opened: &Opened, tell: &dyn Fn(Written)) -> Result<(), EngineError> {
    let dtype = task.export.dtype.unwrap_or(ExportDtype::Q8_0);
    let config = &opened.inspection.config;
    let path = task.folder.join(format!("model-{dtype}.gguf"));
    let mut described = gguf::describe(config);
    described.metadata.extend(vocabulary::metadata(&opened.text.tokenizer, config.vocab_size).map_err(unread)?);
    describe(&mut described, task, opened, dtype);
    let types = mixture::types(config, dtype).map_err(refused)?;
    let laid = lay_out(described.metadata.clone(), tensors(&described, &types)).map_err(refused)?;
    let end = laid.tensors.last().map_or(0, |tensor| tensor.offset + tensor.size_bytes);
    task.require(laid.data_start + end)?;
    let file = File::create(&path).map_err(|error| EngineError::io("creating", &path, error))?;
    let put =
        |bytes: &[u8], at: u64| file.write_all_at(bytes, at).map_err(|error| EngineError::io("writing", &path, error));
    // The whole file has its length first, so that its header can be read back.
    file.set_len(laid.data_start + end).map_err(|error| EngineError::io("writing", &path, error))?;
    put(&header(&laid)?, 0)?;
    let place = |name: &str| {
        let tensor = laid.tensor(name).map(|tensor| (laid.data_start + tensor.offset, tensor.size_bytes));
        tensor.ok_or_else(|| EngineError::Internal(format!("`{name}` has no place in the file")))
    };
    for (name, factors) in &described.rotations {
        put(&encoded(factors, F32)?, place(name)?.0)?;
    }
    check(&path, &laid, config)?;

    let total: u64 = laid.tensors.iter().map(|tensor| tensor.size_bytes).sum();
    let (reader, mut done) = (task.model.reader(&opened.inspection)?, 0);
    for (spec, kind) in &types {
        let values = arranged(config, described.has_pairs, spec, reader.read(spec)?);
        let bytes = encoded(&values, *kind)?;
        // The experts of a layer stand one after the other.
        put(&bytes, place(&spec.gguf_name)?.0 + spec.expert as u64 * bytes.len() as u64)?;
        done += bytes.len() as u64;
        tell(Written { done, total });
    }
    file.sync_all().map_err(|error| EngineError::io("syncing", &path, error))
}

/// What a file says beside configuration and vocabulary.
fn describe(described: &mut Described, task: &ExportTask, opened: &Opened, dtype: ExportDtype) {
    let mut set = |key: &str, value: GgufValue| described.metadata.insert(key.to_owned(), value);
    let (config, id) = (&opened.inspection.config, |id: u32| GgufValue::Integer(id.into()));
    set("general.type", GgufValue::Text(String::from("model")));
    set("general.name", GgufValue::Text(task.card.name.clone()));
    set("general.file_type", id(mixture::file_type(dtype)));
    set("general.quantization_version", id(2));
    // What ends an answer, and what ends a turn where that is another one.
    for (key, token) in ["eos", "eot"].iter().zip(&config.eos_token_ids) {
        set(&format!("tokenizer.ggml.{key}_token_id"), id(*token));
    }
    if let Some(bos) = config.bos_token_id {
        set("tokenizer.ggml.bos_token_id", id(bos));
    }
    if let Some(chat) = &opened.text.chat {
        set("tokenizer.chat_template", GgufValue::Text(chat.source().to_owned()));
    }
}

/// The tensors of the file; those of the experts of a layer are one.
fn tensors(described: &Described, types: &[(TensorSpec, u32)]) -> Vec<NewTensor> {
    let rotations = described.rotations.iter().map(|(name, factors)| NewTensor {
        name: name.clone(),
        shape: vec![factors.len()],
        ggml_type: F32,
    });
    let mut tensors: Vec<NewTensor> = rotations.collect();
    let experts = types.iter().map(|(spec, _)| spec.expert + 1).max().unwrap_or(1);
    for (spec, kind) in types.iter().filter(|(spec, _)| spec.expert == 0) {
        let mut shape = spec.shape.clone();
        if spec.part.is_of_expert() {
            shape.insert(0, experts);
        }
        tensors.push(NewTensor { name: spec.gguf_name.clone(), shape, ggml_type: *kind });
    }
    tensors
}

/// Reads the header back: what GGUF has no keys for would be computed otherwise elsewhere.
fn check(path: &Path, laid: &Gguf, config: &ModelConfig) -> Result<(), EngineError> {
    if gguf::configuration(path, laid).is_ok_and(|read| read.computes_as(config)) {
        return Ok(());
    }
    let detail = format!(
        "this {} model differs from what readers of the format take for one of its architecture (windows, rotations or \
         scales of its layers); export it as `merged`",
        config.family.name
    );
    Err(refused(ModelFileError::NotInGguf { detail }))
}

/// A model that the format cannot hold.
fn refused(error: ModelFileError) -> EngineError {
    EngineError::InvalidData { code: error.code(), detail: error.to_string() }
}

fn unread(error: TokenizerError) -> EngineError {
    match error {
        TokenizerError::File(error) => refused(error),
        other => other.into(),
    }
}

/// The numbers of a tensor as the format has them.
fn arranged(config: &ModelConfig, has_pairs: bool, spec: &TensorSpec, mut values: Vec<f32>) -> Vec<f32> {
    let heads = match spec.part {
        Part::Query if has_pairs => config.num_attention_heads,
        Part::Key if has_pairs => config.num_key_value_heads,
        _ => {
            if spec.role == Role::Norm && config.architecture.norm_offset != 0.0 {
                // The format has what a norm multiplies by.
                values.iter_mut().for_each(|value| *value += config.architecture.norm_offset);
            }
            return values;
        }
    };
    pairs(&values, heads, config.head_dim)
}

/// The blocks of a type that stand for the numbers, of which rows are whole blocks.
fn encoded(values: &[f32], ggml_type: u32) -> Result<Vec<u8>, EngineError> {
    Ok(match ggml_type {
        F32 => weights::encoded(values, WeightDtype::F32),
        1 => values.iter().flat_map(|value| f16::from_f32(*value).to_le_bytes()).collect(),
        30 => weights::encoded(values, WeightDtype::Bf16),
        other => {
            let kind = ggml_dtype(other)?;
            let encode = |piece: &[f32]| -> Result<Vec<u8>, candle_core::Error> {
                let tensor = Tensor::from_slice(piece, (1, piece.len()), &Device::Cpu)?;
                Ok(QTensor::quantize(&tensor, kind)?.data()?.into_owned())
            };
            let pieces: Result<Vec<Vec<u8>>, candle_core::Error> = values.par_chunks(PIECE).map(encode).collect();
            pieces?.concat()
        }
    })
}
