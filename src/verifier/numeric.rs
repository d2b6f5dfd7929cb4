//! Numeric comparison: the number a completion ends on is the expected one.
//!
//! Reading numbers as people write them is the hard part, so the rules stand here. A number may have a sign, a leading
//! currency sign, thousands separators in groups of exactly three digits, a fraction after a point, an exponent (`e5`
//! or `× 10^5`), a denominator (`3/4`, `\frac{3}{4}`) and a percent sign. A hyphen right after an operand is an
//! operator: `12-7=5` holds 12, 7 and 5. Digits inside a word (`x2`, `H2O`) are no number. What looks like a number
//! but is not one (`3.14.15`, `1/2/2024`, `1/0`) is never replaced by a neighbour: where it is the one to be judged,
//! the completion is unparsable. Decimal commas, mixed numbers and arithmetic are left out.
//!
//! Numbers are compared as exact fractions while these fit into 128 bits, so that two large integers that differ by
//! one stay different; beyond that as 64-bit floats.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Case, MAX_MARKER_BYTES, Score, Settings, Verifier};
use crate::job::field::{FieldError, Fields};

/// Configuration of the `numeric` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Which number of the completion is judged.
    extract: Extract,
    /// Begins the judged part when `extract` is `tag`.
    open_tag: String,
    /// Ends the judged part when `extract` is `tag`.
    close_tag: String,
    /// Stands before the judged number when `extract` is `marker`.
    marker: String,
    /// Where the expected answer contains this text, only what follows its last occurrence is read; may be empty.
    answer_marker: String,
    /// The column of the expected answer; by default the data set's answer column.
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
    /// The reward of another number. A completion without one is unparsable and earns 0.
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
enum Percent {
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

impl Settings for Config {
    const NAME: &'static str = "numeric";
    const SUMMARY: &'static str = "The number a completion ends on equals the expected number within a tolerance.";

    fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        let rewards = -1000.0..=1000.0;
        let mut fields = Fields::below(pointer);
        super::check_marker(&mut fields, "open_tag", &self.open_tag);
        super::check_marker(&mut fields, "close_tag", &self.close_tag);
        super::check_marker(&mut fields, "marker", &self.marker);
        fields.require(
            self.answer_marker.len() <= MAX_MARKER_BYTES,
            "answer_marker",
            format!("may have at most {MAX_MARKER_BYTES} bytes"),
        );
        fields.require(self.tolerance >= 0.0 && self.tolerance.is_finite(), "tolerance", "must be at least 0");
        let share = (0.0..=1.0).contains(&self.relative_tolerance);
        fields.require(share, "relative_tolerance", "must lie between 0 and 1");
        fields.require(rewards.contains(&self.correct_reward), "correct_reward", "must lie between -1000 and 1000");
        fields.require(rewards.contains(&self.wrong_reward), "wrong_reward", "must lie between -1000 and 1000");
        fields.require(self.correct_reward > self.wrong_reward, "correct_reward", "must be above `wrong_reward`");
        super::check_common(&mut fields, self.answer_column.as_deref(), self.time_limit_seconds);
        fields.finish()
    }

    fn build(&self) -> Arc<dyn Verifier> {
        Arc::new(Numeric { config: self.clone() })
    }

    fn answer_column(&self) -> Option<&str> {
        self.answer_column.as_deref()
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
        self.compare(case).unwrap_or_else(|no_verdict| no_verdict)
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
        Ok(Score::ok(if equal { self.config.correct_reward } else { self.config.wrong_reward }))
    }

