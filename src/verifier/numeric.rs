//! Numeric comparison: the number a completion ends on is the expected one.
//!
//! How numbers are read from a text is in `number.rs`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::number::{Number, Token, Tokens};
use super::{Case, MAX_MARKER_CHARACTERS, Outside, Score, Settings, Verifier};
use crate::job::field::{FieldError, Fields};

pub const SUMMARY: &str = "The number a completion ends on equals the expected number within a tolerance.";

/// Configuration of the `numeric` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Which number of the completion is judged.
    extract: Extract,
    /// Begins the judged part when `extract` is `tag`.
    #[schemars(length(min = 1, max = MAX_MARKER_CHARACTERS))]
    open_tag: String,
    /// Ends the judged part when `extract` is `tag`.
    #[schemars(length(min = 1, max = MAX_MARKER_CHARACTERS))]
    close_tag: String,
    /// Stands before the judged number when `extract` is `marker`.
    #[schemars(length(min = 1, max = MAX_MARKER_CHARACTERS))]
    marker: String,
    /// Where the expected answer contains this text, only what follows its last occurrence is read; may be empty.
    #[schemars(length(max = MAX_MARKER_CHARACTERS))]
    answer_marker: String,
    /// The column of the expected answer; by default the data set's answer column.
    #[schemars(length(min = 1))]
    answer_column: Option<String>,
    /// The largest absolute difference that still counts as equal.
    #[schemars(range(min = 0.0))]
    tolerance: f64,
    /// The largest difference that still counts as equal, as a share of the expected number; the wider limit holds.
    #[schemars(range(min = 0.0, max = 1.0))]
    relative_tolerance: f64,
    /// What a percent sign does, in the completion and in the expected answer.
    percent: Percent,
    /// The reward of the expected number.
    #[schemars(range(min = -1000.0, max = 1000.0))]
    correct_reward: f64,
    /// The reward of another number. A completion without one is unparsable and earns 0, or this where it is less.
    #[schemars(range(min = -1000.0, max = 1000.0))]
    wrong_reward: f64,
    /// Seconds one verification may take.
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Extract {
    /// The last number of the completion.
    Last,
    /// The last number between the last pair of tags.
    Tag,
    /// The first number after the last marker.
    Marker,
    /// The last number in the last complete `\boxed{...}`.
    Boxed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Percent {
    /// `50%` is 50.
    Ignore,
    /// `50%` is 0.5.
    Divide,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            extract: Extract::Last,
            open_tag: String::from("<answer>"),
            close_tag: String::from("</answer>"),
            marker: String::from("####"),
            answer_marker: String::from("####"),
            answer_column: None,
            tolerance: 1e-6,
            relative_tolerance: 0.0,
            percent: Percent::Ignore,
            correct_reward: 1.0,
            wrong_reward: 0.0,
            time_limit_seconds: super::DEFAULT_TIME_LIMIT_SECONDS,
        }
    }
}

impl Config {
    /// The part of an expected answer that is read.
    fn number_of<'a>(&self, answer: &'a str) -> &'a str {
        let marker = self.answer_marker.as_str();
        answer.rsplit_once(marker).filter(|_| !marker.is_empty()).map_or(answer, |(_, behind)| behind)
    }
}

