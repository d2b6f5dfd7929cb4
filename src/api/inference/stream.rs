//! A worker's answer as server-sent events: a chunk of JSON for each piece, and `[DONE]` at the end. What fails on the
//! way is told by an object `error` in place of a chunk, after which the stream ends without `[DONE]`.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use serde_json::{Value, json};

use super::Usage;
use super::dispatch::Answer;
use crate::api::error::Problem;
use crate::job::inference::{FinishReason, Piece, Reply};

/// Comments that keep a quiet stream open.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// How one kind of completions is cut into chunks.
pub trait Chunks: Send + 'static {
    type Chunk: Serialize;

    /// What comes before the pieces of each choice, if anything does.
    fn open(&self, choice: u32) -> Option<Self::Chunk>;
    fn piece(&mut self, piece: Piece) -> Self::Chunk;
    fn end(&self, choice: u32, finish: FinishReason) -> Self::Chunk;
    /// The chunk without choices; none when the client does not want it.
    fn usage(&self, usage: Usage) -> Option<Self::Chunk>;
}

/// A stream's place in the answer.
struct Streaming<C> {
    answer: Answer,
    chunks: C,
    usage: Usage,
    ready: VecDeque<String>,
    ended: bool,
}

/// Streams an answer that has begun.
pub fn respond<C: Chunks>(answer: Answer, chunks: C, choices: u32) -> Response {
    let usage = answer.usage();
    let mut streaming = Streaming { answer, chunks, usage, ready: VecDeque::new(), ended: false };
    for choice in 0..choices {
        if let Some(chunk) = streaming.chunks.open(choice) {
            streaming.push(&chunk);
        }
    }
    let events = stream::unfold(streaming, Streaming::next);
    Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT)).into_response()
}

impl<C: Chunks> Streaming<C> {
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        loop {
            if let Some(data) = self.ready.pop_front() {
                return Some((Ok(Event::default().data(data)), self));
            }
            if self.ended {
                return None;
            }
            match self.answer.next().await {
                Ok(reply) => self.take(reply),
                Err(problem) => {
                    self.ready.push_back(error(&problem).to_string());
                    self.ended = true;
                }
            }
        }
    }

    fn take(&mut self, reply: Reply) {
        match reply {
            Reply::Piece(piece) => {
                let chunk = self.chunks.piece(piece);
                self.push(&chunk);
            }
            Reply::Ended { choice, finish, tokens } => {
                self.usage.add_completion(tokens);
                self.push(&self.chunks.end(choice, finish));
            }
            Reply::Done => {
                if let Some(chunk) = self.chunks.usage(self.usage) {
                    self.push(&chunk);
                }
                self.ready.push_back(String::from("[DONE]"));
                self.ended = true;
            }
            Reply::Accepted | Reply::Busy | Reply::Alive | Reply::Began { .. } | Reply::Failed(_) => {}
        }
    }

    fn push(&mut self, chunk: &C::Chunk) {
        // Not by way of a `Value`, which would write the digits of a double for every f32.
        self.ready.push_back(serde_json::to_string(chunk).unwrap_or_default());
    }
}

/// An error as OpenAI's clients read it from a stream.
fn error(problem: &Problem) -> Value {
    let kind = if problem.status.is_server_error() { "server_error" } else { "invalid_request_error" };
    json!({"error": {"message": problem.detail, "type": kind, "param": null, "code": problem.code}})
}