    /// The expected number. More than one number is an error, because choosing would be guessing.
    fn expected(&self, case: &Case<'_>) -> Result<Number, String> {
        let answer = super::expected_answer(case, self.config.answer_column.as_deref())?;
        let marker = self.config.answer_marker.as_str();
        let behind = answer.rsplit_once(marker).filter(|_| !marker.is_empty());
        let text = behind.map_or(answer.as_ref(), |(_, behind)| behind);
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

/// A number: an exact fraction while it fits, and always the nearest float.
#[derive(Clone, Copy, Debug)]
struct Number {
    exact: Option<Fraction>,
    approx: f64,
}

/// `numerator / denominator` with a positive denominator, not reduced.
#[derive(Clone, Copy, Debug)]
struct Fraction {
    numerator: i128,
    denominator: i128,
}

impl Number {
    /// `digits`, the last `places` of them behind the point, times ten to the `exponent`; None beyond all floats.
    fn decimal(digits: &str, places: usize, exponent: i64) -> Option<Self> {
        let zeros = digits.bytes().rev().take(places).take_while(|byte| *byte == b'0').count();
        let digits = format!("0{}", &digits[..digits.len() - zeros]);
        let scale = exponent - i64::try_from(places - zeros).ok()?;
        let approx = format!("{digits}e{scale}").parse::<f64>().ok().filter(|value| value.is_finite())?;
        let power = u32::try_from(scale.unsigned_abs()).ok().and_then(|power| 10_i128.checked_pow(power));
        let exact = digits.parse::<i128>().ok().zip(power).and_then(|(numerator, power)| {
            Some(match scale >= 0 {
                true => Fraction { numerator: numerator.checked_mul(power)?, denominator: 1 },
                false => Fraction { numerator, denominator: power },
            })
        });
        Some(Self { exact, approx })
    }

    fn negated(self) -> Self {
        let exact = self.exact.map(|fraction| Fraction { numerator: -fraction.numerator, ..fraction });
        Self { exact, approx: -self.approx }
    }

    /// The quotient; None where `divisor` is zero.
    fn over(self, divisor: Self) -> Option<Self> {
        let approx = Some(self.approx / divisor.approx).filter(|value| value.is_finite())?;
        let exact = self.exact.zip(divisor.exact).and_then(|(a, b)| {
            let numerator = a.numerator.checked_mul(b.denominator)?.checked_mul(b.numerator.signum())?;
            Some(Fraction { numerator, denominator: a.denominator.checked_mul(b.numerator.checked_abs()?)? })
        });
        Some(Self { exact, approx })
    }

    /// The absolute difference; zero only where the exact numbers are equal, if both are known.
    fn difference(self, other: Self) -> f64 {
        let exact = self.exact.zip(other.exact).and_then(|(a, b)| {
            let (mut common, mut rest) = (a.denominator, b.denominator);
            while rest != 0 {
                (common, rest) = (rest, common % rest);
            }
            let left = a.numerator.checked_mul(b.denominator / common)?;
            let right = b.numerator.checked_mul(a.denominator / common)?;
            let denominator = a.denominator.checked_mul(b.denominator / common)?;
            Some(left.checked_sub(right)?.unsigned_abs() as f64 / denominator as f64)
        });
        exact.unwrap_or_else(|| (self.approx - other.approx).abs())
    }
}

/// Something that looks like a number; `number` is None where it is not one.
struct Token<'t> {
    text: &'t str,
    number: Option<Number>,
}

/// Everything in a text that looks like a number, from left to right.
struct Tokens<'t> {
    text: &'t str,
    at: usize,
    percent: Percent,
}

impl<'t> Iterator for Tokens<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        let text = self.text;
        loop {
            let mut start = self.at + text[self.at..].find(|c: char| c.is_ascii_digit() || c == '\\')?;
            let (number, mut end) = if text[start..].starts_with('\\') {
                let Some((number, length)) = latex_fraction(&text[start..]) else {
                    self.at = start + 1;
                    continue;
                };
                (number, start + length)
            } else {
                if start > self.at && leading_point(&text[..start]) {
                    start -= 1;
                }
                let (number, end) = quotient(text, start);
                self.at = end;
                if inside_word(&text[..start]) {
                    continue;
                }
                (number, end)
            };
            let mut number = if negative(&text[..start]) { number.map(Number::negated) } else { number };
            if let Some(length) = percent_sign(&text[end..]) {
                end += length;
                if self.percent == Percent::Divide {
                    number = number.and_then(|number| number.over(Number::decimal("100", 0, 0)?));
                }
            }
            self.at = end;
            return Some(Token { text: &text[start..end], number });
        }
    }
}

