//! Chat templates: messages to the text that the model was trained to read.
//!
//! Templates are Jinja programs that come with models, so they are untrusted. They run without files, network or a
//! clock: `strftime_now` is left undefined, which most test for, and for the others is always the same day, so that a
//! prompt is the same whenever it is made. There is a limit on steps and on output. How deep
//! a template is nested and what it builds in memory has no limit of its own, also while it is read: the API reads and renders
//! none but in a process that has one, a worker does so in its own.

use std::error::Error as _;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde, Value};
use minijinja::{Environment, ErrorKind};
use minijinja_contrib::pycompat::unknown_method_callback;
use regex::{Captures, Regex};
use serde::Serialize;

use crate::dataset::Message;
use crate::modelfile::gguf::{self, GgufValue, Metadata};
use crate::modelfile::{Format, Inspection, ModelFileError, read_json, read_limited};

const TEMPLATE_LIMIT_BYTES: usize = 64 << 10;
const OUTPUT_LIMIT_BYTES: usize = 1 << 20;
const CONFIG_LIMIT_BYTES: u64 = 4 << 20;
/// Steps of the template engine. The longest published templates take a few hundred for each message.
const FUEL: u64 = 2_000_000;
const NAME: &str = "chat template";

#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    #[error("the chat template has {bytes} bytes; the limit is {TEMPLATE_LIMIT_BYTES}")]
    TemplateTooLarge { bytes: usize },
    #[error("the chat template cannot be read: {0}")]
    Syntax(minijinja::Error),
    #[error("the model's chat_template is neither a text nor a list with a template named default")]
    NoDefault,
    /// The template called `raise_exception`: these messages are not what the model was trained on.
    #[error("the chat template refuses these messages: {0}")]
    Refused(String),
    #[error("the chat template needs more than {FUEL} steps")]
    TooManySteps,
    #[error("the rendered chat is longer than {OUTPUT_LIMIT_BYTES} bytes")]
    OutputTooLong,
    #[error("the chat template failed: {0}")]
    Render(minijinja::Error),
    #[error(transparent)]
    File(#[from] ModelFileError),
}

pub struct ChatTemplate {
    environment: Environment<'static>,
    source: String,
    bos_token: Option<String>,
    eos_token: Option<String>,
}

impl ChatTemplate {
    pub fn new(source: &str, bos_token: Option<String>, eos_token: Option<String>) -> Result<Self, ChatError> {
        if source.len() > TEMPLATE_LIMIT_BYTES {
            return Err(ChatError::TemplateTooLarge { bytes: source.len() });
        }
        let mut environment = Environment::new();
        // As transformers sets Jinja up.
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(ChatError::Syntax)?);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.set_fuel(Some(FUEL));
        environment.add_function("raise_exception", raise_exception);
        environment.add_filter("tojson", tojson);
        // Nothing is not iterable in Python.
        environment.add_test("iterable", |value: &Value| !value.is_none() && value.try_iter().is_ok());
        if source.contains("strftime_now") && !source.contains("strftime_now is defined") {
            environment.add_function("strftime_now", strftime_now);
        }
        environment.add_template_owned(NAME, without_marks(source)).map_err(ChatError::Syntax)?;
        Ok(Self { environment, source: source.to_owned(), bos_token, eos_token })
    }

    /// The template of an inspected model, or `other` in its place; `None` where there is neither and the model takes
    /// plain text.
    pub fn of(inspection: &Inspection, other: Option<&str>) -> Result<Option<Self>, ChatError> {
        Parts::of(inspection)?.template(other)
    }

    /// The template beside a `tokenizer_config.json`.
    pub fn from_hf_dir(dir: &Path) -> Result<Option<Self>, ChatError> {
        Parts::of_hf_dir(dir)?.template(None)
    }

    /// The text of `chat`: what transformers' `apply_chat_template` makes of it.
    pub fn render(&self, chat: &Chat<'_>) -> Result<String, ChatError> {
        let context = Value::from(Serde(Context {
            messages: chat.messages,
            add_generation_prompt: chat.asks,
            tools: chat.tools,
            documents: None,
            enable_thinking: chat.thinking,
            thinking: chat.thinking,
            bos_token: self.bos_token.as_deref(),
            eos_token: self.eos_token.as_deref(),
        }));
        let template = self.environment.get_template(NAME).map_err(ChatError::Render)?;
        let mut output = Limited::default();
        let rendered = template.render_captured_to(context, &mut output).map(drop);
        match rendered {
            _ if output.overflowed => Err(ChatError::OutputTooLong),
            Ok(()) => Ok(String::from_utf8_lossy(&output.bytes).into_owned()),
            Err(error) => Err(render_error(error)),
        }
    }

    /// The template's text, for exports.
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// Whether a model's template, or `other` in its place, knows `enable_thinking`: with or without reasoning. The template is
/// not read as the program that it is, which takes a process with limits.
pub fn knows_thinking(inspection: &Inspection, other: Option<&str>) -> Result<bool, ChatError> {
    let own = if other.is_none() { Parts::of(inspection)?.source } else { None };
    Ok(other.or(own.as_deref()).is_some_and(|source| source.contains("enable_thinking")))
}

