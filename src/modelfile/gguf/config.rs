//! The configuration inside a GGUF file: its keys as members of `config.json`, which has one reader for both, and the other
//! way round.

use std::f64::consts::TAU;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Gguf, GgufValue, Metadata, read_f32};
use crate::modelfile::ModelFileError;
use crate::modelfile::config::ModelConfig;
use crate::modelfile::families::Family;
use crate::modelfile::rope::{RopeConfig, RopeScaling};

const FILE: &str = "GGUF metadata";
/// Numbers in a tensor of rotations.
const ROTATIONS_LIMIT: u64 = 1 << 12;
/// Keys that all families have, with the members that they are.
const COMMON: [(&str, &str); 10] = [
    ("vocab_size", "vocab_size"),
    ("embedding_length", "hidden_size"),
    ("feed_forward_length", "intermediate_size"),
    ("block_count", "num_hidden_layers"),
    ("attention.head_count", "num_attention_heads"),
    ("attention.head_count_kv", "num_key_value_heads"),
    ("attention.key_length", "head_dim"),
    ("attention.layer_norm_rms_epsilon", "rms_norm_eps"),
    ("context_length", "max_position_embeddings"),
    ("rope.freq_base", "rope_theta"),
];

/// Reads the configuration of a file. Whether the output matrix is tied shows only in the tensors, and so do the
/// rotations of Llama 3 and of LongRoPE.
pub fn read(path: &Path, gguf: &Gguf) -> Result<ModelConfig, ModelFileError> {
    let Some(architecture) = gguf.metadata.get("general.architecture").and_then(GgufValue::as_str) else {
        return Err(invalid("general.architecture is missing"));
    };
    let keys = Keys { metadata: &gguf.metadata, architecture, family: Family::of_gguf(architecture)? };
    keys.refuse_other_decoders()?;
    let mut config = keys.members()?;
    if !config.contains_key("vocab_size") {
        let tokens = gguf.metadata.get("tokenizer.ggml.tokens").and_then(GgufValue::as_texts);
        let count = tokens.ok_or_else(|| invalid(format!("{architecture}.vocab_size is missing")))?.len();
        config.insert("vocab_size".to_owned(), json!(count));
    }
    config.insert("tie_word_embeddings".to_owned(), json!(gguf.tensor("output.weight").is_none()));
    if let Some(scaling) = keys.scaling(&config, |name| rotations(path, gguf, name))? {
        config.insert("rope_scaling".to_owned(), scaling);
    }
    let mut eos_token_ids = Vec::new();
    for key in ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"] {
        eos_token_ids.extend(keys.token_id(key)?.filter(|id| !eos_token_ids.contains(id)));
    }
    if let Some(id) = keys.token_id("tokenizer.ggml.bos_token_id")? {
        config.insert("bos_token_id".to_owned(), json!(id));
    }
    ModelConfig::read(&Value::Object(config), FILE, eos_token_ids)
}

/// A tensor of rotations, if the file has it.
fn rotations(path: &Path, gguf: &Gguf, name: &str) -> Result<Option<Vec<f64>>, ModelFileError> {
    if gguf.tensor(name).is_none() {
        return Ok(None);
    }
    let numbers = read_f32(path, gguf, name, ROTATIONS_LIMIT)?;
    let numbers = numbers.ok_or_else(|| invalid(format!("{name} is not a short list of F32")))?;
    Ok(Some(numbers.into_iter().map(f64::from).collect()))
}

fn invalid(detail: impl Into<String>) -> ModelFileError {
    ModelFileError::ConfigInvalid { file: FILE.to_owned(), detail: detail.into() }
}

/// The metadata of a family.
struct Keys<'a> {
    metadata: &'a Metadata,
    architecture: &'a str,
    family: &'static Family,
}

