//! Completions in the shapes of the OpenAI API: a request is checked here, answered by the worker of an idle device
//! (`dispatch`), and its answer put into the shapes that clients of that API read, whole or as a stream.

pub mod chat;
pub mod completions;
pub mod dispatch;
mod parameters;
mod stream;

use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::error::Problem;
use super::imports::Pull;
use super::resolve;
use crate::job::FieldError;
use crate::job::inference::{DrawnToken, Fault, FaultCode, FinishReason, Reply};
use dispatch::Answer;

/// Tokens that were read and drawn.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
pub struct Usage {
    /// Of all prompts, each once however many completions it has.
    pub prompt_tokens: u64,
    /// Of all completions, with the tokens that ended them.
    pub completion_tokens: u64,
    pub total_tokens: u64,
}

impl Usage {
    fn add_completion(&mut self, tokens: u64) {
        self.completion_tokens += tokens;
        self.total_tokens += tokens;
    }
}

/// A model as a request names it.
struct Model {
    /// `builtin:...`, `mdl_...` or `ckpt_...`.
    name: String,
    /// Changes when the weights do.
    fingerprint: String,
}

/// Finds the model that a request names.
async fn model(app: &App, name: &str) -> Result<Model, Problem> {
    match resolve::model(app.finder(Pull::Never), name, 0, ("/model", "model_not_found")).await? {
        Ok(model) => {
            let digest = model.digest.as_deref().unwrap_or_default().trim_start_matches("sha256:");
            Ok(Model {
                name: model.reference.to_string(),
                fingerprint: format!("fp_{}", digest.get(..16).unwrap_or(digest)),
            })
        }
        Err(error) => {
            let (status, code) = match error.code {
                code @ ("model_not_ready" | "model_import_failed") => (StatusCode::CONFLICT, code),
                _ => (StatusCode::NOT_FOUND, "model_not_found"),
            };
            let detail = error.detail.clone();
            Err(Problem { errors: vec![error], ..Problem::new(status, code, detail) })
        }
    }
}

/// A request whose fields are at fault, with the first field's reason where clients tell it apart.
fn refused(errors: Vec<FieldError>) -> Problem {
    let code = match errors.first().map(|error| error.code) {
        Some(parameters::UNSUPPORTED) => parameters::UNSUPPORTED,
        _ => "invalid_request",
    };
    Problem { status: StatusCode::BAD_REQUEST, code, ..Problem::invalid(errors) }
}

/// What a worker's fault means for a client; `prompt` is the pointer of the field with the prompt.
fn problem(fault: Fault, prompt: &str) -> Problem {
    let (status, pointer) = match fault.code {
        FaultCode::ContextLengthExceeded
        | FaultCode::PromptEmpty
        | FaultCode::TokenUnknown
        | FaultCode::ChatTemplateMissing
        | FaultCode::ChatTemplateFailed => (StatusCode::BAD_REQUEST, Some(prompt)),
        FaultCode::ModelUnusable => (StatusCode::UNPROCESSABLE_ENTITY, Some("/model")),
        FaultCode::OutOfMemory
        | FaultCode::Preempted
        | FaultCode::Timeout
        | FaultCode::ShuttingDown
        | FaultCode::WorkerLost => (StatusCode::SERVICE_UNAVAILABLE, None),
        FaultCode::Internal => (StatusCode::INTERNAL_SERVER_ERROR, None),
    };
    let code = fault.code.as_str();
    let errors = pointer.map(|pointer| FieldError::new(pointer, code, fault.message.clone())).into_iter().collect();
    Problem { errors, ..Problem::new(status, code, fault.message) }
}

/// One completion as a whole.
#[derive(Default)]
struct Whole {
    text: String,
    tokens: Vec<DrawnToken>,
    finish: Option<FinishReason>,
}

/// Everything that a worker answers; dropping this before its end ends the work.
async fn collect(mut answer: Answer, choices: usize) -> Result<(Vec<Whole>, Usage), Problem> {
    let mut whole: Vec<Whole> = Vec::new();
    whole.resize_with(choices, Whole::default);
    let mut usage = answer.usage();
    loop {
        match answer.next().await? {
            Reply::Piece(piece) => {
                if let Some(choice) = whole.get_mut(piece.choice as usize) {
                    choice.text.push_str(&piece.text);
                    choice.tokens.extend(piece.tokens);
                }
            }
            Reply::Ended { choice, finish, tokens } => {
                if let Some(choice) = whole.get_mut(choice as usize) {
                    choice.finish = Some(finish);
                }
                usage.add_completion(tokens);
            }
            Reply::Done => return Ok((whole, usage)),
            Reply::Accepted | Reply::Busy | Reply::Alive | Reply::Began { .. } | Reply::Failed(_) => {}
        }
    }
}

fn finish(reason: Option<FinishReason>) -> Option<&'static str> {
    reason.map(FinishReason::as_str)
}
