//! Verifiers: what a completion is worth, judged by a rule that anyone can read and repeat.
//!
//! A verifier is a pure function of a [`Case`]. It knows no clock, file or network, so a verdict can be reproduced
//! from stored rollouts, but for those that ask something beyond this program, through [`Outside`]; the wall-clock limit
//! on each verdict is kept by the engine. A verifier that cannot judge says
//! so with [`ScoreStatus::Error`], which is counted and never becomes a zero reward: a broken reference answer must
//! not teach the model that its completion was wrong.
//!
//! Adding a verifier is one new file with its configuration and its rule, one `pub mod` and one line in the list below.
//!
//! `string_check`, `text_similarity` and `multi` are what OpenAI calls graders, field for field, so that a grader is a
//! verifier and the other way round.

pub mod choice;
pub mod code;
pub mod command;
pub mod constraints;
mod contract;
pub mod environment;
pub mod exact;
mod excerpt;
pub mod expression;
mod formula;
pub mod http;
pub mod json;
pub mod json_schema;
pub mod length;
pub mod math;
pub mod model;
pub mod multi;
pub mod multiple_choice;
mod number;
pub mod numeric;
mod outside;
pub mod regex;
pub mod repetition;
pub mod sql;
pub mod string_check;
mod template;
pub mod text_similarity;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use crate::job::ScoreStatus;
use crate::job::field::FieldError;
use crate::job::kinds;
pub use excerpt::shortened;
use excerpt::{behind_thought, boxed, fenced, fenced_alone, last_boxed, last_tagged, part_names};
pub use formula::calculate;
pub use outside::sandbox;
#[cfg(test)]
pub use outside::scripted;
pub use outside::{Client, Deadline, Failure, MOST_REQUEST_BYTES, Outside, Tries};

/// The column with what an environment said and gave, which rows have where one answers: `conversation` (the text), `answers`
/// (how many) and `rewards` (those that it gave, in order).
pub const ENVIRONMENT: &str = "environment";
/// The longest completion, and the longest expected answer, that is judged.
pub const MAX_TEXT_BYTES: usize = 1 << 20;
/// The longest marker or tag a configuration may name.
const MAX_MARKER_CHARACTERS: usize = 256;
const DEFAULT_TIME_LIMIT_SECONDS: f64 = 10.0;
/// Threads that verify the completions of a job.
const DEFAULT_CONCURRENCY: usize = 2;

/// One completion to judge.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    pub prompt: &'a str,
    pub completion: &'a str,
    /// The row's value in the data set's answer column.
    pub answer: Option<&'a str>,
    /// The whole row, for verifiers that name a column of their own.
    pub row: &'a Map<String, Value>,
}

/// The verdict on one completion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    pub status: ScoreStatus,
    /// Meaningful only where [`Score::is_scored`] holds.
    pub reward: f64,
    /// What was compared, in a form that is the same for equal answers; none where nothing was taken out of the
    /// completion.
    pub answer: Option<String>,
    /// The reason in a sentence for people; always there where there is no ordinary verdict.
    pub detail: Option<String>,
    /// The verdicts that this one is made of, such as those on single tests; none where it is one rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

/// One of the verdicts that a verdict is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    pub name: String,
    pub score: Score,
}

impl Score {
    fn of(status: ScoreStatus, reward: f64, detail: Option<String>) -> Self {
        Self { status, reward, answer: None, detail, parts: Vec::new() }
    }

    pub fn ok(reward: f64) -> Self {
        Self::of(ScoreStatus::Ok, reward, None)
    }

