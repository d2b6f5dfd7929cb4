//! The device's form of everything against the CPU's, which is pinned to float64. They run on a GPU where there is one
//! (feature `cuda`), and on the emulated device (feature `cuda-emulated`).

#![cfg(any(feature = "cuda", feature = "cuda-emulated"))]

mod adapters;
mod cache;
mod optimizers;

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::Cuda;
use crate::engine::backend::{Backend, Head, Output, PackedRows, Tensors};
use crate::engine::batch::{Sequence, pack};
use crate::engine::choice::choose;
use crate::engine::cpu::Cpu;
use crate::engine::device::{Device, open};
use crate::engine::driver::{Driver, Kind};
use crate::engine::kernels::buffer::Buffer;
use crate::engine::kernels::gemm::Precision as CpuPrecision;
use crate::engine::learn::Learner;
use crate::engine::limits::Limits;
use crate::engine::model::decoder::Decoder;
use crate::engine::model::weights::Weights;
use crate::engine::ops::attention::Heads;
use crate::engine::ops::linear::Linear;
use crate::engine::projection::{Norm, Projection};
use crate::engine::random::{Purpose, Stream};
use crate::engine::rows::Packed;
use crate::engine::sampler::{Completion, Request, Sampler};
use crate::job::spec::{Precision, SamplingSpec, TrainSpec};
use crate::modelfile::ModelConfig;
use crate::modelfile::architecture::Activation;
use crate::modelfile::families::FAMILIES;
use crate::modelfile::rope::Rotation;
use crate::objective::{Config, Objective, TeacherView};
use crate::text::tokenizer::TextTokenizer;

/// The device of this build.
fn driver() -> Arc<dyn Driver> {
    let name = if cfg!(feature = "cuda-emulated") { "emulated" } else { "cuda:0" };
    match open(name) {
        Ok(Device::Gpu(driver)) => driver,
        other => panic!("these tests need a device: {other:?}"),
    }
}

fn device(precision: Precision) -> Arc<Cuda> {
    Cuda::new(driver(), precision)
}

/// A backend whose numbers can be brought to it and looked at.
trait Probe: Backend {
    /// Numbers as the backend wants them; of its own kind, or f32 as in the residual stream.
    fn array(&self, values: &[f32], narrow: bool) -> Self::Array;

    fn numbers(&self, array: &Self::Array) -> Vec<f32>;

    /// The gradient of one weight.
    fn gradient(&self, sums: &Self::Gradients, index: usize) -> Vec<f32>;
}

impl Probe for Cpu {
    fn array(&self, values: &[f32], _narrow: bool) -> Buffer {
        Buffer::copy(values)
    }

    fn numbers(&self, array: &Buffer) -> Vec<f32> {
        array.to_vec()
    }

    fn gradient(&self, sums: &Self::Gradients, index: usize) -> Vec<f32> {
        sums.get(index).unwrap().to_vec()
    }
}

impl Probe for Cuda {
    fn array(&self, values: &[f32], narrow: bool) -> Self::Array {
        let memory = self.upload(Kind::F32, values).unwrap();
        if narrow && self.is_narrow() { self.converted(&memory).unwrap() } else { memory }
    }

    fn numbers(&self, array: &Self::Array) -> Vec<f32> {
        if array.kind() != Kind::Bf16 {
            return self.download(array).unwrap();
        }
        let bits: Vec<u16> = self.download(array).unwrap();
        bits.into_iter().map(|bits| half::bf16::from_bits(bits).to_f32()).collect()
    }

    fn gradient(&self, sums: &Self::Gradients, index: usize) -> Vec<f32> {
        sums.get().unwrap().read(index, <[f32]>::to_vec)
    }
}

/// A small model: width and number of heads, heads of keys, whether the head is the embedding.
fn config(width: usize, heads: usize, key_value: usize, tied: bool) -> ModelConfig {
    let sizes = json!({
        "hidden_size": 40, "num_attention_heads": heads, "num_key_value_heads": key_value, "head_dim": width,
        "tie_word_embeddings": tied,
    });
    of_family("llama", sizes)
}

