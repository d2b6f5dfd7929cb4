//! Text: a model's tokenizer and chat template, and the way from a data set's row to the tokens it is prompted with.
//! The engine uses it to sample, the API to check a job's prompts before a device is used.

pub mod chat;
pub mod prompt;
pub mod tokenizer;

use chat::ChatError;
use tokenizer::TokenizerError;

/// Why a prompt cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    #[error("the tokenizer failed: {0}")]
    Tokenizer(#[from] TokenizerError),
    #[error("the chat template cannot be used: {0}")]
    Chat(#[from] ChatError),
    /// A row that cannot become a prompt; `code` is stable, `detail` says what to do.
    #[error("{detail}")]
    Invalid { code: &'static str, detail: String },
}

impl TextError {
    /// Stable, machine-readable reason.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Tokenizer(_) => "tokenizer_failed",
            Self::Chat(_) => "chat_template_failed",
            Self::Invalid { code, .. } => code,
        }
    }
}
