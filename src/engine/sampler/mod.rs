//! Batched generation with a key-value cache: many prompts, several completions each, one decode step for all of
//! them at a time. A finished completion's place is taken by the next request at once.

mod choice;

use std::collections::VecDeque;

use candle_core::Tensor;
use rayon::prelude::*;

pub use choice::{Choice, choose};

use super::error::EngineError;
use super::model::cache::KvCache;
use super::model::decoder::{Context, Decoder};
use super::random::Stream;
use crate::job::spec::SamplingSpec;
use crate::job::status::names;
use crate::text::tokenizer::{StreamDecoder, TextTokenizer};

/// Memory for keys and values of one sampling phase, in bytes; fewer completions run at once when it is short.
const CACHE_BYTES: usize = 2 << 30;
/// Prompt tokens computed in one forward pass.
const PREFILL_TOKENS: usize = 2048;

names!(
    /// Why a completion ended.
    FinishReason {
        /// The model ended it, or a stop text came up.
        Stop = "stop",
        /// It reached `max_new_tokens` or the context length.
        Length = "length",
    }
);

/// One completion to sample.
#[derive(Clone, Debug)]
pub struct Request {
    /// Names the prompt in the random stream; requests with equal `prompt` carry equal `tokens`.
    pub prompt: u64,
    /// Number of the completion among those of its prompt.
    pub sample: u32,
    /// The prompt.
    pub tokens: std::sync::Arc<[u32]>,
}

/// A sampled completion.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// Sampled tokens, with the end-of-sequence token where one was sampled.
    pub tokens: Vec<u32>,
    /// Log-probability of each token under the distribution it was drawn from.
    pub behavior_logprobs: Vec<f32>,
    /// Entropy of the model's distribution (temperature 1, whole vocabulary), in nats, summed over the tokens.
    pub entropy_sum: f64,
    pub finish: FinishReason,
    /// Text without special tokens, cut before a stop text.
    pub text: String,
}

/// What a sampling phase needs besides its requests.
pub struct Sampler<'a> {
    pub decoder: &'a Decoder,
    pub tokenizer: &'a TextTokenizer,
    pub spec: &'a SamplingSpec,
    pub stream: Stream,
}

/// A completion in the making.
struct Active {
    request: usize,
    slot: usize,
    length_limit: usize,
    done: Completion,
    decoder: StreamDecoder,
}