/// Whether `before` ends in a point that begins a number such as `.5`, and not in the end of a sentence.
fn leading_point(before: &str) -> bool {
    before.strip_suffix('.').is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric() || ".)]}".contains(c)))
}

/// Whether a number after `before` would be part of a word or an identifier, and not follow a LaTeX command.
fn inside_word(before: &str) -> bool {
    let stem = before.trim_end_matches('_');
    if stem.len() < before.len() {
        return stem.ends_with(char::is_alphanumeric);
    }
    let rest = before.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    rest.len() < before.len() && !rest.ends_with('\\')
}

/// Whether `before` ends in a minus that is a sign; right after an operand it is an operator.
fn negative(before: &str) -> bool {
    let currency = |c: char| "$€£¥₹₽₩₺₫₪₴₦฿".contains(c);
    let before = before.strip_suffix(currency).map_or(before, |rest| rest.strip_suffix('\\').unwrap_or(rest));
    let Some(before) = before.strip_suffix(is_minus) else { return false };
    !before.ends_with(|c: char| c.is_alphanumeric() || ")]}%".contains(c))
}

/// ASCII hyphen-minus, minus, small and full-width hyphen-minus, and the en dash that often stands in for a minus.
fn is_minus(c: char) -> bool {
    "-\u{2212}\u{fe63}\u{ff0d}\u{2013}".contains(c)
}

/// A decimal number and, where one follows, its denominator; with the position behind it.
fn quotient(text: &str, start: usize) -> (Option<Number>, usize) {
    let denominator = |end: usize| {
        let rest = text[end..].strip_prefix(" / ").or_else(|| text[end..].strip_prefix('/'))?;
        rest.starts_with(|c: char| c.is_ascii_digit()).then(|| text.len() - rest.len())
    };
    let (number, end) = decimal(text, start);
    let Some(at) = denominator(end) else { return (number, end) };
    let (divisor, mut end) = decimal(text, at);
    let mut quotient = number.zip(divisor).and_then(|(number, divisor)| number.over(divisor));
    // `1/2/2024` is a date or a chain, and no single fraction.
    while let Some(at) = denominator(end) {
        quotient = None;
        end = decimal(text, at).1;
    }
    (quotient, end)
}

/// An unsigned decimal number, with separators and exponent, and the position behind it.
fn decimal(text: &str, start: usize) -> (Option<Number>, usize) {
    let whole_end = grouped(text, start).unwrap_or_else(|| start + leading_digits(&text[start..]).len());
    let mut digits: String = text[start..whole_end].chars().filter(char::is_ascii_digit).collect();
    let places = point_digits(&text[whole_end..]).unwrap_or("");
    digits.push_str(places);
    let end = if places.is_empty() { whole_end } else { whole_end + 1 + places.len() };
    // A second point makes a version, a date or an address.
    if !places.is_empty() && point_digits(&text[end..]).is_some() {
        let run = text[end..].find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len() - end);
        return (None, end + run);
    }
    let (exponent, length) = exponent(&text[end..]).unwrap_or((0, 0));
    (Number::decimal(&digits, places.len(), exponent), end + length)
}

fn leading_digits(text: &str) -> &str {
    &text[..text.bytes().take_while(u8::is_ascii_digit).count()]
}

/// The digits behind a point at the beginning of `text`.
fn point_digits(text: &str) -> Option<&str> {
    text.strip_prefix('.').map(leading_digits).filter(|digits| !digits.is_empty())
}

/// What may stand between groups of three digits, with the forms LaTeX and programming languages use.
const SEPARATORS: [&str; 7] = [",", "{,}", "\\,", "_", "\u{2009}", "\u{202f}", "\u{a0}"];

