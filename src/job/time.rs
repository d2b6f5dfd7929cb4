//! Points in time as milliseconds since the Unix epoch; the clock itself is read in [`crate::clock`].

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    pub fn of_unix_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Whole seconds, as the API writes `created_at`.
    pub fn unix_seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// RFC 3339 in UTC with milliseconds, as events carry it.
    pub fn rfc3339(self) -> String {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => format!("{time:.3}"),
            Err(_) => String::from("out of range"),
        }
    }

    pub fn plus_seconds(self, seconds: u64) -> Self {
        Self(self.0.saturating_add(i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX)))
    }
}
