//! `POST /v1/completions`

use std::collections::BTreeMap;

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::parameters::{Neutral, Parameters, StreamOptions, Texts, is_empty, read};
use super::stream::{self, Chunks};
use super::{Usage, Whole, collect, finish, model, refused};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::JsonBody;
use crate::clock;
use crate::job::FieldError;
use crate::job::inference::{CompletionInput, DrawnToken, FinishReason, Piece};

/// Prompts in one request.
const MOST_PROMPTS: usize = 16;

/// Parameters of the OpenAI API that are taken only when they ask for nothing.
const NEUTRAL: &[Neutral] = &[
    Neutral { name: "best_of", asks_nothing: |value| *value == 1, detail: "is not supported; use `n`" },
    Neutral { name: "suffix", asks_nothing: is_empty, detail: "is not supported; leave it out" },
];

/// Prompts to go on with.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CompletionRequest {
    /// A model (`mdl_...`, `builtin:arith-tiny`) or a finished checkpoint (`ckpt_...`, or `ft:JOB` by its job).
    #[schema(example = "builtin:arith-tiny")]
    model: String,
    /// A text or a list of the model's tokens, or up to 16 of either.
    prompt: Prompts,
    /// The longest completion in tokens; without it what fits into the context, up to 256. 0 only with `echo`.
    #[schema(minimum = 0, maximum = 131_072)]
    max_tokens: Option<u32>,
    /// 0 is greedy; 1, the default, samples the model's own distribution.
    #[schema(minimum = 0.0, maximum = 2.0)]
    temperature: Option<f64>,
    /// Keep the smallest set of tokens with at least this much probability; 1, the default, keeps all.
    #[schema(minimum = 0.0, maximum = 1.0)]
    top_p: Option<f64>,
    /// Completions to make of each prompt.
    #[schema(minimum = 1, maximum = 8)]
    n: Option<u32>,
    /// Up to 4 texts that end a completion and are left out of it.
    stop: Option<Texts>,
    /// Equal requests with equal seeds have equal answers.
    seed: Option<i64>,
    /// Give the log-probability of every token, under the distribution it was drawn from (at temperature 0 under the
    /// model's own), and those of so many of the most probable tokens in its place. In a stream these come with the end of
    /// their choice, and the prompt and `max_tokens` are 8192 tokens together at most.
    #[schema(minimum = 0, maximum = 20)]
    logprobs: Option<u32>,
    /// Begin each choice with its prompt. With `logprobs` its tokens have theirs too, under the model's own distribution (null for the first,
    /// which nothing predicts), and the token that ends the choice is there.
    echo: Option<bool>,
    /// Answer with server-sent events.
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    /// Taken and not used.
    user: Option<String>,
    /// Taken and not used: up to 16 pairs.
    metadata: Option<BTreeMap<String, String>>,
}

/// One prompt, or several.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "must be a text, a list of texts, a list of tokens or a list of such lists")]
enum Prompts {
    Texts(Texts),
    Tokens(Vec<i64>),
    ManyTokens(Vec<Vec<i64>>),
}

/// Completions of prompts; with `stream` a part of them.
#[derive(Debug, Serialize, ToSchema)]
pub struct Completion {
    /// The same in all chunks of a stream.
    #[schema(example = "cmpl-0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    id: String,
    /// Always `text_completion`.
    object: &'static str,
    /// Unix seconds.
    created: i64,
    /// As the request names it.
    model: String,
    /// Changes when the weights do.
    system_fingerprint: String,
    choices: Vec<CompletionChoice>,
    /// In a stream only with `stream_options.include_usage`, and null but in the last chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Usage>)]
    usage: Option<Option<Usage>>,
}

/// One completion, or in a stream what is added to it.
#[derive(Debug, Serialize, ToSchema)]
struct CompletionChoice {
    /// The prompt's place times `n`, plus the completion's place among those of its prompt.
    index: u32,
    text: String,
    logprobs: Option<CompletionLogprobs>,
    /// `stop` or `length`; null before the end.
    finish_reason: Option<&'static str>,
}

