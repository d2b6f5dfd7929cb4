//! `POST /v1/chat/completions`

use std::collections::BTreeMap;

use axum::Json;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::parameters::{Neutral, Parameters, StreamOptions, Texts, is_empty, is_false, read};
use super::stream::{self, Chunks};
use super::{Usage, Whole, collect, finish, model, refused};
use crate::api::access::Access;
use crate::api::error::{Problem, ProblemBody};
use crate::api::extract::JsonBody;
use crate::clock;
use crate::job::FieldError;
use crate::job::inference::{CompletionInput, DrawnToken, FinishReason, Piece, Turn};

/// Messages in one conversation.
const MOST_MESSAGES: usize = 1024;

/// Parameters of the OpenAI API that are taken only when they ask for nothing.
const NEUTRAL: &[Neutral] = &[
    Neutral { name: "tools", asks_nothing: is_empty, detail: "tools are not supported; leave them out" },
    Neutral { name: "tool_choice", asks_nothing: |value| value == "none", detail: "tools are not supported" },
    Neutral { name: "parallel_tool_calls", asks_nothing: Value::is_boolean, detail: "tools are not supported" },
    Neutral { name: "functions", asks_nothing: is_empty, detail: "functions are not supported; leave them out" },
    Neutral { name: "function_call", asks_nothing: |value| value == "none", detail: "functions are not supported" },
    Neutral {
        name: "response_format",
        asks_nothing: |value| value["type"] == "text",
        detail: "only `text` is supported",
    },
    Neutral {
        name: "modalities",
        asks_nothing: |value| *value == serde_json::json!(["text"]),
        detail: "only text is supported",
    },
    Neutral { name: "store", asks_nothing: is_false, detail: "completions are not stored" },
    Neutral { name: "prompt_cache_key", asks_nothing: Value::is_string, detail: "must be a text" },
    Neutral { name: "reasoning_effort", asks_nothing: |_| false, detail: "is not supported; leave it out" },
];

/// A conversation to go on with.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatRequest {
    /// A model (`mdl_...`, `builtin:arith-tiny`) or a finished checkpoint (`ckpt_...`, or `ft:JOB` by its job).
    #[schema(example = "builtin:arith-tiny")]
    model: String,
    messages: Vec<ChatMessage>,
    /// The longest completion in tokens; without it what fits into the context, up to 256.
    #[schema(minimum = 1, maximum = 131_072)]
    max_completion_tokens: Option<u32>,
    /// The same under its older name.
    #[schema(minimum = 1, maximum = 131_072)]
    max_tokens: Option<u32>,
    /// 0 is greedy; 1, the default, samples the model's own distribution.
    #[schema(minimum = 0.0, maximum = 2.0)]
    temperature: Option<f64>,
    /// Keep the smallest set of tokens with at least this much probability; 1, the default, keeps all.
    #[schema(minimum = 0.0, maximum = 1.0)]
    top_p: Option<f64>,
    /// Completions to make.
    #[schema(minimum = 1, maximum = 8)]
    n: Option<u32>,
    /// Up to 4 texts that end a completion and are left out of it.
    stop: Option<Texts>,
    /// Equal requests with equal seeds have equal answers.
    seed: Option<i64>,
    /// Give the log-probability of every token, under the distribution it was drawn from; at temperature 0 under the
    /// model's own.
    logprobs: Option<bool>,
    /// Give so many of the most probable tokens in each place as well, with `logprobs` true. In a stream they come with
    /// the end of their choice. The prompt and `max_tokens` are 8192 tokens together at most.
    #[schema(minimum = 0, maximum = 20)]
    top_logprobs: Option<u32>,
    /// Answer with server-sent events.
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    /// Taken and not used.
    user: Option<String>,
    /// Taken and not used: up to 16 pairs.
    metadata: Option<BTreeMap<String, String>>,
}

/// One message of a conversation.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatMessage {
    #[schema(example = "user")]
    role: Role,
    content: Content,
    /// Taken and not used: chat templates have no place for it.
    #[expect(dead_code, reason = "clients send it")]
    name: Option<String>,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Role {
    System,
    /// The same as `system`.
    Developer,
    User,
    Assistant,
}

/// What is said: a text, or parts of it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "must be a text or a list of parts such as {\"type\": \"text\", \"text\": \"...\"}")]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

/// A part of a message.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
enum Part {
    Text { text: String },
}

/// Completions of a conversation.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChatCompletion {
    #[schema(example = "chatcmpl-0198f6c2a7d47e0c8f6f0d9f0e6b5a31")]
    id: String,
    /// Always `chat.completion`.
    object: &'static str,
    /// Unix seconds.
    created: i64,
    /// As the request names it.
    model: String,
    /// Changes when the weights do.
    system_fingerprint: String,
    choices: Vec<ChatChoice>,
    usage: Usage,
}

