//! How much of a device's memory a job will need, before it has run: one estimate for dry runs, for submissions and
//! for placement.
//!
//! With `P` parameters and f32 numbers, the sum of:
//!
//! * weights that are trained: `4 P`, and `4 P` in the order in which matrix products read them, with gradients, `4 P`, and
//!   the two moments of AdamW, `8 P` or with fewer bits less;
//! * with an adapter of `A` parameters that instead for `A`, and the weights once, as models that are only computed with;
//! * `4 Q`, and in bf16 `2 Q`, for a model of `Q` parameters that is only computed with: of a job that trains nothing, the
//!   reference of one that has no adapter, a teacher;
//! * activations of one forward and backward pass of `train.micro_batch_tokens`, of the fewest that `auto` takes, with
//!   its logits (at most one chunk of them exists, twice with a teacher);
//! * the sampler's cache: keys and values of `sampling.batch_size` completions of full length with a short prompt, at
//!   most the share that the sampler takes, and the logits of one pass.
//!
//! It is an estimate on the low side: a pass with more tokens is faster, and what is free is used.

use serde::Serialize;

use super::spec::{MicroBatchTokens, MomentState, Precision, SamplingSpec, TrainSpec};

/// Bytes of a number.
const NUMBER: u64 = 4;
/// Tokens of the smallest pass that `micro_batch_tokens: "auto"` chooses.
const FEWEST_TOKENS: u64 = 256;
/// Bytes of logits that exist at a time while training, for each head.
const CHUNK_BYTES: u64 = 256 << 20;
/// Bytes of logits that exist at a time while sampling.
const SAMPLED_LOGITS_BYTES: u64 = 64 << 20;
/// The most that the sampler's cache takes.
const CACHE_BYTES: u64 = 2 << 30;
/// Tokens that a prompt is taken to have.
const PROMPT_TOKENS: u64 = 256;

/// The sizes of a decoder that decide about its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub parameters: u64,
    pub vocab_size: u64,
    pub hidden_size: u64,
    pub intermediate_size: u64,
    pub layers: u64,
    pub heads: u64,
    pub kv_heads: u64,
    pub head_dim: u64,
    /// The longest sequence.
    pub context: u64,
    /// Of a layer, in a mixture of experts.
    pub experts: u64,
}

/// What a job needs, in bytes on each of its devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryNeed {
    /// The model, with gradients and moments when it is trained.
    pub model: u64,
    /// Models kept beside it.
    pub copies: u64,
    pub activations: u64,
    /// The sampler's.
    pub cache: u64,
}

impl MemoryNeed {
    pub fn total(&self) -> u64 {
        self.model.saturating_add(self.copies).saturating_add(self.activations).saturating_add(self.cache)
    }
}

/// What decides about the memory of a training job besides its spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beside {
    /// Parameters of all models that are kept beside the one that is trained.
    pub parameters: u64,
    /// Parameters of the adapter that is trained in the place of the model.
    pub adapter: Option<u64>,
    /// The model beside it is kept in codes of 8 bits.
    pub int8: bool,
    /// What moments are kept in.
    pub moments: MomentState,
    /// One of them is a teacher, whose logits are made beside the policy's.
    pub teacher: bool,
    /// Completions are sampled, for training or for evaluation.
    pub samples: bool,
}

/// What a training job needs.
pub fn of_training(shape: &Shape, train: &TrainSpec, sampling: &SamplingSpec, beside: Beside) -> MemoryNeed {
    let quick = sampling.weights;
    let sampling = if beside.samples { of_sampler(shape, sampling) } else { MemoryNeed::default() };
    let quick = quick.filter(|_| beside.samples).map_or(0, |weights| weights.bytes(shape.parameters));
    let heads = if beside.teacher { 2 } else { 1 };
    let tokens = tokens_of_pass(train);
    let logits = bytes(&[tokens, shape.vocab_size]).min(CHUNK_BYTES).saturating_mul(heads);
    let pass = tokens.saturating_mul(bytes_per_token(shape, train.recompute)).saturating_add(logits);
    // Weights twice, gradients, two moments.
    let trained = |parameters: u64| bytes(&[3, parameters]).saturating_add(beside.moments.bytes(parameters));
    MemoryNeed {
        model: match beside.adapter {
            None => trained(shape.parameters),
            Some(own) if beside.int8 => (shape.parameters / 8).saturating_mul(9).saturating_add(trained(own)),
            Some(own) => computed(shape.parameters, train.precision).saturating_add(trained(own)),
        },
        copies: computed(beside.parameters, train.precision).saturating_add(quick),
        // Sampling and training take turns, and share what one pass needs.
        activations: pass.max(sampling.activations),
        cache: sampling.cache,
    }
}

/// What a job needs that samples and trains nothing.
pub fn of_sampling(shape: &Shape, sampling: &SamplingSpec, precision: Precision) -> MemoryNeed {
    let model = match sampling.weights {
        Some(weights) => weights.bytes(shape.parameters),
        None => computed(shape.parameters, precision),
    };
    MemoryNeed { model, ..of_sampler(shape, sampling) }
}

