//! Hyperparameters in OpenAI's words: each a number or `"auto"`.

use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::job::FieldError;
use crate::job::spec::OptimizerSpec;
use crate::spec::Training;

/// What the methods have in common.
pub const BASIC: &[&str] = &["n_epochs", "batch_size", "learning_rate_multiplier"];
/// What `reinforcement` knows besides.
pub const REINFORCEMENT: &[&str] =
    &["n_epochs", "batch_size", "learning_rate_multiplier", "compute_multiplier", "eval_interval", "eval_samples"];

/// Prompts of a step when nothing is said.
const AUTO_BATCH: u64 = 16;

/// What a client asked for; what is missing is ours to choose.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hyperparameters {
    pub n_epochs: Option<u64>,
    pub batch_size: Option<u64>,
    pub learning_rate_multiplier: Option<f64>,
    pub compute_multiplier: Option<f64>,
    pub eval_interval: Option<u64>,
    pub eval_samples: Option<u64>,
}

/// The numbers that a job runs with, as clients read them.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChosenHyperparameters {
    /// A number, or `auto` for a job whose steps were given instead.
    #[schema(value_type = NumberOrAuto, example = 3)]
    pub n_epochs: Value,
    #[schema(value_type = NumberOrAuto, example = 16)]
    pub batch_size: Value,
    /// Of the default learning rate.
    #[schema(value_type = NumberOrAuto, example = 1.0)]
    pub learning_rate_multiplier: Value,
}

/// A number, or the word `auto`.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it only describes what JSON values may be")]
pub enum NumberOrAuto {
    Number(f64),
    Word(String),
}

impl Hyperparameters {
    /// Reads an object with the names in `known`; errors point below `pointer`.
    pub fn read(value: Option<&Value>, known: &[&str], pointer: &str) -> Result<Self, Vec<FieldError>> {
        let fields = match value {
            None | Some(Value::Null) => return Ok(Self::default()),
            Some(Value::Object(fields)) => fields,
            Some(_) => return Err(vec![FieldError::new(pointer, "wrong_type", "must be an object")]),
        };
        let (mut read, mut errors) = (Self::default(), Vec::new());
        for (name, value) in fields {
            if let Err((code, detail)) = read.set(name, value, known) {
                errors.push(FieldError::new(format!("{pointer}/{name}"), code, detail));
            }
        }
        if errors.is_empty() { Ok(read) } else { Err(errors) }
    }

    fn set(&mut self, name: &str, value: &Value, known: &[&str]) -> Result<(), (&'static str, String)> {
        if name == "reasoning_effort" {
            return Err(("unsupported_field", String::from("models here have no setting for their reasoning effort")));
        }
        if !known.contains(&name) {
            return Err(("unknown_field", format!("there are {}", known.join(", "))));
        }
        if value.is_null() || value == "auto" {
            return Ok(());
        }
        let whole = |most: u64| {
            let number = value.as_u64().filter(|number| (1..=most).contains(number));
            number.map(Some).ok_or_else(|| ("out_of_range", format!("must be \"auto\" or between 1 and {most}")))
        };
        let factor = |most: f64| {
            let number = value.as_f64().filter(|number| *number > 0.0 && *number <= most);
            number.map(Some).ok_or_else(|| ("out_of_range", format!("must be \"auto\" or above 0 and at most {most}")))
        };
        match name {
            "n_epochs" => self.n_epochs = whole(10_000)?,
            "batch_size" => self.batch_size = whole(65_536)?,
            "learning_rate_multiplier" => self.learning_rate_multiplier = factor(10_000.0)?,
            "compute_multiplier" => self.compute_multiplier = factor(128.0)?,
            "eval_interval" => self.eval_interval = whole(1_000_000)?,
            _ => self.eval_samples = whole(1024)?,
        }
        Ok(())
    }

    /// Prompts in one step.
    pub fn batch(&self, rows: u64) -> u64 {
        self.batch_size.unwrap_or(AUTO_BATCH.min(rows))
    }

    /// As many steps of `batch` rows as it takes for every row to come up in `epochs` of them.
    pub fn steps(&self, rows: u64, epochs: u64, batch: u64) -> u64 {
        rows.saturating_mul(epochs).div_ceil(batch.max(1)).max(1)
    }

    /// The learning rate, when there is something to say about it.
    pub fn learning_rate(&self) -> Option<f64> {
        self.learning_rate_multiplier.map(|factor| OptimizerSpec::default().learning_rate * factor)
    }
}

impl ChosenHyperparameters {
    /// As they follow from a resolved spec; `n_epochs` is not in it.
    pub fn of(training: &Training, n_epochs: Value) -> Self {
        let rate = training.optimizer.learning_rate;
        // Division leaves traces in the last digits that nobody wrote.
        let multiplier = (rate / OptimizerSpec::default().learning_rate * 1e9).round() / 1e9;
        Self {
            n_epochs,
            batch_size: json!(training.train.prompts_per_step),
            learning_rate_multiplier: json!(multiplier),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_auto_are_read_and_everything_else_is_refused_by_name() {
        let read = |value: Value| Hyperparameters::read(Some(&value), REINFORCEMENT, "/h");
        let auto = json!({"n_epochs": "auto", "batch_size": null});
        assert_eq!(read(auto).unwrap(), Hyperparameters::default());
        let given = read(json!({"n_epochs": 2, "compute_multiplier": 0.5})).unwrap();
        assert_eq!((given.n_epochs, given.compute_multiplier), (Some(2), Some(0.5)));
        for (value, pointer, code) in [
            (json!({"n_epochs": 0}), "/h/n_epochs", "out_of_range"),
            (json!({"n_epochs": "many"}), "/h/n_epochs", "out_of_range"),
            (json!({"learning_rate_multiplier": 0.0}), "/h/learning_rate_multiplier", "out_of_range"),
            (json!({"beta": 0.1}), "/h/beta", "unknown_field"),
            (json!({"reasoning_effort": "low"}), "/h/reasoning_effort", "unsupported_field"),
            (json!([]), "/h", "wrong_type"),
        ] {
            let errors = read(value).unwrap_err();
            assert_eq!((errors[0].pointer.as_str(), errors[0].code), (pointer, code));
        }
        assert!(Hyperparameters::read(Some(&json!({"eval_samples": 2})), BASIC, "").is_err());
    }

    #[test]
    fn an_epoch_is_as_many_steps_as_show_every_row() {
        let some = Hyperparameters { batch_size: Some(4), ..Hyperparameters::default() };
        let steps = |rows, epochs| some.steps(rows, epochs, some.batch(rows));
        assert_eq!((steps(10, 1), steps(8, 1), steps(10, 2), steps(1, 1)), (3, 2, 5, 1));
        assert_eq!(some.steps(640, 1, 64), 10, "in batches of the client's own");
        assert_eq!((Hyperparameters::default().batch(3), Hyperparameters::default().batch(1000)), (3, AUTO_BATCH));
    }
}
