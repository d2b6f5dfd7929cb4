//! The measurements: sampling, a training step, and a step of a job that samples.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, anyhow, ensure};
use serde_json::json;

use super::EMULATED;
use super::report::Measurement;
use super::subject::Subject;
use crate::engine::backend::Backend;
use crate::engine::batch::{Sequence, pack};
use crate::engine::collective::Alone;
use crate::engine::kernels::attention::BLOCK;
use crate::engine::learn::Learner;
use crate::engine::limits::Limits;
use crate::engine::optimizer::Optimizer;
use crate::engine::random::{Purpose, Stream};
use crate::engine::sampler::{Completion, Request, Sampler, Statistics};
use crate::job::spec::{OptimizerSpec, SampledCache, SamplingSpec, TrainSpec};
use crate::objective::math::mean;
use crate::objective::{self, Group, Objective, StepStatistics, StepTotals};
use crate::text::tokenizer::TextTokenizer;

/// How much is measured at a time.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Tokens of a prompt, and new tokens of a completion.
    prompt: usize,
    new: u32,
    /// Sequences of a training step, and tokens of each.
    train: (u32, usize),
    /// Most rows of a pass of a GRPO step.
    step_rows: usize,
}

impl Sizes {
    /// What keeps a device busy.
    pub fn of(device: &str, parameters: usize) -> Self {
        match device {
            "cpu" if parameters < LARGE => Self { prompt: 64, new: 64, train: (64, 64), step_rows: 2048 },
            "cpu" => Self { prompt: 64, new: 64, train: (8, 128), step_rows: 2048 },
            EMULATED => Self { prompt: 8, new: 6, train: (2, 12), step_rows: 2048 },
            _ => Self { prompt: 256, new: 256, train: (16, 1024), step_rows: 16_384 },
        }
    }

    /// The same with a prompt's tokens and a training step's sequences that were asked for.
    pub fn with(self, prompt: Option<u32>, train: Option<(u32, usize)>) -> Self {
        Self {
            prompt: prompt.map_or(self.prompt, |tokens| tokens as usize),
            train: train.unwrap_or(self.train),
            ..self
        }
    }

    /// Tokens of the longest sequence.
    pub fn context(self) -> usize {
        (self.prompt + self.new as usize).max(self.train.1)
    }
}

/// What shares are taken of.
#[derive(Clone, Copy, Debug)]
pub struct Peak {
    /// The device's rate for matrix products, in GFLOP/s.
    pub gflops: f64,
    /// Its memory's, in bytes read and written, where that was measured.
    pub bytes_per_second: Option<f64>,
    /// Bytes of a weight.
    pub number_bytes: usize,
}

/// Prompts of a GRPO step, and completions of each.
const STEP_PROMPTS: u32 = 8;
const STEP_SAMPLES: u32 = 8;
/// From this many parameters on a training step has fewer and longer sequences.
pub const LARGE: usize = 50_000_000;
/// So small that the weights stay what they are.
const LEARNING_RATE: f64 = 1e-9;
/// Repetitions for a median, unless they take several times as long as they should.
const ENOUGH: usize = 3;
/// Rounds of repetitions after which a machine is too busy.
const ATTEMPTS: usize = 10;

/// What every measurement needs.
pub struct Bench<'a, B: Backend> {
    pub subject: &'a Subject<B>,
    pub optimizer: OptimizerSpec,
    /// What keys and values are kept in.
    pub cache: Option<SampledCache>,
    /// Time for each measurement.
    pub seconds: f64,
    pub peak: Peak,
    pub sizes: Sizes,
}

