//! The part of a job that acts: a model with its tokenizer, and the verifier that judges what it writes. Training jobs
//! and jobs that only sample share it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::backend::{Backend, Tensors, Usage};
use super::batch::Sequence;
use super::collective::Collective;
use super::conversation::{Held, Table};
use super::device::Device;
use super::error::EngineError;
use super::kernels;
use super::loading::{Bases, Known, Loaded, ModelSource, load};
use super::model::adapter::{Adapter, Origin};
use super::model::decoder::Decoder;
use super::model::weights::Weights;
use super::random::Stream;
use super::report::{Progress, Reporter};
use super::rollout::{Rollout, RolloutGroup};
use super::sampler::{Completion, Request, Sampler};
use super::verification::{Failures, Verification};
use super::verify::{Judging, OwnedCase, Verdict, VerifyPool};
use crate::dataset::{Dataset, Row};
use crate::environment::{self, Environment};
use crate::job::adapter::Quantize;
use crate::job::spec::{Masters, Precision, PromptSpec, SampledWeights, SamplingSpec};
use crate::job::{ArtifactKind, JobId, Manifest, Phase};
use crate::modelfile::architecture::TensorSpec;
use crate::modelfile::config::ModelConfig;
use crate::text::ModelText;
use crate::text::chat::ChatTemplate;
use crate::text::prompt::{AnsweredPrompt, Prompter, RenderedPrompt};
use crate::text::tokenizer::TextTokenizer;
use crate::verifier::{self, Outside, Score};

/// How often the engine looks whether the last verifications are done.
const VERIFY_POLL: Duration = Duration::from_millis(2);
/// Prompts that are rendered before anything is spent on them.
const CHECKED_PROMPTS: usize = 10_000;
/// Completions without a verdict that are kept, of what a rank samples at a time.
const MOST_UNSCORED: usize = 16;
/// Rows whose prompts are made before it is asked whether to stop.
const AT_ONCE: usize = 256;

/// What every job needs to know, whether it trains or not; nothing in it changes while it runs.
pub struct ActorSpec {
    pub id: JobId,
    pub attempt: u32,
    pub spec_digest: String,
    pub seed: u64,
    /// How rows become prompts.
    pub prompt: PromptSpec,
    pub sampling: SamplingSpec,
    pub verifier: Option<verifier::Config>,
    /// What it may use beyond the program.
    pub outside: Outside,
    pub model: ModelSource,
    pub training: Trained,
    /// What weights beside an adapter are kept in.
    pub quantize: Option<Quantize>,
    /// Where weights that it does not train are to be found, if it shares them.
    pub bases: Option<Bases>,
    /// Where the job's files go.
    pub directory: PathBuf,
    pub precision: Precision,
    /// What products are computed in on the CPU.
    pub products: kernels::gemm::Precision,
    pub device: Device,
    /// The processes that work on this job.
    pub collective: Arc<dyn Collective>,
}

/// What a job changes of its model.
#[derive(Clone, Debug, PartialEq)]
pub enum Trained {
    Nothing,
    Weights(Masters),
    /// A new adapter, or one to go on from.
    Adapter(Origin),
}

impl ActorSpec {
    /// A decoder for the job's sequences.
    pub(super) fn decoder<B: Backend>(
        &self,
        weights: Arc<Weights<B>>,
        adapter: Option<Adapter<B>>,
    ) -> Result<Decoder<B>, EngineError> {
        let precision = match self.quick() {
            Some(_) if self.training == Trained::Nothing => kernels::gemm::Precision::Bf16,
            _ => self.products,
        };
        let longest = self.longest(weights.config());
        Decoder::for_sequences(weights, adapter, precision, longest)
    }

    /// What weights are for that sample in the place of those that are trained.
    fn quick(&self) -> Option<Usage> {
        let weights = self.sampling.weights.filter(|_| matches!(self.device, Device::Cpu))?;
        Some(match weights {
            SampledWeights::Bf16 => Usage::Computing(kernels::gemm::Precision::Bf16),
            SampledWeights::Int8 => Usage::Coded(kernels::gemm::Precision::Bf16),
        })
    }

