//! How much of a device's memory a job needs: one model, for dry runs, submissions and placement before it has run, and
//! for the size of its passes while it runs. `tests/memory.rs` compares it with what jobs really take.
//!
//! What a process holds is what lasts (the program itself, weights, moments, copies of models) and what training or
//! sampling needs beside that; both take turns, and what one has held is given back before the other begins, but for a CPU that
//! does both at once (`train.max_lag`). Numbers are f32 unless it says otherwise. With `T` parameters that are trained:
//!
//! * lasting: `4 T` of weights that are trained (`2 T` in bf16) and their moments (`8 T` with AdamW, half of that where Muon
//!   takes them, or with fewer bits less); weights that are only computed with in the precision of products, or in codes;
//! * training: gradients, `4 T`, and one pass ([`of_pass`]);
//! * sampling: the trained weights in the order in which products read them, `4 T` (on a GPU nothing), keys and values of
//!   the completions under way, in bf16 half of it, and one pass of the newest tokens with its logits;
//! * loading, which is over when the rest begins: the largest tensor several times, as it is read and turned.

use serde::Serialize;

use super::spec::{Masters, MicroBatchTokens, MomentState, Precision, SampledWeights, SamplingSpec, TrainSpec};

/// Bytes of a number.
const NUMBER: u64 = 4;
/// Tokens of the smallest pass that `micro_batch_tokens: "auto"` chooses.
pub const FEWEST_TOKENS: u64 = 256;
/// Tokens that a prompt is taken to have where none was looked at.
pub const PROMPT_TOKENS: u64 = 256;
/// Tokens of a block of keys and values.
const BLOCK: u64 = 16;
/// Bytes of the program for each token of a vocabulary: the tables of its tokenizer.
const VOCABULARY_ENTRY: u64 = 800;
/// What allocators keep and pages leave empty, as one part of so many of all the rest; more where many threads have a
/// share in it, as in sampling.
const LOST_IN_TRAINING: u64 = 25;
const LOST_IN_SAMPLING: u64 = 12;
/// Rows of a frozen head that its backward pass turns at a time.
const TURNED: u64 = 8192;

/// What of a device decides about memory besides its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// What a process takes before it has a model.
    pub program: u64,
    /// Bytes of logits that exist at a time while training, for each head, and while sampling.
    pub logits: u64,
    pub sampled_logits: u64,
    /// The most that keys and values take.
    pub cache: u64,
    /// Prompt tokens of a pass that samples.
    pub prefill: u64,
    /// Whether products read weights in an order of their own, and codes as they are.
    pub panels: bool,
}

impl Machine {
    pub const CPU: Self = Self {
        // An idle worker has 51 MiB (a debug build of November 2026), and more of the program's text once it trains.
        program: 60 << 20,
        logits: 256 << 20,
        sampled_logits: 64 << 20,
        cache: 2 << 30,
        prefill: 512,
        panels: true,
    };
    /// The driver's context and its libraries are most of the program.
    pub const CUDA: Self = Self {
        program: 512 << 20,
        logits: 1 << 30,
        sampled_logits: 1 << 30,
        cache: u64::MAX,
        prefill: 2048,
        panels: false,
    };
}

/// The sizes of a decoder that decide about its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub parameters: u64,
    /// Those in matrices of layers.
    pub matrices: u64,
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
    /// Whether attention and the feed-forward part have a norm behind them.
    pub norms_behind: bool,
    /// What of the parameters lies in a file in codes that products read, and the bytes that these take.
    pub coded: Coded,
}

/// Parameters in codes of few bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coded {
    pub parameters: u64,
    pub bytes: u64,
}

/// What a job needs, in bytes on each of its devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryNeed {
    /// The program and its tables, and what allocators keep.
    pub program: u64,
    /// The model, with moments when it is trained.
    pub model: u64,
    /// Of these, weights that never change, which jobs can have in common.
    pub base: u64,
    /// Models kept beside it.
    pub copies: u64,
    /// Gradients, and one pass; and what sampling needs, where that goes on beside it.
    pub training: u64,
    /// Keys and values, one pass, and weights in another order.
    pub sampling: u64,
    /// What loading takes beyond all that, if it is more.
    pub loading: u64,
}

