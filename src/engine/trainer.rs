//! The state of one training job. The order in which things happen to it is in [`super::train`], what a step does in
//! `step`.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::actor::{Actor, Trained};
use super::artifact::Saving;
use super::backend::{Backend, Tensors};
use super::batch::Sequence;
use super::beside::Beside;
use super::collective::Collective;
use super::curriculum::Rows;
use super::error::EngineError;
use super::loading::ModelSource;
use super::memory;
use super::model::decoder::Decoder;
use super::model::principal;
use super::optimizer::Optimizer;
use super::random::{Purpose, Stream};
use super::report::Reporter;
use super::rollout::{RolloutGroup, sequences};
use super::rollout_set;
use super::sample_log::SampleLog;
use super::training_job::Job;
use crate::job::PolicyEvaluation;
use crate::job::memory::{FEWEST_TOKENS, MEASURED_HEAD, Pass};
use crate::job::spec::{MicroBatchTokens, Precision};
use crate::modelfile::architecture::Part;
use crate::modelfile::{self, Inspection};
use crate::objective::{self, Objective, Plan};
use crate::text::tokenizer::TextTokenizer;
use crate::verifier::shortened;

/// The statistics of one optimizer step, by metric name.
pub type Metrics = objective::Statistics;

/// A job under way.
pub struct Trainer<'a, B: Backend> {
    pub(super) job: &'a Job,
    pub(super) actor: Actor<'a, B>,
    pub(super) objective: Box<dyn Objective>,
    pub(super) plan: Plan,
    pub(super) optimizer: Optimizer<B>,
    /// Optimizer steps taken.
    pub(super) step: u64,
    /// Most tokens in one forward and backward pass.
    pub(super) micro_batch_tokens: usize,
    /// Steps in a row, up to the last, that had nothing to learn from.
    pub(super) idle_steps: u64,
    pub(super) evaluations: Vec<PolicyEvaluation>,
    /// What the job's result says besides evaluations.
    pub(super) report: Map<String, Value>,
    /// The rows to train on, in their order.
    pub(super) rows: Arc<Rows>,
    /// The scored completions of the round under way.
    pub(super) rollouts: Vec<Arc<RolloutGroup>>,
    /// The round that they are of.
    pub(super) round: Option<u64>,
    /// Those of the rounds after it that are sampled already, in order.
    pub(super) ahead: VecDeque<Vec<Arc<RolloutGroup>>>,
    /// Those of held-out prompts by the policy that sampled the round; none where gaps are not measured on them.
    pub(super) held_out: Vec<Arc<RolloutGroup>>,
    /// What samples others of them while this one is trained on, where that is possible.
    pub(super) beside: Option<Beside<'a, B>>,
    /// Tokens that are no text and end no completion, in order.
    pub(super) special_tokens: Vec<u32>,
    /// What is kept of completions for people.
    pub(super) sample: SampleLog,
    /// The stored completions that are trained on beside them or instead of them.
    pub(super) stored: Vec<Arc<RolloutGroup>>,
    /// Seconds and tokens of the last sampling phase, until they are reported.
    pub(super) sampled: Metrics,
    /// The parts of verdicts that have metrics of their own.
    pub(super) parts: Vec<String>,
    /// Codes of the notes that are in the log already.
    pub(super) said: BTreeSet<&'static str>,
    /// The checkpoint that is on its way to the disk.
    pub(super) saving: Saving,
    pub(super) teacher: Option<Decoder<B>>,
    /// The model the job started from, once it is needed.
    reference: Option<Decoder<B>>,
}