impl Sampler<'_> {
    /// Samples all requests and returns their completions in the same order. `observe` is called after every decode
    /// step with the number of finished completions and the tokens sampled so far; its error ends the phase.
    pub fn run(
        &self,
        requests: &[Request],
        mut observe: impl FnMut(usize, usize) -> Result<(), EngineError>,
    ) -> Result<Vec<Completion>, EngineError> {
        let limit = |request: &Request| {
            let context = self.decoder.config().max_position_embeddings;
            (self.spec.max_new_tokens as usize).min(context.saturating_sub(request.tokens.len()))
        };
        let capacity = requests.iter().map(|r| r.tokens.len() + limit(r)).max().unwrap_or(1);
        let (layers, heads) = (self.decoder.config().num_hidden_layers, self.decoder.heads());
        let affordable = CACHE_BYTES / (KvCache::bytes_per_token(layers, heads) * capacity).max(1);
        let slots = (self.spec.batch_size as usize).min(affordable).min(requests.len()).max(1);
        let mut cache = KvCache::new(layers, heads, slots, capacity);

        let mut finished: Vec<Option<Completion>> = vec![None; requests.len()];
        let mut waiting: VecDeque<usize> = (0..requests.len()).collect();
        let mut free: Vec<usize> = (0..slots).rev().collect();
        let mut active: Vec<Active> = Vec::new();
        let (mut done, mut tokens) = (0, 0);
        while !waiting.is_empty() || !active.is_empty() {
            let mut admitted = Vec::new();
            while let Some(slot) = if waiting.is_empty() { None } else { free.pop() } {
                let Some(request) = waiting.pop_front() else { break };
                let length_limit = limit(&requests[request]);
                admitted.push(Active { request, slot, length_limit, done: empty(), decoder: StreamDecoder::new(true) });
            }
            let mut logits = self.prefill(&mut cache, &admitted, requests)?;
            if !active.is_empty() {
                logits.extend(self.decode(&mut cache, &active, requests)?);
            }
            // Rows of `logits` are in this order: newly admitted, then those already under way.
            admitted.append(&mut active);
            active = admitted;
            tokens += active.len();
            self.extend(&mut active, &logits, requests)?;
            active.retain_mut(|a| {
                let over = a.done.finish == FinishReason::Stop || a.done.tokens.len() >= a.length_limit;
                if over {
                    free.push(a.slot);
                    done += 1;
                    finished[a.request] = Some(std::mem::replace(&mut a.done, empty()));
                }
                !over
            });
            observe(done, tokens)?;
        }
        Ok(finished.into_iter().flatten().collect())
    }

    /// Computes the prompts of new completions, each distinct prompt once, and returns the logits of their last rows.
    fn prefill(
        &self,
        cache: &mut KvCache,
        admitted: &[Active],
        requests: &[Request],
    ) -> Result<Vec<Vec<f32>>, EngineError> {
        let mut logits: Vec<Vec<f32>> = Vec::with_capacity(admitted.len());
        for (i, a) in admitted.iter().enumerate() {
            let prompt = &requests[a.request];
            if i > 0 && requests[admitted[i - 1].request].prompt == prompt.prompt {
                cache.copy_prefix(admitted[i - 1].slot, a.slot, prompt.tokens.len());
                logits.push(logits[i - 1].clone());
                continue;
            }
            let mut last = None;
            for start in (0..prompt.tokens.len()).step_by(PREFILL_TOKENS) {
                let chunk = &prompt.tokens[start..prompt.tokens.len().min(start + PREFILL_TOKENS)];
                let positions: Vec<u32> = (start as u32..).take(chunk.len()).collect();
                let slots = vec![a.slot; chunk.len()];
                let hidden = self.decoder.hidden(chunk, &positions, Context::Cached { cache, slots: &slots })?;
                last = Some((hidden, chunk.len() as u32 - 1));
            }
            let Some((hidden, row)) = last else {
                return Err(EngineError::Internal(String::from("a prompt has no tokens")));
            };
            logits.extend(rows(&self.decoder.logits(&hidden, &[row])?)?);
        }
        Ok(logits)
    }

    /// One decode step: the logits after each active completion's newest token.
    fn decode(
        &self,
        cache: &mut KvCache,
        active: &[Active],
        requests: &[Request],
    ) -> Result<Vec<Vec<f32>>, EngineError> {
        let newest: Vec<u32> = active.iter().filter_map(|a| a.done.tokens.last().copied()).collect();
        let positions: Vec<u32> =
            active.iter().map(|a| (requests[a.request].tokens.len() + a.done.tokens.len() - 1) as u32).collect();
        let slots: Vec<usize> = active.iter().map(|a| a.slot).collect();
        let hidden = self.decoder.hidden(&newest, &positions, Context::Cached { cache, slots: &slots })?;
        let all: Vec<u32> = (0..active.len() as u32).collect();
        rows(&self.decoder.logits(&hidden, &all)?)
    }

    /// Draws the next token of every active completion and notes whether that ends it.
    fn extend(&self, active: &mut [Active], logits: &[Vec<f32>], requests: &[Request]) -> Result<(), EngineError> {
        let ends = &self.decoder.config().eos_token_ids;
        active.par_iter_mut().zip(logits).try_for_each(|(a, logits)| {
            let request = &requests[a.request];
            let position = a.done.tokens.len() as u32;
            let chosen = choose(logits, self.spec, || self.stream.uniform(request.prompt, request.sample, position));
            a.done.tokens.push(chosen.token);
            a.done.behavior_logprobs.push(chosen.logprob);
            a.done.entropy_sum += f64::from(chosen.entropy);
            if ends.contains(&chosen.token) {
                a.done.finish = FinishReason::Stop;
                a.done.text.push_str(&std::mem::take(&mut a.decoder).finish(self.tokenizer)?);
            } else {
                a.done.text.push_str(&a.decoder.push(self.tokenizer, chosen.token)?);
            }
            if let Some(at) = self.spec.stop.iter().filter_map(|stop| a.done.text.find(stop.as_str())).min() {
                a.done.text.truncate(at);
                a.done.finish = FinishReason::Stop;
            } else if a.done.tokens.len() >= a.length_limit && a.done.finish == FinishReason::Length {
                a.done.text.push_str(&std::mem::take(&mut a.decoder).finish(self.tokenizer)?);
            }
            Ok(())
        })
    }
}

fn empty() -> Completion {
    Completion {
        tokens: Vec::new(),
        behavior_logprobs: Vec::new(),
        entropy_sum: 0.0,
        finish: FinishReason::Length,
        text: String::new(),
    }
}

fn rows(logits: &Tensor) -> Result<Vec<Vec<f32>>, EngineError> {
    Ok(logits.to_vec2::<f32>()?)
}
