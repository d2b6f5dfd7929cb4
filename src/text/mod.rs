//! Text: a model's tokenizer and chat template, and the way from a data set's row to the tokens it is prompted with.
//! The engine uses it to sample, the API to check a job's prompts before a device is used.

pub mod chat;
pub mod gguf;
pub mod prompt;
pub mod tokenizer;
mod turns;

use chat::{ChatError, ChatTemplate};
use prompt::Prompter;
use tokenizer::{TextTokenizer, TokenizerError};

use crate::job::spec::{PromptFormat, PromptSpec};
use crate::modelfile::Inspection;

/// Every code of a [`TextError`].
pub const CODES: &[&str] =
    &["tokenizer_failed", "chat_template_failed", "chat_template_missing", "prompt_empty", "prompt_too_long"];

/// What a model brings along for texts.
pub struct ModelText {
    pub tokenizer: TextTokenizer,
    /// None: it takes plain text.
    pub chat: Option<ChatTemplate>,
}

impl ModelText {
    /// What a model brings along, with a spec's chat template in the place of its own.
    pub fn of(inspection: &Inspection, spec: &PromptSpec) -> Result<Self, TextError> {
        let tokenizer = TextTokenizer::from_inspection(inspection)?;
        Ok(Self { tokenizer, chat: ChatTemplate::of(inspection, spec.chat_template.as_deref())? })
    }

    /// The token that ends a turn in a conversation, where prompts are conversations and it is known.
    pub fn end_of_turn(&self, spec: &PromptSpec) -> Option<u32> {
        let chat = self.chat.as_ref().filter(|_| spec.format != PromptFormat::Text)?;
        turns::end_of_turn(chat, &self.tokenizer)
    }

    /// Makes prompts as a spec says, for a model with this many positions.
    pub fn prompter<'a>(&'a self, spec: &'a PromptSpec, context: usize) -> Result<Prompter<'a>, TextError> {
        Prompter::new(&self.tokenizer, self.chat.as_ref(), spec, context)
    }
}

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