/// Log-probabilities of a completion's tokens.
#[derive(Debug, Default, Serialize, ToSchema)]
struct CompletionLogprobs {
    tokens: Vec<String>,
    /// Null for the first token of an echoed prompt.
    token_logprobs: Vec<Option<f32>>,
    /// In each place the most probable tokens with their log-probabilities, null in that of a prompt's first; null as a whole where none
    /// were asked for.
    #[schema(value_type = Option<Vec<Option<Object>>>)]
    top_logprobs: Option<Vec<Option<BTreeMap<String, f32>>>>,
    /// Where each token begins, in characters of the tokens before.
    text_offset: Vec<usize>,
}

impl CompletionLogprobs {
    /// The lists for tokens that follow `offset` characters.
    fn of(tokens: Vec<DrawnToken>, offset: &mut usize) -> Self {
        let mut lists = Self::default();
        let has_top = tokens.iter().any(|token| !token.top.is_empty());
        for token in tokens {
            lists.text_offset.push(*offset);
            *offset += token.text.chars().count();
            lists.tokens.push(token.text);
            lists.token_logprobs.push(token.logprob);
            if has_top {
                // Parts of characters look alike; the most probable one counts.
                let top = Some(token.top.into_iter().rev().collect()).filter(|top: &BTreeMap<_, _>| !top.is_empty());
                lists.top_logprobs.get_or_insert_default().push(top);
            }
        }
        lists
    }
}

