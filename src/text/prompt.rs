//! From a data set's row to the tokens a model is prompted with.

use std::sync::Arc;

use super::TextError;
use super::chat::ChatTemplate;
use super::tokenizer::TextTokenizer;
use crate::dataset::{Message, Prompt, Row};
use crate::job::spec::{PromptFormat, PromptSpec};

/// Renders and encodes prompts the way a job's spec says.
pub struct Prompter<'a> {
    tokenizer: &'a TextTokenizer,
    chat: Option<&'a ChatTemplate>,
    spec: &'a PromptSpec,
    /// Tokens that fit the model.
    context: usize,
}

/// A prompt as the verifier and as the model see it.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderedPrompt {
    pub text: String,
    pub tokens: Arc<[u32]>,
}

impl<'a> Prompter<'a> {
    /// Fails when the spec wants the chat format and the model has no chat template.
    pub fn new(
        tokenizer: &'a TextTokenizer,
        chat: Option<&'a ChatTemplate>,
        spec: &'a PromptSpec,
        context: usize,
    ) -> Result<Self, TextError> {
        let chat = match spec.format {
            PromptFormat::Text => None,
            PromptFormat::Auto => chat,
            PromptFormat::Chat if chat.is_some() => chat,
            PromptFormat::Chat => {
                return Err(TextError::Invalid {
                    code: "chat_template_missing",
                    detail: String::from("the model has no chat template; use `dataset.format` \"text\""),
                });
            }
        };
        Ok(Self { tokenizer, chat, spec, context })
    }

    /// The prompt of row number `index` (for messages).
    pub fn render(&self, index: usize, row: &Row) -> Result<RenderedPrompt, TextError> {
        let text = match (self.chat, &row.prompt) {
            (None, Prompt::Text(prompt)) => self.template(prompt),
            (None, Prompt::Messages(_)) => {
                return Err(TextError::Invalid {
                    code: "chat_template_missing",
                    detail: format!("row {} holds messages, but the model has no chat template", index + 1),
                });
            }
            (Some(chat), Prompt::Text(prompt)) => {
                self.chat_text(chat, &[Message { role: String::from("user"), content: self.template(prompt) }], index)?
            }
            (Some(chat), Prompt::Messages(messages)) => self.chat_text(chat, messages, index)?,
        };
        let tokens = self.tokenizer.encode(&text)?;
        if tokens.is_empty() {
            return Err(TextError::Invalid {
                code: "prompt_empty",
                detail: format!("the prompt of row {} has no tokens", index + 1),
            });
        }
        if tokens.len() >= self.context {
            return Err(TextError::Invalid {
                code: "prompt_too_long",
                detail: format!(
                    "the prompt of row {} has {} tokens and leaves no room for a completion in the model's context of \
                     {}; shorten or remove the row",
                    index + 1,
                    tokens.len(),
                    self.context
                ),
            });
        }
        Ok(RenderedPrompt { text, tokens: tokens.into() })
    }

    fn template(&self, prompt: &str) -> String {
        match &self.spec.template {
            None => prompt.to_owned(),
            Some(template) => template.replace("{prompt}", prompt),
        }
    }

    fn chat_text(&self, chat: &ChatTemplate, messages: &[Message], index: usize) -> Result<String, TextError> {
        let system =
            self.spec.system.as_ref().map(|text| Message { role: String::from("system"), content: text.clone() });
        let all: Vec<Message> = system.into_iter().chain(messages.iter().cloned()).collect();
        chat.render(&all, true).map_err(|error| TextError::Invalid {
            code: "chat_template_failed",
            detail: format!("the model's chat template refuses row {}: {error}", index + 1),
        })
    }
}
