//! The shape of a decoder: what `config.json` or the GGUF metadata says, checked once and then trusted.
//!
//! Whatever the decoder does not compute is refused here with its name, because a model that loads and computes
//! something else than its authors meant is worse than one that does not load.

use std::f64::consts::PI;

use serde_json::{Map, Value, json};

use super::ModelFileError;
use super::gguf::{Gguf, GgufValue};

const CONFIG_FILE: &str = "config.json";
const GENERATION_FILE: &str = "generation_config.json";
const EOS_LIMIT: usize = 64;

#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    /// The family, as `model_type` names it: `llama`.
    pub architecture: String,
    pub vocab_size: usize,
    pub hidden_size: usize,
    pub intermediate_size: usize,
    pub num_hidden_layers: usize,
    pub num_attention_heads: usize,
    pub num_key_value_heads: usize,
    pub head_dim: usize,
    pub rms_norm_eps: f64,
    pub rope: RopeConfig,
    pub max_position_embeddings: usize,
    pub tie_word_embeddings: bool,
    /// Any of these ends an answer. The generation configuration's come first.
    pub eos_token_ids: Vec<u32>,
    pub bos_token_id: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RopeConfig {
    pub theta: f64,
    pub scaling: RopeScaling,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RopeScaling {
    None,
    /// Positions are divided by `factor`.
    Linear {
        factor: f64,
    },
    /// Long wavelengths are divided by `factor`, short ones are kept, those between are blended.
    Llama3 {
        factor: f64,
        low_freq_factor: f64,
        high_freq_factor: f64,
        original_max_position_embeddings: usize,
    },
}

impl ModelConfig {
    /// Reads a Hugging Face configuration as transformers 4 and 5 write it.
    pub fn from_hf(config_json: &Value, generation_config: Option<&Value>) -> Result<Self, ModelFileError> {
        let fields = Fields::of(config_json, CONFIG_FILE)?;
        refuse_other_decoders(&fields)?;
        let hidden_size = fields.required("hidden_size")?;
        let num_attention_heads = fields.required("num_attention_heads")?;
        let head_dim = match fields.count("head_dim")? {
            Some(head_dim) => head_dim,
            None if num_attention_heads > 0 && hidden_size.is_multiple_of(num_attention_heads) => {
                hidden_size / num_attention_heads
            }
            None => return Err(fields.invalid("hidden_size is not divisible by num_attention_heads")),
        };
        let mut eos_token_ids = Vec::new();
        let generation = generation_config.map(|value| Fields::of(value, GENERATION_FILE)).transpose()?;
        for source in generation.iter().chain([&fields]) {
            for id in source.token_ids("eos_token_id")? {
                if !eos_token_ids.contains(&id) {
                    eos_token_ids.push(id);
                }
            }
        }
        Self {
            architecture: "llama".to_owned(),
            vocab_size: fields.required("vocab_size")?,
            hidden_size,
            intermediate_size: fields.required("intermediate_size")?,
            num_hidden_layers: fields.required("num_hidden_layers")?,
            num_attention_heads,
            num_key_value_heads: fields.count("num_key_value_heads")?.unwrap_or(num_attention_heads),
            head_dim,
            rms_norm_eps: fields.number("rms_norm_eps")?.unwrap_or(1e-6),
            rope: rope(&fields)?,
            max_position_embeddings: fields.count("max_position_embeddings")?.unwrap_or(2048),
            tie_word_embeddings: fields.flag("tie_word_embeddings")?,
            eos_token_ids,
            bos_token_id: fields.token_ids("bos_token_id")?.first().copied(),
        }
        .checked(CONFIG_FILE)
    }

    /// Reads GGUF metadata. Whether the output matrix is tied shows only in the tensors; Llama 3 scaling shows only in
    /// the values of `rope_freqs.weight`, which the caller reads.
    pub fn from_gguf(gguf: &Gguf, rope_freqs: Option<&[f32]>) -> Result<Self, ModelFileError> {
        let metadata = GgufFields { metadata: &gguf.metadata };
        metadata.refuse_other_decoders()?;
        let hidden_size = metadata.required("embedding_length")?;
        let num_attention_heads = metadata.required("attention.head_count")?;
        let head_dim = match metadata.count("attention.key_length")?.or(metadata.count("rope.dimension_count")?) {
            Some(head_dim) => head_dim,
            None => hidden_size.checked_div(num_attention_heads).unwrap_or(0),
        };
        for key in ["attention.value_length", "rope.dimension_count"] {
            if metadata.count(key)?.is_some_and(|length| length != head_dim) {
                return Err(gguf_invalid(format!("llama.{key} differs from the head size {head_dim}")));
            }
        }
        let theta = metadata.number("rope.freq_base")?.unwrap_or(10_000.0);
        let scaling = match rope_freqs {
            Some(freqs) => scaling_of(freqs, theta, head_dim)?,
            None => metadata.scaling()?,
        };
        let tokens = gguf.metadata.get("tokenizer.ggml.tokens").and_then(GgufValue::as_texts);
        let vocab_size = match (metadata.count("vocab_size")?, tokens) {
            (Some(size), _) => size,
            (None, Some(tokens)) => tokens.len(),
            (None, None) => return Err(gguf_invalid("llama.vocab_size is missing")),
        };
        let mut eos_token_ids = Vec::new();
        for key in ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"] {
            eos_token_ids.extend(metadata.token_id(key)?.filter(|id| !eos_token_ids.contains(id)));
        }
        Self {
            architecture: "llama".to_owned(),
            vocab_size,
            hidden_size,
            intermediate_size: metadata.required("feed_forward_length")?,
            num_hidden_layers: metadata.required("block_count")?,
            num_attention_heads,
            num_key_value_heads: metadata.count("attention.head_count_kv")?.unwrap_or(num_attention_heads),
            head_dim,
            rms_norm_eps: metadata.number("attention.layer_norm_rms_epsilon")?.unwrap_or(1e-6),
            rope: RopeConfig { theta, scaling },
            max_position_embeddings: metadata.count("context_length")?.unwrap_or(2048),
            tie_word_embeddings: gguf.tensor("output.weight").is_none(),
            eos_token_ids,
            bos_token_id: metadata.token_id("tokenizer.ggml.bos_token_id")?,
        }
        .checked("GGUF metadata")
    }

    /// A `config.json` that transformers 4 and 5 load as `LlamaForCausalLM`. `dtype` is torch's name, as `float32`.
    pub fn to_hf(&self, dtype: &str) -> Value {
        let scaling = match self.rope.scaling {
            RopeScaling::None => Value::Null,
            RopeScaling::Linear { factor } => json!({"rope_type": "linear", "factor": factor}),
            RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } => {
                json!({
                    "rope_type": "llama3", "factor": factor, "low_freq_factor": low_freq_factor,
                    "high_freq_factor": high_freq_factor,
                    "original_max_position_embeddings": original_max_position_embeddings,
                })
            }
        };
        let mut parameters = if scaling.is_null() { json!({"rope_type": "default"}) } else { scaling.clone() };
        parameters["rope_theta"] = json!(self.rope.theta);
        let eos = match self.eos_token_ids.as_slice() {
            [] => Value::Null,
            [id] => json!(id),
            ids => json!(ids),
        };
        json!({
            "architectures": ["LlamaForCausalLM"],
            "model_type": self.architecture,
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "num_hidden_layers": self.num_hidden_layers,
            "num_attention_heads": self.num_attention_heads,
            "num_key_value_heads": self.num_key_value_heads,
            "head_dim": self.head_dim,
            "hidden_act": "silu",
            "rms_norm_eps": self.rms_norm_eps,
            "max_position_embeddings": self.max_position_embeddings,
            "rope_theta": self.rope.theta,
            "rope_scaling": scaling,
            "rope_parameters": parameters,
            "tie_word_embeddings": self.tie_word_embeddings,
            "attention_bias": false,
            "mlp_bias": false,
            "bos_token_id": self.bos_token_id,
            "eos_token_id": eos,
            "torch_dtype": dtype,
            "dtype": dtype,
        })
    }

    /// Trainable numbers; a tied output matrix counts once.
    pub fn parameter_count(&self) -> u64 {
        let size = |value: usize| value as u64;
        let (hidden, head_dim) = (size(self.hidden_size), size(self.head_dim));
        let queries = size(self.num_attention_heads) * head_dim;
        let keys = size(self.num_key_value_heads) * head_dim;
        let attention = 2 * hidden * queries + 2 * hidden * keys;
        let layer = attention + 3 * hidden * size(self.intermediate_size) + 2 * hidden;
        let embeddings = size(self.vocab_size) * hidden * if self.tie_word_embeddings { 1 } else { 2 };
        embeddings + size(self.num_hidden_layers) * layer + hidden
    }

    /// The bounds keep every product of sizes below inside 64 bits.
    fn checked(self, file: &str) -> Result<Self, ModelFileError> {
        let invalid = |detail: String| ModelFileError::ConfigInvalid { file: file.to_owned(), detail };
        let bounds = [
            ("vocab_size", self.vocab_size, 1 << 20),
            ("hidden_size", self.hidden_size, 1 << 16),
            ("intermediate_size", self.intermediate_size, 1 << 18),
            ("num_hidden_layers", self.num_hidden_layers, 1 << 10),
            ("num_attention_heads", self.num_attention_heads, 1 << 10),
            ("num_key_value_heads", self.num_key_value_heads, 1 << 10),
            ("head_dim", self.head_dim, 1 << 12),
            ("max_position_embeddings", self.max_position_embeddings, 1 << 24),
        ];
        if let Some((name, value, limit)) = bounds.iter().find(|(_, value, limit)| !(1..=*limit).contains(value)) {
            return Err(invalid(format!("{name} is {value}; it must be between 1 and {limit}")));
        }
        if !self.num_attention_heads.is_multiple_of(self.num_key_value_heads) {
            return Err(invalid("num_attention_heads is not divisible by num_key_value_heads".to_owned()));
        }
        if !self.head_dim.is_multiple_of(2) {
            return Err(invalid(format!("head_dim is {}; rotary embeddings need an even size", self.head_dim)));
        }
        if !(self.rms_norm_eps > 0.0 && self.rms_norm_eps < 1.0) {
            return Err(invalid(format!("rms_norm_eps is {}; it must be between 0 and 1", self.rms_norm_eps)));
        }
        if !self.rope.holds() {
            return Err(invalid(format!("the rotary embeddings are out of range: {:?}", self.rope)));
        }
        let ids = self.eos_token_ids.iter().chain(&self.bos_token_id);
        if let Some(id) = ids.into_iter().find(|id| **id as usize >= self.vocab_size) {
            return Err(invalid(format!("token {id} is outside a vocabulary of {}", self.vocab_size)));
        }
        Ok(self)
    }
}

