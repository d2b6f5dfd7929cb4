//! Tokens per second of the engine on this machine's processor, with the tiny built-in model: sampling, a whole
//! training step, and what each objective adds to a step. Single operations are in `ops`.
//!
//! ```text
//! cargo bench --bench engine               all of them
//! cargo bench --bench engine -- sample     those with `sample` in their name
//! ```
//!
//! The model is so small that what surrounds the matrix products shows; figures of a large model do not follow from
//! these. Completions have a fixed length and batches a fixed shape, so that every iteration does the same work.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anneal::engine::EngineError;
use anneal::engine::batch::{MicroBatch, Sequence, pack};
use anneal::engine::collective::Alone;
use anneal::engine::gradients::GradientSum;
use anneal::engine::kernels::gemm::Precision;
use anneal::engine::learn::{Compared, Learner, Loss};
use anneal::engine::model::decoder::Decoder;
use anneal::engine::model::weights::Weights;
use anneal::engine::optimizer::Optimizer;
use anneal::engine::random::{Purpose, Stream};
use anneal::engine::sampler::{Request, Sampler};
use anneal::job::spec::{OptimizerSpec, SamplingSpec, TrainSpec};
use anneal::modelfile::inspect;
use anneal::objective::{self, Objective, StepStatistics};
use anneal::text::tokenizer::TextTokenizer;
use candle_core::Device;
use candle_core::{Tensor, Var};
use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use serde_json::json;

/// As in the program itself: tensors come and go all the time, and the allocator decides what that costs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Completions sampled at the same time, and tokens in each.
const COMPLETIONS: u32 = 64;
const COMPLETION_TOKENS: u32 = 64;
/// Shape of the training micro-batch: sequences, and input rows in each.
const SEQUENCES: usize = 64;
const SEQUENCE_ROWS: usize = 64;
/// Rows of each training sequence that belong to its prompt.
const PROMPT_ROWS: usize = 8;

/// The built-in model without an end-of-sequence token, so that every completion goes on to the length limit.
fn endless_model() -> Result<(Arc<Weights>, TextTokenizer), EngineError> {
    let mut inspection = inspect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny"))?;
    inspection.config.eos_token_ids.clear();
    Ok((Arc::new(Weights::load(&inspection)?), TextTokenizer::from_inspection(&inspection)?))
}

/// All completions are of one prompt, which is then computed once: the rest is decode steps of the whole batch.
fn sample(criterion: &mut Criterion) {
    let (weights, tokenizer) = endless_model().expect("the built-in model loads");
    let decoder = decoder(&weights);
    let prompt: Arc<[u32]> = tokenizer.encode("47+36=").expect("the prompt is in the vocabulary").into();
    let requests: Vec<Request> = (0..COMPLETIONS).map(|sample| Request::new(0, sample, Arc::clone(&prompt))).collect();
    let spec = SamplingSpec { max_new_tokens: COMPLETION_TOKENS, batch_size: COMPLETIONS, ..SamplingSpec::default() };
    let stream = Stream::new(1, Purpose::Rollout, 0);
    let sampler = Sampler { decoder: &decoder, tokenizer: &tokenizer, spec: &spec, stream };
    let run = || sampler.run(&requests, |_| Ok(())).expect("sampling works");
    assert!(run().iter().all(|completion| completion.tokens.len() == COMPLETION_TOKENS as usize));

    let mut group = criterion.benchmark_group("sample");
    group
        .sampling_mode(SamplingMode::Flat)
        .throughput(Throughput::Elements(u64::from(COMPLETIONS * COMPLETION_TOKENS)));
    group.bench_function("64 completions of 64 tokens", |bencher| bencher.iter(run));
    group.finish();
}

fn decoder(weights: &Arc<Weights>) -> Decoder {
    Decoder::new(Arc::clone(weights), Precision::F32).expect("the weights are complete")
}

/// The plainest objective: `L = - (1/N) sum_t log p(y_t)`.
fn train(criterion: &mut Criterion) {
    let (weights, _) = endless_model().expect("the built-in model loads");
    let decoder = decoder(&weights);
    let batch = micro_batch(weights.config().vocab_size);
    let mut optimizer = Optimizer::new(&OptimizerSpec::default(), &weights);
    let config = objective::Config::parse(&json!({"type": "sft"}), "/objective").expect("the spec is valid");
    let objective = config.build(&TrainSpec::default());
    let learner = Learner { decoder: &decoder, teacher: None, recompute: false, balance: 0.0, dropout: None };

    let mut group = criterion.benchmark_group("train");
    group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(batch.tokens.len() as u64));
    for (name, recompute) in [("step on 64 sequences of 64 tokens", false), ("the same, recomputing", true)] {
        let learner = Learner { recompute, ..learner };
        group.bench_function(name, |bencher| {
            bencher
                .iter(|| step(&weights, &learner, &mut optimizer, &batch, objective.as_ref()).expect("the step works"));
        });
    }
    group.finish();
}