impl<'a, B: Backend> Trainer<'a, B> {
    /// Loads everything; the state is that of a job that has not begun.
    pub fn load(job: &'a Job, backend: &Arc<B>, reporter: &dyn Reporter) -> Result<Self, EngineError> {
        let rows = Rows::of(&job.train, &job.spec.curriculum, job.actor.seed, || reporter.check())?;
        let actor = Actor::load(&job.actor, backend)?;
        let objective = job.spec.objective.build(&job.spec.train);
        let plan = match &job.spec.rollouts.from {
            Some(_) => Plan::rounds(1, objective.plan().group_size, &job.spec.train),
            None => objective.plan(),
        };
        let stored = stored_groups(job, &actor)?;
        let teacher = match &job.teacher {
            Some(teacher) => Some(load_teacher(teacher, job.spec.teacher_sha256(), &actor)?),
            None => None,
        };
        let optimizer = optimizer(job, &actor)?;
        let micro_batch_tokens =
            micro_batch_tokens(job, &actor, (objective.as_ref(), teacher.as_ref()), &optimizer)? as usize;
        let ends = &actor.weights.config().eos_token_ids;
        let special = actor.tokenizer.special_tokens().into_iter().filter(|token| !ends.contains(token));
        // All ranks cut their batches at the same places.
        let all = job.actor.collective.gather_values(micro_batch_tokens)?;
        let micro_batch_tokens = all.into_iter().min().unwrap_or(micro_batch_tokens);
        Ok(Self {
            micro_batch_tokens,
            optimizer,
            step: 0,
            idle_steps: 0,
            evaluations: Vec::new(),
            report: Map::new(),
            rows: Arc::new(rows),
            rollouts: Vec::new(),
            round: None,
            ahead: VecDeque::new(),
            held_out: Vec::new(),
            beside: None,
            special_tokens: special.collect(),
            sampled: Metrics::new(),
            parts: job
                .actor
                .verifier
                .as_ref()
                .map(|config| config.build(&job.actor.outside).part_names())
                .unwrap_or_default(),
            sample: SampleLog::open(&job.actor.directory, job.spec.rollouts.sample),
            said: BTreeSet::new(),
            reference: None,
            saving: Saving::default(),
            job,
            actor,
            objective,
            plan,
            stored,
            teacher,
        })
    }

    /// Whether rounds are sampled while others are trained on: a device of its own does one thing at a time, and ranks meet for
    /// both.
    pub(super) fn samples_beside(job: &Job) -> bool {
        job.spec.train.max_lag > 0 && !B::IS_ASYNCHRONOUS && job.actor.collective.size() == 1
    }

    /// Whether what comes every so many steps is to come after the last one.
    pub(super) fn is_due(&self, every: u64) -> bool {
        every > 0 && self.step.is_multiple_of(every)
    }

    /// The processes that work on this job.
    pub(super) fn ranks(&self) -> &dyn Collective {
        self.job.actor.collective.as_ref()
    }

    pub fn parameter_count(&self) -> usize {
        self.actor.weights.parameter_count()
    }

    /// Prompts of a step that come from the stored rollout set.
    pub(super) fn stored_per_step(&self) -> u64 {
        self.job.spec.rollouts.stored_per_step(self.job.spec.train.prompts_per_step)
    }

    /// Whether the completions that are trained on have rewards.
    pub(super) fn is_judged(&self) -> bool {
        match &self.job.spec.rollouts.from {
            Some(_) => self.stored.iter().flat_map(|group| &group.rollouts).any(|rollout| rollout.status.is_some()),
            None => self.job.actor.verifier.is_some(),
        }
    }

    /// Whether completions get log-probabilities under the model the job started from.
    pub(super) fn wants_reference(&self) -> bool {
        self.objective.needs().reference || self.job.spec.train.track_reference
    }

    /// Has the model the job started from, unless that was done: with an adapter the same weights without it, otherwise
    /// the model once more.
    pub(super) fn load_reference(&mut self) -> Result<(), EngineError> {
        if self.reference.is_none() {
            let (actor, decoder) = (&self.job.actor, &self.actor.decoder);
            let weights = match actor.training {
                Trained::Adapter(_) => Arc::clone(decoder.weights()),
                Trained::Nothing | Trained::Weights(_) => Arc::new(actor.read_again(decoder.backend())?),
            };
            self.reference = Some(actor.decoder(weights, None)?);
        }
        Ok(())
    }