/// The end of an integer in groups of three. A run that is not grouped correctly throughout is a list of numbers.
fn grouped(text: &str, start: usize) -> Option<usize> {
    let first = leading_digits(&text[start..]);
    if !(1..=3).contains(&first.len()) || first.starts_with('0') {
        return None;
    }
    let mut end = start + first.len();
    let separator = SEPARATORS.into_iter().find(|separator| text[end..].starts_with(separator))?;
    let before = SEPARATORS.into_iter().find_map(|separator| text[..start].strip_suffix(separator));
    if before.is_some_and(|before| before.ends_with(|c: char| c.is_ascii_digit())) {
        return None;
    }
    while let Some(rest) = text[end..].strip_prefix(separator) {
        match leading_digits(rest).len() {
            0 => break,
            3 => end += separator.len() + 3,
            _ => return None,
        }
    }
    Some(end)
}

/// An exponent at the beginning of `text` (`e-5`, `× 10^5`, `\times 10^{-5}`) and its length.
fn exponent(text: &str) -> Option<(i64, usize)> {
    let space = |text: &str| text.len() - text.strip_prefix(' ').unwrap_or(text).len();
    let (power, braced) = if let Some(power) = text.strip_prefix(['e', 'E']) {
        (power, false)
    } else {
        let sign = &text[space(text)..];
        let factor = ["×", "·", "*", "x", "\\times", "\\cdot"].into_iter().find_map(|by| sign.strip_prefix(by))?;
        let power = factor[space(factor)..].strip_prefix("10^")?;
        power.strip_prefix('{').map_or((power, false), |power| (power, true))
    };
    let unsigned = power.strip_prefix(|c: char| c == '+' || is_minus(c)).unwrap_or(power);
    let digits = leading_digits(unsigned);
    let rest = &unsigned[digits.len()..];
    let rest = if braced { rest.strip_prefix('}')? } else { rest };
    if digits.is_empty() || point_digits(rest).is_some() || rest.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    // Far beyond every float, so that the bound changes no number that fits.
    let size = digits.parse::<i64>().unwrap_or(i64::MAX).min(10_000_000);
    Some((if power.starts_with(is_minus) { -size } else { size }, text.len() - rest.len()))
}

/// The length of a percent sign at the beginning of `text`, with a space and the backslash of LaTeX before it.
fn percent_sign(text: &str) -> Option<usize> {
    let rest = text.strip_prefix([' ', '\u{a0}', '\u{202f}', '\u{2009}']).unwrap_or(text);
    let rest = rest.strip_prefix('\\').unwrap_or(rest).strip_prefix('%')?;
    Some(text.len() - rest.len())
}

/// `\frac{a}{b}` at the beginning of `text` and its length; the number is None where a part is not a number.
fn latex_fraction(text: &str) -> Option<(Option<Number>, usize)> {
    let arguments = ["\\frac", "\\dfrac", "\\tfrac"].into_iter().find_map(|command| text.strip_prefix(command))?;
    let (above, rest) = super::latex_argument(arguments)?;
    let (below, rest) = super::latex_argument(rest)?;
    let number = plain(above).zip(plain(below)).and_then(|(above, below)| above.over(below));
    Some((number, text.len() - rest.len()))
}

/// `text` as one decimal number with an optional sign.
fn plain(text: &str) -> Option<Number> {
    let text = text.trim();
    let unsigned = text.strip_prefix(is_minus).unwrap_or(text);
    let (number, end) = decimal(unsigned, 0);
    let number = number.filter(|_| end == unsigned.len() && end > 0)?;
    Some(if unsigned.len() < text.len() { number.negated() } else { number })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::verifier::{self, ScoreStatus};

    fn score<'a>(mut config: Value, completion: &str, answer: impl Into<Option<&'a str>>) -> Score {
        config["type"] = json!("numeric");
        let verifier = verifier::Config::parse(&config, "").unwrap().build();
        verifier.verify(&Case { prompt: "", completion, answer: answer.into(), row: &Map::new() })
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
