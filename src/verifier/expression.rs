//! Expressions over given numbers: the one of the completion uses the row's numbers and has the row's target as its value.
//!
//! For countdown and the game of 24, where many answers are right and none need be known. An expression is made of whole
//! numbers, `+`, `-`, `*`, `/` and parentheses, also as people and LaTeX write them (`×`, `÷`, `\times`, `\frac{1}{2}`). It
//! may be followed by `= 24`, and every side of such a chain has to be true. Values are exact fractions of 128 bits; beyond that an expression is
//! wrong. Powers, decimal points, factorials and digits put together are not read.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Case, MAX_MARKER_CHARACTERS, Outside, Score, Settings, Verifier};
use crate::job::field::{FieldError, Fields};

pub const SUMMARY: &str = "The expression of the completion uses the row's numbers, each once, and equals its target.";

/// The longest expression that is read.
const MAX_BYTES: usize = 4096;
/// How deep parentheses and signs may nest.
const MAX_DEPTH: usize = 64;
/// The most numbers that a row may give.
const MAX_NUMBERS: usize = 64;

/// Configuration of the `expression` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where the expression stands in the completion.
    extract: Extract,
    /// Begins the expression when `extract` is `tag`.
    #[schemars(length(min = 1, max = MAX_MARKER_CHARACTERS))]
    open_tag: String,
    /// Ends the expression when `extract` is `tag`.
    #[schemars(length(min = 1, max = MAX_MARKER_CHARACTERS))]
    close_tag: String,
    /// The column of the numbers: a list of whole numbers from 0, or a text with them.
    #[schemars(length(min = 1))]
    numbers_column: String,
    /// The column of the value that the expression must have: a whole number, or a text such as `1/2`.
    #[schemars(length(min = 1))]
    target_column: String,
    /// How often the numbers are to be used.
    uses: Uses,
    /// The reward of an expression that reaches the target as it should.
    #[schemars(range(min = -1000.0, max = 1000.0))]
    correct_reward: f64,
    /// The reward of another expression. A completion without one is unparsable and earns 0, or this where it is less.
    #[schemars(range(min = -1000.0, max = 1000.0))]
    wrong_reward: f64,
    /// Seconds one verification may take.
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Extract {
    /// The whole completion.
    All,
    /// Between the last pair of tags.
    Tag,
    /// The last line that is not blank.
    LastLine,
    /// In the last complete `\boxed{...}`.
    Boxed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Uses {
    /// Each number exactly as often as the row gives it.
    All,
    /// Each number at most as often as the row gives it.
    Some,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            extract: Extract::Tag,
            open_tag: String::from("<answer>"),
            close_tag: String::from("</answer>"),
            numbers_column: String::from("numbers"),
            target_column: String::from("target"),
            uses: Uses::All,
            correct_reward: 1.0,
            wrong_reward: 0.0,
            time_limit_seconds: super::DEFAULT_TIME_LIMIT_SECONDS,
        }
    }
}

impl Settings for Config {
    fn check(&self, pointer: &str) -> Result<(), Vec<FieldError>> {
        let mut fields = Fields::below(pointer);
        fields.require(self.correct_reward > self.wrong_reward, "correct_reward", "must be above `wrong_reward`");
        fields.finish()
    }

    fn build(&self, _outside: &Outside) -> Arc<dyn Verifier> {
        Arc::new(Expression { config: self.clone() })
    }

    fn compares_answer(&self) -> bool {
        false
    }

