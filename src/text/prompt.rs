//! From a data set's row to the tokens a model is prompted with.

use std::ops::Range;
use std::sync::Arc;

use super::chat::{Chat, ChatTemplate};
use super::tokenizer::TextTokenizer;
use super::{TextError, turns};
use crate::dataset::{Message, Prompt, Row};
use crate::job::spec::{PromptFormat, PromptSpec, TrainOn};

/// Renders and encodes prompts the way a job's spec says.
pub struct Prompter<'a> {
    tokenizer: &'a TextTokenizer,
    chat: Option<&'a ChatTemplate>,
    spec: &'a PromptSpec,
    /// Tokens that fit the model.
    context: usize,
}

/// A row's prompt and completion as they are learnt.
#[derive(Clone, Debug, PartialEq)]
pub struct AnsweredPrompt {
    pub prompt: Arc<[u32]>,
    pub completion: Vec<u32>,
    /// Whether each token of the completion is learnt; empty where all are.
    pub loss_mask: Vec<bool>,
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
            (Some(chat), prompt) => self.chat_text(chat, &self.messages(prompt), row, index)?,
            (None, Prompt::Text(prompt)) if row.tools().is_none() => self.template(prompt),
            (None, Prompt::Text(_)) => return Err(without_template(index, "names tools")),
            (None, Prompt::Messages(_)) => return Err(without_template(index, "holds messages")),
        };
        let tokens = self.tokenizer.encode(&text)?;
        if tokens.is_empty() {
            return Err(invalid("prompt_empty", format!("the prompt of row {} has no tokens", index + 1)));
        }
        let (count, row) = (tokens.len(), index + 1);
        let limit = self.spec.max_prompt_tokens.map_or(usize::MAX, |most| most as usize);
        if count > limit {
            let detail = format!(
                "the prompt of row {row} has {count} tokens; `max_prompt_tokens` is {limit}: raise it, or shorten or \
                 remove the row"
            );
            return Err(invalid("prompt_too_long", detail));
        }
        if count >= self.context {
            let detail = format!(
                "the prompt of row {row} has {count} tokens and leaves no room for a completion in the model's context \
                 of {}; shorten or remove the row",
                self.context
            );
            return Err(invalid("prompt_too_long", detail));
        }
        Ok(RenderedPrompt { text, tokens: tokens.into() })
    }

    /// A row's prompt with an answer to learn from, which the token `end` ends.
    pub fn answered(
        &self,
        index: usize,
        row: &Row,
        answer: &str,
        end: Option<u32>,
    ) -> Result<AnsweredPrompt, TextError> {
        if let (TrainOn::AllAssistant, Some(chat), Some(end)) = (self.spec.train_on, self.chat, end) {
            return self.conversation(chat, index, row, answer, end);
        }
        let RenderedPrompt { text, tokens: prompt } = self.render(index, row)?;
        let mut completion = self.behind(&prompt, &text, answer)?;
        completion.extend(end);
        Ok(AnsweredPrompt { prompt, completion, loss_mask: Vec::new() })
    }

    /// The tokens of `text` behind others, which are those of the text `before`.
    fn behind(&self, tokens: &[u32], before: &str, text: &str) -> Result<Vec<u32>, TextError> {
        let own = self.tokenizer.encode(text)?;
        let (whole, together) = (format!("{before}{text}"), [tokens, &own].concat());
        // Some tokenizers put a space before every text that they encode.
        if self.tokenizer.decode(&together, false)? != whole {
            let whole = self.tokenizer.encode(&whole)?;
            if let Some(rest) = whole.strip_prefix(tokens) {
                return Ok(rest.to_vec());
            }
        }
        Ok(own)
    }

    /// What the model reads behind `tokens`, with which a turn of it ends, when an environment says `content`: as it stands, or,
    /// where the turn ended with the token that ends messages, as a message of `role`. With its text.
    pub fn turn_answer(
        &self,
        tokens: &[u32],
        ended: Option<u32>,
        (role, content): (&str, &str),
    ) -> Result<(String, Vec<u32>), TextError> {
        let text = match (self.chat, ended) {
            (Some(chat), Some(end)) => {
                let end = self.tokenizer.decode(&[end], false)?;
                let like = Chat { thinking: self.spec.thinking, ..Chat::default() };
                turns::answer(chat, like, &end, role, content)?
            }
            (None, _) | (_, None) => content.to_owned(),
        };
        let before = self.tokenizer.decode(tokens, false)?;
        let tokens = self.behind(tokens, &before, &text)?;
        Ok((text, tokens))
    }

    /// Whether a message of `role` can answer the model at all, which templates that know no such role refuse.
    pub fn check_answerer(&self, role: &str, end: Option<u32>) -> Result<(), TextError> {
        self.turn_answer(&[], end, (role, "1")).map(|_| ())
    }

    /// A whole conversation, of which all that the assistant says is learnt. The prompt ends before its first message.
    fn conversation(
        &self,
        chat: &ChatTemplate,
        index: usize,
        row: &Row,
        answer: &str,
        end: u32,
    ) -> Result<AnsweredPrompt, TextError> {
        let mut messages = self.messages(&row.prompt);
        messages.push(Message::new("assistant", answer));
        let end = self.tokenizer.decode(&[end], false)?;
        let (text, parts) =
            turns::assistants_part(chat, self.chat_of(&messages, row), &end).map_err(|error| refused(index, error))?;
        let tokens = self.tokenizer.encode_with_places(&text)?;
        let is_learnt =
            |place: &Range<usize>| parts.iter().any(|part| place.end > part.start && place.start < part.end);
        let learnt: Vec<bool> = tokens.iter().map(|(_, place)| is_learnt(place)).collect();
        let first = learnt.iter().position(|learnt| *learnt).unwrap_or(learnt.len());
        let last = learnt.iter().rposition(|learnt| *learnt).map_or(first, |last| last + 1);
        if first == 0 {
            return Err(invalid("prompt_empty", format!("the prompt of row {} has no tokens", index + 1)));
        }
        let ids: Vec<u32> = tokens[..last].iter().map(|(id, _)| *id).collect();
        let (prompt, completion) = ids.split_at(first);
        Ok(AnsweredPrompt {
            prompt: prompt.into(),
            completion: completion.to_vec(),
            loss_mask: learnt[first..last].to_vec(),
        })
    }

    /// The conversation that a prompt is, with the spec's system message.
    fn messages(&self, prompt: &Prompt) -> Vec<Message> {
        let system = self.spec.system.as_ref().map(|text| Message::new("system", text.as_str()));
        match prompt {
            Prompt::Text(text) => system.into_iter().chain([Message::new("user", self.template(text))]).collect(),
            Prompt::Messages(messages) => system.into_iter().chain(messages.iter().cloned()).collect(),
        }
    }

    fn chat_of<'b>(&self, messages: &'b [Message], row: &'b Row) -> Chat<'b> {
        Chat { messages, tools: row.tools(), thinking: self.spec.thinking, asks: true }
    }

    fn template(&self, prompt: &str) -> String {
        match &self.spec.template {
            None => prompt.to_owned(),
            Some(template) => template.replace("{prompt}", prompt),
        }
    }

    fn chat_text(
        &self,
        chat: &ChatTemplate,
        messages: &[Message],
        row: &Row,
        index: usize,
    ) -> Result<String, TextError> {
        chat.render(&self.chat_of(messages, row)).map_err(|error| refused(index, error))
    }
}