impl MemoryNeed {
    pub fn total(&self) -> u64 {
        let lasting = self.program.saturating_add(self.model).saturating_add(self.copies);
        lasting.saturating_add(self.training.max(self.sampling)).saturating_add(self.loading)
    }
}

/// What decides about the memory of a training job besides its spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beside {
    /// Parameters of the adapter that is trained in the place of the model.
    pub adapter: Option<u64>,
    /// Parameters of factors beside it that stay as they are.
    pub taken: u64,
    /// It trains the lengths of the weights' rows.
    pub magnitudes: bool,
    /// The model beside it is kept in codes of 8 bits.
    pub int8: bool,
    /// What moments are kept in.
    pub moments: MomentState,
    /// Matrices of layers, or the factors of an adapter, have one moment, and are made orthogonal in a step.
    pub muon: bool,
    /// What weights that are trained are kept in.
    pub masters: Masters,
    /// How many devices have the job together,
    pub devices: u32,
    /// and how many of them the moments.
    pub shards: u32,
    /// The model that it starts from is kept once more.
    pub reference: bool,
    /// A model to learn from; nothing of it where it has the weights of the model.
    pub teacher: Option<Shape>,
    /// Entropies have a gradient.
    pub entropy: bool,
    /// What is sampled, for training or for evaluation.
    pub sampled: Option<Sampled>,
}

/// What is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// Completions of a prompt, which share its keys and values.
    pub group: u32,
    /// Tokens of the longest prompt.
    pub prompt_tokens: u64,
}

/// How a training pass is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    pub recompute: bool,
    pub precision: Precision,
    /// The weights are frozen, but for an adapter.
    pub frozen: bool,
    /// The adapter trains the lengths of the weights' rows.
    pub magnitudes: bool,
    pub teacher: Option<Shape>,
    /// Entropies have a gradient, for which logits are compared with others, all of them alike.
    pub entropy: bool,
}

/// Numbers of the largest head whose change is measured (`geometry/head_first_share`).
pub const MEASURED_HEAD: u64 = 1 << 26;

