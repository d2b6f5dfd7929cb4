//! How many tokens fit into one forward and backward pass.

use super::compute::Compute;
use super::error::EngineError;
use crate::job::memory::bytes_per_token;
use crate::modelfile::config::ModelConfig;
use crate::modelfile::shape;

/// Tokens beyond which a pass gets no faster.
const MOST: u64 = 4096;
/// The same on a GPU.
const MOST_ON_DEVICE: u64 = 16_384;
/// Tokens below which products are too small to be fast.
const FEWEST: u64 = 256;
/// Share of the free memory that activations may take; the rest is for logits, verifiers and other processes.
const SHARE: f64 = 0.5;

/// Tokens for one pass, for a model whose optimizer and gradients are not in memory yet.
pub fn micro_batch_tokens(
    config: &ModelConfig,
    parameters: usize,
    recompute: bool,
    compute: &Compute,
) -> Result<u64, EngineError> {
    let numbers = parameters as u64 * size_of::<f32>() as u64;
    let of_token = bytes_per_token(&shape(config, parameters as u64), recompute);
    Ok(match compute {
        Compute::Cpu => {
            // Gradients, two moments, and the weights as products read them.
            let free = available().map_or(u64::MAX / 2, |free| free.saturating_sub(4 * numbers));
            ((free as f64 * SHARE) as u64 / of_token).clamp(FEWEST, MOST)
        }
        Compute::Cuda(cuda) => {
            // Gradients and two moments, and logits.
            let taken = 3 * numbers + compute.logits_bytes() as u64 * 2;
            let free = cuda.available()?.saturating_sub(taken);
            ((free as f64 * SHARE) as u64 / of_token).clamp(FEWEST, MOST_ON_DEVICE)
        }
    })
}

/// Bytes that may still be taken: what the kernel calls available, or what a container's limit leaves.
pub fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let machine = line.split_whitespace().next()?.parse::<u64>().ok()? * 1024;
    let number =
        |name: &str| std::fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse::<u64>().ok();
    let container = number("memory.max").map(|limit| limit.saturating_sub(number("memory.current").unwrap_or(0)));
    Some(container.map_or(machine, |left| left.min(machine)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_model_takes_the_largest_batch_and_recomputing_takes_less_memory() {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny");
        let config = crate::modelfile::inspect(&directory).unwrap().config;
        let on_cpu = |parameters| micro_batch_tokens(&config, parameters, false, &Compute::Cpu).unwrap();
        assert_eq!(on_cpu(1 << 20), MOST);
        let of_token = |recompute| bytes_per_token(&shape(&config, 1 << 20), recompute);
        assert!(of_token(true) < of_token(false));
        assert_eq!(on_cpu(1 << 50), FEWEST);
    }
}
