//! A model that answers requests outside of jobs, through the same sampler as theirs.
//!
//! A completion is a function of model, prompt, parameters and seed: neither what else is asked nor how the answer
//! travels changes it. Its text leaves as it grows, but for what may still turn out to be a stop text.

use std::sync::Arc;

use super::backend::{Backend, Usage};
use super::cpu::Cpu;
use super::cuda::Cuda;
use super::device::Device;
use super::error::EngineError;
use super::loading::{Known, Loaded, ModelSource, load};
use super::model::decoder::Decoder;
use super::random::{Purpose, Stream};
use super::rows::Packed;
use super::sampler::{Request, Sampler, UnderWay};
use crate::dataset::Message;
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
}

/// What is gone on with.
struct Prompt {
    tokens: Arc<[u32]>,
    text: String,
}

/// Whether log-probabilities come with the end of a choice, as it takes a pass over all of it to know them.
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

/// Tokens of a prompt and its completion whose alternatives are told: they are read again in one pass, within which the
/// device does nothing else.
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
        let done = sampler.run(&requests, |pass| {
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
        match done {
            Ok(_) => Ok(()),
            Err(EngineError::InvalidData { code: "cache_too_small", .. }) => Err(refused(
                FaultCode::ContextLengthExceeded,
                "the prompt and `max_tokens` need more memory than the device sets aside; lower `max_tokens`",
            )),
            Err(error) => Err(error.into()),
        }
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
    /// is echoed: what one pass over all of it gives, as the sampler's logits are those of a pass over the whole.
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
        let positions: Vec<u32> = (0..read.len() as u32).collect();
        let packed = Packed { tokens: &read, positions: &positions, boundaries: &[0, read.len()] };
        let hidden = self.decoder.hidden(packed)?;
        tell(None)?;
        let ranked = |rows: &[u32], spec: &SamplingSpec| match order.top_logprobs {
            0 => Ok(vec![Vec::new(); rows.len()]),
            count => self.decoder.most_probable(&hidden, rows, spec, count as usize),
        };
        // Each row predicts the token behind it.
        let mut best = ranked(&positions[prompt - 1..read.len() - 1], spec)?;
        let mut known: Vec<Option<f32>> = logprobs.iter().copied().map(Some).collect();
        let mut told = drawn.to_vec();
        if order.echo {
            let rows = &positions[..prompt - 1];
            let own = self.decoder.logprobs(&hidden, rows, &read[1..prompt])?.logprobs;
            known = [None].into_iter().chain(own.into_iter().map(Some)).chain(known).collect();
            best = [Vec::new()].into_iter().chain(ranked(rows, &SamplingSpec::default())?).chain(best).collect();
            told = read;
        }
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

/// Bytes at the end of `text` with which a stop text may begin.
fn held_back(text: &str, stops: &[String]) -> usize {
    let begun = |stop: &String| {
        let mut lengths = (1..stop.len()).rev().filter(|length| stop.is_char_boundary(*length));
        lengths.find(|length| text.ends_with(&stop[..*length]))
    };
    stops.iter().filter_map(begun).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engine::error::Stop;

    fn responder() -> Model<Cpu> {
        let model = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/arith-tiny");
        let model = ModelSource { path: model, seed: None, adapter: None, name: String::from("built-in") };
        Model::load(&model, &PromptSpec::default(), &Arc::new(Cpu), None).unwrap()
    }

    fn order(prompts: &[&str]) -> Order {
        Order {
            model: String::from("builtin:arith-tiny"),
            input: CompletionInput::Texts(prompts.iter().map(|text| (*text).to_owned()).collect()),
            samples: 1,
            max_tokens: None,
            temperature: 1.0,
            top_p: 1.0,
            stop: Vec::new(),
            seed: 5,
            logprobs: false,
            top_logprobs: 0,
            echo: false,
        }
    }

    fn replies(responder: &Model<Cpu>, order: &Order) -> Vec<Reply> {
        let mut replies = Vec::new();
        let tell = |reply| {
            replies.extend(reply);
            Ok(())
        };
        responder.respond(order, tell).unwrap();
        replies
    }

    /// The text of each choice, put together from its pieces, and how it ended.
    fn answers(responder: &Model<Cpu>, order: &Order, choices: usize) -> Vec<(String, FinishReason, u64)> {
        let mut answers = vec![(String::new(), FinishReason::Length, 0); choices];
        for reply in replies(responder, order) {
            match reply {
                Reply::Piece(piece) => answers[piece.choice as usize].0.push_str(&piece.text),
                Reply::Ended { choice, finish, tokens } => {
                    let answer = &mut answers[choice as usize];
                    (answer.1, answer.2) = (finish, tokens);
                }
                other => assert!(matches!(other, Reply::Began { .. }), "{other:?}"),
            }
        }
        answers
    }

    #[test]
    fn greedy_answers_are_the_samplers_own_and_pieces_add_up() {
        let responder = responder();
        let prompts = ["12+7=", "47+36=", "90-13="];
        let wanted = Order { temperature: 0.0, samples: 2, ..order(&prompts) };
        let spec = SamplingSpec { temperature: 0.0, ..SamplingSpec::default() };
        let requests: Vec<Request> = prompts
            .iter()
            .zip(0..)
            .map(|(text, prompt)| {
                let tokens = responder.tokenizer.encode(text).unwrap().into();
                Request::new(prompt, 0, tokens)
            })
            .collect();
        let stream = Stream::new(0, Purpose::Rollout, 9);
        let sampler = Sampler { decoder: &responder.decoder, tokenizer: &responder.tokenizer, spec: &spec, stream };
        let own = sampler.run(&requests, |_| Ok(())).unwrap();
        let told = answers(&responder, &wanted, 6);
        for (choice, (text, finish, tokens)) in told.iter().enumerate() {
            let own = &own[choice / 2];
            assert_eq!((text, *finish, *tokens), (&own.text, own.finish, own.tokens.len() as u64), "{choice}");
        }
    }

    /// The tokens of the first choice, with their log-probabilities and the most probable ones.
    fn listed(responder: &Model<Cpu>, order: &Order) -> (String, Vec<DrawnToken>) {
        let (mut text, mut tokens) = (String::new(), Vec::new());
        for reply in replies(responder, order) {
            if let Reply::Piece(piece) = reply {
                text.push_str(&piece.text);
                tokens.extend(piece.tokens);
            }
        }
        (text, tokens)
    }

    #[test]
    fn an_echoed_prompt_has_the_models_own_log_probabilities_and_the_completion_those_it_was_drawn_with() {
        let responder = responder();
        let wanted = Order { echo: true, logprobs: true, top_logprobs: 2, max_tokens: Some(2), ..order(&["12+7="]) };
        let (text, tokens) = listed(&responder, &wanted);
        let drawn = listed(&responder, &Order { echo: false, ..wanted.clone() });
        assert_eq!(text, format!("12+7={}", drawn.0));
        assert_eq!((tokens[0].logprob, tokens[0].top.len()), (None, 0), "nothing predicts the first");
        assert_eq!(&tokens[5..5 + drawn.1.len()], &drawn.1[..]);
        // Each is what the token's own context gives it: the rest of the prompt changes nothing.
        for end in 2..=5 {
            let prompt = &"12+7="[..end];
            let (_, alone) = listed(
                &responder,
                &Order { max_tokens: Some(0), ..Order { input: order(&[prompt]).input, ..wanted.clone() } },
            );
            assert_eq!(alone, tokens[..end], "{prompt}");
            let ranked = &alone[end - 1].top;
            assert!(ranked.len() == 2 && ranked[0].1 >= ranked[1].1 && ranked[0].1 >= alone[end - 1].logprob.unwrap());
        }
        // Tokens are a prompt as well, and without log-probabilities there is the text alone.
        let ids = responder.tokenizer.encode("12+7=").unwrap();
        let input = CompletionInput::Tokens(vec![ids.clone()]);
        assert_eq!(listed(&responder, &Order { input: input.clone(), ..wanted.clone() }), (text, tokens));
        let plain = Order { input, echo: true, max_tokens: Some(0), ..order(&[]) };
        assert_eq!(listed(&responder, &plain), (String::from("12+7="), Vec::new()));
        let unknown = Order { input: CompletionInput::Tokens(vec![vec![ids[0], 32]]), ..plain };
        match responder.respond(&unknown, |_| Ok(())) {
            Err(RespondError::Refused(fault)) => assert_eq!(fault.code, FaultCode::TokenUnknown),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn models_that_differ_by_adapters_share_their_weights() {
        let first = responder();
        let again = Model::load(&first.source, &PromptSpec::default(), &Arc::new(Cpu), Some(&first)).unwrap();
        assert!(Arc::ptr_eq(first.decoder.weights(), again.decoder.weights()));
        let drawn = ModelSource { seed: Some(1), ..first.source.clone() };
        let other = Model::load(&drawn, &PromptSpec::default(), &Arc::new(Cpu), Some(&first)).unwrap();
        assert!(!Arc::ptr_eq(first.decoder.weights(), other.decoder.weights()));
    }

    #[test]
    fn equal_seeds_give_equal_answers_and_other_seeds_others() {
        let responder = responder();
        let wanted = Order { samples: 8, temperature: 3.0, max_tokens: Some(12), ..order(&["12+7="]) };
        let first = replies(&responder, &wanted);
        assert_eq!(first, replies(&responder, &wanted));
        assert_ne!(first, replies(&responder, &Order { seed: 6, ..wanted }));
    }

    #[test]
    fn what_a_client_cannot_have_is_refused_and_a_stop_ends_the_answer() {
        let responder = responder();
        let code = |order: &Order| match responder.respond(order, |_| Ok(())) {
            Err(RespondError::Refused(fault)) => fault.code,
            other => panic!("{other:?}"),
        };
        assert_eq!(code(&order(&["1+1=", ""])), FaultCode::PromptEmpty);
        assert_eq!(code(&order(&[&"1+".repeat(200)])), FaultCode::ContextLengthExceeded);
        let turn = |role: &str| Turn { role: role.to_owned(), content: String::from("1+1=") };
        let chat = |turns| Order { input: CompletionInput::Chat(turns), ..order(&[]) };
        assert_eq!(code(&chat(vec![turn("system"), turn("user")])), FaultCode::ChatTemplateMissing);
        assert!(responder.respond(&chat(vec![turn("user")]), |_| Ok(())).is_ok());
        let stopped = responder.respond(&order(&["1+1="]), |_| Err(EngineError::Stopped(Stop::Cancel)));
        assert!(matches!(stopped, Err(RespondError::Engine(EngineError::Stopped(Stop::Cancel)))));
    }

    proptest! {
        /// Whatever the model writes, no byte of a stop text leaves, and nothing else is lost.
        #[test]
        fn no_part_of_a_stop_text_leaves(
            pieces in prop::collection::vec("[abé]{1,3}", 1..20),
            stops in prop::collection::vec("[abé]{1,5}", 1..4),
        ) {
            let (mut text, mut told) = (String::new(), String::new());
            for piece in &pieces {
                text.push_str(piece);
                if let Some(at) = stops.iter().filter_map(|stop| text.find(stop.as_str())).min() {
                    text.truncate(at);
                    break;
                }
                let until = text.len() - held_back(&text, &stops);
                prop_assert!(until >= told.len());
                told = text[..until].to_owned();
            }
            prop_assert!(text.starts_with(&told), "{told:?} left, and {text:?} is the answer");
        }
    }
}
