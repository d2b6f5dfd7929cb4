//! What a job may use of the devices, and what becomes of it when that is spent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The largest budget, about 31 years of one device.
pub const MAX_DEVICE_SECONDS: u64 = 1_000_000_000;

/// A limit on what a job may use, over all of its attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetSpec {
    /// Seconds of attempts times the devices that they held.
    #[schemars(range(min = 1, max = MAX_DEVICE_SECONDS))]
    pub device_seconds: u64,
    /// What happens when they are spent.
    #[serde(default)]
    pub on_exhausted: OnExhausted,
}

/// What becomes of a job whose budget is spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnExhausted {
    /// It is saved and paused; with a larger budget it can be resumed.
    #[default]
    Pause,
    Cancel,
    /// It fails with the code `budget_exhausted`.
    Fail,
}

impl BudgetSpec {
    /// Whether it covers no more than what was used, in milliseconds of devices.
    pub fn is_spent_by(&self, milliseconds: i64) -> bool {
        i128::from(milliseconds) >= i128::from(self.device_seconds) * 1000
    }

    /// The reason that logs and answers give.
    pub fn spent_reason(&self) -> String {
        format!("the budget of {} device seconds is spent", self.device_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_at_its_last_millisecond() {
        let budget = BudgetSpec { device_seconds: 2, on_exhausted: OnExhausted::default() };
        assert!(!budget.is_spent_by(1999) && budget.is_spent_by(2000));
    }
}