    /// Whether the policy is, before the first step, the model itself to the last bit.
    pub(super) fn begins_at_model(&self) -> bool {
        let is_rounded = self.training == Trained::Weights(Masters::Bf16);
        !is_rounded && !matches!(&self.training, Trained::Adapter(origin) if !origin.is_nothing_yet())
    }

    /// What of a completion is judged.
    pub(super) fn judging(&self) -> Judging<'_> {
        Judging { prompt: &self.prompt, environment: self.sampling.environment.as_ref() }
    }

    /// What the weights are for.
    fn usage(&self) -> Usage {
        match self.training {
            Trained::Weights(masters) => Usage::Training(masters),
            Trained::Adapter(_) if self.quantize.is_some() => Usage::Coded(self.products),
            Trained::Nothing => self.quick().unwrap_or(self.computing()),
            Trained::Adapter(_) => self.computing(),
        }
    }

    /// The weights that it starts from once more, to compare with.
    pub(super) fn read_again<B: Backend>(&self, backend: &Arc<B>) -> Result<Weights<B>, EngineError> {
        self.model.read(&self.model.inspect()?, self.computing(), true, backend)
    }

    /// What the weights of a model beside it are for.
    pub(super) fn computing(&self) -> Usage {
        Usage::Computing(self.products)
    }

    /// Tokens of the longest sequence with a model.
    pub(super) fn longest(&self, config: &ModelConfig) -> usize {
        self.prompt.longest(self.sampling.max_new_tokens, config.max_position_embeddings)
    }

    /// The manifest of something that the job wrote after `step` optimizer steps, without its files.
    pub(super) fn manifest(&self, kind: ArtifactKind, step: u64) -> Manifest {
        Manifest {
            format: 1,
            kind,
            job: self.id,
            attempt: self.attempt,
            step,
            spec_digest: self.spec_digest.clone(),
            files: Vec::new(),
        }
    }
}

/// Prompts to sample completions for.
pub struct RolloutRequest<'a> {
    pub dataset: &'a Dataset,
    /// For each prompt the number that keys its random numbers, and its row.
    pub rows: &'a [(u64, usize)],
    /// Completions per prompt.
    pub samples: u32,
    pub sampling: &'a SamplingSpec,
    pub stream: Stream,
    /// Optimizer steps that the policy has taken.
    pub step: u64,
    /// What a client reads meanwhile.
    pub phase: Phase,
}

/// What is made of each row, in order, by all processors; of several that fail the first is told.
fn side_by_side<T: Send>(
    rows: &[(u64, usize)],
    make: impl Fn(usize) -> Result<T, EngineError> + Sync,
) -> Result<Vec<T>, EngineError> {
    let made: Vec<Result<T, EngineError>> = rows.par_iter().map(|(_, index)| make(*index)).collect();
    made.into_iter().collect()
}

/// A model that samples, and a verifier that judges.
pub struct Actor<'a, B: Backend> {
    pub(super) spec: &'a ActorSpec,
    /// What training changes: all weights of the model, or those of an adapter.
    pub(super) weights: Arc<Weights<B>>,
    pub(super) tokenizer: TextTokenizer,
    pub(super) chat: Option<ChatTemplate>,
    end: Option<u32>,
    /// Samples and trains; it follows every change of the weights.
    pub(super) decoder: Decoder<B>,
    /// What samples in its place where a spec asks for weights of fewer bits, and after how many steps they were taken.
    quick: Option<(u64, Decoder<B>)>,
    verify: Option<VerifyPool>,
    /// What answers between turns, but for the verifier.
    environment: Option<Arc<dyn Environment>>,
    failures: Failures,
    /// Whether it counts them as they come.
    counts: bool,
    /// Of what was sampled last, completions that could not be judged, each with the place of its group.
    unscored: Vec<(usize, Rollout)>,
}

