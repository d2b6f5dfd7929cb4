//! Model files on disk: which formats exist, and whether a directory is complete and honest.
//!
//! The API inspects a model before it is imported, the engine before it is loaded, and both through [`inspect`], so
//! that a model the API accepted is one the engine can load. Nothing here knows candle or reads tensor data. All files
//! are untrusted: limits are checked before memory is taken.

pub mod adapter;
pub mod architecture;
pub mod builtin;
pub mod config;
mod digest;
pub mod families;
mod fields;
pub mod gguf;
pub mod rope;
pub mod safetensors;
mod tokenizer;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::architecture::Part;
use crate::job::memory::{Coded, Shape};

pub use config::ModelConfig;
pub use tokenizer::same_tokenizer;

pub const CONFIG_LIMIT_BYTES: u64 = 1 << 20;
pub const TOKENIZER_LIMIT_BYTES: u64 = 64 << 20;
const DIRECTORY_LIMIT: usize = 10_000;
/// Files beside the weights that belong to a model and are copied when they are there.
pub const COMPANIONS: [&str; 14] = [
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "README.md",
    "LICENSE",
    "LICENSE.md",
    "LICENSE.txt",
    "NOTICE",
    "NOTICE.md",
    "NOTICE.txt",
    "USE_POLICY.md",
];
/// The companions of a GGUF file, which brings its own configuration and tokenizer.
pub const DOCUMENTS: &[&str] = COMPANIONS.split_at(6).1;
/// Under what terms a model may be used.
pub const LICENSES: &[&str] = COMPANIONS.split_at(7).1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    HuggingFace,
    Gguf,
}

/// A model that was found complete.
#[derive(Clone, Debug)]
pub struct Inspection {
    pub format: Format,
    pub config: ModelConfig,
    pub parameters: u64,
    pub weights: Vec<PathBuf>,
    /// A `tokenizer.json`: the file itself, or the one that the GGUF vocabulary amounts to. The tokenizer's digest is
    /// taken over these bytes. Empty when only the weights were inspected.
    pub tokenizer_bytes: Vec<u8>,
    /// What to copy on import.
    pub files: Vec<PathBuf>,
    /// What of the model is not as its authors trained it.
    pub warnings: Vec<Warning>,
    /// What of the parameters is in codes that products read.
    pub coded: Coded,
}

impl Inspection {
    /// The sizes that decide about memory.
    pub fn shape(&self) -> Shape {
        Shape { coded: self.coded, ..shape(&self.config) }
    }
}

/// What whoever brings a model should know of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable, machine-readable name.
    pub code: String,
    pub detail: String,
}

impl Warning {
    /// Of weights that were rounded to fewer bits.
    fn quantized(types: &str) -> Self {
        let detail = format!(
            "the weights are {types}: what rounding took from them is lost, and training begins with what is left, in f32; \
             take the files in BF16, F16 or F32 where there are any"
        );
        Self { code: String::from("weights_quantized"), detail }
    }
}

/// The bytes of a file of weights that say what model it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// From the beginning.
    pub bytes: u64,
    /// Elsewhere in the file.
    pub beside: Vec<Range<u64>>,
}

/// The same of a file whose beginning is `prefix`, if that is enough to tell.
pub fn head(prefix: &[u8], file_bytes: u64, file: &str) -> Result<Option<Head>, ModelFileError> {
    if has_extension(Path::new(file), "gguf") {
        gguf::head(prefix, file_bytes, file)
    } else {
        safetensors::head(prefix, file)
    }
}

