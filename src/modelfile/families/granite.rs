//! Granite 3: a Llama with four multipliers.

use super::{Family, PLAIN, biases};

pub static FAMILY: Family = Family {
    name: "granite",
    class: "GraniteForCausalLM",
    gguf: Some("granite"),
    gguf_has_pairs: true,
    layer: &PLAIN,
    members: &[
        "attention_bias",
        "mlp_bias",
        "attention_multiplier",
        "embedding_multiplier",
        "logits_scaling",
        "residual_multiplier",
    ],
    defaults: r#"{"attention_multiplier": 1.0, "embedding_multiplier": 1.0, "logits_scaling": 1.0,
        "residual_multiplier": 1.0}"#,
    gguf_members: &[
        ("attention.scale", "attention_multiplier"),
        ("embedding_scale", "embedding_multiplier"),
        ("logit_scale", "logits_scaling"),
        ("residual_scale", "residual_multiplier"),
    ],
    complete_gguf: |_| (),
    switches: |fields, _, architecture| {
        biases(fields, architecture)?;
        let factor = |name: &str| {
            let factor = fields.number(name)?.unwrap_or(1.0);
            let holds = (1e-6..=1e6).contains(&factor);
            holds
                .then_some(factor as f32)
                .ok_or_else(|| fields.invalid(format!("{name} is {factor}, which is out of range")))
        };
        architecture.attention_scale = factor("attention_multiplier")?;
        architecture.embedding_scale = factor("embedding_multiplier")?;
        architecture.residual_scale = factor("residual_multiplier")?;
        architecture.logits_scale = 1.0 / factor("logits_scaling")?;
        Ok(())
    },
};