/// A conversation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chat<'a> {
    pub messages: &'a [Message],
    /// What may be called.
    pub tools: Option<&'a serde_json::Value>,
    pub thinking: Option<bool>,
    /// It ends where the assistant's answer begins (`add_generation_prompt`).
    pub asks: bool,
}

/// What a template is made of.
#[derive(Debug, Default)]
struct Parts {
    source: Option<String>,
    bos_token: Option<String>,
    eos_token: Option<String>,
}

impl Parts {
    fn of(inspection: &Inspection) -> Result<Self, ChatError> {
        Ok(match (inspection.weights.first(), inspection.format) {
            (None, _) => Self::default(),
            (Some(weights), Format::Gguf) => Self::of_gguf(&gguf::read(weights)?.metadata),
            (Some(weights), Format::HuggingFace) => Self::of_hf_dir(weights.parent().unwrap_or(Path::new(".")))?,
        })
    }

    fn template(self, other: Option<&str>) -> Result<Option<ChatTemplate>, ChatError> {
        let source = other.or(self.source.as_deref());
        source.map(|source| ChatTemplate::new(source, self.bos_token, self.eos_token)).transpose()
    }

    /// `chat_template.jinja` wins over `tokenizer_config.json`, as in transformers.
    fn of_hf_dir(dir: &Path) -> Result<Self, ChatError> {
        let config = Some(dir.join("tokenizer_config.json")).filter(|path| path.is_file());
        let config = config.map(|path| read_json(&path, CONFIG_LIMIT_BYTES)).transpose()?.unwrap_or_default();
        let token = |key: &str| {
            let token = config.get(key)?;
            token.as_str().or_else(|| token.get("content")?.as_str()).map(str::to_owned)
        };
        let file = dir.join("chat_template.jinja");
        let source = if file.is_file() {
            let bytes = read_limited(&file, TEMPLATE_LIMIT_BYTES as u64)?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        } else {
            default_template(&config)?
        };
        Ok(Self { source, bos_token: token("bos_token"), eos_token: token("eos_token") })
    }

    fn of_gguf(metadata: &Metadata) -> Self {
        let tokens = metadata.get("tokenizer.ggml.tokens").and_then(GgufValue::as_texts).unwrap_or_default();
        let token = |key: &str| {
            let id = metadata.get(key).and_then(GgufValue::as_u64)?;
            tokens.get(usize::try_from(id).ok()?).cloned()
        };
        let source = metadata.get("tokenizer.chat_template").and_then(GgufValue::as_str);
        let [bos_token, eos_token] = ["tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id"].map(token);
        Self { source: source.map(str::to_owned), bos_token, eos_token }
    }
}

/// What transformers passes. A token that the model lacks is undefined there, not none.
#[derive(Serialize)]
struct Context<'a> {
    messages: &'a [Message],
    add_generation_prompt: bool,
    tools: Option<&'a serde_json::Value>,
    documents: Option<()>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enable_thinking: Option<bool>,
    /// Granite's name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bos_token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    eos_token: Option<&'a str>,
}

fn default_template(config: &serde_json::Value) -> Result<Option<String>, ChatError> {
    match config.get("chat_template") {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(serde_json::Value::String(source)) => Ok(Some(source.clone())),
        Some(serde_json::Value::Array(named)) => {
            let default =
                named.iter().find(|entry| entry.get("name").and_then(|name| name.as_str()) == Some("default"));
            let source = default.and_then(|entry| entry.get("template")?.as_str());
            source.map(|source| Some(source.to_owned())).ok_or(ChatError::NoDefault)
        }
        Some(_) => Err(ChatError::NoDefault),
    }
}

