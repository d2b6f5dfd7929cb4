//! Mistral: a Llama whose layers all slide, unless a configuration says null.

use super::{Family, PLAIN, slide, window};

pub static FAMILY: Family = Family {
    name: "mistral",
    class: "MistralForCausalLM",
    gguf: None,
    gguf_has_pairs: false,
    layer: &PLAIN,
    members: &["sliding_window"],
    defaults: r#"{"sliding_window": 4096, "num_key_value_heads": 8, "max_position_embeddings": 131072}"#,
    gguf_members: &[],
    complete_gguf: |_| (),
    switches: |fields, _, architecture| slide(fields, window(fields)?, architecture, |_| true),
};