/// Why a path is not a model that can be used. Messages say what to do.
#[derive(Debug, thiserror::Error)]
pub enum ModelFileError {
    #[error("there is no model at {}: {detail}", path.display())]
    NotFound { path: PathBuf, detail: &'static str },
    #[error("cannot {operation} {}", path.display())]
    Io { operation: &'static str, path: PathBuf, source: io::Error },
    #[error("{file} is larger than {limit_bytes} bytes")]
    TooLarge { file: String, limit_bytes: u64 },
    #[error("{file}: {detail}")]
    ConfigInvalid { file: String, detail: String },
    #[error("the model has no tokenizer: {detail}")]
    TokenizerMissing { detail: String },
    #[error("the tokenizer cannot be used: {detail}")]
    TokenizerInvalid { detail: String },
    #[error("the tokenizer is of a kind that is not supported: {detail}; import the model in Hugging Face layout")]
    UnsupportedTokenizer { detail: String },
    #[error("{file}: {detail}")]
    WeightsInvalid { file: String, detail: String },
    #[error("{file} is cut short: {detail}; download or copy it again")]
    WeightsTruncated { file: String, detail: String },
    #[error("the architecture `{architecture}` is not supported; known are {}", families::known())]
    UnsupportedArchitecture { architecture: String },
    #[error("{file}: {detail}")]
    UnsupportedDtype { file: String, detail: String },
    #[error("{file} is a pickle, which can run code when it is read; convert the model to safetensors")]
    PickleRefused { file: String },
    #[error("the model cannot be written as GGUF: {detail}")]
    NotInGguf { detail: String },
    #[error("the adapter does not fit the model: {detail}")]
    AdapterMismatch { detail: String },
    #[error(
        "this is an adapter, to be used with the model that it was trained beside ({base}); import it with `base`, as \
         `anneal models import DIR --base MODEL` does"
    )]
    AdapterAlone { base: String },
    #[error("`{tensor}` in {file} has a number that is not finite")]
    NotFinite { file: String, tensor: String },
    #[error("{} holds several .gguf files; give the path of one of them", path.display())]
    Ambiguous { path: PathBuf },
}

impl ModelFileError {
    /// Stable, machine-readable reason.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "model_not_found",
            Self::Io { .. } => "model_unreadable",
            Self::TooLarge { .. } => "file_too_large",
            Self::ConfigInvalid { .. } => "config_invalid",
            Self::TokenizerMissing { .. } => "tokenizer_missing",
            Self::TokenizerInvalid { .. } => "tokenizer_invalid",
            Self::UnsupportedTokenizer { .. } => "unsupported_tokenizer",
            Self::WeightsInvalid { .. } => "weights_invalid",
            Self::WeightsTruncated { .. } => "weights_truncated",
            Self::UnsupportedArchitecture { .. } => "unsupported_architecture",
            Self::UnsupportedDtype { .. } => "unsupported_dtype",
            Self::PickleRefused { .. } => "pickle_refused",
            Self::NotInGguf { .. } => "not_in_gguf",
            Self::AdapterMismatch { .. } => "adapter_mismatch",
            Self::AdapterAlone { .. } => "adapter_base_missing",
            Self::NotFinite { .. } => "adapter_not_finite",
            Self::Ambiguous { .. } => "model_ambiguous",
        }
    }
}

/// Inspects a directory in Hugging Face layout, a directory with one `.gguf` file, or a `.gguf` file.
pub fn inspect(path: &Path) -> Result<Inspection, ModelFileError> {
    let (mut inspection, gguf) = inspect_parts(path)?;
    inspection.tokenizer_bytes = match gguf {
        Some(gguf) => gguf::tokenizer_json(&gguf.metadata)?,
        None => {
            let path = path.join("tokenizer.json");
            if !path.is_file() {
                let detail =
                    "tokenizer.json is not there; AutoTokenizer.from_pretrained(dir).save_pretrained(dir) writes it";
                return Err(ModelFileError::TokenizerMissing { detail: detail.to_owned() });
            }
            read_limited(&path, TOKENIZER_LIMIT_BYTES)?
        }
    };
    check_tokenizer(&inspection.tokenizer_bytes, inspection.config.vocab_size)?;
    Ok(inspection)
}

/// As [`inspect`], without looking for a tokenizer: for models that are used on token ids alone.
pub fn inspect_weights(path: &Path) -> Result<Inspection, ModelFileError> {
    inspect_parts(path).map(|(inspection, _)| inspection)
}