/// What a training job needs.
pub fn of_training(
    shape: &Shape,
    (train, sampling): (&TrainSpec, &SamplingSpec),
    beside: Beside,
    machine: &Machine,
) -> MemoryNeed {
    let Beside {
        adapter,
        taken,
        magnitudes,
        int8,
        moments,
        muon,
        masters,
        devices,
        shards,
        reference,
        teacher,
        entropy,
        sampled,
    } = beside;
    let trained = adapter.unwrap_or(shape.parameters);
    let with_one = match (muon, adapter) {
        (false, _) => 0,
        (true, None) => shape.matrices,
        // How many of an adapter's numbers are lengths is not known.
        (true, Some(_)) if magnitudes => 0,
        (true, Some(factors)) => factors,
    };
    let turning = if muon && adapter.is_none() { of_muon(shape) } else { 0 };
    let frozen = match (adapter, int8 && machine.panels) {
        (None, _) => 0,
        (Some(_), true) => SampledWeights::Int8.bytes(shape.parameters),
        (Some(_), false) => computed(shape, train.precision, machine),
    };
    let (base, frozen) = (frozen, bytes(&[taken]).saturating_add(frozen));
    let quick = sampling.weights.filter(|_| sampled.is_some()).map_or(0, |weights| weights.bytes(shape.parameters));
    let of = |other: Option<&Shape>| other.map_or(0, |other| computed(other, train.precision, machine));
    let longest = sampled.map_or(0, |sampled| length(shape, sampling, sampled));
    let tokens = tokens_of_pass(train).max(longest);
    let (recompute, precision) = (train.recompute.is_on(), train.precision);
    let pass = Pass { recompute, precision, frozen: adapter.is_some(), magnitudes, teacher, entropy };
    // A device computes in bf16 with a copy of the weights.
    let copied = if machine.panels || train.precision == Precision::F32 { 0 } else { trained.saturating_mul(2) };
    // With it, each of several devices needs no more of the weights than its share.
    let divided = if copied > 0 && adapter.is_none() { shards } else { 1 };
    let need = MemoryNeed {
        program: program(shape, machine),
        model: share(masters.bytes(trained), NUMBER, shape, divided)
            .saturating_add(share(moments.bytes(trained, with_one), 2 * NUMBER, shape, shards))
            .saturating_add(copied)
            .saturating_add(frozen),
        base,
        copies: of(reference.then_some(shape))
            .saturating_add(of(teacher.as_ref()))
            .saturating_add(quick)
            .saturating_add(if reference && adapter.is_none() { head_before(shape, train.precision) } else { 0 }),
        training: bytes(&[trained]).saturating_add(of_pass(shape, tokens, pass, machine).max(turning)),
        sampling: sampled.map_or(0, |sampled| {
            let turned = if machine.panels { weights(trained, train.precision) } else { 0 };
            let of = |sampling: &SamplingSpec| of_sampler(shape, (sampling, train.precision), sampled, machine);
            // Evaluations within the job are others.
            of(sampling).max(of(&sampling.widened())).saturating_add(turned)
        }),
        loading: 0,
    };
    let copied = masters.bytes(trained).saturating_add(bytes(&[taken]));
    let takes_turns = train.max_lag == 0 || !machine.panels || devices > 1;
    completed(shape, if takes_turns { need } else { at_once(need, copied) }, adapter.is_some())
}

/// A job that samples while it trains or evaluates, with a copy of what is trained.
fn at_once(need: MemoryNeed, copied: u64) -> MemoryNeed {
    let training = need.training.max(need.sampling).saturating_add(need.sampling);
    MemoryNeed { copies: need.copies.saturating_add(copied), training, ..need }
}

/// The head as it was, read again while it is told how much of its change lies in one direction.
fn head_before(shape: &Shape, precision: Precision) -> u64 {
    let head = shape.vocab_size.saturating_mul(shape.hidden_size);
    if precision == Precision::F32 && head <= MEASURED_HEAD { head.saturating_mul(4) } else { 0 }
}

/// The largest share that a device of several has of what has at most so many bytes for a number: a weight's are on one of
/// them, and the largest is the embedding.
fn share(all: u64, bytes: u64, shape: &Shape, shards: u32) -> u64 {
    let embedding = shape.vocab_size.saturating_mul(shape.hidden_size).saturating_mul(bytes);
    if shards < 2 { all } else { (all / u64::from(shards)).saturating_add(embedding / 2).min(all) }
}

/// What a job needs that samples and trains nothing.
pub fn of_sampling(
    shape: &Shape,
    sampling: &SamplingSpec,
    precision: Precision,
    sampled: Sampled,
    machine: &Machine,
) -> MemoryNeed {
    let model = match sampling.weights {
        Some(weights) => weights.bytes(shape.parameters),
        None => computed(shape, precision, machine),
    };
    let sampling = of_sampler(shape, (sampling, precision), sampled, machine);
    let program = program(shape, machine);
    completed(shape, MemoryNeed { program, model, base: model, sampling, ..MemoryNeed::default() }, true)
}

/// With what is lost, and what loading takes: the largest tensor, the embedding, is read before most others, and its bytes
/// in the file, its numbers and what is made of them are there at a time.
fn completed(shape: &Shape, need: MemoryNeed, frozen: bool) -> MemoryNeed {
    let embedding = shape.vocab_size.saturating_mul(shape.hidden_size);
    let coded = frozen && shape.coded.parameters > 0;
    let loading = if coded { embedding.saturating_mul(2) } else { bytes(&[3, embedding]) };
    let later = need.model.saturating_add(need.copies).saturating_add(need.training.max(need.sampling));
    let need = MemoryNeed { loading: loading.saturating_sub(later), ..need };
    let lost = need.total() / if need.sampling > 0 { LOST_IN_SAMPLING } else { LOST_IN_TRAINING };
    MemoryNeed { program: need.program.saturating_add(lost), ..need }
}