impl<B: Backend> Bench<'_, B> {
    /// Prefill and decode of `batch` different prompts. A pass may hold both, so that they are told apart by two runs:
    /// one ends with the first token of each completion.
    pub fn sample(&self, batch: u32) -> anyhow::Result<Vec<Measurement>> {
        let requests: Vec<Request> = (0..batch).map(|prompt| self.request(prompt, 0)).collect();
        let stream = Stream::new(1, Purpose::Rollout, 0);
        let Sizes { prompt, new, .. } = self.sizes;
        let mut runs: Vec<[f64; 2]> = Vec::new();
        for _ in 0..ATTEMPTS {
            runs.extend(self.repeat(|| {
                let times = [1, new].map(|new| self.draw(&requests, new, stream).map(|drawn| drawn.seconds));
                let [first, all] = times;
                Ok([first?, all?])
            })?);
            let prefill = median(runs.iter().map(|[first, _]| *first));
            let decode = median(runs.iter().map(|[_, all]| *all)) - prefill;
            if decode > 0.0 {
                let count = f64::from(batch);
                return Ok(vec![
                    Measurement::Prefill { batch, tokens_per_second: count * prompt as f64 / prefill },
                    Measurement::Decode {
                        batch,
                        prompt_tokens: prompt,
                        new_tokens: new,
                        tokens_per_second: count * f64::from(new - 1) / decode,
                        share_of_bandwidth: self.share_of_bandwidth(batch, decode),
                    },
                ]);
            }
        }
        Err(anyhow!("the machine is too busy: {new} tokens took no longer than one; try a longer --seconds"))
    }

    /// `batch` completions of one prompt, with the time of the prompt.
    pub fn shared_prompt(&self, batch: u32) -> anyhow::Result<Measurement> {
        let requests: Vec<Request> = (0..batch).map(|sample| self.request(0, sample)).collect();
        let stream = Stream::new(1, Purpose::Rollout, 0);
        let new = self.sizes.new;
        let runs = self.repeat(|| self.draw(&requests, new, stream))?;
        Ok(Measurement::SharedPrompt {
            batch,
            prompt_tokens: runs.iter().map(|run| run.statistics.prompt_tokens).max().unwrap_or_default(),
            new_tokens: new,
            tokens_per_second: f64::from(batch * new) / median(runs.iter().map(|run| run.seconds)),
        })
    }

    /// A step of maximum likelihood on random tokens.
    pub fn train(&self, recompute: bool) -> anyhow::Result<Measurement> {
        let parameters = self.subject.weights.parameter_count();
        let (count, length) = self.sizes.train;
        // The last token is only predicted and has no row of its own.
        let sequences: Vec<Sequence> = (0..count)
            .map(|number| {
                let tokens = self.tokens(u64::from(number), length + 1);
                let (prompt, completion) = tokens.split_at(1);
                sequence(prompt.into(), completion.to_vec())
            })
            .collect();
        let objective = build("sft")?;
        let mut optimizer = Optimizer::new(&self.optimizer, self.subject.decoder.trained());
        let rows = count as usize * length;
        let runs = self.repeat(|| {
            let began = Instant::now();
            self.update(objective.as_ref(), &sequences, rows, recompute, &mut optimizer)?;
            Ok(began.elapsed().as_secs_f64())
        })?;
        let seconds = median(runs);
        // Two operations a weight forward, and four backward; of a frozen one only two.
        let (of_weight, own) = match self.subject.decoder.adapter() {
            Some(adapter) => (4.0, adapter.weights().parameter_count()),
            None => (6.0, 0),
        };
        let gflops = (of_weight * parameters as f64 + 6.0 * own as f64) * rows as f64 / seconds / 1e9;
        Ok(Measurement::Train {
            sequences: count,
            length,
            recompute,
            seconds,
            tokens_per_second: rows as f64 / seconds,
            gflops,
            share_of_peak: gflops / self.peak.gflops,
        })
    }

    /// A step as a job takes it: sample, credit, learn.
    pub fn grpo_step(&self) -> anyhow::Result<Measurement> {
        let requests: Vec<Request> = (0..STEP_PROMPTS)
            .flat_map(|prompt| (0..STEP_SAMPLES).map(move |sample| (prompt, sample)))
            .map(|(prompt, sample)| self.request(prompt, sample))
            .collect();
        let mut objective = build("grpo")?;
        let mut optimizer = Optimizer::new(&self.optimizer, self.subject.decoder.trained());
        let mut step = 0;
        let runs = self.repeat(|| {
            let began = Instant::now();
            let drawn = self.draw(&requests, self.sizes.new, Stream::new(1, Purpose::Rollout, step))?;
            let sequences = credited(objective.as_mut(), &requests, drawn.completions, step);
            self.update(objective.as_ref(), &sequences, self.sizes.step_rows, false, &mut optimizer)?;
            step += 1;
            Ok([began.elapsed().as_secs_f64(), drawn.seconds])
        })?;
        Ok(Measurement::GrpoStep {
            prompts: STEP_PROMPTS,
            completions: STEP_SAMPLES,
            new_tokens: self.sizes.new,
            seconds: median(runs.iter().map(|[whole, _]| *whole)),
            sampling_seconds: median(runs.iter().map(|[_, sampling]| *sampling)),
        })
    }

    /// The time that reading weights, keys and values once a step takes at the measured bandwidth, as a share of what
    /// decoding took.
    fn share_of_bandwidth(&self, batch: u32, seconds: f64) -> Option<f64> {
        let Peak { bytes_per_second, number_bytes, .. } = self.peak;
        let (weights, config) = (&self.subject.weights, self.subject.weights.config());
        // An embedding that is not the head is read by the row.
        let unread = if config.tie_word_embeddings { 0 } else { config.vocab_size * config.hidden_size };
        let steps = f64::from(self.sizes.new - 1);
        let cached = self.sizes.prompt as f64 + f64::from(self.sizes.new) / 2.0;
        let per_token = self.subject.decoder.bytes_per_block(self.cache) as f64 / BLOCK as f64;
        let of_weights = (weights.parameter_count() - unread) as f64 * number_bytes as f64;
        let bytes = of_weights + f64::from(batch) * cached * per_token;
        Some(steps * bytes / bytes_per_second? / seconds)
    }

    /// Runs once for nothing, since the first run takes memory and packs weights, and then for the time that is set.
    fn repeat<T>(&self, mut once: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<Vec<T>> {
        once()?;
        let began = Instant::now();
        let mut runs = Vec::new();
        loop {
            runs.push(once()?);
            let share = began.elapsed().as_secs_f64() / self.seconds;
            if share >= ENOUGH as f64 || (share >= 1.0 && runs.len() >= ENOUGH) {
                return Ok(runs);
            }
        }
    }

    /// Tokens of one prompt or sequence.
    fn tokens(&self, number: u64, count: usize) -> Vec<u32> {
        let stream = Stream::new(1, Purpose::PromptOrder, 0);
        let vocabulary = self.subject.weights.config().vocab_size as f64;
        (0..count as u32).map(|position| (stream.uniform(number, 0, position) * vocabulary) as u32).collect()
    }

    fn request(&self, prompt: u32, sample: u32) -> Request {
        let prompt = u64::from(prompt);
        Request::new(prompt, sample, self.tokens(prompt, self.sizes.prompt).into())
    }

    /// Samples `new` tokens for each request at once.
    fn draw(&self, requests: &[Request], new: u32, stream: Stream) -> anyhow::Result<Drawn> {
        let tokenizer: &TextTokenizer = self.subject.tokenizer.as_ref().context("the model has no tokenizer")?;
        let (batch_size, cache) = (requests.len() as u32, self.cache);
        let spec = SamplingSpec { max_new_tokens: new, batch_size, cache, ..SamplingSpec::default() };
        let sampler = Sampler { decoder: &self.subject.decoder, tokenizer, spec: &spec, stream };
        let began = Instant::now();
        // What a pass costs is measured, not how well tokens can be guessed.
        let limits = Limits { few_rows: 0, ..sampler.decoder.backend().limits()? };
        let (completions, statistics) = sampler.run_within(&limits, requests, |_| Ok(()))?;
        let seconds = began.elapsed().as_secs_f64();
        let whole = completions.iter().all(|completion| completion.tokens.len() == new as usize);
        ensure!(whole && completions.len() == requests.len(), "completions ended early");
        Ok(Drawn { completions, statistics, seconds })
    }

    /// Forward, backward and update, in passes of at most `rows` rows.
    fn update(
        &self,
        objective: &dyn Objective,
        sequences: &[Sequence],
        rows: usize,
        recompute: bool,
        optimizer: &mut Optimizer<B>,
    ) -> anyhow::Result<()> {
        let learner = Learner { decoder: &self.subject.decoder, teacher: None, recompute, balance: 0.0, dropout: None };
        let mut gradients = B::Gradients::default();
        for batch in pack(sequences, rows) {
            learner.micro_batch(objective, &batch, &mut gradients)?;
        }
        let tokens = sequences.iter().map(|sequence| sequence.completion.len() as f64).sum();
        let scale = 1.0 / objective.normalizer(&StepTotals { tokens, sequences: sequences.len() as f64 });
        let trained = self.subject.decoder.trained();
        let norm = optimizer.norm(trained, &gradients, scale, &Alone)?;
        ensure!(norm.is_finite(), "the gradient is not finite");
        Ok(optimizer.step(trained, &gradients, scale, norm, LEARNING_RATE)?)
    }
}