/// A model without weights, which are to be drawn at random: a directory with `config.json` and `tokenizer.json`.
pub fn inspect_blank(dir: &Path) -> Result<Inspection, ModelFileError> {
    let config = ModelConfig::from_hf(&read_json(&dir.join("config.json"), CONFIG_LIMIT_BYTES)?, None)?;
    let tokenizer_bytes = read_limited(&dir.join("tokenizer.json"), TOKENIZER_LIMIT_BYTES)?;
    check_tokenizer(&tokenizer_bytes, config.vocab_size)?;
    Ok(Inspection {
        format: Format::HuggingFace,
        parameters: config.parameter_count(),
        config,
        weights: Vec::new(),
        tokenizer_bytes,
        files: present(dir, &COMPANIONS),
        warnings: Vec::new(),
        coded: Coded::default(),
    })
}

/// The sizes of a model that decide about memory, but for the codes of its files.
pub fn shape(config: &ModelConfig) -> Shape {
    // Of a token's experts each computes its part.
    let of_experts = config.architecture.experts.map_or(0, |experts| experts.active * experts.width);
    let is_dense = config.architecture.layers.iter().any(|layer| !layer.is_sparse);
    let intermediate_size = if is_dense { config.intermediate_size.max(of_experts) } else { of_experts };
    let tensors = config.tensors();
    let has = |part: Part| tensors.iter().any(|tensor| tensor.part == part);
    let matrices = tensors.iter().filter(|tensor| !config.matrices(tensor).is_empty());
    Shape {
        parameters: config.parameter_count(),
        matrices: matrices.map(|tensor| tensor.shape.iter().product::<usize>() as u64).sum(),
        vocab_size: config.vocab_size as u64,
        hidden_size: config.hidden_size as u64,
        intermediate_size: intermediate_size as u64,
        layers: config.num_hidden_layers as u64,
        heads: config.num_attention_heads as u64,
        kv_heads: config.num_key_value_heads as u64,
        head_dim: config.head_dim as u64,
        context: config.max_position_embeddings as u64,
        experts: config.architecture.experts.map_or(0, |experts| experts.count as u64),
        norms_behind: has(Part::AttentionOutNorm),
        coded: Coded::default(),
    }
}

/// Reads a JSON file of at most `limit_bytes`.
pub fn read_json(path: &Path, limit_bytes: u64) -> Result<Value, ModelFileError> {
    let invalid = |error: serde_json::Error| ModelFileError::ConfigInvalid {
        file: file_name(path),
        detail: format!("it is not JSON: {error}"),
    };
    serde_json::from_slice(&read_limited(path, limit_bytes)?).map_err(invalid)
}