/// One completion of a conversation.
#[derive(Debug, Serialize, ToSchema)]
struct ChatChoice {
    index: u32,
    message: AssistantMessage,
    logprobs: Option<ChatLogprobs>,
    /// `stop` or `length`.
    finish_reason: Option<&'static str>,
}

/// What the model says.
#[derive(Debug, Serialize, ToSchema)]
struct AssistantMessage {
    /// Always `assistant`.
    role: &'static str,
    content: String,
    /// Always null.
    refusal: Option<String>,
}

/// A part of an answer that is streamed.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChatCompletionChunk {
    /// The same in all chunks.
    id: String,
    /// Always `chat.completion.chunk`.
    object: &'static str,
    created: i64,
    model: String,
    system_fingerprint: String,
    /// One choice; none in the chunk with the usage.
    choices: Vec<ChatDelta>,
    /// Only with `stream_options.include_usage`: null but in the last chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Usage>)]
    usage: Option<Option<Usage>>,
}

/// What a chunk adds to a choice.
#[derive(Debug, Serialize, ToSchema)]
struct ChatDelta {
    index: u32,
    delta: Delta,
    logprobs: Option<ChatLogprobs>,
    finish_reason: Option<&'static str>,
}

/// An addition; empty at the end.
#[derive(Debug, Default, Serialize, ToSchema)]
struct Delta {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

/// Log-probabilities of a completion's tokens.
#[derive(Debug, Serialize, ToSchema)]
struct ChatLogprobs {
    content: Vec<TokenLogprob>,
    /// Always null.
    refusal: Option<Vec<TokenLogprob>>,
}

/// A token and its log-probability.
#[derive(Debug, Serialize, ToSchema)]
struct TokenLogprob {
    token: String,
    logprob: f32,
    /// Null where the token is a part of a character.
    bytes: Option<Vec<u8>>,
    /// The most probable tokens in its place, as many as were asked for.
    top_logprobs: Vec<TopLogprob>,
}

/// A token that might have stood in a place.
#[derive(Debug, Serialize, ToSchema)]
struct TopLogprob {
    token: String,
    logprob: f32,
    /// Null where the token is a part of a character.
    bytes: Option<Vec<u8>>,
}

impl ChatLogprobs {
    fn of(tokens: Vec<DrawnToken>) -> Self {
        let bytes = |text: &str| (!text.contains(char::REPLACEMENT_CHARACTER)).then(|| text.as_bytes().to_vec());
        let top = |(token, logprob): (String, f32)| TopLogprob { bytes: bytes(&token), token, logprob };
        let content = tokens.into_iter().map(|drawn| TokenLogprob {
            bytes: bytes(&drawn.text),
            token: drawn.text,
            logprob: drawn.logprob.unwrap_or_default(),
            top_logprobs: drawn.top.into_iter().map(top).collect(),
        });
        Self { content: content.collect(), refusal: None }
    }
}

/// Go on with a conversation
///
/// The worker of an idle device answers; while jobs have every device, a request waits for 10 seconds and is refused
/// with `no_idle_device` then. A job that could start cuts a request off after 2 seconds (`preempted`). The model's chat
/// template makes the prompt; for a model without one use `/v1/completions`. The built-in model and what was trained
/// from it take a single user message as it stands.
#[utoipa::path(
    post,
    path = "/v1/chat/completions",
    tag = "inference",
    request_body = ChatRequest,
    responses(
        (status = 200, description = "The completions, or with `stream` chunks as server-sent events, ended by `data: [DONE]`", content(
            (ChatCompletion = "application/json"),
            (ChatCompletionChunk = "text/event-stream"),
        )),
        (status = 400, description = "Not JSON, or a field is at fault", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such model", body = ProblemBody, content_type = "application/problem+json"),
        (status = 413, description = "Too large", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The model's files cannot be used", body = ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "Too many requests wait", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "No device is idle, or the one that answered was needed or failed", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub async fn create_chat_completion(Access(app): Access, JsonBody(body): JsonBody) -> Result<Response, Problem> {
    let request: ChatRequest = read(body, NEUTRAL)?;
    let input = CompletionInput::Chat(turns(&request)?);
    let model = model(&app, &request.model).await?;
    let name = request.model.clone();
    let (order, streamed) = request.parameters()?.order(app.store.own_project(), &model.name, input)?;
    let answer = app.dispatcher.ask(&app, &order, "/messages").await?;
    let shape = Shape {
        id: format!("chatcmpl-{}", uuid::Uuid::now_v7().simple()),
        created: clock::now().unix_seconds(),
        model: name,
        fingerprint: model.fingerprint,
        logprobs: order.logprobs,
        include_usage: streamed.usage,
    };
    if streamed.is {
        return Ok(stream::respond(answer, shape, order.samples));
    }
    let (choices, usage) = collect(answer, order.samples as usize).await?;
    Ok(Json(shape.whole(choices, usage)).into_response())
}

impl ChatRequest {
    fn parameters(self) -> Result<Parameters, Problem> {
        if self.max_tokens.is_some() && self.max_completion_tokens.is_some() {
            let detail = "is another name of `max_completion_tokens`; send one of them";
            return Err(refused(vec![FieldError::new("/max_tokens", "invalid_value", detail)]));
        }
        let (logprobs, top_logprobs) = (self.logprobs == Some(true), self.top_logprobs.unwrap_or(0));
        if top_logprobs > 0 && !logprobs {
            return Err(refused(vec![FieldError::new("/top_logprobs", "invalid_value", "needs `logprobs` true")]));
        }
        Ok(Parameters {
            max_tokens: self.max_completion_tokens.or(self.max_tokens),
            temperature: self.temperature,
            top_p: self.top_p,
            n: self.n,
            stop: self.stop,
            seed: self.seed,
            logprobs,
            top_logprobs,
            echo: false,
            stream: self.stream,
            stream_options: self.stream_options,
            user: self.user,
            metadata: self.metadata,
        })
    }
}

/// The messages as chat templates know them.
fn turns(request: &ChatRequest) -> Result<Vec<Turn>, Problem> {
    if !(1..=MOST_MESSAGES).contains(&request.messages.len()) {
        let detail = format!("must be 1 to {MOST_MESSAGES} messages");
        return Err(refused(vec![FieldError::new("/messages", "out_of_range", detail)]));
    }
    let mut turns = Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        let role = match message.role {
            Role::System | Role::Developer => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let content = match &message.content {
            Content::Text(text) => text.clone(),
            Content::Parts(parts) => parts.iter().map(|Part::Text { text }| text.as_str()).collect(),
        };
        turns.push(Turn { role: role.to_owned(), content });
    }
    Ok(turns)
}

/// What all parts of an answer have in common.
struct Shape {
    id: String,
    created: i64,
    model: String,
    fingerprint: String,
    logprobs: bool,
    include_usage: bool,
}

impl Shape {
    fn whole(self, choices: Vec<Whole>, usage: Usage) -> ChatCompletion {
        let choices = choices.into_iter().zip(0..).map(|(choice, index)| ChatChoice {
            index,
            message: AssistantMessage { role: "assistant", content: choice.text, refusal: None },
            logprobs: self.logprobs.then(|| ChatLogprobs::of(choice.tokens)),
            finish_reason: finish(choice.finish),
        });
        ChatCompletion {
            choices: choices.collect(),
            id: self.id,
            object: "chat.completion",
            created: self.created,
            model: self.model,
            system_fingerprint: self.fingerprint,
            usage,
        }
    }

    fn chunk(&self, choices: Vec<ChatDelta>, usage: Option<Usage>) -> ChatCompletionChunk {
        let usage = self.include_usage.then_some(usage);
        ChatCompletionChunk {
            id: self.id.clone(),
            object: "chat.completion.chunk",
            created: self.created,
            model: self.model.clone(),
            system_fingerprint: self.fingerprint.clone(),
            choices,
            usage,
        }
    }
}

impl Chunks for Shape {
    type Chunk = ChatCompletionChunk;

    fn open(&self, choice: u32) -> Option<ChatCompletionChunk> {
        let delta = Delta { role: Some("assistant"), content: Some(String::new()) };
        Some(self.chunk(vec![ChatDelta { index: choice, delta, logprobs: None, finish_reason: None }], None))
    }

    fn piece(&mut self, piece: Piece) -> ChatCompletionChunk {
        let delta = Delta { role: None, content: Some(piece.text) };
        let logprobs = self.logprobs.then(|| ChatLogprobs::of(piece.tokens));
        self.chunk(vec![ChatDelta { index: piece.choice, delta, logprobs, finish_reason: None }], None)
    }

    fn end(&self, choice: u32, reason: FinishReason) -> ChatCompletionChunk {
        let finish_reason = finish(Some(reason));
        let delta = Delta::default();
        self.chunk(vec![ChatDelta { index: choice, delta, logprobs: None, finish_reason }], None)
    }

    fn usage(&self, usage: Usage) -> Option<ChatCompletionChunk> {
        self.include_usage.then(|| self.chunk(Vec::new(), Some(usage)))
    }
}