/// Weights that never change.
fn computed(parameters: u64, precision: Precision) -> u64 {
    match precision {
        Precision::F32 => bytes(&[parameters]),
        Precision::Bf16 => bytes(&[parameters]) / 2,
    }
}

/// The sampler's cache and the pass that fills it.
fn of_sampler(shape: &Shape, sampling: &SamplingSpec) -> MemoryNeed {
    let length = (u64::from(sampling.max_new_tokens) + PROMPT_TOKENS).min(shape.context);
    let batch = u64::from(sampling.batch_size);
    let cache = bytes(&[2, shape.layers, shape.kv_heads, shape.head_dim, length, batch]);
    let logits = bytes(&[batch, shape.vocab_size]).min(SAMPLED_LOGITS_BYTES);
    MemoryNeed { activations: logits, cache: cache.min(CACHE_BYTES), ..MemoryNeed::default() }
}

fn tokens_of_pass(train: &TrainSpec) -> u64 {
    match train.micro_batch_tokens {
        MicroBatchTokens::Tokens(count) => u64::from(count),
        MicroBatchTokens::Auto(_) => FEWEST_TOKENS,
    }
}

/// What a forward pass keeps for each token, and the gradients of one layer beside it.
pub fn bytes_per_token(shape: &Shape, recompute: bool) -> u64 {
    let attended = shape.heads.saturating_mul(shape.head_dim);
    let projected = (shape.heads + 2 * shape.kv_heads).saturating_mul(shape.head_dim);
    let layer = 2 * shape.hidden_size + projected + attended + 2 * shape.intermediate_size;
    let kept = if recompute {
        shape.hidden_size.saturating_mul(shape.layers).saturating_add(layer)
    } else {
        layer.saturating_mul(shape.layers)
    };
    bytes(&[kept.saturating_add(layer)])
}

/// Bytes of as many numbers as the product of `sizes`, which come from a client's model.
fn bytes(sizes: &[u64]) -> u64 {
    sizes.iter().fold(NUMBER, |product, size| product.saturating_mul(*size))
}

#[cfg(test)]
mod tests {

    use super::*;

    fn shape() -> Shape {
        Shape {
            parameters: 1_000_000,
            vocab_size: 1000,
            hidden_size: 64,
            intermediate_size: 256,
            layers: 4,
            heads: 4,
            kv_heads: 2,
            head_dim: 16,
            context: 2048,
            experts: 0,
        }
    }

    /// The need of a job with the defaults changed by `change`.
    fn with(shape: Shape, beside: Beside, change: impl Fn(&mut TrainSpec, &mut SamplingSpec)) -> MemoryNeed {
        let (mut train, mut sampling) = (TrainSpec::default(), SamplingSpec::default());
        change(&mut train, &mut sampling);
        of_training(&shape, &train, &sampling, beside)
    }

    const ALONE: Beside =
        Beside { parameters: 0, adapter: None, int8: false, moments: MomentState::F32, teacher: false, samples: true };

    #[test]
    fn every_part_is_in_the_sum() {
        let need = with(shape(), ALONE, |_, _| ());
        assert_eq!((need.model, need.copies), (20_000_000, 0));
        // Keys and values of 64 completions of 256 tokens behind as many of their prompt.
        assert_eq!(need.cache, 4 * 2 * 4 * 2 * 16 * 512 * 64);
        let layer = 2 * 64 + 8 * 16 + 64 + 2 * 256;
        assert_eq!(need.activations, 256 * 4 * 5 * layer + 256 * 1000 * 4);
        assert_eq!(need.total(), need.model + need.cache + need.activations);
    }

    #[test]
    fn an_adapter_leaves_the_weights_once_and_in_the_precision_of_products() {
        let beside = Beside { adapter: Some(1000), ..ALONE };
        assert_eq!(with(shape(), beside, |_, _| ()).model, 4_000_000 + 20_000);
        let half = with(shape(), beside, |train, _| train.precision = Precision::Bf16);
        assert_eq!(half.model, 2_000_000 + 20_000);
        let small = with(shape(), Beside { moments: MomentState::Int8, ..ALONE }, |_, _| ());
        assert_eq!(small.model, 12_000_000 + 2_000_000 + 31_250);
    }

    #[test]
    fn what_a_refusal_advises_lowers_the_need() {
        let whole = with(shape(), ALONE, |_, _| ()).total();
        assert!(with(shape(), ALONE, |train, _| train.recompute = true).total() < whole);
        assert!(with(shape(), ALONE, |_, sampling| sampling.batch_size = 8).total() < whole);
        let beside = Beside { parameters: 10, teacher: true, ..ALONE };
        assert!(with(shape(), beside, |_, _| ()).total() > whole);
        assert!(of_sampling(&shape(), &SamplingSpec::default(), Precision::F32).total() < whole);
    }

    #[test]
    fn absurd_sizes_do_not_overflow() {
        let huge = Shape { parameters: u64::MAX, vocab_size: u64::MAX, ..shape() };
        assert_eq!(with(huge, ALONE, |_, _| ()).total(), u64::MAX);
    }
}