/// A small model of a family; with other members of its configuration.
fn of_family(name: &str, members: Value) -> ModelConfig {
    let mut config = json!({
        "model_type": name, "vocab_size": 32, "hidden_size": 40, "intermediate_size": 56, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "rms_norm_eps": 1e-6,
        "max_position_embeddings": 512, "eos_token_id": 1,
    });
    config.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    ModelConfig::from_hf(&config, None).unwrap()
}

/// A small model of every family whose switches a Llama does not have, each with what it alone has.
fn families() -> Vec<ModelConfig> {
    let moe = json!({
        "num_hidden_layers": 3, "num_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 24,
        "norm_topk_prob": true, "decoder_sparse_step": 1, "mlp_only_layers": [1],
    });
    let partial = json!({"partial_rotary_factor": 0.5, "sliding_window": 30});
    let granite = json!({
        "attention_multiplier": 0.2, "embedding_multiplier": 3.0, "logits_scaling": 2.0, "residual_multiplier": 0.5,
        "attention_bias": true, "mlp_bias": true,
    });
    let gemma = json!({"sliding_window": 20, "sliding_window_pattern": 2, "query_pre_attn_scalar": 24});
    vec![
        of_family("mistral", json!({"sliding_window": 17})),
        of_family("qwen2", json!({})),
        of_family("qwen3", json!({})),
        of_family("smollm3", json!({"num_hidden_layers": 4})),
        of_family("olmo2", json!({})),
        of_family("gemma3_text", gemma),
        of_family("phi3", partial),
        of_family("granite", granite),
        of_family("qwen3_moe", moe),
    ]
}

#[test]
fn no_family_is_left_out() {
    let tried = families();
    let is_tried = |name: &str| name == "llama" || tried.iter().any(|config| config.family.name == name);
    FAMILIES.iter().for_each(|family| assert!(is_tried(family.name), "{}", family.name));
}

const SHAPES: [(usize, usize, usize, bool); 4] =
    [(24, 4, 2, true), (32, 3, 3, false), (64, 4, 1, true), (128, 2, 1, false)];

/// A decoder with random weights on a backend.
fn decoder<B: Backend>(config: &ModelConfig, seed: u64, backend: &Arc<B>) -> Decoder<B> {
    let weights = Weights::random(config, seed).unwrap().placed(backend).unwrap();
    Decoder::new(Arc::new(weights), CpuPrecision::F32).unwrap()
}

fn tokens(count: usize, seed: u64) -> Vec<u32> {
    let stream = Stream::new(seed, Purpose::PromptOrder, 0);
    (0..count as u64).map(|at| 2 + (stream.uniform(at, 0, 0) * 28.0) as u32).collect()
}

/// Sequences around the sizes at which the work is divided.
fn sequences() -> Vec<Sequence> {
    let lengths = [(1, 1), (3, 12), (9, 8), (20, 45), (64, 3), (5, 70)];
    let sequence = |(seed, (prompt, completion)): (u64, (usize, usize))| Sequence {
        prompt: tokens(prompt, seed).into(),
        completion: tokens(completion, 100 + seed),
        loss_mask: Vec::new(),
        credit: [1.0, -0.5, 2.0][seed as usize % 3],
        behavior_logprobs: Vec::new(),
        reference_logprobs: Vec::new(),
        proximal_logprobs: Vec::new(),
    };
    (0..).zip(lengths).map(sequence).collect()
}

fn objective(config: Value) -> Box<dyn Objective> {
    Config::parse(&config, "/objective").unwrap().build(&TrainSpec::default())
}

/// Loss and gradients, weight by weight, of all sequences.
fn gradients<B: Probe>(
    decoder: &Decoder<B>,
    teacher: Option<(&Decoder<B>, Value)>,
    recompute: bool,
) -> (f64, Vec<Vec<f32>>) {
    let (teacher, config) = teacher.map_or((None, json!({"type": "sft"})), |(teacher, config)| (Some(teacher), config));
    let (objective, mut sums, mut loss) = (objective(config), B::Gradients::default(), 0.0);
    // Of interest to adapters alone.
    let dropout = decoder.adapter().map(|_| Stream::new(1, Purpose::Dropout, 2));
    for batch in pack(&sequences(), 100) {
        let learner = Learner { decoder, teacher, recompute, balance: 0.0, dropout };
        loss += learner.micro_batch(objective.as_ref(), &batch, &mut sums).unwrap().0;
    }
    let read = |index: usize| decoder.backend().gradient(&sums, index);
    (loss, (0..decoder.trained().count()).map(read).collect())
}

