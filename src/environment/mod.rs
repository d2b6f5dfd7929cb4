//! Environments: what answers a model between its turns. Which one a job has says `sampling.environment`; how its answers
//! come to stand in a completion is the engine's (`engine::conversation`).
//!
//! What an environment answers is a function of what it is told, so that a job that goes on after a crash, and samples a
//! round again, gets the same completions. An environment that cannot answer says so, and the completion has no verdict
//! then: it never becomes a zero reward. `retry`, which asks the verifier, has nothing of its own here.

mod calculator;
mod http;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::job::environment::{EnvironmentKind, EnvironmentSpec};
use crate::job::field::FieldError;
use crate::verifier::Outside;

/// Bytes of what an environment may answer.
pub const MOST_ANSWER_BYTES: usize = 64 << 10;

/// A conversation whose model has ended a turn.
#[derive(Clone, Debug)]
pub struct Asked {
    pub prompt: String,
    pub row: Arc<Map<String, Value>>,
    /// What the model and the environment have said by turns, the model first and last.
    pub said: Vec<String>,
    /// Whether the model says nothing more, whatever is answered.
    pub is_last: bool,
}

impl Asked {
    /// The turn that has ended.
    fn turn(&self) -> &str {
        self.said.last().map_or("", String::as_str)
    }
}

/// What an environment answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// What the model is told before its next turn; none where there is no next one.
    pub text: Option<String>,
    /// What the turn earned, where the environment gives rewards.
    pub reward: Option<f64>,
}

impl Answer {
    /// The conversation is over.
    pub const OVER: Self = Self { text: None, reward: None };

    pub fn says(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), reward: None }
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// It did not come in time.
    Late(String),
    Failed(String),
}

/// Something that answers; called from several threads at once.
pub trait Environment: Send + Sync {
    /// The answers to some conversations, at most [`Environment::batch`], in their order.
    fn answer(&self, asked: &[Asked]) -> Vec<Result<Answer, Failure>>;

    /// How many conversations it takes at a time at most.
    fn batch(&self) -> usize {
        64
    }

    /// How many calls of it go on at a time.
    fn concurrency(&self) -> usize {
        1
    }

    /// Whether it is asked of turns that are the last in any case.
    fn heeds_last(&self) -> bool {
        false
    }

    /// How long it may take to answer.
    fn time_limit(&self) -> Duration;
}

/// What a spec names; none for `retry`. What was enabled when it was checked may be gone by now, which its answers say.
pub fn build(spec: &EnvironmentSpec, outside: &Outside) -> Option<Arc<dyn Environment>> {
    match spec.r#type {
        EnvironmentKind::Calculator => Some(Arc::new(calculator::Calculator::of(spec))),
        EnvironmentKind::Retry => None,
        EnvironmentKind::Http => Some(Arc::new(http::Http::of(spec, outside))),
    }
}

/// Checks a spec as far as that needs nothing but what the operator has enabled; errors point below `pointer`.
pub fn check(
    spec: &EnvironmentSpec,
    has_verifier: bool,
    outside: &Outside,
    pointer: &str,
) -> Result<(), Vec<FieldError>> {
    spec.check(pointer, has_verifier)?;
    match spec.r#type {
        EnvironmentKind::Calculator | EnvironmentKind::Retry => Ok(()),
        EnvironmentKind::Http => http::client(spec, outside).map(|_| ()).map_err(|error| vec![error.below(pointer)]),
    }
}