    fn columns(&self) -> Vec<(String, String)> {
        [("numbers_column", &self.numbers_column), ("target_column", &self.target_column)]
            .map(|(field, column)| (String::from(field), column.clone()))
            .into()
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

struct Expression {
    config: Config,
}

impl Verifier for Expression {
    fn verify(&self, case: &Case<'_>) -> Score {
        self.compare(case).unwrap_or_else(|no_verdict| no_verdict.no_better_than(self.config.wrong_reward))
    }
}

impl Expression {
    /// The verdict, or as an error the score that says why there is none.
    fn compare(&self, case: &Case<'_>) -> Result<Score, Score> {
        let given = self.numbers(case).map_err(Score::error)?;
        let target = self.target(case).map_err(Score::error)?;
        super::check_length("the completion", case.completion).map_err(Score::error)?;
        let text = self.judged(case.completion).map_err(Score::unparsable)?;
        if text.len() > MAX_BYTES {
            return Err(Score::unparsable(format!(
                "the expression has {} bytes; at most {MAX_BYTES} are read",
                text.len()
            )));
        }
        let mut sides = text.split('=');
        let left = sides.next().unwrap_or(text);
        let read = Read::all(left).map_err(Score::unparsable)?;
        let claims = sides.map(Read::all).collect::<Result<Vec<_>, _>>().map_err(Score::unparsable)?;

        let shown: String = left.split_whitespace().collect();
        let wrong = |answer: String, why: String| Ok(Score::of_answer(answer, self.config.wrong_reward).because(why));
        if let Some(misuse) = misuse(&given, &read.numbers, self.config.uses) {
            return wrong(shown, misuse);
        }
        let value = match read.value {
            Ok(value) => value,
            Err(why) => return wrong(shown, format!("the expression {why}")),
        };
        if claims.iter().any(|claimed| claimed.value != Ok(value)) {
            return wrong(shown, format!("the expression has the value {value}, and the completion says another"));
        }
        if value != target {
            return wrong(
                value.to_string(),
                format!("the expression has the value {value}, and the target is {target}"),
            );
        }
        let how = format!("the expression uses the numbers as it should and has the value {target}");
        Ok(Score::of_answer(value.to_string(), self.config.correct_reward).because(how))
    }

    /// The numbers that the row gives.
    fn numbers(&self, case: &Case<'_>) -> Result<Vec<i128>, String> {
        let column = self.config.numbers_column.as_str();
        let parts: Vec<String> = match case.row.get(column) {
            Some(Value::Array(items)) => items.iter().map(plain).collect(),
            Some(Value::String(text)) => {
                let between = |c: char| c.is_whitespace() || ",;[](){}".contains(c);
                text.split(between).filter(|part| !part.is_empty()).map(String::from).collect()
            }
            Some(Value::Null) | None => {
                return Err(format!("the row has no numbers in column {}", super::quote(column)));
            }
            Some(other) => vec![plain(other)],
        };
        if parts.is_empty() || parts.len() > MAX_NUMBERS {
            let count = parts.len();
            return Err(format!("the row gives {count} numbers; an expression is over 1 to {MAX_NUMBERS}"));
        }
        parts
            .iter()
            .map(|part| {
                let number = part.parse::<u64>().map(i128::from);
                number.map_err(|_| format!("{} is no whole number from 0 on", super::quote(part)))
            })
            .collect()
    }

    fn target(&self, case: &Case<'_>) -> Result<Fraction, String> {
        let text = super::expected_answer(case, Some(&self.config.target_column))?;
        let no_number = |why: String| format!("the target {} is no number: it {why}", super::quote(&text));
        let read = Read::all(&text).map_err(|why| format!("the target is no number: {why}"))?;
        read.value.map_err(|why| no_number(String::from(why)))
    }

    /// The part of the completion that is judged.
    fn judged<'t>(&self, completion: &'t str) -> Result<&'t str, String> {
        let Config { open_tag, close_tag, .. } = &self.config;
        let (part, missing) = match self.config.extract {
            Extract::All => (Some(completion), String::new()),
            Extract::Tag => (super::last_tagged(completion, open_tag, close_tag), format!("{open_tag}...{close_tag}")),
            Extract::LastLine => {
                (completion.lines().rfind(|line| !line.trim().is_empty()), String::from("line that is not blank"))
            }
            Extract::Boxed => (super::last_boxed(completion), String::from("complete \\boxed{...}")),
        };
        part.ok_or_else(|| format!("the completion has no {missing}"))
    }
}

/// A value of a row as plain text.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

/// How the numbers were used other than they should be, if they were.
fn misuse(given: &[i128], used: &[i128], uses: Uses) -> Option<String> {
    let times = |numbers: &[i128], wanted: i128| numbers.iter().filter(|number| **number == wanted).count();
    for number in used {
        let (given, used) = (times(given, *number), times(used, *number));
        if given == 0 {
            return Some(format!("the expression uses {number}, which is not given"));
        }
        if used > given {
            return Some(format!(
                "the expression uses {number} more often than it is given: {used} times, not {given}"
            ));
        }
    }
    let left = given.iter().find(|number| times(used, **number) < times(given, **number));
    left.filter(|_| uses == Uses::All).map(|number| format!("the expression does not use every {number} that is given"))
}

/// A fraction in lowest terms with a positive denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fraction {
    numerator: i128,
    denominator: i128,
}

const TOO_LARGE: &str = "leaves the range of 128 bits";

impl Fraction {
    fn whole(number: i128) -> Self {
        Self { numerator: number, denominator: 1 }
    }