/// The program, with the tables of a tokenizer.
fn program(shape: &Shape, machine: &Machine) -> u64 {
    machine.program.saturating_add(shape.vocab_size.saturating_mul(VOCABULARY_ENTRY))
}

/// Weights that never change.
fn computed(shape: &Shape, precision: Precision, machine: &Machine) -> u64 {
    let coded = if machine.panels { shape.coded } else { Coded::default() };
    weights(shape.parameters.saturating_sub(coded.parameters), precision).saturating_add(coded.bytes)
}

/// Weights in the precision of products.
fn weights(parameters: u64, precision: Precision) -> u64 {
    match precision {
        Precision::F32 => bytes(&[parameters]),
        Precision::Bf16 => bytes(&[parameters]) / 2,
    }
}

/// Tokens of the longest sequence.
fn length(shape: &Shape, sampling: &SamplingSpec, sampled: Sampled) -> u64 {
    u64::from(sampling.max_new_tokens).saturating_add(sampled.prompt_tokens).min(shape.context)
}

/// Keys and values of the completions under way, and the pass that continues them.
fn of_sampler(
    shape: &Shape,
    (sampling, precision): (&SamplingSpec, Precision),
    sampled: Sampled,
    machine: &Machine,
) -> u64 {
    let batch = u64::from(sampling.batch_size);
    let new = u64::from(sampling.max_new_tokens).min(shape.context).next_multiple_of(BLOCK).saturating_add(BLOCK);
    let prompts = batch.div_ceil(u64::from(sampled.group.max(1)));
    let prompt_tokens = prompts.saturating_mul(sampled.prompt_tokens.min(shape.context));
    let tokens = batch.saturating_mul(new).saturating_add(prompt_tokens);
    let numbers = bytes(&[2, shape.layers, shape.kv_heads, shape.head_dim, tokens]);
    // A GPU attends in the precision of products.
    let is_narrow = sampling.cache.is_some() || (!machine.panels && precision == Precision::Bf16);
    let kept = if is_narrow { numbers / 2 } else { numbers };
    let cache = kept.min(machine.cache);
    let rows = batch.saturating_add(machine.prefill.min(prompt_tokens));
    let row = 4 * shape.hidden_size + 2 * shape.projected() + shape.attended() + 3 * shape.intermediate_size;
    let logits = bytes(&[batch, shape.vocab_size]).min(machine.sampled_logits);
    cache.saturating_add(bytes(&[rows, row])).saturating_add(logits)
}

fn tokens_of_pass(train: &TrainSpec) -> u64 {
    match train.micro_batch_tokens {
        MicroBatchTokens::Tokens(count) => u64::from(count),
        MicroBatchTokens::Auto(_) => FEWEST_TOKENS,
    }
}

impl Shape {
    /// Queries, keys and values of a token.
    fn projected(&self) -> u64 {
        (self.heads + 2 * self.kv_heads).saturating_mul(self.head_dim)
    }

    pub(super) fn attended(&self) -> u64 {
        self.heads.saturating_mul(self.head_dim)
    }

    /// Numbers that a layer keeps of a token for its backward pass.
    fn kept(&self) -> u64 {
        let behind = if self.norms_behind { 2 * self.hidden_size } else { 0 };
        let attention = self.hidden_size + self.projected() + self.attended() + self.heads;
        attention + behind + self.hidden_size + 2 * self.intermediate_size
    }
}