/// Reads a file of at most `limit_bytes`.
pub fn read_limited(path: &Path, limit_bytes: u64) -> Result<Vec<u8>, ModelFileError> {
    let failed = |source| ModelFileError::Io { operation: "read", path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.take(limit_bytes + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit_bytes {
        return Err(ModelFileError::TooLarge { file: file_name(path), limit_bytes });
    }
    Ok(bytes)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn inspect_parts(path: &Path) -> Result<(Inspection, Option<gguf::Gguf>), ModelFileError> {
    let not_found = |detail| ModelFileError::NotFound { path: path.to_owned(), detail };
    if path.is_file() {
        if !has_extension(path, "gguf") {
            return Err(not_found("give a directory in Hugging Face layout or a .gguf file"));
        }
        return inspect_gguf(path, Vec::new());
    }
    if !path.is_dir() {
        return Err(not_found("the path does not exist"));
    }
    if let Some(weights) = safetensors::read_dir(path)? {
        return Ok((inspect_hf(path, weights)?, None));
    }
    let listed = list(path)?;
    let mut ggufs = listed.iter().filter(|file| has_extension(file, "gguf"));
    if let Some(file) = ggufs.next() {
        if ggufs.next().is_some() {
            return Err(ModelFileError::Ambiguous { path: path.to_owned() });
        }
        return inspect_gguf(file, present(path, DOCUMENTS));
    }
    if let Some(base) = adapter::base_named_in(path)? {
        return Err(ModelFileError::AdapterAlone { base });
    }
    match listed.iter().find(|file| ["bin", "pt", "pth", "ckpt"].iter().any(|kind| has_extension(file, kind))) {
        Some(pickle) => Err(ModelFileError::PickleRefused { file: file_name(pickle) }),
        None => Err(not_found("it has neither model.safetensors, model.safetensors.index.json nor a .gguf file")),
    }
}

fn inspect_hf(dir: &Path, weights: safetensors::Weights) -> Result<Inspection, ModelFileError> {
    let config = dir.join("config.json");
    if !config.is_file() {
        let detail = "it is not there, and the weights alone do not say what model they are".to_owned();
        return Err(ModelFileError::ConfigInvalid { file: file_name(&config), detail });
    }
    let generation = Some(dir.join("generation_config.json")).filter(|path| path.is_file());
    let generation = generation.map(|path| read_json(&path, CONFIG_LIMIT_BYTES)).transpose()?;
    let json = read_json(&config, CONFIG_LIMIT_BYTES)?;
    let config = ModelConfig::from_hf(&json, generation.as_ref())?;
    let mut found: BTreeMap<&str, &[usize]> =
        weights.tensors.iter().map(|(name, (_, tensor))| (name.as_str(), tensor.shape.as_slice())).collect();
    for scale in weights.scales(!json["quantization_config"].is_null())? {
        found.remove(scale);
    }
    let file = weights.files.first().map_or_else(|| file_name(dir), |path| file_name(path));
    check_tensors(&config, Format::HuggingFace, found, &file)?;
    let warnings = weights.has_f8().then(|| Warning::quantized("8-bit floats")).into_iter().collect();
    let mut files = present(dir, &COMPANIONS);
    files.extend(weights.index);
    files.extend(weights.files.iter().cloned());
    Ok(Inspection {
        format: Format::HuggingFace,
        parameters: config.parameter_count(),
        config,
        weights: weights.files,
        tokenizer_bytes: Vec::new(),
        files,
        warnings,
        coded: Coded::default(),
    })
}

fn inspect_gguf(path: &Path, mut files: Vec<PathBuf>) -> Result<(Inspection, Option<gguf::Gguf>), ModelFileError> {
    let gguf = gguf::read(path)?;
    let config = gguf::configuration(path, &gguf)?;
    let found = gguf.tensors.iter().map(|tensor| (tensor.name.as_str(), tensor.shape.as_slice())).collect();
    check_tensors(&config, Format::Gguf, found, &file_name(path))?;
    files.push(path.to_owned());
    let inspection = Inspection {
        format: Format::Gguf,
        parameters: config.parameter_count(),
        config,
        weights: vec![path.to_owned()],
        tokenizer_bytes: Vec::new(),
        files,
        warnings: gguf.quantized().map(|types| Warning::quantized(&types)).into_iter().collect(),
        coded: gguf.coded(),
    };
    Ok((inspection, Some(gguf)))
}

/// Everything that the decoder needs is there in the right shape, and nothing is there that it would ignore.
fn check_tensors(
    config: &ModelConfig,
    format: Format,
    mut found: BTreeMap<&str, &[usize]>,
    file: &str,
) -> Result<(), ModelFileError> {
    let invalid = |detail: String| ModelFileError::WeightsInvalid { file: file.to_owned(), detail };
    let experts = config.architecture.experts.map_or(0, |experts| experts.count);
    for mut tensor in config.tensors() {
        let name = match format {
            Format::HuggingFace => tensor.name,
            Format::Gguf if tensor.part.is_of_expert() && tensor.expert > 0 => continue,
            Format::Gguf => {
                if tensor.part.is_of_expert() {
                    tensor.shape.insert(0, experts);
                }
                tensor.gguf_name
            }
        };
        let shape = tensor.shape;
        match found.remove(name.as_str()) {
            Some(found) if found == shape => {}
            Some(found) => {
                return Err(invalid(format!(
                    "tensor `{name}` has the shape {found:?}; the configuration asks for {shape:?}"
                )));
            }
            None => return Err(invalid(format!("tensor `{name}` is missing; the configuration asks for it"))),
        }
    }
    // Rotary tables are computed, and a tied output matrix is the embedding.
    let ignored = |name: &str| {
        name.ends_with(".rotary_emb.inv_freq")
            || gguf::ROTATIONS.contains(&name)
            || (config.tie_word_embeddings && name == "lm_head.weight")
    };
    match found.keys().find(|name| !ignored(name)) {
        Some(name) => Err(invalid(format!("tensor `{name}` belongs to no part of a {} decoder", config.family.name))),
        None => Ok(()),
    }
}

/// The tokenizer has a vocabulary, and the embedding has a row for each of its tokens.
fn check_tokenizer(bytes: &[u8], vocab_size: usize) -> Result<(), ModelFileError> {
    let invalid = |detail: String| ModelFileError::TokenizerInvalid { detail };
    let json: Value = serde_json::from_slice(bytes).map_err(|error| invalid(format!("tokenizer.json: {error}")))?;
    let model = match json.pointer("/model/vocab") {
        Some(Value::Object(vocab)) => vocab.values().map(Value::as_u64).max(),
        Some(Value::Array(pieces)) => pieces.len().checked_sub(1).map(|last| Some(last as u64)),
        _ => return Err(invalid("tokenizer.json has no model with a vocabulary".to_owned())),
    };
    let added = json.get("added_tokens").and_then(Value::as_array).into_iter().flatten();
    let largest = added.map(|token| token.get("id").and_then(Value::as_u64)).chain(model).max().flatten();
    match largest {
        Some(id) if id < vocab_size as u64 => Ok(()),
        Some(id) => {
            Err(invalid(format!("it has a token {id}, but the model has embeddings for {vocab_size} tokens only")))
        }
        None => Err(invalid("its vocabulary is empty".to_owned())),
    }
}

fn list(dir: &Path) -> Result<Vec<PathBuf>, ModelFileError> {
    let failed = |source| ModelFileError::Io { operation: "list", path: dir.to_owned(), source };
    let entries = std::fs::read_dir(dir).map_err(failed)?.take(DIRECTORY_LIMIT);
    let mut files =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    files.retain(|path| path.is_file());
    files.sort();
    Ok(files)
}

fn present(dir: &Path, names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(|name| dir.join(name)).filter(|path| path.is_file()).collect()
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

    const TOKENIZER: &str = r#"{"added_tokens":[{"id":7,"content":"<end>"}],"model":{"vocab":{"a":0,"b":1}}}"#;

    fn config(tied: bool) -> Value {
        json!({
            "model_type": "llama", "vocab_size": 8, "hidden_size": 4, "intermediate_size": 6, "num_hidden_layers": 2,
            "num_attention_heads": 2, "num_key_value_heads": 1, "tie_word_embeddings": tied,
        })
    }

    fn safetensors_file(tensors: &[(String, Vec<usize>)]) -> Vec<u8> {
        let (mut header, mut end) = (serde_json::Map::new(), 0);
        for (name, shape) in tensors {
            let begin = end;
            end += 4 * shape.iter().product::<usize>();
            header.insert(name.clone(), json!({"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}));
        }
        let header = Value::Object(header).to_string();
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.resize(bytes.len() + end, 0);
        bytes
    }

    fn tensors(tied: bool) -> Vec<(String, Vec<usize>)> {
        let tensors = ModelConfig::from_hf(&config(tied), None).unwrap().tensors();
        tensors.into_iter().map(|tensor| (tensor.name, tensor.shape)).collect()
    }

    fn model(tensors: &[(String, Vec<usize>)], tied: bool) -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("config.json"), config(tied).to_string()).unwrap();
        fs::write(dir.path().join("tokenizer.json"), TOKENIZER).unwrap();
        fs::write(dir.path().join("model.safetensors"), safetensors_file(tensors)).unwrap();
        dir
    }

    fn code(dir: &TempDir) -> &'static str {
        inspect(dir.path()).unwrap_err().code()
    }

    #[test]
    fn a_complete_directory_lists_what_an_import_copies_and_nothing_else() {
        let dir = model(&tensors(true), true);
        fs::write(dir.path().join("LICENSE"), "MIT").unwrap();
        fs::write(dir.path().join("training_args.bin"), "pickle").unwrap();
        let inspection = inspect(dir.path()).unwrap();
        let names: Vec<String> = inspection.files.iter().map(|path| file_name(path)).collect();
        assert_eq!(names, ["config.json", "tokenizer.json", "LICENSE", "model.safetensors"]);
        assert_eq!(inspection.tokenizer_bytes, TOKENIZER.as_bytes());
        let counted: usize = tensors(true).iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
        assert_eq!(inspection.parameters, counted as u64);
    }

    #[test]
    fn every_missing_or_misshapen_tensor_is_found() {
        for tied in [true, false] {
            let whole = tensors(tied);
            for at in 0..whole.len() {
                let mut without = whole.clone();
                without.remove(at);
                assert_eq!(code(&model(&without, tied)), "weights_invalid", "{}", whole[at].0);
                let mut wrong = whole.clone();
                wrong[at].1.push(1);
                assert_eq!(code(&model(&wrong, tied)), "weights_invalid", "{}", whole[at].0);
            }
        }
    }

    #[test]
    fn a_tensor_that_the_decoder_would_ignore_is_refused() {
        let mut extra = tensors(true);
        extra.push(("model.layers.0.self_attn.q_proj.bias".to_owned(), vec![4]));
        assert_eq!(code(&model(&extra, true)), "weights_invalid");
        let mut copy = tensors(true);
        copy.push(("lm_head.weight".to_owned(), vec![8, 4]));
        assert!(inspect(model(&copy, true).path()).is_ok());
    }

    #[test]
    fn a_tokenizer_must_be_there_and_fit_the_embeddings() {
        let dir = model(&tensors(true), true);
        fs::write(dir.path().join("tokenizer.json"), TOKENIZER.replace("\"id\":7", "\"id\":8")).unwrap();
        assert_eq!(code(&dir), "tokenizer_invalid");
        fs::write(dir.path().join("tokenizer.json"), "{}").unwrap();
        assert_eq!(code(&dir), "tokenizer_invalid");
        fs::remove_file(dir.path().join("tokenizer.json")).unwrap();
        assert_eq!(code(&dir), "tokenizer_missing");
        assert!(inspect_weights(dir.path()).is_ok());
    }

    #[test]
    fn pickles_are_refused_only_where_nothing_else_is_there() {
        let dir = model(&tensors(true), true);
        fs::write(dir.path().join("pytorch_model.bin"), "pickle").unwrap();
        assert!(inspect(dir.path()).is_ok());
        fs::remove_file(dir.path().join("model.safetensors")).unwrap();
        assert_eq!(code(&dir), "pickle_refused");
        fs::remove_file(dir.path().join("pytorch_model.bin")).unwrap();
        assert_eq!(code(&dir), "model_not_found");
    }

    #[test]
    fn several_gguf_files_are_ambiguous_and_a_missing_path_is_not_a_model() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.gguf"), "").unwrap();
        assert_eq!(code(&dir), "weights_truncated");
        fs::write(dir.path().join("b.gguf"), "").unwrap();
        assert_eq!(code(&dir), "model_ambiguous");
        assert_eq!(inspect(&dir.path().join("c.gguf")).unwrap_err().code(), "model_not_found");
    }

    #[test]
    fn a_configuration_larger_than_its_limit_is_refused() {
        let dir = model(&tensors(true), true);
        let padding = " ".repeat(CONFIG_LIMIT_BYTES as usize);
        fs::write(dir.path().join("config.json"), config(true).to_string() + &padding).unwrap();
        assert_eq!(code(&dir), "file_too_large");
    }
}
