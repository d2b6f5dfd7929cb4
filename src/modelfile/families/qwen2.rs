//! Qwen 2 and 2.5: biases on queries, keys and values.

use super::{Family, PLAIN, qwen_windows};

pub static FAMILY: Family = Family {
    name: "qwen2",
    class: "Qwen2ForCausalLM",
    gguf: Some("qwen2"),
    gguf_has_pairs: false,
    layer: &PLAIN,
    members: &["use_sliding_window", "sliding_window", "max_window_layers", "layer_types"],
    defaults: r#"{"sliding_window": 4096, "max_window_layers": 28, "max_position_embeddings": 32768}"#,
    gguf_members: &[],
    complete_gguf: |_| (),
    switches: |fields, _, architecture| {
        architecture.biases.attention = true;
        qwen_windows(fields, architecture)
    },
};
