//! The shape of a decoder: what `config.json` or the GGUF metadata says, checked once and then trusted.
//!
//! Whatever the decoder does not compute is refused here with its name, because a model that loads and computes
//! something else than its authors meant is worse than one that does not load.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::architecture::{Activation, Architecture};
use super::families::{Family, Sizes};
use super::fields::Fields;
use super::rope::{RopeConfig, RopeScaling, Within};
use super::{ModelFileError, safetensors};

const CONFIG_FILE: &str = "config.json";
const GENERATION_FILE: &str = "generation_config.json";

/// Members that every family knows.
const COMMON: [&str; 23] = [
    "architectures",
    "bos_token_id",
    "eos_token_id",
    "head_dim",
    "hidden_act",
    "hidden_size",
    "intermediate_size",
    "layer_types",
    "max_position_embeddings",
    "mlp_bias",
    "model_type",
    "num_attention_heads",
    "num_hidden_layers",
    "num_key_value_heads",
    "partial_rotary_factor",
    "quantization_config",
    "rms_norm_eps",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "tie_word_embeddings",
    "vocab_size",
    "attention_bias",
];

/// Members that change nothing of what is computed here: for other programs, for training elsewhere, or for the record.
const HARMLESS: [&str; 27] = [
    "attention_dropout",
    "attn_implementation",
    "auto_map",
    "cache_implementation",
    "chunk_size_feed_forward",
    "dtype",
    "embd_pdrop",
    "hidden_dropout",
    "id2label",
    "initializer_range",
    "label2id",
    "is_llama_config",
    "model_max_length",
    "name_or_path",
    "pad_token_id",
    "pretraining_tp",
    "resid_pdrop",
    "return_dict",
    "task_specific_params",
    "tokenizer_class",
    "torch_dtype",
    "transformers_version",
    "transformers.js_config",
    "unk_token_id",
    "unsloth_fixed",
    "unsloth_version",
    "use_cache",
];

#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    pub family: &'static Family,
    pub architecture: Architecture,
    pub vocab_size: usize,
    pub hidden_size: usize,
    pub intermediate_size: usize,
    pub num_hidden_layers: usize,
    pub num_attention_heads: usize,
    pub num_key_value_heads: usize,
    pub head_dim: usize,
    pub rms_norm_eps: f64,
    /// The longest sequence, with what the rotations stretch it to.
    pub max_position_embeddings: usize,
    pub tie_word_embeddings: bool,
    /// Any of these ends an answer. The generation configuration's come first.
    pub eos_token_ids: Vec<u32>,
    pub bos_token_id: Option<u32>,
    /// The configuration as it was read, for those to whom the model is given on.
    source: Arc<Map<String, Value>>,
}

impl ModelConfig {
    /// Reads a Hugging Face configuration as transformers 4 and 5 write it.
    pub fn from_hf(config_json: &Value, generation_config: Option<&Value>) -> Result<Self, ModelFileError> {
        let mut sources = vec![Fields::of(config_json, CONFIG_FILE)?];
        if let Some(generation) = generation_config {
            sources.insert(0, Fields::of(generation, GENERATION_FILE)?);
        }
        let mut eos_token_ids = Vec::new();
        for source in sources {
            for id in source.token_ids("eos_token_id")? {
                if !eos_token_ids.contains(&id) {
                    eos_token_ids.push(id);
                }
            }
        }
        Self::read(config_json, CONFIG_FILE, eos_token_ids)
    }

    /// Reads a configuration with the members of `config.json`, wherever they come from.
    pub(super) fn read(
        config_json: &Value,
        file: &'static str,
        eos_token_ids: Vec<u32>,
    ) -> Result<Self, ModelFileError> {
        let fields = Fields::of(config_json, file)?;
        let model_type = fields.text("model_type")?.ok_or_else(|| fields.invalid("model_type is missing"))?;
        let family = Family::of(model_type)?;
        let defaults = family.defaults();
        let fields = fields.or(&defaults);
        refuse_other_decoders(&fields, family)?;
        let (hidden_size, layers) = (fields.required("hidden_size")?, fields.required("num_hidden_layers")?);
        let num_attention_heads = fields.required("num_attention_heads")?;
        let head_dim = match fields.count("head_dim")? {
            Some(head_dim) => head_dim,
            None if num_attention_heads > 0 && hidden_size.is_multiple_of(num_attention_heads) => {
                hidden_size / num_attention_heads
            }
            None => return Err(fields.invalid("hidden_size is not divisible by num_attention_heads")),
        };
        let context = fields.count("max_position_embeddings")?.unwrap_or(2048);
        let mut config = Self {
            family,
            architecture: Architecture::plain(Vec::new(), 0, head_dim),
            vocab_size: fields.required("vocab_size")?,
            hidden_size,
            intermediate_size: fields.required("intermediate_size")?,
            num_hidden_layers: layers,
            num_attention_heads,
            num_key_value_heads: fields.count("num_key_value_heads")?.unwrap_or(num_attention_heads),
            head_dim,
            rms_norm_eps: fields.number("rms_norm_eps")?.unwrap_or(1e-6),
            max_position_embeddings: context,
            tie_word_embeddings: fields.flag("tie_word_embeddings")?,
            eos_token_ids,
            bos_token_id: fields.token_ids("bos_token_id")?.first().copied(),
            source: Arc::new(config_json.as_object().cloned().unwrap_or_default()),
        }
        .checked(&fields)?;
        let within = Within { head_dim, context, theta: fields.number("rope_theta")?.unwrap_or(1e4) };
        let mut architecture = Architecture::plain(RopeConfig::read(&fields, within)?, layers, head_dim);
        architecture.activation = activation(&fields)?;
        (family.switches)(&fields, Sizes { hidden: hidden_size, rope: within }, &mut architecture)?;
        config.max_position_embeddings = architecture.rope[0].context(context);
        config.architecture = architecture;
        Ok(config)
    }