    /// How much of the head's change since the start lies in one direction, of the step before an evaluation or the end.
    pub(super) fn head_geometry(&mut self) -> Result<Option<f64>, EngineError> {
        let actor = &self.job.actor;
        let is_due = self.step == self.plan.steps || self.is_due(self.job.spec.eval.every_steps);
        let is_kept = self.wants_reference() && !self.objective.needs().completions;
        // In fewer bits the reference's own rounding would be taken for a change; beside an adapter nothing of the head changes.
        let changes = actor.precision == Precision::F32 && !matches!(actor.training, Trained::Adapter(_));
        if !(is_due && is_kept && changes && self.ranks().is_first()) {
            return Ok(None);
        }
        let config = self.actor.weights.config();
        let part = if config.tie_word_embeddings { Part::Embedding } else { Part::Head };
        let own = self.actor.weights.outside(part)?;
        if self.actor.weights.len_of(own) as u64 > MEASURED_HEAD {
            return Ok(None);
        }
        self.load_reference()?;
        let (weights, Some(reference)) = (&self.actor.weights, &self.reference) else { return Ok(None) };
        let before = reference.weights().outside(part)?;
        let columns = weights.config().hidden_size;
        let stream = Stream::new(actor.seed, Purpose::Geometry, self.step);
        let share = weights.parameters().read(own, |now| {
            let share = |before: &[f32]| principal::first_share(now, before, columns, &stream);
            reference.weights().parameters().read(before, share)
        });
        weights.backend().check()?;
        Ok(share)
    }

    /// Log-probabilities of the completions under the model the job started from; [`Self::load_reference`] comes first.
    pub(super) fn reference_logprobs(
        &self,
        sequences: &[Sequence],
        reporter: &dyn Reporter,
    ) -> Result<Vec<Vec<f32>>, EngineError> {
        let Some(reference) = &self.reference else {
            return Err(EngineError::Internal(String::from("the reference is not loaded")));
        };
        self.logprobs(reference, sequences, reporter)
    }

    /// Gives fresh completions their log-probabilities under the reference, if they are wanted.
    pub(super) fn fill_reference(
        &mut self,
        groups: &mut [RolloutGroup],
        reporter: &dyn Reporter,
    ) -> Result<(), EngineError> {
        if !self.wants_reference() {
            return Ok(());
        }
        let is_first = groups.iter().all(|group| group.step == 0);
        if is_first && self.job.actor.sampling.is_whole() && self.job.actor.begins_at_model() {
            // The policy is the reference still.
            for rollout in groups.iter_mut().flat_map(|group| &mut group.rollouts) {
                rollout.reference_logprobs = rollout.behavior_logprobs.clone();
            }
            return Ok(());
        }
        self.load_reference()?;
        let all: Vec<Sequence> = groups.iter().flat_map(sequences).collect();
        let logprobs = self.reference_logprobs(&all, reporter)?;
        for (rollout, logprobs) in groups.iter_mut().flat_map(|group| &mut group.rollouts).zip(logprobs) {
            rollout.reference_logprobs = rollout.over_all(logprobs);
        }
        Ok(())
    }

    /// Log-probabilities of the completions of the round that comes next under the policy of now, if they are wanted; none where
    /// this policy has sampled them, whose own are the same to the bit.
    pub(super) fn proximal_logprobs(&self, reporter: &dyn Reporter) -> Result<Vec<Vec<f32>>, EngineError> {
        let Some(next) = self.ahead.front().filter(|_| self.objective.needs().proximal) else { return Ok(Vec::new()) };
        if self.samples_the_policy() && next.iter().all(|group| group.step == self.step) {
            return Ok(Vec::new());
        }
        let all: Vec<Sequence> = next.iter().flat_map(|group| sequences(group)).collect();
        self.logprobs(&self.actor.decoder, &all, reporter)
    }