impl RopeConfig {
    fn holds(&self) -> bool {
        let scale = |factor: f64| (1.0..=1e6).contains(&factor);
        (1.0..=1e12).contains(&self.theta)
            && match self.scaling {
                RopeScaling::None => true,
                RopeScaling::Linear { factor } => scale(factor),
                RopeScaling::Llama3 {
                    factor,
                    low_freq_factor: low,
                    high_freq_factor: high,
                    original_max_position_embeddings: original,
                } => scale(factor) && low > 0.0 && low < high && high <= 1e6 && (1..=1 << 24).contains(&original),
            }
    }
}

/// Settings under which the decoder would compute something else.
fn refuse_other_decoders(fields: &Fields) -> Result<(), ModelFileError> {
    match fields.text("model_type")? {
        Some("llama") => {}
        Some(other) => {
            let architecture = other.chars().take(64).collect();
            return Err(ModelFileError::UnsupportedArchitecture { architecture });
        }
        None => return Err(fields.invalid("model_type is missing")),
    }
    for bias in ["attention_bias", "mlp_bias"] {
        if fields.flag(bias)? {
            return Err(fields.invalid(format!("{bias} is true; the decoder has no biases")));
        }
    }
    if let Some(other) = fields.text("hidden_act")?.filter(|act| *act != "silu") {
        return Err(fields.invalid(format!("hidden_act is `{other}`; the decoder computes silu")));
    }
    if fields.get("quantization_config").is_some() {
        let detail = "it has a quantization_config; import the unquantised model".to_owned();
        return Err(ModelFileError::UnsupportedDtype { file: CONFIG_FILE.to_owned(), detail });
    }
    Ok(())
}

