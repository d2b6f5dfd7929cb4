//! The families of models that the decoder computes, each a file: its names in `config.json` and in GGUF, its tensors,
//! and the switches that it sets. To add one, write its file, put it into [`FAMILIES`], and give it a golden below
//! `tests/data/models`.

mod gemma3;
mod granite;
mod llama;
mod mistral;
mod olmo2;
mod phi3;
mod qwen2;
mod qwen3;
mod qwen3_moe;
mod smollm3;

use serde_json::{Map, Value};

use super::ModelFileError;
use super::architecture::{Architecture, Named, Part};
use super::fields::Fields;
use super::rope::Within;

/// All of them.
pub static FAMILIES: [&Family; 10] = [
    &llama::FAMILY,
    &mistral::FAMILY,
    &qwen2::FAMILY,
    &qwen3::FAMILY,
    &smollm3::FAMILY,
    &olmo2::FAMILY,
    &gemma3::FAMILY,
    &phi3::FAMILY,
    &granite::FAMILY,
    &qwen3_moe::FAMILY,
];

/// A family of models.
#[derive(Debug)]
pub struct Family {
    /// `model_type` in `config.json`.
    pub name: &'static str,
    /// The class in `architectures` there.
    pub class: &'static str,
    /// `general.architecture` in GGUF, where keys begin with it too. Mistral's files there say that they are Llamas.
    pub gguf: Option<&'static str>,
    /// GGUF has the two coordinates of a rotated pair side by side, and not in the halves of a head.
    pub gguf_has_pairs: bool,
    /// The tensors of a layer. Those that are one product stand side by side.
    pub layer: &'static [Named],
    /// Members of `config.json` that it knows beside those that all know.
    pub members: &'static [&'static str],
    /// What members that are absent amount to, as transformers has it: a JSON object.
    pub defaults: &'static str,
    /// Its own keys of GGUF metadata, with the members of `config.json` that they are.
    pub gguf_members: &'static [(&'static str, &'static str)],
    /// Adds the members that GGUF has no keys for, because its readers know them.
    pub complete_gguf: fn(&mut Map<String, Value>),
    /// Sets the switches.
    pub switches: fn(&Fields<'_>, Sizes, &mut Architecture) -> Result<(), ModelFileError>,
}

/// What switches need to know of a model's sizes.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub hidden: usize,
    pub rope: Within,
}

impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Family {
    /// The family that `model_type` names.
    pub fn of(model_type: &str) -> Result<&'static Self, ModelFileError> {
        let found = FAMILIES.iter().copied().find(|family| family.name == model_type);
        found.ok_or_else(|| unknown(model_type))
    }

    /// The family that `general.architecture` of a GGUF file names.
    pub fn of_gguf(architecture: &str) -> Result<&'static Self, ModelFileError> {
        let found = FAMILIES.iter().copied().find(|family| family.gguf == Some(architecture));
        found.ok_or_else(|| unknown(architecture))
    }

    /// Members that are absent.
    pub fn defaults(&self) -> Map<String, Value> {
        serde_json::from_str(self.defaults).unwrap_or_default()
    }
}

fn unknown(architecture: &str) -> ModelFileError {
    ModelFileError::UnsupportedArchitecture { architecture: architecture.chars().take(64).collect() }
}

/// The names of all families, for messages.
pub fn known() -> String {
    FAMILIES.map(|family| family.name).join(", ")
}

/// A layer as Llama has it: norms before attention and feed-forward, and seven matrices.
const PLAIN: [Named; 9] = [
    Named(Part::AttentionNorm, "input_layernorm", "attn_norm"),
    Named(Part::Query, "self_attn.q_proj", "attn_q"),
    Named(Part::Key, "self_attn.k_proj", "attn_k"),
    Named(Part::Value, "self_attn.v_proj", "attn_v"),
    Named(Part::Output, "self_attn.o_proj", "attn_output"),
    Named(Part::FeedForwardNorm, "post_attention_layernorm", "ffn_norm"),
    Named(Part::Gate, "mlp.gate_proj", "ffn_gate"),
    Named(Part::Up, "mlp.up_proj", "ffn_up"),
    Named(Part::Down, "mlp.down_proj", "ffn_down"),
];
/// Norms of queries and keys.
const QUERY_NORM: Named = Named(Part::QueryNorm, "self_attn.q_norm", "attn_q_norm");
const KEY_NORM: Named = Named(Part::KeyNorm, "self_attn.k_norm", "attn_k_norm");

/// The biases that `attention_bias` and `mlp_bias` switch on.
fn biases(fields: &Fields<'_>, architecture: &mut Architecture) -> Result<(), ModelFileError> {
    let attention = fields.flag("attention_bias")?;
    architecture.biases.attention = attention;
    architecture.biases.output = attention;
    architecture.biases.feed_forward = fields.flag("mlp_bias")?;
    Ok(())
}

/// The window of sliding attention, if there is one.
fn window(fields: &Fields<'_>) -> Result<Option<usize>, ModelFileError> {
    let window = fields.count("sliding_window")?;
    match window {
        Some(0) => Err(fields.invalid("sliding_window is 0; it must be at least 1")),
        window => Ok(window),
    }
}

/// Gives a window to the layers that slide: those that `layer_types` calls so, or else those that `slides` chooses.
fn slide(
    fields: &Fields<'_>,
    window: Option<usize>,
    architecture: &mut Architecture,
    slides: impl Fn(usize) -> bool,
) -> Result<(), ModelFileError> {
    let kinds = fields.list("layer_types")?;
    if let Some(kinds) = kinds
        && kinds.len() != architecture.layers.len()
    {
        let (kinds, layers) = (kinds.len(), architecture.layers.len());
        return Err(fields.invalid(format!("layer_types names {kinds} layers of {layers}")));
    }
    // One set of rotations for each kind of layer, where there are two.
    let rope = architecture.rope.len() - 1;
    for (index, layer) in architecture.layers.iter_mut().enumerate() {
        let slides = match kinds.map(|kinds| kinds[index].as_str()) {
            None => slides(index),
            Some(Some("full_attention")) => false,
            Some(Some("sliding_attention")) => true,
            Some(other) => {
                let other = other.unwrap_or("something that is no text");
                return Err(fields
                    .invalid(format!("layer_types has `{other}`; known are full_attention and sliding_attention")));
            }
        };
        if slides {
            layer.window = window;
            layer.rope = layer.rope.map(|_| rope);
        }
    }
    Ok(())
}

/// Windows as the Qwen models switch them on: `use_sliding_window`, and from `max_window_layers` on.
fn qwen_windows(fields: &Fields<'_>, architecture: &mut Architecture) -> Result<(), ModelFileError> {
    let window = if fields.flag("use_sliding_window")? { window(fields)? } else { None };
    let first = fields.count("max_window_layers")?.unwrap_or(0);
    slide(fields, window, architecture, |layer| window.is_some() && layer >= first)
}