    /// Gives them to the completions of the round that has begun.
    pub(super) fn fill_proximal(&mut self, logprobs: Vec<Vec<f32>>) {
        if logprobs.is_empty() {
            return;
        }
        let mut logprobs = logprobs.into_iter();
        for group in &mut self.rollouts {
            for (rollout, logprobs) in Arc::make_mut(group).rollouts.iter_mut().zip(&mut logprobs) {
                rollout.proximal_logprobs = rollout.over_all(logprobs);
            }
        }
    }

    /// Whether what samples is, to the bit, what is trained.
    pub(super) fn samples_the_policy(&self) -> bool {
        B::SAMPLES_EXACTLY && self.job.actor.sampling.is_whole()
    }
}

/// The most tokens of a pass.
fn micro_batch_tokens<B: Backend>(
    job: &Job,
    actor: &Actor<'_, B>,
    (objective, teacher): (&dyn Objective, Option<&Decoder<B>>),
    optimizer: &Optimizer<B>,
) -> Result<u64, EngineError> {
    match job.spec.train.micro_batch_tokens {
        MicroBatchTokens::Tokens(count) => Ok(count.into()),
        // What is free depends on those beside it, and placement has counted on no more.
        MicroBatchTokens::Auto(_) if job.actor.bases.is_some() => Ok(FEWEST_TOKENS),
        MicroBatchTokens::Auto(_) => {
            let of = |decoder: &Decoder<B>| modelfile::shape(decoder.config());
            let pass = Pass {
                recompute: job.spec.train.recompute.is_on(),
                precision: job.actor.precision,
                frozen: job.spec.adapter.is_some(),
                magnitudes: job.spec.adapter.as_ref().is_some_and(|adapter| adapter.dora),
                teacher: teacher.map(of),
                entropy: objective.needs().entropy,
            };
            let count = actor.weights.parameter_count() as u64;
            let copied = if Trainer::<B>::samples_beside(job) { count * size_of::<f32>() as u64 } else { 0 };
            let coming = (count, optimizer.bytes(&actor.weights).saturating_add(copied));
            memory::micro_batch_tokens(&of(&actor.decoder), pass, coming, actor.decoder.backend().as_ref())
        }
    }
}

/// The completions of the set that the spec names.
fn stored_groups<B: Backend>(job: &Job, actor: &Actor<'_, B>) -> Result<Vec<Arc<RolloutGroup>>, EngineError> {
    let Some(directory) = &job.stored else { return Ok(Vec::new()) };
    let mut stored = rollout_set::read(directory)?;
    check_tokens(&stored, actor.weights.config().vocab_size)?;
    if job.spec.rollouts.from_another_model {
        check_texts(&stored, &actor.tokenizer)?;
        // What they know of a reference is of another one.
        let rollouts = stored.iter_mut().flat_map(|group| &mut group.rollouts);
        rollouts.for_each(|rollout| rollout.reference_logprobs.clear());
    }
    let judged = stored.iter_mut().filter(|group| group.rollouts.iter().all(|rollout| rollout.status.is_some()));
    job.replace_rewards(judged, BEFORE_ALL_ROUNDS);
    Ok(stored.into_iter().map(Arc::new).collect())
}

/// In the place of a round, of completions that were there before.
const BEFORE_ALL_ROUNDS: u64 = u64::MAX;

/// Stored completions whose tokens are read as text.
const READ_TEXTS: usize = 1000;

