//! Early stopping by successive halving: at some steps only the better configurations go on (Jamieson and Talwalkar,
//! "Non-stochastic best arm identification and hyperparameter optimization", arXiv 1502.07943).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::measure::Measure;
use crate::job::FieldError;

/// Most steps at which it is decided.
const MOST_RUNGS: usize = 16;
const MOST_FACTOR: u32 = 1000;

/// When and by what configurations are given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Halving {
    /// A name that [`Measure::of`] knows.
    #[serde(default = "default_metric")]
    pub metric: String,
    /// Optimizer steps, ascending.
    pub steps: Vec<u64>,
    /// One configuration in so many goes on.
    #[serde(default = "two")]
    pub factor: u32,
    #[serde(default)]
    pub goal: Goal,
}

/// Which values are better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    #[default]
    Maximize,
    Minimize,
}

fn default_metric() -> String {
    Measure::DEFAULT.to_owned()
}

fn two() -> u32 {
    2
}

impl Halving {
    pub fn check(&self) -> Result<Measure<'_>, Vec<FieldError>> {
        let mut errors = Vec::new();
        let mut refuse = |pointer: &str, code, detail: &str| {
            errors.push(FieldError::new(format!("/halving{pointer}"), code, detail));
        };
        let ascending = self.steps.windows(2).all(|pair| pair[0] < pair[1]);
        if !(1..=MOST_RUNGS).contains(&self.steps.len()) || self.steps.first() == Some(&0) || !ascending {
            refuse("/steps", "out_of_range", "is 1 to 16 steps of at least 1, each greater than the one before");
        }
        if !(2..=MOST_FACTOR).contains(&self.factor) {
            refuse("/factor", "out_of_range", "is 2 to 1000");
        }
        let measure = Measure::of(&self.metric);
        if measure.is_none() {
            refuse("/metric", "unknown_metric", Measure::NAMES);
        }
        measure.filter(|_| errors.is_empty()).ok_or(errors)
    }

    /// Those of some configurations that go on, by the mean of each over its trials: the best, as many as one in `factor`,
    /// rounded up. What has no value is behind all that do, and of equal ones the first goes on; where none has one, there is
    /// nothing to decide by, and all go on.
    pub fn going_on(&self, values: &BTreeMap<u32, Vec<Option<f64>>>) -> Vec<u32> {
        let mean = |values: &[Option<f64>]| {
            let known: Vec<f64> = values.iter().flatten().copied().filter(|value| value.is_finite()).collect();
            let sign = if self.goal == Goal::Maximize { 1.0 } else { -1.0 };
            if known.is_empty() { f64::NEG_INFINITY } else { sign * known.iter().sum::<f64>() / known.len() as f64 }
        };
        let mut ranked: Vec<(u32, f64)> = values.iter().map(|(place, values)| (*place, mean(values))).collect();
        if ranked.iter().all(|(_, mean)| *mean == f64::NEG_INFINITY) {
            return values.keys().copied().collect();
        }
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked.truncate(ranked.len().div_ceil(self.factor as usize));
        ranked.into_iter().map(|(place, _)| place).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(value: Value) -> Halving {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn the_better_half_goes_on() {
        let values: BTreeMap<u32, Vec<Option<f64>>> = [
            (0, vec![Some(0.5), Some(0.1)]),
            (1, vec![None, None]),
            (2, vec![Some(0.3), Some(0.3)]),
            // A value that is missing is left out of the mean.
            (3, vec![Some(0.9), None]),
            (4, vec![Some(f64::NAN), Some(0.05)]),
        ]
        .into();
        assert_eq!(of(json!({"steps": [1]})).going_on(&values), [3, 0, 2]);
        assert_eq!(of(json!({"steps": [1], "goal": "minimize"})).going_on(&values), [4, 0, 2]);
        assert_eq!(of(json!({"steps": [1], "factor": 4})).going_on(&values), [3, 0]);
        assert_eq!(of(json!({"steps": [1], "factor": 1000})).going_on(&values), [3]);
        let none: BTreeMap<u32, Vec<Option<f64>>> = [(0, vec![None]), (1, vec![Some(f64::NAN)]), (2, vec![])].into();
        assert_eq!(of(json!({"steps": [1]})).going_on(&none), [0, 1, 2], "nothing says which is better");
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_its_field() {
        let pointers = |value: Value| -> Vec<String> {
            of(value).check().unwrap_err().into_iter().map(|error| error.pointer).collect()
        };
        for steps in [json!([]), json!([0]), json!([4, 4]), json!([4, 2]), json!((1..=17).collect::<Vec<u64>>())] {
            assert_eq!(pointers(json!({"steps": steps})), ["/halving/steps"]);
        }
        assert_eq!(pointers(json!({"steps": [1], "factor": 1})), ["/halving/factor"]);
        assert_eq!(pointers(json!({"steps": [1], "metric": "luck"})), ["/halving/metric"]);
        assert_eq!(pointers(json!({"steps": [1], "metric": "pass@0"})), ["/halving/metric"]);
        assert_eq!(of(json!({"steps": [1], "metric": "pass@8"})).check(), Ok(Measure::PassAt(8)));
        assert_eq!(of(json!({"steps": [1], "metric": "loss"})).check(), Ok(Measure::Metric("loss")));
        assert_eq!(of(json!({"steps": [1], "metric": "part/style"})).check(), Ok(Measure::Metric("part/style")));
    }
}