    /// A `config.json` that transformers 4 and 5 load: as the model came, with this program's `dtype` (torch's name, as
    /// `float32`) and rotations in the form of both.
    pub fn to_hf(&self, dtype: &str) -> Value {
        let mut map = (*self.source).clone();
        let mut set = |key: &str, value: Value| map.insert(key.to_owned(), value);
        set("architectures", json!([self.family.class]));
        for key in ["torch_dtype", "dtype"] {
            set(key, json!(dtype));
        }
        set("bos_token_id", json!(self.bos_token_id));
        let eos = match self.eos_token_ids.as_slice() {
            [] => Value::Null,
            [id] => json!(id),
            ids => json!(ids),
        };
        set("eos_token_id", eos);
        for (key, value) in [("head_dim", self.head_dim), ("num_key_value_heads", self.num_key_value_heads)] {
            set(key, json!(value));
        }
        set("rms_norm_eps", json!(self.rms_norm_eps));
        set("tie_word_embeddings", json!(self.tie_word_embeddings));
        if let Some(experts) = self.architecture.experts {
            set("num_experts", json!(experts.count));
            set("num_local_experts", json!(experts.count));
        }
        self.write_rope(&mut map);
        // What is written are plain numbers, whatever was read.
        map.remove("quantization_config");
        Value::Object(map)
    }

    /// Whether a model with the other configuration computes the same, but for rounding of its scalars to f32, whatever
    /// family it says that it is of.
    pub fn computes_as(&self, other: &Self) -> bool {
        let sizes = |config: &Self| {
            (
                [config.vocab_size, config.hidden_size, config.intermediate_size, config.num_hidden_layers],
                [
                    config.num_attention_heads,
                    config.num_key_value_heads,
                    config.head_dim,
                    config.max_position_embeddings,
                ],
                config.tie_word_embeddings,
            )
        };
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * a.abs().max(b.abs());
        let longest = self.max_position_embeddings.min(4096);
        let same_turns = |(a, b): (&RopeConfig, &RopeConfig)| {
            let (a, b) = (a.rotation(longest), b.rotation(longest));
            let speeds = a.speeds.iter().zip(&b.speeds).all(|(a, b)| near(*a, *b));
            a.speeds.len() == b.speeds.len() && speeds && near(a.factor, b.factor)
        };
        let (a, b) = (&self.architecture, &other.architecture);
        // Rotations come as numbers of f32.
        let but_rope = |of: &Architecture| Architecture { rope: Vec::new(), ..of.clone() };
        sizes(self) == sizes(other)
            && near(self.rms_norm_eps, other.rms_norm_eps)
            && but_rope(a) == but_rope(b)
            && a.rope.len() == b.rope.len()
            && a.rope.iter().zip(&b.rope).all(same_turns)
    }

    fn write_rope(&self, map: &mut Map<String, Value>) {
        let sets: Vec<Value> = self.architecture.rope.iter().map(|rope| rope.to_hf(self.head_dim)).collect();
        let rope = &self.architecture.rope[0];
        if !map.contains_key("rope_parameters") {
            let new = match sets.as_slice() {
                [full, sliding] => json!({"full_attention": full, "sliding_attention": sliding}),
                _ => sets[0].clone(),
            };
            map.insert("rope_parameters".to_owned(), new);
        }
        map.insert("rope_theta".to_owned(), json!(rope.theta));
        if map.get("rope_scaling").is_none_or(Value::is_null) {
            let scaled = rope.scaling != RopeScaling::None;
            map.insert("rope_scaling".to_owned(), if scaled { sets[0].clone() } else { Value::Null });
        }
        if let [_, sliding] = self.architecture.rope.as_slice() {
            map.insert("rope_local_base_freq".to_owned(), json!(sliding.theta));
        }
    }

