//! Qwen 3 with experts: a router sends each token to the most probable of them.

use serde_json::json;

use super::{Family, biases, qwen3, slide, window};
use crate::modelfile::ModelFileError;
use crate::modelfile::architecture::{Architecture, Experts, Named, Part};
use crate::modelfile::fields::Fields;

const LAYER: [Named; 15] = {
    let mut layer = [Named(Part::Router, "mlp.gate", "ffn_gate_inp"); 15];
    let mut at = 0;
    while at < qwen3::LAYER.len() {
        layer[at] = qwen3::LAYER[at];
        at += 1;
    }
    layer[12] = Named(Part::ExpertGate, "mlp.experts.{}.gate_proj", "ffn_gate_exps");
    layer[13] = Named(Part::ExpertUp, "mlp.experts.{}.up_proj", "ffn_up_exps");
    layer[14] = Named(Part::ExpertDown, "mlp.experts.{}.down_proj", "ffn_down_exps");
    layer
};

pub static FAMILY: Family = Family {
    name: "qwen3_moe",
    class: "Qwen3MoeForCausalLM",
    gguf: Some("qwen3moe"),
    gguf_has_pairs: false,
    layer: &LAYER,
    members: &[
        "attention_bias",
        "use_sliding_window",
        "sliding_window",
        "max_window_layers",
        "decoder_sparse_step",
        "mlp_only_layers",
        "moe_intermediate_size",
        "norm_topk_prob",
        "num_experts",
        "num_local_experts",
        "num_experts_per_tok",
        "output_router_logits",
        "router_aux_loss_coef",
    ],
    defaults: r#"{"head_dim": 128, "sliding_window": 4096, "decoder_sparse_step": 1, "max_position_embeddings": 32768}"#,
    gguf_members: &[
        ("expert_count", "num_experts"),
        ("expert_used_count", "num_experts_per_tok"),
        ("expert_feed_forward_length", "moe_intermediate_size"),
    ],
    complete_gguf: |config| drop(config.insert("norm_topk_prob".to_owned(), json!(true))),
    switches: |fields, _, architecture| {
        biases(fields, architecture)?;
        let window = if fields.flag("use_sliding_window")? { window(fields)? } else { None };
        slide(fields, window, architecture, |_| window.is_some())?;
        experts(fields, architecture)
    },
};

fn experts(fields: &Fields<'_>, architecture: &mut Architecture) -> Result<(), ModelFileError> {
    // transformers 5 calls it by the second name.
    let count = match fields.count("num_experts")? {
        Some(count) => count,
        None => fields.required("num_local_experts")?,
    };
    let (active, width) = (fields.required("num_experts_per_tok")?, fields.required("moe_intermediate_size")?);
    if !(1..=1 << 10).contains(&count) || !(1..=count).contains(&active) || !(1..=1 << 18).contains(&width) {
        return Err(fields.invalid(format!("{active} of {count} experts of width {width} are out of range")));
    }
    let step = fields.count("decoder_sparse_step")?.unwrap_or(1);
    let dense: Vec<Option<u64>> = fields.list("mlp_only_layers")?.unwrap_or(&[]).iter().map(|i| i.as_u64()).collect();
    if step == 0 || dense.contains(&None) {
        return Err(fields.invalid("decoder_sparse_step is 0, or mlp_only_layers is not a list of layers"));
    }
    for (index, layer) in architecture.layers.iter_mut().enumerate() {
        layer.is_sparse = !dense.contains(&Some(index as u64)) && (index + 1).is_multiple_of(step);
    }
    architecture.experts = Some(Experts { count, active, width, is_normalised: fields.flag("norm_topk_prob")? });
    Ok(())
}