/// What one forward and backward pass over `tokens` tokens holds at most: what layers keep, and beside that the head with
/// its logits or the backward pass of one layer, whichever is more.
pub fn of_pass(shape: &Shape, tokens: u64, pass: Pass, machine: &Machine) -> u64 {
    let Pass { recompute, precision, frozen, magnitudes, teacher, entropy } = pass;
    let hidden = shape.hidden_size;
    // Left factors in bf16 are copies; right ones are always.
    let narrow = |numbers: u64| if precision == Precision::Bf16 { numbers / 2 } else { 0 };
    let turned = |numbers: u64| if precision == Precision::Bf16 { numbers / 2 } else { numbers };
    let panels = |numbers: u64| if machine.panels { weights(numbers, precision) } else { 0 };
    let kept = if recompute { hidden } else { shape.kept() };
    // Gradients of the stream and of the pass's states; then those of the feed-forward part, or of attention.
    let (inner, states) = (shape.intermediate_size, 2 * hidden + turned(hidden));
    // What a product gave before its rows got other lengths, and the gradient there.
    let before = |numbers: u64| if magnitudes { 2 * numbers } else { 0 };
    let feed = before(2 * inner) + (inner + turned(inner) + narrow(hidden)).max(narrow(2 * inner) + states);
    let rows = shape.projected();
    let attention = before(rows) + (shape.attended() + 2 * rows).max(rows + narrow(rows) + states);
    let again = if recompute { shape.kept() + 2 * hidden } else { 0 };
    let backward = 2 * hidden + feed.max(attention) + again;
    let widest = (2 * shape.intermediate_size).max(shape.projected()).saturating_mul(hidden);
    let layer = bytes(&[tokens, backward]).saturating_add(panels(widest));
    let head = of_head(shape, tokens, precision, frozen, machine);
    let logits = |vocabulary: u64| bytes(&[tokens, vocabulary]).min(machine.logits);
    let taught = match teacher {
        Some(teacher) => bytes(&[tokens, 2, teacher.hidden_size]).saturating_add(logits(teacher.vocab_size)),
        None if entropy => logits(shape.vocab_size),
        None => 0,
    };
    bytes(&[tokens, kept, shape.layers]).saturating_add(layer.max(head.saturating_add(taught)))
}

/// What a step of Muon holds of the largest matrix: what it becomes, and the same as products read it; and its products
/// with itself.
fn of_muon(shape: &Shape) -> u64 {
    let width = shape.intermediate_size.max(shape.attended());
    let side = width.min(shape.hidden_size);
    bytes(&[3, width, shape.hidden_size]).saturating_add(bytes(&[3, side, side]))
}

/// The last norm, logits and their gradient, and the head in the orders in which its products read it.
fn of_head(shape: &Shape, tokens: u64, precision: Precision, frozen: bool, machine: &Machine) -> u64 {
    let of_vocabulary = bytes(&[tokens, shape.vocab_size]);
    let logits = of_vocabulary.min(machine.logits);
    let is_cut = of_vocabulary > machine.logits;
    let columns = if frozen { shape.vocab_size.min(TURNED) } else { shape.vocab_size };
    let narrowed = if precision == Precision::Bf16 { bytes(&[tokens, columns]).min(logits) / 2 } else { 0 };
    let head = weights(shape.vocab_size.saturating_mul(shape.hidden_size), precision);
    let panels = match (machine.panels, frozen) {
        (false, _) => 0,
        (true, true) => weights(shape.vocab_size.min(TURNED).saturating_mul(shape.hidden_size), precision),
        // As the next chunk reads it, and as the gradient does.
        (true, false) => head.saturating_mul(if is_cut { 2 } else { 1 }),
    };
    let states = bytes(&[tokens, 5, shape.hidden_size]);
    states.saturating_add(logits).saturating_add(narrowed).saturating_add(panels)
}