impl Keys<'_> {
    fn refuse_other_decoders(&self) -> Result<(), ModelFileError> {
        let experts = self.family.gguf_members.iter().any(|(key, _)| *key == "expert_count");
        if !experts && self.count("expert_count")?.unwrap_or(0) > 0 {
            let architecture = format!("{} with experts", self.architecture);
            return Err(ModelFileError::UnsupportedArchitecture { architecture });
        }
        if self.metadata.get("split.count").and_then(GgufValue::as_u64).unwrap_or(0) > 1 {
            return Err(invalid("this is one part of a split model; merge the parts with llama-gguf-split --merge"));
        }
        Ok(())
    }

    /// Members of `config.json`.
    fn members(&self) -> Result<Map<String, Value>, ModelFileError> {
        let mut config = Map::from_iter([("model_type".to_owned(), json!(self.family.name))]);
        for (key, member) in COMMON.iter().chain(self.family.gguf_members) {
            let value = match self.get(key) {
                None => continue,
                Some(GgufValue::Integer(number)) => u64::try_from(*number).ok().map(Value::from),
                Some(GgufValue::Float(number)) => serde_json::Number::from_f64(*number).map(Value::Number),
                Some(_) => None,
            };
            let value = value.ok_or_else(|| invalid(format!("{} is not one number", self.name(key))))?;
            config.insert((*member).to_owned(), value);
        }
        for (key, member) in &COMMON[1..5] {
            if !config.contains_key(*member) {
                return Err(invalid(format!("{} is missing", self.name(key))));
            }
        }
        let heads = self.count("attention.head_count")?.unwrap_or(1).max(1);
        let rotated = self.count("rope.dimension_count")?;
        let head_dim = match self.count("attention.key_length")? {
            Some(head_dim) => head_dim,
            None => self.count("embedding_length")?.unwrap_or(0) / heads,
        };
        config.insert("head_dim".to_owned(), json!(head_dim));
        if self.count("attention.value_length")?.is_some_and(|length| length != head_dim) {
            return Err(invalid(format!(
                "{} differs from the head size {head_dim}",
                self.name("attention.value_length")
            )));
        }
        if let Some(rotated) = rotated.filter(|rotated| *rotated != head_dim) {
            config.insert("partial_rotary_factor".to_owned(), json!(rotated as f64 / head_dim.max(1) as f64));
        }
        (self.family.complete_gguf)(&mut config);
        Ok(config)
    }

    fn scaling(
        &self,
        config: &Map<String, Value>,
        rotations: impl Fn(&str) -> Result<Option<Vec<f64>>, ModelFileError>,
    ) -> Result<Option<Value>, ModelFileError> {
        let number = |key: &str| self.get(key).and_then(|value| value.as_f64().or(value.as_u64().map(|n| n as f64)));
        let original = self.count("rope.scaling.original_context_length")?;
        if let Some(divisors) = rotations("rope_freqs.weight")? {
            let theta = config.get("rope_theta").and_then(Value::as_f64).unwrap_or(1e4);
            let head_dim = config.get("head_dim").and_then(Value::as_u64).unwrap_or(0) as usize;
            return llama3(&divisors, theta, head_dim).map(Some);
        }
        if let (Some(long), Some(short)) =
            (rotations("rope_factors_long.weight")?, rotations("rope_factors_short.weight")?)
        {
            let attention = number("rope.scaling.attn_factor");
            return Ok(Some(json!({
                "rope_type": "longrope", "long_factor": long, "short_factor": short,
                "original_max_position_embeddings": original, "attention_factor": attention,
            })));
        }
        let factor = || {
            let name = self.name("rope.scaling.factor");
            number("rope.scaling.factor").ok_or_else(|| invalid(format!("{name} is missing")))
        };
        match self.get("rope.scaling.type").and_then(GgufValue::as_str) {
            None | Some("none") => Ok(None),
            Some("linear") => Ok(Some(json!({"rope_type": "linear", "factor": factor()?}))),
            Some("yarn") => Ok(Some(json!({
                "rope_type": "yarn", "factor": factor()?, "original_max_position_embeddings": original,
            }))),
            Some(other) => {
                Err(invalid(format!("rope scaling `{other}` is not computed; known are none, linear and yarn")))
            }
        }
    }

    fn name(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    fn get(&self, key: &str) -> Option<&GgufValue> {
        self.metadata.get(&self.name(key))
    }

    fn count(&self, key: &str) -> Result<Option<usize>, ModelFileError> {
        let wrong = || invalid(format!("{} is not one whole number", self.name(key)));
        let count = |value: &GgufValue| value.as_u64().and_then(|n| usize::try_from(n).ok()).ok_or_else(wrong);
        self.get(key).map(count).transpose()
    }

    fn token_id(&self, key: &str) -> Result<Option<u32>, ModelFileError> {
        let wrong = || invalid(format!("{key} is not a token id"));
        let id = |value: &GgufValue| value.as_u64().and_then(|id| u32::try_from(id).ok()).ok_or_else(wrong);
        self.metadata.get(key).map(id).transpose()
    }
}

/// What a file says of a configuration.
#[derive(Clone, Debug, Default)]
pub struct Described {
    /// `general.architecture`, and the keys that begin with it.
    pub metadata: Metadata,
    /// Tensors of rotations.
    pub rotations: Vec<(String, Vec<f32>)>,
    /// Whether the two coordinates of a rotated pair lie side by side.
    pub has_pairs: bool,
}