    /// None where it does not fit; the denominator is not 0.
    fn reduced(numerator: Option<i128>, denominator: Option<i128>) -> Option<Self> {
        let (numerator, denominator) = numerator.zip(denominator)?;
        let (mut common, mut rest) = (numerator.checked_abs()?, denominator.checked_abs()?);
        while rest != 0 {
            (common, rest) = (rest, common % rest);
        }
        let sign = denominator.signum();
        Some(Self { numerator: sign * (numerator / common), denominator: sign * (denominator / common) })
    }

    fn apply(self, sign: char, other: Self) -> Result<Self, &'static str> {
        let (a, b, c, d) = (self.numerator, self.denominator, other.numerator, other.denominator);
        let result = match sign {
            '+' | '-' => {
                let (left, right) = (a.checked_mul(d), c.checked_mul(b));
                let sum = left.zip(right).and_then(|(left, right)| match sign {
                    '+' => left.checked_add(right),
                    _ => left.checked_sub(right),
                });
                Self::reduced(sum, b.checked_mul(d))
            }
            '*' => Self::reduced(a.checked_mul(c), b.checked_mul(d)),
            _ if c == 0 => return Err("divides by zero"),
            _ => Self::reduced(a.checked_mul(d), b.checked_mul(c)),
        };
        result.ok_or(TOO_LARGE)
    }
}

impl std::fmt::Display for Fraction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.numerator)?;
        if self.denominator == 1 { Ok(()) } else { write!(f, "/{}", self.denominator) }
    }
}

/// What was read: the value, or why an expression that is well-formed has none, and the numbers from left to right.
struct Read {
    value: Result<Fraction, &'static str>,
    numbers: Vec<i128>,
}

impl Read {
    /// Reads the whole of a text as one expression; an error says what is wrong with it.
    fn all(text: &str) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("the expression has {} bytes; at most {MAX_BYTES} are read", text.len()));
        }
        let text = text.trim().trim_end_matches('.').trim_matches('$');
        let mut reader = Reader { text, at: 0, depth: 0, numbers: Vec::new() };
        let value = reader.sum()?;
        match reader.peek() {
            None => Ok(Self { value, numbers: reader.numbers }),
            Some(_) => Err(reader.wrong()),
        }
    }
}

type Operand = Result<Result<Fraction, &'static str>, String>;

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    numbers: Vec<i128>,
}

/// Signs and their spellings. `^` stands for what is not read and would otherwise begin with a sign that is.
const SPELLINGS: [(char, &[&str]); 8] = [
    ('^', &["**", "//"]),
    ('+', &["+"]),
    ('-', &["-", "−", "–"]),
    ('*', &["*", "×", "·", "⋅", "∗", "\\times", "\\cdot"]),
    ('/', &["/", "÷", "\\div"]),
    ('f', &["\\frac", "\\dfrac", "\\tfrac"]),
    ('(', &["\\left(", "(", "[", "{"]),
    (')', &["\\right)", ")", "]", "}"]),
];

