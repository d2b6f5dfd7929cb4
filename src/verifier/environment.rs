//! What the environment of a conversation gave: its rewards, turn by turn (`sampling.environment`).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Case, ENVIRONMENT, Outside, Part, Score, Settings, Verifier};

pub const SUMMARY: &str = "The rewards that the environment of a conversation gave, turn by turn.";

/// Configuration of the `environment` verifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// What is made of the rewards of several turns.
    take: Take,
    /// Seconds one verification may take.
    #[schemars(range(min = 0.01, max = 600.0))]
    time_limit_seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Take {
    Sum,
    Mean,
    Last,
}

impl Default for Config {
    fn default() -> Self {
        Self { take: Take::Sum, time_limit_seconds: super::DEFAULT_TIME_LIMIT_SECONDS }
    }
}

impl Settings for Config {
    fn build(&self, _outside: &Outside) -> Arc<dyn Verifier> {
        Arc::new(Environment { take: self.take })
    }

    fn compares_answer(&self) -> bool {
        false
    }

    fn needs_environment(&self) -> bool {
        true
    }

    // What was earned stands beside the row's columns.
    fn reads_row(&self) -> bool {
        true
    }

    fn time_limit_seconds(&self) -> f64 {
        self.time_limit_seconds
    }
}

struct Environment {
    take: Take,
}

impl Verifier for Environment {
    fn verify(&self, case: &Case<'_>) -> Score {
        let given = case.row.get(ENVIRONMENT).and_then(|told| told["rewards"].as_array());
        let rewards: Vec<f64> = given.into_iter().flatten().filter_map(serde_json::Value::as_f64).collect();
        let Some(last) = rewards.last() else {
            return Score::error("the environment gave no reward; let it answer with a `reward`");
        };
        let sum: f64 = rewards.iter().sum();
        let reward = match self.take {
            Take::Sum => sum,
            Take::Mean => sum / rewards.len() as f64,
            Take::Last => *last,
        };
        let part = |(number, reward): (usize, &f64)| Part {
            name: format!("reward {}", number + 1),
            score: Score::ok(*reward),
        };
        Score::ok(reward)
            .because(format!("the environment gave {} rewards, the last {last}", rewards.len()))
            .with_parts(rewards.iter().enumerate().map(part).collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn score(take: &str, told: Value) -> Score {
        let config: Config = serde_json::from_value(json!({"take": take})).unwrap();
        let row = json!({"environment": told});
        let case = Case { prompt: "", completion: "", answer: None, row: row.as_object().unwrap() };
        config.build(&Outside::default()).verify(&case)
    }

    #[test]
    fn rewards_of_several_turns_become_one() {
        let told = json!({"rewards": [0.25, -1.0, 0.5]});
        for (take, reward) in [("sum", -0.25), ("mean", -0.25 / 3.0), ("last", 0.5)] {
            let score = score(take, told.clone());
            assert_eq!((score.reward, score.parts.len()), (reward, 3), "{take}");
        }
    }

    #[test]
    fn an_environment_without_rewards_is_an_error_and_no_zero() {
        assert!(!score("sum", json!({"rewards": []})).is_scored());
        assert!(!score("sum", Value::Null).is_scored());
    }
}
