//! A calculator: the value of the last expression that a turn has between two marks.

use std::time::Duration;

use super::{Answer, Asked, Environment, Failure};
use crate::job::environment::EnvironmentSpec;
use crate::verifier::calculate;

/// Digits of a result that are told.
const DIGITS: i32 = 12;

pub struct Calculator {
    call: [String; 2],
    result: [String; 2],
}

impl Calculator {
    pub fn of(spec: &EnvironmentSpec) -> Self {
        Self { call: spec.call().map(str::to_owned), result: spec.result().map(str::to_owned) }
    }

    /// The expression that a turn ends with, if it ends with one.
    fn expression<'a>(&self, turn: &'a str) -> Option<&'a str> {
        let [before, behind] = &self.call;
        let end = turn.rfind(behind.as_str())?;
        let start = turn[..end].rfind(before.as_str())? + before.len();
        Some(&turn[start..end])
    }
}

impl Environment for Calculator {
    fn answer(&self, asked: &[Asked]) -> Vec<Result<Answer, Failure>> {
        let one = |asked: &Asked| {
            let Some(expression) = self.expression(asked.turn()) else { return Ok(Answer::OVER) };
            let result = match calculate(expression) {
                Ok(value) => written(value),
                Err(detail) => format!("error: {detail}"),
            };
            Ok(Answer::says(format!("{}{result}{}", self.result[0], self.result[1])))
        };
        asked.iter().map(one).collect()
    }

    fn time_limit(&self) -> Duration {
        Duration::from_secs(30)
    }
}

/// A number as people write it: without what only binary fractions have behind the twelfth digit.
fn written(value: f64) -> String {
    if !value.is_finite() {
        return String::from("error: it has no finite value");
    }
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    if !(-6..15).contains(&magnitude) {
        return format!("{value:.*e}", DIGITS as usize - 1);
    }
    let decimals = (DIGITS - 1 - magnitude).clamp(0, 17) as usize;
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { String::from("0") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Map, json};

    use super::*;

    fn answers(spec: serde_json::Value, turn: &str) -> Option<String> {
        let calculator = Calculator::of(&serde_json::from_value(spec).unwrap());
        let (prompt, row) = (String::new(), Arc::new(Map::new()));
        let asked = Asked { prompt, row, said: vec![turn.to_owned()], is_last: false };
        calculator.answer(&[asked]).remove(0).unwrap().text
    }

    #[test]
    fn the_last_call_of_a_turn_is_calculated() {
        let told = |turn: &str| answers(json!({"type": "calculator"}), turn);
        let result = |value: &str| Some(format!("<result>{value}</result>"));
        assert_eq!(told("so <calculator>12 * 34</calculator>"), result("408"));
        assert_eq!(told("<calculator>1</calculator> and <calculator>(2+3)/4</calculator>"), result("1.25"));
        assert_eq!(told("<calculator><calculator>7</calculator>"), result("7"));
        assert_eq!(told("<calculator>0.1 + 0.2</calculator>"), result("0.3"));
        assert_eq!(told("<calculator>6 × 7 − 2</calculator>"), result("40"));
        assert!(told("<calculator>import os</calculator>").unwrap().contains("error"));
        assert!(told("<calculator>1 / 0</calculator>").unwrap().contains("no finite value"));
        for over in ["408", "</calculator>", "<calculator>1+1", ""] {
            assert_eq!(told(over), None, "{over}");
        }
    }

    #[test]
    fn the_marks_are_the_specs() {
        let spec = json!({"type": "calculator", "call": ["<<", "="], "result": ["", ">>"]});
        assert_eq!(answers(spec, "it has <<48/2=").as_deref(), Some("24>>"));
    }

    #[test]
    fn numbers_are_written_as_people_write_them() {
        for (value, text) in [
            (408.0, "408"),
            (-0.0, "0"),
            (1.0 / 3.0, "0.333333333333"),
            (1e14, "100000000000000"),
            (2.5e20, "2.50000000000e20"),
            (1e-9, "1.00000000000e-9"),
            (-1.5, "-1.5"),
            (123_456_789_012_345.0, "123456789012345"),
        ] {
            assert_eq!(written(value), text);
        }
    }
}
