//! The state of one training job and what can be done with it: sample and score completions, take an optimizer
//! step. The order in which these happen is in [`super::train`].

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use candle_core::{Device, Tensor};

use super::batch::{MicroBatch, Sequence, pack};
use super::error::EngineError;
use super::evaluate::Evaluation;
use super::model::decoder::{Context, Decoder};
use super::model::weights::Weights;
use super::ops::logprob::target_logprobs;
use super::optimizer::{AdamW, GradientSum};
use super::random::{Purpose, Stream};
use super::report::{Progress, Reporter};
use super::rollout::{Rollout, RolloutGroup};
use super::sampler::{Completion, Request, Sampler};
use super::schedule::learning_rate;
use super::verify::{OwnedCase, VerifyPool};
use crate::dataset::{Dataset, Row};
use crate::job::{JobId, JobSpec, Phase};
use crate::modelfile;
use crate::objective::{self, Objective, Plan, StepTotals, TokenBatch};
use crate::text::chat::ChatTemplate;
use crate::text::prompt::{Prompter, RenderedPrompt};
use crate::text::tokenizer::TextTokenizer;
use crate::verifier::{self, Score};

/// Threads that verify completions.
const VERIFY_THREADS: usize = 2;
/// Verifications after which an error rate says something.
const VERIFY_SAMPLE: usize = 200;
/// Share of failed verifications that stops a job.
const VERIFY_ERROR_SHARE: f64 = 0.05;

/// Everything a run needs to know; nothing in it changes while it runs.
pub struct Job {
    pub id: JobId,
    pub attempt: u32,
    pub spec: JobSpec,
    pub spec_digest: String,
    pub objective: objective::Config,
    pub verifier: Option<verifier::Config>,
    /// The model's directory (or GGUF file).
    pub model: PathBuf,
    /// Draw the weights at random instead of loading them.
    pub from_scratch: bool,
    pub train: Dataset,
    pub eval: Option<Dataset>,
    /// Where checkpoints go.
    pub directory: PathBuf,
    /// Training checkpoints to go on from, best first; the first one that is intact is used.
    pub resume: Vec<PathBuf>,
    pub device: Device,
}

/// The statistics of one optimizer step, by metric name.
pub type Metrics = Vec<(&'static str, f64)>;

/// A job under way.
pub struct Trainer<'a> {
    pub(super) job: &'a Job,
    pub(super) objective: Box<dyn Objective>,
    pub(super) plan: Plan,
    pub(super) weights: Weights,
    pub(super) tokenizer: TextTokenizer,
    pub(super) chat: Option<ChatTemplate>,
    pub(super) optimizer: AdamW,
    /// Optimizer steps taken.
    pub(super) step: u64,
    pub(super) evaluations: Vec<Evaluation>,
    /// The scored completions of the round under way.
    pub(super) rollouts: Vec<RolloutGroup>,
    trainable: Decoder,
    detached: Decoder,
    verify: Option<VerifyPool>,
    verifications: usize,
    failed_verifications: usize,
}

impl<'a> Trainer<'a> {
    /// Loads model and tokenizer; the state is that of a job that has not begun.
    pub fn load(job: &'a Job) -> Result<Self, EngineError> {
        let (inspection, weights);
        if job.from_scratch {
            inspection = modelfile::inspect_blank(&job.model)?;
            weights = Weights::random(&inspection.config, job.spec.seed, &job.device)?;
        } else {
            inspection = modelfile::inspect(&job.model)?;
            weights = Weights::load(&inspection, &job.device)?;
        }
        let objective = job.objective.build();
        Ok(Self {
            plan: objective.plan(&job.spec.train),
            objective,
            tokenizer: TextTokenizer::from_inspection(&inspection)?,
            chat: ChatTemplate::from_inspection(&inspection)?,
            optimizer: AdamW::new(&job.spec.optimizer),
            step: 0,
            evaluations: Vec::new(),
            rollouts: Vec::new(),
            trainable: weights.trainable()?,
            detached: weights.detached()?,
            weights,
            verify: job
                .verifier
                .as_ref()
                .map(|config| VerifyPool::new(config.build(), config.time_limit(), VERIFY_THREADS)),
            verifications: 0,
            failed_verifications: 0,
            job,
        })
    }

    pub fn parameter_count(&self) -> usize {
        self.weights.vars().map(|(_, var)| var.elem_count()).sum()
    }

    /// Renders and encodes one row's prompt.
    pub(super) fn prompt(&self, index: usize, row: &Row) -> Result<RenderedPrompt, EngineError> {
        let context = self.weights.config().max_position_embeddings;
        let prompter = Prompter::new(&self.tokenizer, self.chat.as_ref(), &self.job.spec.dataset, context)?;
        Ok(prompter.render(index, row)?)
    }

