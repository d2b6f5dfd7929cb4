//! A model that answers requests outside of jobs, through the same sampler as theirs.
//!
//! A completion is a function of model, prompt, parameters and seed: neither what else is asked nor how the answer travels
//! changes it. Its text leaves as it grows, but for what may still turn out to be a stop text. On the CPU keys and values
//! stay until there is no room for them, so that of a conversation what is new is computed.

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::dataset::Message;
use crate::engine::backend::{Backend, Usage};
use crate::engine::cpu::Cpu;
use crate::engine::cuda::Cuda;
use crate::engine::device::Device;
use crate::engine::error::EngineError;
use crate::engine::kernels::attention::BLOCK;
use crate::engine::loading::{Known, Loaded, ModelSource, load};
use crate::engine::model::decoder::Decoder;
use crate::engine::random::{Purpose, Stream};
use crate::engine::rows::CachedRow;
use crate::engine::sampler::{Kept, Observed, Request, Sampler, UnderWay, held_back};
use crate::job::digest::sha256_hex;
use crate::job::inference::{
    CompletionInput, DEFAULT_MAX_TOKENS, DrawnToken, Fault, FaultCode, FinishReason, Order, Piece, Reply, Turn,
};
use crate::job::spec::{Precision, PromptSpec, SamplingSpec};
use crate::modelfile::builtin::BUILTINS;
use crate::text::chat::{Chat, ChatTemplate};
use crate::text::tokenizer::TextTokenizer;

/// What completions are computed in.
const PRECISION: Precision = Precision::F32;
/// Tokens that are read again in one pass, after which it is asked whether to go on.
const READ_AT_ONCE: usize = 128;
/// Tokens with their alternatives in one message.
const LISTED_AT_ONCE: usize = 256;

/// Why an order has no answer.
#[derive(Debug, thiserror::Error)]
pub enum RespondError {
    /// The client's mistake.
    #[error("{}", .0.message)]
    Refused(Fault),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// A loaded model, on whatever it computes.
pub enum Responder {
    Cpu(Model<Cpu>),
    Gpu(Model<Cuda>),
}

impl Responder {
    /// Loads a model whose prompts are made as `prompt` says; what it has in common with the one that is loaded already, it
    /// shares with it.
    pub fn load(
        model: &ModelSource,
        prompt: &PromptSpec,
        device: &Device,
        loaded: Option<&Self>,
    ) -> Result<Self, EngineError> {
        Ok(match (device, loaded) {
            (Device::Cpu, Some(Self::Cpu(loaded))) => {
                Self::Cpu(Model::load(model, prompt, loaded.decoder.backend(), Some(loaded))?)
            }
            (Device::Gpu(_), Some(Self::Gpu(loaded))) => {
                Self::Gpu(Model::load(model, prompt, loaded.decoder.backend(), Some(loaded))?)
            }
            (Device::Cpu, _) => Self::Cpu(Model::load(model, prompt, &Arc::new(Cpu), None)?),
            (Device::Gpu(driver), _) => {
                Self::Gpu(Model::load(model, prompt, &Cuda::new(Arc::clone(driver), PRECISION), None)?)
            }
        })
    }

    /// Whether a model differs from it by adapters at most.
    pub fn shares_weights(&self, model: &ModelSource) -> bool {
        match self {
            Self::Cpu(own) => own.source.shares_weights(model),
            Self::Gpu(own) => own.source.shares_weights(model),
        }
    }