fn invalid(code: &'static str, detail: String) -> TextError {
    TextError::Invalid { code, detail }
}

fn without_template(index: usize, what: &str) -> TextError {
    invalid("chat_template_missing", format!("row {} {what}, but the model has no chat template", index + 1))
}

fn refused(index: usize, error: impl std::fmt::Display) -> TextError {
    invalid("chat_template_failed", format!("the model's chat template refuses row {}: {error}", index + 1))
}

#[cfg(test)]
mod tests {
    use super::super::tokenizer::tests::tokenizer;
    use super::*;
    use crate::dataset::tests::row as row_of;

    /// Ends turns with a token, and leaves out the reasoning of earlier ones.
    const TURNS: &str = "{% for m in messages %}{{ m.role[0] }}:{% if m.role == 'assistant' %}\
        {% if m.tool_calls %}call {{ m.tool_calls[0].name }}{% else %}\
        {{ (m.content if loop.last else m.content.split('</think>')[-1]) | trim }}{% endif %}\
        {% else %}{{ m.content }}{% endif %}<|end|>\n{% endfor %}{% if add_generation_prompt %}a:{% endif %}";

    fn learnt(line: &str, train_on: TrainOn) -> (String, String) {
        let (tokenizer, row) = (tokenizer("smollm"), row_of(line));
        let chat = ChatTemplate::new(TURNS, None, None).unwrap();
        let spec = PromptSpec { train_on, ..PromptSpec::default() };
        let prompter = Prompter::new(&tokenizer, Some(&chat), &spec, 1000).unwrap();
        let end = turns::end_of_turn(&chat, &tokenizer);
        assert_eq!(end, Some(264), "the token behind a message");
        let answered = prompter.answered(0, &row, row.completion.as_deref().unwrap(), end).unwrap();
        let all: Vec<u32> = answered.prompt.iter().chain(&answered.completion).copied().collect();
        let is_learnt = |place: &usize| answered.loss_mask.get(*place).copied().unwrap_or(true);
        let kept: Vec<u32> =
            (0..answered.completion.len()).filter(is_learnt).map(|place| answered.completion[place]).collect();
        (tokenizer.decode(&all, false).unwrap(), tokenizer.decode(&kept, false).unwrap())
    }

