//! What the API asks of an idle worker, and what that answers: the messages on the worker's socket.
//!
//! A message is a frame: the number of its bytes in four bytes, most significant first, and then so many bytes of JSON.
//! The API sends one [`Order`]; the worker answers with [`Reply`]s, the last of which is `Busy`, `Done` or `Failed`. A
//! side that wants no more closes the connection. Nothing here reads or writes; both sides share the forms alone.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::status::names;

/// The longest message. An order comes from a body of at most one MiB, and a piece of an answer is small.
pub const MAX_FRAME_BYTES: usize = 4 << 20;
/// Bytes of a frame's length.
const HEAD: usize = 4;

/// Completions that a client wants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Whose it is.
    #[serde(default)]
    pub project: String,
    /// `builtin:...`, `mdl_...` or `ckpt_...`, which the API has found.
    pub model: String,
    pub input: CompletionInput,
    /// Completions of each prompt.
    pub samples: u32,
    /// The longest completion in tokens; without it what fits, up to [`DEFAULT_MAX_TOKENS`].
    pub max_tokens: Option<u32>,
    pub temperature: f64,
    pub top_p: f64,
    pub stop: Vec<String>,
    /// Equal orders with equal seeds have equal answers.
    pub seed: u64,
    /// Whether pieces carry their tokens with log-probabilities.
    pub logprobs: bool,
    /// The most probable tokens in each place, which tokens carry then; those come with the end of their choice.
    pub top_logprobs: u32,
    /// Whether a choice begins with its prompt. With `logprobs` its tokens and the one that ends it are told too, with the end of
    /// the choice; and without any completion, `max_tokens` 0, there is nothing else.
    #[serde(default)]
    pub echo: bool,
}

/// The longest completion for whoever does not say.
pub const DEFAULT_MAX_TOKENS: u32 = 256;

/// What a built-in model without weights draws them from, where no job says.
pub const SCRATCH_SEED: u64 = 0;

/// What the model is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompletionInput {
    /// A conversation, for the model's chat template.
    Chat(Vec<Turn>),
    /// Prompts as they stand.
    Texts(Vec<String>),
    /// The same as tokens.
    Tokens(Vec<Vec<u32>>),
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    pub role: String,
    pub content: String,
}

/// What a worker says to an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The worker turns to the order.
    Accepted,
    /// It does not, for its device has something else to do. Nothing follows.
    Busy,
    /// Nothing is new, and the worker lives.
    Alive,
    /// The model is loaded and the prompts are read; they have so many tokens together.
    Began {
        prompt_tokens: u64,
    },
    Piece(Piece),
    /// A choice has all its pieces, and so many tokens.
    Ended {
        choice: u32,
        finish: FinishReason,
        tokens: u64,
    },
    /// Every choice has ended. Nothing follows.
    Done,
    /// The order has no answer, or no more of it. Nothing follows.
    Failed(Fault),
}

impl Reply {
    /// Whether nothing follows.
    pub fn is_last(&self) -> bool {
        matches!(self, Self::Busy | Self::Done | Self::Failed(_))
    }
}

/// A part of a choice. Its pieces joined are its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// The prompt's place times `samples`, and the completion's place among those of its prompt.
    pub choice: u32,
    pub text: String,
    /// Tokens drawn since the piece before. The text of the last ones may still be held back.
    pub tokens: Vec<DrawnToken>,
}

/// A token as it was drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrawnToken {
    pub text: String,
    /// Under the distribution it was drawn from; for greedy choices, and of the prompt's tokens, under the model's own. None of the
    /// prompt's first, which nothing predicts.
    pub logprob: Option<f32>,
    /// The most probable tokens in its place, under the same distribution.
    #[serde(default)]
    pub top: Vec<(String, f32)>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    pub code: FaultCode,
    /// What happened and what to do.
    pub message: String,
}

