//! Batched generation: many prompts, several completions each, in as few passes of the decoder as there is room for.
//!
//! A pass holds the newest token of every completion under way and, beside them, some rows of prompts that are not
//! computed yet, so that a long prompt does not keep the others waiting. The place of a finished completion is taken
//! by the next request at once. `schedule` says who runs and where in the cache; here the decoder is called, and
//! [`super::choice`] draws.
//!
//! A completion is the same whatever runs beside it: a row of a pass depends on its own sequence only, and a draw on
//! the request's numbers only. So it is the same, too, where a pass that has room for it takes guesses at what comes next
//! along (`guesses.rs`), and where the keys and values of an earlier run are there still ([`Session`]).

mod beginnings;
mod blocks;
mod guesses;
mod phase;
mod schedule;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;

pub use crate::job::inference::FinishReason;
use phase::{Active, Leaves, Phase};
pub use phase::{Kept, Sampled};
pub use text::held_back;

use super::backend::Backend;
use super::cpu::Cpu;
use super::error::EngineError;
use super::limits::Limits;
use super::model::decoder::Decoder;
use super::random::Stream;
use crate::job::spec::SamplingSpec;
use crate::text::tokenizer::TextTokenizer;

/// What a sampling phase has computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Prompt tokens run through the decoder.
    pub prompt_tokens: u64,
    /// Passes that continued completions.
    pub decode_steps: u64,
    /// Tokens of completions run through the decoder, guesses among them.
    pub decode_rows: u64,
    /// Guesses among these, and how many of them were right.
    pub guessed: u64,
    pub right: u64,
}

/// One completion to sample.
#[derive(Clone, Debug)]
pub struct Request {
    /// Names the prompt in the random stream; those of a prompt that begin there carry equal `tokens`.
    pub prompt: u64,
    /// Number of the completion among those of its prompt.
    pub sample: u32,
    /// The prompt, and behind it what the completion has already.
    pub tokens: Arc<[u32]>,
    /// How many of these tokens are of the completion. Draws and limits count from its beginning.
    pub begun: usize,
}

impl Request {
    /// A completion that begins.
    pub fn new(prompt: u64, sample: u32, tokens: Arc<[u32]>) -> Self {
        Self { prompt, sample, tokens, begun: 0 }
    }
}

/// A sampled completion.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// Sampled tokens, with the end-of-sequence token where one was sampled.
    pub tokens: Vec<u32>,
    /// Log-probability of each token under the distribution it was drawn from.
    pub behavior_logprobs: Vec<f32>,
    /// Entropy of the model's distribution (temperature 1, whole vocabulary) at each token, in nats.
    pub entropies: Vec<f32>,
    /// Their sum.
    pub entropy_sum: f64,
    pub finish: FinishReason,
    /// Text without special tokens, cut before a stop text.
    pub text: String,
}

impl Completion {
    /// One that has no token yet.
    pub fn begun() -> Self {
        Self {
            tokens: Vec::new(),
            behavior_logprobs: Vec::new(),
            entropies: Vec::new(),
            entropy_sum: 0.0,
            finish: FinishReason::Length,
            text: String::new(),
        }
    }
}

/// A phase after one of its passes.
#[derive(Clone, Copy)]
pub struct Observed<'a> {
    /// The completions that the pass has finished, with their places among the requests.
    pub ended: &'a [(usize, &'a Completion)],
    /// Completions that are finished.
    pub done: usize,
    /// Tokens sampled so far.
    pub tokens: usize,
    active: &'a [Active],
}

impl<'a> Observed<'a> {
    /// The completions that have begun and not ended.
    pub fn under_way(&self) -> impl Iterator<Item = UnderWay<'a>> + use<'a> {
        self.active.iter().filter_map(Active::under_way)
    }
}

/// A completion in the making.
#[derive(Clone, Copy, Debug)]
pub struct UnderWay<'a> {
    /// Its place among the requests.
    pub place: usize,
    pub tokens: &'a [u32],
    pub behavior_logprobs: &'a [f32],
    /// What is known of its text, which may lack that of the newest token. It only grows, until a stop text cuts it.
    pub text: &'a str,
}

/// What a sampling phase needs besides its requests.
pub struct Sampler<'a, B: Backend = Cpu> {
    pub decoder: &'a Decoder<B>,
    pub tokenizer: &'a TextTokenizer,
    pub spec: &'a SamplingSpec,
    pub stream: Stream,
}

impl<'a, B: Backend> Sampler<'a, B> {
    /// Samples all requests and returns their completions in the same order. Requests with equal `prompt` stand next
    /// to each other. `observe` is called after every pass; its error ends the phase.
    pub fn run(
        &self,
        requests: &[Request],
        observe: impl FnMut(Observed<'_>) -> Result<(), EngineError>,
    ) -> Result<Vec<Completion>, EngineError> {
        Ok(self.run_within(&self.decoder.backend().limits()?, requests, observe)?.0)
    }

    /// The same within other limits, with what was computed.
    pub fn run_within(
        &self,
        limits: &Limits,
        requests: &[Request],
        observe: impl FnMut(Observed<'_>) -> Result<(), EngineError>,
    ) -> Sampled {
        let phase = Phase::new(self, limits, requests, Kept::default(), Leaves::Nothing)?;
        phase.run(observe).0
    }

    /// Runs of which later ones go on where earlier ones ended.
    pub fn session(&self) -> Session<'_, 'a, B> {
        Session { sampler: self, kept: Kept::default(), leaves: Leaves::All }
    }

    /// The same that goes on from what an earlier one with the same weights has left, with room for so many tokens at least, as far
    /// as the limits allow.
    pub fn session_from(&self, kept: Kept<B>, tokens: usize) -> Session<'_, 'a, B> {
        Session { sampler: self, kept, leaves: Leaves::AllOf(tokens) }
    }
}

/// Runs of a sampler that keep the keys and values of their sequences, as far as there is room: a request that begins as one
/// before, with what that was answered, computes what is new. It changes how long sampling takes and nothing else.
pub struct Session<'s, 'a, B: Backend = Cpu> {
    sampler: &'s Sampler<'a, B>,
    kept: Kept<B>,
    leaves: Leaves,
}

impl<B: Backend> Session<'_, '_, B> {
    /// As [`Sampler::run`].
    pub fn run(
        &mut self,
        requests: &[Request],
        observe: impl FnMut(Observed<'_>) -> Result<(), EngineError>,
    ) -> Result<Vec<Completion>, EngineError> {
        Ok(self.run_within(&self.sampler.decoder.backend().limits()?, requests, observe)?.0)
    }

    /// As [`Sampler::run_within`].
    pub fn run_within(
        &mut self,
        limits: &Limits,
        requests: &[Request],
        observe: impl FnMut(Observed<'_>) -> Result<(), EngineError>,
    ) -> Sampled {
        let phase = Phase::new(self.sampler, limits, requests, std::mem::take(&mut self.kept), self.leaves)?;
        let (done, kept) = phase.run(observe);
        self.kept = kept;
        done
    }

    /// What it leaves; nothing after an error, but for one by which `observe` has stopped it.
    pub fn leave(self) -> Kept<B> {
        self.kept
    }
}
