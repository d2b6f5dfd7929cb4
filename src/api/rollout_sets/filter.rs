//! Which completions a listing shows.

use std::io;

use serde::Deserialize;

/// Every condition that is there must hold.
#[derive(Clone, Debug, Default)]
pub struct RolloutFilter {
    /// Optimizer steps that the sampling policy had taken.
    pub step: Option<u64>,
    /// Number of the row in its data set.
    pub row: Option<u64>,
    pub min_reward: Option<f64>,
    pub max_reward: Option<f64>,
}

/// What the conditions are about; the beginning of a stored line.
#[derive(Debug, Deserialize)]
pub struct RolloutHead {
    pub step: u64,
    pub row: u64,
    pub reward: Option<f64>,
}

impl RolloutFilter {
    pub fn is_empty(&self) -> bool {
        self.step.is_none() && self.row.is_none() && self.min_reward.is_none() && self.max_reward.is_none()
    }

    /// A completion without a reward is in no range of rewards.
    pub fn holds(&self, head: &RolloutHead) -> bool {
        let reward = |holds: &dyn Fn(f64) -> bool| head.reward.is_some_and(holds);
        self.step.is_none_or(|step| step == head.step)
            && self.row.is_none_or(|row| row == head.row)
            && self.min_reward.is_none_or(|least| reward(&|reward| reward >= least))
            && self.max_reward.is_none_or(|most| reward(&|reward| reward <= most))
    }

    /// Whether a stored line is wanted, without reading all of it.
    pub fn wants(&self, line: &[u8]) -> io::Result<bool> {
        Ok(self.is_empty() || self.holds(&serde_json::from_slice(line)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_must_hold_and_no_reward_is_in_no_range() {
        let line = br#"{"group":1,"sample":0,"row":7,"step":3,"prompt":"p","reward":0.5}"#;
        let unscored = br#"{"row":7,"step":3,"reward":null}"#;
        let filter = |step, row, min_reward, max_reward| RolloutFilter { step, row, min_reward, max_reward };
        let table = [
            (filter(None, None, None, None), true, true),
            (filter(Some(3), Some(7), None, None), true, true),
            (filter(Some(3), Some(8), None, None), false, false),
            (filter(Some(2), None, None, None), false, false),
            (filter(None, None, Some(0.5), Some(0.5)), true, false),
            (filter(None, None, Some(0.6), None), false, false),
            (filter(None, None, None, Some(0.4)), false, false),
        ];
        for (filter, scored, without) in table {
            assert_eq!(filter.wants(line).unwrap(), scored, "{filter:?}");
            assert_eq!(filter.wants(unscored).unwrap(), without, "{filter:?}");
        }
    }
}
