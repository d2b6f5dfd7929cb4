//! What sampling may take of a device: room for keys and values, rows of a pass, logits.

use crate::job::memory::Machine;

/// What a sampling phase may take. It changes how long sampling takes and nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Memory for keys and values, in bytes; fewer completions run at once when it is short.
    pub cache_bytes: usize,
    /// Prompt tokens computed in one pass beside the completions.
    pub prefill_tokens: usize,
    /// Memory for logits, in bytes; the head is applied to as many rows at a time.
    pub logits_bytes: usize,
    /// Rows of a pass up to which more of them cost little; guesses fill what is left of them.
    pub few_rows: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let Machine { cache, prefill, sampled_logits, .. } = Machine::CPU;
        Self {
            cache_bytes: cache as usize,
            prefill_tokens: prefill as usize,
            logits_bytes: sampled_logits as usize,
            few_rows: 16,
        }
    }
}