/// Refuses stored completions whose tokens are another text to the model's tokenizer than they were to the one that
/// sampled them.
fn check_texts(groups: &[RolloutGroup], tokenizer: &TextTokenizer) -> Result<(), EngineError> {
    for rollout in groups.iter().flat_map(|group| &group.rollouts).take(READ_TEXTS) {
        // Of several turns the first.
        let [tokens, end] = rollout
            .answers
            .first()
            .map_or([rollout.tokens.len(), rollout.text.len()], |answer| [answer.tokens[0], answer.text[0]]);
        let read = tokenizer.decode(&rollout.tokens[..tokens], true)?;
        // The text may have been cut at a stop text, or within a character.
        let text = rollout.text.get(..end).unwrap_or_default();
        if !read.starts_with(text.trim_end_matches(char::REPLACEMENT_CHARACTER)) {
            let detail = format!(
                "the rollout set is of a model with another tokenizer: a completion in it is `{}`, of which the tokens read \
                 `{}` here",
                shortened(&rollout.text),
                shortened(&read)
            );
            return Err(EngineError::InvalidData { code: "rollouts_from_another_model", detail });
        }
    }
    Ok(())
}

/// Refuses stored completions that the model has no tokens for.
fn check_tokens(groups: &[RolloutGroup], vocabulary: usize) -> Result<(), EngineError> {
    let known = |tokens: &[u32]| tokens.iter().all(|token| (*token as usize) < vocabulary);
    if groups.iter().all(|g| known(&g.prompt) && g.rollouts.iter().all(|r| known(&r.tokens))) {
        return Ok(());
    }
    Err(EngineError::InvalidData {
        code: "rollouts_from_another_model",
        detail: String::from("the rollout set holds tokens outside the model's vocabulary; it is another model's"),
    })
}

/// An optimizer that has taken no step; ranks that divide its state keep their parts of the weights alone as well.
fn optimizer<B: Backend>(job: &Job, actor: &Actor<B>) -> Result<Optimizer<B>, EngineError> {
    let (weights, ranks) = (&actor.weights, job.actor.collective.as_ref());
    let optimizer = Optimizer::new(&job.spec.optimizer, weights).among(weights, ranks);
    // What an adapter trains is little, and its lengths are measured after each step.
    if let (Some(shares), None) = (optimizer.shares(), &job.spec.adapter) {
        weights.divide(shares)?;
    }
    Ok(optimizer)
}

/// Loads the model to distil from, which must have the student's tokens, and the weights that it was submitted with. What
/// differs from a student with an adapter by its own adapter shares the weights with it.
fn load_teacher<B: Backend>(
    teacher: &ModelSource,
    sha256: Option<&str>,
    student: &Actor<'_, B>,
) -> Result<Decoder<B>, EngineError> {
    let (spec, backend) = (student.spec, student.decoder.backend());
    if matches!(spec.training, Trained::Adapter(_)) && teacher.shares_weights(&spec.model) {
        let weights = Arc::clone(student.decoder.weights());
        let adapter = teacher.adapter(&teacher.inspect()?, backend)?;
        return spec.decoder(weights, adapter);
    }
    let inspection = modelfile::inspect(&teacher.path)?;
    check_weights(&inspection, sha256)?;
    let tokenizer = crate::text::tokenizer::TextTokenizer::from_inspection(&inspection)?;
    let (own, other) = (student.weights.config().vocab_size, inspection.config.vocab_size);
    if own != other || !student.tokenizer.same_tokens(&tokenizer) {
        return Err(EngineError::InvalidData {
            code: "teacher_tokenizer_differs",
            detail: String::from(
                "the teacher has another tokenizer than the model, so that their probabilities cannot be compared; \
                 use a teacher of the same family",
            ),
        });
    }
    let weights = teacher.read(&inspection, spec.computing(), false, backend)?;
    let adapter = teacher.adapter(&inspection, backend)?;
    spec.decoder(Arc::new(weights), adapter)
}

fn check_weights(teacher: &Inspection, sha256: Option<&str>) -> Result<(), EngineError> {
    let Some(expected) = sha256 else { return Ok(()) };
    let found = teacher.weights_sha256()?;
    if found == expected {
        return Ok(());
    }
    let detail = format!(
        "the teacher's weights have the SHA-256 {found} and had {expected} when the job was submitted; submit \
         it again to learn from the new ones, or put the old ones back and submit it then"
    );
    Err(EngineError::InvalidData { code: "teacher_changed", detail })
}