    /// The same verdict with its reason.
    pub fn because(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    /// The same verdict with those that it is made of.
    pub fn with_parts(self, parts: Vec<Part>) -> Self {
        Self { parts, ..self }
    }

    /// A verdict on the answer that the completion holds.
    pub fn of_answer(answer: impl Into<String>, reward: f64) -> Self {
        Self { answer: Some(answer.into()), ..Self::ok(reward) }
    }

    pub fn unparsable(detail: impl Into<String>) -> Self {
        Self::of(ScoreStatus::Unparsable, 0.0, Some(detail.into()))
    }

    pub fn error(detail: impl Into<String>) -> Self {
        Self::of(ScoreStatus::Error, 0.0, Some(detail.into()))
    }

    pub fn timeout(limit: Duration) -> Self {
        let detail = format!("the verification did not end within {} s", limit.as_secs_f64());
        Self::of(ScoreStatus::Timeout, 0.0, Some(detail))
    }

    /// The same verdict, but that a completion with nothing to judge earns no more than a wrong answer does: leaving the
    /// answer out is never worth it.
    fn no_better_than(self, wrong: f64) -> Self {
        match self.status {
            ScoreStatus::Unparsable => Self { reward: self.reward.min(wrong), ..self },
            ScoreStatus::Ok | ScoreStatus::Error | ScoreStatus::Timeout => self,
        }
    }

    /// Whether `reward` may enter training and averages.
    pub fn is_scored(&self) -> bool {
        match self.status {
            ScoreStatus::Ok | ScoreStatus::Unparsable => true,
            ScoreStatus::Error | ScoreStatus::Timeout => false,
        }
    }
}

/// A rule that judges completions; called from several threads at once.
pub trait Verifier: Send + Sync {
    fn verify(&self, case: &Case<'_>) -> Score;

    /// The verdicts on some cases, at most [`Verifier::batch`], in their order.
    fn verify_many(&self, cases: &[Case<'_>]) -> Vec<Score> {
        cases.iter().map(|case| self.verify(case)).collect()
    }

    /// How many cases it takes at a time at most.
    fn batch(&self) -> usize {
        1
    }

    /// How many calls of it go on at a time.
    fn concurrency(&self) -> usize {
        DEFAULT_CONCURRENCY
    }

    /// The names of those parts of its scores that have metrics of their own.
    fn part_names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What clients need to know to configure a verifier.
#[derive(Clone, Debug)]
pub struct Description {
    pub name: &'static str,
    /// One sentence for someone who has to choose.
    pub summary: &'static str,
    /// JSON Schema of the fields besides `type`.
    pub schema: Value,
}

/// What every verifier's configuration can say of itself.
trait Settings {
    /// Checks what neither the types nor the bounds of single fields say, such as fields that only make sense together.
    fn check(&self, _pointer: &str) -> Result<(), Vec<FieldError>> {
        Ok(())
    }

    /// What it would need and may not use, or what this machine lacks for it, as errors of the fields that ask for it.
    fn refused(&self, _outside: &Outside, _pointer: &str) -> Result<(), Vec<FieldError>> {
        Ok(())
    }

    /// The verifier itself. What was enabled when it was checked may be gone by now, which its verdicts say.
    fn build(&self, outside: &Outside) -> Arc<dyn Verifier>;

    /// Whether it runs programs, which only keys with the scope `code` may ask for.
    fn runs_code(&self) -> bool {
        false
    }

    /// Whether it takes what an environment gave.
    fn needs_environment(&self) -> bool {
        false
    }

    /// Whether completions are compared with an expected answer at all.
    fn compares_answer(&self) -> bool {
        true
    }

    fn answer_column(&self) -> Option<&str> {
        None
    }
    /// The columns that it reads by name, each behind the field that names it.
    fn columns(&self) -> Vec<(String, String)> {
        let column = self.answer_column().filter(|_| self.compares_answer());
        column.map(|column| (String::from("answer_column"), column.to_owned())).into_iter().collect()
    }

    /// Whether it compares with the data set's answer column.
    fn needs_answer(&self) -> bool {
        self.compares_answer() && self.answer_column().is_none()
    }

    /// Whether a verdict can depend on the row, and not on the completion alone.
    fn reads_row(&self) -> bool {
        self.needs_answer() || !self.columns().is_empty()
    }

    /// A right completion that stands in the row itself, besides its answer.
    fn reference(&self, _row: &Map<String, Value>) -> Option<String> {
        None
    }

    /// The row's answer as a completion that the verifier reads has to write it: in its tags, its box, behind its marker.
    fn written(&self, answer: &str, _row: &Map<String, Value>) -> String {
        answer.to_owned()
    }

    fn time_limit_seconds(&self) -> f64;
}

macro_rules! describe {
    ($module:ident, $name:literal) => {
        Description {
            name: $name,
            summary: $module::SUMMARY,
            schema: schemars::schema_for!($module::Config).to_value(),
        }
    };
}

kinds! {
    /// A checked verifier configuration; [`Config::parse`] is the way to one.
    "verifier", describe:
    Code(code) = "code",
    Command(command) = "command",
    Exact(exact) = "exact",
    Expression(expression) = "expression",
    Choice(choice) = "choice",
    MultipleChoice(multiple_choice) = "multiple_choice",
    Math(math) = "math",
    Http(http) = "http",
    Model(model) = "model",
    Numeric(numeric) = "numeric",
    Regex(regex) = "regex",
    Json(json) = "json",
    JsonSchema(json_schema) = "json_schema",
    Sql(sql) = "sql",
    Constraints(constraints) = "constraints",
    Length(length) = "length",
    Repetition(repetition) = "repetition",
    Environment(environment) = "environment",
    StringCheck(string_check) = "string_check",
    TextSimilarity(text_similarity) = "text_similarity",
    Multi(multi) = "multi",
}

impl Config {
    /// Reads a verifier that has a name for people, as every grader of OpenAI's has; where a verifier has no field for
    /// it, it says nothing.
    pub fn parse_named(value: &Value, pointer: &str) -> Result<Self, Vec<FieldError>> {
        let described = catalog().iter().find(|known| value["type"] == known.name);
        if described.is_none_or(|known| known.schema["properties"].get("name").is_some()) {
            return Self::parse(value, pointer);
        }
        let mut value = value.clone();
        if let Some(fields) = value.as_object_mut() {
            fields.shift_remove("name");
        }
        Self::parse(&value, pointer)
    }

    /// What it would need and the operator has not enabled, or this machine lacks, as errors of the fields below
    /// `pointer`.
    pub fn refused(&self, outside: &Outside, pointer: &str) -> Result<(), Vec<FieldError>> {
        self.settings().refused(outside, pointer)
    }

    /// Whether it runs programs, which only keys with the scope `code` may ask for.
    pub fn runs_code(&self) -> bool {
        self.settings().runs_code()
    }

    /// Whether it takes what an environment gave, which there must be then.
    pub fn needs_environment(&self) -> bool {
        self.settings().needs_environment()
    }

    /// The verifier itself, which may use what is `outside`.
    pub fn build(&self, outside: &Outside) -> Arc<dyn Verifier> {
        self.settings().build(outside)
    }

    /// Columns that every row must have besides the data set's own, each behind the field that names it, such as
    /// `answer_column` or `graders.style.reference`.
    pub fn required_columns(&self) -> Vec<(String, String)> {
        self.settings().columns()
    }

    /// Whether the data set must have an answer column, because the verifier compares with it and names no other.
    pub fn needs_answer(&self) -> bool {
        self.settings().needs_answer()
    }

    /// Whether a verdict can depend on the row, and not on the completion alone.
    pub fn reads_row(&self) -> bool {
        self.settings().reads_row()
    }

    /// A right completion that stands in the row itself, besides its answer: a reference program where programs are judged.
    pub fn reference(&self, row: &Map<String, Value>) -> Option<String> {
        self.settings().reference(row)
    }

    /// The row's answer as a completion that the verifier reads has to write it.
    pub fn written(&self, answer: &str, row: &Map<String, Value>) -> String {
        self.settings().written(answer, row)
    }

    /// The wall-clock time one verification may take.
    pub fn time_limit(&self) -> Duration {
        duration(self.settings().time_limit_seconds())
    }
}

/// The expected answer of a case as text: from `column` if one is named, otherwise from the data set's answer column.
fn expected_answer<'a>(case: &Case<'a>, column: Option<&str>) -> Result<Cow<'a, str>, String> {
    let answer = match column {
        None => case.answer.map(Cow::Borrowed).ok_or_else(|| String::from("the row has no expected answer"))?,
        Some(column) => match case.row.get(column) {
            Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
            Some(Value::Number(number)) => Cow::Owned(number.to_string()),
            Some(Value::Bool(truth)) => Cow::Borrowed(if *truth { "true" } else { "false" }),
            Some(Value::Null) | None => return Err(format!("the row has no value in column {}", quote(column))),
            Some(Value::Array(_) | Value::Object(_)) => {
                return Err(format!("column {} holds neither text nor a number", quote(column)));
            }
        },
    };
    check_length("the expected answer", &answer)?;
    Ok(answer)
}

/// Keeps the work of one verification bounded.
fn check_length(what: &str, text: &str) -> Result<(), String> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(format!("{what} has {} bytes; at most {MAX_TEXT_BYTES} are judged", text.len()));
    }
    Ok(())
}

