//! Multiple choice: which option a completion decides for, by its letter or by its words.
//!
//! Looked for behind a `</think>`, in this order: the last `\boxed{}`, the last pair of tags, a letter that stands alone on
//! the last line or that a last "so B" concludes on, the last "the answer is", an option that "is correct", a letter alone on
//! the first line, one marked letter such as `B)`, and the words of one option, unless they are said to be wrong. Who names several options has not decided, so that writing all of them
//! down earns nothing.

mod decision;
mod options;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Case, MAX_MARKER_CHARACTERS, Outside, Score, Settings, Verifier};
use crate::job::field::{FieldError, Fields};
use decision::{Patterns, Undecided};
use options::Options;

pub const SUMMARY: &str = "The option that the completion decides for, by letter or in words, is the expected one.";

/// The most options: one for each letter.
const MAX_OPTIONS: usize = 26;

/// Configuration of the `multiple_choice` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How many options there are, lettered from A, where no column has them.
    #[schemars(range(min = 2, max = MAX_OPTIONS))]
    options: usize,
    /// The column with the options of a row, so that they are found in words as well: a list of texts, an object from
    /// letters to texts, or an object with the lists `label` and `text`.
    #[schemars(length(min = 1))]
    options_column: Option<String>,
    /// What the expected answer is written as.
    answer: Answer,
    /// The number of the first option when `answer` is `index`.
    #[schemars(range(min = 0, max = 1))]
    first_index: usize,
    /// Where the decision is looked for.
    extract: Extract,
    /// Begins the decision.
    #[schemars(length(min = 1, max = MAX_MARKER_CHARACTERS))]
    open_tag: String,
    /// Ends the decision.
    #[schemars(length(min = 1, max = MAX_MARKER_CHARACTERS))]
    close_tag: String,
    /// The column of the expected answer; by default the data set's answer column.
    #[schemars(length(min = 1))]
    answer_column: Option<String>,
    /// Seconds one verification may take.
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Answer {
    /// The letter or label of the right option, such as `B` or `(b)`.
    Letter,
    /// Its number, from `first_index` on.
    Index,
    /// Its words.
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Extract {
    /// Wherever completions decide.
    Auto,
    /// In the last `\boxed{}` only.
    Boxed,
    /// Between the last pair of tags only.
    Tag,
    /// The completion is the option and nothing else.
    All,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            options: 10,
            options_column: None,
            answer: Answer::Letter,
            first_index: 0,
            extract: Extract::Auto,
            open_tag: String::from("<answer>"),
            close_tag: String::from("</answer>"),
            answer_column: None,
            time_limit_seconds: super::DEFAULT_TIME_LIMIT_SECONDS,
        }
    }
}

impl Config {
    fn options_of(&self, row: &Map<String, Value>) -> Result<Options, String> {
        match &self.options_column {
            None => Ok(Options::lettered(self.options)),
            Some(column) => Options::of_column(row, column),
        }
    }

    /// The option that an expected answer says is right.
    fn place(&self, answer: &str, options: &Options) -> Option<usize> {
        match self.answer {
            Answer::Letter => options.with_label(answer),
            Answer::Index => {
                let place = answer.trim().parse::<usize>().ok()?.checked_sub(self.first_index)?;
                (place < options.len()).then_some(place)
            }
            Answer::Text => options.with_text(answer),
        }
    }
}

