//! How verifications went: how many failed, when that ends a job, and how long they took.

use serde::{Deserialize, Serialize};

use super::error::EngineError;
use super::verify::Verdict;
use crate::job::ScoreStatus;
use crate::objective::Statistics;

/// Verifications after which an error rate says something.
const SAMPLE: usize = 200;
/// Share of failed verifications that stops a job.
const MOST_FAILED: f64 = 0.05;

/// How the verification of what was sampled together went.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Verification {
    pub failures: Failures,
    /// How long each verdict took.
    seconds: Vec<f64>,
    /// From the end of sampling to the last verdict.
    wait_seconds: f64,
}

impl Verification {
    pub fn of(verdicts: &[Verdict], wait_seconds: f64) -> Self {
        let seconds = verdicts.iter().map(|verdict| verdict.seconds).collect();
        Self { failures: Failures::of(verdicts.iter()), seconds, wait_seconds }
    }

    /// Adds that of another rank, which went on at the same time.
    pub fn add(&mut self, other: Self) {
        self.failures.add(other.failures);
        self.seconds.extend(other.seconds);
        self.wait_seconds = self.wait_seconds.max(other.wait_seconds);
    }

    /// Adds that of what was sampled after it.
    pub fn go_on(&mut self, later: Self) {
        let waited = self.wait_seconds + later.wait_seconds;
        self.add(later);
        self.wait_seconds = waited;
    }

    /// What is reported of it; nothing where nothing was verified.
    pub fn metrics(mut self) -> Statistics {
        let Some(last) = self.seconds.len().checked_sub(1) else { return Vec::new() };
        self.seconds.sort_by(f64::total_cmp);
        // The nearest rank.
        let percentile =
            |share: f64| self.seconds[((share * self.seconds.len() as f64).ceil() as usize).clamp(1, last + 1) - 1];
        vec![
            ("verifier/timeouts", self.failures.timeout_share()),
            ("verifier/seconds_p50", percentile(0.5)),
            ("verifier/seconds_p95", percentile(0.95)),
            ("verifier/seconds_max", self.seconds[last]),
            ("verifier/wait_seconds", self.wait_seconds),
        ]
    }
}

/// How many verifications there were, how many of them failed, and why the last one did.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Failures {
    verifications: usize,
    failed: usize,
    timeouts: usize,
    last: String,
}

impl Failures {
    pub fn of<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> Self {
        let mut all = Self::default();
        for Verdict { score, .. } in verdicts {
            all.verifications += 1;
            all.timeouts += usize::from(score.status == ScoreStatus::Timeout);
            if !score.is_scored() {
                all.failed += 1;
                all.last = score.detail.clone().unwrap_or_default();
            }
        }
        all
    }

    /// The share of verifications that did not end in time.
    pub fn timeout_share(&self) -> f64 {
        self.timeouts as f64 / self.verifications.max(1) as f64
    }

    pub fn add(&mut self, other: Self) {
        self.verifications += other.verifications;
        self.failed += other.failed;
        self.timeouts += other.timeouts;
        if other.failed > 0 {
            self.last = other.last;
        }
    }

    /// Adds those of some more verifications; an error when too many fail.
    pub fn count(&mut self, new: Self) -> Result<(), EngineError> {
        let none_scored = new.verifications > 0 && new.failed == new.verifications;
        self.add(new);
        let Self { verifications, failed, ref last, .. } = *self;
        let share = failed as f64 / verifications.max(1) as f64;
        if none_scored || (verifications >= SAMPLE && share > MOST_FAILED) {
            return Err(EngineError::VerifierErrors { failed, total: verifications, last: last.clone() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::verifier::Score;

    #[test]
    fn verifications_are_told_in_numbers() {
        let verdict = |score: Score, seconds: f64| Verdict { score, seconds };
        let verdicts: Vec<Verdict> = (1..=20)
            .map(|n| {
                verdict(if n == 20 { Score::timeout(Duration::from_secs(1)) } else { Score::ok(1.0) }, f64::from(n))
            })
            .collect();
        let mut all = Verification::of(&verdicts[..10], 0.5);
        all.add(Verification::of(&verdicts[10..], 0.25));
        let mut both = all.clone();
        both.go_on(Verification::of(&verdicts[..10], 0.25));
        assert!(both.metrics().contains(&("verifier/wait_seconds", 0.75)), "one after the other");
        let metrics = all.metrics();
        let value = |name: &str| metrics.iter().find(|(n, _)| *n == name).unwrap().1;
        assert_eq!(value("verifier/timeouts"), 0.05);
        assert_eq!(value("verifier/seconds_p50"), 10.0);
        assert_eq!(value("verifier/seconds_p95"), 19.0);
        assert_eq!(value("verifier/seconds_max"), 20.0);
        assert_eq!(value("verifier/wait_seconds"), 0.5, "ranks wait at the same time");
        assert!(Verification::default().metrics().is_empty());
    }
}
