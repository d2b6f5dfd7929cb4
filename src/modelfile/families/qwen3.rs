//! Qwen 3: every head of queries and keys is normed before it is rotated.

use super::{Family, KEY_NORM, PLAIN, QUERY_NORM, biases, qwen_windows};
use crate::modelfile::architecture::Named;

pub(super) const LAYER: [Named; 11] =
    [PLAIN[0], PLAIN[1], PLAIN[2], PLAIN[3], QUERY_NORM, KEY_NORM, PLAIN[4], PLAIN[5], PLAIN[6], PLAIN[7], PLAIN[8]];

pub static FAMILY: Family = Family {
    name: "qwen3",
    class: "Qwen3ForCausalLM",
    gguf: Some("qwen3"),
    gguf_has_pairs: false,
    layer: &LAYER,
    members: &["attention_bias", "use_sliding_window", "sliding_window", "max_window_layers", "layer_types"],
    defaults: r#"{"head_dim": 128, "sliding_window": 4096, "max_window_layers": 28, "max_position_embeddings": 32768}"#,
    gguf_members: &[],
    complete_gguf: |_| (),
    switches: |fields, _, architecture| {
        biases(fields, architecture)?;
        qwen_windows(fields, architecture)
    },
};