impl<'a, B: Backend> Actor<'a, B> {
    /// Loads model and tokenizer and starts the verifier.
    pub fn load(spec: &'a ActorSpec, backend: &Arc<B>) -> Result<Self, EngineError> {
        Self::knowing(spec, backend, spec.bases.as_ref().map_or(Known::Nowhere, Known::Among))
    }

    /// Another one for the same job, with what is trained in a copy of its own; its failures are counted by this one.
    pub(super) fn another(&self) -> Result<Self, EngineError> {
        let weights = match self.spec.training {
            Trained::Weights(masters) => Arc::new(self.copied(Usage::Training(masters))?),
            Trained::Nothing | Trained::Adapter(_) => Arc::clone(self.decoder.weights()),
        };
        let known = Known::Here(&weights);
        Ok(Self { counts: false, ..Self::knowing(self.spec, self.decoder.backend(), known)? })
    }

    /// The weights that are trained, once more.
    fn copied(&self, usage: Usage) -> Result<Weights<B>, EngineError> {
        let (own, config) = (&self.weights, self.decoder.config());
        let mut read = |spec: &TensorSpec| Ok(own.parameters().read(own.index(&spec.name)?, <[f32]>::to_vec));
        Weights::of_tensors(own.backend(), config, config.tensors(), usage, &mut read)
    }

    fn knowing(spec: &'a ActorSpec, backend: &Arc<B>, known: Known<'_, B>) -> Result<Self, EngineError> {
        let driver = match &spec.device {
            Device::Cpu => None,
            Device::Gpu(driver) => Some(driver),
        };
        spec.collective.join(driver)?;
        let Loaded { inspection, text: ModelText { tokenizer, chat }, end, weights, adapter } =
            load(&spec.model, &spec.prompt, spec.usage(), backend, known)?;
        let adapter = match &spec.training {
            Trained::Adapter(origin) => {
                let mut base = spec.model.reader(&inspection)?;
                Some(Adapter::load(backend, weights.config(), origin, &mut base)?)
            }
            Trained::Nothing | Trained::Weights(_) => adapter,
        };
        let decoder = spec.decoder(weights, adapter)?;
        Ok(Self {
            tokenizer,
            chat,
            end,
            weights: Arc::clone(decoder.trained()),
            decoder,
            quick: None,
            verify: spec.verifier.as_ref().map(|config| VerifyPool::of(config, &spec.outside)),
            environment: spec.sampling.environment.as_ref().and_then(|one| environment::build(one, &spec.outside)),
            failures: Failures::default(),
            counts: true,
            unscored: Vec::new(),
            spec,
        })
    }

    /// Renders and encodes one row's prompt.
    pub(super) fn prompt(&self, index: usize, row: &Row) -> Result<RenderedPrompt, EngineError> {
        Ok(self.prompter()?.render(index, row)?)
    }

    /// The own completions of some rows, in order, ended as the model ends its completions; all processors make them.
    pub(super) fn given(&self, dataset: &Dataset, rows: &[(u64, usize)]) -> Result<Vec<Sequence>, EngineError> {
        let (prompter, end) = (self.prompter()?, self.end);
        let longest = self.spec.longest(self.weights.config());
        side_by_side(rows, |index| {
            let row = dataset.row(index)?;
            let Some(text) = &row.completion else {
                return Err(EngineError::InvalidData {
                    code: "row_missing_column",
                    detail: format!("row {} has no completion, which `sft` learns from", index + 1),
                });
            };
            let AnsweredPrompt { prompt, mut completion, mut loss_mask } = prompter.answered(index, &row, text, end)?;
            completion.truncate(longest.saturating_sub(prompt.len()));
            loss_mask.truncate(completion.len());
            let (behavior_logprobs, reference_logprobs) = (Vec::new(), Vec::new());
            let proximal_logprobs = Vec::new();
            Ok(Sequence {
                prompt,
                completion,
                loss_mask,
                credit: 1.0,
                behavior_logprobs,
                reference_logprobs,
                proximal_logprobs,
            })
        })
    }