/// transformers 5 keeps everything in `rope_parameters`, transformers 4 in `rope_theta` and `rope_scaling`. Where a
/// file has both they must agree.
fn rope(fields: &Fields) -> Result<RopeConfig, ModelFileError> {
    let theta = fields.number("rope_theta")?;
    let old = fields.object("rope_scaling")?.map(|scaling| scaling_from(&scaling)).transpose()?;
    let Some(parameters) = fields.object("rope_parameters")? else {
        return Ok(RopeConfig { theta: theta.unwrap_or(10_000.0), scaling: old.unwrap_or(RopeScaling::None) });
    };
    let new = scaling_from(&parameters)?;
    let new_theta = parameters.number("rope_theta")?;
    let theta_differs = theta.zip(new_theta).is_some_and(|(theta, new)| theta != new);
    if theta_differs || old.is_some_and(|old| old != new) {
        return Err(fields.invalid("rope_parameters contradicts rope_theta or rope_scaling"));
    }
    Ok(RopeConfig { theta: new_theta.or(theta).unwrap_or(10_000.0), scaling: new })
}

fn scaling_from(fields: &Fields) -> Result<RopeScaling, ModelFileError> {
    let factor =
        |name: &str| fields.number(name)?.ok_or_else(|| fields.invalid(format!("the rotary scaling has no {name}")));
    match fields.text("rope_type")?.or(fields.text("type")?) {
        None | Some("default") => Ok(RopeScaling::None),
        Some("linear") => Ok(RopeScaling::Linear { factor: factor("factor")? }),
        Some("llama3") => Ok(RopeScaling::Llama3 {
            factor: factor("factor")?,
            low_freq_factor: factor("low_freq_factor")?,
            high_freq_factor: factor("high_freq_factor")?,
            original_max_position_embeddings: fields.required("original_max_position_embeddings")?,
        }),
        Some(other) => {
            Err(fields.invalid(format!("rope type `{other}` is not computed; known are default, linear, llama3")))
        }
    }
}