    /// Answers an order: says that it began, then pieces and ends of the choices as they come. `tell` is also asked
    /// after every pass whether to go on, with nothing to tell; its error ends the answer.
    pub fn respond(
        &self,
        order: &Order,
        tell: impl FnMut(Option<Reply>) -> Result<(), EngineError>,
    ) -> Result<(), RespondError> {
        match self {
            Self::Cpu(model) => model.respond(order, tell),
            Self::Gpu(model) => model.respond(order, tell),
        }
    }
}

/// A model on one backend.
pub struct Model<B: Backend> {
    source: ModelSource,
    tokenizer: TextTokenizer,
    chat: Option<ChatTemplate>,
    decoder: Decoder<B>,
    /// A conversation of one message is the prompt itself, as it is in training: the model is a built-in, or was
    /// trained from one.
    takes_one_message: bool,
    /// What the orders before have left, with their project: how soon an answer begins is not to tell of the prompts of others.
    kept: Mutex<(String, Kept<B>)>,
}

/// What is gone on with.
struct Prompt {
    tokens: Arc<[u32]>,
    text: String,
}

/// Whether log-probabilities come with the end of a choice, as all of it is read again to know them.
fn reads_again(order: &Order) -> bool {
    order.top_logprobs > 0 || (order.logprobs && order.echo)
}

/// How much of a choice has left.
#[derive(Clone, Copy, Default)]
struct Told {
    bytes: usize,
    tokens: usize,
}

/// What there is of a choice.
struct Seen<'a> {
    place: usize,
    text: &'a str,
    /// Bytes at the end of the text that wait.
    held: usize,
    tokens: &'a [u32],
    logprobs: &'a [f32],
}

/// Tokens of a prompt and its completion whose alternatives are told, for which they are read again.
const MOST_RANKED: usize = 8192;
/// The same of all choices of an order together, whose answer is put together in memory.
const MOST_RANKED_TOGETHER: usize = 1 << 16;

impl<B: Backend> Model<B> {
    fn load(
        model: &ModelSource,
        prompt: &PromptSpec,
        backend: &Arc<B>,
        loaded: Option<&Self>,
    ) -> Result<Self, EngineError> {
        let usage = Usage::Computing(PRECISION.into());
        let known = loaded.filter(|loaded| loaded.source.shares_weights(model));
        // Its memory is to be this one's.
        if let Some(known) = known {
            *known.kept.lock().unwrap_or_else(PoisonError::into_inner) = Default::default();
        }
        let known = known.map_or(Known::Nowhere, |loaded| Known::Here(loaded.decoder.weights()));
        let Loaded { inspection, text, weights, adapter, .. } = load(model, prompt, usage, backend, known)?;
        let longest = weights.config().max_position_embeddings;
        let tokenizer = sha256_hex(&inspection.tokenizer_bytes);
        Ok(Self {
            source: model.clone(),
            takes_one_message: BUILTINS.iter().any(|builtin| builtin.tokenizer_sha256() == tokenizer),
            tokenizer: text.tokenizer,
            chat: text.chat,
            decoder: Decoder::for_sequences(weights, adapter, PRECISION.into(), longest)?,
            kept: Mutex::default(),
        })
    }