    #[test]
    fn a_completion_ends_with_the_templates_end_of_a_turn() {
        let (all, learnt) = learnt(r#"{"prompt": "1+1", "completion": " 2 "}"#, TrainOn::Last);
        assert_eq!((all.as_str(), learnt.as_str()), ("u:1+1<|end|>\na: 2 <|end|>", " 2 <|end|>"));
    }

    #[test]
    fn all_that_the_assistant_says_is_learnt_and_nothing_else() {
        let line = r#"{"prompt": [{"role": "user", "content": "a: x"}, {"role": "assistant", "content": " x "},
            {"role": "user", "content": "y"}, {"role": "assistant", "content": "<think>no</think>hello"},
            {"role": "user", "content": "z"}, {"role": "assistant", "content": null, "tool_calls": [{"name": "f"}]},
            {"role": "tool", "content": "7"}], "completion": "<think>yes</think>7"}"#;
        let line = line.replace('\n', " ");
        let (all, learnt) = learnt(&line, TrainOn::AllAssistant);
        let text = "u:a: x<|end|>\na:x<|end|>\nu:y<|end|>\na:hello<|end|>\nu:z<|end|>\na:call f<|end|>\nt:7<|end|>\n\
                    a:<think>yes</think>7<|end|>";
        assert_eq!(all, text);
        assert_eq!(learnt, "x<|end|>hello<|end|>call f<|end|><think>yes</think>7<|end|>");
    }

    #[test]
    fn an_answer_between_turns_is_a_message_behind_a_message_and_plain_behind_anything_else() {
        let (tokenizer, spec) = (tokenizer("smollm"), PromptSpec::default());
        let chat = ChatTemplate::new(TURNS, None, None).unwrap();
        let end = turns::end_of_turn(&chat, &tokenizer);
        let said = |chat: Option<&ChatTemplate>, ended: Option<u32>, role: &str| {
            let prompter = Prompter::new(&tokenizer, chat, &spec, 1000).unwrap();
            let mut before = tokenizer.encode("u:1+1<|end|>\na:2").unwrap();
            before.extend(ended);
            let (text, tokens) = prompter.turn_answer(&before, ended, (role, " no")).unwrap();
            assert_eq!(tokenizer.decode(&tokens, false).unwrap(), text);
            text
        };
        assert_eq!(said(Some(&chat), end, "user"), "\nu: no<|end|>\na:");
        assert_eq!(said(Some(&chat), end, "tool"), "\nt: no<|end|>\na:");
        let other = tokenizer.encode("x").unwrap()[0];
        assert_eq!(said(Some(&chat), Some(other), "user"), "<|end|>\nu: no<|end|>\na:", "another token ended it");
        assert_eq!(said(Some(&chat), None, "user"), " no");
        assert_eq!(said(None, end, "user"), " no");
    }

    #[test]
    fn a_prompt_of_more_tokens_than_are_allowed_is_an_error_that_says_how_many() {
        let (tokenizer, row) = (tokenizer("smollm"), row_of(r#"{"prompt": "hello1"}"#));
        let render = |most: u32, context: usize| {
            let spec = PromptSpec { max_prompt_tokens: Some(most), ..PromptSpec::default() };
            Prompter::new(&tokenizer, None, &spec, context).unwrap().render(0, &row).map_err(|error| error.to_string())
        };
        assert_eq!(render(2, 3).unwrap().tokens.len(), 2);
        assert!(render(1, 3).unwrap_err().contains("has 2 tokens; `max_prompt_tokens` is 1"));
        assert!(render(2, 2).unwrap_err().contains("leaves no room"));
    }
}
