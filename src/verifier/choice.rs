//! One of several labels: which of them a completion names.
//!
//! For classification in words, such as `positive`, `negative` and `neutral`. A label counts where it stands as a word of
//! its own, and the longest counts where one holds another, so that neither `not spam` nor `not-spam` names `spam`; a word
//! with a hyphen is another one, so that `non-spam` names nothing. What stands directly behind `not` is not named. A completion that names several labels has not decided,
//! and earns nothing unless it opens with one and gives reasons, or the configuration says which of them counts.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

use ::regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Case, MAX_MARKER_CHARACTERS, Outside, Score, Settings, Verifier};
use crate::job::field::{FieldError, Fields};

pub const SUMMARY: &str = "The one label out of a list that the completion names is the expected one.";

const MAX_LABELS: usize = 1000;
/// The largest compiled pattern of all labels, in bytes.
const MAX_COMPILED_BYTES: usize = 16 << 20;

/// What may stand between the words of a label.
const BETWEEN: &str = r"[\s\-\u{2010}-\u{2015}]+";

/// Configuration of the `choice` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The labels that there are.
    #[schemars(length(min = 2, max = MAX_LABELS), inner(length(min = 1, max = MAX_MARKER_CHARACTERS)))]
    labels: Vec<String>,
    /// Where the label is looked for.
    #[serde(default)]
    extract: Extract,
    /// Begins the part that is looked at when `extract` is `tag`.
    #[serde(default = "default_open_tag")]
    #[schemars(length(min = 1, max = MAX_MARKER_CHARACTERS))]
    open_tag: String,
    /// Ends the part that is looked at when `extract` is `tag`.
    #[serde(default = "default_close_tag")]
    #[schemars(length(min = 1, max = MAX_MARKER_CHARACTERS))]
    close_tag: String,
    /// Which label counts when several are named.
    #[serde(default)]
    several: Several,
    /// Upper and lower case are the same.
    #[serde(default = "default_ignore_case")]
    ignore_case: bool,
    /// The labels stand in their order, such as marks: a wrong one earns the more the nearer it is, the one at the other
    /// end nothing.
    #[serde(default)]
    ordered: bool,
    /// The column of the expected label; by default the data set's answer column.
    #[serde(default)]
    #[schemars(length(min = 1))]
    answer_column: Option<String>,
    /// Seconds one verification may take.
    #[serde(default = "super::default_time_limit_seconds")]
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Extract {
    /// Anywhere in the completion.
    #[default]
    Anywhere,
    /// In the last line that is not empty.
    LastLine,
    /// Between the last pair of tags.
    Tag,
    /// In the last `\boxed{}`.
    Boxed,
    /// The completion is a label and nothing else, but for white space and punctuation around it.
    All,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Several {
    /// None: the completion has not decided.
    #[default]
    Refuse,
    First,
    Last,
}

fn default_open_tag() -> String {
    String::from("<answer>")
}

fn default_close_tag() -> String {
    String::from("</answer>")
}

fn default_ignore_case() -> bool {
    true
}

impl Config {
    fn compile(&self) -> Result<Regex, ::regex::Error> {
        let mut labels: Vec<&str> = self.labels.iter().map(|label| label.trim()).collect();
        labels.sort_by_key(|label| Reverse(label.len()));
        let one = |label: &&str| {
            let begin = if is_spaced(label.chars().next()) { r"\b{start-half}" } else { "" };
            let end = if is_spaced(label.chars().next_back()) { r"\b{end-half}" } else { "" };
            let words: Vec<String> = label.split_whitespace().map(::regex::escape).collect();
            format!("{begin}{}{end}", words.join(BETWEEN))
        };
        let pattern = labels.iter().map(one).collect::<Vec<_>>().join("|");
        RegexBuilder::new(&pattern).case_insensitive(self.ignore_case).size_limit(MAX_COMPILED_BYTES).build()
    }

    fn folded(&self, label: &str) -> String {
        if self.ignore_case { label.trim().to_lowercase() } else { label.trim().to_owned() }
    }
}

/// Whether a character joins two words to one.
fn is_joining(c: char) -> bool {
    matches!(c, '-' | '\u{2010}'..='\u{2015}')
}

/// A folded label in a form that is the same whatever stands between its words.
fn key(folded: &str) -> String {
    let mut key = String::new();
    for c in folded.chars().map(|c| if c.is_whitespace() || is_joining(c) { ' ' } else { c }) {
        if c != ' ' || !key.ends_with(' ') {
            key.push(c);
        }
    }
    key
}

/// Whether what is found from `start` to `end` is only a part of a word with a hyphen.
fn is_hyphenated(text: &str, start: usize, end: usize) -> bool {
    let joins = |first: Option<char>, second: Option<char>| {
        first.is_some_and(is_joining) && second.is_some_and(char::is_alphanumeric)
    };
    let (mut before, mut behind) = (text[..start].chars().rev(), text[end..].chars());
    joins(before.next(), before.next()) || joins(behind.next(), behind.next())
}

/// Whether a text ends on a word that denies what follows it.
fn is_negated(before: &str) -> bool {
    let mut words = before.trim_end().rsplit(|c: char| !c.is_alphanumeric());
    before.ends_with(char::is_whitespace) && words.next().is_some_and(|word| word.eq_ignore_ascii_case("not"))
}

/// Whether a text begins with the label at `first` as its answer, `Yes, there is no doubt`, so that another label at `other`
/// belongs to the reasons. Labels with nothing but a joining word between them are a list.
fn opens(text: &str, first: &Range<usize>, other: usize) -> bool {
    const JOINING: [&str; 8] = ["and", "or", "but", "also", "maybe", "perhaps", "possibly", "probably"];
    let between = &text[first.end..other];
    let mut words = between.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    !text[..first.start].contains(char::is_alphanumeric)
        && between.trim_start_matches(['*', '"', '\'', '`', ' ']).starts_with([',', '.', '!'])
        && words.any(|word| !JOINING.contains(&word.to_lowercase().as_str()))
}

/// Whether a character belongs to a script that puts space between words, so that a label ends where a word does.
fn is_spaced(character: Option<char>) -> bool {
    let joined = |c: char| {
        matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
    };
    character.is_some_and(|c| c.is_alphanumeric() && !joined(c))
}

impl Settings for Config {
    fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        let mut fields = Fields::below(pointer);
        let mut folded: Vec<String> = self.labels.iter().map(|label| key(&self.folded(label))).collect();
        fields.require(folded.iter().all(|label| !label.is_empty()), "labels", "no label may be empty");
        folded.sort();
        let twice = folded.windows(2).find(|pair| pair[0] == pair[1]);
        if let Some(pair) = twice {
            fields.require(false, "labels", format!("{} stands there twice", super::quote(&pair[0])));
        }
        fields.require(self.compile().is_ok(), "labels", "are too long together; give fewer or shorter ones");
        fields.finish()
    }

    fn build(&self, _outside: &Outside) -> Arc<dyn Verifier> {
        let pattern = self.compile().expect("the configuration was checked, and the check compiles the labels");
        let labels: Vec<String> = self.labels.iter().map(|label| self.folded(label)).collect();
        let keys = labels.iter().map(|label| key(label)).collect();
        Arc::new(Choice { config: self.clone(), labels, keys, pattern })
    }

    fn answer_column(&self) -> Option<&str> {
        self.answer_column.as_deref()
    }

    fn written(&self, answer: &str, _row: &Map<String, Value>) -> String {
        match self.extract {
            Extract::Anywhere | Extract::LastLine | Extract::All => answer.to_owned(),
            Extract::Tag => format!("{}{answer}{}", self.open_tag, self.close_tag),
            Extract::Boxed => super::boxed(answer),
        }
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

struct Choice {
    config: Config,
    /// In the order of the configuration, folded.
    labels: Vec<String>,
    /// The same as they are compared.
    keys: Vec<String>,
    /// Matches any label as a word of its own, the longest first.
    pattern: Regex,
}

impl Verifier for Choice {
    fn verify(&self, case: &Case<'_>) -> Score {
        let expected = match super::expected_answer(case, self.config.answer_column.as_deref()) {
            Ok(expected) => expected,
            Err(detail) => return Score::error(detail),
        };
        let Some(right) = self.place(&expected) else {
            let detail = format!("the expected answer {} is none of the labels", super::quote(&expected));
            return Score::error(detail);
        };
        if let Err(detail) = super::check_length("the completion", case.completion) {
            return Score::error(detail);
        }
        let named = match self.named(case.completion) {
            Ok(named) => named,
            Err(detail) => return Score::unparsable(detail),
        };
        let (label, wanted) = (&self.labels[named], &self.labels[right]);
        let reward = if self.config.ordered {
            1.0 - named.abs_diff(right) as f64 / (self.labels.len() - 1) as f64
        } else {
            f64::from(u8::from(named == right))
        };
        let reason = format!("it names {}; expected is {}", super::quote(label), super::quote(wanted));
        Score::of_answer(label, reward).because(reason)
    }
}

impl Choice {
    fn place(&self, label: &str) -> Option<usize> {
        let key = key(&self.config.folded(label));
        self.keys.iter().position(|known| *known == key)
    }

    /// A text without the underscores that emphasise words in it, unless labels hold some of their own.
    fn without_emphasis<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !text.contains('_') || self.labels.iter().any(|label| label.contains('_')) {
            return Cow::Borrowed(text);
        }
        let mut plain = String::with_capacity(text.len());
        let mut rest = text.chars().peekable();
        let mut in_word = false;
        while let Some(c) = rest.next() {
            let inside = in_word && rest.peek().is_some_and(|next| next.is_alphanumeric());
            plain.push(if c == '_' && !inside { ' ' } else { c });
            in_word = c.is_alphanumeric();
        }
        Cow::Owned(plain)
    }

    /// The label that a completion names, by its place; an error says why there is none.
    fn named(&self, completion: &str) -> Result<usize, String> {
        let completion = match self.config.extract {
            Extract::All => completion,
            Extract::Anywhere | Extract::LastLine | Extract::Tag | Extract::Boxed => super::behind_thought(completion),
        };
        let part = match self.config.extract {
            Extract::Anywhere => Some(completion),
            Extract::LastLine => completion.lines().rev().find(|line| !line.trim().is_empty()),
            Extract::Tag => super::last_tagged(completion, &self.config.open_tag, &self.config.close_tag),
            Extract::Boxed => super::last_boxed(completion),
            Extract::All => {
                let bare = completion.trim_matches(|c: char| c.is_whitespace() || "\"'`*_.,:;!?()[]{}".contains(c));
                let place = self.place(completion).or_else(|| self.place(bare));
                return place.ok_or_else(|| String::from("the completion is none of the labels"));
            }
        };
        let part = part.ok_or("the completion has no part where the label is looked for")?;
        let plain = self.without_emphasis(part);
        let part = plain.as_ref();
        let found = self
            .pattern
            .find_iter(part)
            .filter(|found| !is_hyphenated(part, found.start(), found.end()) && !is_negated(&part[..found.start()]));
        let mut found = found.filter_map(|label| Some((label.range(), self.place(label.as_str())?)));
        let (range, first) = found.next().ok_or("the completion names none of the labels")?;
        match self.config.several {
            Several::First => Ok(first),
            Several::Last => Ok(found.last().map_or(first, |(_, last)| last)),
            Several::Refuse => match found.find(|(_, other)| *other != first) {
                None => Ok(first),
                Some((other, _)) if opens(part, &range, other.start) => Ok(first),
                Some((_, other)) => {
                    let (first, other) = (super::quote(&self.labels[first]), super::quote(&self.labels[other]));
                    Err(format!("the completion names several labels, such as {first} and {other}"))
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::verifier::{self, ScoreStatus};

    fn score(mut config: Value, completion: &str, answer: &str) -> Score {
        config["type"] = json!("choice");
        if config.get("labels").is_none() {
            config["labels"] = json!(["spam", "not spam", "C++"]);
        }
        let case = Case { prompt: "", completion, answer: Some(answer), row: &Map::new() };
        verifier::Config::parse(&config, "").unwrap().build(&Outside::default()).verify(&case)
    }

    #[test]
    fn a_label_is_found_as_a_word_and_the_longest_counts() {
        for (completion, answer) in [
            ("spam", "spam"),
            ("This is Not Spam.", "not spam"),
            ("**SPAM**", "spam"),
            ("spam, clearly spam", "spam"),
            ("I would say c++!", "C++"),
            ("not  spam", "not spam"),
            ("It is not\nspam.", "not spam"),
            ("not-spam", "not spam"),
            ("not\u{2011}spam", "not spam"),
            ("- spam\n-spam", "spam"),
            ("spam - that is clear", "spam"),
            ("<think>not spam? C++?</think>spam", "spam"),
        ] {
            assert_eq!(score(json!({}), completion, answer).reward, 1.0, "{completion}");
        }
        for nothing in [
            "",
            "spammer",
            "antispam",
            "spam_filter",
            "not  spam? or C++",
            "spam or not spam",
            "non-spam",
            "anti\u{2010}spam",
            "spam-free",
        ] {
            assert_eq!(score(json!({}), nothing, "spam").status, ScoreStatus::Unparsable, "{nothing}");
        }
        assert_eq!(score(json!({}), "not spam", "spam").reward, 0.0);
    }

    #[test]
    fn what_is_denied_or_only_a_reason_is_not_named() {
        let polar = || json!({"labels": ["yes", "no"]});
        let mood = || json!({"labels": ["positive", "negative"]});
        for (config, completion, answer) in [
            (polar(), "Yes, there is no doubt.", "yes"),
            (polar(), "**No.** I cannot say yes to that.", "no"),
            (mood(), "This review is positive, not negative.", "positive"),
            (mood(), "positive (not negative)", "positive"),
            (mood(), "_positive_", "positive"),
            (mood(), "It is __negative__.", "negative"),
        ] {
            assert_eq!(score(config, completion, answer).reward, 1.0, "{completion}");
        }
        for nothing in
            ["yes, no", "Yes. No.", "yes, or maybe no", "yes no", "I say yes, as there is no doubt.", "not yes"]
        {
            assert_eq!(score(polar(), nothing, "yes").status, ScoreStatus::Unparsable, "{nothing}");
        }
        for nothing in ["It is not positive.", "positive_negative"] {
            assert_eq!(score(mood(), nothing, "positive").status, ScoreStatus::Unparsable, "{nothing}");
        }
    }

    #[test]
    fn which_of_several_counts_can_be_said() {
        let text = "not spam at first sight, but it is spam";
        assert_eq!(score(json!({"several": "first"}), text, "not spam").reward, 1.0);
        assert_eq!(score(json!({"several": "last"}), text, "spam").reward, 1.0);
        assert_eq!(score(json!({"several": "last"}), "spam", "spam").reward, 1.0);
    }

    #[test]
    fn only_the_part_that_is_named_is_looked_at() {
        let text = "spam? <answer> not spam </answer> \\boxed{C++}\nspam\n";
        assert_eq!(score(json!({"extract": "tag"}), text, "not spam").reward, 1.0);
        assert_eq!(score(json!({"extract": "boxed"}), text, "c++").reward, 1.0);
        assert_eq!(score(json!({"extract": "last_line"}), text, "spam").reward, 1.0);
        assert_eq!(score(json!({"extract": "all"}), "\"Spam\".", "spam").reward, 1.0);
        assert_eq!(score(json!({"extract": "all"}), "it is spam", "spam").status, ScoreStatus::Unparsable);
        assert_eq!(score(json!({"extract": "tag"}), "spam", "spam").status, ScoreStatus::Unparsable);
    }

    #[test]
    fn case_and_scripts_without_spaces_are_respected() {
        let config = || json!({"labels": ["US", "us"], "ignore_case": false});
        assert_eq!(score(config(), "Tell us.", "us").reward, 1.0);
        assert_eq!(score(json!({"labels": ["好", "不好"]}), "我觉得不好吃", "不好").reward, 1.0);
        assert_eq!(score(json!({"labels": ["да", "нет"]}), "Нет.", "нет").reward, 1.0);
        assert_eq!(score(json!({"labels": ["да", "нет"]}), "дать", "да").status, ScoreStatus::Unparsable);
    }

    #[test]
    fn ordered_labels_earn_by_their_distance() {
        let config = || json!({"labels": ["1", "2", "3", "4", "5"], "ordered": true});
        for (mark, reward) in [("4", 1.0), ("5", 0.75), ("1", 0.25)] {
            assert_eq!(score(config(), mark, "4").reward, reward, "{mark}");
        }
        let signed = json!({"labels": ["-1", "0", "1"], "ordered": true});
        assert_eq!(score(signed, "I give -1.", "-1").reward, 1.0);
    }

    #[test]
    fn labels_that_cannot_be_told_apart_and_answers_that_are_none_are_refused() {
        let refused = |labels: Value| {
            let config = json!({"type": "choice", "labels": labels});
            let errors = verifier::Config::parse(&config, "/v").unwrap_err();
            (errors[0].pointer.clone(), errors[0].code)
        };
        for labels in [json!(["a"]), json!(["a", "A"]), json!(["a", " "]), json!([" a", "a "]), json!(["a b", "A  b"])]
        {
            assert_eq!(refused(labels.clone()), ("/v/labels".to_owned(), "out_of_range"), "{labels}");
        }
        assert_eq!(score(json!({}), "spam", "ham").status, ScoreStatus::Error);
    }
}