    fn respond(
        &self,
        order: &Order,
        mut tell: impl FnMut(Option<Reply>) -> Result<(), EngineError>,
    ) -> Result<(), RespondError> {
        let prompts = self.prompts(order)?;
        tell(Some(Reply::Began { prompt_tokens: prompts.iter().map(|prompt| prompt.tokens.len() as u64).sum() }))?;
        let spec = SamplingSpec {
            temperature: order.temperature,
            top_p: order.top_p,
            max_new_tokens: order.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
            stop: order.stop.clone(),
            ..SamplingSpec::default()
        };
        let each = prompts.iter().zip(0..);
        let requests: Vec<Request> = each
            .flat_map(|(prompt, number)| {
                let tokens = &prompt.tokens;
                (0..order.samples).map(move |sample| Request::new(number, sample, Arc::clone(tokens)))
            })
            .collect();
        if order.echo {
            for (choice, request) in (0..).zip(&requests) {
                let text = prompts[request.prompt as usize].text.clone();
                tell(Some(Reply::Piece(Piece { choice, text, tokens: Vec::new() })))?;
            }
        }
        if order.max_tokens == Some(0) {
            return Ok(self.tell_prompts(order, &spec, &requests, &mut tell)?);
        }
        let stream = Stream::new(order.seed, Purpose::Inference, 0);
        let sampler = Sampler { decoder: &self.decoder, tokenizer: &self.tokenizer, spec: &spec, stream };
        let mut told = vec![Told::default(); requests.len()];
        let answered = self.sample(order, &sampler, &requests, |pass| {
            tell(None)?;
            for UnderWay { place, text, tokens, behavior_logprobs: logprobs } in pass.under_way() {
                let held = held_back(text, &order.stop);
                let seen = Seen { place, text, held, tokens, logprobs };
                self.advance(order, seen, &mut told[place], &mut tell)?;
            }
            for (place, completion) in pass.ended {
                let (tokens, logprobs) = (&completion.tokens[..], &completion.behavior_logprobs[..]);
                let seen = Seen { place: *place, text: &completion.text, held: 0, tokens, logprobs };
                self.advance(order, seen, &mut told[*place], &mut tell)?;
                if reads_again(order) {
                    let drawn = (&completion.tokens[..], &completion.behavior_logprobs[..]);
                    self.tell_alternatives(order, &spec, (*place, &requests[*place]), drawn, &mut tell)?;
                }
                let tokens = tokens.len() as u64;
                tell(Some(Reply::Ended { choice: *place as u32, finish: completion.finish, tokens }))?;
            }
            Ok(())
        });
        match answered {
            Ok(()) => Ok(()),
            Err(EngineError::InvalidData { code: "cache_too_small", .. }) => Err(refused(
                FaultCode::ContextLengthExceeded,
                "the prompt and `max_tokens` need more memory than the device sets aside; lower `max_tokens`",
            )),
            Err(error) => Err(error.into()),
        }
    }

