//! What scoring services and programs are told of a case, and how what they answer is read: the same JSON for both, which
//! `docs/VERIFIERS.md` describes.
//!
//! An answer that cannot be read is an error for its case and never a zero. Answers are untrusted: texts are cut, parts
//! are counted, and a reward is a finite number within the range that the configuration states.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Case, Part, Score};
use crate::job::field::{FieldError, Fields};

/// Of a configuration's parameters as JSON.
pub const MOST_PARAMETER_BYTES: usize = 64 << 10;
const MOST_TEXT_CHARACTERS: usize = 2000;
const MOST_PARTS: usize = 32;
const MOST_NAME_BYTES: usize = 64;

/// The scores that can be given, from the lowest to the highest; rewards are their places in it, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ScoreRange([f64; 2]);

impl ScoreRange {
    pub const fn of(lowest: f64, highest: f64) -> Self {
        Self([lowest, highest])
    }

    pub fn lowest(self) -> f64 {
        self.0[0]
    }

    pub fn highest(self) -> f64 {
        self.0[1]
    }

    /// Whether it is a range at all.
    pub fn is_valid(self) -> bool {
        let [lowest, highest] = self.0;
        lowest < highest && (highest - lowest).is_finite()
    }

    /// The reward for a score; an error where it lies outside.
    pub fn reward(self, score: f64) -> Result<f64, String> {
        let [lowest, highest] = self.0;
        if !(lowest..=highest).contains(&score) {
            return Err(format!("the score {score} does not lie between {lowest} and {highest}"));
        }
        Ok((score - lowest) / (highest - lowest))
    }
}

/// What is wrong with what a configuration says about what is told, and about scores.
pub fn check(
    pointer: &str,
    columns: Option<&[String]>,
    parameters: &Map<String, Value>,
    range: Option<ScoreRange>,
) -> Vec<FieldError> {
    let mut fields = Fields::below(pointer);
    let named = columns.is_none_or(|columns| columns.iter().all(|column| !column.is_empty()));
    fields.require(named, "columns", "the name of a column has at least one character");
    let bytes = Value::Object(parameters.clone()).to_string().len();
    let detail = format!("must have at most {MOST_PARAMETER_BYTES} bytes as JSON, and has {bytes}");
    fields.require(bytes <= MOST_PARAMETER_BYTES, "parameters", detail);
    let detail = "has the lowest and the highest score, the first below the second";
    fields.require(range.is_none_or(ScoreRange::is_valid), "score_range", detail);
    fields.finish().err().unwrap_or_default()
}

/// The columns that must be there for what is told, each behind the field that names it.
pub fn columns(answer_column: Option<&str>, columns: Option<&[String]>) -> Vec<(String, String)> {
    let answer = answer_column.map(|column| (String::from("answer_column"), column.to_owned()));
    let named = columns.unwrap_or_default().iter().map(|column| (String::from("columns"), column.clone()));
    answer.into_iter().chain(named).collect()
}

/// What is told of a case: its texts, and the row, or those of its columns that are named.
pub fn told(
    case: &Case<'_>,
    answer_column: Option<&str>,
    columns: Option<&[String]>,
) -> Result<Map<String, Value>, String> {
    let answer = match answer_column {
        Some(_) => Some(super::expected_answer(case, answer_column)?),
        None => case.answer.map(Cow::Borrowed),
    };
    super::check_length("the completion", case.completion)?;
    let row = match columns {
        None => case.row.clone(),
        Some(columns) => columns
            .iter()
            .map(|column| {
                let value = case.row.get(column).cloned();
                let value = value.ok_or_else(|| format!("the row has no value in column {}", super::quote(column)))?;
                Ok((column.clone(), value))
            })
            .collect::<Result<_, String>>()?,
    };
    let told = json!({"prompt": case.prompt, "completion": case.completion, "answer": answer, "row": row});
    match told {
        Value::Object(told) => Ok(told),
        _ => Err(String::from("a case is no object")),
    }
}

/// Reads JSON in which `NaN` and `Infinity` may stand, as some languages write them: as texts, so that they are wrong
/// where they stand and nowhere else.
pub fn read(text: &str) -> Result<Value, String> {
    serde_json::from_str(text)
        .or_else(|error| match with_quoted_numbers(text) {
            Cow::Owned(quoted) => serde_json::from_str(&quoted),
            Cow::Borrowed(_) => Err(error),
        })
        .map_err(|error| format!("it is no JSON ({error}): {}", super::quote(text)))
}

