//! Phi 3 and 4 (mini): queries, keys and values are one matrix, gate and up another.

use super::{Family, PLAIN, slide, window};
use crate::modelfile::architecture::{Named, Part};

pub static FAMILY: Family = Family {
    name: "phi3",
    class: "Phi3ForCausalLM",
    gguf: Some("phi3"),
    gguf_has_pairs: false,
    layer: &[
        PLAIN[0],
        Named(Part::QueryKeyValue, "self_attn.qkv_proj", "attn_qkv"),
        PLAIN[4],
        PLAIN[5],
        Named(Part::GateUp, "mlp.gate_up_proj", "ffn_up"),
        PLAIN[8],
    ],
    members: &["sliding_window", "original_max_position_embeddings"],
    defaults: r#"{"rms_norm_eps": 1e-5, "max_position_embeddings": 4096}"#,
    gguf_members: &[("attention.sliding_window", "sliding_window")],
    complete_gguf: |_| (),
    switches: |fields, _, architecture| slide(fields, window(fields)?, architecture, |_| true),
};
