//! OLMo 2: norms behind attention and feed-forward instead of before them, and over whole rows of queries and keys.

use super::{Family, KEY_NORM, PLAIN, QUERY_NORM, biases};
use crate::modelfile::architecture::{HeadNorms, Named, Part};

pub static FAMILY: Family = Family {
    name: "olmo2",
    class: "Olmo2ForCausalLM",
    gguf: Some("olmo2"),
    gguf_has_pairs: false,
    layer: &[
        PLAIN[1],
        PLAIN[2],
        PLAIN[3],
        QUERY_NORM,
        KEY_NORM,
        PLAIN[4],
        Named(Part::AttentionOutNorm, "post_attention_layernorm", "post_attention_norm"),
        PLAIN[6],
        PLAIN[7],
        PLAIN[8],
        Named(Part::FeedForwardOutNorm, "post_feedforward_layernorm", "post_ffw_norm"),
    ],
    members: &["attention_bias"],
    defaults: r#"{"rms_norm_eps": 1e-5}"#,
    gguf_members: &[],
    complete_gguf: |_| (),
    switches: |fields, _, architecture| {
        architecture.head_norms = HeadNorms::Row;
        biases(fields, architecture)
    },
};