impl Reader<'_> {
    /// The next sign or `0` for a digit, and how many bytes it takes; none at the end, `?` for anything else.
    fn peek(&mut self) -> Option<(char, usize)> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        let rest = &self.text[self.at..];
        let first = rest.chars().next()?;
        if first.is_ascii_digit() {
            return Some(('0', 1));
        }
        let mut all =
            SPELLINGS.iter().flat_map(|(sign, spellings)| spellings.iter().map(|spelling| (*sign, *spelling)));
        let known = all.find(|(_, spelling)| rest.starts_with(spelling));
        Some(known.map_or(('?', first.len_utf8()), |(sign, spelling)| (sign, spelling.len())))
    }

    fn take(&mut self, wanted: &[char]) -> Option<char> {
        let (sign, length) = self.peek().filter(|(sign, _)| wanted.contains(sign))?;
        self.at += length;
        Some(sign)
    }

    fn wrong(&self) -> String {
        let rest = &self.text[self.at..];
        match rest.is_empty() {
            true => String::from("the expression ends where a number or `(` should follow"),
            false => format!(
                "the expression cannot be read from {} on; it may have whole numbers, + - * / and parentheses",
                super::quote(rest)
            ),
        }
    }

    fn sum(&mut self) -> Operand {
        let mut value = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            value = join(value, sign, self.product()?);
        }
        Ok(value)
    }

    fn product(&mut self) -> Operand {
        let mut value = self.signed()?;
        while let Some(sign) = self.take(&['*', '/']) {
            value = join(value, sign, self.signed()?);
        }
        Ok(value)
    }

    fn signed(&mut self) -> Operand {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("the expression nests deeper than {MAX_DEPTH} levels"));
        }
        let value = match self.take(&['+', '-', '(', 'f']) {
            Some('+') => self.signed()?,
            Some('-') => join(Ok(Fraction::whole(0)), '-', self.signed()?),
            Some('(') => {
                let close = self.closing();
                self.group(close)?
            }
            Some(_) => {
                let (above, below) = (self.braced()?, self.braced()?);
                join(above, '/', below)
            }
            None => self.number()?,
        };
        self.depth -= 1;
        Ok(value)
    }

    /// What stands behind an open parenthesis, up to the one that closes it.
    fn group(&mut self, close: char) -> Operand {
        let value = self.sum()?;
        let before = self.peek().map(|_| self.at);
        let closes = before.is_some_and(|at| self.text[at..].trim_start_matches("\\right").starts_with(close));
        self.take(&[')']).filter(|_| closes).ok_or_else(|| self.wrong())?;
        Ok(value)
    }

    /// What closes the bracket that was just opened.
    fn closing(&self) -> char {
        match self.text[..self.at].chars().next_back() {
            Some('[') => ']',
            Some('{') => '}',
            _ => ')',
        }
    }

    /// An argument of a fraction, in braces.
    fn braced(&mut self) -> Operand {
        self.take(&['(']).ok_or_else(|| self.wrong())?;
        let close = self.closing();
        self.group(close)
    }

    fn number(&mut self) -> Operand {
        let rest = &self.text[self.at..];
        let digits = &rest[..rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len()];
        if digits.is_empty() {
            return Err(self.wrong());
        }
        let number = digits.parse::<u64>().map_err(|_| format!("{} is too large a number", super::quote(digits)))?;
        self.at += digits.len();
        self.numbers.push(i128::from(number));
        Ok(Ok(Fraction::whole(i128::from(number))))
    }
}