/// Go on with a prompt
///
/// The prompt goes to the model as it stands, without any chat template. The worker of an idle device answers; while
/// jobs have every device, a request waits for 10 seconds and is refused with `no_idle_device` then. A job that could
/// start cuts a request off after 2 seconds (`preempted`).
#[utoipa::path(
    post,
    path = "/v1/completions",
    tag = "inference",
    request_body = CompletionRequest,
    responses(
        (status = 200, description = "The completions, or with `stream` parts of them as server-sent events, ended by `data: [DONE]`", content(
            (Completion = "application/json"),
            (Completion = "text/event-stream"),
        )),
        (status = 400, description = "Not JSON, or a field is at fault", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such model", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The model's files cannot be used", body = ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "Too many requests wait", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "No device is idle, or the one that answered was needed or failed", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_completion(Access(app): Access, JsonBody(body): JsonBody) -> Result<Response, Problem> {
    let request: CompletionRequest = read(body, NEUTRAL)?;
    let model = model(&app, &request.model).await?;
    let name = request.model.clone();
    let (input, prompts, parameters) = request.into_parts()?;
    let (order, streamed) = parameters.order(app.store.own_project(), &model.name, input)?;
    let choices = prompts * order.samples;
    let answer = app.dispatcher.ask(&app, &order, "/prompt").await?;
    let shape = Shape {
        id: format!("cmpl-{}", uuid::Uuid::now_v7().simple()),
        created: clock::now().unix_seconds(),
        model: name,
        fingerprint: model.fingerprint,
        logprobs: order.logprobs,
        include_usage: streamed.usage,
        offsets: vec![0; choices as usize],
    };
    if streamed.is {
        return Ok(stream::respond(answer, shape, choices));
    }
    let (choices, usage) = collect(answer, choices as usize).await?;
    Ok(Json(shape.whole(choices, usage)).into_response())
}

impl CompletionRequest {
    /// The prompts, how many there are, and everything else.
    fn into_parts(self) -> Result<(CompletionInput, u32, Parameters), Problem> {
        let mut errors = Vec::new();
        let mut tokens = |list: Vec<i64>| -> Vec<u32> {
            let known: Option<Vec<u32>> = list.into_iter().map(|token| u32::try_from(token).ok()).collect();
            if known.is_none() {
                errors.push(FieldError::new(
                    "/prompt",
                    "out_of_range",
                    "must be tokens of the model, numbers from 0 on",
                ));
            }
            known.unwrap_or_default()
        };
        let input = match self.prompt {
            Prompts::Texts(texts) => CompletionInput::Texts(texts.into_vec()),
            Prompts::Tokens(list) => CompletionInput::Tokens(vec![tokens(list)]),
            Prompts::ManyTokens(lists) => CompletionInput::Tokens(lists.into_iter().map(tokens).collect()),
        };
        let prompts = match &input {
            CompletionInput::Texts(texts) => texts.len(),
            CompletionInput::Tokens(lists) => lists.len(),
            CompletionInput::Chat(_) => 1,
        };
        let echo = self.echo == Some(true);
        if !(1..=MOST_PROMPTS).contains(&prompts) {
            let detail = format!("must be 1 to {MOST_PROMPTS} texts or lists of tokens");
            errors.push(FieldError::new("/prompt", "out_of_range", detail));
        }
        if self.max_tokens == Some(0) && !echo {
            errors.push(FieldError::new("/max_tokens", "out_of_range", "must be at least 1 without `echo`"));
        }
        if !errors.is_empty() {
            return Err(refused(errors));
        }
        let parameters = Parameters {
            max_tokens: self.max_tokens,
            temperature: self.temperature,
            top_p: self.top_p,
            n: self.n,
            stop: self.stop,
            seed: self.seed,
            logprobs: self.logprobs.is_some(),
            top_logprobs: self.logprobs.unwrap_or(0),
            echo,
            stream: self.stream,
            stream_options: self.stream_options,
            user: self.user,
            metadata: self.metadata,
        };
        Ok((input, prompts as u32, parameters))
    }
}

/// What all parts of an answer have in common.
struct Shape {
    id: String,
    created: i64,
    model: String,
    fingerprint: String,
    logprobs: bool,
    include_usage: bool,
    /// Characters of the tokens that each choice has.
    offsets: Vec<usize>,
}

impl Shape {
    fn whole(mut self, choices: Vec<Whole>, usage: Usage) -> Completion {
        let choices = choices.into_iter().zip(0..).map(|(choice, index)| CompletionChoice {
            index,
            text: choice.text,
            logprobs: self.lists(index, choice.tokens),
            finish_reason: finish(choice.finish),
        });
        let choices = choices.collect();
        self.chunk(choices, Some(usage))
    }

    fn lists(&mut self, choice: u32, tokens: Vec<DrawnToken>) -> Option<CompletionLogprobs> {
        let offset = self.offsets.get_mut(choice as usize).filter(|_| self.logprobs)?;
        Some(CompletionLogprobs::of(tokens, offset))
    }

    fn chunk(&self, choices: Vec<CompletionChoice>, usage: Option<Usage>) -> Completion {
        let usage = (self.include_usage || usage.is_some()).then_some(usage);
        Completion {
            id: self.id.clone(),
            object: "text_completion",
            created: self.created,
            model: self.model.clone(),
            system_fingerprint: self.fingerprint.clone(),
            choices,
            usage,
        }
    }
}

impl Chunks for Shape {
    type Chunk = Completion;

    fn open(&self, _choice: u32) -> Option<Completion> {
        None
    }

    fn piece(&mut self, piece: Piece) -> Completion {
        let logprobs = self.lists(piece.choice, piece.tokens);
        let choice = CompletionChoice { index: piece.choice, text: piece.text, logprobs, finish_reason: None };
        self.chunk(vec![choice], None)
    }

    fn end(&self, choice: u32, reason: FinishReason) -> Completion {
        let finish_reason = finish(Some(reason));
        let choice = CompletionChoice { index: choice, text: String::new(), logprobs: None, finish_reason };
        self.chunk(vec![choice], None)
    }

    fn usage(&self, usage: Usage) -> Option<Completion> {
        self.include_usage.then(|| self.chunk(Vec::new(), Some(usage)))
    }
}
