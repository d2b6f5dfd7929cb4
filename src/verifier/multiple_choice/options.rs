//! The options of a question: their labels and their words.

use serde_json::{Map, Value};

use super::MAX_OPTIONS;
use crate::verifier::{MAX_TEXT_BYTES, quote};

/// The options in their order.
pub struct Options {
    labels: Vec<String>,
    /// Folded words of each; none where nothing is known but the letters.
    texts: Vec<String>,
}

impl Options {
    /// `count` options from A on, of which no words are known.
    pub fn lettered(count: usize) -> Self {
        Self { labels: ('A'..='Z').take(count).map(String::from).collect(), texts: Vec::new() }
    }

    /// The options in a column of a row.
    pub fn of_column(row: &Map<String, Value>, column: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("column {} {why}", quote(column));
        let (labels, texts) = match row.get(column) {
            Some(Value::Array(items)) => (None, texts(items)),
            Some(Value::Object(members)) => {
                let list = |name: &str| members.get(name).and_then(Value::as_array);
                match (list("text").or(list("texts")), list("label").or(list("labels"))) {
                    (Some(items), Some(labels)) => (self::texts(labels), texts(items)),
                    _ => (Some(members.keys().cloned().collect()), texts(members.values())),
                }
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => (None, None),
        };
        let form = "holds no options: give a list of texts, or an object from letters to texts";
        let texts = texts.ok_or_else(|| wrong(form))?;
        if !(2..=MAX_OPTIONS).contains(&texts.len()) {
            return Err(wrong(&format!("holds {} options; there may be 2 to {MAX_OPTIONS}", texts.len())));
        }
        let labels = labels.unwrap_or_else(|| Self::lettered(texts.len()).labels);
        let single = |label: &String| label.len() == 1 && label.starts_with(|c: char| c.is_ascii_alphanumeric());
        if labels.len() != texts.len() || !labels.iter().all(single) {
            return Err(wrong("has labels that are not one letter or digit for each option"));
        }
        let texts: Vec<String> = texts.iter().map(|text| folded(text)).collect();
        let twice = |list: &[String]| list.iter().enumerate().any(|(at, one)| list[..at].contains(one));
        let labels: Vec<String> = labels.iter().map(|label| label.to_uppercase()).collect();
        if twice(&texts) || twice(&labels) {
            return Err(wrong("holds the same option twice"));
        }
        if texts.iter().map(String::len).sum::<usize>() > MAX_TEXT_BYTES {
            return Err(wrong(&format!("holds more than {MAX_TEXT_BYTES} bytes")));
        }
        Ok(Self { labels, texts })
    }

    pub fn len(&self) -> usize {
        self.labels.len()
    }

    pub fn label(&self, place: usize) -> &str {
        &self.labels[place]
    }

    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// The option of a label, whatever stands around it: `b`, `(B)`, `B.`.
    pub fn with_label(&self, text: &str) -> Option<usize> {
        let bare = bare(text);
        self.labels.iter().position(|label| label.eq_ignore_ascii_case(bare))
    }

    /// The option that a text names and nothing else: by its words, its label, or both, such as `B) the moon`.
    pub fn alone(&self, text: &str) -> Option<usize> {
        self.with_text(text).or_else(|| self.with_label(text)).or_else(|| {
            let label = text.trim_start_matches(|c: char| !c.is_alphanumeric());
            let (label, words) = label.split_at_checked(1)?;
            let place = self.with_label(label)?;
            let rest = self.behind_words(words, place);
            (rest.len() < words.len() && bare(rest).is_empty()).then_some(place)
        })
    }

    /// What follows the words of an option where a text goes on with them; else the text itself.
    pub fn behind_words<'t>(&self, text: &'t str, place: usize) -> &'t str {
        /// Longer words are not looked for behind each mark, which keeps the work linear.
        const LONGEST: usize = 512;
        let words = self.texts.get(place).filter(|words| (1..=LONGEST).contains(&words.len()));
        let Some(words) = words else { return text };
        let start = text.trim_start_matches(|c: char| c.is_whitespace() || ")]}*_`:.-".contains(c));
        let mut end = 0;
        for _ in words.split(' ') {
            let begin = end + start[end..].len() - start[end..].trim_start().len();
            end = start[begin..].find(char::is_whitespace).map_or(start.len(), |length| begin + length);
        }
        let trimmed = start[..end].trim_end_matches(['.', ',', ';', '!', '?', '*', '_']);
        if folded(trimmed) == *words { &start[trimmed.len()..] } else { text }
    }

    /// The option of these words and nothing else.
    pub fn with_text(&self, text: &str) -> Option<usize> {
        let (whole, bare) = (folded(text), folded(bare(text)));
        let same = |option: &String| !option.is_empty() && (*option == whole || *option == bare);
        self.texts.iter().position(same)
    }
}

fn texts<'a>(items: impl IntoIterator<Item = &'a Value>) -> Option<Vec<String>> {
    let text = |item: &Value| match item {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(item.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    items.into_iter().map(text).collect()
}

/// The form in which words are compared: lower case, one space between them, no full stop at the end.
pub fn folded(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ").trim_end_matches('.').to_owned()
}

/// A text without what is put around a letter: brackets, emphasis, punctuation, `\text{}`.
pub fn bare(text: &str) -> &str {
    let around = |c: char| c.is_whitespace() || "*_`\"'$()[]{}.,:;!?\\。，：".contains(c);
    let mut text = text.trim_matches(around);
    for command in ["text", "textbf", "mathrm", "mathbf"] {
        if let Some(rest) = text.strip_prefix(command).filter(|rest| rest.starts_with('{')) {
            text = rest.trim_matches(around);
        }
    }
    text
}