/// One argument of a LaTeX command, a group in braces or a digit, and what follows it.
fn latex_argument(text: &str) -> Option<(&str, &str)> {
    // A longer argument is no number; without a bound nested open braces would take quadratic time.
    const LONGEST: usize = 256;
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return Some(text.split_at(1));
    }
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate().take(LONGEST) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth > 0 => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (at > 0).then(|| (&text[1..at], &text[at + 1..]));
        }
    }
    None
}

/// The verdict on the answer in a completion that is to be the same text as the expected one.
fn same_or_not(answer: String, expected: &str) -> Score {
    if answer == expected {
        return Score::of_answer(answer, 1.0).because("it is the expected answer");
    }
    let reason = format!("{} is not the expected {}", quote(&answer), quote(expected));
    Score::of_answer(answer, 0.0).because(reason)
}

/// The beginning of `text` in quotation marks, short enough for a message.
fn quote(text: &str) -> String {
    const SHOWN: usize = 60;
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

/// A number of seconds; none where it is out of bounds, which whoever wrote it is told.
fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

fn default_time_limit_seconds() -> f64 {
    DEFAULT_TIME_LIMIT_SECONDS
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(value: Value) -> Vec<(String, &'static str)> {
        Config::parse(&value, "/verifier").unwrap_err().into_iter().map(|error| (error.pointer, error.code)).collect()
    }

    /// The least that a configuration of each type says.
    fn examples() -> Vec<Value> {
        let input = "{{ sample.output_text }}";
        let example = |name: &&str| match *name {
            "command" => json!({"type": name, "command": "a"}),
            "http" => json!({"type": name, "service": "a"}),
            "model" => json!({"type": name, "endpoint": "a", "rubric": input}),
            "regex" => json!({"type": name, "pattern": "a"}),
            "string_check" => json!({"type": name, "input": input, "reference": "a", "operation": "eq"}),
            "text_similarity" => json!({"type": name, "input": input, "reference": "a", "evaluation_metric": "bleu"}),
            "choice" => json!({"type": name, "labels": ["a", "b"]}),
            "json_schema" => json!({"type": name, "schema": {"type": "object"}}),
            "sql" => json!({"type": name, "setup": "create table t (a)"}),
            "constraints" => json!({"type": name, "instructions": [{"id": "punctuation:no_comma"}]}),
            "length" => json!({"type": name, "length": 1}),
            "multi" => json!({"type": name, "graders": {"a": {"type": "exact"}}, "calculate_output": "a"}),
            name => json!({"type": name}),
        };
        KNOWN.iter().map(example).collect()
    }

    #[test]
    fn a_refusal_names_the_field() {
        assert_eq!(refusal(json!("numeric")), [("/verifier".to_owned(), "wrong_type")]);
        assert_eq!(refusal(json!({})), [("/verifier/type".to_owned(), "missing_field")]);
        assert_eq!(refusal(json!({"type": 3})), [("/verifier/type".to_owned(), "wrong_type")]);
        assert_eq!(refusal(json!({"type": "python"})), [("/verifier/type".to_owned(), "unknown_value")]);
        let unknown = json!({"type": "numeric", "tolerence": 0.1});
        assert_eq!(refusal(unknown), [("/verifier/tolerence".to_owned(), "unknown_field")]);
        let wrong = json!({"type": "exact", "ignore_case": "yes"});
        assert_eq!(refusal(wrong), [("/verifier/ignore_case".to_owned(), "wrong_type")]);
        assert_eq!(refusal(json!({"type": "regex"})), [("/verifier/pattern".to_owned(), "missing_field")]);
    }

    #[test]
    fn an_unknown_value_is_answered_with_the_known_ones() {
        let errors = Config::parse(&json!({"type": "python"}), "").unwrap_err();
        for name in KNOWN {
            assert!(errors[0].detail.contains(name), "{}", errors[0].detail);
        }
    }

    #[test]
    fn every_verifier_checks_the_shared_fields() {
        for mut value in examples() {
            for limit in [0.0, -0.99, 1e300] {
                value["time_limit_seconds"] = json!(limit);
                assert_eq!(refusal(value.clone()), [("/verifier/time_limit_seconds".to_owned(), "out_of_range")]);
            }
            value["time_limit_seconds"] = json!(0.01);
            let config = Config::parse(&value, "").unwrap();
            assert_eq!(config.time_limit(), Duration::from_millis(10));
            if config.resolved().get("answer_column").is_none() {
                continue;
            }
            value["answer_column"] = json!("");
            let pointers: Vec<String> = refusal(value).into_iter().map(|(pointer, _)| pointer).collect();
            assert!(pointers.contains(&"/verifier/answer_column".to_owned()), "{pointers:?}");
        }
    }

    #[test]
    fn a_resolved_configuration_names_every_field_and_reads_back_the_same() {
        for (value, description) in examples().into_iter().zip(catalog()) {
            let config = Config::parse(&value, "").unwrap();
            let resolved = config.resolved();
            assert_eq!(resolved["type"], description.name);
            assert_eq!(Config::parse(&resolved, "").unwrap(), config);
            let fields = description.schema["properties"].as_object().unwrap();
            assert_eq!(resolved.as_object().unwrap().len(), fields.len() + 1);
            for (name, schema) in fields {
                assert!(resolved.get(name).is_some(), "{name} is missing");
                assert!(schema.get("description").is_some(), "{name} is not documented");
            }
        }
    }

    #[test]
    fn the_columns_a_row_needs_follow_the_configuration() {
        let columns = |value: Value| {
            let config = Config::parse(&value, "").unwrap();
            let named = config.required_columns().into_iter().map(|(field, column)| format!("{field}={column}"));
            (named.collect::<Vec<_>>().join(" "), config.needs_answer())
        };
        let named = |text: &str| text.to_owned();
        assert_eq!(columns(json!({"type": "numeric"})), (String::new(), true));
        assert_eq!(columns(json!({"type": "exact", "answer_column": "a"})), (named("answer_column=a"), false));
        assert_eq!(columns(json!({"type": "regex", "pattern": "a"})), (String::new(), false));
        assert_eq!(columns(json!({"type": "regex", "pattern": "(a)", "group": 1})), (String::new(), true));
        let check = json!({"type": "string_check", "input": "{{sample.output_text}} {{item.q}}",
                           "reference": "{{ item.meta.level }}", "operation": "eq"});
        assert_eq!(columns(check.clone()), (named("input=q reference=meta"), false));
        let graders =
            json!({"style": check, "number": {"type": "numeric", "answer_column": "n"}, "text": {"type": "exact"}});
        let multi = json!({"type": "multi", "graders": graders, "calculate_output": "style + number + text"});
        let members = "graders.number.answer_column=n graders.style.input=q graders.style.reference=meta";
        assert_eq!(columns(multi), (named(members), true));
    }

    #[test]
    fn only_judged_completions_are_scored() {
        assert!(Score::ok(1.0).is_scored());
        assert!(Score::unparsable("no number").is_scored());
        assert!(!Score::error("no answer").is_scored());
        assert!(!Score::timeout(Duration::from_secs(1)).is_scored());
        for status in ScoreStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(*status));
        }
    }

    #[test]
    fn a_named_column_replaces_the_answer_and_numbers_and_bools_become_text() {
        let row = json!({"n": 12, "f": 0.5, "b": true, "s": "text", "z": null, "l": [1]});
        let row = row.as_object().unwrap();
        let case = Case { prompt: "", completion: "", answer: Some("default"), row };
        assert_eq!(expected_answer(&case, None).unwrap(), "default");
        for (column, text) in [("n", "12"), ("f", "0.5"), ("b", "true"), ("s", "text")] {
            assert_eq!(expected_answer(&case, Some(column)).unwrap(), text);
        }
        for column in ["z", "l", "absent"] {
            assert!(expected_answer(&case, Some(column)).is_err(), "{column}");
        }
    }

    #[test]
    fn the_last_complete_pair_of_tags_counts() {
        let tagged = |text| last_tagged(text, "<a>", "</a>");
        assert_eq!(tagged("<a>1</a> <a>2</a> <a>3"), Some("2"));
        assert_eq!(tagged("<a>1</a> </a>"), Some("1"));
        assert_eq!(tagged("<a><a>1</a>"), Some("1"));
        assert_eq!(tagged("</a> <a>1"), None);
        assert_eq!(last_tagged("$$1$$ and $$2$$", "$$", "$$"), Some("2"));
    }
}
