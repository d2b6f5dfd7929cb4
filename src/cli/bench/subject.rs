//! The model that is measured.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use serde_json::{Map, Value, json};

use super::measure::Sizes;
use crate::engine::backend::{Backend, Usage};
use crate::engine::kernels::gemm::Precision;
use crate::engine::model::adapter::{Adapter, Origin};
use crate::engine::model::decoder::Decoder;
use crate::engine::model::reader::Reader;
use crate::engine::model::weights::Weights;
use crate::job::adapter::{AdapterInit, Lora, Targets};
use crate::job::spec::Masters;
use crate::modelfile::builtin::Builtin;
use crate::modelfile::{self, Inspection, ModelConfig};
use crate::text::tokenizer::TextTokenizer;

/// The names of shapes with random weights.
pub const TINY: &str = "tiny";
const SMOLLM2: &str = "smollm2-135m";
const QWEN3_SMALL: &str = "qwen3-0.6b";
const QWEN3_LARGE: &str = "qwen3-1.7b";
/// A mixture of experts, and a model without whose tokens pass through as many parameters.
const EXPERTS: &str = "experts";
const NO_EXPERTS: &str = "no-experts";
/// All of these.
pub const SHAPES: [&str; 6] = [TINY, SMOLLM2, QWEN3_SMALL, QWEN3_LARGE, EXPERTS, NO_EXPERTS];
/// Draws the random weights.
const SEED: u64 = 1;

/// A model in memory.
pub struct Subject<B: Backend> {
    pub weights: Arc<Weights<B>>,
    pub decoder: Decoder<B>,
    /// None when nothing is sampled.
    pub tokenizer: Option<TextTokenizer>,
}

/// How a model is used.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub precision: Precision,
    /// Whether tokens are drawn.
    pub with_text: bool,
    /// The rank of an adapter that is trained beside it.
    pub lora: Option<u32>,
    /// The frozen weights are in codes of 8 bits.
    pub int8: bool,
    /// What those that are trained are in.
    pub masters: Masters,
}

impl<B: Backend> Subject<B> {
    /// Loads the model that `name` stands for, or makes it.
    pub fn load(name: &str, setting: Setting, backend: &Arc<B>) -> anyhow::Result<Self> {
        let with_text = setting.with_text;
        match (shape(name), Builtin::find(name)) {
            (Some(config), _) => {
                let tokenizer = with_text.then(|| plain_tokenizer(config.vocab_size)).transpose()?;
                Self::of(&config, &Reader::random(&config, SEED), tokenizer, setting, backend)
            }
            (None, Some(builtin)) if builtin.from_scratch => {
                let inspection = endless(builtin.inspect()?);
                let (config, tokenizer) = (&inspection.config, tokenizer_of(&inspection, with_text)?);
                Self::of(config, &Reader::random(config, SEED), tokenizer, setting, backend)
            }
            (None, Some(builtin)) => Self::load_builtin(builtin, setting, backend),
            (None, None) => Self::load_path(Path::new(name), setting, backend).with_context(|| {
                let shapes = SHAPES.join(", ");
                format!("`{name}` is neither {shapes} or builtin:arith-tiny nor a model that can be used")
            }),
        }
    }

    fn of(
        config: &ModelConfig,
        reader: &Reader<'_>,
        tokenizer: Option<TextTokenizer>,
        Setting { precision, lora, int8, masters, .. }: Setting,
        backend: &Arc<B>,
    ) -> anyhow::Result<Self> {
        let usage = match lora {
            _ if int8 => Usage::Coded(precision),
            Some(_) => Usage::Computing(precision),
            None => Usage::Training(masters),
        };
        let weights = Arc::new(Weights::read(backend, config, usage, reader)?);
        let adapter = lora.map(|rank| {
            let (alpha, targets, init) = (f64::from(rank), Targets::ALL, AdapterInit::default());
            let lora = Lora {
                rank,
                alpha,
                targets,
                dropout: 0.0,
                init,
                rslora: false,
                dora: false,
                quantize: None,
                start: None,
            };
            Adapter::load(backend, config, &Origin::New { lora, seed: SEED }, &mut &*reader)
        });
        let longest = config.max_position_embeddings;
        let decoder = Decoder::for_sequences(Arc::clone(&weights), adapter.transpose()?, precision, longest)?;
        Ok(Self { weights, decoder, tokenizer })
    }

    fn load_path(path: &Path, setting: Setting, backend: &Arc<B>) -> anyhow::Result<Self> {
        let inspect = if setting.with_text { modelfile::inspect } else { modelfile::inspect_weights };
        let inspection = endless(inspect(path)?);
        let tokenizer = tokenizer_of(&inspection, setting.with_text)?;
        Self::of(&inspection.config, &Reader::open(&inspection)?, tokenizer, setting, backend)
    }

    /// Loading needs files, so that a built-in model becomes some for as long as it is read.
    fn load_builtin(builtin: &Builtin, setting: Setting, backend: &Arc<B>) -> anyhow::Result<Self> {
        let folder = std::env::temp_dir().join(format!("anneal-bench-{}", uuid::Uuid::new_v4().simple()));
        let write = || -> std::io::Result<()> {
            std::fs::create_dir(&folder)?;
            builtin.files.iter().try_for_each(|(name, bytes)| std::fs::write(folder.join(name), bytes))
        };
        let written = write().with_context(|| format!("cannot write the model below {}", folder.display()));
        let loaded = written.and_then(|()| Self::load_path(&folder, setting, backend));
        // What is left over lies in the system's folder for such files and hurts nobody.
        let _ = std::fs::remove_dir_all(&folder);
        loaded
    }