/// The text with the words for what is no number in JSON in quotation marks, outside of texts.
fn with_quoted_numbers(text: &str) -> Cow<'_, str> {
    const WORDS: [&str; 3] = ["NaN", "-Infinity", "Infinity"];
    let mut out = String::new();
    let (mut rest, mut inside, mut found) = (text, false, false);
    while let Some(c) = rest.chars().next() {
        let word = WORDS.iter().find(|word| !inside && rest.starts_with(**word));
        let length = match (word, c) {
            (Some(word), _) => {
                found = true;
                out.push_str(&format!("\"{word}\""));
                rest = &rest[word.len()..];
                continue;
            }
            // What follows it belongs to it.
            (None, '\\') if inside => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            (None, '"') => {
                inside = !inside;
                1
            }
            (None, other) => other.len_utf8(),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    if found { Cow::Owned(out) } else { Cow::Borrowed(text) }
}

/// The verdict in what was answered for a case: a number, or an object with `reward` and perhaps `reason`, `answer` and
/// `parts`, or with `unparsable` or `error` and the reason instead.
pub fn verdict(answered: &Value, range: Option<ScoreRange>) -> Score {
    match answered {
        Value::Object(fields) => {
            let read = || -> Result<Score, String> {
                if let Some(error) = cause(fields, "error")? {
                    return Err(format!("it cannot judge: {error}"));
                }
                match (cause(fields, "unparsable")?, fields.get("reward").filter(|reward| !reward.is_null())) {
                    (Some(reason), None) => Ok(Score::unparsable(reason)),
                    (Some(_), Some(_)) => Err(String::from("a verdict has both `reward` and `unparsable`")),
                    (None, _) => scored(fields, range),
                }
            };
            read().unwrap_or_else(Score::error)
        }
        number => reward(number, range).map_or_else(Score::error, Score::ok),
    }
}

/// The cause in a member that says why there is no reward. Where there is one such a member is empty, `false` or null, and
/// says nothing.
fn cause(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match fields.get(name) {
        None | Some(Value::Null | Value::Bool(false)) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(cause @ (Value::String(_) | Value::Object(_))) => Ok(Some(plain(cause))),
        Some(other @ (Value::Bool(true) | Value::Number(_) | Value::Array(_))) => {
            let other = super::quote(&other.to_string());
            Err(format!("`{name}` is the reason in words or an object, and not {other}"))
        }
    }
}

fn scored(fields: &Map<String, Value>, range: Option<ScoreRange>) -> Result<Score, String> {
    let Some(given) = fields.get("reward") else {
        return Err(String::from("a verdict has neither `reward` nor `unparsable` nor `error`"));
    };
    let mut score = Score::ok(reward(given, range)?);
    score.detail = text(fields, "reason");
    score.answer = text(fields, "answer");
    let parts = match fields.get("parts") {
        None | Some(Value::Null) => return Ok(score),
        Some(Value::Object(parts)) => parts,
        Some(_) => return Err(String::from("`parts` is no object of names and numbers")),
    };
    if parts.len() > MOST_PARTS || parts.keys().any(|name| !(1..=MOST_NAME_BYTES).contains(&name.len())) {
        let detail = format!(
            "`parts` has more than {MOST_PARTS} members, or one whose name has more than {MOST_NAME_BYTES} bytes"
        );
        return Err(detail);
    }
    let part = |(name, value): (&String, &Value)| {
        let reward = reward(value, None).map_err(|detail| format!("part {}: {detail}", super::quote(name)))?;
        Ok(Part { name: name.clone(), score: Score::ok(reward) })
    };
    Ok(score.with_parts(parts.iter().map(part).collect::<Result<_, String>>()?))
}

fn reward(value: &Value, range: Option<ScoreRange>) -> Result<f64, String> {
    let number = match value {
        Value::Number(number) => number.as_f64().filter(|number| number.is_finite()),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let number =
        number.ok_or_else(|| format!("a reward is a finite number, and not {}", super::quote(&value.to_string())))?;
    range.map_or(Ok(number), |range| range.reward(number))
}

fn text(fields: &Map<String, Value>, name: &str) -> Option<String> {
    fields.get(name).filter(|value| !value.is_null()).map(plain)
}

/// A text as it is, anything else as JSON; short enough to be kept with every completion.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => shortened(text),
        other => shortened(&other.to_string()),
    }
}