/// transformers' marks of what the assistant says, as blocks that mean nothing.
fn without_marks(source: &str) -> String {
    static MARK: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\{%([-+]?)\s*(end)?generation\s*([-+]?)%\}").expect("the expression is valid"));
    let block = |found: &Captures<'_>| {
        let word = if found.get(2).is_some() { "endif" } else { "if true" };
        format!("{{%{} {word} {}%}}", &found[1], &found[3])
    };
    MARK.replace_all(source, block).into_owned()
}

/// The date of a day that is always the same.
fn strftime_now(format: &str) -> Result<String, minijinja::Error> {
    let date = jiff::civil::date(2025, 1, 1);
    jiff::fmt::strtime::format(format, date)
        .map_err(|error| minijinja::Error::new(ErrorKind::InvalidOperation, error.to_string()))
}

/// Marks errors that the template itself raised.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Raised(String);

fn raise_exception(message: String) -> Result<Value, minijinja::Error> {
    let error = minijinja::Error::new(ErrorKind::InvalidOperation, "the template raised an exception");
    Err(error.with_source(Raised(message)))
}

fn render_error(error: minijinja::Error) -> ChatError {
    if error.kind() == ErrorKind::OutOfFuel {
        return ChatError::TooManySteps;
    }
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(Raised(message)) = cause.downcast_ref() {
            return ChatError::Refused(message.clone());
        }
        source = cause.source();
    }
    ChatError::Render(error)
}

/// JSON as Python writes it. The engine's own filter also escapes what is special in HTML; that is undone here.
fn tojson(value: &Value, indent: Option<Value>, options: Kwargs) -> Result<String, minijinja::Error> {
    // transformers' arguments that do not change ordinary output.
    for ignored in ["ensure_ascii", "separators", "sort_keys"] {
        options.get::<Option<Value>>(ignored)?;
    }
    let indent: Option<Value> = if indent.is_some() { indent } else { options.get("indent")? };
    options.assert_all_used()?;
    let no_options = Kwargs::from_iter(std::iter::empty::<(&str, Value)>());
    let escaped = minijinja::filters::tojson(value, indent, no_options)?.to_string();
    let mut text = String::with_capacity(escaped.len());
    let mut rest = escaped.as_str();
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let escape = &rest[at..];
        let plain = [("\\u003c", '<'), ("\\u003e", '>'), ("\\u0026", '&'), ("\\u0027", '\'')];
        rest = match plain.iter().find(|(code, _)| escape.starts_with(code)) {
            Some((code, character)) => {
                text.push(*character);
                &escape[code.len()..]
            }
            // A backslash in JSON is always followed by one ASCII character of its escape.
            None => {
                let length = escape.len().min(2);
                text.push_str(&escape[..length]);
                &escape[length..]
            }
        };
    }
    text.push_str(rest);
    Ok(text)
}

/// Collects output up to the limit.
#[derive(Default)]
struct Limited {
    bytes: Vec<u8>,
    overflowed: bool,
}

impl io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > OUTPUT_LIMIT_BYTES {
            self.overflowed = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn render(source: &str, messages: &[(&str, &str)]) -> Result<String, ChatError> {
        let messages: Vec<Message> = messages.iter().map(|(role, content)| Message::new(*role, *content)).collect();
        let chat = Chat { messages: &messages, asks: true, ..Chat::default() };
        ChatTemplate::new(source, Some("<s>".to_owned()), None)?.render(&chat)
    }

    #[test]
    fn blocks_on_their_own_line_leave_no_white_space() {
        let lines =
            ["{{ bos_token }}", "{% for m in messages %}", "    {% if true %}", "{{ m['role'] }}: {{ m.content }}"];
        let source = lines.join("\n") + "\n    {% endif %}\n{% endfor %}\n";
        assert_eq!(render(&source, &[("user", "a<b"), ("assistant", "c")]).unwrap(), "<s>\nuser: a<b\nassistant: c\n");
    }