    /// The bounds keep every product of sizes below inside 64 bits.
    fn checked(self, fields: &Fields<'_>) -> Result<Self, ModelFileError> {
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
            return Err(fields.invalid(format!("{name} is {value}; it must be between 1 and {limit}")));
        }
        if !self.num_attention_heads.is_multiple_of(self.num_key_value_heads) {
            return Err(fields.invalid("num_attention_heads is not divisible by num_key_value_heads"));
        }
        if !self.head_dim.is_multiple_of(2) {
            let detail = format!("head_dim is {}; rotary embeddings need an even size", self.head_dim);
            return Err(fields.invalid(detail));
        }
        if !(self.rms_norm_eps > 0.0 && self.rms_norm_eps < 1.0) {
            let detail = format!("rms_norm_eps is {}; it must be between 0 and 1", self.rms_norm_eps);
            return Err(fields.invalid(detail));
        }
        let ids = self.eos_token_ids.iter().chain(&self.bos_token_id);
        if let Some(id) = ids.into_iter().find(|id| **id as usize >= self.vocab_size) {
            return Err(fields.invalid(format!("token {id} is outside a vocabulary of {}", self.vocab_size)));
        }
        Ok(self)
    }
}

/// Whether matrices are 8-bit floats with a scale for each block, which are read as the numbers that they stand for.
fn is_fp8(quantization: &Value) -> bool {
    let block = safetensors::SCALE_BLOCK;
    quantization["quant_method"] == "fp8" && quantization["weight_block_size"] == json!([block, block])
}

/// Members under which the decoder would compute something else. What is null, false or empty is off.
fn refuse_other_decoders(fields: &Fields<'_>, family: &Family) -> Result<(), ModelFileError> {
    if let Some(quantization) = fields.get("quantization_config")
        && !is_fp8(quantization)
    {
        let detail = "its quantization_config is not that of 8-bit floats with a scale for each 128 x 128 of a matrix \
                      (quant_method fp8); import the unquantised model";
        return Err(ModelFileError::UnsupportedDtype { file: CONFIG_FILE.to_owned(), detail: detail.to_owned() });
    }
    let is_known = |name: &str| COMMON.contains(&name) || HARMLESS.contains(&name) || family.members.contains(&name);
    let off = [json!(false), json!({}), json!([])];
    let is_off = |name: &str| fields.get(name).is_none_or(|value| off.contains(value));
    for name in fields.names().filter(|name| !is_known(name) && !name.starts_with('_')) {
        if !is_off(name) {
            let detail =
                format!("{name} is not understood for {} models, and might change what they compute", family.name);
            return Err(fields.invalid(detail));
        }
    }
    for name in ["attention_bias", "mlp_bias"] {
        if !family.members.contains(&name) && fields.flag(name)? {
            return Err(fields.invalid(format!("{name} is true; {} models have no such biases", family.name)));
        }
    }
    Ok(())
}

/// Gemma calls it by the second name.
fn activation(fields: &Fields<'_>) -> Result<Activation, ModelFileError> {
    let name = fields.text("hidden_activation")?.or(fields.text("hidden_act")?);
    match name.unwrap_or("silu") {
        "silu" | "swish" => Ok(Activation::Silu),
        "gelu_pytorch_tanh" => Ok(Activation::GeluTanh),
        other => {
            let detail = format!("hidden_act is `{other}`; known are silu and gelu_pytorch_tanh");
            Err(fields.invalid(detail))
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
            let read = |written: &Value| {
                let source = Arc::clone(&config.source);
                ModelConfig { source, ..ModelConfig::from_hf(written, None).unwrap() }
            };
            assert_eq!(read(&written), config);
            // Each version of transformers alone reads the same.
            for keys in [&["rope_parameters"][..], &["rope_theta", "rope_scaling"]] {
                let mut one = written.clone();
                keys.iter().for_each(|key| drop(one.as_object_mut().unwrap().remove(*key)));
                assert_eq!(read(&one), config);
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
        let error = with("model_type", json!("mamba")).unwrap_err();
        assert_eq!(error.code(), "unsupported_architecture");
        assert!(error.to_string().contains("qwen3"), "{error}");
    }

    #[test]
    fn what_the_decoder_does_not_compute_is_refused_by_name() {
        let refused = [
            ("hidden_act", json!("gelu")),
            ("rope_scaling", json!({"rope_type": "su", "factor": 4.0})),
            ("rope_scaling", json!({"rope_type": "linear", "factor": 4.0, "beta": 1.0})),
            ("rope_scaling", json!({"rope_type": "spiral"})),
            ("final_logit_softcapping", json!(30.0)),
            ("sliding_window", json!(16)),
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
        for other in [json!({}), json!({"quant_method": "fp8"}), json!({"quant_method": "awq"})] {
            assert_eq!(with("quantization_config", other).unwrap_err().code(), "unsupported_dtype");
        }
    }

    #[test]
    fn a_tied_output_matrix_counts_once() {
        let untied = with("tie_word_embeddings", json!(false)).unwrap().parameter_count();
        let tied = with("tie_word_embeddings", json!(true)).unwrap().parameter_count();
        assert_eq!(untied - tied, 96 * 48);
        // Counted by hand from the reference model's safetensors header.
        assert_eq!(untied, 2 * 96 * 48 + 3 * (2 * 48 * 48 + 2 * 24 * 48 + 3 * 112 * 48 + 2 * 48) + 48);
    }
}