/// GGUF stores Llama 3 scaling as one divisor for each frequency. All published models use the same constants, so the
/// divisors give the factor away; anything else is refused rather than guessed.
fn scaling_of(divisors: &[f32], theta: f64, head_dim: usize) -> Result<RopeScaling, ModelFileError> {
    let (low, high, original) = (1.0, 4.0, 8192.0);
    let factor = f64::from(divisors.iter().copied().fold(1.0, f32::max));
    let expected = |i: usize| {
        let wavelength = 2.0 * PI * theta.powf(2.0 * i as f64 / head_dim as f64);
        let smooth = ((original / wavelength - low) / (high - low)).clamp(0.0, 1.0);
        1.0 / ((1.0 - smooth) / factor + smooth)
    };
    let matches = |(i, divisor): (usize, &f32)| (f64::from(*divisor) / expected(i) - 1.0).abs() < 1e-4;
    if divisors.len() * 2 != head_dim || !divisors.iter().enumerate().all(matches) {
        return Err(gguf_invalid("rope_freqs.weight is not the scaling of Llama 3; import the Hugging Face directory"));
    }
    Ok(RopeScaling::Llama3 {
        factor,
        low_freq_factor: low,
        high_freq_factor: high,
        original_max_position_embeddings: original as usize,
    })
}

/// Typed access to one JSON object; null counts as absent, as transformers writes it.
struct Fields<'a> {
    map: &'a Map<String, Value>,
    file: &'static str,
}

impl<'a> Fields<'a> {
    fn of(value: &'a Value, file: &'static str) -> Result<Self, ModelFileError> {
        let invalid =
            || ModelFileError::ConfigInvalid { file: file.to_owned(), detail: "not a JSON object".to_owned() };
        value.as_object().map(|map| Self { map, file }).ok_or_else(invalid)
    }

    fn invalid(&self, detail: impl Into<String>) -> ModelFileError {
        ModelFileError::ConfigInvalid { file: self.file.to_owned(), detail: detail.into() }
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    fn read<T>(
        &self,
        key: &str,
        kind: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, ModelFileError> {
        let wrong = || self.invalid(format!("{key} is not {kind}"));
        self.get(key).map(|value| read(value).ok_or_else(wrong)).transpose()
    }

    fn count(&self, key: &str) -> Result<Option<usize>, ModelFileError> {
        self.read(key, "a whole number", |value| usize::try_from(value.as_u64()?).ok())
    }

    fn required(&self, key: &str) -> Result<usize, ModelFileError> {
        self.count(key)?.ok_or_else(|| self.invalid(format!("{key} is missing")))
    }

    fn number(&self, key: &str) -> Result<Option<f64>, ModelFileError> {
        self.read(key, "a number", Value::as_f64)
    }

    fn flag(&self, key: &str) -> Result<bool, ModelFileError> {
        self.read(key, "true or false", Value::as_bool).map(|flag| flag.unwrap_or(false))
    }

    fn text(&self, key: &str) -> Result<Option<&'a str>, ModelFileError> {
        self.read(key, "a text", Value::as_str)
    }

    fn object(&self, key: &str) -> Result<Option<Fields<'a>>, ModelFileError> {
        self.read(key, "an object", |value| value.as_object().map(|map| Fields { map, file: self.file }))
    }