/// Joins two values, where there are two.
fn join(
    left: Result<Fraction, &'static str>,
    sign: char,
    right: Result<Fraction, &'static str>,
) -> Result<Fraction, &'static str> {
    left?.apply(sign, right?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::verifier::{self, Outside, ScoreStatus};

    fn score(mut config: Value, row: &Value, completion: &str) -> Score {
        config["type"] = json!("expression");
        let verifier = verifier::Config::parse(&config, "").unwrap().build(&Outside::default());
        verifier.verify(&Case { prompt: "", completion, answer: None, row: row.as_object().unwrap() })
    }

    fn reward(completion: &str) -> Option<f64> {
        let row = json!({"numbers": [3, 8, 3, 8], "target": 24});
        let score = score(json!({"extract": "all"}), &row, completion);
        assert!(score.status != ScoreStatus::Error && score.detail.is_some(), "{completion}: {score:?}");
        (score.status == ScoreStatus::Ok).then_some(score.reward)
    }

    #[test]
    fn an_expression_is_right_when_it_uses_the_numbers_and_reaches_the_target() {
        for right in [
            "8 / (3 - 8 / 3)",
            "8/(3-8/3) = 24",
            "8÷(3−8÷3)",
            "$\\frac{8}{3 - \\frac{8}{3}}$",
            "8 \\div \\left(3 - 8 \\div 3\\right)",
            "[8 / {3 - (8/3)}].",
            "-8 / (8/3 - 3) = 24 = 24",
            "8/(3-8/3)=12+12",
        ] {
            assert_eq!(reward(right), Some(1.0), "{right}");
        }
        for wrong in [
            "8 * 3",
            "24",
            "8 * 3 + 8 - 8",
            "3 * 8 + 3 - 3",
            "8 + 8 + 3 + 3",
            "8 / (3 - 8 / 3) = 25",
            "8 / (3 - 8 / 3) = 100 = 24",
            "8 / (3 - 8 / 3) = 9*9 = 24",
            "24 = 8 / (3 - 8 / 3)",
            "8 / (3 - 3) + 8",
            "8 * 3 * 8 / 3 + 0",
            "38 - 8 - 3",
            "18446744073709551615 * 18446744073709551615 * 18446744073709551615",
        ] {
            assert_eq!(reward(wrong), Some(0.0), "{wrong}");
        }
        let unparsable = ";eight;8 +;(8;8);(3*8];{3*8);8 3;3(8);2^3;3 ** 8;8 // 3;2.4;8!;\\frac83;=;8 = x;();8 + * 3;99999999999999999999";
        for unparsable in unparsable.split(';') {
            assert_eq!(reward(unparsable), None, "{unparsable}");
        }
    }

    #[test]
    fn each_extraction_judges_its_own_part() {
        let row = json!({"numbers": [1, 2], "target": 3});
        for (extract, completion, passes) in [
            ("tag", "1 - 2? <answer>1 - 2</answer> No: <answer>1 + 2</answer>", Some(true)),
            ("tag", "1 + 2", None),
            ("last_line", "Let me see.\n1 + 2 = 3\n\n", Some(true)),
            ("last_line", "1 + 2\nDone.", None),
            ("boxed", "So \\boxed{1 - 2}, or \\boxed{1 + 2}", Some(true)),
            ("all", "1 - 2", Some(false)),
        ] {
            let score = score(json!({"extract": extract}), &row, completion);
            let judged = (score.status == ScoreStatus::Ok).then_some(score.reward == 1.0);
            assert_eq!(judged, passes, "{extract}: {completion}");
        }
    }

    #[test]
    fn fewer_numbers_do_where_the_configuration_says_so() {
        let row = json!({"nums": "[2, 3, 4]", "goal": "1/2"});
        let config = json!({"extract": "all", "numbers_column": "nums", "target_column": "goal", "uses": "some"});
        let with = |completion: &str| score(config.clone(), &row, completion);
        assert_eq!((with("2 / 4").reward, with("2/4").answer.as_deref()), (1.0, Some("1/2")));
        assert_eq!(with("2 / (2 + 2)").reward, 0.0);
        assert_eq!(with("3 / 6").detail.unwrap(), "the expression uses 6, which is not given");
        let rewards = json!({"extract": "all", "correct_reward": 2, "wrong_reward": 0.1});
        let row = json!({"numbers": [1, 2], "target": 3});
        assert_eq!((score(rewards.clone(), &row, "1+2").reward, score(rewards, &row, "1-2").reward), (2.0, 0.1));
    }

    #[test]
    fn a_broken_row_is_an_error_and_never_a_zero() {
        for row in [
            json!({}),
            json!({"numbers": [1, 2]}),
            json!({"target": 3}),
            json!({"numbers": [], "target": 3}),
            json!({"numbers": [1, -2], "target": 3}),
            json!({"numbers": [1, 2.5], "target": 3}),
            json!({"numbers": "one", "target": 3}),
            json!({"numbers": vec![1; MAX_NUMBERS + 1], "target": 3}),
            json!({"numbers": [1, 2], "target": "three"}),
            json!({"numbers": [1, 2], "target": "1/0"}),
            json!({"numbers": [1, 2], "target": [3]}),
        ] {
            assert_eq!(score(json!({"extract": "all"}), &row, "1 + 2").status, ScoreStatus::Error, "{row}");
        }
    }

    #[test]
    fn hostile_texts_are_refused_at_once() {
        let long = |part: &str, times: usize| part.repeat(times);
        for text in [long("(", 4000), long("-", 4000), long("\\frac{", 600), long("1+", 3000), long("9", 4000)] {
            assert_eq!(reward(&text), None, "{}", &text[..10]);
        }
        let deep = format!("{}8{}", long("(", 63), long(")", 63));
        assert_eq!(reward(&deep), Some(0.0));
        assert_eq!(reward(&format!("1{}", long("*99999999999", 60))), Some(0.0));
    }

    proptest! {
        #[test]
        fn values_are_those_of_whole_numbers_in_the_same_operations(
            a in 1..200_i128, b in 1..200_i128, c in 1..200_i128, d in 1..200_i128,
        ) {
            let numbers = [a, b, c, d].map(|number| number as u64);
            let row = |target: String| json!({"numbers": numbers, "target": target});
            // (a/b - c) * d = (a - b*c) * d / b
            let expression = format!("({a} / {b} - {c}) * {d}");
            let target = format!("{} / {b}", (a - b * c) * d);
            let off = format!("{} / {b}", (a - b * c) * d + 1);
            prop_assert_eq!(score(json!({"extract": "all"}), &row(target), &expression).reward, 1.0);
            prop_assert_eq!(score(json!({"extract": "all"}), &row(off), &expression).reward, 0.0);
        }

        #[test]
        fn no_text_breaks_the_reader(text in r"[0-9+*/()\\{}=. fracdivtimes−×-]{0,60}", any in ".{0,40}") {
            for text in [text, any] {
                reward(&text);
            }
        }
    }
}