/// `||a - b|| / ||b||`, in float64.
fn distance(a: &[f32], b: &[f32]) -> f64 {
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    let difference = norm(&mut a.iter().zip(b).map(|(a, b)| f64::from(*a) - f64::from(*b)));
    difference / norm(&mut b.iter().map(|b| f64::from(*b))).max(1e-30)
}

/// How far a device's numbers may be from the CPU's f32.
fn tolerance(precision: Precision) -> f64 {
    match precision {
        Precision::F32 => 2e-5,
        Precision::Bf16 => 0.03,
    }
}

/// Numbers without a pattern that matters, which bf16 holds exactly.
fn wave(count: usize, speed: f64) -> Vec<f32> {
    (0..count).map(|i| half::bf16::from_f64((i as f64 * speed).sin() * 1.5).to_f32()).collect()
}

/// What an operation gives, by name.
type Results = Vec<(&'static str, Vec<f32>)>;

const ROWS: usize = 37;
const BOUNDARIES: [usize; 4] = [0, 1, 18, ROWS];

/// Rotary positions and attention, forward and backward.
fn attention<B: Probe>(backend: &B, config: &ModelConfig, packed: &PackedRows<'_, B>) -> Results {
    let of = |array: &B::Array| backend.numbers(array);
    let given = |len: usize, speed: f64| backend.array(&wave(len, speed), true);
    let (query, key_value) = (config.num_attention_heads, config.num_key_value_heads);
    let heads = Heads::new(query, key_value, config.head_dim);
    let speeds = (0..config.head_dim / 2).map(|i| 0.5_f64.powi(i as i32)).collect();
    let rotary = backend.rotary(Rotation { speeds, factor: 1.0 }, 64).unwrap();
    let mut rows = given(ROWS * heads.row(), 0.8);
    backend.rotate(&mut rows, heads, &packed.tokens, &rotary, false).unwrap();
    let attended = backend.packed_attention(&rows, heads, packed).unwrap();
    let grad = given(ROWS * heads.query_row(), 0.5);
    let mut of_rows = backend.packed_attention_backward(&rows, &attended, &grad, heads, packed).unwrap();
    let mut results =
        vec![("rotation", of(&rows)), ("attention", of(&attended.out)), ("attention, gradient", of(&of_rows))];
    results.push(("attention, normalisers", of(&attended.log_sums)));
    backend.rotate(&mut of_rows, heads, &packed.tokens, &rotary, true).unwrap();
    results.push(("rotation back", of(&of_rows)));
    results
}

/// Every operation over rows, forward and backward, on the same inputs.
fn operations<B: Probe>(backend: &Arc<B>, config: &ModelConfig) -> Results {
    let weights = Weights::random(config, 9).unwrap().placed(backend).unwrap();
    let parameters = weights.parameters();
    let hidden = config.hidden_size;
    let (norm, embedding) = (weights.index("model.norm.weight"), weights.index("model.embed_tokens.weight"));
    let (norm, embedding) = (Norm { weight: norm.unwrap(), offset: 0.0, eps: 1e-5 }, embedding.unwrap());
    let of = |array: &B::Array| backend.numbers(array);
    let given = |len: usize, speed: f64, narrow: bool| backend.array(&wave(len, speed), narrow);
    let mut sums = B::Gradients::default();

    let (mut x, residual) = (given(ROWS * hidden, 0.7, false), given(ROWS * hidden, 0.3, false));
    let normed = backend.norm(&mut x, Some(&residual), (parameters, norm)).unwrap();
    let again = backend.norm_again(&x, &normed.inverses, (parameters, norm)).unwrap();
    let (mut dx, grad) = (given(ROWS * hidden, 1.1, false), given(ROWS * hidden, 0.9, true));
    backend.norm_backward((&x, &normed.inverses), (parameters, norm), &grad, &mut dx, Some(&mut sums)).unwrap();
    let mut results = vec![
        ("norm", of(&normed.out)),
        ("norm, sum", of(&x)),
        ("norm, inverses", of(&normed.inverses)),
        ("norm, again", of(&again)),
        ("norm, gradient", of(&dx)),
    ];

    let names = ["q_proj", "k_proj", "v_proj"].map(|name| format!("model.layers.0.self_attn.{name}.weight"));
    let places = names.map(|name| weights.index(&name).unwrap()).to_vec();
    let width: usize = places.iter().map(|place| weights.shape(*place)[0]).sum();
    let projection =
        Projection { linear: Linear::new(hidden, width, CpuPrecision::F32), weights: places, biases: Vec::new() };
    let (states, dy) = (given(ROWS * hidden, 0.4, true), given(ROWS * width, 0.6, true));
    let product = backend.project(&projection, parameters, &states, Output::Sum, false).unwrap();
    let of_states = backend.input_gradient(&projection, parameters, &dy).unwrap();
    backend.weight_gradients(&projection, parameters, (&states, 0), &dy, &mut sums).unwrap();
    results.extend([("linear", of(&product)), ("linear, gradient", of(&of_states))]);

    let tokens = tokens(ROWS, 3);
    let positions: Vec<u32> = BOUNDARIES.windows(2).flat_map(|pair| 0..(pair[1] - pair[0]) as u32).collect();
    let packed = Packed { tokens: &tokens, positions: &positions, boundaries: &BOUNDARIES };
    let packed = backend.packed(packed).unwrap();
    results.extend(attention(backend.as_ref(), config, &packed));

    let inner = config.intermediate_size;
    let (mut rows, mut grad) = (given(ROWS * 2 * inner, 1.3, true), given(ROWS * inner, 0.2, true));
    let silu = Activation::Silu;
    results.push(("gate", of(&backend.gated(&rows, inner, silu).unwrap())));
    backend.gated_backward(&mut rows, &mut grad, inner, silu).unwrap();
    results.extend([("gate, gradient", of(&rows)), ("gate, again", of(&grad))]);

    results.push(("embedding", of(&backend.embed((parameters, embedding), &packed.tokens, hidden).unwrap())));
    backend.embedding_gradient((parameters, embedding), &packed, &dx, &mut sums).unwrap();
    let chosen = [3_u32, 0, 36, 17];
    let some = backend.gather(&states, hidden, &chosen).unwrap();
    backend.scatter_add(&mut x, &some, hidden, &chosen).unwrap();
    results.extend([("gathered", of(&some)), ("scattered", of(&x))]);
    for index in [norm.weight, embedding].into_iter().chain(projection.weights) {
        results.push(("gradient of a weight", backend.gradient(&sums, index)));
    }
    results
}

/// What is read off logits, and their gradient, beside a teacher and without one.
fn readings<B: Probe>(backend: &B, vocabulary: usize) -> Results {
    let logits = |speed: f64| backend.array(&wave(5 * vocabulary, speed), false);
    let targets: Vec<u32> = [0, 7, 32, 1, 7].to_vec();
    let weights = [0.5, -1.5, 2.0, 0.0, 1.0];
    let alone = backend.read_rows(&logits(0.7), &targets).unwrap();
    let gradient = backend.logits_gradient(logits(0.7), &targets, &weights, None).unwrap();
    let mut results = vec![("log-probabilities", alone.logprobs), ("entropies", alone.entropies)];
    results.push(("gradient of logits", backend.numbers(&gradient)));
    for view in [TeacherView { temperature: 1.0, top_k: None }, TeacherView { temperature: 1.7, top_k: Some(9) }] {
        let teacher = logits(1.9);
        let pair = backend.read_pairs(&logits(0.7), &teacher, &targets, &view).unwrap();
        results.extend([("log-ratios", pair.log_ratio), ("divergences", pair.divergence)]);
        let of_divergence = Some((&[0.3, 1.0, -0.7, 0.2, 0.0][..], &teacher, &view));
        let gradient = backend.logits_gradient(logits(0.7), &targets, &weights, of_divergence).unwrap();
        results.push(("gradient beside a teacher", backend.numbers(&gradient)));
    }
    results
}

#[test]
fn every_operation_is_that_of_the_cpu() {
    for precision in [Precision::F32, Precision::Bf16] {
        let near = if precision == Precision::F32 { 1e-5 } else { 1e-2 };
        let (backend, cpu) = (device(precision), Arc::new(Cpu));
        let compare = |what: String, got: Results, wanted: Results| {
            assert_eq!(got.len(), wanted.len());
            for ((name, got), (_, wanted)) in got.iter().zip(&wanted) {
                let off = distance(got, wanted);
                assert!(off < near && got.len() == wanted.len(), "{precision:?}, {what}: {name} is off by {off}");
            }
        };
        for (width, heads, key_value, tied) in SHAPES {
            let config = config(width, heads, key_value, tied);
            let what = format!("heads of {width}");
            compare(what, operations(&backend, &config), operations(&cpu, &config));
        }
        for vocabulary in [33, 1000, 4099] {
            let what = format!("a vocabulary of {vocabulary}");
            compare(what, readings(backend.as_ref(), vocabulary), readings(&Cpu, vocabulary));
        }
    }
}

#[test]
fn losses_and_gradients_are_those_of_the_cpu() {
    for precision in [Precision::F32, Precision::Bf16] {
        let shapes = SHAPES.map(|(width, heads, key_value, tied)| config(width, heads, key_value, tied));
        for config in shapes.into_iter().chain(families()) {
            let (cpu, gpu) = (decoder(&config, 11, &Arc::new(Cpu)), decoder(&config, 11, &device(precision)));
            let (loss, wanted) = gradients(&cpu, None, false);
            let (got_loss, got) = gradients(&gpu, None, false);
            assert!((loss - got_loss).abs() < tolerance(precision) * loss.abs(), "{loss} and {got_loss}");
            for (index, (got, wanted)) in got.iter().zip(&wanted).enumerate() {
                let off = distance(got, wanted);
                let name = cpu.weights().name(index);
                let (family, width) = (config.family.name, config.head_dim);
                assert!(
                    off < tolerance(precision),
                    "{precision:?}, {family}, heads of {width}: {name} is off by {off}"
                );
            }
            let again = gradients(&gpu, None, true);
            assert!(again == (got_loss, got), "recomputing changes no bit");
        }
    }
}

#[test]
fn distillation_is_that_of_the_cpu() {
    for precision in [Precision::F32, Precision::Bf16] {
        let (on_cpu, on_gpu) = (Arc::new(Cpu), device(precision));
        let student = config(32, 4, 2, true);
        let (cpu, gpu) = (decoder(&student, 11, &on_cpu), decoder(&student, 11, &on_gpu));
        let sizes = json!({
            "hidden_size": 48, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 24,
            "tie_word_embeddings": false,
        });
        let teacher = of_family("llama", sizes);
        let teachers = (decoder(&teacher, 5, &on_cpu), decoder(&teacher, 5, &on_gpu));
        for how in [
            json!({"estimator": "full_kl"}),
            json!({"estimator": "full_kl", "kd_temperature": 2.0}),
            json!({"estimator": "top_k_kl", "baseline": {"top_k": 3}}),
            json!({"estimator": "score", "baseline": {"top_k": 5}}),
        ] {
            let mut config = json!({"type": "vopd", "teacher": "builtin:arith-tiny"});
            config.as_object_mut().unwrap().extend(how.as_object().unwrap().clone());
            let (loss, wanted) = gradients(&cpu, Some((&teachers.0, config.clone())), false);
            let (got_loss, got) = gradients(&gpu, Some((&teachers.1, config)), false);
            // The difference of two similar distributions shows more of bf16's rounding.
            let near = 4.0 * tolerance(precision);
            assert!((loss - got_loss).abs() < near * loss.abs().max(1.0), "{how}: {loss} and {got_loss}");
            for (got, wanted) in got.iter().zip(&wanted) {
                assert!(distance(got, wanted) < near, "{precision:?}, {how}: off by {}", distance(got, wanted));
            }
        }
    }
}

struct Samples<B: Backend> {
    decoder: Decoder<B>,
    tokenizer: TextTokenizer,
    spec: SamplingSpec,
}

impl<B: Backend> Samples<B> {
    /// The built-in model.
    fn new(backend: &Arc<B>, spec: SamplingSpec) -> Self {
        Self::of(None, backend, spec)
    }

    /// A model with random weights, larger ones than a start from scratch has, or the built-in one.
    fn of(config: Option<&ModelConfig>, backend: &Arc<B>, spec: SamplingSpec) -> Self {
        let builtin = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny");
        let inspection = crate::modelfile::inspect(&builtin).unwrap();
        let weights = match config {
            None => Weights::load(&inspection).unwrap(),
            Some(config) => Weights::random(config, 5).unwrap(),
        };
        if config.is_some() {
            let matrices = (0..weights.count()).filter(|index| weights.shape(*index).len() > 1);
            matrices.for_each(|index| weights.values_mut(index).iter_mut().for_each(|x| *x *= 3.0));
        }
        let decoder = Decoder::new(Arc::new(weights.placed(backend).unwrap()), CpuPrecision::F32).unwrap();
        Self { decoder, tokenizer: TextTokenizer::from_inspection(&inspection).unwrap(), spec }
    }

    fn run(&self, batch_size: u32, prefill_tokens: usize) -> Vec<Completion> {
        let spec = SamplingSpec { batch_size, ..self.spec.clone() };
        let stream = Stream::new(7, Purpose::Rollout, 0);
        let sampler = Sampler { decoder: &self.decoder, tokenizer: &self.tokenizer, spec: &spec, stream };
        let limits = Limits { prefill_tokens, few_rows: 0, ..Limits::default() };
        sampler.run_within(&limits, &self.requests(), |_| Ok(())).unwrap().0
    }

    fn requests(&self) -> Vec<Request> {
        let prompts = ["12+7=", "47+36=", "9+9=18 10+10=20 25+25=", "3+4="];
        let request = |(prompt, text): (u64, &str)| {
            let tokens: Arc<[u32]> = self.tokenizer.encode(text).unwrap().into();
            (0..3).map(move |sample| Request::new(prompt, sample, Arc::clone(&tokens))).collect::<Vec<_>>()
        };
        (0..).zip(prompts).flat_map(request).collect()
    }
}

#[test]
fn completions_are_those_of_the_cpu_whatever_runs_beside_them() {
    for temperature in [0.0, 1.0] {
        let spec = SamplingSpec { max_new_tokens: 24, temperature, ..SamplingSpec::default() };
        let cpu = Samples::new(&Arc::new(Cpu), spec.clone());
        let gpu = Samples::new(&device(Precision::F32), spec.clone());
        let (wanted, got) = (cpu.run(12, 512), gpu.run(12, 512));
        for (got, wanted) in got.iter().zip(&wanted) {
            assert_eq!((&got.tokens, &got.text, got.finish), (&wanted.tokens, &wanted.text, wanted.finish));
            let near = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-4;
            assert!(got.behavior_logprobs.iter().zip(&wanted.behavior_logprobs).all(near));
            assert!((got.entropy_sum - wanted.entropy_sum).abs() < 1e-3);
        }
        // Recorded passes of other sizes, prompts in pieces, fewer at a time.
        for (batch_size, prefill_tokens) in [(1, 512), (5, 7), (12, 1)] {
            let other = gpu.run(batch_size, prefill_tokens);
            assert!(other.iter().zip(&got).all(|(a, b)| a.tokens == b.tokens && a.text == b.text));
        }
    }
}

#[test]
fn the_trainer_finds_what_the_sampler_recorded() {
    let families = families();
    let models = || [None].into_iter().chain(families.iter().map(Some));
    for (precision, model) in [Precision::F32, Precision::Bf16].into_iter().flat_map(|p| models().map(move |m| (p, m)))
    {
        let spec = SamplingSpec { max_new_tokens: 24, ..SamplingSpec::default() };
        let samples = Samples::of(model, &device(precision), spec);
        let family = model.map_or("built-in", |model| model.family.name);
        let (requests, completions) = (samples.requests(), samples.run(12, 512));
        let each = requests.iter().zip(&completions).map(|(request, completion)| Sequence {
            prompt: Arc::clone(&request.tokens),
            completion: completion.tokens.clone(),
            loss_mask: Vec::new(),
            credit: 1.0,
            behavior_logprobs: completion.behavior_logprobs.clone(),
            reference_logprobs: Vec::new(),
            proximal_logprobs: Vec::new(),
        });
        for batch in pack(&each.collect::<Vec<_>>(), 200) {
            let hidden = samples.decoder.hidden(batch.packed()).unwrap();
            let found = samples.decoder.logprobs(&hidden, &batch.target_rows, &batch.targets).unwrap().logprobs;
            for (found, recorded) in found.iter().zip(&batch.behavior_logprobs) {
                let off = f64::from((found - recorded).abs());
                assert!(off < 4.0 * tolerance(precision), "{precision:?}, {family}: {found} and {recorded}");
            }
        }
    }
}

/// Draws from the same logits with the same numbers; near a threshold rounding may decide otherwise, but seldom.
#[test]
fn draws_are_those_of_the_cpu() {
    let backend = device(Precision::F32);
    let uniforms = Stream::new(4, Purpose::Rollout, 0);
    for (case, vocabulary) in [33, 1000, 5003].into_iter().enumerate() {
        let stream = Stream::new(case as u64, Purpose::Initialization, 0);
        let logits: Vec<f32> = (0..2 * vocabulary).map(|i| (stream.normal(i as u64) * 3.0) as f32).collect();
        let on_device = backend.array(&logits, false);
        let rows: Vec<u32> = (0..64).map(|i| i % 2).collect();
        let numbers: Vec<f64> = (0..64).map(|i| uniforms.uniform(i, case as u32, 0)).collect();
        for (temperature, top_p, top_k) in
            [(0.0, 1.0, 0), (1.0, 1.0, 0), (0.6, 1.0, 0), (1.0, 1.0, 7), (1.3, 0.8, 0), (0.9, 0.9, 20)]
        {
            let spec = SamplingSpec { temperature, top_p, top_k, ..SamplingSpec::default() };
            let drawn = backend.draw((&on_device, vocabulary), &rows, &spec, &numbers).unwrap();
            let whole = top_p == 1.0 && top_k == 0;
            let mut others = 0;
            for ((choice, row), number) in drawn.iter().zip(&rows).zip(&numbers) {
                let logits = &logits[*row as usize * vocabulary..][..vocabulary];
                let wanted = choose(logits, &spec, || *number);
                assert!((choice.entropy - wanted.entropy).abs() < 1e-4);
                if whole {
                    others += usize::from(choice.token != wanted.token);
                }
                if choice.token == wanted.token {
                    assert!((choice.logprob - wanted.logprob).abs() < 1e-4, "{spec:?}");
                } else {
                    // Any token that it may draw has the log-probability that the CPU gives it.
                    let reachable = (0..400).map(|i| choose(logits, &spec, || (f64::from(i) + 0.5) / 400.0));
                    let same = reachable
                        .filter(|c| c.token == choice.token)
                        .all(|c| (c.logprob - choice.logprob).abs() < 1e-4);
                    assert!(same, "{spec:?}");
                }
            }
            assert!(others <= 1, "{others} of 64 draws differ");
        }
    }
}

#[test]
fn numbers_come_back_from_a_device_as_they_went_there_and_rounded_when_narrowed() {
    let cuda = device(Precision::Bf16);
    let values: Vec<f32> = (0..5000).map(|i| (i as f32).sin()).collect();
    let memory = cuda.upload(Kind::F32, &values).unwrap();
    assert_eq!(cuda.download::<f32>(&memory).unwrap(), values);
    let narrow = cuda.converted(&memory).unwrap();
    let wanted: Vec<u16> = values.iter().map(|x| half::bf16::from_f32(*x).to_bits()).collect();
    assert_eq!(cuda.download::<u16>(&narrow).unwrap(), wanted);
}