    fn prompter(&self) -> Result<Prompter<'_>, EngineError> {
        let context = self.weights.config().max_position_embeddings;
        Ok(Prompter::new(&self.tokenizer, self.chat.as_ref(), &self.spec.prompt, context)?)
    }

    /// Renders a first sample of a data set's prompts before anything is spent on them.
    pub(super) fn check_prompts(&self, dataset: &Dataset, reporter: &dyn Reporter) -> Result<(), EngineError> {
        if let Some(environment) = &self.spec.sampling.environment {
            self.prompter()?.check_answerer(environment.role.as_str(), self.end)?;
        }
        for index in 0..dataset.len().min(CHECKED_PROMPTS) {
            reporter.check()?;
            let number = dataset.number(index);
            self.prompt(number, &dataset.row(number)?)?;
        }
        Ok(())
    }

    /// Samples and scores completions; one group per prompt, in order, and how their verification went. Completions without
    /// a verdict are left out ([`Actor::take_unscored`] has some). Every rank does its share and gets all.
    pub(super) fn roll_out(
        &mut self,
        request: &RolloutRequest<'_>,
        reporter: &mut dyn Reporter,
    ) -> Result<(Vec<RolloutGroup>, Verification), EngineError> {
        let ranks = &self.spec.collective;
        let backend = Arc::clone(self.decoder.backend());
        backend.end_phase();
        let own = self.roll_out_own(&RolloutRequest { rows: ranks.share(request.rows), ..*request }, reporter)?;
        self.decoder.release();
        backend.end_phase();
        let all = ranks.gather_values(own)?;
        let mut groups = Vec::with_capacity(request.rows.len());
        let mut verification = Verification::default();
        self.unscored.clear();
        for own in all {
            let before = groups.len();
            self.unscored.extend(own.unscored.into_iter().map(|(group, rollout)| (before + group, rollout)));
            groups.extend(own.groups);
            verification.add(own.verification);
        }
        if self.counts {
            self.count(&verification)?;
        }
        Ok((groups, verification))
    }

    /// Counts failures; an error when they are too many.
    pub(super) fn count(&mut self, verification: &Verification) -> Result<(), EngineError> {
        self.failures.count(verification.failures.clone())
    }

    /// Lets go of what samples in the place of what is trained.
    pub(super) fn rest(&mut self) {
        self.quick = None;
    }

    /// Some of the completions sampled last that could not be judged, for people to look at.
    pub(super) fn take_unscored(&mut self) -> Vec<(usize, Rollout)> {
        std::mem::take(&mut self.unscored)
    }

    /// The rows of a request with their prompts, in order; all processors make them.
    fn prompts(
        &self,
        request: &RolloutRequest<'_>,
        reporter: &dyn Reporter,
    ) -> Result<Vec<(Row, RenderedPrompt)>, EngineError> {
        let prompter = self.prompter()?;
        let mut prompts = Vec::with_capacity(request.rows.len());
        for some in request.rows.chunks(AT_ONCE) {
            reporter.check()?;
            prompts.extend(side_by_side(some, |index| {
                let row = request.dataset.row(index)?;
                let prompt = prompter.render(index, &row)?;
                Ok((row, prompt))
            })?);
        }
        Ok(prompts)
    }

    /// Takes the weights that sample from those that are trained, where they are others.
    fn quicken(&mut self, step: u64) -> Result<(), EngineError> {
        let (spec, backend) = (self.spec, Arc::clone(self.decoder.backend()));
        let is_new = self.quick.as_ref().is_none_or(|(of, _)| *of != step);
        let config = self.decoder.config().clone();
        let (weights, adapter) = match (spec.quick(), &spec.training) {
            (None, _) | (_, Trained::Nothing) => return Ok(()),
            // They never change.
            (Some(_), Trained::Adapter(_)) if self.quick.is_some() => return Ok(()),
            (Some(usage), Trained::Adapter(_)) => {
                let weights = spec.model.read(&spec.model.inspect()?, usage, false, &backend)?;
                (weights, self.decoder.adapter().cloned())
            }
            (Some(_), Trained::Weights(_)) if !is_new => return Ok(()),
            (Some(usage), Trained::Weights(_)) => {
                // Two copies at once are more than were planned.
                self.quick = None;
                (self.weights.wholly(spec.collective.as_ref(), || self.copied(usage))?, None)
            }
        };
        let (bf16, longest) = (kernels::gemm::Precision::Bf16, spec.longest(&config));
        self.quick = Some((step, Decoder::for_sequences(Arc::new(weights), adapter, bf16, longest)?));
        Ok(())
    }

    fn roll_out_own(
        &mut self,
        request: &RolloutRequest<'_>,
        reporter: &mut dyn Reporter,
    ) -> Result<RolledOut, EngineError> {
        let samples = request.samples as usize;
        let prompts = self.prompts(request, reporter)?;
        let mut requests = Vec::with_capacity(request.rows.len() * samples);
        for ((id, _), (_, prompt)) in request.rows.iter().zip(&prompts) {
            requests.extend((0..request.samples).map(|sample| Request::new(*id, sample, Arc::clone(&prompt.tokens))));
        }
        let policy = request.phase == Phase::Sampling;
        if policy {
            self.quicken(request.step)?;
        }
        let quick = self.quick.as_ref().filter(|_| policy).map(|(_, decoder)| decoder);
        let mut sampling = request.sampling.clone();
        let environment = sampling.environment.take();
        sampling.stop.extend(environment.iter().filter_map(|spec| spec.stop().map(str::to_owned)));
        let sampler = Sampler {
            decoder: quick.unwrap_or(&self.decoder),
            tokenizer: &self.tokenizer,
            spec: &sampling,
            stream: request.stream,
        };
        let (held, wait_seconds) = match &environment {
            None => {
                let judging = self.spec.judging();
                sample_and_verify(&sampler, self.verify.as_mut(), &requests, (judging, &prompts), request, reporter)?
            }
            Some(spec) => {
                let context = self.weights.config().max_position_embeddings;
                let table = Table {
                    sampler: &sampler,
                    prompter: Prompter::new(&self.tokenizer, self.chat.as_ref(), &self.spec.prompt, context)?,
                    spec,
                    environment: self.environment.as_ref(),
                    verify: self.verify.as_mut(),
                    judging: self.spec.judging(),
                    prompts: &prompts,
                    samples,
                    phase: request.phase,
                    step: request.step,
                    verifying: false,
                };
                table.hold(&requests, reporter)?
            }
        };
        Ok(RolledOut::of(request, prompts, held, wait_seconds))
    }
}