/// The beginning of a text that is kept with every completion.
pub fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(MOST_TEXT_CHARACTERS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verifier::ScoreStatus;

    #[test]
    fn a_case_is_told_with_its_row_or_with_the_columns_that_are_named() {
        let row = json!({"answer": 3, "style": {"a": 1}, "secret": "x"});
        let case = Case { prompt: "p", completion: "c", answer: Some("3"), row: row.as_object().unwrap() };
        let all = Value::Object(told(&case, None, None).unwrap());
        assert_eq!(all, json!({"prompt": "p", "completion": "c", "answer": "3", "row": row}));
        let some = told(&case, Some("secret"), Some(&[String::from("style")])).unwrap();
        assert_eq!(
            Value::Object(some),
            json!({"prompt": "p", "completion": "c", "answer": "x", "row": {"style": {"a": 1}}})
        );
        let absent = [String::from("absent")];
        assert!(told(&case, None, Some(&absent)).unwrap_err().contains("absent"));
        assert!(told(&case, Some("style"), None).is_err());
    }

    #[test]
    fn a_number_or_an_object_is_a_verdict() {
        assert_eq!(verdict(&json!(0.5), None), Score::ok(0.5));
        let full = json!({"reward": 1, "reason": "fine", "answer": 42, "parts": {"a": 0.5}, "more": true});
        let part = Part { name: String::from("a"), score: Score::ok(0.5) };
        let expected = Score::of_answer("42", 1.0).because("fine").with_parts(vec![part]);
        assert_eq!(verdict(&full, None), expected);
        let nothing = verdict(&json!({"unparsable": "no answer"}), None);
        assert_eq!((nothing.status, nothing.reward), (ScoreStatus::Unparsable, 0.0));
        assert_eq!(verdict(&json!({"reward": 0, "reason": null, "parts": null, "error": null}), None), Score::ok(0.0));
        for silent in [json!(false), json!(null), json!(""), json!(" ")] {
            let judged = json!({"reward": 1, "unparsable": silent, "error": silent});
            assert_eq!(verdict(&judged, None), Score::ok(1.0), "{judged}");
        }
        assert_eq!(verdict(&json!({"reward": null, "unparsable": {"why": 1}}), None).status, ScoreStatus::Unparsable);
    }

    #[test]
    fn what_is_no_verdict_is_an_error_and_never_a_zero() {
        let many: Map<String, Value> = (0..33).map(|n| (n.to_string(), json!(1))).collect();
        for wrong in [
            json!(null),
            json!("0.5"),
            json!("NaN"),
            json!(true),
            json!([1]),
            json!({}),
            json!({"score": 1}),
            json!({"reward": null}),
            json!({"reward": "1"}),
            json!({"reward": 1, "parts": [1]}),
            json!({"reward": 1, "parts": {"a": "1"}}),
            json!({"reward": 1, "parts": {"": 1}}),
            json!({"reward": 1, "parts": many}),
            json!({"reward": 1, "error": "the database is gone"}),
            json!({"reward": 1, "error": {}}),
            json!({"reward": 1, "error": true}),
            json!({"reward": 1, "unparsable": "no answer"}),
            json!({"reward": 1, "unparsable": true}),
            json!({"unparsable": true}),
            json!({"unparsable": false}),
            json!({"unparsable": "", "error": ""}),
        ] {
            let score = verdict(&wrong, None);
            assert!(score.status == ScoreStatus::Error && score.detail.is_some(), "{wrong}: {score:?}");
        }
        assert!(verdict(&json!({"error": "gone"}), None).detail.unwrap().contains("gone"));
    }

    #[test]
    fn scores_of_a_range_are_rewards_between_0_and_1_and_others_are_errors() {
        let range = Some(ScoreRange::of(1.0, 5.0));
        assert_eq!(verdict(&json!(1), range).reward, 0.0);
        assert_eq!(verdict(&json!({"reward": 4.0}), range).reward, 0.75);
        for outside in [0.999, 5.001, -1e300] {
            assert_eq!(verdict(&json!(outside), range).status, ScoreStatus::Error, "{outside}");
        }
        assert!(!ScoreRange::of(1.0, 1.0).is_valid() && !ScoreRange::of(f64::NAN, 1.0).is_valid());
        assert!(!ScoreRange::of(f64::MIN, f64::MAX).is_valid());
    }

    #[test]
    fn what_is_no_number_in_json_spoils_its_own_place_only() {
        let text = r#"{"scores": [1, NaN, -Infinity, {"reward": Infinity, "reason": "NaN \" NaN \\"}, 0.5]}"#;
        let read = read(text).unwrap();
        let scores: Vec<Score> = read["scores"].as_array().unwrap().iter().map(|score| verdict(score, None)).collect();
        let statuses: Vec<&str> = scores.iter().map(|score| score.status.as_str()).collect();
        assert_eq!(statuses, ["ok", "error", "error", "error", "ok"]);
        assert!(scores[1].detail.as_ref().unwrap().contains("NaN"));
        assert_eq!(read["scores"][3]["reason"], "NaN \" NaN \\");
        for wrong in ["", "NaN]", "{\"scores\": [1,", "<html>NaN</html>", "\"\\"] {
            assert!(super::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn long_texts_are_cut() {
        let score = verdict(&json!({"reward": 1, "reason": "ü".repeat(5000)}), None);
        assert_eq!(score.detail.unwrap().chars().count(), MOST_TEXT_CHARACTERS + 1);
    }
}