/// Sequences that fill one micro-batch to the last row.
fn micro_batch(vocabulary: usize) -> MicroBatch {
    let stream = Stream::new(2, Purpose::Rollout, 0);
    let sequences: Vec<Sequence> = (0..SEQUENCES as u64)
        .map(|sequence| {
            // The last token is only predicted and has no row of its own.
            let draw = |at| (stream.uniform(sequence, 0, at) * vocabulary as f64) as u32;
            let tokens: Vec<u32> = (0..=SEQUENCE_ROWS as u32).map(draw).collect();
            let (prompt, completion) = tokens.split_at(PROMPT_ROWS);
            Sequence {
                prompt: prompt.into(),
                completion: completion.to_vec(),
                loss_mask: Vec::new(),
                credit: 1.0,
                behavior_logprobs: completion.iter().map(|token| -1.0 - (*token as f32) * 0.1).collect(),
                reference_logprobs: Vec::new(),
                proximal_logprobs: Vec::new(),
            }
        })
        .collect();
    let mut batches = pack(&sequences, SEQUENCES * SEQUENCE_ROWS);
    assert_eq!((batches.len(), batches[0].tokens.len()), (1, SEQUENCES * SEQUENCE_ROWS));
    batches.remove(0)
}

/// Forward with the teacher's pass where the objective wants one, backward, and an update. Returns the gradient norm.
fn step(
    weights: &Weights,
    learner: &Learner<'_>,
    optimizer: &mut Optimizer,
    batch: &MicroBatch,
    objective: &dyn Objective,
) -> Result<f64, EngineError> {
    let mut gradients = GradientSum::default();
    learner.micro_batch(objective, batch, &mut gradients)?;
    let scale = 1.0 / batch.targets.len() as f64;
    let norm = optimizer.norm(weights, &gradients, scale, &Alone)?;
    optimizer.step(weights, &gradients, scale, norm, 1e-9)?;
    Ok(norm)
}

/// A whole step under each objective, beside the parts that some of them add: one forward pass without gradients (the
/// extra pass of P3O on reused completions), and the objective's own arithmetic on the log-probabilities.
fn objectives(criterion: &mut Criterion) {
    let (weights, _) = endless_model().expect("the built-in model loads");
    let [decoder, teacher] = [decoder(&weights), decoder(&weights)];
    let batch = micro_batch(weights.config().vocab_size);
    let mut optimizer = Optimizer::new(&OptimizerSpec::default(), &weights);
    let learner = Learner { decoder: &decoder, teacher: Some(&teacher), recompute: false, balance: 0.0, dropout: None };
    let mut group = criterion.benchmark_group("objective");
    group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(batch.tokens.len() as u64));
    group.bench_function("forward pass without gradients", |bencher| {
        bencher.iter(|| logprobs(&decoder, &batch).expect("the pass works"));
    });
    let model = json!("builtin:arith-tiny");
    for (name, spec) in [
        ("grpo", json!({"type": "grpo"})),
        ("p3o", json!({"type": "p3o"})),
        ("fade", json!({"type": "fade"})),
        ("bolt", json!({"type": "bolt"})),
        ("vopd", json!({"type": "vopd", "teacher": model})),
        ("vopd top_k 8", json!({"type": "vopd", "teacher": model, "baseline": {"top_k": 8}})),
        ("vopd full_kl", json!({"type": "vopd", "teacher": model, "estimator": "full_kl"})),
    ] {
        let config = objective::Config::parse(&spec, "/objective").expect("the spec is valid");
        let mut objective = config.build(&TrainSpec::default());
        group.bench_function(format!("{name} step"), |bencher| {
            bencher
                .iter(|| step(&weights, &learner, &mut optimizer, &batch, objective.as_ref()).expect("the step works"));
        });
        if name == "p3o" {
            group.bench_function("p3o step on reused completions", |bencher| {
                bencher.iter(|| {
                    let policy = logprobs(&decoder, &batch).expect("the pass works");
                    let log_ratios: Vec<f64> =
                        policy.iter().zip(&batch.behavior_logprobs).map(|(p, b)| f64::from(p - b)).collect();
                    objective.begin_step(&StepStatistics { log_ratios: &log_ratios, ..StepStatistics::default() });
                    step(&weights, &learner, &mut optimizer, &batch, objective.as_ref()).expect("the step works")
                });
            });
        }
        let policy =
            Var::from_tensor(&Tensor::new(&batch.behavior_logprobs[..], &Device::Cpu).expect("numbers make a tensor"))
                .expect("a tensor makes a variable");
        if !name.starts_with("vopd") {
            group.bench_function(format!("{name} arithmetic"), |bencher| {
                bencher.iter(|| {
                    Loss::of(objective.as_ref(), &batch, &policy, Compared::Nothing)
                        .and_then(|loss| Ok(loss.sum.backward()?))
                        .expect("the arithmetic works")
                });
            });
        }
    }
    group.finish();
}

/// Log-probabilities of the batch's targets, without gradients.
fn logprobs(decoder: &Decoder, batch: &MicroBatch) -> Result<Vec<f32>, EngineError> {
    let hidden = decoder.hidden(batch.packed())?;
    Ok(decoder.logprobs(&hidden, &batch.target_rows, &batch.targets)?.logprobs)
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).measurement_time(Duration::from_secs(8));
    targets = sample, train, objectives
}
criterion_main!(benches);