impl Settings for Config {
    fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        let mut fields = Fields::below(pointer);
        fields.require(
            self.answer != Answer::Text || self.options_column.is_some(),
            "options_column",
            "is needed where `answer` is `text`: it says which option has these words",
        );
        fields.finish()
    }

    fn build(&self, _outside: &Outside) -> Arc<dyn Verifier> {
        Arc::new(MultipleChoice { config: self.clone(), patterns: Patterns::new() })
    }

    fn answer_column(&self) -> Option<&str> {
        self.answer_column.as_deref()
    }

    fn columns(&self) -> Vec<(String, String)> {
        let named = [("options_column", &self.options_column), ("answer_column", &self.answer_column)];
        named.into_iter().filter_map(|(field, column)| Some((field.to_owned(), column.clone()?))).collect()
    }

    /// By its letter where the answer is a number, which the options themselves may be.
    fn written(&self, answer: &str, row: &Map<String, Value>) -> String {
        let letter = || {
            let options = self.options_of(row).ok()?;
            Some(options.label(self.place(answer, &options)?).to_owned())
        };
        let answer = match self.answer {
            Answer::Letter | Answer::Text => answer.to_owned(),
            Answer::Index => letter().unwrap_or_else(|| answer.to_owned()),
        };
        match self.extract {
            Extract::Auto | Extract::All => answer,
            Extract::Boxed => super::boxed(&answer),
            Extract::Tag => format!("{}{answer}{}", self.open_tag, self.close_tag),
        }
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

struct MultipleChoice {
    config: Config,
    patterns: Patterns,
}

impl Verifier for MultipleChoice {
    fn verify(&self, case: &Case<'_>) -> Score {
        let (options, right) = match self.asked(case) {
            Ok(asked) => asked,
            Err(detail) => return Score::error(detail),
        };
        if let Err(detail) = super::check_length("the completion", case.completion) {
            return Score::error(detail);
        }
        match self.decision(case.completion, &options) {
            Ok(chosen) => {
                let (label, wanted) = (options.label(chosen), options.label(right));
                let reward = f64::from(u8::from(chosen == right));
                Score::of_answer(label, reward).because(format!("it decides for {label}; right is {wanted}"))
            }
            Err(Undecided::Several(first, other)) => {
                let (first, other) = (options.label(first), options.label(other));
                Score::unparsable(format!("the completion names several options, such as {first} and {other}"))
            }
            Err(Undecided::None) => Score::unparsable("the completion decides for none of the options"),
        }
    }
}

impl MultipleChoice {
    /// The options of a row, and which of them is right.
    fn asked(&self, case: &Case<'_>) -> Result<(Options, usize), String> {
        let options = self.config.options_of(case.row)?;
        let answer = super::expected_answer(case, self.config.answer_column.as_deref())?;
        let shown = super::quote(&answer);
        let right = self.config.place(&answer, &options).ok_or_else(|| {
            format!(
                "the expected answer {shown} is none of the {} options; `answer` says how it is written",
                options.len()
            )
        })?;
        Ok((options, right))
    }

    fn decision(&self, completion: &str, options: &Options) -> Result<usize, Undecided> {
        let completion = match self.config.extract {
            Extract::All => completion,
            Extract::Auto | Extract::Boxed | Extract::Tag => super::behind_thought(completion),
        };
        let tagged = || super::last_tagged(completion, &self.config.open_tag, &self.config.close_tag);
        let marked = match self.config.extract {
            Extract::Auto => super::last_boxed(completion).or_else(tagged),
            Extract::Boxed => Some(super::last_boxed(completion).ok_or(Undecided::None)?),
            Extract::Tag => Some(tagged().ok_or(Undecided::None)?),
            Extract::All => Some(completion),
        };
        match marked {
            Some(part) => self.patterns.stated(part, options),
            None => self.patterns.decided(completion, options),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::verifier::{self, ScoreStatus};

    fn score(mut config: Value, completion: &str, answer: &str) -> Score {
        config["type"] = json!("multiple_choice");
        let row = json!({"list": ["Paris", "New York", "York", "42"], "map": {"A": "red", "B": "blue"},
                         "arc": {"text": ["sun", "moon"], "label": ["1", "2"]}, "all": ["All of the above", "None of the above", "A and B", "Both A and C"], "no": 3, "one": ["x"], "twice": ["x", "x "]});
        let case = Case { prompt: "", completion, answer: Some(answer), row: row.as_object().unwrap() };
        verifier::Config::parse(&config, "").unwrap().build(&Outside::default()).verify(&case)
    }

    #[test]
    fn a_letter_is_found_however_it_is_written() {
        for completion in [
            "B",
            " b ",
            "(B)",
            "**B**",
            "B.",
            "B) because it is so",
            "(B) Paris",
            "Option B",
            "The answer is B",
            "The answer is (b).",
            "So the correct answer is **B**, not A.",
            "Answer: B",
            "ANSWER:\n\nB",
            "The final answer is option B because A is wrong.",
            "A is tempting. The correct choice is: B.",
            "thinking about A and C\n\\boxed{B}",
            "\\boxed{\\text{B}}",
            "\\boxed{(B) New York}",
            "A) no\nC) no\n<answer>B</answer>",
            "A) red\nB) blue\nC) green\n\nB",
            "B\nBecause the others are too small.",
            "Final answer: $B$",
            "The answer is A? No. The answer is B.",
            "The answer is A? No.\n\nB",
            "<think>Maybe the answer is A. No, that fails.</think>\nB",
            "<think>\\boxed{A}</think>\\boxed{B}",
            "If the answer was A, x would be 3. So I choose B.",
            "The answer is (B), because (A) is too small and (C) too large.",
            "The answer is B. A) is too small, B) is not.",
            "The answer is B, I think.",
            "The answer is \\textbf{B}.",
            "B) as A) and C) fail",
            "B is the correct answer.",
            "Option B is correct.",
            "Answer choice B is correct.",
            "Therefore, option (B) is the right one.",
            "A fails, so B is right. C is not.",
            "A is too small. Thus, B.",
            "Hence (B).",
            "So it must be **B**.",
            "The answer is therefore B.",
            "The answer is clearly B.",
            "The correct answer to the question is B.",
            "The answer is not A; it is B.",
            "Ans: B",
            "Answer - B",
            "{\"answer\": \"B\"}",
            "```json\n{\"choice\": \"(b)\"}\n```",
            "答案是B",
            "答案：B。",
        ] {
            let score = score(json!({}), completion, "B");
            assert_eq!((score.reward, score.answer.as_deref()), (1.0, Some("B")), "{completion:?}: {score:?}");
        }
    }

    #[test]
    fn who_names_several_or_none_has_not_decided() {
        for completion in [
            "",
            "A B C D",
            "A, B",
            "A\nB\nC\nD",
            "A) red\nB) blue\nC) green",
            "The answer is A or B.",
            "A) red B) green C) blue",
            "(A) red, (B) green, (C) blue",
            "A: red B: green",
            "**A** red **B** green",
            "\\boxed{A) red B) green C) blue}",
            "\\boxed{A. foo, B. bar}",
            "The answer is A) red B) green C) blue",
            "\\boxed{\\text{A}, \\text{C}}",
            "\\boxed{A and also C}",
            "The answer is A or maybe C",
            "The answer is A or the option C",
            "The answer is not A.",
            "If the answer was A, x would be 3.",
            "<think>The answer is A.</think>I do not know.",
            "\\boxed{A, B}",
            "<answer>A and C</answer>",
            "A dog is an animal.",
            "The answer is a number.",
            "The answer is A dog.",
            "I think it is hard.",
            "A or B is correct.",
            "A is correct. B is correct.",
            "A is not correct.",
            "If A is correct, x is 3.",
            "I don't think A is correct.",
            "Is A correct?",
            "The answer is not A; it is A or B.",
            "So A or B.",
            "{\"answer\": \"A or B\"}",
            "{\"A\": 1, \"B\": 2}",
            "Z",
        ] {
            let score = score(json!({}), completion, "A");
            assert_eq!(score.status, ScoreStatus::Unparsable, "{completion:?}: {score:?}");
        }
        assert_eq!(score(json!({}), "C", "A").reward, 0.0);
    }

    #[test]
    fn options_are_found_in_words_where_a_column_has_them() {
        let config = || json!({"options_column": "list"});
        for (completion, right) in [
            ("New York", "B"),
            ("The answer is new york.", "B"),
            ("It must be York, I believe", "C"),
            ("\\boxed{42}", "D"),
            ("<answer>Paris.</answer>", "A"),
            ("I am sure that it is New York!", "B"),
            ("The answer is B) Paris", "B"),
        ] {
            assert_eq!(score(config(), completion, right).reward, 1.0, "{completion}");
        }
        let all = json!({"options_column": "all"});
        for (completion, right) in [
            ("C) A and B", "C"),
            ("The answer is (C) A and B.", "C"),
            ("\\boxed{C) A and B}", "C"),
            ("A and B", "C"),
            ("D. Both A and C\nThe others are too small.", "D"),
        ] {
            let score = score(all.clone(), completion, right);
            assert_eq!(score.reward, 1.0, "{completion}: {score:?}");
        }
        for right in ["It is York, not Paris.", "It is not Paris but York", "Paris is wrong. It must be York."] {
            assert_eq!(score(config(), right, "C").reward, 1.0, "{right}");
        }
        for none in [
            "Paris or York",
            "Yorkshire",
            "E",
            "London",
            "The answer is not Paris.",
            "It is not Paris.",
            "It isn't the Paris",
            "Anything but Paris",
            "I don't think it is Paris",
            "Paris is not right",
        ] {
            assert_eq!(score(config(), none, "A").status, ScoreStatus::Unparsable, "{none}");
        }
    }

    #[test]
    fn columns_of_other_forms_and_answers_of_other_kinds_are_read() {
        assert_eq!(score(json!({"options_column": "map"}), "blue", "B").reward, 1.0);
        assert_eq!(score(json!({"options_column": "arc"}), "The answer is 2.", "2").reward, 1.0);
        assert_eq!(score(json!({"options_column": "arc"}), "moon", "2").reward, 1.0);
        assert_eq!(score(json!({"options_column": "list", "answer": "text"}), "C", "york").reward, 1.0);
        assert_eq!(score(json!({"options_column": "list", "answer": "index"}), "C", "2").reward, 1.0);
        assert_eq!(score(json!({"answer": "index", "first_index": 1}), "C", "3").reward, 1.0);
        assert_eq!(score(json!({"extract": "tag"}), "B", "B").status, ScoreStatus::Unparsable);
        assert_eq!(score(json!({"extract": "all"}), "The answer is B", "B").status, ScoreStatus::Unparsable);
        assert_eq!(score(json!({"extract": "boxed"}), "A \\boxed{b}", "B").reward, 1.0);
    }

    #[test]
    fn the_expected_answer_is_written_as_it_is_read() {
        for extract in ["auto", "boxed", "tag", "all"] {
            for (answer, given, written) in [("letter", "b", "b"), ("index", "1", "B"), ("index", "9", "9")] {
                let config = json!({"type": "multiple_choice", "extract": extract, "answer": answer, "options": 4});
                let config = verifier::Config::parse(&config, "").unwrap();
                let expected = match extract {
                    "boxed" => format!("\\boxed{{{written}}}"),
                    "tag" => format!("<answer>{written}</answer>"),
                    _ => written.to_owned(),
                };
                assert_eq!(config.written(given, &Map::new()), expected);
            }
        }
    }

    #[test]
    fn a_row_that_asks_nothing_is_an_error_and_says_why() {
        for (config, answer) in [
            (json!({}), "E or so"),
            (json!({"options": 4}), "E"),
            (json!({"options_column": "list"}), "E"),
            (json!({"options_column": "absent"}), "A"),
            (json!({"options_column": "no"}), "A"),
            (json!({"options_column": "one"}), "A"),
            (json!({"options_column": "twice"}), "A"),
            (json!({"answer": "index", "first_index": 1}), "0"),
            (json!({"answer": "index", "options": 4}), "4"),
            (json!({"options_column": "list", "answer": "text"}), "London"),
        ] {
            assert_eq!(score(config.clone(), "A", answer).status, ScoreStatus::Error, "{config} {answer}");
        }
        let config = json!({"type": "multiple_choice", "answer": "text"});
        let errors = verifier::Config::parse(&config, "/v").unwrap_err();
        assert_eq!((errors[0].pointer.as_str(), errors[0].code), ("/v/options_column", "out_of_range"));
    }

    #[test]
    fn a_megabyte_of_anything_ends() {
        for piece in ["answer is ", "\\boxed{", "A) ", "(A", "<answer>", "A\n", "New York ", "**"] {
            let text = piece.repeat(verifier::MAX_TEXT_BYTES / piece.len());
            let score = score(json!({"options_column": "list"}), &text, "A");
            assert_ne!(score.status, ScoreStatus::Error, "{piece}");
        }
    }
}
