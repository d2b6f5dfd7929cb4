//! How many tokens fit into one forward and backward pass.

use super::backend::Backend;
use super::error::EngineError;
use crate::job::memory::bytes_per_token;
use crate::modelfile::config::ModelConfig;
use crate::modelfile::shape;

/// Tokens below which products are too small to be fast.
const FEWEST: u64 = 256;
/// Share of the free memory that activations may take; the rest is for logits, verifiers and other processes.
const SHARE: f64 = 0.5;

/// Tokens for one pass, for a model whose optimizer and gradients are not in memory yet.
pub fn micro_batch_tokens<B: Backend>(
    config: &ModelConfig,
    parameters: usize,
    recompute: bool,
    backend: &B,
) -> Result<u64, EngineError> {
    let free = backend.room(parameters as u64 * size_of::<f32>() as u64)?;
    let of_token = bytes_per_token(&shape(config, parameters as u64), recompute);
    Ok(((free as f64 * SHARE) as u64 / of_token).clamp(FEWEST, B::MOST_TOKENS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::backend::Storage;
    use crate::engine::cpu::Cpu;

    #[test]
    fn a_small_model_takes_the_largest_batch_and_recomputing_takes_less_memory() {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny");
        let config = crate::modelfile::inspect(&directory).unwrap().config;
        let on_cpu = |parameters| micro_batch_tokens(&config, parameters, false, &Cpu).unwrap();
        assert_eq!(on_cpu(1 << 20), Cpu::MOST_TOKENS);
        let of_token = |recompute| bytes_per_token(&shape(&config, 1 << 20), recompute);
        assert!(of_token(true) < of_token(false));
        assert_eq!(on_cpu(1 << 50), FEWEST);
    }
}
