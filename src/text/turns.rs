//! What of a conversation the assistant says: where its messages stand in the text that a chat template makes, and which
//! token ends them. Templates are programs, so both are found by what they make of a mark.

use std::ops::Range;

use super::TextError;
use super::chat::{Chat, ChatTemplate};
use super::tokenizer::TextTokenizer;
use crate::dataset::Message;

/// Of a private plane of Unicode: no text has it, and no template looks for it.
const MARK: &str = "\u{f8f9}\u{f8fa}";
const ASSISTANT: &str = "assistant";

/// The first special token behind an assistant's message, if nothing but white space is before it.
pub fn end_of_turn(chat: &ChatTemplate, tokenizer: &TextTokenizer) -> Option<u32> {
    let messages = [Message::new("user", "1"), Message::new(ASSISTANT, MARK)];
    let text = chat.render(&Chat { messages: &messages, ..Chat::default() }).ok()?;
    let behind = &text[text.rfind(MARK)? + MARK.len()..];
    let (special, ids) = (tokenizer.special_tokens(), tokenizer.encode(behind).ok()?);
    let place = ids.iter().position(|id| special.binary_search(id).is_ok())?;
    let before = tokenizer.decode(&ids[..place], false).ok()?;
    before.trim().is_empty().then(|| ids[place])
}

/// What a template writes behind an assistant's message, up to where the assistant speaks again: the message of `role` that
/// answers it. What comes with the text `end`, which has ended the message, is left out; where the template ends messages
/// otherwise, the message is ended as it does that.
pub fn answer(
    template: &ChatTemplate,
    chat: Chat<'_>,
    end: &str,
    role: &str,
    content: &str,
) -> Result<String, TextError> {
    let messages = [Message::new("user", "1"), Message::new(ASSISTANT, MARK), Message::new(role, content)];
    let text = template.render(&Chat { messages: &messages, tools: None, asks: true, ..chat })?;
    let shown = text.find(MARK).map(|at| &text[at + MARK.len()..]);
    let behind = shown.map(|text| text.split_once(end).map_or(text, |(_, behind)| behind));
    behind.map(str::to_owned).ok_or_else(|| TextError::Invalid {
        code: "chat_template_failed",
        detail: format!("the chat template does not show what follows a message of the assistant in the role `{role}`"),
    })
}

/// The text of a conversation that does not go on, and the parts of it that the assistant says, each with the text `end`
/// that ends its turn.
pub fn assistants_part(
    template: &ChatTemplate,
    chat: Chat<'_>,
    end: &str,
) -> Result<(String, Vec<Range<usize>>), TextError> {
    let chat = Chat { asks: false, ..chat };
    let text = template.render(&chat)?;
    let mut parts: Vec<Range<usize>> = Vec::new();
    let said = chat.messages.iter().enumerate().filter(|(_, message)| message.role() == ASSISTANT);
    for (index, message) in said {
        let until =
            |count: usize, asks: bool| template.render(&Chat { messages: &chat.messages[..count], asks, ..chat });
        let content = message.content().unwrap_or_default();
        let start = match marked(template, chat, (index, content.len() - content.trim_start().len()), &text)? {
            Some(start) => start,
            // The mark was lost, as before reasoning that a template takes apart.
            None => common(&text, &until(index, true)?),
        };
        let stop = match marked(template, chat, (index, content.trim_end().len()), &text)? {
            Some(stop) => {
                let behind = text[stop..].find(end).filter(|at| text[stop..stop + at].trim().is_empty());
                behind.map_or(stop, |at| stop + at + end.len())
            }
            // It calls tools.
            None => {
                let whole = &text[..common(&text, &until(index + 1, false)?)];
                whole.rfind(end).map_or(whole.len(), |at| at + end.len())
            }
        };
        if start >= stop || parts.last().is_some_and(|last| last.end > start) {
            let detail = format!("the chat template does not show where message {index} of the assistant stands");
            return Err(TextError::Invalid { code: "chat_template_failed", detail });
        }
        parts.push(start..stop);
    }
    Ok((text, parts))
}

/// Where a mark at a place of a message's content shows in the text; nothing where the message says nothing, or where the
/// mark changes more than that.
fn marked(
    template: &ChatTemplate,
    chat: Chat<'_>,
    (index, place): (usize, usize),
    text: &str,
) -> Result<Option<usize>, TextError> {
    let mut messages = chat.messages.to_vec();
    let Some(content) = messages[index].content().filter(|content| !content.trim().is_empty()) else { return Ok(None) };
    messages[index] = messages[index].saying(format!("{}{MARK}{}", &content[..place], &content[place..]));
    let with = template.render(&Chat { messages: &messages, ..chat })?;
    let Some(at) = with.find(MARK) else { return Ok(None) };
    let same = text.get(..at) == Some(&with[..at]) && text.get(at..) == Some(&with[at + MARK.len()..]);
    Ok(same.then_some(at))
}

/// The length of what two texts begin with.
fn common(one: &str, other: &str) -> usize {
    let same = one.char_indices().zip(other.chars()).find(|((_, a), b)| a != b);
    same.map_or(one.len().min(other.len()), |((at, _), _)| at)
}