/// What one rank has sampled.
#[derive(Serialize, Deserialize)]
struct RolledOut {
    groups: Vec<RolloutGroup>,
    /// Some of those that could not be judged, with the places of their groups.
    unscored: Vec<(usize, Rollout)>,
    verification: Verification,
}

impl RolledOut {
    /// The completions by their prompts.
    fn of(
        request: &RolloutRequest<'_>,
        prompts: Vec<(Row, RenderedPrompt)>,
        held: Vec<Held>,
        wait_seconds: f64,
    ) -> Self {
        let mut verdicts: Vec<Verdict> = held.iter().filter_map(|held| held.verdict.clone()).collect();
        if !verdicts.is_empty() {
            // Without a verifier those alone have one whose environment failed; the others count as judged.
            verdicts.resize(held.len(), Verdict { score: Score::ok(0.0), seconds: 0.0 });
        }
        let verification =
            if verdicts.is_empty() { Verification::default() } else { Verification::of(&verdicts, wait_seconds) };
        let samples = request.samples as usize;
        let mut scored = held.into_iter().zip((0..request.samples).cycle());
        let mut unscored = Vec::new();
        let groups = request.rows.iter().zip(prompts).enumerate().map(|(place, ((_, index), (_, prompt)))| {
            let mut rollouts = Vec::with_capacity(samples);
            for (held, sample) in scored.by_ref().take(samples) {
                let is_scored = held.verdict.as_ref().is_none_or(|verdict| verdict.score.is_scored());
                if is_scored {
                    rollouts.push(rollout(sample, held));
                } else if unscored.len() < MOST_UNSCORED {
                    unscored.push((place, rollout(sample, held)));
                }
            }
            RolloutGroup { row: *index, step: request.step, prompt: prompt.tokens, text: prompt.text, rollouts }
        });
        let groups = groups.collect();
        Self { groups, unscored, verification }
    }
}