/// What a sampling phase gave, and its time.
struct Drawn {
    completions: Vec<Completion>,
    statistics: Statistics,
    seconds: f64,
}

/// An objective with its default settings.
fn build(name: &str) -> anyhow::Result<Box<dyn Objective>> {
    let config = objective::Config::parse(&json!({"type": name}), "/objective");
    let config = config.map_err(|errors| anyhow!("the objective `{name}` is refused: {errors:?}"))?;
    Ok(config.build(&TrainSpec::default()))
}

fn sequence(prompt: Arc<[u32]>, completion: Vec<u32>) -> Sequence {
    Sequence {
        prompt,
        completion,
        loss_mask: Vec::new(),
        credit: 1.0,
        behavior_logprobs: Vec::new(),
        reference_logprobs: Vec::new(),
        proximal_logprobs: Vec::new(),
    }
}

/// The completions with what the objective credits them with, under rewards of 0 or 1 at random.
fn credited(
    objective: &mut dyn Objective,
    requests: &[Request],
    completions: Vec<Completion>,
    step: u64,
) -> Vec<Sequence> {
    let stream = Stream::new(1, Purpose::Probe, step);
    let reward = |request: &Request| f64::from(stream.uniform(request.prompt, request.sample, 0) < 0.5);
    let rewards: Vec<Vec<f64>> =
        requests.chunks(STEP_SAMPLES as usize).map(|group| group.iter().map(reward).collect()).collect();
    let entropies: Vec<f64> = completions.iter().map(|c| c.entropy_sum / c.tokens.len() as f64).collect();
    let token_entropy = mean(&entropies);
    objective.begin_step(&StepStatistics {
        rewards: &rewards,
        token_entropy,
        on_policy: true,
        ..StepStatistics::default()
    });
    let credits = rewards.iter().flat_map(|rewards| objective.credit(&Group { rewards, reference_log_ratios: &[] }));
    let sequences = requests.iter().zip(completions).zip(credits).filter_map(|((request, completion), credit)| {
        Some(Sequence {
            credit: credit? as f32,
            behavior_logprobs: completion.behavior_logprobs,
            ..sequence(Arc::clone(&request.tokens), completion.tokens)
        })
    });
    sequences.collect()
}

/// The middle one, or the mean of the two in the middle.
fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        count if count.is_multiple_of(2) => f64::midpoint(sorted[middle - 1], sorted[middle]),
        _ => sorted[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_no_mean() {
        assert_eq!(median([5.0, 1.0, 100.0]), 5.0);
        assert_eq!(median([4.0, 1.0, 2.0, 100.0]), 3.0);
        assert!(median([]).is_nan());
    }
}
