//! What of a trial is looked at.

use crate::job::metric::metric;

/// A number that jobs are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure<'a> {
    /// `pass@K` of an evaluation.
    PassAt(u32),
    /// Of this name, which may be that of a verifier's part.
    Metric(&'a str),
}

impl<'a> Measure<'a> {
    /// What sweeps are compared by where nothing is said.
    pub const DEFAULT: &'static str = "pass@1";
    /// What names there are, for a message.
    pub const NAMES: &'static str = "is `pass@K`, or a metric of GET /v1/metrics-catalog";

    /// None of a name that nothing has.
    pub fn of(name: &'a str) -> Option<Self> {
        if let Some(k) = name.strip_prefix("pass@").and_then(|k| k.parse().ok()) {
            return (k > 0).then_some(Self::PassAt(k));
        }
        metric(name).map(|_| Self::Metric(name))
    }
}