/// Samples all requests, and scores each completion as soon as it is there, beside the sampling of the others; with the
/// seconds from the end of sampling to the last verdict. Without a verifier there are no verdicts.
fn sample_and_verify<B: Backend>(
    sampler: &Sampler<'_, B>,
    verify: Option<&mut VerifyPool>,
    requests: &[Request],
    (judging, prompts): (Judging<'_>, &[(Row, RenderedPrompt)]),
    request: &RolloutRequest<'_>,
    reporter: &mut dyn Reporter,
) -> Result<(Vec<Held>, f64), EngineError> {
    let held = |(completion, verdict)| Held { completion, answers: Vec::new(), verdict };
    let mut progress = Progress::new(request.phase, "completions", requests.len());
    let Some(pool) = verify else {
        let completions = sampler.run(requests, |seen| progress.update(reporter, seen.done))?;
        return Ok((completions.into_iter().map(|completion| held((completion, None))).collect(), 0.0));
    };
    let case = |place: usize, completion: &Completion| {
        let (row, prompt) = &prompts[place / request.samples as usize];
        OwnedCase::of(judging, row, &prompt.text, (&completion.text, &[]))
    };
    let (cases, inbox) = mpsc::channel();
    let stop = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let verifying = scope.spawn(move || pool.score(requests.len(), &inbox, || stop.load(Ordering::Relaxed)));
        let sampled = sampler.run(requests, |seen| {
            // The other end is gone when the pool has given up, which it says in its answer.
            seen.ended.iter().for_each(|(place, completion)| drop(cases.send((*place, case(*place, completion)))));
            progress.update(reporter, seen.done)
        });
        drop(cases);
        let waited = sampled.and_then(|completions| {
            if request.phase == Phase::Sampling && !verifying.is_finished() {
                reporter.phase(Phase::Verifying, request.step)?;
            }
            let began = Instant::now();
            while !verifying.is_finished() {
                reporter.check()?;
                std::thread::sleep(VERIFY_POLL);
            }
            Ok((completions, began.elapsed().as_secs_f64()))
        });
        stop.store(true, Ordering::Relaxed);
        let verdicts = verifying.join();
        let (completions, wait_seconds) = waited?;
        let lost = || EngineError::Internal(String::from("verification stopped without a reason"));
        let verdicts = verdicts.ok().flatten().ok_or_else(lost)?;
        Ok((completions.into_iter().zip(verdicts.into_iter().map(Some)).map(held).collect(), wait_seconds))
    })
}

/// A completion with its verdict, if there is one.
fn rollout(sample: u32, Held { completion, answers, verdict }: Held) -> Rollout {
    let mut rollout = Rollout {
        sample,
        text: completion.text,
        answer: None,
        tokens: completion.tokens,
        behavior_logprobs: completion.behavior_logprobs,
        reference_logprobs: Vec::new(),
        proximal_logprobs: Vec::new(),
        entropy_sum: completion.entropy_sum,
        finish: completion.finish,
        status: None,
        reward: 0.0,
        entropies: completion.entropies,
        detail: None,
        parts: Vec::new(),
        verify_seconds: None,
        answers,
    };
    if let Some(verdict) = verdict {
        verdict.judge(&mut rollout);
    }
    rollout
}
