//! Llama 2 and 3, SmolLM2, and what is shaped like them.

use super::{Family, PLAIN, biases};

pub static FAMILY: Family = Family {
    name: "llama",
    class: "LlamaForCausalLM",
    gguf: Some("llama"),
    gguf_has_pairs: true,
    layer: &PLAIN,
    members: &["attention_bias", "mlp_bias"],
    defaults: "{}",
    gguf_members: &[],
    complete_gguf: |_| (),
    switches: |fields, _, architecture| biases(fields, architecture),
};
