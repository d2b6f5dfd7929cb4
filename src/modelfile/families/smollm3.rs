//! SmolLM 3: a Llama that does not rotate in every fourth layer (arXiv 2501.18795).

use super::{Family, PLAIN, biases, slide, window};

pub static FAMILY: Family = Family {
    name: "smollm3",
    class: "SmolLM3ForCausalLM",
    gguf: Some("smollm3"),
    gguf_has_pairs: true,
    layer: &PLAIN,
    members: &[
        "attention_bias",
        "mlp_bias",
        "use_sliding_window",
        "sliding_window",
        "max_window_layers",
        "layer_types",
        "no_rope_layers",
        "no_rope_layer_interval",
    ],
    defaults: r#"{"rope_theta": 2000000.0, "tie_word_embeddings": true, "num_key_value_heads": 4,
        "no_rope_layer_interval": 4, "max_position_embeddings": 32768}"#,
    gguf_members: &[],
    complete_gguf: |_| (),
    switches: |fields, _, architecture| {
        biases(fields, architecture)?;
        let interval = fields.count("no_rope_layer_interval")?.unwrap_or(4).max(1);
        // In spite of its name the list has 1 where a layer rotates.
        let rotated = fields.list("no_rope_layers")?;
        let layers = architecture.layers.len();
        if rotated.is_some_and(|list| list.len() != layers || list.iter().any(|flag| flag.as_u64().is_none())) {
            return Err(fields.invalid(format!("no_rope_layers is not a list of 0 or 1 for {layers} layers")));
        }
        let is_rotated = |layer: usize| match rotated {
            Some(list) => list[layer] != 0,
            None => !(layer + 1).is_multiple_of(interval),
        };
        let window = if fields.flag("use_sliding_window")? { window(fields)? } else { None };
        slide(fields, window, architecture, |layer| window.is_some() && !is_rotated(layer))?;
        for (index, layer) in architecture.layers.iter_mut().enumerate() {
            layer.rope = layer.rope.filter(|_| is_rotated(index));
        }
        Ok(())
    },
};
