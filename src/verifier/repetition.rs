//! How much of a completion repeats itself: the share of its n-grams that were there before.
//!
//! A model that is rewarded for length, or that has lost its way, says the same again and again. Every run of `n` words
//! (or characters) beyond the first of its kind is a repetition; text of ordinary prose has few at `n` of 3 or more.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::length::Unit;
use super::{Case, Outside, Score, Settings, Verifier};

pub const SUMMARY: &str =
    "1 where nothing in the completion repeats itself, falling with the share of repeated n-grams.";

const MAX_RUN: usize = 64;

/// Configuration of the `repetition` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// What n-grams are made of.
    unit: Unit,
    /// How many units are one n-gram.
    #[schemars(range(min = 1, max = MAX_RUN))]
    n: usize,
    /// The share of repeated n-grams that costs nothing. Beyond it the reward falls, to 0 where all are repeated.
    #[schemars(range(min = 0.0, max = 0.99))]
    tolerated: f64,
    /// Upper and lower case are the same.
    ignore_case: bool,
    /// Seconds one verification may take.
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            unit: Unit::Words,
            n: 3,
            tolerated: 0.0,
            ignore_case: true,
            time_limit_seconds: super::DEFAULT_TIME_LIMIT_SECONDS,
        }
    }
}

impl Settings for Config {
    fn build(&self, _outside: &Outside) -> Arc<dyn Verifier> {
        Arc::new(Repetition { config: self.clone() })
    }

    fn compares_answer(&self) -> bool {
        false
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

struct Repetition {
    config: Config,
}

impl Verifier for Repetition {
    fn verify(&self, case: &Case<'_>) -> Score {
        if let Err(detail) = super::check_length("the completion", case.completion) {
            return Score::error(detail);
        }
        let Config { unit, n, tolerated, .. } = self.config;
        let folded = if self.config.ignore_case { case.completion.to_lowercase() } else { case.completion.to_owned() };
        let (repeated, all) = match unit {
            Unit::Words => repeated(&folded.split_whitespace().collect::<Vec<_>>(), n),
            Unit::Characters => repeated(&folded.trim().chars().collect::<Vec<_>>(), n),
        };
        if folded.trim().is_empty() {
            return Score::unparsable("the completion is empty");
        }
        let share = repeated as f64 / all.max(1) as f64;
        let reward = 1.0 - (share - tolerated).max(0.0) / (1.0 - tolerated);
        Score::ok(reward).because(format!("{repeated} of {all} runs of {n} {} were there before", unit.name()))
    }
}

/// How many of the runs of `n` units stand a second time or later, and how many runs there are.
fn repeated<T: Eq + Hash>(units: &[T], n: usize) -> (usize, usize) {
    let different: HashSet<&[T]> = units.windows(n).collect();
    let all = (units.len() + 1).saturating_sub(n);
    (all - different.len(), all)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::verifier::{self, ScoreStatus};

    fn score(mut config: Value, completion: &str) -> Score {
        config["type"] = json!("repetition");
        let case = Case { prompt: "", completion, answer: None, row: &Map::new() };
        verifier::Config::parse(&config, "").unwrap().build(&Outside::default()).verify(&case)
    }

    #[test]
    fn the_reward_falls_with_the_share_of_repeated_runs() {
        for (config, text, reward) in [
            (json!({}), "the quick brown fox jumps over the lazy dog", 1.0),
            (json!({}), "one two", 1.0),
            (json!({"n": 1}), "a b A c", 0.75),
            (json!({"n": 1, "ignore_case": false}), "a b A c", 1.0),
            (json!({"n": 2}), "a b a b a b", 0.4),
            (json!({"n": 2, "unit": "characters"}), "ababab", 0.4),
            (json!({"n": 2, "tolerated": 0.6}), "a b a b a b", 1.0),
            (json!({"n": 2, "tolerated": 0.2}), "a b a b a b", 0.5),
        ] {
            assert!((score(config.clone(), text).reward - reward).abs() < 1e-12, "{config} {text}");
        }
        assert!(score(json!({}), &"again and ".repeat(10_000)).reward < 0.001);
    }

    #[test]
    fn nothing_at_all_is_nothing_to_judge() {
        assert_eq!(score(json!({}), " \n").status, ScoreStatus::Unparsable);
    }

    #[test]
    fn a_megabyte_is_counted_at_once() {
        let text: String = (0..200_000).map(|n| format!("{} ", n % 1000)).collect();
        assert!(text.len() < verifier::MAX_TEXT_BYTES);
        assert!(score(json!({"n": 64, "unit": "characters"}), &text).reward < 0.1);
        assert_eq!(score(json!({}), &"a".repeat(verifier::MAX_TEXT_BYTES + 1)).status, ScoreStatus::Error);
    }
}