    /// One id or a list of them.
    fn token_ids(&self, key: &str) -> Result<Vec<u32>, ModelFileError> {
        let id = |value: &Value| u32::try_from(value.as_u64()?).ok();
        let ids = self.read(key, "a token id or a short list of them", |value| match value {
            Value::Array(ids) if ids.len() <= EOS_LIMIT => ids.iter().map(id).collect(),
            other => id(other).map(|id| vec![id]),
        });
        ids.map(Option::unwrap_or_default)
    }
}

fn gguf_invalid(detail: impl Into<String>) -> ModelFileError {
    ModelFileError::ConfigInvalid { file: "GGUF metadata".to_owned(), detail: detail.into() }
}

/// Typed access to the `llama.` keys of GGUF metadata.
struct GgufFields<'a> {
    metadata: &'a super::gguf::Metadata,
}

impl GgufFields<'_> {
    fn refuse_other_decoders(&self) -> Result<(), ModelFileError> {
        match self.metadata.get("general.architecture").and_then(GgufValue::as_str) {
            Some("llama") => {}
            Some(other) => {
                let architecture = other.chars().take(64).collect();
                return Err(ModelFileError::UnsupportedArchitecture { architecture });
            }
            None => return Err(gguf_invalid("general.architecture is missing")),
        }
        if self.count("expert_count")?.unwrap_or(0) > 0 {
            return Err(ModelFileError::UnsupportedArchitecture { architecture: "llama with experts".to_owned() });
        }
        if self.metadata.get("split.count").and_then(GgufValue::as_u64).unwrap_or(0) > 1 {
            return Err(gguf_invalid(
                "this is one part of a split model; merge the parts with llama-gguf-split --merge",
            ));
        }
        Ok(())
    }

    fn get(&self, key: &str) -> Option<&GgufValue> {
        self.metadata.get(&format!("llama.{key}"))
    }

    fn count(&self, key: &str) -> Result<Option<usize>, ModelFileError> {
        let wrong = || gguf_invalid(format!("llama.{key} is not one whole number"));
        let count = |value: &GgufValue| value.as_u64().and_then(|n| usize::try_from(n).ok()).ok_or_else(wrong);
        self.get(key).map(count).transpose()
    }

    fn required(&self, key: &str) -> Result<usize, ModelFileError> {
        self.count(key)?.ok_or_else(|| gguf_invalid(format!("llama.{key} is missing")))
    }

    fn number(&self, key: &str) -> Result<Option<f64>, ModelFileError> {
        let wrong = || gguf_invalid(format!("llama.{key} is not a number"));
        self.get(key).map(|value| value.as_f64().ok_or_else(wrong)).transpose()
    }

    fn token_id(&self, key: &str) -> Result<Option<u32>, ModelFileError> {
        let wrong = || gguf_invalid(format!("{key} is not a token id"));
        let id = |value: &GgufValue| value.as_u64().and_then(|id| u32::try_from(id).ok()).ok_or_else(wrong);
        self.metadata.get(key).map(id).transpose()
    }

    fn scaling(&self) -> Result<RopeScaling, ModelFileError> {
        match self.get("rope.scaling.type").and_then(GgufValue::as_str) {
            None | Some("none") => Ok(RopeScaling::None),
            Some("linear") => {
                let missing = || gguf_invalid("llama.rope.scaling.factor is missing");
                Ok(RopeScaling::Linear { factor: self.number("rope.scaling.factor")?.ok_or_else(missing)? })
            }
            Some(other) => {
                Err(gguf_invalid(format!("rope scaling `{other}` is not computed; known are none and linear")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> Value {
        json!({
            "model_type": "llama", "vocab_size": 96, "hidden_size": 48, "intermediate_size": 112,
            "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-6,
            "max_position_embeddings": 128, "rope_theta": 10000.0, "eos_token_id": 2, "bos_token_id": 1,
        })
    }

    fn with(key: &str, value: Value) -> Result<ModelConfig, ModelFileError> {
        let mut config = base();
        config[key] = value;
        ModelConfig::from_hf(&config, None)
    }

    fn llama3() -> Value {
        json!({
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        })
    }

    #[test]
    fn what_is_written_for_transformers_reads_back_the_same() {
        for scaling in [Value::Null, json!({"type": "linear", "factor": 2.0}), llama3()] {
            let mut config = with("rope_scaling", scaling).unwrap();
            config.eos_token_ids = vec![2, 7];
            let written = config.to_hf("float32");
            assert_eq!(ModelConfig::from_hf(&written, None).unwrap(), config);
            // Each version of transformers alone reads the same.
            for keys in [&["rope_parameters"][..], &["rope_theta", "rope_scaling"]] {
                let mut one = written.clone();
                keys.iter().for_each(|key| drop(one.as_object_mut().unwrap().remove(*key)));
                assert_eq!(ModelConfig::from_hf(&one, None).unwrap(), config);
            }
        }
    }

    #[test]
    fn rope_settings_that_contradict_each_other_are_refused() {
        let parameters = json!({"rope_type": "default", "rope_theta": 500000.0});
        assert_eq!(with("rope_parameters", parameters).unwrap_err().code(), "config_invalid");
    }

    #[test]
    fn the_end_of_text_ids_of_both_files_count_and_the_generation_configs_come_first() {
        let generation = json!({"eos_token_id": [5, 2]});
        assert_eq!(ModelConfig::from_hf(&base(), Some(&generation)).unwrap().eos_token_ids, [5, 2]);
        let mut config = base();
        config["eos_token_id"] = json!([2, 3]);
        assert_eq!(ModelConfig::from_hf(&config, Some(&json!({"eos_token_id": 5}))).unwrap().eos_token_ids, [5, 2, 3]);
    }

    #[test]
    fn another_architecture_has_its_own_code() {
        assert_eq!(with("model_type", json!("qwen2")).unwrap_err().code(), "unsupported_architecture");
    }

    #[test]
    fn what_the_decoder_does_not_compute_is_refused_by_name() {
        let refused = [
            ("attention_bias", json!(true)),
            ("mlp_bias", json!(true)),
            ("hidden_act", json!("gelu")),
            ("rope_scaling", json!({"rope_type": "yarn", "factor": 4.0})),
            ("num_key_value_heads", json!(3)),
            ("num_attention_heads", json!(5)),
            ("num_attention_heads", json!(0)),
            ("head_dim", json!(11)),
            ("hidden_size", json!(0)),
            ("hidden_size", json!(1u64 << 40)),
            ("vocab_size", json!(-1)),
            ("vocab_size", json!((1 << 20) + 1)),
            ("num_hidden_layers", json!("three")),
            ("rms_norm_eps", json!(0.0)),
            ("rope_theta", json!(-1.0)),
            ("eos_token_id", json!(96)),
            ("eos_token_id", json!(-1)),
        ];
        for (key, value) in refused {
            let error = with(key, value.clone()).expect_err(key);
            assert_eq!(error.code(), "config_invalid", "{key} {value}: {error}");
        }
        assert_eq!(with("quantization_config", json!({})).unwrap_err().code(), "unsupported_dtype");
    }

    #[test]
    fn a_tied_output_matrix_counts_once() {
        let untied = with("tie_word_embeddings", json!(false)).unwrap().parameter_count();
        let tied = with("tie_word_embeddings", json!(true)).unwrap().parameter_count();
        assert_eq!(untied - tied, 96 * 48);
        // Counted by hand from the reference model's safetensors header.
        assert_eq!(untied, 2 * 96 * 48 + 3 * (2 * 48 * 48 + 2 * 24 * 48 + 3 * 112 * 48 + 2 * 48) + 48);
    }

    #[test]
    fn llama3_divisors_give_their_factor_and_others_are_refused() {
        let (theta, head_dim) = (500_000.0_f64, 128);
        let divisor = |i: usize| {
            let wavelength = 2.0 * PI * theta.powf(2.0 * i as f64 / head_dim as f64);
            if wavelength < 8192.0 / 4.0 {
                1.0
            } else if wavelength > 8192.0 {
                32.0
            } else {
                let smooth = (8192.0 / wavelength - 1.0) / 3.0;
                1.0 / ((1.0 - smooth) / 32.0 + smooth)
            }
        };
        let mut divisors: Vec<f32> = (0..head_dim / 2).map(|i| divisor(i) as f32).collect();
        let RopeScaling::Llama3 { factor, .. } = scaling_of(&divisors, theta, head_dim).unwrap() else { panic!() };
        assert_eq!(factor, 32.0);
        divisors[3] = 2.0;
        assert!(scaling_of(&divisors, theta, head_dim).is_err());
    }
}