    /// Samples and scores `samples` completions for each `(prompt id, row)`; the id keys the random stream.
    pub(super) fn roll_out(
        &mut self,
        dataset: &Dataset,
        rows: &[(u64, usize)],
        samples: u32,
        purpose: Purpose,
        reporter: &mut dyn Reporter,
    ) -> Result<Vec<RolloutGroup>, EngineError> {
        let mut prompts = Vec::with_capacity(rows.len());
        let mut requests = Vec::with_capacity(rows.len() * samples as usize);
        for (id, index) in rows {
            reporter.check()?;
            let row = dataset.row(*index)?;
            let prompt = self.prompt(*index, &row)?;
            requests.extend((0..samples).map(|sample| Request {
                prompt: *id,
                sample,
                tokens: Arc::clone(&prompt.tokens),
            }));
            prompts.push((row, prompt));
        }
        let mut progress = Progress::new(phase_of(purpose), "completions", requests.len());
        let sampler = Sampler {
            decoder: &self.detached,
            tokenizer: &self.tokenizer,
            spec: &self.job.spec.sampling,
            stream: Stream::new(self.job.spec.seed, purpose, self.step),
        };
        let completions = sampler.run(&requests, |done, _tokens| progress.update(reporter, done))?;
        if purpose == Purpose::Rollout {
            reporter.phase(Phase::Verifying, self.step)?;
        }
        let scores = self.verify(&prompts, &completions, samples as usize, reporter)?;

        let mut scored = completions.into_iter().zip(scores);
        Ok(rows
            .iter()
            .zip(prompts)
            .map(|((_, index), (_, prompt))| RolloutGroup {
                row: *index,
                prompt: prompt.tokens,
                rollouts: scored
                    .by_ref()
                    .take(samples as usize)
                    .filter(|(_, score)| score.is_scored())
                    .map(|(completion, score)| rollout(completion, &score))
                    .collect(),
                credits: None,
            })
            .collect())
    }

    fn verify(
        &mut self,
        prompts: &[(Row, RenderedPrompt)],
        completions: &[Completion],
        samples: usize,
        reporter: &mut dyn Reporter,
    ) -> Result<Vec<Score>, EngineError> {
        let Some(pool) = &mut self.verify else {
            return Err(EngineError::Internal(String::from("completions were sampled without a verifier")));
        };
        let cases = completions
            .iter()
            .enumerate()
            .map(|(i, completion)| {
                let (row, prompt) = &prompts[i / samples];
                OwnedCase {
                    prompt: prompt.text.clone(),
                    completion: completion.text.clone(),
                    answer: row.answer.clone(),
                    row: Arc::clone(&row.fields),
                }
            })
            .collect();
        let Some(scores) = pool.score_all(cases, || reporter.should_stop().is_some()) else {
            reporter.check()?;
            return Err(EngineError::Internal(String::from("verification stopped without a reason")));
        };
        self.verifications += scores.len();
        let failed: Vec<&Score> = scores.iter().filter(|score| !score.is_scored()).collect();
        self.failed_verifications += failed.len();
        let share = self.failed_verifications as f64 / self.verifications.max(1) as f64;
        let none_scored = !scores.is_empty() && failed.len() == scores.len();
        if none_scored || (self.verifications >= VERIFY_SAMPLE && share > VERIFY_ERROR_SHARE) {
            let last = failed.last().and_then(|score| score.detail.clone()).unwrap_or_default();
            let (failed, total) = (self.failed_verifications, self.verifications);
            return Err(EngineError::VerifierErrors { failed, total, last });
        }
        Ok(scores)
    }

    /// One optimizer step on the given sequences. Nothing has changed when it ends with an error.
    pub(super) fn train_step(
        &mut self,
        sequences: &[Sequence],
        reporter: &mut dyn Reporter,
    ) -> Result<Metrics, EngineError> {
        let began = Instant::now();
        let totals = StepTotals {
            tokens: sequences.iter().map(|s| s.completion.len() as f64).sum(),
            sequences: sequences.len() as f64,
        };
        let normalizer = self.objective.normalizer(&totals);
        let (mut gradients, mut loss, mut shift) = (GradientSum::default(), 0.0, 0.0_f64);
        for batch in pack(sequences, self.job.spec.train.micro_batch_tokens as usize) {
            reporter.check()?;
            let part = self.accumulate(&batch, &mut gradients)?;
            loss += part.loss / normalizer;
            shift = shift.max(part.shift);
        }
        let rate = learning_rate(&self.job.spec.optimizer, self.step, self.job.spec.train.steps);
        let mut norm = 0.0;
        if !gradients.is_empty() {
            norm = gradients.norm(1.0 / normalizer);
            self.check_finite(loss, norm)?;
            self.optimizer.step(self.weights.vars(), &gradients, 1.0 / normalizer, rate)?;
        }
        self.step += 1;
        let seconds = began.elapsed().as_secs_f64();
        let rows: f64 = sequences.iter().map(|s| (s.prompt.len() + s.completion.len()) as f64).sum();
        Ok(vec![
            ("loss", loss),
            ("grad/norm", norm),
            ("learning_rate", rate),
            ("logprob/max_abs_diff", shift),
            ("step/tokens", totals.tokens),
            ("step/sequences", totals.sequences),
            ("time/step_seconds", seconds),
            ("throughput/train_tokens_per_second", rows / seconds),
        ])
    }