    /// Refuses a model that is not made for sequences as long as those that are measured.
    pub fn check_context(&self, sizes: Sizes) -> anyhow::Result<()> {
        let (context, needed) = (self.weights.config().max_position_embeddings, sizes.context());
        ensure!(context >= needed, "the model's context of {context} tokens is too short; {needed} are measured");
        Ok(())
    }
}

/// The shapes that have a name, as configurations.
fn shape(name: &str) -> Option<ModelConfig> {
    let config = match name {
        TINY => json!({
            "model_type": "llama", "vocab_size": 512, "hidden_size": 256, "intermediate_size": 688,
            "num_hidden_layers": 4, "num_attention_heads": 4, "rms_norm_eps": 1e-5, "max_position_embeddings": 1024,
        }),
        SMOLLM2 => json!({
            "model_type": "llama", "vocab_size": 49_152, "hidden_size": 576, "intermediate_size": 1536,
            "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3, "rms_norm_eps": 1e-5,
            "rope_theta": 1e5, "max_position_embeddings": 8192, "tie_word_embeddings": true,
        }),
        QWEN3_SMALL => qwen3(1024, 3072),
        QWEN3_LARGE => qwen3(2048, 6144),
        EXPERTS => with_or_without_experts(true),
        NO_EXPERTS => with_or_without_experts(false),
        _ => return None,
    };
    ModelConfig::from_hf(&config, None).ok()
}

/// Qwen3 by its widths.
fn qwen3(hidden_size: usize, intermediate_size: usize) -> Value {
    json!({
        "model_type": "qwen3", "vocab_size": 151_936, "hidden_size": hidden_size,
        "intermediate_size": intermediate_size, "num_hidden_layers": 28, "num_attention_heads": 16,
        "num_key_value_heads": 8, "head_dim": 128, "rms_norm_eps": 1e-6, "rope_theta": 1e6,
        "max_position_embeddings": 40_960, "tie_word_embeddings": true,
    })
}

/// 8 layers of width 512 in which a token's feed-forward part is 1536 wide: 8 of 32 experts, or one matrix.
fn with_or_without_experts(experts: bool) -> Value {
    let mut config = json!({
        "model_type": "qwen3", "vocab_size": 8192, "hidden_size": 512, "intermediate_size": 1536,
        "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 64,
        "rms_norm_eps": 1e-6, "rope_theta": 1e6, "max_position_embeddings": 8192, "tie_word_embeddings": true,
    });
    if experts {
        config["model_type"] = json!("qwen3_moe");
        let members = [
            ("num_experts", 32),
            ("num_experts_per_tok", 8),
            ("moe_intermediate_size", 192),
            ("decoder_sparse_step", 1),
        ];
        members.iter().for_each(|(name, count)| config[*name] = json!(count));
        config["norm_topk_prob"] = json!(true);
    }
    config
}

/// Without tokens that end a completion, so that all have the same length.
fn endless(inspection: Inspection) -> Inspection {
    let mut inspection = inspection;
    inspection.config.eos_token_ids.clear();
    inspection
}

fn tokenizer_of(inspection: &Inspection, with_text: bool) -> anyhow::Result<Option<TextTokenizer>> {
    Ok(with_text.then(|| TextTokenizer::from_inspection(inspection)).transpose()?)
}

/// A tokenizer with a short word for each id, because sampling turns every token into text.
fn plain_tokenizer(vocabulary: usize) -> anyhow::Result<TextTokenizer> {
    let words: Map<String, Value> = (0..vocabulary).map(|id| (format!(" w{id}"), json!(id))).collect();
    let file = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Fuse"},
        "model": {"type": "WordLevel", "vocab": words, "unk_token": " w0"},
    });
    Ok(TextTokenizer::from_hf_json(file.to_string().as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shapes_have_the_sizes_of_their_models() {
        let parameters = |name: &str| shape(name).unwrap().parameter_count();
        // As counted when SmolLM2-135M is imported.
        assert_eq!(parameters(SMOLLM2), 134_515_008);
        // Qwen3's own.
        assert_eq!(parameters(QWEN3_SMALL), 596_049_920);
        assert_eq!(parameters(QWEN3_LARGE), 1_720_574_976);
        // Besides the routers, what differs is that only a quarter of the experts is used.
        let of_feed_forward = 8 * 3 * 512 * 1536;
        assert_eq!(parameters(EXPERTS), parameters(NO_EXPERTS) + 3 * of_feed_forward + 8 * 32 * 512);
        assert_eq!(parameters(TINY), 2 * 512 * 256 + 4 * (4 * 256 * 256 + 3 * 256 * 688 + 2 * 256) + 256);
    }

    #[test]
    fn every_id_of_a_random_model_has_a_word() {
        let tokenizer = plain_tokenizer(300).unwrap();
        assert_eq!(tokenizer.decode(&[0, 299], true).unwrap(), " w0 w299");
    }
}