/// A configuration in the keys of GGUF. What they cannot say is left out: whoever writes the file reads it back and asks
/// [`ModelConfig::computes_as`].
pub fn describe(config: &ModelConfig) -> Described {
    // Mistral's models are Llamas there.
    let (architecture, has_pairs) =
        config.family.gguf.map_or(("llama", true), |name| (name, config.family.gguf_has_pairs));
    let mut described = Described { has_pairs, ..Described::default() };
    let mut set = |key: &str, value: GgufValue| described.metadata.insert(format!("{architecture}.{key}"), value);
    let mut members = config.family.defaults();
    members.extend(config.to_hf("float32").as_object().cloned().unwrap_or_default());
    for (key, member) in COMMON.iter().chain(config.family.gguf_members) {
        let is_fraction = ["epsilon", "freq_base", "freq_base_swa", "scale"].iter().any(|end| key.ends_with(end));
        let value = members.get(*member);
        let value = match value.and_then(Value::as_u64).filter(|_| !is_fraction) {
            Some(count) => Some(GgufValue::Integer(count.into())),
            None => value.and_then(Value::as_f64).map(GgufValue::Float),
        };
        value.and_then(|value| set(key, value));
    }
    let count = |count: usize| GgufValue::Integer(count as i128);
    set("attention.value_length", count(config.head_dim));
    let rope = &config.architecture.rope[0];
    set("rope.dimension_count", count(rope.width));
    let mut scaling = |kind: &str, factor: f64| {
        set("rope.scaling.type", GgufValue::Text(kind.to_owned()));
        set("rope.scaling.factor", GgufValue::Float(factor));
    };
    let mut original = None;
    match &rope.scaling {
        RopeScaling::None | RopeScaling::Dynamic { .. } => {}
        RopeScaling::Linear { factor } => scaling("linear", *factor),
        RopeScaling::Yarn { factor, original: trained, .. } => {
            scaling("yarn", *factor);
            original = Some(*trained);
        }
        RopeScaling::Llama3 { .. } => {
            described.rotations.push((String::from("rope_freqs.weight"), llama3_divisors(rope)));
        }
        RopeScaling::LongRope { short, long, original: trained, attention } => {
            set("rope.scaling.attn_factor", GgufValue::Float(*attention));
            original = Some(*trained);
            for (kind, factors) in [("long", long), ("short", short)] {
                let factors = factors.iter().map(|factor| *factor as f32).collect();
                described.rotations.push((format!("rope_factors_{kind}.weight"), factors));
            }
        }
    }
    if let Some(original) = original {
        let key = format!("{architecture}.rope.scaling.original_context_length");
        described.metadata.insert(key, count(original));
    }
    described.metadata.insert(String::from("general.architecture"), GgufValue::Text(architecture.to_owned()));
    described
}

/// The divisors of Llama 3's scaling, one for each frequency.
fn llama3_divisors(rope: &RopeConfig) -> Vec<f32> {
    let plain = RopeConfig { scaling: RopeScaling::None, ..rope.clone() }.rotation(1).speeds;
    let scaled = rope.rotation(1).speeds;
    plain.into_iter().zip(scaled).map(|(plain, scaled)| (plain / scaled) as f32).collect()
}

/// GGUF stores Llama 3 scaling as one divisor for each frequency. All published models use the same constants, so the
/// divisors give the factor away; anything else is refused rather than guessed.
fn llama3(divisors: &[f64], theta: f64, head_dim: usize) -> Result<Value, ModelFileError> {
    let (low, high, original) = (1.0, 4.0, 8192.0);
    let factor = divisors.iter().copied().fold(1.0, f64::max);
    let expected = |i: usize| {
        let wavelength = TAU * theta.powf(2.0 * i as f64 / head_dim as f64);
        let smooth = ((original / wavelength - low) / (high - low)).clamp(0.0, 1.0);
        1.0 / ((1.0 - smooth) / factor + smooth)
    };
    let matches = |(i, divisor): (usize, &f64)| (divisor / expected(i) - 1.0).abs() < 1e-4;
    if divisors.len() * 2 != head_dim || !divisors.iter().enumerate().all(matches) {
        return Err(invalid("rope_freqs.weight is not the scaling of Llama 3; import the Hugging Face directory"));
    }
    Ok(json!({
        "rope_type": "llama3", "factor": factor, "low_freq_factor": low, "high_freq_factor": high,
        "original_max_position_embeddings": original as u64,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn llama3_divisors_give_their_factor_and_others_are_refused() {
        let (theta, head_dim) = (500_000.0_f64, 128);
        let divisor = |i: usize| {
            let wavelength = TAU * theta.powf(2.0 * i as f64 / head_dim as f64);
            if wavelength < 8192.0 / 4.0 {
                1.0
            } else if wavelength > 8192.0 {
                32.0
            } else {
                let smooth = (8192.0 / wavelength - 1.0) / 3.0;
                1.0 / ((1.0 - smooth) / 32.0 + smooth)
            }
        };
        let mut divisors: Vec<f64> = (0..head_dim / 2).map(|i| f64::from(divisor(i) as f32)).collect();
        assert_eq!(llama3(&divisors, theta, head_dim).unwrap()["factor"], 32.0);
        divisors[3] = 2.0;
        assert!(llama3(&divisors, theta, head_dim).is_err());
    }
}
