//! How far a job is, and when it will probably be over.

use super::Timestamp;

/// Steps over which the time that they took is looked at as one.
pub const BLOCK: u64 = 16;
/// The standard normal distribution's 90 % quantile.
const Z90: f64 = 1.2816;

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Of its steps, or of the completions of its present phase; 0 to 1.
    pub fraction: f64,
    pub expected_end: Option<ExpectedEnd>,
}

/// When the last step will be taken if steps go on as they did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedEnd {
    /// As likely earlier as later.
    pub p50: Timestamp,
    /// Earlier with a probability of 90 %, as far as the spread of the steps so far tells; none before two blocks are
    /// known.
    pub p90: Option<Timestamp>,
}

/// What the steps of an attempt under way say about its end.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    pub began_at: Timestamp,
    /// The step that the attempt went on from.
    pub first_step: u64,
    pub step: u64,
    /// In all.
    pub steps: u64,
    /// Mean seconds of a step in some blocks of [`BLOCK`] steps.
    pub blocks: Vec<f64>,
}

impl Pace {
    /// When the last step will be taken. All that the attempt has done counts, so that sampling, evaluations and
    /// checkpoints between the steps do.
    pub fn end(&self, now: Timestamp) -> Option<ExpectedEnd> {
        let done = self.step.saturating_sub(self.first_step);
        if self.steps == 0 || done == 0 {
            return None;
        }
        let left = self.steps.saturating_sub(self.step) as f64;
        let milliseconds = (now.0 - self.began_at.0).max(0) as f64 / done as f64 * left;
        let at = |milliseconds: f64| Timestamp(now.0.saturating_add(milliseconds as i64));
        // The blocks to come vary, and the mean of those seen is itself uncertain.
        let blocks = self.blocks.len() as f64;
        let late = self.variation().map(|cv| 1.0 + Z90 * cv * (BLOCK as f64 / left.max(1.0) + 1.0 / blocks).sqrt());
        Some(ExpectedEnd { p50: at(milliseconds), p90: late.map(|late| at(milliseconds * late)) })
    }

    /// The standard deviation of the blocks as a share of their mean.
    fn variation(&self) -> Option<f64> {
        let count = self.blocks.len() as f64;
        let mean = self.blocks.iter().sum::<f64>() / count;
        if count < 2.0 || mean <= 0.0 {
            return None;
        }
        let variance = self.blocks.iter().map(|seconds| (seconds - mean).powi(2)).sum::<f64>() / (count - 1.0);
        Some(variance.sqrt() / mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGAN: Timestamp = Timestamp(1_000_000);

    fn pace(blocks: &[f64]) -> Pace {
        Pace { began_at: BEGAN, first_step: 40, step: 60, steps: 100, blocks: blocks.to_vec() }
    }

    #[test]
    fn the_end_is_as_far_as_the_pace_of_this_attempt_says() {
        let now = BEGAN.plus_seconds(10);
        assert_eq!(pace(&[]).end(now), Some(ExpectedEnd { p50: now.plus_seconds(20), p90: None }));
        assert_eq!(Pace { step: 40, ..pace(&[]) }.end(now), None, "no step yet");
        assert_eq!(Pace { steps: 0, ..pace(&[]) }.end(now), None, "nothing is trained");
        let back = Timestamp(BEGAN.0 - 5);
        assert_eq!(pace(&[]).end(back).unwrap().p50, back, "a clock that was set back");
    }

    #[test]
    fn steps_that_vary_make_the_late_end_later() {
        let now = BEGAN.plus_seconds(10);
        let late = |blocks: &[f64]| pace(blocks).end(now).unwrap().p90.map(|end| end.0 - now.0);
        assert_eq!(late(&[0.5]), None);
        assert_eq!(late(&[0.5, 0.5, 0.5]), Some(20_000));
        // A tenth of the mean, of four blocks, with two and a half to come.
        let spread = (16.0_f64 / 40.0 + 0.25).sqrt();
        let tenth = [
            0.5 - 0.05 * 0.75_f64.sqrt(),
            0.5 - 0.05 * 0.75_f64.sqrt(),
            0.5 + 0.05 * 0.75_f64.sqrt(),
            0.5 + 0.05 * 0.75_f64.sqrt(),
        ];
        let expected = 20_000.0 * (1.0 + Z90 * 0.1 * spread);
        assert!((late(&tenth).unwrap() as f64 - expected).abs() < 2.0, "{:?} {expected}", late(&tenth));
        assert!(late(&[0.1, 0.9]) > late(&[0.4, 0.6]));
    }
}