impl Settings for Config {
    fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        let mut fields = Fields::below(pointer);
        fields.require(self.correct_reward > self.wrong_reward, "correct_reward", "must be above `wrong_reward`");
        fields.finish()
    }

    fn build(&self, _outside: &Outside) -> Arc<dyn Verifier> {
        Arc::new(Numeric { config: self.clone() })
    }

    fn answer_column(&self) -> Option<&str> {
        self.answer_column.as_deref()
    }

    fn written(&self, answer: &str, _row: &Map<String, Value>) -> String {
        let number = self.number_of(answer).trim();
        match self.extract {
            Extract::Last => answer.to_owned(),
            Extract::Tag => format!("{}{number}{}", self.open_tag, self.close_tag),
            Extract::Marker => format!("{} {number}", self.marker),
            Extract::Boxed => super::boxed(number),
        }
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

struct Numeric {
    config: Config,
}

impl Verifier for Numeric {
    fn verify(&self, case: &Case<'_>) -> Score {
        self.compare(case).unwrap_or_else(|no_verdict| no_verdict.no_better_than(self.config.wrong_reward))
    }
}

impl Numeric {
    /// The verdict, or as an error the score that says why there is none.
    fn compare(&self, case: &Case<'_>) -> Result<Score, Score> {
        let expected = self.expected(case).map_err(Score::error)?;
        super::check_length("the completion", case.completion).map_err(Score::error)?;
        let actual = self.judged(case.completion).map_err(Score::unparsable)?;
        let allowed = self.config.tolerance.max(self.config.relative_tolerance * expected.approx.abs());
        let equal = actual.difference(expected) <= allowed;
        let reward = if equal { self.config.correct_reward } else { self.config.wrong_reward };
        let (found, wanted) = (actual.approx, expected.approx);
        let reason =
            if equal { format!("{found} is the expected {wanted}") } else { format!("{found} is not {wanted}") };
        Ok(Score::of_answer(found.to_string(), reward).because(reason))
    }

    /// The expected number. More than one number is an error, because choosing would be guessing.
    fn expected(&self, case: &Case<'_>) -> Result<Number, String> {
        let answer = super::expected_answer(case, self.config.answer_column.as_deref())?;
        let text = self.config.number_of(&answer);
        let mut tokens = Tokens { text, at: 0, percent: self.config.percent };
        match (tokens.next(), tokens.next()) {
            (Some(Token { number: Some(number), .. }), None) => Ok(number),
            (Some(_), Some(_)) => Err(format!("the expected answer {} holds several numbers", super::quote(text))),
            (Some(_) | None, _) => Err(format!("the expected answer {} is not a number", super::quote(text))),
        }
    }

    /// The number of the completion that is judged.
    fn judged(&self, completion: &str) -> Result<Number, String> {
        let Config { open_tag, close_tag, marker, .. } = &self.config;
        let (part, missing) = match self.config.extract {
            Extract::Last => (Some(completion), String::new()),
            Extract::Tag => (super::last_tagged(completion, open_tag, close_tag), format!("{open_tag}...{close_tag}")),
            Extract::Marker => (completion.rsplit_once(marker).map(|(_, behind)| behind), marker.clone()),
            Extract::Boxed => (super::last_boxed(completion), String::from("complete \\boxed{...}")),
        };
        let text = part.ok_or_else(|| format!("the completion has no {missing}"))?;
        let mut tokens = Tokens { text, at: 0, percent: self.config.percent };
        let token = if self.config.extract == Extract::Marker { tokens.next() } else { tokens.last() };
        let token = token.ok_or("the completion holds no number where one is expected")?;
        token.number.ok_or_else(|| format!("{} is not one number", super::quote(token.text)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::verifier::number::SEPARATORS;
    use crate::verifier::{self, ScoreStatus};

    fn score<'a>(mut config: Value, completion: &str, answer: impl Into<Option<&'a str>>) -> Score {
        config["type"] = json!("numeric");
        let verifier = verifier::Config::parse(&config, "").unwrap().build(&Outside::default());
        let case = Case { prompt: "", completion, answer: answer.into(), row: &Map::new() };
        let score = verifier.verify(&case);
        Score { answer: None, detail: score.detail.filter(|_| score.status != ScoreStatus::Ok), ..score }
    }

    /// The numbers of `text` in a row, `?` for what is not one number.
    fn read(text: &str) -> String {
        let show = |token: Token<'_>| token.number.map_or(String::from("?"), |number| number.approx.to_string());
        Tokens { text, at: 0, percent: Percent::Ignore }.map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn numbers_are_read_as_people_write_them() {
        for line in [
            "5 => 5 | 007 => 7 | 5. => 5 | 0.50 => 0.5 | .5 => 0.5 | is .5 => 0.5 | is...5 => 5 | end.5 => 5",
            "5..6 => 5 6 | x = -5. => -5 | −5 => -5 | –5 => -5 | +5 => 5 | is -5 => -5 | (-5) => -5 | **-5** => -5",
            "- 5 => 5 | --5 => -5 | 12-7=5 => 12 7 5 | 12 - 7 => 12 7 | 12 -7 => 12 -7 | 3–5 => 3 5 | (1)-2 => 1 2",
            "x-2 => 2 | 5%-2 => 5 2 | 1,234. => 1234 | 1,234,567.25 => 1234567.25 | -1,000 => -1000",
            "1\u{a0}234 => 1234 | 1\u{2009}234 => 1234 | 1\u{202f}234\u{202f}567 => 1234567 | 1{,}234 => 1234",
            "1\\,234 => 1234 | 1_000 => 1000 | 5, 600 => 5 600 | 1,2,3 => 1 2 3 | 1,23,456 => 1 23 456",
            "1,234,56 => 1 234 56 | 1234,567 => 1234 567 | 0,123 => 0 123 | 1e3 => 1000 | 1.5E-3 => 0.0015",
            "2e+2 => 200 | 2e−2 => 0.02 | 5e => 5 | 5 eggs => 5 | 1e999 => ? | 1e5x => 1 | 6 × 10^2 => 600",
            "1.5x10^{-1} => 0.15 | 3\\times 10^3 => 3000 | 2*10^2.5 => 2 10 2.5 | 2*3 => 2 3 | 1/4 => 0.25",
            "-3/4 => -0.75 | 1 / 4 => 0.25 | 5/day => 5 | 1/0 => ? | 1/2/2024 => ? | 1.5/3 => 0.5 | 6/-3 => 6 -3",
            "\\frac{1}{4} => 0.25 | -\\frac{3}{4} => -0.75 | \\dfrac{-1}{2} => -0.5 | \\frac12 => 0.5",
            "\\frac{\\pi}{2} => ? | \\frac{1 => 1 | \\frac{1}{0} => ? | \\frac{1,000}{8} => 125",
            "\\frac{1}{-2} => -0.5 | \\frac =>  | 3.14.15 => ? | 10.0.0.1:80 => ? 80 | 2024-01-15 => 2024 1 15",
            "12:30 => 12 30 | v1.2 => | .1.2 => ? | $5 => 5 | -$5 => -5 | $-5 => -5 | -\\$5 => -5 | €1,000 => 1000",
            "7-$5 => 7 5 | $5$ => 5 | £2.50 => 2.5 | 50% => 50 | 50 % => 50 | 50\\% => 50 | 1/2% => 0.5 | 5kg => 5",
            "2nd => 2 | 答案是42。 => 42 | \\approx42 => 42 | x2 => | H2O => | a_1 => | \\log_2 8 => 8 | __42__ => 42",
            "_42_ => 42 | x1,234 => | ١٢ => | none => ",
        ] {
            for case in line.split(" | ") {
                let (text, numbers) = case.split_once(" =>").unwrap();
                assert_eq!(read(text), numbers.trim(), "in {text:?}");
            }
        }
    }

    #[test]
    fn each_extraction_judges_its_own_part() {
        for (extract, completion, answer, reward) in [
            ("last", "3 + 4 = 7, so the answer is 7.", "7", Some(1.0)),
            ("last", "7 is the answer to 3", "7", Some(0.0)),
            ("last", "the answer is 7, see 1.2.3", "7", None),
            ("last", "", "7", None),
            ("tag", "<answer>6</answer><answer>3+4 = 7 apples</answer> 9", "7", Some(1.0)),
            ("tag", "7 <answer>8</answer>", "7", Some(0.0)),
            ("tag", "<answer>7", "7", None),
            ("tag", "<answer>seven</answer> 7", "7", None),
            ("marker", "#### 6 #### 7\n\nQ: 2 + 2?", "7", Some(1.0)),
            ("marker", "7", "7", None),
            ("boxed", r"\boxed{6} or \boxed {\text{about } 7} 9", "7", Some(1.0)),
            ("boxed", r"\boxed{\frac{1}{2}}", "2", Some(0.0)),
            ("boxed", r"\boxed{-\frac{1}{2}}", "-0.5", Some(1.0)),
            ("boxed", r"{ \boxed{7} \boxed{8", "7", Some(1.0)),
            ("boxed", r"7 \boxed{", "7", None),
        ] {
            let score = score(json!({"extract": extract}), completion, answer);
            let expected = reward.map_or(ScoreStatus::Unparsable, |_| ScoreStatus::Ok);
            assert_eq!((score.status, score.reward), (expected, reward.unwrap_or(0.0)), "{extract}: {completion}");
        }
    }

    #[test]
    fn the_expected_answer_is_written_as_it_is_read() {
        for extract in ["last", "tag", "marker", "boxed"] {
            for answer in ["7", "2 * 617 = 1234\n#### 1,234", "#### -1/2"] {
                let config = json!({"type": "numeric", "extract": extract});
                let written = verifier::Config::parse(&config, "").unwrap().written(answer, &Map::new());
                assert_eq!(score(json!({"extract": extract}), &written, answer), Score::ok(1.0), "{written}");
            }
        }
    }

    #[test]
    fn an_expected_answer_that_is_not_one_number_is_an_error_and_never_a_zero() {
        for answer in ["", "seven", "1 or 2", "1/0", "3.14.15", "1e999", "#### ", "5 #### five"] {
            assert_eq!(score(json!({}), "7", answer).status, ScoreStatus::Error, "{answer}");
        }
        assert_eq!(score(json!({}), "7", None).status, ScoreStatus::Error);
        let long = "7".repeat(verifier::MAX_TEXT_BYTES + 1);
        assert_eq!(score(json!({}), &long, "7").status, ScoreStatus::Error);
    }

    #[test]
    fn the_expected_answer_is_read_behind_its_marker() {
        assert_eq!(score(json!({}), "1234", "2 * 617 = 1234\n#### 1,234"), Score::ok(1.0));
        assert_eq!(score(json!({"answer_marker": "A:"}), "5", "Q: 4 A: 5"), Score::ok(1.0));
        assert_eq!(score(json!({"answer_marker": ""}), "5", "4 #### 5").status, ScoreStatus::Error);
    }

    #[test]
    fn tolerances_and_percent_signs_count_as_configured() {
        for (config, equal, different) in [
            (json!({}), "0.333333 = 1/3; 1e200 = 1e200; 50% = 50", "0.3333 = 1/3; 1e-5 = 0; -7 = 7"),
            (json!({}), "-0 = 0; 1e37 = 1e+37", "10000000000000000000000000000000000001 = 1e37"),
            (json!({"tolerance": 0}), "2/6 = 1/3; 0.1 = 1/10; 0.50 = .5", "0.3333333333333333 = 1/3"),
            (json!({"tolerance": 0.5}), "7.5 = 7; 6.5 = 7", "7.51 = 7; 6.49 = 7"),
            (json!({"relative_tolerance": 0.01}), "-101 = -100; -99 = -100", "-101.1 = -100; -98.9 = -100"),
            (json!({"percent": "divide"}), "50% = 0.5; 0.5 = 50 %", "50 = 50%; 50% = 50"),
        ] {
            for (list, reward) in [(equal, 2.5), (different, -1.0)] {
                for (completion, answer) in list.split("; ").map(|pair| pair.split_once(" = ").unwrap()) {
                    let mut config = config.clone();
                    config["correct_reward"] = json!(2.5);
                    config["wrong_reward"] = json!(-1);
                    assert_eq!(score(config, completion, answer), Score::ok(reward), "{completion} for {answer}");
                }
            }
        }
    }

    #[test]
    fn a_completion_without_an_answer_never_earns_more_than_a_wrong_one() {
        let row = json!({"numbers": [1, 2], "target": 3});
        for (name, wrong) in [("numeric", "4"), ("math", "4"), ("expression", "1 - 2")] {
            for (wrong_reward, least) in [(-1.0, -1.0), (0.0, 0.0), (0.25, 0.0)] {
                let mut config = json!({"type": name, "wrong_reward": wrong_reward});
                if name == "expression" {
                    config["extract"] = json!("all");
                }
                let verifier = verifier::Config::parse(&config, "").unwrap().build(&Outside::default());
                let case =
                    |completion| Case { prompt: "", completion, answer: Some("3"), row: row.as_object().unwrap() };
                let (none, other) = (verifier.verify(&case("")), verifier.verify(&case(wrong)));
                assert_eq!((none.status, none.reward), (ScoreStatus::Unparsable, least), "{name} {wrong_reward}");
                assert_eq!((other.status, other.reward), (ScoreStatus::Ok, wrong_reward), "{name}");
            }
        }
    }

    #[test]
    fn a_long_completion_takes_time_in_proportion() {
        for part in ["1,", r"\frac{", r"\boxed{", "1.", "1/", "a_", "{", "1e", "-$", "<answer>", "1,222,"] {
            let text = part.repeat(verifier::MAX_TEXT_BYTES / part.len());
            for extract in ["last", "tag", "boxed"] {
                assert!(score(json!({"extract": extract}), &text, "-7").is_scored());
            }
        }
    }

    fn with_separators(number: i64, separator: &str) -> String {
        let digits = number.unsigned_abs().to_string();
        let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().map(|g| std::str::from_utf8(g).unwrap()).collect();
        format!("{}{}", if number < 0 { "-" } else { "" }, groups.join(separator))
    }

    proptest! {
        #[test]
        fn an_integer_in_a_text_reads_back_and_no_other_one_scores(
            number: i64, other: i64, style in 0..=SEPARATORS.len(),
            before in "[a-zA-Z ,;]{0,20}[ =:(]", after in "[ .)!]?[a-zA-Z ]{0,20}",
        ) {
            let separator = SEPARATORS.get(style).copied().unwrap_or("");
            let text = format!("{before}{}{after}", with_separators(number, separator));
            for expected in [number, other, number.wrapping_add(1), number.wrapping_neg()] {
                let reward = if expected == number { 1.0 } else { 0.0 };
                prop_assert_eq!(score(json!({}), &text, &*expected.to_string()), Score::ok(reward), "{}", text);
            }
        }

        #[test]
        fn a_float_reads_back_from_both_notations(number in -1e30..1e30_f64) {
            prop_assert_eq!(read(&format!("is {number}")), number.to_string());
            prop_assert_eq!(read(&format!("is {number:e}")), number.to_string());
        }

        #[test]
        fn no_text_breaks_the_reader(any in ".{0,60}", close in r"[0-9.,/eEx%$_ {}\\^*−\u{a0}frac-]{0,60}") {
            for text in [any.as_str(), close.as_str()] {
                for token in (Tokens { text, at: 0, percent: Percent::Divide }) {
                    prop_assert!(token.number.is_none_or(|number| number.approx.is_finite()));
                }
                super::super::last_boxed(text);
            }
        }
    }
}
