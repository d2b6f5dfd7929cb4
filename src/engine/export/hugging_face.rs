//! A Hugging Face directory: weights in files of at most 5 GB, and what transformers needs beside them.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::path::Path;

use safetensors::{Dtype, View};
use serde_json::{Map, Value, json};

use super::{ExportTask, Written};
use crate::engine::artifact::{write_file, write_json};
use crate::engine::error::EngineError;
use crate::engine::loading::Opened;
use crate::engine::model::weights::{encoded, write_safetensors};
use crate::job::ExportDtype;
use crate::job::spec::WeightDtype;
use crate::modelfile::ModelConfig;
use crate::modelfile::architecture::TensorSpec;
use crate::modelfile::safetensors::{INDEX_FILE, SINGLE_FILE};
use crate::text::chat::ChatTemplate;
use crate::text::tokenizer::TextTokenizer;

/// Bytes of a file of weights, as transformers cuts them.
const SHARD_BYTES: usize = 5_000_000_000;

/// Writes all but the card.
pub fn write(task: &ExportTask, opened: &Opened, tell: &dyn Fn(Written)) -> Result<(), EngineError> {
    let (config, folder) = (&opened.inspection.config, &task.folder);
    let dtype = if task.export.dtype == Some(ExportDtype::F32) { Dtype::F32 } else { Dtype::BF16 };
    let specs = config.tensors();
    let shards = shards(&specs, dtype.bitsize() / 8, SHARD_BYTES);
    let total: u64 = specs.iter().map(|spec| bytes(spec, dtype) as u64).sum();
    task.require(total)?;
    let read = task.model.reader(&opened.inspection)?;
    let (done, failed) = (Cell::new(0), RefCell::new(None));
    let numbers = |spec: &TensorSpec| {
        let values = read.read(spec).unwrap_or_else(|error| {
            failed.borrow_mut().get_or_insert(error);
            vec![0.0; spec.shape.iter().product()]
        });
        done.set(done.get() + bytes(spec, dtype) as u64);
        tell(Written { done: done.get(), total });
        values
    };
    let mut places = Map::new();
    for (at, shard) in shards.iter().enumerate() {
        let name = match shards.len() {
            1 => SINGLE_FILE.to_owned(),
            count => format!("model-{:05}-of-{count:05}.safetensors", at + 1),
        };
        let view = |spec| Lazy { numbers: &numbers, spec, dtype };
        write_safetensors(&folder.join(&name), shard.iter().map(|spec| (spec.name.clone(), view(*spec))))?;
        if let Some(error) = failed.take() {
            return Err(error);
        }
        places.extend(shard.iter().map(|spec| (spec.name.clone(), json!(name))));
    }
    if shards.len() > 1 {
        write_json(&folder.join(INDEX_FILE), &json!({"metadata": {"total_size": total}, "weight_map": places}))?;
    }
    let name = if dtype == Dtype::F32 { "float32" } else { "bfloat16" };
    write_companions(folder, config, name, &opened.text.tokenizer, opened.text.chat.as_ref())
}

/// The tensors of each file.
fn shards(specs: &[TensorSpec], width: usize, most: usize) -> Vec<Vec<&TensorSpec>> {
    let (mut shards, mut held) = (vec![Vec::new()], 0);
    for spec in specs {
        let bytes = width * spec.shape.iter().product::<usize>();
        if held > 0 && held + bytes > most {
            shards.push(Vec::new());
            held = 0;
        }
        held += bytes;
        if let Some(shard) = shards.last_mut() {
            shard.push(spec);
        }
    }
    shards
}

fn bytes(spec: &TensorSpec, dtype: Dtype) -> usize {
    spec.shape.iter().product::<usize>() * dtype.bitsize() / 8
}

/// A tensor that is read when its turn comes.
struct Lazy<'a> {
    numbers: &'a dyn Fn(&TensorSpec) -> Vec<f32>,
    spec: &'a TensorSpec,
    dtype: Dtype,
}

impl View for Lazy<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.spec.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let dtype = if self.dtype == Dtype::F32 { WeightDtype::F32 } else { WeightDtype::Bf16 };
        Cow::Owned(encoded(&(self.numbers)(self.spec), dtype))
    }

    fn data_len(&self) -> usize {
        bytes(self.spec, self.dtype)
    }
}

/// What transformers needs beside weights of a dtype (torch's name): configurations, tokenizer, chat template.
pub fn write_companions(
    folder: &Path,
    config: &ModelConfig,
    dtype: &str,
    tokenizer: &TextTokenizer,
    chat: Option<&ChatTemplate>,
) -> Result<(), EngineError> {
    write_json(&folder.join("config.json"), &config.to_hf(dtype))?;
    let generation = json!({"bos_token_id": config.bos_token_id, "eos_token_id": config.eos_token_ids});
    write_json(&folder.join("generation_config.json"), &generation)?;
    write_texts(folder, config, tokenizer, chat)
}

/// What reads and writes texts.
pub fn write_texts(
    folder: &Path,
    config: &ModelConfig,
    tokenizer: &TextTokenizer,
    chat: Option<&ChatTemplate>,
) -> Result<(), EngineError> {
    write_file(&folder.join("tokenizer.json"), tokenizer.to_json().as_bytes())?;
    let token = |id: Option<u32>| id.and_then(|id| tokenizer.id_to_token(id));
    let eos = token(config.eos_token_ids.first().copied());
    let mut value = json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": config.max_position_embeddings,
        "bos_token": token(config.bos_token_id),
        "eos_token": eos,
        "pad_token": eos,
        "clean_up_tokenization_spaces": false,
    });
    if let Some(chat) = chat {
        value["chat_template"] = Value::from(chat.source());
        write_file(&folder.join("chat_template.jinja"), chat.source().as_bytes())?;
    }
    write_json(&folder.join("tokenizer_config.json"), &value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modelfile::inspect;

    #[test]
    fn files_hold_whole_tensors_and_no_more_than_they_may() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny");
        let specs = inspect(&folder).unwrap().config.tensors();
        let largest = specs.iter().map(|spec| bytes(spec, Dtype::F32)).max().unwrap();
        for most in [1, largest, 3 * largest, usize::MAX] {
            let shards = shards(&specs, 4, most);
            assert_eq!(shards.iter().flatten().copied().cloned().collect::<Vec<_>>(), specs);
            for shard in shards {
                let held: usize = shard.iter().map(|spec| bytes(spec, Dtype::F32)).sum();
                assert!(!shard.is_empty() && (held <= most || shard.len() == 1));
            }
        }
    }
}