    #[test]
    fn the_idioms_of_published_templates_work() {
        let cases = [
            ("{{ messages[-1].content.strip().split('x')[0] | trim }}", "a"),
            ("{% for m in messages[::-1] %}{{ m.role[0] }}{% endfor %}", "au"),
            (
                "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
                "2",
            ),
            ("{{ tools is not none }}{{ tools is defined }}{{ strftime_now is defined }}", "FalseTrueFalse"),
            ("{% if messages[0]['role'] == 'user' and not tools %}yes{% endif %}{{ eos_token }}", "yes"),
            ("{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}{{ loop.index0 }}{% endfor %}", "1"),
            ("{{ messages[0].content.startswith('hé') }}", "True"),
            ("{{ messages[0] | tojson }}", r#"{"role": "user", "content": "hé <'&\\u003c>\n"}"#),
        ];
        for (source, expected) in cases {
            let rendered = render(source, &[("user", "hé <'&\\u003c>\n"), ("assistant", " a xb ")]).unwrap();
            assert_eq!(rendered, expected, "{source}");
        }
    }

    #[test]
    fn what_only_some_templates_use_works_too() {
        let said = "{% generation %}{{ messages[0].content }}{%- endgeneration %}";
        assert_eq!(render(said, &[("user", "x")]).unwrap(), "x");
        assert_eq!(render("{{ strftime_now('%d %B %Y') }}", &[]).unwrap(), "01 January 2025");
        let message = serde_json::json!({"prompt": [
            {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]},
        ]});
        let row = crate::dataset::tests::row(&message.to_string());
        let crate::dataset::Prompt::Messages(messages) = &row.prompt else { panic!() };
        let tools = serde_json::json!([{"type": "function", "function": {"name": "f"}}]);
        let chat = Chat { messages, tools: Some(&tools), thinking: Some(false), asks: false };
        let source = "{{ messages[0].tool_calls[0].function | tojson }}{{ tools[0].function.name }}\
                      {{ enable_thinking is defined and enable_thinking is false }}{{ messages[0].content is none }}";
        let rendered = ChatTemplate::new(source, None, None).unwrap().render(&chat).unwrap();
        assert_eq!(rendered, r#"{"name": "f", "arguments": {"x": 1}}fTrueTrue"#);
    }

    #[test]
    fn what_a_template_raises_reaches_the_caller_in_its_words() {
        let source = "{% if messages[0].role != 'user' %}{{ raise_exception('Roles must alternate') }}{% endif %}";
        let error = render(source, &[("system", "")]).unwrap_err();
        assert!(matches!(&error, ChatError::Refused(message) if message == "Roles must alternate"), "{error:?}");
    }

    #[test]
    fn a_template_without_end_and_an_output_without_end_are_stopped() {
        let nested = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}";
        assert!(matches!(render(nested, &[]), Err(ChatError::TooManySteps)));
        let long = "{% for a in range(2000) %}{{ 'x' * 1000 }}{% endfor %}";
        assert!(matches!(render(long, &[]), Err(ChatError::OutputTooLong)));
        let large = " ".repeat(TEMPLATE_LIMIT_BYTES + 1);
        assert!(matches!(render(&large, &[]), Err(ChatError::TemplateTooLarge { .. })));
        assert!(matches!(render("{% if %}", &[]), Err(ChatError::Syntax(_))));
    }

    #[test]
    fn the_template_file_wins_and_the_default_of_a_list_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let template = |other| Parts::of_hf_dir(dir.path()).unwrap().template(other).unwrap();
        let render = |template: Option<ChatTemplate>| template.unwrap().render(&Chat::default()).unwrap();
        assert!(template(None).is_none());
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        write(
            "tokenizer_config.json",
            r#"{"bos_token":{"content":"<s>"},"eos_token":"</s>",
                "chat_template":[{"name":"rag","template":"no"},
                {"name":"default","template":"{{ bos_token }}list{{ eos_token }}"}]}"#,
        );
        assert_eq!(render(template(None)), "<s>list</s>");
        write("chat_template.jinja", "file{{ add_generation_prompt }}");
        assert_eq!(render(template(None)), "fileFalse");
        assert_eq!(render(template(Some("mine{{ eos_token }}"))), "mine</s>");
        assert_eq!(template(None).unwrap().source(), "file{{ add_generation_prompt }}");
    }
}