/// Bytes of as many numbers as the product of `sizes`, which come from a client's model.
fn bytes(sizes: &[u64]) -> u64 {
    sizes.iter().fold(NUMBER, |product, size| product.saturating_mul(*size))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::job::spec::SampledCache;

    use super::*;

    pub fn shape() -> Shape {
        Shape {
            parameters: 1_000_000,
            matrices: 900_000,
            vocab_size: 1000,
            hidden_size: 64,
            intermediate_size: 256,
            layers: 4,
            heads: 4,
            kv_heads: 2,
            head_dim: 16,
            context: 2048,
            experts: 0,
            norms_behind: false,
            coded: Coded::default(),
        }
    }

    /// The need of a job with the defaults changed by `change`.
    fn with(shape: Shape, beside: Beside, change: impl Fn(&mut TrainSpec, &mut SamplingSpec)) -> MemoryNeed {
        let (mut train, mut sampling) = (TrainSpec::default(), SamplingSpec::default());
        change(&mut train, &mut sampling);
        of_training(&shape, (&train, &sampling), beside, &Machine::CPU)
    }

    const SAMPLED: Sampled = Sampled { group: 8, prompt_tokens: 100 };
    pub const ALONE: Beside = Beside {
        adapter: None,
        magnitudes: false,
        taken: 0,
        int8: false,
        moments: MomentState::F32,
        muon: false,
        masters: Masters::F32,
        devices: 1,
        shards: 1,
        reference: false,
        teacher: None,
        entropy: false,
        sampled: Some(SAMPLED),
    };

    #[test]
    fn training_and_sampling_take_turns() {
        let need = with(shape(), ALONE, |_, _| ());
        assert_eq!((need.model, need.copies), (12_000_000, 0));
        let lasting = need.program + need.model;
        assert_eq!(need.total(), lasting + need.training.max(need.sampling) + need.loading);
        // Keys and values of 64 completions of 256 tokens, and of the prompts of each 8 of them.
        let cache = 4 * 2 * 4 * 2 * 16 * (64 * (256 + 16) + 8 * 100);
        assert!(need.sampling > cache + 4_000_000 && need.sampling < 2 * (cache + 4_000_000));
        assert_eq!(with(shape(), Beside { sampled: None, ..ALONE }, |_, _| ()).sampling, 0);
        // Unless phases are sampled while others are trained on, with a copy of the weights.
        let ahead = |devices| with(shape(), Beside { devices, ..ALONE }, |train, _| train.max_lag = 1);
        let both = need.training.max(need.sampling) + need.sampling;
        assert_eq!((ahead(1).copies, ahead(1).training), (need.copies + 4 * shape().parameters, both));
        assert_eq!(ahead(2), need);
    }

    #[test]
    fn keys_and_values_in_bf16_take_half_and_evaluations_of_a_job_fit_in_that() {
        // Keys and values of 64 completions of 256 tokens, and of the prompts of each 8 of them.
        let numbers = 2 * 4 * 2 * 16 * (64 * (256 + 16) + 8 * 100);
        let of = |cache, precision, machine: &Machine| {
            let sampling = SamplingSpec { cache, ..SamplingSpec::default() };
            of_sampling(&shape(), &sampling, precision, SAMPLED, machine).sampling
        };
        let narrow = Some(SampledCache::Bf16);
        for precision in [Precision::F32, Precision::Bf16] {
            assert_eq!(of(None, precision, &Machine::CPU) - of(narrow, precision, &Machine::CPU), 2 * numbers);
        }
        // A GPU computes with bf16 as it is.
        assert_eq!(of(None, Precision::F32, &Machine::CUDA) - of(narrow, Precision::F32, &Machine::CUDA), 2 * numbers);
        assert_eq!(of(None, Precision::Bf16, &Machine::CUDA), of(narrow, Precision::Bf16, &Machine::CUDA));
        let trained = |batch_size, cache| {
            with(shape(), ALONE, |_, sampling| (sampling.batch_size, sampling.cache) = (batch_size, cache)).sampling
        };
        assert_eq!(trained(64, None) - trained(64, narrow), 2 * numbers);
        // A single completion of an evaluation is in f32.
        assert_eq!(trained(1, narrow), trained(1, None));
        // The bound on the CPU is one on bytes.
        let deep = Shape { layers: 4096, ..shape() };
        let spec = |cache| SamplingSpec { cache, ..SamplingSpec::default() };
        let of = |cache| of_sampling(&deep, &spec(cache), Precision::F32, SAMPLED, &Machine::CPU);
        assert_eq!(of(None).sampling, of(narrow).sampling);
    }

    #[test]
    fn an_adapter_leaves_the_weights_once_and_in_the_precision_of_products() {
        let beside = Beside { adapter: Some(1000), ..ALONE };
        assert_eq!(with(shape(), beside, |_, _| ()).model, 4_000_000 + 12_000);
        let half = with(shape(), beside, |train, _| train.precision = Precision::Bf16);
        assert_eq!(half.model, 2_000_000 + 12_000);
        let small = with(shape(), Beside { moments: MomentState::Int8, ..ALONE }, |_, _| ());
        assert_eq!(small.model, 4_000_000 + 2_000_000 + 31_250);
        let narrow = Beside { masters: Masters::Bf16, moments: MomentState::Bf16, ..ALONE };
        assert_eq!(with(shape(), narrow, |_, _| ()).model, 2_000_000 + 4_000_000);
    }

    #[test]
    fn matrices_of_layers_have_one_moment_with_muon() {
        let muon = Beside { muon: true, ..ALONE };
        assert_eq!(with(shape(), muon, |_, _| ()).model, 4_000_000 + 8_000_000 - 4 * 900_000);
        let adapter = Beside { adapter: Some(1000), ..muon };
        assert_eq!(with(shape(), adapter, |_, _| ()).model, 4_000_000 + 8_000);
        let lengths = Beside { magnitudes: true, ..adapter };
        assert_eq!(with(shape(), lengths, |_, _| ()).model, 4_000_000 + 12_000);
        // A matrix is made orthogonal when the pass is over.
        let fits = |beside| with(shape(), beside, |_, _| ()).training;
        assert_eq!(fits(muon), fits(ALONE));
        let wide = Shape { hidden_size: 1 << 14, intermediate_size: 1 << 14, ..shape() };
        let pass = |beside| with(wide, beside, |_, _| ()).training;
        assert!(pass(muon) > pass(ALONE));
    }

    #[test]
    fn codes_of_a_file_are_counted_as_they_are_kept_unless_they_are_trained() {
        let coded = Shape { coded: Coded { parameters: 900_000, bytes: 500_000 }, ..shape() };
        let beside = Beside { adapter: Some(1000), ..ALONE };
        assert_eq!(with(coded, beside, |_, _| ()).model, 400_000 + 500_000 + 12_000);
        assert_eq!(with(coded, ALONE, |_, _| ()).model, 12_000_000);
        let on_gpu = of_training(&coded, (&TrainSpec::default(), &SamplingSpec::default()), beside, &Machine::CUDA);
        assert_eq!(on_gpu.model, 4_000_000 + 12_000);
    }

    #[test]
    fn a_longer_pass_never_takes_less() {
        let pass = Pass {
            recompute: false,
            precision: Precision::Bf16,
            frozen: false,
            magnitudes: false,
            teacher: Some(shape()),
            entropy: false,
        };
        let alone = Pass { teacher: None, ..pass };
        let more = |entropy| of_pass(&shape(), 1000, Pass { recompute: true, entropy, ..alone }, &Machine::CPU);
        assert_eq!(more(true) - more(false), 4 * 1000 * shape().vocab_size, "the other logits");
        let needs: Vec<u64> = (0..100).map(|n| of_pass(&shape(), n * 1000, pass, &Machine::CPU)).collect();
        assert!(needs.is_sorted());
        let again = |tokens| of_pass(&shape(), tokens, Pass { recompute: true, ..pass }, &Machine::CPU);
        assert!(again(4000) < needs[4]);
    }

    #[test]
    fn absurd_sizes_do_not_overflow() {
        let huge = Shape { parameters: u64::MAX, vocab_size: u64::MAX, ..shape() };
        assert_eq!(with(huge, ALONE, |_, _| ()).total(), u64::MAX);
    }
}