    /// Samples the choices of an order, from what the orders before have left.
    fn sample(
        &self,
        order: &Order,
        sampler: &Sampler<'_, B>,
        requests: &[Request],
        observe: impl FnMut(Observed<'_>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        // Where the bits of a row depend on what is computed with it, no answer is to depend on others.
        if !B::SAMPLES_EXACTLY {
            return sampler.run(requests, observe).map(drop);
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (project, before) = std::mem::take(&mut *kept);
        let before = if project == order.project { before } else { Kept::default() };
        let mut session = sampler.session_from(before, self.decoder.config().max_position_embeddings);
        let done = session.run(requests, observe);
        *kept = (order.project.clone(), session.leave());
        done.map(drop)
    }

    /// Tells what is new of a choice.
    fn advance(
        &self,
        order: &Order,
        seen: Seen<'_>,
        told: &mut Told,
        tell: &mut impl FnMut(Option<Reply>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let until = seen.text.len() - seen.held;
        let text = seen.text.get(told.bytes..until).unwrap_or_default();
        let mut tokens = Vec::new();
        if order.logprobs && !reads_again(order) {
            let ends = &self.decoder.config().eos_token_ids;
            let drawn = seen.tokens.iter().zip(seen.logprobs).skip(told.tokens);
            for (token, logprob) in drawn.filter(|(token, _)| !ends.contains(token)) {
                tokens.push(DrawnToken { text: self.text(*token)?, logprob: Some(*logprob), top: Vec::new() });
            }
        }
        *told = Told { bytes: told.bytes.max(until), tokens: seen.tokens.len() };
        if text.is_empty() && tokens.is_empty() {
            return Ok(());
        }
        tell(Some(Reply::Piece(Piece { choice: seen.place as u32, text: text.to_owned(), tokens })))
    }

    /// Tells the prompts and that nothing follows them.
    fn tell_prompts(
        &self,
        order: &Order,
        spec: &SamplingSpec,
        requests: &[Request],
        tell: &mut impl FnMut(Option<Reply>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        for (place, request) in requests.iter().enumerate() {
            if reads_again(order) {
                self.tell_alternatives(order, spec, (place, request), (&[], &[]), tell)?;
            }
            tell(Some(Reply::Ended { choice: place as u32, finish: FinishReason::Length, tokens: 0 }))?;
        }
        Ok(())
    }

    /// Tells the tokens of a choice that has ended, each with the most probable ones in its place, and those of its prompt if it
    /// is echoed: what reading all of it again gives, as the sampler's logits are those of a pass over the whole.
    fn tell_alternatives(
        &self,
        order: &Order,
        spec: &SamplingSpec,
        (place, request): (usize, &Request),
        (drawn, logprobs): (&[u32], &[f32]),
        tell: &mut impl FnMut(Option<Reply>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let prompt = request.tokens.len();
        let read: Vec<u32> = request.tokens.iter().chain(drawn).copied().collect();
        let mut known: Vec<Option<f32>> = if order.echo { vec![None] } else { Vec::new() };
        let mut best = vec![Vec::new(); known.len()];
        let mut cache = self.decoder.cache(spec.cache, read.len().div_ceil(BLOCK))?;
        let blocks: Vec<u32> = (0..cache.blocks() as u32).collect();
        // Each row predicts the token behind it, so that none is needed of the last.
        for begin in (0..read.len() - 1).step_by(READ_AT_ONCE) {
            let end = (begin + READ_AT_ONCE).min(read.len() - 1);
            let row = |at: usize| CachedRow { token: read[at], position: at as u32, blocks: &blocks };
            let hidden = self.decoder.extend(&mut cache, &(begin..end).map(row).collect::<Vec<_>>())?;
            tell(None)?;
            let mut rank = |rows: Range<usize>, spec: &SamplingSpec| {
                let rows: Vec<u32> = rows.map(|at| (at - begin) as u32).collect();
                best.extend(match order.top_logprobs {
                    0 => vec![Vec::new(); rows.len()],
                    count => self.decoder.most_probable(&hidden, &rows, spec, count as usize)?,
                });
                Ok::<_, EngineError>(rows)
            };
            let of_prompt = end.min(prompt - 1).max(begin);
            if order.echo && begin < of_prompt {
                let rows = rank(begin..of_prompt, &SamplingSpec::default())?;
                let own = self.decoder.logprobs(&hidden, &rows, &read[begin + 1..=of_prompt])?.logprobs;
                known.extend(own.into_iter().map(Some));
            }
            rank(of_prompt..end, spec)?;
        }
        known.extend(logprobs.iter().copied().map(Some));
        let told = if order.echo { read } else { drawn.to_vec() };
        let ends = &self.decoder.config().eos_token_ids;
        let each = told.iter().zip(known).zip(best).filter(|((token, _), _)| order.echo || !ends.contains(token));
        let listed = each.map(|((token, logprob), best)| {
            let top = best.into_iter().map(|(token, logprob)| Ok((self.text(token)?, logprob)));
            Ok(DrawnToken { text: self.text(*token)?, logprob, top: top.collect::<Result<_, EngineError>>()? })
        });
        let listed: Vec<DrawnToken> = listed.collect::<Result<_, EngineError>>()?;
        for tokens in listed.chunks(LISTED_AT_ONCE) {
            let piece = Piece { choice: place as u32, text: String::new(), tokens: tokens.to_vec() };
            tell(Some(Reply::Piece(piece)))?;
        }
        Ok(())
    }

    fn text(&self, token: u32) -> Result<String, EngineError> {
        Ok(self.tokenizer.decode(&[token], false)?)
    }

    /// The order's prompts.
    fn prompts(&self, order: &Order) -> Result<Vec<Prompt>, RespondError> {
        let of_text = |text: String| -> Result<Prompt, RespondError> {
            let tokens = self.tokenizer.encode(&text).map_err(EngineError::from)?;
            Ok(Prompt { tokens: tokens.into(), text })
        };
        let prompts = match &order.input {
            CompletionInput::Texts(texts) => texts.iter().cloned().map(of_text).collect::<Result<Vec<_>, _>>()?,
            CompletionInput::Tokens(all) => {
                all.iter().map(|tokens| self.of_tokens(tokens)).collect::<Result<_, _>>()?
            }
            CompletionInput::Chat(turns) => vec![of_text(self.conversation(turns)?)?],
        };
        let mut together = 0;
        for prompt in &prompts {
            together += self.check_length(order, prompt.tokens.len())? * order.samples as usize;
        }
        if reads_again(order) && together > MOST_RANKED_TOGETHER {
            let message = format!(
                "with the most probable tokens, or those of echoed prompts, all choices together have at most {MOST_RANKED_TOGETHER} \
                 tokens, and these {together}; ask for fewer prompts, `n` or `max_tokens`"
            );
            return Err(refused(FaultCode::ContextLengthExceeded, message));
        }
        Ok(prompts)
    }

    fn of_tokens(&self, tokens: &[u32]) -> Result<Prompt, RespondError> {
        let vocabulary = self.decoder.config().vocab_size;
        if let Some(token) = tokens.iter().find(|token| **token as usize >= vocabulary) {
            let message = format!("the prompt has the token {token}; the model's tokens are those below {vocabulary}");
            return Err(refused(FaultCode::TokenUnknown, message));
        }
        let text = self.tokenizer.decode(tokens, false).map_err(EngineError::from)?;
        Ok(Prompt { tokens: tokens.into(), text })
    }

    /// Tokens of a prompt with its longest completion; refused where that does not fit.
    fn check_length(&self, order: &Order, count: usize) -> Result<usize, RespondError> {
        let context = self.decoder.config().max_position_embeddings;
        if count == 0 {
            return Err(refused(FaultCode::PromptEmpty, "the prompt has no tokens; send some text"));
        }
        let most = order.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS) as usize;
        if count >= context + usize::from(most == 0) {
            let message = format!(
                "the prompt has {count} tokens and leaves no room for a completion in the model's context of \
                 {context} tokens; shorten it"
            );
            return Err(refused(FaultCode::ContextLengthExceeded, message));
        }
        let length = count.saturating_add(most).min(context);
        if reads_again(order) && length > MOST_RANKED {
            let message = format!(
                "the most probable tokens, and those of an echoed prompt, are there for prompts and completions of at most \
                 {MOST_RANKED} tokens together, and this prompt has {count} of up to {length}; ask for fewer `max_tokens`, or leave \
                 them out"
            );
            return Err(refused(FaultCode::ContextLengthExceeded, message));
        }
        Ok(length)
    }

    /// A conversation as the model was trained to read it.
    fn conversation(&self, turns: &[Turn]) -> Result<String, RespondError> {
        if let Some(chat) = &self.chat {
            let messages: Vec<Message> =
                turns.iter().map(|turn| Message::new(turn.role.as_str(), turn.content.as_str())).collect();
            return chat.render(&Chat { messages: &messages, asks: true, ..Chat::default() }).map_err(|error| {
                let message = format!("the model's chat template does not take these messages: {error}");
                refused(FaultCode::ChatTemplateFailed, message)
            });
        }
        match turns {
            [turn] if self.takes_one_message && turn.role == "user" => Ok(turn.content.clone()),
            _ if self.takes_one_message => Err(refused(
                FaultCode::ChatTemplateMissing,
                "the model has no chat template and takes a single user message, such as `12+7=`",
            )),
            _ => Err(refused(
                FaultCode::ChatTemplateMissing,
                "the model has no chat template; send the prompt as it stands to /v1/completions",
            )),
        }
    }
}

fn refused(code: FaultCode, message: impl Into<String>) -> RespondError {
    RespondError::Refused(Fault::new(code, message))
}
