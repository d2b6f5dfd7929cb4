//! Gemma 3, its text model: four norms a layer whose weights are offsets from one, a gate by GELU, scaled embeddings,
//! and layers that slide with rotations of their own between full ones.

use serde_json::{Value, json};

use super::{Family, KEY_NORM, PLAIN, QUERY_NORM, biases, slide, window};
use crate::modelfile::architecture::{Named, Part};
use crate::modelfile::rope::{RopeConfig, RopeScaling};

/// Of so many layers the last one has full attention.
const PATTERN: usize = 6;
/// Layers of the model of 27 billion parameters.
const LARGEST: u64 = 62;

pub static FAMILY: Family = Family {
    name: "gemma3_text",
    class: "Gemma3ForCausalLM",
    gguf: Some("gemma3"),
    gguf_has_pairs: false,
    layer: &[
        PLAIN[0],
        PLAIN[1],
        PLAIN[2],
        PLAIN[3],
        QUERY_NORM,
        KEY_NORM,
        PLAIN[4],
        Named(Part::AttentionOutNorm, "post_attention_layernorm", "post_attention_norm"),
        Named(Part::FeedForwardNorm, "pre_feedforward_layernorm", "ffn_norm"),
        PLAIN[6],
        PLAIN[7],
        PLAIN[8],
        Named(Part::FeedForwardOutNorm, "post_feedforward_layernorm", "post_ffw_norm"),
    ],
    members: &[
        "attention_bias",
        "hidden_activation",
        "layer_types",
        "query_pre_attn_scalar",
        "rope_local_base_freq",
        "sliding_window",
        "sliding_window_pattern",
        "_sliding_window_pattern",
    ],
    defaults: r#"{"rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "tie_word_embeddings": true, "head_dim": 256,
        "hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 256, "sliding_window": 4096,
        "max_position_embeddings": 131072}"#,
    gguf_members: &[("attention.sliding_window", "sliding_window"), ("rope.freq_base_swa", "rope_local_base_freq")],
    complete_gguf: |config| {
        let count = |name: &str| config.get(name).and_then(Value::as_u64).unwrap_or(0);
        // Of all sizes the largest alone does not take the width of a head.
        let scalar = if count("num_hidden_layers") == LARGEST {
            count("hidden_size") / count("num_attention_heads").max(1)
        } else {
            count("head_dim")
        };
        config.insert("query_pre_attn_scalar".to_owned(), json!(scalar));
    },
    switches: |fields, sizes, architecture| {
        biases(fields, architecture)?;
        architecture.norm_offset = 1.0;
        architecture.embedding_scale = (sizes.hidden as f32).sqrt();
        let scalar = fields.number("query_pre_attn_scalar")?.unwrap_or(sizes.rope.head_dim as f64);
        architecture.attention_scale = 1.0 / (scalar as f32).sqrt();
        if architecture.rope.len() == 1 {
            let theta = fields.number("rope_local_base_freq")?.unwrap_or(1e4);
            let width = architecture.rope[0].width;
            architecture.rope.push(RopeConfig { theta, width, scaling: RopeScaling::None });
        }
        let named = fields.count("sliding_window_pattern")?.or(fields.count("_sliding_window_pattern")?);
        let pattern = named.unwrap_or(PATTERN).max(1);
        slide(fields, window(fields)?, architecture, |layer| !(layer + 1).is_multiple_of(pattern))
    },
};
