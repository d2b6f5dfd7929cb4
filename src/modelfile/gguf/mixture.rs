//! Which numbers each tensor of a GGUF file is written as: what llama.cpp's own quantisation takes for the file types that
//! are offered (its `llama_tensor_get_type`), so that files of the same name are of the same size and quality.

use super::type_name;
use super::write::fits;
use crate::job::ExportDtype;
use crate::modelfile::architecture::{Part, Role, TensorSpec};
use crate::modelfile::{ModelConfig, ModelFileError};

const F32: u32 = 0;
const F16: u32 = 1;
const Q5_0: u32 = 6;
const Q5_1: u32 = 7;
const Q8_0: u32 = 8;
const Q4_K: u32 = 12;
const Q5_K: u32 = 13;
const Q6_K: u32 = 14;
const BF16: u32 = 30;

/// The number of a file type (llama.cpp's `llama_ftype`).
pub fn file_type(dtype: ExportDtype) -> u32 {
    match dtype {
        ExportDtype::F32 => 0,
        ExportDtype::F16 => 1,
        ExportDtype::Q8_0 => 7,
        ExportDtype::Q4KM => 15,
        ExportDtype::Bf16 => 32,
    }
}

/// The type of every tensor. An error when the model's shapes do not allow the file's.
pub fn types(config: &ModelConfig, dtype: ExportDtype) -> Result<Vec<(TensorSpec, u32)>, ModelFileError> {
    let tensors = config.tensors();
    let types: Vec<u32> = tensors.iter().map(|tensor| type_of(config, tensor, dtype)).collect::<Result<_, _>>()?;
    if dtype == ExportDtype::Q4KM && !types.contains(&Q4_K) {
        let detail = String::from(
            "no matrix has rows of a multiple of 256 numbers, which share their scales in q4_k_m; take q8_0",
        );
        return Err(ModelFileError::NotInGguf { detail });
    }
    Ok(tensors.into_iter().zip(types).collect())
}

fn type_of(config: &ModelConfig, tensor: &TensorSpec, dtype: ExportDtype) -> Result<u32, ModelFileError> {
    let is_matrix = matches!(tensor.role, Role::Matrix | Role::ResidualMatrix);
    if !is_matrix || tensor.part == Part::Router {
        return Ok(F32);
    }
    let row = tensor.shape[1];
    let wanted = match dtype {
        ExportDtype::F32 => F32,
        ExportDtype::F16 => F16,
        ExportDtype::Bf16 => BF16,
        ExportDtype::Q8_0 => Q8_0,
        ExportDtype::Q4KM => mixed(config, tensor),
    };
    // Matrices whose rows are not whole blocks of 256 take the next type whose blocks are of 32.
    let coarse = match wanted {
        Q4_K => Q5_0,
        Q5_K => Q5_1,
        Q6_K => Q8_0,
        other => other,
    };
    [wanted, coarse].into_iter().find(|kind| fits(row, *kind)).ok_or_else(|| {
        let (name, kind) = (&tensor.gguf_name, type_name(coarse).unwrap_or_default());
        let detail =
            format!("rows of `{name}` have {row} numbers, which are not whole blocks of {kind}; take f16 or bf16");
        ModelFileError::NotInGguf { detail }
    })
}

/// The mixture `Q4_K_M`: the head, and values and what a feed-forward writes in half of the layers, have more bits.
fn mixed(config: &ModelConfig, tensor: &TensorSpec) -> u32 {
    let eight_experts = config.architecture.experts.is_some_and(|experts| experts.count == 8);
    let (layer, layers) = (tensor.layer, config.num_hidden_layers);
    let eighth = layers / 8;
    let is_sensitive = layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2;
    match tensor.part {
        Part::Head => Q6_K,
        Part::Embedding if config.tie_word_embeddings => Q6_K,
        Part::Key | Part::Value if eight_experts => Q8_0,
        Part::Output | Part::QueryKeyValue if eight_experts || tensor.part == Part::QueryKeyValue => Q5_K,
        Part::Value | Part::Down | Part::ExpertDown if is_sensitive => Q6_K,
        _ => Q4_K,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A model with the shapes of SmolLM2-135M, or of one with other rows.
    fn config(hidden: usize, intermediate: usize) -> ModelConfig {
        let json = json!({
            "model_type": "llama", "vocab_size": 49152, "hidden_size": hidden, "intermediate_size": intermediate,
            "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3, "head_dim": 64,
            "tie_word_embeddings": true,
        });
        ModelConfig::from_hf(&json, None).unwrap()
    }

    /// As `llama-quantize` mixes them for this model: `tests/interop/llama.py` compares the files tensor by tensor.
    #[test]
    fn a_mixture_has_more_bits_where_llama_cpp_has() {
        let types = types(&config(576, 1536), ExportDtype::Q4KM).unwrap();
        let of = |name: &str| types.iter().find(|(tensor, _)| tensor.gguf_name == name).unwrap().1;
        assert_eq!(of("token_embd.weight"), Q8_0);
        assert_eq!((of("blk.0.attn_q.weight"), of("blk.0.attn_norm.weight")), (Q5_0, F32));
        assert_eq!((of("blk.0.attn_v.weight"), of("blk.3.attn_v.weight")), (Q8_0, Q5_0));
        let down: Vec<usize> = (0..30).filter(|layer| of(&format!("blk.{layer}.ffn_down.weight")) == Q6_K).collect();
        assert_eq!(down, [0, 1, 2, 5, 8, 11, 14, 17, 20, 23, 26, 27, 28, 29]);
        assert_eq!(of("blk.3.ffn_down.weight"), Q4_K);
    }

    #[test]
    fn shapes_that_a_type_does_not_allow_are_refused_with_another() {
        for (hidden, intermediate, dtype, advice) in
            [(96, 352, ExportDtype::Q4KM, "take q8_0"), (72, 256, ExportDtype::Q8_0, "take f16")]
        {
            let error = types(&config(hidden, intermediate), dtype).unwrap_err();
            assert_eq!(error.code(), "not_in_gguf");
            assert!(error.to_string().contains(advice), "{error}");
        }
        assert!(types(&config(72, 256), ExportDtype::F16).is_ok());
    }
}