    fn check_finite(&self, loss: f64, norm: f64) -> Result<(), EngineError> {
        for (what, value) in [("the loss", loss), ("the gradient", norm)] {
            if !value.is_finite() {
                return Err(EngineError::Diverged { step: self.step + 1, what });
            }
        }
        Ok(())
    }

    /// Forward and backward over one micro-batch.
    fn accumulate(&self, batch: &MicroBatch, gradients: &mut GradientSum) -> Result<Part, EngineError> {
        let device = &self.job.device;
        let policy_logprobs = logprobs(&self.trainable, batch)?;
        let credit = Tensor::new(&batch.credit[..], device)?;
        let tokens = TokenBatch { policy_logprobs: &policy_logprobs, credit: &credit, mask: &credit.ones_like()? };
        let loss = self.objective.loss(&tokens)?;
        gradients.add(self.weights.vars(), &loss.backward()?)?;
        let policy = policy_logprobs.to_vec1::<f32>()?;
        let shift = policy.iter().zip(&batch.behavior_logprobs).map(|(p, b)| f64::from((p - b).abs()));
        Ok(Part { loss: f64::from(loss.to_scalar::<f32>()?), shift: shift.fold(0.0, f64::max) })
    }

    /// Per group and completion the sum over tokens of reference - behavior log-probability, where the reference is
    /// the model the job started from.
    pub(super) fn reference_log_ratios(
        &self,
        groups: &[RolloutGroup],
        reporter: &dyn Reporter,
    ) -> Result<Vec<Vec<f64>>, EngineError> {
        let initial = Trainer::load(self.job)?;
        let mut ratios = Vec::with_capacity(groups.len());
        for group in groups {
            reporter.check()?;
            let mut sums = Vec::with_capacity(group.rollouts.len());
            for rollout in &group.rollouts {
                let sequence = Sequence {
                    prompt: Arc::clone(&group.prompt),
                    completion: rollout.tokens.clone(),
                    credit: 0.0,
                    behavior_logprobs: Vec::new(),
                };
                let mut sum = 0.0;
                for batch in pack([&sequence], usize::MAX) {
                    let reference = logprobs(&initial.detached, &batch)?.to_vec1::<f32>()?;
                    let pairs = reference.iter().zip(&rollout.behavior_logprobs);
                    sum += pairs.map(|(r, b)| f64::from(*r) - f64::from(*b)).sum::<f64>();
                }
                sums.push(sum);
            }
            ratios.push(sums);
        }
        Ok(ratios)
    }
}

/// What one micro-batch adds to a step.
struct Part {
    loss: f64,
    /// Largest |policy - behavior| log-probability.
    shift: f64,
}

/// Log-probabilities of a micro-batch's targets under `decoder`.
fn logprobs(decoder: &Decoder, batch: &MicroBatch) -> candle_core::Result<Tensor> {
    let hidden = decoder.hidden(&batch.tokens, &batch.positions, Context::Packed { boundaries: &batch.boundaries })?;
    let logits = decoder.logits(&hidden, &batch.target_rows)?;
    target_logprobs(&logits, &Tensor::new(&batch.targets[..], logits.device())?)
}

fn phase_of(purpose: Purpose) -> Phase {
    match purpose {
        Purpose::Evaluation => Phase::Evaluating,
        Purpose::Rollout | Purpose::PromptOrder | Purpose::BatchOrder | Purpose::Initialization => Phase::Sampling,
    }
}

fn rollout(completion: Completion, score: &Score) -> Rollout {
    Rollout {
        tokens: completion.tokens,
        behavior_logprobs: completion.behavior_logprobs,
        entropy_sum: completion.entropy_sum,
        finish: completion.finish,
        status: score.status,
        reward: score.reward,
    }
}