impl Fault {
    pub fn new(code: FaultCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

names!(
    /// Why a completion ended.
    FinishReason {
        /// The model ended it, or a stop text came up.
        Stop = "stop",
        /// It reached `max_new_tokens` or the context length.
        Length = "length",
    }
);

names!(
    /// Kinds of faults, by what a client can do.
    FaultCode {
        /// The prompt leaves no room in the model's context.
        ContextLengthExceeded = "context_length_exceeded",
        /// The prompt has no tokens.
        PromptEmpty = "prompt_empty",
        /// A prompt of tokens has one that the model does not know.
        TokenUnknown = "token_unknown",
        /// A conversation for a model that takes plain text.
        ChatTemplateMissing = "chat_template_missing",
        /// The model's chat template does not take these messages.
        ChatTemplateFailed = "chat_template_failed",
        /// The model's files cannot be used.
        ModelUnusable = "model_unusable",
        /// The model and what it has to remember do not fit the device.
        OutOfMemory = "out_of_memory",
        /// A job needs the device.
        Preempted = "preempted",
        /// The answer took longer than any may.
        Timeout = "inference_timeout",
        /// The server is about to end.
        ShuttingDown = "shutting_down",
        /// The device failed.
        WorkerLost = "worker_lost",
        /// Nobody's fault but ours.
        Internal = "internal",
    }
);

/// Bytes that are no message.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("a message of {0} bytes is longer than {MAX_FRAME_BYTES}")]
    TooLong(usize),
    #[error("a message cannot be read or written")]
    Json(#[from] serde_json::Error),
}

/// A message as it goes over the socket.
pub fn frame(message: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    let mut bytes = vec![0; HEAD];
    serde_json::to_writer(&mut bytes, message)?;
    let length = bytes.len() - HEAD;
    let head = u32::try_from(length).ok().filter(|_| length <= MAX_FRAME_BYTES).ok_or(FrameError::TooLong(length))?;
    bytes[..HEAD].copy_from_slice(&head.to_be_bytes());
    Ok(bytes)
}

/// Bytes as they come in, and the messages in them.
#[derive(Debug, Default)]
pub struct Frames(Vec<u8>);

impl Frames {
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The next message, if all of it is there.
    pub fn take<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        let Some(head) = self.0.first_chunk::<HEAD>() else { return Ok(None) };
        let length = u32::from_be_bytes(*head) as usize;
        if length > MAX_FRAME_BYTES {
            return Err(FrameError::TooLong(length));
        }
        let Some(body) = self.0.get(HEAD..HEAD + length) else { return Ok(None) };
        let message = serde_json::from_slice(body)?;
        self.0.drain(..HEAD + length);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn messages_come_out_as_they_went_in_wherever_the_bytes_are_cut(
            texts in prop::collection::vec(".{0,40}", 1..8),
            cut in 1..60_usize,
        ) {
            let piece = |text: &String| {
                let tokens = vec![DrawnToken { text: text.clone(), logprob: Some(-0.1), top: vec![(String::from("b"), -0.2)] }];
                Reply::Piece(Piece { choice: 3, text: text.clone(), tokens })
            };
            let sent: Vec<Reply> = texts.iter().map(piece).collect();
            let bytes: Vec<u8> = sent.iter().flat_map(|reply| frame(reply).unwrap()).collect();
            let mut frames = Frames::default();
            let mut received = Vec::new();
            for part in bytes.chunks(cut) {
                frames.push(part);
                while let Some(reply) = frames.take::<Reply>().unwrap() {
                    received.push(reply);
                }
            }
            prop_assert_eq!(received, sent);
        }

        #[test]
        fn bytes_that_are_no_message_are_refused_or_waited_on(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut frames = Frames::default();
            frames.push(&bytes);
            while let Ok(Some(_)) = frames.take::<Order>() {}
        }
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_before_its_bytes_come() {
        let mut frames = Frames::default();
        frames.push(&(MAX_FRAME_BYTES as u32 + 1).to_be_bytes());
        assert!(matches!(frames.take::<Reply>(), Err(FrameError::TooLong(_))));
        assert!(matches!(frame(&"x".repeat(MAX_FRAME_BYTES)), Err(FrameError::TooLong(_))));
    }
}
