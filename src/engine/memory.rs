//! How many tokens fit into one forward and backward pass.

use super::backend::Backend;
use super::error::EngineError;
use crate::job::memory::{self, FEWEST_TOKENS, Pass, Shape};

/// Share of the free memory that a pass may take; the rest is for verifiers and other processes.
const SHARE: f64 = 0.5;
/// Numbers of tokens differ by this.
const STEP: u64 = 64;

/// Tokens for one pass, when weights are loaded, and gradients of `trained` parameters and `more`, in bytes of moments and of a
/// copy to sample with, are not there yet.
pub fn micro_batch_tokens<B: Backend>(
    shape: &Shape,
    pass: Pass,
    (trained, more): (u64, u64),
    backend: &B,
) -> Result<u64, EngineError> {
    let coming = (trained * size_of::<f32>() as u64).saturating_add(more);
    let room = (backend.available()?.saturating_sub(coming) as f64 * SHARE) as u64;
    let fits = |tokens: &u64| memory::of_pass(shape, *tokens, pass, &B::MACHINE) <= room;
    let all: Vec<u64> = (FEWEST_TOKENS..=B::MOST_TOKENS).step_by(STEP as usize).collect();
    let fitting = all.partition_point(fits);
    Ok(all[..fitting].last().copied().unwrap_or(FEWEST_TOKENS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::backend::Storage;
    use crate::engine::cpu::Cpu;
    use crate::job::spec::{MomentState, Precision};

    #[test]
    fn a_small_model_takes_the_largest_batch_and_one_that_fills_the_memory_the_smallest() {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny");
        let shape = crate::modelfile::inspect(&directory).unwrap().shape();
        let pass = Pass {
            recompute: false,
            precision: Precision::F32,
            frozen: false,
            magnitudes: false,
            teacher: None,
            entropy: false,
        };
        let on_cpu = |trained| {
            let moments = MomentState::F32.bytes(trained, 0);
            micro_batch_tokens(&shape, pass, (trained, moments), &Cpu).unwrap()
        };
        assert_eq!(on_cpu(1 << 20), Cpu::MOST_TOKENS);
        assert_eq!(on_cpu(1 << 50), FEWEST_TOKENS);
    }
}
